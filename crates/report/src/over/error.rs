//! Why runs cannot be put over an axis.

use std::collections::BTreeSet;

/// Why runs cannot be put over an axis.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OverError {
    /// Every run was interrupted.
    #[error("all runs were interrupted; run them again to their end")]
    Interrupted,
    /// No run has this key or number.
    #[error("{what} {name}: no run has it{}", cures(near, varying))]
    Unknown {
        /// Which argument.
        what: &'static str,
        /// The name.
        name: String,
        /// The nearest names there are.
        near: Vec<String>,
        /// The keys that take several values.
        varying: Vec<String>,
    },
    /// Several keys that vary end with this name.
    #[error("{what} {name}: several keys end with it; give one of them: {}", keys.join(", "))]
    Ambiguous {
        /// Which argument.
        what: &'static str,
        /// The name.
        name: String,
        /// The keys.
        keys: Vec<String>,
    },
    /// No run has this value.
    #[error("--where {key}={value}: no run has it; there are: {}", there.join(", "))]
    NoValue {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// The values there are.
        there: Vec<String>,
    },
    /// The axis has one value.
    #[error("--x {x}: it is {value} in every run; {}", varies(varying))]
    Constant {
        /// The key.
        x: String,
        /// Its value.
        value: String,
        /// The keys that vary, with their values.
        varying: Vec<(String, Vec<String>)>,
    },
    /// Something else varies.
    #[error("{}; {}", also(others), choose(others))]
    Others {
        /// The keys, with their values.
        others: Vec<(String, Vec<String>)>,
    },
    /// Two runs of one point have the same seed.
    #[error(
        "seed {seed} appears twice at one point; give a folder whose runs all differ in scheme, seed or a key"
    )]
    Twice {
        /// The seed.
        seed: String,
    },
    /// The number is null in every run.
    #[error("--y {y}: it is null in every run: {}", null(y, *infinite))]
    NoNumber {
        /// Its place.
        y: String,
        /// Whether flows did not end or rates never converged in one of them at least.
        infinite: bool,
    },
    /// It is no number.
    #[error("--y {y}: it is not a number; it contains: {}", inner.join(", "))]
    NotANumber {
        /// Its place.
        y: String,
        /// The numbers within.
        inner: Vec<String>,
    },
}

/// How many names an error offers.
const NEAREST: usize = 3;

impl OverError {
    /// The error for a name that is not there.
    pub(super) fn unknown(
        what: &'static str,
        name: &str,
        known: BTreeSet<String>,
        varying: Vec<String>,
    ) -> Self {
        let ends = |known: &str| known.ends_with(&format!(".{name}")) || name.ends_with(&format!(".{known}"));
        let alike =
            |known: &str| strsim::normalized_damerau_levenshtein(name, known) + f64::from(ends(known));
        let mut near: Vec<(f64, String)> = known.into_iter().map(|known| (alike(&known), known)).collect();
        near.retain(|(alike, _)| *alike >= 0.6);
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        near.truncate(NEAREST);
        Self::Unknown {
            what,
            name: name.to_owned(),
            near: near.into_iter().map(|(_, name)| name).collect(),
            varying,
        }
    }
}

fn cures(near: &[String], varying: &[String]) -> String {
    let mut text = String::new();
    if !near.is_empty() {
        text += &format!("; did you mean {}?", near.join(" or "));
    }
    if !varying.is_empty() {
        let link = if near.is_empty() { "; what" } else { " What" };
        text += &format!("{link} varies: {}", varying.join(", "));
    } else if near.is_empty() {
        text += "; summary.json of a run has every number";
    }
    text
}

/// Why a number is null in every run, and what to do.
fn null(y: &str, infinite: bool) -> &'static str {
    let is_of_flows =
        ["fct", "delivery", "slowdown_by_size", "collectives"].iter().any(|of| y.starts_with(of));
    if infinite {
        "some flows did not finish, or rates never converged; choose another number, or run longer"
    } else if is_of_flows {
        "there are no such flows, or too few: a p99 needs 1,000 Poisson flows; choose a mean or a p50, or run more flows"
    } else {
        "it was not measured; choose another number, or run again with the probe that it needs"
    }
}

fn listed(varying: &[(String, Vec<String>)]) -> String {
    let one = |(key, values): &(String, Vec<String>)| format!("{key} ({})", shortened(values));
    varying.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn shortened(values: &[String]) -> String {
    match values {
        [first, second, .., last] if values.len() > 6 => {
            format!("{first}, {second}, ..., {last}: {} values", values.len())
        }
        _ => values.join(", "),
    }
}

fn varies(varying: &[(String, Vec<String>)]) -> String {
    if varying.is_empty() {
        "only the seed varies".to_owned()
    } else {
        format!("these vary: {}", listed(varying))
    }
}

fn also(others: &[(String, Vec<String>)]) -> String {
    format!("these vary too, but are neither on the axis nor have lines: {}", listed(others))
}

fn choose(others: &[(String, Vec<String>)]) -> String {
    let one = |(key, values): &(String, Vec<String>)| format!("--where {key}={}", values[0]);
    format!("choose: {}", others.iter().map(one).collect::<Vec<_>>().join(" "))
}
