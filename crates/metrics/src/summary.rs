//! The document of `farspan run --json`.

use crate::tier::NICS;
use crate::{
    Acted, Collective, Emulation, Fairness, FaultyLinks, FctTable, FlowRecord, Goodput, PortRecord, PortSums,
    Probe, Quantile, SeriesId, SeriesRecord, Setup, SizeBins, nearest_rank,
};
use farspan_units::{Bytes, Duration};
use serde::Serialize;
use std::collections::BTreeMap;

/// One run in numbers. Names, types and order of the fields are a contract with scripts: add, never rename or remove.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// Version of the program.
    pub farspan_version: String,
    /// Commit of the program.
    pub commit: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the scheme.
    pub scheme: String,
    /// Name of the profile.
    pub profile: String,
    /// Name of the engine.
    pub engine: String,
    /// Seed of all draws.
    pub seed: u64,
    /// Threads of the engine.
    pub threads: u32,
    /// Simulated time.
    pub sim_time_s: f64,
    /// Time the run took.
    pub wall_time_s: f64,
    /// Part of `wall_time_s`: until the world stood and the first event could happen.
    pub setup_time_s: f64,
    /// Packets (data, ACK, control) that finished transmission on a link.
    pub packet_hops: u64,
    /// Largest resident memory of the process.
    pub peak_rss_bytes: u64,
    /// Over the integer fields of every flow record, in hex.
    pub digest: String,
    /// Order-free hash of every arrival at a host, in hex.
    pub packet_digest: String,
    /// Whether the run was interrupted.
    pub partial: bool,
    /// The parts of the scheme beside its congestion control.
    pub setup: Setup,
    /// Whether the mechanisms that it has have acted.
    pub acted: Acted,
    /// Flows of the run, measured or not.
    pub flows: FlowCounts,
    /// Completion times at the sender.
    pub fct: FctTable,
    /// Completion times at the receiver.
    pub delivery: FctTable,
    /// Names of the sites, by number: those of a topology file, else `site 0`, `site 1`, ...
    pub sites: Vec<String>,
    /// Load offered to each tier.
    pub offered_load: OfferedLoad,
    /// Whether any offered load is so high that there is no steady state.
    pub transient: bool,
    /// Sums of bytes.
    pub bytes: ByteSums,
    /// Sums of packets.
    pub packets: PacketSums,
    /// How losses were repaired.
    pub recovery: Recovery,
    /// Shares within the fairness group.
    pub fairness: Fairness,
    /// Queues and the bottleneck.
    pub queues: Queues,
    /// Losses and queues by tier.
    pub ports: PortSums,
    /// Goodput between two times; not in the document where none are asked for, or the run was interrupted before the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput: Option<Goodput>,
    /// Pauses; not in the document where no link is lossless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pfc: Option<Pfc>,
    /// Proxies; not in the document where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<ProxySummary>,
    /// How well an emulation kept its times; not in the document of a simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulation: Option<Emulation>,
    /// Round trips of data packets and their ACKs.
    pub rtt: RttTable,
    /// Slowdown by flow size.
    pub slowdown_by_size: SizeBins,
    /// Collectives, by part of the workload.
    pub collectives: Vec<Collective>,
    /// Warnings about the scenario.
    pub warnings: Vec<String>,
    /// Links with faults; not in the document: `ports.parquet` has the faults of each port, and what they lost.
    #[serde(skip)]
    pub faults: Vec<FaultyLinks>,
}

/// The proxies of a run.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct ProxySummary {
    /// How many hosts were proxies.
    pub proxies: u64,
    /// Sums over all.
    #[serde(flatten)]
    pub sums: ProxySums,
    /// Each proxy, in the order of hosts.
    pub hosts: Vec<ProxyRecord>,
}

/// One proxy of a run.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct ProxyRecord {
    /// Name of its host.
    pub host: String,
    /// How it relays: `naive` or `streamlined`.
    pub kind: String,
    /// Flows that go through it.
    pub flows: u64,
    /// Sums over these flows.
    #[serde(flatten)]
    pub sums: ProxySums,
}

