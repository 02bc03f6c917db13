//! Parts of the workload: as a text has them, and resolved by kind.

use super::declare::*;
use super::poisson::{Classes, FlowCount, Poisson};
use super::schema::{class_schema, own_balance_schema};
use crate::value::{
    CollectiveAlgorithm, Hosts, LoadReference, LoadUnit, Mix, MixUnit, Part, Sizes, TriggerDelay,
};
use farspan_transport::Class;
use farspan_units::{Bytes, Duration};

tagged! {
    /// A part of the workload. Its kind says which keys it has.
    WorkloadText as "Workload" {
        /// Kind of traffic.
        kind: WorkloadKind is "workload";

        /// The keys of every part.
        WorkloadCommon [
            {
                /// The name of this part in results. Default: the kind.
                tag: String,
                /// Path selection of this part's flows, whatever the scheme: a name, or a table with name and parameters. Default: of
                /// the scheme.
                #[schemars(schema_with = "own_balance_schema")]
                balance: Part,
            }
            {
                /// When this part starts. Default: 0us.
                start: Duration,
            }
        ];

        Incast = "incast": "several senders, one receiver" => IncastKeys {
            ..,
            /// The receiving host. Default: with load, drawn for each incast.
            receiver: u32,
            /// The sending hosts: numbers, ranges, names, or "all" but the receiver.
            senders: Hosts,
            /// Instead of senders, how many other hosts send. The seed draws them.
            degree: u32,
            /// Payload of each flow.
            flow_size: Bytes,
            ..,
            /// Largest delay of the start of each flow, drawn at random. Default: 0us.
            spread: Duration,
            /// With a degree: incasts arrive as a Poisson process, and their payload is this fraction of the capacity of all NICs.
            load: f64,
            /// With a load: how long incasts arrive.
            duration: Duration,
        }

        Pairs = "pairs": "flows from some hosts to others" => PairsKeys {
            ..,
            /// Sending and receiving hosts, such as [[0, 129], [15, 247]].
            pairs: Vec<Vec<u32>>,
            /// Payload of each flow. Default: of the profile.
            flow_size: Bytes,
            ..,
            /// Time from the start of one flow to the start of the next. Default: 0us.
            gap: Duration,
            /// How many flows there are; the pairs take turns. Default: one for each pair.
            flows: u64,
        }

        Permutation = "permutation": "every host sends to one other" => PermutationKeys {
            ..,
            /// Payload of each flow.
            flow_size: Bytes,
            ..,
            /// "intra": a permutation inside each site. Default: one over all hosts.
            #[schemars(schema_with = "class_schema")]
            class: Class,
        }

        Poisson = "poisson": "Poisson arrivals, sizes from a distribution" => PoissonKeys {
            ..,
            /// The hosts that receive: numbers, ranges or names. Default: all.
            receivers: Hosts,
            ..,
            /// Only flows of this class, "intra" or "inter". Default: both, by the mix.
            #[schemars(schema_with = "class_schema")]
            class: Class,
            /// A built-in distribution, a CSV file (size_bytes,cdf), or { intra = ..., inter = ... }.
            sizes: Sizes,
            /// Flows of at least this size get the tag with "-large" appended. Default: none have.
            large: Bytes,
            /// Offered load, as a fraction of load_reference.
            load: f64,
            /// The capacity that the load is a fraction of: "host" (the NICs of all hosts), "wan", "bisection", "receivers" (the NICs
            /// of the receivers) or "tightest" (whichever of these the traffic would fill first). Default: receivers if they are listed,
            /// else host; for flows between the sites wan.
            load_reference: LoadReference,
            /// Whether the load counts headers: "payload" or "wire". Default: payload.
            load_unit: LoadUnit,
            /// The ratio intra : inter, such as "4:1"; or "paper" or "artifact", which bring their sizes. Default: 1:0 in one
            /// site, 4:1 in two.
            mix: Mix,
            /// The unit that the mix counts in: "flows" or "bytes". Default: flows.
            mix_unit: MixUnit,
            /// How many flows arrive. With measure.warmup: how many are measured; arrivals continue until the last of
            /// them has finished.
            flows: u64,
            /// Instead of flows, how long flows arrive. With measure.warmup: for how long arriving flows are measured.
            duration: Duration,
            /// Start times are rounded down to a multiple of this; "0ns" is off. Default: of the profile.
            start_granularity: Duration,
        }

        Flows = "flows": "a list, CSV or Parquet" => FlowsKeys {
            ..,
            ..,
            /// A CSV or Parquet file with src,dst,size_bytes,start_ns and optionally tag,after,after_delivered,barrier,queue.
            file: String,
            /// How long it takes to tell another host that a flow it waits for has finished: "lookahead" (the shortest delay of a
            /// link) or a time. Default: lookahead.
            trigger_delay: TriggerDelay,
        }

        Allreduce = "allreduce": "a collective in dependent steps; every rank gets the sum of all buffers",
        ReduceScatter = "reduce_scatter": "a collective; every rank gets the sum of one chunk",
        AllGather = "all_gather": "a collective; every rank gets the chunks of all ranks",
        AllToAll = "all_to_all": "a collective; every rank gets a block from every other" => CollectiveKeys {
            ..,
            /// The buffer of each rank, which is cut into a chunk for every rank of its group. In an all_to_all: payload of each flow.
            flow_size: Bytes,
            ..,
            /// The hosts that take part, in the order of their ring: numbers, ranges, names or "all".
            ranks: Hosts,
            /// Instead of ranks, several groups of ranks that run in parallel.
            groups: Vec<Hosts>,
            /// "ring" (one peer at a time), "direct" (all peers at once), "pipeline" (a ring whose stages all run at once)
            /// or, of an allreduce, "hierarchical" (rings inside the sites, direct between them). Default: ring; all_to_all: direct.
            algorithm: CollectiveAlgorithm,
            /// The number of iterations. Default: 1.
            iterations: u32,
            /// Time on each rank between the end of an iteration and its first send of the next one. Default: 0us.
            compute_time: Duration,
            /// Whether an iteration starts only when all ranks of all groups have finished the one before.
            /// Default: true if there is more than one.
            barrier: bool,
            /// With a barrier: how long it takes to tell another host that a flow it waits for has finished: "lookahead" (the
            /// shortest delay of a link) or a time. Default: lookahead.
            trigger_delay: TriggerDelay,
        }
    }
}

