//! `farspan demo`: three scenarios, four schemes, and who wins where, as tables and as a page.

use crate::args::DemoArgs;
use crate::format::{Table, bytes, number, percent, time};
use crate::jobs::{Done, Job, run_all};
use crate::progress::{catch_interrupts, interrupted};
use crate::{Failure, output, runner};
use farspan_metrics::{Class, FlowRecord, Quantile, Summary, nearest_rank};
use farspan_report::{groups, html, load, write};
use farspan_scenario::{EngineKind, Request};
use farspan_units::Duration;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The page, in the folder of the results.
const REPORT: &str = "report.html";

const SCHEMES: [&str; 4] = ["uno", "uno-noec", "gemini", "mprdma-bbr"];

/// A scenario of the demo, and what it changes.
struct Scene {
    scenario: &'static str,
    set: &'static [&'static str],
    title: &'static str,
    /// How many seeds, from the one asked for on.
    seeds: u64,
    measures: &'static [Measure],
    note: &'static str,
}

/// A line of a table.
struct Measure {
    name: &'static str,
    /// Of the runs of all seeds.
    of: fn(&[Done]) -> Option<f64>,
    show: fn(Option<f64>) -> String,
    /// Whether more is better.
    more: bool,
}

const fn less(
    name: &'static str,
    of: fn(&[Done]) -> Option<f64>,
    show: fn(Option<f64>) -> String,
) -> Measure {
    Measure { name, of, show, more: false }
}

const fn more(
    name: &'static str,
    of: fn(&[Done]) -> Option<f64>,
    show: fn(Option<f64>) -> String,
) -> Measure {
    Measure { name, of, show, more: true }
}

const SCENES: [Scene; 3] = [
    Scene {
        scenario: "uno/incast-mixed",
        set: &["workload.flow_size=512MiB"],
        title: "8:1 incast of 512 MiB flows, four from each datacenter, on one link",
        seeds: 1,
        measures: &[
            more("Jain's index, mean", |d| one(d).summary.fairness.jain_mean, number),
            more("Jain's index, late 5%", |d| one(d).summary.fairness.jain_p5_late, number),
            less("converged at", |d| one(d).summary.fairness.converged_at_us, time),
            less("queue, mean", |d| one(d).summary.queues.bottleneck_mean_bytes, bytes),
            less("queue, p99", |d| one(d).summary.queues.bottleneck_p99_bytes, bytes),
            more("utilisation", |d| one(d).summary.queues.bottleneck_utilization, percent),
            less("mean FCT", |d| one(d).summary.fct.all.as_ref()?.mean_us, time),
            less("max FCT", |d| one(d).summary.fct.all.as_ref()?.max_us, time),
            less("packets dropped", |d| Some(one(d).summary.packets.dropped as f64), number),
        ],
        note: "An unfair scheme that keeps the link busy wins mean and max FCT here by construction: some flows end \
               early, and the last\nends when the link has carried all bytes. Judge this one by Jain's index and the \
               queue.",
    },
    Scene {
        scenario: "uno/border-failure",
        set: &[],
        title: "eight flows of 5 MiB to the other datacenter, one of the eight links between them dead: 20 seeds",
        seeds: 20,
        measures: &[
            less("mean FCT", |d| mean(d, |s| s.fct.all.as_ref()?.mean_us), time),
            less("p50 FCT", |d| fct(d, None, Quantile::P50), time),
            less("p99 FCT", |d| fct(d, None, Quantile::P99), time),
            less("flows that never ended", |d| sum(d, |s| s.flows.started - s.flows.finished), number),
            less("time-outs", |d| sum(d, |s| s.recovery.timeouts), number),
            less("packets lost", |d| sum(d, |s| s.packets.dropped), number),
        ],
        note: "Routing does not know of the dead link: flows that ECMP puts on it never end. uno repairs what it can from \
               parity and moves its\nsubflows away; where a block lost more, and without coding, a flow waits for \
               one time-out.",
    },
    Scene {
        scenario: "uno/websearch",
        set: &["workload.mix=artifact", "workload.flows=5000"],
        title: "5,000 flows in a burst, four in five inside a datacenter: flow completion times",
        seeds: 1,
        measures: &[
            less("intra mean", |d| one(d).summary.fct.intra.as_ref()?.mean_us, time),
            less("intra p99", |d| fct(d, Some(Class::Intra), Quantile::P99), time),
            less("inter mean", |d| one(d).summary.fct.inter.as_ref()?.mean_us, time),
            less("inter p99", |d| fct(d, Some(Class::Inter), Quantile::P99), time),
            less("all mean", |d| one(d).summary.fct.all.as_ref()?.mean_us, time),
            less("all p99", |d| fct(d, None, Quantile::P99), time),
            less("packets dropped", |d| Some(one(d).summary.packets.dropped as f64), number),
        ],
        note: "The burst offers the links between the datacenters several times what they carry, then drains: this is \
               the published\nset-up, not a steady state (see uno/steady). About 1,000 flows are inter: their p99 rests \
               on ten flows.",
    },
];