/// Sums over the flows of one proxy, or of all.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct ProxySums {
    /// Data packets that were sent on, retransmissions included.
    pub packets: u64,
    /// Their payload.
    pub bytes: u64,
    /// Largest payload that waited at one proxy to be sent on.
    pub queue_max_bytes: u64,
    /// Largest payload that one proxy had sent on over a connection of its own, and kept for sending it again.
    pub unacked_max_bytes: u64,
    /// Mean time that a byte waited.
    pub wait_mean_us: f64,
    /// NACKs of the proxy's own.
    pub nacks: u64,
    /// Transmissions that NACKs of gaps named.
    pub gap_packets: u64,
    /// Those in `gap_packets` that a mark at the end of a burst showed.
    pub tail_packets: u64,
    /// Those in `gap_packets` that came after all.
    pub false_packets: u64,
    /// Transmissions that were lost between sender and proxy, but for flows that went straight to their receiver.
    pub lost_packets: u64,
    /// Flows that went straight to their receiver because their proxy fell silent.
    pub went_direct: u64,
}

/// Flows of a run, measured or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct FlowCounts {
    /// Started before the run ended.
    pub started: u64,
    /// Those in `started` that finished: the sender had the last ACK.
    pub finished: u64,
    /// Measured flows that did not start: the run ended before, or what they wait for did not end.
    pub not_started: u64,
}

impl FlowCounts {
    /// Counts `flows`.
    #[must_use]
    pub fn of(flows: &[FlowRecord]) -> Self {
        let count = |keep: fn(&&FlowRecord) -> bool| flows.iter().filter(keep).count() as u64;
        Self {
            started: count(|f| f.outcome.started),
            finished: count(|f| f.outcome.finish.is_some()),
            not_started: count(|f| f.measured && !f.outcome.started),
        }
    }
}

/// Payload and parity offered over capacity, per tier and direction; `None` where undefined.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct OfferedLoad {
    /// All host NICs together.
    pub host: Option<f64>,
    /// The narrowest tier between racks.
    pub fabric: Option<f64>,
    /// `wan_A_to_B` for each ordered pair of sites.
    #[serde(flatten)]
    pub wan: BTreeMap<String, Option<f64>>,
}

/// Bytes that hosts sent.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct ByteSums {
    /// Payload in first transmissions.
    pub payload: u64,
    /// Parity.
    pub parity: u64,
    /// Retransmitted payload, or parity.
    pub retransmitted: u64,
    /// Headers, and control packets whole.
    pub headers: u64,
    /// `payload` over the sum of all four; `None` if nothing was sent.
    pub efficiency: Option<f64>,
}

impl ByteSums {
    /// Sums over `flows`; `headers` comes from the hosts.
    #[must_use]
    pub fn of(flows: &[FlowRecord], headers: Bytes) -> Self {
        let sum = |of: fn(&FlowRecord) -> Bytes| flows.iter().map(of).sum::<Bytes>();
        let (sent, parity) = (sum(|f| f.outcome.sender.sent_bytes), sum(|f| f.outcome.sender.parity_bytes));
        let retransmitted = sum(|f| f.outcome.sender.retransmitted_bytes);
        let payload = sent.saturating_sub(parity + retransmitted);
        let all = payload + parity + retransmitted + headers;
        Self {
            payload: payload.get(),
            parity: parity.get(),
            retransmitted: retransmitted.get(),
            headers: headers.get(),
            efficiency: (!all.is_zero()).then(|| payload.as_f64() / all.as_f64()),
        }
    }
}

