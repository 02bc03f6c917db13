//! A scenario as it is written: every key of the TOML text, none of them required.
//!
//! These types also hold a resolved scenario, in which every key that applies has a value. The doc comments are the
//! descriptions of the JSON Schema.

mod ports;
mod proxy;

pub use ports::{Pfc, Phantom, Pool, Ports, Red};
pub use proxy::{Incast, Proxy};

use crate::catalog::control;
use crate::value::{
    CollectiveAlgorithm, FaultKind, FirstWindow, FlowChoice, Interval, Jitter, LoadReference, LoadUnit,
    LossPackets, LossPer, Mix, MixUnit, Oversubscription, Part, PortChoice, Profile, RtoRule, Sizes,
    TopologyKind, TriggerDelay, WorkloadKind,
};
use farspan_transport::ack::{self, AckConfig};
use farspan_transport::balance::{self, BalanceConfig};
use farspan_transport::coding::{self, CodingConfig};
use farspan_transport::congestion::{self, CongestionConfig};
use farspan_transport::{Class, WindowCheck, recovery};
use farspan_units::{Bytes, Duration, Rate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A farspan scenario: topology, scheme, workload, probes and stop rule.
///
/// Quantities are text with a unit: "100Gbps", "2ms", "14us", "1MiB", "4096B". KiB, MiB, GiB are powers of two; KB, MB,
/// GB and rates powers of ten.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// The name. Default: the file's name.
    pub name: Option<String>,
    /// Purpose of the scenario, in a line.
    pub description: Option<String>,
    /// A scenario that this one begins with: a built-in name, or a file (relative to this one's folder). What this one
    /// names replaces what stands there, and the constants of a profile are that scenario's. A table `[workload]` changes
    /// every part that has such a key; `[[workload]]` replaces them all.
    pub base: Option<String>,
    /// The built-in scenario whose constants this one takes in each profile. Default: base's, or of its own name.
    pub constants: Option<String>,
    /// Seed of all draws: workload, hashes, losses. Default: 1.
    pub seed: Option<u64>,
    /// Hosts, switches, links.
    pub topology: Topology,
    /// Settings that all schemes of the scenario share.
    pub transport: Transport,
    /// The hosts.
    pub host: Host,
    /// Congestion control, path selection, recovery, and what they ask of the ports.
    pub scheme: Scheme,
    /// The parts of the workload; they run together.
    pub workload: Vec<Workload>,
    /// Incasts that programs declare: parts of the workload, too, whose flows a proxy may take.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incast: Vec<Incast>,
    /// Faults of links.
    pub fault: Vec<LinkFault>,
    /// Samples to take.
    pub probes: Probes,
    /// Flows that count in the summary.
    pub measure: Measure,
    /// When to end.
    pub stop: Stop,
    /// Digests of the files that the scenario reads (topology, sizes, flow lists), by absolute path. A scenario that
    /// `check` or a run has written has them; it is refused when a file has changed since. Default: not compared.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

/// Hosts, switches, links.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Topology {
    /// The shape. Default: dual_fat_tree.
    pub kind: Option<TopologyKind>,
    /// From_file: a topology file (`farspan new --topology` writes one), or the name of a built-in one.
    pub file: Option<String>,
    /// Radix of a fat tree's switches: even; k/2 ToRs and k/2 aggregation switches a pod, k^2/4 cores, k^3/4 hosts a site. Default: 8.
    pub k: Option<u32>,
    /// Pods of a site of a fat tree. Default: k.
    pub pods: Option<u32>,
    /// Hosts of each ToR of a fat tree. Default: k/2.
    pub hosts_per_tor: Option<u32>,
    /// Hosts of a star, on each side of a dumbbell, of each leaf, or at each switch of a parking lot. Default: 8; of a
    /// parking lot 2.
    pub hosts: Option<u32>,
    /// Leaf switches of a site. Default: 4.
    pub leaves: Option<u32>,
    /// Spine switches of a site; every leaf has a link to each. Default: as many as oversubscription asks for.
    pub spines: Option<u32>,
    /// Links between the switches of a parking lot, each a bottleneck: one switch less than there are. Default: 3.
    pub bottlenecks: Option<u32>,
    /// Rate of every link inside a site; from_file: of links that do not say otherwise, in place of the file's default; of a leaf-spine, a dumbbell and a parking lot, and with fabric_rate, of the hosts' links. Default:
    /// 100Gbps.
    pub link_rate: Option<Rate>,
    /// Rate of a fat tree's links between switches of one site. Default: link_rate.
    pub fabric_rate: Option<Rate>,
    /// Rate of the links of a spine, to the leaves and the border switch. Default: link_rate.
    pub uplink_rate: Option<Rate>,
    /// Propagation of every link inside a site and from core to border, one way. Default: 1us.
    pub link_delay: Option<Duration>,
    /// Propagation of each host's link of a star, one way, host 0 first. Default: link_delay for all.
    pub host_delays: Option<Vec<Duration>>,
    /// Processing in a switch; counts as part of the far end of the link that enters it. Default: 0ns.
    pub switch_delay: Option<Duration>,
    /// Largest jitter, uniform per data packet, order kept, of switch ports that leave at least as much data behind as
    /// they send: "1packet" (one packet time at link_rate) or a time; "0ns" is off. Saturated ports with exact clocks
    /// lock the drop-tail queue behind them to one input. Default: host.jitter.
    pub jitter: Option<Jitter>,
    /// Data bytes that a port holds. Default: of the profile.
    pub buffer: Option<Bytes>,
    /// How many times fewer uplinks than downlinks: at the ToR, or [ToR, aggregation]; of a leaf-spine, the rate of a
    /// leaf's hosts over that of its uplinks. Default: 1; of a leaf-spine with spines, what these come to.
    pub oversubscription: Option<Oversubscription>,
    /// Backbone routers between the sites of a dual_leaf_spine, in place of border switches.
    pub backbone: Option<Backbone>,
    /// Parallel links from each core (or spine) to its border switch. Default: 8.
    pub core_border_links: Option<u32>,
    /// Data bytes that each port between core and border switch holds, both ways. Default: buffer.
    pub core_border_buffer: Option<Bytes>,
    /// Rate of the links between the switches of a dumbbell or a parking lot. Default: link_rate.
    pub bottleneck_rate: Option<Rate>,
    /// Propagation of these links, one way; with two_sites it follows from wan.rtt. Default: link_delay.
    pub bottleneck_delay: Option<Duration>,
    /// Whether the two sides of a dumbbell are different sites. Default: false.
    pub two_sites: Option<bool>,
    /// The links between the sites.
    pub wan: Option<Wan>,
}

