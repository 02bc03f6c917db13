//! Random packet spraying: each packet draws its own entropy.
//!
//! Dixit et al., "On the Impact of Packet Spraying in Data Center Networks" (INFOCOM 2013): each packet takes a path at
//! random, independently and uniformly. Here it takes a random entropy, which the switches hash, so that spraying is as
//! even over paths as their hashes are. Left out: switches that spray by themselves.
//!
//! Its page: `docs/src/schemes/rps.md`.

use crate::balance::contract::{Balance, BalancerStart, Entropy};
use crate::registry::ConfigError;
use farspan_units::{Random, Time};

/// Parameters of random packet spraying.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RpsConfig {
    /// How many entropies there are to draw from, 1 to 65536; 256 (Uno's published code). More make spraying over many
    /// paths more even.
    pub entropies: u32,
}

impl Default for RpsConfig {
    fn default() -> Self {
        Self { entropies: 256 }
    }
}

impl RpsConfig {
    /// Checks the range.
    ///
    /// # Errors
    /// No entropy, or more than fit 16 bits.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(1.0..=65536.0, "rps", "entropies", f64::from(self.entropies))
    }
}

/// A random entropy for each packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rps {
    /// How many entropies there are to draw from.
    entropies: u32,
}

impl Rps {
    /// The path selector for one flow.
    #[must_use]
    pub const fn new(config: &RpsConfig, _start: &BalancerStart<'_>) -> Self {
        Self { entropies: config.entropies }
    }
}

impl Balance for Rps {
    #[inline]
    fn entropy(&mut self, _now: Time, random: &mut Random) -> Entropy {
        random.below(u64::from(self.entropies)) as Entropy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::path;
    use alloc::vec::Vec;
    use farspan_units::{FlowId, Purpose};

    fn draws(entropies: u32, packets: usize, seed: u64) -> Vec<Entropy> {
        let path = path();
        let mut random = Random::new(seed, Purpose::Balance, 0);
        let mut rps =
            Rps::new(&RpsConfig { entropies }, &BalancerStart { path: &path, flow: FlowId(0), random });
        (0..packets).map(|_| rps.entropy(Time::ZERO, &mut random)).collect()
    }

    #[test]
    fn every_entropy_is_equally_likely() {
        let n = 25_600_u32;
        let mut counts = [0_u32; 256];
        for entropy in draws(256, n as usize, 1) {
            counts[usize::from(entropy)] += 1;
        }
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 100.0).powi(2) / 100.0).sum();
        assert!((170.0..350.0).contains(&chi2), "chi-squared {chi2} with 255 degrees of freedom");
    }

    #[test]
    fn successive_packets_draw_independently() {
        let draws = draws(256, 25_600, 1);
        let repeats = draws.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!((60..150).contains(&repeats), "{repeats} immediate repeats; 100 are expected");
    }

    #[test]
    fn all_sixteen_bits_can_be_used() {
        assert!(draws(65_536, 1000, 1).iter().any(|&entropy| entropy > 60_000));
        assert!(draws(1, 100, 1).iter().all(|&entropy| entropy == 0));
    }

    #[test]
    fn seeds_differ() {
        assert_ne!(draws(256, 16, 1), draws(256, 16, 2));
    }

    #[test]
    fn more_entropies_than_the_header_holds_are_refused() {
        assert!(RpsConfig { entropies: 0 }.check().is_err());
        assert!(RpsConfig { entropies: 65_537 }.check().is_err());
        assert!(RpsConfig { entropies: 65_536 }.check().is_ok());
    }
}
