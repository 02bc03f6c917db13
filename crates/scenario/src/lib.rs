//! The language of scenarios. It reads TOML and returns a scenario in which every key has a value.
//!
//! Stages of a scenario: [`Request`] (a file or a built-in name, with the changes of arguments) -> [`Resolved`] (with constants
//! from `data/profiles.toml`). Every error names the place, the expected value and the cure. `farspan-world` builds and runs
//! a resolved scenario.
//!
//! ```
//! use farspan_scenario::{Problem, Request};
//!
//! let set = |text: &str| Request { set: vec![text.to_owned()], ..Request::new("uno/incast-intra") };
//! let resolved = set("workload.flow_size=64KiB").resolve()?;
//! assert_eq!(resolved.scheme(), "uno");
//! assert!(resolved.to_toml().contains("flow_size = \"64KiB\""));
//!
//! let error = set("topology.kk=4").resolve().unwrap_err();
//! assert!(matches!(*error.problem, Problem::UnknownKey { .. }));
//! # Ok::<(), farspan_scenario::ScenarioError>(())
//! ```
#![forbid(unsafe_code)]

pub mod catalog;
mod document;
mod error;
pub mod limits;
pub mod model;
pub mod names;
mod propagation;
pub mod ranges;
mod reader;
mod request;
mod resolve;
mod scheme_error;
mod schemes;
pub mod table;
mod take_parts;
mod text;
pub mod topology;
pub mod value;

pub use catalog::builtin::{
    BUILT_IN, BUILT_IN_TOPOLOGIES, BuiltIn, BuiltInTopology, STARTER, TOPOLOGY_STARTER,
};
pub use catalog::register::{NamedControl, RegisterError, check_control_name, register};
pub use document::{Document, value_or_text};
pub use error::{Place, Problem, ScenarioError, ValueError};
pub use farspan_workload::input::{LONGEST_SCENARIO, read_file, utf8};
pub use names::UnknownName;
pub use reader::component;
pub use request::Request;
pub use resolve::{Fitting, Resolved, check_naive_proxy, file_digest};
pub use scheme_error::SchemeError;
pub use schemes::control::{congestion, on_nack};
pub use schemes::profile::DATA as PROFILES;
pub use schemes::scheme::{SchemeEntry, available_schemes, built_in_schemes};
pub use take_parts::same_as;
pub use text::schema::{flatten as flatten_schema, schema};
pub use text::seeds::{SeedsError, seeds};

/// Why `text` is not one of the names of a `what`, with the nearest name and what there is.
#[must_use]
pub fn unknown_name(what: &str, text: &str, available: &[&str], planned: &[&str]) -> String {
    names::unknown(what, text, available, planned).to_string()
}
