//! A bundle: all that shows a figure, in one archive that someone else can run again.
//!
//! [`BundledRun`]s of a figure -> [`Bundle::new`] -> [`Bundle::write`]; and back, [`Bundle::read`]. A rerun is a bundle too, and
//! [`Bundle::compare`] sets the two side by side.

mod archive;
mod compare;
mod make;
mod manifest;
mod readme;

pub use compare::{BundleCheck, ClaimPair, Difference, RunPair};
pub use make::{BundledRun, LoadError, PackError};
pub use manifest::{Build, Manifest, ManifestRun, Tolerance};

use archive::Files;
use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};
use std::path::Path;

/// The file that says what the bundle is.
const MANIFEST: &str = "manifest.json";
/// The claims and checks of the figure, measured: a [`Record`](crate::Record).
const CLAIMS: &str = "claims.json";
/// The checksums of all other files.
const SUMS: &str = "SHA256SUMS";
/// One table over all runs.
const DATA_SET: &str = "runs.parquet";
/// A run's resolved scenario.
const SCENARIO: &str = "scenario.toml";
/// A run's document.
const SUMMARY: &str = "summary.json";
/// The numbers that the figure's measures compute of a run's samples and flows.
const COMPUTED_FILE: &str = "computed.json";

/// Characters of an archive that a message repeats at most.
const MOST_WORDS: usize = 200;

/// Why a file cannot be read as a bundle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// The system refuses.
    #[error("cannot be read ({0}); give a file that `farspan bundle -o` wrote")]
    Io(#[source] io::Error),
    /// It is something else.
    #[error("no archive of a bundle; give a file that `farspan bundle -o` wrote")]
    Foreign,
    /// It is not whole.
    #[error("damaged: {}; get a new copy", short_line(_0))]
    Damaged(String),
    /// An entry would be written outside of the bundle's folder, or is no plain file.
    #[error(
        "refused: {:?} is no plain file inside of the bundle; get a copy from who made it",
        short_line(_0)
    )]
    Unsafe(String),
    /// It unpacks to more than a bundle may.
    #[error("refused: it unpacks to more than {} MiB; get a copy from who made it", archive::MOST_BYTES >> 20)]
    TooLarge,
    /// Another release made it.
    #[error(
        "has form {format}, and this farspan reads form {}; use farspan {}",
        manifest::FORMAT,
        short_line(version)
    )]
    Form {
        /// The number of its form.
        format: u64,
        /// The release that made it.
        version: String,
    },
}

/// A figure's runs, results and claims as files.
#[derive(Clone, PartialEq, Debug)]
pub struct Bundle {
    manifest: Manifest,
    /// The files by their path in the bundle.
    files: Files,
}

impl Bundle {
    /// Reads an archive into memory, at most 256 MiB of it. What it says is not checked yet: [`Bundle::compare`] does.
    ///
    /// # Errors
    /// If it is no bundle, or not whole.
    pub fn read(from: impl Read) -> Result<Self, BundleError> {
        let unpacked = archive::unpack(from)?;
        // Who packs it anew may give the folder another name, or none.
        let tops = unpacked.keys().filter_map(|path| path.strip_suffix(MANIFEST));
        let top = tops.filter(|top| top.is_empty() || top.ends_with('/')).min_by_key(|top| top.len());
        let top = top.ok_or(BundleError::Foreign)?.to_owned();
        let inside = |(path, bytes): (String, Vec<u8>)| Some((path.strip_prefix(&top)?.to_owned(), bytes));
        let files: Files = unpacked.into_iter().filter_map(inside).collect();
        let text = &files[MANIFEST];
        let damaged = |error: serde_json::Error| BundleError::Damaged(format!("{MANIFEST}: {error}"));
        let document: serde_json::Value = serde_json::from_slice(text).map_err(damaged)?;
        let format = document["format"].as_u64().unwrap_or_default();
        if format != u64::from(manifest::FORMAT) {
            let version = document["farspan_version"].as_str().unwrap_or("of its maker").to_owned();
            return Err(BundleError::Form { format, version });
        }
        let manifest = serde_json::from_value(document).map_err(damaged)?;
        let bundle = Self { manifest, files };
        bundle.demand_whole()?;
        Ok(bundle)
    }

    /// Whether all is there that a rerun and a comparison take.
    fn demand_whole(&self) -> Result<(), BundleError> {
        let own = [SUMS, CLAIMS, DATA_SET].map(str::to_owned);
        let of_runs = self
            .manifest
            .runs
            .iter()
            .flat_map(|run| [SCENARIO, SUMMARY].map(|name| format!("{}/{name}", run.folder)));
        for path in own.into_iter().chain(of_runs) {
            let Some(bytes) = self.files.get(&path) else {
                return Err(BundleError::Damaged(format!("{path} is missing")));
            };
            let is_object = || serde_json::from_slice::<serde_json::Map<_, _>>(bytes).is_ok();
            if path.ends_with(".json") && !is_object() {
                return Err(BundleError::Damaged(format!("{path} is no JSON object")));
            }
        }
        if self.manifest.runs.is_empty() {
            return Err(BundleError::Damaged(format!("{MANIFEST} has no runs")));
        }
        Ok(())
    }

    /// Writes the archive. Equal bundles give equal bytes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, to: impl Write) -> io::Result<()> {
        archive::pack(&self.name(), &self.files, to)
    }

    /// Writes the files into a folder, which is made.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn save(&self, folder: &Path) -> io::Result<()> {
        for (path, bytes) in &self.files {
            let place = folder.join(path);
            place.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::fs::write(place, bytes)?;
        }
        Ok(())
    }

    /// The name of its folder: figure and size.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}-{}", self.manifest.figure.replace('/', "-"), self.manifest.size.name())
    }

    /// Its head: the program, the figure and its runs.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The number of its files.
    #[must_use]
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// The path of a run's scenario in the bundle.
    #[must_use]
    pub fn scenario(run: &ManifestRun) -> String {
        format!("{}/{SCENARIO}", run.folder)
    }

    /// A file as text; empty where there is none.
    fn text(&self, path: &str) -> String {
        self.files.get(path).map_or_else(String::new, |bytes| String::from_utf8_lossy(bytes).into_owned())
    }
}

/// Words of an archive, which may be anything, as a part of a message: on one line, and not longer than some.
fn short_line(words: &str) -> String {
    words.chars().take(MOST_WORDS).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The SHA-256 of bytes, in hex.
fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
