//! `farspan demo`: two scenarios, one of them with two first windows, each under the schemes that its paper sets side by side, as tables and as a page.

use crate::Failure;
use crate::compare::{BEST, best, entry, notes, warnings};
use crate::progress::run_all;
use crate::scenario_args::part;
use crate::seeds::{self, Seeds, seed, seeds};
use clap::Args;
use farspan_report::{Arm, Comparison, Group, comparisons, groups, html, load, write};
use farspan_scenario::value::SchemePart;
use farspan_scenario::{Request, same_as};
use farspan_terminal::format::Table;
use farspan_terminal::interrupt::{catch_interrupts, interrupted};
use farspan_terminal::output;
use farspan_world::EngineKind;
use farspan_world::runner::{self, Job};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Arguments of `demo`.
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// First seed
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = seed)]
    pub seed: u64,
    /// Seeds to use instead of each scenario's own: A..B (both ends included) or a list. A 95% interval needs six seeds
    #[arg(long, value_name = "A..B", conflicts_with = "seed", value_parser = seeds)]
    pub seeds: Option<Seeds>,
    /// Set a key of every scenario; can be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Parts of each scenario's first scheme that its other schemes use too: recovery, balance, coding
    #[arg(long, value_name = "PART[,PART]...", value_delimiter = ',', value_parser = part)]
    pub same: Vec<SchemePart>,
    /// Folder for the results of every run, and report.html
    #[arg(short, long, alias = "output", value_name = "DIR", default_value = "farspan-demo")]
    pub out: PathBuf,
    /// Replace whatever is in the folder. Without it, only results of the same demo are replaced
    #[arg(long)]
    pub force: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
}

/// The page, in the folder of the results.
const REPORT: &str = "report.html";

/// A scenario of the demo, and what it changes.
struct Scene {
    scenario: &'static str,
    /// The folder of its results, below that of the demo.
    folder: &'static str,
    set: &'static [&'static str],
    title: &'static str,
    /// The first is the denominator of ratios.
    schemes: &'static [&'static str],
    /// How many seeds, from the one asked for on.
    seeds: u64,
    /// The numbers of its table, by their places in a run's document.
    measures: &'static [&'static str],
    note: &'static str,
}

/// The schemes of Uno's incast.
const INCAST_SCHEMES: &[&str] = &["uno", "uno-noec", "gemini", "mprdma-bbr"];

/// The numbers of an incast's table.
const INCAST_MEASURES: &[&str] = &[
    "/fairness/jain_mean",
    "/fairness/jain_p5_late",
    "/fairness/converged_at_us",
    "/queues/bottleneck_mean_bytes",
    "/queues/bottleneck_p99_bytes",
    "/queues/bottleneck_utilization",
    "/fct/intra/mean_us",
    "/fct/intra/max_us",
    "/fct/inter/mean_us",
    "/fct/inter/max_us",
    "/fct/all/unfinished",
    "/recovery/timeouts",
    "/packets/dropped",
];

const SCENES: [Scene; 3] = [
    Scene {
        scenario: "uno/border-failure",
        folder: "border-failure",
        set: &["probes.rate_interval=200us", "probes.queue_interval=100us"],
        title: "eight flows to the other datacenter; one of the eight links between the datacenters is dead",
        schemes: &["uno", "uno-noec", "uno-rps-ec", "uno-rps", "uno-plb-ec", "uno-plb"],
        seeds: 20,
        measures: &[
            "/fct/all/mean_us",
            "/fct/all/p50_us",
            "/fct/all/max_us",
            "/fct/all/unfinished",
            "/recovery/timeouts",
            "/packets/dropped",
            "/bytes/efficiency",
        ],
        note: "These are the schemes of Uno's figure 13. All run UnoCC. They differ in path selection (UnoLB, spraying, \
            PLB) and in coding\n(uno and -ec: two parity packets for eight data packets). Routing does not know that the \
            link is dead.",
    },
    Scene {
        scenario: "uno/incast-mixed",
        folder: "incast-mixed",
        set: &["workload.flow_size=128MiB"],
        title: "8:1 incast on one link, four flows from each datacenter",
        schemes: INCAST_SCHEMES,
        seeds: 10,
        measures: INCAST_MEASURES,
        note: "An unfair scheme that keeps the link busy always wins mean FCT here: some of its flows finish early, and \
            the last one finishes\nwhen the link has carried all bytes. A phantom queue drains more slowly than the link. \
            It holds the link below that rate, and\nthe real queue stays short in return.",
    },
    Scene {
        scenario: "uno/incast-mixed",
        folder: "incast-mixed-iw10",
        // Another name: runs of one name would stand in one table.
        set: &[
            "name=uno/incast-mixed-iw10",
            "constants=uno/incast-mixed",
            "workload.flow_size=128MiB",
            "transport.start=iw10",
        ],
        title: "that incast with small first windows: eight times ten packets fit into the buffer",
        schemes: INCAST_SCHEMES,
        seeds: 10,
        measures: INCAST_MEASURES,
        note: "Above, each flow starts with a window of one bandwidth-delay product, as in the paper. No buffer holds eight of \
               them: packets of\nthe first round trip are lost, and the result depends on how fast a scheme recovers. Here it \
               depends on how fast a scheme grows.",
    },
];

