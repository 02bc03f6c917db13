//! The driver's tests: one binary, a module a subject.
#![allow(clippy::unwrap_used, reason = "only tests here")]

mod loopback;
mod memory;
