//! Two endpoints, a virtual clock and a channel that loses, trims, reorders and duplicates real bytes: what arrives is
//! what was sent, whatever the scheme.

mod acks;
mod cases;
mod persistent;

use farspan_transport::ack::{self, AckConfig, AckPolicy as _};
use farspan_transport::balance::{self, BalanceConfig};
use farspan_transport::coding::{Block, Code, CodingConfig, Payload, blocks};
use farspan_transport::congestion::{self, CongestionConfig, fixed_window};
use farspan_transport::recovery::{self, RecoveryConfig, RecoveryPolicy, Rto};
use farspan_transport::wire::{Coded, Header, MAX_HEADER, View};
use farspan_transport::{
    CnpConfig, Connection, Endpoint, EndpointConfig, Event, FlowProfile, Incoming, Message, Path, Poll,
    Profiles, ReceiverReport, Route, Scheme, SenderReport, Transmit, Trimmed, WindowCheck,
};
use farspan_units::{Bytes, Duration, FlowId, HostId, Purpose, Random, Rate, Time, random};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

fn cut(trimmed: bool) -> Trimmed {
    if trimmed { Trimmed::OnItsWay } else { Trimmed::No }
}

const MSS: u64 = 1000;
const HEADER: Bytes = Bytes::new(64);
const DELAY: Duration = Duration::from_us(5);
const LINE: Rate = Rate::from_gbps(10);

fn path() -> Path {
    let base_rtt = DELAY + DELAY + LINE.transmission(Bytes::new(MSS) + HEADER) + LINE.transmission(HEADER);
    Path {
        max_queueing: Duration::from_us(20),
        mss: Bytes::new(MSS),
        header: HEADER,
        ..Path::new(LINE, base_rtt)
    }
}

/// The impairments of the channel, equal in both directions.
#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    loss: f64,
    /// Probability that a data packet loses its payload.
    trimming: f64,
    duplication: f64,
    /// Probability of a congestion mark.
    marking: f64,
    /// Extra delay, uniform up to here: packets overtake each other.
    jitter: Duration,
}

/// One host: an endpoint, its NIC, and the bytes of its messages.
struct Host {
    endpoint: Endpoint,
    /// When the NIC has sent its last packet.
    nic_free: Time,
    /// When to ask for the next packet, if nothing happens before.
    wake: Option<Time>,
    outgoing: BTreeMap<FlowId, Vec<u8>>,
    incoming: BTreeMap<FlowId, Vec<u8>>,
    /// Packets that arrived whole.
    arrived: BTreeMap<FlowId, BTreeSet<u32>>,
    /// Parity that arrived.
    parity: BTreeMap<(FlowId, u32), Vec<u8>>,
    goodput: BTreeMap<FlowId, Bytes>,
    finished: Vec<SenderReport>,
    delivered: Vec<ReceiverReport>,
}

/// The segment of a message that starts there, in this block.
fn segment(message: &[u8], block: &Block, start: u64) -> Vec<u8> {
    message[start as usize..(start + MSS).min(block.source.end) as usize].to_vec()
}

/// All parity of a block, each so long.
fn parity(message: &[u8], block: &Block, len: usize) -> Vec<Vec<u8>> {
    let segments: Vec<_> =
        block.source.clone().step_by(MSS as usize).map(|start| segment(message, block, start)).collect();
    let segments: Vec<&[u8]> = segments.iter().map(Vec::as_slice).collect();
    let mut parity = vec![vec![0; len]; block.shape.parity().into()];
    let mut out: Vec<&mut [u8]> = parity.iter_mut().map(Vec::as_mut_slice).collect();
    Code::new(block.shape.data().into(), block.shape.parity().into())
        .unwrap()
        .encode(&segments, &mut out)
        .unwrap();
    parity
}

/// A packet under way: (arrival, number, destination, bytes, mark, trimmed).
type Flying = Reverse<(Time, u64, usize, Vec<u8>, bool, bool)>;

struct Pair {
    now: Time,
    hosts: [Host; 2],
    channel: Channel,
    flying: BinaryHeap<Flying>,
    random: Random,
    numbered: u64,
    /// Data packets that lost their payload.
    trimmed: u64,
    /// Packets of coded messages whose first transmission the channel takes.
    lost: BTreeSet<u32>,
    /// Every packet sent: when and what.
    sent: Vec<(Time, Transmit)>,
}