/// The demo in a line of help: its scenarios, each with the schemes that run in it.
pub fn about() -> &'static str {
    static ABOUT: LazyLock<String> = LazyLock::new(|| {
        let mut scenes: Vec<(&str, usize)> = Vec::new();
        for scene in &SCENES {
            match scenes.iter_mut().find(|(scenario, _)| *scenario == scene.scenario) {
                Some((_, schemes)) => *schemes = scene.schemes.len().max(*schemes),
                None => scenes.push((scene.scenario, scene.schemes.len())),
            }
        }
        let scenes = scenes.iter().map(|(scenario, schemes)| format!("{scenario} under {schemes} schemes"));
        format!("Run {}, and show which scheme wins", scenes.collect::<Vec<_>>().join(" and "))
    });
    &ABOUT
}

/// Runs the demo.
pub fn demo(args: &DemoArgs) -> Result<(), Failure> {
    if args.set.iter().any(|set| set.starts_with("name=")) {
        let problem = "--set name: the demo needs the names of its scenarios; set another key";
        return Err(Failure::BadInput(problem.to_owned()));
    }
    catch_interrupts();
    let mut jobs = Vec::new();
    for scene in &SCENES {
        jobs.extend(scene.jobs(args)?);
    }
    let folder = runner::open(&args.out, &jobs, args.force)?;
    if let Some(Seeds(seeds)) = &args.seeds {
        seeds::announce(seeds.iter().copied(), args.quiet);
    }
    // If this one is interrupted, the page of an earlier demo must not pass for its own.
    let _ = std::fs::remove_file(args.out.join(REPORT));
    let done = run_all(&jobs, EngineKind::Windowed, args.quiet)?;
    if interrupted() || done.len() < jobs.len() {
        return Err(Failure::Interrupted);
    }
    let (groups, comparisons) = read_back(&jobs).map_err(|error| Failure::Failed(error.to_string()))?;
    let report = report(&groups, &args.out)?;
    folder.finish();
    if args.json {
        output::json(&json!({ "runs": done, "comparisons": comparisons, "report": report }));
        return Ok(());
    }
    let parts = SCENES.iter().zip(groups.iter().zip(&comparisons));
    let tables: Vec<String> =
        parts.map(|(scene, (group, comparison))| scene.table(group, comparison, &args.same)).collect();
    output::text(&tables.join("\n"));
    output::text(&format!(
        "\n{BEST}\nEvery ratio with its interval: farspan compare {}\nReport: {}\n",
        args.out.join(SCENES[0].folder).display(),
        report.display()
    ));
    Ok(())
}

impl Scene {
    /// A run for each scheme and seed.
    fn jobs(&self, args: &DemoArgs) -> Result<Vec<Job>, Failure> {
        let seeds = match &args.seeds {
            Some(Seeds(seeds)) => seeds.clone(),
            None => (0..self.seeds).map(|seed| args.seed.saturating_add(seed)).collect(),
        };
        let (mut jobs, mut taken) = (Vec::new(), Vec::new());
        for (i, scheme) in self.schemes.iter().enumerate() {
            let own = self.set.iter().map(|set| (*set).to_owned());
            let request = Request {
                scheme: Some((*scheme).to_owned()),
                set: taken.iter().cloned().chain(own).chain(args.set.iter().cloned()).collect(),
                ..Request::new(self.scenario)
            };
            let resolved = request.resolve()?;
            if i == 0 {
                taken = same_as(&resolved, &args.same);
            }
            let out = args.out.join(self.folder).join(scheme);
            jobs.extend(Job::new(resolved, Some(out)).with_seeds(seeds.iter().copied()));
        }
        Ok(jobs)
    }

