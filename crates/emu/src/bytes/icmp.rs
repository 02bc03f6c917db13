//! Errors that a switch reports to who sent a packet: ICMP (RFC 792, RFC 1191) and ICMPv6 (RFC 4443, RFC 8201).

use super::{Datagram, ICMP, ICMPV6, V6_HEADER, checksum};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An IPv4 header without options, and the header of an ICMP error.
const V4_HEADER: usize = 20;
const ERROR_HEADER: usize = 8;

/// The most bytes of an error: of IPv4 (RFC 1812, 4.3.2.3), and of IPv6 (RFC 4443, 2.4 c).
const MOST_V4: usize = 576;
const MOST_V6: usize = 1280;

/// Hops that an error may take.
const HOP_LIMIT: u8 = 64;

/// The precedence of errors (RFC 1812, 4.3.2.5): internetwork control.
const CONTROL: u8 = 0xc0;

/// The bit of IPv4 that forbids fragments.
const DONT_FRAGMENT: u8 = 0x40;

/// Why a switch does not pass a packet on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Problem {
    /// It has no hops left.
    Expired,
    /// It is longer than so many bytes.
    TooBig(u16),
    /// Its network has no such host.
    NoHost,
}

impl Problem {
    /// Type, code, and the second word.
    const fn v4(self) -> (u8, u8, u32) {
        match self {
            Self::Expired => (11, 0, 0),
            Self::TooBig(mtu) => (3, 4, mtu as u32),
            Self::NoHost => (3, 1, 0),
        }
    }

    const fn v6(self) -> (u8, u8, u32) {
        match self {
            Self::Expired => (3, 0, 0),
            Self::TooBig(mtu) => (2, 0, mtu as u32),
            Self::NoHost => (1, 3, 0),
        }
    }
}

/// The packet that tells the sender of a packet what happened to it, from a switch with these addresses; it is no longer than
/// `most`. `None`: nobody is told, since it is an error itself, a fragment behind the first, for or from more than one host
/// (RFC 1122, 3.2.2; RFC 4443, 2.4 e), or one of IPv4 that is too big and may be fragmented.
#[must_use]
pub fn error(problem: Problem, (v4, v6): (Ipv4Addr, Ipv6Addr), bytes: &[u8], most: usize) -> Option<Vec<u8>> {
    let datagram = Datagram::parse(bytes).ok()?;
    let is_silent = datagram.is_later_fragment
        || is_error(&datagram, bytes)
        || !is_one_host(datagram.source)
        || !is_one_host(datagram.destination);
    if is_silent {
        return None;
    }
    match datagram.source {
        IpAddr::V4(_) if matches!(problem, Problem::TooBig(_)) && bytes[6] & DONT_FRAGMENT == 0 => None,
        IpAddr::V4(to) => Some(error_v4(problem.v4(), v4, to, bytes, most.min(MOST_V4))),
        IpAddr::V6(to) => Some(error_v6(problem.v6(), v6, to, bytes, most.min(MOST_V6))),
    }
}

/// Whether a packet is an error of ICMP, or one whose type is cut off: only queries are answered.
fn is_error(datagram: &Datagram, bytes: &[u8]) -> bool {
    let kind = bytes.get(datagram.payload);
    match datagram.protocol {
        // Echo, timestamps, information, masks, routers.
        ICMP => !matches!(kind, Some(0 | 8..=10 | 13..=18)),
        // The upper half informs, but for redirects.
        ICMPV6 => !matches!(kind, Some(128..=136 | 138..)),
        _ => false,
    }
}

fn is_one_host(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !(is_broadcast || address.is_multicast() || address.is_unspecified() || address.is_loopback())
}

