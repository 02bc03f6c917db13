//! `farspan-lab bench proxy`: what one packet costs our proxies, in instructions and in time, beside what the paper measured of its own
//! (Zhou et al., "Mitigating Inter-datacenter Incast with a Proxy", HotNets 2025, section 5).
//!
//! It is the code alone, from the bytes of a header to those of all that leaves for it: no socket, no kernel, no payload. The
//! paper's naive proxy has all three in its time; its eBPF program has none.

mod rig;

use self::rig::{CASES, Case, Packet, Relaying, Rig};
use super::steps::{LONG, NO_VALGRIND, instructions_per_step, ns_per_step, passes};
use crate::failure::Failure;
use clap::Args;
use farspan_metrics::{Quantile, median, nearest_rank};
use farspan_scenario::unknown_name;
use farspan_terminal::format::{Table, number};
use farspan_terminal::output;
use farspan_terminal::rounds::{load, rounds};
use farspan_world::clock::now;
use serde::Serialize;
use std::str::FromStr;

/// Packets whose instructions are counted, in the arguments of the process that valgrind runs.
const FORM: &str = "BENCHMARK:PACKETS";
/// Said in the document and below the table.
const SCOPE: &str = "the code alone, from the bytes of a header to those of all that leaves: no socket, no kernel, no payload";

/// Arguments of `bench proxy`.
#[derive(Args, Debug)]
pub struct BenchProxyArgs {
    /// Run only benchmarks whose name contains this; can be given several times
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
    /// Number of timing rounds. Instructions need only one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
    /// Give a proxy its packets, for valgrind to count
    #[arg(long, hide = true)]
    feed: Option<CountedPackets>,
}

/// One packet at one proxy in numbers.
#[derive(Serialize)]
struct ProxyMeasured {
    name: &'static str,
    /// The paper's word for the proxy.
    proxy: &'static str,
    /// How losses on the way to it are found, by the words of `scheme.proxy.loss`; none of a naive one, whose connection finds them.
    loss: Option<&'static str>,
    packet: &'static str,
    /// None without valgrind.
    instructions_per_packet: Option<f64>,
    /// Nanoseconds a packet in the median pass over many.
    ns_per_packet: f64,
    /// The median of packets that are timed one by one, with the reading of the clock.
    ns_median: f64,
    /// As the median.
    ns_p99: f64,
}

/// A time that the paper prints.
#[derive(Serialize)]
struct Printed {
    proxy: &'static str,
    statistic: &'static str,
    ns: f64,
    /// Its subject.
    of: &'static str,
}

/// The times of section 5.
const PAPER: [Printed; 3] = [
    Printed {
        proxy: "naive",
        statistic: "p99",
        ns: 359_170.0,
        of: "in user space, from the TC hook and back (figure 4)",
    },
    Printed {
        proxy: "streamlined",
        statistic: "median",
        ns: 420.0,
        of: "the eBPF program alone (figure 5 (a))",
    },
    Printed {
        proxy: "streamlined",
        statistic: "median",
        ns: 325_920.0,
        of: "the eBPF program with the stack and the wire (figure 5 (b))",
    },
];

/// All benchmarks, the paper's numbers, and how busy the machine was.
#[derive(Serialize)]
struct ProxyDocument {
    benchmarks: Vec<ProxyMeasured>,
    scope: &'static str,
    /// The median of a reading of the clock, which is in the median and the p99 of packets.
    clock_ns: f64,
    paper: [Printed; 3],
    load_average: Vec<f64>,
    repeat: u32,
}

impl Relaying {
    const fn words(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Naive => ("naive", None),
            Self::Trim => ("streamlined", Some("trim")),
            Self::GapPath => ("streamlined", Some("gap-path")),
            Self::GapFlow => ("streamlined", Some("gap-flow")),
        }
    }
}

impl Packet {
    const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Trimmed => "trimmed",
            Self::Gap => "gap",
            Self::Ack => "ack",
        }
    }
}

/// Counts and times packets, one benchmark after the other.
pub fn proxy(args: &BenchProxyArgs) -> Result<(), Failure> {
    if let Some(counted) = &args.feed {
        let mut rig = Rig::new(counted.case);
        (0..counted.packets).for_each(|n| rig.step(n));
        return Ok(());
    }
    let chosen = chosen(args)?;
    let mut load_average: Vec<_> = load().into_iter().collect();
    let mut benchmarks = Vec::new();
    for case in chosen {
        if !args.quiet {
            output::note(case.name);
        }
        benchmarks.push(measure(case, args.repeat)?);
    }
    load_average.extend(load());
    if benchmarks.iter().any(|b| b.instructions_per_packet.is_none()) {
        output::note(NO_VALGRIND);
    }
    let clock_ns = clock_ns(args.repeat);
    let repeat = args.repeat;
    let document = ProxyDocument { benchmarks, scope: SCOPE, clock_ns, paper: PAPER, load_average, repeat };
    if args.json {
        output::json(&document);
    } else {
        output::text(&table(&document));
    }
    Ok(())
}