/// An incast that a program declares: senders that together send so many bytes to a receiver.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Incast")]
pub struct IncastText {
    /// The sending hosts: numbers, ranges or names.
    pub senders: Option<Hosts>,
    /// The receiving host.
    pub receiver: Option<u32>,
    /// Payload of all senders together. Each sends an equal part, rounded up.
    pub bytes: Option<Bytes>,
    /// The name of its flows in results. Default: incast.
    pub tag: Option<String>,
    /// When it starts. Default: 0us.
    pub start: Option<Duration>,
}

/// A part of the workload: the keys that every kind has, and those of one.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    /// The name of this part in results.
    pub tag: String,
    /// Path selection of this part's flows, whatever the scheme.
    pub balance: Option<Part>,
    /// When this part starts.
    pub start: Duration,
    /// Its flows.
    pub traffic: Traffic,
}

/// The flows of a part. Keys are those of [`WorkloadText`].
#[derive(Clone, PartialEq, Debug)]
pub enum Traffic {
    /// Several senders, one receiver.
    Incast(Incast),
    /// Every host sends to one other host and receives from one.
    Permutation {
        /// Payload of each flow.
        flow_size: Bytes,
        /// Whether each site has a permutation of its own.
        inside_sites: bool,
    },
    /// Flows from some hosts to others.
    Pairs {
        /// Senders and receivers.
        pairs: Vec<[u32; 2]>,
        /// Payload of each flow.
        flow_size: Bytes,
        /// From the start of one flow to that of the next.
        gap: Duration,
        /// How many flows the pairs get in turn; `None`: one each.
        flows: Option<u64>,
    },
    /// Poisson arrivals with sizes from a distribution.
    Poisson(Poisson),
    /// A list of flows from a file.
    Flows {
        /// The file.
        file: String,
        /// How long a notification takes to another host that a flow has ended.
        trigger_delay: TriggerDelay,
    },
    /// Messages in stages that wait for one another.
    Collective(Collective),
}

