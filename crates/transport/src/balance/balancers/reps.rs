//! REPS, final: entropies of unmarked packets are used again, and only those while paths fail.
//!
//! "REPS: Recycled Entropy Packet Spraying for Adaptive Load Balancing and Failure Mitigation", as ultraethernet/uet-htsim
//! and the published artifact run it. A packet takes the entropy that has waited longest among the last eight of ACKs
//! without a mark, or a random one if none waits; so the first window is random. A time-out freezes the flow: it takes the
//! eight in turn, whether they wait or not, so that no packet explores a network that has dead paths. Feedback after
//! `freeze` ends that: the eight are forgotten, and as many random entropies as `explore` follow.
//!
//! Where ports trim, a time-out is no congestion. Where they drop it may be, and it freezes only a flow that had low
//! round trips for as long as the packet was waited for. A packet trimmed at the last hop met no queue that another path
//! avoids: its entropy is kept, unless a port before has marked it. Retransmissions choose like new packets.
//!
//! Where an ACK stands for several packets, the entropy of each comes back once. uet-htsim has the entropy of the one that
//! the ACK names used as often (`usable_lifetime`), which gathers a flow on few paths.
//!
//! [`reps_early`](super::reps_early) is the version before.
//!
//! Its page: `docs/src/schemes/reps.md`.

use super::cache::Cache;
use crate::balance::contract::{Balance, BalancerStart, Entropy, PathSample};
use crate::registry::ConfigError;
use farspan_units::{Duration, Random, Time};

/// Parameters of REPS.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RepsConfig {
    /// How many entropies there are to draw from, 1 to 65536; 256, as early REPS has. Scripts of the artifact: 65,535.
    pub entropies: u32,
    /// How many entropies wait to be used again, 1 to 8; 8 (the artifact). A further one takes the place of the oldest.
    pub slots: u32,
    /// How long a flow is frozen after a time-out, at least; 10 ms (uet-htsim and the artifact). One of its scripts: 100 us.
    pub freeze: Duration,
    /// How many packets take a random entropy when the flow is no longer frozen; left out: one BDP (the artifact).
    /// uet-htsim: 16.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub explore: Option<u32>,
    /// Where ports drop: a time-out freezes the flow unless a round trip of this many base round trips or more was seen
    /// since the packet left, 1 to 1000; 1.65 (the artifact).
    pub congested: f64,
}

impl Default for RepsConfig {
    fn default() -> Self {
        Self { entropies: 256, slots: 8, freeze: Duration::from_ms(10), explore: None, congested: 1.65 }
    }
}

impl RepsConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let checks = [
            (1.0..=65536.0, "entropies", f64::from(self.entropies)),
            (1.0..=Cache::MOST as f64, "slots", f64::from(self.slots)),
            (1.0..=1000.0, "congested", self.congested),
        ];
        checks
            .into_iter()
            .try_for_each(|(range, parameter, value)| ConfigError::unless_in(range, "reps", parameter, value))
    }
}

/// REPS's state for one flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reps {
    /// Entropies of unmarked packets.
    cache: Cache,
    /// Which slot a frozen flow takes next.
    turn: u8,
    /// Whether ports trim rather than drop.
    trims: bool,
    /// How many entropies there are to draw from.
    entropies: u32,
    /// How many packets are still to take a random entropy.
    to_explore: u32,
    /// How many do after the flow was frozen.
    explore: u32,
    /// Until when the flow is frozen, at least; `None`: it is not.
    frozen_until: Option<Time>,
    /// How long it is.
    freeze: Duration,
    /// From which round trip on the network is congested.
    high_rtt: Duration,
    /// When such a round trip was last seen.
    congested_at: Option<Time>,
}

impl Reps {
    /// The path selector for one flow.
    #[must_use]
    pub fn new(config: &RepsConfig, start: &BalancerStart<'_>) -> Self {
        Self {
            cache: Cache::new(config.slots),
            turn: 0,
            trims: start.path.trims,
            entropies: config.entropies,
            to_explore: 0,
            explore: config.explore.unwrap_or_else(|| start.path.bdp_packets()),
            frozen_until: None,
            freeze: config.freeze,
            high_rtt: start.path.base_rtt.mul_f64(config.congested),
            congested_at: None,
        }
    }

