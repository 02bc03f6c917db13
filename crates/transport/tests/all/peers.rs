//! Hosts that number their messages alike, some through one proxy, over a channel that loses, trims, reorders and duplicates:
//! each message arrives once, as what it is; and once more under the same numbers, when its sender was forgotten.

use farspan_transport::balance::BalanceConfig;
use farspan_transport::coding::{CodingConfig, Payload};
use farspan_transport::congestion::CongestionConfig;
use farspan_transport::proxy::detector::PerFlowConfig;
use farspan_transport::proxy::{
    Delay, LossDetection, NaiveRelay, Numbering, Relay, RelayKind, StreamlinedRelay, Via,
};
use farspan_transport::recovery::{RecoveryConfig, RecoveryPolicy, Rto};
use farspan_transport::{
    Class, Connection, Endpoint, EndpointConfig, Event, FlowProfile, Incoming, Message, Path, Poll, Profiles,
    Route, Scheme, Transmit, Trimmed, WindowCheck,
};
use farspan_units::{Bytes, Duration, FlowId, HostId, Purpose, Random, Rate, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

const MSS: u64 = 1000;
const HEADER: Bytes = Bytes::new(64);
const LINE: Rate = Rate::from_gbps(10);
const DELAY: Duration = Duration::from_us(20);
const SENDERS: u32 = 3;
const PROXY: HostId = HostId(SENDERS);
const RECEIVER: HostId = HostId(SENDERS + 1);
/// Messages of each sender, numbered from 0.
const MESSAGES: u32 = 3;

fn path() -> Path {
    let base_rtt = DELAY * 4;
    Path {
        class: Class::Inter,
        hops: 2,
        max_queueing: Duration::from_us(100),
        trims: true,
        mss: Bytes::new(MSS),
        header: HEADER,
        ..Path::new(LINE, base_rtt)
    }
}

/// The scheme of each message by its number; without a proxy it may be coded.
fn route(flow: u32, is_proxied: bool) -> Arc<Route> {
    let congestion = ["dctcp", "unocc", "bbr"][flow as usize % 3];
    let coding = if is_proxied || flow.is_multiple_of(2) { "none" } else { "mds" };
    let scheme = Scheme {
        congestion: CongestionConfig::by_name(congestion).unwrap(),
        balance: BalanceConfig::by_name("ecmp").unwrap(),
        coding: CodingConfig::by_name(coding).unwrap(),
        recovery: RecoveryConfig {
            rto: Rto::BaseRtts(4),
            backoff: false,
            policy: RecoveryPolicy::PerPacketRto,
        },
        on_nack: None,
        window_check: WindowCheck::Below,
        connection: Connection::default(),
        profile: FlowProfile::default(),
    };
    Arc::new(Route::new(path(), &scheme))
}

#[derive(Clone, Copy)]
enum Course {
    Direct,
    Naive,
    Streamlined(Option<LossDetection>),
}

const COURSES: [Course; 5] = [
    Course::Direct,
    Course::Naive,
    Course::Streamlined(None),
    Course::Streamlined(Some(LossDetection::PerPath { paths: 1 })),
    Course::Streamlined(Some(LossDetection::PerFlow(PerFlowConfig {
        window: None,
        fixed: None,
        initial_wait: Duration::from_us(10),
        max_wait: None,
    }))),
];

/// A message by its sender and its number there.
type Name = (HostId, FlowId);

/// A packet under way: (arrival, number, source, index in the list of packets, trimmed).
type Flying = Reverse<(Time, u64, HostId, usize, bool)>;

struct Network {
    now: Time,
    hosts: Vec<Endpoint>,
    nic_free: Vec<Time>,
    wake: Vec<Option<Time>>,
    flying: BinaryHeap<Flying>,
    packets: Vec<Transmit>,
    random: Random,
    /// Probabilities that a packet is lost, and that a data packet is trimmed.
    losses: (f64, f64),
    /// Numbers that the proxy has given.
    onward: u32,
    /// The sizes of the messages of this round,
    sizes: BTreeMap<Name, u64>,
    /// how much has arrived of each,
    arrived: BTreeMap<Name, u64>,
    /// and which both ends know to have arrived.
    delivered: Vec<Name>,
    finished: Vec<Name>,
}

impl Network {
    fn new(seed: u64) -> Self {
        let profiles = Profiles::new([FlowProfile::default()]);
        let endpoint = |host| {
            let config = EndpointConfig { host: HostId(host), seed, mss: Bytes::new(MSS), header: HEADER };
            Endpoint::new(config).with_profiles(&profiles, LINE)
        };
        let mut hosts: Vec<_> = (0..=RECEIVER.0).map(endpoint).collect();
        hosts[PROXY.index()] = endpoint(PROXY.0).with_proxy(Delay::default());
        let mut random = Random::new(seed, Purpose::Test, 0);
        let losses = (random.uniform() * 0.1, random.uniform() * 0.1);
        let count = hosts.len();
        Self {
            now: Time::ZERO,
            hosts,
            nic_free: vec![Time::ZERO; count],
            wake: vec![None; count],
            flying: BinaryHeap::new(),
            packets: Vec::new(),
            random,
            losses,
            onward: 1000,
            sizes: BTreeMap::new(),
            arrived: BTreeMap::new(),
            delivered: Vec::new(),
            finished: Vec::new(),
        }
    }

    /// A message to the receiver; of the proxy, or of the receiver to the first host, always direct.
    fn submit(&mut self, from: HostId, flow: u32) {
        let course = if from.0 < SENDERS { COURSES[self.random.below(5) as usize] } else { Course::Direct };
        let to = if from == RECEIVER { HostId(0) } else { RECEIVER };
        let (size, name) = (1 + self.random.below(40 * MSS), (from, FlowId(flow)));
        self.sizes.insert(name, size);
        let size = Bytes::new(size);
        let via = match course {
            Course::Direct => None,
            Course::Naive => Some((true, None)),
            Course::Streamlined(loss) => Some((false, loss)),
        };
        let via = via.map(|(acknowledges, loss)| {
            self.relay(name, size, acknowledges, loss);
            let numbers = loss.map(|loss| match loss {
                LossDetection::PerPath { .. } => Numbering::PerPath,
                LossDetection::PerFlow(_) => Numbering::PerFlow,
            });
            let (direct, limit, longest_silence) = (route(flow, true), u32::MAX, path().base_rtt * 30);
            let direct_cwnd = path().bdp;
            Arc::new(Via { proxy: PROXY, acknowledges, limit, numbers, direct, direct_cwnd, longest_silence })
        });
        let (initial_cwnd, route) = (path().bdp, route(flow, via.is_some()));
        let message = Message { flow: FlowId(flow), to, size, initial_cwnd, route, via };
        self.hosts[from.index()].submit(self.now, message);
    }

    fn relay(&mut self, name: Name, size: Bytes, is_naive: bool, loss: Option<LossDetection>) {
        let signals = Default::default();
        let kind = if is_naive {
            let onward = route(name.1.0, true);
            RelayKind::Naive(NaiveRelay { onward, initial_cwnd: path().bdp, room: None, signals })
        } else {
            RelayKind::Streamlined(StreamlinedRelay { header: HEADER, signals, loss })
        };
        let onward_flow = FlowId(self.onward);
        self.onward += 1;
        let ((from, flow), to) = (name, RECEIVER);
        self.hosts[PROXY.index()].relay(Relay { from, flow, to, onward_flow, size, kind });
        self.hosts[RECEIVER.index()].expect_relayed(from, flow, PROXY, onward_flow);
    }

    fn drive_nic(&mut self, host: usize) {
        if self.nic_free[host] > self.now {
            self.wake[host] = Some(self.nic_free[host]);
            return;
        }
        self.wake[host] = match self.hosts[host].poll_transmit(self.now) {
            Poll::Packet(packet) => {
                let free = self.now + LINE.transmission(packet.size);
                self.nic_free[host] = free;
                self.put_on_wire(host, free, packet);
                Some(free)
            }
            Poll::At(at) => Some(at),
            Poll::Idle => None,
        };
    }

    fn put_on_wire(&mut self, host: usize, free: Time, packet: Transmit) {
        let copies = 1 + u64::from(self.random.uniform() < 0.05);
        for copy in 0..copies {
            let is_lost = self.random.uniform() < self.losses.0;
            let trim = self.random.uniform() < self.losses.1 && !packet.control;
            let at = free + DELAY + Duration::from_ps(self.random.below(10_000_000));
            if !is_lost {
                let place = self.packets.len();
                let number = place as u64 * 2 + copy;
                self.flying.push(Reverse((at, number, HostId(host as u32), place, trim)));
            }
        }
        self.packets.push(packet);
    }

    fn arrive(&mut self, from: HostId, place: usize, trim: bool) -> usize {
        let Transmit { to, header, ecn_ce, ref telemetry, .. } = self.packets[place];
        let trimmed = if trim { Trimmed::OnItsWay } else { Trimmed::No };
        let telemetry = telemetry.clone();
        let incoming = Incoming { from, header, ecn_ce, trimmed, telemetry };
        if let Some(new) = self.hosts[to.index()].handle_packet(self.now, incoming) {
            assert_ne!(to, PROXY, "nothing is delivered on the way");
            let name = (new.from, new.flow);
            if let Payload::Source(range) = new.payload {
                assert!(range.end <= self.sizes[&name], "a range of this message");
            }
            *self.arrived.entry(name).or_default() += new.delivered.get();
        }
        while let Some(event) = self.hosts[to.index()].poll_event() {
            match event {
                Event::Finished(report) => {
                    assert_eq!(report.size.get(), self.sizes[&(to, report.flow)]);
                    self.finished.push((to, report.flow));
                }
                Event::Delivered(report) => {
                    let name = (report.from, report.flow);
                    assert_eq!(report.bytes.get(), self.sizes[&name]);
                    self.delivered.push(name);
                }
                event => panic!("{event:?}"),
            }
        }
        to.index()
    }

    /// Does the next thing that happens; `false` if nothing will.
    fn step(&mut self) -> bool {
        let arrival = self.flying.peek().map(|Reverse((at, ..))| *at);
        let timeouts = self.hosts.iter().map(Endpoint::poll_timeout);
        let Some(next) = timeouts.chain(self.wake.iter().copied()).chain([arrival]).flatten().min() else {
            return false;
        };
        self.now = self.now.max(next);
        if arrival.is_some_and(|at| at <= self.now) {
            let Reverse((_, _, from, place, trimmed)) = self.flying.pop().unwrap();
            let to = self.arrive(from, place, trimmed);
            self.drive_nic(to);
        } else if let Some(host) = self.wake.iter().position(|wake| wake.is_some_and(|at| at <= self.now)) {
            self.drive_nic(host);
        } else {
            for host in 0..self.hosts.len() {
                self.hosts[host].handle_timeout(self.now);
                while let Some(event) = self.hosts[host].poll_event() {
                    assert!(matches!(event, Event::WentDirect { .. }), "{event:?}");
                }
                self.drive_nic(host);
            }
        }
        true
    }

    /// All messages of a round, from all hosts, under the numbers from 0 on.
    fn run_round(&mut self) {
        for flow in 0..MESSAGES {
            (0..=RECEIVER.0).for_each(|host| self.submit(HostId(host), flow));
        }
        (0..self.hosts.len()).for_each(|host| self.drive_nic(host));
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < 1_000_000, "it ends");
        }
        let names: Vec<_> = self.sizes.keys().copied().collect();
        for known in [&mut self.delivered, &mut self.finished] {
            known.sort();
            assert_eq!(*known, names, "each once");
        }
        assert_eq!(self.arrived, self.sizes, "every byte once");
    }

    /// Every host forgets every other: all numbers are free.
    fn forget_all(&mut self) {
        for host in &mut self.hosts {
            for peer in 0..=RECEIVER.0 {
                assert_eq!(host.forget_peer(self.now, HostId(peer)), []);
            }
            assert_eq!((host.poll_timeout(), host.poll_transmit(self.now)), (None, Poll::Idle));
        }
        self.sizes.clear();
        self.arrived.clear();
        self.delivered.clear();
        self.finished.clear();
        self.packets.clear();
    }
}

#[test]
fn whoever_numbers_messages_alike_each_arrives_once_and_again_after_peers_are_forgotten() {
    for seed in 0..150 {
        let mut network = Network::new(seed);
        network.run_round();
        network.forget_all();
        network.run_round();
    }
}