impl Pair {
    fn new(channel: Channel, seed: u64) -> Self {
        Self::with_profiles(channel, seed, &Profiles::new(all_profiles()))
    }

    fn with_profiles(channel: Channel, seed: u64, profiles: &Profiles) -> Self {
        let hosts = [0, 1].map(|host| Host {
            endpoint: Endpoint::new(EndpointConfig {
                host: HostId(host),
                seed,
                mss: Bytes::new(MSS),
                header: HEADER,
            })
            .with_profiles(profiles, LINE),
            nic_free: Time::ZERO,
            wake: None,
            outgoing: BTreeMap::new(),
            incoming: BTreeMap::new(),
            arrived: BTreeMap::new(),
            parity: BTreeMap::new(),
            goodput: BTreeMap::new(),
            finished: Vec::new(),
            delivered: Vec::new(),
        });
        let random = Random::new(seed, Purpose::Test, 0);
        let flying = BinaryHeap::new();
        Self {
            now: Time::ZERO,
            hosts,
            channel,
            flying,
            random,
            numbered: 0,
            trimmed: 0,
            lost: BTreeSet::new(),
            sent: Vec::new(),
        }
    }

    /// Submits a message of random bytes.
    fn submit(&mut self, from: usize, flow: u32, size: u64, scheme: &Arc<Scheme>) {
        let (flow, to) = (FlowId(flow), HostId(1 - from as u32));
        let mut bytes = Random::new(u64::from(flow.0), Purpose::Test, 1);
        self.hosts[from].outgoing.insert(flow, (0..size).map(|_| bytes.bits() as u8).collect());
        self.hosts[1 - from].incoming.insert(flow, vec![0; size as usize]);
        let route = Arc::new(Route::new(path(), scheme));
        let initial_cwnd = route.path().bdp;
        let message = Message { flow, to, size: Bytes::new(size), initial_cwnd, route, via: None };
        self.hosts[from].endpoint.submit(self.now, message);
        self.drive_nic(from);
    }

    /// Lets the NIC of a host send what it may.
    fn drive_nic(&mut self, host: usize) {
        if self.hosts[host].nic_free > self.now {
            self.hosts[host].wake = Some(self.hosts[host].nic_free);
            return;
        }
        match self.hosts[host].endpoint.poll_transmit(self.now) {
            Poll::Packet(packet) => {
                self.check(host, &packet);
                let free = self.now + LINE.transmission(packet.size);
                (self.hosts[host].nic_free, self.hosts[host].wake) = (free, Some(free));
                self.put_on_wire(host, free, &packet);
                self.sent.push((self.now, packet));
            }
            Poll::At(at) => {
                assert!(at > self.now, "a release in the past is a packet now");
                self.hosts[host].wake = Some(at);
            }
            Poll::Idle => self.hosts[host].wake = None,
        }
    }

    /// Checks the invariants of a packet that leaves.
    fn check(&self, host: usize, packet: &Transmit) {
        let (Header::Data(data) | Header::Coded(Coded { data, .. })) = packet.header else {
            assert!(packet.control && packet.size == HEADER && packet.payload.is_none());
            return;
        };
        assert_eq!(data.sent_at, self.now);
        assert_eq!(packet.size, Bytes::new(u64::from(data.len)) + HEADER);
        let message = self.hosts[host].outgoing[&data.flow].len() as u64;
        match packet.payload.clone().expect("a data packet has payload") {
            Payload::Source(range) => {
                assert!(
                    matches!(packet.header, Header::Coded(_)) || range.start == u64::from(data.seq) * MSS
                );
                assert!(range.start.is_multiple_of(MSS) && range.end <= message);
                assert_eq!(range.end - range.start, u64::from(data.len));
            }
            Payload::Parity { block, index } => {
                assert!(index < block.shape.parity() && block.source.end <= message);
                assert_eq!(u64::from(data.len), (block.source.end - block.source.start).min(MSS));
            }
        }
        let view = self.hosts[host].endpoint.sender(data.flow).expect("a flow that sends is live");
        assert!(view.cwnd >= view.in_flight.min(Bytes::new(MSS)));
        // Others of a persistent flow's messages may follow this packet's own.
        assert!(view.in_flight <= Bytes::new(u64::from(data.packets) * MSS).max(Bytes::new(message)));
    }

