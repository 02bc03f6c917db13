//! Faults of links: each kind does what it says, no more, and under every engine alike.

use crate::common::*;
use farspan_fabric::fault::{Affected, FaultKind, Loss, LossProcess, Numbering};
use farspan_fabric::{Fault, Network};
use farspan_sim::{InitialWindow, Outcome, Spec};
use farspan_transport::Scheme;
use farspan_transport::recovery::Rto;
use farspan_units::{Bytes, Duration, PortId, Rate, Time};
use std::sync::Arc;

/// A packet time at 100 Gb/s.
const PACKET: Duration = Duration::from_ps(332_800);
/// When the first packet of a dumbbell has come to the switch on the left.
const FIRST: Duration = Duration::from_ps(332_800 + 1_000_000);

fn at(time: Duration) -> Time {
    Time::ZERO + time
}

fn us(us: u64) -> Time {
    at(Duration::from_us(us))
}

fn fault(kind: FaultKind, link: PortId, from: Time, until: Time) -> Fault {
    Fault { kind, links: vec![link], at: from, until, withdraw_after: None }
}

/// The link from the left switch of a dumbbell to the right one, and its reverse link.
fn middle(network: &Network) -> [PortId; 2] {
    let between = |port: &u32| {
        let link = network.links[*port as usize];
        link.from.0 >= network.hosts && link.to.0 >= network.hosts
    };
    let ports: Vec<_> = (0..network.links.len() as u32).filter(between).map(PortId).collect();
    ports.try_into().expect("one link, both ways")
}

/// A scheme that sends nothing again before a time that is the same whatever the network.
fn patient(congestion: &str, balance: &str) -> Arc<Scheme> {
    let mut scheme = Scheme::clone(&scheme(control(congestion), balance));
    scheme.recovery.rto = Rto::Fixed(Duration::from_us(500));
    Arc::new(scheme)
}

/// Flows over a dumbbell, all packets sent at once, under one fault of the link in the middle, from left to right.
fn over_the_middle(
    flows: &[(u32, u32)],
    packets: u64,
    fault: impl Fn(PortId) -> Vec<Fault>,
) -> (Spec, PortId) {
    let network = dumbbell(Rate::from_gbps(100));
    let [there, _] = middle(&network);
    let scheme = patient("fixed_window", "ecmp");
    let flows = flows.iter().map(|&(src, dst)| flow(src, dst, MSS * packets, Time::ZERO)).collect();
    let mut spec = spec(network, ports(Bytes::MAX, &[]), &scheme, flows);
    spec.initial_window = InitialWindow::Bytes(MSS * (packets + 1));
    spec.faults = fault(there);
    spec.stop.time = us(5000);
    (spec, there)
}

fn fct(outcome: &Outcome) -> Duration {
    outcome.flows[0].finish.expect("it ends").since(Time::ZERO)
}

#[test]
fn a_black_hole_takes_data_and_control_of_one_direction_only() {
    let hole = |link| vec![fault(FaultKind::BlackHole, link, Time::ZERO, Time::MAX)];
    let (spec, there) = over_the_middle(&[(0, 4), (5, 1)], 20, hole);
    let outcome = run(&spec);
    let [right, left] = &outcome.flows[..] else { panic!("two flows") };
    assert_eq!((right.receiver.arrived_packets, right.delivered), (0, None));
    assert!(left.delivered.is_some() && left.finish.is_none(), "its data arrive, its ACKs do not");
    for (port, line) in outcome.ports.iter().enumerate() {
        let sent = if port == there.index() { line.sent_packets } else { 0 };
        assert_eq!((line.lost_packets, line.dropped_packets), (sent, sent), "{}", line.name);
    }
    assert_eq!(right.dropped_packets, right.sender.sent_packets);
}

