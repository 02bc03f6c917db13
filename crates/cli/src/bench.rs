//! `farspan bench sim`: built-in scenarios, each run by `farspan run` in a process of its own, so that the peak memory of
//! one says nothing about the next. `farspan-lab bench` measures single parts.

use crate::Failure;
use clap::{Args, Subcommand};
use farspan_scenario::{Request, unknown_name};
use farspan_terminal::format::{Table, bytes, number, time, with_prefix};
use farspan_terminal::output;
use farspan_terminal::rounds::{load, rounds};
use farspan_world::runner::{engine, threaded};
use farspan_world::{EngineKind, World};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::process::{Command, Stdio};

/// Arguments of `bench`.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// The benchmark and its arguments.
    #[command(subcommand)]
    pub part: BenchPart,
}

/// The benchmarks of `farspan bench`.
#[derive(Subcommand, Debug)]
pub enum BenchPart {
    /// Packet-hops per second of the simulator, with one process per scenario
    Sim(BenchSimArgs),
    /// Parts of later releases, and unknown ones.
    #[command(external_subcommand)]
    Other(Vec<String>),
}

/// Arguments of `bench sim`.
#[derive(Args, Debug)]
pub struct BenchSimArgs {
    /// Run only benchmarks whose name contains this; can be given several times
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
    /// Number of rounds. The median run of each benchmark counts
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Maximum number of threads. Each benchmark runs on one thread, and again on as many as its engine can use
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    /// Engine: windowed (fast) or oracle (simple and slow)
    #[arg(long, value_name = "NAME", default_value = "windowed", value_parser = engine)]
    pub engine: EngineKind,
    /// Set a key of every benchmark's scenario, such as workload.flow_size=1MiB; can be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
}

/// Benchmarks of `farspan-lab`.
const IN_LAB: [&str; 4] = ["coding", "congestion", "proxy", "kernel"];

/// The sampling intervals of a benchmark with probes.
const PROBES: [&str; 2] = ["probes.rate_interval=10us", "probes.queue_interval=10us"];

/// A scenario to be measured, with what it changes.
struct Benchmark {
    name: String,
    scenario: &'static str,
    set: Vec<String>,
    threads: u16,
}

/// The fields of a run's JSON document that a benchmark reads.
#[derive(Deserialize)]
struct Run {
    threads: u16,
    packet_hops: u64,
    wall_time_s: f64,
    setup_time_s: f64,
    peak_rss_bytes: u64,
}

/// One benchmark in numbers.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct Measured {
    name: String,
    engine: &'static str,
    /// Threads that the run took.
    threads: u16,
    packet_hops: u64,
    packet_hops_per_s: f64,
    ns_per_hop: f64,
    /// From the first event to the results, without set-up.
    wall_time_s: f64,
    /// Reading the scenario, building the network and its routes.
    setup_time_s: f64,
    peak_rss_bytes: u64,
}

/// All benchmarks, and how busy the machine was.
#[derive(Serialize)]
struct Document {
    benchmarks: Vec<Measured>,
    /// The load of the last minute, before and after; empty where the system does not say.
    load_average: Vec<f64>,
    repeat: u32,
}

/// Runs the benchmark that the arguments name.
pub fn bench(args: &BenchArgs, itself: &[OsString]) -> Result<(), Failure> {
    match &args.part {
        BenchPart::Sim(args) => sim(args, itself),
        BenchPart::Other(words) => Err(Failure::BadInput(unknown(words))),
    }
}

/// The message for a benchmark that is not here.
fn unknown(words: &[String]) -> String {
    let name = words.first().map_or("", String::as_str);
    if IN_LAB.contains(&name) {
        return format!(
            "bench {name} is for farspan's makers: build their program with `make lab`, and run `farspan-lab bench {name}`"
        );
    }
    unknown_name("benchmark", name, &["sim"], &["udp"])
}

/// Runs the benchmarks round by round, and gives the median run of each.
fn sim(args: &BenchSimArgs, itself: &[OsString]) -> Result<(), Failure> {
    let benchmarks = chosen(args)?;
    let mut load_average: Vec<_> = load().into_iter().collect();
    let mut runs: Vec<Vec<Measured>> = benchmarks.iter().map(|_| Vec::new()).collect();
    for round in 0..args.repeat {
        for (benchmark, runs) in benchmarks.iter().zip(&mut runs) {
            if !args.quiet {
                let Benchmark { name, threads, .. } = benchmark;
                output::note(&format!("round {} of {}: {name}, threads {threads}", round + 1, args.repeat));
            }
            runs.push(measure(benchmark, args.engine, itself)?);
        }
    }
    load_average.extend(load());
    let benchmarks = runs.into_iter().filter_map(median).collect();
    let document = Document { benchmarks, load_average, repeat: args.repeat };
    if args.json {
        output::json(&document);
    } else {
        output::text(&table(&document));
    }
    Ok(())
}

/// The benchmarks that `--only` leaves, on each number of threads that they can use.
fn chosen(args: &BenchSimArgs) -> Result<Vec<Benchmark>, Failure> {
    let mut all = every();
    let names: Vec<_> = all.iter().map(|benchmark| benchmark.name.clone()).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    if let Some(stray) = args.only.iter().find(|part| !names.iter().any(|name| name.contains(part.as_str())))
    {
        return Err(Failure::BadInput(format!(
            "--only {stray}: {}",
            unknown_name("benchmark", stray, &names, &[])
        )));
    }
    all.retain(|benchmark| {
        args.only.is_empty() || args.only.iter().any(|part| benchmark.name.contains(part))
    });
    let mut chosen = Vec::new();
    for benchmark in all {
        let set: Vec<_> = benchmark.set.iter().chain(&args.set).cloned().collect();
        let resolved = Request { set: set.clone(), ..Request::new(benchmark.scenario) }.resolve()?;
        let world = World::build(&resolved)?;
        let mut threads: Vec<_> =
            (1..=args.threads).map(|most| world.threads(threaded(args.engine, most))).collect();
        threads.dedup();
        let with =
            |threads| Benchmark { name: benchmark.name.clone(), set: set.clone(), threads, ..benchmark };
        chosen.extend(threads.into_iter().map(with));
    }
    Ok(chosen)
}

