//! A run of a world, and what it leaves: one document and four tables.

mod collectives;
mod folder;
mod proxies;
mod setup;
mod trace;

use crate::assemble::{World, fault::fault_name, ports::tier_name, select::probe};
use farspan_fabric::fault::{FaultKind, Loss, LossProcess};
use farspan_fabric::{Fault, Link, Network};
use farspan_metrics::{
    ByteSums, Completion, Fairness, FaultyLinks, FctTable, FlowCounts, FlowRecord, FlowTable, Goodput,
    IterationRecord, IterationTable, Member, OfferedLoad, PacketSums, Pfc, PortRecord, PortSums, PortTable,
    Queues, Recovery, RttSummary, RttTable, SeriesId, SeriesRecord, SeriesTable, SizeBins, Summary,
    TableError,
};
use farspan_scenario::Resolved;
use farspan_scenario::model::Traffic;
use farspan_sim::{EngineKind, FlowOutcome, Outcome, PortOutcome, Progress, Rtt, Rtts, Sample, SampleId};
use farspan_units::{Bytes, Duration, FlowId, HostId, Rate, Time};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use folder::{FolderError, PlannedRun, ResultFolder};
pub use trace::Traces;

/// The results of a run.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Results {
    /// The document of `farspan run --json`. What only the caller knows (commit, wall time, memory) is empty.
    pub summary: Summary,
    /// Flows by id.
    pub flows: Vec<FlowRecord>,
    /// Ports by id.
    pub ports: Vec<PortRecord>,
    /// In order of time.
    pub series: Vec<SeriesRecord>,
    /// Iterations of collectives, by part, iteration and group.
    pub iterations: Vec<IterationRecord>,
    /// The traces of flows and ports.
    pub traces: Traces,
    /// The resolved scenario.
    pub scenario: String,
}

/// Why results cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// The file system refuses.
    #[error("{}: cannot be written ({source}); choose another --out, or free disk space", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// Runs a world to its end, or until `progress` returns `false`.
#[must_use]
pub fn run(
    resolved: &Resolved,
    world: &World,
    engine: EngineKind,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Results {
    let outcome = farspan_sim::run(&world.spec, engine, progress);
    Results::of(resolved, world, (engine.name(), world.threads(engine)), outcome)
}

impl Results {
    /// The results of a run of `world` by the engine of this name on so many threads. `outcome` has every flow and every
    /// port of the world.
    #[must_use]
    pub fn of(resolved: &Resolved, world: &World, engine: (&str, u16), mut outcome: Outcome) -> Self {
        let ended = std::mem::take(&mut outcome.flows);
        let flows = flow_records(resolved, world, ended, outcome.goodput.as_deref());
        let network = &world.spec.network;
        let ports: Vec<_> = network
            .links
            .iter()
            .zip(&outcome.ports)
            .zip(fault_words(&world.spec.faults, network.links.len()))
            .map(|((link, port), faults)| port_record(network, link, port, faults))
            .collect();
        let series = series_records(network, &outcome);
        let mut summary = summary(resolved, world, engine, &outcome, (&flows, &ports, &series));
        let mut iterations = Vec::new();
        for plan in &world.collectives {
            let rows = collectives::iterations(resolved, world, plan, &flows);
            summary.collectives.push(collectives::summary(resolved, plan, &rows));
            iterations.extend(rows);
        }
        let traces = Traces::of(resolved, world, &mut outcome);
        Self { summary, flows, ports, series, iterations, traces, scenario: resolved.to_toml() }
    }

    /// Writes `scenario.toml`, the tables, the traces, and last `summary.json` into a folder, which is made if need be.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), SaveError> {
        std::fs::create_dir_all(folder)
            .map_err(|source| SaveError::Io { path: folder.to_owned(), source })?;
        write(&folder.join("scenario.toml"), &self.scenario)?;
        FlowTable::save(&folder.join("flows.parquet"), &self.flows)?;
        PortTable::save(&folder.join("ports.parquet"), &self.ports)?;
        SeriesTable::save(&folder.join("series.parquet"), &self.series)?;
        IterationTable::save(&folder.join("collectives.parquet"), &self.iterations)?;
        self.traces.save(folder)?;
        let summary = serde_json::to_string_pretty(&self.summary).expect("a summary has a JSON form");
        write(&folder.join("summary.json"), &(summary + "\n"))
    }
}

/// Writes a file that is complete once it has its name.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), SaveError> {
    let written = farspan_files::write(path, text.as_bytes());
    written.map_err(|source| SaveError::Io { path: path.to_owned(), source })
}

