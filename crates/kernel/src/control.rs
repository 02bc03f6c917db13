//! The controls that can be installed.

use crate::parameter::{Parameter, Unit};
use std::fmt;
use std::str::FromStr;

/// A congestion control of TCP, as an eBPF program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Control {
    /// A window that never changes: it shows what a path does without a control.
    Fixed,
}

/// No control has this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no control {name:?} can be installed: there are {}", Control::names())]
pub struct UnknownControl {
    name: String,
}

impl Control {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Fixed];

    /// Its name: of the program's file, and what the kernel calls it where nothing else is asked for.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
        }
    }

    /// What it does, in half a line.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::Fixed => "a window that never changes",
        }
    }

    /// Its parameters. Their defaults stand in the program.
    #[must_use]
    pub const fn parameters(self) -> &'static [Parameter] {
        match self {
            Self::Fixed => FIXED,
        }
    }

    fn names() -> String {
        Self::ALL.iter().map(|control| control.as_str()).collect::<Vec<_>>().join(", ")
    }
}

const FIXED: &[Parameter] =
    &[Parameter::new(["window", "window"], Unit::Packets, (2, 1_000_000), "the congestion window")];

impl FromStr for Control {
    type Err = UnknownControl;

    fn from_str(name: &str) -> Result<Self, UnknownControl> {
        let found = Self::ALL.iter().find(|control| control.as_str() == name);
        found.copied().ok_or_else(|| UnknownControl { name: name.to_owned() })
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Name;

    #[test]
    fn every_control_is_found_by_its_name_which_the_kernel_takes() {
        for control in Control::ALL {
            assert_eq!(control.as_str().parse(), Ok(*control));
            assert_eq!(control.as_str().parse::<Name>(), Ok(Name::from(*control)));
            assert!(!control.about().is_empty() && !control.parameters().is_empty());
        }
        assert!("cubic".parse::<Control>().unwrap_err().to_string().contains("fixed"));
    }

    #[test]
    fn parameters_have_names_of_their_own_and_bounds() {
        for control in Control::ALL {
            for (index, parameter) in control.parameters().iter().enumerate() {
                assert!(parameter.least < parameter.most, "{}", parameter.key);
                assert!(control.parameters()[..index].iter().all(|other| other.key != parameter.key));
            }
        }
    }
}
