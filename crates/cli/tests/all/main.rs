//! The command's tests: one binary, a module a subject.
#![allow(clippy::unwrap_used, reason = "a test says by failing")]

mod absent;
mod book;
#[cfg(feature = "ledger")]
mod bundle;
mod command;
mod common;
mod demo;
#[cfg(all(target_os = "linux", feature = "emu"))]
mod emu;
#[cfg(feature = "import")]
mod import;
#[cfg(feature = "import")]
mod invalid;
mod io;
#[cfg(all(target_os = "linux", feature = "kernel"))]
mod kernel;
mod links;
mod new_control;
mod notation;
mod plot;
mod setup;
mod several;
mod sweep;
mod texts;
