//! Packets that cross an emulation: none is lost in the books, and none is early.
#![expect(clippy::disallowed_types, reason = "programs have real sockets")]

use crate::lab::{can_run, run};
use farspan_emu::prepare_host;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto, recv, sendto, socket};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

const STAR: &str = r#"
host.jitter = "0ns"
transport = { payload = "1436B", header = "64B" }
topology = { kind = "star", hosts = 3, link_rate = "200Mbps", link_delay = "5ms", buffer = "100KB" }
"#;

/// A counter of UDP datagrams, which says when it is ready: how many each receiver got, and how many more than once.
fn receive(address: &str, ready: &mpsc::Sender<()>, quiet: Duration) -> (u64, u64) {
    let socket = UdpSocket::bind(address).unwrap();
    socket.set_read_timeout(Some(quiet)).unwrap();
    rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, 64 << 20).unwrap();
    ready.send(()).unwrap();
    let (mut seen, mut buffer, mut received, mut twice) = (Vec::new(), [0; 2048], 0, 0);
    while let Ok(length) = socket.recv(&mut buffer) {
        let number = u32::from_be_bytes(buffer[..4].try_into().unwrap()) as usize;
        assert!(length >= 4);
        if seen.len() <= number {
            seen.resize(number + 1, false);
        }
        twice += u64::from(std::mem::replace(&mut seen[number], true));
        received += 1;
    }
    (received, twice)
}

/// Sends numbered datagrams to an address, in bursts of ten each so often.
fn send(from: &str, to: &str, count: u32, size: usize, pause: Duration) {
    let socket = UdpSocket::bind(from).unwrap();
    let to: SocketAddr = to.parse().unwrap();
    let mut payload = vec![0; size];
    for number in 0..count {
        payload[..4].copy_from_slice(&number.to_be_bytes());
        socket.send_to(&payload, to).unwrap();
        if number % 10 == 9 {
            std::thread::park_timeout(pause);
        }
    }
}

#[test]
fn every_datagram_is_delivered_once_or_counted_where_it_was_dropped() {
    const COUNT: u32 = 10_000;
    if !can_run() {
        return;
    }
    let mut received = [(0, 0); 2];
    let results = run("counter", STAR, |hosts| {
        let (v4, v6) = ("10.0.0.3:7000", "[fd66:6172:7370::3]:7001");
        // Two hosts send at up to 200 Mbit/s each into one of 200: some is dropped.
        let (ready, are_ready) = mpsc::channel();
        std::thread::scope(|scope| {
            let (quiet, also_ready) = (Duration::from_secs(2), ready.clone());
            let first = scope.spawn(move || hosts.at(2, || receive(v4, &ready, quiet)));
            let second = scope.spawn(move || hosts.at(2, || receive(v6, &also_ready, quiet)));
            (0..2).for_each(|_| are_ready.recv_timeout(Duration::from_secs(10)).unwrap());
            let pause = Duration::from_micros(350);
            scope.spawn(move || hosts.at(0, || send("0.0.0.0:0", v4, COUNT, 1400, pause)));
            scope.spawn(move || hosts.at(1, || send("[::]:0", v6, COUNT, 1400, pause)));
            received = [first.join().unwrap(), second.join().unwrap()];
        });
    });
    let judged = results.summary.emulation.unwrap();
    let packets = judged.packets;
    eprintln!("{judged:?}");
    assert!(packets.conserved(), "{packets:?}");
    assert_eq!(
        packets.read + judged.unread_drops,
        2 * u64::from(COUNT),
        "each was read, or counted by the kernel"
    );
    assert_eq!(received.map(|(_, twice)| twice), [0, 0]);
    let [(first, _), (second, _)] = received;
    assert_eq!(first + second, packets.delivered, "what the network delivered, programs got");
    let ports: u64 = results.ports.iter().map(|port| port.drops).sum();
    assert_eq!(ports, packets.dropped + packets.lost, "ports count what the document counts");
    assert_eq!(packets.under_way + packets.unrouted + packets.expired + packets.refused, 0);
    assert_eq!(judged.unread_drops > 0, judged.reasons.iter().any(|reason| reason.contains("kernel")));
}

