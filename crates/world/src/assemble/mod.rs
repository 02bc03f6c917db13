//! From a resolved scenario to the world that the simulator runs.

mod collectives;
pub(crate) mod fault;
mod in_order_receivers;
mod network;
pub(crate) mod ports;
mod proxy;
mod replace;
pub(crate) mod select;
mod spec_flows;
mod stamps;
mod traffic;
mod warnings;

pub use collectives::CollectivePlan;
pub(crate) use network::usual_nic;

use farspan_fabric::switch::Routing;
use farspan_fabric::{Network, Routes};
use farspan_scenario::limits::LARGEST_PACKET;
use farspan_scenario::model::{Scenario, SchemeClass, Shape, Transport};
use farspan_scenario::value::{ConnectionScope, Jitter, Part, Recovery, RoutingRule, RtoRule};
use farspan_scenario::{Resolved, ScenarioError, ValueError, component, congestion, on_nack};
use farspan_sim::{EngineKind, OwnBalance, Spec, Stop, Trace};
use farspan_transport::coding::{CodingConfig, Layout};
use farspan_transport::congestion::{self, CongestionConfig, Ecn};
use farspan_transport::recovery::{RecoveryConfig, RecoveryPolicy, Rto};
use farspan_transport::{Class, Connection, FlowProfile, Scheme};
use farspan_units::{Bytes, Duration, FlowId, HostId, Time};
use farspan_workload::{Capacity, Expected, OfferedLoad, Sites, Workload};
use std::ops::Range;
use std::sync::Arc;

/// With a warm-up, how often the run checks whether every measured flow has ended.
const LOOK_FOR_THE_END: Duration = Duration::from_us(100);

/// A world, ready to run, and what the results need beside it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct World {
    /// The input of the simulator.
    pub spec: Spec,
    /// The flows with their tags.
    pub workload: Workload,
    /// The collectives among its parts.
    pub collectives: Vec<CollectivePlan>,
    /// The load that the flows offer to each tier.
    pub offered_load: OfferedLoad,
    /// The farthest pair inside a site; `None` if every site has one host.
    pub intra: Option<PathFacts>,
    /// The farthest of [`World::pairs`]; `None` with a single site.
    pub inter: Option<PathFacts>,
    /// The farthest pair of hosts of every two sites.
    pub pairs: Vec<SitePair>,
    /// The names of the sites, by number.
    pub site_names: Vec<String>,
    /// Warnings about the scenario.
    pub warnings: Vec<String>,
    /// Whether ACKs repeat marks for controls that take them as losses.
    repeat_marks: bool,
    /// The controls that replace the scheme's, inside a site and between sites.
    replaced: [Option<congestion::Custom>; 2],
}

/// The farthest hosts of two sites.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SitePair {
    /// The one site, from 0.
    pub from: usize,
    /// The other site, after it.
    pub to: usize,
    /// The path between them.
    pub path: PathFacts,
}

/// The totals of a path in an empty network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PathFacts {
    /// Links from sender to receiver.
    pub hops: usize,
    /// A full packet out, its ACK back.
    pub base_rtt: Duration,
    /// Rate of the sender's NIC x base RTT.
    pub bdp: Bytes,
}

impl World {
    /// Builds the world of a scenario.
    ///
    /// # Errors
    /// If a value is out of range where only the whole shows it: the topology, a host, a file, a size distribution.
    pub fn build(resolved: &Resolved) -> Result<Self, ScenarioError> {
        Self::try_build(resolved, Content::Flows).map_err(|error| resolved.error(error))
    }

    /// Builds the world of a scenario without its workload, for traffic from elsewhere: no flows, no proxies.
    ///
    /// # Errors
    /// As [`Self::build`].
    pub fn idle(resolved: &Resolved) -> Result<Self, ScenarioError> {
        Self::try_build(resolved, Content::Network).map_err(|error| resolved.error(error))
    }

