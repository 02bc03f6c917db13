//! `farspan-lab bench congestion`: what an ACK costs each control, in instructions and in time, and the bytes of its state.
//!
//! Every control sees the same ACKs. Those of a steady flow end rounds and batches as they come; those that come at once end
//! none, so that what a control does only now and then is left out.

use super::steps::{LONG, NO_VALGRIND, instructions_per_step, ns_per_step};
use crate::failure::Failure;
use clap::Args;
use farspan_scenario::unknown_name;
use farspan_terminal::format::{Table, bytes, number};
use farspan_terminal::output;
use farspan_terminal::rounds::{load, rounds};
use farspan_transport::Path;
use farspan_transport::congestion::{
    self, Ack, Congestion as _, CongestionConfig, Control, SendRecord, Start,
};
use farspan_units::{Bytes, Duration, FlowId, HopTelemetry, Rate, Telemetry, Time};
use serde::Serialize;
use std::hint::black_box;
use std::str::FromStr;

/// ACKs of a wave of the delay: as long as it grows, it falls.
const WAVE: usize = 250;
/// The largest queue of a wave.
const LARGEST_QUEUE: Duration = Duration::from_us(12);
/// Marks are set from this queue on.
const MARKED_FROM: Duration = Duration::from_us(6);
/// Ports of a path inside a fat tree that write telemetry.
const PORTS: usize = 5;
/// A control whose instructions are counted, in the arguments of the process that valgrind runs.
const FORM: &str = "CONTROL:HOPS:steady|burst:ACKS";

/// Arguments of `bench congestion`.
#[derive(Args, Debug)]
pub struct BenchCongestionArgs {
    /// Measure only controls whose name contains this; can be given several times
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
    /// Give a control its ACKs, for valgrind to count
    #[arg(long, hide = true)]
    feed: Option<CountedAcks>,
}

/// When ACKs come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Arrival {
    /// One a packet time.
    Steady,
    /// One a nanosecond: all within a round.
    Burst,
}

impl Arrival {
    const fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Burst => "burst",
        }
    }
}

/// One control in numbers.
#[derive(Serialize)]
struct CongestionMeasured {
    /// The control.
    name: &'static str,
    /// Ports whose telemetry each ACK brings; none for controls that ask for none.
    hops: Option<usize>,
    /// Instructions of an ACK of a steady flow, with the call; none without valgrind.
    instructions_per_ack: Option<f64>,
    /// Instructions of an ACK that ends no round and no batch.
    instructions_between: Option<f64>,
    /// Nanoseconds of an ACK of a steady flow.
    ns_per_ack: f64,
    /// State of a flow.
    state_bytes: u64,
    /// State that the flows of a path share.
    shared_bytes: u64,
    /// Bytes that the sender keeps of each packet in flight because the control asks for them.
    record_bytes: u64,
}

/// All controls, and how busy the machine was.
#[derive(Serialize)]
struct CongestionDocument {
    benchmarks: Vec<CongestionMeasured>,
    load_average: Vec<f64>,
    repeat: u32,
}

/// A control, and how many ports write telemetry on its packets.
#[derive(Clone, PartialEq, Debug)]
struct CongestionBenchmark {
    config: CongestionConfig,
    hops: usize,
}

impl CongestionBenchmark {
    /// A flow on the path, and what its control shares with others.
    fn control(&self) -> (Control, Bytes) {
        let path = path(&self.config);
        let params = self.config.params(&path);
        let start = Start {
            path: &path,
            size: Bytes::MAX,
            initial_cwnd: path.bdp,
            active_flows: 0,
            seed: 1,
            flow: FlowId(0),
        };
        (params.build(&start), params.shared_bytes())
    }
}

/// 100 Gb/s, 12 us, six links.
fn path(config: &CongestionConfig) -> Path {
    let (line_rate, base_rtt) = (Rate::from_gbps(100), Duration::from_us(12));
    let path = Path::new(line_rate, base_rtt);
    Path {
        hops: 6,
        max_queueing: Duration::from_us(400),
        k_min: Some(line_rate.bytes_in(MARKED_FROM)),
        header: path.header + config.needs().signal_bytes.data,
        ..path
    }
}

/// The ACKs of a flow whose path is full, and whose queue comes and goes.
struct AckSequence {
    acks: Vec<Ack<'static>>,
    telemetry: Vec<Telemetry>,
}