fn error_v4(words: (u8, u8, u32), from: Ipv4Addr, to: Ipv4Addr, bytes: &[u8], most: usize) -> Vec<u8> {
    let mut packet = vec![0; V4_HEADER];
    push_error(&mut packet, words, bytes, most);
    let length = packet.len() as u16;
    (packet[0], packet[1], packet[8], packet[9]) = (0x45, CONTROL, HOP_LIMIT, ICMP);
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet[12..16].copy_from_slice(&from.octets());
    packet[16..V4_HEADER].copy_from_slice(&to.octets());
    let sum = checksum::of(&packet[..V4_HEADER]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    let sum = checksum::of(&packet[V4_HEADER..]);
    packet[V4_HEADER + 2..V4_HEADER + 4].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn error_v6(words: (u8, u8, u32), from: Ipv6Addr, to: Ipv6Addr, bytes: &[u8], most: usize) -> Vec<u8> {
    let mut packet = vec![0; V6_HEADER];
    push_error(&mut packet, words, bytes, most);
    let length = (packet.len() - V6_HEADER) as u16;
    (packet[0], packet[1]) = (0x60 | CONTROL >> 4, CONTROL << 4);
    (packet[6], packet[7]) = (ICMPV6, HOP_LIMIT);
    packet[4..6].copy_from_slice(&length.to_be_bytes());
    packet[8..24].copy_from_slice(&from.octets());
    packet[24..V6_HEADER].copy_from_slice(&to.octets());
    let sum = checksum::of_segment(&packet[8..V6_HEADER], ICMPV6, &packet[V6_HEADER..]);
    packet[V6_HEADER + 2..V6_HEADER + 4].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// The error, and as much of the packet as fits.
fn push_error(packet: &mut Vec<u8>, (kind, code, word): (u8, u8, u32), bytes: &[u8], most: usize) {
    packet.extend([kind, code, 0, 0]);
    packet.extend(word.to_be_bytes());
    let room = most.saturating_sub(packet.len()).max(ERROR_HEADER);
    packet.extend(&bytes[..bytes.len().min(room)]);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::bytes::tests::{any_packet, packet, wireshark};
    use crate::bytes::{TCP, UDP, half};
    use proptest::prelude::*;

    const SWITCH: (Ipv4Addr, Ipv6Addr) =
        (Ipv4Addr::new(10, 1, 0, 1), Ipv6Addr::new(0xfd66, 0x6172, 0x7370, 1, 0, 0, 0, 1));

    fn of(problem: Problem, bytes: &[u8]) -> Option<Vec<u8>> {
        error(problem, SWITCH, bytes, 1500)
    }

    /// Type, code and second word of an error, whose header and checksums are right; and what it quotes.
    pub(crate) fn read(bytes: &[u8]) -> ((u8, u8, u32), Vec<u8>) {
        let datagram = Datagram::parse(bytes).unwrap();
        let error = &bytes[datagram.payload..];
        if bytes[0] >> 4 == 4 {
            assert_eq!((datagram.protocol, checksum::of(&bytes[..20]), checksum::of(error)), (ICMP, 0, 0));
        } else {
            let mut blank = error.to_vec();
            blank[2..4].fill(0);
            assert_eq!(datagram.protocol, ICMPV6);
            assert_eq!(half(error, 2), checksum::of_segment(&bytes[8..40], ICMPV6, &blank));
        }
        let word = u32::from_be_bytes(error[4..8].try_into().unwrap());
        ((error[0], error[1], word), error[8..].to_vec())
    }

    #[test]
    fn errors_say_what_happened_and_quote_the_packet() {
        let problems = [
            (Problem::Expired, (11, 0, 0), (3, 0, 0)),
            (Problem::TooBig(1500), (3, 4, 1500), (2, 0, 1500)),
            (Problem::NoHost, (3, 1, 0), (1, 3, 0)),
        ];
        for (problem, v4, v6) in problems {
            for is_v6 in [false, true] {
                let bytes = packet(is_v6, UDP, 1, &[7; 4000]);
                let answer = of(problem, &bytes).unwrap();
                let (words, quoted) = read(&answer);
                assert_eq!(words, if is_v6 { v6 } else { v4 });
                assert_eq!(answer.len(), if is_v6 { MOST_V6 } else { MOST_V4 });
                assert_eq!(quoted, bytes[..quoted.len()]);
                let (asked, told) = (Datagram::parse(&bytes).unwrap(), Datagram::parse(&answer).unwrap());
                assert_eq!((told.destination, told.hop_limit, told.ecn), (asked.source, 64, 0));
                let short = packet(is_v6, TCP, 1, b"");
                assert_eq!(read(&of(problem, &short).unwrap()).1, short);
            }
        }
    }

    #[test]
    fn nobody_is_told_of_errors_parts_and_packets_for_many() {
        let silent = |bytes: &[u8]| assert_eq!(of(Problem::Expired, bytes), None);
        for is_v6 in [false, true] {
            let at = if is_v6 { 40 } else { 20 };
            let of_icmp = |kind: u8| {
                let mut bytes = packet(is_v6, UDP, 0, &[0; 20]);
                bytes[if is_v6 { 6 } else { 9 }] = if is_v6 { ICMPV6 } else { ICMP };
                bytes[at] = kind;
                bytes
            };
            let (errors, queries): (&[u8], &[u8]) = if is_v6 {
                (&[1, 2, 3, 4, 137], &[128, 129])
            } else {
                (&[3, 4, 5, 11, 12, 200], &[0, 8, 13])
            };
            errors.iter().for_each(|kind| silent(&of_icmp(*kind)));
            queries.iter().for_each(|kind| assert!(of(Problem::Expired, &of_icmp(*kind)).is_some()));
            // An error about an error would be one of them.
            silent(&of(Problem::Expired, &packet(is_v6, UDP, 0, b"")).unwrap());
            let mut many = packet(is_v6, UDP, 0, b"");
            many[if is_v6 { 24 } else { 16 }] = if is_v6 { 0xff } else { 224 };
            silent(&many);
        }
        let mut part = packet(false, UDP, 0, &[0; 64]);
        part[6] = 0x20;
        assert!(of(Problem::Expired, &part).is_some(), "the first");
        part[7] = 8;
        silent(&part);
        for broadcast in [[255; 4], [0; 4]] {
            let mut bytes = packet(false, UDP, 0, b"");
            bytes[12..16].copy_from_slice(&broadcast);
            silent(&bytes);
        }
        silent(&[0x45; 19]);
    }

    #[test]
    fn a_packet_of_ipv4_that_may_be_fragmented_is_no_reason_for_an_error() {
        let mut bytes = packet(false, UDP, 0, &[0; 2000]);
        assert!(of(Problem::TooBig(1500), &bytes).is_some());
        bytes[6] = 0;
        assert_eq!(of(Problem::TooBig(1500), &bytes), None);
        assert!(of(Problem::Expired, &bytes).is_some());
    }

    proptest! {
        /// Whatever a packet is, an error about it is a packet with right checksums, no longer than it may be, about which there is none.
        #[test]
        fn errors_are_packets(bytes in any_packet(), mtu in 68_u16.., kind in 0..3) {
            let problem = [Problem::Expired, Problem::TooBig(mtu), Problem::NoHost][kind as usize];
            if let Some(answer) = error(problem, SWITCH, &bytes, usize::from(mtu)) {
                let (_, quoted) = read(&answer);
                prop_assert_eq!(&quoted[..], &bytes[..quoted.len()]);
                prop_assert!(answer.len() <= usize::from(mtu) && answer.len() <= MOST_V6);
                prop_assert!(quoted.len() >= bytes.len().min(20));
                prop_assert_eq!(error(problem, SWITCH, &answer, usize::from(mtu)), None);
            }
        }
    }

    #[test]
    fn wireshark_reads_errors() {
        let mut packets = Vec::new();
        for problem in [Problem::Expired, Problem::TooBig(1400), Problem::NoHost] {
            for is_v6 in [false, true] {
                packets.push(of(problem, &packet(is_v6, UDP, 1, &[7; 1500])).unwrap());
            }
        }
        let fields = ["ip.checksum.status", "icmp.type", "icmp.code", "icmp.mtu", "icmp.checksum.status"];
        let v6 = ["icmpv6.type", "icmpv6.code", "icmpv6.mtu", "icmpv6.checksum.status"];
        let Some(lines) = wireshark(&packets, &fields.into_iter().chain(v6).collect::<Vec<_>>()) else {
            return;
        };
        let expected = [
            "1,11,0,,1,,,,",
            ",,,,,3,0,,1",
            "1,3,4,1400,1,,,,",
            ",,,,,2,0,1400,1",
            "1,3,1,,1,,,,",
            ",,,,,1,3,,1",
        ];
        assert_eq!(lines, expected);
    }
}
