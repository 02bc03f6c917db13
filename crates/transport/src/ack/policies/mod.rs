//! The ACK policies, one file each, and their registry.

pub mod coalesced;
#[cfg(any(test, feature = "testing"))]
pub mod every_second;
pub mod per_packet;

use crate::ack::contract::{AckPolicy, Arrival, Release};
use alloc::boxed::Box;
use farspan_units::Bytes;

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
