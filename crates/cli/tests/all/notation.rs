//! One notation for seeds, outputs and names in every command.

use crate::common::*;

const SMALL: [&str; 3] = ["--set", "workload.flow_size=16KiB", "--json"];

fn run(more: &[&str]) -> std::process::Output {
    farspan(&[&["run", "uno/incast-intra"][..], &SMALL, more].concat())
}

#[test]
fn seeds_are_a_range_by_two_dots_or_a_dash_and_few_are_told_before_they_run() {
    let seeds = |text: &str| {
        let output = run(&["--seeds", text]);
        let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let seeds: Vec<_> =
            document["runs"].as_array().unwrap().iter().map(|run| run["seed"].clone()).collect();
        (seeds, stderr(&output))
    };
    let (dots, said) = seeds("1..3");
    assert_eq!(seeds("1-3").0, dots);
    assert!(
        said.contains("note: 3 seeds are too few for a 95% interval, which needs 6, such as 1..6"),
        "{said}"
    );
    let (one, said) = seeds("5");
    assert_eq!(one, [5]);
    assert!(
        said.contains("note: one seed (5) gives a number but no interval; for 5 seeds, write 1..5"),
        "{said}"
    );
    assert!(!seeds("1-6").1.contains("interval"), "six are enough");
    assert!(!stderr(&run(&["--seeds", "1..3", "--quiet"])).contains("note"), "nothing is said if quiet");
    assert!(!stderr(&run(&["--seed", "5"])).contains("seed 5"), "one was asked for");
    let wrong = run(&["--seeds", "1--3"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        stderr(&wrong).contains("write a number, a range (both ends included) or a list"),
        "{}",
        stderr(&wrong)
    );
    let help = stdout(&farspan(&["run", "--help"]));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains("--seeds 5 is the single seed 5") && help.contains("95% interval needs six"),
        "{help}"
    );
}

#[test]
fn a_sweep_says_that_its_seeds_are_few() {
    let folder = Folder::new("few-seeds");
    let file = folder.path("s.toml");
    let text = |seeds: &str| {
        format!(
            "scenario = \"uno/incast-intra\"\nseeds = {seeds}\n[grid]\n\"workload.flow_size\" = [\"4KiB\"]\n"
        )
    };
    for (seeds, words) in
        [("\"1-2\"", "note: 2 seeds are too few for a 95% interval"), ("3", "note: one seed (3)")]
    {
        std::fs::write(&file, text(seeds)).unwrap();
        let output = farspan(&["sweep", &file, "-o", &folder.path(&seeds.replace('"', ""))]);
        assert!(output.status.success() && stderr(&output).contains(words), "{seeds}: {}", stderr(&output));
    }
}

#[test]
fn an_output_is_named_by_o_out_or_output() {
    let folder = Folder::new("outputs");
    for (n, flag) in ["-o", "--out", "--output"].into_iter().enumerate() {
        let out = folder.path(&format!("run{n}"));
        assert!(run(&[flag, &out, "--quiet"]).status.success());
        for command in [&["report", &out][..], &["compare", &out, &folder.path("other")]] {
            if command[0] == "compare" {
                assert!(run(&["--scheme", "dctcp", "-o", &folder.path("other"), "--quiet"]).status.success());
            }
            let page = folder.path(&format!("{}{n}.html", command[0]));
            let output = farspan(&[command, &[flag, &page]].concat());
            assert!(output.status.success(), "{}", stderr(&output));
            assert!(std::fs::read_to_string(&page).unwrap().contains("<html"), "{page}");
        }
        let starter = folder.path(&format!("starter{n}.toml"));
        assert!(farspan(&["new", flag, &starter]).status.success());
        assert!(std::fs::exists(&starter).unwrap());
        assert!(farspan(&["man", flag, &folder.path(&format!("man{n}"))]).status.success());
    }
    let both = farspan(&["new", "a.toml", "-o", "b.toml"]);
    assert_eq!(both.status.code(), Some(2));
    assert_eq!(farspan(&["man"]).status.code(), Some(2), "a folder is needed");
}

#[test]
fn list_without_a_kind_says_what_lists_there_are() {
    let text = stdout(&farspan(&["list"]));
    for kind in ["schemes", "congestion", "queues", "scenarios"] {
        assert!(text.lines().any(|line| line.starts_with(kind)), "{kind}\n{text}");
    }
    let kinds = document(&["list", "--json"]);
    assert!(kinds.as_array().unwrap().iter().any(|kind| kind["name"] == "scenarios"));
    let wrong = farspan(&["list", "toys"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("available: schemes, congestion"), "{}", stderr(&wrong));
}

#[test]
fn the_steady_scenario_comes_first_and_the_transient_one_says_what_it_is() {
    let names = document(&["list", "scenarios", "--json"]);
    assert_eq!(names[0]["name"], "steady/websearch");
    let steady = stdout(&farspan(&["check", "steady/websearch", "--scheme", "gemini"]));
    assert!(steady.contains("\n# transient: false") && !steady.contains("# warning"), "{steady}");
    let burst = stdout(&farspan(&["check", "uno/websearch"]));
    assert!(
        burst.contains("description = \"A transient: ") && burst.contains("\n# transient: true"),
        "{burst}"
    );
}

#[test]
fn the_version_has_the_commit_of_results() {
    let version = stdout(&farspan(&["--version"]));
    let summary = document(&[&["run", "uno/incast-intra", "--quiet"][..], &SMALL].concat());
    let of = |key: &str| summary[key].as_str().unwrap().to_owned();
    let first = format!("farspan {} (commit {})\n", of("farspan_version"), of("commit"));
    assert!(version.starts_with(&first), "{version}");
    assert_eq!(stdout(&farspan(&["-V"])), first);
}

#[cfg(target_os = "linux")]
#[test]
fn the_version_names_what_is_built_in_and_what_is_missing() {
    let version = stdout(&farspan(&["--version"]));
    let all = [
        ("emu", cfg!(feature = "emu")),
        ("import", cfg!(feature = "import")),
        ("kernel", cfg!(feature = "kernel")),
        ("ledger", cfg!(feature = "ledger")),
    ];
    let listed = |built_in: bool| {
        let names: Vec<_> = all.iter().filter(|(_, is)| *is == built_in).map(|(name, _)| *name).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let expected = format!("features: {}\nmissing: {}\n", listed(true), listed(false));
    assert_eq!(version.split_once('\n').unwrap().1, expected);
    // The command agrees: where the feature is missing, it says so.
    let kernel = farspan(&["kernel", "status"]);
    let absent = String::from_utf8_lossy(&kernel.stderr).contains("without its eBPF programs");
    assert_eq!(absent, cfg!(not(feature = "kernel")), "{kernel:?}");
}

#[test]
fn published_code_is_the_profile_that_results_call_artifact() {
    let profile = |name: &str| {
        document(&[&["run", "uno/incast-intra", "--quiet", "--profile", name][..], &SMALL].concat())
    };
    let (alias, named) = (profile("published-code"), profile("artifact"));
    assert_eq!((&alias["profile"], &alias["digest"]), (&named["profile"], &named["digest"]));
    assert_eq!(alias["profile"], "artifact");
}

#[test]
fn an_unknown_scenario_is_told_in_a_line_with_the_nearest_few() {
    let output = farspan(&["run", "websearch"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("did you mean \"steady/websearch\" or \"uno/websearch\"?"), "{said}");
    assert!(said.contains("`farspan list scenarios`") && said.len() < 300, "{said}");
}
