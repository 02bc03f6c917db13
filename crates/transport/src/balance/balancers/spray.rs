//! Spraying by permutation: each packet takes the next entropy of a random order, so that all are used equally often.
//!
//! As ultraethernet/uet-htsim sprays without feedback. In each round every entropy is used once; the order is a counter
//! combined with a random mask by exclusive or, and each round draws a new mask. [`rps`](super::rps) draws every packet
//! for itself instead.
//!
//! With a [penalty](PenaltyConfig), as NDP has it, rounds leave out entropies whose packets are trimmed much oftener than others.
//!
//! Its page: `docs/src/schemes/spray.md`.

use crate::balance::contract::{Balance, BalancerStart, Entropy, PathSample};
use crate::registry::ConfigError;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use farspan_units::{Random, Time};

/// Parameters of spraying by permutation.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SprayConfig {
    /// A round has 2 to this power of entropies, 0 to 16; 8: 256 entropies, as `rps` and `reps` have.
    pub entropy_bits: u32,
    /// Which entropies rounds leave out; left out: none. In [`ndp`](crate::congestion::ndp): `{}`, as csg-htsim.
    pub penalty: Option<PenaltyConfig>,
}

impl Default for SprayConfig {
    fn default() -> Self {
        Self { entropy_bits: 8, penalty: None }
    }
}

/// Path penalties of NDP (Handley et al., section 3.2; constants of csg-htsim): an entropy is left out while more than this share of its
/// packets came back as NACKs, and so many times the share of all. Never more than half of the entropies are.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct PenaltyConfig {
    /// An entropy is judged from this number of ACKs and NACKs on, 1 to 1,000,000; 100.
    pub samples: u32,
    /// The share of NACKs, in [0, 1]; 0.3.
    pub share: f64,
    /// How many times the share of all entropies, 1 to 1000; 1.25.
    pub excess: f64,
}

impl Default for PenaltyConfig {
    fn default() -> Self {
        Self { samples: 100, share: 0.3, excess: 1.25 }
    }
}

impl SprayConfig {
    /// Checks the range.
    ///
    /// # Errors
    /// More bits than a header holds, or a penalty out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(0.0..=16.0, "spray", "entropy_bits", f64::from(self.entropy_bits))?;
        let Some(penalty) = self.penalty else { return Ok(()) };
        ConfigError::unless_in(1.0..=1e6, "spray", "penalty.samples", f64::from(penalty.samples))?;
        ConfigError::unless_in(0.0..=1.0, "spray", "penalty.share", penalty.share)?;
        ConfigError::unless_in(1.0..=1e3, "spray", "penalty.excess", penalty.excess)
    }
}

/// A header that comes back counts as so many NACKs (csg-htsim).
const NACKS_OF_A_RETURN: u32 = 3;

/// The feedback on the packets of an entropy, or of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Votes {
    /// ACKs and NACKs.
    all: u32,
    /// NACKs.
    nacks: u32,
}

impl Votes {
    fn count(&mut self, is_nack: bool) {
        self.all = self.all.saturating_add(1);
        self.nacks = self.nacks.saturating_add(u32::from(is_nack));
    }

    fn share(self) -> f64 {
        f64::from(self.nacks) / f64::from(self.all.max(1))
    }
}

/// The feedback on all entropies of a flow.
#[derive(Clone, PartialEq, Debug)]
struct Scoreboard {
    penalty: PenaltyConfig,
    /// Votes by entropy.
    of: Vec<Votes>,
    /// Votes for all entropies.
    total: Votes,
    /// How many entropies this round has left out.
    left_out: u32,
}

impl Scoreboard {
    fn new(penalty: PenaltyConfig, entropies: usize) -> Self {
        let none = Votes::default();
        Self { penalty, of: vec![none; entropies], total: none, left_out: 0 }
    }

    fn count(&mut self, entropy: Entropy, is_nack: bool) {
        // A packet may carry an entropy that this flow's selector never drew: a proxy's.
        if let Some(feedback) = self.of.get_mut(usize::from(entropy)) {
            feedback.count(is_nack);
            self.total.count(is_nack);
        }
    }