    /// Expected flows and bytes of random arrivals, and the links of the longest path: for estimates without a world.
    pub(crate) fn expected(resolved: &Resolved) -> Result<(Expected, usize), ScenarioError> {
        let expected = || {
            let empty = EmptyNetwork::of(resolved)?;
            let EmptyNetwork { sites, .. } = &empty;
            let paths = empty.paths();
            let between = paths.between(sites).into_iter().map(|pair| pair.path);
            let links = between.chain(paths.inside(sites)).map(|path| path.hops).max();
            Ok((traffic::Draw::of(resolved, &empty).expected()?, links.unwrap_or_default()))
        };
        expected().map_err(|error| resolved.error(error))
    }

    /// The links of a generated network.
    pub(crate) fn links(resolved: &Resolved) -> u64 {
        let topology = &resolved.scenario().topology;
        let tiers =
            if matches!(topology.shape, Shape::FatTree(_) | Shape::DualFatTree { .. }) { 3 } else { 1 };
        tiers * network::links(topology).1 as u64
    }

    /// The flows, of random arrivals as many as are expected.
    pub(crate) fn flows(resolved: &Resolved) -> Result<u64, ScenarioError> {
        let flows = || {
            let empty = EmptyNetwork::of(resolved)?;
            let draw = traffic::Draw::of(resolved, &empty);
            Ok(draw.expected()?.flows as u64 + draw.fixed()?)
        };
        flows().map_err(|error| resolved.error(error))
    }

    fn try_build(resolved: &Resolved, content: Content) -> Result<Self, ValueError> {
        let scenario = resolved.scenario();
        let empty = EmptyNetwork::of(resolved)?;
        let (intra, pairs) = (empty.paths().inside(&empty.sites), empty.paths().between(&empty.sites));
        let draw = traffic::Draw::of(resolved, &empty);
        let (workload, collectives) = match content {
            Content::Flows => (draw.flows()?, collectives::plans(&draw, &empty)?),
            Content::Network => {
                (farspan_workload::assemble(Vec::new()).expect("no flows are not too many"), Vec::new())
            }
        };
        let EmptyNetwork { sizes, network, routes, sites, capacity } = empty;
        let inter = pairs.iter().map(|pair| pair.path).max_by_key(|path| path.base_rtt);
        let inter_scheme = scheme("scheme.inter", scenario, &scenario.scheme.inter)?;
        let (proxies, probes) = match content {
            Content::Flows => {
                let paths = (&network, &routes);
                let proxies = proxy::proxies(scenario, paths, &workload, &inter_scheme, resolved.seed())?;
                let probes = select::probes(scenario, &network, &workload, proxies.len())?;
                (proxies, probes)
            }
            Content::Network => (Vec::new(), select::port_probes(scenario, &network)?),
        };
        let spec = Spec {
            proxy_failures: match content {
                Content::Flows => proxy::failures(scenario, &proxies)?,
                Content::Network => Vec::new(),
            },
            proxies,
            ports: ports::by_tier(scenario, intra, inter)?,
            own_ports: ports::own(scenario, &network, intra, inter)?,
            pool: ports::pool(scenario),
            routing: match scenario.scheme.ports.routing {
                RoutingRule::Ecmp => Routing::Ecmp,
                RoutingRule::Adaptive => Routing::Adaptive,
            },
            flows: workload.flows.iter().map(spec_flows::spec_flow).collect(),
            faults: fault::faults(scenario, &network, resolved.seed())?,
            triggers: spec_flows::triggers(scenario, &network, &workload),
            intra: Arc::new(scheme("scheme.intra", scenario, &scenario.scheme.intra)?),
            inter: Arc::new(inter_scheme),
            own_balance: own_balance(scenario, &workload)?,
            mss: sizes.payload,
            header: sizes.header,
            initial_window: scenario.transport.start,
            jitter: jitter(scenario.host.jitter, &network, sizes),
            port_jitter: jitter(scenario.topology.jitter, &network, sizes),
            rtt_noise: scenario.transport.rtt_noise,
            seed: resolved.seed(),
            probes,
            trace: Trace::default(),
            stop: stop(scenario),
            network,
        };
        ports::check_pool(&spec)?;
        check(&spec, &routes)?;
        let scheme = |flow: &farspan_workload::Flow| {
            let inter = sites.site_of(flow.src) != sites.site_of(flow.dst);
            spec.scheme(if inter { Class::Inter } else { Class::Intra })
        };
        traffic::too_large(&workload, scenario, |flow| scheme(flow).coding.shape())?;
        let offered = |flow: &farspan_workload::Flow| offered(scheme(flow), flow.size, sizes.payload);
        let offered_load = farspan_workload::offered_load(&workload.flows, &sites, &capacity, offered);
        let world = Self {
            site_names: network::site_names(&scenario.topology, &spec.network),
            spec,
            workload,
            collectives,
            offered_load,
            intra,
            inter,
            pairs,
            warnings: Vec::new(),
            repeat_marks: scenario.transport.repeat_marks,
            replaced: [None, None],
        };
        Ok(Self { warnings: warnings::of(resolved, &world, &routes), ..world })
    }