impl AckSequence {
    fn new(benchmark: &CongestionBenchmark, arrival: Arrival) -> Self {
        let path = path(&benchmark.config);
        let gap = match arrival {
            Arrival::Steady => path.packet_time(),
            Arrival::Burst => Duration::from_ns(1),
        };
        let mut sequence = Self { acks: Vec::new(), telemetry: Vec::new() };
        for n in 0..LONG {
            // Twice the longest round trip passes first, so that no send time lies before the start.
            let now = Time::ZERO + (path.base_rtt + LARGEST_QUEUE) * 2 + gap * n as u64;
            let rising = WAVE - (n % WAVE).abs_diff(WAVE / 2) * 2;
            let queue = match arrival {
                Arrival::Steady => LARGEST_QUEUE * rising as u64 / WAVE as u64,
                Arrival::Burst => LARGEST_QUEUE / 2,
            };
            let delivered = path.mss * (n as u64 + 1);
            sequence.acks.push(ack(benchmark, &path, now, queue, delivered));
            sequence.telemetry.push(telemetry(
                benchmark.hops,
                &path,
                now,
                queue,
                path.mtu() * (n as u64 + 1),
            ));
        }
        sequence
    }

    /// The ACKs with their telemetry.
    fn acks(&self) -> Vec<Ack<'_>> {
        let each = self.acks.iter().zip(&self.telemetry);
        let seen = |telemetry| Some(telemetry).filter(|telemetry: &&Telemetry| !telemetry.hops().is_empty());
        each.map(|(ack, telemetry)| Ack { telemetry: seen(telemetry), ..*ack }).collect()
    }
}

/// Gives ACKs to a control.
fn feed(acks: &[Ack<'_>], control: &mut Control) {
    for ack in acks {
        black_box(control.on_ack(black_box(ack)));
    }
}

fn ack(
    benchmark: &CongestionBenchmark,
    path: &Path,
    now: Time,
    queue: Duration,
    delivered: Bytes,
) -> Ack<'static> {
    let rtt = path.base_rtt + queue;
    let (sent_at, in_flight) = (now - rtt, path.line_rate.bytes_in(rtt));
    let record = SendRecord {
        in_flight,
        cwnd: in_flight,
        delivered: delivered.saturating_sub(in_flight),
        delivered_at: sent_at,
        first_sent_at: sent_at - path.base_rtt / 2,
        app_limited: false,
    };
    Ack {
        now,
        bytes_acked: path.mss,
        mapped: Bytes::ZERO,
        acked_packets: 1,
        ecn_ce: queue >= MARKED_FROM,
        rtt,
        sent_at,
        in_flight,
        delivered,
        acked_below: 0,
        sent_below: 0,
        has_losses: false,
        at_send: benchmark.config.needs().send_record.then_some(record),
        telemetry: None,
    }
}

/// Ports a microsecond apart, of which the middle one has the queue.
fn telemetry(hops: usize, path: &Path, now: Time, queue: Duration, sent: Bytes) -> Telemetry {
    let mut telemetry = Telemetry::default();
    for hop in 0..hops {
        telemetry.push(HopTelemetry {
            at: now - Duration::from_us((hops - hop) as u64),
            sent,
            queued: if hop == hops / 2 { path.line_rate.bytes_in(queue) } else { Bytes::ZERO },
            rate: path.line_rate,
        });
    }
    telemetry
}

/// Counts and times the ACKs of the controls, one after the other.
pub fn congestion(args: &BenchCongestionArgs) -> Result<(), Failure> {
    if let Some(counted) = &args.feed {
        let sequence = AckSequence::new(&counted.benchmark, counted.arrival);
        feed(&sequence.acks()[..counted.acks], &mut counted.benchmark.control().0);
        return Ok(());
    }
    let chosen = chosen(args)?;
    let mut load_average: Vec<_> = load().into_iter().collect();
    let mut benchmarks = Vec::new();
    for benchmark in &chosen {
        if !args.quiet {
            output::note(&format!("{}, telemetry of {} ports", benchmark.config.name(), benchmark.hops));
        }
        benchmarks.push(measure(benchmark, args.repeat)?);
    }
    load_average.extend(load());
    if benchmarks.iter().any(|b| b.instructions_per_ack.is_none()) {
        output::note(NO_VALGRIND);
    }
    let document = CongestionDocument { benchmarks, load_average, repeat: args.repeat };
    if args.json {
        output::json(&document);
    } else {
        output::text(&table(&document));
    }
    Ok(())
}