    /// The parts that every scheme has of the first.
    fn taken_over(&self, same: &[SchemePart]) -> String {
        let parts: Vec<String> = same.iter().map(ToString::to_string).collect();
        match parts.is_empty() {
            true => String::new(),
            false => format!(" All schemes use these parts of {}: {}.", self.schemes[0], parts.join(", ")),
        }
    }

    fn table(&self, group: &Group, comparison: &Comparison, same: &[SchemePart]) -> String {
        let names = comparison.runs.iter().map(|side| side.name.as_str());
        let mut table = Table::new(std::iter::once("").chain(names).chain(["best"]));
        let mut shown = Vec::new();
        for path in self.measures {
            let mut all = comparison.measures.iter().zip(&comparison.verdicts);
            let Some((measure, verdict)) = all.find(|(measure, _)| measure.path == *path) else { continue };
            shown.push(measure);
            let mut row = vec![comparison.heading(measure)];
            row.extend(comparison.runs.iter().map(|side| entry(comparison, side, measure)));
            row.push(best(verdict));
            table.row(row);
        }
        let seeds = comparison.runs.iter().map(|side| side.seeds.len()).max().unwrap_or(0);
        let median = if seeds == 1 { "One seed".to_owned() } else { format!("Median over {seeds} seeds") };
        format!(
            "{}: {}\n{}{}\n{}\n{median}:\n\n{}\n{}\n{}",
            comparison.scenario,
            self.title,
            traffic(group),
            self.taken_over(same),
            comparison.head().join("\n"),
            table.render(&[comparison.runs.len() + 1]),
            self.note,
            notes(comparison, &shown) + &warnings(comparison)
        )
    }
}

/// The profile, the size of flows, and how fast phantom queues drain.
fn traffic(group: &Group) -> String {
    let scenario = &group.arms[0].runs[0].scenario;
    let profile = group.arms[0].runs[0].text("profile");
    let workload = scenario.get("workload").and_then(|parts| parts.get(0)?.get("flow_size")?.as_str());
    let mut drains: Vec<(f64, Vec<&str>)> = Vec::new();
    for arm in &group.arms {
        let Some(drain) = drain(arm) else { continue };
        match drains.iter_mut().find(|(known, _)| *known == drain) {
            Some((_, arms)) => arms.push(&arm.name),
            None => drains.push((drain, vec![&arm.name])),
        }
    }
    let drains: Vec<String> = drains
        .iter()
        .map(|(drain, arms)| {
            format!(" Phantom queues drain at {drain} of the line rate ({}).", arms.join(", "))
        })
        .collect();
    let size = workload.map(|size| format!(" Flows of {size}.")).unwrap_or_default();
    format!("Profile {profile}.{size}{}", drains.concat())
}

/// How fast the phantom queues of an arm's ports drain, over the line rate; `None` if they have none.
fn drain(arm: &Arm) -> Option<f64> {
    arm.runs[0].scenario.get("scheme")?.get("ports")?.get("phantom")?.get("drain")?.as_float()
}

/// The runs as their folders have them, and of nothing else that an earlier demo may have left there: what
/// `farspan compare` and Python would say of them.
fn read_back(jobs: &[Job]) -> Result<(Vec<Group>, Vec<Comparison>), farspan_report::ReportError> {
    let folders: Vec<PathBuf> = jobs.iter().filter_map(|job| job.out.clone()).collect();
    let groups = groups(load(&folders)?);
    let comparisons = comparisons(&groups)?;
    Ok((groups, comparisons))
}

fn report(groups: &[Group], out: &Path) -> Result<PathBuf, Failure> {
    let failed = |error: farspan_report::ReportError| Failure::Failed(error.to_string());
    let path = out.join(REPORT);
    write(&path, &html(groups).map_err(failed)?).map_err(failed)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_and_the_book_name_the_scenes() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/first-run.md");
        let page = std::fs::read_to_string(page).unwrap();
        for Scene { scenario, schemes, seeds, .. } in &SCENES {
            assert!(about().contains(&format!("{scenario} under {} schemes", schemes.len())), "{}", about());
            let mut rows = page.lines().filter(|line| line.starts_with(&format!("| `{scenario}`: ")));
            let named = |row: &str| schemes.iter().all(|scheme| row.contains(&format!("`{scheme}`")));
            assert!(
                rows.any(|row| named(row) && row.ends_with(&format!("| {seeds} |"))),
                "docs/src/first-run.md has no row of {scenario}, its {seeds} seeds and {schemes:?}"
            );
        }
    }
}
