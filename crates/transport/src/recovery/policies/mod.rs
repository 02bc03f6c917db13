//! The recovery policies, one file each, and their registry.

mod go_back_n;
mod per_packet_rto;
mod rack;

pub(crate) use per_packet_rto::PerPacketRto;

use crate::recovery::contract::{Acked, Expired, Recover, Verdict};
use crate::recovery::rtt::RttEstimate;
use crate::recovery::sent::{LostPacket, RtoPolicy, SentMap};
use crate::registry::Entry;
use farspan_units::Time;

/// Generates [`RecoveryPolicy`], the lists, and the state of a flow's policy.
macro_rules! policies {
    ($($variant:ident, $module:ident, $name:literal, $summary:literal, $source:literal;)*) => {
        /// Which packets are lost, and when.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[non_exhaustive]
        pub enum RecoveryPolicy {
            $(
                #[doc = concat!($summary, " (", $source, ").")]
                $variant,
            )*
        }

        /// The name of every policy, in the order of the registry.
        pub const NAMES: &[&str] = &[$($name),*];

        /// Every policy with a line about it.
        pub const ENTRIES: &[Entry] =
            &[$(Entry { name: $name, summary: $summary, source: $source }),*];

        impl RecoveryPolicy {
            /// The policy with this name.
            #[must_use]
            pub fn by_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Its name in text.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The policy of one flow, which starts now.
            pub(crate) fn build(self, now: Time) -> Recovery {
                match self {
                    $(Self::$variant => Recovery::$variant($module::$variant::new(now)),)*
                }
            }
        }

        /// The recovery policy of one flow.
        #[derive(Debug)]
        pub(crate) enum Recovery {
            $($variant($module::$variant),)*
        }

        impl Recover for Recovery {
            fn wants_acks(&self) -> bool {
                match self {
                    $(Self::$variant(policy) => policy.wants_acks(),)*
                }
            }

            #[inline(always)]
            fn on_sent(&mut self, now: Time, timeouts: u32, was_idle: bool, rto_policy: RtoPolicy) -> Time {
                match self {
                    $(Self::$variant(policy) => policy.on_sent(now, timeouts, was_idle, rto_policy),)*
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
                    $(Self::$variant(policy) => policy.on_good_ack(ack, rtt, sent, rto_policy),)*
                }
            }

            fn on_ack(&mut self, ack: Acked, rtt: &RttEstimate, sent: &mut SentMap) -> Verdict {
                match self {
                    $(Self::$variant(policy) => policy.on_ack(ack, rtt, sent),)*
                }
            }

            fn on_lost(&mut self, sent: &SentMap) {
                match self {
                    $(Self::$variant(policy) => policy.on_lost(sent),)*
                }
            }

            fn on_probe(&mut self, now: Time, replaced: Option<LostPacket>, end: u32) {
                match self {
                    $(Self::$variant(policy) => policy.on_probe(now, replaced, end),)*
                }
            }

            fn on_rest(&mut self) {
                match self {
                    $(Self::$variant(policy) => policy.on_rest(),)*
                }
            }

            fn is_earlier(&mut self, now: Time, sent: &mut SentMap, rto_policy: RtoPolicy) -> bool {
                match self {
                    $(Self::$variant(policy) => policy.is_earlier(now, sent, rto_policy),)*
                }
            }

            fn deadline(&self, now: Time, sent: &mut SentMap, rto_policy: RtoPolicy) -> Time {
                match self {
                    $(Self::$variant(policy) => policy.deadline(now, sent, rto_policy),)*
                }
            }

            fn take_expired(&mut self, now: Time, sent: &mut SentMap, rto_policy: RtoPolicy) -> Result<Expired, Time> {
                match self {
                    $(Self::$variant(policy) => policy.take_expired(now, sent, rto_policy),)*
                }
            }

            fn resends_at_timeout(&self) -> bool {
                match self {
                    $(Self::$variant(policy) => policy.resends_at_timeout(),)*
                }
            }
        }
    };
}

impl RecoveryPolicy {
    /// Whether ACKs are to say, by a map, which packets have arrived beside their own: a lost ACK would cost a time-out else.
    #[must_use]
    pub const fn wants_maps(self) -> bool {
        matches!(self, Self::PerPacketRto)
    }

    /// Whether the receiver takes packets in their order alone, and answers the first behind a gap by a NACK.
    #[must_use]
    pub const fn wants_order(self) -> bool {
        matches!(self, Self::GoBackN)
    }
}

// The registry: variant, module, name, summary, source.
policies! {
    PerPacketRto, per_packet_rto, "per_packet_rto", "A time-out for each packet", "Uno, section 4.2";
    Rack, rack, "rack",
        "A packet is lost when later ones have arrived; a probe and one time-out per flow cover the tail", "RFC 8985";
    GoBackN, go_back_n, "go_back_n",
        "Receivers accept packets only in order and report a gap once; everything from the gap on is sent again", "InfiniBand, RoCE";
}
