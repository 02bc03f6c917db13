//! Rules for every ACK policy of the registry, whatever order packets come in.

use crate::ack::*;
use crate::endpoint::{Endpoint, EndpointConfig};
use crate::flow::message::{Incoming, Poll};
use crate::wire::{Data, Fate, Feedback, Header, mapped};
use crate::{FlowProfile, Profiles};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use farspan_units::{Bytes, Duration, FlowId, HostId, Purpose, Random, Rate, Time};
use proptest::prelude::*;

/// No ACK waits for longer.
const LONGEST_DELAY: Duration = Duration::from_ms(40);

fn all() -> impl Iterator<Item = AckConfig> {
    NAMES.iter().map(|name| AckConfig::by_name(name).expect("a name of the registry"))
}

/// A receiver's endpoint, and what it has said: when, and what.
struct Receiver {
    endpoint: Endpoint,
    now: Time,
    said: Vec<(Time, Feedback)>,
}

impl Receiver {
    fn new(config: &AckConfig) -> Self {
        let profiles = Profiles::new([FlowProfile { acks: config.clone(), ..FlowProfile::default() }]);
        let config =
            EndpointConfig { host: HostId(1), seed: 1, mss: Bytes::new(100), header: Bytes::new(64) };
        let endpoint = Endpoint::new(config).with_profiles(&profiles, Rate::from_gbps(100));
        Self { endpoint, now: Time::ZERO, said: Vec::new() }
    }

    /// Lets everything leave that may, up to `until`.
    fn run(&mut self, until: Time) {
        loop {
            while let Poll::Packet(packet) = self.endpoint.poll_transmit(self.now) {
                let Header::Feedback(feedback) = packet.header else { panic!("a receiver sends no data") };
                assert!(packet.control && packet.to == HostId(0));
                self.said.push((self.now, feedback));
            }
            let Some(at) = self.endpoint.poll_timeout().filter(|&at| at <= until) else { break };
            self.now = self.now.max(at);
            self.endpoint.handle_timeout(self.now);
        }
        self.now = until;
    }

    fn take(&mut self, seq: u32, packets: u32, ecn_ce: bool) {
        let data = Data {
            flow: FlowId(3),
            seq,
            packets,
            len: 100,
            sent_at: self.now,
            entropy: 0,
            profile: 0,
            ask: false,
        };
        let packet = Incoming { ecn_ce, ..Incoming::new(HostId(0), Header::Data(data)) };
        self.endpoint.handle_packet(self.now, packet);
    }
}

#[test]
fn every_name_builds_a_policy_with_valid_defaults() {
    for (name, config) in NAMES.iter().zip(all()) {
        assert_eq!((config.name(), config.check()), (*name, Ok(())));
    }
    assert!(ENTRIES.iter().map(|entry| entry.name).eq(NAMES.iter().copied()));
    assert_eq!(AckConfig::by_name("no such"), None);
}

