//! The eBPF programs beside the simulator.
#![allow(clippy::unwrap_used, reason = "a test says by failing")]

#[cfg(target_os = "linux")]
mod phantom;
