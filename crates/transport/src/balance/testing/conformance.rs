//! Conformance tests: the contract of every path selector of the registry, under random events of its flow.

use crate::balance::*;
use crate::congestion::testing::{path, wan_path};
use alloc::boxed::Box;
use alloc::vec::Vec;
use farspan_units::{Bytes, Duration, FlowId, Purpose, Random, Time};
use proptest::prelude::*;

/// An event of a flow.
#[derive(Clone, Copy, Debug)]
enum Event {
    Send,
    Ack { age: usize, ecn_ce: bool },
    Nack { age: usize },
    Loss { age: usize },
    Timeout { age: usize },
    Wait(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => Just(Event::Send),
        4 => (0..50_usize, any::<bool>()).prop_map(|(age, ecn_ce)| Event::Ack { age, ecn_ce }),
        1 => (0..50_usize).prop_map(|age| Event::Nack { age }),
        1 => (0..50_usize).prop_map(|age| Event::Loss { age }),
        1 => (0..50_usize).prop_map(|age| Event::Timeout { age }),
        2 => (0..30_000_000_u64).prop_map(Event::Wait),
    ]
}

/// The entropies of the packets sent under these events.
fn run(config: &BalanceConfig, events: &[Event], flow: u32, seed: u64) -> Vec<Entropy> {
    let path = if flow.is_multiple_of(2) { path() } else { wan_path() };
    let mut random = Random::new(seed, Purpose::Balance, u64::from(flow));
    let mut balancer = config.build(&BalancerStart { path: &path, flow: FlowId(flow), random });
    let (mut now, mut sent, mut times) = (Time::ZERO, Vec::new(), Vec::new());
    for &event in events {
        let of = |age: usize| {
            let i = sent.len().checked_sub(age + 1)?;
            let in_flight = Bytes::new(4096) * age as u64;
            Some(PathSample { now, sent_at: times[i], entropy: sent[i], in_flight })
        };
        match event {
            Event::Send => {
                sent.push(balancer.entropy(now, &mut random));
                times.push(now);
            }
            Event::Ack { age, ecn_ce } => {
                of(age).into_iter().for_each(|f| balancer.on_ack(f, ecn_ce, &mut random));
            }
            Event::Nack { age } => {
                of(age)
                    .into_iter()
                    .for_each(|f| balancer.on_nack(f, age % 2 == 0, age % 3 == 0, &mut random));
            }
            Event::Loss { age } => of(age).into_iter().for_each(|f| balancer.on_loss(f, &mut random)),
            Event::Timeout { age } => of(age).into_iter().for_each(|f| balancer.on_timeout(f, &mut random)),
            Event::Wait(ps) => now += Duration::from_ps(ps),
        }
    }
    sent
}

fn all() -> impl Iterator<Item = BalanceConfig> {
    NAMES.iter().map(|name| BalanceConfig::by_name(name).expect("a name of the registry"))
}

#[test]
fn every_name_builds_the_selector_of_that_name_with_valid_defaults() {
    for (name, config) in NAMES.iter().zip(all()) {
        assert_eq!(config.name(), *name);
        assert_eq!(config.check(), Ok(()));
    }
    assert!(ENTRIES.iter().map(|entry| entry.name).eq(NAMES.iter().copied()));
    assert_eq!(BalanceConfig::by_name("no such"), None);
}

#[test]
fn a_selector_that_wants_no_feedback_chooses_the_same_without_it() {
    let events: Vec<Event> = (0..400)
        .map(|i| match i % 4 {
            0 | 1 => Event::Send,
            2 if i % 8 == 2 => Event::Ack { age: 0, ecn_ce: false },
            2 => Event::Timeout { age: 0 },
            _ => Event::Wait(30_000_000),
        })
        .collect();
    let silent: Vec<Event> =
        events.iter().copied().filter(|e| matches!(e, Event::Send | Event::Wait(_))).collect();
    for config in all() {
        let path = path();
        let random = Random::new(1, Purpose::Balance, 0);
        let wants = config.build(&BalancerStart { path: &path, flow: FlowId(0), random }).wants_feedback();
        assert_eq!(run(&config, &events, 0, 1) != run(&config, &silent, 0, 1), wants, "{}", config.name());
    }
}

#[test]
fn unolb_and_plb_leave_a_path_for_a_loss_found_from_acks_as_for_a_time_out() {
    let after = |event| {
        let sent = (0..20).map(|_| Event::Send);
        Vec::from_iter(sent.clone().chain([event]).chain(sent))
    };
    for config in ["unolb", "plb"].map(|name| BalanceConfig::by_name(name).expect("a name of the registry")) {
        let (loss, timeout) = (after(Event::Loss { age: 5 }), after(Event::Timeout { age: 5 }));
        assert_eq!(run(&config, &loss, 0, 1), run(&config, &timeout, 0, 1), "{}", config.name());
    }
}

#[test]
fn a_selector_from_elsewhere_is_called_like_a_built_in_one() {
    struct Counting(Entropy);
    impl Balance for Counting {
        fn entropy(&mut self, _now: Time, _random: &mut Random) -> Entropy {
            self.0 += 1;
            self.0
        }
        fn wants_feedback(&self) -> bool {
            true
        }
        fn on_timeout(&mut self, sample: PathSample, _random: &mut Random) {
            self.0 = sample.entropy;
        }
    }
    let mut random = Random::new(1, Purpose::Balance, 0);
    let mut balancer = Balancer::Custom(Box::new(Box::new(Counting(0))));
    assert_eq!(balancer.entropy(Time::ZERO, &mut random), 1);
    let (now, in_flight) = (Time::ZERO, Bytes::ZERO);
    balancer.on_timeout(PathSample { now, sent_at: now, entropy: 41, in_flight }, &mut random);
    assert_eq!(balancer.entropy(Time::ZERO, &mut random), 42);
    assert!(balancer.wants_feedback());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_same_events_give_the_same_paths(events in prop::collection::vec(event(), 0..400), flow in 0..4_u32) {
        for config in all() {
            prop_assert_eq!(run(&config, &events, flow, 7), run(&config, &events, flow, 7));
        }
    }

    #[test]
    fn entropies_stay_below_what_was_configured(
        events in prop::collection::vec(event(), 0..400),
        entropies in 1..300_u32,
        subflows in 1..20_u32,
        reroute in prop_oneof![Just(unolb::Reroute::Recent), Just(unolb::Reroute::Fresh), Just(unolb::Reroute::Never)],
    ) {
        let bounded = [
            BalanceConfig::Rps(rps::RpsConfig { entropies }),
            BalanceConfig::Unolb(unolb::UnolbConfig { subflows, entropies, reroute }),
            BalanceConfig::Plb(plb::PlbConfig { entropies, busy_rounds: 1, idle_rounds: 1, ..plb::PlbConfig::default() }),
        ];
        for config in bounded {
            prop_assert!(run(&config, &events, 0, 3).iter().all(|&entropy| u32::from(entropy) < entropies));
        }
    }
}