/// The run of the only seed.
fn one(runs: &[Done]) -> &Done {
    &runs[0]
}

/// The mean over all seeds; `None` if one of them has no value.
fn mean(runs: &[Done], of: fn(&Summary) -> Option<f64>) -> Option<f64> {
    let values: Option<Vec<_>> = runs.iter().map(|run| of(&run.summary)).collect();
    values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
}

/// A count, over all seeds.
fn sum(runs: &[Done], of: fn(&Summary) -> u64) -> Option<f64> {
    Some(runs.iter().map(|run| of(&run.summary)).sum::<u64>() as f64)
}

/// Runs the demo.
pub fn demo(args: &DemoArgs) -> Result<(), Failure> {
    catch_interrupts();
    let mut jobs = Vec::new();
    for scene in &SCENES {
        for scheme in SCHEMES {
            for seed in 0..scene.seeds {
                let request = Request {
                    scheme: Some(scheme.to_owned()),
                    seed: Some(args.seed.saturating_add(seed)),
                    set: scene.set.iter().map(|set| (*set).to_owned()).collect(),
                    ..Request::new(scene.scenario)
                };
                let out = Some(scene.folder(&args.out, scheme, &request));
                jobs.push(Job::new(request.resolve()?, out));
            }
        }
    }
    let folder = runner::open(&args.out, &jobs, args.force)?;
    // If this one is interrupted, the page of an earlier demo must not pass for its own.
    let _ = std::fs::remove_file(args.out.join(REPORT));
    let done = run_all(&jobs, EngineKind::Windowed, args.quiet)?;
    if interrupted() || done.len() < jobs.len() {
        return Err(Failure::Interrupted);
    }
    let report = report(&jobs, &args.out)?;
    folder.finish();
    if args.json {
        let runs: Vec<_> = done.iter().map(|done| &done.summary).collect();
        output::json(&json!({ "runs": runs, "report": report }));
        return Ok(());
    }
    let mut rest = done.as_slice();
    let tables = SCENES.iter().map(|scene| {
        let (runs, others) = rest.split_at(SCHEMES.len() * scene.seeds as usize);
        rest = others;
        table(scene, runs)
    });
    output::text(&tables.collect::<Vec<_>>().join("\n"));
    let folder = args.out.display();
    output::text(&format!(
        "\nSeeds from {} on, profile paper. Ratios with intervals: farspan compare {folder}/border-failure/uno \
         {folder}/border-failure/gemini\nReport: {}\n",
        args.seed,
        report.display()
    ));
    Ok(())
}

impl Scene {
    /// Where the results of a run go.
    fn folder(&self, out: &Path, scheme: &str, request: &Request) -> PathBuf {
        let name = self.scenario.rsplit('/').next().unwrap_or(self.scenario);
        let folder = out.join(name).join(scheme);
        match request.seed {
            Some(seed) if self.seeds > 1 => folder.join(format!("seed-{seed}")),
            _ => folder,
        }
    }
}