    fn put_on_wire(&mut self, host: usize, free: Time, packet: &Transmit) {
        let mut buffer = [0; MAX_HEADER];
        let len = packet.header.encode(&mut buffer).unwrap();
        let mut bytes = buffer[..len].to_vec();
        match &packet.payload {
            Some(Payload::Source(range)) => {
                let message = &self.hosts[host].outgoing[&packet.header.flow()];
                bytes.extend_from_slice(&message[range.start as usize..range.end as usize]);
            }
            Some(Payload::Parity { block, index }) => {
                let message = &self.hosts[host].outgoing[&packet.header.flow()];
                bytes.extend(
                    parity(message, block, (packet.size - HEADER).get() as usize)
                        .swap_remove(*index as usize),
                );
            }
            None => {}
        }
        let copies = 1 + u32::from(self.random.uniform() < self.channel.duplication);
        for _ in 0..copies {
            let is_named =
                matches!(packet.header, Header::Coded(coded) if self.lost.contains(&coded.data.seq));
            let is_lost = self.random.uniform() < self.channel.loss || (is_named && !packet.retransmission);
            let mark = !packet.control && self.random.uniform() < self.channel.marking;
            let trim = !packet.control && self.random.uniform() < self.channel.trimming;
            let jitter = Duration::from_ps(self.random.below(self.channel.jitter.as_ps() + 1));
            if !is_lost {
                self.numbered += 1;
                self.trimmed += u64::from(trim);
                let at = free + DELAY + jitter;
                let bytes = bytes[..if trim { len } else { bytes.len() }].to_vec();
                self.flying.push(Reverse((at, self.numbered, 1 - host, bytes, mark, trim)));
            }
        }
    }

    fn arrive(&mut self, to: usize, bytes: &[u8], ecn_ce: bool, trimmed: bool) {
        let view = View::new(bytes).expect("the channel does not forge");
        let (from, header) = (HostId(1 - to as u32), view.header());
        let incoming = Incoming { ecn_ce, trimmed: cut(trimmed), ..Incoming::new(from, header) };
        let host = &mut self.hosts[to];
        if let (Header::Data(data) | Header::Coded(Coded { data, .. }), false) = (header, trimmed) {
            host.arrived.entry(data.flow).or_default().insert(data.seq);
        }
        if let Some(new) = host.endpoint.handle_packet(self.now, incoming) {
            let payload = view.payload().expect("a packet without its payload delivers nothing");
            match (&new.payload, &header) {
                (Payload::Source(range), _) => {
                    let range = range.start as usize..range.end as usize;
                    host.incoming.get_mut(&new.flow).unwrap()[range].copy_from_slice(payload);
                }
                (Payload::Parity { .. }, Header::Coded(coded)) => {
                    host.parity.insert((new.flow, coded.data.seq), payload.to_vec());
                }
                (Payload::Parity { .. }, header) => panic!("parity in {header:?}"),
            }
            if let (Some(block), Header::Coded(coded)) = (new.decodable, header) {
                self.decode(to, &coded, &block);
            }
            assert!(new.delivered <= Bytes::new(payload.len() as u64), "no more than came");
            *self.hosts[to].goodput.entry(new.flow).or_default() += new.delivered;
        }
        let host = &mut self.hosts[to];
        while let Some(event) = host.endpoint.poll_event() {
            match event {
                Event::Finished(report) => host.finished.push(report),
                Event::Delivered(report) => {
                    let view = host.endpoint.receiver(report.from, report.flow).unwrap();
                    let is_whole = host.goodput[&report.flow] == report.bytes;
                    assert!(is_whole || !view.is_complete, "each byte once");
                    host.delivered.push(report);
                }
                event => panic!("{event:?}"),
            }
        }
    }

    /// Makes the missing segments of a block of which enough packets are here.
    fn decode(&mut self, to: usize, coded: &Coded, block: &Block) {
        let Host { arrived, incoming, parity, .. } = &mut self.hosts[to];
        let (flow, data) = (coded.data.flow, usize::from(block.shape.data()));
        let first = block.number * u32::from(coded.shape.packets());
        let is_here = |i: usize| arrived[&flow].contains(&(first + i as u32));
        let message = incoming.get_mut(&flow).unwrap();
        let mut segments: Vec<Vec<u8>> =
            block.source.clone().step_by(MSS as usize).map(|start| segment(message, block, start)).collect();
        let of_parity = |i: usize| parity.get(&(flow, first + i as u32)).map(Vec::as_slice);
        let present: Vec<Option<&[u8]>> = (0..usize::from(block.shape.packets()))
            .map(|i| if i < data { is_here(i).then(|| segments[i].as_slice()) } else { of_parity(i) })
            .collect();
        let mut lost: Vec<Vec<u8>> =
            (0..data).filter(|&i| !is_here(i)).map(|i| segments[i].clone()).collect();
        assert!(!lost.is_empty(), "segments are missing");
        let mut out: Vec<&mut [u8]> = lost.iter_mut().map(Vec::as_mut_slice).collect();
        Code::new(data, block.shape.parity().into()).unwrap().reconstruct(&present, &mut out).unwrap();
        (0..data).filter(|&i| !is_here(i)).zip(lost).for_each(|(i, lost)| segments[i] = lost);
        message[block.source.start as usize..block.source.end as usize].copy_from_slice(&segments.concat());
    }

