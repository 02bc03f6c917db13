//! Controls under networks that misbehave: connections never stand still, and windows stay within their bounds, as `status` reads them.

use super::{Flow, Lab, eventually};
use crate::common::Folder;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::Command;

const CONTROLS: [&str; 2] = ["gemini", "unocc"];
const LEAST: u64 = 3;
const MOST: u64 = 60;

/// Programs for `tc`, by which a network misbehaves: each packet of IPv4 that comes in loses its ECN bits; a tenth is dropped; or is put
/// into the slow one of two classes.
const PROGRAMS: &str = r#"
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#define SEC(name) __attribute__((section(name), used))

static long (*bpf_get_prandom_u32)(void) = (void *)BPF_FUNC_get_prandom_u32;
static long (*bpf_skb_load_bytes)(const void *packet, __u32 at, void *to, __u32 size) = (void *)BPF_FUNC_skb_load_bytes;
static long (*bpf_skb_store_bytes)(void *packet, __u32 at, const void *from, __u32 size, __u64 flags) = (void *)BPF_FUNC_skb_store_bytes;
static long (*bpf_l3_csum_replace)(void *packet, __u32 at, __u64 from, __u64 to, __u64 size) = (void *)BPF_FUNC_l3_csum_replace;

SEC("bleach") int on_bleach(struct __sk_buff *packet)
{
	__u8 old[2], new[2];

	if (bpf_skb_load_bytes(packet, 14, old, 2) || old[0] >> 4 != 4 || !(old[1] & 3))
		return TC_ACT_OK;
	new[0] = old[0];
	new[1] = old[1] & ~3;
	bpf_l3_csum_replace(packet, 24, *(__u16 *)old, *(__u16 *)new, 2);
	bpf_skb_store_bytes(packet, 14, new, 2, 0);
	return TC_ACT_OK;
}

SEC("lose") int on_lose(struct __sk_buff *packet)
{
	return (__u32)bpf_get_prandom_u32() % 10 ? TC_ACT_OK : TC_ACT_SHOT;
}

SEC("overtake") int on_overtake(struct __sk_buff *packet)
{
	return (__u32)bpf_get_prandom_u32() % 10 ? 0x10001 : 0x10002;
}

char _license[] SEC("license") = "GPL";
"#;

/// Compiles the programs; `None`: this machine cannot.
fn programs(folder: &Folder) -> Option<String> {
    let (source, object) = (folder.path("network.c"), folder.path("network.o"));
    std::fs::write(&source, PROGRAMS).unwrap();
    let machine = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    let mut clang = Command::new("clang");
    clang.args(["-target", "bpf", "-O2", "-g", "-idirafter", &machine, "-c", &source, "-o", &object]);
    match clang.output() {
        Ok(output) if output.status.success() => Some(object),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(said.contains("file not found"), "{said}");
            farspan_skip::skip(
                "linux-libc-dev",
                &format!("no network misbehaves: apt install linux-libc-dev: {said}"),
            );
            None
        }
        Err(error) => {
            farspan_skip::skip("clang", &format!("no network misbehaves: apt install clang: {error}"));
            None
        }
    }
}

/// A lab whose hosts `a` and `b` have the control, with bounds.
fn lab(control: &str) -> Option<Lab> {
    let lab = Lab::new()?;
    let bounds = [format!("min_cwnd={LEAST}"), format!("max_cwnd={MOST}"), "line_rate=10Gbps".to_owned()];
    let bounds = bounds.iter().flat_map(|bound| ["--set", bound]);
    let install = ["install", control, "--as", &lab.name, "--netns", "b"].into_iter().chain(bounds);
    lab.kernel(&install.collect::<Vec<_>>());
    lab.kernel(&["install", control, "--as", &lab.name, "--netns", "a"]);
    Some(lab)
}

fn tc(lab: &Lab, host: &str, words: &[&str]) {
    lab.run(&[&["ip", "netns", "exec", host, "tc"], words].concat());
}

fn windows(status: &Value) -> Vec<u64> {
    let sockets = status["sockets"].as_array().unwrap().iter();
    let open = sockets.filter(|socket| socket["state"] == "ESTAB");
    open.filter_map(|socket| socket["cwnd"].as_u64()).collect()
}

