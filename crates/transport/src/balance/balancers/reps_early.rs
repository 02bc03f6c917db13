//! REPS as first published: entropies of unmarked packets are used again, the oldest first.
//!
//! "REPS: Recycled Entropy Packet Spraying for Adaptive Load Balancing and Failure Mitigation", the version of 2024. The
//! first BDP of a flow tries entropies in turn, at most each once. From then on a packet takes the entropy that has
//! waited longest among those of ACKs without a mark, and the next in turn if none waits. An entropy that is marked,
//! trimmed or lost is not kept, so that its path falls out of use. Retransmissions choose like new packets.
//!
//! Entropies begin at 0 for every flow: switches hash the flow, too, so that equal entropies are unequal paths.
//! [`reps`](super::reps) is the final version.
//!
//! Its page: `docs/src/schemes/reps-early.md`.

use super::cache::Cache;
use crate::balance::contract::{Balance, BalancerStart, Entropy, PathSample};
use crate::registry::ConfigError;
use farspan_units::{Random, Time};

/// Parameters of early REPS.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RepsEarlyConfig {
    /// How many entropies there are to try in turn, 1 to 65536; 256 (the paper).
    pub entropies: u32,
    /// How many entropies wait to be used again, 1 to 8; 8 (the paper). A further one takes the place of the oldest.
    pub slots: u32,
}

impl Default for RepsEarlyConfig {
    fn default() -> Self {
        Self { entropies: 256, slots: 8 }
    }
}

impl RepsEarlyConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(1.0..=65536.0, "reps-early", "entropies", f64::from(self.entropies))?;
        ConfigError::unless_in(1.0..=Cache::MOST as f64, "reps-early", "slots", f64::from(self.slots))
    }
}

/// Early REPS's state for one flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RepsEarly {
    /// Entropies of unmarked packets.
    cache: Cache,
    /// The largest entropy.
    largest: Entropy,
    /// The next in turn.
    next: Entropy,
    /// How many packets are still to try entropies in turn.
    to_explore: u32,
}

impl RepsEarly {
    /// The path selector for one flow.
    #[must_use]
    pub fn new(config: &RepsEarlyConfig, start: &BalancerStart<'_>) -> Self {
        Self {
            cache: Cache::new(config.slots),
            largest: (config.entropies - 1) as Entropy,
            next: 0,
            to_explore: start.path.bdp_packets().min(config.entropies),
        }
    }

    fn in_turn(&mut self) -> Entropy {
        let entropy = self.next;
        self.next = if entropy == self.largest { 0 } else { entropy + 1 };
        entropy
    }
}

impl Balance for RepsEarly {
    fn entropy(&mut self, _now: Time, _random: &mut Random) -> Entropy {
        if self.to_explore > 0 {
            self.to_explore -= 1;
            return self.in_turn();
        }
        self.cache.take_oldest().unwrap_or_else(|| self.in_turn())
    }

    fn wants_feedback(&self) -> bool {
        true
    }

    fn on_ack(&mut self, sample: PathSample, ecn_ce: bool, _random: &mut Random) {
        if !ecn_ce {
            self.cache.put(sample.entropy);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::testing::Flow;
    use crate::congestion::testing::path;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn flow(entropies: u32, slots: u32) -> Flow<RepsEarly> {
        Flow::with(|start| RepsEarly::new(&RepsEarlyConfig { entropies, slots }, start))
    }

    fn send(flow: &mut Flow<RepsEarly>, packets: u32) -> Vec<Entropy> {
        (0..packets).map(|_| flow.entropy()).collect()
    }

    /// A flow that has sent its first BDP.
    fn explored() -> Flow<RepsEarly> {
        let mut flow = flow(256, 8);
        let bdp = path().bdp_packets();
        assert_eq!(send(&mut flow, bdp), Vec::from_iter(0..bdp as Entropy));
        flow
    }

    #[test]
    fn the_first_bdp_takes_entropies_in_turn_whatever_is_acknowledged() {
        let bdp = path().bdp_packets();
        assert!(bdp > 10);
        let mut flow = flow(256, 8);
        assert_eq!(send(&mut flow, 5), [0, 1, 2, 3, 4]);
        flow.ack(1, false);
        assert_eq!(send(&mut flow, bdp - 5), Vec::from_iter(5..bdp as Entropy));
        assert_eq!(flow.entropy(), 1);
    }

    #[test]
    fn few_entropies_are_tried_once_each() {
        let mut flow = flow(4, 8);
        assert_eq!(send(&mut flow, 4), [0, 1, 2, 3]);
        flow.ack(2, false);
        assert_eq!(send(&mut flow, 3), [2, 0, 1]);
    }

    #[test]
    fn unmarked_entropies_come_back_in_their_order_and_then_the_next_in_turn() {
        let (mut flow, next) = (explored(), path().bdp_packets() as Entropy);
        for (entropy, ecn_ce) in [(3, false), (7, true), (5, false)] {
            flow.ack(entropy, ecn_ce);
        }
        assert_eq!(send(&mut flow, 4), [3, 5, next, next + 1]);
    }

    #[test]
    fn what_is_trimmed_lost_or_timed_out_is_not_kept() {
        let (mut flow, next) = (explored(), path().bdp_packets() as Entropy);
        let sample = flow.sample(3);
        flow.balancer.on_nack(sample, false, false, &mut flow.random);
        flow.balancer.on_loss(sample, &mut flow.random);
        flow.time_out(3);
        assert_eq!(flow.entropy(), next);
    }

    #[test]
    fn a_ninth_entropy_takes_the_place_of_the_oldest() {
        let mut flow = explored();
        (0..9).for_each(|entropy| flow.ack(entropy, false));
        assert_eq!(send(&mut flow, 8), [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let refused = |entropies, slots| RepsEarlyConfig { entropies, slots }.check().unwrap_err().parameter;
        assert_eq!((refused(0, 8), refused(256, 9), refused(256, 0)), ("entropies", "slots", "slots"));
        assert_eq!(RepsEarlyConfig { entropies: 65_536, slots: 1 }.check(), Ok(()));
    }

    proptest! {
        #[test]
        fn a_flow_follows_the_rules_whatever_comes_back(
            slots in 1..9_u32,
            events in prop::collection::vec(prop_oneof![Just(None), (0..256_u16, any::<bool>()).prop_map(Some)], 0..300),
        ) {
            let mut flow = flow(256, slots);
            let (mut waiting, mut sent, mut next) = (Vec::new(), 0, 0);
            for event in events {
                match event {
                    None => {
                        let expected = if sent < path().bdp_packets() || waiting.is_empty() {
                            next += 1;
                            (next - 1) % 256
                        } else {
                            waiting.remove(0)
                        };
                        sent += 1;
                        prop_assert_eq!(flow.entropy(), expected);
                    }
                    Some((entropy, ecn_ce)) => {
                        flow.ack(entropy, ecn_ce);
                        if !ecn_ce {
                            waiting.push(entropy);
                        }
                        if waiting.len() > slots as usize {
                            waiting.remove(0);
                        }
                    }
                }
            }
        }
    }
}
