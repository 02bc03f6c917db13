//! Random small worlds, and what happened in them: one seed names one world.

mod features;
mod kinds;
mod networks;

#[allow(unused_imports, reason = "each test binary uses its part")]
pub use features::{FEATURES, features};
#[allow(unused_imports, reason = "each test binary uses its part")]
pub use kinds::{
    holding_spec, lossless_spec, persistent_spec, policy_spec, proxied_spec, shared_spec, telemetry_spec,
};

use networks::network;

use crate::common::sharing;
use farspan_fabric::fault::{Affected, FaultKind, Loss, LossProcess, Numbering};
use farspan_fabric::switch::Routing;
use farspan_fabric::switch::shared::pause::{LosslessLinks, PauseConfig};
use farspan_fabric::switch::shared::pool::{Accounts, PoolConfig, Pooled};
use farspan_fabric::topology::{
    DualFatTree, DualLeafSpine, Dumbbell, FatTree, Graph, GraphGroup, GraphLink, GraphNode, LeafSpine,
    ParkingLot, Star,
};
use farspan_fabric::{
    Fault, Link, Marker, MarkingPoint, Network, Overflow, Phantom, PortConfig, Red, TelemetryCounts, Tier,
    Trim, Victim,
};
use farspan_sim::{
    ByTier, EngineKind, Flow, FlowOutcome, InitialWindow, NaiveSpec, Outcome, ProbeKind, Probes, ProxySpec,
    Rule, Series, Spec, Stop, Trace, Trigger,
};
use farspan_trace::{Remark, What};
use farspan_transport::ack::{self, AckConfig};
use farspan_transport::balance::{self, BalanceConfig};
use farspan_transport::coding::CodingConfig;
use farspan_transport::coding::blocks::{self, Resend};
use farspan_transport::congestion::{self, CongestionConfig, OnNack, Pacing};
use farspan_transport::proxy::detector::PerFlowConfig;
use farspan_transport::proxy::{Delay, LossDetection, ProxyKind};
use farspan_transport::recovery::{RecoveryConfig, RecoveryPolicy, Rto};
use farspan_transport::{CnpConfig, Connection, FlowProfile, Scheme, WindowCheck};
use farspan_units::{Bytes, Duration, FlowId, HostId, PortId, Purpose, Random, Rate, TelemetryKind, Time};
use farspan_workload::{Algorithm, Collective, Operation, Sites};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

/// The world of a seed.
pub fn random_spec(seed: u64) -> Spec {
    let mut draw = Draw(Random::new(seed, Purpose::Test, 1));
    let network = network(&mut draw);
    let (mss, header) = (Bytes::new(draw.spread(200, 9000)), Bytes::new(draw.pick(&[64, 64, 40, 1])));
    let base = Base::of(&network, mss + header);
    let flows = flows(&mut draw, &network, mss, base);
    let triggers = triggers(&mut Draw(Random::new(seed, Purpose::Test, 2)), &network, flows.len(), base);
    let collective = collective(&mut Draw(Random::new(seed, Purpose::Test, 4)), &network, mss, base);
    let (flows, triggers) = collective.unwrap_or((flows, triggers));
    let last_start = flows.iter().map(|flow| flow.start).max().expect("there is a flow");
    let span = last_start.since(Time::ZERO) + base.rtt * 4;
    let scheme = scheme(&mut draw, base);
    let inter = if draw.one_in(2) { scheme.clone() } else { self::scheme(&mut draw, base) };
    let (jitter, port_jitter) = (jitter(&mut draw, base), jitter(&mut draw, base));
    let mut spec = Spec {
        ports: ports(&mut draw, mss + header, header),
        own_ports: own_ports(&mut Draw(Random::new(seed, Purpose::Test, 5)), &network, mss + header, header),
        pool: None,
        routing: if Draw(Random::new(seed, Purpose::Test, 8)).one_in(8) {
            Routing::Adaptive
        } else {
            Routing::Ecmp
        },
        initial_window: match draw.below(3) {
            0 => InitialWindow::Bdp,
            1 => InitialWindow::Iw10,
            _ => InitialWindow::Bytes(Bytes::new(draw.spread(1, 200_000))),
        },
        probes: probes(&mut draw, &network, flows.len(), span),
        trace: trace(&mut Draw(Random::new(seed, Purpose::Test, 5)), &network, flows.len()),
        proxies: Vec::new(),
        proxy_failures: Vec::new(),
        stop: stop(&mut draw, span, last_start, base, &flows, mss + header),
        faults: faults(&mut Draw(Random::new(seed, Purpose::Test, 3)), &network, base, span),
        triggers,
        network,
        flows,
        intra: Arc::new(scheme),
        inter: Arc::new(inter),
        own_balance: Vec::new(),
        mss,
        header,
        jitter,
        port_jitter,
        rtt_noise: Duration::ZERO,
        seed,
    };
    let mut own = Draw(Random::new(seed, Purpose::Test, 9));
    // It keeps runs from ending that look for the end of measured flows.
    if own.one_in(2) && spec.stop.when_measured_end.is_none() {
        spec.probes.goodput = Some(goodput(&mut own, span, spec.stop.time));
    }
    spec
}

