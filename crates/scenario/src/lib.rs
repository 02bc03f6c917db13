//! Typed scenarios: TOML in, a built world, a run, results out.
//!
//! Stages of a scenario: [`Request`] (a file or a built-in name, and what arguments change) -> [`Resolved`] (every key
//! that applies has a value; the constants come from `data/profiles.toml`) -> [`World`] (what the simulator runs) ->
//! results. Every error names the place, what was expected, and the cure.
//!
//! ```
//! use farspan_scenario::{EngineKind, Problem, Request, World, run};
//!
//! let set = |text: &str| Request { set: vec![text.to_owned()], ..Request::new("uno/incast-intra") };
//! let resolved = set("workload.flow_size=64KiB").resolve()?;
//! let world = World::build(&resolved)?;
//! let results = run(&resolved, &world, EngineKind::Windowed, &mut |_progress| true);
//! assert_eq!(results.summary.flows.finished, results.summary.flows.started);
//!
//! let error = set("topology.kk=4").resolve().unwrap_err();
//! assert!(matches!(*error.problem, Problem::UnknownKey { .. }));
//! # Ok::<(), farspan_scenario::ScenarioError>(())
//! ```
#![forbid(unsafe_code)]

mod build;
pub mod catalog;
mod error;
mod estimate;
pub mod limits;
mod memory;
pub mod model;
pub mod names;
pub mod reference;
mod request;
mod resolve;
mod results;
mod table;
mod text;
pub mod topology;
pub mod value;

pub use build::{CollectivePlan, PathFacts, SitePair, World, scheme_name};
pub use catalog::builtin::{
    BUILT_IN, BUILT_IN_TOPOLOGIES, BuiltIn, BuiltInTopology, STARTER, TOPOLOGY_STARTER,
};
pub use catalog::control::{NamedControl, RegisterError, check_control_name, register};
pub use catalog::scheme::{SchemeEntry, SchemeError, available_schemes, built_in_schemes};
pub use error::{Place, Problem, ScenarioError};
pub use estimate::Estimate;
pub use farspan_sim::{EngineKind, Progress};
pub use farspan_workload::input::{LONGEST_SCENARIO, read_file};
pub use names::UnknownName;
pub use request::Request;
pub use resolve::{Resolved, file_digest};
pub use results::{FolderError, PlannedRun, ResultFolder, Results, SaveError, Traces, run, write};
pub use text::document::Document;
pub use text::schema::schema;
pub use text::seeds::{SeedsError, seeds};

/// Why `text` is not one of the names of a `what`, with the nearest name and what there is.
#[must_use]
pub fn unknown_name(what: &str, text: &str, available: &[&str], planned: &[&str]) -> String {
    names::unknown(what, text, available, planned).to_string()
}