proptest! {
    #[test]
    fn every_arrival_is_acknowledged_in_time(
        packets in 1_u32..60, order in any::<u64>(), marked in 0.0..0.5, duplicated in 0.0..0.5, gap_us in 0_u64..30,
        shuffled in any::<bool>(),
    ) {
        for config in all() {
            let mut random = Random::new(order, Purpose::Test, 0);
            let mut seqs: Vec<u32> = (0..packets).collect();
            if shuffled {
                random.shuffle(&mut seqs);
            }
            let mut receiver = Receiver::new(&config);
            let mut arrivals = Vec::new();
            for seq in seqs {
                for _ in 0..1 + u32::from(random.uniform() < duplicated) {
                    let ecn_ce = random.uniform() < marked;
                    arrivals.push((receiver.now, seq));
                    receiver.take(seq, packets, ecn_ce);
                    let until = receiver.now + Duration::from_us(random.below(gap_us + 1));
                    receiver.run(until);
                }
            }
            let end = receiver.now + LONGEST_DELAY;
            receiver.run(end);
            let name = config.name();
            let covers = |said: &Feedback, seq: u32| {
                let Fate::Arrived { map, .. } = said.fate else { return false };
                said.seq == seq || seq < said.cumulative || mapped(said.cumulative, map).any(|named| named == seq)
            };
            // What is held without a limit leaves with the last packet at the latest.
            let holds = !config.build().holds().is_zero();
            for (at, seq) in arrivals {
                let last = if holds { Time::MAX } else { at + LONGEST_DELAY };
                let in_time =
                    receiver.said.iter().any(|(when, said)| (at..=last).contains(when) && covers(said, seq));
                prop_assert!(in_time, "{name}: packet {seq} of {at} is not acknowledged");
            }
            let last = receiver.said.iter().map(|(_, said)| said.cumulative).max();
            prop_assert_eq!(last, Some(packets), "{}", name);
            let maps = |said: &Feedback| matches!(said.fate, Fate::Arrived { map: 1.., .. });
            prop_assert!(holds || !receiver.said.iter().any(|(_, said)| maps(said)), "{}", name);
            let about: BTreeSet<u32> = receiver.said.iter().map(|(_, said)| said.seq).collect();
            prop_assert!(about.iter().all(|&seq| seq < packets), "{}", name);
        }
    }

    #[test]
    fn of_packets_in_order_each_mark_and_each_packet_without_one_is_echoed_by_the_ack_that_is_first_to_cover_it(
        packets in 1_u32..100, draws in any::<u64>(), marked in 0.0..1.0, gap_us in 0_u64..30,
    ) {
        for config in all() {
            let mut random = Random::new(draws, Purpose::Test, 0);
            let mut receiver = Receiver::new(&config);
            let mut marks = Vec::new();
            for seq in 0..packets {
                let ecn_ce = random.uniform() < marked;
                marks.push(ecn_ce);
                receiver.take(seq, packets, ecn_ce);
                let until = receiver.now + Duration::from_us(random.below(gap_us + 1));
                receiver.run(until);
            }
            let end = receiver.now + LONGEST_DELAY;
            receiver.run(end);
            let mut echoed = Vec::new();
            for (_, said) in &receiver.said {
                let Fate::Arrived { ecn_ce, .. } = said.fate else { panic!("{said:?} is no ACK") };
                echoed.resize(echoed.len().max(said.cumulative as usize), ecn_ce);
            }
            prop_assert_eq!(echoed, marks, "{}", config.name());
        }
    }

    #[test]
    fn an_ack_is_held_only_where_a_later_one_covers_its_packet(
        events in prop::collection::vec((any::<u8>(), 0_u32..100, 0_u64..6000, 0_u64..30), 0..200),
    ) {
        for config in all() {
            let run = || {
                let (mut policy, mut now) = (config.build(), Time::ZERO);
                let answer = |&(flags, seq, bytes, us): &(u8, u32, u64, u64)| {
                    now += Duration::from_us(us);
                    let [is_new, is_covered, is_far, opens_gap, ecn_ce, asks, completes_block, is_last] =
                        core::array::from_fn(|bit| flags >> bit & 1 == 1);
                    let arrival = Arrival {
                        now,
                        seq,
                        bytes: Bytes::new(bytes),
                        is_new,
                        is_covered,
                        is_mapped: is_covered || !is_far,
                        opens_gap,
                        fills_gap: opens_gap,
                        ecn_ce,
                        asks,
                        completes_block,
                        is_last,
                    };
                    (arrival, policy.on_arrival(&arrival))
                };
                events.iter().map(answer).collect::<Vec<_>>()
            };
            let holds = !config.build().holds().is_zero();
            for (arrival, release) in run() {
                match release {
                    Release::At(at) => {
                        prop_assert!(arrival.is_covered, "{}", config.name());
                        prop_assert!((arrival.now..=arrival.now + LONGEST_DELAY).contains(&at), "{}", config.name());
                    }
                    Release::WithNext => {
                        let is_heard = arrival.asks || arrival.ecn_ce || arrival.is_last;
                        prop_assert!(holds && arrival.is_mapped && !is_heard, "{}", config.name());
                    }
                    Release::Now | Release::Apart => {}
                }
            }
            prop_assert_eq!(run(), run(), "{}", config.name());
        }
    }
}
