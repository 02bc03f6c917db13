//! The engine against the simulator: the deeds of its switches with packets that come at the same times.

use super::*;

/// A deed of a switch's port: when, which port, how large a packet, to which host, marked, and its fate.
type Deed = (Time, PortId, Bytes, HostId, bool, &'static str);

/// When the link of a test fails.
const LINK_FAILS_AT: Time = Time::from_ps(50_000_000_000);

/// Packets that hosts send: when, from which host, to which.
type Arrivals = Vec<(Duration, u32, u32)>;

/// Each of the senders sends packets at about its own rate, on and off.
fn on_and_off(pairs: &[(u32, u32)], packets: u64, packet_ns: u64) -> Arrivals {
    let mut random = Random::new(7, Purpose::Test, 0);
    let mut arrivals = Vec::new();
    for (from, to) in pairs {
        let mut at = Duration::from_ns(u64::from(*from) * 211);
        for n in 0..packets {
            arrivals.push((at, *from, *to));
            let pause = if n % 50 == 49 { 58 * packet_ns } else { 0 };
            at += Duration::from_ns(packet_ns + random.below(packet_ns / 11) + pause);
        }
    }
    arrivals.sort_unstable();
    arrivals
}

/// The deeds of ports of the simulator and of the emulator with packets of 1,300 bytes that hosts send at the same times, in order of time
/// and port. `text`: a scenario without workload.
fn deeds(text: &str, arrivals: &Arrivals, is_watched: impl Fn(&str) -> bool) -> ([Vec<Deed>; 2], u64) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("flows.csv");
    let mut list = "src,dst,size_bytes,start_ns\n".to_owned();
    for (at, from, to) in arrivals {
        writeln!(list, "{from},{to},1236,{}", at.as_ns()).unwrap();
    }
    std::fs::write(&file, list).unwrap();
    // One packet a flow, which is not sent again.
    let text = format!(
        "stop.time = \"600ms\"\ntransport = {{ payload = \"1236B\", header = \"64B\", rto = \"2s\" }}\n{text}\n[[workload]]\nkind = \"flows\"\nfile = {file:?}\n"
    );
    let request = Request { text: Some(text.clone()), ..Request::new("test") };
    let mut simulated = World::build(&request.resolve().unwrap()).unwrap().spec;
    let ports = (0..simulated.network.links.len() as u32).map(PortId);
    let ports: Vec<_> = ports.filter(|port| is_watched(&simulated.network.port_name(*port))).collect();
    assert!(!ports.is_empty());
    simulated.trace.ports.clone_from(&ports);
    let outcome = farspan_sim::run(&simulated, EngineKind::Windowed, &mut |_| true);
    let fate = |remarks: &[Remark]| match remarks {
        _ if remarks.iter().any(|remark| matches!(remark, Remark::Dropped { .. })) => "dropped",
        _ if remarks.contains(&Remark::Lost) => "lost",
        _ => "left",
    };
    // Acknowledgements go the other way, and nothing here is watched there.
    let theirs = outcome
        .trace
        .packets
        .iter()
        .map(|event| (event.at, event.port, event.size, event.to, event.ecn_ce, fate(&event.remarks)));
    // What waits when a link fails is lost then: the emulator counts it, and shows none of it one by one.
    let mut theirs: Vec<Deed> = theirs.filter(|deed| deed.5 != "lost" || deed.0 != LINK_FAILS_AT).collect();

    let mut engine = Engine::new(&spec(&text));
    let seen = Arc::new(Mutex::new(Vec::<Deed>::new()));
    let keep = Arc::clone(&seen);
    engine.observe(Box::new(move |now, seen| {
        let Seen::AtPort(at, event) = seen else { return };
        let (packet, fate) = match event {
            PortEvent::Left(packet, false) => (packet, "left"),
            PortEvent::Left(packet, true) | PortEvent::Refused(packet) => (packet, "lost"),
            PortEvent::Dropped(packet, _) => (packet, "dropped"),
            _ => return,
        };
        if ports.contains(&at) {
            let deed = (now, at, packet.size(), packet.to(), packet.ecn_ce(), fate);
            keep.lock().unwrap_or_else(PoisonError::into_inner).push(deed);
        }
    }));
    for (at, from, to) in arrivals {
        engine.take(Time::ZERO + *at, HostId(*from), &datagram(false, *from, *to, 1300, 1));
    }
    drain(&mut engine);
    assert!(engine.fates().conserved());
    let counts = |outcome: &farspan_sim::Outcome| -> Vec<_> {
        let ports = outcome.ports.iter().filter(|port| is_watched(&port.name));
        let counts = |port: &farspan_sim::PortOutcome| {
            let fates = [port.dropped_packets, port.lost_packets, port.trimmed_packets, port.marked_packets];
            (port.sent_packets, port.sent_bytes, fates, port.max_queue)
        };
        ports.map(counts).collect()
    };
    let pauses = |outcome: &farspan_sim::Outcome| -> Vec<_> {
        outcome.ports.iter().map(|port| (port.name.clone(), port.pauses, port.paused)).collect()
    };
    let end = engine.outcome(at_us(600_000));
    assert_eq!(counts(&end), counts(&outcome));
    assert_eq!(pauses(&end), pauses(&outcome));
    let pauses = end.ports.iter().map(|port| port.pauses).sum();
    let mut ours = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    theirs.sort_unstable();
    ours.sort_unstable();
    ([ours, theirs], pauses)
}