    /// The scheme's name in results: `named`, or for classes whose control was replaced, that control's.
    pub(crate) fn scheme_name(&self, named: &str) -> String {
        scheme_name(named, self.replaced.each_ref().map(Option::as_ref))
    }
}

/// The name in results of a scheme whose controls inside a site and between sites are replaced by these, if any.
#[must_use]
pub fn scheme_name(named: &str, replaced: [Option<&congestion::Custom>; 2]) -> String {
    let [intra, inter] = replaced.map(|control| control.map_or(named, |control| control.name()));
    if intra == inter { intra.to_owned() } else { format!("{intra}/{inter}") }
}

/// The contents of a world beside its network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Content {
    /// The flows of the workload, and proxies for them.
    Flows,
    /// Nothing.
    Network,
}

/// Sizes of a full packet.
#[derive(Clone, Copy)]
struct PacketSizes {
    payload: Bytes,
    header: Bytes,
}

impl PacketSizes {
    fn of(scenario: &Scenario) -> Self {
        let transport = &scenario.transport;
        Self { payload: transport.payload, header: transport.header }
    }

    fn mtu(self) -> Bytes {
        self.payload + self.header
    }
}

/// The network before its flows are drawn.
struct EmptyNetwork {
    sizes: PacketSizes,
    network: Network,
    routes: Routes,
    sites: Sites,
    capacity: Capacity,
}

impl EmptyNetwork {
    fn of(resolved: &Resolved) -> Result<Self, ValueError> {
        let topology = &resolved.scenario().topology;
        let sizes = PacketSizes::of(resolved.scenario());
        let network = network::build(topology, sizes)?;
        let routes = Routes::new(&network, resolved.seed());
        let sites = sites(&network);
        let capacity = network::capacity(topology, &network, &routes, &sites, sizes);
        Ok(Self { sizes, network, routes, sites, capacity })
    }

    const fn paths(&self) -> Paths<'_> {
        Paths { network: &self.network, routes: &self.routes, sizes: self.sizes }
    }
}

fn sites(network: &Network) -> Sites {
    let site = |host: u32| network.site(HostId(host));
    let mut ranges = Vec::new();
    let mut first = 0;
    for host in 1..=network.hosts {
        if host == network.hosts || site(host) != site(first) {
            ranges.push(first..host);
            first = host;
        }
    }
    Sites::new(ranges).expect("hosts are numbered through the sites")
}

/// Paths of an empty network.
struct Paths<'a> {
    network: &'a Network,
    routes: &'a Routes,
    sizes: PacketSizes,
}

