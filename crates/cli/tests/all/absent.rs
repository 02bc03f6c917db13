//! Commands that this build was made without. Each says how to build it.

use crate::common::{farspan, stderr};

const COMMANDS: [(&str, bool); 5] = [
    ("emu", cfg!(feature = "emu")),
    ("import", cfg!(feature = "import")),
    ("export", cfg!(feature = "import")),
    ("reproduce", cfg!(feature = "ledger")),
    ("bundle", cfg!(feature = "ledger")),
];

#[test]
fn a_command_that_is_absent_says_which_build_has_it() {
    for (command, is_built_in) in COMMANDS {
        let output = farspan(&[command, "--help"]);
        let said = format!(
            "farspan: farspan {command} is not in this build: run `make release` in a checkout of farspan\n"
        );
        let expected = if is_built_in { (Some(0), "") } else { (Some(2), said.as_str()) };
        assert_eq!((output.status.code(), stderr(&output).as_str()), expected);
    }
}

#[test]
fn figures_are_listed_where_they_can_be_reproduced() {
    let output = farspan(&["list", "figures"]);
    let is_built_in = cfg!(feature = "ledger");
    assert_eq!(output.status.code(), Some(if is_built_in { 0 } else { 2 }));
    assert_eq!(stderr(&output).contains("run `make release`"), !is_built_in, "{}", stderr(&output));
    let kinds = String::from_utf8(farspan(&["list"]).stdout).unwrap();
    assert_eq!(kinds.contains("figures"), is_built_in, "{kinds}");
}

#[cfg(all(target_os = "linux", not(feature = "kernel")))]
#[test]
fn a_build_without_the_programs_says_what_it_takes() {
    for words in [&["kernel", "install", "gemini"][..], &["kernel", "mark", "--dev", "lo", "--rate", "1Gbps"]]
    {
        let output = farspan(words);
        assert_eq!(output.status.code(), Some(2));
        let text = stderr(&output);
        for part in ["clang", "libelf-dev", "zlib1g-dev", "make release"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
