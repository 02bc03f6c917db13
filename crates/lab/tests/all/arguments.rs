//! Bad arguments end with 2 and say a cure; results that nobody can read are a failure.

use crate::common::*;

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

#[cfg(target_os = "linux")]
#[test]
fn a_page_that_cannot_be_printed_is_a_failure() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_farspan-lab"));
    let output = command.arg("reference").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("standard output cannot be written"), "{}", stderr(&output));
}
