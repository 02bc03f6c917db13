use super::*;
use crate::address::{v4, v6};
use crate::bytes::tests::{any_packet, mend_header, packet};
use crate::bytes::{TCP, UDP};
use farspan_scenario::Request;
use farspan_sim::EngineKind;
use farspan_trace::Remark;
use farspan_units::{Purpose, Random};
use farspan_world::World;
use proptest::prelude::*;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

mod captures;
mod reports;
mod simulator;

const IP_HEADER: usize = 20;

fn spec(text: &str) -> Spec {
    let request = Request { text: Some(text.to_owned()), is_idle: true, ..Request::new("test") };
    World::idle(&request.resolve().unwrap()).unwrap().spec
}

/// Hosts at one switch, whose links have 8 Mbit/s (a byte takes a microsecond) and 10 ms.
const STAR: &str = r#"
host.jitter = "0ns"
topology = { kind = "star", hosts = 4, link_rate = "8Mbps", link_delay = "10ms", buffer = "10KB" }
transport = { payload = "1436B" }
"#;

/// A UDP packet of so many bytes.
fn datagram(is_v6: bool, from: u32, to: u32, size: usize, ecn: u8) -> Vec<u8> {
    let headers = if is_v6 { 48 } else { 28 };
    let mut bytes = packet(is_v6, UDP, ecn, &vec![0; size - headers]);
    let (from, to) = (HostId(from), HostId(to));
    if is_v6 {
        bytes[8..24].copy_from_slice(&v6(from).octets());
        bytes[24..40].copy_from_slice(&v6(to).octets());
    } else {
        bytes[12..16].copy_from_slice(&v4(from).octets());
        bytes[16..IP_HEADER].copy_from_slice(&v4(to).octets());
    }
    bytes
}

/// Runs an engine until nothing is due; gives what came out.
fn drain(engine: &mut Engine) -> Vec<(HostId, Time, Vec<u8>)> {
    let mut out = Vec::new();
    while engine.next_at() != Time::MAX {
        engine.advance(engine.next_at());
        engine.release(|host, at, bytes| {
            out.push((host, at, bytes.to_vec()));
            true
        });
    }
    out
}

fn at_us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

#[test]
fn a_packet_takes_what_its_path_takes() {
    for is_v6 in [false, true] {
        let mut engine = Engine::new(&spec(STAR));
        engine.take(at_us(5), HostId(0), &datagram(is_v6, 0, 3, 1000, 1));
        let out = drain(&mut engine);
        let [(host, at, bytes)] = &out[..] else { panic!("one packet comes out, and not {}", out.len()) };
        // Two links, each a millisecond for its bytes and ten for its length.
        assert_eq!((*host, *at), (HostId(3), at_us(5 + 2 * 11_000)));
        let read = Datagram::parse(bytes).unwrap();
        assert_eq!((bytes.len(), read.hop_limit, read.ecn), (1000, 63, 1), "one switch was crossed");
        assert!(engine.fates().conserved());
    }
}

#[test]
fn a_burst_leaves_a_host_at_the_rate_of_its_link() {
    let mut engine = Engine::new(&spec(STAR));
    for _ in 0..5 {
        engine.take(at_us(0), HostId(0), &datagram(false, 0, 1, 1000, 0));
    }
    let at: Vec<_> = drain(&mut engine).into_iter().map(|(_, at, _)| at).collect();
    let expected: Vec<_> = (0..5).map(|n| at_us(22_000 + n * 1000)).collect();
    assert_eq!(at, expected);
}

