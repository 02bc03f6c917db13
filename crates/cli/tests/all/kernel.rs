//! `farspan kernel`, with real packets between namespaces. The tests take root and a kernel that can: elsewhere they say that they were
//! skipped. All that they change is in namespaces of their own, for networks and for mounts: the kernel takes it back when a test ends.

use crate::common::{stderr, stdout};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Two hosts, `a` (10.9.0.1, fd99::1) and `b` (10.9.0.2, fd99::2), joined by a pair of devices, `va` and `vb`; beside them `c`, which is
/// joined to nothing.
const SETUP: &str = "\
set -e
mount -t bpf bpf /sys/fs/bpf
mount -t tmpfs tmpfs /run
mkdir /run/netns
for name in a b c; do ip netns add $name; ip -n $name link set lo up; done
ip link add va netns a type veth peer name vb netns b
for side in 'a va 1' 'b vb 2'; do
  set -- $side
  ip -n $1 addr add 10.9.0.$3/24 dev $2
  ip -n $1 addr add fd99::$3/64 dev $2 nodad
  ip -n $1 link set $2 up
done
echo ready
exec sleep 120";

/// A name of its own for each lab: names of controls are those of the whole machine.
static LABS: AtomicU32 = AtomicU32::new(0);

struct Lab {
    keeper: Child,
    name: String,
}

impl Lab {
    /// `None`: this machine cannot.
    fn new() -> Option<Self> {
        let skip = |why: &str| eprintln!("SKIPPED: nothing was brought into the kernel: {why}");
        let mut command = Command::new("unshare");
        command.args(["--mount", "--net", "sh", "-c", SETUP]).stdin(Stdio::null()).stdout(Stdio::piped());
        let Ok(mut keeper) = command.stderr(Stdio::piped()).spawn() else {
            skip("there is no `unshare`");
            return None;
        };
        let mut line = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let name = format!("t{}_{}", std::process::id(), LABS.fetch_add(1, Ordering::Relaxed));
        let lab = Self { keeper, name };
        if line != "ready\n" {
            let mut said = String::new();
            let mut lab = lab;
            lab.keeper.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            skip(&said);
            return None;
        }
        let probe = lab.farspan(&["install", "fixed", "--as", &lab.name, "--set", "window=0"]);
        assert_eq!(code(&probe), 2, "{}", stderr(&probe));
        let probe = lab.farspan(&["remove", &lab.name]);
        if !stderr(&probe).contains("is not installed") {
            skip(&stderr(&probe));
            return None;
        }
        Some(lab)
    }