/// The first controls; those that came later have draws of their own.
const FIRST_CONTROLS: usize = 6;
/// Controls before those that have worlds of their own.
const LISTED_CONTROLS: usize = 9;

/// A control of those that came later.
fn later_control(own: &mut Draw, names: &[&str]) -> CongestionConfig {
    let mut congestion = CongestionConfig::by_name(own.pick(names)).expect("a built-in name");
    let (on, accurate) = (own.one_in(2), own.one_in(2));
    match &mut congestion {
        CongestionConfig::Smartt(config) => (config.quick_adapt, config.wait_to_decrease) = (on, accurate),
        CongestionConfig::Nscc(config) => (config.quick_adapt, config.accurate_base_rtt) = (on, accurate),
        CongestionConfig::Ndp(config) => {
            config.pull_rate = if on { 0.99 } else { 0.5 };
            config.pull_timeout = Duration::from_us(if accurate { 1000 } else { 50 });
        }
        _ => {}
    }
    congestion
}

/// The first path selectors; those that came later have draws of their own.
const FIRST_SELECTORS: usize = 4;

/// A path selector of those that came later.
fn later_selector(own: &mut Draw, names: &[&str], rtt: Duration) -> BalanceConfig {
    let mut balance = BalanceConfig::by_name(own.pick(names)).expect("a built-in name");
    let (entropies, slots) = own.pick(&[(256, 8), (4, 8), (65_536, 1)]);
    match &mut balance {
        BalanceConfig::RepsEarly(config) => (config.entropies, config.slots) = (entropies, slots),
        BalanceConfig::Reps(config) => {
            (config.entropies, config.slots) = (entropies, slots);
            (config.freeze, config.explore) = own.pick(&[(Duration::ZERO, None), (rtt * 2, Some(3))]);
            config.congested = own.pick(&[1.0, 1.65]);
        }
        _ => {}
    }
    balance
}

/// Draws of one world.
struct Draw(Random);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// Draws of its own for what came later: those of all else stay.
    fn apart(&self) -> Self {
        let mut own = Self(self.0);
        own.below(1 << 40);
        own
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    /// Between `low` and `high`, every size of number alike.
    fn spread(&mut self, low: u64, high: u64) -> u64 {
        let high = high.max(low);
        let ratio = high as f64 / low as f64;
        ((low as f64 * ratio.powf(self.0.uniform())) as u64).clamp(low, high)
    }

    fn time(&mut self, low: Duration, high: Duration) -> Duration {
        Duration::from_ps(self.spread(low.as_ps().max(1), high.as_ps().max(1)))
    }

    /// Rates whose byte time is a whole number of picoseconds, and others.
    fn rate(&mut self) -> Rate {
        match self.below(6) {
            0 | 1 => Rate::from_gbps(100),
            2 => Rate::from_gbps(25),
            3 => Rate::from_gbps(400),
            4 => Rate::from_gbps(self.pick(&[3, 30, 70, 300])),
            _ => Rate::from_bps(self.spread(1_000_000_000, 400_000_000_000)),
        }
    }

    /// Delays up to some microseconds: round ones, longer ones than any window, and now and then none.
    fn delay(&mut self) -> Duration {
        match self.below(12) {
            0..5 => Duration::from_us(1),
            5 | 6 => Duration::from_ns(500),
            7 => Duration::from_ns(2500),
            8 if self.one_in(3) => Duration::ZERO,
            _ => self.time(Duration::from_ns(5), Duration::from_us(4)),
        }
    }
}

