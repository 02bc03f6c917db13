//! Virtual time: event engines that know nothing of networks, and a world in which transport meets fabric.
//!
//! [`run`] takes a [`Spec`] and gives an [`Outcome`]; everything between is private. The same spec gives the same
//! outcome, bit for bit, on any machine.
#![deny(unsafe_code)]

mod delay;
mod engine;
mod executor;
mod host;
mod instrumentation;
mod nic;
mod outcome;
mod parts;
mod plan;
mod port_tracer;
mod probe;
mod record;
mod rows;
mod spec;
mod switch;
mod trace;
mod trigger;
mod world;

pub use executor::{groups, threads};
pub use farspan_trace::FlowOutcome;
pub use outcome::{Amount, Outcome, PortOutcome, ProbeKind, Sample, SampleId, Totals, Traced};
pub use spec::{
    ByTier, EngineKind, Flow, InitialWindow, Probes, Progress, Rule, Series, Spec, Stop, Trace, Trigger,
};
pub use world::run;