/// The connection goes on, for so many packets; its windows are looked at meanwhile. A time-out leaves one packet.
#[track_caller]
fn goes_on(lab: &Lab, packets: u64) -> u64 {
    let (before, mut seen) = (lab.delivered(), Vec::new());
    let moves = eventually(|| {
        let status = lab.status();
        seen.extend(windows(&status));
        lab.delivered() >= before + packets
    });
    assert!(moves, "the connection stands still at {}: {}", lab.delivered(), lab.status());
    assert!(!seen.is_empty() && seen.iter().all(|cwnd| (1..=MOST).contains(cwnd)), "windows of {seen:?}");
    *seen.last().unwrap()
}

/// The largest of a number of the connections of `a`, as `ss` shows it (`retrans:NOW/ALL`, `reord_seen:ALL`).
fn counted(lab: &Lab, number: &str) -> u64 {
    let said = lab.run(&["ip", "netns", "exec", "a", "ss", "-tinH"]);
    let values = said.split_whitespace().filter_map(|word| word.strip_prefix(number)?.split('/').next_back());
    values.filter_map(|value| value.parse().ok()).max().unwrap_or_default()
}

#[test]
fn a_storm_of_marks_leaves_the_smallest_window_and_the_flow_goes_on() {
    for control in CONTROLS {
        let Some(lab) = lab(control) else { return };
        let flow = lab.flow();
        goes_on(&lab, 200);
        lab.kernel(&[
            "mark", "--dev", "va", "--netns", "a", "--rate", "1Mbps", "--k-min", "0B", "--k-max", "1B",
        ]);
        let is_small = || windows(&lab.status()).contains(&LEAST);
        assert!(eventually(is_small), "{control}: {}", lab.status());
        goes_on(&lab, 50);
        lab.kernel(&["mark", "--dev", "va", "--netns", "a", "--remove"]);
        let grows = || windows(&lab.status()).iter().any(|cwnd| *cwnd > 2 * LEAST);
        assert!(eventually(grows), "{control}: {}", lab.status());
        drop(flow);
    }
}

#[test]
fn round_trips_that_jump_stop_no_flow() {
    for control in CONTROLS {
        let Some(lab) = lab(control) else { return };
        let flow = lab.flow();
        goes_on(&lab, 200);
        for rate in ["2mbit", "1gbit", "2mbit", "1gbit"] {
            tc(
                &lab,
                "a",
                &[
                    "qdisc", "replace", "dev", "va", "root", "tbf", "rate", rate, "burst", "20kb", "limit",
                    "300kb",
                ],
            );
            goes_on(&lab, 100);
        }
        drop(flow);
    }
}

#[test]
fn marks_that_the_network_wipes_out_reach_nobody_and_the_flow_goes_on() {
    let folder = Folder::new("kernel-bleach");
    let Some(object) = programs(&folder) else { return };
    for control in CONTROLS {
        let Some(lab) = lab(control) else { return };
        tc(&lab, "b", &["qdisc", "add", "dev", "vb", "clsact"]);
        tc(
            &lab,
            "b",
            &["filter", "add", "dev", "vb", "ingress", "bpf", "da", "obj", &object, "sec", "bleach"],
        );
        lab.kernel(&[
            "mark", "--dev", "va", "--netns", "a", "--rate", "1Mbps", "--k-min", "0B", "--k-max", "1B",
        ]);
        let flow = lab.flow();
        goes_on(&lab, 2000);
        assert!(lab.ports("va", "a")["marked"].as_u64().unwrap() > 50, "{}", lab.ports("va", "a"));
        let status = lab.status();
        let echoed = |socket: &Value| socket["delivered_ce"].as_u64().unwrap_or_default();
        assert_eq!(
            status["sockets"].as_array().unwrap().iter().map(echoed).max(),
            Some(0),
            "{control}: {status}"
        );
        drop(flow);
    }
}

#[test]
fn a_tenth_of_the_packets_lost_stops_no_flow() {
    let folder = Folder::new("kernel-lose");
    let Some(object) = programs(&folder) else { return };
    for control in CONTROLS {
        let Some(lab) = lab(control) else { return };
        // A super-packet would be lost as one.
        lab.run(&["ip", "-n", "a", "link", "set", "va", "gso_max_segs", "1"]);
        let flow = lab.flow();
        tc(&lab, "b", &["qdisc", "add", "dev", "vb", "clsact"]);
        tc(&lab, "b", &["filter", "add", "dev", "vb", "ingress", "bpf", "da", "obj", &object, "sec", "lose"]);
        goes_on(&lab, 300);
        goes_on(&lab, 300);
        // Half as many as a tenth at least.
        let (again, delivered) = (counted(&lab, "retrans:"), lab.delivered());
        assert!(again > delivered / 20, "{control}: {again} sent again, {delivered} delivered");
        drop(flow);
    }
}

