//! ACK policies: when a receiver acknowledges the packets of a flow, and when its ACK may leave.
//!
//! A policy is asked about each data packet that arrives whole, and answers with a [`Release`]. Every ACK says which
//! packet it is about and, by its cumulative number, that all packets below that number have arrived: a packet may go
//! without an ACK of its own if a later ACK covers it. Both ends know a flow's policy from its
//! [profile](crate::FlowProfile).
//!
//! Adding a policy: write its file, then one line in the registry at the end of this module, which enrols it in the
//! conformance tests.

#[cfg(test)]
mod conformance;
#[cfg(any(test, feature = "testing"))]
pub mod every_second;
pub mod per_packet;

use alloc::boxed::Box;
use farspan_units::Time;

/// A data packet that has arrived whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Arrival {
    /// Now.
    pub now: Time,
    /// Whether it came for the first time.
    pub is_new: bool,
    /// Whether the cumulative number covers it: so does that of every later ACK.
    pub is_covered: bool,
    /// Whether it carries a congestion mark.
    pub ecn_ce: bool,
    /// Whether the whole message is here with it.
    pub is_last: bool,
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
}

/// When the packets of one flow are acknowledged.
pub trait AckPolicy {
    /// Whether it is to be asked; otherwise each packet is acknowledged at once.
    fn wants_arrivals(&self) -> bool {
        true
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
    #[cfg(any(test, feature = "testing"))]
    EverySecond, every_second::EverySecondConfig, "every_second", "An ACK for every second packet, or after a delay", "RFC 5681, section 4.2";
}

impl Default for AckConfig {
    fn default() -> Self {
        Self::PerPacket(per_packet::PerPacketConfig::default())
    }
}
