//! The life of emulations by the command. They take root, `/dev/net/tun` and iproute2: elsewhere the tests say that they were
//! skipped.

use crate::common::{Folder, by_nobody, farspan, stderr, stdout};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const SCENARIO: &str = r#"
name = "lab"
host.jitter = "0ns"
transport = { payload = "1436B", header = "64B" }
topology = { kind = "star", hosts = 2, link_rate = "200Mbps", link_delay = "5ms" }
"#;

/// Whether this machine can run emulations; says why not, if not.
fn can_run() -> bool {
    farspan_emu::check().inspect_err(|error| farspan_skip::skip("emulation", &error.to_string())).is_ok()
}

/// An emulation of a test's own; it is down at the end, however the test ends.
struct Lab {
    name: String,
    folder: Folder,
}

impl Lab {
    fn new(name: &str) -> Self {
        let folder = Folder::new(&format!("emu-{name}"));
        std::fs::write(folder.path("lab.toml"), SCENARIO).unwrap();
        Self { name: format!("{name}_{}", std::process::id()), folder }
    }

    fn up(&self) -> Output {
        let (scenario, out) = (self.folder.path("lab.toml"), self.folder.path("out"));
        farspan(&[
            "emu", "up", &scenario, "--name", &self.name, "--seed", "3", "--out", &out, "--pcap", "tor0->*",
        ])
    }

    fn exec(&self, host: &str, command: &[&str]) -> Output {
        farspan(&[&["emu", "exec", "--name", &self.name, host, "--"], command].concat())
    }

    fn down(&self) -> Output {
        farspan(&["emu", "down", "--name", &self.name])
    }

    /// The process that moves its packets, or makes the namespaces.
    fn process(&self) -> Option<u32> {
        std::fs::read_to_string(format!("/run/farspan-emu/{}.lock", self.name)).ok()?.parse().ok()
    }

    fn signal(&self, signal: &str) {
        let process = self.process().unwrap().to_string();
        assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
    }

    /// Kills its process, and waits until it runs no more. The kernel may still take its devices away.
    fn kill(&self) {
        let line = format!("/proc/{}/cmdline", self.process().unwrap());
        self.signal("-9");
        while std::fs::read(&line).is_ok_and(|line| !line.is_empty()) {
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }

    /// Everything of it that is still on the machine.
    fn traces(&self) -> Vec<String> {
        let of = |folder: &str| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path().display().to_string()).collect::<Vec<_>>()
        };
        let mut all = [of("/run/netns"), of("/etc/netns"), of("/run/farspan-emu")].concat();
        all.retain(|path| path.contains(&self.name));
        let commands = of("/proc").into_iter().map(|process| Path::new(&process).join("cmdline"));
        let commands = commands.filter_map(|path| std::fs::read(path).ok());
        let commands = commands.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
        all.extend(commands.filter(|line| line.contains(&self.name)));
        all
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if !self.traces().is_empty() {
            let _ = self.down();
        }
    }
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

#[test]
fn a_program_runs_at_a_host_and_the_results_are_those_of_a_run() {
    if !can_run() {
        return;
    }
    let lab = Lab::new("life");
    let up = lab.up();
    assert_eq!(code(&up), 0, "{}", stderr(&up));
    let text = stdout(&up);
    assert!(
        text.contains("10.0.0.2") && text.contains("fd66:6172:7370::1") && text.contains("seed 3"),
        "{text}"
    );
    let names = lab.exec("host1", &["cat", "/etc/hosts"]);
    assert!(stdout(&names).contains("10.0.0.1 host0\n"), "{names:?}");
    assert_eq!(code(&lab.exec("0", &["sh", "-c", "exit 7"])), 7);
    let killed = lab.exec("1", &["sh", "-c", "kill -9 $$"]);
    assert_eq!(killed.status.signal(), Some(9), "it is the program itself");
    assert_eq!(
        (code(&lab.exec("1", &["no-such-program"])), code(&lab.exec("1", &[&lab.folder.path("lab.toml")]))),
        (127, 126)
    );
    let nobody = lab.exec("host2", &["true"]);
    assert_eq!(code(&nobody), 2);
    assert!(stderr(&nobody).contains("host0 to host1"), "{}", stderr(&nobody));
    let again = lab.up();
    assert_eq!(code(&again), 2);
    assert!(
        stderr(&again).contains("is already running") && stderr(&again).contains("--name"),
        "{}",
        stderr(&again)
    );
    let status = farspan(&["emu", "status", "--name", &lab.name]);
    assert!(stdout(&status).contains("is up"), "{status:?}");
    let down = lab.down();
    assert!(matches!(code(&down), 0 | 6), "{}", stderr(&down));
    assert_eq!(lab.traces(), Vec::<String>::new());
    let document = std::fs::read_to_string(lab.folder.path("out/summary.json")).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["engine"], "emulated");
    assert_eq!(document["emulation"]["void"], code(&down) == 6, "the exit code says what the document says");
    assert!(document["queues"]["bottleneck"].is_string() && document["packets"]["sent"].is_u64());
    for file in ["ports.parquet", "series.parquet", "report.html", "scenario.toml", "trace/ports.pcapng"] {
        assert!(Path::new(&lab.folder.path("out")).join(file).is_file(), "{file}");
    }
    assert_eq!(code(&lab.down()), 2, "it is not up any more");
}

