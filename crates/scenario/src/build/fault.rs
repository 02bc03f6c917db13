//! Faults: names and patterns to links.

use super::given;
use crate::error::ValueError;
use crate::model::{LinkFault, Scenario};
use crate::names;
use crate::value::{self, LossPackets, LossPer};
use farspan_fabric::fault::{Affected, FaultKind, Loss, LossProcess, Numbering};
use farspan_fabric::{Fault, Network};
use farspan_units::{PortId, Time};
use std::collections::{BTreeMap, BTreeSet};

/// All faults of a scenario.
pub(super) fn faults(scenario: &Scenario, network: &Network) -> Result<Vec<Fault>, ValueError> {
    if scenario.fault.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<_> = (0..network.links.len() as u32).map(|port| network.port_name(PortId(port))).collect();
    let fault = |(n, fault): (usize, &LinkFault)| {
        Ok(Fault {
            kind: kind(fault),
            links: links(&format!("fault[{n}].link"), fault, network, &names)?,
            at: Time::ZERO + given(fault.at),
            until: fault.until.map_or(Time::MAX, |until| Time::ZERO + until),
            withdraw_after: fault.withdraw_delay.filter(|_| given(fault.withdraw_routes)),
        })
    };
    scenario.fault.iter().enumerate().map(fault).collect()
}

fn kind(fault: &LinkFault) -> FaultKind {
    let loss = |process| {
        let packets = match given(fault.packets) {
            LossPackets::Data => Affected::Data,
            LossPackets::All => Affected::All,
        };
        FaultKind::Loss(Loss { process, packets })
    };
    match given(fault.kind) {
        value::FaultKind::LinkDown => FaultKind::LinkDown,
        value::FaultKind::BlackHole => FaultKind::BlackHole,
        value::FaultKind::Rate => FaultKind::Rate(given(fault.rate)),
        value::FaultKind::Loss => loss(LossProcess::Independent(given(fault.probability))),
        value::FaultKind::BlockLoss => loss(LossProcess::Blocks {
            block: given(fault.block),
            losses: given(fault.probabilities.clone()),
            per: match given(fault.per) {
                LossPer::Queue => Numbering::Queue,
                LossPer::Flow => Numbering::Flow,
            },
        }),
    }
}

/// The links that a fault names, and those back if it says so.
fn links(
    path: &str,
    fault: &LinkFault,
    network: &Network,
    names: &[String],
) -> Result<Vec<PortId>, ValueError> {
    let pattern = given(fault.link.as_deref());
    let named = |(_, name): &(u32, &String)| names::matches(pattern, name);
    let mut ports: BTreeSet<_> = (0..).zip(names).filter(named).map(|(port, _)| PortId(port)).collect();
    if ports.is_empty() {
        let problem = format!("no link is named {pattern:?}");
        return Err(ValueError::rule(path, problem, names::port_cure(pattern, names)));
    }
    if given(fault.both_directions) {
        let ends = network.links.iter().map(|link| (link.from, link.to, link.index));
        let by_ends: BTreeMap<_, _> = ends.zip(0..).collect();
        let back = |port: &PortId| {
            let link = &network.links[port.index()];
            by_ends.get(&(link.to, link.from, link.index)).copied().map(PortId)
        };
        let back: Vec<_> = ports.iter().filter_map(back).collect();
        ports.extend(back);
    }
    Ok(ports.into_iter().collect())
}
