use super::checksum;
use super::*;
use proptest::prelude::*;
use std::path::Path;
use std::process::Command;

/// A packet with right checksums.
pub(crate) fn packet(is_v6: bool, protocol: u8, ecn: u8, payload: &[u8]) -> Vec<u8> {
    let segment = segment(protocol, payload);
    let mut bytes = if is_v6 {
        let mut header = vec![0x60, ecn << 4, 0, 0, 0, 0, protocol, 64];
        header[4..6].copy_from_slice(&(segment.len() as u16).to_be_bytes());
        header.extend(Ipv6Addr::new(0xfd66, 0x6172, 0x7370, 0, 0, 0, 0, 1).octets());
        header.extend(Ipv6Addr::new(0xfd66, 0x6172, 0x7370, 0, 0, 0, 0, 2).octets());
        header
    } else {
        let mut header = vec![0x45, ecn, 0, 0, 0, 7, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        header[2..4].copy_from_slice(&(20 + segment.len() as u16).to_be_bytes());
        let sum = checksum::of(&header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        header
    };
    let (at, addresses) = (bytes.len(), if is_v6 { 8..40 } else { 12..20 });
    bytes.extend(segment);
    let sum = checksum::of_segment(&bytes[addresses], protocol, &bytes[at..]);
    let field = at + if protocol == UDP { 6 } else { 16 };
    bytes[field..field + 2].copy_from_slice(&sum.to_be_bytes());
    bytes
}

fn segment(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut segment = if protocol == UDP {
        let length = (8 + payload.len() as u16).to_be_bytes();
        vec![0x9c, 0x40, 0x00, 0x35, length[0], length[1], 0, 0]
    } else {
        // Flags: ACK and FIN.
        vec![0x9c, 0x40, 0x00, 0x50, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x11, 0x10, 0, 0, 0, 0, 0]
    };
    segment.extend(payload);
    segment
}

/// An IPv4 packet with 40 bytes of options, all of them "no operation".
fn with_options(bytes: &[u8]) -> Vec<u8> {
    let mut longer = bytes[..20].to_vec();
    longer.extend([1; 40]);
    longer.extend(&bytes[20..]);
    longer[0] = 0x4f;
    let length = (longer.len() as u16).to_be_bytes();
    longer[2..4].copy_from_slice(&length);
    mend_header(&mut longer);
    longer
}

/// An IPv6 packet behind extension headers: hop by hop, destination options, and a fragment header of a packet that is whole.
fn with_extensions(bytes: &[u8]) -> Vec<u8> {
    let mut longer = bytes[..V6_HEADER].to_vec();
    longer.extend([DESTINATION, 0, 1, 4, 0, 0, 0, 0]);
    longer.extend([FRAGMENT, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    longer.extend([bytes[6], 0, 0, 0, 0, 0, 0, 9]);
    longer.extend(&bytes[V6_HEADER..]);
    longer[6] = HOP_BY_HOP;
    let length = ((longer.len() - V6_HEADER) as u16).to_be_bytes();
    longer[4..6].copy_from_slice(&length);
    longer
}

/// Gives an IPv4 header the checksum that it should have.
pub(crate) fn mend_header(bytes: &mut [u8]) {
    let header = usize::from(bytes[0] & 0xf) * 4;
    bytes[10..12].fill(0);
    let sum = checksum::of(&bytes[..header]);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// Whether header and payload have the checksums that they should, computed from scratch.
fn sums_are_right(bytes: &[u8]) -> bool {
    let datagram = Datagram::parse(bytes).unwrap();
    let is_v4 = bytes[0] >> 4 == 4;
    let header = !is_v4 || checksum::of(&bytes[..datagram.payload]) == 0;
    let mut segment = bytes[datagram.payload..].to_vec();
    let field = if datagram.protocol == UDP { 6 } else { 16 };
    let written = half(&segment, field);
    segment[field..field + 2].fill(0);
    let addresses = if is_v4 { 12..20 } else { 8..40 };
    header && written == checksum::of_segment(&bytes[addresses], datagram.protocol, &segment)
}

#[test]
fn fields_are_read_where_they_stand() {
    for is_v6 in [false, true] {
        let bytes = packet(is_v6, UDP, 2, b"hello");
        let datagram = Datagram::parse(&bytes).unwrap();
        assert_eq!(datagram.ports, Some((40_000, 53)));
        assert_eq!((datagram.hop_limit, datagram.ecn, datagram.dscp), (64, 2, 0));
        assert_eq!((datagram.protocol, datagram.is_fragment), (UDP, false));
        assert_eq!(datagram.payload, if is_v6 { 40 } else { 20 });
        assert!(sums_are_right(&bytes));
    }
}

#[test]
fn what_is_no_packet_is_refused() {
    assert_eq!(Datagram::parse(&[]), Err(ParseError::Short(0)));
    assert_eq!(Datagram::parse(&[0x45; 19]), Err(ParseError::Short(19)));
    assert_eq!(Datagram::parse(&[0x60; 39]), Err(ParseError::Short(39)));
    assert_eq!(Datagram::parse(&[0x00; 60]), Err(ParseError::Version(0)));
    let mut long = packet(false, UDP, 0, b"x");
    long.push(0);
    assert_eq!(Datagram::parse(&long), Err(ParseError::Length { written: 29, found: 30 }));
}

#[test]
fn fragments_have_the_hash_of_their_addresses() {
    let whole = packet(false, UDP, 0, &[0; 64]);
    let mut first = whole.clone();
    first[6] = 0x20;
    let mut second = whole.clone();
    (second[6], second[7]) = (0, 8);
    let [whole, first, second] = [whole, first, second].map(|bytes| Datagram::parse(&bytes).unwrap());
    assert!(first.is_fragment && second.is_fragment && !whole.is_fragment);
    assert_eq!(first.flow_hash(), second.flow_hash());
    assert_ne!(first.flow_hash(), whole.flow_hash());
}

#[test]
fn extension_headers_of_ipv6_are_skipped() {
    let plain = packet(true, UDP, 0, b"data");
    let mut bytes = plain[..40].to_vec();
    bytes[6] = HOP_BY_HOP;
    bytes.extend([FRAGMENT, 0, 1, 4, 0, 0, 0, 0]);
    bytes.extend([UDP, 0, 0, 1, 0, 0, 0, 9]);
    bytes.extend(&plain[40..]);
    let length = (bytes.len() - 40) as u16;
    bytes[4..6].copy_from_slice(&length.to_be_bytes());
    let datagram = Datagram::parse(&bytes).unwrap();
    assert_eq!((datagram.protocol, datagram.payload, datagram.is_fragment), (UDP, 56, true));
    assert_eq!(datagram.ports, None);
    // An atomic fragment (RFC 6946) is a whole packet.
    bytes[51] = 0;
    assert_eq!(Datagram::parse(&bytes).unwrap().ports, Some((40_000, 53)));
}

#[test]
fn a_packet_that_speaks_no_ecn_gets_no_mark() {
    for is_v6 in [false, true] {
        let mut bytes = packet(is_v6, TCP, 0, b"");
        let before = bytes.clone();
        assert!(!mark(&mut bytes));
        assert_eq!(bytes, before);
    }
}

#[test]
fn the_last_hop_takes_a_packet_that_reaches_no_farther() {
    for is_v6 in [false, true] {
        let mut bytes = packet(is_v6, TCP, 0, b"");
        let before = bytes.clone();
        assert!(!lower_hop_limit(&mut bytes, 64) && bytes == before);
        assert!(lower_hop_limit(&mut bytes, 0) && bytes == before);
        assert!(lower_hop_limit(&mut bytes, 63));
        assert_eq!(Datagram::parse(&bytes).unwrap().hop_limit, 1);
        assert!(sums_are_right(&bytes));
    }
}

#[test]
fn what_cannot_be_trimmed_says_why_and_stays() {
    let refused = |bytes: &[u8], keep, error| {
        let mut cut = bytes.to_vec();
        assert_eq!(trim(&mut cut, keep), Err(error));
        assert_eq!(cut, bytes);
    };
    let udp = packet(true, UDP, 1, &[0; 100]);
    refused(&udp, 47, Untrimmable::Headers { headers: 48, room: 47 });
    let mut icmp = packet(false, UDP, 1, &[0; 100]);
    icmp[9] = 1;
    refused(&icmp, 64, Untrimmable::Protocol(1));
    // Data offsets of TCP that are no header, or longer than the segment; a length of UDP that is not that of the datagram.
    for (offset, written) in [(0x10, 4), (0x40, 16), (0xf0, 60)] {
        let mut tcp = packet(false, TCP, 0, &[0; 20]);
        tcp[32] = offset;
        refused(&tcp, 64, Untrimmable::Length { written, found: 40 });
        let mut behind_options = with_options(&tcp);
        behind_options.truncate(80 + 16);
        behind_options[2..4].copy_from_slice(&96_u16.to_be_bytes());
        assert!(trim(&mut behind_options, 64).is_err());
    }
    let mut short = packet(false, UDP, 0, &[0; 500]);
    short[25] -= 1;
    refused(&short, 64, Untrimmable::Length { written: 507, found: 508 });
    let mut fragment = packet(false, UDP, 1, &[0; 100]);
    fragment[6] = 0x20;
    refused(&fragment, 64, Untrimmable::Fragment);
}

#[test]
fn a_trimmed_segment_of_tcp_does_not_end_its_stream() {
    let mut bytes = packet(false, TCP, 1, &[7; 500]);
    trim(&mut bytes, 64).unwrap();
    assert_eq!((bytes.len(), bytes[33] & 0x11), (64, 0x10));
    assert!(sums_are_right(&bytes));
    let mut short = packet(false, TCP, 1, &[7; 24]);
    trim(&mut short, 64).unwrap();
    assert_eq!(short[33] & 0x11, 0x11, "nothing was cut");
}

#[test]
fn a_datagram_of_udp_without_a_checksum_gets_none() {
    let mut bytes = packet(false, UDP, 1, &[7; 500]);
    bytes[26..28].fill(0);
    trim(&mut bytes, 64).unwrap();
    assert_eq!(&bytes[24..28], &[0, 44, 0, 0]);
}

proptest! {
    /// Marks, hops and cuts in any order leave packets whose lengths and checksums are right, whatever is in them.
    #[test]
    fn edited_packets_are_packets(
        is_v6 in any::<bool>(),
        is_tcp in any::<bool>(),
        ecn in 0_u8..4,
        hops in 0_u8..64,
        keep in 64_usize..200,
        payload in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let protocol = if is_tcp { TCP } else { UDP };
        let original = packet(is_v6, protocol, ecn, &payload);
        let mut bytes = original.clone();
        prop_assert_eq!(mark(&mut bytes), ecn != 0);
        prop_assert!(sums_are_right(&bytes));
        prop_assert!(lower_hop_limit(&mut bytes, hops));
        prop_assert!(sums_are_right(&bytes));
        let (at, hash) = (bytes.len(), Datagram::parse(&bytes).unwrap().flow_hash());
        trim(&mut bytes, keep).unwrap();
        prop_assert!(sums_are_right(&bytes));
        let datagram = Datagram::parse(&bytes).unwrap();
        prop_assert_eq!(bytes.len(), keep.min(at));
        prop_assert_eq!(datagram.dscp, TRIMMED_DSCP);
        prop_assert_eq!(datagram.ecn, if ecn == 0 { 0 } else { 3 });
        prop_assert_eq!(datagram.hop_limit, 64 - hops);
        prop_assert_eq!(datagram.flow_hash(), hash);
        let from = datagram.payload + if is_tcp { 20 } else { 8 };
        prop_assert_eq!(&bytes[from..], &original[from..bytes.len()]);
    }

    /// No bytes make the emulator panic.
    #[test]
    fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..120), first in 0_u8..16) {
        let mut bytes = bytes;
        if let Some(byte) = bytes.first_mut() {
            *byte = *byte & 0x0f | first << 4;
        }
        if Datagram::parse(&bytes).is_ok() {
            let _ = mark(&mut bytes);
            let _ = lower_hop_limit(&mut bytes, 3);
            let _ = trim(&mut bytes, 64);
        }
    }

    /// Whatever headers a packet has, options and extensions among them, and however much is to stay: what is edited is a packet with
    /// right lengths and checksums, and what cannot be edited stays.
    #[test]
    fn any_packet_can_be_edited(
        bytes in any_packet(),
        hops in any::<u8>(),
        keep in prop_oneof![0_usize..200, any::<usize>()],
    ) {
        let original = Datagram::parse(&bytes).unwrap();
        let mut edited = bytes.clone();
        prop_assert_eq!(mark(&mut edited), original.ecn != 0);
        prop_assert_eq!(lower_hop_limit(&mut edited, hops), hops == 0 || hops < original.hop_limit);
        let read = Datagram::parse(&edited).unwrap();
        prop_assert!(header_is_right(&edited));
        prop_assert_eq!(read.ecn, if original.ecn == 0 { 0 } else { 3 });
        prop_assert_eq!(&edited[read.payload..], &bytes[original.payload..]);
        let before = edited.clone();
        if trim(&mut edited, keep).is_err() {
            prop_assert_eq!(edited, before);
            return Ok(());
        }
        let trimmed = Datagram::parse(&edited).unwrap();
        prop_assert!(header_is_right(&edited));
        prop_assert_eq!(edited.len(), before.len().min(keep));
        prop_assert_eq!((trimmed.dscp, trimmed.ecn), (TRIMMED_DSCP, read.ecn));
        prop_assert_eq!((trimmed.payload, trimmed.ports), (original.payload, original.ports));
        if keep < before.len() {
            let segment = &edited[trimmed.payload..];
            let has_none = trimmed.protocol == UDP && half(segment, 6) == 0;
            prop_assert!(has_none || sums_are_right(&edited));
            if trimmed.protocol == UDP {
                prop_assert_eq!(usize::from(half(segment, 4)), segment.len());
                prop_assert_eq!(has_none, half(&before[trimmed.payload..], 6) == 0);
            }
        }
    }
}

fn header_is_right(bytes: &[u8]) -> bool {
    bytes[0] >> 4 != 4 || checksum::of(&bytes[..usize::from(bytes[0] & 0xf) * 4]) == 0
}

/// Bytes that are a packet as far as its own length and checksum say, and anything behind: often TCP or UDP, often with options.
pub(crate) fn any_packet() -> impl Strategy<Value = Vec<u8>> {
    let protocol = prop_oneof![
        Just(TCP),
        Just(UDP),
        Just(HOP_BY_HOP),
        Just(ROUTING),
        Just(FRAGMENT),
        Just(DESTINATION),
        any::<u8>()
    ];
    let protocols = (protocol.clone(), protocol);
    let bytes = proptest::collection::vec(any::<u8>(), 0..200);
    (any::<bool>(), 5_u8..16, protocols, any::<[bool; 3]>(), bytes).prop_map(
        |(is_v6, words, (first, second), [is_whole, is_udp_right, is_short], rest)| {
            let header = if is_v6 { V6_HEADER } else { usize::from(words) * 4 };
            let mut bytes: Vec<u8> = rest.iter().copied().cycle().take(header).collect();
            bytes.resize(header, 0x5a);
            bytes.extend(rest);
            let length = bytes.len();
            if is_v6 {
                bytes[0] = 0x60 | bytes[0] & 0xf;
                bytes[4..6].copy_from_slice(&((length - V6_HEADER) as u16).to_be_bytes());
                bytes[6] = first;
                if length > V6_HEADER + 1 {
                    (bytes[V6_HEADER], bytes[V6_HEADER + 1]) = (second, u8::from(is_short));
                }
            } else {
                bytes[0] = 0x40 | words;
                bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
                bytes[9] = first;
                if is_whole {
                    bytes[6..8].fill(0);
                }
                mend_header(&mut bytes);
            }
            let at = Datagram::parse(&bytes).unwrap().payload;
            if is_udp_right && length >= at + 6 && Datagram::parse(&bytes).unwrap().protocol == UDP {
                bytes[at + 4..at + 6].copy_from_slice(&((length - at) as u16).to_be_bytes());
            }
            bytes
        },
    )
}

/// The packets as a capture of raw IP (pcap, link type 101).
fn write_pcap(path: &Path, packets: &[Vec<u8>]) {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    for (n, packet) in (0_u32..).zip(packets) {
        for word in [n, 0, packet.len() as u32, packet.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    std::fs::write(path, file).unwrap();
}

/// Fields of packets as tshark reads them, a line each; `None`: it is not installed.
pub(crate) fn wireshark(packets: &[Vec<u8>], fields: &[&str]) -> Option<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("packets.pcap");
    write_pcap(&file, packets);
    let mut command = Command::new("tshark");
    for option in ["ip.check_checksum:TRUE", "tcp.check_checksum:TRUE", "udp.check_checksum:TRUE"] {
        command.args(["-o", option]);
    }
    command.args(["-T", "fields", "-E", "separator=,", "-E", "occurrence=f"]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let Ok(output) = command.arg("-r").arg(&file).output() else {
        farspan_skip::skip("tshark", "no other program has read the bytes: apt install tshark");
        return None;
    };
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

#[test]
fn wireshark_agrees() {
    let mut packets = Vec::new();
    let plain = [(false, UDP), (false, TCP), (true, UDP), (true, TCP)];
    let plain = plain.map(|(is_v6, protocol)| packet(is_v6, protocol, 1, &[0x55; 300]));
    // A UDP checksum of zero says that there is none.
    let mut unsummed = plain[0].clone();
    unsummed[26..28].fill(0);
    let longer = [with_options(&plain[0]), with_options(&plain[1]), unsummed];
    let extended = plain[2..].iter().map(|bytes| with_extensions(bytes));
    for mut bytes in plain.iter().cloned().chain(longer).chain(extended) {
        assert!(mark(&mut bytes) && lower_hop_limit(&mut bytes, 3));
        packets.push(bytes.clone());
        // To the first 64 bytes, and the options.
        let own = if bytes[0] >> 4 == 6 { V6_HEADER } else { 20 };
        let keep = 64 + Datagram::parse(&bytes).unwrap().payload - own;
        trim(&mut bytes, keep).unwrap();
        packets.push(bytes);
    }
    let fields =
        ["ip.len", "ipv6.plen", "ip.ttl", "ipv6.hlim", "ip.dsfield", "ipv6.tclass", "ip.checksum.status"];
    let fields = fields.into_iter().chain(["udp.checksum.status", "tcp.checksum.status", "udp.length"]);
    let Some(lines) = wireshark(&packets, &fields.collect::<Vec<_>>()) else { return };
    // A field of the other family is empty; status 1 is "Good".
    let expected = [
        "328,,61,,0x03,,1,1,,308",
        "64,,61,,0xff,,1,1,,44",
        "340,,61,,0x03,,1,,1,",
        "64,,61,,0xff,,1,,1,",
        ",308,,61,,0x00000003,,1,,308",
        ",24,,61,,0x000000ff,,1,,24",
        ",320,,61,,0x00000003,,,1,",
        ",24,,61,,0x000000ff,,,1,",
        "368,,61,,0x03,,1,1,,308",
        "104,,61,,0xff,,1,1,,44",
        "380,,61,,0x03,,1,,1,",
        "104,,61,,0xff,,1,,1,",
        // Status 3 is "Not present".
        "328,,61,,0x03,,1,3,,308",
        "64,,61,,0xff,,1,3,,44",
        ",340,,61,,0x00000003,,1,,308",
        ",56,,61,,0x000000ff,,1,,24",
        ",352,,61,,0x00000003,,,1,",
        ",56,,61,,0x000000ff,,,1,",
    ];
    assert_eq!(lines, expected);
}
