//! `farspan kernel`, with real packets between namespaces. The tests take root and a kernel that can: elsewhere they say that they were
//! skipped. All that they change is in namespaces of their own, for networks and for mounts: the kernel takes it back when a test ends.

use crate::common::{stderr, stdout};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

mod killed;
mod life;
mod ports;
mod robust;

/// Two hosts, `a` (10.9.0.1, fd99::1) and `b` (10.9.0.2, fd99::2), joined by a pair of devices, `va` and `vb`; beside them `c`, which is
/// joined to nothing. They live as long as the standard input of the last program, which the test holds.
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
exec cat";

/// A name of its own for each lab: names of controls are those of the whole machine.
static LABS: AtomicU32 = AtomicU32::new(0);

struct Lab {
    keeper: Child,
    name: String,
}

impl Lab {
    /// `None`: this machine cannot, for one of the reasons that the command itself names.
    fn new() -> Option<Self> {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--net", "sh", "-c", SETUP]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut keeper) = command.stderr(Stdio::piped()).spawn() else {
            farspan_skip::skip("util-linux", "no program `unshare`: apt install util-linux");
            return None;
        };
        let mut line = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let name = format!("t{}_{}", std::process::id(), LABS.fetch_add(1, Ordering::Relaxed));
        let mut lab = Self { keeper, name };
        if line != "ready\n" {
            let mut said = String::new();
            lab.keeper.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            let lacks =
                ["Operation not permitted", "ip: not found", "unknown filesystem type", "wrong fs type"];
            assert!(lacks.iter().any(|lack| said.contains(lack)), "the namespaces did not come up: {said}");
            farspan_skip::skip("namespaces", &said);
            return None;
        }
        let probe = lab.farspan(&["remove", &lab.name]);
        assert_eq!(code(&probe), 2, "{}", stderr(&probe));
        if !stderr(&probe).contains("is not installed") {
            let lacks =
                ["only root can load", "CONFIG_DEBUG_INFO_BTF", "Linux 6.10", "is not a BPF file system"];
            assert!(lacks.iter().any(|lack| stderr(&probe).contains(lack)), "{}", stderr(&probe));
            farspan_skip::skip("kernel", &stderr(&probe));
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
        // It ends with the test's thread (PR_SET_PDEATHSIG); no process stands between, which would end in its stead.
        let program = format!("import ctypes; ctypes.CDLL(None).prctl(1, 9)\n{program}");
        let words = [&["ip", "netns", "exec", host, "python3", "-c", &program], arguments].concat();
        self.command(&words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    fn setting(&self, host: &str, key: &str) -> String {
        self.run(&["ip", "netns", "exec", host, "sysctl", "-n", key]).trim().to_owned()
    }

    fn default(&self, host: &str) -> String {
        self.setting(host, "net.ipv4.tcp_congestion_control")
    }

    /// The default control of a host, and its `tcp_ecn`.
    fn tcp(&self, host: &str) -> [String; 2] {
        [self.default(host), self.setting(host, "net.ipv4.tcp_ecn")]
    }

    fn set(&self, host: &str, setting: &str) {
        self.run(&["ip", "netns", "exec", host, "sysctl", "-q", "-w", setting]);
    }

    /// Parameters of the program that new connections get.
    fn settings(&self) -> Vec<String> {
        let status = self.status();
        let programs = status["programs"].as_array().unwrap();
        let in_force: Vec<_> = programs.iter().filter(|program| program["in_force"] == true).collect();
        assert_eq!(in_force.len(), 1, "{status}");
        let settings = in_force[0]["settings"].as_array().unwrap();
        settings.iter().map(|setting| setting.as_str().unwrap().to_owned()).collect()
    }

    /// Runs the command, kills it after a time, and waits for its end.
    fn killed(&self, words: &[&str], after_ms: u64) {
        // Its own process, not that of `nsenter`, which becomes it.
        let words = [&[env!("CARGO_BIN_EXE_farspan"), "kernel"], words].concat();
        let mut loader = self.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        pause(after_ms);
        loader.kill().unwrap();
        loader.wait().unwrap();
    }

    /// A connection from `a` to `b` that sends until it is killed. Both ends are gone at once then.
    fn flow(&self) -> Flow {
        self.flow_to("b", "10.9.0.2")
    }

    /// One to a host by its address.
    fn flow_to(&self, host: &str, address: &str) -> Flow {
        let mut flow = Flow { ends: Vec::new() };
        for (host, program, says) in [(host, SERVER, "listening\n"), ("a", CLIENT, "connected\n")] {
            let mut end = self.python(host, program, &[address]);
            let mut line = String::new();
            BufReader::new(end.stdout.take().unwrap()).read_line(&mut line).unwrap();
            flow.ends.push(end);
            assert_eq!(line, says);
        }
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
import socket, sys
listener = socket.create_server((sys.argv[1], 7000))
print('listening', flush=True)
peer, _ = listener.accept()
try:
    while peer.recv(1 << 16): pass
except ConnectionResetError: pass
";

/// With a rest between its pieces, so that machines with few cores do other things too.
const CLIENT: &str = "
import socket, struct, sys, time
s = socket.create_connection((sys.argv[1], 7000))
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

/// Looks again for a minute: longer than even a busy machine takes.
fn eventually(mut is_so: impl FnMut() -> bool) -> bool {
    (0..300).any(|look| {
        if look > 0 {
            pause(200);
        }
        is_so()
    })
}