    fn draw(&self, random: &mut Random) -> Entropy {
        random.below(u64::from(self.entropies)) as Entropy
    }

    /// The first feedback after `freeze` ends it.
    fn thaw(&mut self, now: Time) {
        if self.frozen_until.is_some_and(|until| now > until) {
            self.frozen_until = None;
            self.cache.clear();
            self.to_explore = self.explore;
        }
    }
}

impl Balance for Reps {
    fn entropy(&mut self, _now: Time, random: &mut Random) -> Entropy {
        if self.to_explore > 0 {
            self.to_explore -= 1;
            return self.draw(random);
        }
        let kept = if self.frozen_until.is_some() {
            self.cache.at(&mut self.turn)
        } else {
            self.cache.take_oldest()
        };
        kept.unwrap_or_else(|| self.draw(random))
    }

    fn wants_feedback(&self) -> bool {
        true
    }

    fn on_ack(&mut self, sample: PathSample, ecn_ce: bool, _random: &mut Random) {
        self.thaw(sample.now);
        if sample.now.since(sample.sent_at) >= self.high_rtt {
            self.congested_at = Some(sample.now);
        }
        if !ecn_ce {
            self.cache.put(sample.entropy);
        }
    }

    fn on_nack(&mut self, sample: PathSample, at_last_hop: bool, ecn_ce: bool, _random: &mut Random) {
        self.thaw(sample.now);
        if at_last_hop && !ecn_ce {
            self.cache.put(sample.entropy);
        }
    }