    /// When a packet arrives, a timer runs out, or a NIC is free, whichever comes first.
    fn next_at(&self) -> Option<Time> {
        let arrival = self.flying.peek().map(|Reverse((at, ..))| *at);
        let of_hosts = self.hosts.iter().flat_map(|host| [host.endpoint.poll_timeout(), host.wake]);
        of_hosts.chain([arrival]).flatten().min()
    }

    /// Does the next thing that happens; `false` if nothing will.
    fn step(&mut self) -> bool {
        let arrival = self.flying.peek().map(|Reverse((at, ..))| *at);
        let wakes = [0, 1].map(|host| self.hosts[host].wake);
        let Some(next) = self.next_at() else { return false };
        self.now = self.now.max(next);
        if arrival.is_some_and(|at| at <= self.now) {
            let Reverse((_, _, to, bytes, mark, trimmed)) = self.flying.pop().unwrap();
            self.arrive(to, &bytes, mark, trimmed);
            self.drive_nic(to);
        } else if let Some(host) = [0, 1].into_iter().find(|&h| wakes[h].is_some_and(|at| at <= self.now)) {
            self.drive_nic(host);
        } else {
            for host in [0, 1] {
                self.hosts[host].endpoint.handle_timeout(self.now);
                self.drive_nic(host);
            }
        }
        true
    }

    /// Runs until nothing happens any more.
    fn run(&mut self) {
        for _ in 0..3_000_000 {
            if !self.step() {
                return;
            }
        }
        panic!("still running at {}", self.now);
    }

    /// Every message has arrived, byte for byte, and both ends know it.
    fn assert_all_delivered(&self) {
        for (from, to) in [(0, 1), (1, 0)] {
            let (sender, receiver) = (&self.hosts[from], &self.hosts[to]);
            assert_eq!(sender.finished.len(), sender.outgoing.len());
            assert_eq!(receiver.delivered.len(), sender.outgoing.len());
            for (flow, message) in &sender.outgoing {
                assert!(receiver.incoming[flow] == *message, "flow {flow} arrived with other bytes");
                let view = receiver.endpoint.receiver(HostId(from as u32), *flow).unwrap();
                assert!(view.is_complete && view.goodput.get() == message.len() as u64);
                assert_eq!(sender.endpoint.sender(*flow), None);
            }
            for report in &sender.finished {
                let counters = report.counters;
                let first = counters.sent_bytes - counters.retransmitted_bytes;
                assert_eq!(first - counters.parity_bytes, report.size);
                assert!(counters.blocks_undecodable <= counters.blocks);
                let delivered = receiver.delivered.iter().find(|d| d.flow == report.flow).unwrap();
                assert_eq!(delivered.bytes, report.size);
                assert!(delivered.delivered_at + DELAY <= report.finished_at);
            }
        }
    }

    /// A hash of everything that was sent, with its time.
    fn trace_hash(&self) -> u64 {
        self.sent.iter().fold(0, |hash, (at, packet)| random::entity(&format!("{hash} {at:?} {packet:?}")))
    }
}

fn fixed_window(cwnd: u64, pacing_rate: Option<Rate>) -> CongestionConfig {
    CongestionConfig::FixedWindow(fixed_window::FixedWindowConfig {
        cwnd: Some(Bytes::new(cwnd)),
        pacing_rate,
    })
}

fn scheme(congestion: CongestionConfig) -> Scheme {
    Scheme {
        congestion,
        balance: BalanceConfig::by_name("ecmp").unwrap(),
        recovery: RecoveryConfig { rto: Rto::Path, backoff: true, policy: RecoveryPolicy::PerPacketRto },
        coding: CodingConfig::by_name("none").unwrap(),
        on_nack: None,
        window_check: WindowCheck::Below,
        connection: Connection::default(),
        profile: FlowProfile::default(),
    }
}

