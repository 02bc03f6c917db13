//! A few packets under every engine: small enough for Miri, which follows them through the code that is `unsafe`.

use crate::common;
use crate::common::{HEADER, MSS, control, flow, ports, scheme, spec};
use farspan_fabric::switch::shared::pause::{LosslessLinks, PauseConfig};
use farspan_fabric::switch::shared::pool::{Accounts, PoolConfig, Pooled};
use farspan_fabric::topology::Dumbbell;
use farspan_fabric::{Marker, Network, Overflow, Trim, Victim};
use farspan_sim::{EngineKind, Spec};
use farspan_units::{Bytes, Duration, Rate, Time};

/// Two sites of two hosts, far enough apart for a thread each.
fn network() -> Network {
    Dumbbell {
        hosts_per_side: 2,
        link_rate: Rate::from_gbps(100),
        link_delay: Duration::from_us(1),
        switch_delay: Duration::ZERO,
        bottleneck_rate: Rate::from_gbps(25),
        bottleneck_delay: Duration::from_us(5),
        two_sites: true,
    }
    .build()
    .expect("valid")
}

fn incast() -> Spec {
    let scheme = scheme(control("dctcp"), "ecmp");
    let mut ports = ports((MSS + HEADER) * 2, &[Marker::Step(MSS)]);
    for config in &mut ports.0 {
        let headers = (MSS + HEADER) * 4;
        config.overflow = Overflow::Trim(Trim {
            header: HEADER,
            victim: Victim::Coin,
            headers,
            at_last_hop: false,
            weight: None,
            returns: false,
        });
    }
    let size = Bytes::new(5 * 4096 + 1);
    let flows = [(0, 3), (1, 3), (2, 0)].map(|(src, dst)| flow(src, dst, size, Time::ZERO));
    spec(network(), ports, &scheme, flows.to_vec())
}

#[test]
fn trimmed_marked_and_whole_packets_come_out_the_same_under_every_engine() {
    let spec = incast();
    assert_eq!(farspan_sim::threads(&spec, EngineKind::Threads(2)), 2);
    let outcome = common::run(&spec);
    assert!(outcome.flows.iter().all(|flow| flow.finish.is_some()));
    assert!(outcome.flows.iter().any(|flow| flow.receiver.trimmed_packets > 0));
    assert!(outcome.flows.iter().any(|flow| flow.receiver.marked_packets > 0));
}

#[test]
fn paused_packets_come_out_the_same_under_every_engine() {
    let mut spec = incast();
    spec.ports = ports((MSS + HEADER) * 64, &[]);
    // Longer than a frame takes to come back.
    spec.flows.iter_mut().for_each(|flow| flow.size = MSS * 12);
    let free = common::run(&spec);
    // Three links each, with headroom of ten packets, and two to share.
    let (links, mtu) = (LosslessLinks::All, MSS + HEADER);
    let pause = PauseConfig { links, resume_offset: Bytes::ZERO, headroom: Some(mtu * 10) };
    spec.pool = Some(PoolConfig {
        size: mtu * 32,
        alpha: 1.0,
        reserve: Bytes::ZERO,
        accounts: Accounts::Ingress,
        switches: Pooled::All,
        pause: Some(pause),
    });
    let paused = common::run(&spec);
    assert!(paused.flows.iter().all(|flow| flow.finish.is_some()));
    assert_ne!(paused.digest, free.digest, "frames hold data up");
}
