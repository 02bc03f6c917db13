//! Headers as bytes on their way between hosts that call the verbs alone.

use farspan_transport::wire::{Header, MAX_HEADER};
use farspan_units::HostId;

/// A header on its way.
struct Datagram {
    from: HostId,
    header: [u8; MAX_HEADER],
}

/// The headers on their way, each at a place that its packet carries beside its record: ports may exchange the numbers of two
/// packets. A dropped packet's header keeps its place until the
/// run ends.
#[derive(Default)]
pub(crate) struct Datagrams {
    all: Vec<Datagram>,
    free: Vec<u32>,
}

impl Datagrams {
    /// Keeps a header and who sent it. Returns its place.
    pub(crate) fn put(&mut self, from: HostId, header: &Header) -> u32 {
        let mut datagram = Datagram { from, header: [0; MAX_HEADER] };
        header.encode(&mut datagram.header).expect("a header fits the longest");
        let place = self.free.pop().unwrap_or(self.all.len() as u32);
        match self.all.get_mut(place as usize) {
            Some(free) => *free = datagram,
            None => self.all.push(datagram),
        }
        place
    }

    /// Whether no host has ever sent a header here.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The header at a place.
    pub(crate) fn header(&self, place: u32) -> Header {
        Header::decode(&self.all[place as usize].header).expect("what was encoded is a header")
    }

    /// Takes out who sent the header at a place, and the header.
    pub(crate) fn take(&mut self, place: u32) -> (HostId, Header) {
        self.free.push(place);
        (self.all[place as usize].from, self.header(place))
    }
}
