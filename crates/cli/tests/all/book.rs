//! Tests that the commands on the book's first page work.

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
    for scheme in ["uno", "gemini"] {
        farspan(&[
            "run",
            "my.toml",
            "--scheme",
            scheme,
            "--seeds",
            "1..2",
            "--out",
            &folder(scheme),
            "--quiet",
        ]);
    }
    let page = folder("compare.html");
    let table = farspan(&["compare", &folder("uno"), &folder("gemini"), "-o", &page]);
    assert!(table.contains("inter mean FCT") && Path::new(&page).is_file(), "{table}");
    let fault = "fault=[{ kind = 'black_hole', link = 'border0->border1#0' }]";
    let traced = ["--trace", "flow=0", "--pcap", "border0->border1#*", "--out", &folder("traced"), "--quiet"];
    farspan(&[&["run", "my.toml", "--set", fault, "--set", "topology.wan.rtt=8ms"][..], &traced].concat());
    assert!(out.join("traced/trace/flow-0.sqlog").is_file());
    std::fs::remove_dir_all(&out).unwrap();
}
