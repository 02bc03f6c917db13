//! Rules for every recovery policy of the registry, whatever the channel loses, delays or duplicates.

use crate::balance::BalanceConfig;
use crate::coding::CodingConfig;
use crate::congestion::CongestionConfig;
use crate::congestion::fixed_window;
use crate::congestion::testing::path;
use crate::flow::message::Message;
use crate::recovery::policies::NAMES;
use crate::recovery::*;
use crate::sender::{Leaving, Sender};
use crate::wire::{Echo, Fate, Feedback};
use crate::{Connection, FlowProfile, Route, Scheme, WindowCheck};
use alloc::collections::{BTreeSet, BinaryHeap};
use alloc::sync::Arc;
use core::cmp::Reverse;
use farspan_units::{Bytes, Duration, FlowId, HostId, Purpose, Random, Time};
use proptest::prelude::*;

/// A channel's faults, both ways.
#[derive(Clone, Copy, Debug)]
struct Channel {
    loss: f64,
    duplication: f64,
    /// How far packets may overtake each other.
    jitter: Duration,
}

/// One way through an idle channel.
const DELAY: Duration = Duration::from_us(5);

/// An ACK on its way: when it arrives, a number of its own, the packet and when that left, the cumulative number.
type PendingAck = (Time, u64, u32, Time, u32);

/// One flow: its sender as an endpoint drives it, and the numbers that have arrived.
struct Flow {
    now: Time,
    sender: Sender,
    /// When the recovery timer comes up.
    armed: Time,
    channel: Channel,
    random: Random,
    packets: u32,
    arrived: BTreeSet<u32>,
    /// Arrivals, then ACKs: when, a number of its own, and (seq, send time) of the packet.
    data: BinaryHeap<Reverse<(Time, u64, u32, Time)>>,
    acks: BinaryHeap<Reverse<PendingAck>>,
    numbered: u64,
}

impl Flow {
    fn new(policy: RecoveryPolicy, rto: Rto, packets: u32, channel: Channel, seed: u64) -> Self {
        let scheme = Scheme {
            congestion: CongestionConfig::FixedWindow(fixed_window::FixedWindowConfig::default()),
            balance: BalanceConfig::by_name("unolb").expect("a built-in name"),
            recovery: RecoveryConfig { rto, backoff: seed.is_multiple_of(2), policy },
            coding: CodingConfig::by_name("none").expect("a built-in name"),
            on_nack: None,
            window_check: WindowCheck::Below,
            connection: Connection::default(),
            profile: FlowProfile::default(),
        };
        let route = Arc::new(Route::new(path(), &scheme));
        let (size, initial_cwnd) = (path().mss * u64::from(packets), path().mss * 10);
        let message = Message { flow: FlowId(1), to: HostId(2), size, initial_cwnd, route, via: None };
        Self {
            now: Time::ZERO,
            sender: Sender::new(Time::ZERO, &message, 0, seed, 0),
            armed: Time::MAX,
            channel,
            random: Random::new(seed, Purpose::Test, 0),
            packets,
            arrived: BTreeSet::new(),
            data: BinaryHeap::new(),
            acks: BinaryHeap::new(),
            numbered: 0,
        }
    }

    /// When what leaves now arrives, as often as it does.
    fn carried(&mut self) -> impl Iterator<Item = (Time, u64)> + use<> {
        let copies = if self.random.uniform() < self.channel.loss {
            0
        } else {
            1 + u64::from(self.random.uniform() < self.channel.duplication)
        };
        let jitters = [(); 2].map(|()| self.random.below(self.channel.jitter.as_ps() + 1));
        let (now, first) = (self.now, self.numbered);
        self.numbered += copies;
        (0..copies).zip(jitters).map(move |(n, ps)| (now + DELAY + Duration::from_ps(ps), first + n))
    }

    fn send(&mut self) {
        let mut packet: Option<Leaving> = None;
        let deadline = self.sender.transmit(self.now, &mut packet);
        self.armed = self.armed.min(deadline);
        let seq = packet.expect("a packet leaves").own().header.seq;
        let sent_at = self.now;
        for (at, number) in self.carried() {
            self.data.push(Reverse((at, number, seq, sent_at)));
        }
    }

    fn arrive(&mut self) {
        let Some(Reverse((_, _, seq, sent_at))) = self.data.pop() else { return };
        self.arrived.insert(seq);
        let cumulative = (0..).find(|seq| !self.arrived.contains(seq)).unwrap_or_default();
        for (at, number) in self.carried() {
            self.acks.push(Reverse((at, number, seq, sent_at, cumulative)));
        }
    }

    fn acknowledge(&mut self) {
        let Some(Reverse((_, _, seq, sent_at, cumulative))) = self.acks.pop() else { return };
        let echo = Echo { sent_at, entropy: 0 };
        let fate = Fate::Arrived { echo, ecn_ce: false, block_complete: false, map: 0 };
        let ack = Feedback { flow: FlowId(1), seq, cumulative, fate };
        if self.sender.on_feedback(self.now, &ack, None) && !self.sender.is_finished() {
            self.armed = self.armed.min(self.sender.deadline(self.now));
        }
    }