/// Data packets, on each leg of their way where a proxy divides it: sent = delivered + trimmed + dropped + under way at the end. Those
/// with a column in `flows.parquet` are its sums. And control packets that were dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct PacketSums {
    /// Sent by hosts.
    pub sent: u64,
    /// Arrived whole.
    pub delivered: u64,
    /// Dropped, trimmed before or not.
    pub dropped: u64,
    /// Arrived trimmed: at their receiver, or back at their sender.
    pub trimmed: u64,
    /// Those in `trimmed` whose headers came back to their sender for want of room.
    pub returned: u64,
    /// Arrived whole and with a mark.
    pub ecn_marked: u64,
    /// Those in `dropped` that were trimmed before.
    pub headers_dropped: u64,
    /// ACKs, NACKs, pulls, CNPs and marks at the end of bursts that were dropped.
    pub control_dropped: u64,
    /// Those in `dropped` that their host had sent within one base RTT of the start of their flow, before any ACK could have told it of the
    /// path: losses of first windows. Packets that arrived trimmed are none of them. `None` for an emulation.
    pub dropped_first_rtt: Option<u64>,
}

impl PacketSums {
    /// Sums over `flows`. From the network, counted where they were dropped: data packets that were trimmed before, control packets, and
    /// data packets of the first round trip of their flow.
    #[must_use]
    pub fn of(
        flows: &[FlowRecord],
        headers_dropped: u64,
        control_dropped: u64,
        dropped_first_rtt: Option<u64>,
    ) -> Self {
        let sum = |of: fn(&FlowRecord) -> u64| flows.iter().map(of).sum::<u64>();
        Self {
            sent: sum(FlowRecord::sent_packets),
            delivered: sum(FlowRecord::arrived_packets),
            dropped: sum(|flow| flow.outcome.dropped_packets),
            trimmed: sum(FlowRecord::trimmed_packets),
            returned: sum(|flow| flow.outcome.returned_packets),
            ecn_marked: sum(FlowRecord::marked_packets),
            headers_dropped,
            control_dropped,
            dropped_first_rtt,
        }
    }
}

/// How losses were noticed and repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Recovery {
    /// Time-outs that ran out: under `per_packet_rto` those of packets, of which a lost burst has thousands; under `rack` and
    /// `go_back_n` those of a flow's one timer. They compare only where the policy is the same.
    pub timeouts: u64,
    /// NACKs that senders received.
    pub nacks: u64,
    /// Coded blocks sent.
    pub blocks: u64,
    /// Blocks decoded because a segment did not arrive.
    pub blocks_repaired: u64,
    /// Blocks that lost more packets than they have parity: some were retransmitted.
    pub blocks_undecodable: u64,
    /// Flows of which a packet was dropped or trimmed.
    pub flows_with_loss: u64,
    /// Flows that sent payload again.
    pub flows_retransmitted: u64,
    /// Flows of which a coded block lost more packets than it has parity.
    pub flows_undecodable: u64,
}

impl Recovery {
    /// Sums over `flows`.
    #[must_use]
    pub fn of(flows: &[FlowRecord]) -> Self {
        let sum = |of: fn(&FlowRecord) -> u64| flows.iter().map(of).sum();
        Self {
            timeouts: sum(|f| f.outcome.sender.timeouts),
            nacks: sum(|f| f.outcome.sender.nacks),
            blocks: sum(|f| f.outcome.sender.blocks),
            blocks_repaired: sum(|f| f.outcome.receiver.blocks_repaired),
            blocks_undecodable: sum(|f| f.outcome.sender.blocks_undecodable),
            flows_with_loss: sum(|f| u64::from(f.outcome.dropped_packets + f.trimmed_packets() > 0)),
            flows_retransmitted: sum(|f| u64::from(!f.outcome.sender.retransmitted_bytes.is_zero())),
            flows_undecodable: sum(|f| u64::from(f.outcome.sender.blocks_undecodable > 0)),
        }
    }
}

/// Queues, and the bottleneck: the switch's port with the highest utilisation (among equals the one with the longest mean
/// queue, then the first). A host's NIC has no queue, and is none.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Queues {
    /// Largest data queue of any port.
    pub max_bytes: Option<u64>,
    /// Name of the bottleneck; empty without switches. Its numbers are `None` then.
    pub bottleneck: String,
    /// Its time-weighted mean data queue.
    pub bottleneck_mean_bytes: Option<f64>,
    /// 99% quantile of its queue samples; `None` if it was not sampled.
    pub bottleneck_p99_bytes: Option<f64>,
    /// Its busy time over run time.
    pub bottleneck_utilization: Option<f64>,
    /// 99% quantile of the queueing delay of a data packet on its way, all queues together.
    pub packet_delay_p99_us: Option<f64>,
}

