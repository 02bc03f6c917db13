//! The ports of switches, as a scheme asks for them: markers, buffers, pauses.

use super::declare::tables;
use crate::value::{
    Headroom, MarkAt, Marking, Overflow, PfcLinks, PhantomSize, PoolAccounts, PoolSize, PortTier,
    RoutingRule, StepAt, SwitchSet, Telemetry, TelemetryCounts, TrimService, TrimVictim,
};
use farspan_fabric::switch::shared::pause::LosslessLinks;
use farspan_units::{Bytes, TelemetryKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the switch ports that the scheme asks for.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Ports")]
pub struct PortsText {
    /// Markers: "red", "phantom", "step", joined by "+", or "none". Default: of the scheme.
    pub marking: Option<Marking>,
    /// When a port decides to mark: "enqueue" or "dequeue". Default: of the profile.
    pub at: Option<MarkAt>,
    /// RED on the real queue.
    pub red: Option<RedText>,
    /// RED on the real queue of the ports between the sites (tier wan), those of a backbone among them. Default: of the scheme,
    /// else as red.
    pub wan_red: Option<RedText>,
    /// The phantom queue.
    pub phantom: Option<PhantomText>,
    /// The step's threshold: a size, or "bdp_over_7" (rate of the port x largest base RTT inside a site / 7).
    /// Default: of the profile.
    pub step: Option<StepAt>,
    /// The tiers whose ports mark: host_down, fabric, border, wan. Default: of the scheme.
    pub tiers: Option<Vec<PortTier>>,
    /// Which switches mark packets and have a pool: "all", or "site", those without a link to another site. Default: all.
    pub switches: Option<SwitchSet>,
    /// The fate of a data packet that does not fit into the buffer. "drop": it is lost. "trim": its payload is cut
    /// off, and the header goes on in the priority queue, so that the receiver can answer with a NACK. Default: drop.
    pub overflow: Option<Overflow>,
    /// Which of its equal-cost ports a switch uses for a data packet: "ecmp" (chosen by hash) or "adaptive" (the one
    /// with the shortest data queue; a reference for path selectors). Default: ecmp.
    pub routing: Option<RoutingRule>,
    /// State that ports write on the data packets they send. ACKs carry it back to the sender. "none"; "int" (time,
    /// bytes sent, queue and rate of every port, at the start of the packet's transmission); or "mpd" (only of the port
    /// with the largest queueing delay). Default: of the scheme.
    pub telemetry: Option<Telemetry>,
    /// With telemetry = "int", which bytes a port counts: "departures" (bytes that left before the packet) or
    /// "arrivals" (bytes that arrived to be sent, including the packet; as in published code of PowerTCP). Default:
    /// departures.
    pub telemetry_counts: Option<TelemetryCounts>,
    /// With overflow = "trim", which payload is cut: that of the "arriving" packet, or by a fair "coin" that one or the
    /// last one in the queue. Default: coin.
    pub trim_victim: Option<TrimVictim>,
    /// With overflow = "trim", bytes of headers that may wait at a port. If they do not fit, headers are dropped, and
    /// packets are dropped instead of trimmed. Default: twice what the port holds of data.
    pub header_buffer: Option<Bytes>,
    /// With overflow = "trim", how a port serves its priority queue (headers, ACKs, NACKs, pulls) and its data queue:
    /// "strict" (priority always first), or a ratio such as "10:1" (ten of the priority queue, then one data packet,
    /// while data waits). Default: of the scheme.
    pub trim_service: Option<TrimService>,
    /// With overflow = "trim", whether headers that do not fit into header_buffer go back to the sending host, which
    /// sends the packet again. Otherwise they are dropped. Default: of the scheme; false with a proxy, and in an
    /// emulation.
    pub return_to_sender: Option<bool>,
    /// The buffer that all ports of a switch share.
    pub pool: Option<PoolText>,
    /// Priority flow control: switches that are about to run out of room pause whoever sends to them.
    pub pfc: Option<PfcText>,
}

/// Thresholds of RED, as fractions of the buffer or in bytes: never up to the lower one, always above the upper one, linear
/// between.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Red")]
pub struct RedText {
    /// Never below this fraction of the buffer: 0 <= min <= max <= 1. Default: of the profile.
    pub min: Option<f64>,
    /// Always above this fraction of the buffer. Default: of the profile.
    pub max: Option<f64>,
    /// Never up to this queue, instead of min. Default: of the profile.
    pub min_bytes: Option<Bytes>,
    /// Always above this queue, instead of max. Default: of the profile.
    pub max_bytes: Option<Bytes>,
    /// The marking probability at the upper threshold: above 0, at most 1. Above the threshold it is 1. Default: of the
    /// profile where its thresholds stand, else 1.
    pub max_probability: Option<f64>,
}

tables! {
    /// A phantom queue: a counter that fills as the real queue does and drains more slowly than the link.
    Phantom, PhantomText as "Phantom" {
        /// Where it stops growing: "inter_bdp", "intra_bdp" or a size. Default: of the profile.
        size: PhantomSize,
        /// Drain rate, as a fraction of the link's. Default: of the profile.
        drain: f64,
        /// Never marks below this fraction of its size: 0 <= min <= max <= 1. Default: of the profile.
        min: f64,
        /// Always marks above this fraction of its size. Default: of the profile.
        max: f64,
        /// Whether packets that the buffer refuses count, too. Default: of the profile.
        count_dropped: bool,
    }
}

/// The buffer that all ports of a switch share. With it, a port that drops has no limit of its own: topology.buffer is then
/// what thresholds are fractions of.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Pool")]
pub struct PoolText {
    /// Bytes of data that a switch holds, or "off". Default: of the profile.
    pub size: Option<PoolSize>,
    /// The largest share of the pool for packets from one link, as a multiple of the free part of the pool: 0.001 to
    /// 64. Default: of the profile.
    pub alpha: Option<f64>,
    /// Bytes reserved for the packets of each link. Default: of the profile.
    pub reserve: Option<Bytes>,
    /// The packets that alpha and reserve apply to: those that came over one link ("ingress") or those that wait at one port
    /// ("egress"). PFC needs "ingress". Default: ingress.
    pub accounts: Option<PoolAccounts>,
}

/// Priority flow control (PFC).
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Pfc")]
pub struct PfcText {
    /// The links over which data is lossless: "none", "site" (those inside a site) or "all". Needs pool.size. Default: of the
    /// profile.
    pub links: Option<PfcLinks>,
    /// How far a link's packets must fall below their threshold before its sender may resume. Default: of the profile.
    pub resume_offset: Option<Bytes>,
    /// Bytes of the pool reserved per link for packets that arrive after a pause: a size, or "auto" (as much as can
    /// arrive, from the link's rate and delay, jitter and packet size). Default: of the profile.
    pub headroom: Option<Headroom>,
}

/// Settings of the switch ports. Keys are those of [`PortsText`].
#[derive(Clone, PartialEq, Debug)]
pub struct Ports {
    /// When a port decides to mark.
    pub at: MarkAt,
    /// RED on the real queue, if it marks.
    pub red: Option<Red>,
    /// That of the ports between the sites, if it differs.
    pub wan_red: Option<Red>,
    /// RED on a phantom queue, if it marks.
    pub phantom: Option<Phantom>,
    /// A step on the real queue, if it marks.
    pub step: Option<StepAt>,
    /// The tiers whose ports mark.
    pub tiers: Vec<PortTier>,
    /// Which switches mark packets and have a pool.
    pub switches: SwitchSet,
    /// Fate of a data packet that the buffer has no room for.
    pub overflow: FullBuffer,
    /// Which of its equal-cost ports a switch sends a data packet to.
    pub routing: RoutingRule,
    /// State that ports write on data packets that they send.
    pub telemetry: Telemetry,
    /// The bytes that it counts at a port.
    pub telemetry_counts: TelemetryCounts,
    /// The buffer that all ports of a switch share, if they do.
    pub pool: Option<Pool>,
}

/// Fate of a data packet that a buffer has no room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FullBuffer {
    /// It is dropped.
    Drops,
    /// A payload is cut off.
    Trims {
        /// Whose.
        victim: TrimVictim,
        /// Bytes of headers that may wait; `None`: twice what the port holds of data.
        header_buffer: Option<Bytes>,
        /// How headers are served beside data.
        service: TrimService,
        /// Whether headers beyond that go back to the host that sent the packet, rather than that they are dropped.
        return_to_sender: bool,
    },
}

