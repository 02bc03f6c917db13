//! UnoLB: a flow takes turns over a few subflows and moves those off paths that fail.
//!
//! "Uno: A One-Stop Solution for Inter- and Intra-Data Center Congestion Control and Reliable Connectivity", section
//! 4.2 and Algorithm 2. The algorithm's single `last_reroute` is kept for each subflow: with one for the whole flow, a
//! failed link that carries several subflows would take as many round trips to be left. Left out: paths that an
//! operator assigns; a path is an entropy here.
//!
//! Its page: `docs/src/schemes/unolb.md`.

use crate::balance::contract::{Balance, BalancerStart, Entropy, PathSample};
use crate::registry::ConfigError;
use alloc::boxed::Box;
use alloc::vec;
use core::ops::{Deref, DerefMut};
use farspan_units::{Duration, Random, Time};

/// A subflow without an ACK for this part of the base round trip is silent (published code).
const SILENCE: f64 = 0.5;

/// Parameters of UnoLB.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct UnolbConfig {
    /// How many subflows a flow has, 1 to 1024; 10, as many as a coded block has packets (section 4.2).
    pub subflows: u32,
    /// How many entropies there are to draw from, 1 to 65536; 250 (published code; the paper gives none).
    pub entropies: u32,
    /// Where a subflow moves; `recent` (section 4.2). Published code: `fresh`. `never` is an ablation.
    pub reroute: Reroute,
}

/// Which subflows move after a NACK or a time-out, and where to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Reroute {
    /// The subflow of the lost packet moves to the path of a random other one that had an ACK within a base round trip;
    /// if there is none, to a random entropy.
    Recent,
    /// Every subflow without an ACK for half a base round trip moves to a random entropy.
    Fresh,
    /// None: each subflow keeps its first path. An ablation, not a reading of the paper: it shows the worth of subflows alone.
    Never,
}

impl Default for UnolbConfig {
    fn default() -> Self {
        Self { subflows: 10, entropies: 250, reroute: Reroute::Recent }
    }
}

impl UnolbConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(1.0..=1024.0, "unolb", "subflows", f64::from(self.subflows))?;
        ConfigError::unless_in(1.0..=65536.0, "unolb", "entropies", f64::from(self.entropies))
    }
}

/// A subflow, in ten bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Subflow {
    /// Its path; drawn when its first packet leaves.
    entropy: Entropy,
    /// When a packet of its path was last acknowledged, in picoseconds; [`Self::UNDRAWN`] before there is a path,
    /// [`Self::SILENT`] before there was an ACK.
    acked_at: [u8; 8],
}

impl Subflow {
    const UNDRAWN: u64 = u64::MAX;
    const SILENT: u64 = u64::MAX - 1;

    /// A subflow that has sent nothing.
    const fn new() -> Self {
        Self { entropy: 0, acked_at: Self::UNDRAWN.to_ne_bytes() }
    }

    /// A subflow on this path, on which there was no feedback yet.
    const fn on(entropy: Entropy) -> Self {
        Self { entropy, acked_at: Self::SILENT.to_ne_bytes() }
    }

    const fn entropy(&self) -> Option<Entropy> {
        if u64::from_ne_bytes(self.acked_at) == Self::UNDRAWN { None } else { Some(self.entropy) }
    }

    const fn acked_at(&self) -> Option<Time> {
        let ps = u64::from_ne_bytes(self.acked_at);
        if ps >= Self::SILENT { None } else { Some(Time::from_ps(ps)) }
    }
}

/// The subflows, in the order of their turns: the usual ten where the rest of the state lies.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Subflows {
    Ten([Subflow; 10]),
    Other(Box<[Subflow]>),
}

impl Subflows {
    fn new(count: usize) -> Self {
        if count == 10 {
            Self::Ten([Subflow::new(); 10])
        } else {
            Self::Other(vec![Subflow::new(); count].into())
        }
    }
}

impl Deref for Subflows {
    type Target = [Subflow];

