//! Small worlds for tests.
#![allow(dead_code, reason = "each test binary uses its part")]

use farspan_fabric::fault::FaultKind;
use farspan_fabric::switch::Routing;
use farspan_fabric::switch::shared::pool::PoolConfig;
use farspan_fabric::topology::{
    BackboneLeafSpine, DualFatTree, DualLeafSpine, Dumbbell, FatTree, LeafSpine, ParkingLot, Star,
};
use farspan_fabric::{Marker, Network, PortConfig, Tier};
use farspan_sim::{
    ByTier, EngineKind, Flow, InitialWindow, Outcome, ProbeKind, Probes, SampleId, Spec, Stop, Trace, Traced,
};
use farspan_transport::ack::AckConfig;
use farspan_transport::balance::BalanceConfig;
use farspan_transport::coding::CodingConfig;
use farspan_transport::congestion::CongestionConfig;
use farspan_transport::recovery::{RecoveryConfig, RecoveryPolicy, Rto};
use farspan_transport::{Connection, FlowProfile, Scheme, WindowCheck};
use farspan_units::{Bytes, Duration, FlowId, HostId, NodeId, Rate, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

pub const MSS: Bytes = Bytes::new(4096);
pub const HEADER: Bytes = Bytes::new(64);

pub fn scheme(congestion: CongestionConfig, balance: &str) -> Arc<Scheme> {
    Arc::new(Scheme {
        profile: FlowProfile::new(AckConfig::default(), &congestion, RecoveryPolicy::PerPacketRto),
        congestion,
        balance: BalanceConfig::by_name(balance).expect("a built-in name"),
        recovery: RecoveryConfig { rto: Rto::Path, backoff: true, policy: RecoveryPolicy::PerPacketRto },
        coding: CodingConfig::by_name("none").expect("a built-in name"),
        on_nack: None,
        window_check: WindowCheck::Below,
        connection: Connection::default(),
    })
}

pub fn control(name: &str) -> CongestionConfig {
    CongestionConfig::by_name(name).expect("a built-in name")
}

pub fn tree(k: u32) -> FatTree {
    FatTree::new(k, Rate::from_gbps(100), Duration::from_us(1))
}

pub fn two_sites(k: u32, wan_delay: Duration) -> Network {
    DualFatTree {
        site: tree(k),
        core_border_links: 2,
        wan_links: 2,
        wan_rate: Rate::from_gbps(100),
        wan_delay,
    }
    .build()
    .expect("valid")
}

pub fn star(hosts: usize, rate: Rate, delay: Duration) -> Network {
    Star { switch_delay: Duration::ZERO, hosts: vec![(rate, delay); hosts] }.build().expect("valid")
}

/// Hosts with delays of their own around one switch.
pub fn uneven_star(rate: Rate, delays: &[Duration]) -> Network {
    let hosts = delays.iter().map(|&delay| (rate, delay)).collect();
    Star { switch_delay: Duration::ZERO, hosts }.build().expect("valid")
}

pub fn dumbbell(bottleneck: Rate) -> Network {
    Dumbbell {
        hosts_per_side: 4,
        link_rate: Rate::from_gbps(100),
        link_delay: Duration::from_us(1),
        switch_delay: Duration::ZERO,
        bottleneck_rate: bottleneck,
        bottleneck_delay: Duration::from_us(1),
        two_sites: false,
    }
    .build()
    .expect("valid")
}

fn small_leaf_spine() -> LeafSpine {
    LeafSpine {
        leaves: 2,
        spines: 2,
        hosts_per_leaf: 2,
        link_rate: Rate::from_gbps(100),
        uplink_rate: Rate::from_gbps(40),
        link_delay: Duration::from_us(1),
        switch_delay: Duration::from_ns(200),
    }
}

pub fn dual_leaf_spine(wan_delay: Duration) -> Network {
    let (site, wan_rate) = (small_leaf_spine(), Rate::from_gbps(25));
    DualLeafSpine { site, spine_border_links: 2, wan_links: 2, wan_rate, wan_delay }.build().expect("valid")
}

/// Two sites of two leaves and two spines around some routers.
pub fn backbone(routers: u32, links_per_spine: u32, wan_delay: Duration) -> Network {
    let (site, wan_rate) = (small_leaf_spine(), Rate::from_gbps(25));
    BackboneLeafSpine { site, routers, links_per_spine, wan_rate, wan_delay }.build().expect("valid")
}

/// Two hosts at each switch of a chain.
pub fn parking_lot(bottlenecks: u32, rate: Rate, delay: Duration) -> Network {
    ParkingLot {
        bottlenecks,
        hosts_per_switch: 2,
        link_rate: rate,
        link_delay: Duration::from_us(1),
        switch_delay: Duration::ZERO,
        bottleneck_rate: rate,
        bottleneck_delay: delay,
    }
    .build()
    .expect("valid")
}

pub fn ports(buffer: Bytes, markers: &[Marker]) -> ByTier {
    let config = PortConfig { markers: markers.to_vec(), ..PortConfig::drop_tail(buffer) };
    ByTier(std::array::from_fn::<_, { Tier::COUNT }, _>(|_| config.clone()))
}

/// A pool of which, beside reserves and headroom, this much is shared at the switch where these take most.
pub fn sharing(spec: &Spec, pool: PoolConfig, shared: Bytes) -> PoolConfig {
    let reverse = spec.network.reverse_links();
    let switches = (spec.network.hosts..spec.network.nodes.len() as u32).map(NodeId);
    let pool = PoolConfig { size: Bytes::new(1 << 50), ..pool };
    let left = switches.map(|switch| pool.shared(&farspan_sim::ingress(spec, switch, &reverse)));
    let least = left.map(|left| left.expect("large enough")).min().expect("there is a switch");
    PoolConfig { size: pool.size - least + shared, ..pool }
}

pub fn flow(src: u32, dst: u32, size: Bytes, start: Time) -> Flow {
    Flow { src: HostId(src), dst: HostId(dst), size, start, measured: true }
}

pub fn spec(network: Network, ports: ByTier, scheme: &Arc<Scheme>, flows: Vec<Flow>) -> Spec {
    Spec {
        network,
        ports,
        own_ports: BTreeMap::new(),
        pool: None,
        routing: Routing::Ecmp,
        flows,
        triggers: Vec::new(),
        faults: Vec::new(),
        intra: Arc::clone(scheme),
        inter: Arc::clone(scheme),
        own_balance: Vec::new(),
        mss: MSS,
        header: HEADER,
        initial_window: InitialWindow::Bdp,
        jitter: Duration::ZERO,
        port_jitter: Duration::ZERO,
        rtt_noise: Duration::ZERO,
        seed: 1,
        probes: Probes::default(),
        trace: Trace::default(),
        proxies: Vec::new(),
        proxy_failures: Vec::new(),
        stop: Stop { time: Time::MAX, when_measured_end: None },
    }
}

pub fn sample_rates(spec: &mut Spec, interval: Duration) {
    spec.probes.rate_interval = Some(interval);
    spec.probes.rate_flows = (0..spec.flows.len() as u32).map(FlowId).collect();
}

/// The first interval in which the flows into a host have more goodput together than its NIC takes in: (interval x rate / wire
/// packet + 2 packets) x payload. Two packets, as the interval cuts one at each end.
///
/// # Errors
/// The host, the end of the interval, and both amounts.
pub fn goodput_within_line_rate(spec: &Spec, outcome: &Outcome) -> Result<(), String> {
    let interval = spec.probes.rate_interval.expect("rates are sampled").as_secs_f64();
    let mut into = BTreeMap::<(HostId, Time), f64>::new();
    for sample in outcome.samples.iter().filter(|sample| sample.probe == ProbeKind::Rate) {
        let SampleId::Flow(flow) = sample.id else { continue };
        *into.entry((spec.flows[flow.index()].dst, sample.at)).or_default() += sample.value * interval / 8.0;
    }
    for ((host, at), goodput) in into {
        let down = spec.network.links.iter().position(|link| link.to.0 == host.0).expect("a host has a link");
        let faulty = spec.faults.iter().filter_map(|fault| match fault.kind {
            FaultKind::Rate(rate) => fault.links.iter().any(|link| link.index() == down).then_some(rate),
            _ => None,
        });
        let rate = faulty.fold(spec.network.links[down].rate, Rate::max).bytes_per_sec_f64();
        let packets = interval * rate / (spec.mss + spec.header).as_f64() + 2.0;
        let most = packets * spec.mss.as_f64();
        if goodput > most + 1.0 {
            return Err(format!("host {} until {at:?}: {goodput:.0} B where {most:.0} B fit", host.0));
        }
    }
    Ok(())
}

/// Everything that must come out as the oracle does.
pub const OTHERS: [EngineKind; 4] =
    [EngineKind::Windowed, EngineKind::QuarterWindow, EngineKind::Threads(2), EngineKind::Ordered];

/// Runs a spec with every engine and window, and asks for equal outcomes, to the last field.
pub fn run(spec: &Spec) -> Outcome {
    equal_under_all(spec).unwrap_or_else(|what| panic!("{what}"))
}

/// The outcome of hosts that call the verbs alone and get bytes, if it is this one.
///
/// # Errors
/// The first field that differs.
pub fn equal_by_verbs(spec: &Spec, outcome: &Outcome) -> Result<(), String> {
    let by_verbs = farspan_sim::run(spec, EngineKind::Verbs, &mut |_| true);
    difference(outcome, &by_verbs).map_or(Ok(()), |what| Err(format!("in place and by verbs: {what}")))
}

/// The oracle's outcome, if every other engine has the same.
///
/// # Errors
/// The engine, and the first field that differs.
pub fn equal_under_all(spec: &Spec) -> Result<Outcome, String> {
    let run = |engine| farspan_sim::run(spec, engine, &mut |_| true);
    let oracle = run(EngineKind::Oracle);
    let more = (!spec.faults.is_empty()).then_some(EngineKind::Threads(3));
    for engine in OTHERS.into_iter().chain(more) {
        if let Some(what) = difference(&oracle, &run(engine)) {
            return Err(format!("oracle and {engine:?}: {what}"));
        }
    }
    if spec.trace != Trace::default() {
        let off = Spec { trace: Trace::default(), ..spec.clone() };
        let off = farspan_sim::run(&off, EngineKind::Windowed, &mut |_| true);
        if let Some(what) = difference(&Outcome { trace: Traced::default(), ..oracle.clone() }, &off) {
            return Err(format!("traces on and off: {what}"));
        }
    }
    Ok(oracle)
}

/// The first field that differs, with both values.
pub fn difference(a: &Outcome, b: &Outcome) -> Option<String> {
    fn of<T: PartialEq + std::fmt::Debug>(what: &str, a: &[T], b: &[T]) -> Option<String> {
        let n = a.iter().zip(b).position(|(a, b)| a != b)?;
        let (a, b) = (format!("{:#?}", a[n]), format!("{:#?}", b[n]));
        let line = a.lines().zip(b.lines()).position(|(a, b)| a != b)?;
        // A value may fill several lines: its field stands before.
        let field = a.lines().take(line + 1).filter(|text| text.contains(": ")).last().unwrap_or_default();
        let value = |text: &str| text.lines().nth(line).unwrap_or_default().trim().to_owned();
        Some(format!("{what} {n}: {}: {} and {}", field.trim(), value(&a), value(&b)))
    }
    if a == b {
        return None;
    }
    let sums = of(
        "sums",
        &[(a.totals, a.end, a.packet_delay_p99, a.rtt)],
        &[(b.totals, b.end, b.packet_delay_p99, b.rtt)],
    );
    let parts = of("flow", &a.flows, &b.flows).or_else(|| of("port", &a.ports, &b.ports));
    let rest = || {
        let short =
            |o: &Outcome| (o.samples.len(), o.digest, o.packet_digest, o.deadlock.clone(), o.interrupted);
        of("samples, digests, endings", &[short(a)], &[short(b)])
    };
    let goodput = || of("goodput of all flows", &[&a.goodput], &[&b.goodput]);
    let traces = || {
        let flows = of("event of a flow", &a.trace.flows, &b.trace.flows);
        flows.or_else(|| of("packet of a port", &a.trace.packets, &b.trace.packets))
    };
    let samples = || of("sample", &a.samples, &b.samples);
    let found = parts.or(sums).or_else(samples).or_else(traces).or_else(goodput).or_else(rest);
    Some(found.unwrap_or_else(|| "something differs".to_owned()))
}

pub fn fingerprint(outcome: &Outcome) -> (u64, u64, u64, Time) {
    (outcome.digest, outcome.packet_digest, outcome.totals.packet_hops, outcome.end)
}