    /// Does what comes next.
    fn step(&mut self) {
        let data = self.data.peek().map_or(Time::MAX, |Reverse((at, ..))| *at);
        let ack = self.acks.peek().map_or(Time::MAX, |Reverse((at, ..))| *at);
        let send = self.sender.next_send().unwrap_or(Time::MAX);
        let next = data.min(ack).min(send).min(self.armed);
        assert_ne!(next, Time::MAX, "packets are in flight or to be sent, and nothing will happen");
        self.now = self.now.max(next);
        if data == next {
            self.arrive();
        } else if ack == next {
            self.acknowledge();
        } else if send == next {
            self.send();
        } else {
            self.armed = self.sender.on_timeout(self.now);
            assert!(self.armed > self.now, "what has timed out is given up");
        }
    }

    /// The payload in flight, packet by packet.
    fn in_flight(&self) -> Bytes {
        let is = |&seq: &u32| self.sender.packet_state(seq) == PacketState::InFlight;
        path().mss * (0..self.packets).filter(is).count() as u64
    }
}

fn policies() -> impl Iterator<Item = RecoveryPolicy> {
    NAMES.iter().map(|name| RecoveryPolicy::by_name(name).expect("a name of the registry"))
}

fn any_rto() -> impl Strategy<Value = Rto> {
    prop_oneof![
        Just(Rto::Path),
        Just(Rto::Rfc6298 {
            initial: Duration::from_us(60),
            variance_floor: Duration::from_us(20),
            min: Duration::ZERO,
        }),
        // Below a round trip, time-outs are spurious.
        Just(Rto::Fixed(Duration::from_us(7))),
    ]
}

fn any_channel() -> impl Strategy<Value = Channel> {
    let loss = prop_oneof![Just(0.0), 0.0..0.3];
    (loss, 0.0..0.3, 0_u64..30).prop_map(|(loss, duplication, us)| Channel {
        loss,
        duplication,
        jitter: Duration::from_us(us),
    })
}

#[test]
fn every_name_is_that_of_its_policy() {
    assert!(policies().map(RecoveryPolicy::name).eq(NAMES.iter().copied()));
    assert!(ENTRIES.iter().map(|entry| entry.name).eq(NAMES.iter().copied()));
    assert_eq!(RecoveryPolicy::by_name("no such"), None);
}

#[test]
fn without_losses_nothing_is_sent_again_and_without_anything_in_flight_no_timer_runs() {
    let channel = Channel { loss: 0.0, duplication: 0.0, jitter: Duration::ZERO };
    for policy in policies() {
        let mut flow = Flow::new(policy, Rto::Path, 40, channel, 1);
        assert_eq!(flow.sender.deadline(Time::ZERO), Time::MAX, "{}", policy.name());
        while !flow.sender.is_finished() {
            flow.step();
        }
        let counters = flow.sender.view().counters;
        assert_eq!(
            (counters.sent_packets, counters.timeouts, counters.losses),
            (40, 0, 0),
            "{}",
            policy.name()
        );
    }
}

#[test]
fn a_lost_tail_comes_back_by_a_time_out_or_a_probe() {
    let channel = Channel { loss: 0.0, duplication: 0.0, jitter: Duration::ZERO };
    for policy in policies() {
        let mut flow = Flow::new(policy, Rto::Path, 10, channel, 1);
        while flow.sender.view().counters.sent_packets < 10 {
            flow.step();
        }
        flow.data.retain(|Reverse((_, _, seq, _))| *seq < 8);
        while !flow.sender.is_finished() {
            flow.step();
        }
        let c = flow.sender.view().counters;
        assert_eq!((c.timeouts + c.losses, c.retransmitted_packets), (2, 2), "{}", policy.name());
        assert_eq!(c.timeouts == 0, c.probes == 1, "{}", policy.name());
        let is_late = flow.now > Time::ZERO + Rto::Path.initial(&path(), Duration::ZERO);
        assert_eq!(is_late, c.probes == 0, "{}", policy.name());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_packet_arrives_and_what_is_in_flight_is_what_the_map_says(
        packets in 1_u32..120, rto in any_rto(), channel in any_channel(), seed in any::<u64>(),
    ) {
        for policy in policies() {
            let mut flow = Flow::new(policy, rto, packets, channel, seed);
            let mut steps = 0;
            while !flow.sender.is_finished() {
                flow.step();
                let view = flow.sender.view();
                prop_assert_eq!(view.in_flight, flow.in_flight(), "{}", policy.name());
                prop_assert!(
                    flow.sender.is_finished() || view.in_flight.is_zero() || flow.armed != Time::MAX,
                    "{}: packets are in flight and no timer runs", policy.name()
                );
                steps += 1;
                prop_assert!(steps < 200_000, "{}: still running at {}", policy.name(), flow.now);
            }
            let view = flow.sender.view();
            prop_assert_eq!(flow.arrived.len(), packets as usize, "{}", policy.name());
            prop_assert_eq!((view.in_flight, view.delivered), (Bytes::ZERO, path().mss * u64::from(packets)));
            let c = view.counters;
            prop_assert_eq!(c.sent_packets - c.retransmitted_packets, u64::from(packets));
            let again = c.timeouts + c.losses + c.probes;
            prop_assert!(c.retransmitted_packets <= again && c.spurious <= again, "{}", policy.name());
        }
    }

    #[test]
    fn the_same_channel_gives_the_same_packets(seed in any::<u64>(), channel in any_channel()) {
        for policy in policies() {
            let run = || {
                let mut flow = Flow::new(policy, Rto::Path, 50, channel, seed);
                while !flow.sender.is_finished() {
                    flow.step();
                }
                (flow.now, flow.sender.view())
            };
            prop_assert_eq!(run(), run());
        }
    }
}
