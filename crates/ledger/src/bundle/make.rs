//! The files of a bundle, made from the runs of a figure.

use super::manifest::FORMAT;
use super::{
    Build, Bundle, CLAIMS, COMPUTED_FILE, DATA_SET, MANIFEST, Manifest, ManifestRun, SCENARIO, SUMMARY, SUMS,
    Tolerance, archive, readme, sha256,
};
use crate::figure::{COMPUTED, Figure, Size};
use crate::pages::{Texts, pages};
use crate::plan::Run;
use crate::record::{Ledger, Record};
use farspan_metrics::ReadError;
use farspan_scenario::Request;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A run of a bundle: the texts that it left. They are kept as they are, so that no number changes on the way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BundledRun {
    /// The case of the figure.
    pub case: String,
    /// The arm of the figure.
    pub arm: String,
    /// The seed.
    pub seed: u64,
    /// The resolved scenario, in TOML.
    pub scenario: String,
    /// The document, in JSON.
    pub summary: String,
    /// The numbers that the figure's measures compute of its samples and flows, in JSON; empty where there are none.
    pub computed: String,
}

/// Why the results of a run cannot be taken into a bundle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A file cannot be read.
    #[error("{}: cannot be read ({source}); run it again, without --resume", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The document is damaged.
    #[error("{}: no document of a run ({source}); run it again, without --resume", path.display())]
    Document {
        /// The file.
        path: PathBuf,
        /// The error of the reader.
        source: serde_json::Error,
    },
    /// A table is damaged.
    #[error(transparent)]
    Table(#[from] ReadError),
}

/// Why runs make no bundle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// The figure has no such case or arm.
    #[error("{figure} has no case {case:?} with an arm {arm:?} here; use the farspan that made the bundle")]
    Setup {
        /// The figure.
        figure: String,
        /// The case.
        case: String,
        /// The arm.
        arm: String,
    },
    /// A text of a run is no JSON.
    #[error("{run}: no document of a run ({source}); run it again")]
    Document {
        /// The folder of the run in the bundle.
        run: String,
        /// The error of the reader.
        source: serde_json::Error,
    },
    /// The files are more than a bundle may have.
    #[error("{0} MiB of files: a bundle holds up to {most} MiB; choose a smaller --size", most = archive::MOST_BYTES >> 20)]
    TooLarge(u64),
}

impl BundledRun {
    /// The run of a figure whose results are in a folder.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn load(figure: &Figure, case: &str, arm: &str, seed: u64, folder: &Path) -> Result<Self, LoadError> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).map_err(|source| LoadError::Io { path, source })
        };
        let (scenario, summary) = (read(SCENARIO)?, read(SUMMARY)?);
        let mut document: Value = serde_json::from_str(&summary)
            .map_err(|source| LoadError::Document { path: folder.join(SUMMARY), source })?;
        figure.complete(&mut document, folder)?;
        let computed = document.get(COMPUTED).map_or_else(String::new, json);
        Ok(Self { case: case.to_owned(), arm: arm.to_owned(), seed, scenario, summary, computed })
    }

    /// The folder of its files in the bundle.
    #[must_use]
    pub fn folder(&self) -> String {
        format!("runs/{}/{}/s{}", self.case, self.arm, self.seed)
    }

    /// Its document with what was computed, as claims read it.
    ///
    /// # Errors
    /// If one of them is no JSON.
    pub fn document(&self) -> Result<Value, PackError> {
        let parse = |text: &str| {
            serde_json::from_str(text).map_err(|source| PackError::Document { run: self.folder(), source })
        };
        let mut document: Value = parse(&self.summary)?;
        if !self.computed.is_empty() {
            document[COMPUTED] = parse(&self.computed)?;
        }
        Ok(document)
    }

    /// The run of the figure that it is.
    fn planned(&self, figure: &Figure) -> Result<Run, PackError> {
        let case = figure.cases.iter().position(|case| case.name == self.case);
        let arm = figure.arms.iter().position(|arm| arm.name == self.arm);
        let (Some(case), Some(arm)) = (case, arm) else {
            let (case, arm) = (self.case.clone(), self.arm.clone());
            return Err(PackError::Setup { figure: figure.name.clone(), case, arm });
        };
        Ok(Run { case, arm, seed: self.seed, request: Request::default() })
    }
}

