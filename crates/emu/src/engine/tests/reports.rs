//! Reports of switches to senders: packets that expire, are too large, or have no host.

use super::*;

/// The errors among packets.
fn errors(out: &[(HostId, Time, Vec<u8>)]) -> Vec<Told> {
    let errors = out.iter().filter(|(_, _, bytes)| Datagram::parse(bytes).unwrap().protocol != UDP);
    let errors = errors.map(|(host, at, bytes)| {
        let (words, quoted) = crate::bytes::icmp::tests::read(bytes);
        let from = Datagram::parse(bytes).unwrap().source.to_string();
        Told { host: *host, at: *at, from, words, quoted }
    });
    errors.collect()
}

fn with_hop_limit(mut bytes: Vec<u8>, limit: u8) -> Vec<u8> {
    if bytes[0] >> 4 == 4 {
        bytes[8] = limit;
        let sum = checksum_of(&bytes);
        bytes[10..12].copy_from_slice(&sum);
    } else {
        bytes[7] = limit;
    }
    bytes
}

#[test]
fn switches_say_where_a_packet_expired() {
    let text = r#"
host.jitter = "0ns"
topology = { kind = "leaf_spine", leaves = 2, spines = 1, hosts = 2, link_rate = "8Mbps", link_delay = "10ms" }
"#;
    let spec = spec(text);
    for is_v6 in [false, true] {
        let mut engine = Engine::new(&spec);
        for limit in 0..5_u8 {
            let sent = with_hop_limit(datagram(is_v6, 0, 3, 100, 0), limit);
            engine.take(at_us(u64::from(limit) * 1_000_000), HostId(0), &sent);
        }
        let out = drain(&mut engine);
        let errors = errors(&out);
        let from: Vec<_> = errors.iter().map(|told| &*told.from).collect();
        // Leaf 0, spine 0 and leaf 1: their numbers are those of the nodes behind the hosts.
        let number = |name: &str| spec.network.nodes.iter().position(|node| node.name == name).unwrap() - 4;
        let address = |name: &str| match is_v6 {
            true => format!("fd66:6172:7370:1::{:x}", number(name) + 1),
            false => format!("10.1.{}.1", number(name)),
        };
        let way = ["leaf0", "leaf0", "spine0", "leaf1"].map(address);
        assert_eq!(from, way, "and the fourth hop is the host");
        for (n, told) in errors.iter().enumerate() {
            let (code, limit) = (if is_v6 { (3, 0, 0) } else { (11, 0, 0) }, n as u8);
            assert_eq!((told.host, told.words), (HostId(0), code));
            assert_eq!(
                Datagram::parse(&told.quoted).unwrap().hop_limit,
                limit.min(1),
                "as it came to the switch"
            );
            // A hundred bytes there, and with those of the error back; a byte takes a microsecond.
            let (links, back) = (u64::from(limit.max(1)), if is_v6 { 148 } else { 128 });
            assert_eq!(told.at, at_us(u64::from(limit) * 1_000_000 + links * (20_000 + 100 + back)));
        }
        let fates = engine.fates();
        assert!(fates.conserved() && out.len() == 5, "{fates:?}");
        assert_eq!((fates.expired, fates.answered, fates.delivered), (4, 4, 5));
        let queued = engine.outcome(at_us(9_000_000)).ports.iter().map(|port| port.sent_packets).sum::<u64>();
        // The last crossed four links, and the others came as far as their switch.
        assert_eq!(queued, 4 + (1 + 1 + 2 + 3) * 2);
    }
}

#[test]
fn a_packet_over_the_mtu_ends_at_the_first_switch_and_its_sender_hears_the_mtu() {
    for is_v6 in [false, true] {
        let mut engine = Engine::new(&spec(STAR));
        for size in [1500, 1501, 8000] {
            engine.take(at_us(0), HostId(0), &datagram(is_v6, 0, 3, size, 0));
        }
        let out = drain(&mut engine);
        let errors = errors(&out);
        let expected = if is_v6 { (2, 0, 1500) } else { (3, 4, 1500) };
        assert!(errors.len() == 2 && out.len() == 3);
        assert!(errors.iter().all(|told| (told.host, told.words) == (HostId(0), expected)));
        // What is too big has taken its time on the sender's link, and none beyond.
        let most = if is_v6 { 1280 } else { 576 };
        assert_eq!(errors[1].at, at_us(1500 + 1501 + 8000 + 10_000 + most + 10_000));
        let fates = engine.fates();
        assert!(fates.conserved());
        assert_eq!((fates.too_big, fates.answered, fates.delivered), (2, 2, 3));
    }
    // One that may be fragmented is not, and nobody hears of it.
    let mut engine = Engine::new(&spec(STAR));
    let mut bytes = datagram(false, 0, 3, 1501, 0);
    bytes[6] = 0;
    let sum = checksum_of(&bytes);
    bytes[10..12].copy_from_slice(&sum);
    engine.take(at_us(0), HostId(0), &bytes);
    assert!(drain(&mut engine).is_empty());
    assert_eq!((engine.fates().too_big, engine.fates().answered), (1, 0));
}

#[test]
fn a_host_that_is_none_is_unreachable_and_packets_for_many_are_nobodys() {
    for is_v6 in [false, true] {
        let mut engine = Engine::new(&spec(STAR));
        engine.take(at_us(0), HostId(2), &datagram(is_v6, 2, 99, 100, 0));
        let mut many = datagram(is_v6, 2, 1, 100, 0);
        if is_v6 {
            many[24..40].copy_from_slice(&"ff02::1".parse::<std::net::Ipv6Addr>().unwrap().octets());
        } else {
            many[16..20].copy_from_slice(&[10, 255, 255, 255]);
        }
        engine.take(at_us(0), HostId(2), &many);
        let out = drain(&mut engine);
        let errors = errors(&out);
        assert!(errors.len() == 1 && out.len() == 1);
        assert_eq!((errors[0].host, errors[0].words), (HostId(2), if is_v6 { (1, 3, 0) } else { (3, 1, 0) }));
        let fates = engine.fates();
        assert_eq!((fates.read, fates.unrouted, fates.answered, fates.delivered), (2, 2, 1, 1));
        assert!(fates.conserved());
    }
}

#[test]
fn a_switch_reports_fifty_errors_at_once_and_a_thousand_a_second() {
    let text = STAR.replace("8Mbps", "8Gbps");
    let mut engine = Engine::new(&spec(&text));
    for n in 0..500 {
        engine.take(at_us(n), HostId(0), &with_hop_limit(datagram(false, 0, 3, 100, 0), 1));
    }
    assert_eq!(drain(&mut engine).len(), 50);
    for n in 0..5000 {
        engine.take(at_us(1_000_000 + n * 200), HostId(0), &with_hop_limit(datagram(false, 0, 3, 100, 0), 1));
    }
    let count = drain(&mut engine).len();
    assert!((1040..1060).contains(&count), "{count}");
    assert!(engine.fates().conserved() && engine.fates().expired == 5500);
}