impl Paths<'_> {
    fn path(&self, from: u32, to: u32) -> PathFacts {
        let path = self.routes.path(self.network, HostId(from), HostId(to));
        let sizes = [self.sizes.mtu(), self.sizes.header];
        let base_rtt = sizes.map(|size| path.one_way(self.network, size)).into_iter().sum();
        let rate = self.network.links[path.links[0].index()].rate;
        PathFacts { hops: path.links.len(), base_rtt, bdp: rate.bytes_in(base_rtt) }
    }

    /// The farthest pair inside a site, of its first host's farthest and that one's farthest.
    fn inside(&self, sites: &Sites) -> Option<PathFacts> {
        let of_site = |site| {
            let farthest = |from: u32| {
                let others = sites.range(site).filter(move |to| *to != from);
                others.map(move |to| (self.path(from, to), to)).max_by_key(|(path, _)| path.base_rtt)
            };
            let (_, end) = farthest(sites.range(site).start)?;
            farthest(end).map(|(path, _)| path)
        };
        (0..sites.count()).filter_map(of_site).max_by_key(|path| path.base_rtt)
    }

    fn between(&self, sites: &Sites) -> Vec<SitePair> {
        let pairs = (0..sites.count()).flat_map(|to| (0..to).map(move |from| (from, to)));
        pairs
            .map(|(from, to)| SitePair { from, to, path: self.farthest(sites.range(from), sites.range(to)) })
            .collect()
    }

    /// The farthest pair of two sites, of the first site's first host's farthest and that one's farthest.
    fn farthest(&self, from: Range<u32>, to: Range<u32>) -> PathFacts {
        let of_first = |to: &u32| self.path(from.start, *to).base_rtt;
        let end = to.max_by_key(of_first).expect("a site has hosts");
        let paths = from.map(|from| self.path(from, end));
        paths.rev().max_by_key(|path| path.base_rtt).expect("a site has hosts")
    }
}

fn shortest_link(network: &Network) -> Duration {
    network.links.iter().map(|link| link.delay).min().unwrap_or_default()
}

fn scheme(path: &str, scenario: &Scenario, class: &SchemeClass) -> Result<Scheme, ValueError> {
    let control_path = format!("{path}.congestion");
    let congestion = congestion(&control_path, &class.congestion)?;
    check_signals(&control_path, scenario, &congestion)?;
    let acks = component("transport.ack", &scenario.transport.ack.0)?;
    let balance = component(&format!("{path}.balance"), &class.balance.0)?;
    let recovery = recovery(&format!("{path}.recovery"), scenario, &class.recovery)?;
    let repeats_marks = scenario.transport.repeat_marks && congestion.needs().ecn == Ecn::AsLoss;
    let coding = component(&format!("{path}.coding"), &class.coding.0)?;
    let persistent = scenario.transport.connections == ConnectionScope::PerPair;
    if recovery.policy.wants_order() {
        in_order_receivers::check(path, scenario, &coding)?;
    }
    Ok(Scheme {
        profile: FlowProfile {
            repeats_marks,
            persistent,
            ..FlowProfile::new(acks, &congestion, recovery.policy)
        },
        congestion,
        on_nack: on_nack(&class.congestion),
        balance,
        recovery,
        coding,
        window_check: class.window_check,
        connection: connection(&scenario.transport),
    })
}

/// Whether a packet has room for the signals of its control.
fn check_signals(path: &str, scenario: &Scenario, control: &CongestionConfig) -> Result<(), ValueError> {
    let (mtu, signals) = (PacketSizes::of(scenario).mtu(), control.needs().signal_bytes.data);
    if mtu + signals <= LARGEST_PACKET {
        return Ok(());
    }
    let problem = format!("it adds {signals} to packets of {mtu}, but {LARGEST_PACKET} is the limit");
    Err(ValueError::rule(path, problem, "write a smaller transport.payload"))
}

/// Whether what the controls need can be had in this world.
fn check(spec: &Spec, routes: &Routes) -> Result<(), ValueError> {
    stamps::check(spec, routes)?;
    check_persistent(spec)
}

