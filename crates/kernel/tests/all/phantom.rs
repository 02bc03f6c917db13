//! The phantom queue of `bpf/tc/mark.bpf.c`, compiled for user space, beside that of the simulator's ports, on the same arrivals.

use farspan_fabric::{
    Gate, Marker, MarkingPoint, Packet, Packets, Phantom, Port, PortConfig, PortModel, Red,
};
use farspan_kernel::PhantomQueue;
use farspan_units::{Bytes, Duration, FlowId, HostId, PortId, Purpose, Random, Rate, Time};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// A packet that arrives at a port.
struct Arrival {
    at_ns: u64,
    size: u64,
}

/// The outcome of a packet at a phantom queue.
struct Outcome {
    /// The counter after it, bytes.
    level: u64,
    marked: bool,
}

/// Bursts and pauses around the drain rate, some of them long enough to empty the counter; small and large packets.
fn arrivals(rate: Rate, seed: u64, count: u64) -> Vec<Arrival> {
    let random = Random::new(seed, Purpose::Test, 0);
    let draw = |n: u64, below: u64| random.at(n) % below;
    let mut at_ns = 1_000_000;
    let arrival = |n| {
        let size = if draw(3 * n, 10) == 0 { 66 } else { 200 + draw(3 * n + 1, 8_800) };
        let sending = rate.transmission(Bytes::new(size)).as_ns();
        // The load turns from below the drain rate to above it, every 2,000 packets.
        let percent = if n / 2_000 % 2 == 0 { 96 } else { 122 };
        let pause = if draw(3 * n + 2, 5_000) == 0 { 50_000 * sending } else { 0 };
        at_ns += sending * percent / 100 * (draw(3 * n + 2, 201)) / 100 + pause;
        Arrival { at_ns, size }
    };
    (0..count).map(arrival).collect()
}

/// Compiles the program for user space, and feeds it; `None`: there is no compiler.
fn by_program(queue: &PhantomQueue, arrivals: &[Arrival]) -> Option<Vec<Outcome>> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf/tc/user");
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("replay");
    let mut compiler = Command::new("cc");
    compiler.args([
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsanitize=undefined",
        "-fno-sanitize-recover=all",
        "-I",
    ]);
    let Ok(status) = compiler.arg(&sources).arg(sources.join("replay.c")).arg("-o").arg(&program).status()
    else {
        farspan_skip::skip("cc", "no C compiler for the program of the phantom queue: apt install gcc");
        return None;
    };
    assert!(status.success(), "the program must compile for user space");
    let mut replay = Command::new(&program);
    for (name, value) in queue.variables() {
        replay.args([name, &value.to_string()]);
    }
    let mut child = replay.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let text: String =
        arrivals.iter().map(|arrival| format!("{} {} 2\n", arrival.at_ns, arrival.size)).collect();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(text.as_bytes()).unwrap());
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    let outcome = |line: &str| {
        let (lag, marked) = line.split_once(' ').unwrap();
        let level = queue.drain().bytes_in(Duration::from_ps(lag.parse().unwrap())).get();
        Outcome { level, marked: marked == "1" }
    };
    Some(lines.lines().map(outcome).collect())
}

/// The outcomes of these arrivals at a port of the simulator; its number and seed decide what is drawn.
fn by_port(
    queue: &PhantomQueue,
    drain: f64,
    arrivals: &[Arrival],
    (id, seed): (PortId, u64),
) -> Vec<Outcome> {
    let config = PortConfig {
        phantom: Some(Phantom { size: queue.size(), drain, count_dropped: false }),
        markers: vec![Marker::Phantom(Red::new(queue.k_min(), queue.k_max()))],
        marking_point: MarkingPoint::Enqueue,
        ..PortConfig::drop_tail(Bytes::MAX)
    };
    // The phantom counter knows the configured rate alone: it does not matter when packets leave.
    let model = Arc::new(PortModel::new(&config, queue.rate(), Duration::ZERO));
    let (mut port, mut packets) = (Port::new(&model, id, seed), Packets::new());
    let mut outcomes = Vec::new();
    for arrival in arrivals {
        let now = Time::from_ps(arrival.at_ns * 1000);
        while port.next_at() <= now {
            let left = port.advance(port.next_at(), &mut packets, Gate::Open).left;
            left.into_iter().for_each(|id| {
                packets.remove(id);
            });
        }
        let packet = Packet::new(FlowId(0), HostId(0), Bytes::new(arrival.size), 0, false, 0);
        let id = packets.insert(packet);
        port.enqueue(now, id, &mut packets, Gate::Open);
        let level = port.phantom(now).unwrap().get();
        outcomes.push(Outcome { level, marked: packets[id].ecn_ce() });
    }
    outcomes
}

/// Fails where two counters differ by more than a byte.
fn hold_to_one_counter(program: &[Outcome], port: &[Outcome], case: &str) {
    assert_eq!(program.len(), port.len());
    for (n, (ours, theirs)) in program.iter().zip(port).enumerate() {
        let (ours, theirs) = (ours.level, theirs.level);
        assert!(ours.abs_diff(theirs) <= 1, "{case}, packet {n}: {ours} bytes, and {theirs} at the port");
    }
}