#[test]
fn what_a_program_sends_too_fast_waits_at_its_host() {
    const COUNT: u32 = 5000;
    if !can_run() {
        return;
    }
    let mut received = None;
    let results = run("patient", STAR, |hosts| {
        if !hosts.have_queues() {
            return;
        }
        let to = "10.0.0.3:7000";
        let (ready, are_ready) = mpsc::channel();
        std::thread::scope(|scope| {
            let receiver = scope.spawn(move || hosts.at(2, || receive(to, &ready, Duration::from_secs(2))));
            are_ready.recv_timeout(Duration::from_secs(10)).unwrap();
            hosts.at(0, || send("0.0.0.0:0", to, COUNT, 1400, Duration::ZERO));
            received = Some(receiver.join().unwrap());
        });
    });
    let judged = results.summary.emulation.unwrap();
    let host = results.ports.iter().find(|port| port.name.starts_with("host0->")).unwrap();
    eprintln!("{received:?} {host:?} {judged:?}");
    let Some(received) = received else { return };
    assert_eq!(received, (u64::from(COUNT), 0));
    // The program waited for its socket: the host's port had half a millisecond of it at once, and what was read late. A thousand packets
    // are 1.4 MB.
    assert_eq!((judged.packets.dropped, judged.unread_drops), (0, 0));
    assert!(host.max_queue.get() < 700_000, "{host:?}");
}

#[test]
fn what_still_waits_at_a_host_and_what_found_no_room_there_is_counted() {
    if !can_run() {
        return;
    }
    // Nobody reads from it; without it the host would answer.
    let mut sink = None;
    let (slow, mut sent) = (STAR.replace("200Mbps", "2Mbps"), None::<u64>);
    let results = run("hasty", &slow, |hosts| {
        if !hosts.have_queues() {
            return;
        }
        sink = Some(hosts.at(2, || UdpSocket::bind("0.0.0.0:7000").unwrap()));
        sent = Some(hosts.at(0, || {
            let sockets = (0..40).map(|_| UdpSocket::bind("0.0.0.0:0").unwrap()).collect::<Vec<_>>();
            let fill = |socket: &UdpSocket| {
                socket.set_nonblocking(true).unwrap();
                let sent = (0..1000).take_while(|_| socket.send_to(&[0; 1400], "10.0.0.3:7000").is_ok());
                sent.count() as u64
            };
            let sent = sockets.iter().map(fill).sum();
            // For as long probes of this host are sent, too.
            std::thread::park_timeout(Duration::from_millis(600));
            sent
        }));
    });
    let judged = results.summary.emulation.unwrap();
    let packets = judged.packets;
    eprintln!("{sent:?} sent: {judged:?}");
    drop(sink);
    let Some(sent) = sent else { return };
    assert!(packets.conserved(), "{packets:?}");
    assert_eq!(packets.read + judged.unread_drops, sent);
    assert!(packets.under_way > 500 && packets.dropped > 500, "{packets:?}");
    // A packet waits for six seconds at the host; probes do not, on whatever machine.
    assert!(judged.read.p99_us.is_some_and(|us| us < 1_000_000.0), "{judged:?}");
    let missing = judged.reasons.iter().any(|reason| reason.contains("probes arrived"));
    assert!(!missing, "{judged:?}");
    let host = results.ports.iter().find(|port| port.name.starts_with("host0->")).unwrap();
    assert_eq!(host.drops, packets.dropped);
}

#[test]
fn a_host_is_prepared_for_measurements_of_tcp() {
    if !can_run() {
        return;
    }
    let mut found = Vec::new();
    run("prepared", STAR, |hosts| {
        found = hosts.at(1, || {
            prepare_host(Some("reno")).unwrap();
            let read = |key| std::fs::read_to_string(format!("/proc/sys/net/ipv4/{key}")).unwrap();
            let keys = ["tcp_no_metrics_save", "tcp_timestamps", "tcp_congestion_control", "tcp_ecn"];
            keys.map(|key| read(key).trim().to_owned()).to_vec()
        });
    });
    assert_eq!(found, ["1", "1", "reno", "1"]);
}

/// An echo request of ICMP (RFC 792).
fn echo_request(number: u16) -> Vec<u8> {
    let mut packet = vec![8, 0, 0, 0, 0x12, 0x34];
    packet.extend(number.to_be_bytes());
    packet.extend([0x55; 56]);
    let words = packet.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    packet[2..4].copy_from_slice(&(!((sum + (sum >> 16)) as u16)).to_be_bytes());
    packet
}

/// Round trips of pings, in order of their length.
fn ping(to: &str, count: u16) -> Vec<Duration> {
    let icmp = icmp_socket();
    let to: SocketAddr = format!("{to}:0").parse().unwrap();
    let mut trips = Vec::new();
    for number in 0..count {
        let began = farspan_world::clock::now();
        sendto(&icmp, &echo_request(number), SendFlags::empty(), &to).unwrap();
        let mut buffer = [0; 2048];
        loop {
            let (length, _) = recv(&icmp, &mut buffer, RecvFlags::empty()).expect("an answer comes");
            let answer = &buffer[20..length];
            if answer[0] == 0 && answer[6..8] == number.to_be_bytes() {
                break;
            }
        }
        trips.push(began.elapsed());
    }
    trips.sort_unstable();
    trips
}

