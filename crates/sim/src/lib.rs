//! The simulator: event engines in virtual time, which know nothing of networks, and a world that joins transport and fabric.
//!
//! [`run`] takes a [`Spec`] and returns an [`Outcome`]. Everything else is private. The same spec gives the same outcome, bit
//! for bit, on any machine.
//!
//! # A flow between two hosts
//!
//! ```
//! use farspan_fabric::topology::Star;
//! use farspan_fabric::{PortConfig, Tier};
//! use farspan_sim::{ByTier, EngineKind, Flow, InitialWindow, Probes, Spec, Stop, Trace};
//! use farspan_transport::balance::BalanceConfig;
//! use farspan_transport::coding::CodingConfig;
//! use farspan_transport::congestion::CongestionConfig;
//! use farspan_transport::recovery::{RecoveryConfig, RecoveryPolicy, Rto};
//! use farspan_transport::{FlowProfile, Scheme, Connection, WindowCheck};
//! use farspan_units::{Bytes, Duration, HostId, Rate, Time};
//!
//! let (rate, delay) = (Rate::from_gbps(100), Duration::from_us(1));
//! let scheme = std::sync::Arc::new(Scheme {
//!     congestion: CongestionConfig::by_name("unocc").expect("a built-in name"),
//!     balance: BalanceConfig::by_name("ecmp").expect("a built-in name"),
//!     coding: CodingConfig::by_name("none").expect("a built-in name"),
//!     recovery: RecoveryConfig { rto: Rto::Path, backoff: true, policy: RecoveryPolicy::PerPacketRto },
//!     on_nack: None,
//!     window_check: WindowCheck::Below,
//!     connection: Connection::default(),
//!     profile: FlowProfile::default(),
//! });
//! let spec = Spec {
//!     network: Star { switch_delay: Duration::ZERO, hosts: vec![(rate, delay); 2] }.build()?,
//!     ports: ByTier(std::array::from_fn::<_, { Tier::COUNT }, _>(|_| PortConfig::drop_tail(Bytes::new(1 << 20)))),
//!     own_ports: Default::default(),
//!     pool: None,
//!     routing: Default::default(),
//!     flows: vec![Flow { src: HostId(0), dst: HostId(1), size: Bytes::new(1 << 20), start: Time::ZERO, measured: true }],
//!     triggers: Vec::new(),
//!     faults: Vec::new(),
//!     intra: scheme.clone(),
//!     inter: scheme,
//!     own_balance: Vec::new(),
//!     mss: Bytes::new(4096),
//!     header: Bytes::new(64),
//!     initial_window: InitialWindow::Bdp,
//!     jitter: Duration::ZERO,
//!     port_jitter: Duration::ZERO,
//!     rtt_noise: Duration::ZERO,
//!     seed: 1,
//!     probes: Probes::default(),
//!     trace: Trace::default(),
//!     proxies: Vec::new(),
//!     proxy_failures: Vec::new(),
//!     stop: Stop { time: Time::MAX, when_measured_end: None },
//! };
//! let outcome = farspan_sim::run(&spec, EngineKind::Windowed, &mut |_| true);
//! assert!(outcome.flows[0].finish.is_some());
//! assert_eq!(outcome.digest, farspan_sim::run(&spec, EngineKind::Oracle, &mut |_| true).digest);
//! # Ok::<(), farspan_fabric::TopologyError>(())
//! ```
#![deny(unsafe_code)]

mod engine;
mod executor;
mod fabric;
mod node;
mod observe;
mod outcome;
mod plan;
mod record;
mod spec;
mod world;

pub use executor::{groups, threads};
pub use fabric::{LinkCounts, Switches};
pub use farspan_transport::{FlowOutcome, InitialWindow};
pub use observe::delay::DelayHistogram;
pub use observe::probe::{PortReading, PortSampler};
pub use outcome::{Amount, Outcome, PortOutcome, Rtt, Rtts, Sample, SampleId, Totals, Traced};
pub use plan::pool::ingress;
pub use plan::reroutes;
pub use spec::{
    ByTier, EngineKind, Flow, NaiveSpec, OwnBalance, ProbeKind, Probes, Progress, ProxySpec, Rule, Series,
    Spec, Stop, Trace, Trigger,
};
pub use world::run;
