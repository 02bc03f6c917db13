//! Bad arguments and a bad chart end with 2 and say a cure; results that nobody can read are a failure.

use crate::common::*;
use std::io::{Seek as _, Write as _};

#[test]
fn bad_arguments_say_what_is_there() {
    for (arguments, said) in [
        (&["bench", "congestion", "--only", "oscat"][..], "did you mean \"oscar\""),
        (&["bench", "proxy", "--only", "naive_date"], "did you mean \"naive_data\""),
        (&["bench", "proxy", "--repeat", "0"], "--repeat"),
        (&["bench", "proxy", "--feed", "naive_data:4501"], "write BENCHMARK:PACKETS"),
        (&["bench", "coding", "--kernel", "abacus"], "available: "),
        (&["reference", "oscat"], "did you mean \"oscar\""),
    ] {
        let output = lab(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

#[test]
fn a_figure_is_drawn_and_other_keys_and_bad_values_end_with_2() {
    let figure = r#"{"title": "", "width": 300, "font": 9, "height": 100, "columns": 1, "lines": ["uno"], "notes": [],
    "panels": [{"title": "FCT", "kind": "bars", "places": [{"label": "a"}, {"label": "b"}], "events": [], "y_from": 3,
                "series": [{"line": 0, "points": [{"middle": 3.5}, {"middle": null}]}]}]}"#;
    for (part, other, said) in [
        ("", "", ">uno</text>"),
        ("", "", ">∞</text>"),
        ("notes", "note", "unknown field `note`"),
        ("y_from", "from", "unknown field `from`"),
        ("middle", "mean", "unknown field `mean`"),
        ("label", "name", "unknown field `name`"),
        ("bars", "pie", "unknown variant `pie`, expected `lines` or `bars`"),
        ("300", "null", "invalid type: null, expected f64"),
        ("[{\"line\": 0", "[{\"line\": 1", "chart \"FCT\", line 1: give its name in `lines`"),
        (
            ", {\"middle\": null}",
            "",
            "chart \"FCT\", line 0: give its name in `lines`, and a point or null for each place",
        ),
        ("\"events\": []", "\"events\": [2]", "chart \"FCT\", events: place 2 is not there"),
        ("{\"middle\": 3.5}, {\"middle\": null}", "null, null", "no chart has a point: give at least one"),
    ] {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(figure.replacen(part, other, 1).as_bytes()).unwrap();
        file.rewind().unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_farspan-lab"));
        let output = command.arg("chart").stdin(file).output().unwrap();
        assert_eq!(output.status.code(), Some(if part.is_empty() { 0 } else { 2 }), "{other}");
        let text = stdout(&output) + &stderr(&output);
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_page_that_cannot_be_printed_is_a_failure() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_farspan-lab"));
    let output = command.arg("reference").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("standard output cannot be written"), "{}", stderr(&output));
}
