//! The order of charts on a page: the question that a scenario asks decides it, and the kind of its workload says which it asks.

use farspan_metrics::Measure;
use serde_json::{Value, json};
use toml::Table;

/// The kinds of workloads that are collectives.
const COLLECTIVES: [&str; 4] = ["allreduce", "reduce_scatter", "all_gather", "all_to_all"];

/// The question of a workload. Of several parts the first in this order decides: beside a collective or an incast, arrivals are
/// its background.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Question {
    /// A collective: how long an iteration takes.
    Collective,
    /// An incast: when its last flow ends, and how evenly the link is shared.
    Incast,
    /// Poisson arrivals: how long flows of each size take.
    Load,
    /// Any other flows, a permutation as a rule: how long they take.
    Flows,
}

impl Question {
    /// The question of a resolved scenario.
    pub(crate) fn of(scenario: &Table) -> Self {
        let parts = scenario.get("workload").and_then(toml::Value::as_array).into_iter().flatten();
        let kinds: Vec<&str> = parts.filter_map(|part| part.get("kind")?.as_str()).collect();
        if kinds.iter().any(|kind| COLLECTIVES.contains(kind)) {
            Self::Collective
        } else if kinds.contains(&"incast") {
            Self::Incast
        } else if kinds.contains(&"poisson") {
            Self::Load
        } else {
            Self::Flows
        }
    }

    /// The part of a page that holds it: the question in words, its charts in order, and which of the measures each chart of numbers
    /// draws.
    pub(crate) fn page(self, measures: &[Measure]) -> Value {
        let (text, charts) = match self {
            Self::Collective => (
                "How long does an iteration take, compared with an ideal network?",
                ["numbers", "fairness", "cdf", "ccdf", "slowdown"],
            ),
            Self::Incast => (
                "When does the last flow end, and how evenly do the flows share the link?",
                ["numbers", "fairness", "cdf", "ccdf", "slowdown"],
            ),
            Self::Load => (
                "How much longer do flows of each size take than in an empty network?",
                ["slowdown", "numbers", "cdf", "ccdf", "fairness"],
            ),
            Self::Flows => {
                ("How long do the flows take?", ["cdf", "numbers", "ccdf", "slowdown", "fairness"])
            }
        };
        let numbers = self.numbers(measures);
        let fairness = places(measures, |path| path.starts_with("/fairness/jain"));
        json!({ "text": text, "charts": charts, "numbers": numbers, "fairness": fairness })
    }

    /// The places of the measures that its chart of numbers has: the first of its choices that there is.
    fn numbers(self, measures: &[Measure]) -> Vec<usize> {
        let fct = |ends: &'static [&'static str]| {
            places(measures, move |path| {
                path.starts_with("/fct/") && ends.iter().any(|end| path.ends_with(end))
            })
        };
        let ratios =
            || places(measures, |path| path.starts_with("/collectives/") && path.ends_with("/ratio"));
        let choices = match self {
            Self::Collective => [ratios(), fct(&["/max_us"])],
            Self::Incast | Self::Flows => [fct(&["/mean_us", "/max_us"]), Vec::new()],
            Self::Load => [fct(&["/p99_us"]), fct(&["/mean_us"])],
        };
        choices.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
    }
}

fn places(measures: &[Measure], fits: impl Fn(&str) -> bool) -> Vec<usize> {
    measures.iter().enumerate().filter(|(_, measure)| fits(&measure.path)).map(|(i, _)| i).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_metrics::measures;

    fn of(kinds: &[&str]) -> Question {
        let parts: Vec<String> =
            kinds.iter().map(|kind| format!("[[workload]]\nkind = '{kind}'\n")).collect();
        Question::of(&parts.concat().parse().unwrap())
    }

    #[test]
    fn each_kind_of_workload_has_its_question() {
        for kind in COLLECTIVES {
            assert_eq!(of(&[kind]), Question::Collective, "{kind}");
        }
        assert_eq!([of(&["incast"]), of(&["poisson"])], [Question::Incast, Question::Load]);
        assert_eq!([of(&["permutation"]), of(&["pairs"]), of(&["flows"]), of(&[])], [Question::Flows; 4]);
    }

    #[test]
    fn arrivals_beside_something_else_are_its_background() {
        assert_eq!(of(&["poisson", "incast"]), Question::Incast);
        assert_eq!(of(&["poisson", "incast", "allreduce"]), Question::Collective);
        assert_eq!(of(&["permutation", "poisson"]), Question::Load);
    }

    #[test]
    fn the_first_chart_answers_it() {
        let document = json!({
            "fct": {
                "all": null, "intra": { "mean_us": 1, "max_us": 2, "p99_us": 3 }, "inter": { "mean_us": 1, "max_us": 2 },
            },
            "fairness": { "jain_mean": 0.5, "jain_p5_late": 0.1, "converged_at_us": 7 },
            "collectives": [{ "tag": "a", "mean_us": 9, "ratio": 2 }],
        });
        let measures = measures(&[&document]);
        let first = |question: Question, chart: &str| {
            let page = question.page(&measures);
            let names = page[chart].as_array().unwrap().iter();
            let names = names.map(|place| measures[place.as_u64().unwrap() as usize].name.clone());
            (page["charts"][0].as_str().unwrap().to_owned(), names.collect::<Vec<_>>().join(", "))
        };
        let numbers = |question| first(question, "numbers");
        let is = |chart: &str, numbers: &str| (chart.to_owned(), numbers.to_owned());
        assert_eq!(numbers(Question::Collective), is("numbers", "a, over ideal"));
        assert_eq!(
            numbers(Question::Incast),
            is("numbers", "intra mean FCT, intra max FCT, inter mean FCT, inter max FCT")
        );
        assert_eq!(first(Question::Incast, "fairness").1, "Jain mean, Jain late 5%");
        assert_eq!(numbers(Question::Load), is("slowdown", "intra p99 FCT"));
        assert_eq!(numbers(Question::Flows).0, "cdf");
    }

    #[test]
    fn without_the_number_that_it_asks_for_there_is_another() {
        let document = json!({ "fct": { "all": { "mean_us": 1, "max_us": 2 } } });
        let measures = measures(&[&document]);
        let names = |question: Question| -> Vec<String> {
            question.numbers(&measures).into_iter().map(|place| measures[place].name.clone()).collect()
        };
        assert_eq!(names(Question::Load), ["all mean FCT"]);
        assert_eq!(names(Question::Collective), ["all max FCT"]);
    }
}
