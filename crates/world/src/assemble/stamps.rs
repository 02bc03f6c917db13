//! Whether packets have room for the telemetry of every port on their way.

use farspan_fabric::Routes;
use farspan_scenario::ValueError;
use farspan_sim::{ProxySpec, Spec};
use farspan_transport::Class;
use farspan_transport::proxy::ProxyKind;
use farspan_units::{FlowId, HostId, Telemetry};
use std::collections::{BTreeMap, BTreeSet};

/// Refuses flows whose control reads the state of each port where a path has more than a packet has room for: it would be blind to the
/// last ones.
pub(super) fn check(spec: &Spec, routes: &Routes) -> Result<(), ValueError> {
    let network = &spec.network;
    let reads_each = [Class::Intra, Class::Inter].map(|class| {
        let needs = spec.scheme(class).congestion.needs();
        needs.telemetry.most_hops() > 1 && spec.ports.0.iter().any(|port| port.telemetry >= needs.telemetry)
    });
    // No path crosses a switch twice.
    let switches = network.nodes.len() - network.hosts as usize;
    if reads_each == [false; 2] || switches <= Telemetry::MOST_HOPS && spec.proxies.is_empty() {
        return Ok(());
    }
    let relayed: BTreeMap<FlowId, &ProxySpec> =
        spec.proxies.iter().flat_map(|proxy| proxy.flows.iter().map(move |flow| (*flow, proxy))).collect();
    // The host's NIC writes nothing.
    let ports = |from: HostId, to: HostId| routes.path(network, from, to).links.len() - 1;
    let mut known = BTreeSet::new();
    for (id, flow) in (0..).map(FlowId).zip(&spec.flows) {
        let class =
            if network.site(flow.src) == network.site(flow.dst) { Class::Intra } else { Class::Inter };
        let proxy = relayed.get(&id);
        let leaf = |host: HostId| routes.leaf_of[host.index()];
        let ends = (leaf(flow.src), leaf(flow.dst), proxy.map(|proxy| proxy.host));
        if !reads_each[usize::from(class == Class::Inter)] || !known.insert(ends) {
            continue;
        }
        let crossed = match proxy {
            None => ports(flow.src, flow.dst),
            Some(proxy) => {
                let legs = [ports(flow.src, proxy.host), ports(proxy.host, flow.dst)];
                // What a packet carries goes on with it; two connections have packets of their own.
                match proxy.kind {
                    ProxyKind::Streamlined(_) => legs.iter().sum(),
                    ProxyKind::Naive(_) => legs[0].max(legs[1]),
                }
            }
        };
        if crossed > Telemetry::MOST_HOPS {
            return Err(too_long(spec, class, (flow.src, flow.dst), crossed));
        }
    }
    Ok(())
}

fn too_long(spec: &Spec, class: Class, (from, to): (HostId, HostId), ports: usize) -> ValueError {
    let path = match class {
        Class::Intra => "scheme.intra.congestion",
        Class::Inter => "scheme.inter.congestion",
    };
    let problem = format!(
        "{} reads the telemetry of every port, but a packet has room for {} ports, and there are {ports} from host {} to host {}",
        spec.scheme(class).congestion.name(),
        Telemetry::MOST_HOPS,
        from.0,
        to.0
    );
    ValueError::rule(
        path,
        problem,
        "take fewer switches in a row, or a control that reads less, such as \"poseidon\" or \"swift\"",
    )
}
