//! Edits of packets as switches make them: marks, hop limits, cuts.

use super::{Datagram, TCP, UDP, V6_HEADER, checksum, half};

/// The DSCP of a packet that was trimmed: the last of pool 2, for local use (RFC 2474, section 6).
pub const TRIMMED_DSCP: u8 = 0b11_1111;

/// The mark of the ECN field (RFC 3168).
const CE: u8 = 3;

/// Headers without options.
const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;

/// Flags of TCP that end a stream, or point behind what is left.
const FIN: u8 = 0x01;

/// Why a packet cannot be trimmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Untrimmable {
    /// Only UDP and TCP have a payload that can be cut.
    #[error("protocol {0} has no payload that can be cut")]
    Protocol(u8),
    /// A part of a larger packet would not fit the others any more.
    #[error("it is a fragment")]
    Fragment,
    /// Its headers alone are longer.
    #[error("its headers take {headers} bytes, but only {room} may stay")]
    Headers {
        /// The headers.
        headers: usize,
        /// The bytes that were to stay.
        room: usize,
    },
    /// Its TCP or UDP header says something about lengths that cannot be.
    #[error("its header says {written} bytes, but it has {found}")]
    Length {
        /// As written.
        written: usize,
        /// As they are.
        found: usize,
    },
    /// The bytes are no packet.
    #[error(transparent)]
    Parse(#[from] super::ParseError),
}

/// Writes a 16-bit word of an IPv4 header, and mends the checksum.
fn write_v4(bytes: &mut [u8], at: usize, word: u16) {
    let (before, sum) = (half(bytes, at), half(bytes, 10));
    bytes[at..at + 2].copy_from_slice(&word.to_be_bytes());
    bytes[10..12].copy_from_slice(&checksum::updated(sum, before, word).to_be_bytes());
}

/// Writes DSCP and ECN field.
fn write_class(bytes: &mut [u8], class: u8) {
    if bytes[0] >> 4 == 4 {
        let word = u16::from_be_bytes([bytes[0], class]);
        write_v4(bytes, 0, word);
    } else {
        bytes[0] = bytes[0] & 0xf0 | class >> 4;
        bytes[1] = bytes[1] & 0x0f | class << 4;
    }
}

fn class(bytes: &[u8]) -> u8 {
    if bytes[0] >> 4 == 4 { bytes[1] } else { bytes[0] << 4 | bytes[1] >> 4 }
}

/// Marks an IP packet as having met congestion; `false`: it speaks no ECN and stays as it is.
///
/// # Panics
/// If the bytes are no IP packet.
#[must_use]
pub fn mark(bytes: &mut [u8]) -> bool {
    let class = class(bytes);
    if class & CE == 0 {
        return false;
    }
    write_class(bytes, class | CE);
    true
}

const fn hop_limit_at(bytes: &[u8]) -> usize {
    if bytes[0] >> 4 == 4 { 8 } else { 7 }
}

/// TTL or hop limit of an IP packet.
///
/// # Panics
/// If the bytes are no IP packet.
#[must_use]
pub const fn hop_limit(bytes: &[u8]) -> u8 {
    bytes[hop_limit_at(bytes)]
}

/// Lowers TTL or hop limit of an IP packet by so many hops; `false`: it does not reach so far, and stays as it is.
///
/// # Panics
/// If the bytes are no IP packet.
#[must_use]
pub fn lower_hop_limit(bytes: &mut [u8], hops: u8) -> bool {
    let at = hop_limit_at(bytes);
    let limit = bytes[at];
    if limit <= hops {
        return hops == 0;
    }
    if at == 8 {
        let word = u16::from_be_bytes([limit - hops, bytes[9]]);
        write_v4(bytes, 8, word);
    } else {
        bytes[at] = limit - hops;
    }
    true
}

/// Cuts an IP packet to its first `keep` bytes: lengths and checksums are mended, the DSCP is [`TRIMMED_DSCP`]. A segment of
/// TCP becomes a shorter one; where it was the last of its stream, it no longer says so. A packet that is no longer
/// than `keep` keeps its bytes.
///
/// # Errors
/// If nothing can be cut off the packet, which stays as it is.
pub fn trim(bytes: &mut Vec<u8>, keep: usize) -> Result<(), Untrimmable> {
    let datagram = Datagram::parse(bytes)?;
    if datagram.is_fragment {
        return Err(Untrimmable::Fragment);
    }
    let headers = datagram.payload + own_header(datagram.protocol, &bytes[datagram.payload..])?;
    if keep < headers {
        return Err(Untrimmable::Headers { headers, room: keep });
    }
    if keep < bytes.len() {
        cut(bytes, &datagram, keep);
    }
    write_class(bytes, TRIMMED_DSCP << 2 | datagram.ecn);
    Ok(())
}

/// The length of the TCP or UDP header of a segment.
fn own_header(protocol: u8, segment: &[u8]) -> Result<usize, Untrimmable> {
    let found = segment.len();
    let (header, written, fits) = match protocol {
        UDP if found >= UDP_HEADER => {
            let written = usize::from(half(segment, 4));
            // What lies behind its end (RFC 9868) has no place in a shorter one.
            (UDP_HEADER, written, written == found)
        }
        TCP if found >= TCP_HEADER => {
            let written = usize::from(segment[12] >> 4) * 4;
            (written, written, (TCP_HEADER..=found).contains(&written))
        }
        UDP => (UDP_HEADER, UDP_HEADER, false),
        TCP => (TCP_HEADER, TCP_HEADER, false),
        other => return Err(Untrimmable::Protocol(other)),
    };
    if fits { Ok(header) } else { Err(Untrimmable::Length { written, found }) }
}

fn cut(bytes: &mut Vec<u8>, datagram: &Datagram, keep: usize) {
    let (at, is_v4) = (datagram.payload, bytes[0] >> 4 == 4);
    bytes.truncate(keep);
    if is_v4 {
        write_v4(bytes, 2, keep as u16);
    } else {
        bytes[4..6].copy_from_slice(&((keep - V6_HEADER) as u16).to_be_bytes());
    }
    let (field, has_sum) = if datagram.protocol == UDP {
        bytes[at + 4..at + 6].copy_from_slice(&((keep - at) as u16).to_be_bytes());
        (at + 6, half(bytes, at + 6) != 0)
    } else {
        bytes[at + 13] &= !FIN;
        (at + 16, true)
    };
    if has_sum {
        bytes[field..field + 2].fill(0);
        let addresses = if is_v4 { 12..20 } else { 8..V6_HEADER };
        let sum = checksum::of_segment(&bytes[addresses], datagram.protocol, &bytes[at..]);
        bytes[field..field + 2].copy_from_slice(&sum.to_be_bytes());
    }
}
