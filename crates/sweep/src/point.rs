//! Points of a sweep.

use farspan_scenario::{Request, Resolved, ScenarioError};
use farspan_units::random;

/// One run to be done.
#[derive(Clone, Debug)]
pub struct Point {
    /// The request that makes it.
    pub request: Request,
    /// Its scenario, every default filled in.
    pub resolved: Resolved,
    /// The values of the axes that make it: columns of the data set.
    pub parameters: Vec<(String, toml::Value)>,
    identity: u64,
}

impl Point {
    /// The point of a request.
    ///
    /// # Errors
    /// If the request is bad input.
    pub fn new(request: Request, parameters: Vec<(String, toml::Value)>) -> Result<Self, ScenarioError> {
        let resolved = request.resolve()?;
        Ok(Self { identity: identity(&resolved), resolved, request, parameters })
    }

    /// The point with another seed.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        let resolved = self.resolved.with_seed(seed);
        let request = Request { seed: Some(seed), ..self.request.clone() };
        Self { identity: identity(&resolved), resolved, request, parameters: self.parameters.clone() }
    }

    /// A hash of its scenario: points of one hash are one run.
    #[must_use]
    pub const fn identity(&self) -> u64 {
        self.identity
    }
}

/// A hash of a scenario, every default, the seed and the digests of its files included.
pub(crate) fn identity(resolved: &Resolved) -> u64 {
    random::entity(&resolved.to_toml())
}