/// RED: thresholds, and the probability at the upper one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Red {
    /// Never up to the lower one, always above the upper one.
    pub thresholds: Thresholds,
    /// The probability at the upper threshold, from which it leaps to 1.
    pub max_probability: f64,
}

/// The thresholds of RED, the lower one first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Thresholds {
    /// Fractions of the buffer.
    Fractions(f64, f64),
    /// Sizes.
    Bytes(Bytes, Bytes),
}

/// The buffer that all ports of a switch share.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pool {
    /// Bytes of data that a switch holds.
    pub size: Bytes,
    /// How many times what is free of the shared part the packets from one link may take of it.
    pub alpha: f64,
    /// Bytes that each link's packets have for themselves.
    pub reserve: Bytes,
    /// Whose packets alpha and reserve are for.
    pub accounts: PoolAccounts,
    /// Priority flow control, if links are lossless: pauses follow from the pool.
    pub pfc: Option<Pfc>,
}

/// Priority flow control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pfc {
    /// The links over which data is lossless.
    pub links: LosslessLinks,
    /// How far below its threshold a link's share of the pool must be before its sender goes on.
    pub resume_offset: Bytes,
    /// Bytes of the pool that each of these links has for what comes after a pause.
    pub headroom: Headroom,
}

impl Ports {
    /// Which markers a port carries.
    #[must_use]
    pub const fn marking(&self) -> Marking {
        Marking { red: self.red.is_some(), phantom: self.phantom.is_some(), step: self.step.is_some() }
    }
}

