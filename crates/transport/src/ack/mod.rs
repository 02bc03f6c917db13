//! ACK policies: when a receiver acknowledges the packets of a flow, and when its ACK may leave.
//!
//! A policy is asked about each data packet that arrives whole, and answers with a [`Release`]. Every ACK says which
//! packet it is about and, by its cumulative number, that all packets below that number have arrived: a packet may go
//! without an ACK of its own if a later ACK covers it. Of a policy that [holds](AckPolicy::holds) ACKs, they also say, by
//! a map, which packets above that number have arrived. Both ends know a flow's policy from its
//! [profile](crate::FlowProfile).
//!
//! Adding a policy: write its file, then one line in the registry at the end of this module, which enrols it in the
//! conformance tests.

pub mod coalesced;
#[cfg(test)]
mod conformance;
#[cfg(any(test, feature = "testing"))]
pub mod every_second;
pub mod per_packet;

use alloc::boxed::Box;
use farspan_units::{Bytes, Time};

/// A data packet that has arrived whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Arrival {
    /// Now.
    pub now: Time,
    /// Its number.
    pub seq: u32,
    /// Its payload.
    pub bytes: Bytes,
    /// Whether it came for the first time.
    pub is_new: bool,
    /// Whether the cumulative number covers it: so does that of every later ACK.
    pub is_covered: bool,
    /// Whether the cumulative number or a map above it covers it: so do those of every later ACK that has a map.
    pub is_mapped: bool,
    /// Whether it is the only packet above one that is missing.
    pub opens_gap: bool,
    /// Whether it carries a congestion mark.
    pub ecn_ce: bool,
    /// Whether its sender asks for an ACK.
    pub asks: bool,
    /// Whether its block is complete.
    pub completes_block: bool,
    /// Whether the whole message is here with it.
    pub is_last: bool,
}

#[cfg(test)]
impl Arrival {
    /// A packet in order that nothing is odd about.
    pub(crate) const fn in_order(now: Time) -> Self {
        Self {
            now,
            seq: 0,
            bytes: Bytes::ZERO,
            is_new: true,
            is_covered: true,
            is_mapped: true,
            opens_gap: false,
            ecn_ce: false,
            asks: false,
            completes_block: false,
            is_last: false,
        }
    }
}

/// When the ACK of a packet leaves. The ACK before, if it is still held, never does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Release {
    /// As soon as the NIC takes it.
    Now,
    /// From this time on, unless another ACK of the flow takes its place. Only of a packet that
    /// [is covered](Arrival::is_covered).
    At(Time),
    /// Never by itself: a later ACK covers the packet. Only of a packet that [is mapped](Arrival::is_mapped), and by a
    /// policy that [holds](AckPolicy::holds) ACKs.
    WithNext,
    /// As soon as the NIC takes it, behind the ACK before, if that one was to go [with the next](Self::WithNext).
    Apart,
}

/// When the packets of one flow are acknowledged.
pub trait AckPolicy {
    /// Whether it is to be asked; otherwise each packet is acknowledged at once.
    fn wants_arrivals(&self) -> bool {
        true
    }

    /// Payload that arrives before an ACK leaves by itself, however long that takes; zero: every ACK leaves in time. Of
    /// a policy that holds any, ACKs have a map, and the sender [asks](crate::wire::Data::ask) for one where less is in
    /// flight.
    fn holds(&self) -> Bytes {
        Bytes::ZERO
    }

    /// A packet has arrived.
    fn on_arrival(&mut self, _arrival: &Arrival) -> Release {
        Release::Now
    }
}

/// Generates [`Acknowledger`] and, by the macro of all registries, [`AckConfig`] and the lists.
macro_rules! policies {
    ($($(#[$meta:meta])* $variant:ident, $module:ident::$config:ident, $name:literal, $summary:literal, $source:literal;)*) => {
        crate::registry::config_registry! {
            AckConfig, "ACK policy"; $($(#[$meta])* $variant, $module::$config, $name, $summary, $source;)*
        }

        impl AckConfig {
            /// The policy of one flow.
            #[must_use]
            pub fn build(&self) -> Acknowledger {
                match self {
                    $($(#[$meta])* Self::$variant(config) => Acknowledger::$variant(Box::new($module::$variant::new(config))),)*
                }
            }
        }

        /// The ACK policy of one flow.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum Acknowledger {
            $(
                #[doc = concat!($summary, ".")]
                $(#[$meta])*
                $variant(Box<$module::$variant>),
            )*
        }

        impl AckPolicy for Acknowledger {
            fn wants_arrivals(&self) -> bool {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.wants_arrivals(),)*
                }
            }

            fn holds(&self) -> Bytes {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.holds(),)*
                }
            }

            fn on_arrival(&mut self, arrival: &Arrival) -> Release {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.on_arrival(arrival),)*
                }
            }
        }
    };
}

// The registry: variant, configuration, name, summary, source.
policies! {
    PerPacket, per_packet::PerPacketConfig, "per_packet", "An ACK for each packet, at once", "Uno, section 4";
    Coalesced, coalesced::CoalescedConfig, "coalesced", "An ACK after so many bytes, on a mark, and when asked", "uet-htsim, `UecSink`";
    #[cfg(any(test, feature = "testing"))]
    EverySecond, every_second::EverySecondConfig, "every_second", "An ACK for every second packet, or after a delay", "RFC 5681, section 4.2";
}

/// How many of the policies only tests use.
const ONLY_IN_TESTS: usize = if cfg!(any(test, feature = "testing")) { 1 } else { 0 };

/// The name of every policy that a scheme can have, in the order of the registry.
pub const OF_SCHEMES: &[&str] = NAMES.split_at(NAMES.len() - ONLY_IN_TESTS).0;

impl Default for AckConfig {
    fn default() -> Self {
        Self::PerPacket(per_packet::PerPacketConfig::default())
    }
}
