//! The buffers of switches: what their accounts have to hold.

use crate::spec::Spec;
use farspan_fabric::switch::shared::Shared;
use farspan_fabric::switch::shared::pool::{Ingress, PoolConfig};
use farspan_units::{NodeId, PortId};
use std::sync::Arc;

/// The state that the ports of a switch share.
pub(crate) fn shared(spec: &Spec, config: &PoolConfig, switch: NodeId, reverse: &Arc<[PortId]>) -> Shared {
    let first_port = PortId(spec.network.ports_of(switch).start);
    let shared = Shared::new(config, first_port, &ingress(spec, switch, reverse), Arc::clone(reverse));
    shared.expect("a spec's pool is large enough for every switch")
}

/// The links that lead to a switch, in the order of its ports that lead back. `reverse`: the reverse of each link.
#[must_use]
pub fn ingress(spec: &Spec, switch: NodeId, reverse: &[PortId]) -> Vec<Ingress> {
    let signals = [&spec.intra, &spec.inter].map(|scheme| scheme.congestion.needs().signal_bytes.data);
    let mtu = spec.mss + spec.header + signals[0].max(signals[1]);
    let ingress = |port: u32| {
        let link = reverse[port as usize];
        let is_host = spec.network.links[link.index()].from.0 < spec.network.hosts;
        let jitter = if is_host { spec.jitter } else { spec.port_jitter };
        Ingress::new(&spec.network, [link, PortId(port)], jitter, mtu)
    };
    spec.network.ports_of(switch).map(ingress).collect()
}
