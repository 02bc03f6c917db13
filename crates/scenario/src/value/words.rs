//! Closed sets of words.

use crate::names::{self, UnknownName};
use farspan_units::TelemetryKind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A closed set of words; `planned` ones are known to the interface and refused with a message that says so, and those `also` read
/// are written back as the word that they stand for.
macro_rules! words {
    (
        $(#[$doc:meta])* $name:ident is $what:literal {
            $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)*
        } planned [$($planned:literal),*] $(also [$($alias:literal => $aliased:ident),*])?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// Every word, in order.
            pub const NAMES: &[&str] = &[$($word),*];

            /// The word.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $name {
            type Err = UnknownName;

            fn from_str(text: &str) -> Result<Self, UnknownName> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    $($($alias => Ok(Self::$aliased),)*)?
                    _ => Err(names::unknown($what, text, Self::NAMES, &[$($planned),*])),
                }
            }
        }

        as_text!($name, { "type": "string", "enum": [$($word,)* $($($alias),*)?] });
    };
}

pub(crate) use words;

words! {
    /// Kind of a node of a topology file.
    NodeType is "kind of node" {
        /// Sends and receives.
        Host = "host",
        /// Forwards.
        Switch = "switch",
    } planned []
}

words! {
    /// Which nodes of two lists are linked.
    Wiring is "wiring" {
        /// Each with each.
        All = "all",
        /// The longer list partitioned among the shorter one in equal blocks.
        Blocks = "blocks",
    } planned []
}

words! {
    /// In what steps a collective goes.
    CollectiveAlgorithm is "algorithm" {
        /// One peer at a time.
        Ring = "ring",
        /// All peers at once.
        Direct = "direct",
        /// A ring whose stages all run at once.
        Pipeline = "pipeline",
        /// Rings inside the sites, direct between them.
        Hierarchical = "hierarchical",
    } planned []
}

words! {
    /// Which packets can be lost.
    LossPackets is "set of packets" {
        /// Data packets with their payload.
        Data = "data",
        /// All packets.
        All = "all",
    } planned []
}

words! {
    /// The scope in which the packets of a block loss are numbered.
    LossPer is "numbering" {
        /// Each port.
        Queue = "queue",
        /// Each switch, flow by flow.
        Flow = "flow",
    } planned []
}

words! {
    /// A named set of constants.
    Profile is "profile" {
        /// As the papers state them.
        Paper = "paper",
        /// As the published code ran it.
        Artifact = "artifact",
    } planned ["rescaled"] also ["published-code" => Artifact]
}

words! {
    /// The capacity of which a load is a fraction.
    LoadReference is "load reference" {
        /// The NICs of all hosts.
        Host = "host",
        /// The links between the sites, one direction.
        Wan = "wan",
        /// Half of the host capacity, thinned out by the oversubscription.
        Bisection = "bisection",
        /// The NICs of the receivers.
        Receivers = "receivers",
        /// Whichever of the others this traffic would fill first.
        Tightest = "tightest",
    } planned []
}

words! {
    /// Whether a load counts headers.
    LoadUnit is "load unit" {
        /// Payload bytes.
        Payload = "payload",
        /// Bytes on the wire: payload and headers.
        Wire = "wire",
    } planned []
}

words! {
    /// A mix with a name.
    NamedMix is "mix" {
        /// 4:1 by flows; WebSearch inside, Alibaba's regional WAN between the sites (Uno, section 5.1).
        Paper = "paper",
        /// 4:1 by flows; AliStorage2019 inside, WebSearch between the sites (the flow lists published with Uno).
        Artifact = "artifact",
    } planned []
}

impl NamedMix {
    /// Parts intra and parts inter of every named mix.
    pub const RATIO: [f64; 2] = [4.0, 1.0];

    /// The size distributions, intra and inter, that it brings.
    #[must_use]
    pub const fn sizes(self) -> [&'static str; 2] {
        match self {
            Self::Paper => ["websearch", "alibaba-wan"],
            Self::Artifact => ["alistorage", "websearch"],
        }
    }
}

words! {
    /// The unit in which an intra : inter ratio counts.
    MixUnit is "mix unit" {
        /// Flows.
        Flows = "flows",
        /// Payload bytes.
        Bytes = "bytes",
    } planned []
}

words! {
    /// When a port decides to mark.
    MarkAt is "marking point" {
        /// On arrival.
        Enqueue = "enqueue",
        /// On departure.
        Dequeue = "dequeue",
    } planned []
}

words! {
    /// The action of a port on a data packet that its buffer has no room for.
    Overflow is "overflow" {
        /// It is dropped.
        Drop = "drop",
        /// A payload is cut off; the header goes on in the priority queue.
        Trim = "trim",
    } planned []
}

