//! Scenarios from text to what is resolved: one binary, a module a subject.
#![allow(clippy::unwrap_used, reason = "a test says by failing")]

mod base;
mod built_in;
mod control;
mod links;
