//! Parts of the workload: as a text has them, and resolved by kind.

use super::schema::{class_schema, own_balance_schema};
use crate::value::{
    CollectiveAlgorithm, Hosts, LoadReference, LoadUnit, Mix, MixUnit, NamedMix, Part, Sizes, TriggerDelay,
    WorkloadKind,
};
use farspan_transport::Class;
use farspan_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of the workload. Which keys apply depends on the kind.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Workload")]
pub struct WorkloadText {
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
    /// Incast: the sending hosts: numbers, ranges, names, or "all" but the receiver.
    pub senders: Option<Hosts>,
    /// Incast: instead of senders, how many other hosts send. The seed draws them.
    pub degree: Option<u32>,
    /// Pairs: sending and receiving hosts, such as [[0, 129], [15, 247]].
    pub pairs: Option<Vec<Vec<u32>>>,
    /// Poisson: the hosts that receive: numbers, ranges or names. Default: all.
    pub receivers: Option<Hosts>,
    /// Incast, permutation, pairs, all_to_all: payload of each flow; default of pairs: of the profile. Other collectives: the
    /// buffer of each rank, which is cut into a chunk for every rank of its group.
    pub flow_size: Option<Bytes>,
    /// When this part starts. Default: 0us.
    pub start: Option<Duration>,
    /// Pairs: time from the start of one flow to the start of the next. Default: 0us.
    pub gap: Option<Duration>,
    /// Incast: largest delay of the start of each flow, drawn at random. Default: 0us.
    pub spread: Option<Duration>,
    /// Poisson: only flows of this class, "intra" or "inter". Default: both, by the mix. Permutation: "intra", a
    /// permutation inside each site. Default: one over all hosts.
    #[schemars(schema_with = "class_schema")]
    pub class: Option<Class>,
    /// Poisson: a built-in distribution, a CSV file (size_bytes,cdf), or { intra = ..., inter = ... }.
    pub sizes: Option<Sizes>,
    /// Poisson: flows of at least this size get the tag with "-large" appended. Default: none have.
    pub large: Option<Bytes>,
    /// Poisson: offered load, as a fraction of load_reference. Incast with a degree: incasts arrive as a Poisson
    /// process, and their payload is this fraction of the capacity of all NICs.
    pub load: Option<f64>,
    /// Poisson: what the load is a fraction of: "host" (the NICs of all hosts), "wan", "bisection", "receivers" (the NICs
    /// of the receivers) or "tightest" (whichever of these the traffic would fill first). Default: receivers if they are listed,
    /// else host; for flows between the sites wan.
    pub load_reference: Option<LoadReference>,
    /// Poisson: whether the load counts headers: "payload" or "wire". Default: payload.
    pub load_unit: Option<LoadUnit>,
    /// Poisson: intra : inter, such as "4:1"; or "paper" or "artifact", which bring their sizes. Default: 1:0 in one
    /// site, 4:1 in two.
    pub mix: Option<Mix>,
    /// Poisson: what the mix counts: "flows" or "bytes". Default: flows.
    pub mix_unit: Option<MixUnit>,
    /// Poisson: how many flows arrive. With measure.warmup: how many are measured; arrivals continue until the last of
    /// them has finished. Pairs: how many flows there are; the pairs take turns. Default of pairs: one for each.
    pub flows: Option<u64>,
    /// Poisson: instead of flows, how long flows arrive. With measure.warmup: for how long arriving flows are measured.
    /// Incast with a load: how long incasts arrive.
    pub duration: Option<Duration>,
    /// Poisson: start times are rounded down to a multiple of this; "0ns" is off. Default: of the profile.
    pub start_granularity: Option<Duration>,
    /// Flows: a CSV or Parquet file with src,dst,size_bytes,start_ns and optionally tag,after,after_delivered,barrier,queue.
    pub file: Option<String>,
    /// Collectives: the hosts that take part, in the order of their ring: numbers, ranges, names or "all".
    pub ranks: Option<Hosts>,
    /// Collectives: instead of ranks, several groups of ranks that run in parallel.
    pub groups: Option<Vec<Hosts>>,
    /// Collectives: "ring" (one peer at a time), "direct" (all peers at once), "pipeline" (a ring whose stages all run at once)
    /// or, of an allreduce, "hierarchical" (rings inside the sites, direct between them). Default: ring; all_to_all: direct.
    pub algorithm: Option<CollectiveAlgorithm>,
    /// Collectives: the number of iterations. Default: 1.
    pub iterations: Option<u32>,
    /// Collectives: time on each rank between the end of an iteration and its first send of the next one. Default: 0us.
    pub compute_time: Option<Duration>,
    /// Collectives: whether an iteration starts only when all ranks of all groups have finished the one before.
    /// Default: true if there is more than one.
    pub barrier: Option<bool>,
    /// Flows, and collectives with a barrier: how long it takes to tell another host that a flow it waits for has
    /// finished: "lookahead" (the shortest delay of a link) or a time. Default: lookahead.
    pub trigger_delay: Option<TriggerDelay>,
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
    /// By how much at most a flow starts later.
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

/// Poisson arrivals.
#[derive(Clone, PartialEq, Debug)]
pub struct Poisson {
    /// The hosts that receive; `None`: all.
    pub receivers: Option<Hosts>,
    /// Flows of which classes, and their sizes.
    pub classes: Classes,
    /// From which size on flows have a tag of their own, if any have.
    pub large: Option<Bytes>,
    /// Offered load, as a fraction of `load_reference`.
    pub load: f64,
    /// The capacity that the load is a fraction of.
    pub load_reference: LoadReference,
    /// Whether the load counts headers.
    pub load_unit: LoadUnit,
    /// How many flows.
    pub arrivals: FlowCount,
    /// Starts are cut to a multiple of this.
    pub start_granularity: Duration,
}

/// The classes of random arrivals, with their sizes.
#[derive(Clone, PartialEq, Debug)]
pub enum Classes {
    /// One of the two.
    One {
        /// Which.
        class: Class,
        /// The sizes of its flows.
        sizes: FlowSizes,
    },
    /// Both, with sizes of their own.
    Ratio {
        /// Parts intra and parts inter.
        parts: [f64; 2],
        /// The unit that the parts count in.
        unit: MixUnit,
        /// The sizes of flows.
        sizes: Sizes,
    },
    /// Both, as a named mix has them.
    Named {
        /// The mix.
        mix: NamedMix,
        /// The unit that its parts count in.
        unit: MixUnit,
    },
}

/// The sizes of random arrivals of one class.
#[derive(Clone, PartialEq, Debug)]
pub enum FlowSizes {
    /// These.
    Own(Sizes),
    /// Those that a named mix brings.
    OfMix(NamedMix),
}

impl Classes {
    /// Parts intra and parts inter.
    #[must_use]
    pub const fn parts(&self) -> [f64; 2] {
        match self {
            Self::One { class: Class::Intra, .. } => [1.0, 0.0],
            Self::One { class: Class::Inter, .. } => [0.0, 1.0],
            Self::Ratio { parts, .. } => *parts,
            Self::Named { .. } => NamedMix::RATIO,
        }
    }

