//! The binary as scripts see it: exit codes, one document on standard output, files.

use crate::common::*;
use serde_json::Value;
use std::process::Command;

const SMALL: [&str; 4] = ["--set", "workload.flow_size=64KiB", "--quiet", "--json"];

#[test]
fn bad_input_exits_with_2_and_says_place_and_cure() {
    let folder = Folder::new("bad");
    let text = folder.path("bad.toml");
    std::fs::write(&text, "[topology]\nk = 4\n\n[[workload]]\nkind = 'incast'\nflow_sizes = '1MiB'\n")
        .unwrap();
    let incast = "uno/incast-mixed";
    let place = format!("{text}:6:1: workload[0].flow_sizes");
    let cases: &[(&[&str], &str, &str)] = &[
        (&["run", "no/such"], "no/such", "farspan list scenarios"),
        (&["run", &text], &place, "did you mean \"flow_size\""),
        (&["run", incast, "--scheme", "unoo"], "--scheme unoo", "did you mean \"uno\""),
        (&["run", incast, "--scheme", "unocc+rps+mds(8)"], "--scheme unocc+rps+mds(8)", "mds(8,2)"),
        (&["run", incast, "--profile", "papr"], "--profile papr", "did you mean \"paper\""),
        (
            &["run", incast, "--set", "workload.flow_sizes=4MiB"],
            "--set workload.flow_sizes=4MiB",
            "\"flow_size\"",
        ),
        (&["run", incast, "--set", "workload.flow_size=4 parsecs"], "workload.flow_size", "MiB"),
        (&["run", incast, "--set", "topology.k=7"], "topology.k", "even"),
        (&["run", incast, "--set", "topology.link_rate=0Gbps"], "topology.link_rate", "from 1Mbps"),
        (&["run", incast, "--set", "stop.time=-1s"], "stop.time", "negative"),
        (&["run", "uno/websearch", "--set", "workload.load=-1"], "workload[0].load", "above 0"),
        (&["run", incast, "--seeds", "5..1"], "--seeds", "smaller one first"),
        (&["run", incast, "--seed", "1", "--seeds", "1..2"], "--seed", "cannot be used"),
        (&["run", incast, "--threads", "0"], "--threads", "1"),
        (&["run", incast, "--engine", "windwed"], "--engine", "did you mean \"windowed\""),
        (&["run", incast, "--seed", "18446744073709551615"], "--seed", "a whole number from 0"),
        (&["run", incast, "--seed", "-1"], "--seed", "a whole number from 0"),
        (&["check", incast, "--seed", "one"], "--seed", "a whole number from 0"),
        (&["check", "no-such.toml"], "no-such.toml", "farspan new"),
        (&["list", "scheme"], "scheme", "did you mean \"schemes\""),
        (&["sweep", "a"], "a: neither a built-in scenario nor a file", "farspan list scenarios"),
        (&["compare", "no-such-folder"], "no-such-folder: is not a folder", "farspan run --out"),
        (&["report", &folder.path("")], "no run in this folder or below", "summary.json"),
        (&["report", &text], "bad.toml: is not a folder", "farspan run --out"),
        (&["rnu", "a"], "rnu", "did you mean \"run\""),
    ];
    refused(cases);
}

/// Each command ends with 2, and says a place and a cure.
fn refused(cases: &[(&[&str], &str, &str)]) {
    for (arguments, place, cure) in cases {
        let output = farspan(arguments);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(message.contains(place) && message.contains(cure), "{arguments:?}: {message}");
        assert!(!message.contains("panicked") && output.stdout.is_empty(), "{arguments:?}: {message}");
    }
}

