//! The control in the command.

use std::process::{Command, Output};

fn run(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_my-control"));
    command.args(["run", "uno/incast-mixed", "--set", "workload.flow_size=64KiB", "--json", "--quiet"]);
    command.args(words).output().unwrap()
}

#[test]
fn schemes_know_it_by_its_name() {
    for scheme in ["my-control", "my-control+rps", "my-control/uno"] {
        let output = run(&["--scheme", scheme]);
        let (text, error) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{error}");
        assert!(
            text.contains(&format!("\"scheme\": \"{scheme}\"")) && text.contains("\"finished\": 8"),
            "{text}"
        );
    }
}

#[test]
fn a_parameter_out_of_range_is_refused() {
    let output = run(&["--scheme", "my-control", "--set", "scheme.intra.congestion.cut=2"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("cut = 2 is out of range"), "{error}");
}
