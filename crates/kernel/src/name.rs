//! The name under which the kernel knows a control.

use crate::Control;
use std::fmt;
use std::str::FromStr;

/// A name of a congestion control, as `TCP_CONGESTION` and `ip route ... congctl` take it: 1 to 15 lower-case letters, digits and `_`, a
/// letter first. Linux takes no `-` in names of programs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Name(String);

/// The text is no name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{0:?} names no congestion control: give 1 to 15 lower-case letters, digits and `_`, a letter first (Linux takes no others)"
)]
pub struct NameError(String);

impl Name {
    /// The longest name that Linux keeps, in bytes.
    pub const LONGEST: usize = 15;

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
        if begins && text.len() <= Self::LONGEST && text.bytes().all(is_part) {
            Ok(Self(text.to_owned()))
        } else {
            Err(NameError(text.to_owned()))
        }
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
    }
}
