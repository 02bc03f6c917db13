//! The ports of switches, as a scheme asks for them: markers, buffers, pauses.

use crate::value::{
    Headroom, MarkAt, Marking, Overflow, PfcLinks, PhantomSize, PoolSize, PortTier, RoutingRule, StepAt,
    Telemetry, TrimVictim,
};
use farspan_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the switch ports that the scheme asks for.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ports {
    /// Markers: "red", "phantom", "step", joined by "+", or "none". Default: of the scheme.
    pub marking: Option<Marking>,
    /// When a port decides to mark: "enqueue" or "dequeue". Default: of the profile.
    pub at: Option<MarkAt>,
    /// RED on the real queue.
    pub red: Option<Red>,
    /// RED on the real queue of the ports between the sites (tier wan), those of a backbone among them. Default: of the scheme,
    /// else as red.
    pub wan_red: Option<Red>,
    /// The phantom queue.
    pub phantom: Option<Phantom>,
    /// The step's threshold: a size, or "bdp_over_7" (rate of the port x largest base RTT inside a site / 7).
    /// Default: of the profile.
    pub step: Option<StepAt>,
    /// The tiers whose ports mark: host_down, fabric, border, wan. Default: of the scheme.
    pub tiers: Option<Vec<PortTier>>,
    /// Fate of a data packet that the buffer has no room for: "drop" it, or "trim": cut a payload off and
    /// send the header on in the priority queue, for the receiver to answer with a NACK. Default: drop.
    pub overflow: Option<Overflow>,
    /// Which of its equal-cost ports a switch sends a data packet to: "ecmp" (by hash) or "adaptive" (the one with the least
    /// data; a reference for path selectors). Default: ecmp.
    pub routing: Option<RoutingRule>,
    /// State that ports write on data packets that they send, and ACKs take back to the sender: "none", "int" (queue, bytes sent,
    /// time and rate when the packet has left, of every port), or "mpd" (of the port with the largest queueing delay alone).
    /// Default: of the scheme.
    pub telemetry: Option<Telemetry>,
    /// With overflow = "trim", whose payload: that of the packet "arriving", or by a fair "coin" that or the last one in
    /// the queue. Default: coin.
    pub trim_victim: Option<TrimVictim>,
    /// With overflow = "trim", bytes of headers that may wait at a port; beyond them headers are dropped, and packets whole
    /// rather than cut. Default: twice what the port holds of data.
    pub header_buffer: Option<Bytes>,
    /// The buffer that all ports of a switch share.
    pub pool: Option<Pool>,
    /// Priority flow control: switches that are about to run out of room pause whoever sends to them.
    pub pfc: Option<Pfc>,
}

/// Thresholds of RED, as fractions of the buffer or in bytes: never up to the lower one, always above the upper one, linear
/// between.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Red {
    /// Never below this fraction of the buffer: 0 <= min <= max <= 1. Default: of the profile.
    pub min: Option<f64>,
    /// Always above this fraction of the buffer. Default: of the profile.
    pub max: Option<f64>,
    /// Never up to this queue, instead of min. Default: of the profile.
    pub min_bytes: Option<Bytes>,
    /// Always above this queue, instead of max. Default: of the profile.
    pub max_bytes: Option<Bytes>,
    /// The probability at the upper threshold, from which it leaps to 1: above 0, at most 1. Default: of the profile
    /// where its thresholds stand, else 1.
    pub max_probability: Option<f64>,
}

/// A phantom queue: a counter that fills as the real queue does and drains more slowly than the link.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Phantom {
    /// Where it saturates: "inter_bdp", "intra_bdp" or a size. Default: of the profile.
    pub size: Option<PhantomSize>,
    /// Drain rate, as a fraction of the link's. Default: of the profile.
    pub drain: Option<f64>,
    /// Never marks below this fraction of its size: 0 <= min <= max <= 1. Default: of the profile.
    pub min: Option<f64>,
    /// Always marks above this fraction of its size. Default: of the profile.
    pub max: Option<f64>,
    /// Whether packets that the buffer refuses count. Default: of the profile.
    pub count_dropped: Option<bool>,
}

/// The buffer that all ports of a switch share. With it, a port that drops has no limit of its own: topology.buffer is then
/// what thresholds are fractions of.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pool {
    /// Bytes of data that a switch holds, or "off". Default: of the profile.
    pub size: Option<PoolSize>,
    /// How many times what is free of the shared part the packets from one link may take of it: 0.001 to 64. Default: of the
    /// profile.
    pub alpha: Option<f64>,
    /// Bytes that each link's packets have for themselves. Default: of the profile.
    pub reserve: Option<Bytes>,
}

/// Priority flow control (PFC).
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pfc {
    /// The links over which data is lossless: "none", "site" (those inside a site) or "all". Needs pool.size. Default: of the
    /// profile.
    pub links: Option<PfcLinks>,
    /// How far below its threshold a link's share of the pool must be before its sender goes on. Default: of the profile.
    pub resume_offset: Option<Bytes>,
    /// Bytes of the pool that each of these links has for what comes after a pause: "auto" (as much as can come: it follows
    /// from the link's rate and delay, jitter and packet size) or a size. Default: of the profile.
    pub headroom: Option<Headroom>,
}
