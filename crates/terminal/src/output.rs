//! Standard output and standard error. A reader that has seen enough (`| head`) is no failure; a full disk is.

use serde::Serialize;
use std::borrow::Cow;
use std::io::{ErrorKind, Write};

/// The text with its control characters spelled out, but for ends of lines and tabs: a name from a file moves no cursor and sets no
/// title.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    // As JSON and TOML spell them: a document stays one.
    let spelled = |c: char| if is_hidden(c) { format!("\\u{:04x}", c as u32) } else { String::from(c) };
    Cow::Owned(text.chars().map(spelled).collect())
}

/// Prints text to standard output. Where it cannot be written, the process ends: with 0 if the reader has left, else with 1.
pub fn text(text: &str) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_all(visible(text).as_bytes()).and_then(|()| out.flush()) {
        std::process::exit(lost(&error));
    }
}

/// Says why standard output was lost, and gives the exit code.
pub fn lost(error: &std::io::Error) -> i32 {
    if error.kind() == ErrorKind::BrokenPipe {
        return 0;
    }
    note(&format!("standard output cannot be written ({error}): free disk space, or send it elsewhere"));
    1
}

/// Prints one JSON document.
pub fn json<T: Serialize>(document: &T) {
    let rendered = serde_json::to_string_pretty(document).expect("a document has a JSON form");
    text(&(rendered + "\n"));
}

/// Says something on standard error, if anybody can hear it: no result depends on it.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "farspan: {}", visible(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_spelled_out() {
        assert_eq!(
            visible("x\u{1b}[2J\u{1b}]0;owned\u{7}\r\u{9b}\n\tµ"),
            "x\\u001b[2J\\u001b]0;owned\\u0007\\u000d\\u009b\n\tµ"
        );
        assert!(matches!(visible("all of it\n"), Cow::Borrowed(_)));
    }
}
