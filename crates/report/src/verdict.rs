//! Which arm is best by a number, judged seed by seed: its lead over every other must be more than chance.

use crate::group::Arm;
use crate::notes::Note;
use crate::run::Run;
use crate::seeds::SEEDS_FOR_AN_INTERVAL;
use farspan_metrics::{Better, Bootstraps, Measure, PairedRatios, bottleneck};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The verdict of one number on the arms that ended all their flows.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The number's name.
    pub measure: String,
    /// Its place in a run's document (a JSON pointer).
    pub path: String,
    /// The best arm, if its paired ratio over every other excludes 1.
    pub best: Option<String>,
    /// Its ratio over the arm that comes nearest.
    pub over: Option<Lead>,
    /// Without a best arm: those that cannot be told from the one with the best median. Empty where there are fewer than
    /// two arms to judge, or too few seeds for an interval.
    pub no_difference: Vec<String>,
    /// Whether these are all arms that were judged.
    #[serde(skip)]
    pub all_even: bool,
}

/// A paired ratio of the best arm over another.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Lead {
    /// The other arm.
    pub name: String,
    /// Median of the ratios seed by seed; `None` stands for infinite.
    pub median: Option<f64>,
    /// Lower end of its 95% interval.
    pub ci_low: Option<f64>,
    /// Upper end of its 95% interval.
    pub ci_high: Option<f64>,
}

/// The verdict of each measure. An arm with unfinished flows is no candidate: it did not do the work that the others did.
pub(crate) fn verdicts(arms: &[Arm], measures: &[Measure]) -> Vec<Verdict> {
    let ended = |arm: &&Arm| arm.complete().next().is_some() && arm.unended().0 == 0;
    let mut candidates: Vec<&Arm> = arms.iter().filter(ended).collect();
    // A verdict is the same in whatever order the runs were given.
    candidates.sort_by(|a, b| a.name.cmp(&b.name));
    let mut bootstraps = Bootstraps::default();
    measures.iter().map(|measure| verdict(&candidates, measure, &mut bootstraps)).collect()
}

/// The place of the number of time-outs.
const TIMEOUTS: &str = "/recovery/timeouts";

/// Whether a time-out is the same of all arms, as far as they have flows: one of a packet, or one of a flow's timer.
fn have_like_timeouts(arms: &[&Arm]) -> bool {
    ["intra", "inter"].iter().all(|class| {
        let of_packets = |run: &Run| {
            let has_flows = run.summary.pointer(&format!("/fct/{class}")).is_some_and(Value::is_object);
            let name = run.scenario.get("scheme")?.get(class)?.get("recovery")?.get("name")?.as_str()?;
            has_flows.then_some(name == "per_packet_rto")
        };
        let mut counted = arms.iter().flat_map(|arm| &arm.runs).filter_map(of_packets);
        let first = counted.next();
        counted.all(|other| Some(other) == first)
    })
}

/// A note where time-outs of some arms are not those of others.
pub(crate) fn timeouts_note(arms: &[Arm]) -> Option<Note> {
    let text = "time-outs: per_packet_rto counts one per packet, other recovery one per flow timer, so no scheme is best";
    (!have_like_timeouts(&arms.iter().collect::<Vec<_>>()))
        .then(|| Note { text: text.to_owned(), about: Some(|measure| measure.path == TIMEOUTS) })
}

/// Whether the bottleneck is one port in all arms, at each seed.
fn have_one_bottleneck(arms: &[&Arm]) -> bool {
    let mut ports = BTreeMap::new();
    let mut runs = arms.iter().flat_map(|arm| arm.complete());
    runs.all(|run| {
        let port = bottleneck(&run.summary);
        *ports.entry(run.seed()).or_insert(port) == port
    })
}

/// A note where the numbers of the bottleneck are of different ports.
pub(crate) fn bottleneck_note(arms: &[Arm]) -> Option<Note> {
    let text = "bottleneck: the port differs between schemes, so there is no ratio and no best";
    (!have_one_bottleneck(&arms.iter().collect::<Vec<_>>())).then(|| of_bottleneck(text.to_owned()))
}

