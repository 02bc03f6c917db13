//! Virtual time: event engines that know nothing of networks, and a world in which transport meets fabric.
//!
//! [`run`] takes a [`Spec`] and gives an [`Outcome`]; everything between is private. The same spec gives the same
//! outcome, bit for bit, on any machine.
#![deny(unsafe_code)]

mod engine;
mod executor;
mod node;
mod observe;
mod outcome;
mod plan;
mod record;
mod spec;
mod world;

pub use executor::{groups, threads};
pub use farspan_trace::FlowOutcome;
pub use outcome::{Amount, Outcome, PortOutcome, Sample, SampleId, Totals, Traced};
pub use spec::{
    ByTier, EngineKind, Flow, InitialWindow, ProbeKind, Probes, Progress, Rule, Series, Spec, Stop, Trace,
    Trigger,
};
pub use world::run;
