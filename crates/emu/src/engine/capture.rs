//! Captures of ports: every packet that left one, or found no room there, with its bytes.

use super::frames::Frames;
use farspan_fabric::Packet;
use farspan_fabric::switch::PortEvent;
use farspan_trace::Remark;
use farspan_units::{PortId, Time};
use std::collections::BTreeSet;
use std::sync::mpsc::SyncSender;

/// A packet that left a port, or found no room there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Captured {
    /// When its last bit left, or it came.
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
    pub(super) ports: BTreeSet<PortId>,
    pub(super) to: SyncSender<Captured>,
    /// Packets that nobody could take.
    pub(super) left_out: u64,
}

impl Capture {
    pub(super) fn note(&mut self, at: Time, port: PortId, event: &PortEvent<'_>, frames: &Frames) {
        if !self.ports.contains(&port) {
            return;
        }
        let (packet, remarks) = match event {
            PortEvent::Left(packet, false) => (packet, Vec::new()),
            PortEvent::Left(packet, true) | PortEvent::Refused(packet) => (packet, vec![Remark::Lost]),
            PortEvent::Dropped(packet, port) => (packet, vec![Remark::Dropped { queue: port.queued(at) }]),
            PortEvent::Queued { .. } | PortEvent::Served(..) | PortEvent::Flushed => return,
        };
        self.packet(at, port, packet, remarks, frames);
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
