//! The switch of simulator and emulator: routes packets to ports, and lets time pass at them. `now` is an argument.
//!
//! Two modes. **Ordered**: everything happens in order of (time, port) over all ports. State across ports
//! (see [`shared`]), faults and tracers need it, and drivers with real packets have nothing else.
//! **Independent**: ports that share nothing are served one by one, which takes a simulator of long windows a
//! third to a half fewer instructions. In each, packets come by [`Switch::arrive`] and time passes by [`Switch::advance`];
//! [`Switch::run`] does both for all packets of a window.

mod agenda;
mod bits;
mod buckets;
mod egress;
mod independent;
mod ordered;
pub mod shared;

pub use buckets::Buckets;

use crate::fault::NodeFaults;
use crate::jitter::Jitter;
use crate::packet::{Access, Packet, PacketId, Packets};
use crate::queue::port::Port;
use crate::routing::{RouteTable, RouteView};
use alloc::boxed::Box;
use alloc::vec::Vec;
use egress::Egress;
use farspan_units::{Bytes, Duration, HostId, PortId, Rate, Time};
use independent::Independent;
use ordered::Ordered;
use shared::pause::PauseRecord;
use shared::{Frame, Shared};

/// A packet that arrives in a window, as the driver keeps it.
///
/// # Safety
/// [`Self::is_after`] orders packets by time, then link, and nothing is before [`Self::before_all`]: for all `a` and `b`,
/// `a.before_all().is_after(b)` is false. Buckets rely on it for the bounds of their memory.
#[allow(unsafe_code, reason = "the order of packets bounds accesses to the memory of buckets")]
pub unsafe trait Arrival: Copy {
    /// When it arrives, in a window that begins at `start`.
    fn at(self, start: Time) -> Time;

    /// The packet.
    fn id(self) -> PacketId;

    /// The position of its link among those that lead to the switch: see [`Span::ingress`].
    fn rank(self) -> usize;

    /// A number that orders packets of a window by time, then link.
    fn order(self) -> u64;

    /// Whether it comes after another packet in this order.
    fn is_after(self, other: Self) -> bool;

    /// This packet, as one that comes after no other.
    fn before_all(self) -> Self;
}

/// A window of time in which a switch runs.
#[derive(Clone, Copy, Debug)]
pub struct Span<'a> {
    /// Its start, for [`Arrival::at`].
    pub start: Time,
    /// Its end: what happens there or later waits.
    pub end: Time,
    /// No one samples the ports before this time: departures that are bound to happen by then may be counted
    /// now.
    pub horizon: Time,
    /// The links that lead to the switch, by [`Arrival::rank`].
    pub ingress: &'a [u32],
}

