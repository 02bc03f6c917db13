//! The switches of a spec, for the simulator and for drivers with a clock of their own: both are built here, so that they
//! cannot differ.

use crate::outcome::PortOutcome;
use crate::plan::pool;
use crate::spec::Spec;
use farspan_fabric::fault::Lost;
use farspan_fabric::switch::shared::pause::PauseRecord;
use farspan_fabric::{
    Faults, Network, NodeFaults, Port, PortConfig, PortCounters, PortModel, Routes, Switch, SwitchConfig,
    Tier,
};
use farspan_units::{Duration, NodeId, PortId, Rate, Time};
use std::cell::OnceCell;
use std::sync::Arc;

/// Builds the switches of a spec.
///
/// ```
/// # fn build(spec: &farspan_sim::Spec) {
/// use farspan_fabric::Routes;
/// use farspan_sim::Switches;
/// use farspan_units::NodeId;
///
/// let routes = Routes::new(&spec.network, spec.seed);
/// let mut switches = Switches::new(spec);
/// for node in spec.network.hosts..spec.network.nodes.len() as u32 {
///     // In ordered mode, as a driver with real packets needs it; a link's name is the id of its port.
///     let switch = switches.build(NodeId(node), &routes, true, |port| port);
///     assert!(switch.wants_order());
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Switches<'a> {
    spec: &'a Spec,
    faults: Faults,
    models: Models,
    reverse: OnceCell<Arc<[PortId]>>,
}

impl<'a> Switches<'a> {
    /// The builder of a spec's switches.
    #[must_use]
    pub fn new(spec: &'a Spec) -> Self {
        let faults = Faults::new(&spec.faults, spec.network.links.len());
        Self { spec, faults, models: Models::default(), reverse: OnceCell::new() }
    }

    /// The faults of the links that leave a node, host or switch; `None` without any.
    #[must_use]
    pub fn faults(&self, node: NodeId) -> Option<NodeFaults> {
        NodeFaults::new(&self.faults, self.spec.network.ports_of(node), self.spec.seed)
    }

    /// A switch. `is_ordered`: in ordered mode whatever its ports; `link`: the driver's name of the link behind a port.
    pub fn build<L>(
        &mut self,
        node: NodeId,
        routes: &Routes,
        is_ordered: bool,
        link: impl Fn(PortId) -> L,
    ) -> Switch<L> {
        let (spec, faults) = (self.spec, self.faults(node));
        let reverse = || Arc::clone(self.reverse.get_or_init(|| spec.network.reverse_links().into()));
        let shared = pool::shared(spec, node, reverse);
        let changes = pool::changes(faults.as_ref(), shared.as_ref());
        let ports = spec.network.ports_of(node);
        let config = SwitchConfig {
            routes: routes.tables[node.index()].clone(),
            first_port: PortId(ports.start),
            routing: spec.routing,
            jitter: spec.port_jitter,
            seed: spec.seed,
            faults,
            shared,
            is_ordered,
        };
        let models = &mut self.models;
        let port = |id| (models.port(spec, PortId(id), changes(id)), link(PortId(id)));
        Switch::new(config, ports.map(port).collect())
    }
}

/// Counts of the transmitter of a link, and of the losses behind it, at the end of a run.
#[derive(Clone, Copy, Debug)]
pub struct LinkCounts {
    /// Packets that had left.
    pub counters: PortCounters,
    /// Packets that were trimmed.
    pub trimmed: u64,
    /// Packets and bytes that the link has lost to faults.
    pub lost: Lost,
    /// Time-weighted mean of the data queue, bytes.
    pub mean_queue: f64,
    /// Time spent sending.
    pub busy: Duration,
    /// How often and how long its neighbour has paused it.
    pub pauses: PauseRecord,
}

impl LinkCounts {
    /// Those of a switch's port at `end`.
    #[must_use]
    pub fn of_port<L>(switch: &Switch<L>, id: PortId, end: Time) -> Self {
        let port = switch.port(id);
        Self {
            counters: port.counters(),
            trimmed: port.trimmed().0,
            lost: switch.faults().map_or(Lost::default(), |faults| faults.lost(id)),
            mean_queue: port.mean_queue(end),
            busy: port.busy_until(end),
            pauses: switch.pauses(id),
        }
    }

    /// The outcome of the link's port at `end`.
    #[must_use]
    pub fn outcome(&self, network: &Network, port: PortId, end: Time) -> PortOutcome {
        let c = &self.counters;
        let utilization = if end == Time::ZERO { 0.0 } else { self.busy / end.since(Time::ZERO) };
        PortOutcome {
            name: network.port_name(port),
            sent_bytes: c.sent_bytes,
            sent_packets: c.sent_packets,
            dropped_packets: c.dropped + self.lost.packets,
            lost_packets: self.lost.packets,
            marked_packets: c.marked,
            trimmed_packets: self.trimmed,
            max_queue: c.max_queue,
            mean_queue: self.mean_queue,
            utilization,
            pauses: self.pauses.count(),
            paused: self.pauses.time(end),
        }
    }
}

/// Tier, rate and delay of a port's link, whether the port may stop or change its rate, and where its own settings lie.
type PortKind = (Tier, Rate, Duration, bool, Option<*const PortConfig>);

/// The kinds of switch ports of a world: few, however many ports there are.
#[derive(Default, Debug)]
struct Models {
    known: Vec<(PortKind, Arc<PortModel>)>,
}

impl Models {
    /// `changes`: whether the port may stop, or change its rate.
    fn port(&mut self, spec: &Spec, id: PortId, changes: bool) -> Port {
        let link = &spec.network.links[id.index()];
        let own = spec.own_ports.get(&id).map(Arc::as_ptr);
        let kind = (link.tier, link.rate, link.delay, changes, own);
        let known = self.known.iter().find(|(known, _)| *known == kind).map(|(_, model)| Arc::clone(model));
        let model = known.unwrap_or_else(|| {
            let build = if changes { PortModel::changeable } else { PortModel::new };
            let model = Arc::new(build(spec.port(id), link.rate, link.delay));
            self.known.push((kind, Arc::clone(&model)));
            model
        });
        Port::new(&model, id, spec.seed)
    }
}
