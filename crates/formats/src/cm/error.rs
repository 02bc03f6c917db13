//! Why a file is no connection matrix.

use farspan_workload::text;
use std::fmt;

/// An error in a connection matrix, with its place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub struct CmError {
    /// The file.
    pub file: String,
    /// The line, from 1, unless the whole file is concerned.
    pub line: Option<u64>,
    /// The problem, with what was expected and the cure.
    pub problem: Problem,
}

impl fmt::Display for CmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// A problem in a connection matrix.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file cannot be read.
    #[error("cannot be read ({0}); give a connection matrix of htsim (.cm or .tm)")]
    Unreadable(String),
    /// The file is not text.
    #[error("not UTF-8; give a connection matrix of htsim (.cm or .tm), which is plain text")]
    NotUtf8,
    /// There is nothing in it.
    #[error("has no connections; give at least one line such as \"0->5 id 1 start 0 size 2000000\"")]
    Empty,
    /// A token that is not what it must be.
    #[error("{token:?}: expected {expected}; {cure}")]
    Token {
        /// The token.
        token: String,
        /// The value expected.
        expected: &'static str,
        /// The cure.
        cure: &'static str,
    },
    /// A keyword that is not known there.
    #[error("{token:?} is not a keyword of {place}{}; keywords are {known}, case-sensitive", text::hint(*near))]
    Keyword {
        /// The token.
        token: String,
        /// The kind of line.
        place: &'static str,
        /// The keywords that it can have.
        known: String,
        /// The nearest of them.
        near: Option<&'static str>,
    },
    /// A token too many or an empty one.
    #[error("two spaces in a row; separate tokens by one space")]
    EmptyToken,
    /// The line ends too soon.
    #[error("{after:?} is the last token, but {expected} must follow; add it")]
    LineEnds {
        /// The last token.
        after: String,
        /// The token that must follow.
        expected: &'static str,
    },
    /// Something that a line must have is missing.
    #[error("{missing} is missing; {cure}")]
    Missing {
        /// The missing part.
        missing: &'static str,
        /// The cure.
        cure: &'static str,
    },
    /// A comment in the body.
    #[error("a comment after the first connection, where htsim refuses it; move it to the top, or remove it")]
    Comment,
    /// Known to htsim, not to this release.
    #[error("{what} is not supported yet; {cure}")]
    NotSupported {
        /// The unsupported feature.
        what: &'static str,
        /// The cure.
        cure: &'static str,
    },
    /// A count of the header that the body does not keep.
    #[error("{keyword} says {said}, but the file has {found} such lines; correct one of them")]
    Count {
        /// The keyword of the header.
        keyword: &'static str,
        /// The number in the header; 0 if it is not there.
        said: u64,
        /// How many lines there are.
        found: u64,
    },
    /// A host that does not exist.
    #[error(
        "host {host} does not exist: Nodes is {nodes}, so hosts are 0 to {}, and the largest in the file is {largest}; correct \
         one of them, or give --nodes {} or more",
        nodes - 1,
        u64::from(*largest) + 1
    )]
    NoSuchHost {
        /// The host.
        host: u32,
        /// The largest host that any line names.
        largest: u32,
        /// Number of hosts, from `Nodes`.
        nodes: u32,
    },
    /// A flow from a host to itself.
    #[error("the flow goes from host {host} to itself; give two different hosts")]
    ToItself {
        /// The host.
        host: u32,
    },
    /// A start and a trigger.
    #[error("the flow has a start and a trigger; keep one of them")]
    StartAndTrigger,
    /// An id that was given before.
    #[error(
        "{what} {id} was given on line {first}; number {what}s once each (messages that share a connection, as with \
         -conn_reuse, are not supported yet)"
    )]
    Twice {
        /// `id` or `trigger`.
        what: &'static str,
        /// The number.
        id: u64,
        /// Where it was given first.
        first: u64,
    },
    /// A trigger that is nowhere defined.
    #[error(
        "{keyword} names trigger {id}, which no line defines; add \"trigger id {id} oneshot\", multishot or barrier"
    )]
    NoSuchTrigger {
        /// The keyword that names it.
        keyword: &'static str,
        /// Its number.
        id: u64,
    },
    /// More activations than htsim allows.
    #[error(
        "trigger {id} ({kind}) takes {allowed} activations, but {found} flow ends activate it, where htsim aborts; {cure}"
    )]
    Activations {
        /// The trigger.
        id: u64,
        /// `oneshot` or `barrier`.
        kind: &'static str,
        /// Number of activations that such a trigger takes.
        allowed: u64,
        /// Number of flow ends that activate it.
        found: u64,
        /// The cure.
        cure: &'static str,
    },
    /// A trigger that can never start (all of) its flows.
    #[error(
        "the flow would never start: trigger {id} needs {needed} activations for it, but {found} flow ends activate it; \
         add send_done_trigger {id} or recv_done_trigger {id} to more flows, or remove the flow"
    )]
    NeverStarts {
        /// The trigger.
        id: u64,
        /// How many activations the flow needs.
        needed: u64,
        /// How many there are.
        found: u64,
    },
    /// Flows that wait for each other.
    #[error(
        "the flow would never start: it waits for itself through the triggers of lines {}; break the cycle",
        named(lines)
    )]
    Cycle {
        /// The lines of the flows, each waiting for the next, the last for the first.
        lines: Vec<u64>,
    },
}

impl Problem {
    /// The error with its place.
    pub(super) fn at(self, file: &str, line: Option<u64>) -> CmError {
        CmError { file: file.to_owned(), line, problem: self }
    }
}

/// The first lines of a cycle.
fn named(lines: &[u64]) -> String {
    const NAMED: usize = 10;
    let first: Vec<_> = lines.iter().take(NAMED).map(u64::to_string).collect();
    let more = if lines.len() > NAMED { format!(" and {} more", lines.len() - NAMED) } else { String::new() };
    first.join(", ") + &more
}