/// The base quantities from which sizes in a world are scaled.
#[derive(Clone, Copy)]
struct Base {
    /// Time of a full packet on the slowest link.
    packet: Duration,
    /// About the longest round trip.
    rtt: Duration,
}

impl Base {
    fn of(network: &Network, mtu: Bytes) -> Self {
        let slowest = network.links.iter().map(|link| link.rate.as_bps()).min().expect("there is a link");
        let packet = Rate::from_bps(slowest).transmission(mtu);
        let mut way = BTreeMap::new();
        for link in &network.links {
            let delay: &mut Duration = way.entry(link.tier).or_default();
            *delay = (*delay).max(link.delay);
        }
        let delay: Duration = way.values().map(|&delay| delay * 4).sum();
        Self { packet, rtt: delay + packet * 8 }
    }
}

/// In one world of four some ports differ from those of their tier.
fn own_ports(
    draw: &mut Draw,
    network: &Network,
    mtu: Bytes,
    header: Bytes,
) -> BTreeMap<PortId, Arc<PortConfig>> {
    if !draw.one_in(4) {
        return BTreeMap::new();
    }
    let kinds = [Arc::new(port(draw, mtu, header)), Arc::new(port(draw, mtu, header))];
    let own = |n: u32| draw.one_in(3).then(|| (PortId(n), Arc::clone(&kinds[draw.below(2) as usize])));
    (0..network.links.len() as u32).filter_map(own).collect()
}

/// Who sends what to whom, and when: a few thousand packet-hops.
/// In one world of four some flows wait for others, mostly for some before them.
fn triggers(draw: &mut Draw, network: &Network, flows: usize, base: Base) -> Vec<Trigger> {
    let mut triggers = Vec::new();
    if !draw.one_in(4) {
        return triggers;
    }
    let shortest = network.links.iter().map(|link| link.delay).min().unwrap_or_default();
    let (flows, mut next) = (flows as u64, 1 + draw.below(flows as u64));
    while next < flows {
        let reach = if draw.one_in(8) { flows } else { next };
        let count = 1 + draw.below((flows - next).min(5));
        let ends = |draw: &mut Draw| {
            let ends: std::collections::BTreeSet<_> =
                (0..draw.below(4)).map(|_| FlowId(draw.below(reach) as u32)).collect();
            Vec::from_iter(ends)
        };
        triggers.push(Trigger {
            rule: draw.pick(&[Rule::All, Rule::Next]),
            started: ends(draw),
            finished: ends(draw),
            delivered: ends(draw),
            targets: (next..next + count).map(|flow| FlowId(flow as u32)).collect(),
            delay: draw.time(shortest / 4, base.rtt),
            pause: if draw.one_in(4) { draw.time(shortest / 4, base.rtt) } else { Duration::ZERO },
        });
        next += count + draw.below(4);
    }
    triggers
}

/// In one world of eight the flows are those of a collective.
fn collective(
    draw: &mut Draw,
    network: &Network,
    mss: Bytes,
    base: Base,
) -> Option<(Vec<Flow>, Vec<Trigger>)> {
    // Large stars are rare, and the only ones that fill chunks of arrivals.
    if !draw.one_in(8) || !(4..=32).contains(&network.hosts) {
        return None;
    }
    let mut hosts: Vec<HostId> = (0..network.hosts).map(HostId).collect();
    draw.0.shuffle(&mut hosts);
    let second = hosts.split_off(2 + draw.below(u64::from(network.hosts - 3).min(5)) as usize);
    hosts.truncate(6);
    let groups = if draw.one_in(2) { vec![hosts] } else { vec![hosts, second[..2].to_vec()] };
    let collective = Collective {
        operation: draw.pick(&[
            Operation::Allreduce,
            Operation::ReduceScatter,
            Operation::AllGather,
            Operation::AllToAll,
        ]),
        algorithm: draw.pick(&[Algorithm::Ring, Algorithm::Direct]),
        groups,
        size: mss * draw.spread(1, 40) + Bytes::new(draw.below(mss.get())),
        iterations: 1 + draw.below(3) as u32,
        compute_time: if draw.one_in(2) { draw.time(base.packet, base.rtt) } else { Duration::ZERO },
        barrier: draw.one_in(3),
    };
    let sites = Sites::new(std::iter::once(0..network.hosts).collect()).expect("there are hosts");
    let part = collective.part("", 0, Time::ZERO, &sites).expect("the groups are valid");
    let ids = |flows: &[u32]| flows.iter().copied().map(FlowId).collect();
    let delay = draw.time(base.packet, base.rtt);
    let flow = |flow: &farspan_workload::Flow| {
        let (src, dst, size, start) = (flow.src, flow.dst, flow.size, flow.start);
        Flow { src, dst, size, start, measured: true }
    };
    let trigger = |trigger: &farspan_workload::Trigger| Trigger {
        rule: Rule::All,
        started: ids(&trigger.started),
        finished: ids(&trigger.finished),
        delivered: ids(&trigger.delivered),
        targets: ids(&trigger.targets),
        delay,
        pause: trigger.pause,
    };
    Some((part.flows.iter().map(flow).collect(), part.triggers.iter().map(trigger).collect()))
}