/// Three networks, full and plain ports, without and with probes.
fn every() -> Vec<Benchmark> {
    let networks = [
        ("fat_tree_k8_permutation", ["bench/fat-tree", "bench/fat-tree-fifo"], &[][..]),
        (
            "fat_tree_k16_permutation",
            ["bench/fat-tree", "bench/fat-tree-fifo"],
            &["topology.k=16", "workload.flow_size=4MiB"],
        ),
        ("two_sites_k8_permutation", ["bench/two-sites", "bench/two-sites-fifo"], &[]),
    ];
    let mut all = Vec::new();
    for (network, scenarios, set) in networks {
        for (scenario, ports) in scenarios.into_iter().zip(["", "_fifo"]) {
            for (probes, suffix) in [(&[][..], ""), (&PROBES, "_probes")] {
                all.push(Benchmark {
                    name: format!("{network}{ports}{suffix}"),
                    scenario,
                    set: set.iter().chain(probes).map(|set| (*set).to_owned()).collect(),
                    threads: 1,
                });
            }
        }
    }
    all
}

/// Runs a benchmark in a process of its own.
fn measure(benchmark: &Benchmark, engine: EngineKind, itself: &[OsString]) -> Result<Measured, Failure> {
    let Benchmark { name, scenario, set, threads } = benchmark;
    let fail = |problem: String| Failure::Failed(format!("{name}: {problem}"));
    let [program, first @ ..] = itself else { return Err(fail("this program has no name".to_owned())) };
    let mut command = Command::new(program);
    command.args(first).args(["run", scenario, "--json", "--quiet", "--engine", engine.name()]);
    command.args(["--threads", &threads.to_string()]);
    command.args(set.iter().flat_map(|set| ["--set", set]));
    let done = command.stdin(Stdio::null()).output().map_err(|error| fail(error.to_string()))?;
    if !done.status.success() {
        return Err(fail(format!("{}: {}", done.status, String::from_utf8_lossy(&done.stderr).trim())));
    }
    let run: Run = serde_json::from_slice(&done.stdout).map_err(|error| fail(error.to_string()))?;
    // A tiny run may take less time than the clock resolves.
    let wall_time_s = (run.wall_time_s - run.setup_time_s).max(1e-9);
    Ok(Measured {
        name: name.clone(),
        engine: engine.name(),
        threads: run.threads,
        packet_hops: run.packet_hops,
        packet_hops_per_s: run.packet_hops as f64 / wall_time_s,
        ns_per_hop: wall_time_s * 1e9 / run.packet_hops as f64,
        wall_time_s,
        setup_time_s: run.setup_time_s,
        peak_rss_bytes: run.peak_rss_bytes,
    })
}

/// The run with the median rate; of an even number, the slower of the two in the middle.
fn median(mut runs: Vec<Measured>) -> Option<Measured> {
    runs.sort_by(|a, b| a.packet_hops_per_s.total_cmp(&b.packet_hops_per_s));
    let middle = runs.len().saturating_sub(1) / 2;
    runs.into_iter().nth(middle)
}

fn table(document: &Document) -> String {
    let mut table = Table::new([
        "benchmark",
        "engine",
        "threads",
        "packet-hops",
        "a second",
        "ns each",
        "time",
        "set-up",
        "peak memory",
    ]);
    for b in &document.benchmarks {
        table.row([
            b.name.clone(),
            b.engine.to_owned(),
            b.threads.to_string(),
            with_prefix(b.packet_hops as f64, ""),
            with_prefix(b.packet_hops_per_s, ""),
            number(Some(b.ns_per_hop)),
            time(Some(b.wall_time_s * 1e6)),
            time(Some(b.setup_time_s * 1e6)),
            bytes(Some(b.peak_rss_bytes as f64)),
        ]);
    }
    let rounds = rounds(document.repeat, &document.load_average);
    format!("{}\nset-up is not in the rate; {rounds}\n", table.render(&[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(packet_hops_per_s: f64) -> Measured {
        Measured {
            name: "x".to_owned(),
            engine: "windowed",
            threads: 1,
            packet_hops: 1,
            packet_hops_per_s,
            ns_per_hop: 1.0,
            wall_time_s: 1.0,
            setup_time_s: 0.0,
            peak_rss_bytes: 0,
        }
    }

    #[test]
    fn the_median_run_counts() {
        let median = |rates: &[f64]| median(rates.iter().copied().map(measured).collect());
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(measured(2.0)));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(measured(2.0)));
        assert_eq!(median(&[5.0]), Some(measured(5.0)));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn every_benchmark_has_a_name_of_its_own_and_a_scenario_that_builds() {
        let mut names = std::collections::BTreeSet::new();
        for Benchmark { name, scenario, set, .. } in every() {
            let resolved = Request { set, ..Request::new(scenario) }.resolve().unwrap();
            World::build(&resolved).unwrap();
            assert!(names.insert(name));
        }
        assert_eq!(names.len(), 12);
    }
}