impl From<&Ports> for PortsText {
    fn from(ports: &Ports) -> Self {
        let pfc = ports.pool.and_then(|pool| pool.pfc);
        let mut text = Self {
            marking: Some(ports.marking()),
            at: Some(ports.at),
            red: ports.red.map(RedText::from),
            wan_red: ports.wan_red.map(RedText::from),
            phantom: ports.phantom.as_ref().map(PhantomText::from),
            step: ports.step,
            tiers: Some(ports.tiers.clone()),
            switches: Some(ports.switches),
            routing: Some(ports.routing),
            telemetry: Some(ports.telemetry),
            telemetry_counts: (ports.telemetry.0 == TelemetryKind::Int).then_some(ports.telemetry_counts),
            pool: Some(ports.pool.map_or_else(PoolText::off, PoolText::from)),
            pfc: Some(pfc.map_or_else(PfcText::off, PfcText::from)),
            ..Self::default()
        };
        text.overflow = Some(match ports.overflow {
            FullBuffer::Drops => Overflow::Drop,
            FullBuffer::Trims { victim, header_buffer, service, return_to_sender } => {
                (text.trim_victim, text.header_buffer) = (Some(victim), header_buffer);
                (text.trim_service, text.return_to_sender) = (Some(service), Some(return_to_sender));
                Overflow::Trim
            }
        });
        text
    }
}

impl From<Red> for RedText {
    fn from(Red { thresholds, max_probability }: Red) -> Self {
        let text = Self { max_probability: Some(max_probability), ..Self::default() };
        match thresholds {
            Thresholds::Fractions(min, max) => Self { min: Some(min), max: Some(max), ..text },
            Thresholds::Bytes(min, max) => Self { min_bytes: Some(min), max_bytes: Some(max), ..text },
        }
    }
}

impl PoolText {
    fn off() -> Self {
        Self { size: Some(PoolSize::Off), ..Self::default() }
    }
}

impl From<Pool> for PoolText {
    fn from(pool: Pool) -> Self {
        let size = Some(PoolSize::Value(pool.size));
        Self { size, alpha: Some(pool.alpha), reserve: Some(pool.reserve), accounts: Some(pool.accounts) }
    }
}

impl PfcText {
    fn off() -> Self {
        Self { links: Some(PfcLinks::None), ..Self::default() }
    }
}

impl From<Pfc> for PfcText {
    fn from(pfc: Pfc) -> Self {
        let links = Some(match pfc.links {
            LosslessLinks::InsideSites => PfcLinks::Site,
            LosslessLinks::All => PfcLinks::All,
        });
        Self { links, resume_offset: Some(pfc.resume_offset), headroom: Some(pfc.headroom) }
    }
}