    fn deref(&self) -> &[Subflow] {
        match self {
            Self::Ten(subflows) => subflows,
            Self::Other(subflows) => subflows,
        }
    }
}

impl DerefMut for Subflows {
    fn deref_mut(&mut self) -> &mut [Subflow] {
        match self {
            Self::Ten(subflows) => subflows,
            Self::Other(subflows) => subflows,
        }
    }
}

/// UnoLB's state for one flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unolb {
    /// The subflows.
    subflows: Subflows,
    /// When each of them last moved, [`NEVER`] for those that have not; nothing while all have not.
    moved_at: Option<Box<Moves>>,
    /// Whose turn it is.
    index: u16,
    /// How many entropies there are to draw from.
    entropies: u32,
    /// Which subflows move, and where to.
    reroute: Reroute,
    /// Base round trip: a subflow moves at most once in it.
    base_rtt: Duration,
}

/// When each subflow last moved.
type Moves = Box<[Time]>;

/// No subflow moved at this time.
const NEVER: Time = Time::MAX;

impl Unolb {
    /// The path selector for one flow.
    #[must_use]
    pub fn new(config: &UnolbConfig, start: &BalancerStart<'_>) -> Self {
        Self {
            subflows: Subflows::new(config.subflows as usize),
            moved_at: None,
            index: 0,
            entropies: config.entropies,
            reroute: config.reroute,
            base_rtt: start.path.base_rtt,
        }
    }

    fn draw(&self, random: &mut Random) -> Entropy {
        random.below(u64::from(self.entropies)) as Entropy
    }

    /// Procedure ONNACKORTIMEOUT of Algorithm 2.
    fn on_lost(&mut self, PathSample { now, entropy, .. }: PathSample, random: &mut Random) {
        match self.reroute {
            Reroute::Recent => {
                self.leave_path(now, entropy, random, |subflow| subflow.entropy() == Some(entropy));
            }
            Reroute::Fresh => {
                let silence = self.base_rtt.mul_f64(SILENCE);
                self.leave_path(now, entropy, random, |subflow| {
                    subflow.acked_at().is_none_or(|at| now.since(at) > silence)
                });
            }
            Reroute::Never => {}
        }
    }

    /// Moves the subflows that are affected away from the path `lost`.
    #[inline(always)]
    fn leave_path(
        &mut self,
        now: Time,
        lost: Entropy,
        random: &mut Random,
        affected: impl Fn(&Subflow) -> bool,
    ) {
        for i in 0..self.subflows.len() {
            if !affected(&self.subflows[i]) {
                continue;
            }
            // Line 6: now - last_reroute > base_rtt.
            let moved_at = self.moved_at.as_ref().map_or(NEVER, |moves| moves[i]);
            if moved_at == NEVER || now.since(moved_at) > self.base_rtt {
                let target = self.target(now, lost, random);
                self.subflows[i] = Subflow::on(target);
                let none = || Box::new(vec![NEVER; self.subflows.len()].into());
                self.moved_at.get_or_insert_with(none)[i] = now;
            }
        }
    }

    /// Where a subflow moves from the path `lost`.
    fn target(&self, now: Time, lost: Entropy, random: &mut Random) -> Entropy {
        let recent = |s: &&Subflow| {
            s.entropy() != Some(lost) && s.acked_at().is_some_and(|at| now.since(at) < self.base_rtt)
        };
        let good =
            if self.reroute == Reroute::Recent { self.subflows.iter().filter(recent).count() } else { 0 };
        if good == 0 {
            return self.draw(random);
        }
        let nth = random.below(good as u64) as usize;
        let chosen = self.subflows.iter().filter(recent).nth(nth).and_then(Subflow::entropy);
        chosen.unwrap_or_else(|| self.draw(random))
    }
}

impl Balance for Unolb {
    fn entropy(&mut self, _now: Time, random: &mut Random) -> Entropy {
        // Procedure ONSEND of Algorithm 2.
        let i = self.index as usize;
        self.index = if i + 1 == self.subflows.len() { 0 } else { self.index + 1 };
        if let Some(entropy) = self.subflows[i].entropy() {
            return entropy;
        }
        let entropy = self.draw(random);
        self.subflows[i] = Subflow::on(entropy);
        entropy
    }