#[cfg(feature = "import")]
#[test]
fn a_bad_import_exits_with_2_and_says_place_and_cure() {
    let folder = Folder::new("bad-import");
    let text = folder.path("bad.toml");
    std::fs::write(&text, "[topology]\nk = 4\n").unwrap();
    refused(&[
        (&["import", "goal", "a"], "format \"goal\"", "not in this release; available: cm, hpcc"),
        (&["import", "cmm", "a"], "cmm", "did you mean \"cm\""),
        (
            &["import", "cm", &text],
            "does not name the unit of `start`",
            "--time-unit us   (microseconds) if it was made for",
        ),
        (
            &["import", "cm", &text],
            "--time-unit is missing",
            "--time-unit ps   (picoseconds) if it was made for",
        ),
        (&["import", "cm", &text, "--time-unit", "ns"], "--time-unit", "available: us, ps"),
        (
            &["import", "cm", "no-such.cm", "--time-unit", "us"],
            "no-such.cm: cannot be read",
            "connection matrix",
        ),
        (&["import", "cm", &text, "--time-unit", "us"], &text, "has no connections"),
    ]);
}

#[test]
fn bad_input_writes_nothing() {
    let folder = Folder::new("nothing");
    let out = folder.path("out");
    let output = farspan(&["run", "uno/incast-mixed", "--set", "topology.k=6", "--out", &out]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(!std::path::Path::new(&out).exists());
}

/// Three flows, of which the last waits for the others.
#[test]
fn a_topology_starter_is_written_and_has_a_schema() {
    let folder = Folder::new("new-topology");
    let file = folder.path("net.toml");
    let output = farspan(&["new", "--topology", &file]);
    assert!(stdout(&output).contains("kind = \"from_file\""), "{}", stderr(&output));
    assert_eq!(farspan(&["new", "--topology", &file]).status.code(), Some(2), "it exists");
    let output = farspan(&["check", "topology/three-sites", "--set", &format!("topology.file={file}")]);
    assert!(stdout(&output).contains("# pair between east and north: 5 links"), "{}", stderr(&output));
    let schema = document(&["schema", "--topology"]);
    assert!(schema["properties"]["link"]["description"].is_string());
}

#[test]
fn a_run_is_one_document_and_repeats_itself() {
    let arguments = [&["run", "uno/incast-mixed", "--scheme", "uno-noec"][..], &SMALL].concat();
    let (first, second) = (document(&arguments), document(&arguments));
    assert_eq!(first["flows"]["finished"], 8);
    assert_eq!(first["scheme"], "uno-noec");
    assert_eq!(first["partial"], false);
    assert!(first["commit"].as_str().is_some_and(|commit| commit.len() >= 7));
    for field in ["digest", "packet_digest", "packet_hops"] {
        assert_eq!(first[field], second[field], "{field}");
    }
    let oracle = document(&[&arguments[..], &["--engine", "oracle"]].concat());
    assert_eq!((&oracle["digest"], &oracle["engine"]), (&first["digest"], &"oracle".into()));
}

#[test]
fn seeds_give_the_same_runs_as_one_at_a_time() {
    let scenario = ["run", "uno/permutation", "--scheme", "gemini"];
    let all = document(&[&scenario[..], &SMALL, &["--seeds", "1..3"]].concat());
    let seeds: Vec<_> =
        all["runs"].as_array().unwrap().iter().map(|run| run["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [1, 2, 3]);
    let second = document(&[&scenario[..], &SMALL, &["--seed", "2"]].concat());
    assert_eq!(all["runs"][1]["digest"], second["digest"]);
    assert_ne!(all["runs"][0]["digest"], second["digest"]);
    let mean = &all["summary"]["fct"]["all"]["mean_us"];
    assert!(
        mean["min"].as_f64() <= mean["median"].as_f64() && mean["median"].as_f64() <= mean["max"].as_f64()
    );
}

#[test]
fn a_folder_holds_everything_and_runs_again() {
    let folder = Folder::new("out");
    let out = folder.path("result");
    let scenario = ["run", "uno/incast-mixed", "--scheme", "gemini", "--profile", "artifact", "--seed", "7"];
    let printed = document(&[&scenario[..], &SMALL, &["--out", &out]].concat());
    let tables = ["flows.parquet", "ports.parquet", "series.parquet"];
    for name in ["summary.json", "scenario.toml", "report.html"].into_iter().chain(tables) {
        assert!(folder.0.join("result").join(name).is_file(), "{name}");
    }
    let saved = std::fs::read_to_string(folder.path("result/summary.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&saved).unwrap(), printed);
    let again = document(&["run", &folder.path("result/scenario.toml"), "--quiet", "--json"]);
    assert_eq!(again["digest"], printed["digest"]);
    assert_eq!((&again["seed"], &again["profile"]), (&7.into(), &"artifact".into()));
}

#[test]
fn the_table_is_for_people() {
    let output = farspan(&["run", "uno/incast-mixed", "--set", "workload.flow_size=64KiB", "--quiet"]);
    let text = stdout(&output);
    for word in ["flow completion", "intra", "inter", "fairness", "bottleneck", "digest"] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    assert!(!text.contains("pauses"), "there is nothing to pause:\n{text}");
    let lossless =
        ["scheme.ports.pool.size=32MiB", "scheme.ports.pfc.links=site", "workload.flow_size=64KiB"];
    let set = lossless.iter().flat_map(|set| ["--set", set]).collect::<Vec<_>>();
    let text = stdout(&farspan(&[&["run", "uno/incast-mixed", "--quiet"][..], &set].concat()));
    assert!(text.contains("\npauses        "), "{text}");
    let seeds = ["--seeds", "1..2", "--quiet"];
    let output =
        farspan(&[&["run", "uno/incast-mixed", "--set", "workload.flow_size=64KiB"][..], &seeds].concat());
    let text = stdout(&output);
    assert!(text.contains("interval of less than 95% of the median"));
    assert!(text.contains("note: 2 seeds: a 95% interval of the median needs 6 seeds"), "{text}");
    assert!(text.contains("inf: some flows did not finish"), "{text}");
}

#[test]
fn a_checked_scenario_is_a_scenario_again() {
    let folder = Folder::new("check");
    let output = farspan(&["check", "uno/steady", "--scheme", "gemini"]);
    let text = stdout(&output);
    for word in ["offered load: host", "transient: false", "packet-hops", "memory", "base RTT 2ms"] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    let file = folder.path("resolved.toml");
    std::fs::write(&file, &text).unwrap();
    let again = stdout(&farspan(&["check", &file]));
    let values =
        |text: &str| text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    assert_eq!(values(&again), values(&text));
}

#[test]
fn a_starter_is_written_once() {
    let folder = Folder::new("new");
    let file = folder.path("mine.toml");
    assert!(farspan(&["new", &file]).status.success());
    let output = farspan(&["new", &file]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("exists"));
    let run = document(&["run", &file, "--set", "workload.flow_size=64KiB", "--json", "--quiet"]);
    assert_eq!(run["scenario"], "my-incast");
}

#[test]
fn lists_and_the_schema_are_documents() {
    for kind in [
        "schemes",
        "congestion",
        "balance",
        "coding",
        "queues",
        "topologies",
        "workloads",
        "scenarios",
        #[cfg(feature = "ledger")]
        "figures",
    ] {
        let items = document(&["list", kind, "--json"]);
        assert!(items.as_array().is_some_and(|items| !items.is_empty()), "{kind}");
    }
    assert!(stdout(&farspan(&["list", "scenarios"])).contains("uno/steady"));
    assert_eq!(document(&["schema"])["type"], "object");
}

#[cfg(feature = "ledger")]
#[test]
fn reproduce_gives_a_document_and_pages_and_refuses_bad_input() {
    let folder = Folder::new("reproduce");
    let out = folder.path("runs");
    let quick = ["--size", "smoke", "--out", &out, "--quiet", "--json"];
    let one = document(&[&["reproduce", "uno/fig13b"][..], &quick].concat());
    assert_eq!((&one["figure"], &one["size"]), (&Value::from("uno/fig13b"), &Value::from("smoke")));
    let claims = one["claims"].as_array().unwrap();
    assert!(!claims.is_empty() && claims.iter().all(|claim| claim["verdict"] == "not_run"));
    assert!(folder.0.join("runs/uno-fig13b.md").is_file() && folder.0.join("runs/uno-fig13b.svg").is_file());
    let cases: &[(&[&str], &str)] = &[
        (&["reproduce"], "--all"),
        (&["reproduce", "uno/fig13"], "did you mean \"uno/fig13"),
        (&["reproduce", "uno/fig13b", "--size", "tiny"], "smoke"),
        (&["reproduce", "uno/fig13b", "--size", "smoke", "--accept"], "no verdicts"),
        (&["reproduce", "uno/fig13b", "--accept=/nowhere"], "checkout"),
        (&["reproduce", "--pages=/nowhere"], "checkout"),
    ];
    for (arguments, cure) in cases {
        let output = farspan(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(cure), "{arguments:?}: {}", stderr(&output));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_run_leaves_readable_partial_results() {
    let folder = Folder::new("interrupt");
    let mut command = Command::new(env!("CARGO_BIN_EXE_farspan"))
        .args(["run", "uno/incast-mixed", "--out", &folder.path("result"), "--json", "--quiet"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Until it catches SIGINT, number 2.
    let status = format!("/proc/{}/status", command.id());
    let catches = || {
        let status = std::fs::read_to_string(&status).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t")).unwrap();
        u64::from_str_radix(mask, 16).unwrap() & 0b10 > 0
    };
    while !catches() {
        assert!(command.try_wait().unwrap().is_none(), "it ended before it caught interrupts");
        std::thread::yield_now();
    }
    assert!(Command::new("kill").args(["-INT", &command.id().to_string()]).status().unwrap().success());
    let output = command.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let printed: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(printed["partial"], true);
    let saved = std::fs::read_to_string(folder.path("result/summary.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&saved).unwrap()["partial"], true);
    assert!(folder.0.join("result/flows.parquet").is_file());
}

#[test]
fn a_benchmark_is_a_run_in_a_process_of_its_own() {
    let only = ["--only", "fat_tree_k8_permutation_fifo", "--quiet", "--json"];
    let small = ["--set", "topology.k=4", "--set", "workload.flow_size=64KiB", "--repeat", "3"];
    let measured = document(&[&["bench", "sim"], &only[..], &small].concat());
    let measured = measured["benchmarks"].as_array().unwrap();
    let what: Vec<_> =
        measured.iter().map(|b| (b["name"].as_str().unwrap(), b["threads"].as_u64().unwrap())).collect();
    let (off, on) = ("fat_tree_k8_permutation_fifo", "fat_tree_k8_permutation_fifo_probes");
    assert_eq!(what, [(off, 1), (off, 2), (on, 1), (on, 2)]);
    let run =
        document(&["run", "bench/fat-tree-fifo", "--set", "topology.k=4", SMALL[0], SMALL[1], "--json"]);
    for benchmark in measured {
        assert_eq!(benchmark["packet_hops"], run["packet_hops"]);
        let number = |key: &str| benchmark[key].as_f64().unwrap();
        let rate = number("packet_hops") / number("wall_time_s");
        assert!((number("packet_hops_per_s") / rate - 1.0).abs() < 1e-9);
        assert!((number("ns_per_hop") * rate / 1e9 - 1.0).abs() < 1e-9);
        assert!(number("peak_rss_bytes") > 0.0 && number("setup_time_s") > 0.0);
    }
}

#[test]
fn benchmarks_that_are_not_there_say_what_is() {
    for (arguments, said) in [
        (&["bench", "udp"][..], "available: sim"),
        (&["bench", "congestion", "--only", "oscar"], "`make lab`, and run `farspan-lab bench congestion`"),
        (&["bench", "sim", "--only", "fat_tree_k9"], "did you mean \"fat_tree_k8"),
        (&["bench", "sim", "--set", "workload.flow_sizes=1MiB"], "did you mean \"flow_size\""),
    ] {
        let output = farspan(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

#[test]
fn threads_change_no_result_and_are_counted() {
    let run = |more: &[&str]| {
        let base = ["run", "uno/permutation", "--set", "topology.k=4"];
        document(&[&base[..], &SMALL, more].concat())
    };
    let (one, two) = (run(&[]), run(&["--threads", "2"]));
    assert_eq!((&one["threads"], &two["threads"]), (&Value::from(1), &Value::from(2)));
    for key in ["digest", "packet_digest", "packet_hops", "bytes", "queues"] {
        assert_eq!(one[key], two[key], "{key}");
    }
    let oracle = run(&["--threads", "2", "--engine", "oracle"]);
    assert_eq!((&oracle["threads"], &oracle["digest"]), (&Value::from(1), &one["digest"]));
    assert!(one["setup_time_s"].as_f64() < one["wall_time_s"].as_f64());
}

/// Runs of a small incast with this scheme, under `name`.
fn small_runs(folder: &Folder, name: &str, scheme: &str, more: &[&str]) -> String {
    let out = folder.path(name);
    let scenario = ["run", "uno/incast-mixed", "--scheme", scheme, "--out", &out, "--quiet"];
    let output = farspan(&[&scenario[..], &SMALL[..2], more].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    out
}

#[test]
fn runs_are_paired_by_seed() {
    let folder = Folder::new("compare");
    let uno = small_runs(&folder, "uno", "uno", &["--seeds", "1..3"]);
    let gemini = small_runs(&folder, "gemini", "gemini", &["--seeds", "2..4"]);
    let page = folder.path("page.html");
    let both = document(&["compare", &uno, &gemini, "--json", "-o", &page]);
    let comparison = &both["comparisons"][0];
    assert_eq!(
        (&comparison["baseline"], &comparison["ratios"][0]["name"]),
        (&"uno".into(), &"gemini".into())
    );
    assert_eq!(comparison["ratios"][0]["seeds"], serde_json::json!([2, 3]));
    let mean = |name: &str, seed: &str| -> f64 {
        let text = std::fs::read_to_string(folder.path(&format!("{name}/seed-{seed}/summary.json"))).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["fct"]["all"]["mean_us"].as_f64().unwrap()
    };
    let ratio = &comparison["ratios"][0]["fields"]["fct"]["all"]["mean_us"]["ratios"][0];
    let expected = mean("gemini", "2") / mean("uno", "2");
    assert!((ratio["ratio"].as_f64().unwrap() / expected - 1.0).abs() < 1e-12, "{ratio}");
    assert!(comparison["notes"].to_string().contains("only uno has seeds 1"), "{}", comparison["notes"]);
    assert!(std::fs::read_to_string(&page).unwrap().contains("over uno: only uno has seeds 1"));
    let text = stdout(&farspan(&["compare", &uno, &gemini, "--baseline", "gemini"]));
    assert!(
        text.contains("over gemini") && text.contains("[interval of less than 95% by bootstrap]"),
        "{text}"
    );
}

#[test]
fn runs_that_do_not_pair_are_refused_and_other_settings_named() {
    let folder = Folder::new("unpaired");
    let uno = small_runs(&folder, "uno", "uno", &["--seed", "1"]);
    let later = small_runs(&folder, "later", "uno", &["--seed", "2"]);
    let larger = small_runs(&folder, "larger", "uno", &["--set", "workload.flow_size=128KiB"]);
    let deeper = small_runs(&folder, "deeper", "uno", &["--set", "topology.buffer=2MiB"]);
    let other = small_runs(&folder, "other", "gemini", &["--seed", "5"]);
    for (folders, said) in [
        ([&uno, &other], "the runs share no seed: uno has 1, gemini has 5; run both with the same --seeds"),
        (
            [&uno, &larger],
            "cannot be paired at seed 1: flow 0 is 0 -> 240, 65536 B, tag \"incast\" in one and",
        ),
        ([&uno, &later], "nothing to compare: there are only runs of"),
        ([&uno, &format!("{uno}/")], "uno/ is given twice"),
    ] {
        let output = farspan(&["compare", folders[0], folders[1]]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(said) && output.stdout.is_empty(), "{}", stderr(&output));
    }
    let text = stdout(&farspan(&["compare", &uno, &deeper]));
    assert!(text.contains("uno (deeper): topology.buffer = \"2MiB\", in uno (uno) \"1MiB\""), "{text}");
    let output = farspan(&["compare", &uno, &deeper, "--baseline", "dctcp"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("there are \"uno (uno)\", \"uno (deeper)\""), "{}", stderr(&output));
}

#[test]
fn a_folder_holds_the_last_command_alone() {
    let folder = Folder::new("again");
    let out = small_runs(&folder, "out", "uno", &["--trace", "flow=0"]);
    let is = |name: &str| std::path::Path::new(&out).join(name).exists();
    assert!(is("flows.parquet") && is("trace/flow-0.sqlog"));
    small_runs(&folder, "out", "uno", &["--seeds", "1..4", "--force"]);
    assert!(!is("flows.parquet") && !is("trace") && is("seed-4/flows.parquet"));
    small_runs(&folder, "out", "gemini", &["--seeds", "1..2", "--force"]);
    assert!(is("seed-2/flows.parquet") && !is("seed-3") && !is("seed-4"));
    let output = farspan(&["compare", &out]);
    assert!(stderr(&output).contains("there are only runs of \"gemini\""), "{}", stderr(&output));
    small_runs(&folder, "out", "gemini", &["--force"]);
    assert!(is("flows.parquet") && !is("seed-1") && !is("run.lock"));
}

#[test]
fn other_results_are_replaced_with_force_alone() {
    let folder = Folder::new("force");
    let out = small_runs(&folder, "out", "uno", &[]);
    small_runs(&folder, "out", "uno", &[]);
    let run =
        |more: &[&str]| farspan(&[&["run", "uno/incast-mixed", "--out", &out], &SMALL[..], more].concat());
    let before = std::fs::read(folder.path("out/summary.json")).unwrap();
    for (more, said) in [
        (&["--scheme", "dctcp"][..], "their scheme.name is \"uno\" and this run's is \"dctcp\""),
        (&["--profile", "artifact"], "their scheme.profile is \"paper\" and this run's is \"artifact\""),
        (&["--seed", "2"], "their seed is 1 and this run's is 2"),
        (&["--set", "topology.buffer=2MiB"], "their topology.buffer is \"1MiB\" and this run's is \"2MiB\""),
        (&["--seeds", "1..2"], "this command writes 2 other runs"),
    ] {
        let output = run(more);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said) && stderr(&output).contains("--force"), "{}", stderr(&output));
        assert_eq!(std::fs::read(folder.path("out/summary.json")).unwrap(), before, "nothing is touched");
    }
    assert_eq!(run(&["--scheme", "dctcp", "--force"]).status.code(), Some(0));
    let output = farspan(&["run", "uno/incast-mixed", "--force"]);
    assert!(stderr(&output).contains("--out <DIR>"), "{}", stderr(&output));
}

#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "the test waits for another process")]
fn a_folder_has_one_run_at_a_time_and_what_was_killed_is_no_result() {
    let folder = Folder::new("locked");
    let out = small_runs(&folder, "out", "uno", &[]);
    let long =
        ["run", "uno/incast-mixed", "--set", "workload.flow_size=16GiB", "--out", &out, "--quiet", "--force"];
    let mut first = Command::new(env!("CARGO_BIN_EXE_farspan")).args(long).spawn().unwrap();
    while !std::path::Path::new(&out).join("run.lock").exists()
        || std::path::Path::new(&out).join("summary.json").exists()
    {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let again = ["run", "uno/incast-mixed", "--out", &out, "--force"];
    let output = farspan(&[&again, &SMALL[..]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let owner = format!("another run is writing there (process {})", first.id());
    assert!(stderr(&output).contains(&owner) && output.stdout.is_empty(), "{}", stderr(&output));
    first.kill().unwrap();
    first.wait().unwrap();
    let is = |name: &str| std::path::Path::new(&out).join(name).exists();
    assert!(is("run.lock") && !is("summary.json") && !is("report.html") && !is("flows.parquet"));
    small_runs(&folder, "out", "gemini", &[]);
    assert!(is("summary.json") && is("report.html") && !is("run.lock"));
}

#[test]
fn of_several_seeds_those_are_read_that_their_document_lists() {
    let folder = Folder::new("listed");
    let out = small_runs(&folder, "out", "uno", &["--seeds", "1..2"]);
    small_runs(&folder, "out/seed-3", "gemini", &["--seed", "3"]);
    let output = farspan(&["compare", &out]);
    assert!(stderr(&output).contains("there are only runs of \"uno\""), "{}", stderr(&output));
    std::fs::remove_dir_all(folder.path("out/seed-2")).unwrap();
    let output = farspan(&["report", &out]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("seed-2/summary.json: cannot be read"), "{}", stderr(&output));
}

#[test]
fn a_report_is_made_of_earlier_runs() {
    let folder = Folder::new("report");
    let uno = small_runs(&folder, "runs/uno", "uno", &["--seeds", "1..2"]);
    let name = "</script><b>";
    let tag = [format!("workload.tag={name}"), format!("measure.fairness_group={name}")];
    small_runs(&folder, "runs/gemini", "gemini", &["--set", &tag[0], "--set", &tag[1]]);
    assert!(folder.0.join("runs/uno/report.html").is_file());
    assert!(!folder.0.join("runs/uno/seed-1/report.html").exists());
    let page = folder.path("page.html");
    let output = farspan(&["report", &folder.path("runs"), "-o", &page]);
    assert_eq!(stdout(&output), format!("wrote {page}\n"), "{}", stderr(&output));
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("\\u003c/script>\\u003cb>") && !text.contains(name));
    let output = farspan(&["report", &uno, "-o", "/no/such/page.html"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    std::fs::write(folder.path("runs/uno/seed-1/summary.json"), "{\"mine\": 1}").unwrap();
    let output = farspan(&["report", &uno]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("seed-1/summary.json: is not the document of a run"),
        "{}",
        stderr(&output)
    );
}

/// The records of a JSON text sequence.
fn records(path: &str) -> Vec<Value> {
    let bytes = std::fs::read(path).unwrap();
    let mut parts = bytes.split(|byte| *byte == 0x1e);
    assert_eq!(parts.next(), Some(&b""[..]), "a record begins with a separator");
    parts.map(|part| serde_json::from_slice(part.strip_suffix(b"\n").unwrap()).unwrap()).collect()
}

#[test]
fn traces_are_files_beside_the_results_and_change_no_digest() {
    let folder = Folder::new("traces");
    let run = |name: &str, more: &[&str]| {
        let out = folder.path(name);
        let arguments =
            [&["run", "uno/incast-mixed", "--seed", "2", "--out", &out], &SMALL[..], more].concat();
        (document(&arguments), out)
    };
    let traces =
        ["--trace", "flow=0,5", "--trace", "flow=5", "--pcap", "border0->border1#*", "--pcap", "host0->*"];
    let (off, plain) = run("off", &[]);
    assert!(!std::path::Path::new(&plain).join("trace").exists());
    let (on, windowed) = run("on", &traces);
    let (_, oracle) = run("oracle", &[&traces[..], &["--engine", "oracle"]].concat());
    let (_, threads) = run("threads", &[&traces[..], &["--threads", "2"]].concat());
    assert_eq!((&on["digest"], &on["packet_digest"]), (&off["digest"], &off["packet_digest"]));
    let names =
        ["flow-0.sqlog", "flow-0-receiver.sqlog", "flow-5.sqlog", "flow-5-receiver.sqlog", "ports.pcapng"];
    let mut written: Vec<_> = std::fs::read_dir(format!("{windowed}/trace")).unwrap().collect();
    assert_eq!(written.len(), names.len(), "{:?}", written.pop());
    for name in names {
        let read = |out: &str| std::fs::read(format!("{out}/trace/{name}")).unwrap();
        assert!(read(&windowed) == read(&oracle) && read(&windowed) == read(&threads), "{name}");
    }
    let log = records(&format!("{windowed}/trace/flow-5.sqlog"));
    assert_eq!(log[0]["file_schema"], "urn:ietf:params:qlog:file:sequential");
    assert_eq!(log[0]["trace"]["vantage_point"]["type"], "client");
    let count = |name: &str| log.iter().filter(|event| event["name"] == name).count();
    assert_eq!((count("quic:connection_started"), count("quic:connection_closed")), (1, 1));
    let sent = log.iter().filter(|event| event["name"] == "quic:packet_sent");
    let first: u64 = sent
        .filter(|e| e["data"]["retransmission"] != true)
        .map(|e| e["data"]["frames"][0]["raw"]["length"].as_u64().unwrap())
        .sum();
    assert_eq!(first, 64 * 1024, "each byte is sent once, and then again");
}

#[test]
fn what_is_to_be_traced_must_be_there() {
    let folder = Folder::new("untraced");
    let out = folder.path("out");
    let cases: &[(&[&str], &[&str])] = &[
        (&["--trace", "flow=8", "--out", &out], &["--trace flow=8: there is no flow 8", "the nearest is 7"]),
        (&["--trace", "17", "--out", &out], &["--trace 17: ", "write flow=17"]),
        (&["--trace", "tag=incats", "--out", &out], &["did you mean \"incast\""]),
        (
            &["--pcap", "border0->border1", "--out", &out],
            &["--pcap border0->border1: there is no port", "did you mean \"border0->border1#"],
        ),
        (&["--trace", "flow=1"], &["--out <DIR>"]),
        (&["--pcap", "*"], &["--out <DIR>"]),
    ];
    for (arguments, words) in cases {
        let output = farspan(&[&["run", "uno/incast-mixed"], &SMALL[..], arguments].concat());
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(words.iter().all(|word| message.contains(word)), "{arguments:?}: {message}");
    }
    assert!(!std::path::Path::new(&out).exists(), "nothing is written");
}

#[test]
fn warnings_are_said_by_check_and_by_run() {
    let set = ["--scheme", "dctcp", "--set", "scheme.ports.marking=none"];
    let checked = stdout(&farspan(&[&["check", "uno/incast-mixed"][..], &set].concat()));
    assert!(checked.contains("# warning: dctcp needs ECN marks"), "{checked}");
    let output = farspan(&[&["run", "uno/incast-mixed"][..], &set, &SMALL].concat());
    assert!(stderr(&output).contains("farspan: warning: dctcp needs ECN marks"), "{}", stderr(&output));
}

/// The first line on standard error of a run that is ended there.
fn first_words(arguments: &[&str]) -> String {
    use std::io::BufRead as _;
    let mut command = Command::new(env!("CARGO_BIN_EXE_farspan"));
    let mut run = command.args(arguments).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufReader::new(run.stderr.take().unwrap()).read_line(&mut line).unwrap();
    run.kill().unwrap();
    run.wait().unwrap();
    line
}

#[test]
fn a_long_run_says_what_it_will_cost_and_a_very_long_one_even_if_quiet() {
    let long =
        ["run", "uno/permutation", "--set", "workload.flow_size=64GiB", "--set", "stop.time=280s", "--json"];
    for (more, words) in [
        (&[][..], "farspan: about "),
        (&["--quiet"], "farspan: about "),
        (&["--quiet", "--seeds", "1..4"], "farspan: 4 runs of about "),
    ] {
        let said = first_words(&[&long[..], more].concat());
        assert!(said.starts_with(words) && said.contains(" packet-hops: "), "{more:?}: {said}");
        assert!(
            said.contains(" to ") && said.contains(" here, about ") && said.ends_with("of memory\n"),
            "{more:?}: {said}"
        );
    }
    let overloaded = ["check", "uno/websearch", "--set", "workload.load=3", "--set", "workload.flows=2000"];
    let said = stdout(&farspan(&overloaded));
    assert!(said.contains("retransmissions included"), "what is dropped is sent again: {said}");
    let output = farspan(&[&["run", "uno/incast-mixed"][..], &SMALL[..2]].concat());
    assert!(!stderr(&output).contains("of memory"), "{}", stderr(&output));
}

#[test]
fn shells_and_man_know_every_command() {
    let folder = Folder::new("shell");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&farspan(&["completions", shell]));
        assert!(
            ["compare", "completions", "seeds", "force"].iter().all(|word| script.contains(word)),
            "{shell}"
        );
    }
    let output = farspan(&["completions", "tcsh"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("available: bash, zsh"), "{}", stderr(&output));
    let pages = folder.path("man");
    let output = farspan(&["man", &pages]);
    assert!(stdout(&output).contains("pages to"), "{}", stderr(&output));
    for (page, words) in
        [("farspan.1", "completions"), ("farspan-run.1", "force"), ("farspan-bench-sim.1", "repeat")]
    {
        let text = std::fs::read_to_string(folder.0.join("man").join(page)).unwrap();
        assert!(text.starts_with(".ie") || text.contains(".TH"), "{page}");
        assert!(text.contains(words), "{page}");
    }
    let output = farspan(&["man", "/dev/null/x"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
}