#[test]
fn packets_that_overtake_each_other_stop_no_flow() {
    let folder = Folder::new("kernel-overtake");
    let Some(object) = programs(&folder) else { return };
    for control in CONTROLS {
        let Some(lab) = lab(control) else { return };
        lab.run(&["ip", "-n", "a", "link", "set", "va", "gso_max_segs", "1"]);
        tc(&lab, "a", &["qdisc", "replace", "dev", "va", "root", "handle", "1:", "htb", "default", "1"]);
        for (class, rate) in [("1:1", "1gbit"), ("1:2", "20mbit")] {
            tc(
                &lab,
                "a",
                &[
                    "class", "add", "dev", "va", "parent", "1:", "classid", class, "htb", "rate", rate,
                    "ceil", rate,
                ],
            );
        }
        tc(
            &lab,
            "a",
            &["filter", "add", "dev", "va", "parent", "1:", "bpf", "obj", &object, "sec", "overtake"],
        );
        let flow = lab.flow();
        goes_on(&lab, 1000);
        goes_on(&lab, 1000);
        let overtaken = counted(&lab, "reord_seen:");
        assert!(overtaken > 0, "{control}: no packet overtook another");
        drop(flow);
    }
}

/// Listens at `a` under the control, and sends to whoever connects.
const SENDER: &str = "
import socket, time
listener = socket.create_server(('10.9.0.1', 7002))
print('listening', flush=True)
peer, _ = listener.accept()
try:
    while True:
        peer.sendall(bytes(100000))
        time.sleep(0.01)
except OSError: pass
";

const RECEIVER: &str = "
import socket
s = socket.create_connection(('10.9.0.1', 7002))
print('connected', flush=True)
while s.recv(1 << 16): pass
";

/// A peer with plain ECN repeats a mark until the sender says that it has cut.
#[test]
fn a_peer_that_repeats_marks_stops_no_flow() {
    for control in CONTROLS {
        let Some(lab) = lab(control) else { return };
        lab.set("b", "net.ipv4.tcp_congestion_control=reno");
        lab.kernel(&[
            "mark", "--dev", "va", "--netns", "a", "--rate", "20Mbps", "--k-min", "10KB", "--k-max", "50KB",
        ]);
        let mut ends = Vec::new();
        for (host, program, said) in [("a", SENDER, "listening\n"), ("b", RECEIVER, "connected\n")] {
            let mut end = lab.python(host, program, &[]);
            let mut line = String::new();
            BufReader::new(end.stdout.take().unwrap()).read_line(&mut line).unwrap();
            assert_eq!(line, said);
            ends.push(end);
        }
        let flow = Flow { ends };
        goes_on(&lab, 500);
        goes_on(&lab, 500);
        let (status, marked) = (lab.status(), lab.ports("va", "a")["marked"].as_u64().unwrap());
        let sockets = status["sockets"].as_array().unwrap().iter();
        let echoed = sockets.filter_map(|socket| socket["delivered_ce"].as_u64()).max().unwrap_or_default();
        assert!(marked > 0 && echoed > 0, "{control}: {marked} marks were echoed for {echoed} packets");
        drop(flow);
    }
}

/// 1,000 connections at once, each with 20 KB of its own; they close when the standard input of the client does.
const MANY_SERVER: &str = "
import selectors, socket
listener = socket.create_server(('10.9.0.2', 7000), backlog=1024)
print('listening', flush=True)
ready, done = selectors.DefaultSelector(), 0
ready.register(listener, selectors.EVENT_READ)
while done < 1000:
    for key, _ in ready.select():
        if key.fileobj is listener:
            ready.register(listener.accept()[0], selectors.EVENT_READ, [0])
            continue
        data = key.fileobj.recv(1 << 16)
        key.data[0] += len(data)
        if not data:
            assert key.data[0] == 20000, key.data
            ready.unregister(key.fileobj)
            key.fileobj.close()
            done += 1
print('done', flush=True)
";