    fn wants_feedback(&self) -> bool {
        true
    }

    fn on_ack(&mut self, sample: PathSample, _ecn_ce: bool, _random: &mut Random) {
        for subflow in self.subflows.iter_mut().filter(|s| s.entropy() == Some(sample.entropy)) {
            subflow.acked_at = sample.now.as_ps().to_ne_bytes();
        }
    }

    fn on_nack(&mut self, sample: PathSample, _at_last_hop: bool, _ecn_ce: bool, random: &mut Random) {
        self.on_lost(sample, random);
    }

    fn on_loss(&mut self, sample: PathSample, random: &mut Random) {
        self.on_lost(sample, random);
    }

    fn on_timeout(&mut self, sample: PathSample, random: &mut Random) {
        self.on_lost(sample, random);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::testing::Flow;
    use crate::congestion::testing::path;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    impl Flow<Unolb> {
        fn new(config: &UnolbConfig) -> Self {
            Self::with(|start| Unolb::new(config, start))
        }

        /// A flow whose subflows have all sent a packet.
        fn sending(reroute: Reroute) -> Self {
            let mut flow = Self::new(&UnolbConfig { entropies: 65_536, reroute, ..UnolbConfig::default() });
            flow.send(10);
            flow
        }

        fn send(&mut self, packets: usize) -> Vec<Entropy> {
            (0..packets).map(|_| self.entropy()).collect()
        }

        fn entropies(&self) -> Vec<Entropy> {
            self.balancer.subflows.iter().filter_map(Subflow::entropy).collect()
        }

        fn ack_of(&mut self, subflows: core::ops::Range<usize>) {
            for i in subflows {
                self.ack(self.entropies()[i], false);
            }
        }

        fn lose(&mut self, subflow: usize) {
            self.time_out(self.entropies()[subflow]);
        }

        /// Which subflows moved since they had these entropies.
        fn moved(&self, before: &[Entropy]) -> Vec<usize> {
            let after = self.entropies();
            (0..before.len()).filter(|&i| before[i] != after[i]).collect()
        }
    }

    fn rtts(n: f64) -> Duration {
        path().base_rtt.mul_f64(n)
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let config = UnolbConfig { subflows: 0, ..UnolbConfig::default() };
        assert_eq!(config.check().unwrap_err().parameter, "subflows");
        let config = UnolbConfig { entropies: 70_000, ..UnolbConfig::default() };
        assert_eq!(config.check().unwrap_err().parameter, "entropies");
        assert_eq!(UnolbConfig::default().check(), Ok(()));
    }

    #[test]
    fn packets_take_turns_over_ten_subflows() {
        let mut flow = Flow::new(&UnolbConfig { entropies: 65_536, ..UnolbConfig::default() });
        let first = flow.send(10);
        assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), 10);
        assert_eq!(flow.send(10), first);
        flow.send(3);
        assert_eq!(flow.send(7), first[3..]);
    }

    #[test]
    fn entropies_come_from_the_first_250() {
        let mut flow = Flow::new(&UnolbConfig { subflows: 1000, ..UnolbConfig::default() });
        let drawn: BTreeSet<Entropy> = flow.send(1000).into_iter().collect();
        assert!(drawn.iter().all(|&entropy| entropy < 250));
        assert!(drawn.len() > 230, "{} of 250 drawn; 245 are expected", drawn.len());
    }

    #[test]
    fn the_subflow_of_a_lost_packet_takes_the_path_of_one_with_a_recent_ack() {
        let mut flow = Flow::sending(Reroute::Recent);
        flow.now += rtts(5.0);
        flow.ack_of(2..4);
        let before = flow.entropies();
        flow.lose(7);
        assert_eq!(flow.moved(&before), [7]);
        assert!(before[2..4].contains(&flow.entropies()[7]));
    }

    #[test]
    fn subflows_that_never_move_keep_their_paths() {
        let mut flow = Flow::sending(Reroute::Never);
        flow.now += rtts(5.0);
        flow.ack_of(2..4);
        let before = flow.entropies();
        flow.lose(7);
        flow.send(10);
        assert_eq!(flow.entropies(), before);
    }

    #[test]
    fn all_recent_subflows_are_chosen_among() {
        let mut chosen = BTreeSet::new();
        let mut flow = Flow::sending(Reroute::Recent);
        for _ in 0..100 {
            flow.now += rtts(2.0);
            flow.ack_of(0..5);
            flow.lose(9);
            chosen.insert(flow.entropies()[9]);
            flow.balancer.subflows[9] = Subflow::on(60_000);
        }
        assert_eq!(chosen, flow.entropies()[0..5].iter().copied().collect());
    }

    #[test]
    fn an_ack_one_round_trip_old_is_not_recent() {
        let mut flow = Flow::sending(Reroute::Recent);
        flow.ack_of(0..9);
        flow.now += rtts(1.0);
        let before = flow.entropies();
        flow.lose(9);
        assert!(!before.contains(&flow.entropies()[9]), "a random entropy of 65,536");
    }

    #[test]
    fn a_subflow_moves_at_most_once_in_a_base_round_trip() {
        let mut flow = Flow::sending(Reroute::Recent);
        flow.now += rtts(3.0);
        flow.lose(9);
        let moved = flow.entropies();
        flow.now += rtts(1.0);
        flow.lose(9);
        assert_eq!(flow.entropies(), moved);
        flow.now += Duration::from_ps(1);
        flow.lose(9);
        assert_eq!(flow.moved(&moved), [9]);
    }

    #[test]
    fn each_subflow_has_its_own_gate() {
        let mut flow = Flow::sending(Reroute::Recent);
        flow.now += rtts(3.0);
        let before = flow.entropies();
        for subflow in [1, 4, 6] {
            flow.lose(subflow);
        }
        assert_eq!(flow.moved(&before), [1, 4, 6]);
    }

    #[test]
    fn subflows_that_share_a_failed_path_leave_it_together() {
        let mut flow = Flow::sending(Reroute::Recent);
        flow.now += rtts(3.0);
        flow.ack_of(0..1);
        flow.lose(5);
        assert_eq!(flow.entropies()[5], flow.entropies()[0]);
        flow.now += rtts(2.0);
        flow.ack_of(1..2);
        let before = flow.entropies();
        flow.lose(0);
        assert_eq!(flow.moved(&before), [0, 5]);
        assert_eq!(flow.entropies()[0], before[1]);
        assert_eq!(flow.entropies()[5], before[1]);
    }

    #[test]
    fn news_of_a_path_already_left_moves_nobody() {
        let mut flow = Flow::sending(Reroute::Recent);
        flow.now += rtts(3.0);
        let old = flow.sample(flow.entropies()[9]);
        flow.lose(9);
        let moved = flow.entropies();
        flow.now += rtts(3.0);
        flow.balancer.on_nack(PathSample { now: flow.now, ..old }, false, false, &mut flow.random);
        assert_eq!(flow.entropies(), moved);
    }

    #[test]
    fn in_the_artifact_every_silent_subflow_moves_to_a_random_entropy() {
        let mut flow = Flow::sending(Reroute::Fresh);
        flow.now += rtts(3.0);
        flow.ack_of(0..4);
        flow.now += rtts(0.5);
        flow.ack_of(0..2);
        let before = flow.entropies();
        flow.lose(9);
        assert_eq!(flow.moved(&before), [4, 5, 6, 7, 8, 9], "half a round trip is not yet silence");
        let after = flow.entropies();
        assert!(after[4..].iter().all(|entropy| !before.contains(entropy)));
        flow.now += Duration::from_ps(1);
        flow.lose(9);
        assert_eq!(flow.moved(&after), [2, 3], "the others have moved within a round trip");
    }
}
