//! `farspan-lab bench proxy`: its rows, and what it says beside them.

use crate::common::*;
use serde_json::Value;
use std::process::Command;

const ROWS: [&str; 10] = [
    "naive_data",
    "naive_trimmed",
    "naive_ack",
    "streamlined_data",
    "streamlined_trimmed",
    "streamlined_ack",
    "gap_path_data",
    "gap_path_gap",
    "gap_flow_data",
    "gap_flow_gap",
];

fn is_positive(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number > 0.0 && number.is_finite())
}

/// Without valgrind, which would take a minute.
fn bench(more: &[&str]) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_farspan-lab"));
    let output = command.args(["bench", "proxy", "--quiet"]).args(more).env("PATH", "").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    (stdout(&output), stderr(&output))
}

#[test]
fn every_packet_of_every_proxy_has_a_row_and_its_times() {
    let (printed, said) = bench(&["--json"]);
    let document: Value = serde_json::from_str(&printed).unwrap();
    let rows = document["benchmarks"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["name"].as_str().unwrap()).collect::<Vec<_>>(), ROWS);
    for row in rows {
        assert_eq!(row["instructions_per_packet"], Value::Null);
        assert!(
            ["ns_per_packet", "ns_median", "ns_p99"].into_iter().all(|key| is_positive(&row[key])),
            "{row}"
        );
        assert!(row["ns_median"].as_f64() <= row["ns_p99"].as_f64(), "{row}");
    }
    assert!(said.contains("valgrind is not here"), "{said}");
    assert!(document["scope"].as_str().unwrap().contains("no socket, no kernel"));
    let paper: Vec<_> = document["paper"].as_array().unwrap().iter().map(|time| &time["ns"]).collect();
    assert_eq!(paper, [359_170.0, 420.0, 325_920.0]);
}

#[test]
fn the_table_says_that_it_is_the_code_alone_beside_the_papers_numbers() {
    let (table, _) = bench(&["--only", "naive", "--only", "streamlined"]);
    let of = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(of("naive_data").contains("p99 359.17 us") && of("streamlined_data").contains("median 0.42 us"));
    assert!(!of("naive_trimmed").contains("359.17"), "the paper's time is of data: {table}");
    assert!(table.contains("no socket, no kernel") && table.contains("325.92 us"), "{table}");
}

#[test]
fn instructions_are_counted_where_valgrind_is() {
    let output = lab(&["bench", "proxy", "--only", "streamlined_trimmed", "--quiet", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let count = &document["benchmarks"][0]["instructions_per_packet"];
    if stderr(&output).contains("valgrind is not here") {
        assert!(count.is_null(), "{count}");
        farspan_skip::skip("valgrind", "no instructions of a proxy were counted: apt install valgrind");
        return;
    }
    assert!(is_positive(count), "{count}");
}
