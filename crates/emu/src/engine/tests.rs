use super::*;
use crate::address::{v4, v6};
use crate::bytes::tests::packet;
use crate::bytes::{TCP, UDP};
use farspan_scenario::Request;
use farspan_sim::EngineKind;
use farspan_trace::Remark;
use farspan_units::{Purpose, Random};
use farspan_world::World;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

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
    let mut engine = Engine::new(&spec(STAR));
    // More than a NIC holds, and more than the port to host 3 holds.
    for n in 0..3 * (NIC_QUEUE as u64 + 20) {
        engine.take(at_us(0), HostId((n % 3) as u32), &datagram(false, (n % 3) as u32, 3, 1000, 0));
    }
    engine.take(at_us(1), HostId(0), &datagram(false, 0, 200, 100, 0));
    engine.take(at_us(1), HostId(0), &[0x45; 19]);
    let mut last = datagram(false, 1, 0, 100, 0);
    last[8] = 1;
    let sum = checksum_of(&last);
    last[10..12].copy_from_slice(&sum);
    engine.advance(at_us(10_000_000));
    engine.take(at_us(10_000_000), HostId(1), &last);
    let out = drain(&mut engine).len() as u64;
    let fates = engine.fates();
    assert!(fates.conserved(), "{fates:?}");
    assert_eq!((fates.unrouted, fates.expired, fates.delivered), (2, 1, out));
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
    let (to, from) = std::sync::mpsc::channel();
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

/// A deed of a switch's port: when, which port, how large a packet, between which hosts, marked, and its fate.
type Deed = (Time, PortId, Bytes, HostId, bool, &'static str);

/// A dumbbell of four senders, whose port to the other side marks by RED and drops.
fn dumbbell(file: &str) -> String {
    format!(
        r#"
host.jitter = "0ns"
stop.time = "900ms"
scheme = {{ name = "dctcp", ports = {{ marking = "red", red = {{ min = 0.2, max = 0.8 }}, at = "enqueue" }} }}
topology = {{ kind = "dumbbell", hosts = 4, link_rate = "100Mbps", link_delay = "1ms", buffer = "60KB" }}
transport = {{ payload = "1236B", header = "64B", rto = "2s" }}
[[workload]]
kind = "flows"
file = "{file}"
"#
    )
}

#[test]
fn switches_do_what_those_of_the_simulator_do() {
    const PACKETS: u64 = 4000;
    let mut random = Random::new(7, Purpose::Test, 0);
    // Each of four senders sends at up to its own rate, on and off: 4:1 at the link between the switches.
    let mut arrivals = Vec::new();
    for host in 0..4_u32 {
        let mut at = Duration::from_ns(u64::from(host) * 211);
        for n in 0..PACKETS / 4 {
            arrivals.push((at, host));
            let pause = if n % 50 == 49 { 6_000_000 } else { 0 };
            at += Duration::from_ns(104_000 + random.below(9_000) + pause);
        }
    }
    arrivals.sort_unstable();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("flows.csv");
    let mut list = "src,dst,size_bytes,start_ns\n".to_owned();
    for (at, host) in &arrivals {
        writeln!(list, "{host},{},1236,{}", host + 4, at.as_ns()).unwrap();
    }
    std::fs::write(&file, list).unwrap();
    let text = dumbbell(file.to_str().unwrap());
    let request = Request { text: Some(text), ..Request::new("test") };
    let mut simulated = World::build(&request.resolve().unwrap()).unwrap().spec;
    let port = simulated.network.port_named("tor0->tor1#0").unwrap();
    simulated.trace.ports = vec![port];
    let outcome = farspan_sim::run(&simulated, EngineKind::Windowed, &mut |_| true);
    let fate =
        |remarks: &[Remark]| match remarks.iter().any(|remark| matches!(remark, Remark::Dropped { .. })) {
            true => "dropped",
            false => "left",
        };
    let theirs = outcome.trace.packets.iter();
    let theirs: Vec<Deed> = theirs
        .map(|event| (event.at, event.port, event.size, event.to, event.ecn_ce, fate(&event.remarks)))
        .collect();

    let mut engine = Engine::new(&spec(&dumbbell(file.to_str().unwrap())));
    let seen = Arc::new(Mutex::new(Vec::<Deed>::new()));
    let keep = Arc::clone(&seen);
    engine.observe(Box::new(move |now, seen| {
        let Seen::AtPort(at, event) = seen else { return };
        let deed = match event {
            PortEvent::Left(packet, _) => (now, at, packet.size(), packet.to(), packet.ecn_ce(), "left"),
            PortEvent::Dropped(packet, _) => {
                (now, at, packet.size(), packet.to(), packet.ecn_ce(), "dropped")
            }
            _ => return,
        };
        if at == port {
            keep.lock().unwrap_or_else(PoisonError::into_inner).push(deed);
        }
    }));
    for (at, host) in &arrivals {
        let bytes = datagram(false, *host, host + 4, 1300, 1);
        engine.take(Time::ZERO + *at, HostId(*host), &bytes);
    }
    drain(&mut engine);
    let ours = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let count = |word: &str| ours.iter().filter(|deed| deed.5 == word).count();
    let marked = ours.iter().filter(|deed| deed.4).count();
    assert!(count("dropped") > 200 && marked > 200, "{} dropped, {marked} marked", count("dropped"));
    assert_eq!(ours.len() as u64, PACKETS);
    assert_eq!(ours.len(), theirs.len());
    for (n, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "deed {n}");
    }
    assert!(engine.fates().conserved());
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
