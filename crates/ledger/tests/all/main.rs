//! The ledger's tests: one binary, a module a subject.
#![allow(clippy::unwrap_used, reason = "a test says by failing")]

mod bad_input;
mod bundle;
mod evaluate;
mod experiments;