    /// The unit that the parts count in.
    #[must_use]
    pub const fn unit(&self) -> MixUnit {
        match self {
            Self::One { .. } => MixUnit::Flows,
            Self::Ratio { unit, .. } | Self::Named { unit, .. } => *unit,
        }
    }

    /// The sizes of flows, or the mix that brings them.
    ///
    /// # Errors
    /// The mix, if the sizes are those of one.
    pub const fn sizes(&self) -> Result<&Sizes, NamedMix> {
        match self {
            Self::One { sizes: FlowSizes::Own(sizes), .. } | Self::Ratio { sizes, .. } => Ok(sizes),
            Self::One { sizes: FlowSizes::OfMix(mix), .. } | Self::Named { mix, .. } => Err(*mix),
        }
    }
}

/// How many flows arrive, or how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowCount {
    /// So many.
    Flows(u64),
    /// As many as come in this time.
    For(Duration),
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
    pub const fn kind(&self) -> WorkloadKind {
        match &self.traffic {
            Traffic::Incast(_) => WorkloadKind::Incast,
            Traffic::Permutation { .. } => WorkloadKind::Permutation,
            Traffic::Pairs { .. } => WorkloadKind::Pairs,
            Traffic::Poisson(_) => WorkloadKind::Poisson,
            Traffic::Flows { .. } => WorkloadKind::Flows,
            Traffic::Collective(collective) => match collective.operation {
                CollectiveKind::Allreduce => WorkloadKind::Allreduce,
                CollectiveKind::ReduceScatter => WorkloadKind::ReduceScatter,
                CollectiveKind::AllGather => WorkloadKind::AllGather,
                CollectiveKind::AllToAll => WorkloadKind::AllToAll,
            },
        }
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
        let mut text = Self {
            kind: Some(part.kind()),
            tag: Some(part.tag.clone()),
            balance: part.balance.clone(),
            start: Some(part.start),
            ..Self::default()
        };
        match &part.traffic {
            Traffic::Incast(incast) => incast.write(&mut text),
            Traffic::Permutation { flow_size, inside_sites } => {
                (text.flow_size, text.class) = (Some(*flow_size), inside_sites.then_some(Class::Intra));
            }
            Traffic::Pairs { pairs, flow_size, gap, flows } => {
                text.flows = *flows;
                text.pairs = Some(pairs.iter().map(|pair| pair.to_vec()).collect());
                (text.flow_size, text.gap) = (Some(*flow_size), Some(*gap));
            }
            Traffic::Poisson(poisson) => poisson.write(&mut text),
            Traffic::Flows { file, trigger_delay } => {
                (text.file, text.trigger_delay) = (Some(file.clone()), Some(*trigger_delay));
            }
            Traffic::Collective(collective) => collective.write(&mut text),
        }
        text
    }
}

