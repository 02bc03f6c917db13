//! A comparison says in which part of their schemes runs differ: in text, as JSON and on the page.

use crate::common::*;
use serde_json::Value;

/// A part, its key, and changes of nothing else of it.
const PARTS: [(&str, &str, &[&str]); 8] = [
    ("first window", "first_window", &["transport.start=iw10"]),
    ("recovery", "recovery", &["transport.recovery=rack"]),
    ("recovery", "recovery", &["scheme.inter.recovery={ name = 'per_packet_rto', rto = '5ms' }"]),
    ("balance", "balance", &["transport.balance=rps"]),
    ("balance", "balance", &["scheme.intra.balance.subflows=4"]),
    ("coding", "coding", &["transport.coding=mds"]),
    ("coding", "coding", &["scheme.inter.coding={ name = 'mds', data = 4, parity = 1 }"]),
    ("lossless", "lossless", &["scheme.ports.pfc.links=site"]),
];

fn run<'a>(set: &[&'a str]) -> Vec<&'a str> {
    let pool = "scheme.ports.pool={ size = '64MiB' }";
    let mut words = vec!["run", "uno/incast-mixed", "--scheme", "uno-noec", "--quiet", "--json"];
    for set in ["workload.flow_size=64KiB", pool].iter().chain(set) {
        words.extend(["--set", set]);
    }
    words
}

/// The data of a page.
fn data(page: &str) -> Value {
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(data).unwrap()
}

/// The values of a class in the document of a run, by part.
fn values(document: &Value, class: &str) -> Vec<(String, Value)> {
    let setup = document["setup"][class].as_object().unwrap();
    setup.iter().map(|(part, value)| (part.clone(), value.clone())).collect()
}

#[test]
fn one_part_that_is_changed_is_named_and_no_other() {
    let folder = Folder::new("setup");
    let base = folder.path("base");
    let first: Value = document(&[&run(&[])[..], &["--out", &base]].concat());
    for (i, (name, key, set)) in PARTS.iter().enumerate() {
        let other = folder.path(&format!("other-{i}"));
        let second = document(&[&run(set)[..], &["--out", &other]].concat());
        for class in ["intra", "inter"] {
            for ((part, before), (_, after)) in values(&first, class).into_iter().zip(values(&second, class))
            {
                assert!(before == after || part == *key, "{set:?}: {part} of {class}: {before}, {after}");
            }
        }
        assert_ne!(first["setup"], second["setup"], "{set:?}");

        let page = folder.path("page.html");
        let text = stdout(&farspan(&["compare", &base, &other, "-o", &page]));
        let said = text.lines().find(|line| line.starts_with("the schemes differ in: ")).unwrap();
        assert!(said.starts_with(&format!("the schemes differ in: {name} (")), "{set:?}: {said}");
        for (other, ..) in PARTS.iter().filter(|(other, ..)| other != name) {
            assert!(!said.contains(&format!("{other} (")), "{set:?}: {said}");
            let same = text.lines().find(|line| line.starts_with("all schemes use: ")).unwrap();
            assert!(same.contains(other) && !same.contains(&format!("{name} ")), "{set:?}: {same}");
        }
        let head = &data(&std::fs::read_to_string(&page).unwrap())["groups"][0]["head"];
        assert!(head.as_array().unwrap().contains(&said.into()), "{head}");

        let compared = document(&["compare", &base, &other, "--json"]);
        let differ = compared["comparisons"][0]["setup"]["differ"].as_array().unwrap();
        let parts: Vec<_> = differ.iter().map(|part| part["part"].as_str().unwrap()).collect();
        assert_eq!(parts, [*key], "{set:?}");
    }
}

