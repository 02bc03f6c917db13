//! Counters of a host.

use crate::outcome::Amount;
use farspan_units::{Bytes, FlowId, Time};

/// Counters of a host.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HostCounters {
    /// Data, then control packets, then data packets without their payload: how many, and how large together.
    arrived: ([u64; 3], [Bytes; 3]),
    pub(crate) marked: u64,
    /// CNPs that reached a sender here.
    pub(crate) cnps: u64,
    /// ACKs that brought telemetry to one.
    pub(crate) telemetry: u64,
    pub(crate) delivered_bytes: Bytes,
    pub(crate) arrivals_hash: u64,
    pub(crate) finished: u64,
    pub(crate) measured_finished: u64,
}

impl HostCounters {
    #[inline(always)]
    pub(super) fn count(&mut self, kind: usize, size: Bytes) {
        self.arrived.0[kind] += 1;
        self.arrived.1[kind] += size;
    }

    /// Adds a hash of an arrival, whatever the order: time, flow, its number there, and `what`: whether it was trimmed,
    /// its kind (of data 0), its mark.
    #[inline(always)]
    pub(super) fn hash(&mut self, now: Time, flow: FlowId, number: u32, what: u64) {
        let which = u64::from(flow.0) << 32 | u64::from(number);
        let product = u128::from(now.as_ps() ^ 0x9e37_79b9_7f4a_7c15 ^ what << 56)
            * u128::from(which.wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1);
        let hash = (product >> 64) as u64 ^ product as u64;
        self.arrivals_hash = self.arrivals_hash.wrapping_add(hash);
    }

    /// Packets that arrived, by kind: data, then control packets, then data packets without their payload.
    pub(crate) const fn arrived(&self, kind: usize) -> Amount {
        Amount { packets: self.arrived.0[kind], bytes: self.arrived.1[kind] }
    }
}
