//! Errors in scenarios: the problem, its place, and the cure.

use crate::names::{self, UnknownName};
use crate::ranges::RangeError;
use crate::scheme_error::SchemeError;
use farspan_fabric::TopologyError;
use farspan_fabric::topology::GraphError;
use farspan_transport::ConfigError;
use farspan_workload::{
    AssembleError, CollectiveError, IncastsError, ListError, PatternError, PoissonError, SizesError,
};
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
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub struct ScenarioError {
    /// Where it was written.
    pub place: Place,
    /// The key, as a dotted path; empty if none is concerned.
    pub path: String,
    /// The problem, with what was expected.
    pub problem: Box<Problem>,
}

impl ScenarioError {
    /// The cure; empty if the problem says it.
    #[must_use]
    pub fn cure(&self) -> String {
        self.problem.cure()
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        say(f, &self.path, &self.problem)
    }
}

/// The key, the problem, the cure.
fn say(f: &mut fmt::Formatter<'_>, path: &str, problem: &Problem) -> fmt::Result {
    if !path.is_empty() {
        write!(f, "{path}: ")?;
    }
    write!(f, "{problem}")?;
    match problem.cure() {
        cure if cure.is_empty() => Ok(()),
        cure => write!(f, "; {cure}"),
    }
}

/// A problem with a value of a scenario or of a topology file, with what could stand there instead.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The text is not TOML.
    #[error("not TOML: {message}")]
    Syntax {
        /// The message of the TOML parser.
        message: String,
        /// The cure.
        cure: &'static str,
    },
    /// A key that its table does not have.
    #[error("unknown key {key:?}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The keys of its table.
        known: Vec<String>,
    },
    /// A key that its table has, but not for what the table describes.
    #[error("{kind} has no {key:?}")]
    NotApplicable {
        /// The kind of object that the table describes.
        kind: String,
        /// The key.
        key: String,
        /// The keys that apply.
        keys: Vec<String>,
        /// Where others stand; empty if nowhere.
        elsewhere: &'static str,
    },
    /// A name that is not among those there are.
    #[error("{}", .0.problem())]
    UnknownName(UnknownName),
    /// A scheme whose name asks for what is not there.
    #[error(transparent)]
    Scheme(SchemeError),
    /// A key without which its table says nothing.
    #[error("missing")]
    Missing {
        /// An example of a valid value.
        example: String,
    },
    /// A value of another type than its key's.
    #[error("{found} does not fit here")]
    WrongType {
        /// The value found.
        found: String,
        /// The value expected.
        expected: String,
    },
    /// A text that names no numbers, or no names.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// A text that its type cannot read.
    #[error("{message}")]
    Unreadable {
        /// The message of the type, the cure included.
        message: String,
    },
    /// A number or a quantity out of its range, both ends included.
    #[error("{value} is out of range")]
    OutOfRange {
        /// The value found.
        value: String,
        /// The smallest that could.
        least: String,
        /// The largest that could.
        most: String,
    },
    /// A parameter of a control, a path selector or a coding.
    #[error("{}", .0.problem())]
    Parameter(ConfigError),
    /// A parameter of a generated topology.
    #[error("{} = {}: {}", .0.parameter, .0.value, .0.problem)]
    Topology(TopologyError),
    /// The graph of a topology file.
    #[error("{}", .0.problem)]
    Graph(GraphError),
    /// A file that the scenario names, with a place of its own.
    #[error(transparent)]
    File(Box<ScenarioError>),
    /// A value of a topology file that a parameter stands for.
    #[error("${name}: {problem}")]
    OfParameter {
        /// The parameter.
        name: String,
        /// The problem of its value.
        problem: Box<Problem>,
    },
    /// A pattern of flows.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// Incasts whose hosts are drawn.
    #[error(transparent)]
    Incasts(#[from] IncastsError),
    /// Poisson arrivals.
    #[error(transparent)]
    Poisson(#[from] PoissonError),
    /// A distribution of flow sizes.
    #[error(transparent)]
    Sizes(#[from] SizesError),
    /// A list of flows.
    #[error(transparent)]
    List(#[from] ListError),
    /// A collective.
    #[error(transparent)]
    Collective(#[from] CollectiveError),
    /// The parts of the workload together.
    #[error(transparent)]
    Workload(#[from] AssembleError),
    /// A rule of one key, or between keys, that does not hold.
    #[error("{problem}")]
    Rule {
        /// The problem.
        problem: String,
        /// The cure.
        cure: String,
    },
}

impl Problem {
    /// A rule that does not hold.
    #[must_use]
    pub fn rule(problem: impl Into<String>, cure: impl Into<String>) -> Self {
        Self::Rule { problem: problem.into(), cure: cure.into() }
    }

    /// The cure; empty if the problem says it.
    #[must_use]
    pub fn cure(&self) -> String {
        match self {
            Self::Syntax { cure, .. } => (*cure).to_owned(),
            Self::UnknownKey { key, known } => {
                format!(
                    "{}Known here: {}",
                    names::hint(key, known.iter().map(String::as_str)),
                    known.join(", ")
                )
            }
            Self::NotApplicable { keys, elsewhere, .. } => {
                let separator = if elsewhere.is_empty() { "" } else { "; " };
                format!("{elsewhere}{separator}it has: {}", keys.join(", "))
            }
            Self::UnknownName(name) => name.cure(),
            Self::Scheme(error) => error.cure(),
            Self::Missing { example } => format!("give {example}"),
            Self::WrongType { expected, .. } => format!("give {expected}"),
            Self::OutOfRange { least, most, .. } => format!("give from {least} to {most}"),
            Self::Parameter(error) => error.cure(),
            Self::Topology(error) => error.cure.clone(),
            Self::Graph(error) => error.cure.clone(),
            Self::Rule { cure, .. } => cure.clone(),
            Self::OfParameter { problem, .. } => problem.cure(),
            Self::Unreadable { .. }
            | Self::Range(_)
            | Self::File(_)
            | Self::Pattern(_)
            | Self::Incasts(_)
            | Self::Poisson(_)
            | Self::Sizes(_)
            | Self::List(_)
            | Self::Collective(_)
            | Self::Workload(_) => String::new(),
        }
    }
}

/// A value that a scenario cannot have, before it is known where it was written.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub struct ValueError {
    /// The key, as a dotted path.
    pub path: String,
    /// The problem.
    pub problem: Box<Problem>,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        say(f, &self.path, &self.problem)
    }
}

impl ValueError {
    /// An error at `path`.
    #[must_use]
    pub fn new(path: impl Into<String>, problem: impl Into<Problem>) -> Self {
        Self { path: path.into(), problem: Box::new(problem.into()) }
    }

    /// A rule that does not hold at `path`.
    #[must_use]
    pub fn rule(path: impl Into<String>, problem: impl Into<String>, cure: impl Into<String>) -> Self {
        Self::new(path, Problem::rule(problem, cure))
    }

    /// Nothing stands at `path`, where an `example` could.
    #[must_use]
    pub fn missing(path: impl Into<String>, example: impl Into<String>) -> Self {
        Self::new(path, Problem::Missing { example: example.into() })
    }

    /// An error for a name at `path` that is not one of the names of a `what`.
    #[must_use]
    pub fn unknown(path: &str, what: &'static str, name: &str, available: &[&str], planned: &[&str]) -> Self {
        Self::new(path, Problem::UnknownName(names::unknown(what, name, available, planned)))
    }

    /// The error that `key` at `path` is not among `known`.
    pub(crate) fn unknown_key(path: &str, key: &str, known: &[&str]) -> Self {
        let known = known.iter().map(|key| (*key).to_owned()).collect();
        Self::new(path, Problem::UnknownKey { key: key.to_owned(), known })
    }

    /// The error with its place.
    #[must_use]
    pub fn at(self, place: Place) -> ScenarioError {
        ScenarioError { place, path: self.path, problem: self.problem }
    }
}