/// Backbone routers between the sites: every spine of both has links to some of them, every router has as many to each site.
/// topology.wan says what rate and buffers these links have; their delay follows from wan.rtt.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Backbone {
    /// How many routers there are; a divisor of spines x links_per_spine. Default: spines x links_per_spine.
    pub routers: Option<u32>,
    /// Links of each spine, each to another router. Default: 8.
    pub links_per_spine: Option<u32>,
}

/// The links between the sites.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Wan {
    /// Base RTT between hosts of the two sites: a full packet out, its ACK back. Default: of the profile.
    pub rtt: Option<Duration>,
    /// Parallel links from border to border; a backbone has its own number. Default: 8.
    pub links: Option<u32>,
    /// Rate of each. Default: topology.link_rate.
    pub rate: Option<Rate>,
    /// Data bytes that each of their ports holds. Default: topology.buffer.
    pub buffer: Option<Bytes>,
}

/// Settings that all schemes of the scenario share.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Transport {
    /// Payload of a full packet. Default: 4096B.
    pub payload: Option<Bytes>,
    /// Header of a packet; also the size of an ACK, a NACK and a trimmed packet. Default: 64B.
    pub header: Option<Bytes>,
    /// First window of every flow: "bdp", "bdp/8" (the fair share of eight flows that start together), "iw10" or a size. Default: bdp.
    pub start: Option<FirstWindow>,
    /// Retransmission time-out: "path" (base RTT and full buffers along the path), "rfc6298" or a time. Default: path.
    pub rto: Option<RtoRule>,
    /// The least by which a time-out under "rfc6298" is longer than the smoothed round trip. Default: 1ms.
    pub rto_variance_floor: Option<Duration>,
    /// The shortest time-out under "rfc6298". Default: 1ms.
    pub rto_min: Option<Duration>,
    /// Whether "path" counts the sender's own NIC as a port with a full buffer, too. Default: of the profile.
    pub rto_nic: Option<bool>,
    /// Whether ACKs and NACKs go through the priority queue. Default: true.
    pub ack_priority: Option<bool>,
    /// "scheme", or one path selector for all schemes. Default: scheme.
    #[schemars(schema_with = "balance_schema")]
    pub balance: Option<Part>,
    /// When receivers acknowledge packets: "per_packet", "coalesced", or a table with name and parameters. Default:
    /// per_packet.
    #[schemars(schema_with = "ack_schema")]
    pub ack: Option<Part>,
}

