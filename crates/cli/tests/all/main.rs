//! The command's tests: one binary, a module a subject.
#![allow(clippy::unwrap_used, reason = "a test says by failing")]

mod book;
mod command;
mod common;
mod demo;
#[cfg(target_os = "linux")]
mod emu;
mod import;
mod invalid;
mod io;
mod new_control;
mod reference;
mod sweep;