/// A note on numbers of the bottleneck.
pub(crate) fn of_bottleneck(text: String) -> Note {
    Note { text, about: Some(Measure::is_of_bottleneck) }
}

type Numbers = Vec<(u64, Option<f64>)>;

fn verdict(candidates: &[&Arm], measure: &Measure, bootstraps: &mut Bootstraps) -> Verdict {
    // Over the seeds that all have: one run less of one arm takes nothing from what the others show.
    let in_all = |seed: u64| candidates.iter().all(|arm| arm.complete().any(|run| run.seed() == seed));
    let numbers = |arm: &Arm| -> Numbers {
        let runs = arm.complete().filter(|run| in_all(run.seed()));
        runs.map(|run| (run.seed(), run.number(&measure.path))).collect()
    };
    // A number that a run lacks was not measured, but for this one: such a run never converged.
    let may_never_come = measure.path == "/fairness/converged_at_us";
    let measured = |value: &Option<f64>| may_never_come || value.is_some();
    let named = candidates.iter().map(|arm| (arm.name.as_str(), numbers(arm)));
    let named = named.filter(|(_, of)| of.iter().any(|(_, value)| measured(value)));
    let (names, of): (Vec<&str>, Vec<Numbers>) = named.unzip();
    let is_whole = |arm: &usize| of[*arm].iter().all(|(_, value)| measured(value));
    let mut verdict = Verdict {
        measure: measure.name.clone(),
        path: measure.path.clone(),
        best: None,
        over: None,
        no_difference: Vec::new(),
        all_even: false,
    };
    if measure.path == TIMEOUTS && !have_like_timeouts(candidates) {
        return verdict;
    }
    if measure.is_of_bottleneck() && !have_one_bottleneck(candidates) {
        return verdict;
    }
    let more = match measure.better {
        Better::More => true,
        Better::Less => false,
        Better::Neither => return verdict,
    };
    let rank = |numbers: &Numbers| if more { -middle(numbers) } else { middle(numbers) };
    // What lacks the number of a seed is not best, but has to be beaten in the others.
    let first = (0..of.len()).filter(is_whole).min_by(|a, b| rank(&of[*a]).total_cmp(&rank(&of[*b])));
    let Some(first) = first.filter(|_| of.len() > 1) else { return verdict };
    let others = (0..of.len()).filter(|other| *other != first);
    let mut paired = |other: usize| {
        let behind: Numbers = of[other].iter().copied().filter(|(_, value)| measured(value)).collect();
        let in_both = |(seed, _): &(u64, Option<f64>)| behind.iter().any(|(other, _)| other == seed);
        let leading: Numbers = of[first].iter().copied().filter(in_both).collect();
        (other, bootstraps.paired_ratios(&leading, &behind))
    };
    let ratios: Vec<(usize, PairedRatios)> = others.map(&mut paired).collect();
    let seeds = |ratios: &PairedRatios| ratios.ratios.len() + ratios.missing as usize;
    if ratios.iter().any(|(_, ratios)| seeds(ratios) < SEEDS_FOR_AN_INTERVAL) {
        return verdict;
    }
    let even = ratios.iter().filter(|(_, ratios)| !ahead(ratios, more)).map(|(other, _)| *other);
    let even: Vec<usize> = even.collect();
    if !even.is_empty() {
        verdict.all_even = even.len() + 1 == of.len();
        let leading = (0..of.len()).filter(|arm| *arm == first || even.contains(arm));
        verdict.no_difference = leading.map(|arm| names[arm].to_owned()).collect();
        return verdict;
    }
    let lead = |ratios: &PairedRatios| ratios.median.unwrap_or(f64::INFINITY);
    let nearest = |(_, a): &&(usize, PairedRatios), (_, b): &&(usize, PairedRatios)| {
        let order = lead(a).total_cmp(&lead(b));
        if more { order } else { order.reverse() }
    };
    verdict.best = Some(names[first].to_owned());
    verdict.over = ratios.iter().min_by(nearest).map(|(other, ratios)| Lead {
        name: names[*other].to_owned(),
        median: ratios.median,
        ci_low: ratios.ci_low,
        ci_high: ratios.ci_high,
    });
    verdict
}

