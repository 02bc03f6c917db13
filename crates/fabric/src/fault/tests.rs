use super::*;
use crate::packet::Packet;
use alloc::vec;
use farspan_units::{Bytes, FlowId, HostId};

fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

fn fault(kind: FaultKind, links: &[u32], from: u64, until: Option<u64>) -> Fault {
    let links = links.iter().copied().map(PortId).collect();
    Fault { kind, links, at: at(from), until: until.map_or(Time::MAX, at), withdraw_after: None }
}

/// The faults of a node with ports 10 to 13.
fn node(faults: &[Fault]) -> NodeFaults {
    NodeFaults::new(&Faults::new(faults, 20), 10..14, 1).expect("it has faults")
}

fn packet(flow: u32, control: bool) -> Packet {
    Packet::new(FlowId(flow), HostId(0), Bytes::new(if control { 64 } else { 4160 }), 0, control, 0)
}

fn half(packets: Affected) -> FaultKind {
    FaultKind::Loss(Loss { process: LossProcess::Independent(0.5), packets })
}

fn one_in_block(per: Numbering) -> FaultKind {
    let process = LossProcess::Blocks { block: 4, losses: vec![1.0], per };
    FaultKind::Loss(Loss { process, packets: Affected::Data })
}

#[test]
fn a_black_hole_takes_what_leaves_after_its_begin_and_up_to_its_end_of_its_own_link_only() {
    let mut node = node(&[fault(FaultKind::BlackHole, &[11], 5, Some(9))]);
    let mut loses = |port, us| node.loses(PortId(port), at(us), &packet(0, true));
    assert_eq!([5, 6, 9, 10].map(|us| loses(11, us)), [false, true, true, false]);
    assert!(!loses(12, 6));
    assert_eq!(node.lost(PortId(11)), Lost { packets: 2, bytes: Bytes::new(128) });
    assert_eq!(node.lost(PortId(12)), Lost::default());
    assert!(node.changes().is_empty(), "the port sends on");
}

#[test]
fn a_link_is_down_until_no_fault_keeps_it_down() {
    let node = node(&[
        fault(FaultKind::LinkDown, &[10], 2, Some(6)),
        fault(FaultKind::LinkDown, &[10, 13], 4, Some(8)),
    ]);
    let down = |port| [1, 2, 5, 6, 7, 8].map(|us| node.is_down(PortId(port), at(us)));
    assert_eq!(down(10), [false, true, true, true, true, false]);
    assert_eq!(down(13), [false, false, true, true, true, false]);
    let changes = [(at(2), PortId(10)), (at(4), PortId(10)), (at(4), PortId(13))];
    assert_eq!(node.changes(), changes.into_iter().collect());
}

#[test]
fn of_rates_the_last_that_began_counts_and_of_equals_the_last_named() {
    let rate = |gbps| FaultKind::Rate(Rate::from_gbps(gbps));
    let node = node(&[
        fault(rate(10), &[10], 4, Some(6)),
        fault(rate(40), &[10], 2, None),
        fault(rate(20), &[10], 2, Some(8)),
    ]);
    let rates =
        [1, 2, 4, 6, 8].map(|us| node.rate(PortId(10), at(us)).map(|rate| rate.as_bps() / 1_000_000_000));
    assert_eq!(rates, [None, Some(20), Some(10), Some(20), Some(40)]);
}

#[test]
fn losses_of_data_spare_control_packets_and_do_not_count_them() {
    let lost = |kind, with_acks: bool| {
        let mut node = node(&[fault(kind, &[10], 0, None)]);
        let mut lost = vec![];
        for us in 1..=64 {
            if with_acks {
                let ack = node.loses(PortId(10), at(us), &packet(0, true));
                assert!(!ack);
            }
            lost.push(node.loses(PortId(10), at(us), &packet(0, false)));
        }
        lost
    };
    assert_eq!(lost(half(Affected::Data), true), lost(half(Affected::Data), false));
    let mut all = node(&[fault(half(Affected::All), &[10], 0, None)]);
    let acks = (1..=64).filter(|&us| all.loses(PortId(10), at(us), &packet(0, true))).count();
    assert!((16..=48).contains(&acks), "{acks} of 64");
}

#[test]
fn loss_processes_of_one_link_draw_independently() {
    let both = [fault(half(Affected::All), &[10], 0, None), fault(half(Affected::All), &[10], 0, None)];
    let mut node = node(&both);
    let lost = (1..=10_000).filter(|&us| node.loses(PortId(10), at(us), &packet(0, false))).count();
    // 1 - 1/2 x 1/2, within three deviations.
    assert!((7370..=7630).contains(&lost), "{lost} of 10,000");
}

#[test]
fn a_process_draws_the_same_whatever_other_faults_the_link_has() {
    let alone = [fault(half(Affected::All), &[10], 0, None)];
    let beside = [alone[0].clone(), fault(FaultKind::BlackHole, &[10], 0, Some(50))];
    let late = |faults: &[Fault]| {
        let mut node = node(faults);
        (1..100).map(|us| node.loses(PortId(10), at(us), &packet(0, false))).skip(50).collect::<Vec<_>>()
    };
    assert_eq!(late(&alone), late(&beside));
}

#[test]
fn blocks_are_numbered_by_port_or_by_flow_over_all_links_of_the_fault() {
    // Four packets, one on each link: a block of a flow, but the first of four blocks of ports.
    let lost = |per, flows: [u32; 4], rounds: u64| {
        let mut node = node(&[fault(one_in_block(per), &[10, 11, 12, 13], 0, None)]);
        let mut round = |us| {
            let sent =
                (0..4).filter(|&n| node.loses(PortId(10 + n), at(us), &packet(flows[n as usize], false)));
            sent.count()
        };
        (1..=rounds).map(&mut round).collect::<Vec<_>>()
    };
    assert_eq!(lost(Numbering::Flow, [7; 4], 8), [1; 8], "one in each block of the flow");
    let by_port = lost(Numbering::Queue, [7; 4], 4);
    assert_eq!(by_port.iter().sum::<usize>(), 4, "one in each port's block: {by_port:?}");
    assert_ne!(by_port, [1; 4], "ports draw apart");
    let by_flow = lost(Numbering::Flow, [7, 8, 9, 6], 4);
    assert_eq!(by_flow.iter().sum::<usize>(), 4);
    assert_ne!(by_flow, [1; 4], "flows draw apart");
}

#[test]
fn routes_change_after_the_delay_and_when_the_last_reason_is_gone() {
    let withdrawn = |links: &[u32], from, until| Fault {
        withdraw_after: Some(Duration::from_us(10)),
        ..fault(FaultKind::LinkDown, links, from, until)
    };
    let set = |links: &[u32]| links.iter().copied().map(PortId).collect::<BTreeSet<_>>();
    let faults = [
        withdrawn(&[1], 0, Some(20)),
        withdrawn(&[1, 2], 5, Some(30)),
        fault(FaultKind::LinkDown, &[3], 0, None),
        withdrawn(&[1], 8, Some(9)),
    ];
    let changes = withdrawals(&faults);
    let expected = [(at(10), set(&[1])), (at(15), set(&[1, 2])), (at(40), set(&[]))];
    assert_eq!(changes, expected);
}
