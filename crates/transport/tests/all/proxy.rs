//! A sender, a proxy and a receiver over a channel that loses, trims, reorders and duplicates: the receiver has every byte
//! once, whatever becomes of the proxy.

use farspan_transport::ack::AckConfig;
use farspan_transport::balance::{BalanceConfig, spray};
use farspan_transport::coding::{CodingConfig, Payload};
use farspan_transport::congestion::CongestionConfig;
use farspan_transport::proxy::detector::PerFlowConfig;
use farspan_transport::proxy::{
    Delay, LossDetection, NaiveRelay, Numbering, Relay, RelayKind, StreamlinedRelay, Via,
};
use farspan_transport::recovery::{RecoveryConfig, RecoveryPolicy, Rto};
use farspan_transport::wire::{Data, Header, MAX_HEADER, Numbered, Place, View};
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
const NEAR: Duration = Duration::from_us(5);
const FAR: Duration = Duration::from_us(200);
const SENDER: usize = 0;
const PROXY: usize = 1;
const RECEIVER: usize = 2;
const FLOW: FlowId = FlowId(7);
/// Its number on the way from the proxy to the receiver.
const ONWARD_FLOW: FlowId = FlowId(70);

fn path(delay: Duration, class: Class) -> Path {
    let base_rtt = delay + delay + LINE.transmission(Bytes::new(MSS) + HEADER) + LINE.transmission(HEADER);
    Path {
        class,
        base_rtt,
        line_rate: LINE,
        bdp: LINE.bytes_in(base_rtt),
        intra_base_rtt: NEAR + NEAR,
        largest_base_rtt: FAR + FAR,
        hops: 1,
        max_queueing: Duration::from_us(20),
        k_min: None,
        trims: true,
        mss: Bytes::new(MSS),
        header: HEADER,
    }
}

fn scheme(control: &str) -> Scheme {
    let congestion = CongestionConfig::by_name(control).unwrap();
    Scheme {
        profile: FlowProfile::new(AckConfig::default(), &congestion, RecoveryPolicy::PerPacketRto),
        congestion,
        balance: BalanceConfig::Spray(spray::SprayConfig { entropy_bits: 3, penalty: None }),
        coding: CodingConfig::by_name("none").unwrap(),
        recovery: RecoveryConfig {
            rto: Rto::BaseRtts(3),
            backoff: false,
            policy: RecoveryPolicy::PerPacketRto,
        },
        on_nack: None,
        window_check: WindowCheck::Below,
        connection: Connection::default(),
    }
}

/// A packet under way: (arrival, number, source and destination, bytes, mark, trimmed).
type Flying = Reverse<(Time, u64, (usize, usize), Vec<u8>, bool, bool)>;

#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    loss: f64,
    trimming: f64,
    duplication: f64,
    jitter: Duration,
    /// The first so many transmissions of the last packet are lost on the way to the proxy.
    tail_losses: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Naive(Option<u32>),
    Streamlined(Option<LossDetection>),
}

struct Trio {
    now: Time,
    endpoints: [Endpoint; 3],
    nic_free: [Time; 3],
    wake: [Option<Time>; 3],
    channel: Channel,
    flying: BinaryHeap<Flying>,
    random: Random,
    numbered: u64,
    /// Ranges that the receiver got for the first time.
    got: BTreeMap<u64, u64>,
    finished: Option<Time>,
    timeouts: u64,
    delivered: Option<Time>,
    went_direct: Option<Time>,
    fails_at: Option<Time>,
    is_down: bool,
}