#[test]
fn a_ping_takes_what_the_model_says_and_little_more() {
    if !can_run() {
        return;
    }
    let mut trips = Vec::new();
    let results = run("ping", STAR, |hosts| trips = hosts.at(0, || ping("10.0.0.2", 60)));
    // Two links each way: 5 ms, and 84 bytes at 200 Mbit/s.
    let model = Duration::from_nanos(4 * (5_000_000 + 3_360));
    let (first, median, p99) = (trips[0], trips[trips.len() / 2], trips[trips.len() * 99 / 100]);
    let judged = results.summary.emulation.unwrap();
    eprintln!("ping: model {model:?}, least {first:?}, median {median:?}, p99 {p99:?}; {judged:?}");
    assert!(first >= model, "a packet was early: {first:?}");
    // On a machine that does other things too, an emulation may be late; it then says so.
    let is_close = median - model <= Duration::from_micros(500);
    assert!(is_close || judged.void, "median {median:?} in a run that holds");
    assert_eq!((judged.packets.delivered, judged.packets.read), (120, 120));
}

/// A raw socket that hears of ICMP.
fn icmp_socket() -> OwnedFd {
    let icmp = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)).unwrap();
    let wait = Some(Duration::from_secs(20));
    rustix::net::sockopt::set_socket_timeout(&icmp, rustix::net::sockopt::Timeout::Recv, wait).unwrap();
    icmp
}

/// Who said what by ICMP: address, type, code and second word.
fn said(icmp: &OwnedFd) -> ([u8; 4], u8, u8, u32) {
    let mut buffer = [0; 2048];
    let (length, _) = recv(icmp, &mut buffer, RecvFlags::empty()).expect("somebody says something");
    assert!(length >= 28);
    let word = u32::from_be_bytes(buffer[24..28].try_into().unwrap());
    (buffer[12..16].try_into().unwrap(), buffer[20], buffer[21], word)
}

/// Waits until this host has heard that packets to an address are too big.
fn await_mtu(to: &str) {
    let address = to.parse::<SocketAddr>().unwrap().ip().to_string();
    let knows = || {
        let route = Command::new("ip").args(["route", "get", &address]).output().unwrap();
        String::from_utf8_lossy(&route.stdout).contains(" mtu ")
    };
    while !knows() {
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

#[test]
fn hosts_hear_from_switches_where_packets_end() {
    if !can_run() {
        return;
    }
    let (mut told, mut lengths) = (Vec::new(), [0; 2]);
    let results = run("errors", STAR, |hosts| {
        told = hosts.at(0, || {
            let icmp = icmp_socket();
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            socket.set_ttl(1).unwrap();
            socket.send_to(b"one hop", "10.0.0.3:7000").unwrap();
            let expired = said(&icmp);
            socket.set_ttl(64).unwrap();
            socket.send_to(b"nobody", "10.0.0.77:7000").unwrap();
            vec![expired, said(&icmp)]
        });
        // A host raises its own MTU: what it sends first is too big, and from then on it knows.
        hosts.at(0, || {
            let args = ["link", "set", "dev", "eth0", "mtu", "9000"];
            assert!(Command::new("ip").args(args).status().unwrap().success());
        });
        let (ready, are_ready) = mpsc::channel();
        for (place, (any, to)) in
            [("0.0.0.0:7000", "10.0.0.3:7000"), ("[::]:7001", "[fd66:6172:7370::3]:7001")]
                .into_iter()
                .enumerate()
        {
            let ready = ready.clone();
            lengths[place] = std::thread::scope(|scope| {
                let receiver = scope.spawn(move || {
                    hosts.at(2, || {
                        let socket = UdpSocket::bind(any).unwrap();
                        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
                        ready.send(()).unwrap();
                        socket.recv(&mut [0; 9000]).unwrap()
                    })
                });
                are_ready.recv_timeout(Duration::from_secs(10)).unwrap();
                hosts.at(0, || {
                    let socket = UdpSocket::bind(if place == 0 { "0.0.0.0:0" } else { "[::]:0" }).unwrap();
                    socket.send_to(&[0; 8000], to).unwrap();
                    await_mtu(to);
                    socket.send_to(&[0; 8001], to).unwrap();
                });
                receiver.join().unwrap()
            });
        }
    });
    assert_eq!(told, [([10, 1, 0, 1], 11, 0, 0), ([10, 1, 0, 1], 3, 1, 0)]);
    assert_eq!(lengths, [8001, 8001], "the second is fragmented, and comes");
    let packets = results.summary.emulation.unwrap().packets;
    assert!(packets.conserved(), "{packets:?}");
    assert_eq!((packets.expired, packets.unrouted, packets.too_big, packets.answered), (1, 1, 2, 4));
    let sums = results.summary.packets;
    assert_eq!(sums.sent, sums.delivered + sums.trimmed + sums.dropped + packets.under_way);
}