/// Holds the emulator's ports to the simulator's, deed by deed; gives how many were dropped, marked, trimmed and lost, and the
/// number of pauses in the network.
fn hold_to_the_simulator(text: &str, arrivals: &Arrivals, is_watched: impl Fn(&str) -> bool) -> [usize; 5] {
    let ([ours, theirs], pauses) = deeds(text, arrivals, is_watched);
    for (n, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "deed {n}");
    }
    assert_eq!(ours.len(), theirs.len());
    let count = |is: fn(&Deed) -> bool| ours.iter().filter(|deed| is(deed)).count();
    [
        count(|deed| deed.5 == "dropped"),
        count(|deed| deed.4),
        count(|deed| deed.2.get() < 1300),
        count(|deed| deed.5 == "lost"),
        pauses as usize,
    ]
}

/// Four senders into one link of the rate of each.
fn four_to_one(ports: &str) -> String {
    format!(
        r#"
host.jitter = "0ns"
scheme = {{ {ports} }}
topology = {{ kind = "dumbbell", hosts = 4, link_rate = "100Mbps", link_delay = "1ms", buffer = "60KB" }}
"#
    )
}

const RED: &str =
    r#"name = "dctcp", ports = { marking = "red", red = { min = 0.2, max = 0.8 }, at = "enqueue" }"#;

const FOUR: [(u32, u32); 4] = [(0, 4), (1, 5), (2, 6), (3, 7)];

#[test]
fn a_port_that_marks_and_drops_does_what_that_of_the_simulator_does() {
    let arrivals = on_and_off(&FOUR, 1000, 104_000);
    let [dropped, marked, ..] =
        hold_to_the_simulator(&four_to_one(RED), &arrivals, |name| name == "tor0->tor1#0");
    assert!(dropped > 200 && marked > 200, "{dropped} dropped, {marked} marked");
}

#[test]
fn switches_behind_each_other_do_what_those_of_the_simulator_do() {
    // Two leaves and one spine: each pair of hosts has one path. Hosts of two leaves send to one host of the third.
    let text = r#"
host.jitter = "0ns"
scheme = { name = "dctcp", ports = { marking = "red", red = { min = 0.2, max = 0.8 }, at = "enqueue" } }
topology = { kind = "leaf_spine", leaves = 3, spines = 1, hosts = 3, link_rate = "100Mbps", link_delay = "100us", buffer = "60KB" }
"#;
    let pairs = [(0, 6), (1, 7), (2, 6), (3, 7), (4, 8), (5, 6)];
    let arrivals = on_and_off(&pairs, 600, 104_000);
    let forward = |name: &str| {
        ["leaf0->spine0#0", "leaf1->spine0#0", "spine0->leaf2#0"].contains(&name)
            || ["leaf2->host6#0", "leaf2->host7#0", "leaf2->host8#0"].contains(&name)
    };
    let [dropped, marked, ..] = hold_to_the_simulator(text, &arrivals, forward);
    assert!(dropped > 200 && marked > 200, "{dropped} dropped, {marked} marked");
}

#[test]
fn a_port_that_trims_does_what_that_of_the_simulator_does() {
    // Links so long that no sender hears of a trimmed packet while it matters.
    let text = four_to_one(r#"name = "ndp", ports = { overflow = "trim" }"#).replace("1ms", "100ms");
    let arrivals = on_and_off(&FOUR, 1000, 104_000);
    let [_, _, trimmed, ..] = hold_to_the_simulator(&text, &arrivals, |name| name == "tor0->tor1#0");
    assert!(trimmed > 200, "{trimmed} trimmed");
}

#[test]
fn a_link_that_loses_does_what_that_of_the_simulator_does() {
    let text = four_to_one(RED)
        + "[[fault]]\nkind = \"loss\"\nlink = \"tor0->tor1#0\"\nprobability = 0.1\n"
        + "[[fault]]\nkind = \"link_down\"\nlink = \"tor0->tor1#0\"\nat = \"50ms\"\nuntil = \"60ms\"\n";
    let arrivals = on_and_off(&FOUR, 1000, 104_000);
    let [dropped, _, _, lost, _] = hold_to_the_simulator(&text, &arrivals, |name| name == "tor0->tor1#0");
    assert!(dropped > 50 && lost > 100, "{dropped} dropped, {lost} lost");
}

#[test]
fn hosts_with_jitter_send_when_those_of_the_simulator_do() {
    let text = four_to_one(RED).replace("jitter = \"0ns\"", "jitter = \"20us\"");
    let arrivals = on_and_off(&FOUR, 1000, 104_000);
    let [dropped, ..] = hold_to_the_simulator(&text, &arrivals, |name| name == "tor0->tor1#0");
    assert!(dropped > 200, "{dropped} dropped");
    let of = |text: &str| deeds(text, &arrivals, |name| name == "tor0->tor1#0").0;
    assert_ne!(of(&text), of(&four_to_one(RED)), "jitter changes what comes when");
}

#[test]
fn lossless_switches_pause_when_those_of_the_simulator_do() {
    let text = r#"
host.jitter = "0ns"
scheme = { name = "dctcp", ports = { pool = { size = "200KB" }, pfc = { links = "site" } } }
topology = { kind = "dumbbell", hosts = 4, link_rate = "100Mbps", link_delay = "10us" }
"#;
    let arrivals = on_and_off(&FOUR, 1000, 104_000);
    let [dropped, .., pauses] = hold_to_the_simulator(text, &arrivals, |name| name == "tor0->tor1#0");
    assert!(dropped == 0 && pauses > 100, "{dropped} dropped, {pauses} pauses");
}