impl Trio {
    fn new(
        kind: Kind,
        control: &str,
        packets: u64,
        channel: Channel,
        seed: u64,
        fails_at: Option<Time>,
    ) -> Self {
        let scheme = scheme(control);
        let profiles = Profiles::new([scheme.profile.clone()]);
        let endpoint = |host| {
            let config = EndpointConfig { host: HostId(host), seed, mss: Bytes::new(MSS), header: HEADER };
            Endpoint::new(config).with_profiles(&profiles, LINE)
        };
        let mut endpoints = [0, 1, 2].map(endpoint);
        endpoints[PROXY] = endpoint(1).with_proxy(Delay::default());
        let size = Bytes::new(packets * MSS - 17);
        let (direct, near) = (path(FAR, Class::Inter), path(NEAR, Class::Intra));
        let through = path(NEAR + FAR, Class::Inter);
        let route = |path| Arc::new(Route::new(path, &scheme));
        let acknowledges = matches!(kind, Kind::Naive(_));
        let longest_silence = direct.base_rtt * 9;
        let numbers = match kind {
            Kind::Streamlined(Some(LossDetection::PerPath { .. })) => Some(Numbering::PerPath),
            Kind::Streamlined(Some(LossDetection::PerFlow(_))) => Some(Numbering::PerFlow),
            _ => None,
        };
        let limit = if let Kind::Naive(Some(room)) = kind { room } else { u32::MAX };
        let (proxy, direct_cwnd) = (HostId(1), direct.bdp);
        let via =
            Via { proxy, acknowledges, limit, numbers, direct: route(direct), direct_cwnd, longest_silence };
        let kind = match kind {
            Kind::Naive(room) => {
                let signals = scheme.profile.signals;
                RelayKind::Naive(NaiveRelay {
                    onward: route(direct),
                    initial_cwnd: direct.bdp,
                    room,
                    signals,
                })
            }
            Kind::Streamlined(loss) => RelayKind::Streamlined(StreamlinedRelay {
                header: HEADER,
                signals: scheme.profile.signals,
                loss,
            }),
        };
        let relay =
            Relay { from: HostId(0), flow: FLOW, to: HostId(2), onward_flow: ONWARD_FLOW, size, kind };
        endpoints[PROXY].relay(relay);
        endpoints[RECEIVER].expect_relayed(HostId(0), FLOW, HostId(1), ONWARD_FLOW);
        let own = if acknowledges { near } else { through };
        let message = Message {
            flow: FLOW,
            to: HostId(2),
            size,
            initial_cwnd: own.bdp,
            route: route(own),
            via: Some(Arc::new(via)),
        };
        endpoints[SENDER].submit(Time::ZERO, message);
        let mut trio = Self {
            now: Time::ZERO,
            endpoints,
            nic_free: [Time::ZERO; 3],
            wake: [None; 3],
            channel,
            flying: BinaryHeap::new(),
            random: Random::new(seed, Purpose::Test, 0),
            numbered: 0,
            got: BTreeMap::new(),
            finished: None,
            timeouts: 0,
            delivered: None,
            went_direct: None,
            fails_at,
            is_down: false,
        };
        trio.drive_nic(SENDER);
        trio
    }

    fn drive_nic(&mut self, host: usize) {
        if self.nic_free[host] > self.now {
            self.wake[host] = Some(self.nic_free[host]);
            return;
        }
        self.wake[host] = match self.endpoints[host].poll_transmit(self.now) {
            Poll::Packet(packet) => {
                let free = self.now + LINE.transmission(packet.size);
                self.nic_free[host] = free;
                self.put_on_wire(host, free, &packet);
                Some(free)
            }
            Poll::At(at) => Some(at),
            Poll::Idle => None,
        };
    }

    fn put_on_wire(&mut self, host: usize, free: Time, packet: &Transmit) {
        let mut buffer = [0; MAX_HEADER];
        let len = packet.header.encode(&mut buffer).unwrap();
        if let (Some(Payload::Source(range)), Some(data)) = (&packet.payload, packet.header.data()) {
            assert_eq!(range.end - range.start, u64::from(data.len));
        }
        let to = packet.to.index();
        let delay = if host + to == 1 { NEAR } else { FAR };
        let copies = 1 + u32::from(self.random.uniform() < self.channel.duplication);
        for _ in 0..copies {
            let is_last = packet.header.data().is_some_and(|data| data.seq + 1 == data.packets);
            let is_tail = is_last && host == SENDER && self.channel.tail_losses > 0;
            self.channel.tail_losses -= u32::from(is_tail);
            let is_lost = is_tail || self.random.uniform() < self.channel.loss;
            let trim = !packet.control && self.random.uniform() < self.channel.trimming;
            let jitter = Duration::from_ps(self.random.below(self.channel.jitter.as_ps() + 1));
            if !is_lost {
                self.numbered += 1;
                let at = free + delay + jitter;
                self.flying.push(Reverse((
                    at,
                    self.numbered,
                    (host, to),
                    buffer[..len].to_vec(),
                    packet.ecn_ce,
                    trim,
                )));
            }
        }
    }

