//! Phantom queues on ports.

use super::{Lab, code, eventually};
use crate::common::stderr;
use std::io::{BufRead as _, BufReader};

/// Counts what comes in: packets, and those with CE. It ends with packet 1,500, or when nothing has come for 20 s.
const COUNT: &str = "
import socket, struct, sys
family, host = (socket.AF_INET, '10.9.0.2') if sys.argv[1] == '4' else (socket.AF_INET6, 'fd99::2')
s = socket.socket(family, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
if sys.argv[1] == '4': s.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
else: s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
s.bind((host, 7001))
print('listening', flush=True)
s.settimeout(20)
packets = marked = 0
try:
    while packets < 1500:
        data, extra, _, _ = s.recvmsg(2000, 64)
        packets += 1
        marked += any(value[0] & 3 == 3 for _, _, value in extra)
except TimeoutError: pass
print(packets, marked)
";

/// Sends 1,500 datagrams with these ECN bits, some 5,000 in a second.
const SEND: &str = "
import socket, sys, time
v4, ecn = sys.argv[1] == '4', int(sys.argv[2])
s = socket.socket(socket.AF_INET if v4 else socket.AF_INET6, socket.SOCK_DGRAM)
if v4: s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ecn)
else: s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, ecn)
for n in range(1500):
    s.sendto(bytes(1000), ('10.9.0.2' if v4 else 'fd99::2', 7001))
    if n % 10 == 9: time.sleep(0.002)
";

