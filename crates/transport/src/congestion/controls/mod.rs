//! The controls, one file each, and their registry.

pub mod bbr;
pub mod cubic;
pub mod dcqcn;
pub mod dctcp;
pub mod dctcp_per_ack;
pub mod fixed_window;
pub mod gemini;
pub mod hpcc;
pub mod mprdma;
pub mod ndp;
pub mod newreno;
pub mod nscc;
pub mod oscar;
pub mod poseidon;
pub mod powertcp;
pub mod scripted;
pub mod smartt;
pub mod swift;
pub mod theta_powertcp;
pub mod timely;
pub mod unocc;
pub mod vegas;

use crate::congestion::contract::{
    Ack, Cnp, Congestion, Custom, Decision, Floor, Idle, Loss, Nack, Needs, Pull, Sent, Start, Timeout,
};
use crate::path::Path;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use farspan_units::{Bytes, Duration, Time};

/// Generates [`Control`] and, by the macro of all registries, [`CongestionConfig`] and the lists.
macro_rules! controls {
    ($($variant:ident, $module:ident::{$config:ident, $params:ident}, $name:literal, $summary:literal, $source:literal;)*) => {
        crate::registry::config_registry! {
            CongestionConfig, "congestion control" or Custom; $($variant, $module::$config, $name, $summary, $source;)*
        }

        impl CongestionConfig {
            /// All that the control needs.
            #[must_use]
            pub fn needs(&self) -> Needs {
                match self {
                    $(Self::$variant(config) => config.needs(),)*
                    Self::Custom(custom) => custom.needs(),
                }
            }

            /// The queueing delay that the control aims at, or waits for before it acts, on a path; `None`: it has no such target.
            #[must_use]
            pub fn target_delay(&self, path: &Path) -> Option<Duration> {
                match self {
                    $(Self::$variant(config) => config.target_delay(path),)*
                    Self::Custom(custom) => custom.target_delay(path),
                }
            }

            /// Computes the parameters that the flows of `path` share.
            #[must_use]
            pub fn params(&self, path: &Path) -> CongestionParams {
                match self {
                    $(Self::$variant(config) => CongestionParams::$variant(Arc::new($module::$params::new(config, path))),)*
                    Self::Custom(custom) => CongestionParams::Custom(custom.clone()),
                }
            }

            /// The control for one flow that shares nothing.
            #[must_use]
            pub fn build(&self, start: &Start<'_>) -> Control {
                self.params(start.path).build(start)
            }
        }

        /// A control's parameters and what a path makes of them: made once for all flows that share both.
        #[derive(Clone, PartialEq, Debug)]
        pub enum CongestionParams {
            $(
                #[doc = concat!($summary, ".")]
                $variant(Arc<$module::$params>),
            )*
            /// A control from outside this crate.
            Custom(Custom),
        }

        impl CongestionParams {
            /// The control for one flow.
            #[must_use]
            pub fn build(&self, start: &Start<'_>) -> Control {
                match self {
                    $(Self::$variant(params) => Control::$variant(Box::new($module::$variant::new(params, start))),)*
                    Self::Custom(custom) => Control::Custom(Box::new(custom.control(start))),
                }
            }

            /// Bytes that all flows of the path share: one copy, whatever their number.
            #[must_use]
            pub const fn shared_bytes(&self) -> Bytes {
                match self {
                    $(Self::$variant(_) => Bytes::new(size_of::<$module::$params>() as u64),)*
                    Self::Custom(_) => Bytes::new(size_of::<Custom>() as u64),
                }
            }
        }

        /// The control of one flow: a built-in one costs one predictable branch an event, another a virtual call. Each
        /// variant is one pointer, so that a sender takes no more than its own control needs.
        pub enum Control {
            $(
                #[doc = concat!($summary, ".")]
                $variant(Box<$module::$variant>),
            )*
            /// A control from outside this crate.
            Custom(Box<Box<dyn Congestion + Send>>),
        }

        impl fmt::Debug for Control {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant(control) => control.fmt(f),)*
                    Self::Custom(control) => f.debug_tuple("Custom").field(&control.decision()).finish(),
                }
            }
        }

        impl Control {
            /// Bytes of the flow's own state, without what a control of another crate allocates for itself.
            #[must_use]
            pub fn state_bytes(&self) -> Bytes {
                Bytes::new(match self {
                    $(Self::$variant(control) => size_of_val(&**control),)*
                    Self::Custom(control) => size_of_val(&**control) + size_of_val(&***control),
                } as u64)
            }

            /// [`Congestion::on_ack`] of what `ack` makes; `decide` takes the answer. Each control has both made for
            /// itself: where it is built in, none of it goes through memory.
            #[inline(always)]
            pub(crate) fn dispatch_ack<'a>(&mut self, ack: impl Fn() -> Ack<'a>, mut decide: impl FnMut(Decision)) {
                match self {
                    $(Self::$variant(control) => decide(control.on_ack(&ack())),)*
                    Self::Custom(control) => decide(control.on_ack(&ack())),
                }
            }
        }

        impl Congestion for Control {
            fn decision(&self) -> Decision {
                match self {
                    $(Self::$variant(control) => control.decision(),)*
                    Self::Custom(control) => control.decision(),
                }
            }

            fn floor(&self) -> Floor {
                match self {
                    $(Self::$variant(control) => control.floor(),)*
                    Self::Custom(control) => control.floor(),
                }
            }

            fn state(&self) -> Option<&'static str> {
                match self {
                    $(Self::$variant(control) => control.state(),)*
                    Self::Custom(control) => control.state(),
                }
            }

            fn signal(&self) -> Option<f64> {
                match self {
                    $(Self::$variant(control) => control.signal(),)*
                    Self::Custom(control) => control.signal(),
                }
            }

            fn on_sent(&mut self, sent: &Sent) -> Decision {
                match self {
                    $(Self::$variant(control) => control.on_sent(sent),)*
                    Self::Custom(control) => control.on_sent(sent),
                }
            }

            fn on_ack(&mut self, ack: &Ack) -> Decision {
                match self {
                    $(Self::$variant(control) => control.on_ack(ack),)*
                    Self::Custom(control) => control.on_ack(ack),
                }
            }

            fn on_nack(&mut self, nack: &Nack) -> Decision {
                match self {
                    $(Self::$variant(control) => control.on_nack(nack),)*
                    Self::Custom(control) => control.on_nack(nack),
                }
            }

            fn lower(&mut self, most: Bytes) -> Decision {
                match self {
                    $(Self::$variant(control) => control.lower(most),)*
                    Self::Custom(control) => control.lower(most),
                }
            }

            fn on_pull(&mut self, pull: &Pull) -> Decision {
                match self {
                    $(Self::$variant(control) => control.on_pull(pull),)*
                    Self::Custom(control) => control.on_pull(pull),
                }
            }

            fn on_cnp(&mut self, cnp: &Cnp) -> Decision {
                match self {
                    $(Self::$variant(control) => control.on_cnp(cnp),)*
                    Self::Custom(control) => control.on_cnp(cnp),
                }
            }

            fn on_loss(&mut self, loss: &Loss) -> Decision {
                match self {
                    $(Self::$variant(control) => control.on_loss(loss),)*
                    Self::Custom(control) => control.on_loss(loss),
                }
            }

            fn on_timeout(&mut self, timeout: &Timeout) -> Decision {
                match self {
                    $(Self::$variant(control) => control.on_timeout(timeout),)*
                    Self::Custom(control) => control.on_timeout(timeout),
                }
            }

            fn on_idle(&mut self, idle: &Idle) -> Decision {
                match self {
                    $(Self::$variant(control) => control.on_idle(idle),)*
                    Self::Custom(control) => control.on_idle(idle),
                }
            }

            fn on_timer(&mut self, now: Time) -> Decision {
                match self {
                    $(Self::$variant(control) => control.on_timer(now),)*
                    Self::Custom(control) => control.on_timer(now),
                }
            }
        }
    };
}

