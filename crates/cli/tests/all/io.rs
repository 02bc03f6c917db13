//! Refusals of a system: disks that are full, pipes whose reader has left, memory, a folder that another run has.
#![cfg(target_os = "linux")]

use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

const BINARY: &str = env!("CARGO_BIN_EXE_farspan");
const SIZE: &str = "workload.flow_size=64KiB";
const SMALL: [&str; 3] = ["--set", SIZE, "--quiet"];

/// A folder of the test's own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("farspan-io-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.0.join(name), text).unwrap();
        self.path(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A topology of htsim.
#[cfg(feature = "import")]
const TOPOLOGY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/topo/three-tiers");

/// A small connection matrix of htsim.
#[cfg(feature = "import")]
fn matrix(folder: &Folder) -> String {
    folder.write("a.cm", "Nodes 4\nConnections 1\n0->1 id 1 start 0 size 1000\n")
}

fn command(arguments: &[String]) -> Command {
    let mut command = Command::new(BINARY);
    // A panic would be longer with it, and hidden by nothing.
    command.args(arguments).env("RUST_BACKTRACE", "0").stdin(Stdio::null());
    command
}

fn words(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|word| (*word).to_owned()).collect()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

/// Every command that prints, as small as it goes, in a folder without earlier ones. `demo`, which takes minutes, prints
/// as `run` does.
fn commands(folder: &Folder) -> Vec<Vec<String>> {
    let path = |name: &str| folder.path(name);
    let sweep = folder.write(
        "s.toml",
        "scenario = 'bench/fat-tree'\n[grid]\n'topology.k' = 4\n'workload.flow_size' = ['4KiB']\n",
    );
    let [results, others] = ["results", "others"].map(|name| folder.path(name));
    let run = |more: &[&str]| words(&[&["run", "uno/incast-mixed"], &SMALL[..], more].concat());
    for (out, scheme) in [(&results, "uno"), (&others, "gemini")] {
        let output = command(&run(&["--out", out, "--scheme", scheme])).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let plain = [
        #[cfg(feature = "import")]
        words(&["import", "cm", &matrix(folder), "--time-unit", "ps"]),
        words(&["list", "schemes"]),
        words(&["list", "scenarios", "--json"]),
        words(&["schema"]),
        words(&["check", "bench/fat-tree", "--set", "topology.k=4"]),
        words(&["compare", &results, &others]),
        words(&["compare", &results, &others, "--json"]),
        words(&["report", &results]),
        words(&["new", &path("scenario.toml")]),
        words(&["new", "--topology", &path("topology.toml")]),
        words(&["man", &path("man")]),
        words(&["completions", "bash"]),
        words(&["sweep", &sweep, "--quiet", "--json"]),
        words(&[
            "bench",
            "sim",
            "--only",
            "fat_tree_k8_permutation_fifo",
            "--threads",
            "1",
            "--quiet",
            "--set",
            SIZE,
        ]),
        #[cfg(feature = "ledger")]
        words(&["reproduce", "uno/fig13a", "--size", "smoke", "--quiet", "--out", &path("figure")]),
        words(&["--help"]),
        words(&["run", "--help"]),
        words(&["--version"]),
    ];
    let runs = [
        run(&[]),
        run(&["--json"]),
        run(&["--seeds", "1..2"]),
        run(&["--seeds", "1..2", "--json"]),
        run(&["--out", &path("out")]),
    ];
    plain.into_iter().chain(runs).collect()
}

#[test]
fn results_that_cannot_be_printed_are_a_failure() {
    let folder = Folder::new("full");
    for arguments in commands(&folder) {
        let output = command(&arguments).stdout(full()).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains("standard output cannot be written"), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    }
    let is = |name: &str| folder.0.join("out").join(name).is_file();
    assert!(is("summary.json") && is("report.html") && !is("run.lock"), "what goes into the folder is there");
}

#[test]
fn results_that_cannot_be_printed_are_a_failure_even_if_nobody_can_be_told() {
    let folder = Folder::new("deaf");
    for arguments in commands(&folder) {
        let status = command(&arguments).stdout(full()).stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(1), "{arguments:?}");
    }
}

/// Starts a command whose standard output is a pipe that nobody reads.
fn unread(arguments: &[String]) -> Child {
    let mut child = command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    child
}

#[test]
fn a_reader_that_has_left_is_no_failure() {
    let folder = Folder::new("pipe");
    for arguments in commands(&folder) {
        let output = unread(&arguments).wait_with_output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
        assert!(!said.contains("panicked") && !said.contains("cannot be written"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_warning_that_cannot_be_said_costs_no_result() {
    for stderr in [Stdio::from(full()), {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Stdio::from(writer)
    }] {
        let run = words(&["run", "uno/incast-mixed", "--set", "stop.time=1us", "--json"]);
        let output = command(&run).stderr(stderr).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["flows"]["finished"], 0);
    }
    let status = command(&words(&["run", "no/such"])).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(2), "the exit code says it");
}

/// Runs a command that may write so many KiB to a file: more is an error, as of a disk that is full.
fn limited(kib: u32, arguments: &[&str]) -> Output {
    let script = format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" \"$@\"");
    let shell = ["-c", &script, BINARY];
    Command::new("bash").args(shell).args(arguments).env("RUST_BACKTRACE", "0").output().unwrap()
}

#[test]
fn a_disk_that_is_full_ends_a_run_and_leaves_no_result() {
    let folder = Folder::new("disk");
    let out = folder.path("out");
    // A full disk stops the tables, or the page that comes last.
    for (kib, name) in [(2, "scenario.toml"), (6, ".parquet"), (60, "report.html")] {
        let run = ["run", "uno/incast-mixed", "--out", &out, "--force", "--json"];
        let output = limited(kib, &[&run[..], &SMALL[..]].concat());
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{kib} KiB: {said}");
        assert!(said.contains(name) && said.contains("File too large"), "{kib} KiB: {said}");
        assert!(output.stdout.is_empty(), "{kib} KiB");
        assert!(
            folder.0.join("out/run.lock").is_file(),
            "{kib} KiB: the folder says that its run was cut off"
        );
    }
}

#[test]
fn a_device_is_written_to_and_stays_one() {
    use std::os::unix::fs::FileTypeExt as _;
    let folder = Folder::new("device");
    let results = folder.path("results");
    let run = words(&[&["run", "uno/incast-mixed", "--out", &results], &SMALL[..]].concat());
    assert!(command(&run).output().unwrap().status.success());
    for arguments in [
        &["report", &results, "-o"][..],
        #[cfg(feature = "import")]
        &["import", "cm", &matrix(&folder), "--time-unit", "ps", "-o"],
        #[cfg(feature = "import")]
        &["import", "topo", TOPOLOGY, "-o"],
    ] {
        // Symbolic links, so that a command that replaces them harms no other test.
        for (device, code) in [("/dev/full", 1), ("/dev/null", 0)] {
            let link = folder.path("link");
            let _ = fs::remove_file(&link);
            symlink(device, &link).unwrap();
            let output = command(&words(&[arguments, &[&link]].concat())).output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{arguments:?} {device}: {}", stderr(&output));
            assert!(fs::metadata(&link).unwrap().file_type().is_char_device(), "{arguments:?} {device}");
        }
    }
    // A folder that somebody has prepared does not hold a run up.
    let odd = folder.path("odd");
    fs::create_dir(&odd).unwrap();
    symlink("/dev/zero", folder.0.join("odd/summary.json")).unwrap();
    let run = words(&[&["run", "uno/incast-mixed", "--out", &odd], &SMALL[..]].concat());
    let output = command(&run).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("summary.json: would be overwritten"), "{}", stderr(&output));
}

#[test]
fn of_two_runs_at_once_one_has_the_folder_and_its_results_are_whole() {
    let folder = Folder::new("writers");
    let out = folder.path("out");
    let run = |seed: &str| {
        let size = "workload.flow_size=2MiB";
        words(&[
            "run",
            "uno/incast-mixed",
            "--set",
            size,
            "--quiet",
            "--seed",
            seed,
            "--out",
            &out,
            "--force",
        ])
    };
    let mut refused = 0;
    for round in 0..60 {
        let start = |seed| command(&run(seed)).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let both = [start("1"), start("2")].map(|child| child.wait_with_output().unwrap());
        let codes = both.each_ref().map(|output| output.status.code());
        assert!(codes.contains(&Some(0)), "round {round}: {both:?}");
        for output in both.iter().filter(|output| !output.status.success()) {
            let said = stderr(output);
            assert!(
                output.status.code() == Some(1) && said.contains("another run is writing there"),
                "{said}"
            );
            refused += 1;
        }
        let document: Value =
            serde_json::from_str(&fs::read_to_string(folder.0.join("out/summary.json")).unwrap()).unwrap();
        let scenario = fs::read_to_string(folder.0.join("out/scenario.toml")).unwrap();
        assert!(
            scenario.contains(&format!("seed = {}", document["seed"])),
            "round {round}: files of two runs"
        );
        assert!(!folder.0.join("out/run.lock").exists());
        if round > 4 && refused > 0 {
            return;
        }
    }
    panic!("they never met");
}

#[test]
fn what_there_is_no_memory_for_is_refused_before_it_is_spent() {
    let folder = Folder::new("memory");
    let list = folder.write(
        "list.toml",
        "[topology]\nkind = 'star'\nhosts = 4\n[[workload]]\nkind = 'flows'\nfile = '/dev/zero'\n",
    );
    let steady = ["run", "uno/steady", "--set"];
    for (arguments, place, cure) in [
        (&["run", "/dev/zero"][..], "/dev/zero: neither a built-in", "it is a device"),
        (&["run", &list], "list.toml:6:8: workload[0].file: /dev/zero", "it is a device"),
        #[cfg(feature = "import")]
        (&["import", "cm", "/dev/zero", "--time-unit", "ps"], "/dev/zero: ", "it is a device"),
        #[cfg(feature = "import")]
        (&["import", "topo", "/dev/zero"], "/dev/zero: ", "it is a device"),
        (&["sweep", "/dev/zero"], "/dev/zero: ", "it is a device"),
        (&[&steady[..], &["workload.flows=4000000000"]].concat(), "workload.flows", "ask for fewer flows"),
        (
            &["check", "uno/incast-mixed", "--set", "probes.queue_interval=1ps"],
            "--set probes.queue_interval=1ps",
            "give from 1ns",
        ),
        (
            &[
                "check",
                "uno/incast-mixed",
                "--set",
                "probes.queue_interval=1ns",
                "--set",
                "workload.flow_size=16000GiB",
                "--set",
                "transport.payload=9000B",
                "--set",
                "probes.ports=all",
            ],
            "probes.queue_interval",
            "sample less often",
        ),
    ] {
        let output = command(&words(arguments)).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(place) && said.contains(cure), "{arguments:?}: {said}");
    }
}

#[test]
fn a_run_that_runs_out_of_memory_says_so() {
    let run = "ulimit -v 400000; exec \"$0\" run uno/incast-mixed --quiet --json --set probes.queue_interval=1us \
               --set probes.ports=all --set workload.flow_size=64MiB --set transport.start=iw10";
    let output = Command::new("sh").args(["-c", run, BINARY]).env("RUST_BACKTRACE", "1").output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("farspan: no memory for ") && said.lines().count() == 1, "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_scenario_above_3_mib_is_refused_before_it_is_read_as_tables() {
    let folder = Folder::new("long");
    let text = "name = 'long'\n# ".to_owned() + &"x".repeat(3 << 20);
    let long = folder.write("long.toml", &text);
    let output = command(&words(&["check", &long])).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("longer than 3 MiB") && said.contains("kind = \"flows\""), "{said}");
}
