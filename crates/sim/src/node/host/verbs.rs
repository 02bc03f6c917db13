//! A host that drives its endpoint by the verbs, as drivers of real packets do: for tests, which ask for the same outcome
//! ([`EngineKind::Verbs`](crate::EngineKind::Verbs)). While its link pauses data it asks for control packets alone. Only whether
//! packets wait that a pause holds, which the outcome of a deadlock says, is read in place.
//!
//! Headers are bytes on their way, and who sent them stands beside. Telemetry, which ports write as a value, becomes bytes where it
//! arrives. Of a record the host reads nothing but the size, the entropy, the mark, whether the payload was cut off, and where the
//! header lies. Records are filled even so: tracers of ports read them, and the counts of packets that were lost or are under way.

use super::Host;
use crate::engine::Outbox;
use crate::node::common::Common;
use crate::record;
use farspan_fabric::PacketId;
use farspan_transport::wire::telemetry;
use farspan_transport::{Poll, Transmit};
use farspan_units::{Telemetry, Time};

/// The state of such a host beside that of others.
pub(super) struct Verbs {
    /// When it asks its endpoint for the next packet, unless something happens before.
    pub(super) poll_at: Time,
}

/// Writes telemetry as bytes, and reads it again.
pub(super) fn through_bytes(telemetry: &Telemetry) -> Telemetry {
    let mut bytes = Vec::new();
    telemetry::encode(telemetry, &mut bytes);
    let (telemetry, rest) = telemetry::decode(&bytes).expect("what was encoded is telemetry");
    assert!(rest.is_empty(), "all of it is read");
    telemetry
}

impl Host {
    /// Something has happened: a packet may leave at once.
    #[inline]
    pub(super) fn note_change(&mut self) {
        if let Some(verbs) = &mut self.verbs {
            verbs.poll_at = Time::ZERO;
        }
    }

    /// As [`Self::send_next`], by the verbs.
    #[cold]
    pub(super) fn send_polled(
        &mut self,
        now: Time,
        common: &mut Common,
        out: &mut impl Outbox<PacketId>,
    ) -> bool {
        let poll = if self.nic.is_paused() {
            self.endpoint.poll_control().map_or(Poll::Idle, Poll::Packet)
        } else {
            self.endpoint.poll_transmit(now)
        };
        let (poll_at, packet) = match poll {
            Poll::Packet(packet) => (Time::ZERO, Some(packet)),
            Poll::At(at) => (at, None),
            Poll::Idle => (Time::MAX, None),
        };
        self.verbs = Some(Verbs { poll_at });
        let Some(packet) = packet else { return false };
        let Transmit { to, header, size, entropy, control, ecn_ce, telemetry, .. } = packet;
        let Common { packets, datagrams, .. } = common;
        let id = record::insert(packets, &header, (self.id, to), size, entropy);
        // Where a header goes back to, that of a coded packet says beside its record.
        *packets.words_mut(id) = [datagrams.put(self.id, &header), self.id.0];
        if ecn_ce {
            packets[id].mark();
        }
        if let Some(telemetry) = telemetry {
            packets.set_telemetry(id, telemetry);
        }
        self.nic.send(now, id, size, control, out);
        true
    }
}
