//! What is wrong with a scenario, where it stands, and the cure.

use std::fmt;

/// Where a value of a scenario was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// In a text, at a line and a column, both from 1.
    Text {
        /// The file, or the name of a built-in scenario.
        name: String,
        /// Line.
        line: usize,
        /// Column, in characters.
        column: usize,
    },
    /// In an argument of the command, as given.
    Argument(String),
    /// Nowhere in particular: in a scenario as a whole.
    Whole(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { name, line, column } => write!(f, "{name}:{line}:{column}"),
            Self::Argument(text) | Self::Whole(text) => f.write_str(text),
        }
    }
}

/// Bad input: the place, the key, what is wrong (with what was expected), and the cure.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct ScenarioError {
    /// Where it was written.
    pub place: Place,
    /// The key, as a dotted path; empty if none is concerned.
    pub path: String,
    /// What is wrong, and what was expected.
    pub problem: String,
    /// What to do about it; empty if the problem says it.
    pub cure: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.problem)?;
        if !self.cure.is_empty() {
            write!(f, "; {}", self.cure)?;
        }
        Ok(())
    }
}

/// A fault of a value, before it is known where the value was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    /// The key, as a dotted path.
    pub path: String,
    /// What is wrong, and what was expected.
    pub problem: String,
    /// What to do about it.
    pub cure: String,
}

impl Fault {
    /// A fault at `path`.
    pub fn new(path: impl Into<String>, problem: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { path: path.into(), problem: problem.into(), cure: cure.into() }
    }

    /// The fault with its place.
    pub fn at(self, place: Place) -> ScenarioError {
        ScenarioError { place, path: self.path, problem: self.problem, cure: self.cure }
    }
}
