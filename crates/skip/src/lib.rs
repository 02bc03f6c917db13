//! A test that lacks something says that it skips a part, or fails where it must not skip any.

use std::env::var_os;
use std::io::Write as _;

/// Says on standard error that a part of a test is skipped: `name` is what is missing, and `why` ends with a cure.
///
/// With `FARSPAN_TESTS=must` it panics instead, unless the words of `FARSPAN_MAY_SKIP` hold the name. A file that `FARSPAN_SKIPPED` names
/// gets a line. `tools/skipped.py` does the same for scripts.
#[track_caller]
#[expect(clippy::missing_panics_doc, reason = "it is said above")]
pub fn skip(name: &str, why: &str) {
    let text = format!("{name}: {}\n", why.split_whitespace().collect::<Vec<_>>().join(" "));
    let is_listed = var_os("FARSPAN_MAY_SKIP")
        .is_some_and(|words| words.to_string_lossy().split_whitespace().any(|word| word == name));
    let must = var_os("FARSPAN_TESTS").is_some_and(|asked| asked == "must");
    assert!(is_listed || !must, "not tested: {text}FARSPAN_TESTS=must makes this a failure");
    // Not by `eprintln`: the harness shows what a test prints by that only where it fails.
    let _ = std::io::stderr().write_all(format!("SKIPPED: {text}").as_bytes());
    if let Some(path) = var_os("FARSPAN_SKIPPED") {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .expect("the list of what was skipped grows");
    }
}
