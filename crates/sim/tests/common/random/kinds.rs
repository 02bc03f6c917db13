//! Random worlds of which each has what others may have: policies, held ACKs, pools, pauses, proxies, telemetry.

use super::*;

/// The world of a seed, with ACK and recovery policies, and connections as TCP's, that no shipped scheme has.
#[allow(dead_code, reason = "each test binary uses its part")]
pub fn policy_spec(seed: u64) -> Spec {
    let mut spec = random_spec(seed);
    let mut draw = Draw(Random::new(seed, Purpose::Test, 20));
    let mut draws = Draw(Random::new(seed, Purpose::Test, 32));
    let mut orders = Draw(Random::new(seed, Purpose::Test, 34));
    let base = Base::of(&spec.network, spec.mss + spec.header);
    noise(&mut draw.apart(), &mut spec, base);
    for scheme in [&mut spec.intra, &mut spec.inter] {
        let scheme = Arc::make_mut(scheme);
        if !draw.one_in(4) {
            let delay = draw.time(base.packet, base.rtt);
            scheme.profile.acks =
                AckConfig::Delayed(ack::delayed::DelayedConfig { delay, quick: 0, packets: 2 });
        }
        if !draw.one_in(3) {
            scheme.recovery.policy = RecoveryPolicy::GoBackN;
            scheme.profile.in_order = matches!(scheme.coding, CodingConfig::None(_)) && orders.one_in(2);
        }
        scheme.connection = connection(&mut draws, spec.mss);
        scheme.profile.repeats_marks = draws.one_in(2);
    }
    spec
}

/// A connection as TCP's, or none.
fn connection(draw: &mut Draw, mss: Bytes) -> Connection {
    let burst = if draw.one_in(2) { Bytes::ZERO } else { mss * draw.spread(1, 30) };
    let (handshake, prr) = (draw.one_in(2), draw.one_in(2));
    let unpaced = if draw.one_in(2) { 0 } else { draw.spread(1, 30) as u32 };
    Connection { handshake, burst, unpaced, prr, idle_restart: false }
}

/// The world of a seed, as [`policy_spec`], in which flows of a few pairs of hosts are messages of one connection each.
#[allow(dead_code, reason = "each test binary uses its part")]
pub fn persistent_spec(seed: u64) -> Spec {
    let mut spec = policy_spec(seed);
    let mut draw = Draw(Random::new(seed, Purpose::Test, 33));
    for scheme in [&mut spec.intra, &mut spec.inter] {
        let scheme = Arc::make_mut(scheme);
        scheme.coding = CodingConfig::None(Default::default());
        if scheme.congestion.needs().pulls.is_some() {
            scheme.congestion = CongestionConfig::by_name("dctcp").expect("a built-in name");
            scheme.profile.pulls = None;
        }
        scheme.profile.persistent = !draw.one_in(4);
        scheme.connection.idle_restart = draw.one_in(2);
    }
    let pairs = draw.spread(1, 4);
    for n in 1..spec.flows.len() {
        let Flow { src, dst, .. } = spec.flows[draw.below(pairs.min(n as u64)) as usize];
        let flow = &mut spec.flows[n];
        // A flow that is not one of a trigger may begin much later, when its connection is idle.
        let later = if draw.one_in(3) { Duration::from_us(draw.below(3_000)) } else { Duration::ZERO };
        (flow.src, flow.dst, flow.start) = (src, dst, flow.start + later);
    }
    spec
}

/// The world of a seed, with receivers that hold ACKs.
#[allow(dead_code, reason = "each test binary uses its part")]
pub fn holding_spec(seed: u64) -> Spec {
    let mut spec = random_spec(seed);
    let mut draw = Draw(Random::new(seed, Purpose::Test, 21));
    let base = Base::of(&spec.network, spec.mss + spec.header);
    noise(&mut draw.apart(), &mut spec, base);
    for scheme in [&mut spec.intra, &mut spec.inter] {
        later_switches(&mut draw.apart(), &mut Arc::make_mut(scheme).congestion);
        let bytes = Bytes::new(draw.pick(&[1, 5, 20, 100]) * draw.spread(200, 9000));
        let config = ack::coalesced::CoalescedConfig { bytes, gap: draw.one_in(2) };
        if !draw.one_in(8) {
            Arc::make_mut(scheme).profile.acks = AckConfig::Coalesced(config);
        }
    }
    spec
}

/// RTT samples with something on top, in one world of three.
fn noise(draw: &mut Draw, spec: &mut Spec, base: Base) {
    if draw.one_in(3) {
        spec.rtt_noise = draw.time(base.packet, base.rtt);
    }
}

