//! A port without room: packets are dropped, or their payload is cut off, and headers may turn back.

use super::{Admission, Cold, Gate, Port};
use crate::packet::{Access, PacketId, Packets};
use crate::port_config::Trim;
use crate::queue::overflow::Trimming;
use farspan_units::{Bytes, Time};

impl Port {
    /// Counts a header, which has lost its payload here or elsewhere, in if there is room for it.
    #[cold]
    pub(super) fn admit_header(&mut self, now: Time) -> bool {
        let free_at = self.headers_leave_from(now);
        let state = self.cold.as_deref_mut().and_then(|cold| cold.trimming.as_mut());
        let trims = self.model.trim.zip(state);
        trims.is_none_or(|(trim, state)| state.admit(&trim, free_at, self.model.rate))
    }

    /// A header has left a port that counts them.
    #[cold]
    pub(super) fn header_left(&mut self) {
        let state = self.cold.as_deref_mut().and_then(|cold| cold.trimming.as_mut());
        if let Some((trim, state)) = self.model.trim.zip(state) {
            state.leave(&trim);
        }
    }

    /// Whether data leaves before the control packets that wait: so many of these have left in a row while it waited.
    pub(super) fn data_goes_first(&mut self, gate: Gate) -> bool {
        let Some(weight) = self.model.trim.and_then(|trim| trim.weight) else { return false };
        let state = self.cold.as_deref_mut().and_then(|cold| cold.trimming.as_mut());
        let waits = !self.data.is_empty() && gate.lets_out(true);
        waits && state.is_some_and(|state| state.yields(weight, self.sent_packets))
    }

    /// When the link is free for a header: when the data packet in service has left.
    fn headers_leave_from(&self, now: Time) -> Time {
        if self.serving.is_none() || !self.serving.in_data { now } else { self.next_at }
    }

    /// A packet arrives that the buffer has no room for.
    #[cold]
    pub(super) fn overflow(
        &mut self,
        now: Time,
        id: PacketId,
        packets: &mut Packets<impl Access>,
        gate: Gate,
    ) -> Admission {
        let picks = |state: &mut Trimming, trim: &Trim| state.picks_the_last(trim.victim);
        self.cut_or_refuse(now, id, packets, gate, picks)
    }

    /// A packet arrives that may not be queued, whatever room the port has: its payload is cut off, if the port does that,
    /// or it is dropped.
    pub fn reject(
        &mut self,
        now: Time,
        id: PacketId,
        packets: &mut Packets<impl Access>,
        gate: Gate,
    ) -> Admission {
        self.cut_or_refuse(now, id, packets, gate, |_, _| false)
    }

    /// `picks_the_last`: whether the last packet in the queue is cut instead.
    fn cut_or_refuse(
        &mut self,
        now: Time,
        id: PacketId,
        packets: &mut Packets<impl Access>,
        gate: Gate,
        picks_the_last: impl Fn(&mut Trimming, &Trim) -> bool,
    ) -> Admission {
        let (size, control) = (packets[id].size(), packets[id].control());
        if packets[id].trimmed() {
            return self.refuse_header(id, packets);
        }
        if let Some(phantom) = &self.model.marking.phantom
            && !control
            && phantom.count_dropped
        {
            self.phantom.add(now, size, phantom);
        }
        let free_at = self.headers_leave_from(now);
        let state = self.cold.as_deref_mut().and_then(|cold| cold.trimming.as_mut());
        let trims = self.model.trim.zip(state);
        let Some((trim, state)) = trims else { return self.refuse(size) };
        let has_room = state.has_room(&trim, free_at, self.model.rate);
        if !has_room && !trim.returns {
            return self.refuse(size);
        }
        if picks_the_last(state, &trim) {
            self.replace_last(now, id, packets);
        }
        let cut = packets.trim(id, trim.header, trim.at_last_hop);
        if let Some(Cold { trimming: Some(state), .. }) = self.cold.as_deref_mut() {
            state.trimmed += 1;
            state.cut_bytes += cut;
        }
        if has_room { self.enqueue(now, id, packets, gate) } else { self.refuse_header(id, packets) }
    }

    /// A header finds no room: it goes back, if the port sends headers back and it is not on its way back already, or is dropped.
    fn refuse_header(&mut self, id: PacketId, packets: &Packets<impl Access>) -> Admission {
        let state = self.cold.as_deref_mut().and_then(|cold| cold.trimming.as_mut());
        match state.filter(|_| self.model.returns_headers() && !packets[id].returned()) {
            Some(state) => {
                state.returned += 1;
                Admission::Returned
            }
            None => self.refuse(packets[id].size()),
        }
    }

    /// Counts a packet of `size` that found no room.
    fn refuse(&mut self, size: Bytes) -> Admission {
        let cold = self.cold.get_or_insert_default();
        cold.dropped += 1;
        cold.dropped_bytes += size;
        Admission::Dropped
    }

    /// The packet that arrives takes the place of the last one in the data queue, if it fits there: `id` is then the
    /// number of that one.
    fn replace_last(&mut self, now: Time, id: PacketId, packets: &mut Packets<impl Access>) {
        let Some(last) = self.data.last() else { return };
        let (arriving, leaving) = (packets[id].size(), packets[last].size());
        if self.data_bytes - leaving + arriving > self.model.buffer {
            return;
        }
        packets.swap(id, last);
        self.queue_integral.add(leaving.get(), now.as_ps());
        self.data_bytes -= leaving;
        // The phantom queue has counted one packet for the two.
        let phantom = self.phantom;
        self.admit(now, &mut packets[last], arriving, false);
        self.phantom = phantom;
    }
}