#[test]
fn a_black_hole_takes_what_leaves_after_its_begin_and_up_to_its_end() {
    // The third to the seventh packet leave the switch at multiples of a packet time after the first has come.
    let leaves = |n: u64| at(FIRST + PACKET * n);
    let hole = |link| vec![fault(FaultKind::BlackHole, link, leaves(2), leaves(7))];
    let (spec, there) = over_the_middle(&[(0, 4)], 20, hole);
    let outcome = run(&spec);
    assert_eq!(outcome.ports[there.index()].lost_packets, 5);
    assert_eq!(outcome.flows[0].dropped_packets, 5);
    assert!(outcome.flows[0].finish.is_some() && outcome.flows[0].sender.timeouts > 0);
}

#[test]
fn a_link_that_is_down_loses_what_waits_and_what_comes_and_not_what_has_left() {
    // Two senders: after ten packet times ten packets have left, nine or ten wait.
    let down = |link| {
        let (begin, end) = (FIRST + PACKET * 10 + PACKET / 2, FIRST + PACKET * 30);
        vec![fault(FaultKind::LinkDown, link, at(begin), at(end))]
    };
    let (mut spec, there) = over_the_middle(&[(0, 4), (1, 5)], 20, down);
    spec.stop.time = at(FIRST + PACKET * 30);
    let outcome = run(&spec);
    let arrived: u64 = outcome.flows.iter().map(|flow| flow.receiver.arrived_packets).sum();
    let port = &outcome.ports[there.index()];
    assert_eq!((arrived, port.sent_packets, port.lost_packets), (10, 10, 30));
    assert!(outcome.totals.conserved());

    spec.stop.time = us(5000);
    assert!(run(&spec).flows.iter().all(|flow| flow.finish.is_some()), "the link has come back");
}

#[test]
fn links_that_two_faults_keep_down_are_down_until_both_end() {
    let down = |from, until| {
        move |link| fault(FaultKind::LinkDown, link, at(FIRST + PACKET * from), at(FIRST + PACKET * until))
    };
    let both = |link| vec![down(2, 8)(link), down(5, 12)(link)];
    let one = |link| vec![down(2, 12)(link)];
    let (both, one) = (over_the_middle(&[(0, 4)], 20, both).0, over_the_middle(&[(0, 4)], 20, one).0);
    assert_eq!(fingerprint(&run(&both)), fingerprint(&run(&one)));
}

#[test]
fn a_slower_link_takes_longer_by_the_packets_that_it_begins_at_that_rate() {
    let half = FaultKind::Rate(Rate::from_gbps(50));
    let slow = |begin: Option<u64>, end: Option<u64>| {
        let time = |n: u64| at(FIRST + PACKET * n + PACKET / 2);
        let (spec, _) = over_the_middle(&[(0, 4)], 20, |link| {
            let from = begin.map_or(Time::ZERO, time);
            vec![fault(half.clone(), link, from, end.map_or(Time::MAX, time))]
        });
        fct(&run(&spec))
    };
    let fast = fct(&run(&over_the_middle(&[(0, 4)], 20, |_| vec![]).0));
    // Packets 0 to n begin before the middle of packet n's service: 20 - (n + 1) are slow.
    assert_eq!(slow(None, None), fast + PACKET * 20);
    assert_eq!(slow(Some(4), None), fast + PACKET * 15);
    // From the middle of packet 4 to five packet times later: 5 begins at 5 packet times, 6 at 7, 7 at 9 and
    // ends at 11. Two of those behind it leave at full rate before the fault would matter: three were slow.
    assert_eq!(slow(Some(4), Some(9)), fast + PACKET * 3);
}

#[test]
fn a_link_with_another_rate_from_the_start_is_a_link_of_that_rate() {
    for rate in [Rate::from_gbps(30), Rate::from_gbps(400)] {
        let (mut slow, there) = over_the_middle(&[(0, 4), (1, 5)], 20, |link| {
            vec![fault(FaultKind::Rate(rate), link, Time::ZERO, Time::MAX)]
        });
        let nic = PortId(slow.network.first_port[0]);
        slow.faults.push(fault(FaultKind::Rate(rate), nic, Time::ZERO, Time::MAX));
        let mut built = slow.clone();
        built.faults.clear();
        [there, nic].iter().for_each(|port| built.network.links[port.index()].rate = rate);
        let (slow, built) = (run(&slow), run(&built));
        assert_eq!(slow.packet_digest, built.packet_digest);
        assert_eq!(slow.ports, built.ports);
    }
}

