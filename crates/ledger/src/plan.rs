//! The runs that a figure needs.

use crate::figure::{Case, Figure, Size};
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
                let set = [&self.set, &at.set, &scheme.set, &runs.set].into_iter().flatten();
                let set: Vec<String> = set.chain(self.above(&runs.set, at)).cloned().collect();
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

    /// Settings that an ablation changes stand above those of the size for the same key: otherwise it would change nothing.
    fn above<'a>(&'a self, size: &'a [String], case: &'a Case) -> impl Iterator<Item = &'a String> {
        let base = case.ablates.map(|base| &self.cases[base].set);
        let own = case.set.iter().filter(move |set| base.is_some_and(|base| !base.contains(set)));
        own.filter(move |set| size.iter().any(|other| key(other) == key(set)))
    }
}

/// The key of a setting `KEY=VALUE`.
pub(crate) fn key(set: &str) -> &str {
    set.split('=').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_ablation_changes_stands_above_the_size_and_the_rest_below() {
        let text = r#"
            title = "A figure"
            place = "Section 1"
            scenario = "uno/incast-mixed"
            [size]
            smoke = { seeds = "1", cases = ["near"] }
            small = { seeds = "1" }
            full = { seeds = "1", set = ["a=9", "b=9"], cases = ["near", "other"] }
            [[case]]
            name = "near"
            set = ["a=1"]
            [[case]]
            name = "other"
            ablates = "near"
            set = ["a=1", "b=2", "c=3"]
            [[arm]]
            name = "uno"
            [[measure]]
            name = "mean"
            path = "fct.all.mean_us"
        "#;
        let figure = Figure::parse("x/fig1", text, "").unwrap();
        let sets = |size| figure.plan(size).into_iter().map(|run| run.request.set).collect::<Vec<_>>();
        let (near, other) = (["a=1"].as_slice(), ["a=1", "b=2", "c=3"].as_slice());
        assert_eq!(sets(Size::Small), [near, other]);
        assert_eq!(
            sets(Size::Full),
            [[near, &["a=9", "b=9"]].concat(), [other, &["a=9", "b=9", "b=2"]].concat()]
        );
    }
}
