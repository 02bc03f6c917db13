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
                let set = set.filter(|set| !self.changes(at, set)).chain(self.changed(at));
                let set: Vec<String> = set.cloned().collect();
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

    /// Settings that an ablation changes stand last, above those of arms and of the size: otherwise it might change nothing.
    fn changed<'a>(&'a self, case: &'a Case) -> impl Iterator<Item = &'a String> {
        case.set.iter().filter(|set| self.changes(case, set))
    }

    /// Whether a setting is one that an ablation changes.
    fn changes(&self, case: &Case, set: &String) -> bool {
        let base = case.ablates.map(|base| &self.cases[base].set);
        base.is_some_and(|base| case.set.contains(set) && !base.contains(set))
    }
}

/// The key of a setting `KEY=VALUE`.
pub(crate) fn key(set: &str) -> &str {
    set.split('=').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_ablation_changes_stands_above_arm_and_size_and_the_rest_below() {
        let text = r#"
            title = "A figure"
            place = "Section 1"
            scenario = "uno/incast-mixed"
            [size]
            smoke = { seeds = "1", cases = ["near"] }
            small = { seeds = "1" }
            full = { seeds = "1", set = ["a=9", "b=9"], cases = ["near", "other", "again"] }
            [[case]]
            name = "near"
            set = ["a=1"]
            [[case]]
            name = "other"
            ablates = "near"
            set = ["a=1", "b=2", "c=3"]
            [[case]]
            name = "again"
            ablates = "near"
            set = ["a=2"]
            [[arm]]
            name = "uno"
            set = ["a=7", "b=7"]
            [[measure]]
            name = "mean"
            path = "fct.all.mean_us"
        "#;
        let figure = Figure::parse("x/fig1", text, "").unwrap();
        let sets = |size| figure.plan(size).into_iter().map(|run| run.request.set).collect::<Vec<_>>();
        let arm = ["a=7", "b=7"].as_slice();
        let size = ["a=9", "b=9"].as_slice();
        let near = ["a=1"].as_slice();
        assert_eq!(
            sets(Size::Small),
            [[near, arm].concat(), [near, arm, &["b=2", "c=3"]].concat(), [arm, &["a=2"]].concat()]
        );
        assert_eq!(
            sets(Size::Full),
            [
                [near, arm, size].concat(),
                [near, arm, size, &["b=2", "c=3"]].concat(),
                [arm, size, &["a=2"]].concat()
            ]
        );
    }
}
