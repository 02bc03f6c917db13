//! `manifest.json` of a bundle: which program ran what, and what came of it.

use crate::figure::Size;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The number of the bundle's form: a reader refuses others.
pub(super) const FORMAT: u32 = 1;

/// How far the numbers of a rerun by the same build may be off.
const SAME_BUILD: &str = "none: digests, packet digests and every number are equal, but for times and memory";
/// How far those of another build may be off.
const OTHER_BUILD: &str = "where all digests are equal, none; else each claim keeps its verdict, by the band from low to \
                           high in claims.json, and a number without a verdict is equal";

/// A program that makes or checks a bundle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Build {
    /// Its release.
    pub farspan_version: String,
    /// The commit that it was built from.
    pub commit: String,
    /// Optional parts that are built in.
    pub features: Vec<String>,
}

impl Build {
    /// Whether both are of one release and commit: their runs are equal, whatever else is built in.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        (&self.farspan_version, &self.commit) == (&other.farspan_version, &other.commit)
    }
}

/// The head of a bundle: the program, the figure and its runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The number of the bundle's form.
    pub format: u32,
    /// `PAPER/FIGURE`.
    pub figure: String,
    /// The figure in one line.
    pub title: String,
    /// Where it stands in the paper.
    pub place: String,
    /// How much was run.
    pub size: Size,
    /// The program that ran it.
    #[serde(flatten)]
    pub build: Build,
    /// The times of all runs one after another, each on one thread; in seconds.
    pub run_time_s: f64,
    /// How far a rerun may be off.
    pub tolerance: Tolerance,
    /// The runs, by case, arm and seed.
    pub runs: Vec<ManifestRun>,
}

/// How far the numbers of a rerun may be off, in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tolerance {
    /// The tolerance of a rerun by the build that made the bundle.
    pub same_build: String,
    /// The tolerance of a rerun by another build.
    pub other_build: String,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { same_build: SAME_BUILD.to_owned(), other_build: OTHER_BUILD.to_owned() }
    }
}

/// A run of a bundle.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ManifestRun {
    /// The folder of its files in the bundle.
    pub folder: String,
    /// The case of the figure.
    pub case: String,
    /// The arm of the figure.
    pub arm: String,
    /// The scheme.
    pub scheme: String,
    /// The profile.
    pub profile: String,
    /// The seed.
    pub seed: u64,
    /// Hosts of its network; null where its document does not say.
    pub hosts: Option<u64>,
    /// The digest of its flows.
    pub digest: String,
    /// The digest of its packets' arrivals.
    pub packet_digest: String,
    /// The time that it took, in seconds.
    pub wall_time_s: f64,
}

impl ManifestRun {
    /// The run of a folder, from its document.
    pub(super) fn new(folder: String, case: &str, arm: &str, seed: u64, document: &Value) -> Self {
        let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
        Self {
            folder,
            case: case.to_owned(),
            arm: arm.to_owned(),
            scheme: text("scheme"),
            profile: text("profile"),
            seed,
            hosts: document.pointer("/ports/tiers/host_up/ports").and_then(Value::as_u64),
            digest: text("digest"),
            packet_digest: text("packet_digest"),
            wall_time_s: document["wall_time_s"].as_f64().unwrap_or_default(),
        }
    }
}