    /// Whether the round leaves this entropy out.
    fn leaves_out(&mut self, entropy: Entropy) -> bool {
        let feedback = self.of[usize::from(entropy)];
        let share = feedback.share();
        let is_bad = feedback.all >= self.penalty.samples
            && share > self.penalty.share
            && share > self.penalty.excess * self.total.share()
            && 2 * (self.left_out as usize + 1) <= self.of.len();
        self.left_out += u32::from(is_bad);
        is_bad
    }
}

/// A random order of all entropies, round after round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Permutation {
    /// The largest entropy: all of its bits are set.
    largest: Entropy,
    /// How many entropies of the round have had their turn.
    taken: Entropy,
    /// The order of the round.
    mask: Entropy,
}

impl Permutation {
    /// The next entropy.
    #[inline]
    fn next(&mut self, random: &mut Random) -> Entropy {
        if self.taken == 0 {
            self.mask = random.below(u64::from(self.largest) + 1) as Entropy;
        }
        let entropy = self.taken ^ self.mask;
        self.taken = if self.taken == self.largest { 0 } else { self.taken + 1 };
        entropy
    }
}

/// Spraying by permutation for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Spray(Kind);

/// With a scoreboard where there are penalties: most flows have none, and need no room for it.
#[derive(Clone, PartialEq, Debug)]
enum Kind {
    Plain(Permutation),
    Penalised(Box<(Permutation, Scoreboard)>),
}

impl Spray {
    /// The path selector for one flow.
    #[must_use]
    pub fn new(config: &SprayConfig, _start: &BalancerStart<'_>) -> Self {
        let entropies = 1_usize << config.entropy_bits;
        let rounds = Permutation { largest: (entropies - 1) as Entropy, taken: 0, mask: 0 };
        Self(match config.penalty {
            None => Kind::Plain(rounds),
            Some(penalty) => Kind::Penalised(Box::new((rounds, Scoreboard::new(penalty, entropies)))),
        })
    }

    fn count(&mut self, entropy: Entropy, is_nack: bool) {
        if let Kind::Penalised(state) = &mut self.0 {
            state.1.count(entropy, is_nack);
        }
    }
}

impl Balance for Spray {
    #[inline]
    fn entropy(&mut self, _now: Time, random: &mut Random) -> Entropy {
        let (rounds, scoreboard) = match &mut self.0 {
            Kind::Plain(rounds) => return rounds.next(random),
            Kind::Penalised(state) => (&mut state.0, &mut state.1),
        };
        // It ends: a round leaves at most half of them out.
        loop {
            if rounds.taken == 0 {
                scoreboard.left_out = 0;
            }
            let entropy = rounds.next(random);
            if !scoreboard.leaves_out(entropy) {
                return entropy;
            }
        }
    }

    fn wants_feedback(&self) -> bool {
        matches!(self.0, Kind::Penalised(_))
    }

    fn on_ack(&mut self, sample: PathSample, _ecn_ce: bool, _random: &mut Random) {
        self.count(sample.entropy, false);
    }

    fn on_nack(&mut self, sample: PathSample, _at_last_hop: bool, _ecn_ce: bool, _random: &mut Random) {
        self.count(sample.entropy, true);
    }