fn flows(draw: &mut Draw, network: &Network, mss: Bytes, base: Base) -> Vec<Flow> {
    let hosts = u64::from(network.hosts);
    let count = if draw.one_in(2) { draw.spread(1, 20) } else { draw.spread(20, 100) };
    let packets = draw.spread(50, 4000);
    let (shape, to) = (draw.pick(&[0, 0, 1, 1, 2, 3, 3]), draw.below(hosts));
    let mut order: Vec<u64> = (0..hosts).collect();
    draw.0.shuffle(&mut order);
    let instants: Vec<Duration> =
        (0..4).map(|_| Duration::from_ps(draw.below(base.rtt.as_ps() * 2))).collect();
    let (timing, spread) = (draw.below(5), base.rtt * (1 + draw.below(6)));
    let even = draw.one_in(2).then(|| Bytes::new(1 + draw.below(mss.get() * (packets / count).max(1))));
    let idle = draw.one_in(4).then(|| draw.time(base.rtt, Duration::from_ms(200)));
    let everything_measured = draw.one_in(2);
    let flow = |n: u64| {
        let (src, dst) = match shape {
            // Incast; a permutation; many flows between one pair; any.
            0 => ((to + 1 + n % (hosts - 1)) % hosts, to),
            1 => (order[(n % hosts) as usize], order[((n + 1) % hosts) as usize]),
            2 => (order[0], order[1]),
            _ => {
                let src = draw.below(hosts);
                (src, (src + 1 + draw.below(hosts - 1)) % hosts)
            }
        };
        let mean = (packets as f64 / count as f64).max(1.0) * mss.as_f64();
        let size = even.unwrap_or_else(|| match draw.below(4) {
            0 => Bytes::new(1 + draw.below(mss.get())),
            1 => mss * (1 + draw.below(4)),
            _ => Bytes::new(1 + (mean * draw.0.exponential().min(4.0)) as u64),
        });
        let mut start = match timing {
            0 | 1 => Duration::ZERO,
            2 => draw.pick(&instants),
            _ => Duration::from_ps(draw.below(spread.as_ps())),
        };
        if let Some(idle) = idle.filter(|_| n > 0 && (n + 1) * 4 > count * 3) {
            start += base.rtt * 50 + idle;
        }
        let measured = everything_measured || draw.one_in(2);
        let (src, dst) = (HostId(src as u32), HostId(dst as u32));
        Flow { src, dst, size, start: Time::ZERO + start, measured }
    };
    (0..count).map(flow).collect()
}

/// In two worlds of five some links have faults.
fn faults(draw: &mut Draw, network: &Network, base: Base, span: Duration) -> Vec<Fault> {
    let count = if draw.below(5) < 2 { 1 + draw.below(4) } else { 0 };
    let links = network.links.len() as u64;
    // Ends of a link that several faults may meet.
    let often = draw.below(links) as u32;
    let fault = |draw: &mut Draw| {
        let first = if draw.one_in(3) { often } else { draw.below(links) as u32 };
        let at = if draw.one_in(3) { Duration::ZERO } else { Duration::from_ps(draw.below(span.as_ps())) };
        let lasts =
            if draw.one_in(2) { draw.time(base.packet, span) } else { draw.time(base.rtt, base.rtt * 8) };
        let until = if draw.one_in(4) { Time::MAX } else { Time::ZERO + at + lasts };
        let links = fault_links(draw, network, PortId(first));
        let delay = [Duration::ZERO, base.packet * 3, base.rtt];
        let withdraw_after = draw.one_in(2).then(|| draw.pick(&delay));
        Fault { kind: fault_kind(draw), links, at: Time::ZERO + at, until, withdraw_after }
    };
    (0..count).map(|_| fault(draw)).collect()
}