#[test]
fn the_last_rate_that_began_counts() {
    let rate = |gbps, from, until| {
        move |link| fault(FaultKind::Rate(Rate::from_gbps(gbps)), link, us(from), us(until))
    };
    let two = |link| vec![rate(10, 0, 100)(link), rate(20, 3, 6)(link)];
    let three = |link| vec![rate(10, 0, 3)(link), rate(20, 3, 6)(link), rate(10, 6, 100)(link)];
    let outcomes = [two(PortId(0)), three(PortId(0))].map(|faults| {
        let (spec, _) = over_the_middle(&[(0, 4)], 40, |link| {
            faults.iter().map(|fault| Fault { links: vec![link], ..fault.clone() }).collect()
        });
        fct(&run(&spec))
    });
    assert_eq!(outcomes[0], outcomes[1]);
}

#[test]
fn a_nic_s_link_loses_what_the_nic_sends() {
    let network = dumbbell(Rate::from_gbps(100));
    let nic = PortId(network.first_port[0]);
    for kind in [FaultKind::BlackHole, FaultKind::LinkDown] {
        let (mut spec, _) = over_the_middle(&[(0, 4)], 20, |_| vec![]);
        spec.faults = vec![fault(kind, nic, at(PACKET * 3), at(PACKET * 8))];
        let outcome = run(&spec);
        assert_eq!(outcome.ports[nic.index()].lost_packets, 5);
        assert!(outcome.flows[0].finish.is_some());
    }
}

fn losses(process: LossProcess, packets: Affected) -> FaultKind {
    FaultKind::Loss(Loss { process, packets })
}

fn blocks(per: Numbering) -> LossProcess {
    LossProcess::Blocks { block: 10, losses: vec![0.3, 0.2, 0.1], per }
}

#[test]
fn losses_of_data_leave_acks_alone_and_losses_of_all_do_not() {
    for process in [LossProcess::Independent(0.05), blocks(Numbering::Queue), blocks(Numbering::Flow)] {
        for packets in [Affected::Data, Affected::All] {
            let network = dumbbell(Rate::from_gbps(100));
            let links = middle(&network);
            let (mut spec, _) = over_the_middle(&[(0, 4), (1, 5)], 400, |_| vec![]);
            spec.faults = vec![Fault {
                links: links.to_vec(),
                ..fault(losses(process.clone(), packets), links[0], Time::ZERO, Time::MAX)
            }];
            let outcome = run(&spec);
            let lost = links.map(|link| outcome.ports[link.index()].lost_packets);
            assert!(lost[0] > 10, "{process:?}: {lost:?}");
            assert_eq!(lost[1] > 0, packets == Affected::All, "{process:?}: {lost:?}");
            assert_eq!(outcome.totals.dropped.packets, lost[0] + lost[1]);
            assert_eq!(outcome.totals.control_dropped, lost[1], "what goes back is ACKs");
            assert_eq!(outcome.flows.iter().map(|flow| flow.dropped_packets).sum::<u64>(), lost[0]);
        }
    }
}

#[test]
fn which_packets_of_a_link_are_lost_does_not_depend_on_the_scheme() {
    // Under any scheme the first packets of a lone flow are its first bytes: one window, sent at once.
    let lost = |congestion: &str, balance: &str| {
        let process = LossProcess::Independent(0.2);
        let lossy = |link| vec![fault(losses(process.clone(), Affected::Data), link, Time::ZERO, Time::MAX)];
        let (mut spec, there) = over_the_middle(&[(0, 4)], 30, lossy);
        spec.intra = patient(congestion, balance);
        spec.stop.time = at(FIRST + PACKET * 40);
        let outcome = run(&spec);
        (outcome.ports[there.index()].sent_packets, outcome.ports[there.index()].lost_packets)
    };
    let (sent, expected) = lost("fixed_window", "ecmp");
    assert!(sent == 30 && (1..20).contains(&expected), "{expected} of {sent}");
    for (congestion, balance) in [("fixed_window", "rps"), ("dctcp", "ecmp"), ("dctcp", "unolb")] {
        assert_eq!(lost(congestion, balance), (sent, expected), "{congestion}+{balance}");
    }
}