words! {
    /// Which of its equal-cost ports a switch sends a data packet to.
    RoutingRule is "routing" {
        /// The hash of flow and entropy chooses.
        Ecmp = "ecmp",
        /// The one with the least data.
        Adaptive = "adaptive",
    } planned []
}

/// State that a port writes on packets that it sends: a word for each kind of telemetry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Telemetry(pub TelemetryKind);

impl fmt::Display for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl FromStr for Telemetry {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let kind = TelemetryKind::ALL.iter().find(|kind| kind.name() == text);
        kind.map(|kind| Self(*kind))
            .ok_or_else(|| names::unknown("telemetry", text, TelemetryKind::NAMES, &[]))
    }
}

as_text!(Telemetry, { "type": "string", "enum": (TelemetryKind::NAMES) });

words! {
    /// The bytes that telemetry counts at a port.
    TelemetryCounts is "count" {
        /// Those that left before the packet.
        Departures = "departures",
        /// Those that had come to be sent, the packet included.
        Arrivals = "arrivals",
    } planned []
}

words! {
    /// The links over which data is lossless.
    PfcLinks is "set of links" {
        /// None.
        None = "none",
        /// Those inside a site.
        Site = "site",
        /// All.
        All = "all",
    } planned []
}

words! {
    /// The flows that share a connection.
    ConnectionScope is "choice of connections" {
        /// None: each has its own, which ends with it.
        PerFlow = "per_flow",
        /// Those from one host to another.
        PerPair = "per_pair",
    } planned []
}

words! {
    /// Which switches do as a scheme asks.
    SwitchSet is "set of switches" {
        /// All.
        All = "all",
        /// Those without a link to another site.
        Site = "site",
    } planned []
}

words! {
    /// Whose packets an account of a switch's buffer counts.
    PoolAccounts is "kind of account" {
        /// Those that came over one link.
        Ingress = "ingress",
        /// Those that wait at one port.
        Egress = "egress",
    } planned []
}

words! {
    /// Whose payload a port cuts off.
    TrimVictim is "victim of trimming" {
        /// That of the packet that arrives.
        Arriving = "arriving",
        /// A fair coin chooses the packet that arrives or the last one in the queue.
        Coin = "coin",
    } planned []
}

words! {
    /// A tier of switch ports.
    PortTier is "tier of ports" {
        /// ToR to host.
        HostDown = "host_down",
        /// Between switches of one site.
        Fabric = "fabric",
        /// Between core and border switches, both ways.
        Border = "border",
        /// Between sites.
        Wan = "wan",
    } planned []
}

words! {
    /// How a proxy relays.
    ProxyRule is "proxy" {
        /// There is none.
        None = "none",
        /// Two connections.
        Naive = "naive",
        /// One connection, and early NACKs.
        Streamlined = "streamlined",
    } planned []
}

words! {
    /// The name of a way in which a proxy learns of losses.
    ProxyLossName is "loss detection" {
        /// From trimmed packets.
        Trim = "trim",
        /// From gaps in the numbers of each path.
        GapPath = "gap-path",
        /// From later packets of the flow, and time.
        GapFlow = "gap-flow",
        /// Not at all.
        None = "none",
    } planned []
}

words! {
    /// The control of a proxy's own connection.
    OnwardRule is "control of the second connection" {
        /// As fast as the NIC.
        LineRate = "line-rate",
        /// The scheme's, between sites.
        Scheme = "scheme",
    } planned []
}

words! {
    /// A measured time that a proxy takes over a packet.
    ProxyDelayName is "delay" {
        /// An eBPF program: median 0.42 us (HotNets 2025, section 5, figure 5a).
        Ebpf = "ebpf",
        /// A program in user space: 99th percentile 359.17 us (figure 4).
        UserSpace = "user-space",
    } planned []
}

words! {
    /// How a proxy is chosen.
    ProxyHostRule is "choice of a proxy" {
        /// The last host of the sending site that neither sends nor receives in the incast.
        Last = "last",
        /// Any such host of the sending site, drawn for each incast.
        Random = "random",
        /// The planner chooses; it may choose none.
        Planned = "planned",
        /// The planner chooses from two hosts drawn for each incast.
        Probed = "probed",
    } planned []
}

words! {
    /// A part of a scheme that other schemes can take over from it.
    SchemePart is "part of a scheme that others can take over" {
        /// When a packet counts as lost, and what is sent again.
        Recovery = "recovery",
        /// Which path a packet takes.
        Balance = "balance",
        /// Whether parity packets go with the data.
        Coding = "coding",
    } planned []
}
