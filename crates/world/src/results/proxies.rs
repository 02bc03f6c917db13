//! The proxies of a run in numbers.

use crate::assemble::World;
use farspan_metrics::{FlowRecord, ProxyRecord, ProxySummary, ProxySums};
use farspan_sim::{FlowOutcome, Outcome};
use farspan_transport::proxy::ProxyQueue;
use farspan_units::{Bytes, HostId};

/// All proxies, and each of them; `None`: there is none.
pub(super) fn summary(world: &World, outcome: &Outcome, flows: &[FlowRecord]) -> Option<ProxySummary> {
    if outcome.proxies.is_empty() {
        return None;
    }
    let hosts = outcome.proxies.iter().map(|(host, queue)| record(world, flows, *host, queue));
    let all: Vec<_> = flows.iter().map(|flow| &flow.outcome).collect();
    let queues: Vec<_> = outcome.proxies.iter().map(|(_, queue)| *queue).collect();
    Some(ProxySummary { proxies: queues.len() as u64, sums: sums(&all, &queues), hosts: hosts.collect() })
}

/// One host, and the flows of all incasts that go through it.
fn record(world: &World, flows: &[FlowRecord], host: HostId, queue: &ProxyQueue) -> ProxyRecord {
    let specs = || world.spec.proxies.iter().filter(|proxy| proxy.host == host);
    let flows: Vec<_> =
        specs().flat_map(|proxy| &proxy.flows).map(|flow| &flows[flow.index()].outcome).collect();
    let kind = specs().next().map_or("", |proxy| proxy.kind.name());
    ProxyRecord {
        host: world.spec.network.nodes[host.index()].name.clone(),
        kind: kind.to_owned(),
        flows: flows.len() as u64,
        sums: sums(&flows, &[*queue]),
    }
}

fn sums(flows: &[&FlowOutcome], queues: &[ProxyQueue]) -> ProxySums {
    let relayed: Vec<_> = flows.iter().filter_map(|flow| flow.relayed).collect();
    let integral: u128 = queues.iter().map(|queue| queue.integral).sum();
    let passed: Bytes = queues.iter().map(|queue| queue.passed).sum();
    ProxySums {
        packets: relayed.iter().map(|counters| counters.sent_packets).sum(),
        bytes: relayed.iter().map(|counters| counters.sent_bytes.get()).sum(),
        queue_max_bytes: queues.iter().map(|queue| queue.max.get()).max().unwrap_or_default(),
        unacked_max_bytes: queues.iter().map(|queue| queue.unacked_max.get()).max().unwrap_or_default(),
        wait_mean_us: if passed.is_zero() { 0.0 } else { integral as f64 / passed.as_f64() / 1e6 },
        nacks: relayed.iter().map(|counters| counters.nacks).sum(),
        gap_packets: relayed.iter().map(|counters| counters.gap_packets).sum(),
        tail_packets: relayed.iter().map(|counters| counters.tail_packets).sum(),
        false_packets: relayed.iter().map(|counters| counters.false_packets).sum(),
        lost_packets: flows.iter().map(|flow| flow.lost_to_proxy).sum(),
        went_direct: flows.iter().filter(|flow| flow.went_direct.is_some()).count() as u64,
    }
}
