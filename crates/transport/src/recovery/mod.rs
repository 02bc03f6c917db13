//! Loss recovery: RTT estimate, sent-packet map, loss detection, time-outs.
//!
//! Every packet has its own time-out. A time-out counts from the moment the transmission left and, with back-off, doubles
//! with each time-out of the same packet before it; an ACK of a later packet does not restart it. What the pieces do:
//!
//! - [`RttEstimate`]: smoothed round trip and, from it, the time-out of RFC 6298.
//! - `sent.rs`: which packets are in flight, lost or acknowledged, 8 bytes each, and which is the oldest in flight.
//! - `rack.rs`: which packets are lost because later ones arrived.

mod rack;
mod rtt;
mod sent;

pub(crate) use rack::Rack;
pub use rtt::RttEstimate;
pub(crate) use rtt::Smoothed;
pub(crate) use sent::{Late, Outcome, Patience, SentMap, Tally};

use crate::Path;
use farspan_units::Duration;

/// How the retransmission time-out is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rto {
    /// Base RTT plus the largest wait in full buffers along the path.
    Path,
    /// From the RTT estimate (RFC 6298), not below this minimum. Before the first sample, the path's base RTT stands
    /// in for the sample that a handshake would give.
    Rfc6298 {
        /// The smallest time-out.
        min: Duration,
    },
    /// A constant.
    Fixed(Duration),
    /// So many base RTTs.
    BaseRtts(u32),
}

impl Rto {
    /// The time-out of a packet that never timed out before.
    #[must_use]
    pub(crate) fn initial(self, path: &Path) -> Duration {
        match self {
            Self::Path => path.base_rtt + path.max_queueing,
            Self::Rfc6298 { min } => {
                let mut estimate = RttEstimate::default();
                estimate.update(path.base_rtt);
                estimate.rto(min)
            }
            Self::Fixed(rto) => rto,
            Self::BaseRtts(count) => path.base_rtt * u64::from(count),
        }
    }
}

/// How losses are found before the time-out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detection {
    /// Not at all: each packet waits for its own time-out.
    TimeoutOnly,
    /// From the ACKs of packets sent later, by time (RFC 8985, RACK): a packet is lost when one sent at least the
    /// reordering window later was acknowledged. The window starts at a quarter of the smallest RTT and grows with each
    /// loss that proves spurious.
    Rack,
}

/// Loss recovery of a scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The time-out of each packet.
    pub rto: Rto,
    /// Whether it doubles with every time-out of the same packet (RFC 6298, rule 5.5).
    pub backoff: bool,
    /// How losses are found before it.
    pub detection: Detection,
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
        assert_eq!(Rto::Path.initial(&path), Duration::from_us(514));
        assert_eq!(Rto::Fixed(Duration::from_us(9)).initial(&path), Duration::from_us(9));
        assert_eq!(Rto::BaseRtts(3).initial(&path), Duration::from_us(42));
    }

    #[test]
    fn before_the_first_sample_the_base_rtt_stands_in_for_it() {
        let mut path = path();
        path.base_rtt = Duration::from_us(14);
        let rto = |min| Rto::Rfc6298 { min }.initial(&path);
        assert_eq!(rto(Duration::ZERO), Duration::from_us(14 + 4 * 7));
        assert_eq!(rto(Duration::from_ms(1)), Duration::from_ms(1));
    }
}
