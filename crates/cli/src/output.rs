//! Standard output. A reader that has seen enough (`| head`) is no failure.

use serde::Serialize;
use std::io::Write;

/// Prints text.
pub fn text(text: &str) {
    let mut out = std::io::stdout().lock();
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Prints one JSON document.
pub fn json<T: Serialize>(document: &T) {
    let rendered = serde_json::to_string_pretty(document).expect("a document has a JSON form");
    text(&(rendered + "\n"));
}