/// Sends 1,500 datagrams; gives those that arrive at `b`: packets, and those with CE.
fn arrivals(lab: &Lab, family: &str, ecn: &str) -> [u64; 2] {
    let mut counter = lab.python("b", COUNT, &[family]);
    let mut said = BufReader::new(counter.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(lab.python("a", SEND, &[family, ecn]).wait().unwrap().success());
    line.clear();
    said.read_line(&mut line).unwrap();
    counter.wait().unwrap();
    let mut numbers = line.split_ascii_whitespace().map(|number| number.parse().unwrap());
    [numbers.next().unwrap(), numbers.next().unwrap()]
}

#[test]
fn a_phantom_queue_marks_packets_that_are_ecn_capable_and_no_others() {
    let Some(lab) = Lab::new() else { return };
    // Some 40 Mbit/s are sent, fewer on a busy machine: the counter drains at 0.9 and is soon full.
    let attach =
        ["mark", "--dev", "va", "--netns", "a", "--rate", "1Mbps", "--k-min", "20KB", "--k-max", "60KB"];
    for family in ["4", "6"] {
        for (ecn, is_capable) in [("0", false), ("1", true), ("2", true)] {
            // Anew each time, so that the counter begins empty.
            let text = lab.kernel(&attach);
            assert!(text.contains("gso_max_segs 1"), "{text}");
            let before = lab.ports("va", "a");
            assert_eq!(before["k_max_bytes"], 60_000);
            let [packets, marked] = arrivals(&lab, family, ecn);
            let after = lab.ports("va", "a");
            let counted = |key: &str| after[key].as_u64().unwrap() - before[key].as_u64().unwrap();
            assert_eq!(packets, 1500, "IPv{family}, ECN {ecn}");
            assert_eq!(marked, counted("marked"), "IPv{family}, ECN {ecn}: what is marked arrives marked");
            assert!(counted("packets") >= 1500 && counted("bytes") >= 1500 * 1042);
            if is_capable {
                assert!((500..1500).contains(&marked), "IPv{family}, ECN {ecn}: {marked} marks");
            } else {
                assert_eq!(marked, 0);
                assert!(counted("not_ect") >= 1500);
            }
        }
        let [_, marked] = arrivals(&lab, family, "3");
        assert_eq!(marked, 1500, "marks of others stay");
        assert!(lab.ports("va", "a")["already_marked"].as_u64().unwrap() >= 1500);
    }
    let text = lab.kernel(&attach);
    assert!(text.contains("in place of the old one"), "{text}");
    assert!(lab.ports("va", "a")["packets"].as_u64().unwrap() < 1500, "counts begin anew");
    lab.kernel(&["mark", "--dev", "va", "--netns", "a", "--remove"]);
    assert!(!lab.run(&["ip", "netns", "exec", "a", "tc", "qdisc", "show", "dev", "va"]).contains("clsact"));
    assert_eq!(arrivals(&lab, "4", "2"), [1500, 0]);
    let gone = lab.farspan(&["mark", "--dev", "va", "--netns", "a", "--status"]);
    assert_eq!(code(&gone), 2);
    assert!(stderr(&gone).contains("has no phantom queue"), "{}", stderr(&gone));
}

#[test]
fn a_phantom_queue_leaves_the_programs_of_others_alone() {
    let Some(lab) = Lab::new() else { return };
    let at_a = |words: &[&str]| lab.run(&[&["ip", "netns", "exec", "a", "tc"], words].concat());
    at_a(&["qdisc", "add", "dev", "va", "clsact"]);
    at_a(&["filter", "add", "dev", "va", "ingress", "prio", "7", "bpf", "bytecode", "1,6 0 0 0"]);
    lab.kernel(&["mark", "--dev", "va", "--netns", "a", "--rate", "1Gbps"]);
    lab.kernel(&["mark", "--dev", "va", "--netns", "a", "--remove"]);
    assert!(at_a(&["filter", "show", "dev", "va", "ingress"]).contains("pref 7"));
    at_a(&["filter", "del", "dev", "va", "ingress"]);
    lab.kernel(&["mark", "--dev", "va", "--netns", "a", "--rate", "1Gbps"]);
    lab.kernel(&["mark", "--dev", "va", "--netns", "a", "--remove"]);
    assert!(at_a(&["qdisc", "show", "dev", "va"]).contains("clsact"), "it was there before");
    at_a(&[
        "filter",
        "add",
        "dev",
        "va",
        "egress",
        "prio",
        "4005",
        "handle",
        "1",
        "bpf",
        "bytecode",
        "1,6 0 0 0",
    ]);
    for words in [&["--rate", "1Gbps"][..], &["--remove"], &["--status"]] {
        let output = lab.farspan(&[&["mark", "--netns", "a", "--dev", "va"], words].concat());
        assert_eq!(code(&output), 2, "{words:?}: {}", stderr(&output));
    }
    assert!(at_a(&["filter", "show", "dev", "va", "egress"]).contains("pref 4005"));
    at_a(&["qdisc", "del", "dev", "va", "clsact"]);
    at_a(&["qdisc", "add", "dev", "va", "ingress"]);
    let output = lab.farspan(&["mark", "--netns", "a", "--dev", "va", "--rate", "1Gbps"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("`ingress` qdisc"), "{}", stderr(&output));
    at_a(&["qdisc", "del", "dev", "va", "ingress"]);
    for (words, expected) in [
        (&["--dev", "none", "--rate", "1Gbps"][..], "no device none"),
        (&["--dev", "va", "--rate", "1Gbps", "--drain", "1.5"], "--drain 1.5"),
        (&["--dev", "va", "--rate", "1Gbps", "--k-min", "2KB", "--k-max", "1KB"], "--k-min 2000"),
        (&["--dev", "va", "--rate", "1Gbps", "--k-min", "2KB"], "--k-max"),
        (&["--dev", "va"], "--rate"),
    ] {
        let output = lab.farspan(&[&["mark", "--netns", "a"], words].concat());
        assert_eq!(code(&output), 2, "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{words:?}: {}", stderr(&output));
    }
}

#[test]
fn a_super_packet_counts_with_its_bytes_and_is_marked_once() {
    let Some(lab) = Lab::new() else { return };
    for host in ["a", "b"] {
        lab.run(&["ip", "netns", "exec", host, "sysctl", "-w", "net.ipv4.tcp_ecn=1"]);
    }
    let attach =
        ["mark", "--dev", "va", "--netns", "a", "--rate", "100Mbps", "--k-min", "0B", "--k-max", "1B"];
    lab.kernel(&attach);
    let flow = lab.flow();
    let port = || lab.ports("va", "a");
    assert!(eventually(|| port()["segments"].as_u64() > port()["packets"].as_u64()), "{}", port());
    let counted = port();
    let count = |key: &str| counted[key].as_u64().unwrap();
    assert_eq!(count("marked"), count("packets") - count("not_ect") - count("already_marked"), "{counted}");
    drop(flow);
    // The cure: no super-packets.
    lab.run(&["ip", "-n", "a", "link", "set", "va", "gso_max_segs", "1"]);
    lab.kernel(&attach);
    let flow = lab.flow();
    assert!(eventually(|| port()["packets"].as_u64().unwrap() > 100), "{}", port());
    let counted = port();
    assert_eq!(counted["segments"], counted["packets"]);
    drop(flow);
}

#[test]
fn marks_of_a_phantom_queue_reach_a_sender_whose_peer_has_the_control_too() {
    let Some(lab) = Lab::new() else { return };
    for control in ["gemini", "unocc"] {
        lab.kernel(&["install", control, "--as", &lab.name, "--netns", "b"]);
        lab.kernel(&["install", control, "--as", &lab.name, "--netns", "a"]);
        lab.kernel(&[
            "mark", "--dev", "va", "--netns", "a", "--rate", "20Mbps", "--k-min", "10KB", "--k-max", "50KB",
        ]);
        let flow = lab.flow();
        let marked = || {
            let status = lab.status();
            let sockets = status["sockets"].as_array().unwrap();
            sockets.iter().filter_map(|socket| socket["delivered_ce"].as_u64()).max().unwrap_or_default()
        };
        assert!(eventually(|| marked() > 10), "{control}: {}", lab.status());
        let page = lab.kernel(&["status", &lab.name]);
        assert!(page.contains("10.9.0.2:7000") && page.contains('%'), "{page}");
        drop(flow);
        lab.kernel(&["remove", &lab.name]);
        lab.assert_clear();
    }
}
