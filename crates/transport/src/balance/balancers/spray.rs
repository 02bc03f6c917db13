//! Spraying by permutation: each packet takes the next entropy of a random order, so that all are used equally often.
//!
//! As ultraethernet/uet-htsim sprays without feedback. In each round every entropy is used once; the order is a counter
//! combined with a random mask by exclusive or, and each round draws a new mask. [`rps`](super::rps) draws every packet
//! for itself instead.

use crate::balance::contract::{Balance, BalancerStart, Entropy};
use crate::registry::ConfigError;
use farspan_units::{Random, Time};

/// Parameters of spraying by permutation.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SprayConfig {
    /// A round has 2 to this power of entropies, 0 to 16; 8: 256 entropies, as `rps` and `reps` have.
    pub entropy_bits: u32,
}

impl Default for SprayConfig {
    fn default() -> Self {
        Self { entropy_bits: 8 }
    }
}

impl SprayConfig {
    /// Checks the range.
    ///
    /// # Errors
    /// More bits than a header holds.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(0.0..=16.0, "spray", "entropy_bits", f64::from(self.entropy_bits))
    }
}

/// A random order of all entropies, round after round.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spray {
    /// The largest entropy: all of its bits are set.
    largest: Entropy,
    /// How many packets of the round have left.
    sent: Entropy,
    /// The order of the round.
    mask: Entropy,
}

impl Spray {
    /// The path selector for one flow.
    #[must_use]
    pub const fn new(config: &SprayConfig, _start: &BalancerStart<'_>) -> Self {
        Self { largest: ((1_u32 << config.entropy_bits) - 1) as Entropy, sent: 0, mask: 0 }
    }
}

impl Balance for Spray {
    #[inline]
    fn entropy(&mut self, _now: Time, random: &mut Random) -> Entropy {
        if self.sent == 0 {
            self.mask = random.below(u64::from(self.largest) + 1) as Entropy;
        }
        let entropy = self.sent ^ self.mask;
        self.sent = if self.sent == self.largest { 0 } else { self.sent + 1 };
        entropy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::testing::Flow;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    fn draws(entropy_bits: u32, packets: usize) -> Vec<Entropy> {
        let mut flow = Flow::with(|start| Spray::new(&SprayConfig { entropy_bits }, start));
        (0..packets).map(|_| flow.entropy()).collect()
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
        assert_eq!(SprayConfig { entropy_bits: 17 }.check().unwrap_err().parameter, "entropy_bits");
        assert_eq!(SprayConfig { entropy_bits: 16 }.check(), Ok(()));
    }
}
