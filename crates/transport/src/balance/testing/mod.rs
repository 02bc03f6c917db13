//! Rules for all path selectors, and helpers that the tests of single ones share.

mod conformance;

use crate::balance::{Balance, BalancerStart, Entropy, PathSample};
use crate::congestion::testing::path;
use farspan_units::{Bytes, FlowId, Purpose, Random, Time};

/// A flow inside a datacenter with a path selector.
pub(super) struct Flow<B> {
    pub balancer: B,
    pub random: Random,
    /// One base round trip after time zero, to begin with.
    pub now: Time,
    pub in_flight: Bytes,
}

impl<B: Balance> Flow<B> {
    pub(super) fn with(build: impl FnOnce(&BalancerStart<'_>) -> B) -> Self {
        let path = path();
        let random = Random::new(1, Purpose::Balance, 0);
        let balancer = build(&BalancerStart { path: &path, flow: FlowId(0), random });
        Self { balancer, random, now: Time::ZERO + path.base_rtt, in_flight: Bytes::new(40_960) }
    }

    /// The entropy of the next packet.
    pub(super) fn entropy(&mut self) -> Entropy {
        self.balancer.entropy(self.now, &mut self.random)
    }

    /// The feedback, as of now, on a packet with this entropy that left one base round trip ago.
    pub(super) fn sample(&self, entropy: Entropy) -> PathSample {
        let sent_at = Time::ZERO + self.now.since(Time::ZERO + path().base_rtt);
        PathSample { now: self.now, sent_at, entropy, in_flight: self.in_flight }
    }

    /// Its ACK.
    pub(super) fn ack(&mut self, entropy: Entropy, ecn_ce: bool) {
        self.balancer.on_ack(self.sample(entropy), ecn_ce, &mut self.random);
    }

    /// Its time-out.
    pub(super) fn time_out(&mut self, entropy: Entropy) {
        self.balancer.on_timeout(self.sample(entropy), &mut self.random);
    }
}
