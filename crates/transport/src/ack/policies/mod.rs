//! The ACK policies, one file each, and their registry.

pub mod coalesced;
pub mod delayed;
pub mod per_packet;

use crate::ack::contract::{AckPolicy, Arrival, Release};
use alloc::boxed::Box;
use farspan_units::{Bytes, Duration};

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

            fn delays(&self) -> Duration {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.delays(),)*
                }
            }

            fn holds_packets(&self) -> u32 {
                match self {
                    $($(#[$meta])* Self::$variant(policy) => policy.holds_packets(),)*
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
    PerPacket, per_packet::PerPacketConfig, "per_packet", "An ACK for every packet, at once", "Uno, section 4";
    Coalesced, coalesced::CoalescedConfig, "coalesced", "An ACK after a number of bytes, on a mark, and on request", "uet-htsim, `UecSink`";
    Delayed, delayed::DelayedConfig, "delayed", "An ACK for every second packet or after a delay", "RFC 5681, section 4.2";
}

impl Default for AckConfig {
    fn default() -> Self {
        Self::PerPacket(per_packet::PerPacketConfig::default())
    }
}