/// One incast or many.
#[derive(Clone, PartialEq, Debug)]
pub struct Incast {
    /// Who takes part.
    pub hosts: IncastHosts,
    /// Payload of each flow.
    pub flow_size: Bytes,
    /// The largest delay of a flow's start.
    pub spread: Duration,
}

/// The hosts of an incast.
#[derive(Clone, PartialEq, Debug)]
pub enum IncastHosts {
    /// One incast of these.
    Listed {
        /// The sending hosts.
        senders: Hosts,
        /// The receiving host.
        receiver: u32,
    },
    /// Hosts drawn by the seed.
    Drawn(DrawnHosts),
}

/// Hosts that are drawn for an incast, or for each of many.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DrawnHosts {
    /// How many hosts send.
    pub degree: u32,
    /// The receiving host, if it is not drawn.
    pub receiver: Option<u32>,
    /// If incasts come as a Poisson process: which fraction of what the NICs of all hosts carry their payload is, and how
    /// long they come.
    pub arrivals: Option<(f64, Duration)>,
}

/// A collective.
#[derive(Clone, PartialEq, Debug)]
pub struct Collective {
    /// Which.
    pub operation: CollectiveKind,
    /// The hosts that take part.
    pub members: Members,
    /// The buffer of each rank; of an all-to-all, payload of each flow.
    pub flow_size: Bytes,
    /// In what steps.
    pub algorithm: CollectiveAlgorithm,
    /// How often.
    pub iterations: u32,
    /// The time on a rank between the end of an iteration and its first send of the next.
    pub compute_time: Duration,
    /// Whether an iteration begins only when all ranks have ended the one before.
    pub barrier: bool,
    /// How long a notification takes to another host that a flow has ended.
    pub trigger_delay: TriggerDelay,
}

/// A collective, by the data that ranks have when it is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CollectiveKind {
    /// Every rank gets the sum of all buffers.
    Allreduce,
    /// Every rank gets the sum of one chunk.
    ReduceScatter,
    /// Every rank gets the chunks of all.
    AllGather,
    /// Every rank sends to every other.
    AllToAll,
}

/// The ranks of a collective, in the order of their ring.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Members {
    /// One group.
    Ranks(Hosts),
    /// Several, beside each other.
    Groups(Vec<Hosts>),
}

impl Workload {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> WorkloadKind {
        WorkloadText::from(self).kind()
    }

    /// Whether its flows come as a Poisson process.
    #[must_use]
    pub const fn is_random(&self) -> bool {
        matches!(
            &self.traffic,
            Traffic::Poisson(_)
                | Traffic::Incast(Incast {
                    hosts: IncastHosts::Drawn(DrawnHosts { arrivals: Some(_), .. }),
                    ..
                })
        )
    }

    /// How long a notification takes to another host that a flow has ended, where flows wait for others.
    #[must_use]
    pub const fn trigger_delay(&self) -> Option<TriggerDelay> {
        match &self.traffic {
            Traffic::Flows { trigger_delay, .. } => Some(*trigger_delay),
            Traffic::Collective(collective) => Some(collective.trigger_delay),
            _ => None,
        }
    }
}