    fn on_timeout(&mut self, sample: PathSample, _random: &mut Random) {
        let is_congested = !self.trims && self.congested_at.is_some_and(|at| at >= sample.sent_at);
        if self.frozen_until.is_none() && self.to_explore == 0 && !is_congested {
            self.frozen_until = Some(sample.now + self.freeze);
            self.turn = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::testing::Flow;
    use crate::congestion::testing::path;
    use crate::path::Path;
    use alloc::vec::Vec;

    impl Flow<Reps> {
        fn new(config: &RepsConfig, trims: bool) -> Self {
            Self::with(|start| {
                Reps::new(config, &BalancerStart { path: &Path { trims, ..path() }, ..*start })
            })
        }

        fn send(&mut self, packets: usize) -> Vec<Entropy> {
            (0..packets).map(|_| self.entropy()).collect()
        }

        fn is_frozen(&self) -> bool {
            self.balancer.frozen_until.is_some()
        }
    }

    /// A selector with enough entropies that no random one is among the first hundred by chance.
    fn reps() -> Flow<Reps> {
        Flow::new(&RepsConfig { entropies: 65_536, explore: Some(3), ..RepsConfig::default() }, true)
    }

    /// The entropies among these that were given, not drawn.
    fn given(sent: &[Entropy]) -> Vec<Entropy> {
        sent.iter().copied().filter(|&entropy| entropy < 100).collect()
    }

    #[test]
    fn a_first_window_is_random() {
        let mut flow = reps();
        assert_eq!(given(&flow.send(40)), [0; 0]);
    }

    #[test]
    fn unmarked_entropies_come_back_once_in_their_order() {
        let mut flow = reps();
        for (entropy, ecn_ce) in [(3, false), (7, true), (5, false)] {
            flow.ack(entropy, ecn_ce);
        }
        assert_eq!(flow.send(2), [3, 5]);
        assert_eq!(given(&flow.send(10)), [0; 0]);
    }

    #[test]
    fn the_last_eight_are_kept() {
        let mut flow = reps();
        (0..20).for_each(|entropy| flow.ack(entropy, false));
        assert_eq!(flow.send(8), [12, 13, 14, 15, 16, 17, 18, 19]);
        let mut flow = Flow::new(&RepsConfig { entropies: 65_536, slots: 1, ..RepsConfig::default() }, true);
        (0..20).for_each(|entropy| flow.ack(entropy, false));
        assert_eq!(given(&flow.send(8)), [19]);
    }

    #[test]
    fn of_trimmed_packets_those_of_the_last_hop_are_kept_that_carry_no_mark() {
        let mut flow = reps();
        for (entropy, at_last_hop, ecn_ce) in
            [(3, false, false), (4, true, false), (5, true, true), (6, false, true)]
        {
            flow.balancer.on_nack(flow.sample(entropy), at_last_hop, ecn_ce, &mut flow.random);
        }
        assert_eq!(given(&flow.send(10)), [4]);
    }

    #[test]
    fn a_frozen_flow_takes_the_kept_in_turn_whether_they_wait_or_not() {
        let mut flow = reps();
        for entropy in [3, 5, 7] {
            flow.ack(entropy, false);
        }
        assert_eq!(flow.send(1), [3]);
        flow.time_out(40);
        assert_eq!(flow.send(7), [3, 5, 7, 3, 5, 7, 3]);
        flow.ack(9, false);
        assert_eq!(flow.send(4), [5, 7, 9, 3], "what is new joins the turn");
    }

    #[test]
    fn a_frozen_flow_without_any_draws() {
        let mut flow = reps();
        flow.time_out(40);
        assert_eq!(given(&flow.send(10)), [0; 0]);
    }

    #[test]
    fn feedback_after_its_time_thaws_a_flow_which_then_explores() {
        let mut flow = reps();
        for entropy in [3, 5, 7] {
            flow.ack(entropy, false);
        }
        flow.time_out(40);
        flow.now += Duration::from_ms(10);
        flow.ack(8, false);
        assert!(flow.is_frozen(), "its time is not over");
        flow.now += Duration::from_ps(1);
        assert_eq!(flow.send(1).len(), 1);
        assert!(flow.is_frozen(), "no feedback came");
        flow.ack(9, false);
        assert!(!flow.is_frozen());
        flow.time_out(40);
        assert!(!flow.is_frozen(), "a flow that explores is not frozen");
        assert_eq!(given(&flow.send(3)), [0; 0], "three packets explore");
        assert_eq!(given(&flow.send(10)), [9], "the others are forgotten");
    }

    #[test]
    fn what_is_left_out_explores_one_bdp() {
        let flow = Flow::new(&RepsConfig::default(), true);
        assert_eq!(flow.balancer.explore, path().bdp_packets());
    }

    #[test]
    fn where_ports_drop_a_time_out_freezes_only_after_low_round_trips() {
        let freezes = |trims, since_left: Duration| {
            let mut flow = Flow::new(&RepsConfig::default(), trims);
            // Its round trip is 1.65 base round trips.
            let sent_at = flow.sample(3).sent_at;
            flow.now = sent_at + path().base_rtt.mul_f64(1.65);
            let high = PathSample { sent_at, ..flow.sample(3) };
            flow.balancer.on_ack(high, false, &mut flow.random);
            let lost = PathSample { sent_at: flow.now + since_left, ..flow.sample(3) };
            flow.now += Duration::from_ms(1);
            flow.balancer.on_timeout(PathSample { now: flow.now, ..lost }, &mut flow.random);
            flow.is_frozen()
        };
        let (before, after) = (Duration::ZERO, Duration::from_ps(1));
        assert!(!freezes(false, before), "the high one came after the packet left");
        assert!(freezes(false, after), "it came before");
        assert!(freezes(true, before), "with trimming it says nothing");
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let refused = |config: RepsConfig| config.check().unwrap_err().parameter;
        let config = RepsConfig::default;
        assert_eq!(refused(RepsConfig { entropies: 0, ..config() }), "entropies");
        assert_eq!(refused(RepsConfig { slots: 9, ..config() }), "slots");
        assert_eq!(refused(RepsConfig { congested: 0.5, ..config() }), "congested");
        assert_eq!(config().check(), Ok(()));
    }
}