/// The hosts.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Host {
    /// Largest send jitter, uniform per data packet, order kept: "1packet" (one packet time of the NIC) or a time; "0ns"
    /// is off. Exact clocks lock drop-tail queues to one flow. Default: 1packet.
    pub jitter: Option<Jitter>,
}

/// Congestion control, path selection, recovery, and what they ask of the ports.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Scheme {
    /// A built-in scheme, CC+LB, or A/B for intra and inter. Default: uno.
    pub name: Option<String>,
    /// Which constants: "paper" or "artifact". Default: paper.
    pub profile: Option<Profile>,
    /// Settings of its own for flows inside a site.
    pub intra: SchemeClass,
    /// Settings of its own for flows between the sites.
    pub inter: SchemeClass,
    /// Settings of its own at the ports.
    pub ports: Ports,
    /// A proxy for incasts between sites. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
}

/// A scheme's parts for one class of flows.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SchemeClass {
    /// Congestion control: a name, or a table with name and parameters. Default: of the scheme.
    #[schemars(schema_with = "congestion_schema")]
    pub congestion: Option<Part>,
    /// Path selection: a name, or a table with name and parameters. Default: of the scheme.
    #[schemars(schema_with = "balance_schema")]
    pub balance: Option<Part>,
    /// Loss recovery: a name, or a table with name and rto. Default: of the scheme.
    #[schemars(schema_with = "recovery_schema")]
    pub recovery: Option<Part>,
    /// Erasure coding: "none", "mds", or a table with name and parameters. Default: of the scheme.
    #[schemars(schema_with = "coding_schema")]
    pub coding: Option<Part>,
    /// When the window lets a packet go: "below" (while bytes in flight are below it) or "fits" (while one more full
    /// packet fits). Default: of the scheme.
    #[schemars(schema_with = "window_check_schema")]
    pub window_check: Option<WindowCheck>,
}

