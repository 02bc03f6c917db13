//! Loss recovery: which packets of a flow are lost, and when a time-out says so.
//!
//! A [`RecoveryPolicy`] judges the packets of the sent-packet map (`sent/`), which knows of each whether it is in
//! flight, lost or acknowledged, and which transmission in flight is the oldest. Adding a policy: write its file in
//! `policies/`, then one line in the registry at the end of `policies/mod.rs`, which enrols it in the conformance tests.
//!
//! - [`RttEstimate`]: smoothed round trip and, from it, the time-out of RFC 6298.
//! - `policies/per_packet_rto.rs`: each packet has a time-out of its own, counted from the moment the transmission left; with
//!   back-off it doubles with each time-out of the packet before it. An ACK of a later packet does not restart it.
//! - `policies/go_back_n.rs`: the receiver takes packets in order alone; a NACK or the flow's one time-out sends all again.
//! - `policies/rack.rs`: RACK-TLP. Packets are lost because later ones arrived, a probe asks after a tail, and one time-out for
//!   the flow stands behind both.

mod contract;
mod policies;
mod rtt;
mod sent;
#[cfg(test)]
mod testing;

pub(crate) use contract::{Acked, Expired, Recover, Verdict};
pub use policies::{ENTRIES, NAMES, RecoveryPolicy};
pub(crate) use policies::{PerPacketRto, Recovery};
pub use rtt::RttEstimate;
pub(crate) use rtt::Smoothed;
pub use sent::PacketState;
pub(crate) use sent::{AckOutcome, LossCounters, LostPacket, RtoPolicy, SentMap};

use crate::path::Path;
use farspan_units::Duration;

/// How the retransmission time-out is set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Rto {
    /// Base RTT plus the largest wait in full buffers along the path.
    Path,
    /// From the RTT estimate (RFC 6298), with a floor under the variation.
    Rfc6298 {
        /// The time-out before the first sample; 1 s in RFC 6298 (2.1). It is no sample: there is no handshake that gives one.
        initial: Duration,
        /// The least by which a time-out is longer than the smoothed round trip.
        variance_floor: Duration,
        /// The shortest time-out.
        min: Duration,
    },
    /// A constant.
    Fixed(Duration),
    /// A multiple of the base RTT.
    BaseRtts(u32),
}

/// As scenarios write it, with its constants.
impl core::fmt::Display for Rto {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Path => f.write_str("path"),
            Self::Rfc6298 { initial, variance_floor, min } => {
                write!(
                    f,
                    "rfc6298, rto_initial {initial}, rto_variance_floor {variance_floor}, rto_min {min}"
                )
            }
            Self::Fixed(time) => time.fmt(f),
            Self::BaseRtts(times) => write!(f, "{times} base RTTs"),
        }
    }
}

impl Rto {
    /// The time-out of a packet that never timed out before, where the receiver may hold an ACK for `ack_delay`.
    #[must_use]
    pub(crate) fn initial(self, path: &Path, ack_delay: Duration) -> Duration {
        match self {
            Self::Path => path.base_rtt + path.max_queueing + ack_delay,
            Self::Rfc6298 { initial: rto, .. } | Self::Fixed(rto) => rto,
            Self::BaseRtts(count) => path.base_rtt * u64::from(count) + ack_delay,
        }
    }

    /// The time-out where the receiver may hold an ACK for so long: none that follows round trips is shorter.
    pub(crate) fn beside(self, ack_delay: Duration) -> Self {
        match self {
            Self::Rfc6298 { initial, variance_floor, min } => {
                Self::Rfc6298 { initial, variance_floor: variance_floor.max(ack_delay), min }
            }
            other => other,
        }
    }

    /// How long an answer may be due on a path before one asks why. Of [`Self::Rfc6298`] that of the path: its first time-out is
    /// that long because no round trip is known yet, and here the path is.
    #[must_use]
    pub(crate) fn of_path(self, path: &Path, ack_delay: Duration) -> Duration {
        match self {
            Self::Rfc6298 { variance_floor, .. } => Self::Path.initial(path, ack_delay) + variance_floor,
            other => other.initial(path, ack_delay),
        }
    }
}

/// Loss recovery of a scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecoveryConfig {
    /// The time-out.
    pub rto: Rto,
    /// Whether it doubles with every time-out of the same packet (RFC 6298, rule 5.5).
    pub backoff: bool,
    /// Which packets are lost, and when.
    pub policy: RecoveryPolicy,
}

impl Default for RecoveryConfig {
    /// As TCP does it: RACK, and the time-out of RFC 6298 with back-off, 1 s to begin with, then at least 5 ms above the
    /// smoothed round trip.
    fn default() -> Self {
        let (initial, variance_floor) = (Duration::from_ms(1000), Duration::from_ms(5));
        let rto = Rto::Rfc6298 { initial, variance_floor, min: Duration::ZERO };
        Self { rto, backoff: true, policy: RecoveryPolicy::Rack }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::path;

    #[test]
    fn the_path_s_time_out_is_its_base_rtt_and_its_full_buffers() {
        let mut path = path();
        path.base_rtt = Duration::from_us(14);
        path.max_queueing = Duration::from_us(500);
        assert_eq!(Rto::Path.initial(&path, Duration::ZERO), Duration::from_us(514));
        assert_eq!(Rto::Fixed(Duration::from_us(9)).initial(&path, Duration::ZERO), Duration::from_us(9));
        assert_eq!(Rto::BaseRtts(3).initial(&path, Duration::ZERO), Duration::from_us(42));
    }

    #[test]
    fn no_time_out_but_a_constant_is_shorter_than_the_receiver_may_hold_an_ack() {
        let (mut path, ms) = (path(), Duration::from_ms);
        (path.base_rtt, path.max_queueing) = (ms(10), ms(2));
        assert_eq!(Rto::Path.initial(&path, ms(40)), ms(52));
        assert_eq!(Rto::BaseRtts(3).initial(&path, ms(40)), ms(70));
        assert_eq!(Rto::Fixed(ms(9)).initial(&path, ms(40)), ms(9));
        let of = |variance_floor| Rto::Rfc6298 { initial: ms(1000), variance_floor, min: ms(1) };
        assert_eq!([ms(1), ms(200)].map(|floor| of(floor).beside(ms(40))), [of(ms(40)), of(ms(200))]);
    }

    #[test]
    fn before_the_first_sample_the_time_out_of_rfc_6298_is_what_was_given_and_a_second_by_default() {
        let (initial, variance_floor, min) =
            (Duration::from_us(9), Duration::from_ms(1), Duration::from_ms(2));
        assert_eq!(Rto::Rfc6298 { initial, variance_floor, min }.initial(&path(), Duration::ZERO), initial);
        assert_eq!(RecoveryConfig::default().rto.initial(&path(), Duration::ZERO), Duration::from_ms(1000));
    }
}
