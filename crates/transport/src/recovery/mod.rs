//! Loss recovery: which packets of a flow are lost, and when a time-out says so.
//!
//! A [`RecoveryPolicy`] judges the packets of the sent-packet map (`sent/`), which knows of each whether it is in
//! flight, lost or acknowledged, and which transmission in flight is the oldest. Adding a policy: write its file, then
//! one line in the registry at the end of this module, which enrols it in the conformance tests.
//!
//! - [`RttEstimate`]: smoothed round trip and, from it, the time-out of RFC 6298.
//! - `per_packet_rto.rs`: each packet has a time-out of its own, counted from the moment the transmission left; with
//!   back-off it doubles with each time-out of the packet before it. An ACK of a later packet does not restart it.
//! - `rack.rs`: the same time-outs, and packets are lost because later ones arrived.

#[cfg(test)]
mod conformance;
mod per_packet_rto;
mod rack;
mod rtt;
mod sent;
#[cfg(any(test, feature = "testing"))]
mod single_timer;

pub(crate) use per_packet_rto::PerPacketRto;
pub use rtt::RttEstimate;
pub(crate) use rtt::Smoothed;
pub use sent::PacketState;
pub(crate) use sent::{AckOutcome, LossCounters, LostPacket, RtoPolicy, SentMap};

use crate::Path;
use crate::registry::Entry;
use farspan_units::{Duration, Time};

/// How the retransmission time-out is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
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

/// An ACK, as a recovery policy sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    /// Now.
    pub now: Time,
    /// When the acknowledged transmission left.
    pub sent_at: Time,
    /// Whether it acknowledges a packet for the first time.
    #[cfg_attr(
        not(any(test, feature = "testing")),
        allow(dead_code, reason = "what restarts a flow's one timer")
    )]
    pub is_new: bool,
}

/// A recovery policy's verdict on an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Verdict {
    /// Transmissions that left at this instant or before are lost; `None`: none are.
    pub lost_until: Option<Time>,
    /// Whether the next time-out may run out earlier than the policy said before.
    pub is_earlier: bool,
}

/// A recovery policy of one flow: it judges packets of a [`SentMap`] and touches nothing else.
///
/// Contract, checked by the conformance tests: while a packet is in flight, [`Self::deadline`] is a time at which
/// [`Self::take_timed_out`] gives something up, unless an ACK comes before; only transmissions in flight are given up.
pub(crate) trait Recover {
    /// Whether to notify it of ACKs and of packets that arrived after they were marked lost. It then has an RTT
    /// estimate of the flow.
    fn wants_acks(&self) -> bool {
        false
    }

    /// A packet leaves that timed out so often before. Gives when its time-out runs out; `was_idle`: nothing else is in
    /// flight.
    #[inline]
    fn on_sent(&mut self, now: Time, timeouts: u32, _was_idle: bool, rto_policy: RtoPolicy) -> Time {
        now.saturating_add(rto_policy.after(timeouts))
    }

    /// An ACK arrived.
    fn on_ack(&mut self, _ack: Acked, _rtt: &RttEstimate) -> Verdict {
        Verdict::default()
    }

    /// A packet that was marked lost has arrived: it was only delayed.
    fn on_spurious(&mut self, _now: Time, _rtt: &RttEstimate) {}

    /// When the first time-out runs out; [`Time::MAX`]: nothing is in flight.
    fn deadline(&self, now: Time, sent: &mut SentMap, rto_policy: RtoPolicy) -> Time {
        sent.deadline(now, rto_policy)
    }

    /// Gives up one transmission whose time-out has run out at `now`. Call until it gives the time at which the next
    /// one runs out ([`Time::MAX`]: nothing is in flight).
    fn take_timed_out(
        &mut self,
        now: Time,
        sent: &mut SentMap,
        rto_policy: RtoPolicy,
    ) -> Result<LostPacket, Time> {
        sent.take_timed_out(now, rto_policy)
    }
}

/// Generates [`RecoveryPolicy`], the lists, and the state of a flow's policy.
macro_rules! policies {
    ($($(#[$meta:meta])* $variant:ident, $module:ident, $name:literal, $summary:literal, $source:literal;)*) => {
        /// Which packets are lost, and when.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[non_exhaustive]
        pub enum RecoveryPolicy {
            $(
                #[doc = concat!($summary, " (", $source, ").")]
                $(#[$meta])*
                $variant,
            )*
        }

        /// The names of all policies, those that only tests use last.
        const ALL: &[&str] = &[$($(#[$meta])* $name),*];

        /// The name of every policy that a scheme can have, in the order of the registry.
        pub const NAMES: &[&str] = ALL.split_at(ALL.len() - ONLY_IN_TESTS).0;

        /// Every policy with a line about it, those that only tests use last.
        pub const ENTRIES: &[Entry] =
            &[$($(#[$meta])* Entry { name: $name, summary: $summary, source: $source }),*];

        impl RecoveryPolicy {
            /// The policy with this name.
            #[must_use]
            pub fn by_name(name: &str) -> Option<Self> {
                match name {
                    $($(#[$meta])* $name => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Its name in text.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $($(#[$meta])* Self::$variant => $name,)*
                }
            }

            /// The policy of one flow, which starts now.
            pub(crate) fn build(self, now: Time) -> Recovery {
                match self {
                    $($(#[$meta])* Self::$variant => Recovery::$variant($module::$variant::new(now)),)*
                }
            }
        }

        /// The recovery policy of one flow.
        #[derive(Debug)]
        pub(crate) enum Recovery {
            $($(#[$meta])* $variant($module::$variant),)*
        }

        impl Recover for Recovery {
            fn wants_acks(&self) -> bool {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.wants_acks(),)*
                }
            }

            #[inline(always)]
            fn on_sent(&mut self, now: Time, timeouts: u32, was_idle: bool, rto_policy: RtoPolicy) -> Time {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.on_sent(now, timeouts, was_idle, rto_policy),)*
                }
            }

            #[inline(always)]
            fn on_ack(&mut self, ack: Acked, rtt: &RttEstimate) -> Verdict {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.on_ack(ack, rtt),)*
                }
            }

            fn on_spurious(&mut self, now: Time, rtt: &RttEstimate) {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.on_spurious(now, rtt),)*
                }
            }

            fn deadline(&self, now: Time, sent: &mut SentMap, rto_policy: RtoPolicy) -> Time {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.deadline(now, sent, rto_policy),)*
                }
            }

            fn take_timed_out(&mut self, now: Time, sent: &mut SentMap, rto_policy: RtoPolicy) -> Result<LostPacket, Time> {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.take_timed_out(now, sent, rto_policy),)*
                }
            }
        }
    };
}

/// How many of the registry's last policies only tests use.
const ONLY_IN_TESTS: usize = cfg!(any(test, feature = "testing")) as usize;

// The registry: variant, module, name, summary, source.
policies! {
    PerPacketRto, per_packet_rto, "per_packet_rto", "A time-out for each packet", "Uno, section 4.2";
    Rack, rack, "rack",
        "Packets are lost when later ones have arrived; a time-out for each packet covers the tail", "RFC 8985";
    #[cfg(any(test, feature = "testing"))]
    SingleTimer, single_timer, "single_timer",
        "One time-out for the flow, restarted by each ACK of new data", "RFC 6298, section 5";
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