/// Devices, addresses and routes of the machine itself that look as if an emulation had made them.
fn machine() -> Vec<String> {
    let shown = |words: &[&str]| {
        let output = Command::new("ip").args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        stdout(&output)
    };
    let all = [&["-o", "link"][..], &["-o", "address"], &["route"], &["-6", "route"]].map(shown).concat();
    let is_ours = |line: &&str| ["10.0.0.", "fd66:6172:7370", " tun"].iter().any(|part| line.contains(part));
    // What is left of an address or a route, and the state of a link, change by themselves.
    all.lines().filter(is_ours).map(|line| line.split_whitespace().take(4).collect()).collect()
}

#[test]
fn nothing_is_left_of_emulations_that_end_or_are_killed() {
    come_and_go(4);
}

#[test]
#[ignore = "half a minute, and .ci/run asks for it"]
fn nothing_is_left_of_a_hundred_emulations() {
    come_and_go(100);
}

fn come_and_go(rounds: u32) {
    if !can_run() {
        return;
    }
    let [lab, beside] = ["a", "b"].map(|twin| Lab::new(&format!("twin{rounds}_{twin}")));
    // A program of this name shows in the list of processes.
    let (outlives, before) = (lab.folder.path(&lab.name), machine());
    std::fs::copy("/bin/sleep", &outlives).unwrap();
    assert_eq!(code(&beside.up()), 0);
    for round in 0..rounds {
        let up = lab.up();
        assert_eq!(code(&up), 0, "round {round}: {}", stderr(&up));
        // A program that would outlive the emulation.
        let program = format!("{outlives} 1000 </dev/null >/dev/null 2>&1 &");
        assert_eq!(code(&lab.exec("0", &["sh", "-c", &program])), 0);
        let runs = |_| {
            std::thread::park_timeout(Duration::from_millis(1));
            lab.traces().iter().any(|line| line.starts_with(&outlives))
        };
        assert!((0..5_000).any(runs), "round {round}: it does not run");
        if round % 2 == 0 {
            lab.kill();
            if round % 4 == 2 {
                // The next one takes its place.
                let up = lab.up();
                assert_eq!(code(&up), 0, "after a kill: {}", stderr(&up));
            } else {
                let down = lab.down();
                assert_eq!(code(&down), 6, "a killed one has no results");
                assert!(stderr(&down).contains("killed"), "{}", stderr(&down));
                assert_eq!(lab.traces(), Vec::<String>::new(), "round {round}");
                continue;
            }
        }
        let down = lab.down();
        assert!(matches!(code(&down), 0 | 6), "round {round}: {}", stderr(&down));
        assert_eq!(lab.traces(), Vec::<String>::new(), "round {round}");
    }
    assert_eq!(code(&beside.exec("1", &["true"])), 0, "the one beside it is untouched");
    beside.down();
    assert_eq!(beside.traces(), Vec::<String>::new());
    assert_eq!(machine(), before);
}