/// A document as a file.
pub(super) fn json(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("a document has a JSON form") + "\n"
}

impl Bundle {
    /// The bundle of a figure's runs at a size. `data_set` is their table, as Parquet.
    ///
    /// # Errors
    /// If a run is none of the figure, or its texts are damaged.
    pub fn new(
        figure: &Figure,
        size: Size,
        build: &Build,
        runs: &[BundledRun],
        data_set: Vec<u8>,
    ) -> Result<Self, PackError> {
        let planned = runs.iter().map(|run| run.planned(figure)).collect::<Result<Vec<_>, _>>()?;
        let documents = runs.iter().map(BundledRun::document).collect::<Result<Vec<_>, _>>()?;
        let record = figure.evaluate(size, &planned.iter().zip(&documents).collect::<Vec<_>>());
        let entry = |(run, document): (&BundledRun, &Value)| {
            ManifestRun::new(run.folder(), &run.case, &run.arm, run.seed, document)
        };
        let entries: Vec<ManifestRun> = runs.iter().zip(&documents).map(entry).collect();
        let manifest = Manifest {
            format: FORMAT,
            figure: figure.name.clone(),
            title: figure.title.clone(),
            place: figure.place.clone(),
            size,
            build: build.clone(),
            run_time_s: entries.iter().map(|run| run.wall_time_s).sum(),
            tolerance: Tolerance::default(),
            runs: entries,
        };
        let mut bundle = Self { manifest, files: archive::Files::new() };
        for run in runs {
            bundle.add(&format!("{}/{SCENARIO}", run.folder()), &run.scenario);
            bundle.add(&format!("{}/{SUMMARY}", run.folder()), &run.summary);
            if !run.computed.is_empty() {
                bundle.add(&format!("{}/{COMPUTED_FILE}", run.folder()), &run.computed);
            }
        }
        bundle.files.insert(DATA_SET.to_owned(), data_set);
        bundle.add_pages(figure, &record);
        bundle.add(CLAIMS, &json(&record));
        bundle.add(MANIFEST, &json(&bundle.manifest));
        bundle.add("README.md", &readme::text(&bundle, &record));
        bundle.add(SUMS, &bundle.sums());
        let bytes: u64 = bundle.files.values().map(|bytes| bytes.len() as u64 + archive::MOST_OVERHEAD).sum();
        if bytes > archive::MOST_BYTES {
            return Err(PackError::TooLarge(bytes >> 20));
        }
        Ok(bundle)
    }

    fn add(&mut self, path: &str, text: &str) {
        self.files.insert(path.to_owned(), text.as_bytes().to_vec());
    }

    /// The figure's page and plot, as the book has them.
    fn add_pages(&mut self, figure: &Figure, record: &Record) {
        let ledger = Ledger { figures: vec![record.clone()] };
        for (path, text) in pages(std::slice::from_ref(figure), &[], &ledger, &Texts::default()) {
            if let Some(name) = path.strip_prefix("docs/src/figures/") {
                self.add(name, &text);
            }
        }
    }

    /// The checksums of all files, as `sha256sum -c` reads them.
    fn sums(&self) -> String {
        let mut text = String::new();
        for (path, bytes) in &self.files {
            writeln!(text, "{}  {path}", sha256(bytes)).expect("text can be written to");
        }
        text
    }

    /// Its runs, as they went in.
    #[must_use]
    pub fn runs(&self) -> Vec<BundledRun> {
        let run = |run: &ManifestRun| BundledRun {
            case: run.case.clone(),
            arm: run.arm.clone(),
            seed: run.seed,
            scenario: self.text(&format!("{}/{SCENARIO}", run.folder)),
            summary: self.text(&format!("{}/{SUMMARY}", run.folder)),
            computed: self.text(&format!("{}/{COMPUTED_FILE}", run.folder)),
        };
        self.manifest.runs.iter().map(run).collect()
    }

    /// The claims and checks as it states them.
    ///
    /// # Errors
    /// If the file is no record that this build knows.
    pub fn record(&self) -> Result<Record, serde_json::Error> {
        serde_json::from_slice(&self.files[CLAIMS])
    }
}
