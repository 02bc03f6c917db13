//! Several schemes and grids as arguments: one command is a sweep, with its folder, its document and its file.

use crate::common::{Folder, document, farspan, stderr, stdout};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// A scenario of a few milliseconds.
const SMALL: [&str; 6] =
    ["bench/fat-tree", "--quiet", "--set", "topology.k=4", "--set", "workload.flow_size=4KiB"];

fn small<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[command], &SMALL[..], more].concat()
}

fn column(document: &Value, name: &str) -> Vec<Value> {
    document["rows"].as_array().unwrap().iter().map(|row| row[name].clone()).collect()
}

fn sweep_file(folder: &str) -> String {
    Path::new(folder).join("sweep.toml").display().to_string()
}

/// A command that must be bad input, and print nothing.
fn refused(arguments: &[&str]) -> String {
    let output = farspan(arguments);
    assert_eq!(
        (output.status.code(), stdout(&output).as_str()),
        (Some(2), ""),
        "{arguments:?}: {}",
        stderr(&output)
    );
    stderr(&output)
}

#[test]
fn a_run_of_several_schemes_is_a_sweep_that_its_file_runs_again() {
    let folder = Folder::new("several");
    let (out, other) = (folder.path("a"), folder.path("b"));
    let schemes =
        ["--scheme", "dctcp,unocc+plb+mds(8,2)", "--scheme", "uno", "--seeds", "1..2", "--json", "--out"];
    let first = document(&[&small("run", &schemes)[..], &[&out]].concat());
    assert_eq!(
        (&first["done"], &first["reused"], &first["folder"]),
        (&6.into(), &0.into(), &out.as_str().into())
    );
    let names = ["dctcp", "dctcp", "unocc+plb+mds(8,2)", "unocc+plb+mds(8,2)", "uno", "uno"];
    assert_eq!(column(&first, "scheme"), names.map(Value::from));
    assert_eq!(column(&first, "workload.flow_size_bytes")[0], 4096);
    for file in ["runs.parquet", "views.sql", "report.html"] {
        assert!(Path::new(&out).join(file).is_file(), "{file}");
    }
    // What is there is not run again, by the arguments or by the file; elsewhere it is, to the same end.
    let again = document(&[&small("sweep", &schemes)[..], &[&out]].concat());
    assert_eq!((&again["reused"], &again["rows"]), (&6.into(), &first["rows"]));
    let file = sweep_file(&out);
    let own = document(&["sweep", &file, "--quiet", "--json"]);
    assert_eq!((&own["folder"], &own["reused"]), (&out.as_str().into(), &6.into()));
    let elsewhere = document(&["sweep", &file, "--quiet", "--json", "--out", &other]);
    assert_eq!(elsewhere["reused"], 0);
    for name in ["run", "digest", "packet_digest", "scheme", "seed"] {
        assert_eq!(column(&elsewhere, name), column(&first, name), "{name}");
    }
    let texts = [&out, &other].map(|folder| std::fs::read_to_string(sweep_file(folder)).unwrap());
    assert_eq!(texts[0], texts[1]);
}

#[test]
fn each_of_several_schemes_runs_as_it_does_alone() {
    let folder = Folder::new("alone");
    let out = folder.path("a");
    let several = document(&small("run", &["--schemes", "uno,dctcp", "--json", "--out", &out]));
    for (scheme, row) in ["uno", "dctcp"].iter().zip(several["rows"].as_array().unwrap()) {
        let alone = document(&small("run", &["--scheme", scheme, "--json"]));
        assert_eq!((&row["digest"], &row["seed"]), (&alone["digest"], &1.into()), "{scheme}");
    }
}