/// A connection that goes on has no end from which blocks, or packets to be pulled, could be counted.
fn check_persistent(spec: &Spec) -> Result<(), ValueError> {
    let refused = |problem: String| {
        let cure = "write transport.connections = \"per_flow\"";
        Err(ValueError::rule("transport.connections", problem, cure))
    };
    for flow in &spec.flows {
        let inter = spec.network.site(flow.src) != spec.network.site(flow.dst);
        let (path, class) =
            if inter { ("scheme.inter", Class::Inter) } else { ("scheme.intra", Class::Intra) };
        let scheme = spec.scheme(class);
        if !scheme.profile.persistent {
            return Ok(());
        }
        if !matches!(scheme.coding, CodingConfig::None(_)) {
            return refused(format!("{path}.coding makes blocks of whole flows"));
        }
        if scheme.congestion.needs().pulls.is_some() {
            return refused(format!("the receiver pulls whole flows under {}", scheme.congestion.name()));
        }
    }
    Ok(())
}

/// The habits of TCP's connections that a scenario's flows have.
const fn connection(transport: &Transport) -> Connection {
    let &Transport { handshake, burst, unpaced, prr, idle_restart, .. } = transport;
    Connection { handshake, burst, unpaced, prr, idle_restart }
}

/// The path selectors of parts of the workload that have their own.
fn own_balance(scenario: &Scenario, workload: &Workload) -> Result<Vec<OwnBalance>, ValueError> {
    let own = |(part, written): (u32, &farspan_scenario::model::Workload)| {
        let path = format!("workload[{part}].balance");
        let balance = component(&path, &written.balance.as_ref()?.0);
        let flows = (0..).map(FlowId).zip(&workload.flows).filter(|(_, flow)| flow.part == part);
        let flows = flows.map(|(id, _)| id).collect();
        Some(balance.map(|balance| OwnBalance { balance, flows }))
    };
    (0..).zip(&scenario.workload).filter_map(own).collect()
}

/// Payload and parity of a message.
fn offered(scheme: &Scheme, size: Bytes, payload: Bytes) -> Bytes {
    let layout = scheme.coding.shape().and_then(|shape| Layout::of_message(size, payload, shape));
    size + layout.map_or(Bytes::ZERO, |layout| layout.parity())
}

/// The class's own time-out, or the scenario's.
fn recovery(path: &str, scenario: &Scenario, part: &Part) -> Result<RecoveryConfig, ValueError> {
    let (own, of_all) = (Recovery::read(path, &part.0)?, &scenario.transport);
    let rto = match own.rto.unwrap_or(of_all.rto) {
        RtoRule::Path => Rto::Path,
        RtoRule::Rfc6298 => Rto::Rfc6298 {
            initial: own.rto_initial.unwrap_or(of_all.rto_initial),
            variance_floor: own.rto_variance_floor.unwrap_or(of_all.rto_variance_floor),
            min: own.rto_min.unwrap_or(of_all.rto_min),
        },
        RtoRule::ThreeRtts => Rto::BaseRtts(3),
        RtoRule::Value(time) => Rto::Fixed(time),
    };
    let policy = own.policy(path)?;
    // RFC 6298, rule 5.5, speaks of one time-out for a flow.
    let backoff = own.backoff.unwrap_or(policy != RecoveryPolicy::PerPacketRto);
    Ok(RecoveryConfig { rto, backoff, policy })
}

fn jitter(jitter: Jitter, network: &Network, sizes: PacketSizes) -> Duration {
    match jitter {
        Jitter::OnePacket => network::usual_nic(network).transmission(sizes.mtu()),
        Jitter::Value(jitter) => jitter,
    }
}

fn stop(scenario: &Scenario) -> Stop {
    let warmup = scenario.measure.warmup;
    Stop {
        time: Time::ZERO + scenario.stop.time,
        when_measured_end: (!warmup.is_zero()).then_some(LOOK_FOR_THE_END),
    }
}

impl World {
    /// How many threads a run under `engine` takes.
    #[must_use]
    pub fn threads(&self, engine: EngineKind) -> u16 {
        farspan_sim::threads(&self.spec, engine)
    }

    /// Intra or inter.
    #[must_use]
    pub fn class(&self, flow: &farspan_workload::Flow) -> Class {
        let site = |host| self.spec.network.site(host);
        if site(flow.src) == site(flow.dst) { Class::Intra } else { Class::Inter }
    }
}
