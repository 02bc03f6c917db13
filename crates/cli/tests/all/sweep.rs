//! Sweeps as scripts see them: what is done stays done, and nothing outlives its command.
#![cfg(unix)]

use farspan_sweep::{Program, Store};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const BINARY: &str = env!("CARGO_BIN_EXE_farspan");
const SMALL: &str =
    "scenario = 'bench/fat-tree'\n[grid]\n'topology.k' = 4\n'workload.flow_size' = ['4KiB', '8KiB']\n";

/// A folder of the test's own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("farspan-sweep-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A sweep file; its folder is `s`.
    fn sweep(&self, head: &str) -> String {
        let path = self.0.join("s.toml");
        fs::write(&path, format!("{head}\n{SMALL}")).unwrap();
        path.display().to_string()
    }

    fn out(&self) -> PathBuf {
        self.0.join("s")
    }

    fn names(&self) -> BTreeSet<String> {
        fs::read_dir(self.out()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sweep(file: &str, more: &[&str]) -> Output {
    Command::new(BINARY)
        .args(["sweep", file, "--quiet", "--json", "--jobs", "2"])
        .args(more)
        .output()
        .unwrap()
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The rows without what a computer took.
fn rows(document: &Value) -> Vec<Value> {
    let mut rows = document["rows"].as_array().unwrap().clone();
    for row in &mut rows {
        let row = row.as_object_mut().unwrap();
        ["wall_time_s", "setup_time_s", "peak_rss_bytes"].iter().for_each(|name| drop(row.remove(*name)));
    }
    rows
}

#[test]
fn what_is_done_is_not_done_again() {
    let folder = Folder::new("again");
    let file = folder.sweep("scheme = ['uno', 'dctcp']\nseeds = '1,3'");
    let first = document(&sweep(&file, &[]));
    assert_eq!((&first["runs"], &first["done"], &first["reused"]), (&8.into(), &8.into(), &0.into()));
    let second = document(&sweep(&file, &[]));
    assert_eq!(second["reused"], 8);
    assert_eq!(first["rows"], second["rows"]);
    let row = &first["rows"][0];
    let told =
        ["scheme", "seed", "workload.flow_size", "workload.flow_size_bytes", "status"].map(|name| &row[name]);
    assert_eq!(told, [&Value::from("uno"), &1.into(), &"4KiB".into(), &4096.into(), &"done".into()]);
    assert!(row["fct_all_p99_us"].is_number() && row["error"].is_null());
    // One more scheme: only its runs are new.
    folder.sweep("scheme = ['uno', 'dctcp', 'gemini']\nseeds = '1,3'");
    assert_eq!(document(&sweep(&file, &[]))["reused"], 8);
    let (schema, batches) = farspan_metrics::read_table(&folder.out().join("runs.parquet")).unwrap();
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 12);
    assert!(schema.field_with_name("workload.flow_size").is_ok() && schema.field_with_name("error").is_ok());
    let compared = Command::new(BINARY).args(["compare", "--json"]).arg(folder.out()).output().unwrap();
    let comparisons = document(&compared)["comparisons"].clone();
    // In the order of the folders' names, which have the program's build in them.
    let names: BTreeSet<&str> =
        comparisons.as_array().unwrap().iter().filter_map(|one| one["scenario"].as_str()).collect();
    let expected = ["4KiB", "8KiB"].map(|size| format!("bench/fat-tree, workload[0].flow_size {size}"));
    assert!(names.into_iter().eq(&expected), "{comparisons}");
    assert_eq!(comparisons[1]["runs"].as_array().unwrap().len(), 3);
    let report = Command::new(BINARY).arg("report").arg(folder.out()).output().unwrap();
    assert!(report.status.success(), "{}", stderr(&report));
}

#[test]
fn what_a_sweep_has_no_longer_is_not_compared() {
    let folder = Folder::new("stale");
    assert!(sweep(&folder.sweep("scheme = ['uno', 'dctcp']"), &[]).status.success());
    assert!(sweep(&folder.sweep("scheme = ['uno', 'gemini']"), &[]).status.success());
    let names = || {
        let compared = Command::new(BINARY).args(["compare", "--json"]).arg(folder.out()).output().unwrap();
        let runs = document(&compared)["comparisons"][0]["runs"].clone();
        let mut names: Vec<String> =
            runs.as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["gemini", "uno"]);
    // Before a sweep has ended once, what is there is its own.
    fs::remove_file(folder.out().join("runs.parquet")).unwrap();
    assert_eq!(names(), ["dctcp", "gemini", "uno"]);
}

#[test]
fn sweeps_below_one_folder_pair_by_their_settings() {
    let folder = Folder::new("side-by-side");
    let parent = folder.0.join("both");
    for scheme in ["uno", "dctcp"] {
        let out = parent.join(scheme).display().to_string();
        let file = folder.sweep(&format!("scheme = '{scheme}'\nseeds = '1,2'"));
        assert!(sweep(&file, &["--out", &out]).status.success());
    }
    let both = Command::new(BINARY).arg("compare").arg(&parent).arg("--json").output().unwrap();
    let both = document(&both);
    let groups = both["comparisons"].as_array().unwrap();
    let names: Vec<_> = groups.iter().map(|group| group["scenario"].as_str().unwrap()).collect();
    assert_eq!(names, ["4KiB", "8KiB"].map(|size| format!("bench/fat-tree, workload[0].flow_size {size}")));
    for group in groups {
        let runs: Vec<_> = group["runs"].as_array().unwrap().iter().map(|run| &run["name"]).collect();
        assert_eq!(runs, ["dctcp", "uno"]);
    }
    let mut plot = Command::new(BINARY);
    let plot =
        plot.arg("plot").arg(&parent).args(["--x", "topology.k", "--y", "fct.all.mean_us", "-o", "x.svg"]);
    let said = stderr(&plot.output().unwrap());
    assert!(said.ends_with("these vary: scheme (dctcp, uno); workload.flow_size (4KiB, 8KiB)\n"), "{said}");
}

#[test]
fn a_single_run_does_not_go_into_the_folder_of_a_sweep() {
    let folder = Folder::new("mixed");
    let file = folder.sweep("");
    let run = || {
        let mut command = Command::new(BINARY);
        command.args(["run", "bench/fat-tree", "--force", "--quiet", "--set", "topology.k=4", "--out"]);
        command.arg(folder.out()).output().unwrap()
    };
    let program = Program::new(vec!["farspan".into()], &[]).unwrap();
    let store = Store::open(&folder.out(), &program).unwrap();
    let locked = run();
    assert!(locked.status.code() == Some(1) && stderr(&locked).contains("(a sweep)"), "{locked:?}");
    drop(store);
    assert!(sweep(&file, &[]).status.success());
    let names = folder.names();
    let refused = run();
    assert!(refused.status.code() == Some(2) && stderr(&refused).contains("of a sweep"), "{refused:?}");
    assert_eq!(folder.names(), names);
}

#[test]
fn a_failed_run_is_a_row_and_not_the_end() {
    let folder = Folder::new("failed");
    let file = folder.sweep("");
    fs::write(&file, SMALL.replace("= 4\n", "= [4, 7]\n")).unwrap();
    let output = sweep(&file, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("2 of 4 runs failed"), "{}", stderr(&output));
    let document = document(&output);
    assert_eq!((&document["done"], &document["failed"]), (&2.into(), &2.into()));
    let failed = &document["rows"][2];
    assert!(
        failed["status"] == "failed" && failed["error"].as_str().unwrap().contains("topology.k"),
        "{failed}"
    );
}

#[test]
fn bad_input_exits_with_2_before_anything_is_written() {
    let folder = Folder::new("bad");
    let file = folder.sweep("schemes = 'uno'");
    let output = sweep(&file, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("s.toml:1:1: schemes: unknown key"), "{}", stderr(&output));
    assert!(!folder.out().exists());
    let file = folder.sweep("");
    let asked = ["--scheme", "uno", "--grid", "topology.link[\"it's->*\"].delay=1us,2us", "--backend", "ray"];
    let ray = sweep("bench/fat-tree", &asked);
    let words = "python -m farspan sweep bench/fat-tree --quiet --json --jobs 2 --scheme uno \
                 --grid 'topology.link[\"it'\\''s->*\"].delay=1us,2us' --backend ray\n";
    assert!(ray.status.code() == Some(2) && stderr(&ray).ends_with(words), "{}", stderr(&ray));
    assert!(!folder.out().exists());
    // Without an ending, the file's name is that of its folder.
    fs::copy(&file, folder.out()).unwrap();
    let itself = sweep(&folder.out().display().to_string(), &[]);
    assert!(itself.status.code() == Some(2) && stderr(&itself).contains("choose another path"), "{itself:?}");
    fs::remove_file(folder.out()).unwrap();
    fs::create_dir(folder.out()).unwrap();
    fs::write(folder.out().join("thesis.tex"), "words").unwrap();
    let foreign = sweep(&file, &[]);
    assert!(
        foreign.status.code() == Some(2) && stderr(&foreign).contains("thesis.tex"),
        "{}",
        stderr(&foreign)
    );
    assert_eq!(folder.names().len(), 1);
}

#[test]
fn a_second_sweep_into_one_folder_is_refused() {
    let folder = Folder::new("two");
    let file = folder.sweep("");
    let program = Program::new(vec!["farspan".into()], &[]).unwrap();
    let store = Store::open(&folder.out(), &program).unwrap();
    let output = sweep(&file, &[]);
    assert!(
        output.status.code() == Some(1) && stderr(&output).contains("another sweep is writing"),
        "{output:?}"
    );
    drop(store);
    assert!(sweep(&file, &[]).status.success());
}

/// A sweep under way, of which some runs are there.
fn under_way(folder: &Folder, file: &str) -> Child {
    let mut command = Command::new(BINARY);
    command.args(["sweep", file, "--quiet", "--jobs", "2"]).stdout(Stdio::null());
    begun(folder, &mut command)
}

/// Starts a sweep, and waits until some runs are there.
fn begun(folder: &Folder, command: &mut Command) -> Child {
    let child = command.spawn().unwrap();
    let whole = |name: &String| folder.out().join(name).join("summary.json").exists();
    while !folder.out().exists() || folder.names().iter().filter(|name| whole(name)).count() < 3 {
        std::thread::yield_now();
    }
    child
}

/// Workers name the folder in their arguments; each looks for the end of its standard input.
fn no_worker_is_left(folder: &Folder) {
    let name = folder.out().display().to_string();
    let lives = || {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let arguments = |entry: fs::DirEntry| fs::read(entry.path().join("cmdline")).unwrap_or_default();
        processes.map(arguments).any(|words| String::from_utf8_lossy(&words).contains(&name))
    };
    for _ in 0..200 {
        if !lives() {
            return;
        }
        Command::new("sleep").arg("0.05").status().unwrap();
    }
    panic!("a worker outlived its sweep");
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn a_killed_sweep_goes_on_where_it_was() {
    let (folder, unbroken) = (Folder::new("killed"), Folder::new("unbroken"));
    let head = "scheme = ['uno', 'dctcp']\nseeds = '1..15'";
    let file = folder.sweep(head);
    let mut child = under_way(&folder, &file);
    signal(&child, "-KILL");
    child.wait().unwrap();
    no_worker_is_left(&folder);
    let resumed = document(&sweep(&file, &[]));
    assert!(resumed["reused"].as_u64().unwrap() >= 3);
    assert_eq!(rows(&resumed), rows(&document(&sweep(&unbroken.sweep(head), &[]))));
    assert_eq!(folder.names(), unbroken.names());
}

#[test]
fn ctrl_c_keeps_what_is_whole() {
    let folder = Folder::new("interrupted");
    let file = folder.sweep("seeds = '1..30'");
    let mut child = under_way(&folder, &file);
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!folder.names().contains(".under-way") && folder.names().contains("runs.parquet"));
    let resumed = document(&sweep(&file, &[]));
    assert!(resumed["reused"].as_u64().unwrap() >= 3 && resumed["done"] == 60, "{}", resumed["reused"]);
}

#[test]
fn a_long_sweep_says_first_what_it_costs() {
    let folder = Folder::new("cost");
    let out = folder.out().display().to_string();
    let mut command = Command::new(BINARY);
    command.args(["run", "bench/fat-tree", "--scheme", "uno,dctcp", "--set", "topology.k=4", "--out", &out]);
    let long = command.args(["--set", "workload.flow_size=9000GiB", "--set", "stop.time=100s"]);
    let mut child = long.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.find(|line| line.contains("runs of about"));
    signal(&child, "-INT");
    assert!(first.is_some_and(|line| line.starts_with("farspan: 2 runs of about ")));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let last = lines.last().unwrap();
    assert_eq!(last, "farspan: interrupted; run the same command again to continue");
}

#[cfg(feature = "ledger")]
#[test]
fn a_full_figure_says_once_what_is_left_of_it() {
    let folder = Folder::new("full");
    let out = folder.out().display().to_string();
    let left = |more: &[&str]| {
        let mut command = Command::new(BINARY);
        command.args(["reproduce", "oscar/fig3", "--size", "full", "--jobs", "1", "--out", &out]).args(more);
        let mut child = begun(&folder, command.stdout(Stdio::null()).stderr(Stdio::piped()));
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let said = lines.next().unwrap();
        signal(&child, "-INT");
        assert_eq!(child.wait().unwrap().code(), Some(130));
        let after: Vec<_> = lines.collect();
        assert!(!after.iter().any(|line| line.contains(" runs to do, ")), "{after:?}");
        let end = "farspan: interrupted; complete runs are kept, and --resume skips them";
        assert_eq!(after.last().map(String::as_str), Some(end));
        let words: Vec<_> = said.split_whitespace().collect();
        assert_eq!(words[0], "farspan:");
        assert!(said.contains(" runs to do, about ") && said.contains(" packet-hops: about "), "{said}");
        assert!(said.ends_with(" with 1 at a time"), "{said}");
        words[1].parse::<usize>().unwrap()
    };
    let all = left(&[]);
    let rest = left(&["--resume"]);
    assert!((1..all).contains(&rest), "{rest} of {all}");
}

#[test]
fn several_schemes_go_on_after_ctrl_c() {
    let folder = Folder::new("asked");
    let out = folder.out().display().to_string();
    let mut command = Command::new(BINARY);
    command.args(["run", "bench/fat-tree", "--scheme", "uno,dctcp", "--seeds", "1..30", "--quiet", "--json"]);
    command.args(["--set", "topology.k=4", "--out", &out]).stdout(Stdio::null());
    let mut child = begun(&folder, &mut command);
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let names = folder.names();
    assert!(names.contains("runs.parquet") && !names.contains("report.html"), "{names:?}");
    let resumed = document(&command.stdout(Stdio::piped()).output().unwrap());
    assert!(resumed["reused"].as_u64().unwrap() >= 3 && resumed["done"] == 60, "{}", resumed["reused"]);
    assert!(folder.names().contains("report.html"));
}

#[test]
fn what_an_edited_scenario_gives_does_not_count_as_the_old_one() {
    let folder = Folder::new("edited");
    let file = folder.0.join("s.toml");
    let scenario = |bytes: &str| {
        let text = format!(
            "base = 'bench/fat-tree'\n[topology]\nk = 4\n[[workload]]\nkind = 'permutation'\nflow_size = '{bytes}'\n"
        );
        fs::write(folder.0.join("mine.toml"), text).unwrap();
    };
    scenario("4KiB");
    fs::write(&file, "scenario = 'mine.toml'\nseeds = '1..40'").unwrap();
    let file = file.display().to_string();
    let mut child = under_way(&folder, &file);
    scenario("8KiB");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    scenario("4KiB");
    let again = document(&sweep(&file, &[]));
    let payload = |row: &Value| row["bytes_payload"].as_u64().unwrap();
    let payload: BTreeSet<u64> = again["rows"].as_array().unwrap().iter().map(payload).collect();
    assert_eq!((&again["done"], payload), (&40.into(), BTreeSet::from([16 * 4096])));
    assert!(again["reused"].as_u64().unwrap() < 40);
}

#[test]
fn a_program_that_is_built_anew_ends_the_sweep() {
    let folder = Folder::new("built");
    let file = folder.sweep("seeds = '1..100'");
    // A link: a program that was just written may still be open in another test's child, and cannot be started then.
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("farspan-{}", std::process::id()));
    fs::hard_link(BINARY, &program).unwrap();
    let mut command = Command::new(&program);
    command.args(["sweep", &file, "--quiet", "--json", "--jobs", "2"]).stdout(Stdio::piped());
    let child = begun(&folder, command.stderr(Stdio::piped()));
    // As a linker does it: the old file goes, and runs of it go on.
    fs::remove_file(&program).unwrap();
    let mut built = fs::read(BINARY).unwrap();
    built.push(0);
    fs::write(&program, built).unwrap();
    fs::set_permissions(&program, fs::metadata(BINARY).unwrap().permissions()).unwrap();
    let ended = child.wait_with_output().unwrap();
    fs::remove_file(&program).unwrap();
    assert!(ended.status.code() == Some(1) && stderr(&ended).contains("another build"), "{ended:?}");
    assert!(ended.stdout.is_empty());
}

#[test]
fn a_worker_ends_with_its_standard_input() {
    let folder = Folder::new("tether");
    let out = folder.0.join("r");
    let mut child = Command::new(BINARY)
        .args(["run", "uno/websearch", "--quiet", "--end-with-stdin", "--out"])
        .arg(&out)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!Path::new(&out).join("summary.json").exists());
}