/// Writes the page of these runs, and of nothing else that an earlier demo may have left there.
fn report(jobs: &[Job], out: &Path) -> Result<PathBuf, Failure> {
    let folders: Vec<PathBuf> = jobs.iter().filter_map(|job| job.out.clone()).collect();
    let failed = |error: farspan_report::ReportError| Failure::Failed(error.to_string());
    let groups = groups(load(&folders).map_err(failed)?);
    let page = html(&groups, Some(SCHEMES[0])).map_err(failed)?;
    let path = out.join(REPORT);
    write(&path, &page).map_err(failed)?;
    Ok(path)
}

fn table(scene: &Scene, runs: &[Done]) -> String {
    let heading = std::iter::once("").chain(SCHEMES).chain(["best", "by"]);
    let mut table = Table::new(heading);
    for measure in scene.measures {
        let values: Vec<_> = runs.chunks(scene.seeds as usize).map(measure.of).collect();
        let mut row = vec![measure.name.to_owned()];
        row.extend(values.iter().map(|value| (measure.show)(*value)));
        let (best, by) = match best(&values, measure.more) {
            Some((winner, by)) => (SCHEMES[winner].to_owned(), by),
            None => ("even".to_owned(), String::new()),
        };
        row.extend([best, by]);
        table.row(row);
    }
    format!("{}: {}\n\n{}\n{}\n", scene.scenario, scene.title, table.render(&[SCHEMES.len() + 1]), scene.note)
}

/// Differences below this share count as even.
const EVEN: f64 = 1.01;

/// The best of some values, and by how much it beats the next; `None` if they are even. A value that is not there is
/// the worst.
fn best(values: &[Option<f64>], more: bool) -> Option<(usize, String)> {
    let worst = if more { f64::NEG_INFINITY } else { f64::INFINITY };
    let rank = |value: f64| if more { -value } else { value };
    let mut order: Vec<_> = values.iter().map(|value| rank(value.unwrap_or(worst))).enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let [(winner, first), (_, second), ..] = order[..] else { return None };
    if first.is_infinite() {
        return None;
    }
    let ratio = if more { first / second } else { second / first };
    match ratio {
        _ if second.is_infinite() => Some((winner, String::new())),
        _ if ratio.is_infinite() => Some((winner, String::new())),
        _ if ratio >= EVEN => Some((winner, format!("{ratio:.2}x"))),
        _ => None,
    }
}

/// A quantile of the flows of a class, of all seeds, however few they are.
fn fct(runs: &[Done], class: Option<Class>, quantile: Quantile) -> Option<f64> {
    let of_class = |flow: &&FlowRecord| class.is_none_or(|class| flow.outcome.class == class);
    let flows = runs.iter().flat_map(|run| &run.flows).filter(of_class);
    let (mut finished, mut count) = (Vec::new(), 0);
    for flow in flows.filter(|flow| flow.measured && flow.outcome.started) {
        count += 1;
        finished.extend(flow.outcome.fct());
    }
    finished.sort_unstable();
    nearest_rank(&finished, count, quantile).map(Duration::as_us_f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_named_with_its_lead() {
        assert_eq!(best(&[Some(2.0), Some(1.0), Some(3.0)], false), Some((1, "2.00x".to_owned())));
        assert_eq!(best(&[Some(0.9), Some(0.5), Some(0.6)], true), Some((0, "1.50x".to_owned())));
    }

    #[test]
    fn what_is_not_there_loses() {
        assert_eq!(best(&[None, Some(1.0), None], false), Some((1, String::new())));
        assert_eq!(best(&[None, None, None], false), None);
    }

    #[test]
    fn small_differences_are_even() {
        assert_eq!(best(&[Some(100.0), Some(100.5), Some(200.0)], false), None);
        assert_eq!(best(&[Some(0.0), Some(0.0), Some(1.0)], false), None);
    }
}
