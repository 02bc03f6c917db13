//! What the tests of all controls share: Uno's two paths and plain events.

use super::{Ack, Start};
use crate::path::{Class, Path};
use farspan_units::{Bytes, Duration, FlowId, Rate, Time};

/// One bandwidth-delay product of Uno's intra-datacenter path.
pub const START_CWND: Bytes = Bytes::new(175_344);

static INTRA: Path = Path {
    class: Class::Intra,
    base_rtt: Duration::from_ps(14_027_520),
    line_rate: Rate::from_bps(100_000_000_000),
    bdp: START_CWND,
    intra_base_rtt: Duration::from_ps(14_027_520),
    hops: 6,
    max_queueing: Duration::from_us(400),
    mss: Bytes::new(4096),
    header: Bytes::new(64),
};

static INTER: Path = Path {
    class: Class::Inter,
    base_rtt: Duration::from_ps(1_792_041_280),
    bdp: Bytes::new(22_400_516),
    hops: 9,
    max_queueing: Duration::from_us(640),
    ..INTRA
};

/// Uno's path inside a datacenter: 100 Gb/s, 14 us.
pub fn path() -> Path {
    INTRA
}

/// Uno's path between datacenters: 100 Gb/s, 1.792 ms.
pub fn wan_path() -> Path {
    INTER
}

/// A flow inside a datacenter that starts with one bandwidth-delay product.
pub fn start() -> Start<'static> {
    Start { path: &INTRA, initial_cwnd: INTRA.bdp, seed: 1, flow: FlowId(0) }
}

/// A flow between datacenters that starts with one bandwidth-delay product.
pub fn wan_start() -> Start<'static> {
    Start { path: &INTER, initial_cwnd: INTER.bdp, seed: 1, flow: FlowId(1) }
}

/// A marked ACK of a full packet, one base round trip after time zero.
pub fn ack_marked() -> Ack<'static> {
    Ack {
        now: Time::ZERO + INTRA.base_rtt,
        bytes_acked: INTRA.mss,
        ecn_ce: true,
        rtt: INTRA.base_rtt,
        sent_at: Time::ZERO,
        in_flight: Bytes::ZERO,
        delivered: INTRA.mss,
        at_send: None,
        telemetry: &[],
    }
}
