//! The fuzz targets' tests: one binary, a module a subject.
#![allow(clippy::unwrap_used, reason = "a test says by failing")]

// The name by which the targets' files know the fuzzer.
extern crate self as libfuzzer_sys;

mod corpus;
mod invalid;
mod runs;
mod targets;

pub(crate) use targets::fuzz_target;