/// The flows of the workload with what became of them.
fn flow_records(
    resolved: &Resolved,
    world: &World,
    outcomes: Vec<FlowOutcome>,
    arrived: Option<&[Bytes]>,
) -> Vec<FlowRecord> {
    let tags: Vec<Arc<str>> = world.workload.tags.iter().map(|tag| tag.as_str().into()).collect();
    let parts = &resolved.scenario().workload;
    let poisson = |part: u32| matches!(parts[part as usize].traffic, Traffic::Poisson(_));
    let warmup = Time::ZERO + resolved.scenario().measure.warmup;
    let flows = (0..).zip(world.workload.flows.iter().zip(outcomes));
    let measured = world.spec.probes.goodput.as_ref().zip(arrived);
    let record = |(id, (flow, outcome)): (u32, (&farspan_workload::Flow, FlowOutcome))| {
        let mut record = FlowRecord {
            flow: FlowId(id),
            tag: Arc::clone(&tags[flow.tag as usize]),
            poisson: poisson(flow.part),
            // When a flow that waits for others starts shows only now.
            measured: flow.measured && (!outcome.started || outcome.start >= warmup),
            goodput: None,
            outcome,
        };
        let under_way = measured.filter(|(span, _)| record.is_under_way(span));
        record.goodput =
            under_way.map(|(span, arrived)| Rate::per(arrived[id as usize], span.end - span.start));
        record
    };
    flows.map(record).collect()
}

fn port_record(network: &Network, link: &Link, port: &PortOutcome, faults: String) -> PortRecord {
    PortRecord {
        name: port.name.clone(),
        tier: tier_name(link.tier),
        sites: [link.from, link.to].map(|node| network.nodes[node.index()].site),
        bytes: port.sent_bytes,
        packets: port.sent_packets,
        drops: port.dropped_packets,
        losses: port.lost_packets,
        marks: port.marked_packets,
        trims: port.trimmed_packets,
        max_queue: port.max_queue,
        mean_queue: port.mean_queue,
        utilization: port.utilization,
        pauses: port.pauses,
        paused: port.paused,
        faults,
    }
}

/// The faults of each link, in words.
fn fault_words(faults: &[Fault], links: usize) -> Vec<String> {
    let mut words = vec![String::new(); links];
    for fault in faults {
        let kind = match &fault.kind {
            FaultKind::Rate(rate) => format!("{} {rate}", fault_name(&fault.kind)),
            FaultKind::Loss(Loss { process: LossProcess::Independent(probability), .. }) => {
                format!("{} {probability}", fault_name(&fault.kind))
            }
            kind => fault_name(kind).to_owned(),
        };
        let text = match fault.until {
            Time::MAX => format!("{kind} from {}", fault.at),
            until => format!("{kind} {} to {until}", fault.at),
        };
        for link in &fault.links {
            let of = &mut words[link.index()];
            if !of.is_empty() {
                of.push_str("; ");
            }
            of.push_str(&text);
        }
    }
    words
}

fn series_records(network: &Network, outcome: &Outcome) -> Vec<SeriesRecord> {
    let names: Vec<Arc<str>> = outcome.ports.iter().map(|port| port.name.as_str().into()).collect();
    let host = |host: HostId| network.nodes[host.index()].name.as_str().into();
    let hosts: BTreeMap<HostId, Arc<str>> = outcome.proxies.iter().map(|(id, _)| (*id, host(*id))).collect();
    let record = |sample: &Sample| SeriesRecord {
        t: sample.at,
        probe: probe(sample.probe),
        id: match sample.id {
            SampleId::Flow(flow) => SeriesId::Flow(flow),
            SampleId::Port(port) => SeriesId::Port(Arc::clone(&names[port.index()])),
            SampleId::Host(host) => SeriesId::Host(Arc::clone(&hosts[&host])),
        },
        value: sample.value,
    };
    outcome.samples.iter().map(record).collect()
}

