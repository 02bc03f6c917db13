//! Ports: what a scheme asks of them, tier by tier.

use super::PathFacts;
use farspan_fabric::switch::shared::pause::PauseConfig;
use farspan_fabric::switch::shared::pool::{Accounts, PoolConfig, Pooled};
use farspan_fabric::{
    Marker, MarkingPoint, Network, Overflow, Phantom, PortConfig, Red, TelemetryCounts, Tier, Trim, Victim,
};
use farspan_scenario::ValueError;
use farspan_scenario::model::{self, FullBuffer, Ports, Scenario, Shape, Thresholds};
use farspan_scenario::value::{
    self, Headroom, MarkAt, PhantomSize, PoolAccounts, PortTier, StepAt, SwitchSet, TrimVictim,
};
use farspan_sim::{ByTier, Spec};
use farspan_units::{Bytes, NodeId, PortId, Rate};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The settings of each tier's ports. A host's NIC pulls from its flows: it never drops nor marks.
pub(super) fn by_tier(
    scenario: &Scenario,
    intra: Option<PathFacts>,
    inter: Option<PathFacts>,
) -> Result<ByTier, ValueError> {
    let port = |tier: Tier| {
        let (buffer, rate) = usual(scenario, tier);
        config(scenario, tier, buffer, rate, tier != Tier::Wan, (intra, inter))
    };
    let [up, down, fabric, border, wan] = Tier::ALL;
    Ok(ByTier([port(up)?, port(down)?, port(fabric)?, port(border)?, port(wan)?]))
}

/// The settings of ports that differ from those of their tier: in buffer or rate, as only a topology file or a pattern makes some, or because
/// their switch is at the border, where not all mark and share. Ports between sites are all of such switches.
pub(super) fn own(
    scenario: &Scenario,
    network: &Network,
    intra: Option<PathFacts>,
    inter: Option<PathFacts>,
) -> Result<BTreeMap<PortId, Arc<PortConfig>>, ValueError> {
    let mut own = BTreeMap::new();
    let is_plain = scenario.scheme.ports.switches == SwitchSet::All;
    let is_even =
        !matches!(scenario.topology.shape, Shape::FromFile { .. }) && scenario.topology.link.is_empty();
    if is_plain && is_even {
        return Ok(own);
    }
    let mut known: BTreeMap<(Tier, Bytes, Rate, bool), Arc<PortConfig>> = BTreeMap::new();
    for (port, link) in (0..).zip(&network.links) {
        let (buffer, rate) = usual(scenario, link.tier);
        let counts = link.tier != Tier::HostUp || scenario.transport.rto_nic;
        let mine = (link.buffer.filter(|_| counts).unwrap_or(buffer), link.rate);
        let is_inside = is_plain || link.from.0 < network.hosts || !network.is_border(link.from);
        if mine == (buffer, rate) && is_inside == (is_plain || link.tier != Tier::Wan) {
            continue;
        }
        let kind = (link.tier, mine.0, mine.1, is_inside);
        let config = match known.get(&kind) {
            Some(config) => Arc::clone(config),
            None => Arc::new(config(scenario, link.tier, mine.0, mine.1, is_inside, (intra, inter))?),
        };
        known.insert(kind, Arc::clone(&config));
        own.insert(PortId(port), config);
    }
    Ok(own)
}

/// The buffer and the rate of a tier's ports.
fn usual(scenario: &Scenario, tier: Tier) -> (Bytes, Rate) {
    let topology = &scenario.topology;
    let (buffer, link_rate) = (topology.buffer, topology.link_rate);
    match tier {
        // What a NIC is said to hold only counts in time-outs: it takes a packet when it is free.
        Tier::HostUp if scenario.transport.rto_nic => (buffer, link_rate),
        Tier::HostUp => (Bytes::MAX, link_rate),
        Tier::Wan => (topology.wan().map_or(buffer, |(_, buffer)| buffer), topology.wan_rate()),
        Tier::Fabric => (buffer, topology.fabric_rate()),
        Tier::Border => (topology.core_border_buffer().unwrap_or(buffer), topology.fabric_rate()),
        Tier::HostDown => (buffer, link_rate),
    }
}

