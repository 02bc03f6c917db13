//! Loss recovery: which packets of a flow are lost, and when a time-out says so.
//!
//! A [`RecoveryPolicy`] judges the packets of the sent-packet map (`sent/`), which knows of each whether it is in
//! flight, lost or acknowledged, and which transmission in flight is the oldest. Adding a policy: write its file, then
//! one line in the registry at the end of this module, which enrols it in the conformance tests.
//!
//! - [`RttEstimate`]: smoothed round trip and, from it, the time-out of RFC 6298.
//! - `per_packet_rto.rs`: each packet has a time-out of its own, counted from the moment the transmission left; with
//!   back-off it doubles with each time-out of the packet before it. An ACK of a later packet does not restart it.
//! - `rack.rs`: RACK-TLP. Packets are lost because later ones arrived, a probe asks after a tail, and one time-out for
//!   the flow stands behind both.

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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Rto {
    /// Base RTT plus the largest wait in full buffers along the path.
    Path,
    /// From the RTT estimate (RFC 6298), with a floor under the variation. Before the first sample, the path's base RTT
    /// stands in for the sample that a handshake would give.
    Rfc6298 {
        /// The least by which a time-out is longer than the smoothed round trip.
        variance_floor: Duration,
        /// The shortest time-out.
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
            Self::Rfc6298 { variance_floor, min } => {
                let mut estimate = RttEstimate::default();
                estimate.update(path.base_rtt);
                estimate.rto(variance_floor, min)
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
    /// The packet whose transmission it echoes.
    pub seq: u32,
    /// When the acknowledged transmission left.
    pub sent_at: Time,
    /// Whether it acknowledges any packet for the first time.
    pub is_new: bool,
    /// The outcome of the packet that it echoes.
    pub outcome: AckOutcome,
    /// The packet after the last that its map acknowledges for the first time; 0: there is none.
    pub mapped_below: u32,
}

/// A recovery policy's verdict on an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Verdict {
    /// Transmissions that left at this instant or before are lost; `None`: none are.
    pub lost_until: Option<Time>,
    /// A transmission that a probe replaced, and that is now known to be lost.
    pub repaired: Option<LostPacket>,
}

/// A timer that has run out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expired {
    /// The wait for a packet that others have overtaken: it is lost.
    Lost(LostPacket),
    /// A time-out: this packet is lost.
    TimedOut(LostPacket),
    /// The wait for any news: one packet is to leave at once, new or the last one in flight.
    Probe,
}

/// A recovery policy of one flow: it judges packets of a [`SentMap`] and touches nothing else.
///
/// Contract, checked by the conformance tests: while a packet is in flight, [`Self::deadline`] is a time at which
/// [`Self::take_expired`] gives something, unless an ACK comes before; only transmissions in flight are given up.
pub(crate) trait Recover {
    /// Whether to notify it of ACKs. It then has an RTT estimate of the flow.
    fn wants_acks(&self) -> bool {
        false
    }

    /// A packet leaves that timed out so often before. Gives when its time-out runs out; `was_idle`: nothing else is in
    /// flight.
    #[inline]
    fn on_sent(&mut self, now: Time, timeouts: u32, _was_idle: bool, rto_policy: RtoPolicy) -> Time {
        now.saturating_add(rto_policy.after(timeouts))
    }

    /// An ACK arrived, and `sent` knows of it. If it is of the common kind, by which nothing is lost, it is noted, and this says
    /// what [`Self::is_earlier`] would; `None`: [`Self::on_ack`] is to judge it.
    fn on_good_ack(
        &mut self,
        _ack: &Acked,
        _rtt: &RttEstimate,
        _sent: &mut SentMap,
        _rto_policy: RtoPolicy,
    ) -> Option<bool> {
        None
    }

    /// An ACK arrived, and `sent` knows of it.
    fn on_ack(&mut self, _ack: Acked, _rtt: &RttEstimate, _sent: &mut SentMap) -> Verdict {
        Verdict::default()
    }

    /// Packets are lost by its verdict on an ACK.
    fn on_lost(&mut self, _sent: &SentMap) {}

    /// A probe takes the place of this transmission; `end`: the first packet that will not have been sent.
    fn on_probe(&mut self, _now: Time, _replaced: Option<LostPacket>, _end: u32) {}

    /// Whether, after an ACK, the next time-out may run out earlier than the policy said before.
    fn is_earlier(&mut self, _now: Time, _sent: &mut SentMap, _rto_policy: RtoPolicy) -> bool {
        false
    }

    /// When the first time-out runs out; [`Time::MAX`]: nothing is in flight.
    fn deadline(&self, now: Time, sent: &mut SentMap, rto_policy: RtoPolicy) -> Time {
        sent.deadline(now, rto_policy)
    }

    /// Gives one thing that has run out at `now`. Call until it gives the time at which the next one runs out
    /// ([`Time::MAX`]: nothing is in flight).
    fn take_expired(
        &mut self,
        now: Time,
        sent: &mut SentMap,
        rto_policy: RtoPolicy,
    ) -> Result<Expired, Time> {
        sent.take_timed_out(now, rto_policy).map(Expired::TimedOut)
    }

    /// Whether one packet leaves after a time-out even if others fill the window.
    fn resends_at_timeout(&self) -> bool {
        false
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
            fn on_good_ack(
                &mut self,
                ack: &Acked,
                rtt: &RttEstimate,
                sent: &mut SentMap,
                rto_policy: RtoPolicy,
            ) -> Option<bool> {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.on_good_ack(ack, rtt, sent, rto_policy),)*
                }
            }

            fn on_ack(&mut self, ack: Acked, rtt: &RttEstimate, sent: &mut SentMap) -> Verdict {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.on_ack(ack, rtt, sent),)*
                }
            }

            fn on_lost(&mut self, sent: &SentMap) {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.on_lost(sent),)*
                }
            }

            fn on_probe(&mut self, now: Time, replaced: Option<LostPacket>, end: u32) {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.on_probe(now, replaced, end),)*
                }
            }

            fn is_earlier(&mut self, now: Time, sent: &mut SentMap, rto_policy: RtoPolicy) -> bool {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.is_earlier(now, sent, rto_policy),)*
                }
            }

            fn deadline(&self, now: Time, sent: &mut SentMap, rto_policy: RtoPolicy) -> Time {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.deadline(now, sent, rto_policy),)*
                }
            }

            fn take_expired(&mut self, now: Time, sent: &mut SentMap, rto_policy: RtoPolicy) -> Result<Expired, Time> {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.take_expired(now, sent, rto_policy),)*
                }
            }

            fn resends_at_timeout(&self) -> bool {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.resends_at_timeout(),)*
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
        "Packets are lost when later ones have arrived; a probe and one time-out for the flow cover the tail", "RFC 8985";
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
        let rto = |variance_floor, min| Rto::Rfc6298 { variance_floor, min }.initial(&path);
        assert_eq!(rto(Duration::ZERO, Duration::ZERO), Duration::from_us(14 + 4 * 7));
        assert_eq!(rto(Duration::from_ms(1), Duration::ZERO), Duration::from_us(1014));
        assert_eq!(rto(Duration::from_ms(1), Duration::from_ms(2)), Duration::from_ms(2));
    }
}
