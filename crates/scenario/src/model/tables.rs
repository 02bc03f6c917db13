//! Tables whose keys all schemes, topologies and workloads share.

use super::declare::tables;
use super::schema::{
    ack_schema, balance_schema, coding_schema, congestion_schema, recovery_schema, shared_coding_schema,
    shared_recovery_schema, window_check_schema,
};
use crate::value::{ConnectionScope, FlowChoice, Interval, Jitter, Part, PortChoice, RtoRule};
use farspan_transport::{InitialWindow, WindowCheck};
use farspan_units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

tables! {
    /// Settings that all schemes of the scenario share.
    Transport, TransportText as "Transport" {
        /// Payload of a full packet. Default: 4096B.
        payload: Bytes,
        /// Header of a packet; also the size of an ACK, a NACK and a trimmed packet. Default: 64B.
        header: Bytes,
        /// First window of every flow: "bdp", "bdp/8" (the fair share of eight flows that start together), "iw10" or a size. Default: bdp.
        start: InitialWindow,
        /// Retransmission time-out: "path" (base RTT and full buffers along the path), "rfc6298" or a time. Default: path.
        rto: RtoRule,
        /// The time-out under "rfc6298" before a flow's first round trip. Default: 1s.
        rto_initial: Duration,
        /// The least by which a time-out under "rfc6298" is longer than the smoothed round trip. Default: 1ms.
        rto_variance_floor: Duration,
        /// The shortest time-out under "rfc6298". Default: 1ms.
        rto_min: Duration,
        /// Whether "path" counts the sender's own NIC as a port with a full buffer, too. Default: of the profile.
        rto_nic: bool,
        /// Whether ACKs and NACKs go through the priority queue. Default: true.
        ack_priority: bool,
        /// Largest extra of each RTT sample of senders, uniform; packets are untouched. "0ns" is off. Default: 0ns.
        rtt_noise: Duration,
        /// "scheme", or one path selector for all schemes. Default: scheme.
        #[schemars(schema_with = "balance_schema")]
        balance: Part,
        /// "scheme", or one loss recovery for all schemes: a name, or a table with name and rto. Default: scheme.
        #[schemars(schema_with = "shared_recovery_schema")]
        recovery: Part,
        /// "scheme", or one erasure coding for the flows between sites of all schemes: "none", "mds", "mds(8,2)", or a table with name and
        /// parameters. Default: scheme.
        #[schemars(schema_with = "shared_coding_schema")]
        coding: Part,
        /// When receivers acknowledge packets: "per_packet", "coalesced", or a table with name and parameters. Default:
        /// per_packet.
        #[schemars(schema_with = "ack_schema")]
        ack: Part,
        /// Whether ACKs repeat a mark until the sender says that it has cut its window (RFC 3168), where the control takes marks as
        /// losses: "cubic" and "newreno" with ecn. Others have each packet's own. Default: false.
        repeat_marks: bool,
        /// Whether a flow begins with a handshake, as a TCP connection does: a round trip before its first packet. Default: false.
        handshake: bool,
        /// "per_flow": each flow has a connection of its own; "per_pair": those from one host to another are messages of one, which
        /// leave and arrive in order of their start. Flows that wait for others have their own. Default: per_flow.
        connections: ConnectionScope,
        /// Whether the window of TCP's controls decays to the first one, by half for each time-out, while nothing of a connection is under
        /// way (RFC 2861, as Linux does it). Default: true.
        idle_restart: bool,
        /// Payload that leaves in one go at most, two packets at least, as TCP's segments do that NICs cut up ("64KiB"); "0B": each
        /// packet leaves by itself. Default: 0B.
        burst: Bytes,
        /// The pacer holds nothing back before so many packets of a connection have left, where "burst" is on; Linux: 10. Default: 0.
        unpaced: u32,
        /// Whether a cut of the window on loss is spread over a round trip (proportional rate reduction, RFC 9937), of flows whose
        /// recovery is "rack". Default: false.
        prr: bool,
    }

    /// The hosts.
    Host, HostText as "Host" {
        /// Largest send jitter, uniform per data packet, order kept: "1packet" (one packet time of the NIC) or a time; "0ns"
        /// is off. Exact clocks lock drop-tail queues to one flow. Default: 1packet.
        jitter: Jitter,
    }

    /// A scheme's parts for one class of flows.
    SchemeClass, SchemeClassText as "SchemeClass" {
        /// Congestion control: a name, or a table with name and parameters. Default: of the scheme.
        #[schemars(schema_with = "congestion_schema")]
        congestion: Part,
        /// Path selection: a name, or a table with name and parameters. Default: of the scheme.
        #[schemars(schema_with = "balance_schema")]
        balance: Part,
        /// Loss recovery: a name, or a table with name and rto. Default: of the scheme.
        #[schemars(schema_with = "recovery_schema")]
        recovery: Part,
        /// Erasure coding: "none", "mds", "mds(8,2)", or a table with name and parameters. Default: of the scheme.
        #[schemars(schema_with = "coding_schema")]
        coding: Part,
        /// When the window lets a packet go: "below" (while bytes in flight are below it) or "fits" (while one more full
        /// packet fits). Default: of the scheme.
        #[schemars(schema_with = "window_check_schema")]
        window_check: WindowCheck,
    }

    /// Samples to take. Sampling changes nothing.
    Probes, ProbesText as "Probes" {
        /// Interval of flow samples: receiver goodput, window, RTT; "off" or a time. Default: off.
        rate_interval: Interval,
        /// Interval of samples of ports (queue, phantom queue, utilisation) and proxies (queue); "off" or a time. Default: off.
        queue_interval: Interval,
        /// Which ports: "bottlenecks", "all", or names and patterns, such as "border*->*". Default: bottlenecks.
        ports: PortChoice,
        /// Ports of which only the utilisation is sampled, chosen alike. Default: none.
        links: PortChoice,
        /// Which flows: "all", or some of "flow=17,20..29", "tag=incast*" and "class=inter". Default: those of the fairness
        /// group, or all if there is none.
        flows [optional]: FlowChoice,
        /// Which series, by name or pattern: rate, cwnd, rtt, queue, phantom_queue, utilization, proxy_queue, signal. Default:
        /// all of them.
        series: Vec<String>,
    }

    /// Flows that count in the summary.
    Measure, MeasureText as "Measure" {
        /// Flows that start before are not in the summary. Default: 0s.
        warmup: Duration,
        /// The tag whose flows are backlogged on one bottleneck; without one, fairness is null.
        fairness_group [optional]: String,
        /// Goodput, which is what arrives at receivers for the first time, is measured from here on. Default: warmup.
        goodput_from [optional]: Duration,
        /// And until here, at most until stop.time; the run does not end with its measured flows before. Without it, goodput is not measured.
        goodput_until [optional]: Duration,
    }

    /// When to end. A run also ends when nothing is left to happen.
    Stop, StopText as "Stop" {
        /// Nothing at or after this time happens. Default: 10s.
        time: Duration,
    }

    /// Backbone routers between the sites: every spine of both has links to some of them, every router has as many to each site.
    /// topology.wan says what rate and buffers these links have; their delay follows from wan.rtt.
    Backbone, BackboneText as "Backbone" {
        /// How many routers there are; a divisor of spines x links_per_spine. Default: spines x links_per_spine.
        routers: u32,
        /// Links of each spine, each to another router. Default: 8.
        links_per_spine: u32,
    }
}

/// The links between the sites.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Wan")]
pub struct WanText {
    /// Base RTT between hosts of the two sites: a full packet out, its ACK back. Default: of the profile.
    pub rtt: Option<Duration>,
    /// Parallel links from border to border; a backbone has its own number. Default: 8.
    pub links: Option<u32>,
    /// Rate of each. Default: topology.link_rate.
    pub rate: Option<Rate>,
    /// Data bytes that each of their ports holds. Default: topology.buffer.
    pub buffer: Option<Bytes>,
}
