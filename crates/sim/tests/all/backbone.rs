//! Two sites around backbone routers: every engine, window and number of threads comes out the same.

use crate::common::*;
use farspan_fabric::fault::FaultKind;
use farspan_fabric::{Fault, Marker, Red, Tier};
use farspan_sim::Spec;
use farspan_units::{Bytes, Duration, PortId, Time};

/// Incast into each site from both, on ports that hold a few dozen packets.
fn incasts(shape: (u32, u32, Duration), control_name: &str, balance: &str) -> Spec {
    let network = backbone(shape.0, shape.1, shape.2);
    let red = Red::new(Bytes::new(20_000), Bytes::new(80_000));
    let ports = ports(Bytes::new(120_000), &[Marker::Queue(red)]);
    let size = MSS * 150;
    let flows = [(0, 7), (1, 7), (2, 7), (4, 7), (4, 3), (5, 3), (6, 3), (0, 3)];
    let flows = flows.map(|(src, dst)| flow(src, dst, size, Time::ZERO)).into();
    spec(network, ports, &scheme(control(control_name), balance), flows)
}

#[test]
fn incasts_across_a_backbone_come_out_equal_under_every_engine() {
    let mut lost = 0;
    for shape in [
        (8, 4, Duration::from_us(50)),
        (4, 4, Duration::from_us(300)),
        (3, 3, Duration::from_us(1)),
        (1, 1, Duration::from_ms(1)),
    ] {
        for (control, balance) in [("dctcp-per-ack", "rps"), ("dctcp-per-ack", "ecmp"), ("unocc", "unolb")] {
            let spec = incasts(shape, control, balance);
            let outcome = equal_under_all(&spec).unwrap_or_else(|what| panic!("{shape:?} {control}: {what}"));
            assert!(outcome.totals.conserved(), "{shape:?} {control}");
            assert!(outcome.flows.iter().all(|flow| flow.finish.is_some()), "{shape:?} {control}");
            lost += outcome.flows.iter().map(|flow| flow.sender.timeouts).sum::<u64>();
        }
    }
    assert!(lost > 0, "nothing was lost: the gate would not notice a fault there");
}

#[test]
fn a_router_that_swallows_everything_is_the_same_under_every_engine() {
    let mut spec = incasts((8, 4, Duration::from_us(50)), "dctcp-per-ack", "rps");
    let from_router = |link: &farspan_fabric::Link| {
        link.tier == Tier::Wan && spec.network.nodes[link.from.index()].name == "router5"
    };
    let links = (0..).zip(&spec.network.links).filter(|(_, link)| from_router(link));
    let links: Vec<_> = links.map(|(port, _)| PortId(port)).collect();
    assert_eq!(links.len(), 2, "one to each site");
    let at = Time::ZERO + Duration::from_us(20);
    let until = at + Duration::from_ms(2);
    spec.faults = vec![Fault { kind: FaultKind::BlackHole, links, at, until, withdraw_after: None }];
    let outcome = equal_under_all(&spec).unwrap_or_else(|what| panic!("{what}"));
    assert!(outcome.flows.iter().all(|flow| flow.finish.is_some()));
    assert!(outcome.flows.iter().any(|flow| flow.sender.timeouts > 0), "spraying meets the router");
}