#[test]
fn every_packet_has_a_fate() {
    // One says that it expired, and one that there is no such host.
    const BY_SWITCHES: u64 = 2;
    let mut engine = Engine::new(&spec(STAR));
    // More than a NIC holds, and more than the port to host 3 holds.
    for n in 0..3 * (NIC_QUEUE as u64 + 20) {
        engine.take(at_us(0), HostId((n % 3) as u32), &datagram(false, (n % 3) as u32, 3, 1000, 0));
    }
    let mut last = datagram(false, 1, 0, 100, 0);
    last[8] = 1;
    let sum = checksum_of(&last);
    last[10..12].copy_from_slice(&sum);
    engine.advance(at_us(10_000_000));
    engine.take(at_us(10_000_000), HostId(1), &last);
    engine.take(at_us(10_000_000), HostId(0), &datagram(false, 0, 200, 100, 0));
    engine.take(at_us(10_000_000), HostId(0), &[0x45; 19]);
    let out = drain(&mut engine).len() as u64 - BY_SWITCHES;
    let fates = engine.fates();
    assert!(fates.conserved(), "{fates:?}");
    assert_eq!((fates.unrouted, fates.expired, fates.answered), (2, 1, BY_SWITCHES));
    assert_eq!(fates.delivered, out + BY_SWITCHES);
    // 19 of each host's: one is in service beside those that wait.
    assert!(fates.dropped > 3 * 19 && fates.under_way == 0, "{fates:?}");
    let outcome = engine.outcome(at_us(10_000_100));
    let dropped: u64 = outcome.ports.iter().map(|port| port.dropped_packets).sum();
    assert_eq!(dropped, fates.dropped);
}