const MANY_CLIENT: &str = "
import socket, sys, time
flows = [socket.create_connection(('10.9.0.2', 7000)) for _ in range(1000)]
print('connected', flush=True)
for part in range(20):
    for flow in flows: flow.sendall(bytes(1000))
    time.sleep(0.1)
sys.stdin.read()
for flow in flows: flow.close()
";

#[test]
fn a_thousand_connections_have_windows_within_bounds_and_end() {
    for control in CONTROLS {
        let Some(lab) = lab(control) else { return };
        lab.kernel(&[
            "mark", "--dev", "va", "--netns", "a", "--rate", "20Mbps", "--k-min", "10KB", "--k-max", "50KB",
        ]);
        let mut server = lab.python("b", MANY_SERVER, &[]);
        let mut said = BufReader::new(server.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let mut client = lab.python("a", MANY_CLIENT, &[]);
        let mut connected = String::new();
        BufReader::new(client.stdout.take().unwrap()).read_line(&mut connected).unwrap();
        assert_eq!((line.as_str(), connected.as_str()), ("listening\n", "connected\n"));
        let windows = windows(&lab.status());
        assert!(windows.len() >= 1000, "{control}: {} connections", windows.len());
        assert!(windows.iter().all(|cwnd| (1..=MOST).contains(cwnd)), "{control}: {windows:?}");
        drop(client.stdin.take());
        line.clear();
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "done\n", "{control}");
        assert!(client.wait().unwrap().success() && server.wait().unwrap().success());
    }
}

#[test]
fn programs_are_replaced_and_a_namespace_is_deleted_under_live_connections() {
    for control in CONTROLS {
        let Some(lab) = lab(control) else { return };
        let flow = lab.flow();
        for round in 0..3 {
            let bound = format!("min_cwnd={}", LEAST + round);
            lab.kernel(&["tune", &lab.name, "--set", &bound]);
            goes_on(&lab, 100);
        }
        lab.run(&["ip", "netns", "del", "a"]);
        lab.kernel(&["replace", &lab.name]);
        goes_on(&lab, 100);
        drop(flow);
        lab.kernel(&["remove", &lab.name]);
        lab.assert_clear();
    }
}

/// Inside and across have a control each, by routes, and both are at work at once.
#[test]
fn one_host_has_one_control_inside_and_another_across() {
    let Some(lab) = Lab::new() else { return };
    let across = format!("{}w", lab.name);
    for words in [
        &["link", "add", "vd", "netns", "a", "type", "veth", "peer", "name", "vc", "netns", "c"][..],
        &["-n", "a", "addr", "add", "10.8.0.1/24", "dev", "vd"],
        &["-n", "c", "addr", "add", "10.8.0.2/24", "dev", "vc"],
        &["-n", "a", "link", "set", "vd", "up"],
        &["-n", "c", "link", "set", "vc", "up"],
    ] {
        lab.run(&[&["ip"], words].concat());
    }
    lab.kernel(&["install", "unocc", "--as", &lab.name, "--netns", "b"]);
    lab.kernel(&["install", "gemini", "--as", &across, "--netns", "c"]);
    lab.set("a", "net.ipv4.tcp_ecn=1");
    lab.run(&["ip", "-n", "a", "route", "replace", "10.9.0.0/24", "dev", "va", "congctl", &lab.name]);
    lab.run(&["ip", "-n", "a", "route", "replace", "10.8.0.0/24", "dev", "vd", "congctl", &across]);
    let far = lab.flow_to("c", "10.8.0.2");
    let near = lab.flow_to("b", "10.9.0.2");
    for (name, peer) in [(lab.name.as_str(), "10.9.0.2:7000"), (&across, "10.8.0.2:7000")] {
        let text = lab.kernel(&["status", name, "--netns", "a", "--json"]);
        let status: Value = serde_json::from_str(&text).unwrap();
        let sockets = status["controls"][0]["sockets"].as_array().unwrap().clone();
        let peers: Vec<_> = sockets.iter().map(|socket| socket["peer"].as_str().unwrap()).collect();
        assert_eq!(peers, [peer], "{name}");
        assert!(sockets[0]["cwnd"].as_u64().unwrap() > 1 && sockets[0]["delivered"].as_u64().unwrap() > 1);
    }
    drop((near, far));
    lab.kernel(&["remove", &across]);
    lab.kernel(&["remove", &lab.name]);
}