    fn arrive(&mut self, (from, to): (usize, usize), bytes: &[u8], ecn_ce: bool, trim: bool) {
        let header = View::new(bytes).unwrap().header();
        let trimmed = if trim { Trimmed::OnItsWay } else { Trimmed::No };
        let incoming = Incoming { ecn_ce, trimmed, ..Incoming::new(HostId(from as u32), header) };
        if let Some(new) = self.endpoints[to].handle_packet(self.now, incoming) {
            assert_eq!(to, RECEIVER, "nothing is delivered on the way");
            assert_eq!((new.from, new.flow), (HostId(0), FLOW), "the message is its sender's");
            let Payload::Source(range) = new.payload else { panic!("nothing is coded") };
            assert_eq!(new.delivered.get(), range.end - range.start);
            assert_eq!(self.got.insert(range.start, range.end), None, "each range once");
        }
        while let Some(event) = self.endpoints[to].poll_event() {
            match event {
                Event::Finished(report) => {
                    assert_eq!((to, report.to), (SENDER, HostId(2)));
                    let counters = report.counters;
                    assert_eq!(counters.sent_bytes, report.size + counters.retransmitted_bytes);
                    self.timeouts = counters.timeouts;
                    assert_eq!(self.finished.replace(self.now), None);
                }
                Event::Delivered(report) => {
                    assert_eq!((report.from, report.flow), (HostId(0), FLOW));
                    assert_eq!((to, self.delivered.replace(self.now)), (RECEIVER, None));
                }
                event => panic!("{event:?}"),
            }
        }
    }

    /// Does the next thing that happens; `false` if nothing will.
    fn step(&mut self) -> bool {
        let arrival = self.flying.peek().map(|Reverse((at, ..))| *at);
        let timeouts = [0, 1, 2].map(|host| self.endpoints[host].poll_timeout());
        let failure = self.fails_at.filter(|_| !self.is_down);
        let all = [arrival, failure].into_iter().chain(timeouts).chain(self.wake);
        let Some(next) = all.flatten().min() else { return false };
        self.now = self.now.max(next);
        if failure.is_some_and(|at| at <= self.now) {
            self.is_down = true;
            self.endpoints[PROXY].fail_proxy(self.now);
        } else if arrival.is_some_and(|at| at <= self.now) {
            let Reverse((_, _, ends, bytes, mark, trimmed)) = self.flying.pop().unwrap();
            let to = ends.1;
            self.arrive(ends, &bytes, mark, trimmed);
            self.drive_nic(to);
        } else if let Some(host) = (0..3).find(|&host| self.wake[host].is_some_and(|at| at <= self.now)) {
            self.drive_nic(host);
        } else {
            for host in 0..3 {
                self.endpoints[host].handle_timeout(self.now);
                while let Some(event) = self.endpoints[host].poll_event() {
                    let Event::WentDirect { flow, at } = event else { panic!("{event:?}") };
                    assert_eq!((host, flow, at), (SENDER, FLOW, self.now));
                    self.went_direct = Some(at);
                }
                self.drive_nic(host);
            }
        }
        true
    }

    fn run(&mut self, size: u64) {
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < 3_000_000, "it ends");
        }
        assert!(self.finished.is_some() && self.delivered.is_some(), "both ends know");
        let mut next = 0;
        for (&start, &end) in &self.got {
            assert_eq!(start, next, "no hole and no overlap");
            next = end;
        }
        assert_eq!(next, size, "every byte");
    }
}

const KINDS: [Kind; 5] = [
    Kind::Naive(None),
    Kind::Naive(Some(4)),
    Kind::Streamlined(None),
    Kind::Streamlined(Some(LossDetection::PerPath { paths: 8 })),
    Kind::Streamlined(Some(LossDetection::PerFlow(PER_FLOW))),
];

const PER_FLOW: PerFlowConfig =
    PerFlowConfig { window: None, fixed: None, initial_wait: Duration::from_us(10), max_wait: None };