/// Flows from site to site over two WAN links, one of which goes down after a while.
fn failing_wan(withdraw_after: Option<Duration>) -> (Spec, PortId) {
    let network = two_sites(4, Duration::from_us(50));
    let link = network.port_named("border0->border1#0").expect("there are two");
    let flows = (0..8).map(|n| flow(n, 16 + n, Bytes::new(2_000_000), Time::ZERO)).collect();
    let scheme = scheme(control("unocc"), "ecmp");
    let mut spec = spec(network, ports(Bytes::new(1_000_000), &[]), &scheme, flows);
    spec.faults = vec![Fault { withdraw_after, ..fault(FaultKind::LinkDown, link, us(150), us(20_000)) }];
    spec.stop.time = us(15_000);
    (spec, link)
}

#[test]
fn with_routes_withdrawn_flows_go_another_way_and_without_they_wait_for_the_link() {
    let (stuck, link) = failing_wan(None);
    let stuck = run(&stuck);
    let open = |outcome: &Outcome| outcome.flows.iter().filter(|flow| flow.finish.is_none()).count();
    assert!((1..8).contains(&open(&stuck)), "{} flows of 8 cross the link", open(&stuck));
    let timeouts =
        stuck.flows.iter().filter(|flow| flow.finish.is_none()).all(|flow| flow.sender.timeouts > 0);
    assert!(timeouts, "what waits is sent again and again");

    let (withdrawn, _) = failing_wan(Some(Duration::from_us(100)));
    let withdrawn = run(&withdrawn);
    assert_eq!(open(&withdrawn), 0);
    assert!(withdrawn.ports[link.index()].lost_packets > 0, "until the routes are withdrawn");
    let (at_once, _) = failing_wan(Some(Duration::ZERO));
    assert!(run(&at_once).ports[link.index()].lost_packets < withdrawn.ports[link.index()].lost_packets);
}

#[test]
fn restored_routes_use_the_link_again_and_withdrawn_ones_do_not() {
    let sent_after = |from: u64, until: u64| {
        let (mut spec, link) = failing_wan(Some(Duration::ZERO));
        (spec.faults[0].at, spec.faults[0].until) = (us(from), us(until));
        spec.flows.iter_mut().for_each(|flow| flow.start = us(500));
        let outcome = run(&spec);
        assert!(outcome.flows.iter().all(|flow| flow.finish.is_some()));
        (outcome.ports[link.index()].sent_packets, outcome.ports[link.index()].lost_packets)
    };
    assert_eq!(sent_after(0, 15_000), (0, 0));
    let (sent, lost) = sent_after(0, 400);
    assert!(sent > 100 && lost == 0, "{sent} sent, {lost} lost");
}

#[test]
fn faults_that_never_begin_change_nothing() {
    let (mut spec, link) = failing_wan(None);
    spec.faults.clear();
    let before = run(&spec);
    for (kind, withdraw_after) in [
        (FaultKind::LinkDown, Some(Duration::ZERO)),
        (FaultKind::BlackHole, None),
        (FaultKind::Rate(Rate::from_gbps(1)), None),
        (losses(LossProcess::Independent(1.0), Affected::All), None),
        (losses(LossProcess::Independent(0.0), Affected::All), None),
    ] {
        let never = kind != losses(LossProcess::Independent(0.0), Affected::All);
        let from = if never { us(14_999) } else { Time::ZERO };
        spec.faults = vec![Fault { withdraw_after, ..fault(kind.clone(), link, from, Time::MAX) }];
        assert_eq!(difference(&before, &run(&spec)), None, "{kind:?}");
    }
}
