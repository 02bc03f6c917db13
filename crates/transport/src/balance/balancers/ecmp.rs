//! Equal-cost multipath: one path for the whole flow.
//!
//! The null path selector. Switches hash (flow, entropy) with a salt of their own (RFC 2992), so a constant entropy
//! gives a constant path; which constant does not matter. The Uno artifact takes the number of the source host.
//!
//! The entropy follows from the flow's number alone. Hosts that number flows by themselves give equal ones to flows of equal
//! numbers: what hashes them must also hash who sends, as addresses or ports of a real network do.
//!
//! Its page: `docs/src/schemes/ecmp.md`.

use crate::balance::contract::{Balance, BalancerStart, Entropy};
use crate::registry::ConfigError;
use farspan_units::{Random, Time, random};

/// Parameters of ECMP: none.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct EcmpConfig {}

impl EcmpConfig {
    /// Nothing to check.
    ///
    /// # Errors
    /// None.
    pub const fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }
}

/// One entropy for the whole flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ecmp {
    /// The entropy of every packet.
    entropy: Entropy,
}

impl Ecmp {
    /// The path selector for one flow: its entropy is a hash of the flow's number, the same for every seed.
    #[must_use]
    pub const fn new(_config: &EcmpConfig, start: &BalancerStart<'_>) -> Self {
        Self { entropy: random::mix(start.flow.0 as u64 + 1) as Entropy }
    }
}

impl Balance for Ecmp {
    fn entropy(&mut self, _now: Time, _random: &mut Random) -> Entropy {
        self.entropy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::path;
    use alloc::collections::BTreeSet;
    use farspan_units::{FlowId, Purpose};

    fn entropies(flow: u32, packets: usize) -> BTreeSet<Entropy> {
        let path = path();
        let mut random = Random::new(1, Purpose::Balance, u64::from(flow));
        let mut ecmp = Ecmp::new(&EcmpConfig {}, &BalancerStart { path: &path, flow: FlowId(flow), random });
        (0..packets).map(|i| ecmp.entropy(Time::from_ps(i as u64), &mut random)).collect()
    }

    #[test]
    fn every_packet_of_a_flow_carries_the_same_entropy() {
        assert_eq!(entropies(7, 100).len(), 1);
    }

    #[test]
    fn flows_differ() {
        let all: BTreeSet<_> = (0..1000).flat_map(|flow| entropies(flow, 1)).collect();
        assert!(all.len() > 980, "{} of 1000 entropies differ; about 992 are expected", all.len());
    }
}
