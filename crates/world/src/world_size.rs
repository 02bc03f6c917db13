//! The links and flows of a world, counted before it is built.

use crate::assemble::World;
use farspan_scenario::{Resolved, ScenarioError};

/// The links and flows of a scenario, counted without building what they are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Size {
    /// Links, each direction on its own. Of a topology file none are counted: it has been read.
    pub links: u64,
    /// Flows: of random arrivals as many as are expected, of flow lists at most as many as the size of the file allows. None at all
    /// where there are more links than [`Size::MOST`].
    pub flows: u64,
}

impl Size {
    /// The most links, and twice the flows, of a world that is built to be looked at: it takes less than a gibibyte and five seconds.
    /// A fat tree of 64 ports with a flow from each host is the largest of its kind.
    pub const MOST: u64 = 1 << 19;

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
        self.links.saturating_add(self.flows.saturating_mul(2)) <= Self::MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_scenario::Request;

    fn size(text: &str) -> Size {
        let request = Request { text: Some(text.to_owned()), ..Request::new("size") };
        Size::of(&request.resolve().unwrap()).unwrap()
    }

    #[test]
    fn links_and_flows_are_counted_without_being_built() {
        let tree = "[topology]\nkind = 'fat_tree'\nk = 8\n[[workload]]\n";
        let of = |workload: &str| {
            let Size { links, flows } = size(&format!("{tree}{workload}"));
            (links, flows)
        };
        assert_eq!(of("kind = 'permutation'\nflow_size = '1KiB'"), (768, 128));
        assert_eq!(
            of("kind = 'all_to_all'\nranks = [0, 1, 2]\nflow_size = '1KiB'\niterations = 5"),
            (768, 30)
        );
        assert_eq!(
            of("kind = 'poisson'\nsizes = 'websearch'\nload = 0.5\nflows = 20000000"),
            (768, 20_000_000)
        );
    }

    #[test]
    fn a_fat_tree_of_64_ports_is_small_and_a_star_of_a_million_hosts_is_not() {
        let flows = "[[workload]]\nkind = 'permutation'\nflow_size = '1KiB'\n";
        assert!(size(&format!("[topology]\nkind = 'fat_tree'\nk = 64\n{flows}")).is_small());
        let star = size(&format!("[topology]\nkind = 'star'\nhosts = 1048576\n{flows}"));
        assert_eq!((star.links, star.flows, star.is_small()), (2_097_152, 0, false));
    }
}
