//! The bytes of packets, beside their records: a table of buffers whose places stand in a word of the record, so that a port may
//! exchange the numbers of two packets.

use crate::bytes::{Untrimmable, hop_limit, lower_hop_limit, mark, trim};
use farspan_fabric::{Packet, Packets};

/// The word of a record that holds the place of its bytes.
const PLACE: usize = 0;

/// The half word of a record that holds the number of switches that it has come to.
pub(super) const HOPS: usize = 0;

/// Fewer buffers than this are not worth a search for those that are free.
const FEW: usize = 64;

/// The buffers. What a switch drops it does not say: its buffer is found when no other is free.
#[derive(Debug, Default)]
pub(super) struct Frames {
    buffers: Vec<Vec<u8>>,
    free: Vec<u32>,
    /// How many buffers there are to be before the next search.
    search_at: usize,
}

impl Frames {
    /// Keeps bytes; `packets` are all whose bytes are kept. Gives their place.
    pub(super) fn keep(&mut self, bytes: &[u8], packets: &Packets) -> u32 {
        if self.free.is_empty() && self.buffers.len() >= self.search_at.max(FEW) {
            self.search(packets);
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.buffers.push(Vec::new());
            u32::try_from(self.buffers.len() - 1).expect("a slab has fewer packets")
        });
        let buffer = &mut self.buffers[place as usize];
        buffer.clear();
        buffer.extend_from_slice(bytes);
        place
    }

    /// The buffers of packets that were dropped are free.
    fn search(&mut self, packets: &Packets) {
        let mut is_used = vec![false; self.buffers.len()];
        packets.iter().for_each(|packet| is_used[packet.words[PLACE] as usize] = true);
        self.free.extend((0..).zip(&is_used).filter(|(_, is_used)| !**is_used).map(|(place, _)| place));
        // A search looks at each buffer once; the next one comes after as many packets.
        self.search_at = 2 * (self.buffers.len() - self.free.len());
    }

    /// The record of a packet holds the place of its bytes.
    pub(super) const fn attach(packet: &mut Packet, place: u32) {
        packet.words[PLACE] = place;
    }

    /// The place of a packet's bytes.
    pub(super) const fn place(packet: &Packet) -> u32 {
        packet.words[PLACE]
    }

    /// The bytes of a packet, as its host sent them.
    pub(super) fn bytes(&self, packet: &Packet) -> &[u8] {
        &self.buffers[packet.words[PLACE] as usize]
    }

    /// The hops that a packet may take, as its host sent it.
    pub(super) fn hop_limit(&self, packet: &Packet) -> u8 {
        hop_limit(self.bytes(packet))
    }

    /// The bytes of a packet with all that switches have done to it so far; `None`: that cannot be written.
    pub(super) fn written(&self, packet: &Packet) -> Option<Vec<u8>> {
        let mut bytes = self.bytes(packet).to_vec();
        write(packet, &mut bytes).is_ok().then_some(bytes)
    }

    /// The bytes of a packet that has left, to be given back.
    pub(super) fn take(&mut self, packet: &Packet) -> (u32, Vec<u8>) {
        let place = packet.words[PLACE];
        (place, std::mem::take(&mut self.buffers[place as usize]))
    }

    /// Gives a buffer back to its place, which is free now.
    pub(super) fn give_back(&mut self, place: u32, buffer: Vec<u8>) {
        self.buffers[place as usize] = buffer;
        self.free.push(place);
    }
}

/// Writes what switches did to a packet into its bytes; `false`: it bears a mark, and speaks no ECN.
pub(super) fn write(packet: &Packet, bytes: &mut Vec<u8>) -> Result<bool, Untrimmable> {
    let hops = u8::try_from(packet.halves[HOPS]).unwrap_or(u8::MAX);
    let reaches = lower_hop_limit(bytes, hops);
    debug_assert!(reaches, "a switch drops what has no hops left");
    if packet.trimmed() {
        trim(bytes, packet.size().get() as usize)?;
    }
    Ok(!packet.ecn_ce() || mark(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::{Bytes, FlowId, HostId, Time};

    #[test]
    fn buffers_of_dropped_packets_are_found_again() {
        let (mut frames, mut packets) = (Frames::default(), Packets::new());
        let mut last = None;
        for n in 0_u32..10_000 {
            let place = frames.keep(&n.to_be_bytes(), &packets);
            let mut packet = Packet::new(FlowId(n), HostId(0), Bytes::new(4), 0, false, 0);
            Frames::attach(&mut packet, place);
            let id = packets.insert(packet);
            // One of three stays for a while, one is dropped, one is released.
            match n % 3 {
                0 => drop(last.replace((id, n)).map(|(id, n)| {
                    let (place, bytes) = frames.take(&packets.remove(id));
                    assert_eq!(bytes, n.to_be_bytes());
                    frames.give_back(place, bytes);
                })),
                1 => drop(packets.discard(Time::ZERO, id)),
                _ => {
                    let (place, bytes) = frames.take(&packets.remove(id));
                    assert_eq!(bytes, n.to_be_bytes());
                    frames.give_back(place, bytes);
                }
            }
        }
        assert!(
            frames.buffers.len() <= 2 * FEW,
            "{} buffers for two packets at a time",
            frames.buffers.len()
        );
    }
}