    fn on_returned(&mut self, sample: PathSample, _random: &mut Random) {
        (0..NACKS_OF_A_RETURN).for_each(|_| self.count(sample.entropy, true));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::testing::Flow;
    use alloc::collections::BTreeSet;

    fn draws(entropy_bits: u32, packets: usize) -> Vec<Entropy> {
        let mut flow =
            Flow::with(|start| Spray::new(&SprayConfig { entropy_bits, ..SprayConfig::default() }, start));
        (0..packets).map(|_| flow.entropy()).collect()
    }

    /// A flow of eight entropies that judges them from the tenth sample on.
    fn penalised() -> Flow<Spray> {
        let penalty = Some(PenaltyConfig { samples: 10, ..PenaltyConfig::default() });
        Flow::with(|start| Spray::new(&SprayConfig { entropy_bits: 3, penalty }, start))
    }

    /// Gives this many ACKs and NACKs of an entropy.
    fn give(flow: &mut Flow<Spray>, entropy: Entropy, acks: u32, nacks: u32) {
        (0..acks).for_each(|_| flow.ack(entropy, false));
        for _ in 0..nacks {
            let sample = flow.sample(entropy);
            flow.balancer.on_nack(sample, false, false, &mut flow.random);
        }
    }

    /// The entropies of the next rounds.
    fn used(flow: &mut Flow<Spray>) -> BTreeSet<Entropy> {
        (0..80).map(|_| flow.entropy()).collect()
    }

    #[test]
    fn an_entropy_whose_packets_are_trimmed_oftener_than_those_of_others_is_left_out() {
        let mut flow = penalised();
        (0..8).for_each(|entropy| give(&mut flow, entropy, 10, 0));
        give(&mut flow, 3, 0, 9);
        assert_eq!(used(&mut flow).len(), 7);
        assert!(!used(&mut flow).contains(&3));
        // ACKs of packets that were under way bring it back.
        give(&mut flow, 3, 20, 0);
        assert_eq!(used(&mut flow).len(), 8);
    }

    #[test]
    fn few_samples_small_shares_and_what_is_common_to_all_leave_none_out() {
        let mut flow = penalised();
        give(&mut flow, 3, 0, 9);
        assert_eq!(used(&mut flow).len(), 8, "nine samples");
        let mut flow = penalised();
        (0..8).for_each(|entropy| give(&mut flow, entropy, 100, 0));
        give(&mut flow, 3, 0, 42);
        assert_eq!(used(&mut flow).len(), 8, "a share of 42 in 142");
        give(&mut flow, 3, 0, 2);
        assert_eq!(used(&mut flow).len(), 7, "a share of 44 in 144");
        let mut flow = penalised();
        (0..8).for_each(|entropy| give(&mut flow, entropy, 10, 20));
        assert_eq!(used(&mut flow).len(), 8, "all the same");
    }

    #[test]
    fn half_of_the_entropies_stay() {
        let mut flow = penalised();
        (0..7).for_each(|entropy| give(&mut flow, entropy, 0, 10));
        give(&mut flow, 7, 1000, 0);
        let round: Vec<Entropy> = (0..4).map(|_| flow.entropy()).collect();
        assert_eq!(round.iter().collect::<BTreeSet<_>>().len(), 4);
        let Kind::Penalised(state) = &flow.balancer.0 else { panic!("it has a scoreboard") };
        assert_eq!(state.0.taken, 0, "four entropies are a round");
    }

    #[test]
    fn penalties_out_of_range_are_named() {
        let refused = |penalty| {
            let config = SprayConfig { penalty: Some(penalty), ..SprayConfig::default() };
            config.check().unwrap_err().parameter
        };
        let default = PenaltyConfig::default();
        assert_eq!(refused(PenaltyConfig { samples: 0, ..default }), "penalty.samples");
        assert_eq!(refused(PenaltyConfig { share: 1.1, ..default }), "penalty.share");
        assert_eq!(refused(PenaltyConfig { excess: 0.9, ..default }), "penalty.excess");
    }

    #[test]
    fn each_round_takes_every_entropy_once() {
        for bits in [0, 1, 8] {
            let n = 1_usize << bits;
            for round in draws(bits, 20 * n).chunks(n) {
                assert!(round.iter().all(|&entropy| usize::from(entropy) < n));
                assert_eq!(round.iter().collect::<BTreeSet<_>>().len(), n);
            }
        }
        assert_eq!(draws(16, 65_536).iter().collect::<BTreeSet<_>>().len(), 65_536);
    }

    #[test]
    fn rounds_have_orders_of_their_own() {
        let sent = draws(8, 256 * 20);
        let orders: BTreeSet<&[Entropy]> = sent.chunks(256).collect();
        assert!(orders.len() > 15, "{} orders in 20 rounds; 19.3 are expected", orders.len());
    }

    #[test]
    fn more_bits_than_a_header_holds_are_refused() {
        assert_eq!(
            SprayConfig { entropy_bits: 17, penalty: None }.check().unwrap_err().parameter,
            "entropy_bits"
        );
        assert_eq!(SprayConfig { entropy_bits: 16, penalty: None }.check(), Ok(()));
    }
}