/// The events of packets at a port, for tracers.
#[derive(Clone, Copy, Debug)]
pub enum PortEvent<'a> {
    /// The link is down.
    Refused(&'a Packet),
    /// There was no room.
    Dropped(&'a Packet, &'a Port),
    /// There was no room for a header, which goes back from another port.
    Returned {
        /// The packet that arrived.
        before: &'a Packet,
        /// The header that goes back: of this packet, or of another whose place it took.
        after: &'a Packet,
        /// The port.
        port: &'a Port,
    },
    /// It was queued, as it was `before`; the record holds `after` now: the port may have marked it, or
    /// trimmed another.
    Queued {
        /// As it arrived.
        before: &'a Packet,
        /// As its record is now.
        after: &'a Packet,
        /// The port.
        port: &'a Port,
    },
    /// Its last bit leaves the port, which may have marked it just now.
    Served(&'a Packet, &'a Port),
    /// It has left; `lost`: the link loses it.
    Left(&'a Packet, bool),
    /// The link fails: what waits at the port is lost.
    Flushed,
}

/// Where a switch sends to. `L`: the driver's name of a link.
pub trait Sink<L> {
    /// A packet has left the switch; it arrives at `at`.
    fn send(&mut self, link: &L, at: Time, id: PacketId);

    /// A frame of the switches' own has left the switch.
    fn send_frame(&mut self, link: &L, at: Time, frame: Frame);

    /// Whether the driver keeps an event for each completion: [`Self::due`] says when, and it calls
    /// [`Switch::complete`] then. Else the switch knows itself what is due. Ordered mode only.
    const KEEPS_COMPLETIONS: bool = false;

    /// Something is due at the port of `link` at `at`.
    fn due(&mut self, _link: &L, _at: Time) {}

    /// The host that sent a data packet, whose header goes back there; `beside`: the driver's words beside its record. Asked of drivers
    /// whose ports [return headers](crate::Trim::returns).
    ///
    /// # Panics
    /// Unless such a driver gives an answer of its own.
    fn sender(&self, _packet: &Packet, _beside: [u32; 2]) -> HostId {
        unreachable!("a driver whose ports return headers knows who sent them")
    }

    /// Whether [`Self::observe`] is to be called.
    fn observes(&self) -> bool {
        false
    }

    /// Ordered mode: something has become of a packet at a port.
    fn observe(&mut self, _now: Time, _port: PortId, _event: PortEvent<'_>) {}
}

/// Which port a packet leaves from.
#[derive(Debug)]
struct Lookup {
    routes: RouteTable,
    first_port: u32,
}

impl Lookup {
    /// The packet's port, counted from the switch's first.
    #[inline(always)]
    fn egress(&self, packet: &Packet) -> usize {
        egress_of(self.routes.view(), packet)
    }

    /// The packet's port under [`Routing::Adaptive`], given the one that the hash picks; `is_down`: whether a port is.
    fn least<L>(
        &self,
        now: Time,
        packet: &Packet,
        hashed: usize,
        ports: &[Egress<L>],
        is_down: impl Fn(PortId) -> bool,
    ) -> usize {
        let places: Vec<usize> = self.routes.group_of(packet.to()).map(|port| self.place(port)).collect();
        let first = places.iter().position(|place| *place == hashed).unwrap_or_default();
        let from_hashed = places[first..].iter().chain(&places[..first]).copied();
        let up = from_hashed.filter(|place| !is_down(self.port(*place)));
        up.min_by_key(|place| ports[*place].port.queued(now)).unwrap_or(hashed)
    }

    const fn port(&self, egress: usize) -> PortId {
        PortId(self.first_port + egress as u32)
    }

    const fn place(&self, port: PortId) -> usize {
        (port.0 - self.first_port) as usize
    }
}

/// The port that a packet leaves from, counted from the switch's first.
#[inline(always)]
fn egress_of(routes: RouteView<'_>, packet: &Packet) -> usize {
    let place = routes.place(packet.to(), packet.flow, packet.entropy);
    place.expect("the topologies are connected") as usize
}

/// How the ports of a switch are served.
#[derive(Debug)]
enum Mode {
    Independent(Independent),
    Ordered(Box<Ordered>),
}

/// Which of the equal-cost ports a data packet takes. Control packets always take the one that the hash picks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Routing {
    /// The one that the hash of (salt, flow, entropy) picks.
    #[default]
    Ecmp,
    /// The one with the least data, as the switch sees its own ports at that moment: of several the first from the one on
    /// that the hash picks. It leaves out its own ports that are down, and knows nothing of what lies behind the
    /// others.
    Adaptive,
}

/// The parameters of a switch.
#[derive(Debug)]
pub struct SwitchConfig {
    /// Its routes.
    pub routes: RouteTable,
    /// The first of its ports, which have consecutive ids.
    pub first_port: PortId,
    /// Which of them packets take.
    pub routing: Routing,
    /// Largest jitter, uniform per data packet, order kept, of what leaves a backlog behind; zero: off.
    pub jitter: Duration,
    /// Seed of its draws.
    pub seed: u64,
    /// Faults of its links, if they have any.
    pub faults: Option<NodeFaults>,
    /// State that its ports share, if any.
    pub shared: Option<Shared>,
    /// Ordered mode even if the ports are fit for the independent one.
    pub is_ordered: bool,
}

impl SwitchConfig {
    /// A switch that hashes packets onto its ports, which share nothing: without jitter and faults, in ordered mode, which serves
    /// whoever hands it one packet at a time. Any field may be another: `SwitchConfig { seed: 7, ..SwitchConfig::new(routes, first_port) }`.
    #[must_use]
    pub const fn new(routes: RouteTable, first_port: PortId) -> Self {
        Self {
            routes,
            first_port,
            routing: Routing::Ecmp,
            jitter: Duration::ZERO,
            seed: 1,
            faults: None,
            shared: None,
            is_ordered: true,
        }
    }
}

/// The state that both modes work on.
#[derive(Debug)]
struct Core<L> {
    lookup: Lookup,
    ports: Vec<Egress<L>>,
    /// Largest jitter of the ports.
    jitter: Duration,
}

/// A switch whose ports lead to links of `L`.
#[derive(Debug)]
pub struct Switch<L> {
    core: Core<L>,
    mode: Mode,
}

impl<L> Switch<L> {
    /// A switch with these ports, in order of their ids. It runs in ordered mode if it has faults or shared state, its
    /// routing is adaptive, or ports return headers, which then enter another port.
    #[must_use]
    pub fn new(config: SwitchConfig, ports: Vec<(Port, L)>) -> Self {
        let SwitchConfig { routes, first_port, routing, jitter, seed, faults, shared, is_ordered } = config;
        let egress = |((port, link), id): ((Port, L), u32)| {
            Egress::new(port, link, Jitter::new(seed, 1 << 32 | u64::from(id)))
        };
        let ports: Vec<_> = ports.into_iter().zip(first_port.0..).map(egress).collect();
        let returns = ports.iter().any(|egress| egress.port.model().returns_headers());
        let acts_across_ports =
            faults.is_some() || shared.is_some() || routing == Routing::Adaptive || returns;
        let mode = if is_ordered || acts_across_ports {
            Mode::Ordered(Box::new(Ordered::new(ports.len(), routing, faults, shared)))
        } else {
            let is_fifo = jitter.is_zero() && ports.iter().all(|egress| egress.port.model().is_fifo());
            Mode::Independent(Independent::new(ports.len(), is_fifo))
        };
        let lookup = Lookup { routes, first_port: first_port.0 };
        Self { core: Core { lookup, ports, jitter }, mode }
    }

    /// A packet arrives over link `ingress`; first what is due is done.
    pub fn arrive(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PacketId,
        horizon: Time,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) {
        let Self { core, mode } = self;
        match mode {
            Mode::Independent(mode) => mode.arrive(now, id, core, horizon, packets, sink),
            Mode::Ordered(mode) => mode.arrive(now, ingress, id, core, packets, sink),
        }
    }

    /// Does all that is due up to `until`; gives when something is due next, or [`Time::MAX`].
    pub fn advance(
        &mut self,
        until: Time,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) -> Time {
        let Self { core, mode } = self;
        match mode {
            Mode::Independent(mode) => mode.advance(until, core, packets, sink),
            Mode::Ordered(mode) => mode.advance(until, core, packets, sink),
        }
    }

    /// All packets of a window arrive, in order if the switch [wants that](Self::wants_order), and everything
    /// due before its end is done. Gives when something is due next, or [`Time::MAX`].
    pub fn run<A: Arrival>(
        &mut self,
        span: &Span<'_>,
        arrivals: &mut [A],
        buckets: &mut Buckets<A>,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) -> Time {
        let Self { core, mode } = self;
        match mode {
            Mode::Independent(mode) => mode.run(span, arrivals, buckets, core, packets, sink),
            Mode::Ordered(mode) => mode.run(span, arrivals, core, packets, sink),
        }
    }

    /// Whether [`Self::run`] is to be given packets by time, then link; else those of one link are in order.
    #[must_use]
    #[inline]
    pub const fn wants_order(&self) -> bool {
        match &self.mode {
            Mode::Independent(mode) => mode.is_fifo,
            Mode::Ordered(_) => true,
        }
    }

    /// Ordered mode: the packet in service at `port` has left, if it is due at `now`. For drivers that
    /// [keep completions](Sink::KEEPS_COMPLETIONS).
    pub fn complete(
        &mut self,
        now: Time,
        port: PortId,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) {
        let Self { core, mode } = self;
        let place = core.lookup.place(port);
        // A port that stopped no longer completes what it was sending.
        if let Mode::Ordered(mode) = mode
            && core.ports[place].port.next_at() == now
        {
            mode.complete(place, core, packets, sink);
        }
    }

    /// A frame of another switch arrives over link `ingress`. Ports that share nothing have no use for it.
    pub fn on_frame(
        &mut self,
        now: Time,
        ingress: PortId,
        frame: Frame,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) {
        let Self { core, mode } = self;
        if let Mode::Ordered(mode) = mode {
            mode.on_frame(now, ingress, frame, core, packets, sink);
        }
    }

    /// Ordered mode: faults of the link of `port` begin or end. `own`: the link's own rate.
    pub fn on_fault(
        &mut self,
        now: Time,
        port: PortId,
        own: Rate,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) {
        let Self { core, mode } = self;
        if let Mode::Ordered(mode) = mode {
            mode.on_fault(now, port, own, core, packets, sink);
        }
    }

    /// Packets that arrive from now on take these routes.
    pub fn set_routes(&mut self, routes: RouteTable) {
        self.core.lookup.routes = routes;
    }

    /// Its ports, in order of their ids.
    pub fn ports(&self) -> impl ExactSizeIterator<Item = &Port> {
        self.core.ports.iter().map(|egress| &egress.port)
    }

    /// A port.
    #[must_use]
    pub fn port(&self, port: PortId) -> &Port {
        &self.core.ports[self.core.lookup.place(port)].port
    }

    /// Faults of its links, if they have any.
    #[must_use]
    pub fn faults(&self) -> Option<&NodeFaults> {
        match &self.mode {
            Mode::Independent(_) => None,
            Mode::Ordered(mode) => mode.faults.as_ref(),
        }
    }

    /// Whether packets wait at a port that only a frame can open.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.shared().is_some() && self.ports().any(Port::is_held)
    }

    fn shared(&self) -> Option<&Shared> {
        match &self.mode {
            Mode::Independent(_) => None,
            Mode::Ordered(mode) => mode.shared.as_ref(),
        }
    }

    /// How often and how long neighbours have paused a port.
    #[must_use]
    pub fn pauses(&self, port: PortId) -> PauseRecord {
        self.shared().map(|shared| *shared.record(self.core.lookup.place(port))).unwrap_or_default()
    }

    /// Bytes that its packets take of the buffer that its ports share.
    #[must_use]
    pub fn pooled(&self) -> Bytes {
        self.shared().map(Shared::held).unwrap_or_default()
    }

    /// If the switch has paused the sender of link `ingress`: the ports at which the packets lie for which it waits.
    pub fn waits_for(&self, ingress: PortId, packets: &Packets<impl Access>) -> Option<Vec<PortId>> {
        self.shared().filter(|shared| shared.has_paused(ingress))?;
        let has_any = |port: &Port| port.waiting(packets).any(|id| packets.side(id).ingress == Some(ingress));
        let places = (0..).zip(self.ports()).filter(|(_, port)| has_any(port));
        Some(places.map(|(place, _)| self.core.lookup.port(place)).collect())
    }
}

#[cfg(test)]
mod tests;
