//! An ACK policy and a recovery policy of one file and one registry line each: what they do, under every engine alike.

use crate::common::*;
use crate::random;
use farspan_fabric::Fault;
use farspan_fabric::fault::FaultKind;
use farspan_sim::{Flow, Outcome, OwnBalance, Spec};
use farspan_transport::ack::{AckConfig, delayed};
use farspan_transport::balance::BalanceConfig;
use farspan_transport::recovery::{RecoveryPolicy, Rto};
use farspan_transport::{FlowOutcome, FlowProfile, Scheme};
use farspan_units::{Bytes, Duration, FlowId, HostId, PortId, Rate, Time};
use std::sync::Arc;

/// A scheme with this ACK policy, whose time-outs are far away.
fn acknowledged(acks: AckConfig) -> Arc<Scheme> {
    let mut scheme = Scheme::clone(&scheme(control("fixed_window"), "ecmp"));
    scheme.profile = FlowProfile { acks, ..FlowProfile::default() };
    scheme.recovery.rto = Rto::Fixed(Duration::from_ms(50));
    Arc::new(scheme)
}

fn delayed(us: u64) -> Arc<Scheme> {
    acknowledged(AckConfig::Delayed(delayed::DelayedConfig {
        delay: Duration::from_us(us),
        quick: 0,
        packets: 2,
    }))
}

/// Flows between two sites and inside one.
fn across(intra: &Arc<Scheme>, inter: &Arc<Scheme>, packets: u64) -> Spec {
    let network = two_sites(4, Duration::from_us(100));
    let far = network.hosts - 1;
    let flows: Vec<Flow> =
        [(0, far), (1, 2), (far - 1, 3)].map(|(src, dst)| flow(src, dst, MSS * packets, Time::ZERO)).into();
    let mut spec = spec(network, ports(Bytes::MAX, &[]), intra, flows);
    spec.inter = Arc::clone(inter);
    spec
}

fn acks(outcome: &Outcome) -> u64 {
    assert!(outcome.totals.conserved() && outcome.flows.iter().all(|flow| flow.finish.is_some()));
    outcome.totals.control_delivered.packets
}

#[test]
fn a_receiver_that_answers_every_second_packet_sends_half_the_acks() {
    let each = acknowledged(AckConfig::default());
    assert_eq!(acks(&run(&across(&each, &each, 100))), 300);
    assert_eq!(acks(&run(&across(&delayed(10), &delayed(10), 100))), 150);
    assert_eq!(acks(&run(&across(&each, &delayed(10), 100))), 200, "of flows between sites alone");
}

#[test]
fn an_ack_that_is_held_leaves_when_its_time_has_come() {
    // Every packet waits for a second one longer than the sender's window lasts.
    let fct = |delay| {
        let mut spec = across(&delayed(delay), &delayed(delay), 5);
        spec.flows.truncate(1);
        spec.initial_window = farspan_sim::InitialWindow::Bytes(MSS);
        let outcome = run(&spec);
        assert_eq!(acks(&outcome), 5);
        outcome.flows[0].finish.expect("it ends").since(Time::ZERO)
    };
    // The last packet of the message is acknowledged at once.
    assert_eq!(fct(50) - fct(20), Duration::from_us(4 * 30));
}

#[test]
fn a_flow_with_a_path_selector_of_its_own_does_not_use_that_of_its_scheme() {
    // Ports of the first host's ToR that carry data of one flow to the other side of the tree.
    let uplinks = |own: &[u32]| {
        let network = tree(4).build().expect("valid");
        let flows = vec![flow(0, 15, MSS * 100, Time::ZERO), flow(4, 11, MSS * 100, Time::ZERO)];
        let mut spec = spec(network, ports(Bytes::MAX, &[]), &scheme(control("fixed_window"), "ecmp"), flows);
        let flows = own.iter().copied().map(FlowId).collect();
        let balance = BalanceConfig::by_name("rps").expect("a built-in name");
        spec.own_balance = vec![OwnBalance { balance, flows }];
        let outcome = run(&spec);
        let sent = |name: &str| {
            let of_tor =
                |port: &&farspan_sim::PortOutcome| port.name.starts_with(name) && port.sent_packets > 10;
            outcome.ports.iter().filter(of_tor).filter(|port| port.name.contains("->agg")).count()
        };
        [sent("tor0->"), sent("tor2->")]
    };
    assert_eq!(uplinks(&[]), [1, 1]);
    assert_eq!(uplinks(&[1]), [1, 2]);
    assert_eq!(uplinks(&[0, 1]), [2, 2]);
}

/// A flow of 100 packets, sent at once, of which the link in the middle takes the last ones.
fn lost_tail(policy: RecoveryPolicy) -> Spec {
    let mut scheme = Scheme::clone(&scheme(control("fixed_window"), "ecmp"));
    (scheme.recovery.policy, scheme.recovery.rto) = (policy, Rto::Fixed(Duration::from_us(500)));
    let network = dumbbell(Rate::from_gbps(100));
    let is_middle = |port: &u32| {
        let link = network.links[*port as usize];
        link.from.0 >= network.hosts && link.to.0 >= network.hosts
    };
    let middle = (0..network.links.len() as u32).find(is_middle).map(PortId).expect("a link in the middle");
    let flows = vec![flow(0, 4, MSS * 100, Time::ZERO)];
    let mut spec = spec(network, ports(Bytes::MAX, &[]), &Arc::new(scheme), flows);
    spec.initial_window = farspan_sim::InitialWindow::Bytes(MSS * 101);
    let at = |us| Time::ZERO + Duration::from_us(us);
    spec.faults = vec![Fault {
        kind: FaultKind::BlackHole,
        links: vec![middle],
        at: at(31),
        until: at(100),
        withdraw_after: None,
    }];
    spec
}

