//! The sender's state at the time when each packet of the window left.

use crate::congestion::SendRecord;
use alloc::vec::Vec;
use farspan_units::Time;

/// Send records for delivery-rate samples; kept for controls that ask.
#[derive(Debug)]
pub(super) struct Records {
    /// Records of the packets of the window, at `seq % len`; the length is a power of two and at least the window.
    ring: Vec<SendRecord>,
    /// When payload was last delivered.
    pub(super) delivered_at: Time,
    /// Send time of the packet acknowledged last, or of the first packet after the flight was empty.
    pub(super) first_sent_at: Time,
}

impl Records {
    /// No records yet, for a flow that starts at `now`.
    pub(super) const fn new(now: Time) -> Self {
        Self { ring: Vec::new(), delivered_at: now, first_sent_at: now }
    }

    fn index(&self, seq: u32) -> usize {
        seq as usize & (self.ring.len() - 1)
    }

    /// The record of packet `seq` of the window.
    pub(super) fn of(&self, seq: u32) -> SendRecord {
        self.ring[self.index(seq)]
    }

    /// Keeps the record of packet `seq` of the window `base..`.
    pub(super) fn put(&mut self, base: u32, seq: u32, record: SendRecord) {
        let window = (seq - base) as usize + 1;
        if window > self.ring.len() {
            let old = core::mem::take(&mut self.ring);
            self.ring = alloc::vec![SendRecord::default(); window.next_power_of_two().max(8)];
            for i in base..seq.min(base.saturating_add(old.len() as u32)) {
                let index = self.index(i);
                self.ring[index] = old[i as usize & (old.len() - 1)];
            }
        }
        let index = self.index(seq);
        self.ring[index] = record;
    }
}
