//! A proxy between hosts that are not there, and packets that reach it: a flow of 100 Gb/s, whose sender is microseconds away and
//! whose receiver is 4 ms away.

use super::super::steps::LONG;
use farspan_transport::congestion::CongestionConfig;
use farspan_transport::congestion::fixed_window::FixedWindowConfig;
use farspan_transport::proxy::detector::PerFlowConfig;
use farspan_transport::proxy::{Delay, LossDetection, NaiveRelay, Relay, RelayKind, StreamlinedRelay};
use farspan_transport::recovery::{RecoveryConfig, RecoveryPolicy, Rto};
use farspan_transport::wire::{Data, Echo, Fate, Feedback, Header, MAX_HEADER, Numbered, Place};
use farspan_transport::{
    Endpoint, EndpointConfig, FlowProfile, Incoming, Path, Poll, Profiles, Route, Scheme, Trimmed,
};
use farspan_units::{Bytes, Duration, FlowId, HostId, Rate, Time};
use std::hint::black_box;
use std::sync::Arc;

const SENDER: HostId = HostId(0);
const PROXY: HostId = HostId(1);
const RECEIVER: HostId = HostId(2);
/// The flow's number as far as the proxy.
const FLOW: FlowId = FlowId(7);
/// Its number on the way from there.
const ONWARD_FLOW: FlowId = FlowId(70);
const LINE: Rate = Rate::from_gbps(100);
/// Between sender and proxy, there and back.
const NEAR_RTT: Duration = Duration::from_us(10);
/// Between proxy and receiver, there and back: longer than all packets of a pass take, so that no ACK comes before the last of them.
const FAR_RTT: Duration = Duration::from_ms(4);
/// The largest wait in the buffers towards the proxy: 17 MB at 100 Gb/s.
const NEAR_QUEUEING: Duration = Duration::from_us(1360);
/// Paths of a flow whose packets are numbered on each.
const PATHS: u8 = 8;
/// The first packet comes then.
const BEGIN: Duration = Duration::from_ms(1);
/// Packets of the flow: it does not end within a pass.
const PACKETS: u32 = LONG as u32 + 1;

/// How a proxy relays, and finds losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relaying {
    /// Over two connections (section 5, "using independent connections").
    Naive,
    /// Over one, where ports trim (section 5, "tracking packet loss at the proxy").
    Trim,
    /// Over one, where ports drop: from gaps in the numbers of each path.
    GapPath,
    /// The like, from the numbers of the flow.
    GapFlow,
}

/// A packet that the proxy is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packet {
    /// The sender's, in order.
    Data,
    /// The header of one of the sender's.
    Trimmed,
    /// The sender's, and one before it was lost.
    Gap,
    /// An ACK of the receiver's.
    Ack,
}

/// One packet at one proxy, to be measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// The proxy.
    pub kind: Relaying,
    /// The packet.
    pub packet: Packet,
}

const fn case(name: &'static str, kind: Relaying, packet: Packet) -> Case {
    Case { name, kind, packet }
}

/// All that is measured.
pub const CASES: [Case; 10] = [
    case("naive_data", Relaying::Naive, Packet::Data),
    case("naive_trimmed", Relaying::Naive, Packet::Trimmed),
    case("naive_ack", Relaying::Naive, Packet::Ack),
    case("streamlined_data", Relaying::Trim, Packet::Data),
    case("streamlined_trimmed", Relaying::Trim, Packet::Trimmed),
    case("streamlined_ack", Relaying::Trim, Packet::Ack),
    case("gap_path_data", Relaying::GapPath, Packet::Data),
    case("gap_path_gap", Relaying::GapPath, Packet::Gap),
    case("gap_flow_data", Relaying::GapFlow, Packet::Data),
    case("gap_flow_gap", Relaying::GapFlow, Packet::Gap),
];

/// A packet that comes.
struct RelayArrival {
    now: Time,
    from: HostId,
    trimmed: Trimmed,
    header: [u8; MAX_HEADER],
}

impl RelayArrival {
    fn new(now: Time, from: HostId, trimmed: Trimmed, header: Header) -> Self {
        let mut bytes = [0; MAX_HEADER];
        header.encode(&mut bytes).expect("the buffer has room for any header");
        Self { now, from, trimmed, header: bytes }
    }
}

