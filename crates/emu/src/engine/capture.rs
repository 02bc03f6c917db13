//! Captures of ports: every packet that left one, found no room there, or was lost there, with its bytes.

use super::frames::Frames;
use farspan_fabric::Packet;
use farspan_fabric::switch::PortEvent;
use farspan_trace::Remark;
use farspan_units::{PortId, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::SyncSender;

/// A packet that left a port, found no room there, or was lost there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Captured {
    /// When its last bit left, it came, or the link failed.
    pub at: Time,
    /// The port.
    pub port: PortId,
    /// The packet from its IP header on, with what switches have written so far.
    pub bytes: Vec<u8>,
    /// The fates that it met at the port.
    pub remarks: Vec<Remark>,
}

/// The ports that are captured, and who gets their packets.
#[derive(Debug)]
pub(super) struct Capture {
    ports: BTreeSet<PortId>,
    to: SyncSender<Captured>,
    /// Packets that nobody could take.
    pub(super) left_out: u64,
    /// Packets that wait at switches' ports, or are in service there, as they came, with the place of their bytes; and which of
    /// those that came they are.
    inside: BTreeMap<(PortId, u32), (u64, Packet)>,
    queued: u64,
}

impl Capture {
    pub(super) fn new(ports: impl IntoIterator<Item = PortId>, to: SyncSender<Captured>) -> Self {
        Self { ports: ports.into_iter().collect(), to, left_out: 0, inside: BTreeMap::new(), queued: 0 }
    }

    pub(super) fn note(&mut self, at: Time, port: PortId, event: &PortEvent<'_>, frames: &Frames) {
        if !self.ports.contains(&port) {
            return;
        }
        if let PortEvent::Left(packet, _) = event {
            self.inside.remove(&(port, Frames::place(packet)));
        }
        let (packet, remarks) = match event {
            PortEvent::Left(packet, false) => (packet, Vec::new()),
            PortEvent::Left(packet, true) | PortEvent::Refused(packet) => (packet, vec![Remark::Lost]),
            PortEvent::Dropped(packet, port) => (packet, vec![Remark::Dropped { queue: port.queued(at) }]),
            PortEvent::Queued { before, .. } => {
                self.queued += 1;
                self.inside.insert((port, Frames::place(before)), (self.queued, **before));
                return;
            }
            PortEvent::Flushed => return self.flushed(at, port, frames),
            // The emulator's ports send no headers back.
            PortEvent::Served(..) | PortEvent::Returned { .. } => return,
        };
        self.packet(at, port, packet, remarks, frames);
    }

    /// The link of a port fails: all that is in the port is lost.
    fn flushed(&mut self, at: Time, port: PortId, frames: &Frames) {
        let places: Vec<_> = self.inside.range((port, 0)..=(port, u32::MAX)).map(|(key, _)| *key).collect();
        let mut lost: Vec<_> = places.iter().filter_map(|key| self.inside.remove(key)).collect();
        lost.sort_unstable_by_key(|(number, _)| *number);
        lost.iter().for_each(|(_, packet)| self.packet(at, port, packet, vec![Remark::Lost], frames));
    }

    /// A packet has left a port, or found no room. If it cannot be taken at once, it is left out: nobody waits.
    pub(super) fn packet(
        &mut self,
        at: Time,
        port: PortId,
        packet: &Packet,
        remarks: Vec<Remark>,
        frames: &Frames,
    ) {
        if !self.ports.contains(&port) {
            return;
        }
        // What cannot be trimmed ends at its host: here it is as it was.
        let bytes = frames.written(packet).unwrap_or_else(|| frames.bytes(packet).to_vec());
        let taken = self.to.try_send(Captured { at, port, bytes, remarks });
        self.left_out += u64::from(taken.is_err());
    }
}