impl Queues {
    /// The queues of `ports`, with the queue samples in `series` (other probes are skipped).
    #[must_use]
    pub fn of(ports: &[PortRecord], series: &[SeriesRecord], packet_delay_p99: Option<Duration>) -> Self {
        let busier = |a: &&PortRecord, b: &&PortRecord| {
            a.utilization.total_cmp(&b.utilization).then(a.mean_queue.total_cmp(&b.mean_queue))
        };
        let of_switches = ports.iter().filter(|port| port.tier != NICS);
        // `max_by` takes the last of equals: reversed, that is the first port.
        let bottleneck = of_switches.rev().max_by(busier);
        Self {
            max_bytes: ports.iter().map(|p| p.max_queue.get()).max(),
            bottleneck: bottleneck.map(|p| p.name.clone()).unwrap_or_default(),
            bottleneck_mean_bytes: bottleneck.map(|p| p.mean_queue),
            bottleneck_p99_bytes: bottleneck.and_then(|p| sampled_p99(series, &p.name)),
            bottleneck_utilization: bottleneck.map(|p| p.utilization),
            packet_delay_p99_us: packet_delay_p99.map(Duration::as_us_f64),
        }
    }
}

/// Pauses of all ports together (priority flow control).
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Pfc {
    /// How often a port was paused.
    pub pauses: u64,
    /// How long, summed over the ports.
    pub paused_us: f64,
    /// Whether ports were left at the end that wait for each other for ever.
    pub deadlock: bool,
}

impl Pfc {
    /// Sums over `ports`; `deadlock` comes from the network.
    #[must_use]
    pub fn of(ports: &[PortRecord], deadlock: bool) -> Self {
        let paused: Duration = ports.iter().map(|port| port.paused).sum();
        let pauses = ports.iter().map(|port| port.pauses).sum();
        Self { pauses, paused_us: paused.as_us_f64(), deadlock }
    }
}

/// Round trips of data packets and their ACKs, those of retransmissions included; quantiles to about 3%.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct RttSummary {
    /// Median.
    pub p50_us: f64,
    /// 99% quantile.
    pub p99_us: f64,
    /// Largest.
    pub max_us: f64,
}

/// Round trips by class; `None` for a class without any.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct RttTable {
    /// All flows.
    pub all: Option<RttSummary>,
    /// Flows inside sites.
    pub intra: Option<RttSummary>,
    /// Flows between sites.
    pub inter: Option<RttSummary>,
}