/// Whether the interval of the ratios lies on the better side of 1, and every seed has a ratio.
fn ahead(ratios: &PairedRatios, more: bool) -> bool {
    let (low, high) = (ratios.ci_low, ratios.ci_high);
    let better = if more { low.is_none_or(|low| low > 1.0) } else { high.is_some_and(|high| high < 1.0) };
    ratios.missing == 0 && better
}

/// The median; a number that a run lacks is infinite.
fn middle(numbers: &Numbers) -> f64 {
    let mut values: Vec<f64> = numbers.iter().map(|(_, value)| value.unwrap_or(f64::INFINITY)).collect();
    values.sort_unstable_by(f64::total_cmp);
    farspan_metrics::median(&values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{ports_notes, side};
    use crate::group::testing::run;
    use farspan_metrics::measures;
    use serde_json::json;

    /// An arm with a mean completion time for each seed from 1, and so many flows of 8 that did not end.
    fn arm(name: &str, means: &[f64], unfinished: u64) -> Arm {
        let run = |(seed, mean): (u64, &f64)| {
            let mut run = run(name, seed, "a", false, "");
            run.summary["fct"] =
                json!({"all": {"mean_us": mean, "unfinished": unfinished, "count": 8}, "intra": null});
            run
        };
        Arm { name: name.to_owned(), runs: (1..).zip(means).map(run).collect() }
    }

    fn of(arms: &[Arm]) -> Verdict {
        let documents: Vec<&Value> = arms.iter().flat_map(|arm| &arm.runs).map(|run| &run.summary).collect();
        verdicts(arms, &measures(&documents)).remove(0)
    }

    #[test]
    fn the_best_is_ahead_of_every_other_at_the_paired_interval() {
        let fast = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let arms = [
            arm("slow", &fast.map(|x| 3.0 * x), 0),
            arm("fast", &fast, 0),
            arm("next", &fast.map(|x| 1.1 * x), 0),
        ];
        let verdict = of(&arms);
        assert_eq!((verdict.measure.as_str(), verdict.best.as_deref()), ("all mean FCT", Some("fast")));
        let over = verdict.over.unwrap();
        assert_eq!((over.name.as_str(), (over.median.unwrap() * 1000.0).round()), ("next", 909.0));
        assert!(verdict.no_difference.is_empty());
    }

    #[test]
    fn an_interval_that_contains_1_makes_no_difference() {
        // The median of the ratios is 0.709; that of some resamples is above 1.
        let (a, b) = ([0.4, 0.5, 0.7, 0.718, 1.2, 1.4], [1.0; 6]);
        let verdict = of(&[arm("far", &[9.0; 6], 0), arm("b", &b, 0), arm("a", &a, 0)]);
        assert_eq!((verdict.best, verdict.over), (None, None));
        assert_eq!((verdict.no_difference.join(" "), verdict.all_even), ("a b".to_owned(), false));
    }

    #[test]
    fn time_outs_of_packets_and_of_flows_do_not_compare() {
        let of = |name: &str, recovery: &str, classes: &[&str], timeouts: u64| {
            let mut arm = arm(name, &[1.0; 6], 0);
            for run in &mut arm.runs {
                run.summary["recovery"] = json!({"timeouts": timeouts});
                classes.iter().for_each(|class| run.summary["fct"][class] = json!({}));
                let scheme =
                    format!("[scheme]\nintra.recovery.name = 'rack'\ninter.recovery.name = '{recovery}'");
                run.scenario = scheme.parse().unwrap();
            }
            arm
        };
        let judged = |recovery: &str, classes: &[&str]| {
            let arms = [of("a", "per_packet_rto", classes, 1), of("b", recovery, classes, 2)];
            let documents: Vec<&Value> =
                arms.iter().flat_map(|arm| &arm.runs).map(|run| &run.summary).collect();
            let measures = measures(&documents);
            let verdict =
                verdicts(&arms, &measures).into_iter().find(|verdict| verdict.path == TIMEOUTS).unwrap();
            (verdict.best, verdict.no_difference.len(), timeouts_note(&arms).is_some())
        };
        assert_eq!(judged("per_packet_rto", &["intra", "inter"]), (Some("a".to_owned()), 0, false));
        assert_eq!(judged("rack", &["intra", "inter"]), (None, 0, true));
        assert_eq!(judged("go_back_n", &["inter"]), (None, 0, true));
        assert_eq!(judged("rack", &["intra"]), (Some("a".to_owned()), 0, false), "no flow has the other");
    }

    #[test]
    fn a_scheme_with_unfinished_flows_is_never_marked_best() {
        let fast = [1.0; 6];
        let arms = [arm("lame", &fast, 2), arm("a", &[2.0; 6], 0), arm("b", &[3.0; 6], 0)];
        assert_eq!(of(&arms).best.as_deref(), Some("a"));
        assert_eq!(arms[0].unended(), (12, 48, 6));
        let alone = of(&[arm("lame", &fast, 2), arm("a", &[2.0; 6], 0)]);
        assert_eq!((alone.best, alone.no_difference.len()), (None, 0));
    }

    #[test]
    fn what_was_not_measured_is_not_best() {
        let measured = |name: &str, jain: Value| {
            let mut arm = arm(name, &[1.0; 6], 0);
            arm.runs.iter_mut().for_each(|run| run.summary["fairness"] = json!({"jain_mean": jain}));
            arm
        };
        let arms =
            [measured("unknown", Value::Null), measured("fair", json!(0.9)), measured("unfair", json!(0.5))];
        let documents: Vec<&Value> = arms.iter().flat_map(|arm| &arm.runs).map(|run| &run.summary).collect();
        let verdicts = verdicts(&arms, &measures(&documents));
        let jain = verdicts.iter().find(|verdict| verdict.measure == "Jain mean").unwrap();
        assert_eq!(jain.best.as_deref(), Some("fair"));
    }

    #[test]
    fn what_lacks_a_seed_s_number_has_to_be_beaten_in_the_others() {
        let arm = |name: &str, queues: [Option<f64>; 7]| {
            let mut arm = arm(name, &[1.0; 7], 0);
            for (run, p99) in arm.runs.iter_mut().zip(queues) {
                run.summary["queues"] = json!({"bottleneck_p99_bytes": p99});
            }
            arm
        };
        let best = |partial: f64| {
            let mut short = [Some(partial); 7];
            short[3] = None;
            let arms = [arm("whole", [Some(5.0); 7]), arm("long", [Some(9.0); 7]), arm("partial", short)];
            let documents: Vec<&Value> =
                arms.iter().flat_map(|arm| &arm.runs).map(|run| &run.summary).collect();
            let verdicts = verdicts(&arms, &measures(&documents));
            verdicts.into_iter().find(|verdict| verdict.measure == "bottleneck queue, p99").unwrap()
        };
        assert_eq!(best(7.0).best.as_deref(), Some("whole"));
        assert_eq!((best(3.0).best, best(3.0).no_difference.join(" ")), (None, "partial whole".to_owned()));
    }

    #[test]
    fn none_is_best_by_the_queue_of_another_port() {
        let arm = |name: &str, port: &str, queue: f64| {
            let mut arm = arm(name, &[1.0; 6], 0);
            for run in &mut arm.runs {
                run.summary["queues"] = json!({"bottleneck": port, "bottleneck_mean_bytes": queue});
            }
            arm
        };
        let judged = |other: &str| {
            let arms = [arm("a", "tor0->host0#0", 1.0), arm("b", other, 2.0)];
            let documents: Vec<&Value> =
                arms.iter().flat_map(|arm| &arm.runs).map(|run| &run.summary).collect();
            let measures = measures(&documents);
            let verdicts = verdicts(&arms, &measures);
            let queue =
                verdicts.into_iter().find(|verdict| verdict.measure == "bottleneck queue, mean").unwrap();
            (queue.best, queue.no_difference.len(), bottleneck_note(&arms).is_some())
        };
        assert_eq!(judged("tor0->host0#0"), (Some("a".to_owned()), 0, false));
        assert_eq!(judged("tor0->core1#0"), (None, 0, true));
    }

    #[test]
    fn the_ports_that_cells_only_count_are_named_in_a_note_on_the_bottleneck() {
        let measure = |json: Value| measures(&[&json]).remove(0);
        let queue = measure(json!({"queues": {"bottleneck": "a->b#0", "bottleneck_mean_bytes": 1.0}}));
        let other = measure(json!({"recovery": {"timeouts": 1}}));
        let arm = |name: &str, ports: &[&str]| {
            let mut arm = arm(name, &[1.0; 6], 0);
            for (run, port) in arm.runs.iter_mut().zip(ports.iter().cycle()) {
                run.summary["queues"] = json!({"bottleneck": port, "bottleneck_mean_bytes": 1.0});
            }
            arm
        };
        let six = ["p1", "p2", "p3", "p4", "p5", "p6"];
        let arms = [arm("a", &["x", "y"]), arm("b", &["y", "x"]), arm("c", &["x"]), arm("d", &six)];
        let notes = ports_notes(&arms.iter().map(side).collect::<Vec<_>>());
        let said: Vec<&str> = notes.iter().map(|note| note.text.as_str()).collect();
        assert_eq!(said, ["bottleneck of a, b: x, y", "bottleneck of d: p1, p2, p3, p4 and 2 more"]);
        for note in notes.into_iter().chain(bottleneck_note(&arms)) {
            assert!(note.is_on([&other, &queue]) && !note.is_on([&other]), "{}", note.text);
        }
    }

    #[test]
    fn a_busy_link_is_neither_better_nor_worse() {
        let arm = |name: &str, share: f64| {
            let mut arm = arm(name, &[1.0; 6], 0);
            arm.runs
                .iter_mut()
                .for_each(|run| run.summary["queues"] = json!({"bottleneck_utilization": share}));
            arm
        };
        let arms = [arm("coded", 0.9), arm("plain", 0.8)];
        let documents: Vec<&Value> = arms.iter().flat_map(|arm| &arm.runs).map(|run| &run.summary).collect();
        let verdicts = verdicts(&arms, &measures(&documents));
        let busy = verdicts.iter().find(|verdict| verdict.measure == "bottleneck utilisation").unwrap();
        assert_eq!((&busy.best, busy.no_difference.len()), (&None, 0));
    }

    #[test]
    fn a_seed_that_one_lacks_changes_no_verdict() {
        let fast = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        let arms = |n: usize| [arm("fast", &fast[..n], 0), arm("slow", &fast.map(|x| 3.0 * x), 0)];
        assert_eq!(of(&arms(6)).best.as_deref(), Some("fast"));
        assert_eq!(of(&arms(6)).best, of(&arms(7)).best);
        assert_eq!(of(&arms(5)).best, None, "five seeds have no interval");
        let mut apart = arms(6);
        apart[0].runs.iter_mut().for_each(|run| run.summary["seed"] = json!(run.seed() + 10));
        assert_eq!(of(&apart).best, None, "no seed is in both");
    }

    #[test]
    fn few_seeds_have_no_verdict() {
        let verdict = of(&[arm("a", &[1.0; 5], 0), arm("b", &[2.0; 5], 0)]);
        assert_eq!((verdict.best, verdict.no_difference.len()), (None, 0));
    }

    #[test]
    fn seeds_without_a_ratio_make_no_difference() {
        let verdict = of(&[arm("a", &[0.0; 6], 0), arm("b", &[0.0, 0.0, 1.0, 1.0, 1.0, 1.0], 0)]);
        assert_eq!((verdict.no_difference.join(" "), verdict.all_even), ("a b".to_owned(), true));
        assert_eq!(of(&[arm("a", &[0.0; 6], 0), arm("b", &[1.0; 6], 0)]).best.as_deref(), Some("a"));
    }
}