fn summary(
    resolved: &Resolved,
    world: &World,
    (engine, threads): (&str, u16),
    outcome: &Outcome,
    (flows, ports, series): (&[FlowRecord], &[PortRecord], &[SeriesRecord]),
) -> Summary {
    let totals = &outcome.totals;
    let (recovery, pfc) = (Recovery::of(flows), pfc(world, outcome, ports));
    let packets =
        PacketSums::of(flows, totals.headers_dropped, totals.control_dropped, totals.dropped_first_rtt);
    let intra_bdp = world.intra.map_or(Bytes::ZERO, |path| path.bdp);
    Summary {
        farspan_version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: String::new(),
        scenario: resolved.name().to_owned(),
        scheme: world.scheme_name(resolved.scheme()),
        profile: resolved.profile().name().to_owned(),
        engine: engine.to_owned(),
        seed: resolved.seed(),
        threads: threads.into(),
        sim_time_s: outcome.end.since(Time::ZERO).as_secs_f64(),
        wall_time_s: 0.0,
        setup_time_s: 0.0,
        packet_hops: totals.packet_hops,
        peak_rss_bytes: 0,
        digest: format!("{:016x}", outcome.digest),
        packet_digest: format!("{:016x}", outcome.packet_digest),
        partial: outcome.interrupted,
        setup: setup::setup(resolved, world),
        acted: setup::acted(world, totals, &packets, &recovery, pfc),
        flows: FlowCounts::of(flows),
        fct: FctTable::of(flows, Completion::Sender),
        delivery: FctTable::of(flows, Completion::Receiver),
        sites: world.site_names.clone(),
        offered_load: offered_load(world),
        transient: world.offered_load.transient(),
        bytes: ByteSums::of(flows, totals.header_bytes),
        packets,
        recovery,
        fairness: fairness(resolved, flows, series),
        queues: Queues::of(ports, series, outcome.packet_delay_p99),
        ports: PortSums::of(ports, outcome.end.since(Time::ZERO)),
        goodput: goodput(resolved, world, outcome, flows),
        pfc,
        proxy: proxies::summary(world, outcome, flows),
        emulation: None,
        rtt: rtt(&outcome.rtt),
        slowdown_by_size: SizeBins::of(
            flows,
            world.spec.mss,
            intra_bdp,
            world.inter.map_or(intra_bdp, |path| path.bdp),
        ),
        collectives: Vec::new(),
        warnings: warnings(world, outcome),
        faults: FaultyLinks::of(ports.iter().map(|port| (&*port.name, &*port.faults, port.losses))),
    }
}

fn rtt(rtts: &Rtts) -> RttTable {
    let summary = |rtt: Rtt| {
        let [p50_us, p99_us, max_us] = [rtt.p50, rtt.p99, rtt.max].map(Duration::as_us_f64);
        RttSummary { p50_us, p99_us, max_us }
    };
    let [all, intra, inter] = [rtts.all, rtts.intra, rtts.inter].map(|rtt| rtt.map(summary));
    RttTable { all, intra, inter }
}

/// Pauses, where links are lossless.
fn pfc(world: &World, outcome: &Outcome, ports: &[PortRecord]) -> Option<Pfc> {
    world.spec.pool?.pause.map(|_| Pfc::of(ports, !outcome.deadlock.is_empty()))
}

/// Those of the scenario, whether pauses have brought ports to a halt, and whether goodput was measured beyond the end.
fn warnings(world: &World, outcome: &Outcome) -> Vec<String> {
    let deadlock = outcome.deadlock.first().map(|first| {
        let (count, name) = (outcome.deadlock.len(), &outcome.ports[first.index()].name);
        format!("the run ended in a deadlock: {count} paused ports, including {name}, wait for each other")
    });
    let after = |until: Time| {
        let end = outcome.end;
        format!(
            "the run ended at {end}, before measure.goodput_until = {until}: goodput also counts the time after the end, \
             when nothing arrives"
        )
    };
    let span = world.spec.probes.goodput.as_ref();
    let early =
        span.filter(|span| outcome.end < span.end && !outcome.interrupted).map(|span| after(span.end));
    world.warnings.iter().cloned().chain(deadlock).chain(early).collect()
}

/// The offered load as the document names it: `wan_0_to_1`.
fn offered_load(world: &World) -> OfferedLoad {
    let load = &world.offered_load;
    let wan = load.wan.iter().map(|way| (format!("wan_{}_to_{}", way.from, way.to), way.load));
    OfferedLoad { host: load.host, fabric: load.fabric, wan: wan.collect() }
}

/// Goodput between the two times of the scenario.
fn goodput(resolved: &Resolved, world: &World, outcome: &Outcome, flows: &[FlowRecord]) -> Option<Goodput> {
    let (span, arrived) = world.spec.probes.goodput.as_ref().zip(outcome.goodput.as_deref())?;
    Some(Goodput::of(span, flows, arrived, resolved.scenario().measure.fairness_group.as_deref()))
}

fn fairness(resolved: &Resolved, flows: &[FlowRecord], series: &[SeriesRecord]) -> Fairness {
    let scenario = resolved.scenario();
    let group = scenario.measure.fairness_group.as_deref();
    let interval = scenario.probes.rate_interval.get();
    let of_group = |flow: &&FlowRecord| group == Some(&*flow.tag);
    let member = |flow: &FlowRecord| {
        let FlowOutcome { started, start, delivered, .. } = flow.outcome;
        Member { flow: flow.flow, start: if started { start } else { Time::MAX }, delivered }
    };
    let members: Vec<_> = flows.iter().filter(of_group).map(member).collect();
    Fairness::of(group, interval.filter(|_| group.is_some()), &members, series)
}