impl Incast {
    fn write(&self, text: &mut WorkloadText) {
        (text.flow_size, text.spread) = (Some(self.flow_size), Some(self.spread));
        match &self.hosts {
            IncastHosts::Listed { senders, receiver } => {
                (text.senders, text.receiver) = (Some(senders.clone()), Some(*receiver));
            }
            IncastHosts::Drawn(drawn) => {
                (text.degree, text.receiver) = (Some(drawn.degree), drawn.receiver);
                (text.load, text.duration) = drawn.arrivals.unzip();
            }
        }
    }
}

impl Poisson {
    fn write(&self, text: &mut WorkloadText) {
        text.receivers.clone_from(&self.receivers);
        match self.classes.sizes() {
            Ok(sizes) => text.sizes = Some(sizes.clone()),
            Err(mix) => text.mix = Some(Mix::Named(mix)),
        }
        match &self.classes {
            Classes::One { class, .. } => text.class = Some(*class),
            Classes::Ratio { parts: [intra, inter], unit, .. } => {
                (text.mix, text.mix_unit) = (Some(Mix::Ratio(*intra, *inter)), Some(*unit));
            }
            Classes::Named { unit, .. } => text.mix_unit = Some(*unit),
        }
        match self.arrivals {
            FlowCount::Flows(flows) => text.flows = Some(flows),
            FlowCount::For(duration) => text.duration = Some(duration),
        }
        (text.large, text.load) = (self.large, Some(self.load));
        (text.load_reference, text.load_unit) = (Some(self.load_reference), Some(self.load_unit));
        text.start_granularity = Some(self.start_granularity);
    }
}

impl Collective {
    fn write(&self, text: &mut WorkloadText) {
        match &self.members {
            Members::Ranks(ranks) => text.ranks = Some(ranks.clone()),
            Members::Groups(groups) => text.groups = Some(groups.clone()),
        }
        (text.flow_size, text.algorithm) = (Some(self.flow_size), Some(self.algorithm));
        (text.iterations, text.compute_time) = (Some(self.iterations), Some(self.compute_time));
        (text.barrier, text.trigger_delay) = (Some(self.barrier), Some(self.trigger_delay));
    }
}
