//! Loss processes: which packets of a link are lost. Pure functions of (seed, link or flow, the packet's number there).

use crate::packet::Packet;
use alloc::vec::Vec;
use farspan_units::{Purpose, Random};

/// Which packets a loss process concerns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Affected {
    /// Data packets with their payload.
    Data,
    /// Data, ACKs, NACKs, trimmed packets.
    All,
}

impl Affected {
    const fn includes(self, packet: &Packet) -> bool {
        matches!(self, Self::All) || !packet.control()
    }
}

/// The scope over which a block loss numbers packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbering {
    /// Each port numbers what it sends.
    Queue,
    /// Each switch numbers the packets of each flow over all its links that the fault names.
    Flow,
}

/// How packets are chosen.
#[derive(Clone, PartialEq, Debug)]
pub enum LossProcess {
    /// Each for itself, with this probability.
    Independent(f64),
    /// Packets come in blocks of `block`, at most [`LossProcess::LONGEST_BLOCK`]. With probability `losses[n]`, a block
    /// loses `n + 1` packets; which ones is uniform without replacement (Uno, Table 1).
    Blocks {
        /// Packets of a block.
        block: u32,
        /// The probability of each number of losses, from one on; the rest up to 1 is that of no loss.
        losses: Vec<f64>,
        /// The scope over which packets are numbered.
        per: Numbering,
    },
}

impl LossProcess {
    /// The longest block: a 64-bit mask has one bit for each packet.
    pub const LONGEST_BLOCK: u32 = 64;
}

/// Losses on a link.
#[derive(Clone, PartialEq, Debug)]
pub struct Loss {
    /// How packets are chosen.
    pub process: LossProcess,
    /// Among which.
    pub packets: Affected,
}

impl Loss {
    pub(super) const fn concerns(&self, packet: &Packet) -> bool {
        self.packets.includes(packet)
    }

    pub(super) const fn is_per_flow(&self) -> bool {
        matches!(self.process, LossProcess::Blocks { per: Numbering::Flow, .. })
    }
}

/// The draws of one process for one link, or for one flow at one switch.
#[derive(Clone, Debug)]
pub struct LossDraws {
    random: Random,
    /// Packets seen.
    count: u64,
    /// The positions that are lost in the block that has begun, one bit each.
    lost: u64,
}

impl LossDraws {
    /// `entity` keeps the draws of processes, links and flows apart.
    #[must_use]
    pub const fn new(seed: u64, entity: u64) -> Self {
        Self { random: Random::new(seed, Purpose::Loss, entity), count: 0, lost: 0 }
    }

    /// Whether the next packet is lost.
    pub fn next_is_lost(&mut self, process: &LossProcess) -> bool {
        let number = self.count;
        self.count += 1;
        match process {
            LossProcess::Independent(probability) => uniform(self.random.at(number)) < *probability,
            LossProcess::Blocks { block, losses, .. } => {
                let (first, place) = (number / u64::from(*block), number % u64::from(*block));
                if place == 0 {
                    self.lost = lost_places(&self.random, first, *block, losses);
                }
                self.lost >> place & 1 == 1
            }
        }
    }
}