/// A part of the workload. Which keys apply depends on the kind.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Workload {
    /// Kind of traffic: incast, permutation, pairs, poisson, flows; or a collective: allreduce, reduce_scatter, all_gather,
    /// all_to_all.
    pub kind: Option<WorkloadKind>,
    /// The name of this part in results. Default: the kind.
    pub tag: Option<String>,
    /// Path selection of this part's flows, whatever the scheme: a name, or a table with name and parameters. Default: of
    /// the scheme.
    #[schemars(schema_with = "own_balance_schema")]
    pub balance: Option<Part>,
    /// Incast: the receiving host. Default: with load, drawn for each incast.
    pub receiver: Option<u32>,
    /// Incast: the sending hosts.
    pub senders: Option<Vec<u32>>,
    /// Incast: instead of senders, how many other hosts send, drawn by the seed.
    pub degree: Option<u32>,
    /// Pairs: sending and receiving hosts, such as [[0, 129], [15, 247]].
    pub pairs: Option<Vec<Vec<u32>>>,
    /// Poisson: the hosts that receive. Default: all.
    pub receivers: Option<Vec<u32>>,
    /// Incast, permutation, pairs, all_to_all: payload of each flow; default of pairs: of the profile. Other collectives: the
    /// buffer of each rank, which is cut into a chunk for every rank of its group.
    pub flow_size: Option<Bytes>,
    /// When this part starts. Default: 0us.
    pub start: Option<Duration>,
    /// Pairs: from the start of one flow to that of the next. Default: 0us.
    pub gap: Option<Duration>,
    /// Incast: by how much at most a flow starts later, drawn for each. Default: 0us.
    pub spread: Option<Duration>,
    /// Poisson: only flows of this class, "intra" or "inter". Default: both, by the mix. Permutation: "intra", a
    /// permutation inside each site. Default: one over all hosts.
    #[schemars(schema_with = "class_schema")]
    pub class: Option<Class>,
    /// Poisson: a built-in distribution, a CSV file (size_bytes,cdf), or { intra = ..., inter = ... }.
    pub sizes: Option<Sizes>,
    /// Poisson: flows of at least this size have the tag with "-large" behind it. Default: none have.
    pub large: Option<Bytes>,
    /// Poisson: offered load, as a fraction of load_reference. Incast with a degree: incasts come as a Poisson process, and
    /// their payload is this fraction of what the NICs of all hosts carry.
    pub load: Option<f64>,
    /// Poisson: what the load is a fraction of: "host" (the NICs of all hosts), "wan", "bisection" or "receivers" (the NICs
    /// of the receivers). Default: receivers if they are listed, else host; for flows between the sites wan.
    pub load_reference: Option<LoadReference>,
    /// Poisson: whether the load counts headers: "payload" or "wire". Default: payload.
    pub load_unit: Option<LoadUnit>,
    /// Poisson: intra : inter, such as "4:1"; or "paper" or "artifact", which bring their sizes. Default: 1:0 in one
    /// site, 4:1 in two.
    pub mix: Option<Mix>,
    /// Poisson: what the mix counts: "flows" or "bytes". Default: flows.
    pub mix_unit: Option<MixUnit>,
    /// Poisson: how many flows arrive; with measure.warmup, how many are measured, and arrivals go on until the last of
    /// them has ended.
    pub flows: Option<u64>,
    /// Poisson: how long flows arrive, instead of flows; with measure.warmup, for how long they are measured. Incast with a
    /// load: how long incasts come.
    pub duration: Option<Duration>,
    /// Poisson: starts are cut to a multiple of this; "0ns" is off. Default: of the profile.
    pub start_granularity: Option<Duration>,
    /// Flows: a CSV or Parquet file with src,dst,size_bytes,start_ns and optionally tag,after,after_delivered,barrier,queue.
    pub file: Option<String>,
    /// Collectives: the hosts that take part, in the order of their ring.
    pub ranks: Option<Vec<u32>>,
    /// Collectives: several groups of ranks beside each other, instead of ranks.
    pub groups: Option<Vec<Vec<u32>>>,
    /// Collectives: "ring" (one peer at a time), "direct" (all peers at once), "pipeline" (a ring whose stages all run at once)
    /// or, of an allreduce, "hierarchical" (rings inside the sites, direct between them). Default: ring; all_to_all: direct.
    pub algorithm: Option<CollectiveAlgorithm>,
    /// Collectives: how often. Default: 1.
    pub iterations: Option<u32>,
    /// Collectives: what passes on a rank between the end of an iteration and its first send of the next. Default: 0us.
    pub compute_time: Option<Duration>,
    /// Collectives: whether an iteration begins only when all ranks of all groups have ended the one before. Default:
    /// true if there is more than one.
    pub barrier: Option<bool>,
    /// Flows, and collectives with a barrier: how long a notification takes to another host that a flow has ended for
    /// which others wait: "lookahead" (the shortest delay of a link) or a time. Default: lookahead.
    pub trigger_delay: Option<TriggerDelay>,
}

/// A fault of one or more links. Which keys apply depends on the kind.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LinkFault {
    /// Kind of fault: link_down, black_hole, rate, loss, block_loss; or proxy_down, of a host.
    pub kind: Option<FaultKind>,
    /// Proxy down: the proxy that fails: it forgets everything, and relays no more. Default: all.
    pub host: Option<u32>,
    /// To which links: FROM->TO#n, or a pattern, in which * stands for anything and ? for one character.
    pub link: Option<String>,
    /// Instead of link, to links by where they lie: a tier (host_up, host_down, fabric, border, wan), of which FROM-TO
    /// takes those from one kind of node (host, tor, agg, core, border) to another: "wan", "fabric:agg-core".
    pub links: Option<String>,
    /// To which share of these links, drawn by the seed: above 0, at most 1; in both directions, a link and its reverse
    /// are one. Default: 1.
    pub share: Option<f64>,
    /// When it begins. Default: 0ns.
    pub at: Option<Duration>,
    /// When it ends. Default: never.
    pub until: Option<Duration>,
    /// Whether the same happens to the links back. Default: false.
    pub both_directions: Option<bool>,
    /// Whether all switches learn of it and send packets other ways, where there are any. Default: false.
    pub withdraw_routes: Option<bool>,
    /// With withdraw_routes, how long after the fault begins, and ends, routes change. Default: 0ns.
    pub withdraw_delay: Option<Duration>,
    /// Rate: that of the services that begin while the fault lasts.
    pub rate: Option<Rate>,
    /// Loss: with which probability each packet is lost.
    pub probability: Option<f64>,
    /// Block loss: packets of a block, at most 64. Default: of the profile.
    pub block: Option<u32>,
    /// Block loss: the probabilities that a block loses 1, 2, 3, ... packets. Default: of the profile.
    pub probabilities: Option<Vec<f64>>,
    /// Block loss: what numbers the packets, each "queue", or each "flow" at a switch. Default: of the profile.
    pub per: Option<LossPer>,
    /// Loss, block loss: which packets can be lost, "data" or "all". Default: data; for block loss, of the profile.
    pub packets: Option<LossPackets>,
}