#[test]
fn nothing_is_left_of_an_emulation_that_is_ended_or_killed_while_it_comes_up() {
    if !can_run() {
        return;
    }
    let lab = Lab::new("early");
    for (round, kill) in [true, false, true, false, true].into_iter().enumerate() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_farspan"));
        command.args(["emu", "up", &lab.folder.path("lab.toml"), "--name", &lab.name]);
        command.args(["--set", "topology.hosts=40"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut up = command.spawn().unwrap();
        while lab.process().is_none() {
            std::thread::park_timeout(Duration::from_millis(1));
        }
        std::thread::park_timeout(Duration::from_millis(10 + 60 * round as u64));
        if kill {
            lab.signal("-9");
        } else {
            let down = lab.down();
            assert!(matches!(code(&down), 0 | 6), "round {round}: {}", stderr(&down));
        }
        up.wait().unwrap();
        // What the command itself did not remove, `down` does; often there is nothing.
        lab.down();
        assert_eq!(lab.traces(), Vec::<String>::new(), "round {round}");
    }
}

#[test]
fn what_only_visits_a_host_outlives_the_emulation() {
    if !can_run() {
        return;
    }
    let lab = Lab::new("visit");
    assert_eq!(code(&lab.up()), 0);
    let namespace = lab.traces().into_iter().find(|path| path.starts_with("/run/netns/")).unwrap();
    // It ends with its standard input, which this test holds.
    let visit = "import ctypes, os, sys, threading\n\
                 def visit():\n    \
                     net = os.open(sys.argv[1], os.O_RDONLY)\n    \
                     print(ctypes.CDLL(None).setns(net, 0x40000000), flush=True)\n    \
                     sys.stdin.read()\n\
                 threading.Thread(target=visit).start()\n";
    let mut visitor = Command::new("python3");
    visitor.args(["-c", visit, &namespace]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut visitor = visitor.spawn().unwrap();
    let mut said = String::new();
    BufReader::new(visitor.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let down = lab.down();
    let outlives = visitor.try_wait().unwrap().is_none();
    visitor.kill().unwrap();
    visitor.wait().unwrap();
    assert_eq!(said, "0\n", "its thread is at the host");
    assert!(matches!(code(&down), 0 | 6), "{}", stderr(&down));
    assert!(outlives);
    assert_eq!(lab.traces(), Vec::<String>::new());
}

#[test]
fn an_emulation_that_ended_by_itself_has_a_verdict_and_the_next_of_its_name_has_its_own() {
    if !can_run() {
        return;
    }
    let lab = Lab::new("ended");
    assert_eq!(code(&lab.up()), 0);
    lab.signal("-TERM");
    while Path::new(&format!("/proc/{}", lab.process().unwrap())).join("exe").exists() {
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let status = farspan(&["emu", "status", "--name", &lab.name]);
    assert!(stdout(&status).contains("has ended"), "{status:?}");
    let over = lab.exec("0", &["true"]);
    assert!(code(&over) == 2 && stderr(&over).contains("has ended"), "{}", stderr(&over));
    assert_eq!(code(&lab.up()), 0);
    lab.signal("-9");
    let down = lab.down();
    assert!(code(&down) == 6 && stderr(&down).contains("killed"), "{}", stderr(&down));
}

#[test]
fn a_scenario_that_cannot_be_read_twice_is_refused() {
    if !can_run() {
        return;
    }
    let lab = Lab::new("twice");
    let mut command = Command::new("bash");
    let words = format!(
        "'{}' emu up <(cat '{}') --name {}",
        env!("CARGO_BIN_EXE_farspan"),
        lab.folder.path("lab.toml"),
        lab.name
    );
    let up = command.args(["-c", &words]).output().unwrap();
    assert_eq!(code(&up), 2, "{}", stderr(&up));
    assert_eq!(lab.traces(), Vec::<String>::new());
}

#[test]
fn nothing_is_left_of_an_emulation_that_does_not_come_up() {
    if !can_run() {
        return;
    }
    let lab = Lab::new("refused");
    std::fs::create_dir_all(lab.folder.path("out")).unwrap();
    std::fs::write(lab.folder.path("out/summary.json"), "not a run's").unwrap();
    let up = lab.up();
    assert_eq!(code(&up), 2);
    assert!(stderr(&up).contains("summary.json"), "{}", stderr(&up));
    assert_eq!(lab.traces(), Vec::<String>::new());
    assert_eq!(std::fs::read_to_string(lab.folder.path("out/summary.json")).unwrap(), "not a run's");
}

#[test]
fn an_emulation_that_was_held_is_void() {
    if !can_run() {
        return;
    }
    let lab = Lab::new("held");
    assert_eq!(code(&lab.up()), 0);
    std::thread::park_timeout(Duration::from_millis(200));
    lab.signal("-STOP");
    std::thread::park_timeout(Duration::from_millis(20));
    lab.signal("-CONT");
    std::thread::park_timeout(Duration::from_millis(200));
    let down = lab.down();
    assert_eq!(code(&down), 6, "{}", stdout(&down));
    assert!(stderr(&down).contains("excess delay"), "{}", stderr(&down));
    let document = std::fs::read_to_string(lab.folder.path("out/summary.json")).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    // Probes leave every 10 ms: the first that was held waited 10 ms at least.
    assert!(
        document["emulation"]["excess"]["max_us"].as_f64().unwrap() >= 9000.0,
        "{}",
        document["emulation"]
    );
}

#[test]
fn a_table_of_paths_that_names_no_link_is_refused() {
    let lab = Lab::new("paths");
    let (scenario, table) = (lab.folder.path("lab.toml"), lab.folder.path("paths.toml"));
    std::fs::write(&table, "[[path]]\nlink = \"tor0->moon#0\"\n").unwrap();
    let up = farspan(&["emu", "up", &scenario, "--name", &lab.name, "--paths", &table]);
    assert_eq!(code(&up), 2);
    assert!(stderr(&up).contains("paths.toml") && stderr(&up).contains("moon"), "{}", stderr(&up));
    assert_eq!(lab.traces(), Vec::<String>::new());
}

#[test]
fn without_root_the_command_says_what_is_missing() {
    let lab = Lab::new("user");
    let scenario = lab.folder.path("lab.toml");
    let mut command = by_nobody(&lab.folder);
    let output = command.args(["emu", "up", &scenario, "--name", &lab.name]).output().unwrap();
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    let text = stderr(&output);
    assert!(text.contains("root") || text.contains("/dev/net/tun"), "{text}");
}
