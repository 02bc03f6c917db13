//! `farspan-lab bench kernel`: what it shows of runs that are kept, and one run.

use crate::common::{lab, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::process::Command;

fn show(file: &std::path::Path, more: &[&str]) -> std::process::Output {
    lab(&[&["bench", "kernel", "--minutes", "0", "--keep", file.to_str().unwrap()], more].concat())
}

#[test]
fn kept_runs_are_shown_without_root_and_without_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kept.json");
    let cell = |ours: f64| {
        format!(
            r#"{{"kernel": [{{"mbps": 100.0, "wait_ms": 20.0}}], "simulated": [{{"mbps": {ours}, "wait_ms": 20.5}}], "void": ["late"]}}"#
        )
    };
    fs::write(&file, format!(r#"{{"bbr steady 1 0": {}, "bbr steady 4 0": {}}}"#, cell(104.0), cell(106.0)))
        .unwrap();
    let output = show(&file, &["--repeat", "1", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let agrees: Vec<_> =
        document["cells"].as_array().unwrap().iter().map(|cell| cell["agrees"].as_bool().unwrap()).collect();
    assert_eq!(agrees, [true, true, false, true]);
    assert_eq!(document["measures"][0]["agree"], 1);
    let text = stdout(&show(&file, &["--repeat", "1"]));
    assert!(text.contains("throughput: 1 of 2 cells agree"), "{text}");
    assert!(stdout(&show(&file, &["--repeat", "2"])).contains("no cell has 2 runs yet"));
}

#[test]
fn bad_input_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kept.json");
    fs::write(&file, "[]").unwrap();
    for (more, said) in [(&[][..], "no runs"), (&["--only", "bbr stedy"], "bbr steady 1 0")] {
        let output = show(&file, more);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

/// One whose neighbour is a `farspan` that says this of itself.
fn beside(said: &str, cell: &str) -> std::process::Output {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    // Another process writes the script: none of this one can hold it open when it begins to run.
    let make =
        "ln \"$0\" farspan-lab && printf '#!/bin/sh\\necho \"%s\"\\n' \"$1\" >farspan && chmod 755 farspan";
    let mut command = Command::new("sh");
    command.args(["-c", make, env!("CARGO_BIN_EXE_farspan-lab"), said]).current_dir(&folder);
    assert!(command.status().unwrap().success());
    let mut command = Command::new(folder.path().join("farspan-lab"));
    command.args(["bench", "kernel", "--quiet", "--only", cell]).output().unwrap()
}

#[test]
fn a_neighbour_of_another_version_or_without_a_feature_is_refused() {
    let version = format!("farspan {} (commit {})", env!("CARGO_PKG_VERSION"), farspan_world::COMMIT);
    for (said, cell, wrong) in [
        ("farspan 0.0.1\nfeatures: emu, kernel", "bbr", "farspan is not farspan "),
        (&format!("{version}\nfeatures: import\nmissing: emu, kernel"), "bbr", "without the feature emu"),
        (&format!("{version}\nfeatures: emu\nmissing: kernel"), "gemini", "without the feature kernel"),
    ] {
        let output = beside(said, cell);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(wrong), "{}", stderr(&output));
        assert!(stderr(&output).contains("build it with `"), "{}", stderr(&output));
    }
}

/// A run that is void is kept, too: the machine may be busy.
#[test]
fn a_run_is_made_on_both_clocks_and_kept() {
    if let Err(error) = farspan_emu::check() {
        farspan_skip::skip("emulation", &error.to_string());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kept.json");
    let only = ["--only", "cubic completion 10 KB", "--repeat", "1"];
    let output = lab(&[&["bench", "kernel", "--keep", file.to_str().unwrap(), "--json"], &only[..]].concat());
    let is_void = output.status.code() == Some(6);
    assert!(output.status.success() || is_void, "{}", stderr(&output));
    let kept: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let runs = &kept["cubic completion 10 KB"];
    let count = |of: &str| runs[of].as_array().unwrap().len();
    assert_eq!(count("simulated"), 1);
    assert_eq!(count("kernel"), usize::from(!is_void), "{kept}");
    assert_eq!(count("void") == 6, is_void, "{kept}");
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["cells"].as_array().unwrap().len(), usize::from(!is_void));
    assert_eq!(document["unfinished"].as_array().unwrap().len(), usize::from(is_void));
    let ms = |of: &str| runs[of][0]["ms"].as_f64();
    // Two round trips of 20 ms.
    for ms in [ms("simulated"), ms("kernel")].into_iter().flatten() {
        assert!((40.0..80.0).contains(&ms), "{kept}");
    }
}
