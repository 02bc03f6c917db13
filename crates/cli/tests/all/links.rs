//! Links changed by pattern and by the parameters of a topology file, as scripts see it.

use crate::common::{Folder, document, farspan, stderr, stdout};
use serde_json::Value;

const FILE: &str = "parameters = { wan_delay = '50us' }
site = [{ name = 'west' }, { name = 'east' }]
node = [
  { name = 'host[0..1]', kind = 'host', site = 'west' },
  { name = 'host[2..3]', kind = 'host', site = 'east' },
  { name = 'west-switch', kind = 'switch', site = 'west' },
  { name = 'east-switch', kind = 'switch', site = 'east' },
]
link = [
  { a = 'host[0..1]', b = 'west-switch' },
  { a = 'host[2..3]', b = 'east-switch' },
  { a = 'west-switch', b = 'east-switch', count = 2, delay = '$wan_delay' },
]
";
const SCENARIO: &str = "[topology]\nkind = 'from_file'\nfile = 'net.toml'\n[scheme]\nname = 'dctcp'\n\
                        [[workload]]\nkind = 'permutation'\nflow_size = '16KiB'\n";

/// A folder with a topology file and a scenario over it.
fn folder(name: &str) -> (Folder, String) {
    let folder = Folder::new(name);
    std::fs::write(folder.path("net.toml"), FILE).unwrap();
    std::fs::write(folder.path("mine.toml"), SCENARIO).unwrap();
    let scenario = folder.path("mine.toml");
    (folder, scenario)
}

const PATTERN: &str = "topology.link[\"west-*->east-*\"].delay=2ms";

#[test]
fn a_run_s_scenario_reruns_to_the_same_digest() {
    let (folder, scenario) = folder("links-rerun");
    let out = folder.path("out");
    let set = [
        "--set",
        PATTERN,
        "--set",
        "topology.link['*'].rate=40Gbps",
        "--set",
        "topology.parameters.wan_delay=70us",
    ];
    let run = document(&[&["run", &scenario, "--json", "--quiet", "--out", &out][..], &set].concat());
    let again = document(&["run", &folder.path("out/scenario.toml"), "--json", "--quiet"]);
    assert_eq!((&run["digest"], &run["packet_digest"]), (&again["digest"], &again["packet_digest"]));
    let plain = document(&["run", &scenario, "--json", "--quiet"]);
    assert_ne!(plain["digest"], run["digest"]);
}

#[test]
fn an_rtt_is_twice_a_delay_in_the_file_by_pattern_and_as_an_axis_that_a_figure_names() {
    let (folder, scenario) = folder("links-rtt");
    let run = |scenario: &str, more: &[&str]| {
        document(&[&["run", scenario, "--json", "--quiet"][..], more].concat())["digest"].clone()
    };
    let pattern = "topology.link[\"west-*->east-*\"]";
    let out = folder.path("out");
    let by_rtt = run(&scenario, &["--set", &format!("{pattern}.rtt=4ms"), "--out", &out]);
    assert_eq!(by_rtt, run(&scenario, &["--set", &format!("{pattern}.delay=2ms")]));
    assert_eq!(by_rtt, run(&folder.path("out/scenario.toml"), &[]));
    std::fs::write(folder.path("net.toml"), FILE.replace("delay = '$", "rtt = '$").replace("50us", "4ms"))
        .unwrap();
    assert_eq!(by_rtt, run(&scenario, &[]));
    let both = farspan(&["run", &scenario, "--set", &format!("{pattern}={{rtt='4ms',delay='2ms'}}")]);
    assert!(both.status.code() == Some(2) && stderr(&both).contains("give one of them"), "{}", stderr(&both));

    let (x, s) = (format!("{pattern}.rtt"), folder.path("s"));
    document(&["run", &scenario, "--json", "--quiet", "--grid", &format!("{x}=2ms,4ms"), "--out", &s]);
    let figure = folder.path("rtt.svg");
    let plot = farspan(&["plot", &s, "--x", &x, "--y", "fct.inter.mean_us", "-o", &figure]);
    assert!(plot.status.success(), "{}", stderr(&plot));
    assert!(std::fs::read_to_string(figure).unwrap().contains(".rtt (ms)</text>"));
}