#[test]
fn a_lost_tail_comes_back_by_the_one_timer_which_acks_have_restarted() {
    let [each, one] = [RecoveryPolicy::PerPacketRto, RecoveryPolicy::GoBackN].map(|policy| {
        let spec = lost_tail(policy);
        assert_eq!(spec.flows[0].src, HostId(0));
        let outcome = run(&spec);
        let flow = outcome.flows[0].clone();
        assert!(flow.dropped_packets > 1 && flow.dropped_packets < 30, "{flow:?}");
        let given_up = flow.sender.timeouts + flow.sender.losses;
        assert_eq!(given_up, flow.dropped_packets, "each lost packet is given up once");
        flow
    });
    assert_eq!(each.dropped_packets, one.dropped_packets);
    let end = |flow: &FlowOutcome| flow.finish.expect("it ends").since(Time::ZERO);
    // The first lost packet alone times out 500 us after it left; the one timer runs from the last ACK, a
    // round trip later.
    let later = end(&one) - end(&each);
    assert!(later > Duration::from_us(1) && later < Duration::from_us(12), "{later}");
}

#[test]
fn random_worlds_with_these_policies_come_out_equal_under_every_engine() {
    let (mut fewer, mut single) = (0, 0);
    for seed in 0..120 {
        let spec = random::policy_spec(seed);
        let outcome = equal_under_all(&spec).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        let totals = &outcome.totals;
        let arrived = totals.delivered.packets + totals.trimmed_delivered.packets;
        fewer += u32::from(totals.control_sent.packets * 10 < arrived * 9);
        let by_one_timer = |flow: &&FlowOutcome| {
            let recovery = &spec.scheme(flow.class).recovery;
            recovery.policy == RecoveryPolicy::GoBackN && flow.sender.timeouts > 0 && flow.finish.is_some()
        };
        single += u32::from(outcome.flows.iter().any(|flow| by_one_timer(&flow)));
    }
    assert!(fewer >= 30, "in {fewer} worlds there were fewer ACKs than packets");
    assert!(single >= 30, "in {single} worlds the one timer brought packets back");
}

fn coalesced() -> Arc<Scheme> {
    acknowledged(AckConfig::by_name("coalesced").expect("a built-in name"))
}

#[test]
fn a_receiver_that_holds_16_kib_sends_a_quarter_of_the_acks() {
    let each = acknowledged(AckConfig::default());
    let [all, few] = [each, coalesced()].map(|scheme| run(&across(&scheme, &scheme, 1000)));
    // The first packet and the last one have ACKs of their own.
    assert_eq!((acks(&all), acks(&few)), (3000, 3 * 251));
    assert!(few.flows.iter().all(|flow| flow.sender.timeouts == 0 && flow.sender.retransmitted_packets == 0));
}

#[test]
fn a_sprayed_flow_of_little_or_much_goes_on_without_time_outs_and_loses_no_time() {
    let ends = |policy: &AckConfig, packets, window| {
        let network = tree(4).build().expect("valid");
        let flows: Vec<Flow> = (0..4).map(|i| flow(i, 15 - i, MSS * packets, Time::ZERO)).collect();
        let mut scheme = Scheme::clone(&acknowledged(policy.clone()));
        scheme.balance = BalanceConfig::by_name("rps").expect("a built-in name");
        let mut spec = spec(network, ports(Bytes::MAX, &[]), &Arc::new(scheme), flows);
        spec.initial_window = farspan_sim::InitialWindow::Bytes(MSS * window);
        let outcome = run(&spec);
        assert!(outcome.flows.iter().all(|flow| flow.sender.timeouts == 0));
        let ends = outcome.flows.iter().map(|flow| flow.finish.expect("it ends").since(Time::ZERO));
        (ends.max().expect("a flow").as_us_f64(), acks(&outcome))
    };
    for (packets, window) in [(1, 1), (50, 1), (50, 2), (50, 3), (200, 6), (400, 18), (1000, 60)] {
        let (each, all) = ends(&AckConfig::default(), packets, window);
        let (held, few) = ends(&AckConfig::by_name("coalesced").expect("a built-in name"), packets, window);
        println!(
            "{packets} packets, window {window}: {held:.1} us and {few} ACKs for {each:.1} us and {all}"
        );
        assert!(held < each * 1.3, "{held} us for {each} us with {window} packets");
        assert!(few <= all && (window < 60 || few * 2 < all), "{few} ACKs for {all} with {window} packets");
    }
}

#[test]
fn random_worlds_of_held_acks_come_out_equal_under_every_engine() {
    let mut fewer = 0;
    for seed in 0..120 {
        let spec = random::holding_spec(seed);
        let outcome = equal_under_all(&spec).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        let totals = &outcome.totals;
        let arrived = totals.delivered.packets + totals.trimmed_delivered.packets;
        fewer += u32::from(totals.control_sent.packets * 10 < arrived * 8);
    }
    assert!(fewer >= 30, "in {fewer} worlds there were fewer ACKs than packets");
}
