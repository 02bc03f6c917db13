//! The emulator against its own model: what its switches do with real packets is what those of the simulator do with packets that
//! come at the same times.
#![expect(clippy::disallowed_types, reason = "programs have real sockets")]

use crate::lab::{can_run, run_observed};
use farspan_emu::{PASS_BY, Seen, run_in_real_time};
use farspan_fabric::switch::PortEvent;
use farspan_scenario::Request;
use farspan_sim::EngineKind;
use farspan_trace::Remark;
use farspan_units::{Bytes, Duration, HostId, PortId, Time};
use farspan_world::World;
use quinn_udp::{RecvMeta, UdpSocketState};
use rustix::net::sockopt::{set_ip_tos, set_socket_recv_buffer_size_force};
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::io::IoSliceMut;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration as Wait;

const SENDERS: u32 = 4;
/// Packets of each sender: 100,000 in all.
const PACKETS: u32 = 25_000;
/// A packet with its IP and UDP headers, which takes 208 us on a link of 50 Mbit/s.
const SIZE: usize = 1300;
const PACKET_NS: u64 = 208_000;
/// The only port that is contended.
const BOTTLENECK: &str = "tor0->tor1#0";
/// The priority of the programs that send, below that of the emulator: delays are to be those of the emulation, and not of a busy machine.
const PRIORITY: i32 = 40;
const LINK_DELAY: Duration = Duration::from_ms(5);
const BOTTLENECK_DELAY: Duration = Duration::from_ms(1);

/// Four senders into one link of the rate of each. Its port marks by RED, and drops.
fn dumbbell(file: &str) -> String {
    format!(
        r#"
host.jitter = "0ns"
stop.time = "40s"
scheme = {{ name = "dctcp", ports = {{ marking = "red", red = {{ min = 0.2, max = 0.8 }}, at = "enqueue" }} }}
topology = {{ kind = "dumbbell", hosts = 4, link_rate = "50Mbps", link_delay = "5ms", bottleneck_delay = "1ms", buffer = "60KB" }}
transport = {{ payload = "1236B", header = "64B", rto = "60s" }}
[[workload]]
kind = "flows"
file = "{file}"
"#
    )
}

/// The fate of a packet at a port: when, how large it was, to which host, marked or not, and whether it was dropped.
type Deed = (Time, Bytes, HostId, bool, bool);

/// Nanoseconds of a clock: sockets stamp what arrives by the real-time clock.
fn now_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Sends packets to a host so many at once, each burst so long after the one before.
fn generate(to: &str, burst: u32, every_ns: u64) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect(to).unwrap();
    // ECT(0) (RFC 3168).
    set_ip_tos(&socket, 2).unwrap();
    // Bursts wait where the simulator has them wait: in the network.
    socket2::SockRef::from(&socket).set_priority(PASS_BY).unwrap();
    let _ = run_in_real_time(PRIORITY);
    let (mut payload, mut at) = (vec![0; SIZE - 28], now_ns(ClockId::Monotonic));
    for n in 0..PACKETS {
        if n % burst == 0 {
            // What a busy machine has held up is not made up for: a host keeps a thousand packets, and the simulator's any number.
            at = (at + every_ns).max(now_ns(ClockId::Monotonic));
            let time = Timespec { tv_sec: (at / 1_000_000_000) as i64, tv_nsec: (at % 1_000_000_000) as _ };
            while clock_nanosleep_absolute(ClockId::Monotonic, &time).is_err() {}
        }
        payload[..8].copy_from_slice(&now_ns(ClockId::Realtime).to_be_bytes());
        socket.send(&payload).unwrap();
    }
}