/// A proxy, and the packets that it will get.
pub struct Rig {
    proxy: Endpoint,
    arrivals: Vec<RelayArrival>,
}

impl Rig {
    /// A proxy that has had no packet of [`LONG`], or, for ACKs, those that they acknowledge.
    pub fn new(case: Case) -> Self {
        let packet = if case.packet == Packet::Ack { Packet::Data } else { case.packet };
        let arrivals = (0..LONG as u32).map(|n| from_sender(case.kind, packet, n)).collect();
        let mut rig = Self { proxy: proxy(case.kind), arrivals };
        if case.packet == Packet::Ack {
            let mut sent = Vec::with_capacity(LONG);
            for n in 0..LONG {
                let now = rig.arrivals[n].now;
                rig.step_with(n, |to, header| {
                    sent.extend(header.data().filter(|_| to == RECEIVER).map(|data| (now, *data)));
                });
            }
            rig.arrivals = sent.iter().map(|&(at, ref data)| ack(at + FAR_RTT, data)).collect();
        }
        rig
    }

    /// All that the proxy's code does for packet `n`: time-outs that were due, its header from bytes, the state machines, and the
    /// headers of all packets that leave for it into bytes.
    pub fn step(&mut self, n: usize) {
        self.step_with(n, |_, _| {});
    }

    /// As [`Self::step`]; `leaves` sees where each packet goes that leaves, and its header.
    #[inline(always)]
    fn step_with(&mut self, n: usize, mut leaves: impl FnMut(HostId, &Header)) {
        let Self { proxy, arrivals } = self;
        let &RelayArrival { now, from, trimmed, ref header } = &arrivals[n];
        if proxy.poll_timeout().is_some_and(|at| at <= now) {
            proxy.handle_timeout(now);
        }
        let header = Header::decode(black_box(&header[..])).expect("the bytes are a header's");
        proxy.handle_packet(now, Incoming { trimmed, ..Incoming::new(from, header) });
        while let Poll::Packet(packet) = proxy.poll_transmit(now) {
            let mut bytes = [0; MAX_HEADER];
            packet.header.encode(&mut bytes).expect("the buffer has room for any header");
            black_box(&bytes);
            leaves(packet.to, &packet.header);
        }
        while let Some(event) = proxy.poll_event() {
            black_box(event);
        }
    }
}

/// The `n`-th packet that comes from the sender.
fn from_sender(kind: Relaying, packet: Packet, n: u32) -> RelayArrival {
    let near = near();
    let now = Time::ZERO + BEGIN + near.packet_time() * u64::from(n);
    let lane = match kind {
        Relaying::GapPath => (n % u32::from(PATHS)) as u8,
        _ => 0,
    };
    let data = Data {
        flow: FLOW,
        seq: n,
        packets: PACKETS,
        len: near.mss.get() as u16,
        sent_at: now - NEAR_RTT / 2,
        entropy: lane.into(),
        profile: 0,
        ask: false,
    };
    let of_lane = if kind == Relaying::GapPath { n / u32::from(PATHS) } else { n };
    // Before each packet one is lost.
    let number = if packet == Packet::Gap { of_lane * 2 + 1 } else { of_lane } as u16;
    let header = match kind {
        Relaying::Naive | Relaying::Trim => Header::Data(data),
        Relaying::GapPath | Relaying::GapFlow => {
            Header::Numbered(Numbered { data, place: Place { lane, number } })
        }
    };
    let trimmed = if packet == Packet::Trimmed { Trimmed::AtLastHop } else { Trimmed::No };
    RelayArrival::new(now, SENDER, trimmed, header)
}

/// The receiver's ACK of a packet that the proxy sent on.
fn ack(now: Time, data: &Data) -> RelayArrival {
    let echo = Echo { sent_at: data.sent_at, entropy: data.entropy };
    let fate = Fate::Arrived { echo, ecn_ce: false, block_complete: false, map: 0 };
    let feedback = Feedback { flow: data.flow, seq: data.seq, cumulative: data.seq + 1, fate };
    RelayArrival::new(now, RECEIVER, Trimmed::No, Header::Feedback(feedback))
}

