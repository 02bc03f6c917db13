//! Whole endpoints against each other: one binary, a module a subject.
#![allow(clippy::unwrap_used, reason = "only tests here")]

mod drivers;
mod embed;
mod pair;
mod peers;
mod proxy;
