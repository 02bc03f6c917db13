//! Points of a sweep.

use farspan_scenario::{Request, Resolved, ScenarioError};

/// One run to be done.
#[derive(Clone, Debug)]
pub struct Point {
    /// The request that makes it.
    pub request: Request,
    /// Its scenario, every default filled in.
    pub resolved: Resolved,
    /// The values of the axes that make it: columns of the data set.
    pub parameters: Vec<(String, toml::Value)>,
}

impl Point {
    /// The point of a request.
    ///
    /// # Errors
    /// If the request is bad input.
    pub fn new(request: Request, parameters: Vec<(String, toml::Value)>) -> Result<Self, ScenarioError> {
        Ok(Self { resolved: request.resolve()?, request, parameters })
    }
}
