//! Tests that the commands on the book's first pages work, and that what these pages list is what there is.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The standard output of a command that must end well, in the folder of the page's files.
fn farspan(words: &[&str]) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/five-minutes");
    let output =
        Command::new(env!("CARGO_BIN_EXE_farspan")).args(words).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_first_five_minutes_lead_to_a_comparison() {
    let out: PathBuf = std::env::temp_dir().join(format!("farspan-book-{}", std::process::id()));
    let folder = |name: &str| out.join(name).display().to_string();
    assert!(farspan(&["check", "my.toml"]).contains("# offered load"));
    let table = farspan(&[
        "run",
        "my.toml",
        "--scheme",
        "uno,gemini",
        "--seeds",
        "1..2",
        "--out",
        &folder("both"),
        "--quiet",
    ]);
    assert!(table.contains("inter mean FCT") && out.join("both/report.html").is_file(), "{table}");
    let fault = "fault=[{ kind = 'black_hole', link = 'border0->border1#0' }]";
    let traced = ["--trace", "flow=0", "--pcap", "border0->border1#*", "--out", &folder("traced"), "--quiet"];
    farspan(&[&["run", "my.toml", "--set", fault, "--set", "topology.wan.rtt=8ms"][..], &traced].concat());
    assert!(out.join("traced/trace/flow-0.sqlog").is_file());
    std::fs::remove_dir_all(&out).unwrap();
}

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of it.
fn read(path: &str) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Names of what there is of a kind.
fn names(kind: &str) -> Vec<String> {
    let listed: Vec<serde_json::Value> = serde_json::from_str(&farspan(&["list", kind, "--json"])).unwrap();
    listed.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_introduction_names_every_control_and_path_selector() {
    let page = read("docs/src/introduction.md");
    for name in ["congestion", "balance"].into_iter().flat_map(names) {
        let link = format!("](schemes/{}.md)", name.replace('_', "-"));
        assert!(page.contains(&link), "docs/src/introduction.md does not link {name}: {link}");
    }
}

#[test]
fn the_introduction_leads_to_every_paper() {
    let page = read("docs/src/introduction.md");
    let (_, ways) = page.split_once("## Where to go").unwrap();
    let readme = read("README.md");
    let papers: Vec<_> = std::fs::read_dir(root().join("experiments")).unwrap().collect();
    assert!(papers.len() >= 5, "{papers:?}");
    for paper in papers {
        let name = paper.unwrap().file_name().into_string().unwrap();
        assert!(ways.contains(&format!("](deviations/{name}.md)")), "introduction.md: {name}");
        assert!(readme.contains(&format!("](docs/src/deviations/{name}.md)")), "README.md: {name}");
    }
}

#[test]
fn the_first_run_names_every_scenario_and_command() {
    let page = read("docs/src/first-run.md");
    for name in names("scenarios").iter().filter(|name| !name.starts_with("bench/")) {
        assert!(page.contains(&format!("`{name}`")), "docs/src/first-run.md does not name {name}");
    }
    let (_, rows) = page.split_once("## Every command").unwrap();
    let (rows, _) = rows.split_once("\n## ").unwrap();
    let help = farspan(&["help"]);
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let first = |line: &str| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')).map(str::to_owned);
    let commands: Vec<String> =
        commands.lines().filter_map(first).map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    assert!(commands.len() > 10, "{help}");
    for command in commands.iter().filter(|command| *command != "help") {
        assert!(rows.contains(&format!("`farspan {command}`")), "docs/src/first-run.md: {command}");
    }
}

#[test]
fn what_the_architecture_says_of_additions_names_files_that_are_there() {
    let page = read("ARCHITECTURE.md");
    let (_, tables) = page.split_once("## Where an addition goes").unwrap();
    let places: Vec<&str> =
        tables.split('`').skip(1).step_by(2).filter(|code| code.contains("/src")).collect();
    assert!(places.len() > 10, "{places:?}");
    for place in places {
        let path = root().join("crates").join(place);
        assert!(path.exists(), "ARCHITECTURE.md: {place}");
    }
}
