//! Mistakes in `claims.toml`.

use crate::text::Name;
use std::ops::Range;

/// A mistake in an experiment, with its place and cure.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("experiments/{file}:{line}:{column}: {problem}: {cure}")]
pub struct FigureError {
    /// The file, in the folder of experiments.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// The mistake.
    pub problem: String,
    /// Its cure.
    pub cure: String,
}

impl FigureError {
    /// A mistake that the reader of TOML found.
    pub(crate) fn written(name: &str, text: &str, error: &toml::de::Error) -> Self {
        let problem = error.message().trim().replace('\n', "; ");
        Self::at(name, text, error.span(), Fault::new(problem, "see CONTRIBUTING.md, \"Adding a figure\""))
    }

    /// A mistake in `why.md`.
    pub(crate) fn in_reasons(figure: &str, fault: Fault) -> Self {
        let file = format!("{figure}/why.md");
        Self { file, line: 1, column: 1, problem: fault.problem, cure: fault.cure }
    }

    pub(crate) fn at(name: &str, text: &str, span: Option<Range<usize>>, fault: Fault) -> Self {
        let offset = span.map_or(0, |span| span.start).min(text.len());
        let before = text.get(..offset).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let file = match name.strip_suffix("/statements") {
            Some(paper) => format!("{paper}/statements.toml"),
            None => format!("{name}/claims.toml"),
        };
        Self { file, line, column, problem: fault.problem, cure: fault.cure }
    }
}

/// A mistake before its place is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    pub(crate) problem: String,
    pub(crate) cure: String,
}

impl Fault {
    pub(crate) fn new(problem: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { problem: problem.into(), cure: cure.into() }
    }
}

/// Something read from `claims.toml`, or a mistake and where it is.
pub(crate) type Checked<T> = Result<T, (Option<Range<usize>>, Fault)>;

/// A mistake at a name.
pub(crate) fn wrong<T>(name: &Name, problem: impl Into<String>, cure: impl Into<String>) -> Checked<T> {
    Err((Some(name.span()), Fault::new(problem, cure)))
}