// The registry: variant, configuration and parameters, name, summary, source.
controls! {
    FixedWindow, fixed_window::{FixedWindowConfig, FixedWindowParams}, "fixed_window",
        "A window that never changes", "the null control";
    Unocc, unocc::{UnoccConfig, UnoccParams}, "unocc",
        "Additive increase, a decrease once per intra-datacenter RTT, Quick Adapt", "Uno, section 4.1";
    Gemini, gemini::{GeminiConfig, GeminiParams}, "gemini",
        "Reacts to ECN marks in the datacenter and to delay in the WAN; gains depend on the RTT", "Gemini, section III";
    Dctcp, dctcp::{DctcpConfig, DctcpParams}, "dctcp",
        "Cuts the window in proportion to the share of marked bytes", "RFC 8257";
    Mprdma, mprdma::{MprdmaConfig, MprdmaParams}, "mprdma",
        "Half a packet less per marked ACK, one packet more per window without marks", "MP-RDMA, section 3.1";
    Bbr, bbr::{BbrConfig, BbrParams}, "bbr",
        "Paces at the measured bottleneck rate, keeps at most two BDPs in flight (v1)",
        "draft-cardwell-iccrg-bbr-congestion-control-00";
    Smartt, smartt::{SmarttConfig, SmarttParams}, "smartt",
        "Four cases by ECN mark and RTT, Quick Adapt, waits before it decreases", "SMaRTT-REPS; REPS, section 3.0.1";
    Nscc, nscc::{NsccConfig, NsccParams}, "nscc",
        "Four cases by ECN mark and queueing delay, scaled with the network", "Ultra Ethernet's sender control; uet-htsim";
    Ndp, ndp::{NdpConfig, NdpParams}, "ndp",
        "Sends the first window at line rate, then one packet per pull of the receiver", "NDP (SIGCOMM 2017), section 3.2";
    Hpcc, hpcc::{HpccConfig, HpccParams}, "hpcc",
        "Keeps the busiest port of the path below its rate, using telemetry", "HPCC (SIGCOMM 2019), section 3";
    Poseidon, poseidon::{PoseidonConfig, PoseidonParams}, "poseidon",
        "Steers the largest queueing delay of the path to a target that is longer for slower flows", "Poseidon (NSDI 2023)";
    Dcqcn, dcqcn::{DcqcnConfig, DcqcnParams}, "dcqcn",
        "Cuts its rate on each CNP; a timer and a byte counter raise it again", "DCQCN (SIGCOMM 2015), section 3";
    Oscar, oscar::{OscarConfig, OscarParams}, "oscar",
        "Moves to its target in one step, from delay and its gradient over a batch of ACKs", "OSCAR (NSDI 2026), section 4";
    Scripted, scripted::{ScriptedConfig, ScriptedParams}, "scripted",
        "Follows a script of times and shares", "the oracle of OSCAR (NSDI 2026), figure 3";
    Powertcp, powertcp::{PowertcpConfig, PowertcpParams}, "powertcp",
        "Divides the window by the queue and arrival rate of the busiest port, using telemetry", "PowerTCP (NSDI 2022), algorithm 1";
    ThetaPowertcp, theta_powertcp::{ThetaPowertcpConfig, ThetaPowertcpParams}, "theta-powertcp",
        "Divides the window by the RTT and its slope", "PowerTCP (NSDI 2022), algorithm 2";
    Swift, swift::{SwiftConfig, SwiftParams}, "swift",
        "Additive increase below a target delay, a cut by the excess above it; small windows have a longer target", "Swift (SIGCOMM 2020)";
    Timely, timely::{TimelyConfig, TimelyParams}, "timely",
        "Adjusts its rate by the slope of the RTT, between two thresholds", "TIMELY (SIGCOMM 2015), algorithm 1";
    DctcpPerAck, dctcp_per_ack::{DctcpPerAckConfig, DctcpPerAckParams}, "dctcp-per-ack",
        "A third of a packet less per marked ACK, one packet more per window without marks", "Incast proxy (HotNets 2025)";
    Newreno, newreno::{NewrenoConfig, NewrenoParams}, "newreno",
        "One packet more per window without losses, half the window on a loss", "RFC 5681, RFC 6582";
    Cubic, cubic::{CubicConfig, CubicParams}, "cubic",
        "Grows with the cube of the time since its last cut, towards the window before that cut", "RFC 9438";
    Vegas, vegas::{VegasConfig, VegasParams}, "vegas",
        "One packet more or less per RTT, by the number of its packets that wait in queues", "TCP Vegas (JSAC 1995); Linux";
}
