//! Files of other tools, from text to runs: one binary, a module a subject.
#![allow(clippy::unwrap_used, reason = "a test says by failing")]

mod import;