/// The controls that `--only` leaves; those that read the telemetry of each port with one port and with all of a path.
fn chosen(args: &BenchCongestionArgs) -> Result<Vec<CongestionBenchmark>, Failure> {
    let is_known = |part: &&String| congestion::NAMES.iter().any(|name| name.contains(part.as_str()));
    if let Some(stray) = args.only.iter().find(|part| !is_known(part)) {
        let problem = unknown_name("control", stray, congestion::NAMES, &[]);
        return Err(Failure::BadInput(format!("--only {stray}: {problem}")));
    }
    let is_wanted =
        |name: &&&str| args.only.is_empty() || args.only.iter().any(|part| name.contains(&**part));
    let configs =
        congestion::NAMES.iter().filter(is_wanted).filter_map(|name| CongestionConfig::by_name(name));
    Ok(configs
        .flat_map(|config| {
            ports(&config).iter().map(move |&hops| CongestionBenchmark { config: config.clone(), hops })
        })
        .collect())
}

/// The numbers of ports whose telemetry an ACK brings: a control is measured once with each.
fn ports(config: &CongestionConfig) -> &'static [usize] {
    match config.needs().telemetry.most_hops() {
        0 => &[0],
        1 => &[1],
        _ => &[1, PORTS],
    }
}

fn measure(benchmark: &CongestionBenchmark, repeat: u32) -> Result<CongestionMeasured, Failure> {
    let (control, shared) = benchmark.control();
    let record = if benchmark.config.needs().send_record { size_of::<SendRecord>() } else { 0 };
    Ok(CongestionMeasured {
        name: benchmark.config.name(),
        hops: (benchmark.hops > 0).then_some(benchmark.hops),
        instructions_per_ack: instructions_per_ack(benchmark, Arrival::Steady)?,
        instructions_between: instructions_per_ack(benchmark, Arrival::Burst)?,
        ns_per_ack: ns_per_ack(benchmark, repeat),
        state_bytes: control.state_bytes().get(),
        shared_bytes: shared.get(),
        record_bytes: record as u64,
    })
}

/// None without valgrind.
fn instructions_per_ack(benchmark: &CongestionBenchmark, arrival: Arrival) -> Result<Option<f64>, Failure> {
    let counted = |acks| CountedAcks { benchmark: benchmark.clone(), arrival, acks };
    instructions_per_step("congestion", |acks| counted(acks).to_string())
}

/// Each pass over all ACKs has a new flow.
fn ns_per_ack(benchmark: &CongestionBenchmark, repeat: u32) -> f64 {
    let sequence = AckSequence::new(benchmark, Arrival::Steady);
    let acks = sequence.acks();
    ns_per_step(repeat, || benchmark.control().0, |control| feed(&acks, control))
}

/// ACKs that a process of their own gives to a control.
#[derive(Clone, PartialEq, Debug)]
struct CountedAcks {
    benchmark: CongestionBenchmark,
    arrival: Arrival,
    acks: usize,
}

impl std::fmt::Display for CountedAcks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let CongestionBenchmark { config, hops } = &self.benchmark;
        write!(f, "{}:{hops}:{}:{}", config.name(), self.arrival.name(), self.acks)
    }
}

impl FromStr for CountedAcks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let [name, hops, arrival, acks] = text.split(':').collect::<Vec<_>>()[..] else { return None };
            let arrival =
                [Arrival::Steady, Arrival::Burst].into_iter().find(|known| known.name() == arrival)?;
            let config = CongestionConfig::by_name(name)?;
            let benchmark = CongestionBenchmark { config, hops: hops.parse().ok()? };
            let acks = acks.parse().ok().filter(|acks| *acks <= LONG)?;
            (benchmark.hops <= Telemetry::MOST_HOPS).then_some(Self { benchmark, arrival, acks })
        };
        parse().ok_or_else(|| format!("write {FORM}"))
    }
}

