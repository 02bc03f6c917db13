//! How a world is run: on which engine, in windows of which length, cut into which parts.

mod parts;

use crate::engine::{Alternation, Key, MAX_LINKS, MAX_WINDOW, Map, Oracle, Parallel, Part, Pause, Windowed};
use crate::node::{Common, NetworkNode};
use crate::plan::trigger::Triggers;
use crate::spec::{EngineKind, Spec};
use farspan_fabric::PacketId;
use farspan_units::{Duration, NodeId, Time};

/// The shortest worthwhile lookahead: with less a window holds too few events, and at zero there is none. The
/// oracle runs instead, with the same outcome.
const MIN_WINDOW: Duration = Duration::from_ns(1);

/// Threads that meet more often wait for each other longer than they work: one thread runs instead.
const MIN_EPOCH: Duration = Duration::from_ns(200);

/// Lookaheads of an epoch: threads that meet sooner run all nodes together, since windows that a meeting cuts
/// short cost more.
const MIN_LOOKAHEADS: u64 = 8;

/// Events between two reports of progress.
const BUDGET: u64 = 1 << 18;

/// The nodes, and the engine that drives them.
pub(crate) enum Engine {
    Windowed(Parallel<NetworkNode>),
    Oracle { engine: Oracle<PacketId>, nodes: Vec<NetworkNode>, common: Box<Common> },
}

/// How a network is run.
pub(crate) struct Executor {
    pub(crate) map: Map,
    /// Whether every switch runs in ordered mode.
    pub(crate) is_ordered: bool,
    /// Whether every host calls its endpoint by the verbs alone.
    pub(crate) by_verbs: bool,
    /// How the windowed engine alternates windows; `None`: the oracle runs.
    alternation: Option<Alternation>,
    epoch: Duration,
}

impl Executor {
    pub(crate) fn new(spec: &Spec, kind: EngineKind) -> Self {
        let links = &spec.network.links;
        let nodes = spec.network.nodes.len();
        // The lookahead: no message arrives sooner than the shortest link lets it, and no notification sooner
        // than its delay.
        let notification_delay = Triggers::shortest_delay(&spec.triggers, &spec.flows);
        let lookahead =
            links.iter().map(|link| link.delay).chain(notification_delay).min().unwrap_or(MAX_WINDOW);
        let degree = (0..nodes as u32).map(|node| spec.network.ports_of(NodeId(node)).len()).max();
        let oracle = kind == EngineKind::Oracle || lookahead < MIN_WINDOW || degree > Some(MAX_LINKS);
        let threads = match kind {
            EngineKind::Threads(threads) if !oracle => threads,
            _ => 1,
        };
        let epoch = |cut: &parts::Cut| cut.epoch.min(notification_delay.unwrap_or(Duration::MAX));
        let mut cut = parts::cut(&spec.network, threads);
        if epoch(&cut) < MIN_EPOCH {
            cut = parts::cut(&spec.network, 1);
        }
        let alternation = if cut.is_one() || epoch(&cut) >= lookahead * MIN_LOOKAHEADS {
            let directed: Vec<_> = links.iter().map(|link| (link.from.0, link.to.0, link.delay)).collect();
            Alternation::longest(nodes, &directed, notification_delay)
        } else {
            Alternation::together(nodes, lookahead)
        };
        let alternation =
            if kind == EngineKind::QuarterWindow { alternation.quartered() } else { alternation };
        let channels: Vec<_> = links.iter().map(|link| (link.from.0, link.to.0)).collect();
        Self {
            map: Map::new(&cut.part_of, &alternation, &channels),
            is_ordered: oracle || kind == EngineKind::Ordered,
            by_verbs: kind == EngineKind::Verbs,
            epoch: epoch(&cut),
            alternation: (!oracle).then_some(alternation),
        }
    }

    /// An engine for nodes in the order of their ids.
    pub(crate) fn engine(&self, nodes: Vec<NetworkNode>) -> Engine {
        let Some(alternation) = &self.alternation else {
            return Engine::Oracle { engine: Oracle::new(&self.map), nodes, common: Box::new(Common::new()) };
        };
        let part = |number| Part {
            engine: Windowed::new(&self.map, number, alternation),
            nodes: Vec::new(),
            shared: Common::new(),
        };
        let mut parts: Vec<_> = (0..self.map.sizes.len() as u16).map(part).collect();
        for (node, &(part, _)) in nodes.into_iter().zip(&self.map.locations) {
            parts[usize::from(part)].nodes.push(node);
        }
        Engine::Windowed(Parallel::new(parts, self.epoch, alternation.step))
    }
}

/// Number of threads of a run: no more than there are sites or, beyond these, pods to run side by side, and
/// one where threads would meet too often or the oracle runs.
#[must_use]
pub fn threads(spec: &Spec, engine: EngineKind) -> u16 {
    Executor::new(spec, engine).map.sizes.len() as u16
}

/// Number of groups of nodes that run in alternating windows: two where short links only lead from one group
/// to the other, which makes windows longer, else one; none under the oracle.
#[must_use]
pub fn groups(spec: &Spec, engine: EngineKind) -> u8 {
    Executor::new(spec, engine).alternation.map_or(0, |alternation| alternation.groups)
}

impl Engine {
    pub(crate) fn wake(&mut self, map: &Map, node: u32, key: Key) {
        match self {
            Self::Windowed(engine) => engine.wake(map, node, key),
            Self::Oracle { engine, .. } => engine.wake(node, key),
        }
    }

    pub(crate) fn run(&mut self, until: Time) -> Pause {
        match self {
            Self::Windowed(engine) => engine.run(until, BUDGET),
            Self::Oracle { engine, nodes, common } => engine.run(nodes, common, until, BUDGET),
        }
    }

    /// Everything before has been handled.
    pub(crate) const fn now(&self) -> Time {
        match self {
            Self::Windowed(engine) => engine.now(),
            Self::Oracle { engine, .. } => engine.last(),
        }
    }

    pub(crate) fn node(&self, map: &Map, node: u32) -> &NetworkNode {
        match self {
            Self::Windowed(engine) => {
                let (part, place) = map.locations[node as usize];
                &engine.parts[usize::from(part)].nodes[place as usize]
            }
            Self::Oracle { nodes, .. } => &nodes[node as usize],
        }
    }

    pub(crate) fn node_mut(&mut self, map: &Map, node: u32) -> &mut NetworkNode {
        match self {
            Self::Windowed(engine) => {
                let (part, place) = map.locations[node as usize];
                &mut engine.parts[usize::from(part)].nodes[place as usize]
            }
            Self::Oracle { nodes, .. } => &mut nodes[node as usize],
        }
    }

    /// Takes the notes of packets that were dropped since the last call, of all parts.
    pub(crate) fn take_notes(&mut self) -> Vec<[u64; 2]> {
        match self {
            Self::Windowed(engine) => {
                engine.parts.iter_mut().flat_map(|part| part.shared.packets.take_notes()).collect()
            }
            Self::Oracle { common, .. } => common.packets.take_notes(),
        }
    }

    /// The shared state of nodes, by part.
    pub(crate) fn common(&self) -> Vec<&Common> {
        match self {
            Self::Windowed(engine) => engine.parts.iter().map(|part| &part.shared).collect(),
            Self::Oracle { common, .. } => vec![common],
        }
    }
}