#[test]
fn a_table_of_parameters_is_one_axis_and_a_figure_takes_a_number_from_it() {
    let (folder, scenario) = folder("links-tables");
    let s = folder.path("s");
    std::fs::write(
        folder.path("net.toml"),
        FILE.replace("count = 2", "count = '$links'").replace("{ wan", "{ links = 2, wan"),
    )
    .unwrap();
    let grid = "topology.parameters={wan_delay=\"1ms\",links=1},{wan_delay=\"250us\",links=3}";
    let done = document(&["run", &scenario, "--json", "--quiet", "--grid", grid, "--out", &s]);
    assert_eq!(done["done"], 2);
    for (x, label) in [("wan_delay", "wan_delay (us)"), ("links", "links")] {
        let (x, figure) = (format!("topology.parameters.{x}"), folder.path("f.svg"));
        let plot = farspan(&["plot", &s, "--x", &x, "--y", "fct.inter.mean_us", "-o", &figure]);
        assert!(plot.status.success(), "{}", stderr(&plot));
        assert!(
            std::fs::read_to_string(&figure)
                .unwrap()
                .contains(&format!("topology.parameters.{label}</text>"))
        );
    }
}

#[test]
fn check_prints_the_links_that_a_pattern_fits_and_its_text_is_a_scenario() {
    let (folder, scenario) = folder("links-check");
    let checked = farspan(&["check", &scenario, "--set", PATTERN]);
    let text = stdout(&checked);
    let line = "# topology.link[\"west-*->east-*\"]: 2 links, both ways: west-switch->east-switch#0..1\n";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("[topology.parameters]\nwan_delay = \"50us\"\n"), "{text}");
    std::fs::write(folder.path("checked.toml"), &text).unwrap();
    assert_eq!(
        stdout(&farspan(&["check", &folder.path("checked.toml")])).split("\n# ").next(),
        text.split("\n# ").next()
    );
}

#[test]
fn a_pattern_that_fits_nothing_exits_with_2_and_writes_nothing() {
    let (folder, scenario) = folder("links-none");
    let out = folder.path("out");
    for (path, words) in [
        (
            "topology.link[\"wst-switch*->*\"].delay",
            "no link fits \"wst-switch*->*\"; did you mean \"west-switch\"?",
        ),
        ("topology.parameters.wan_dely", "did you mean \"wan_delay\"?"),
        ("topology.wan.rtt", "topology.link[\"west-*->east-*\"].rtt"),
    ] {
        let run = farspan(&["run", &scenario, "--out", &out, "--set", &format!("{path}=2ms")]);
        assert!(run.status.code() == Some(2) && stderr(&run).contains(words), "{}", stderr(&run));
        let sweep = folder.path("s.toml");
        std::fs::write(&sweep, format!("scenario = 'mine.toml'\n[grid]\n'{path}' = ['2ms']\n")).unwrap();
        let sweep = farspan(&["sweep", &sweep, "--out", &out]);
        assert!(sweep.status.code() == Some(2) && stderr(&sweep).contains("s.toml:3:"), "{}", stderr(&sweep));
        assert!(!std::path::Path::new(&out).exists(), "{path}");
    }
}

#[test]
fn patterns_parameters_and_files_are_axes_with_columns_and_short_headings() {
    let (folder, _) = folder("links-sweep");
    std::fs::create_dir(folder.path("far")).unwrap();
    std::fs::write(folder.path("far/net.toml"), FILE.replace("50us", "500us")).unwrap();
    let sweep = "scenario = 'mine.toml'\nscheme = ['dctcp', 'gemini']\n[grid]\n'topology.link[\"host*\"].rate' = ['10Gbps', '40Gbps']\n\
                 'topology.file' = ['NEAR', 'FAR']\n[draw]\ncount = 2\n'topology.parameters.wan_delay' = { from = '50us', to = '90us' }\n";
    let sweep = sweep.replace("NEAR", &folder.path("net.toml")).replace("FAR", &folder.path("far/net.toml"));
    std::fs::write(folder.path("s.toml"), sweep).unwrap();
    let done = document(&["sweep", &folder.path("s.toml"), "--json", "--quiet", "--out", &folder.path("s")]);
    assert_eq!((&done["done"], &done["failed"]), (&Value::from(16), &Value::from(0)));
    let row = &done["rows"][0];
    assert_eq!(row["topology.link[\"host*\"].rate_bps"], Value::from(10_000_000_000_u64));
    let delay = row["topology.parameters.wan_delay_us"].as_f64().unwrap();
    assert!((50.0..=90.0).contains(&delay), "{row}");
    let compared = document(&["compare", &folder.path("s"), "--json"]);
    let headings: Vec<&str> =
        compared["comparisons"].as_array().unwrap().iter().map(|c| c["scenario"].as_str().unwrap()).collect();
    assert_eq!(headings.len(), 8);
    for heading in headings {
        assert!(
            heading.chars().count() <= 60 && heading.contains("net.toml") && !heading.contains("files"),
            "{heading}"
        );
    }
}