/// Switches of listed controls that came after the listed worlds.
fn later_switches(draw: &mut Draw, congestion: &mut CongestionConfig) {
    use congestion::bbr::Quantum;
    if let CongestionConfig::Bbr(config) = congestion {
        config.quantum = draw.pick(&[Quantum::Packet, Quantum::Draft, Quantum::Linux]);
        config.extra_acked = draw.one_in(2);
    }
}

/// The world of a seed with switches whose ports share a buffer, and in two of three pause their neighbours.
#[allow(dead_code, reason = "each test binary uses its part")]
pub fn shared_spec(seed: u64) -> Spec {
    let mut spec = random_spec(seed);
    share(&mut spec, seed);
    spec
}

/// Gives the world of a seed, complete but for that, a buffer that ports share.
fn share(spec: &mut Spec, seed: u64) {
    let mut draw = Draw(Random::new(seed, Purpose::Test, 6));
    let mtu = spec.mss + spec.header;
    let pause = PauseConfig {
        links: draw.pick(&[LosslessLinks::InsideSites, LosslessLinks::All]),
        resume_offset: Bytes::new(draw.below(mtu.get() * 4)),
        headroom: draw.one_in(3).then(|| Bytes::new(draw.below(mtu.get() * 10))),
    };
    pool(spec, &mut draw, pause);
    if draw.one_in(3) {
        spec.pool.iter_mut().for_each(|pool| pool.pause = None);
    }
    let mut draw_more = Draw(Random::new(seed, Purpose::Test, 22));
    let (by_port, inside) = (draw_more.one_in(2), draw_more.one_in(3));
    if let Some(pool) = &mut spec.pool {
        // What waits at a port pauses nobody.
        if by_port && pool.pause.is_none() {
            pool.accounts = Accounts::Egress;
        }
        if inside {
            pool.switches = Pooled::InsideSites;
        }
    }
    if !draw.one_in(3) {
        // Ports of a few packets would keep the pool empty.
        spec.ports.0.iter_mut().for_each(|port| port.buffer = Bytes::MAX);
        spec.own_ports.values_mut().for_each(|port| Arc::make_mut(port).buffer = Bytes::MAX);
    }
}

/// A buffer of which, beside headroom and reserves, a few to some hundred packets are shared.
fn pool(spec: &mut Spec, draw: &mut Draw, pause: PauseConfig) {
    let mtu = spec.mss + spec.header + Bytes::new(100);
    let alpha = draw.pick(&[0.125, 0.25, 1.0, 8.0]);
    let reserve = if draw.one_in(2) { Bytes::ZERO } else { Bytes::new(draw.below(mtu.get() * 3)) };
    let shared = (mtu * draw.spread(1, 60)).max(mtu.mul_f64(1.0 / alpha)).max(mtu);
    let pool = PoolConfig {
        size: shared,
        alpha,
        reserve,
        accounts: Accounts::Ingress,
        switches: Pooled::All,
        pause: Some(pause),
    };
    spec.pool = Some(sharing(spec, pool, shared));
    // A pause may last for ever where packets wait for each other in a ring.
    spec.stop.time = spec.stop.time.min(Time::ZERO + Duration::from_ms(50));
}

/// The world of a seed in which no link loses a packet but by a fault: all of them pause, with as much headroom as it
/// takes, and ports have no limit of their own.
#[allow(dead_code, reason = "each test binary uses its part")]
pub fn lossless_spec(seed: u64) -> Spec {
    let mut draw = Draw(Random::new(seed, Purpose::Test, 23));
    let mut spec = random_spec(seed);
    // Headroom follows from the rates of links.
    spec.faults.retain(|fault| !matches!(fault.kind, FaultKind::Rate(_)));
    let control_priority = draw.one_in(2);
    let unlimited = |port: &mut PortConfig| {
        (port.buffer, port.overflow, port.control_priority) = (Bytes::MAX, Overflow::Drop, control_priority);
    };
    spec.ports.0.iter_mut().for_each(unlimited);
    spec.own_ports.values_mut().for_each(|port| unlimited(Arc::make_mut(port)));
    let resume_offset = Bytes::new(draw.below(spec.mss.get() * 4));
    let pause = PauseConfig { links: LosslessLinks::All, resume_offset, headroom: None };
    pool(&mut spec, &mut draw, pause);
    spec
}

