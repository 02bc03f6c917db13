//! Faults: as a text has them, and resolved by kind.

use super::declare::*;
use crate::value::{LossPackets, LossPer};
use farspan_units::{Duration, Rate};

tagged! {
    /// A fault of one or more links, or of proxies. Its kind says which keys it has.
    LinkFaultText as "LinkFault" {
        /// Kind of fault.
        kind: FaultKind is "fault";

        /// The keys of every fault of links.
        LinkFaultCommon [{
            /// The links: FROM->TO#n, or a pattern. In a pattern, * stands for any text and ? for one character.
            link: String,
            /// Instead of link, links by tier (host_up, host_down, fabric, border, wan). TIER:FROM-TO takes only those from one
            /// kind of node (host, tor, agg, core, border) to another, such as "fabric:agg-core".
            links: String,
            /// The share of these links that fail, drawn by the seed: above 0, at most 1. With both_directions, a link and its
            /// reverse count as one. Default: 1.
            share: f64,
            /// When it begins. Default: 0ns.
            at: Duration,
            /// When it ends. Default: never.
            until: Duration,
            /// Whether the links in the other direction fail, too. Default: false.
            both_directions: bool,
            /// Whether all switches learn of the fault and send packets along other paths, if there are any. Default: false.
            withdraw_routes: bool,
            /// With withdraw_routes, how long after the beginning and the end of the fault routes change. Default: 0ns.
            withdraw_delay: Duration,
        }];

        LinkDown = "link_down": "the port stops",
        BlackHole = "black_hole": "the port sends on, and nothing arrives" => OutageKeys {
            ..,
        }

        Rate = "rate": "the link has another rate" => RateKeys {
            ..,
            /// The rate of the links during the fault. A packet that is being sent when it begins keeps its rate.
            rate: Rate,
        }

        Loss = "loss": "packets are lost, each for itself" => LossKeys {
            ..,
            /// The probability that a packet is lost.
            probability: f64,
            /// Which packets can be lost, "data" or "all". Default: data.
            packets: LossPackets,
        }

        BlockLoss = "block_loss": "packets are lost by blocks" => BlockLossKeys {
            ..,
            /// Packets in a block, at most 64. Default: of the profile.
            block: u32,
            /// The probabilities that a block loses 1, 2, 3, ... packets. Default: of the profile.
            probabilities: Vec<f64>,
            /// How packets are counted into blocks: per "queue", or per "flow" at a switch. Default: of the profile.
            per: LossPer,
            /// Which packets can be lost, "data" or "all". Default: of the profile.
            packets: LossPackets,
        }

        ProxyDown = "proxy_down": "a proxy fails: it forgets everything, and relays no more" => ProxyDownKeys {
            /// Which proxy fails. Default: all.
            host: u32,
            /// When it fails. Default: 0ns.
            at: Duration,
        }
    }
}

/// A fault.
#[derive(Clone, PartialEq, Debug)]
pub enum Fault {
    /// It strikes links.
    OfLinks(LinkFault),
    /// Proxies forget everything and relay no more.
    ProxyDown {
        /// The proxy; `None`: all.
        host: Option<u32>,
        /// When.
        at: Duration,
    },
}

/// A fault of links. Keys are those of [`LinkFaultText`].
#[derive(Clone, PartialEq, Debug)]
pub struct LinkFault {
    /// The event.
    pub event: LinkEvent,
    /// To which links.
    pub links: LinkChoice,
    /// To which share of these links; `None`: to all.
    pub share: Option<f64>,
    /// When it begins.
    pub at: Duration,
    /// When it ends; `None`: never.
    pub until: Option<Duration>,
    /// Whether the same happens to the links back.
    pub both_directions: bool,
    /// How long after the fault begins, and ends, switches send packets other ways; `None`: never.
    pub withdraw_after: Option<Duration>,
}

/// An event of a link.
#[derive(Clone, PartialEq, Debug)]
pub enum LinkEvent {
    /// The port stops.
    Down,
    /// The port sends on, and nothing arrives.
    BlackHole,
    /// The link has another rate.
    Rate(Rate),
    /// Packets are lost, each for itself.
    Loss {
        /// With which probability.
        probability: f64,
        /// Which can be.
        packets: LossPackets,
    },
    /// Packets are lost by blocks.
    BlockLoss {
        /// Packets of a block.
        block: u32,
        /// The probabilities that a block loses 1, 2, 3, ... packets.
        probabilities: Vec<f64>,
        /// The scope in which packets are numbered.
        per: LossPer,
        /// Which can be lost.
        packets: LossPackets,
    },
}

/// Some links.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LinkChoice {
    /// Their name, or a pattern of names.
    Named(String),
    /// The place where they lie: a tier, and perhaps kinds of nodes.
    At(String),
}

impl From<&Fault> for LinkFaultText {
    fn from(fault: &Fault) -> Self {
        match fault {
            Fault::OfLinks(fault) => fault.into(),
            Fault::ProxyDown { host, at } => Self::ProxyDown(ProxyDownKeys { host: *host, at: Some(*at) }),
        }
    }
}

impl From<&LinkFault> for LinkFaultText {
    fn from(fault: &LinkFault) -> Self {
        let (link, links) = match &fault.links {
            LinkChoice::Named(name) => (Some(name.clone()), None),
            LinkChoice::At(place) => (None, Some(place.clone())),
        };
        let common = LinkFaultCommon {
            link,
            links,
            share: fault.share,
            at: Some(fault.at),
            until: fault.until,
            both_directions: Some(fault.both_directions),
            withdraw_routes: Some(fault.withdraw_after.is_some()),
            withdraw_delay: fault.withdraw_after,
        };
        let text = match &fault.event {
            LinkEvent::Down => Self::LinkDown(OutageKeys::default()),
            LinkEvent::BlackHole => Self::BlackHole(OutageKeys::default()),
            LinkEvent::Rate(rate) => Self::Rate(RateKeys { rate: Some(*rate), ..RateKeys::default() }),
            LinkEvent::Loss { probability, packets } => Self::Loss(LossKeys {
                probability: Some(*probability),
                packets: Some(*packets),
                ..LossKeys::default()
            }),
            LinkEvent::BlockLoss { block, probabilities, per, packets } => Self::BlockLoss(BlockLossKeys {
                block: Some(*block),
                probabilities: Some(probabilities.clone()),
                per: Some(*per),
                packets: Some(*packets),
                ..BlockLossKeys::default()
            }),
        };
        text.with(common)
    }
}
