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

#[test]
fn wireshark_agrees() {
    let mut packets = Vec::new();
    for (is_v6, protocol) in [(false, UDP), (false, TCP), (true, UDP), (true, TCP)] {
        let mut bytes = packet(is_v6, protocol, 1, &[0x55; 300]);
        assert!(mark(&mut bytes) && lower_hop_limit(&mut bytes, 3));
        packets.push(bytes.clone());
        trim(&mut bytes, 64).unwrap();
        packets.push(bytes);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("edited.pcap");
    write_pcap(&file, &packets);
    let mut command = Command::new("tshark");
    command.args([
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "tcp.check_checksum:TRUE",
        "-o",
        "udp.check_checksum:TRUE",
    ]);
    command.args(["-T", "fields", "-E", "separator=,", "-E", "occurrence=f"]);
    let fields =
        ["ip.len", "ipv6.plen", "ip.ttl", "ipv6.hlim", "ip.dsfield", "ipv6.tclass", "ip.checksum.status"];
    let fields = fields.into_iter().chain(["udp.checksum.status", "tcp.checksum.status", "udp.length"]);
    fields.for_each(|field| {
        command.args(["-e", field]);
    });
    let Ok(output) = command.arg("-r").arg(&file).output() else {
        eprintln!("SKIPPED: tshark is not installed, so no one else has looked at the bytes");
        return;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = text.lines().collect();
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
    ];
    assert_eq!(lines, expected, "{}", String::from_utf8_lossy(&output.stderr));
}
