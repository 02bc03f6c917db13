//! Generates the traffic of a run.
//!
//! Generators ([`poisson`], [`incast`], [`drawn_incasts`], [`permutation`], [`Collective`], [`list::read`]) give the flows of one part of
//! a workload. [`assemble`] merges the parts and numbers the flows. All flows are drawn before the run. They depend only on
//! (seed, part, source host), never on the scheme, the engine or other sources.
//!
//! ```
//! use farspan_units::{Bytes, HostId, Time};
//! use farspan_workload::{Part, Sites, assemble, incast, permutation};
//!
//! let sites = Sites::new(vec![0..8, 8..16])?;
//! let size = Bytes::new(1 << 20);
//! let burst = incast(&sites, HostId(0), &[1, 2, 9].map(HostId), size, Time::ZERO)?;
//! let background = permutation(&sites, size, Time::ZERO, 1, 42)?;
//! let workload = assemble(vec![Part::new("incast", burst), Part::new("background", background)])?;
//! assert_eq!(workload.flows.len(), 3 + 16);
//! assert_eq!(workload.tags, ["incast", "background"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod collective;
mod flow;
mod incasts;
pub mod input;
pub mod list;
mod load;
mod pattern;
mod poisson;
mod sites;
pub mod sizes;
pub mod text;
mod trigger;

pub use collective::{Algorithm, Collective, CollectiveError, Move, Operation};
pub use flow::{AssembleError, Flow, Part, Workload, assemble};
pub use incasts::{DrawnIncasts, IncastArrivals, IncastsError, drawn_incasts, spread};
pub use list::ListError;
pub use load::{Direction, OfferedLoad, offered_load};
pub use pattern::{PatternError, incast, pairs, permutation, site_permutations};
pub use poisson::{
    Arrivals, Expected, Load, LoadReference, LoadUnit, Mix, MixUnit, Poisson, PoissonError, poisson,
};
pub use sites::{Capacity, Sites, SitesError, WanLinks};
pub use sizes::{SizeDistribution, SizesError};
pub use trigger::{Rule, Stuck, Trigger, stuck};
