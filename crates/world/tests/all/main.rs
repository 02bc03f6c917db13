//! Scenarios that are built and run: one binary, a module a subject.
#![allow(clippy::unwrap_used, reason = "a test says by failing")]

#[path = "../../../sim/tests/common/mod.rs"]
mod common;

mod backbone;
mod bad_input;
mod base;
mod built_in;
mod collectives;
mod connections;
mod control;
mod equality;
mod estimate;
mod gemini;
mod incasts;
mod links;
mod loss;
mod measures;
mod nacks;
mod ndp;
mod oscar;
mod oscar_burst;
mod oscar_marks;
mod oscar_rivals;
mod pfc;
mod proxy;
mod ranges;
mod reps;
mod telemetry;
mod time_outs;
mod topology;
mod warnings;