/// `is_inside`: whether the port's switch has no link to another site.
fn config(
    scenario: &Scenario,
    tier: Tier,
    buffer: Bytes,
    rate: Rate,
    is_inside: bool,
    (intra, inter): (Option<PathFacts>, Option<PathFacts>),
) -> Result<PortConfig, ValueError> {
    let control_priority = scenario.transport.ack_priority;
    let overflow = overflow(scenario, tier, buffer)?;
    let telemetry = scenario.scheme.ports.telemetry.0;
    let telemetry_counts = match scenario.scheme.ports.telemetry_counts {
        value::TelemetryCounts::Departures => TelemetryCounts::Departures,
        value::TelemetryCounts::Arrivals => TelemetryCounts::Arrivals,
    };
    // In a pool only ports that trim have a limit of their own: no other one can hold more than the pool.
    let does_as_asked = is_inside || scenario.scheme.ports.switches == SwitchSet::All;
    let is_pooled = does_as_asked && tier != Tier::HostUp && overflow == Overflow::Drop;
    let pool = scenario.scheme.ports.pool.filter(|_| is_pooled);
    let limit = pool.map_or(buffer, |pool| pool.size);
    let plain = PortConfig {
        control_priority,
        overflow,
        telemetry,
        telemetry_counts,
        ..PortConfig::drop_tail(limit)
    };
    let marks = does_as_asked && name(tier).is_some_and(|name| scenario.scheme.ports.tiers.contains(&name));
    let ports = &scenario.scheme.ports;
    let red = ports.wan_red.as_ref().filter(|_| tier == Tier::Wan).or(ports.red.as_ref());
    if marks { marked(plain, buffer, ports, red, rate, (intra, inter)) } else { Ok(plain) }
}

/// The switches that mark packets and have a pool.
const fn pooled(scenario: &Scenario) -> Pooled {
    match scenario.scheme.ports.switches {
        SwitchSet::All => Pooled::All,
        SwitchSet::Site => Pooled::InsideSites,
    }
}

/// The buffer that the ports of each switch share, if they do.
pub(super) fn pool(scenario: &Scenario) -> Option<PoolConfig> {
    let model::Pool { size, alpha, reserve, accounts, pfc } = scenario.scheme.ports.pool?;
    let pause = pfc.map(|pfc| PauseConfig {
        links: pfc.links,
        resume_offset: pfc.resume_offset,
        headroom: match pfc.headroom {
            Headroom::Auto => None,
            Headroom::Value(bytes) => Some(bytes),
        },
    });
    let accounts = match accounts {
        PoolAccounts::Ingress => Accounts::Ingress,
        PoolAccounts::Egress => Accounts::Egress,
    };
    Some(PoolConfig { size, alpha, reserve, accounts, switches: pooled(scenario), pause })
}

/// Checks that every switch's pool is large enough for its links.
pub(super) fn check_pool(spec: &Spec) -> Result<(), ValueError> {
    let (Some(pool), network) = (&spec.pool, &spec.network) else { return Ok(()) };
    let reverse = network.reverse_links();
    let switches = (network.hosts..network.nodes.len() as u32).map(NodeId);
    for switch in switches.filter(|switch| pool.switches.includes(network, *switch)) {
        if let Err(error) = pool.shared(&farspan_sim::ingress(spec, switch, &reverse)) {
            let problem = format!("at {}, {}", network.nodes[switch.index()].name, error.problem);
            return Err(ValueError::rule("scheme.ports.pool.size", problem, error.cure));
        }
    }
    Ok(())
}