impl From<&Workload> for WorkloadText {
    fn from(part: &Workload) -> Self {
        let common = WorkloadCommon {
            tag: Some(part.tag.clone()),
            balance: part.balance.clone(),
            start: Some(part.start),
        };
        let text = match &part.traffic {
            Traffic::Incast(incast) => Self::Incast(incast.into()),
            Traffic::Permutation { flow_size, inside_sites } => Self::Permutation(PermutationKeys {
                flow_size: Some(*flow_size),
                class: inside_sites.then_some(Class::Intra),
                ..PermutationKeys::default()
            }),
            Traffic::Pairs { pairs, flow_size, gap, flows } => Self::Pairs(PairsKeys {
                pairs: Some(pairs.iter().map(|pair| pair.to_vec()).collect()),
                flow_size: Some(*flow_size),
                gap: Some(*gap),
                flows: *flows,
                ..PairsKeys::default()
            }),
            Traffic::Poisson(poisson) => Self::Poisson(poisson.into()),
            Traffic::Flows { file, trigger_delay } => Self::Flows(FlowsKeys {
                file: Some(file.clone()),
                trigger_delay: Some(*trigger_delay),
                ..FlowsKeys::default()
            }),
            Traffic::Collective(collective) => {
                let keys = collective.into();
                match collective.operation {
                    CollectiveKind::Allreduce => Self::Allreduce(keys),
                    CollectiveKind::ReduceScatter => Self::ReduceScatter(keys),
                    CollectiveKind::AllGather => Self::AllGather(keys),
                    CollectiveKind::AllToAll => Self::AllToAll(keys),
                }
            }
        };
        text.with(common)
    }
}

impl From<&Incast> for IncastKeys {
    fn from(incast: &Incast) -> Self {
        let keys = Self { flow_size: Some(incast.flow_size), spread: Some(incast.spread), ..Self::default() };
        match &incast.hosts {
            IncastHosts::Listed { senders, receiver } => {
                Self { senders: Some(senders.clone()), receiver: Some(*receiver), ..keys }
            }
            IncastHosts::Drawn(DrawnHosts { degree, receiver, arrivals }) => {
                let (load, duration) = arrivals.unzip();
                Self { degree: Some(*degree), receiver: *receiver, load, duration, ..keys }
            }
        }
    }
}

impl From<&Poisson> for PoissonKeys {
    fn from(poisson: &Poisson) -> Self {
        let (sizes, named) = match poisson.classes.sizes() {
            Ok(sizes) => (Some(sizes.clone()), None),
            Err(mix) => (None, Some(Mix::Named(mix))),
        };
        let (class, mix, mix_unit) = match &poisson.classes {
            Classes::One { class, .. } => (Some(*class), named, None),
            Classes::Ratio { parts: [intra, inter], unit, .. } => {
                (None, Some(Mix::Ratio(*intra, *inter)), Some(*unit))
            }
            Classes::Named { unit, .. } => (None, named, Some(*unit)),
        };
        let (flows, duration) = match poisson.arrivals {
            FlowCount::Flows(flows) => (Some(flows), None),
            FlowCount::For(duration) => (None, Some(duration)),
        };
        Self {
            receivers: poisson.receivers.clone(),
            class,
            sizes,
            large: poisson.large,
            load: Some(poisson.load),
            load_reference: Some(poisson.load_reference),
            load_unit: Some(poisson.load_unit),
            mix,
            mix_unit,
            flows,
            duration,
            start_granularity: Some(poisson.start_granularity),
            ..Self::default()
        }
    }
}

impl From<&Collective> for CollectiveKeys {
    fn from(collective: &Collective) -> Self {
        let (ranks, groups) = match &collective.members {
            Members::Ranks(ranks) => (Some(ranks.clone()), None),
            Members::Groups(groups) => (None, Some(groups.clone())),
        };
        Self {
            flow_size: Some(collective.flow_size),
            ranks,
            groups,
            algorithm: Some(collective.algorithm),
            iterations: Some(collective.iterations),
            compute_time: Some(collective.compute_time),
            barrier: Some(collective.barrier),
            trigger_delay: Some(collective.trigger_delay),
            ..Self::default()
        }
    }
}