/// The world of a seed in which some flows go through proxies, of which some fail.
#[allow(dead_code, reason = "each test binary uses its part")]
pub fn proxied_spec(seed: u64) -> Spec {
    let mut draw = Draw(Random::new(seed, Purpose::Test, 24));
    let mut spec = random_spec(seed);
    let paths = draw.pick(&[1, 3]);
    for scheme in [&mut spec.intra, &mut spec.inter] {
        let scheme = Arc::make_mut(scheme);
        scheme.coding = CodingConfig::None(Default::default());
        scheme.balance =
            BalanceConfig::Spray(balance::spray::SprayConfig { entropy_bits: paths, penalty: None });
        if draw.one_in(3) {
            // Where packets are dropped, only time-outs and detectors find losses.
            scheme.recovery.policy = RecoveryPolicy::PerPacketRto;
        }
    }
    let kinds = |intra: &Scheme| {
        let profile = &intra.profile;
        profile.pulls.is_none() && profile.cnps.is_none() && intra.profile.acks == AckConfig::default()
    };
    let may_end = kinds(&spec.intra);
    let mut by_host: BTreeMap<HostId, Vec<FlowId>> = BTreeMap::new();
    for (id, flow) in (0..).map(FlowId).zip(&spec.flows) {
        let proxy = HostId(draw.below(u64::from(spec.network.hosts)) as u32 / 2);
        if draw.one_in(2) && proxy != flow.src && proxy != flow.dst {
            by_host.entry(proxy).or_default().push(id);
        }
    }
    for (host, flows) in by_host {
        let kind = match draw.below(if may_end { 6 } else { 3 }) {
            0 => ProxyKind::Streamlined(None),
            1 => ProxyKind::Streamlined(Some(LossDetection::PerPath { paths: 1 << paths })),
            2 => ProxyKind::Streamlined(Some(LossDetection::PerFlow(PerFlowConfig::default()))),
            _ => ProxyKind::Naive(NaiveSpec {
                rto: draw.one_in(2).then_some(Rto::BaseRtts(3)),
                onward: Arc::clone(&spec.inter),
                room: draw.one_in(2).then(|| Bytes::new(draw.spread(1, 100_000))),
            }),
        };
        let delay = match draw.below(3) {
            0 => Delay::default(),
            1 => Delay::Constant(Duration::from_ns(draw.below(3_000))),
            _ => Delay::drawn(vec![
                (0.0, Duration::ZERO),
                (0.9, Duration::from_ns(400)),
                (1.0, Duration::from_us(9)),
            ])
            .expect("it rises"),
        };
        if draw.one_in(3) {
            let at = draw.below(spec.stop.time.as_ps().clamp(1, 2_000_000_000));
            spec.proxy_failures.push((Time::from_ps(at), host));
        }
        spec.proxies.push(ProxySpec { host, flows, kind, delay, longest_silence: 3 });
    }
    spec.stop.time = spec.stop.time.min(Time::ZERO + Duration::from_ms(50));
    spec
}

/// The world of a seed with ports that write telemetry, receivers that send CNPs, and controls that came after the listed worlds.
#[allow(dead_code, reason = "each test binary uses its part")]
pub fn telemetry_spec(seed: u64) -> Spec {
    let mut draw = Draw(Random::new(seed, Purpose::Test, 22));
    let (is_shared, mut spec) = (draw.one_in(4), random_spec(seed));
    for scheme in [&mut spec.intra, &mut spec.inter] {
        let scheme = Arc::make_mut(scheme);
        if draw.one_in(6) {
            continue;
        }
        scheme.congestion = newest_control(&mut draw);
        scheme.profile =
            FlowProfile::new(scheme.profile.acks.clone(), &scheme.congestion, scheme.recovery.policy);
        if !draw.one_in(4) {
            let interval = draw.pick(&[Duration::from_us(50), Duration::from_us(2), Duration::ZERO]);
            scheme.profile.cnps = Some(CnpConfig { interval });
        }
        if draw.one_in(4) {
            let bytes = Bytes::new(draw.spread(200, 90_000));
            scheme.profile.acks = AckConfig::Coalesced(ack::coalesced::CoalescedConfig { bytes, gap: true });
        }
    }
    let usual = draw.pick(&[TelemetryKind::Mpd, TelemetryKind::Int]);
    let others = [TelemetryKind::None, TelemetryKind::Mpd, TelemetryKind::Int];
    let mut kind = || if draw.one_in(6) { draw.pick(&others) } else { usual };
    spec.ports.0.iter_mut().for_each(|port| port.telemetry = kind());
    spec.own_ports.values_mut().for_each(|port| Arc::make_mut(port).telemetry = kind());
    let mtu = spec.mss + spec.header;
    spec.ports.0.iter_mut().for_each(|port| mark_otherwise(&mut draw, port, mtu));
    spec.own_ports.values_mut().for_each(|port| mark_otherwise(&mut draw, Arc::make_mut(port), mtu));
    let counts = if draw.one_in(3) { TelemetryCounts::Arrivals } else { TelemetryCounts::Departures };
    spec.ports.0.iter_mut().for_each(|port| port.telemetry_counts = counts);
    if is_shared {
        share(&mut spec, seed);
    }
    spec
}

