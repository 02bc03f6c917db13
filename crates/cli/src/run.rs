//! `farspan run`.

use crate::offered_load::Offered;
use crate::progress::{end_with_stdin, run_all};
use crate::scenario_args::AskArgs;
use crate::seeds::{self, Seeds, seed, seeds};
use crate::{Failure, Itself, cost, report, sweep};
use clap::Args;
use farspan_metrics::{
    Acted, Collective, FaultyLinks, Fct, Goodput, Pfc, ProxySummary, Summary, first_round_trip, measures,
};
use farspan_report::{interval_name, interval_note};
use farspan_scenario::ScenarioError;
use farspan_sweep::Kind;
use farspan_terminal::format::{
    INFINITE, NONE, Table, bits_per_second, bytes, number, or_infinite, percent, seconds, time, with_prefix,
};
use farspan_terminal::interrupt::{catch_interrupts, interrupted};
use farspan_terminal::output;
use farspan_world::EngineKind;
use farspan_world::runner::engine;
use farspan_world::runner::{self, Job, seeds_document, threaded, unfinished};
use farspan_world::write;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Arguments of `run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// A file, or the name of a built-in scenario (`farspan list scenarios`)
    pub scenario: String,
    /// Schemes, values and axes.
    #[command(flatten)]
    pub ask: AskArgs,
    /// Seed of all random draws
    #[arg(long, conflicts_with = "seeds", allow_negative_numbers = true, value_parser = seed)]
    pub seed: Option<u64>,
    /// Several seeds: A..B (both ends included) or a list, such as 1,2,5. --seeds 5 is the single seed 5; --seeds 1..5 is
    /// five seeds. A 95% interval needs six seeds
    #[arg(long, value_name = "A..B", value_parser = seeds)]
    pub seeds: Option<Seeds>,
    /// Maximum number of threads. The windowed engine uses at most one per site or pod. The result does not depend on it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: u16,
    /// Engine: windowed (fast) or oracle (simple and slow). Both give the same result
    #[arg(long, value_name = "NAME", default_value = "windowed", value_parser = engine)]
    pub engine: EngineKind,
    /// Folder for summary.json, scenario.toml, the Parquet tables and report.html. With several schemes or --grid it is a
    /// sweep's folder, and complete runs in it are skipped [default of a sweep: the scenario's name]
    #[arg(short, long, alias = "output", value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace whatever is in --out. Without it, only results of the same scenario, scheme, profile and seeds are replaced
    #[arg(long)]
    pub force: bool,
    /// Log the events of flows as qlog in DIR/trace: flow=17,20..29, tag=NAME or class=inter; can be given several times
    #[arg(long, value_name = "FLOWS")]
    pub trace: Vec<String>,
    /// Capture the packets of ports in DIR/trace/ports.pcapng: a port's name or a pattern, such as 'tor0->*'; can be given several times
    #[arg(long, value_name = "PORT")]
    pub pcap: Vec<String>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
    /// End when standard input does: what started this run has ended
    #[arg(long, hide = true)]
    pub end_with_stdin: bool,
}

/// Runs a scenario, for one seed or several; under several schemes, or with a grid, as a sweep.
pub fn run(args: &RunArgs, itself: &Itself<'_>) -> Result<(), Failure> {
    if args.end_with_stdin {
        end_with_stdin();
    }
    if args.ask.is_sweep() {
        return run_sweep(args, itself);
    }
    if let Some(part) = args.ask.same.first() {
        return Err(Failure::BadInput(format!(
            "--same {part}: there is no other scheme to share it with; give several, such as --scheme uno,oscar: the \
             others use this part of the first"
        )));
    }
    let given =
        [("--trace", !args.trace.is_empty()), ("--pcap", !args.pcap.is_empty()), ("--force", args.force)];
    if let Some((option, _)) = given.into_iter().find(|(_, given)| *given && args.out.is_none()) {
        return Err(Failure::BadInput(format!("{option} needs a folder for its files; give --out <DIR>")));
    }
    let resolved = args.ask.request(&args.scenario, args.seed).resolve();
    let resolved = resolved.map_err(|error| misplaced(&args.scenario, error))?;
    let job =
        Job { trace: args.trace.clone(), pcap: args.pcap.clone(), ..Job::new(resolved, args.out.clone()) };
    let jobs = match &args.seeds {
        Some(Seeds(seeds)) => job.with_seeds(seeds.iter().copied()),
        None => vec![job.clone()],
    };
    // Bad input must show before anything is written.
    let world = job.world()?;
    if let Some(Seeds(seeds)) = &args.seeds {
        seeds::announce(seeds.iter().copied(), args.quiet);
    }
    let threads = world.threads(threaded(args.engine, args.threads));
    if threads < args.threads && !args.quiet {
        output::note(&format!(
            "note: the run uses {threads} of {} threads; the result is the same",
            args.threads
        ));
    }
    let folder = args.out.as_deref().map(|out| runner::open(out, &jobs, args.force)).transpose()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let all = cost::Batch { count: jobs.len(), at_a_time: cores / usize::from(threads), threads };
    cost::announce(&job.resolved, &world, all, args.quiet);
    drop(world);
    catch_interrupts();
    let summaries = run_all(&jobs, threaded(args.engine, threads), args.quiet)?;
    for warning in summaries.iter().flat_map(unfinished) {
        output::note(&format!("warning: {warning}"));
    }
    let document =
        args.seeds.as_ref().map(|_| seeds_document(&summaries.iter().collect::<Vec<_>>(), jobs.len()));
    if let (Some(out), Some(document)) = (&args.out, &document) {
        let text = serde_json::to_string_pretty(document).expect("a document has a JSON form");
        write(&out.join("summary.json"), &(text + "\n"))?;
    }
    // What is written stands before anything is printed: standard output may fail.
    if let Some(out) = args.out.as_deref().filter(|_| !summaries.is_empty() && !args.end_with_stdin) {
        report::beside(out)?;
    }
    if let Some(folder) = folder {
        folder.finish();
    }
    match (&document, summaries.as_slice(), args.json) {
        (Some(document), _, true) => output::json(document),
        (Some(document), _, false) => output::text(&seeds_table(&summaries, &document["summary"])),
        (None, [summary, ..], true) => output::json(summary),
        (None, [summary, ..], false) => output::text(&table(summary)),
        (None, [], _) => {}
    }
    let partial = summaries.len() < jobs.len() || summaries.iter().any(|summary| summary.partial);
    if interrupted() && partial { Err(Failure::Interrupted) } else { Ok(()) }
}

/// The sweep of several schemes, or of a grid.
fn run_sweep(args: &RunArgs, itself: &Itself<'_>) -> Result<(), Failure> {
    let lone = "works for a single run only; give one --scheme and no --grid";
    let given = [
        ("--trace", !args.trace.is_empty(), lone),
        ("--pcap", !args.pcap.is_empty(), lone),
        (
            "--force",
            args.force,
            "does not work for a sweep, which keeps complete runs; leave it out, or give another --out",
        ),
        (
            "--threads",
            args.threads > 1,
            "works for a single run only; leave it out (farspan sweep has --jobs)",
        ),
        (
            "--engine",
            args.engine != EngineKind::Windowed,
            "works for a single run only; leave it out: the result is the same",
        ),
    ];
    if let Some((option, _, cure)) = given.into_iter().find(|(_, given, _)| *given) {
        return Err(Failure::BadInput(format!("{option} {cure}")));
    }
    let ask = args.ask.ask(&args.scenario, args.seed, args.seeds.as_ref());
    let plan = sweep::plan_of(&ask, args.out.as_deref()).map_err(|error| misplaced(&args.scenario, error))?;
    sweep::run(&sweep::SweepPlan { json: args.json, quiet: args.quiet, ..plan }, itself)
}

/// The error of a scenario; the file of a sweep is none.
fn misplaced(scenario: &str, error: ScenarioError) -> Failure {
    match Kind::of(scenario) {
        Ok(Kind::Sweep) => Failure::BadInput(format!(
            "{scenario}: this is a sweep file, but farspan run takes a scenario; use farspan sweep {scenario}"
        )),
        _ => error.into(),
    }
}

fn heading(summary: &Summary) -> String {
    let Summary { scenario, scheme, profile, .. } = summary;
    format!("{scenario}  scheme {scheme}  profile {profile}")
}

/// One run as a page of text.
fn table(summary: &Summary) -> String {
    let Summary { setup, seed, engine, .. } = summary;
    let mut text = format!("{}  seed {seed}  engine {engine}\n{}\n\n", heading(summary), setup.line());
    let mut flows = Table::new([
        "flow completion",
        "flows",
        "unfinished",
        "mean",
        "p50",
        "p99",
        "max",
        "slowdown mean",
        "p99",
    ]);
    let classes = [("all", &summary.fct.all), ("intra", &summary.fct.intra), ("inter", &summary.fct.inter)];
    let tags = summary.fct.tags.iter().map(|(tag, fct)| (tag.as_str(), fct));
    // A lone tag, or one that is called as its class, would say the same again.
    let news = |tag: &str| summary.fct.tags.len() > 1 && tag != "intra" && tag != "inter";
    for (name, fct) in classes.into_iter().chain(tags.filter(|(tag, _)| news(tag))) {
        if let Some(fct) = fct {
            flows.row(fct_row(name, fct));
        }
    }
    text += &flows.render(&[]);
    text += &details(summary);
    text
}

fn fct_row(name: &str, fct: &Fct) -> [String; 9] {
    [
        name.to_owned(),
        fct.count.to_string(),
        fct.unfinished.to_string(),
        time(fct.mean_us),
        time(fct.p50_us),
        time(fct.p99_us),
        time(fct.max_us),
        number(fct.slowdown_mean),
        number(fct.slowdown_p99),
    ]
}

fn details(summary: &Summary) -> String {
    let fairness = summary.fairness.group.iter().map(|_| ("fairness", fairness(summary)));
    let goodput = summary.goodput.iter().map(|measured| ("goodput", goodput(measured)));
    let drops = drops(summary).map(|drops| ("drops", drops));
    let seen =
        [("bottleneck", queues(summary)), ("acted", summary.acted.line()), ("packets", packets(summary))];
    let lines = [("offered load", offered(summary)), ("run", machine(summary))];
    let collectives = summary.collectives.iter().map(|c| ("collective", collective(c)));
    let pauses = summary.pfc.iter().map(|pfc| ("pauses", pauses(pfc)));
    let proxies = summary.proxy.iter().map(|proxy| ("proxies", proxies(proxy)));
    collectives
        .chain(goodput)
        .chain(fairness)
        .chain(pauses)
        .chain(proxies)
        .chain(seen)
        .chain(drops)
        .chain(faults(&summary.faults).into_iter().map(|line| ("faults", line)))
        .chain(lines)
        .fold("\n".to_owned(), |text, (name, line)| text + &format!("{name:<13} {line}\n"))
}

/// As many lines tell of faults; of more, how many there are is said.
const MOST_FAULTS: usize = 8;

/// The links with faults, and what these have lost.
fn faults(faulty: &[FaultyLinks]) -> Vec<String> {
    let mut lines: Vec<String> = faulty.iter().take(MOST_FAULTS).map(FaultyLinks::line).collect();
    if faulty.len() > MOST_FAULTS {
        let lost: u64 = faulty[MOST_FAULTS..].iter().map(|links| links.lost).sum();
        lines.push(format!("{} more: {lost} packets lost", faulty.len() - MOST_FAULTS));
    }
    lines
}

fn collective(collective: &Collective) -> String {
    format!(
        "{}: {} iterations, {} unfinished; mean {}, p99 {}; ideal {}, ratio {}",
        collective.tag,
        collective.iterations,
        collective.unfinished,
        time(collective.mean_us),
        time(collective.p99_us),
        time(Some(collective.ideal_us)),
        number(collective.ratio),
    )
}

fn fairness(summary: &Summary) -> String {
    let fairness = &summary.fairness;
    let group = fairness.group.as_deref().unwrap_or(NONE);
    let never = || "not converged".to_owned();
    let converged =
        fairness.converged_at_us.map_or_else(never, |us| format!("converged at {}", time(Some(us))));
    format!(
        "{group}: Jain {} mean, {} late 5%; min/max rate {}; {converged} (samples of {})",
        number(fairness.jain_mean),
        number(fairness.jain_p5_late),
        number(fairness.min_over_max_rate),
        time(fairness.interval_us),
    )
}

/// All goodput, and who has which share of it; a lone tag, or one class, would say the same again.
fn goodput(goodput: &Goodput) -> String {
    let classes = goodput.intra.iter().map(|sum| ("intra", sum));
    let classes: Vec<_> = classes.chain(goodput.inter.iter().map(|sum| ("inter", sum))).collect();
    let tags: Vec<_> = goodput.tags.iter().map(|(tag, sum)| (tag.as_str(), sum)).collect();
    let shares: Vec<_> = [classes, tags]
        .into_iter()
        .filter(|sums| sums.len() > 1)
        .flatten()
        .map(|(name, sum)| format!("; {name} {}", percent(sum.share)))
        .collect();
    let index = goodput.jain.map_or_else(String::new, |jain| format!("; Jain {}", number(Some(jain))));
    let all = bits_per_second(goodput.all.map(|all| all.bps));
    let [from, until] = [goodput.from_us, goodput.until_us].map(|us| time(Some(us)));
    format!("{all} from {from} to {until}{}{index}", shares.concat())
}

/// All packets that were dropped, those by tier, and which part of those that came to its ports; and how many are of no flow's data, which
/// the other lines count alone. `None` if none were.
fn drops(summary: &Summary) -> Option<String> {
    let ports = &summary.ports;
    let dropped = ports.tiers.iter().filter(|(_, sums)| sums.dropped > 0);
    let words = dropped.map(|(tier, sums)| {
        let rate = sums.loss_rate.map_or_else(|| NONE.to_owned(), |rate| format!("{rate:.1e}"));
        format!("{tier} {} ({rate} of arrivals)", sums.dropped)
    });
    let words: Vec<_> = words.collect();
    let control = match summary.packets.control_dropped {
        0 => String::new(),
        control => format!("; {control} of them control packets"),
    };
    let all = ports.all.map_or(0, |all| all.dropped);
    (!words.is_empty()).then(|| format!("{all}: {}{control}", words.join(", ")))
}

fn pauses(pfc: &Pfc) -> String {
    let end = if pfc.deadlock { "; a deadlock at the end" } else { "" };
    format!("{}, {} in all{end}", pfc.pauses, time(Some(pfc.paused_us)))
}

fn proxies(proxy: &ProxySummary) -> String {
    let sums = &proxy.sums;
    let direct = match sums.went_direct {
        0 => String::new(),
        flows => format!("; {flows} flows went direct"),
    };
    format!(
        "{}: {} packets forwarded, {} NACKs; queue {} largest, a byte waits {}{direct}",
        proxy.proxies,
        sums.packets,
        sums.nacks,
        bytes(Some(sums.queue_max_bytes as f64)),
        time(Some(sums.wait_mean_us)),
    )
}

fn queues(summary: &Summary) -> String {
    let queues = &summary.queues;
    let largest = bytes(queues.max_bytes.map(|bytes| bytes as f64));
    if queues.bottleneck.is_empty() {
        return format!("none; queue {largest} largest of any port");
    }
    format!(
        "{}: utilisation {}; queue {} mean, {} p99, {largest} largest of any port",
        queues.bottleneck,
        percent(queues.bottleneck_utilization),
        bytes(queues.bottleneck_mean_bytes),
        bytes(queues.bottleneck_p99_bytes),
    )
}

fn packets(summary: &Summary) -> String {
    let (packets, recovery) = (&summary.packets, &summary.recovery);
    let drops = first_round_trip(packets.dropped, packets.dropped_first_rtt);
    format!(
        "{} sent; {}; {} flows with loss; efficiency {}",
        packets.sent,
        drops.unwrap_or_else(|| format!("{} dropped", packets.dropped)),
        recovery.flows_with_loss,
        percent(summary.bytes.efficiency),
    )
}

fn machine(summary: &Summary) -> String {
    format!(
        "{} simulated in {}; {}; peak memory {}; digest {}{}",
        time(Some(summary.sim_time_s * 1e6)),
        seconds(summary.wall_time_s),
        with_prefix(summary.packet_hops as f64, "packet-hops"),
        bytes(Some(summary.peak_rss_bytes as f64)),
        summary.digest,
        if summary.partial { "; PARTIAL" } else { "" },
    )
}

/// The offered load of each tier, and whether it is too much for a steady state.
fn offered(summary: &Summary) -> String {
    let load = &summary.offered_load;
    let site = |number: &str| number.parse().ok();
    let ends = |name: &str| {
        let (from, to) = name.strip_prefix("wan_")?.split_once("_to_")?;
        Some([site(from)?, site(to)?])
    };
    let wan: Vec<_> = load.wan.iter().filter_map(|(name, load)| Some((ends(name)?, *load))).collect();
    let codes = [&summary.setup.intra, &summary.setup.inter];
    let offered = Offered {
        host: load.host,
        fabric: load.fabric,
        wan: &wan,
        sites: &summary.sites,
        has_parity: codes.into_iter().flatten().any(|class| class.coding != "none"),
    };
    offered.line() + if summary.transient { ": transient, queues grow while flows arrive" } else { "" }
}

/// The mechanisms that have acted in several runs together, and which share of their drops fell into the first round trip.
fn acted(summaries: &[Summary]) -> String {
    let acted = summaries.iter().map(|summary| summary.acted).fold(Acted::default(), Acted::and);
    let dropped = summaries.iter().map(|summary| summary.packets.dropped).sum();
    let early = summaries.iter().map(|summary| summary.packets.dropped_first_rtt).sum();
    let drops = first_round_trip(dropped, early).map_or_else(String::new, |drops| format!("; {drops}"));
    format!("acted (all seeds together): {}{drops}", acted.line())
}

/// Several runs: medians with their range.
fn seeds_table(summaries: &[Summary], spread: &Value) -> String {
    let Some(first) = summaries.first() else { return String::new() };
    let seeds: Vec<_> = summaries.iter().map(|summary| summary.seed.to_string()).collect();
    let mut table = Table::new([
        "",
        "median",
        "min",
        "max",
        &format!("{} of the median", interval_name(summaries.len())),
    ]);
    let documents: Vec<Value> = summaries.iter().map(|summary| json!(summary)).collect();
    for measure in measures(&documents.iter().collect::<Vec<_>>()) {
        let Some(entry) = spread.pointer(&measure.path) else { continue };
        let value = |key: &str| or_infinite(entry.get(key).and_then(Value::as_f64), measure.unit);
        let interval = format!("{} to {}", value("ci_low"), value("ci_high"));
        table.row([measure.name.clone(), value("median"), value("min"), value("max"), interval]);
    }
    let infinite = format!("{INFINITE}: some flows did not finish, or rates never converged");
    let note = interval_note(summaries.len()).map_or_else(String::new, |note| format!("note: {note}\n"));
    let faulty = FaultyLinks::together(summaries.iter().flat_map(|summary| summary.faults.iter().cloned()));
    let faults = faults(&faulty).into_iter().map(|line| format!("faults (all seeds together): {line}\n"));
    format!(
        "{}  seeds {}\n{}\n{}\n{}\n{}\n{infinite}; the p99 of fewer than 1,000 Poisson flows is left out\n{note}",
        heading(first),
        seeds.join(" "),
        first.setup.line(),
        acted(summaries),
        faults.collect::<String>(),
        table.render(&[])
    )
}