/// How many buffers' worth of headers a port that trims keeps (htsim's composite queue).
const HEADER_BUFFERS: u64 = 2;

fn overflow(scenario: &Scenario, tier: Tier, buffer: Bytes) -> Result<Overflow, ValueError> {
    let transport = &scenario.transport;
    let FullBuffer::Trims { victim, header_buffer, service, return_to_sender } =
        scenario.scheme.ports.overflow
    else {
        return Ok(Overflow::Drop);
    };
    if !transport.ack_priority {
        return Err(ValueError::rule(
            "scheme.ports.overflow",
            "trimmed packets travel in the priority queue, which transport.ack_priority = false turns off",
            "write transport.ack_priority = true, or overflow = \"drop\"",
        ));
    }
    let victim = match victim {
        TrimVictim::Arriving => Victim::Arriving,
        TrimVictim::Coin => Victim::Coin,
    };
    let default = Bytes::new(buffer.get().saturating_mul(HEADER_BUFFERS));
    let headers = header_buffer.unwrap_or(default);
    Ok(Overflow::Trim(Trim {
        header: transport.header,
        victim,
        headers,
        at_last_hop: tier == Tier::HostDown,
        weight: service.weight(),
        returns: return_to_sender,
    }))
}

/// The name of a tier.
pub(crate) fn tier_name(tier: Tier) -> &'static str {
    name(tier).map_or("host_up", PortTier::name)
}

const fn name(tier: Tier) -> Option<PortTier> {
    match tier {
        Tier::HostUp => None,
        Tier::HostDown => Some(PortTier::HostDown),
        Tier::Fabric => Some(PortTier::Fabric),
        Tier::Border => Some(PortTier::Border),
        Tier::Wan => Some(PortTier::Wan),
    }
}

/// `buffer`: what RED's thresholds are fractions of; `red`: those of this tier.
fn marked(
    plain: PortConfig,
    buffer: Bytes,
    ports: &Ports,
    red: Option<&model::Red>,
    rate: Rate,
    (intra, inter): (Option<PathFacts>, Option<PathFacts>),
) -> Result<PortConfig, ValueError> {
    let fractions = |size: Bytes, min: f64, max: f64| Red::new(size.mul_f64(min), size.mul_f64(max));
    let mut port = plain;
    port.marking_point = match ports.at {
        MarkAt::Enqueue => MarkingPoint::Enqueue,
        MarkAt::Dequeue => MarkingPoint::Dequeue,
    };
    if let Some(red) = red {
        let thresholds = match red.thresholds {
            Thresholds::Bytes(min, max) => Red::new(min, max),
            Thresholds::Fractions(min, max) => fractions(buffer, min, max),
        };
        port.markers.push(Marker::Queue(Red { max_probability: red.max_probability, ..thresholds }));
    }
    if let Some(step) = ports.step {
        let at = match step {
            StepAt::BdpOver7 => {
                rate.bytes_in(intra.or(inter).map(|path| path.base_rtt).unwrap_or_default()) / 7
            }
            StepAt::Value(bytes) => bytes,
        };
        port.markers.push(Marker::Step(at));
    }
    if let Some(phantom) = &ports.phantom {
        let size = match phantom.size {
            PhantomSize::InterBdp => inter.or(intra).map(|path| path.bdp).unwrap_or_default(),
            PhantomSize::IntraBdp => intra.or(inter).map(|path| path.bdp).unwrap_or_default(),
            PhantomSize::Value(bytes) => bytes,
        };
        if size.is_zero() {
            return Err(ValueError::rule(
                "scheme.ports.phantom.size",
                "a phantom queue of 0 bytes",
                "give a size",
            ));
        }
        let model::Phantom { drain, min, max, count_dropped, .. } = *phantom;
        port.phantom = Some(Phantom { size, drain, count_dropped });
        port.markers.push(Marker::Phantom(fractions(size, min, max)));
    }
    Ok(port)
}