#[test]
fn tables_of_a_small_grid_are_printed_and_of_a_large_one_named() {
    let folder = Folder::new("grid");
    let out = folder.path("a");
    let grid = |sizes: &str| {
        let grid = format!("workload.flow_size={sizes}");
        let more = [
            "--scheme",
            "uno,dctcp",
            "--grid",
            "topology.buffer=\"64KiB\",1MiB",
            "--grid",
            &grid,
            "--out",
            &out,
        ];
        let output = farspan(
            &["run", "bench/fat-tree", "--quiet", "--set", "topology.k=4"]
                .into_iter()
                .chain(more)
                .collect::<Vec<_>>(),
        );
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let text = grid("4KiB,8KiB");
    assert!(text.contains("\n8 runs done\n"), "{text}");
    let headings: Vec<&str> = text.lines().filter(|line| line.contains(": one seed;")).collect();
    let points = [("64KiB", "4KiB"), ("64KiB", "8KiB"), ("1MiB", "4KiB"), ("1MiB", "8KiB")];
    assert_eq!(headings.len(), 4, "{text}");
    for (heading, (buffer, size)) in headings.iter().zip(points) {
        assert!(heading.contains(buffer) && heading.contains(size), "{heading}");
    }
    // The first scheme is the denominator.
    assert!(text.contains("ratio to uno") && !text.contains("ratio to dctcp"), "{text}");
    assert!(text.contains(&format!("{out}/report.html")), "{text}");
    let more = grid("4KiB,8KiB,12KiB");
    assert!(more.starts_with("12 runs done, 8 already complete\n"), "{more}");
    assert!(more.contains(&format!("6 comparisons; show their tables: farspan compare {out}")), "{more}");
    assert!(!more.contains("mean FCT"), "{more}");
}

#[test]
fn warnings_and_differences_are_said_once_in_tables_and_in_the_document() {
    let folder = Folder::new("said");
    let out = folder.path("a");
    // Control of rates needs a network without losses.
    let two = small("run", &["--scheme", "uno,hpcc", "--out", &out]);
    let tables = farspan(&two);
    let told = document(&[&two[..], &["--json"]].concat());
    let comparison = &told["comparisons"][0];
    let warnings = comparison["warnings"].as_array().unwrap();
    assert!(!warnings.is_empty(), "{comparison}");
    for warning in warnings {
        let line = format!("warning: {}\n", warning.as_str().unwrap());
        assert_eq!(stdout(&tables).matches(&line).count(), 1, "{line}");
    }
    assert_eq!(stderr(&tables).matches("warning").count(), 0, "{}", stderr(&tables));
    let compared = document(&["compare", &out, "--json"]);
    assert_eq!(told["comparisons"], compared["comparisons"]);
    assert!(!comparison["setup"]["differ"].as_array().unwrap().is_empty(), "{comparison}");
    let row = told["rows"][0].as_object().unwrap();
    assert!(!row.keys().any(|key| key.starts_with("setup_intra") || key == "setup_inter"), "{row:?}");
}

#[test]
fn a_grid_under_one_scheme_has_nothing_beside_it() {
    let folder = Folder::new("lone");
    let out = folder.path("a");
    let output = farspan(&small("run", &["--grid", "topology.buffer=64KiB,1MiB", "--out", &out]));
    let text = stdout(&output);
    let plot =
        format!("no table: each point has one scheme; plot the runs: farspan plot {out} --x KEY --y FIELD\n");
    assert!(output.status.success() && text.ends_with(&plot), "{output:?}");
    let one = farspan(&small("run", &["--grid", "topology.buffer=64KiB", "--out", &out]));
    assert!(stdout(&one).starts_with("1 run done, 1 already complete\n"), "{one:?}");
}

#[test]
fn without_a_folder_it_is_named_after_the_scenario() {
    let folder = Folder::new("named");
    let mine =
        "base = 'bench/fat-tree'\n[topology]\nk = 4\n[[workload]]\nkind = 'flows'\nfile = 'flows.csv'\n";
    std::fs::write(folder.0.join("mine.toml"), mine).unwrap();
    std::fs::write(folder.0.join("flows.csv"), "src,dst,size_bytes,start_ns\n0,5,4096,0\n").unwrap();
    let run = |words: &[&str]| {
        let output: Output =
            Command::new(env!("CARGO_BIN_EXE_farspan")).args(words).current_dir(&folder.0).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    assert!(
        run(&small("run", &["--scheme", "uno,dctcp"])).contains("farspan sweep bench-fat-tree/sweep.toml")
    );
    let scenario = ["sweep", "mine.toml", "--quiet", "--scheme", "uno,dctcp"];
    assert!(run(&scenario).contains("data set: mine/runs.parquet"));
    // The file names the scenario by its whole path, so that every run is there from any folder.
    let again = document(&["sweep", &folder.path("mine/sweep.toml"), "--quiet", "--json"]);
    assert_eq!((&again["runs"], &again["reused"]), (&2.into(), &2.into()));
}

#[test]
fn other_schemes_take_parts_over_from_the_first() {
    let folder = Folder::new("same");
    let out = folder.path("a");
    let same = ["--scheme", "uno,dctcp", "--same", "recovery,balance", "--json", "--out", &out];
    let told = document(&small("run", &same));
    let scheme = |row: usize| {
        let run = told["rows"][row]["run"].as_str().unwrap();
        let text = std::fs::read_to_string(Path::new(&out).join(run).join("scenario.toml")).unwrap();
        text.parse::<toml::Table>().unwrap()["scheme"].clone()
    };
    let (uno, dctcp) = (scheme(0), scheme(1));
    for class in ["intra", "inter"] {
        for part in ["recovery", "balance"] {
            assert_eq!(uno[class][part], dctcp[class][part], "{class} {part}");
        }
        assert_ne!(uno[class]["congestion"], dctcp[class]["congestion"]);
    }
    assert_ne!(uno["inter"]["coding"], dctcp["inter"]["coding"]);
    assert!(
        std::fs::read_to_string(sweep_file(&out)).unwrap().contains("same = [\"recovery\", \"balance\"]\n")
    );
    let own = document(&["sweep", &sweep_file(&out), "--quiet", "--json"]);
    assert_eq!(own["reused"], 2);
    let plain = folder.path("b");
    let without = document(&small("run", &["--scheme", "uno,dctcp", "--json", "--out", &plain]));
    assert_eq!(without["rows"][0]["digest"], told["rows"][0]["digest"]);
    assert_ne!(without["rows"][1]["run"], told["rows"][1]["run"]);
}

#[test]
fn the_demo_gives_the_parts_of_each_first_scheme() {
    let folder = Folder::new("demo-same");
    let out = folder.path("a");
    let set = ["--set", "workload.flow_size=16KiB", "--set", "probes.queue_interval=off"];
    let words = ["demo", "--quiet", "--seeds", "1", "--same", "recovery", "--out", &out];
    let output = farspan(&[&words[..], &set].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("All schemes use these parts of uno: recovery."), "{}", stdout(&output));
    let recovery = |scheme: &str| {
        let file = folder.0.join("a/incast-mixed").join(scheme).join("seed-1/scenario.toml");
        let scenario: toml::Table = std::fs::read_to_string(file).unwrap().parse().unwrap();
        ["intra", "inter"].map(|class| scenario["scheme"][class]["recovery"].clone())
    };
    assert_eq!(recovery("gemini"), recovery("uno"));
}

#[test]
fn a_file_says_itself_whether_it_is_a_scenario_or_a_sweep() {
    let folder = Folder::new("kinds");
    let file = |name: &str, text: &str| {
        std::fs::write(folder.0.join(name), text).unwrap();
        folder.path(name)
    };
    let sweep =
        file("s.toml", "scenario = 'bench/fat-tree'\nscheme = ['uno', 'dctcp']\n[grid]\n'topology.k' = 4\n");
    let neither = file("n.toml", "flows = 3\n");
    let said = refused(&["run", &sweep, "--scheme", "uno"]);
    assert!(said.contains("this is a sweep") && said.contains(&format!("farspan sweep {sweep}")), "{said}");
    let said = refused(&["check", &sweep, "--scheme", "uno"]);
    assert!(said.contains("--scheme: ") && said.contains("is a sweep"), "{said}");
    let said = refused(&["run", &sweep, "--scheme", "uno,dctcp"]);
    assert!(said.contains(&format!("farspan sweep {sweep}")), "{said}");
    for option in [["--scheme", "uno"], ["--seeds", "1..3"], ["--set", "topology.k=4"], ["--same", "coding"]]
    {
        let said = refused(&[&["sweep", &sweep][..], &option].concat());
        assert!(said.contains(option[0]) && said.contains("set it in the file"), "{said}");
    }
    let said = refused(&["sweep", &neither]);
    assert!(said.contains("n.toml: neither a scenario nor a sweep"), "{said}");
    let said = refused(&["sweep", "uno/incast-mixd", "--scheme", "uno,dctcp"]);
    assert!(said.contains("did you mean \"uno/incast-mixed\" or"), "{said}");
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 2);
}

#[test]
fn a_setting_that_cannot_be_built_fails_alone_beside_one_that_can() {
    let folder = Folder::new("beside");
    let out = folder.path("a");
    let output = farspan(&[
        "run",
        "bench/fat-tree",
        "--grid",
        "topology.k=7,4",
        "--set",
        "workload.flow_size=4KiB",
        "--json",
        "--out",
        &out,
    ]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), column(&told, "status")),
        (Some(1), ["failed", "done"].map(Value::from).to_vec())
    );
}