fn channel(random: &mut Random) -> Channel {
    let mut often =
        |share: f64, most: f64| if random.uniform() < share { random.uniform() * most } else { 0.0 };
    let (loss, trimming, duplication) = (often(0.6, 0.1), often(0.4, 0.3), often(0.3, 0.1));
    let jitter = Duration::from_ps(random.below(30_000_000));
    Channel { loss, trimming, duplication, jitter, tail_losses: 0 }
}

/// Over a lossless channel a message takes as long as the line and the way, and the proxy's ACK ends nothing.
#[test]
fn a_message_passes_either_proxy_at_line_rate() {
    for kind in KINDS {
        let mut trio = Trio::new(kind, "fixed_window", 200, Channel::default(), 1, None);
        trio.run(200 * MSS - 17);
        let line = LINE.transmission((Bytes::new(MSS) + HEADER) * 200);
        let bound = line + NEAR + FAR + LINE.transmission(Bytes::new(MSS) + HEADER);
        let took = trio.delivered.unwrap().since(Time::ZERO);
        assert!(
            took <= bound.mul_f64(if kind == Kind::Naive(Some(4)) { 2.6 } else { 1.06 }),
            "{kind:?}: {took} > {bound}"
        );
        assert!(took + LINE.transmission(Bytes::new(17)) >= bound, "{kind:?}: {took} < {bound}");
        assert!(
            trio.finished.unwrap().since(Time::ZERO) >= took + FAR,
            "{kind:?}: the receiver's ACK ends it"
        );
        assert_eq!(trio.went_direct, None);
    }
}

/// No packet follows the last one, nor its retransmission: the mark that does shows that it is lost.
#[test]
fn a_mark_shows_the_loss_of_the_last_packet() {
    let lossless = path(NEAR + FAR, Class::Inter).base_rtt;
    for kind in [KINDS[2], KINDS[3], KINDS[4]] {
        let channel = Channel { tail_losses: 2, ..Channel::default() };
        let mut trio = Trio::new(kind, "fixed_window", 40, channel, 1, None);
        trio.run(40 * MSS - 17);
        let is_seen = kind != Kind::Streamlined(None);
        assert_eq!(trio.timeouts, if is_seen { 0 } else { 2 }, "{kind:?}");
        // Two round trips to the proxy, and what a detector of reordered packets waits.
        let most =
            lossless + LINE.transmission(Bytes::new(40 * (MSS + 64))) + NEAR * 4 + Duration::from_us(40);
        assert_eq!(trio.finished.unwrap() <= Time::ZERO + most, is_seen, "{kind:?}: {:?}", trio.finished);
    }
}

#[test]
fn whatever_the_channel_does_the_receiver_has_each_byte_once() {
    for seed in 0..300 {
        let mut random = Random::new(seed, Purpose::Test, 9);
        let kind = KINDS[random.below(KINDS.len() as u64) as usize];
        let control = ["dctcp", "fixed_window", "unocc", "oscar", "bbr"][random.below(5) as usize];
        let packets = 1 + random.below(150);
        let mut trio = Trio::new(kind, control, packets, channel(&mut random), seed, None);
        trio.run(packets * MSS - 17);
    }
}

/// A proxy that is killed at any time: the sender goes straight to the receiver, which has each byte once.
#[test]
fn a_proxy_that_fails_costs_time_and_no_byte() {
    let mut waited = [Vec::new(), Vec::new()];
    for seed in 0..1000 {
        let mut random = Random::new(seed, Purpose::Test, 10);
        let kind = KINDS[random.below(KINDS.len() as u64) as usize];
        let packets = 1 + random.below(400);
        let fails_at = Time::from_ps(random.below(800_000_000));
        let mut trio = Trio::new(kind, "dctcp", packets, channel(&mut random), seed, Some(fails_at));
        trio.run(packets * MSS - 17);
        if let Some(at) = trio.went_direct.filter(|at| *at > fails_at) {
            let rto = path(FAR, Class::Inter).base_rtt * 3;
            waited[usize::from(matches!(kind, Kind::Naive(_)))].push(at.since(fails_at) / rto);
        }
    }
    for (name, waited) in ["streamlined", "naive"].into_iter().zip(&mut waited) {
        waited.sort_by(f64::total_cmp);
        let at = |share: f64| waited[((waited.len() - 1) as f64 * share) as usize];
        println!(
            "{name}: {} of the runs went direct, after {:.2} to {:.2} RTOs, median {:.2}",
            waited.len(),
            at(0.0),
            at(1.0),
            at(0.5)
        );
        assert!(waited.len() > 100 && at(1.0) < 6.5, "{name}: {:?}", at(1.0));
    }
}