fn checksum_of(bytes: &[u8]) -> [u8; 2] {
    let mut header = bytes[..IP_HEADER].to_vec();
    header[10..12].fill(0);
    let words = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    (!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes()
}

#[test]
fn a_capture_has_each_packet_as_it_leaves_a_port() {
    let spec = spec(STAR);
    let ports = ["host0->tor0#0", "tor0->host3#0"].map(|name| spec.network.port_named(name).unwrap());
    let mut engine = Engine::new(&spec);
    let (to, from) = std::sync::mpsc::sync_channel(1000);
    engine.capture(ports, to);
    let sent = datagram(false, 0, 3, 1000, 0);
    // Twelve of 1,000 bytes come to a port of 10 KB at once.
    engine.take(at_us(0), HostId(0), &sent);
    (0..12)
        .for_each(|n| engine.take(at_us(0), HostId(1 + n % 2), &datagram(false, 1, 3, 900 + n as usize, 0)));
    drain(&mut engine);
    engine.end_capture();
    let captured: Vec<_> = from.into_iter().collect();
    assert_eq!((captured[0].port, captured[0].at, &captured[0].bytes), (ports[0], at_us(1000), &sent));
    let beyond: Vec<_> = captured.iter().filter(|packet| packet.port == ports[1]).collect();
    let hops = |bytes: &[u8]| Datagram::parse(bytes).unwrap().hop_limit;
    assert!(beyond.len() == 13 && beyond.iter().all(|packet| hops(&packet.bytes) == 63));
    assert!(beyond.windows(2).all(|pair| pair[0].at <= pair[1].at));
}

#[test]
fn a_packet_that_the_host_refuses_is_counted() {
    let mut engine = Engine::new(&spec(STAR));
    engine.take(at_us(0), HostId(0), &datagram(false, 0, 1, 1000, 0));
    engine.advance(at_us(30_000));
    engine.release(|_, _, _| false);
    let fates = engine.fates();
    assert_eq!((fates.refused, fates.delivered), (1, 0));
    assert!(fates.conserved());
}

#[test]
fn ports_that_trim_cut_bytes_and_what_cannot_be_cut_is_counted() {
    let text = format!("{STAR}scheme = {{ name = \"ndp\", ports = {{ overflow = \"trim\" }} }}\n");
    let mut engine = Engine::new(&spec(&text));
    for n in 0..60_u64 {
        let from = (n % 3) as u32;
        engine.take(at_us(n), HostId(from), &datagram(n % 2 == 0, from, 3, 1000, 1));
        let mut icmp = datagram(false, from, 3, 1000, 1);
        icmp[9] = 1;
        let sum = checksum_of(&icmp);
        icmp[10..12].copy_from_slice(&sum);
        engine.take(at_us(n), HostId(from), &icmp);
    }
    let out = drain(&mut engine);
    let (fates, outcome) = (engine.fates(), engine.outcome(at_us(10_000_000)));
    assert!(fates.conserved() && fates.untrimmable > 0, "{fates:?}");
    let trimmed = out.iter().filter(|(_, _, bytes)| bytes.len() == 64).count() as u64;
    assert_eq!(trimmed + fates.untrimmable, outcome.totals.trimmed);
    assert!(trimmed > 0);
    for (_, _, bytes) in &out {
        let read = Datagram::parse(bytes).unwrap();
        assert_eq!(read.dscp == crate::bytes::TRIMMED_DSCP, bytes.len() == 64);
    }
}

#[test]
fn lossless_links_pause_hosts_and_drop_nothing() {
    let text = r#"
host.jitter = "0ns"
scheme = { name = "dctcp", ports = { pool = { size = "100KB" }, pfc = { links = "site" } } }
topology = { kind = "star", hosts = 4, link_rate = "80Mbps", link_delay = "10us" }
transport = { payload = "1436B" }
"#;
    let mut engine = Engine::new(&spec(text));
    for n in 0..900_u64 {
        let from = (n % 3) as u32;
        engine.take(at_us(n * 40), HostId(from), &datagram(false, from, 3, 1000, 0));
    }
    let out = drain(&mut engine);
    let fates = engine.fates();
    assert!(fates.conserved() && fates.dropped == 0, "{fates:?}");
    assert_eq!(out.len(), 900, "what was paused goes on");
    let ports = engine.outcome(at_us(1_000_000)).ports;
    let paused = ports.iter().filter(|port| port.name.starts_with("host") && port.pauses > 0);
    assert!(paused.count() >= 3, "{ports:?}");
}

#[test]
fn a_link_that_fails_loses_what_it_should() {
    let fault = |port: &str| {
        format!("[[fault]]\nkind = \"link_down\"\nlink = \"{port}\"\nat = \"50ms\"\nuntil = \"100ms\"\n")
    };
    let text = format!("{STAR}{}{}", fault("tor0->host3#0"), fault("host1->tor0#0"));
    let mut engine = Engine::new(&spec(&text));
    for n in 0..15 {
        let now = at_us(n * 10_000);
        engine.take(now, HostId(0), &datagram(false, 0, 3, 1000, 0));
        engine.take(now, HostId(1), &datagram(false, 1, 2, 1000, 0));
    }
    let out = drain(&mut engine);
    let fates = engine.fates();
    assert!(fates.conserved(), "{fates:?}");
    let to = |host: u32| out.iter().filter(|(to, _, _)| to.0 == host).count();
    // Those that come to the port, and those that leave the NIC, between 50 and 100 ms.
    assert_eq!((to(3), to(2), fates.lost), (10, 10, 10));
}

#[test]
fn a_seed_loses_the_same_packets_again() {
    let text = format!("{STAR}[[fault]]\nkind = \"loss\"\nlink = \"tor0->host3#0\"\nprobability = 0.3\n");
    let lost = |seed: u64, pause: u64| {
        let request =
            Request { text: Some(text.clone()), is_idle: true, seed: Some(seed), ..Request::new("test") };
        let mut engine = Engine::new(&World::idle(&request.resolve().unwrap()).unwrap().spec);
        for n in 0..100_u64 {
            let mut bytes = datagram(false, 0, 3, 1000, 0);
            bytes[4..6].copy_from_slice(&(n as u16).to_be_bytes());
            engine.take(at_us(n * pause), HostId(0), &bytes);
        }
        drain(&mut engine).into_iter().map(|(_, _, bytes)| bytes[5]).collect::<Vec<_>>()
    };
    assert_eq!(lost(1, 2000), lost(1, 3000), "whatever the times");
    assert_ne!(lost(1, 2000), lost(2, 2000));
    assert!((50..90).contains(&lost(1, 2000).len()));
}
#[test]
fn a_packet_that_is_dropped_and_not_counted_makes_an_emulation_void() {
    use crate::lateness::{Bound, Judge};
    // On a link, or at its end.
    for is_at_host in [false, true] {
        for is_dropped in [false, true] {
            let mut engine = Engine::new(&spec(STAR));
            (0..10).for_each(|n| engine.take(at_us(0), HostId(0), &datagram(false, 0, 1, 900 + n, 0)));
            engine.advance(at_us(if is_at_host { 22_000 } else { 3_500 }));
            assert!(engine.fates().conserved());
            let id = if is_at_host {
                engine.arrived.front().map(|(_, _, id)| *id)
            } else {
                engine.queue.arrivals().next()
            };
            if is_dropped {
                engine.packets.remove(id.unwrap());
                assert!(!engine.fates().conserved());
                if is_at_host {
                    engine.arrived.pop_front();
                } else {
                    engine.queue.forget(id.unwrap());
                }
            }
            drain(&mut engine);
            let fates = engine.fates();
            assert_eq!(fates.conserved(), !is_dropped, "{fates:?}");
            let judge = Judge::new(Bound::of_rtt(Duration::from_ms(20)));
            let reasons = judge.verdict(at_us(1_000_000), fates, 0).reasons;
            let is_said = reasons.iter().any(|reason| reason.contains("without a fate"));
            assert_eq!(is_said, is_dropped, "{reasons:?}");
        }
    }
}

#[test]
fn the_sums_of_the_document_add_up_whatever_the_fates() {
    let fault = "[[fault]]\nkind = \"loss\"\nlink = \"tor0->host2#0\"\nprobability = 0.5\n";
    let text = format!("{STAR}scheme = {{ name = \"ndp\", ports = {{ overflow = \"trim\" }} }}\n{fault}");
    let mut engine = Engine::new(&spec(&text));
    let add_up = |engine: &mut Engine| {
        let (fates, now) = (engine.fates(), engine.now);
        let (sums, totals) = (engine.sums(), engine.outcome(now).totals);
        assert!(fates.conserved(), "{fates:?}");
        assert_eq!(sums.sent, sums.delivered + sums.trimmed + sums.dropped + fates.under_way, "{fates:?}");
        assert!(sums.headers_dropped <= sums.dropped && sums.ecn_marked <= sums.delivered);
        let packets =
            [totals.sent, totals.delivered, totals.trimmed_delivered, totals.dropped, totals.in_network];
        let [sent, delivered, trimmed, dropped, under_way] = packets.map(|amount| amount.packets);
        assert_eq!(
            (sent, delivered, trimmed, dropped),
            (sums.sent, sums.delivered, sums.trimmed, sums.dropped)
        );
        assert_eq!(sent, delivered + trimmed + dropped + under_way);
        assert_eq!((totals.headers_dropped, totals.ecn_marked), (sums.headers_dropped, sums.ecn_marked));
    };
    for n in 0..4000_u64 {
        let (now, from) = (at_us(n * 100), (n % 2) as u32);
        // Two hosts send faster than their links, and to one; some of it is ICMP, which cannot be trimmed.
        let mut bytes = datagram(false, from, if n % 5 == 0 { 2 } else { 3 }, 1000, 1);
        bytes[9] = if n % 7 == 0 { 1 } else { UDP };
        bytes[8] = if n % 11 == 0 { 1 } else { 64 };
        let sum = checksum_of(&bytes);
        bytes[10..12].copy_from_slice(&sum);
        engine.take(now, HostId(from), &bytes);
        if n % 3 == 0 {
            engine.take(now, HostId(2), &datagram(n % 2 == 0, 2, 77, 100, 0));
            engine.take(now, HostId(2), &datagram(n % 2 == 0, 2, 3, 1600, 0));
            engine.take(now, HostId(2), &[0x45; 19]);
        }
        // One of nine is refused by its host.
        let mut number = n;
        engine.release(|_, _, _| {
            number += 1;
            number % 9 != 0
        });
        if n % 100 == 0 {
            add_up(&mut engine);
        }
    }
    let under_way = engine.fates().under_way;
    drain(&mut engine);
    engine.take_oversized();
    add_up(&mut engine);
    let fates = engine.fates();
    let EmulatedPackets { read, answered, delivered, dropped, lost, unrouted, expired, .. } = fates;
    let EmulatedPackets { too_big, untrimmable, refused, .. } = fates;
    let all = [
        read,
        answered,
        delivered,
        dropped,
        lost,
        unrouted,
        expired,
        too_big,
        untrimmable,
        refused,
        under_way,
    ];
    assert!(all.iter().all(|count| *count > 0), "{fates:?}");
    assert!(engine.sums().trimmed > 0);
}

#[test]
fn segments_that_contradict_themselves_are_counted_where_ports_trim() {
    let text = format!("{STAR}scheme = {{ name = \"ndp\", ports = {{ overflow = \"trim\" }} }}\n");
    let mut engine = Engine::new(&spec(&text));
    for n in 0..60_u32 {
        // Forty bytes of options, and a TCP header of four bytes by its own word.
        let from = n % 3;
        let mut bytes = datagram(false, from, 3, 1000, 1);
        (bytes[0], bytes[9], bytes[72]) = (0x4f, TCP, 0x10);
        mend_header(&mut bytes);
        engine.take(at_us(u64::from(n)), HostId(from), &bytes);
    }
    let out = drain(&mut engine).len() as u64;
    let fates = engine.fates();
    assert!(fates.conserved() && fates.untrimmable > 10, "{fates:?}");
    assert_eq!(out, fates.delivered);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever hosts send, each packet has a fate, and what comes out is a packet.
    #[test]
    fn any_packets_have_fates(sent in proptest::collection::vec((any_packet(), 0_u32..4, 0_u32..6, 0_u64..40), 1..120)) {
        let text = format!("{STAR}scheme = {{ name = \"ndp\", ports = {{ overflow = \"trim\" }} }}\n")
            .replace("10KB", "1500B");
        let mut engine = Engine::new(&spec(&text));
        let (mut now, mut out) = (0, Vec::new());
        for (mut bytes, from, to, pause) in sent {
            let is_v6 = bytes[0] >> 4 == 6;
            if is_v6 {
                bytes[8..24].copy_from_slice(&v6(HostId(from)).octets());
                bytes[24..40].copy_from_slice(&v6(HostId(to)).octets());
            } else {
                bytes[12..16].copy_from_slice(&v4(HostId(from)).octets());
                bytes[16..20].copy_from_slice(&v4(HostId(to)).octets());
                mend_header(&mut bytes);
            }
            now += pause * pause;
            engine.take(at_us(now), HostId(from), &bytes);
            prop_assert!(engine.fates().conserved());
        }
        out.extend(drain(&mut engine));
        let fates = engine.fates();
        prop_assert!(fates.conserved() && fates.under_way == 0, "{fates:?}");
        prop_assert_eq!(out.len() as u64, fates.delivered);
        prop_assert!(out.iter().all(|(_, _, bytes)| Datagram::parse(bytes).is_ok()));
    }
}

/// An error of ICMP that has come to a host.
struct Told {
    host: HostId,
    at: Time,
    from: String,
    /// Type, code and second word.
    words: (u8, u8, u32),
    quoted: Vec<u8>,
}
#[test]
fn an_interval_that_is_too_short_is_raised_aloud() {
    let warnings = |interval: &str| {
        Engine::new(&spec(&format!("{STAR}probes.queue_interval = \"{interval}\"\n"))).warnings().to_vec()
    };
    assert!(warnings("10ms").is_empty());
    let raised = warnings("1ms");
    assert!(
        raised.len() == 1 && raised[0].contains("every 10ms") && raised[0].contains("= 1ms is too short"),
        "{raised:?}"
    );
}

#[test]
fn packets_of_one_flow_stay_on_one_of_parallel_links_and_flows_spread() {
    let text = r#"
host.jitter = "0ns"
topology = { kind = "leaf_spine", leaves = 2, spines = 4, hosts = 2, link_rate = "100Mbps", link_delay = "1ms" }
"#;
    let spec = spec(text);
    let ports: Vec<PortId> = (0..spec.network.links.len() as u32)
        .map(PortId)
        .filter(|port| spec.network.links[port.index()].tier == farspan_fabric::Tier::Fabric)
        .filter(|port| spec.network.links[port.index()].from.0 == 4)
        .collect();
    let mut engine = Engine::new(&spec);
    let seen = Arc::new(Mutex::new(Vec::<(PortId, FlowId)>::new()));
    let keep = Arc::clone(&seen);
    engine.observe(Box::new(move |_, seen| match seen {
        Seen::AtPort(at, PortEvent::Left(packet, _)) if ports.contains(&at) => {
            keep.lock().unwrap_or_else(PoisonError::into_inner).push((at, packet.flow));
        }
        _ => {}
    }));
    for n in 0..400_u16 {
        let mut bytes = packet(false, TCP, 0, b"");
        bytes[12..16].copy_from_slice(&v4(HostId(0)).octets());
        bytes[16..20].copy_from_slice(&v4(HostId(3)).octets());
        bytes[20..22].copy_from_slice(&(n % 40).to_be_bytes());
        engine.take(at_us(u64::from(n) * 100), HostId(0), &bytes);
    }
    drain(&mut engine);
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert_eq!(seen.len(), 400);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 40, "each flow has one port");
    seen.dedup_by_key(|(port, _)| *port);
    assert!(seen.len() >= 3, "{} of 4 spines", seen.len());
}