/// A link, the links beside it, or those of its tier; perhaps with the links back.
fn fault_links(draw: &mut Draw, network: &Network, first: PortId) -> Vec<PortId> {
    let link = network.links[first.index()];
    let (reach, both) = (draw.below(4), draw.one_in(2));
    let meant = |other: &Link| match reach {
        0 => (other.from, other.to) == (link.from, link.to),
        1 => other.tier == link.tier,
        _ => (other.from, other.to, other.index) == (link.from, link.to, link.index),
    };
    let back = |other: &Link| Link { from: other.to, to: other.from, ..*other };
    let all = (0..).zip(&network.links).filter(|(_, other)| meant(other) || both && meant(&back(other)));
    all.map(|(port, _)| PortId(port)).collect()
}

fn fault_kind(draw: &mut Draw) -> FaultKind {
    let packets = draw.pick(&[Affected::Data, Affected::All]);
    let probability = draw.pick(&[0.001, 0.01, 0.1]);
    let per = draw.pick(&[Numbering::Queue, Numbering::Flow]);
    let block = 1 + draw.below(20) as u32;
    let losses = (0..draw.below(u64::from(block).min(3)) + 1).map(|n| 0.2 / (n + 1) as f64).collect();
    match draw.below(9) {
        0 | 1 => FaultKind::LinkDown,
        2 => FaultKind::BlackHole,
        3..6 => FaultKind::Rate(draw.rate().mul_f64(draw.pick(&[0.1, 0.5, 2.0]))),
        6 => FaultKind::Loss(Loss { process: LossProcess::Independent(probability), packets }),
        _ => FaultKind::Loss(Loss { process: LossProcess::Blocks { block, losses, per }, packets }),
    }
}

fn scheme(draw: &mut Draw, base: Base) -> Scheme {
    let (controls, later_controls) = congestion::NAMES[..LISTED_CONTROLS].split_at(FIRST_CONTROLS);
    let mut congestion = CongestionConfig::by_name(draw.pick(controls)).expect("a built-in name");
    let pacing = draw.pick(&[Pacing::BaseRtt, Pacing::Srtt, Pacing::Off]);
    match &mut congestion {
        CongestionConfig::Unocc(config) => config.pacing = pacing,
        CongestionConfig::Gemini(config) => config.pacing = pacing,
        CongestionConfig::Dctcp(config) => config.pacing = pacing,
        CongestionConfig::Mprdma(config) => {
            (config.pacing, config.cut) = (pacing, draw.pick(&[0.15, 0.5]));
        }
        CongestionConfig::Bbr(config) => bbr(draw, config, base),
        CongestionConfig::FixedWindow(config) => {
            config.pacing_rate = draw.one_in(3).then(|| draw.rate().mul_f64(0.3));
        }
        other => unreachable!("the worlds have draws for every built-in control, and none for {other:?}"),
    }
    let (first, later) = balance::NAMES.split_at(FIRST_SELECTORS);
    let mut balance = BalanceConfig::by_name(draw.pick(first)).expect("a built-in name");
    if let BalanceConfig::Unolb(config) = &mut balance {
        config.subflows = draw.pick(&[1, 3, 10]);
        config.reroute = draw.pick(&[balance::unolb::Reroute::Recent, balance::unolb::Reroute::Fresh]);
    }
    if let BalanceConfig::Plb(config) = &mut balance {
        (config.busy_rounds, config.idle_rounds) = draw.pick(&[(12, 3), (2, 2), (1, 1)]);
        config.congested = draw.pick(&[0.5, 0.25, 0.01]);
        config.round = draw.pick(&[balance::plb::Round::Window, balance::plb::Round::BaseRtt]);
        config.pause = draw.pick(&[Duration::ZERO, base.rtt, Duration::from_ms(60_000)]);
    }
    let mut own = draw.apart();
    if own.one_in(4) {
        balance = later_selector(&mut own, later, base.rtt);
    }
    if own.one_in(4) {
        congestion = later_control(&mut own, later_controls);
    }
    let answers = [OnNack::Published, OnNack::Before, OnNack::InFlight, OnNack::None];
    let on_nack = own.one_in(4).then(|| own.pick(&answers));
    let on_nack = on_nack.filter(|answer| congestion.needs().nacks.allows(*answer).is_ok());
    let rto = match draw.below(3) {
        0 => Rto::Path,
        1 => Rto::Rfc6298 {
            initial: base.rtt * 6,
            variance_floor: draw.time(Duration::from_us(1), base.rtt * 4),
            min: Duration::ZERO,
        },
        // Below a round trip, time-outs are spurious.
        _ => Rto::Fixed(draw.time(base.rtt / 4, base.rtt * 8).max(base.packet * 4)),
    };
    let recovery = RecoveryConfig {
        rto,
        backoff: !draw.one_in(4),
        policy: draw.pick(&[RecoveryPolicy::PerPacketRto, RecoveryPolicy::Rack]),
    };
    Scheme {
        profile: FlowProfile::new(AckConfig::default(), &congestion, recovery.policy),
        congestion,
        balance,
        recovery,
        coding: coding(draw, base),
        on_nack,
        window_check: draw.pick(&[WindowCheck::Below, WindowCheck::Fits]),
        connection: Connection::default(),
    }
}

