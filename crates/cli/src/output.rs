//! Standard output and standard error. A reader that has seen enough (`| head`) is no failure; a full disk is.

use serde::Serialize;
use std::io::{ErrorKind, Write};

/// Prints text to standard output. Where it cannot be written, the process ends: with 0 if the reader has left, else with 1.
pub fn text(text: &str) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        std::process::exit(lost(&error));
    }
}

/// Says why standard output was lost, and gives the exit code.
pub fn lost(error: &std::io::Error) -> i32 {
    if error.kind() == ErrorKind::BrokenPipe {
        return 0;
    }
    note(&format!("standard output cannot be written ({error}): make room, or send it elsewhere"));
    1
}

/// Prints one JSON document.
pub fn json<T: Serialize>(document: &T) {
    let rendered = serde_json::to_string_pretty(document).expect("a document has a JSON form");
    text(&(rendered + "\n"));
}

/// Says something on standard error, if anybody can hear it: no result depends on it.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "farspan: {text}");
}