/// A streamlined proxy of a message of nine packets from host 0 to host 2.
fn streamlined_proxy(scheme: &Scheme) -> Endpoint {
    let profiles = Profiles::new([scheme.profile.clone()]);
    let config = EndpointConfig { host: HostId(1), seed: 1, mss: Bytes::new(MSS), header: HEADER };
    let mut proxy = Endpoint::new(config).with_profiles(&profiles, LINE).with_proxy(Delay::default());
    let (from, to, size) = (HostId(0), HostId(2), Bytes::new(9 * MSS));
    let loss = Some(LossDetection::PerFlow(PER_FLOW));
    let kind =
        RelayKind::Streamlined(StreamlinedRelay { header: HEADER, signals: scheme.profile.signals, loss });
    proxy.relay(Relay { from, flow: FLOW, to, onward_flow: ONWARD_FLOW, size, kind });
    proxy
}

/// A packet of that message from a host.
fn numbered(from: HostId, number: u16) -> Incoming {
    let (seq, len) = (u32::from(number), MSS as u16);
    let sent_at = Time::ZERO;
    let data = Data { flow: FLOW, seq, packets: 9, len, sent_at, entropy: 0, profile: 0, ask: false };
    let header = Header::Numbered(Numbered { data, place: Place { lane: 0, number } });
    Incoming::new(from, header)
}

#[test]
fn what_the_sender_did_not_send_is_not_relayed() {
    let mut proxy = streamlined_proxy(&scheme("fixed_window"));
    let relayed = |proxy: &Endpoint| proxy.relayed(HostId(0), FLOW).unwrap().arrived_packets;
    for stranger in [HostId(5), HostId(2)] {
        // A message of its own, which ends here.
        assert!(proxy.handle_packet(Time::ZERO, numbered(stranger, 0)).is_some());
        let Poll::Packet(ack) = proxy.poll_transmit(Time::ZERO) else { panic!("an ACK") };
        assert_eq!((ack.to, ack.control, relayed(&proxy)), (stranger, true, 0));
        assert_eq!((proxy.poll_transmit(Time::ZERO), proxy.relayed(stranger, FLOW)), (Poll::Idle, None));
    }
    assert_eq!(proxy.handle_packet(Time::ZERO, numbered(HostId(0), 0)), None);
    let Poll::Packet(onward) = proxy.poll_transmit(Time::ZERO) else { panic!("it goes on") };
    assert_eq!((onward.to, onward.header.flow(), relayed(&proxy)), (HostId(2), ONWARD_FLOW, 1));
}

/// A proxy with a packet that waits to be sent on, and a gap before it that its detector has not reported yet, fails.
#[test]
fn a_proxy_that_has_failed_says_nothing_more_and_its_host_goes_on_sending() {
    let scheme = scheme("fixed_window");
    let mut proxy = streamlined_proxy(&scheme);
    let (to, size) = (HostId(2), Bytes::new(9 * MSS));
    let mut now = Time::ZERO + NEAR;
    for number in [0, 2] {
        proxy.handle_packet(now, numbered(HostId(0), number));
    }
    assert!(proxy.poll_timeout().is_some(), "the detector waits");
    proxy.fail_proxy(now);
    let route = Arc::new(Route::new(path(FAR, Class::Inter), &scheme));
    let own = FlowId(8);
    proxy.submit(now, Message { flow: own, to, size, initial_cwnd: size, route, via: None });
    let mut sent = 0;
    for _ in 0..2 {
        while let Poll::Packet(packet) = proxy.poll_transmit(now) {
            assert_eq!(packet.header.flow(), own);
            sent += 1;
        }
        now += Duration::from_us(50);
        proxy.handle_timeout(now);
    }
    assert_eq!(sent, 9);
}
