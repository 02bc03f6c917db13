//! `farspan kernel` in a build without the eBPF programs.

use crate::common::{farspan, stderr};

#[test]
fn a_build_without_the_programs_says_what_it_takes() {
    for words in [&["kernel", "install", "gemini"][..], &["kernel", "mark", "--dev", "lo", "--rate", "1Gbps"]]
    {
        let output = farspan(words);
        assert_eq!(output.status.code(), Some(2));
        let text = stderr(&output);
        for part in ["clang", "libelf-dev", "zlib1g-dev", "cargo build", "--features kernel"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