/// Takes packets, and says when it can, until none comes any more after the last was sent; gives how long each was under way. A full
/// port can keep a constant rate out for seconds (Floyd and Jacobson, 1992), so that silence alone is not the end.
fn sink(ready: &mpsc::Sender<()>, are_sent: &AtomicBool) -> Vec<Duration> {
    let socket = UdpSocket::bind("0.0.0.0:7000").unwrap();
    // The kernel stamps each packet when it comes, so that it does not matter when this thread has its turn.
    let state = UdpSocketState::new((&socket).into()).unwrap();
    set_socket_recv_buffer_size_force(&socket, 64 << 20).unwrap();
    ready.send(()).unwrap();
    let (mut delays, mut buffer, mut quiet) = (Vec::new(), vec![0; 1 << 16], 0);
    while quiet < 50 {
        let mut meta = [RecvMeta::default()];
        let is_over = are_sent.load(Ordering::Relaxed);
        if state.recv((&socket).into(), &mut [IoSliceMut::new(&mut buffer)], &mut meta).is_err() {
            quiet = if is_over { quiet + 1 } else { 0 };
            std::thread::park_timeout(Wait::from_millis(10));
            continue;
        }
        quiet = 0;
        let came = u64::try_from(meta[0].timestamp.unwrap().as_nanos()).unwrap();
        for packet in buffer[..meta[0].len].chunks(meta[0].stride) {
            let sent = u64::from_be_bytes(std::array::from_fn(|n| packet[n]));
            delays.push(Duration::from_ns(came - sent));
        }
    }
    delays
}

/// The deeds of the simulator's port with packets that hosts send at these times.
fn simulated(arrivals: &[(Time, HostId)]) -> Vec<Deed> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("flows.csv");
    let mut list = "src,dst,size_bytes,start_ns\n".to_owned();
    for (at, from) in arrivals {
        let ns = at.since(Time::ZERO).as_ns();
        assert_eq!(Time::ZERO + Duration::from_ns(ns), *at, "real clocks count nanoseconds");
        writeln!(list, "{},{},1236,{ns}", from.0, from.0 + SENDERS).unwrap();
    }
    std::fs::write(&file, list).unwrap();
    let request = Request { text: Some(dumbbell(file.to_str().unwrap())), ..Request::new("model") };
    let mut spec = World::build(&request.resolve().unwrap()).unwrap().spec;
    spec.trace.ports = vec![spec.network.port_named(BOTTLENECK).unwrap()];
    let outcome = farspan_sim::run(&spec, EngineKind::Windowed, &mut |_| true);
    let is_dropped =
        |remarks: &[Remark]| remarks.iter().any(|remark| matches!(remark, Remark::Dropped { .. }));
    let deeds = outcome.trace.packets.iter();
    deeds.map(|event| (event.at, event.size, event.to, event.ecn_ce, is_dropped(&event.remarks))).collect()
}

/// How long packets are under way by the model, by receiver, in the order in which they come. A port drops a packet when it comes, and what stays leaves in the order in which it
/// was sent; behind the port all links are empty.
fn model_delays(arrivals: &[(Time, HostId)], deeds: &[Deed]) -> Vec<Vec<Duration>> {
    let packet = Duration::from_ns(PACKET_NS);
    let drops: BTreeSet<_> = deeds.iter().filter(|deed| deed.4).map(|deed| (deed.0, deed.2)).collect();
    let mut kept = vec![VecDeque::new(); SENDERS as usize];
    let mut free_at = [Time::ZERO; SENDERS as usize];
    for (at, from) in arrivals {
        let free_at = &mut free_at[from.index()];
        *free_at = (*free_at).max(*at) + packet;
        if !drops.contains(&(*free_at + LINK_DELAY, HostId(from.0 + SENDERS))) {
            kept[from.index()].push_back(*at);
        }
    }
    let after = BOTTLENECK_DELAY + packet + LINK_DELAY;
    let mut delays = vec![Vec::new(); SENDERS as usize];
    for (at, _, to, ..) in deeds.iter().filter(|deed| !deed.4) {
        let receiver = (to.0 - SENDERS) as usize;
        delays[receiver].push(at.since(kept[receiver].pop_front().unwrap()) + after);
    }
    delays
}

