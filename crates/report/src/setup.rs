//! The parts of schemes beside their congestion controls: which they are, in which of them arms differ, and whether their
//! mechanisms have acted.

use crate::group::{Arm, Group};
use crate::run::Run;
use farspan_metrics::{Acted, Setup, SetupComparison, first_round_trip};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Sums over the runs of an arm that were not interrupted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Sums {
    /// How often its mechanisms have acted.
    pub acted: Acted,
    /// Data packets that were dropped.
    pub dropped: u64,
    /// Those among them that were of the first round trip of their flow; `None`: not known.
    pub dropped_first_rtt: Option<u64>,
}

impl Sums {
    pub(crate) fn of(arm: &Arm) -> Self {
        let of_run = |run: &Run| {
            let count = |path: &str| run.summary.pointer(path).and_then(serde_json::Value::as_u64);
            Self {
                acted: typed(run, "acted").unwrap_or_default(),
                dropped: count("/packets/dropped").unwrap_or(0),
                dropped_first_rtt: count("/packets/dropped_first_rtt"),
            }
        };
        let add = |a: Self, b: Self| Self {
            acted: a.acted.and(b.acted),
            dropped: a.dropped + b.dropped,
            dropped_first_rtt: a.dropped_first_rtt.zip(b.dropped_first_rtt).map(|(a, b)| a + b),
        };
        arm.complete().map(of_run).reduce(add).unwrap_or_default()
    }

    /// The mechanisms that have acted, and which share of the drops fell into the first round trip.
    #[must_use]
    pub fn line(&self) -> String {
        let drops = first_round_trip(self.dropped, self.dropped_first_rtt);
        let words = [Some(self.acted.line()).filter(|line| !line.is_empty()), drops];
        words.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

fn typed<T: DeserializeOwned>(run: &Run, key: &str) -> Option<T> {
    serde_json::from_value(run.summary.get(key)?.clone()).ok()
}

/// The setup of an arm; results of an older version have none.
pub(crate) fn setup(arm: &Arm) -> Option<Setup> {
    typed(&arm.runs[0], "setup")
}

/// The parts that the arms of a group have in common, and those in which they differ; `None` where an arm does not say what it is.
pub(crate) fn setups(group: &Group) -> Option<SetupComparison> {
    let setups: Option<Vec<Setup>> = group.arms.iter().map(setup).collect();
    let setups = setups?;
    let named: Vec<_> = group.arms.iter().map(|arm| arm.name.as_str()).zip(&setups).collect();
    Some(SetupComparison::of(&named))
}

#[cfg(test)]
mod tests {
    use crate::compare::compare_group;
    use crate::group::groups;
    use crate::group::testing::run;
    use crate::run::Run;
    use serde_json::json;

    fn of(scheme: &str, recovery: &str, seed: u64) -> Run {
        let mut run = run(scheme, seed, "a", false, "");
        run.scenario.remove("name");
        let class = json!({
            "congestion": scheme, "first_window": "bdp", "recovery": recovery, "balance": "ecmp", "coding": "none",
            "lossless": false,
        });
        run.summary["setup"] = json!({"intra": class, "inter": null});
        run.summary["acted"] = json!({"marks": 0, "timeouts": seed});
        run.summary["packets"] = json!({"dropped": 4, "dropped_first_rtt": 3});
        run
    }

    fn head(runs: Vec<Run>) -> Vec<String> {
        compare_group(&groups(runs)[0], false).unwrap().head()
    }

    #[test]
    fn the_head_says_what_differs_and_what_has_acted() {
        let runs = vec![of("uno", "rack (rto path)", 1), of("hpcc", "per_packet_rto (rto path)", 1)];
        assert_eq!(
            head(runs),
            [
                "all schemes use: first window bdp; balance ecmp; coding none; lossless no",
                "the schemes differ in: recovery (uno: rack; hpcc: per_packet_rto)",
                "acted, uno: 0 marks, 1 time-outs; 75.0% of 4 drops in the first round trip",
                "acted, hpcc: 0 marks, 1 time-outs; 75.0% of 4 drops in the first round trip",
            ]
        );
    }

    #[test]
    fn a_lone_arm_says_what_it_is() {
        assert_eq!(
            head(vec![of("uno", "rack (rto path)", 1), of("uno", "rack (rto path)", 2)]),
            [
                "first window bdp; recovery rack; balance ecmp; coding none; lossless no",
                "acted (all seeds together): 0 marks, 3 time-outs; 75.0% of 8 drops in the first round trip",
            ]
        );
    }

    #[test]
    fn results_of_an_older_version_say_nothing_of_it() {
        let mut old = of("uno", "rack", 1);
        for key in ["setup", "acted", "packets"] {
            old.summary.as_object_mut().unwrap().remove(key);
        }
        assert!(head(vec![old]).is_empty());
    }
}