#[test]
fn another_control_alone_differs_in_no_part() {
    let folder = Folder::new("setup-control");
    let out = |scheme: &str| {
        let out = folder.path(scheme);
        let set = ["transport.recovery=rack", "transport.balance=ecmp", "transport.coding=none"];
        let mut words = run(&set);
        words[3] = scheme;
        document(&[&words[..], &["--out", &out]].concat());
        out
    };
    let (uno, hpcc) = (out("uno"), out("hpcc"));
    let text = stdout(&farspan(&["compare", &uno, &hpcc]));
    assert!(text.contains("the schemes differ in: none of these parts\n"), "{text}");
    let same = "first window bdp; recovery rack; balance ecmp; coding none; lossless no";
    assert!(text.contains(&format!("all schemes use: {same}\n")), "{text}");
}

#[test]
fn a_run_says_what_it_is_and_what_has_acted_zero_included() {
    let words = ["run", "uno/incast-mixed", "--set", "workload.flow_size=16MiB", "--quiet"];
    let text = stdout(&farspan(&words));
    let setup = "first window bdp; recovery per_packet_rto; balance unolb; coding none intra, mds(8,2) inter; lossless no\n";
    assert!(text.contains(setup), "{text}");
    let found = document(&[&words[..], &["--json"]].concat());
    let (acted, packets) = (&found["acted"], &found["packets"]);
    let keys: Vec<&str> = acted.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["marks", "nacks", "repairs", "timeouts"]);
    assert_eq!(
        (&acted["marks"], &acted["timeouts"]),
        (&packets["ecn_marked"], &found["recovery"]["timeouts"])
    );
    let count = |value: &Value| value.as_u64().unwrap();
    let line = format!(
        "acted         {} marks, {} blocks repaired, {} NACKs, {} time-outs\n",
        count(&acted["marks"]),
        count(&acted["repairs"]),
        count(&acted["nacks"]),
        count(&acted["timeouts"])
    );
    assert!(text.contains(&line), "{line}{text}");
    // Windows of a bandwidth-delay product each: what does not fit is lost before any ACK is there.
    let (dropped, early) = (count(&packets["dropped"]), count(&packets["dropped_first_rtt"]));
    assert!(early > dropped / 2 && early <= dropped, "{packets}");
    let share =
        format!("{:.1}% of {dropped} drops in the first round trip", early as f64 * 100.0 / dropped as f64);
    assert!(text.contains(&share), "{share}: {text}");

    let fits = [&words[..], &["--scheme", "hpcc", "--set", "transport.start=iw10", "--json"]].concat();
    let fits = document(&fits);
    assert_eq!((&fits["packets"]["dropped_first_rtt"], &fits["acted"]["timeouts"]), (&0.into(), &0.into()));
    assert!(count(&fits["acted"]["telemetry"]) > 1000, "{}", fits["acted"]);
    let several = stdout(&farspan(&[&words[..], &["--seeds", "1..2"]].concat()));
    assert!(several.contains(setup) && several.contains("acted (all seeds together): "), "{several}");
}

#[test]
fn mechanisms_that_a_scheme_does_not_have_are_not_in_its_document() {
    let acted = |scheme: &str, set: &str| {
        let words = ["run", "uno/incast-intra", "--scheme", scheme, "--set", "workload.flow_size=1MiB"];
        document(&[&words[..], &["--set", set, "--quiet", "--json"]].concat())["acted"].clone()
    };
    let dcqcn = acted("dcqcn", "transport.start=iw10");
    assert!(dcqcn["cnps"].as_u64().unwrap() > 0 && dcqcn["marks"].as_u64().unwrap() > 0, "{dcqcn}");
    let ndp = acted("ndp", "seed=1");
    assert!(ndp["trims"].as_u64().unwrap() > 0 && ndp["nacks"].as_u64().unwrap() > 0, "{ndp}");
    assert!(ndp.get("cnps").is_none() && ndp.get("pauses").is_none(), "{ndp}");
    let quiet = acted("dctcp", "workload.flow_size=4096B");
    assert_eq!(quiet, serde_json::json!({"marks": 0, "timeouts": 0}));
}
