//! The runs that a figure needs.

use crate::figure::{Figure, Size};
use farspan_scenario::Request;

/// One run of a figure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// Index of the case.
    pub case: usize,
    /// Index of the arm.
    pub arm: usize,
    /// The seed.
    pub seed: u64,
    /// The scenario, and what changes it.
    pub request: Request,
}

impl Figure {
    /// The runs of a size: by case, arm and seed.
    #[must_use]
    pub fn plan(&self, size: Size) -> Vec<Run> {
        let runs = self.runs(size);
        let mut planned = Vec::new();
        for &case in &runs.cases {
            let at = &self.cases[case];
            for &arm in &at.arms {
                let scheme = &self.arms[arm];
                let set = [&self.set, &at.set, &scheme.set, &runs.set];
                let set: Vec<String> = set.into_iter().flatten().cloned().collect();
                for &seed in at.seeds.as_ref().unwrap_or(&runs.seeds) {
                    let request = Request {
                        scheme: Some(scheme.scheme.clone()),
                        profile: Some(scheme.profile.as_ref().unwrap_or(&at.profile).clone()),
                        seed: Some(seed),
                        set: set.clone(),
                        ..Request::new(&at.scenario)
                    };
                    planned.push(Run { case, arm, seed, request });
                }
            }
        }
        planned
    }
}
