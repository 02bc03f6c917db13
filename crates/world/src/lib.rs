//! Builds and runs a resolved scenario, and writes its results.
//!
//! Stages: `Resolved` -> [`World`] (the simulator's input) -> [`run`] -> [`Results`] (a document and tables; [`Results::save`]
//! writes them). [`Size`] gives the size of a world before it is built. [`Estimate`] and [`Cost`] estimate what a run takes.
//!
//! ```
//! use farspan_scenario::Request;
//! use farspan_world::{EngineKind, World, run};
//!
//! let set = vec!["workload.flow_size=64KiB".to_owned()];
//! let resolved = Request { set, ..Request::new("uno/incast-intra") }.resolve()?;
//! let world = World::build(&resolved)?;
//! let results = run(&resolved, &world, EngineKind::Windowed, &mut |_progress| true);
//! assert_eq!(results.summary.flows.finished, results.summary.flows.started);
//! # Ok::<(), farspan_scenario::ScenarioError>(())
//! ```
//!
//! [`runner`] runs many jobs side by side, each into its own folder:
//!
//! ```
//! use farspan_scenario::Request;
//! use farspan_world::runner::{Job, Watch, run_all};
//! use farspan_world::{EngineKind, Progress};
//!
//! struct Quiet;
//! impl Watch for Quiet {
//!     fn update(&self, _run: usize, _progress: &Progress) -> bool {
//!         true
//!     }
//! }
//!
//! let set = vec!["workload.flow_size=64KiB".to_owned()];
//! let resolved = Request { set, ..Request::new("uno/incast-intra") }.resolve()?;
//! let jobs = Job::new(resolved, None).with_seeds(1..=2);
//! let finished = run_all(&jobs, EngineKind::Windowed, &Quiet, |results| results.summary.flows.finished)?;
//! assert_eq!(finished.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod assemble;
pub mod bug;
pub mod clock;
mod memory;
mod results;
pub mod runner;
mod static_estimate;
mod trial;
mod world_size;

pub use assemble::{CollectivePlan, PathFacts, SitePair, World, scheme_name};
pub use farspan_sim::{EngineKind, Progress};
pub use results::{FolderError, PlannedRun, ResultFolder, Results, SaveError, Traces, run, write};
pub use static_estimate::Estimate;
pub use trial::Cost;
pub use world_size::Size;

/// The commit that this program was built from, `unknown` outside of a checkout.
pub const COMMIT: &str = match option_env!("FARSPAN_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};
