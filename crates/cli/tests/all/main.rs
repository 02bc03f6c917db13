//! The command's tests: one binary, a module a subject.
#![allow(clippy::unwrap_used, reason = "a test says by failing")]

mod book;
mod bundle;
mod command;
mod common;
mod demo;
#[cfg(target_os = "linux")]
mod emu;
mod import;
mod invalid;
mod io;
#[cfg(all(target_os = "linux", feature = "kernel"))]
mod kernel;
#[cfg(all(target_os = "linux", not(feature = "kernel")))]
mod kernel_absent;
mod links;
mod new_control;
mod notation;
mod plot;
mod setup;
mod several;
mod sweep;
mod told;