/// BBR whose search for the smallest round trip happens within a few of them.
fn bbr(draw: &mut Draw, config: &mut congestion::bbr::BbrConfig, base: Base) {
    use congestion::Cap;
    use congestion::bbr::{FirstPhase, OnTimeout, PhaseEnd, Rtprop};
    config.rtprop_window = draw.time(base.rtt, base.rtt * 50);
    config.probe_rtt = draw.pick(&[Duration::ZERO, base.rtt, base.rtt * 10]);
    config.rtprop = draw.pick(&[Rtprop::Measured, Rtprop::Measured, Rtprop::Given]);
    config.first_phase = draw.pick(&[FirstPhase::Random, FirstPhase::First]);
    config.phase_end = draw.pick(&[PhaseEnd::InFlight, PhaseEnd::Time]);
    config.on_timeout = draw.pick(&[OnTimeout::Restore, OnTimeout::Collapse]);
    config.cap = draw.pick(&[Cap::None, Cap::Bdp]);
}

fn coding(draw: &mut Draw, base: Base) -> CodingConfig {
    if draw.one_in(2) {
        return CodingConfig::by_name("none").expect("a built-in name");
    }
    let (data, parity) = draw.pick(&[(8, 2), (8, 2), (4, 1), (2, 2), (20, 4), (40, 3)]);
    // Some timers are shorter than what packets of a block spend in queues.
    let timer = draw.one_in(3).then(|| draw.time(base.packet, base.rtt));
    let resend = if draw.one_in(4) { Resend::All } else { Resend::Needed };
    CodingConfig::Mds(blocks::MdsConfig { data, parity, timer, resend })
}

fn ports(draw: &mut Draw, mtu: Bytes, header: Bytes) -> ByTier {
    let same = port(draw, mtu, header);
    let alike = draw.one_in(2);
    ByTier(std::array::from_fn::<_, { Tier::COUNT }, _>(|_| {
        if alike { same.clone() } else { port(draw, mtu, header) }
    }))
}

fn port(draw: &mut Draw, mtu: Bytes, header: Bytes) -> PortConfig {
    // A buffer below a packet lets nothing through.
    let buffer = match draw.below(8) {
        0..3 => mtu * draw.spread(1, 4) + Bytes::new(draw.below(mtu.get())),
        3..6 => mtu * draw.spread(4, 60),
        6 => Bytes::MAX,
        _ => mtu,
    };
    let mut level = |packets| Bytes::new(draw.below(mtu.get() * packets));
    let (min, width, step) = (level(12), level(12), level(20));
    let (phantom_min, phantom_width, size) = (level(20), level(60), level(200) + mtu);
    let count_dropped = draw.one_in(2);
    let phantom =
        draw.one_in(2).then(|| Phantom { size, drain: draw.pick(&[0.5, 0.9, 0.95, 1.0]), count_dropped });
    let red = |min: Bytes, width: Bytes| Red::new(min, min + width);
    let candidates = [
        Some(Marker::Queue(red(min, width))),
        Some(Marker::Step(step)),
        phantom.map(|_| Marker::Phantom(red(phantom_min, phantom_width))),
    ];
    let control_priority = draw.one_in(2);
    let victim = draw.pick(&[Victim::Arriving, Victim::Coin]);
    let trim = trim(draw, header, victim);
    let trims = control_priority && draw.one_in(2);
    PortConfig {
        phantom,
        markers: candidates.into_iter().flatten().filter(|_| draw.one_in(2)).collect(),
        marking_point: draw.pick(&[MarkingPoint::Enqueue, MarkingPoint::Dequeue]),
        control_priority,
        overflow: if trims { Overflow::Trim(trim) } else { Overflow::Drop },
        telemetry: TelemetryKind::None,
        ..PortConfig::drop_tail(buffer)
    }
}