fn mds(data: u32, parity: u32) -> CodingConfig {
    CodingConfig::Mds(blocks::MdsConfig { data, parity, ..blocks::MdsConfig::default() })
}

/// No code, or one of a few: with lone packets, with blocks beyond one NACK, with timers too short to be right.
fn any_coding() -> impl Strategy<Value = CodingConfig> {
    let shape =
        prop_oneof![Just((8, 2)), Just((4, 1)), Just((2, 2)), Just((1, 1)), Just((20, 4)), Just((40, 8))];
    let timer = prop_oneof![Just(None), (0_u64..60).prop_map(|us| Some(Duration::from_us(us)))];
    let resend = prop_oneof![Just(blocks::Resend::Needed), Just(blocks::Resend::All)];
    let mds = (shape, timer, resend).prop_map(|((data, parity), timer, resend)| {
        CodingConfig::Mds(blocks::MdsConfig { data, parity, timer, resend })
    });
    prop_oneof![Just(CodingConfig::by_name("none").unwrap()), mds]
}

/// The profiles of receivers that hold ACKs of one packet, of a few, and of more than a window.
fn holding_profiles() -> impl Iterator<Item = FlowProfile> {
    let holds = |(bytes, gap)| ack::coalesced::CoalescedConfig { bytes: Bytes::new(bytes), gap };
    let all = [(1, true), (2500, false), (8 * MSS, true), (100 * MSS, false)].map(holds);
    all.into_iter().map(|config| FlowProfile { acks: AckConfig::Coalesced(config), ..FlowProfile::default() })
}

/// The profiles of all ACK policies, with pulls, CNPs and maps and without.
fn all_profiles() -> impl Iterator<Item = FlowProfile> {
    let pulls = CongestionConfig::by_name("ndp").unwrap().needs().pulls;
    let named = ack::NAMES
        .iter()
        .map(|name| FlowProfile { acks: AckConfig::by_name(name).unwrap(), ..FlowProfile::default() });
    let with = move |FlowProfile { acks, .. }| {
        let cnps = Some(CnpConfig { interval: Duration::from_us(5) });
        [(None, None), (None, cnps), (pulls, None), (pulls, cnps)].map(|(pulls, cnps)| FlowProfile {
            acks: acks.clone(),
            pulls,
            cnps,
            ..FlowProfile::default()
        })
    };
    let mapped = |profile: FlowProfile| {
        let mut mapped = profile.clone();
        mapped.signals.map = true;
        [profile, mapped]
    };
    // Where ACKs are held, the bit with which a sender says that it has cut its window asks for an ACK.
    let repeats = |profile: &FlowProfile| {
        let holds = !profile.acks.build().holds().is_zero();
        (!holds).then(|| FlowProfile { repeats_marks: true, ..profile.clone() })
    };
    let all: Vec<_> = named.chain(holding_profiles()).flat_map(with).flat_map(mapped).collect();
    let repeating: Vec<_> = all.iter().filter_map(repeats).collect();
    all.into_iter().chain(repeating)
}

/// A connection as TCP's, or none.
fn any_connection() -> impl Strategy<Value = Connection> {
    let bursts = (prop_oneof![2 => Just(0), 1 => 1..20 * MSS], prop_oneof![Just(0), 1..30_u32]);
    (any::<bool>(), bursts, any::<bool>(), any::<bool>()).prop_map(
        |(handshake, (burst, unpaced), prr, idle_restart)| {
            let burst = Bytes::new(burst);
            Connection { handshake, burst, unpaced, prr, idle_restart }
        },
    )
}