/// The ports towards spines that packets of forty flows leave by, from host 0 to host 3.
fn spines(spec: &Spec, table: Option<&str>, is_tcp: bool) -> Vec<(u16, String)> {
    let mut engine = Engine::new(spec);
    let network = spec.network.clone();
    table.into_iter().for_each(|text| {
        engine.choose_paths(PathTable::read(text, &network, spec.seed).unwrap());
    });
    let seen = Arc::new(Mutex::new(Vec::<String>::new()));
    let keep = Arc::clone(&seen);
    engine.observe(Box::new(move |_, seen| match seen {
        Seen::AtPort(at, PortEvent::Left(..)) if network.port_name(at).contains("->spine") => {
            keep.lock().unwrap_or_else(PoisonError::into_inner).push(network.port_name(at));
        }
        _ => {}
    }));
    for n in 0..40_u16 {
        let mut bytes = packet(false, if is_tcp { TCP } else { UDP }, 0, b"");
        bytes[12..16].copy_from_slice(&v4(HostId(0)).octets());
        bytes[16..20].copy_from_slice(&v4(HostId(3)).octets());
        bytes[20..22].copy_from_slice(&(5000 + n).to_be_bytes());
        engine.take(at_us(u64::from(n) * 1000), HostId(0), &bytes);
    }
    drain(&mut engine);
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert_eq!(seen.len(), 40);
    (5000..).zip(seen).collect()
}

