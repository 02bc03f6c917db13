//! A persistent flow, as its receiver sees it: which messages are here in full, in their order.

use super::counters::{Counters, ReceiverReport};
use crate::table::PeerFlow;
use alloc::collections::BTreeMap;
use farspan_units::{Bytes, Time};

/// The messages of a persistent flow that are not here in full.
#[derive(Debug, Default)]
pub(super) struct MessageEnds {
    /// The last packets of messages that are here, by number, with their payload. There are no more than packets above the
    /// cumulative one.
    lasts: BTreeMap<u32, u16>,
    /// The first packet of the oldest message.
    first: u32,
    /// Its index.
    index: u32,
    /// The counters when the message before was here in full.
    before: Counters,
}

impl MessageEnds {
    /// Whether packet `seq`, whose message ends before `end`, can be one of the flow: no message is known to end before that.
    pub(super) fn may_have(&self, seq: u32, end: u32) -> bool {
        seq < end && self.lasts.range(seq..end - 1).next().is_none()
    }

    /// Packet `seq`, of a message that ends before `end`, came for the first time.
    pub(super) fn note(&mut self, seq: u32, end: u32, len: u16) {
        if seq + 1 == end && seq >= self.first {
            self.lasts.insert(seq, len);
        }
    }

    /// Whether the oldest message is here in full, now that all packets below `cumulative` are.
    pub(super) fn has_delivered(&self, cumulative: u32) -> bool {
        self.lasts.first_key_value().is_some_and(|(&last, _)| last < cumulative)
    }

    /// Takes out the oldest message if it is here in full.
    pub(super) fn take_delivered(
        &mut self,
        now: Time,
        name: PeerFlow,
        (cumulative, counters, mss): (u32, &Counters, Bytes),
    ) -> Option<ReceiverReport> {
        if !self.has_delivered(cumulative) {
            return None;
        }
        let (last, len) = self.lasts.pop_first()?;
        let bytes = mss * u64::from(last - self.first) + Bytes::new(u64::from(len));
        let (all, before) = [counters, &self.before].map(|c| c.report(name.flow, name.peer, now)).into();
        let report = ReceiverReport {
            message: self.index,
            bytes,
            arrived_packets: all.arrived_packets - before.arrived_packets,
            marked_packets: all.marked_packets - before.marked_packets,
            ..all
        };
        (self.first, self.before) = (last + 1, *counters);
        self.index += 1;
        Some(report)
    }
}