/// Holds an emulation to the simulator: what the port does, and delays. No packet may be early. A busy machine makes packets late, but never
/// all of them: a hundredth must be as late as a run that holds may be, or less. A wrong delay would shift every packet.
fn hold_to_the_model(name: &str, burst: u32, every_ns: u64) {
    let (to, from) = mpsc::channel();
    let observed = move |now: Time, seen: Seen<'_>| {
        let _ = match seen {
            Seen::Sent(host, packet) if packet.size().get() == SIZE as u64 => to.send((now, Err(host))),
            Seen::AtPort(port, PortEvent::Left(packet, _)) => {
                to.send((now, Ok((port, packet.size(), packet.to(), packet.ecn_ce(), false))))
            }
            Seen::AtPort(port, PortEvent::Dropped(packet, _)) => {
                to.send((now, Ok((port, packet.size(), packet.to(), packet.ecn_ce(), true))))
            }
            _ => Ok(()),
        };
    };
    let mut delays = Vec::new();
    let results = run_observed(name, &dumbbell("no-flows.csv"), Box::new(observed), |hosts| {
        let ((ready, are_ready), are_sent) = (mpsc::channel(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let (mut sinks, are_sent) = (Vec::new(), &are_sent);
            for n in SENDERS..2 * SENDERS {
                let ready = ready.clone();
                sinks.push(scope.spawn(move || hosts.at(n as usize, || sink(&ready, are_sent))));
            }
            (0..SENDERS).for_each(|_| are_ready.recv_timeout(Wait::from_secs(10)).unwrap());
            std::thread::scope(|scope| {
                for n in 0..SENDERS {
                    let to = format!("10.0.0.{}:7000", n + SENDERS + 1);
                    scope.spawn(move || hosts.at(n as usize, || generate(&to, burst, every_ns)));
                }
            });
            are_sent.store(true, Ordering::Relaxed);
            delays = sinks.into_iter().map(|sink| sink.join().unwrap()).collect::<Vec<_>>();
        });
    });
    let judged = results.summary.emulation.unwrap();
    let port_id = results.ports.iter().position(|port| port.name == BOTTLENECK);
    let port_id = PortId(u32::try_from(port_id.unwrap()).unwrap());
    let (mut arrivals, mut ours) = (Vec::new(), Vec::new());
    for (at, seen) in from {
        match seen {
            Err(host) => arrivals.push((at, host)),
            Ok((port, size, to, ce, dropped)) if port == port_id => ours.push((at, size, to, ce, dropped)),
            Ok(_) => {}
        }
    }
    let count = |deeds: &[Deed]| {
        let dropped = deeds.iter().filter(|deed| deed.4).count();
        (dropped, deeds.iter().filter(|deed| deed.3 && !deed.4).count())
    };
    let theirs = simulated(&arrivals);
    let ((dropped, marked), (their_drops, their_marks)) = (count(&ours), count(&theirs));
    eprintln!(
        "{name}: {} arrivals, emulated {dropped} drops and {marked} marks, simulated {their_drops} and {their_marks}; {judged:?}",
        arrivals.len()
    );

    assert_eq!(arrivals.len() as u64 + judged.unread_drops, u64::from(SENDERS * PACKETS));
    assert!(dropped > 10_000 && marked > 5_000, "the port is overloaded: {dropped} drops, {marked} marks");
    assert_eq!(ours.len(), theirs.len());
    for (n, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "deed {n} of the port");
    }
    let model = model_delays(&arrivals, &theirs);
    let counts = |delays: &[Vec<Duration>]| delays.iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(counts(&delays), counts(&model), "what the model delivers, programs got");
    let late = delays.iter().flatten().zip(model.iter().flatten()).map(|(emulated, simulated)| {
        assert!(emulated >= simulated, "a packet came after {emulated}, the model says {simulated}");
        *emulated - *simulated
    });
    let mut late: Vec<_> = late.collect();
    late.sort_unstable();
    let [least, median, most] = [0.01, 0.5, 0.99].map(|q| late[(late.len() as f64 * q) as usize]);
    eprintln!("{name}: 1% of the packets are up to {least} late, 50% {median}, 99% {most}");
    assert!(least.as_us_f64() <= judged.bound_p99_us, "nearly all are {least} late, or more");
    assert!(
        judged.void || median.as_us_f64() <= judged.bound_p99_us,
        "half are {median} late in a run that holds"
    );
}

#[test]
fn a_constant_rate_meets_the_port_of_the_simulator() {
    if can_run() {
        hold_to_the_model("constant", 1, PACKET_NS);
    }
}

#[test]
fn bursts_meet_the_port_of_the_simulator() {
    if can_run() {
        // Bursts of 50 packets, and as long a silence after each.
        hold_to_the_model("bursts", 50, 100 * PACKET_NS);
    }
}