/// Marks at ports that had no reason to set any, and slopes of RED that end below 1.
fn mark_otherwise(draw: &mut Draw, port: &mut PortConfig, mtu: Bytes) {
    if port.markers.is_empty() && !draw.one_in(4) {
        port.markers.push(Marker::Queue(Red::new(Bytes::ZERO, mtu * draw.spread(1, 8))));
    }
    for marker in &mut port.markers {
        if let Marker::Queue(red) | Marker::Phantom(red) = marker {
            red.max_probability = draw.pick(&[1.0, 1.0, 0.2, 0.01]);
        }
    }
}

/// A control of those that came after the listed worlds.
fn newest_control(draw: &mut Draw) -> CongestionConfig {
    use congestion::{cubic, dctcp_per_ack, hpcc, oscar, poseidon, scripted, swift, timely, vegas};
    let mut congestion =
        CongestionConfig::by_name(draw.pick(&congestion::NAMES[LISTED_CONTROLS..])).expect("a built-in name");
    let [first, second, third] = [draw.one_in(2), draw.one_in(2), draw.one_in(2)];
    match &mut congestion {
        CongestionConfig::Hpcc(config) => {
            (config.quantised, config.smoothing) = (first, second);
            config.reference = if third { hpcc::Reference::Send } else { hpcc::Reference::RoundTrip };
            (config.eta, config.max_stage) = draw.pick(&[(0.95, 5), (1.5, 5), (0.95, 0)]);
        }
        CongestionConfig::Dcqcn(config) => {
            (config.window, config.hyper_grows) = (first, second);
            config.cnp_interval = Duration::from_us(if third { 50 } else { 5 });
            let timers = draw.pick(&[Duration::from_us(55), Duration::from_us(5)]);
            (config.alpha_timer, config.increase_timer) = (timers, timers * 2);
            config.byte_counter = Bytes::new(draw.spread(5000, 500_000));
        }
        CongestionConfig::Poseidon(config) => {
            config.alpha = if first { poseidon::Alpha::Rate } else { poseidon::Alpha::Range };
            config.quantised = second;
            (config.min_md, config.max_md) = if third { (0.0, 1000.0) } else { (0.5, 2.0) };
        }
        CongestionConfig::Oscar(config) => {
            config.batch_start = if first { oscar::BatchStart::First } else { oscar::BatchStart::Previous };
            config.longest_batch = second.then_some(3.0);
            config.samples = if first == second { oscar::Samples::Three } else { oscar::Samples::All };
            if third {
                config.target = oscar::Target::Queue(Bytes::new(75_000));
                config.period = oscar::BatchPeriod::Time(Duration::from_us(5));
            }
        }
        CongestionConfig::Scripted(config) => {
            config.at = [20, 50].map(Duration::from_us).to_vec();
            config.share = vec![if first { 0.1 } else { 0.5 }, if second { 1.0 } else { 0.01 }];
            config.observer = third.then_some(scripted::Observer::Oscar);
        }
        CongestionConfig::Powertcp(config) => {
            (config.quantised, config.gamma_old, config.bound_interval) = (first, second, third);
            (config.eta, config.arrival_floor) = draw.pick(&[(1.0, 0.5), (0.95, 0.5), (1.0, 0.0)]);
        }
        CongestionConfig::ThetaPowertcp(config) => config.arrival_floor = if first { 0.5 } else { 0.0 },
        CongestionConfig::Swift(config) => {
            config.reset_after = if first { 1 } else { 5 };
            if second {
                (config.unit, config.cap) = (swift::WindowUnit::Bdp, swift::LargestWindow::Bdp);
                (config.ai, config.fs_max) = (0.001, 1.0);
            }
        }
        CongestionConfig::Newreno(config) => config.ecn = first,
        CongestionConfig::Cubic(config) => {
            (config.ecn, config.friendly, config.fast_convergence) = (first, second, third);
            config.catches_up = first != third;
            config.hystart =
                draw.pick(&[cubic::HyStart::Off, cubic::HyStart::Linux, cubic::HyStart::PlusPlus]);
        }
        CongestionConfig::Vegas(config) => {
            config.scale = if first { 10.0 } else { 1.0 };
            config.rtt_base = if second { vegas::RttBase::Given } else { vegas::RttBase::Measured };
        }
        CongestionConfig::Timely(config) if first => {
            config.t_low = timely::RttThreshold::Rtt(Duration::from_us(16));
            config.t_high = timely::RttThreshold::Rtt(Duration::from_us(32));
            config.completion = timely::Completion::Rule(timely::CompletionRule::RoundTrip);
        }
        CongestionConfig::Timely(_) => {}
        CongestionConfig::DctcpPerAck(config) => {
            config.reset = if first { dctcp_per_ack::Reset::Initial } else { dctcp_per_ack::Reset::Packet };
            config.decrease = if second { 1.0 / 3.0 } else { 1.0 };
        }
        other => unreachable!("these worlds have draws for every newer control, and none for {other:?}"),
    }
    congestion
}
