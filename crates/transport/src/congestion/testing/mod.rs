//! Tests of controls. [`conforms`] checks the contract, [`window_curve`] and [`decisions`] show a window on its way through
//! one script; two paths and a stream of ACKs serve tests of single rules.

mod conformance;
mod curves;
mod dumbbell;
#[cfg(test)]
mod steady;
#[cfg(all(test, feature = "serde"))]
mod text;
mod trial;

pub use conformance::{Violation, conforms};
pub use curves::{decisions, window_curve};
pub use trial::FlowEvent;

use crate::congestion::{Ack, Start};
use crate::path::{Class, Path};
use farspan_units::{Bytes, Duration, FlowId, Rate, Time};
#[cfg(test)]
pub(crate) use internal::*;

/// One bandwidth-delay product of Uno's intra-datacenter path.
pub const START_CWND: Bytes = Bytes::new(175_344);

static INTRA: Path = Path {
    class: Class::Intra,
    base_rtt: Duration::from_ps(14_027_520),
    line_rate: Rate::from_bps(100_000_000_000),
    bdp: START_CWND,
    intra_base_rtt: Duration::from_ps(14_027_520),
    largest_base_rtt: Duration::from_ps(14_027_520),
    hops: 6,
    max_queueing: Duration::from_us(400),
    k_min: None,
    trims: false,
    mss: Bytes::new(4096),
    header: Bytes::new(64),
};

static INTER: Path = Path {
    class: Class::Inter,
    base_rtt: Duration::from_ps(1_792_041_280),
    bdp: Bytes::new(22_400_516),
    largest_base_rtt: Duration::from_ps(1_792_041_280),
    hops: 9,
    max_queueing: Duration::from_us(640),
    ..INTRA
};

/// Uno's path inside a datacenter: 100 Gb/s, 14 us.
#[must_use]
pub fn path() -> Path {
    INTRA
}

/// Uno's path between datacenters: 100 Gb/s, 1.792 ms.
#[must_use]
pub fn wan_path() -> Path {
    INTER
}

/// A flow inside a datacenter that starts with one bandwidth-delay product.
#[must_use]
pub fn start() -> Start<'static> {
    Start {
        path: &INTRA,
        size: Bytes::MAX,
        initial_cwnd: INTRA.bdp,
        active_flows: 0,
        seed: 1,
        flow: FlowId(0),
    }
}

/// A flow between datacenters that starts with one bandwidth-delay product.
#[must_use]
pub fn wan_start() -> Start<'static> {
    Start {
        path: &INTER,
        size: Bytes::MAX,
        initial_cwnd: INTER.bdp,
        active_flows: 0,
        seed: 1,
        flow: FlowId(1),
    }
}

/// A stream of ACKs of full packets over an idle path: one each packet time, each of the packet sent one base round
/// trip before it, with a bandwidth-delay product in flight.
#[derive(Clone, Debug)]
pub struct AckStream {
    path: Path,
    /// When the last ACK came.
    pub now: Time,
    /// How much longer than the base round trip each round trip takes.
    pub delay: Duration,
    delivered: Bytes,
}

impl AckStream {
    /// The first ACK comes one base round trip after time zero.
    #[must_use]
    pub fn new(start: &Start<'_>) -> Self {
        Self { path: *start.path, now: Time::ZERO, delay: Duration::ZERO, delivered: Bytes::ZERO }
    }

    /// The next ACK, one packet time after the last.
    #[must_use]
    pub fn next(&mut self, ecn_ce: bool) -> Ack<'static> {
        self.after(self.path.packet_time(), ecn_ce)
    }

    /// The ACK of a packet sent at the time of the last ACK: one round trip after it.
    #[must_use]
    pub fn next_round(&mut self, ecn_ce: bool) -> Ack<'static> {
        self.after(self.path.base_rtt + self.delay, ecn_ce)
    }

    fn after(&mut self, gap: Duration, ecn_ce: bool) -> Ack<'static> {
        let rtt = self.path.base_rtt + self.delay;
        self.now = (self.now + gap).max(Time::ZERO + rtt);
        self.delivered += self.path.mss;
        Ack {
            now: self.now,
            bytes_acked: self.path.mss,
            mapped: Bytes::ZERO,
            acked_packets: 1,
            ecn_ce,
            rtt,
            sent_at: self.now - rtt,
            in_flight: self.path.bdp,
            delivered: self.delivered,
            acked_below: 0,
            sent_below: 0,
            has_losses: false,
            at_send: None,
            telemetry: None,
        }
    }
}

/// Helpers that the tests of built-in controls share.
#[cfg(test)]
mod internal {
    use super::*;
    use crate::congestion::{
        CongestionConfig, Timeout, bbr, dcqcn, gemini, mprdma, oscar, poseidon, powertcp, smartt, swift,
        timely, unocc,
    };
    use crate::registry::ConfigError;

    /// Payload of a full packet of these paths, in bytes.
    pub const MSS: f64 = 4096.0;

    /// Puts one parameter out of its range.
    pub type Spoil<C> = fn(&mut C);

    /// A flow inside a datacenter that starts with another window.
    pub fn start_with(initial_cwnd: Bytes) -> Start<'static> {
        Start { initial_cwnd, ..start() }
    }

    /// The controls that published code runs in a parameterisation of its own.
    pub fn published() -> [CongestionConfig; 11] {
        [
            CongestionConfig::Unocc(unocc::tests::artifact()),
            CongestionConfig::Gemini(gemini::tests::artifact()),
            CongestionConfig::Mprdma(mprdma::tests::artifact()),
            CongestionConfig::Bbr(bbr::tests::artifact()),
            CongestionConfig::Smartt(smartt::tests::artifact()),
            CongestionConfig::Oscar(oscar::tests::artifact()),
            CongestionConfig::Powertcp(powertcp::tests::artifact()),
            CongestionConfig::Swift(swift::tests::artifact()),
            CongestionConfig::Timely(timely::tests::artifact()),
            CongestionConfig::Dcqcn(dcqcn::tests::artifact()),
            CongestionConfig::Poseidon(poseidon::tests::artifact()),
        ]
    }

    /// Fails unless `value` is within `tolerance` of `expected`.
    #[track_caller]
    pub fn near(value: f64, expected: f64, tolerance: f64) {
        assert!((value - expected).abs() <= tolerance, "{value} is not {expected} +- {tolerance}");
    }

    /// Fails unless each of these changes of the defaults is refused by the name of its parameter.
    #[track_caller]
    pub fn refused<C: Default>(check: fn(&C) -> Result<(), ConfigError>, cases: &[(&str, Spoil<C>)]) {
        for (parameter, spoil) in cases {
            let mut config = C::default();
            spoil(&mut config);
            assert_eq!(check(&config).unwrap_err().parameter, *parameter);
        }
    }

    /// The time-out of one full packet after half a millisecond.
    pub fn timeout(now: Time, sent_at: Time, in_flight: Bytes) -> Timeout {
        Timeout { now, bytes: INTRA.mss, sent_at, in_flight, rto: Duration::from_us(500) }
    }
}
