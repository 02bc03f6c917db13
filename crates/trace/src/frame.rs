//! Packets as bytes that any tool can read: Ethernet, IPv4, UDP, and the header of [`farspan_transport::wire`]. There is no
//! payload: lengths say what it would be.

use crate::event::PacketEvent;
use farspan_transport::wire::MAX_HEADER;
use farspan_units::HostId;

/// The destination port of every packet: unassigned, and the dissector is registered for it. It is lower than every source
/// port, so that Wireshark asks its dissector first.
pub const UDP_PORT: u16 = 17923;

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const UDP: usize = 8;

/// Bytes before the header.
const FRONT: usize = ETHERNET + IPV4 + UDP;
/// The most bytes of a packet that are kept.
pub(crate) const SNAPLEN: usize = FRONT + MAX_HEADER;

/// Not ECN-capable (RFC 3168): control packets.
const NOT_ECT: u8 = 0b00;
const ECT_0: u8 = 0b10;
const CE: u8 = 0b11;

/// The address of a host: 10.0.0.1 and on.
pub(crate) fn address(host: HostId) -> String {
    let [a, b, c, d] = octets(host);
    format!("{a}.{b}.{c}.{d}")
}

fn octets(host: HostId) -> [u8; 4] {
    let [_, b, c, d] = (host.0 + 1).to_be_bytes();
    [10, b, c, d]
}

/// The front of a packet, and how long the whole of it is.
pub(crate) struct Frame {
    pub(crate) bytes: Vec<u8>,
    pub(crate) length: usize,
}

/// Source ports are private ones, which no other dissector claims: the low bits of the entropy, which the header has whole.
const fn source_port(entropy: u16) -> u16 {
    0xf000 | entropy
}

/// A packet as bytes.
pub(crate) fn frame(event: &PacketEvent) -> Frame {
    let mut header = [0; MAX_HEADER];
    let written = event.header.encode(&mut header).expect("the buffer holds the longest header");
    let payload = match event.header.data() {
        Some(data) if !event.trimmed => usize::from(data.len),
        _ => 0,
    };
    let datagram = UDP + written + payload;
    let is_data = event.header.data().is_some();
    let ecn = match (is_data, event.ecn_ce) {
        (_, true) => CE,
        (true, false) => ECT_0,
        (false, false) => NOT_ECT,
    };
    let mut bytes = Vec::with_capacity(FRONT + written);
    for host in [event.to, event.from] {
        // Locally administered.
        bytes.extend([0x02, 0x00]);
        bytes.extend(octets(host));
    }
    bytes.extend([0x08, 0x00]);
    bytes.extend(ipv4(IPV4 + datagram, ecn, event.from, event.to));
    for field in [source_port(event.entropy), UDP_PORT, datagram as u16, 0] {
        bytes.extend(field.to_be_bytes());
    }
    bytes.extend(&header[..written]);
    Frame { bytes, length: ETHERNET + IPV4 + datagram }
}

/// An IPv4 header (RFC 791): no fragments, 64 hops, UDP.
fn ipv4(length: usize, ecn: u8, from: HostId, to: HostId) -> [u8; IPV4] {
    let mut header = [0; IPV4];
    header[0] = 0x45;
    header[1] = ecn;
    header[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    header[6] = 0x40;
    (header[8], header[9]) = (64, 17);
    header[12..16].copy_from_slice(&octets(from));
    header[16..20].copy_from_slice(&octets(to));
    let sum =
        header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u32>();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    header[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    header
}