/// The benchmarks that `--only` leaves.
fn chosen(args: &BenchProxyArgs) -> Result<Vec<Case>, Failure> {
    let names = CASES.map(|case| case.name);
    if let Some(stray) = args.only.iter().find(|part| !names.iter().any(|name| name.contains(part.as_str())))
    {
        let problem = unknown_name("benchmark", stray, &names, &[]);
        return Err(Failure::BadInput(format!("--only {stray}: {problem}")));
    }
    let is_wanted =
        |case: &Case| args.only.is_empty() || args.only.iter().any(|part| case.name.contains(part.as_str()));
    Ok(CASES.into_iter().filter(is_wanted).collect())
}

fn measure(case: Case, repeat: u32) -> Result<ProxyMeasured, Failure> {
    let counted = |packets| CountedPackets { case, packets }.to_string();
    let instructions_per_packet = instructions_per_step("proxy", counted)?;
    let whole = |rig: &mut Rig| (0..LONG).for_each(|n| rig.step(n));
    let ns_per_packet = ns_per_step(repeat, || Rig::new(case), whole);
    let single = ns_of_each(repeat, || Rig::new(case), Rig::step);
    let ((proxy, loss), packet) = (case.kind.words(), case.packet.name());
    let (ns_median, ns_p99) = (median(&single), p99(&single));
    Ok(ProxyMeasured {
        name: case.name,
        proxy,
        loss,
        packet,
        instructions_per_packet,
        ns_per_packet,
        ns_median,
        ns_p99,
    })
}

/// A reading of the clock takes so long, by the median.
fn clock_ns(repeat: u32) -> f64 {
    median(&ns_of_each(repeat, || (), |(), _| {}))
}

/// Nanoseconds of each step, alone, in rising order: a reading of the clock is in each.
fn ns_of_each<S>(repeat: u32, fresh: impl Fn() -> S, step: impl Fn(&mut S, usize)) -> Vec<f64> {
    let times = passes(repeat, fresh, |mut state| {
        let mut times = Vec::with_capacity(LONG);
        for n in 0..LONG {
            let began = now();
            step(&mut state, n);
            times.push(began.elapsed().as_nanos() as f64);
        }
        times
    });
    let mut times = times.concat();
    times.sort_by(f64::total_cmp);
    times
}

fn p99(sorted: &[f64]) -> f64 {
    nearest_rank(sorted, sorted.len() as u64, Quantile::P99).expect("a pass has packets")
}

/// Packets that a process of their own gives to a proxy.
#[derive(Clone, PartialEq, Debug)]
struct CountedPackets {
    case: Case,
    packets: usize,
}

impl std::fmt::Display for CountedPackets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.case.name, self.packets)
    }
}

impl FromStr for CountedPackets {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (name, packets) = text.split_once(':')?;
            let case = CASES.into_iter().find(|case| case.name == name)?;
            let packets = packets.parse().ok().filter(|packets| *packets <= LONG)?;
            Some(Self { case, packets })
        };
        parse().ok_or_else(|| format!("write {FORM}"))
    }
}

fn table(document: &ProxyDocument) -> String {
    let heading = ["benchmark", "instructions a packet", "ns", "median, ns", "p99, ns", "the paper's"];
    let mut table = Table::new(heading);
    // With all digits that the paper prints.
    let us = |printed: &Printed| format!("{} {} us", printed.statistic, printed.ns / 1e3);
    for b in &document.benchmarks {
        // The paper's time is of data.
        let is_data = b.name.ends_with("_data");
        let printed = document.paper.iter().find(|printed| is_data && printed.proxy == b.proxy);
        table.row([
            b.name.to_owned(),
            number(b.instructions_per_packet),
            number(Some(b.ns_per_packet)),
            number(Some(b.ns_median)),
            number(Some(b.ns_p99)),
            printed.map(us).unwrap_or_default(),
        ]);
    }
    let ProxyDocument { scope, clock_ns, paper, repeat, load_average, .. } = document;
    let of = |printed: &Printed| format!("the paper's {}, {}: {}", printed.proxy, us(printed), printed.of);
    let paper = paper.iter().map(of).collect::<Vec<_>>().join("\n");
    let clock = number(Some(*clock_ns));
    format!(
        "{}\nours: {scope}\nns: of the median pass over {LONG} packets; median and p99: of packets timed one by one, of which \
         {clock} ns are the clock's\n{paper}\n{}\n",
        table.render(&[]),
        rounds(*repeat, load_average)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_written_and_read_alike() {
        for case in CASES {
            let counted = CountedPackets { case, packets: LONG };
            assert_eq!(counted.to_string(), format!("{}:4500", case.name));
            assert_eq!(counted.to_string().parse(), Ok(counted));
        }
        for bad in ["", "naive_data", "naive_data:4501", "naive_dat:1", "naive_data:1:", "naive_data:-1"] {
            assert_eq!(bad.parse::<CountedPackets>(), Err(format!("write {FORM}")), "{bad}");
        }
    }

    #[test]
    fn the_p99_is_of_the_packets_not_of_their_largest() {
        let times: Vec<_> = (1..=200).map(f64::from).collect();
        assert_eq!((p99(&times), median(&times)), (198.0, 100.5));
    }

    #[test]
    fn a_proxy_has_the_papers_time_beside_it_that_leaves_out_most() {
        for case in CASES {
            let printed = PAPER.iter().find(|printed| printed.proxy == case.kind.words().0).unwrap();
            let expected = if case.kind == Relaying::Naive { ("p99", 359_170.0) } else { ("median", 420.0) };
            assert_eq!((printed.statistic, printed.ns), expected);
        }
    }
}
