//! Faults: as a text has them, and resolved by kind.

use crate::value::{FaultKind, LossPackets, LossPer};
use farspan_units::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fault of one or more links. Which keys apply depends on the kind.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "LinkFault")]
pub struct LinkFaultText {
    /// Kind of fault: link_down, black_hole, rate, loss, block_loss; or proxy_down, of a host.
    pub kind: Option<FaultKind>,
    /// Proxy down: which proxy fails. It forgets everything, and relays no more. Default: all.
    pub host: Option<u32>,
    /// The links: FROM->TO#n, or a pattern. In a pattern, * stands for any text and ? for one character.
    pub link: Option<String>,
    /// Instead of link, links by tier (host_up, host_down, fabric, border, wan). TIER:FROM-TO takes only those from one
    /// kind of node (host, tor, agg, core, border) to another, such as "fabric:agg-core".
    pub links: Option<String>,
    /// The share of these links that fail, drawn by the seed: above 0, at most 1. With both_directions, a link and its
    /// reverse count as one. Default: 1.
    pub share: Option<f64>,
    /// When it begins. Default: 0ns.
    pub at: Option<Duration>,
    /// When it ends. Default: never.
    pub until: Option<Duration>,
    /// Whether the links in the other direction fail, too. Default: false.
    pub both_directions: Option<bool>,
    /// Whether all switches learn of the fault and send packets along other paths, if there are any. Default: false.
    pub withdraw_routes: Option<bool>,
    /// With withdraw_routes, how long after the beginning and the end of the fault routes change. Default: 0ns.
    pub withdraw_delay: Option<Duration>,
    /// Rate: the rate of the links during the fault. A packet that is being sent when it begins keeps its rate.
    pub rate: Option<Rate>,
    /// Loss: the probability that a packet is lost.
    pub probability: Option<f64>,
    /// Block loss: packets in a block, at most 64. Default: of the profile.
    pub block: Option<u32>,
    /// Block loss: the probabilities that a block loses 1, 2, 3, ... packets. Default: of the profile.
    pub probabilities: Option<Vec<f64>>,
    /// Block loss: how packets are counted into blocks: per "queue", or per "flow" at a switch. Default: of the
    /// profile.
    pub per: Option<LossPer>,
    /// Loss, block loss: which packets can be lost, "data" or "all". Default: data; for block loss, of the profile.
    pub packets: Option<LossPackets>,
}

/// A fault.
#[derive(Clone, PartialEq, Debug)]
pub enum Fault {
    /// Of links.
    OfLinks(LinkFault),
    /// Of proxies, which forget everything and relay no more.
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
    /// By name or pattern.
    Named(String),
    /// By where they lie: a tier, and perhaps kinds of nodes.
    At(String),
}

impl From<&Fault> for LinkFaultText {
    fn from(fault: &Fault) -> Self {
        match fault {
            Fault::OfLinks(fault) => fault.into(),
            Fault::ProxyDown { host, at } => {
                Self { kind: Some(FaultKind::ProxyDown), host: *host, at: Some(*at), ..Self::default() }
            }
        }
    }
}

impl From<&LinkFault> for LinkFaultText {
    fn from(fault: &LinkFault) -> Self {
        let mut text = Self {
            share: fault.share,
            at: Some(fault.at),
            until: fault.until,
            both_directions: Some(fault.both_directions),
            withdraw_routes: Some(fault.withdraw_after.is_some()),
            withdraw_delay: fault.withdraw_after,
            ..Self::default()
        };
        match &fault.links {
            LinkChoice::Named(name) => text.link = Some(name.clone()),
            LinkChoice::At(place) => text.links = Some(place.clone()),
        }
        text.kind = Some(match &fault.event {
            LinkEvent::Down => FaultKind::LinkDown,
            LinkEvent::BlackHole => FaultKind::BlackHole,
            LinkEvent::Rate(rate) => {
                text.rate = Some(*rate);
                FaultKind::Rate
            }
            LinkEvent::Loss { probability, packets } => {
                (text.probability, text.packets) = (Some(*probability), Some(*packets));
                FaultKind::Loss
            }
            LinkEvent::BlockLoss { block, probabilities, per, packets } => {
                (text.block, text.probabilities) = (Some(*block), Some(probabilities.clone()));
                (text.per, text.packets) = (Some(*per), Some(*packets));
                FaultKind::BlockLoss
            }
        });
        text
    }
}
