//! How large a world will be, before it is built.

use crate::assemble::World;
use farspan_scenario::{Resolved, ScenarioError};

/// The links and flows of a scenario, counted without building what they are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Size {
    /// Links, each direction on its own. Of a topology file none are counted: it has been read.
    pub links: u64,
    /// Flows, of random arrivals as many as are expected. Of flow lists none are counted. None at all where there are more
    /// links than [`Size::MOST`].
    pub flows: u64,
}

impl Size {
    /// The most links and flows together of a world that is built to be looked at: each takes less than a kilobyte and five
    /// microseconds.
    pub const MOST: u64 = 1 << 20;

    /// Counts.
    ///
    /// # Errors
    /// As [`World::build`], as far as it gets.
    pub fn of(resolved: &Resolved) -> Result<Self, ScenarioError> {
        let links = World::links(resolved);
        if links > Self::MOST {
            return Ok(Self { links, flows: 0 });
        }
        Ok(Self { links, flows: World::flows(resolved)? })
    }

    /// Whether such a world is built in seconds and in less than a gibibyte.
    #[must_use]
    pub const fn is_small(self) -> bool {
        self.links.saturating_add(self.flows) <= Self::MOST
    }
}
