//! The name under which the kernel knows a control.

use crate::Control;
use std::fmt;
use std::str::FromStr;

/// A name of a congestion control, as `TCP_CONGESTION` and `ip route ... congctl` take it: 1 to 15 lower-case letters, digits and `_`, a
/// letter first. Linux takes no `-` in names of programs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Name(String);

/// The text is no name that a control can have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// Linux does not take it.
    #[error(
        "{text:?} cannot name a congestion control: give 1 to 15 lower-case letters, digits and `_`, starting with a \
         letter (Linux accepts no others)"
    )]
    Odd {
        /// The text.
        text: String,
    },
    /// It means something else.
    #[error("{text} is the name of a Linux control, or a word that `ss` prints: give another name")]
    Reserved {
        /// The text.
        text: String,
    },
}

/// The controls of Linux, whose modules could not be loaded any more; and what `ss -i` writes of any socket.
const RESERVED: [&str; 29] = [
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
    "ts",
    "sack",
    "ecn",
    "ecnseen",
    "fastopen",
    "app_limited",
    "unacked",
    "send",
    "pacing_rate",
    "delivery_rate",
    "busy",
    "ato",
];

impl Name {
    /// The longest name that Linux keeps, in bytes.
    pub const LONGEST: usize = 15;

    /// This name, if a control of farspan's can have it.
    ///
    /// # Errors
    /// If it means something else to Linux or to `ss`.
    pub fn unreserved(self) -> Result<Self, NameError> {
        if RESERVED.contains(&self.as_str()) { Err(NameError::Reserved { text: self.0 }) } else { Ok(self) }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let begins = text.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
        if !begins || text.len() > Self::LONGEST || !text.bytes().all(is_part) {
            return Err(NameError::Odd { text: text.to_owned() });
        }
        Ok(Self(text.to_owned()))
    }
}

impl From<Control> for Name {
    fn from(control: Control) -> Self {
        Self(control.as_str().to_owned())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_linux_keeps_and_files_can_have() {
        for good in ["gemini", "gemini_wan", "a", "unocc_2", "abcdefghijklmno"] {
            assert_eq!(good.parse::<Name>().map(|name| name.to_string()), Ok(good.to_owned()));
        }
        for bad in ["", "2gemini", "Gemini", "../x", "a b", "abcdefghijklmnop", "gemini-wan", "_a"] {
            let error = bad.parse::<Name>().unwrap_err().to_string();
            assert!(error.contains("15 lower-case letters"), "{error}");
        }
        for reserved in ["cubic", "app_limited"] {
            let name: Name = reserved.parse().unwrap();
            assert_eq!(name.unreserved(), Err(NameError::Reserved { text: reserved.to_owned() }));
        }
    }
}
