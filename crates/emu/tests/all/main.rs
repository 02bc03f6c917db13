//! Emulations with real packets between namespaces. They take root, `/dev/net/tun` and iproute2: elsewhere they say that they were
//! skipped.

#![allow(clippy::unwrap_used, reason = "a test says by failing")]

#[cfg(target_os = "linux")]
mod lab;
#[cfg(target_os = "linux")]
mod model;
#[cfg(target_os = "linux")]
mod packets;
