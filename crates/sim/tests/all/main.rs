//! Whole runs of the simulator: one binary, a module a subject.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/random/mod.rs"]
mod random;
#[path = "../common/worlds.rs"]
mod worlds;

mod analytic;
mod backbone;
mod equality;
mod exact;
mod faults;
mod goodput;
mod memory;
mod messages;
mod noise;
mod policies;
mod rack;
mod shared;
mod small;
mod tcp;
mod traces;
mod triggers;
mod trimming;
mod verbs;