fn table(document: &CongestionDocument) -> String {
    let heading =
        ["control", "ports", "instructions an ACK", "between rounds", "ns", "state", "shared", "a packet"];
    let mut table = Table::new(heading);
    for b in &document.benchmarks {
        table.row([
            b.name.to_owned(),
            b.hops.map_or_else(|| "-".to_owned(), |hops| hops.to_string()),
            number(b.instructions_per_ack),
            number(b.instructions_between),
            number(Some(b.ns_per_ack)),
            bytes(Some(b.state_bytes as f64)),
            bytes(Some(b.shared_bytes as f64)),
            bytes(Some(b.record_bytes as f64)),
        ]);
    }
    let CongestionDocument { repeat, load_average, .. } = document;
    let note = "ports: those whose telemetry an ACK brings; state: of a flow, shared by the flows of a path, and of a packet \
                in flight";
    format!("{}\n{note}; {}\n", table.render(&[]), rounds(*repeat, load_average))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(only: &[&str]) -> BenchCongestionArgs {
        let only = only.iter().map(|name| (*name).to_owned()).collect();
        BenchCongestionArgs { only, repeat: 1, json: false, quiet: true, feed: None }
    }

    fn benchmark(name: &str, hops: usize) -> CongestionBenchmark {
        CongestionBenchmark { config: CongestionConfig::by_name(name).unwrap(), hops }
    }

    #[test]
    fn every_control_is_measured_and_those_with_telemetry_at_one_port_and_at_five() {
        let all = chosen(&args(&[])).unwrap();
        for name in congestion::NAMES {
            let hops: Vec<_> = all.iter().filter(|b| b.config.name() == *name).map(|b| b.hops).collect();
            let expected = match *name {
                "hpcc" | "powertcp" => vec![1, 5],
                "poseidon" => vec![1],
                _ => vec![0],
            };
            assert_eq!(hops, expected, "{name}");
        }
        assert_eq!(chosen(&args(&["hpcc"])).unwrap(), [benchmark("hpcc", 1), benchmark("hpcc", 5)]);
        assert!(matches!(chosen(&args(&["hpc2"])), Err(Failure::BadInput(_))));
    }

    #[test]
    fn the_acks_of_a_steady_flow_move_rates_and_those_of_a_burst_end_no_batch() {
        let rates = |arrival| {
            let (oscar, mut rates) = (benchmark("oscar", 0), std::collections::BTreeSet::new());
            let (sequence, mut control) = (AckSequence::new(&oscar, arrival), oscar.control().0);
            for ack in &sequence.acks {
                rates.insert(control.on_ack(ack).pacing_rate);
            }
            rates.len()
        };
        // The flow has the whole link: its rate hardly moves, but it does.
        assert!(rates(Arrival::Steady) > 1);
        assert_eq!(rates(Arrival::Burst), 1);
    }

    #[test]
    fn acks_come_in_order_and_say_what_a_full_path_says() {
        for (arrival, name, hops) in
            [(Arrival::Steady, "hpcc", 5), (Arrival::Steady, "bbr", 0), (Arrival::Burst, "hpcc", 5)]
        {
            let sequence = AckSequence::new(&benchmark(name, hops), arrival);
            assert_eq!(sequence.acks.len(), LONG);
            for (pair, telemetry) in sequence.acks.windows(2).zip(&sequence.telemetry) {
                assert!(pair[0].now < pair[1].now && pair[0].sent_at < pair[1].sent_at);
                assert_eq!(pair[0].sent_at + pair[0].rtt, pair[0].now);
                assert_eq!(pair[0].at_send.is_some(), name == "bbr");
                assert_eq!(telemetry.hops().len(), hops);
            }
        }
        let marked = |arrival| {
            AckSequence::new(&benchmark("dctcp", 0), arrival).acks.iter().filter(|ack| ack.ecn_ce).count()
        };
        assert!((LONG * 2 / 5..LONG * 3 / 5).contains(&marked(Arrival::Steady)));
        assert_eq!(marked(Arrival::Burst), LONG);
    }

    #[test]
    fn what_is_counted_is_written_and_read_alike() {
        let counted = CountedAcks { benchmark: benchmark("hpcc", 5), arrival: Arrival::Burst, acks: LONG };
        assert_eq!(counted.to_string(), "hpcc:5:burst:4500");
        assert_eq!(counted.to_string().parse(), Ok(counted));
        for bad in [
            "",
            "hpcc",
            "hpcc:33:burst:1",
            "hpcc:5:burst:4501",
            "hpcd:5:burst:1",
            "hpcc:5:burs:1",
            "hpcc:5:burst:1:",
        ] {
            assert_eq!(bad.parse::<CountedAcks>(), Err(format!("write {FORM}")), "{bad}");
        }
    }
}