    /// A program in the lab's namespaces.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--mount", "--net", "--target", &self.keeper.id().to_string(), "--"]).args(words);
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> String {
        let output = self.command(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        stdout(&output)
    }

    fn farspan(&self, words: &[&str]) -> Output {
        self.command(&[&[env!("CARGO_BIN_EXE_farspan"), "kernel"], words].concat()).output().unwrap()
    }

    /// `farspan kernel`, which must end well.
    fn kernel(&self, words: &[&str]) -> String {
        let output = self.farspan(words);
        assert_eq!(code(&output), 0, "{words:?}: {}", stderr(&output));
        stdout(&output)
    }

    fn status(&self) -> Value {
        let text = self.kernel(&["status", &self.name, "--json"]);
        serde_json::from_str::<Value>(&text).unwrap()["controls"][0].take()
    }

    fn ports(&self, device: &str, host: &str) -> Value {
        let text = self.kernel(&["mark", "--dev", device, "--netns", host, "--status", "--json"]);
        serde_json::from_str::<Value>(&text).unwrap()[0].take()
    }

    /// A program in Python at a host.
    fn python(&self, host: &str, program: &str, arguments: &[&str]) -> Child {
        // It ends by itself, whatever becomes of the test; and no process stands between, which would end in its stead.
        let program = format!("import signal; signal.alarm(60)\n{program}");
        let words = [&["ip", "netns", "exec", host, "python3", "-c", &program], arguments].concat();
        self.command(&words).stdout(Stdio::piped()).spawn().unwrap()
    }

    fn setting(&self, host: &str, key: &str) -> String {
        self.run(&["ip", "netns", "exec", host, "sysctl", "-n", key]).trim().to_owned()
    }

    fn default(&self, host: &str) -> String {
        self.setting(host, "net.ipv4.tcp_congestion_control")
    }

    /// A connection from `a` to `b` that sends until it is killed. Both ends are gone at once then.
    fn flow(&self) -> Flow {
        let mut server = self.python("b", SERVER, &[]);
        let mut said = BufReader::new(server.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "listening\n");
        let mut flow = Flow { ends: vec![server] };
        let mut client = self.python("a", CLIENT, &[]);
        let mut connected = BufReader::new(client.stdout.take().unwrap());
        flow.ends.push(client);
        connected.read_line(&mut line).unwrap();
        assert!(line.ends_with("connected\n"), "{line}");
        flow
    }

    /// Packets of the one live connection that have arrived.
    fn delivered(&self) -> u64 {
        let status = self.status();
        let sockets = status["sockets"].as_array().unwrap();
        sockets.iter().filter_map(|socket| socket["delivered"].as_u64()).max().unwrap_or_default()
    }

    /// Whether Linux has the control.
    fn is_registered(&self) -> bool {
        let all = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
        all.split_ascii_whitespace().any(|name| name == self.name)
    }

    fn pins(&self) -> String {
        self.run(&["find", "/sys/fs/bpf", "-path", "*farspan*"])
    }

    /// Nothing of the control is in the kernel.
    #[track_caller]
    fn assert_clear(&self) {
        assert!(!self.is_registered());
        assert_eq!(self.pins(), "");
        let gone = || self.status()["programs"].as_array().unwrap().is_empty();
        assert!(eventually(gone), "{}", self.status());
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // A test that failed leaves its control; without the mounts its pin is gone, and with it the control.
        let _ = self.farspan(&["remove", &self.name]);
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

const SERVER: &str = "
import socket
listener = socket.create_server(('10.9.0.2', 7000))
print('listening', flush=True)
peer, _ = listener.accept()
try:
    while peer.recv(1 << 16): pass
except ConnectionResetError: pass
";

/// With a rest between its pieces, so that machines with few cores do other things too.
const CLIENT: &str = "
import socket, struct, time
s = socket.create_connection(('10.9.0.2', 7000))
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
print('connected', flush=True)
while True:
    s.sendall(bytes(100000))
    time.sleep(0.01)
";

struct Flow {
    ends: Vec<Child>,
}

impl Drop for Flow {
    fn drop(&mut self) {
        for end in self.ends.iter_mut().rev() {
            let _ = end.kill();
            let _ = end.wait();
        }
    }
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

fn pause(ms: u64) {
    std::thread::park_timeout(Duration::from_millis(ms));
}

/// Looks again for up to 10 s.
fn eventually(mut is_so: impl FnMut() -> bool) -> bool {
    (0..50).any(|look| {
        if look > 0 {
            pause(200);
        }
        is_so()
    })
}

#[test]
fn every_control_is_installed_shown_and_removed_without_a_trace() {
    let Some(lab) = Lab::new() else { return };
    for (control, setting) in [("gemini", "beta=0.25"), ("unocc", "alpha=0.002"), ("fixed", "window=64")] {
        let before = lab.default("a");
        let text = lab.kernel(&["install", control, "--as", &lab.name, "--set", setting]);
        assert!(text.contains(setting) && text.contains("congctl") && text.contains("tcp_ecn=1"), "{text}");
        assert!(lab.is_registered());
        assert_eq!(lab.default("a"), before, "it is nobody's default");
        let status = lab.status();
        assert_eq!(status["control"], control);
        assert_eq!(status["installed"], true);
        assert_eq!(status["programs"][0]["in_force"], true);
        let settings = status["programs"][0]["settings"].as_array().unwrap();
        assert!(settings.contains(&Value::from(setting)), "{settings:?}");
        let again = lab.farspan(&["install", control, "--as", &lab.name]);
        assert_eq!(code(&again), 2);
        assert!(stderr(&again).contains("tune"), "{}", stderr(&again));
        let text = lab.kernel(&["remove", &lab.name]);
        assert!(text.contains("not in force any more"), "{text}");
        lab.assert_clear();
    }
    let again = lab.farspan(&["remove", &lab.name]);
    assert_eq!(code(&again), 2);
    assert!(stderr(&again).contains("is not installed"), "{}", stderr(&again));
}

#[test]
fn namespaces_get_a_control_and_have_what_they_had_again() {
    let Some(lab) = Lab::new() else { return };
    lab.run(&["ip", "netns", "exec", "b", "sysctl", "-w", "net.ipv4.tcp_congestion_control=reno"]);
    let before = ["a", "b", "c"].map(|host| (lab.default(host), lab.setting(host, "net.ipv4.tcp_ecn")));
    lab.kernel(&["install", "gemini", "--as", &lab.name, "--netns", "a"]);
    lab.kernel(&["install", "gemini", "--as", &lab.name, "--netns", "b"]);
    assert_eq!([lab.default("a"), lab.default("b")], [lab.name.as_str(), lab.name.as_str()]);
    assert_eq!(lab.setting("a", "net.ipv4.tcp_ecn"), "1");
    assert_eq!(lab.default("c"), before[2].0);
    assert_eq!(lab.status()["defaults"], serde_json::json!(["a", "b"]));
    let one = lab.kernel(&["remove", &lab.name, "--netns", "a"]);
    assert!(one.contains("a: new connections get") && lab.is_registered(), "{one}");
    assert_eq!(lab.status()["defaults"], serde_json::json!(["b"]));
    lab.kernel(&["remove", &lab.name]);
    let after = ["a", "b", "c"].map(|host| (lab.default(host), lab.setting(host, "net.ipv4.tcp_ecn")));
    assert_eq!(after, before);
    lab.assert_clear();
    let nowhere = lab.farspan(&["install", "fixed", "--as", &lab.name, "--netns", "nowhere"]);
    assert_eq!(code(&nowhere), 2);
    assert!(stderr(&nowhere).contains("nowhere") && !lab.is_registered(), "{}", stderr(&nowhere));
}

#[test]
fn a_program_is_replaced_under_a_live_connection_which_keeps_its_own() {
    let Some(lab) = Lab::new() else { return };
    lab.kernel(&["install", "fixed", "--as", &lab.name, "--netns", "a", "--set", "window=50"]);
    let flow = lab.flow();
    for round in 0..3 {
        let window = format!("window={}", 20 + round);
        let before = lab.delivered();
        let text = lab.kernel(&["tune", &lab.name, "--set", &window]);
        assert!(text.contains("until they close") && text.contains(&window), "{text}");
        assert!(eventually(|| lab.delivered() > before), "the connection stands still");
        let status = lab.status();
        let in_force: Vec<_> = status["programs"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|program| program["in_force"] == true)
            .collect();
        assert_eq!(in_force.len(), 1, "{status}");
        assert_eq!(in_force[0]["settings"], serde_json::json!([window]));
        let sockets = status["sockets"].as_array().unwrap();
        assert!(sockets.iter().any(|socket| socket["cwnd"] == 50), "{sockets:?}");
    }
    drop(flow);
    // The default has moved to the new program: a new connection has its window, and nothing holds the old ones.
    let flow = lab.flow();
    let has = |cwnd: u64| lab.status()["sockets"].as_array().unwrap().iter().any(|s| s["cwnd"] == cwnd);
    assert!(eventually(|| has(22)), "{}", lab.status());
    assert!(eventually(|| lab.status()["programs"].as_array().unwrap().len() == 1), "{}", lab.status());
    // The program alone has its own parameters.
    let text = lab.kernel(&["replace", &lab.name]);
    assert!(text.contains("window=32"), "{text}");
    drop(flow);
    lab.kernel(&["remove", &lab.name]);
    lab.assert_clear();
}

#[test]
fn a_control_is_removed_under_a_live_connection_which_goes_on() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.default("a");
    lab.kernel(&["install", "gemini", "--as", &lab.name, "--netns", "b"]);
    lab.kernel(&["install", "gemini", "--as", &lab.name, "--netns", "a"]);
    let flow = lab.flow();
    let text = lab.kernel(&["remove", &lab.name]);
    assert!(text.contains("10.9.0.2:7000") && text.contains("still in the kernel"), "{text}");
    assert_eq!(lab.default("a"), before);
    assert!(!lab.is_registered());
    let delivered = lab.delivered();
    assert!(eventually(|| lab.delivered() > delivered), "the connection stands still");
    let status = lab.status();
    assert_eq!((&status["installed"], &status["registered"]), (&false.into(), &false.into()));
    assert_eq!(status["programs"].as_array().unwrap().len(), 1, "{status}");
    // Another of the name can come meanwhile, and go.
    lab.kernel(&["install", "gemini", "--as", &lab.name]);
    lab.kernel(&["remove", &lab.name]);
    drop(flow);
    lab.assert_clear();
}

#[test]
fn a_loader_that_is_killed_leaves_nothing_that_remove_does_not_clear() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.default("a");
    let mut found = 0;
    for round in 0..12 {
        let words =
            [env!("CARGO_BIN_EXE_farspan"), "kernel", "install", "gemini", "--as", &lab.name, "--netns", "a"];
        // Its own process, not that of `nsenter`, which becomes it.
        let mut loader = lab.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        pause(80 * round);
        loader.kill().unwrap();
        loader.wait().unwrap();
        let status = lab.status();
        found += u32::from(status["installed"] == true);
        if round % 2 == 0 {
            let removed = lab.farspan(&["remove", &lab.name]);
            assert!(matches!(code(&removed), 0 | 2), "{}", stderr(&removed));
        } else {
            // Or it is installed over what is left.
            let again = lab.farspan(&["install", "gemini", "--as", &lab.name, "--netns", "a"]);
            assert_eq!(code(&again), 0, "{}", stderr(&again));
            assert_eq!(lab.default("a"), lab.name);
            lab.kernel(&["remove", &lab.name]);
        }
        assert_eq!(lab.default("a"), before, "round {round}");
        lab.assert_clear();
    }
    eprintln!("installed in {found} of 12 rounds");
}

#[test]
fn a_loader_that_is_killed_while_it_replaces_leaves_one_program_in_force() {
    let Some(lab) = Lab::new() else { return };
    lab.kernel(&["install", "fixed", "--as", &lab.name, "--netns", "a", "--set", "window=9"]);
    let mut replaced = 0;
    for round in 0..10_u64 {
        let window = format!("window={}", 10 + round);
        let words = [env!("CARGO_BIN_EXE_farspan"), "kernel", "tune", &lab.name, "--set", &window];
        let mut loader = lab.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        pause(130 * round);
        loader.kill().unwrap();
        loader.wait().unwrap();
        let status = lab.status();
        let programs = status["programs"].as_array().unwrap();
        let in_force: Vec<_> = programs.iter().filter(|program| program["in_force"] == true).collect();
        assert_eq!((in_force.len(), &status["installed"]), (1, &true.into()), "round {round}: {status}");
        replaced += u32::from(in_force[0]["settings"][0] == window.as_str());
    }
    eprintln!("replaced in {replaced} of 10 rounds");
    // A default may have stayed on the old program: the next update moves it.
    lab.kernel(&["tune", &lab.name, "--set", "window=30"]);
    assert!(eventually(|| lab.status()["programs"].as_array().unwrap().len() == 1), "{}", lab.status());
    lab.kernel(&["remove", &lab.name]);
    lab.assert_clear();
}

#[test]
fn commands_that_come_at_once_wait_for_each_other() {
    let Some(lab) = Lab::new() else { return };
    let farspan = |words: &[&str]| {
        let words = [&[env!("CARGO_BIN_EXE_farspan"), "kernel"], words].concat();
        lab.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let codes = |mut children: Vec<Child>| {
        let mut codes: Vec<_> =
            children.iter_mut().map(|child| child.wait().unwrap().code().unwrap()).collect();
        codes.sort_unstable();
        codes
    };
    for _ in 0..3 {
        let install = || farspan(&["install", "fixed", "--as", &lab.name]);
        assert_eq!(codes((0..4).map(|_| install()).collect()), [0, 2, 2, 2]);
        assert_eq!(lab.status()["installed"], true);
        let tune = |window: u32| farspan(&["tune", &lab.name, "--set", &format!("window={window}")]);
        assert_eq!(codes((50..54).map(tune).collect()), [0; 4]);
        assert!(eventually(|| lab.status()["programs"].as_array().unwrap().len() == 1), "{}", lab.status());
        assert_eq!(codes((0..4).map(|_| farspan(&["remove", &lab.name])).collect()), [0, 2, 2, 2]);
        lab.assert_clear();
    }
}

#[test]
fn a_destination_has_a_control_of_its_own() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.default("a");
    lab.kernel(&["install", "fixed", "--as", &lab.name, "--set", "window=40"]);
    let route = ["ip", "-n", "a", "route", "replace", "10.9.0.2/32", "dev", "va", "congctl", &lab.name];
    lab.run(&route);
    let has = |cwnd: u64| lab.status()["sockets"].as_array().unwrap().iter().any(|s| s["cwnd"] == cwnd);
    let flow = lab.flow();
    assert!(eventually(|| has(40)), "{}", lab.status());
    assert_eq!(lab.default("a"), before);
    drop(flow);
    // A route keeps the name, and not the program.
    lab.kernel(&["tune", &lab.name, "--set", "window=41"]);
    let flow = lab.flow();
    assert!(eventually(|| has(41)), "{}", lab.status());
    drop(flow);
    lab.kernel(&["remove", &lab.name]);
    let flow = lab.flow();
    assert_eq!(lab.status()["sockets"], serde_json::json!([]), "the namespace's default");
    drop(flow);
    lab.assert_clear();
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

#[test]
fn a_namespace_is_deleted_under_its_connections() {
    let Some(lab) = Lab::new() else { return };
    lab.kernel(&["install", "fixed", "--as", &lab.name, "--netns", "a"]);
    lab.kernel(&["install", "fixed", "--as", &lab.name, "--netns", "c"]);
    let flow = lab.flow();
    lab.run(&["ip", "netns", "del", "a"]);
    lab.run(&["ip", "netns", "del", "c"]);
    // Its processes still hold it.
    let status = lab.status();
    assert!(status["defaults"][0].as_str().unwrap().contains("that of"), "{status}");
    lab.kernel(&["tune", &lab.name, "--set", "window=9"]);
    drop(flow);
    assert!(eventually(|| lab.status()["defaults"].as_array().unwrap().is_empty()), "{}", lab.status());
    lab.kernel(&["tune", &lab.name, "--set", "window=10"]);
    lab.kernel(&["remove", &lab.name]);
    lab.assert_clear();
}

#[test]
fn bad_parameters_load_nothing() {
    let Some(lab) = Lab::new() else { return };
    for (words, expected) in [
        (&["gemini", "--set", "bta=0.2"][..], "no parameter `bta`"),
        (&["gemini", "--set", "beta"], "KEY=VALUE"),
        (&["gemini", "--set", "beta=0.6"], "out of bounds: 0 to 0.5"),
        (&["gemini", "--set", "delay_threshold=5"], "a time with a unit"),
        (&["gemini", "--set", "k=1Mbps"], "bytes with a unit"),
        (&["unocc", "--set", "alpha=0"], "out of bounds"),
        (&["cubic"], "gemini, unocc, fixed"),
        (&["fixed", "--as", "too-long-or-odd"], "lower-case letters"),
        (&["fixed", "--as", "reno"], "farspan did not install"),
    ] {
        let name = ["--as", lab.name.as_str()];
        let name: &[&str] = if words.contains(&"--as") { &[] } else { &name };
        let output = lab.farspan(&[&["install"], words, name].concat());
        assert_eq!(code(&output), 2, "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{words:?}: {}", stderr(&output));
        lab.assert_clear();
    }
    lab.kernel(&["install", "fixed", "--as", &lab.name, "--set", "window=7"]);
    for words in [&["--set", "window=0"][..], &["--set", "windw=8"], &[]] {
        let output = lab.farspan(&[&["tune", lab.name.as_str()], words].concat());
        assert_eq!(code(&output), 2, "{words:?}");
    }
    assert_eq!(lab.status()["programs"][0]["settings"], serde_json::json!(["window=7"]));
    lab.kernel(&["remove", &lab.name]);
}

#[test]
fn what_a_machine_lacks_is_said() {
    let output = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_farspan"));
        command.arg("kernel").args(words);
        if stdout(&Command::new("id").arg("-u").output().unwrap()) == "0\n" {
            command.uid(65_534).gid(65_534);
        }
        command.output()
    };
    for words in [
        &["install", "gemini"][..],
        &["tune", "gemini", "--set", "beta=0.3"],
        &["replace", "gemini"],
        &["remove", "gemini"],
        &["status"],
        &["mark", "--dev", "lo", "--rate", "1Gbps"],
    ] {
        let Ok(output) = output(words) else {
            eprintln!("SKIPPED: another user cannot run the command from this folder");
            return;
        };
        assert_eq!(code(&output), 2, "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("as root alone"), "{words:?}: {}", stderr(&output));
    }
    let Some(lab) = Lab::new() else { return };
    // The machine's own may lie below that of the test.
    lab.run(&["sh", "-c", "while mountpoint -q /sys/fs/bpf; do umount /sys/fs/bpf; done"]);
    let output = lab.farspan(&["install", "gemini", "--as", &lab.name]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("mount -t bpf bpf /sys/fs/bpf"), "{}", stderr(&output));
    lab.run(&["sh", "-c", "mount -t tmpfs tmpfs /sys/kernel"]);
    let output = lab.farspan(&["install", "gemini", "--as", &lab.name]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("CONFIG_DEBUG_INFO_BTF"), "{}", stderr(&output));
}

/// Counts what comes in until nothing has come for a second: packets, and those with CE.
const COUNT: &str = "
import socket, struct, sys
family, host = (socket.AF_INET, '10.9.0.2') if sys.argv[1] == '4' else (socket.AF_INET6, 'fd99::2')
s = socket.socket(family, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
if sys.argv[1] == '4': s.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
else: s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
s.bind((host, 7001))
print('listening', flush=True)
s.settimeout(20)
packets = marked = 0
try:
    while True:
        data, extra, _, _ = s.recvmsg(2000, 64)
        s.settimeout(1)
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

/// Of 1,500 datagrams, those that arrive at `b`: packets, and those with CE.
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
    // Some 40 Mbit/s are sent: the counter drains at 9 and is soon full.
    let attach =
        ["mark", "--dev", "va", "--netns", "a", "--rate", "10Mbps", "--k-min", "20KB", "--k-max", "60KB"];
    for family in ["4", "6"] {
        let text = lab.kernel(&attach);
        assert!(text.contains("gso_max_segs 1"), "{text}");
        assert_eq!(lab.ports("va", "a")["k_max_bytes"], 60_000);
        for (ecn, is_capable) in [("0", false), ("1", true), ("2", true)] {
            let before = lab.ports("va", "a");
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
    assert!(text.contains("in the place of"), "{text}");
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
    assert!(port()["marked"].as_u64() <= port()["packets"].as_u64(), "{}", port());
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