/// The 99% quantile of a port's queue samples.
fn sampled_p99(series: &[SeriesRecord], port: &str) -> Option<f64> {
    let of_port = |s: &&SeriesRecord| matches!(&s.id, SeriesId::Port(name) if **name == *port);
    let queue = series.iter().filter(|s| s.probe == Probe::Queue).filter(of_port);
    let mut sorted: Vec<f64> = queue.map(|s| s.value).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    nearest_rank(&sorted, sorted.len() as u64, Quantile::P99)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::testing::{self, flow};
    use crate::{Class, Completion, Member};
    use farspan_units::Time;
    use serde_json::Value;

    fn summary(flows: &[FlowRecord]) -> Summary {
        let ports = [port("a->b#0", 0.5, 10.0), port("b->c#0", 0.9, 10.0)];
        let members: Vec<Member> = flows
            .iter()
            .map(|f| Member { flow: f.flow, start: f.outcome.start, delivered: f.outcome.delivered })
            .collect();
        Summary {
            farspan_version: "0.1.0".into(),
            commit: "abc".into(),
            scenario: "s".into(),
            scheme: "uno".into(),
            profile: "paper".into(),
            engine: "oracle".into(),
            seed: 1,
            threads: 1,
            sim_time_s: 0.5,
            wall_time_s: 1.0,
            setup_time_s: 0.25,
            packet_hops: 7,
            peak_rss_bytes: 1,
            digest: "00".into(),
            packet_digest: "00".into(),
            partial: false,
            setup: Setup::default(),
            acted: Acted::default(),
            flows: FlowCounts::of(flows),
            fct: FctTable::of(flows, Completion::Sender),
            delivery: FctTable::of(flows, Completion::Receiver),
            sites: vec!["site 0".into()],
            offered_load: OfferedLoad {
                host: Some(0.4),
                fabric: None,
                wan: [("wan_0_to_1".to_owned(), Some(0.4)), ("wan_1_to_0".to_owned(), None)].into(),
            },
            transient: false,
            bytes: ByteSums::of(flows, Bytes::new(64)),
            packets: PacketSums::default(),
            recovery: Recovery::of(flows),
            fairness: Fairness::of(Some("test"), Some(Duration::from_ms(1)), &members, &[]),
            queues: Queues::of(&ports, &[], None),
            ports: PortSums::of(&ports, Duration::from_us(40)),
            goodput: Some(goodput(flows)),
            pfc: Some(Pfc::of(&ports, true)),
            emulation: None,
            proxy: Some(ProxySummary { hosts: vec![ProxyRecord::default()], ..ProxySummary::default() }),
            rtt: RttTable::default(),
            slowdown_by_size: SizeBins::of(flows, Bytes::new(4096), Bytes::new(5000), Bytes::new(6000)),
            collectives: Vec::new(),
            warnings: Vec::new(),
            faults: Vec::new(),
        }
    }

    fn goodput(flows: &[FlowRecord]) -> Goodput {
        let span = Time::ZERO..Time::ZERO + Duration::from_us(10);
        Goodput::of(&span, flows, &vec![Bytes::new(10); flows.len()], Some("test"))
    }

    fn port(name: &str, utilization: f64, mean_queue: f64) -> PortRecord {
        let max_queue = Bytes::new(100);
        PortRecord { max_queue, mean_queue, utilization, ..testing::port(name) }
    }

    /// Fields of a document by kind: s text, i integer, b truth value, n number or null, t text or null, a array, o object.
    const RUN: &str = "farspan_version:s commit:s scenario:s scheme:s profile:s engine:s seed:i threads:i sim_time_s:n \
        wall_time_s:n setup_time_s:n packet_hops:i peak_rss_bytes:i digest:s packet_digest:s partial:b setup:o acted:o flows:o fct:o delivery:o \
        offered_load:o transient:b bytes:o packets:o recovery:o fairness:o queues:o ports:o goodput:o pfc:o proxy:o rtt:o";
    const FCT: &str = "count:i unfinished:i mean_us:n p50_us:n p90_us:n p99_us:n p999_us:n max_us:n slowdown_mean:n \
        slowdown_p50:n slowdown_p99:n";
    const TIER: &str = "ports:i arrived:i sent_bytes:i dropped:i lost:i loss_rate:n loss_of_sent:n marked:i trimmed:i \
        mean_queue_bytes:n max_queue_bytes:i mean_delay_us:n";
    const GOODPUT: &str = "flows:i bytes:i bps:n share:n";
    const SECTIONS: [(&str, &str); 15] = [
        ("/ports/all", TIER),
        ("/ports/sites", TIER),
        ("/ports/tiers/fabric", TIER),
        ("/goodput", "from_us:n until_us:n all:o intra:o inter:o tags:o jain:n"),
        ("/goodput/tags/test", GOODPUT),
        (
            "/proxy",
            "proxies:i packets:i bytes:i queue_max_bytes:i unacked_max_bytes:i wait_mean_us:n nacks:i gap_packets:i tail_packets:i \
            false_packets:i lost_packets:i went_direct:i hosts:a",
        ),
        (
            "/proxy/hosts/0",
            "host:s kind:s flows:i packets:i bytes:i queue_max_bytes:i unacked_max_bytes:i wait_mean_us:n nacks:i gap_packets:i \
            tail_packets:i false_packets:i lost_packets:i went_direct:i",
        ),
        ("/pfc", "pauses:i paused_us:n deadlock:b"),
        ("/flows", "started:i finished:i not_started:i"),
        ("/offered_load", "host:n fabric:n wan_0_to_1:n wan_1_to_0:n"),
        ("/bytes", "payload:i parity:i retransmitted:i headers:i efficiency:n"),
        (
            "/packets",
            "sent:i delivered:i dropped:i trimmed:i returned:i ecn_marked:i headers_dropped:i control_dropped:i \
             dropped_first_rtt:n",
        ),
        (
            "/recovery",
            "timeouts:i nacks:i blocks:i blocks_repaired:i blocks_undecodable:i flows_with_loss:i \
          flows_retransmitted:i flows_undecodable:i",
        ),
        (
            "/fairness",
            "group:t interval_us:n jain_mean:n jain_p5_late:n min_over_max_rate:n converged_at_us:n",
        ),
        (
            "/queues",
            "max_bytes:n bottleneck:s bottleneck_mean_bytes:n bottleneck_p99_bytes:n \
            bottleneck_utilization:n packet_delay_p99_us:n",
        ),
    ];

    fn check(document: &Value, place: &str, fields: &str) {
        let section = document.pointer(place).unwrap_or_else(|| panic!("{place} is missing"));
        for field in fields.split_whitespace() {
            let (name, kind) = field.split_once(':').unwrap();
            let value = section.get(name).unwrap_or_else(|| panic!("{place}/{name} is missing"));
            let fits = match kind {
                "s" => value.is_string(),
                "i" => value.is_u64(),
                "b" => value.is_boolean(),
                "n" => value.is_number() || value.is_null(),
                "t" => value.is_string() || value.is_null(),
                "a" => value.is_array(),
                _ => value.is_object(),
            };
            assert!(fits, "{place}/{name} is {value}");
        }
    }

    #[test]
    fn the_document_has_every_field_of_the_contract_with_its_type() {
        let mut inter = flow(1, 20);
        inter.outcome.class = Class::Inter;
        let document = serde_json::to_value(summary(&[flow(0, 10), inter])).unwrap();
        check(&document, "", RUN);
        for (place, fields) in SECTIONS {
            check(&document, place, fields);
        }
        for table in ["fct", "delivery"] {
            for class in ["all", "intra", "inter", "tags/test"] {
                check(&document, &format!("/{table}/{class}"), FCT);
            }
        }
    }

    #[test]
    fn fields_come_in_the_order_of_the_contract() {
        let text = serde_json::to_string(&summary(&[flow(0, 10)])).unwrap();
        let names = RUN.split_whitespace().map(|f| format!("\"{}\":", f.split(':').next().unwrap()));
        let positions: Vec<usize> = names.map(|n| text.find(&n).unwrap()).collect();
        assert!(positions.is_sorted(), "{positions:?}");
    }

    #[test]
    fn a_class_without_flows_is_null() {
        let document = serde_json::to_value(summary(&[flow(0, 10)])).unwrap();
        assert!(document["fct"]["inter"].is_null() && document["delivery"]["inter"].is_null());
        assert_eq!(document["fct"]["intra"]["count"], 1);
    }

    #[test]
    fn bytes_are_divided_without_overlap() {
        let mut f = flow(0, 1);
        f.outcome.sender.sent_bytes = Bytes::new(1000);
        f.outcome.sender.parity_bytes = Bytes::new(160);
        f.outcome.sender.retransmitted_bytes = Bytes::new(40);
        let sums = ByteSums::of(&[f], Bytes::new(1000));
        assert_eq!((sums.payload, sums.parity, sums.retransmitted, sums.headers), (800, 160, 40, 1000));
        assert_eq!(sums.efficiency, Some(0.4));
        assert_eq!(ByteSums::of(&[], Bytes::ZERO).efficiency, None);
    }

    #[test]
    fn flows_with_loss_are_those_with_a_drop_or_a_trim() {
        let (mut dropped, mut trimmed) = (flow(0, 1), flow(1, 1));
        dropped.outcome.dropped_packets = 3;
        dropped.outcome.sender.timeouts = 2;
        trimmed.outcome.receiver.trimmed_packets = 1;
        trimmed.outcome.receiver.blocks_repaired = 4;
        let recovery = Recovery::of(&[dropped, trimmed, flow(2, 1)]);
        assert_eq!((recovery.flows_with_loss, recovery.timeouts, recovery.blocks_repaired), (2, 2, 4));
    }

    #[test]
    fn flows_that_never_started_are_not_counted_as_started() {
        let (mut waiting, mut running) = (flow(0, 1), flow(1, 1));
        (waiting.outcome.started, waiting.outcome.finish, running.outcome.finish) = (false, None, None);
        let warmup = FlowRecord { measured: false, ..waiting.clone() };
        let counts = FlowCounts::of(&[waiting, running, flow(2, 1), warmup]);
        assert_eq!(counts, FlowCounts { started: 2, finished: 1, not_started: 1 });
    }

    #[test]
    fn pauses_are_summed_over_ports_and_there_only_where_links_are_lossless() {
        let ports = [port("a->b#0", 0.5, 10.0), port("b->c#0", 0.9, 10.0)];
        let pfc = Pfc::of(&ports, false);
        assert_eq!((pfc.pauses, pfc.paused_us, pfc.deadlock), (14, 0.016, false));
        let lossy = serde_json::to_value(Summary { pfc: None, ..summary(&[flow(0, 1)]) }).unwrap();
        assert!(lossy.get("pfc").is_none());
    }

    #[test]
    fn the_bottleneck_is_the_busiest_port_then_the_longest_queue_then_the_first() {
        let name = |ports: &[PortRecord]| Queues::of(ports, &[], None).bottleneck;
        assert_eq!(name(&[port("a", 0.9, 1.0), port("b", 0.8, 9.0)]), "a");
        assert_eq!(name(&[port("a", 0.9, 1.0), port("b", 0.9, 9.0)]), "b");
        assert_eq!(name(&[port("a", 0.9, 9.0), port("b", 0.9, 9.0)]), "a");
        assert_eq!(name(&[]), "");
    }

    #[test]
    fn the_nic_of_a_host_is_no_bottleneck() {
        let nic = PortRecord { tier: NICS, ..port("host0->tor0#0", 1.0, 9.0) };
        let queues = Queues::of(&[nic.clone(), port("tor0->host1#0", 0.2, 1.0)], &[], None);
        assert_eq!((queues.bottleneck.as_str(), queues.bottleneck_utilization), ("tor0->host1#0", Some(0.2)));
        let none = serde_json::to_value(Queues::of(&[nic], &[], None)).unwrap();
        assert_eq!(
            none,
            serde_json::json!({
                "max_bytes": 100, "bottleneck": "", "bottleneck_mean_bytes": null, "bottleneck_p99_bytes": null,
                "bottleneck_utilization": null, "packet_delay_p99_us": null
            })
        );
    }

    #[test]
    fn the_bottleneck_s_p99_is_over_its_own_queue_samples() {
        let sample = |t, probe, id: &str, value| SeriesRecord {
            t: Time::from_ps(t),
            probe,
            id: SeriesId::Port(id.into()),
            value,
        };
        let mut series: Vec<_> = (1..=100).map(|i| sample(i, Probe::Queue, "a", i as f64)).collect();
        series.push(sample(1, Probe::Queue, "b", 1e9));
        series.push(sample(1, Probe::PhantomQueue, "a", 1e9));
        let queues = Queues::of(&[port("a", 0.9, 0.0)], &series, Some(Duration::from_us(3)));
        assert_eq!((queues.bottleneck_p99_bytes, queues.packet_delay_p99_us), (Some(99.0), Some(3.0)));
    }
}
