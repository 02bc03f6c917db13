//! The buffers of switches: what their accounts have to hold.

use crate::spec::Spec;
use farspan_fabric::fault::NodeFaults;
use farspan_fabric::switch::shared::Shared;
use farspan_fabric::switch::shared::pool::Ingress;
use farspan_units::{NodeId, PortId};
use std::sync::Arc;

/// The state that the ports of a switch share, if they do.
pub(crate) fn shared(spec: &Spec, switch: NodeId, reverse: impl FnOnce() -> Arc<[PortId]>) -> Option<Shared> {
    let pool = spec.pool.as_ref().filter(|pool| pool.switches.includes(&spec.network, switch))?;
    let (first_port, reverse) = (PortId(spec.network.ports_of(switch).start), reverse());
    let shared = Shared::new(pool, first_port, &ingress(spec, switch, &reverse), reverse);
    Some(shared.expect("a spec's pool is large enough for every switch"))
}

/// Which ports of a switch cannot know on arrival what becomes of a packet: all that share a buffer, and those with faults.
pub(crate) fn changes(faults: Option<&NodeFaults>, shared: Option<&Shared>) -> impl Fn(u32) -> bool + use<> {
    let (changes, shares) = (faults.map(NodeFaults::changes).unwrap_or_default(), shared.is_some());
    move |id| shares || changes.iter().any(|&(_, port)| port.0 == id)
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
