//! The path selectors, one file each, and their registry.

mod cache;
pub mod ecmp;
pub mod plb;
pub mod reps;
pub mod reps_early;
pub mod rps;
pub mod spray;
pub mod unolb;

use crate::balance::contract::{Balance, BalancerStart, Entropy, PathSample};
use alloc::boxed::Box;
use core::fmt;
use farspan_units::{Random, Time};

/// Generates [`Balancer`] and, by the macro of all registries, [`BalanceConfig`] and the lists.
macro_rules! balancers {
    ($($variant:ident, $module:ident::$config:ident, $held:ty, $name:literal, $summary:literal, $source:literal;)*) => {
        crate::registry::config_registry! {
            BalanceConfig, "path selector"; $($variant, $module::$config, $name, $summary, $source;)*
        }

        impl BalanceConfig {
            /// The path selector for one flow.
            #[must_use]
            pub fn build(&self, start: &BalancerStart<'_>) -> Balancer {
                match self {
                    $(Self::$variant(config) => Balancer::$variant($module::$variant::new(config, start).into()),)*
                }
            }
        }

        /// The path selector of one flow: a built-in one costs one predictable branch, another a virtual call.
        pub enum Balancer {
            $(
                #[doc = concat!($summary, ".")]
                $variant($held),
            )*
            /// A path selector from outside this crate.
            Custom(Box<Box<dyn Balance + Send>>),
        }

        impl fmt::Debug for Balancer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant(balancer) => balancer.fmt(f),)*
                    Self::Custom(_) => f.write_str("Custom"),
                }
            }
        }

        impl Balance for Balancer {
            #[inline(always)]
            fn entropy(&mut self, now: Time, random: &mut Random) -> Entropy {
                match self {
                    $(Self::$variant(balancer) => balancer.entropy(now, random),)*
                    Self::Custom(balancer) => balancer.entropy(now, random),
                }
            }

            fn wants_feedback(&self) -> bool {
                match self {
                    $(Self::$variant(balancer) => balancer.wants_feedback(),)*
                    Self::Custom(balancer) => balancer.wants_feedback(),
                }
            }

            fn on_ack(&mut self, sample: PathSample, ecn_ce: bool, random: &mut Random) {
                match self {
                    $(Self::$variant(balancer) => balancer.on_ack(sample, ecn_ce, random),)*
                    Self::Custom(balancer) => balancer.on_ack(sample, ecn_ce, random),
                }
            }

            fn on_nack(&mut self, sample: PathSample, at_last_hop: bool, ecn_ce: bool, random: &mut Random) {
                match self {
                    $(Self::$variant(balancer) => balancer.on_nack(sample, at_last_hop, ecn_ce, random),)*
                    Self::Custom(balancer) => balancer.on_nack(sample, at_last_hop, ecn_ce, random),
                }
            }

            fn on_returned(&mut self, sample: PathSample, random: &mut Random) {
                match self {
                    $(Self::$variant(balancer) => balancer.on_returned(sample, random),)*
                    Self::Custom(balancer) => balancer.on_returned(sample, random),
                }
            }

            fn on_loss(&mut self, sample: PathSample, random: &mut Random) {
                match self {
                    $(Self::$variant(balancer) => balancer.on_loss(sample, random),)*
                    Self::Custom(balancer) => balancer.on_loss(sample, random),
                }
            }

            fn on_timeout(&mut self, sample: PathSample, random: &mut Random) {
                match self {
                    $(Self::$variant(balancer) => balancer.on_timeout(sample, random),)*
                    Self::Custom(balancer) => balancer.on_timeout(sample, random),
                }
            }
        }
    };
}

// The registry: variant, configuration, how a sender holds it (large ones boxed), name, summary, source.
balancers! {
    Ecmp, ecmp::EcmpConfig, ecmp::Ecmp, "ecmp", "One path per flow, chosen by the switches' hashes", "RFC 2992";
    Rps, rps::RpsConfig, rps::Rps, "rps", "A random path for each packet", "Dixit et al., INFOCOM 2013";
    Unolb, unolb::UnolbConfig, Box<unolb::Unolb>, "unolb", "Rotates over subflows and moves them off failed paths", "Uno, section 4.2";
    Plb, plb::PlbConfig, Box<plb::Plb>, "plb", "Moves the flow to another path after congested rounds or a time-out", "PLB, SIGCOMM 2022";
    Spray, spray::SprayConfig, spray::Spray, "spray", "Uses all paths in a random order, round after round", "uet-htsim";
    Reps, reps::RepsConfig, Box<reps::Reps>, "reps", "Reuses paths whose packets were not marked; uses only those while \
        paths fail", "REPS, EuroSys 2026";
    RepsEarly, reps_early::RepsEarlyConfig, Box<reps_early::RepsEarly>, "reps-early", "Reuses paths whose packets were \
        not marked, else takes the next one", "REPS, 2024";
}