fn near() -> Path {
    Path { max_queueing: NEAR_QUEUEING, ..Path::new(LINE, NEAR_RTT) }
}

/// As figures have it: the second connection sends at line rate, and each packet has a time-out.
fn scheme() -> Scheme {
    let window = FixedWindowConfig { cwnd: Some(Bytes::MAX), pacing_rate: None };
    let plain = Scheme::new(CongestionConfig::FixedWindow(window));
    let policy = RecoveryPolicy::PerPacketRto;
    Scheme {
        recovery: RecoveryConfig { rto: Rto::BaseRtts(3), backoff: false, policy },
        profile: FlowProfile::new(plain.profile.acks.clone(), &plain.congestion, policy),
        ..plain
    }
}

/// A host that relays the flow, and takes no time of its own over a packet.
fn proxy(kind: Relaying) -> Endpoint {
    let (scheme, near) = (scheme(), near());
    let streamlined = |loss: Option<LossDetection>| {
        let loss = loss.map(|loss| loss.behind(&near));
        let signals = scheme.profile.signals;
        RelayKind::Streamlined(StreamlinedRelay { header: near.header, signals, loss })
    };
    let kind = match kind {
        Relaying::Naive => {
            let far = Path::new(LINE, FAR_RTT);
            RelayKind::Naive(NaiveRelay {
                onward: Arc::new(Route::new(far, &scheme)),
                initial_cwnd: far.bdp,
                room: None,
                signals: scheme.profile.signals,
            })
        }
        Relaying::Trim => streamlined(None),
        Relaying::GapPath => streamlined(Some(LossDetection::PerPath { paths: PATHS })),
        Relaying::GapFlow => streamlined(Some(LossDetection::PerFlow(PerFlowConfig::default()))),
    };
    let config = EndpointConfig { mss: near.mss, header: near.header, ..EndpointConfig::new(PROXY) };
    let profiles = Profiles::new([scheme.profile.clone()]);
    let mut proxy =
        Endpoint::new(config).with_profiles(&profiles, LINE).with_proxy(Delay::Constant(Duration::ZERO));
    let size = near.mss * u64::from(PACKETS);
    proxy.relay(Relay { from: SENDER, flow: FLOW, to: RECEIVER, onward_flow: ONWARD_FLOW, size, kind });
    proxy
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets that leave for the receiver, and for the sender, in a pass.
    fn left(case: Case) -> (usize, usize) {
        let (mut rig, mut onwards, mut back) = (Rig::new(case), 0, 0);
        for n in 0..LONG {
            rig.step_with(n, |to, header| {
                let (is_back, is_data) = (to == SENDER, header.data().is_some());
                assert_ne!(is_back, is_data, "{}: {header:?}", case.name);
                onwards += usize::from(is_data);
                back += usize::from(is_back);
            });
        }
        (onwards, back)
    }

    #[test]
    fn every_packet_makes_what_it_is_there_for() {
        for case in CASES {
            let expected = match case.name {
                "naive_data" | "gap_path_gap" => (LONG, LONG),
                "naive_trimmed" | "streamlined_trimmed" | "streamlined_ack" => (0, LONG),
                "streamlined_data" | "gap_path_data" | "gap_flow_data" => (LONG, 0),
                // It tells the sender of each 64th packet.
                "naive_ack" => (0, LONG / 64),
                // A gap is waited for at first.
                "gap_flow_gap" => {
                    let (onwards, back) = left(case);
                    assert!(onwards == LONG && (LONG * 9 / 10..=LONG).contains(&back), "{back}");
                    continue;
                }
                other => panic!("{other}: say what leaves"),
            };
            assert_eq!(left(case), expected, "{}", case.name);
        }
    }

    #[test]
    fn every_case_has_as_many_packets_and_they_come_in_order() {
        for case in CASES {
            let rig = Rig::new(case);
            assert_eq!(rig.arrivals.len(), LONG, "{}", case.name);
            assert!(rig.arrivals.windows(2).all(|pair| pair[0].now < pair[1].now), "{}", case.name);
        }
    }
}