/// Any scheme of the registries.
fn any_scheme() -> impl Strategy<Value = Arc<Scheme>> {
    let rto = prop_oneof![
        Just(Rto::Path),
        Just(Rto::Rfc6298 {
            initial: Duration::from_us(30),
            variance_floor: Duration::from_us(15),
            min: Duration::ZERO,
        }),
        Just(Rto::Fixed(Duration::from_us(8))),
    ];
    let policy = prop::sample::select(recovery::ENTRIES)
        .prop_map(|entry| RecoveryPolicy::by_name(entry.name).unwrap());
    let check = prop_oneof![Just(WindowCheck::Below), Just(WindowCheck::Fits)];
    let (controls, balancers) = (congestion::NAMES, balance::NAMES);
    let profile = prop::sample::select(all_profiles().collect::<Vec<_>>());
    let recovery = (rto, any::<bool>(), policy).prop_map(|(rto, backoff, policy)| RecoveryConfig {
        rto,
        backoff,
        policy,
    });
    (0..controls.len(), 0..balancers.len(), recovery, check, any_connection(), any_coding(), profile)
        .prop_map(|(control, balancer, recovery, window_check, connection, coding, profile)| {
            let congestion = CongestionConfig::by_name(congestion::NAMES[control]).unwrap();
            Arc::new(Scheme {
                profile: FlowProfile { pulls: congestion.needs().pulls, ..profile },
                congestion,
                balance: BalanceConfig::by_name(balance::NAMES[balancer]).unwrap(),
                recovery,
                coding,
                on_nack: None,
                window_check,
                connection,
            })
        })
}

fn any_channel() -> impl Strategy<Value = Channel> {
    let loss = prop_oneof![Just(0.0), 0.0..0.3];
    let trimming = prop_oneof![Just(0.0), 0.0..0.5];
    (loss, trimming, 0.0..0.3, 0.0..0.5, 0u64..30).prop_map(|(loss, trimming, duplication, marking, us)| {
        Channel { loss, trimming, duplication, marking, jitter: Duration::from_us(us) }
    })
}

fn any_size() -> impl Strategy<Value = u64> {
    prop_oneof![Just(1), 1..=2 * MSS, (1u64..100).prop_map(|n| n * MSS), 1u64..150_000]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn what_arrives_is_what_was_sent(
        channel in any_channel(),
        seed in any::<u64>(),
        messages in prop::collection::vec((0usize..2, any_size(), any_scheme()), 1..6),
    ) {
        let mut pair = Pair::new(channel, seed);
        for (flow, (from, size, scheme)) in messages.iter().enumerate() {
            pair.submit(*from, flow as u32, *size, scheme);
        }
        pair.run();
        pair.assert_all_delivered();
    }

    #[test]
    fn forged_packets_neither_panic_nor_finish_anything(
        forged in prop::collection::vec((0u8..6, 0u32..3, 0u32..40, 0u32..40, 0u16..1200, 0u64..60), 1..200),
        is_coded in any::<bool>(),
    ) {
        use farspan_transport::coding::Shape;
        use farspan_transport::wire::{Data, Echo, Fate, Feedback};
        let mut pair = Pair::new(Channel::default(), 1);
        let coding = if is_coded { mds(8, 2) } else { CodingConfig::by_name("none").unwrap() };
        let scheme = Scheme { coding, ..scheme(fixed_window(5 * MSS, None)) };
        pair.submit(0, 0, 30 * MSS, &Arc::new(scheme));
        for (kind, flow, seq, count, len, us) in forged {
            let (flow, sent_at) = (FlowId(flow), Time::ZERO + Duration::from_us(us));
            let echo = Echo { sent_at, entropy: 0 };
            let feedback = |seq, fate| Header::Feedback(Feedback { flow, seq, cumulative: 0, fate });
            let profile = (us % 3) as u8;
            let (ask, map) = (us % 2 == 1, u64::from(len) << count);
            let data = Data { flow, seq, packets: count, len, sent_at, entropy: 0, profile, ask };
            let header = match kind {
                0 | 1 => Header::Data(data),
                // Nothing beyond the window was sent, so the message cannot be finished by these.
                2 => {
                    let block_complete = len % 2 == 0;
                    feedback(seq + 5, Fate::Arrived { echo, ecn_ce: false, block_complete, map })
                }
                3 => feedback(seq, Fate::Missing { packets: count << 8 }),
                4 => {
                    let shape = Shape::new(len as u8 % 20 + 1, count as u8 % 5 + 1).unwrap();
                    Header::Coded(Coded { data, shape, last_len: len, block_wait_ns: us as u32 })
                }
                _ => feedback(seq, Fate::Trimmed { echo, at_last_hop: false, ecn_ce: false }),
            };
            let packet = Incoming { trimmed: cut(kind == 1), ..Incoming::new(HostId(1), header) };
            pair.hosts[0].endpoint.handle_packet(Time::ZERO + Duration::from_us(30), packet);
        }
        let view = pair.hosts[0].endpoint.sender(FlowId(0)).unwrap();
        prop_assert_eq!(view.delivered, Bytes::ZERO);
        prop_assert!(view.in_flight <= Bytes::new(5 * MSS), "{:?}", view);
    }
}