fn marks(outcomes: &[Outcome]) -> f64 {
    outcomes.iter().filter(|outcome| outcome.marked).count() as f64
}

#[test]
fn program_and_simulator_have_one_counter_and_marks_within_two_percent() {
    let cases = [
        ("1Gbps", 0.9, None),
        ("200Mbps", 0.9, Some((30_000, 120_000))),
        ("100Gbps", 0.95, Some((200_000, 700_000))),
        ("10Mbps", 0.9, Some((150_000, 150_000))),
        // A slope of more than 2^32 ps.
        ("10Mbps", 0.9, Some((10_000, 90_000))),
    ];
    for (number, (rate, drain, thresholds)) in (0..).zip(cases) {
        let rate: Rate = rate.parse().unwrap();
        let thresholds = thresholds.map(|(low, high)| (Bytes::new(low), Bytes::new(high)));
        let queue = PhantomQueue::new(rate, drain, thresholds).unwrap();
        let arrivals = arrivals(rate, number, 400_000);
        let Some(program) = by_program(&queue, &arrivals) else { return };
        let port = by_port(&queue, drain, &arrivals, (PortId(0), number));
        hold_to_one_counter(&program, &port, &format!("case {number}"));
        let (ours, theirs) = (marks(&program), marks(&port));
        let share = theirs / program.len() as f64;
        eprintln!("case {number}: {ours} marks, and {theirs} at the port, of {} packets", program.len());
        assert!((0.05..0.95).contains(&share), "case {number}: {share} marked says little");
        assert!((ours / theirs - 1.0).abs() <= 0.02, "case {number}: {ours} marks, and {theirs} at the port");
    }
}

/// The packets of a flow of the kernel's UnoCC at a port of an emulation, and which of them it marked. `bench/kernel_arrivals.py` has
/// recorded them.
fn recorded() -> (Vec<Arrival>, Vec<bool>) {
    let mut at_ns = 0;
    let lines = include_str!("arrivals.csv").lines().skip_while(|line| !line.starts_with("gap_ns")).skip(1);
    let packet = |line: &str| {
        let fields: Vec<u64> = line.split(',').map(|field| field.parse().unwrap()).collect();
        at_ns += fields[0];
        (Arrival { at_ns, size: fields[1] }, fields[2] == 1)
    };
    lines.map(packet).unzip()
}

#[test]
fn program_emulator_and_simulator_mark_a_recorded_flow_alike() {
    const ROUNDS: usize = 100;
    let (rate, drain) = (Rate::from_bps(200_000_000), 0.9);
    let queue = PhantomQueue::new(rate, drain, Some((Bytes::new(20_000), Bytes::new(60_000)))).unwrap();
    let (once, emulated) = recorded();
    // The port's number in that network, and the seed.
    let draws = (PortId(6), 1);
    let port = by_port(&queue, drain, &once, draws);
    let simulated: Vec<_> = port.iter().map(|outcome| outcome.marked).collect();
    assert!(simulated == emulated, "the emulator's port is the simulator's");

    // What is drawn makes one round differ from another by some percent: each begins long after the one before, with an empty counter.
    let round = once.last().unwrap().at_ns + 1_000_000_000;
    let rounds = (0..ROUNDS as u64).flat_map(|n| {
        once.iter().map(move |arrival| Arrival { at_ns: n * round + arrival.at_ns, size: arrival.size })
    });
    let all: Vec<_> = rounds.collect();
    let Some(program) = by_program(&queue, &all) else { return };
    let port = by_port(&queue, drain, &all, draws);
    hold_to_one_counter(&program, &port, "recorded");
    let (ours, theirs) = (marks(&program), marks(&port));
    let emulated = emulated.iter().filter(|marked| **marked).count();
    eprintln!(
        "{} packets: {emulated} marks in the emulator; means of {ROUNDS} rounds: {} by the program, {} at the port",
        once.len(),
        ours / ROUNDS as f64,
        theirs / ROUNDS as f64
    );
    let (ours, theirs) = (ours / ROUNDS as f64, theirs / ROUNDS as f64);
    for others in [theirs, emulated as f64] {
        assert!((ours / others - 1.0).abs() <= 0.02, "{ours} marks, and {others}");
    }
    let said = format!(
        "marked {emulated} of them: means of {ROUNDS} rounds are {ours:.0} by this program and {theirs:.0} by the simulator's port"
    );
    let page =
        include_str!("../../../../docs/src/kernel.md").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains(&said), "docs/src/kernel.md does not say: {said}");
}

#[test]
fn only_packets_that_are_ecn_capable_are_marked_and_all_of_them_count() {
    let queue = PhantomQueue::new(Rate::from_gbps(1), 0.9, Some((Bytes::new(0), Bytes::new(1)))).unwrap();
    let arrivals = [Arrival { at_ns: 1, size: 1500 }];
    let Some(outcomes) = by_program(&queue, &arrivals) else { return };
    // It saturates at 4/3 of the larger threshold.
    assert!(outcomes[0].marked && outcomes[0].level <= 1);
}