/// Uniform in [0, 1), a multiple of 2^-53.
fn uniform(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// The positions that block `number` loses, one bit each.
fn lost_places(random: &Random, number: u64, block: u32, losses: &[f64]) -> u64 {
    let first = number * (losses.len() as u64 + 1);
    let draw = uniform(random.at(first));
    let mut below = 0.0;
    let count = losses.iter().position(|probability| {
        below += probability;
        draw < below
    });
    let count = count.map_or(0, |n| n as u32 + 1);
    (0..count).fold(0, |lost: u64, n| {
        let left = u128::from(block - n);
        let pick = ((u128::from(random.at(first + 1 + u64::from(n))) * left) >> 64) as usize;
        let mut free = (0..block).filter(|place| lost >> place & 1 == 0);
        lost | free.nth(pick).map_or(0, |place| 1 << place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table_1(per: Numbering) -> LossProcess {
        LossProcess::Blocks { block: 10, losses: alloc::vec![3.0e-4, 7.5e-5, 1.6e-5], per }
    }

    /// Blocks by number of losses, and losses by position.
    fn draw(process: &LossProcess, blocks: u64, entity: u64) -> ([u64; 4], [u64; 10]) {
        let mut draws = LossDraws::new(1, entity);
        let (mut by_count, mut by_place) = ([0; 4], [0; 10]);
        for _ in 0..blocks {
            let lost: Vec<usize> = (0..10).filter(|_| draws.next_is_lost(process)).collect();
            by_count[lost.len()] += 1;
            lost.into_iter().for_each(|place| by_place[place] += 1);
        }
        (by_count, by_place)
    }

    fn assert_within(count: u64, n: u64, probability: f64) {
        let (mean, variance) = (n as f64 * probability, n as f64 * probability * (1.0 - probability));
        let off = count as f64 - mean;
        assert!(off * off < 9.0 * variance, "{count} of {n}, expected {mean}");
    }

    #[test]
    fn the_process_of_table_1_loses_one_two_or_three_packets_of_a_block_as_often_as_it_says() {
        const BLOCKS: u64 = 1_000_000;
        let (by_count, by_place) = draw(&table_1(Numbering::Queue), BLOCKS * 10, 7);
        for (n, probability) in [(1, 3.0e-4), (2, 7.5e-5), (3, 1.6e-5)] {
            assert_within(by_count[n], BLOCKS * 10, probability);
        }
        let lost: u64 = by_place.iter().sum();
        assert_eq!(lost, by_count[1] + 2 * by_count[2] + 3 * by_count[3]);
        let expected = lost as f64 / 10.0;
        let chi2: f64 = by_place.iter().map(|&n| (n as f64 - expected).powi(2) / expected).sum();
        assert!(chi2 < 27.9, "chi-squared {chi2} with 9 degrees of freedom: p < 0.001");
    }

    #[test]
    fn places_of_a_block_are_drawn_without_replacement_and_evenly() {
        let process =
            LossProcess::Blocks { block: 10, losses: alloc::vec![0.0, 0.0, 1.0], per: Numbering::Queue };
        let (by_count, by_place) = draw(&process, 100_000, 3);
        assert_eq!(by_count, [0, 0, 0, 100_000]);
        by_place.iter().for_each(|&count| assert_within(count, 100_000, 0.3));
        let whole = LossProcess::Blocks { block: 2, losses: alloc::vec![0.0, 1.0], per: Numbering::Queue };
        let mut draws = LossDraws::new(1, 0);
        assert!((0..10).all(|_| draws.next_is_lost(&whole)), "all of a block can be lost");
    }

    #[test]
    fn the_place_that_a_block_loses_says_nothing_about_the_next_block() {
        let process = LossProcess::Blocks { block: 10, losses: alloc::vec![0.5], per: Numbering::Queue };
        let mut draws = LossDraws::new(1, 9);
        let blocks: Vec<_> =
            (0..100_000).map(|_| (0..10).filter(|_| draws.next_is_lost(&process)).last()).collect();
        for half in [0..5, 5..10] {
            let after = |pair: &&[Option<usize>]| pair[0].is_some_and(|place| half.contains(&place));
            let next: Vec<_> = blocks.windows(2).filter(after).map(|pair| pair[1]).collect();
            assert_within(next.iter().flatten().count() as u64, next.len() as u64, 0.5);
        }
    }

    #[test]
    fn independent_losses_come_as_often_as_they_say_and_do_not_hang_together() {
        let (process, n) = (LossProcess::Independent(0.01), 1_000_000);
        let mut draws = LossDraws::new(1, 5);
        let lost: Vec<bool> = (0..n).map(|_| draws.next_is_lost(&process)).collect();
        assert_within(lost.iter().filter(|&&lost| lost).count() as u64, n, 0.01);
        let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as u64;
        assert_within(pairs, n - 1, 1e-4);
    }

    #[test]
    fn a_draw_depends_on_seed_entity_and_number_alone() {
        let process = LossProcess::Independent(0.5);
        let draws = |seed, entity| {
            let mut draws = LossDraws::new(seed, entity);
            (0..64).fold(0_u64, |word, n| word | u64::from(draws.next_is_lost(&process)) << n)
        };
        assert_eq!(draws(1, 2), draws(1, 2));
        assert_ne!(draws(1, 2), draws(1, 3));
        assert_ne!(draws(1, 2), draws(2, 2));
    }
}
