//! The bytes of IP packets: what the emulator reads in them, and the few fields that it writes.
//!
//! Nothing here knows of networks: [`Datagram::parse`] says what a packet is; [`mark`], [`lower_hop_limit`] and [`trim`] write
//! what switches do to packets, with every length and checksum mended; [`error`] is what a switch tells the sender of a packet that it
//! does not pass on.

pub(crate) mod checksum;
mod edit;
pub(crate) mod icmp;

pub use edit::{TRIMMED_DSCP, Untrimmable, hop_limit, lower_hop_limit, mark, trim};
pub use icmp::{Problem, error};

use farspan_units::random::mix;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Protocol numbers (IANA) that have a meaning here.
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;

/// The length of an IPv6 header without extensions (RFC 8200).
const V6_HEADER: usize = 40;

/// Why bytes are no packet that can cross the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseError {
    /// There are fewer bytes than a header has.
    #[error("{0} bytes: too few for an IP header")]
    Short(usize),
    /// It is neither IPv4 nor IPv6.
    #[error("IP version {0}")]
    Version(u8),
    /// Its length field says something else than the bytes that are there.
    #[error("its header says {written} bytes, but it has {found}")]
    Length {
        /// As written.
        written: usize,
        /// As read.
        found: usize,
    },
}

/// The fields of an IP packet that the emulator reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Where it comes from, as it says.
    pub source: IpAddr,
    /// Where it goes.
    pub destination: IpAddr,
    /// The protocol of its payload (IANA).
    pub protocol: u8,
    /// Where its payload begins: behind the IP header and its extensions.
    pub payload: usize,
    /// Whether it is a part of a larger packet.
    pub is_fragment: bool,
    /// Whether it is a part behind the first, so that its payload begins with no header.
    pub is_later_fragment: bool,
    /// Source and destination port of TCP and UDP; `None`: it has none, or is a fragment.
    pub ports: Option<(u16, u16)>,
    /// TTL or hop limit.
    pub hop_limit: u8,
    /// The ECN field (RFC 3168): 0 speaks no ECN, 3 is a mark.
    pub ecn: u8,
    /// The DSCP (RFC 2474).
    pub dscp: u8,
}

pub(crate) fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

impl Datagram {
    /// Reads a packet of IPv4 or IPv6.
    ///
    /// # Errors
    /// If the bytes are no such packet, or not a whole one.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        match bytes.first().map(|first| first >> 4) {
            None => Err(ParseError::Short(0)),
            Some(4) => Self::parse_v4(bytes),
            Some(6) => Self::parse_v6(bytes),
            Some(version) => Err(ParseError::Version(version)),
        }
    }

    fn parse_v4(bytes: &[u8]) -> Result<Self, ParseError> {
        let (found, header) = (bytes.len(), usize::from(bytes[0] & 0xf) * 4);
        if found < 20 || header < 20 || found < header {
            return Err(ParseError::Short(found));
        }
        let written = usize::from(half(bytes, 2));
        if written != found {
            return Err(ParseError::Length { written, found });
        }
        let address =
            |at: usize| IpAddr::V4(Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]));
        // More fragments, or an offset.
        let is_fragment = half(bytes, 6) & 0x3fff != 0;
        let is_later_fragment = half(bytes, 6) & 0x1fff != 0;
        Ok(Self {
            source: address(12),
            destination: address(16),
            protocol: bytes[9],
            payload: header,
            is_fragment,
            is_later_fragment,
            ports: ports(bytes, bytes[9], header).filter(|_| !is_fragment),
            hop_limit: bytes[8],
            ecn: bytes[1] & 3,
            dscp: bytes[1] >> 2,
        })
    }

    fn parse_v6(bytes: &[u8]) -> Result<Self, ParseError> {
        let found = bytes.len();
        if found < V6_HEADER {
            return Err(ParseError::Short(found));
        }
        let written = V6_HEADER + usize::from(half(bytes, 4));
        if written != found {
            return Err(ParseError::Length { written, found });
        }
        let address = |at: usize| {
            let octets: [u8; 16] = std::array::from_fn(|n| bytes[at + n]);
            IpAddr::V6(Ipv6Addr::from(octets))
        };
        let Behind { protocol, at: payload, is_fragment, is_later_fragment } = behind_extensions(bytes);
        let class = bytes[0] << 4 | bytes[1] >> 4;
        Ok(Self {
            source: address(8),
            destination: address(24),
            protocol,
            payload,
            is_fragment,
            is_later_fragment,
            ports: ports(bytes, protocol, payload).filter(|_| !is_fragment),
            hop_limit: bytes[7],
            ecn: class & 3,
            dscp: class >> 2,
        })
    }

    /// A hash of addresses, protocol and ports: packets of one flow have the same, and fragments that of their addresses and
    /// protocol, so that they stay together.
    #[must_use]
    pub fn flow_hash(&self) -> u64 {
        let fold = |hash: u64, part: u64| mix(hash ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let of_address = |hash: u64, address: IpAddr| match address {
            IpAddr::V4(address) => fold(hash, u64::from(u32::from(address))),
            IpAddr::V6(address) => {
                let bits = u128::from(address);
                fold(fold(hash, (bits >> 64) as u64), bits as u64)
            }
        };
        let hash = of_address(of_address(0, self.source), self.destination);
        let (from, to) = self.ports.unwrap_or_default();
        fold(hash, u64::from(self.protocol) << 32 | u64::from(from) << 16 | u64::from(to))
    }
}

/// The ports of a TCP or UDP header at `at`, if it is there.
fn ports(bytes: &[u8], protocol: u8, at: usize) -> Option<(u16, u16)> {
    let is_there = matches!(protocol, TCP | UDP) && bytes.len() >= at + 4;
    is_there.then(|| (half(bytes, at), half(bytes, at + 2)))
}

/// The protocol behind the extension headers of an IPv6 packet.
struct Behind {
    protocol: u8,
    at: usize,
    is_fragment: bool,
    is_later_fragment: bool,
}

/// Skips the extension headers of an IPv6 packet. Headers that are cut short count as payload, and so does all of a later fragment.
fn behind_extensions(bytes: &[u8]) -> Behind {
    let mut behind =
        Behind { protocol: bytes[6], at: V6_HEADER, is_fragment: false, is_later_fragment: false };
    while !behind.is_later_fragment && bytes.len() >= behind.at + 8 {
        let at = behind.at;
        let length = match behind.protocol {
            HOP_BY_HOP | ROUTING | DESTINATION => 8 + usize::from(bytes[at + 1]) * 8,
            FRAGMENT => {
                // Offset, or more fragments.
                behind.is_fragment |= half(bytes, at + 2) & 0xfff9 != 0;
                behind.is_later_fragment = half(bytes, at + 2) & 0xfff8 != 0;
                8
            }
            _ => break,
        };
        if bytes.len() < at + length {
            break;
        }
        (behind.protocol, behind.at) = (bytes[at], at + length);
    }
    behind
}

#[cfg(test)]
pub(crate) mod tests;