#[test]
fn bad_input_exits_with_2_and_leaves_nothing() {
    let folder = Folder::new("refused");
    let out = folder.path("a");
    let two = ["--scheme", "uno,dctcp"];
    // Without a folder, as well.
    let (lone, several) =
        (refused(&small("run", &["--force"])), refused(&small("run", &[two[0], two[1], "--force"])));
    assert!(
        lone.contains("give --out <DIR>") && several.contains("does not work for a sweep"),
        "{lone} {several}"
    );
    for (more, said) in [
        (&["--scheme", "uno,osca"][..], "did you mean \"oscar\"?"),
        (&["--scheme", "uno,"], "a name is missing"),
        (&["--scheme", "uno", "--scheme", "uno"], "\"uno\" is given twice"),
        (&["--scheme", "uno", "--same", "recovery"], "--scheme uno,oscar"),
        (&["--grid", "topology.buffer=64KiB,1MiB", "--same", "recovery"], "--scheme uno,oscar"),
        (&[two[0], two[1], "--same", "recover"], "did you mean \"recovery\"?"),
        (&[two[0], two[1], "--trace", "flow=1"], "give one --scheme and no --grid"),
        (&[two[0], two[1], "--pcap", "*"], "give one --scheme and no --grid"),
        (&[two[0], two[1], "--force"], "give another --out"),
        (&[two[0], two[1], "--threads", "2"], "--jobs"),
        (&[two[0], two[1], "--engine", "oracle"], "the result is the same"),
        (
            &["--grid", "topology.bufer=1MiB,2MiB"],
            "--grid topology.bufer=1MiB,2MiB: topology.bufer: unknown key",
        ),
        (&["--grid", "seed=1,2", "--seeds", "5"], "--grid seed=1,2: seed is also given by --seeds 5"),
        (
            &[two[0], two[1], "--set", "seed=1", "--seeds", "5"],
            "--set seed=1: seed is also given by --seeds 5",
        ),
        (&["--grid", "topology.buffer"], "write --grid PATH=V1,V2"),
        (&["--grid", "topology.k=4,8"], "is also given by --set topology.k=4"),
        (&[two[0], two[1], "--set", "topology.bufer=1MiB"], "did you mean \"buffer\"?"),
        (&[two[0], two[1], "--seeds", "3..1"], "smaller one first"),
        // What resolves, and cannot be built.
        (&[two[0], two[1], "--set", "topology.link[\"nope->*\"].delay=1us"], "nope->*"),
        (&["--grid", "topology.link[\"nope->*\"].delay=1us,2us", "--seeds", "1..9"], "nope->*"),
    ] {
        let words = [&small("run", &["--out", &out])[..], more].concat();
        let stderr = refused(&words);
        assert!(stderr.contains(said), "{more:?}: {stderr}");
        assert!(!Path::new(&out).exists(), "{more:?}");
    }
    let said = refused(
        &small("check", &["--scheme", "uno,dctcp"])
            .into_iter()
            .filter(|word| *word != "--quiet")
            .collect::<Vec<_>>(),
    );
    assert!(said.contains("farspan run and farspan sweep take several"), "{said}");
}
