//! The tests of `farspan-lab`: one binary, a module a subject.
#![allow(clippy::unwrap_used, reason = "a test says by failing")]

mod arguments;
mod common;
#[cfg(target_os = "linux")]
mod kernel;
mod proxy;
mod reference;