fn trim(draw: &mut Draw, header: Bytes, victim: Victim) -> Trim {
    let headers = header * draw.below(12);
    let mut own = draw.apart();
    let at_last_hop = own.one_in(2);
    let weight = own.one_in(3).then(|| own.pick(&[1, 2, 10])).and_then(NonZeroU32::new);
    Trim { header, victim, headers, at_last_hop, weight, returns: own.one_in(2) }
}

fn jitter(draw: &mut Draw, base: Base) -> Duration {
    match draw.below(4) {
        0 | 1 => Duration::ZERO,
        2 => base.packet,
        _ => draw.time(Duration::from_ps(1), base.packet * 10),
    }
}

fn probes(draw: &mut Draw, network: &Network, flows: usize, span: Duration) -> Probes {
    // Round ones meet other events at one instant.
    let mut interval = || {
        let interval =
            if draw.one_in(2) { Duration::from_us(1) } else { draw.time(Duration::from_ns(300), span) };
        draw.one_in(2).then_some(interval.max(Duration::from_us((span / 200).as_ns() / 1000)))
    };
    let (rate_interval, queue_interval) = (interval(), interval());
    let every = 1 + draw.below(3) as usize;
    Probes {
        rate_interval,
        rate_flows: (0..flows as u32).step_by(every).map(FlowId).collect(),
        queue_interval,
        queue_ports: (0..network.links.len() as u32).step_by(every * 4).map(PortId).collect(),
        links: (0..network.links.len() as u32).step_by(every * 3).map(PortId).collect(),
        series: if every == 2 {
            Series::NONE.with(ProbeKind::Rate).with(ProbeKind::Queue)
        } else {
            Series::default()
        },
        goodput: None,
    }
}

/// Two times, of which the first has come in most worlds and the second in some; round ones, at which packets arrive, in half of them.
fn goodput(draw: &mut Draw, span: Duration, last: Time) -> Range<Time> {
    let round = draw.one_in(2);
    let mut time = |longest: Duration| {
        let time = Duration::from_ps(draw.below(longest.as_ps().max(1)));
        if round { Duration::from_ns(time.as_ns() / 500 * 500) } else { time }
    };
    let from = Time::ZERO + time(span / 2);
    // Beyond the run's limit there is nothing to read.
    let until = (from + time(span) + Duration::from_ps(1)).min(last);
    from.min(Time::from_ps(until.as_ps() - 1))..until
}

/// Traces of a few flows and ports, of every other world.
fn trace(draw: &mut Draw, network: &Network, flows: usize) -> Trace {
    if draw.one_in(2) {
        return Trace::default();
    }
    let (every, first) = (1 + draw.below(3) as usize, draw.below(3) as u32);
    Trace {
        flows: (0..flows as u32).step_by(every).map(FlowId).collect(),
        ports: (first..network.links.len() as u32).step_by(every * 5).map(PortId).collect(),
    }
}

/// When nothing is left to do (or at a limit that few worlds reach), in the middle, or when the measured
/// flows have ended.
fn stop(draw: &mut Draw, span: Duration, last_start: Time, base: Base, flows: &[Flow], mtu: Bytes) -> Stop {
    let packets: u64 = flows.iter().map(|flow| flow.size.segments(mtu)).sum();
    let limit = last_start + base.rtt * 20 + base.packet * packets * 4;
    match draw.below(4) {
        0 => Stop { time: Time::ZERO + draw.time(base.packet * 4, span), when_measured_end: None },
        1 => Stop { time: limit, when_measured_end: Some(draw.time(span / 200, span / 4)) },
        _ => Stop { time: limit, when_measured_end: None },
    }
}