/// Samples to take. Sampling changes nothing.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Probes {
    /// Interval of flow samples: receiver goodput, window, RTT; "off" or a time. Default: off.
    pub rate_interval: Option<Interval>,
    /// Interval of samples of ports (queue, phantom queue, utilisation) and proxies (queue); "off" or a time. Default: off.
    pub queue_interval: Option<Interval>,
    /// Which ports: "bottlenecks", "all", or names and patterns, such as "border*->*". Default: bottlenecks.
    pub ports: Option<PortChoice>,
    /// Ports of which only the utilisation is sampled, chosen alike. Default: none.
    pub links: Option<PortChoice>,
    /// Which flows: "all", or some of "flow=17,18", "tag=incast*" and "class=inter". Default: those of the fairness
    /// group, or all if there is none.
    pub flows: Option<FlowChoice>,
    /// Which series, by name or pattern: rate, cwnd, rtt, queue, phantom_queue, utilization, proxy_queue. Default: all of
    /// them.
    pub series: Option<Vec<String>>,
}

/// Flows that count in the summary.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Measure {
    /// Flows that start before are not in the summary. Default: 0s.
    pub warmup: Option<Duration>,
    /// The tag whose flows are backlogged on one bottleneck; without one, fairness is null.
    pub fairness_group: Option<String>,
}

/// When to end. A run also ends when nothing is left to happen.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Stop {
    /// Nothing at or after this time happens. Default: 10s.
    pub time: Option<Duration>,
}

/// A component: one of `names`, or a table.
fn part_schema(names: &[&str], table: &Schema) -> Schema {
    json_schema!({ "anyOf": [{ "type": "string", "enum": names }, table] })
}

fn congestion_schema(generator: &mut SchemaGenerator) -> Schema {
    let built_in = generator.subschema_for::<CongestionConfig>();
    let registered = control::registered();
    if registered.is_empty() {
        return part_schema(congestion::NAMES, &built_in);
    }
    let tables: Vec<Schema> =
        [built_in].into_iter().chain(registered.iter().map(|known| known.schema(generator))).collect();
    part_schema(&control::names(), &json_schema!({ "anyOf": tables }))
}

fn balance_schema(generator: &mut SchemaGenerator) -> Schema {
    let names = [&["scheme"], balance::NAMES].concat();
    part_schema(&names, &generator.subschema_for::<BalanceConfig>())
}

fn own_balance_schema(generator: &mut SchemaGenerator) -> Schema {
    part_schema(balance::NAMES, &generator.subschema_for::<BalanceConfig>())
}

fn ack_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut tables = AckConfig::json_schema(generator);
    let is_known = |table: &serde_json::Value| {
        table["properties"]["name"]["const"].as_str().is_some_and(|name| ack::OF_SCHEMES.contains(&name))
    };
    if let Some(tables) = tables.get_mut("oneOf").and_then(serde_json::Value::as_array_mut) {
        tables.retain(is_known);
    }
    part_schema(ack::OF_SCHEMES, &tables)
}

fn recovery_schema(_: &mut SchemaGenerator) -> Schema {
    part_schema(
        recovery::NAMES,
        &json_schema!({ "type": "object", "additionalProperties": false, "properties": {
            "name": { "type": "string", "enum": recovery::NAMES },
            "rto": { "type": "string", "description": "As transport.rto, for this class only." },
            "rto_variance_floor": { "type": "string", "description": "As transport.rto_variance_floor, for this class only." },
            "rto_min": { "type": "string", "description": "As transport.rto_min, for this class only." },
            "backoff": { "type": "boolean", "description": "Whether a time-out doubles with each one before it. Left out: no under per_packet_rto, else yes." },
        } }),
    )
}

fn coding_schema(generator: &mut SchemaGenerator) -> Schema {
    part_schema(coding::NAMES, &generator.subschema_for::<CodingConfig>())
}

fn class_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["intra", "inter"] })
}

fn window_check_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["below", "fits"] })
}