#[test]
fn a_table_chooses_the_links_of_flows_and_routes_around_failures_stand_above_it() {
    let text = r#"
host.jitter = "0ns"
topology = { kind = "leaf_spine", leaves = 2, spines = 4, hosts = 2, link_rate = "100Mbps", link_delay = "1us" }
"#;
    let link = |spec: &Spec, spine: &str| {
        let ports = (0..spec.network.links.len() as u32).map(PortId);
        let mut names = ports.map(|port| spec.network.port_name(port));
        names.find(|name| name.contains(&format!("->{spine}"))).unwrap()
    };
    let plain = spec(text);
    let (first, third) = (link(&plain, "spine0"), link(&plain, "spine2"));
    let table = format!(
        "[[path]]\nprotocol = \"tcp\"\nsource_port = 5007\nlink = \"{first}\"\n[[path]]\nprotocol = \"tcp\"\nto = \"host3\"\nlink = \"{third}\"\n"
    );
    for (port, name) in spines(&plain, Some(&table), true) {
        assert_eq!(name, if port == 5007 { &*first } else { &*third }, "port {port}");
    }
    assert_eq!(spines(&plain, Some(&table), false), spines(&plain, None, false), "no row is for UDP");
    // The link fails after twenty flows, and switches know it at once.
    let failing = format!(
        "{text}[[fault]]\nkind = \"link_down\"\nlink = \"{third}\"\nat = \"19.5ms\"\nboth_directions = true\nwithdraw_routes = true\n"
    );
    for (port, name) in spines(&spec(&failing), Some(&table), true) {
        let is_avoided = port >= 5020 && port != 5007;
        assert_eq!(name == third, !is_avoided && port != 5007, "port {port} crossed {name}");
    }
}
