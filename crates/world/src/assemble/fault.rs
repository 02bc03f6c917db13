//! Faults: names and patterns to links.

use super::ports::tier_name;
use farspan_fabric::fault::{Affected, FaultKind, Loss, LossProcess, Numbering};
use farspan_fabric::{self as fabric, Link, Network, NodeKind};
use farspan_scenario::ValueError;
use farspan_scenario::model::{self, Fault, LinkChoice, LinkEvent, LinkFault, Scenario};
use farspan_scenario::names;
use farspan_scenario::ranges::Pattern;
use farspan_scenario::value::{LossPackets, LossPer};
use farspan_units::{NodeId, PortId, Purpose, Random, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most names of links that all patterns together are held against: some seconds.
const MOST_COMPARED: usize = 1 << 25;
/// The most links that all faults have together.
const MOST_LINKS: usize = 1 << 22;
/// The most faults of one link: each packet is held against all of them.
const MOST_OF_A_LINK: u32 = 1000;

/// All faults of a scenario; `seed` draws the links of those that say which share of them.
pub(super) fn faults(
    scenario: &Scenario,
    network: &Network,
    seed: u64,
) -> Result<Vec<fabric::Fault>, ValueError> {
    let mut places = None;
    let mut all = Vec::new();
    let mut count = vec![0; network.links.len()];
    let mut total = 0;
    for (number, fault) in scenario.fault.iter().enumerate() {
        let Fault::OfLinks(fault) = fault else { continue };
        let links = places.get_or_insert_with(|| Places::new(network)).links(number, fault, seed)?;
        total += links.len();
        if total > MOST_LINKS {
            let problem =
                format!("the faults up to this one have {total} links together, more than {MOST_LINKS}");
            let cure = "give fewer faults, or fewer links per fault";
            return Err(ValueError::rule(format!("fault[{number}]"), problem, cure));
        }
        for port in &links {
            count[port.index()] += 1;
            if count[port.index()] > MOST_OF_A_LINK {
                let name = network.port_name(*port);
                let problem = format!("more than {MOST_OF_A_LINK} faults of the link {name}");
                let cure = "give fewer faults, or fewer links per fault";
                return Err(ValueError::rule(format!("fault[{number}]"), problem, cure));
            }
        }
        all.push(fabric::Fault {
            kind: kind(fault),
            links,
            at: Time::ZERO + fault.at,
            until: fault.until.map_or(Time::MAX, |until| Time::ZERO + until),
            withdraw_after: fault.withdraw_after,
        });
    }
    Ok(all)
}

/// The word of a scenario for a kind of fault.
pub(crate) const fn fault_name(kind: &FaultKind) -> &'static str {
    match kind {
        FaultKind::LinkDown => model::FaultKind::LinkDown.name(),
        FaultKind::BlackHole => model::FaultKind::BlackHole.name(),
        FaultKind::Rate(_) => model::FaultKind::Rate.name(),
        FaultKind::Loss(Loss { process: LossProcess::Independent(_), .. }) => model::FaultKind::Loss.name(),
        _ => model::FaultKind::BlockLoss.name(),
    }
}

fn kind(fault: &LinkFault) -> FaultKind {
    let loss = |process, packets: &LossPackets| {
        let packets = match packets {
            LossPackets::Data => Affected::Data,
            LossPackets::All => Affected::All,
        };
        FaultKind::Loss(Loss { process, packets })
    };
    match &fault.event {
        LinkEvent::Down => FaultKind::LinkDown,
        LinkEvent::BlackHole => FaultKind::BlackHole,
        LinkEvent::Rate(rate) => FaultKind::Rate(*rate),
        LinkEvent::Loss { probability, packets } => loss(LossProcess::Independent(*probability), packets),
        LinkEvent::BlockLoss { block, probabilities, per, packets } => {
            let per = match per {
                LossPer::Queue => Numbering::Queue,
                LossPer::Flow => Numbering::Flow,
            };
            loss(LossProcess::Blocks { block: *block, losses: probabilities.clone(), per }, packets)
        }
    }
}

/// The links of a network by name and by place.
struct Places<'a> {
    network: &'a Network,
    names: Vec<String>,
    by_name: BTreeMap<String, PortId>,
    by_ends: BTreeMap<(NodeId, NodeId, u32), PortId>,
    /// The choices of faults so far, with their links: many choose the same.
    known: BTreeMap<LinkChoice, Arc<BTreeSet<PortId>>>,
    /// Names that patterns were held against.
    compared: usize,
}

impl<'a> Places<'a> {
    fn new(network: &'a Network) -> Self {
        let ports = || (0..network.links.len() as u32).map(PortId);
        let names: Vec<_> = ports().map(|port| network.port_name(port)).collect();
        let ends = network.links.iter().map(|link| (link.from, link.to, link.index));
        Self {
            network,
            by_name: names.iter().cloned().zip(ports()).collect(),
            names,
            by_ends: ends.zip(ports()).collect(),
            known: BTreeMap::new(),
            compared: 0,
        }
    }

    /// The links of fault `number`: those that it names, or its share of them, and those back if it says so.
    fn links(&mut self, number: usize, fault: &LinkFault, seed: u64) -> Result<Vec<PortId>, ValueError> {
        let named = self.chosen(number, &fault.links)?;
        let back = |port: &PortId| {
            let link = &self.network.links[port.index()];
            self.by_ends.get(&(link.to, link.from, link.index)).copied()
        };
        let both = fault.both_directions;
        let mut chosen = BTreeSet::clone(&named);
        if let Some(share) = fault.share {
            // One of each pair stands for both.
            let is_first =
                |port: &PortId| !both || back(port).is_none_or(|back| *port < back || !named.contains(&back));
            let mut drawn: Vec<_> = named.iter().copied().filter(is_first).collect();
            let count = (drawn.len() as f64 * share).round() as usize;
            if count == 0 {
                let problem = format!("{share} of {} links is less than one link", drawn.len());
                let cure = format!("give at least {:.3}", 1.0 / drawn.len() as f64);
                return Err(ValueError::rule(format!("fault[{number}].share"), problem, cure));
            }
            Random::new(seed, Purpose::Fault, number as u64).shuffle(&mut drawn);
            chosen = drawn.into_iter().take(count).collect();
        }
        if both {
            let back: Vec<_> = chosen.iter().filter_map(back).collect();
            chosen.extend(back);
        }
        Ok(chosen.into_iter().collect())
    }

    fn chosen(&mut self, number: usize, choice: &LinkChoice) -> Result<Arc<BTreeSet<PortId>>, ValueError> {
        if let Some(known) = self.known.get(choice) {
            return Ok(Arc::clone(known));
        }
        let ports = Arc::new(match choice {
            LinkChoice::At(place) => of_place(&format!("fault[{number}].links"), place, self.network)?,
            LinkChoice::Named(pattern) => self.of_pattern(&format!("fault[{number}].link"), pattern)?,
        });
        self.known.insert(choice.clone(), Arc::clone(&ports));
        Ok(ports)
    }

    fn of_pattern(&mut self, path: &str, pattern: &str) -> Result<BTreeSet<PortId>, ValueError> {
        if let Some(port) = self.by_name.get(pattern) {
            return Ok(BTreeSet::from([*port]));
        }
        self.compared += self.names.len();
        if self.compared > MOST_COMPARED {
            let problem = format!(
                "too many patterns: each one is compared with the names of {} links",
                self.names.len()
            );
            return Err(ValueError::rule(
                path,
                problem,
                "name the links, give patterns that match several, or fewer faults",
            ));
        }
        let parsed = Pattern::parse(pattern).map_err(|error| ValueError::new(path, error))?;
        let named = |(_, name): &(u32, &String)| parsed.fits(name);
        let ports: BTreeSet<_> = (0..).zip(&self.names).filter(named).map(|(port, _)| PortId(port)).collect();
        if ports.is_empty() {
            let problem = format!("no link is named {pattern:?}");
            return Err(ValueError::rule(path, problem, names::port_cure(pattern, &self.names)));
        }
        Ok(ports)
    }
}

/// The links of a tier, or of `TIER:FROM-TO` those from one kind of node to another.
fn of_place(path: &str, place: &str, network: &Network) -> Result<BTreeSet<PortId>, ValueError> {
    let said = |link: &Link| {
        let kind = |node: NodeId| kind_name(network.nodes[node.index()].kind);
        (tier_name(link.tier), format!("{}-{}", kind(link.from), kind(link.to)))
    };
    let (tier, ends) = place.split_once(':').map_or((place, None), |(tier, ends)| (tier, Some(ends)));
    let is_there = |(_, link): &(u32, &Link)| {
        let (of_tier, of_ends) = said(link);
        of_tier == tier && ends.is_none_or(|ends| ends == of_ends)
    };
    let ports: BTreeSet<_> =
        (0..).zip(&network.links).filter(is_there).map(|(port, _)| PortId(port)).collect();
    if ports.is_empty() {
        let there: BTreeSet<_> =
            network.links.iter().map(said).map(|(tier, ends)| format!("{tier}:{ends}")).collect();
        let cure = format!("give a tier, or one of {}", there.into_iter().collect::<Vec<_>>().join(", "));
        return Err(ValueError::rule(path, format!("no link lies at {place:?}"), cure));
    }
    Ok(ports)
}

const fn kind_name(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Host => "host",
        NodeKind::Tor => "tor",
        NodeKind::Agg => "agg",
        NodeKind::Core => "core",
        NodeKind::Border => "border",
    }
}

#[cfg(test)]
mod tests {
    use crate::World;
    use farspan_scenario::Request;

    /// The error of so many faults of all links of a star.
    fn refused(faults: usize, hosts: u32) -> Option<String> {
        let star = format!(
            "[topology]\nkind = 'star'\nhosts = {hosts}\n[[workload]]\nkind = 'permutation'\nflow_size = '1KiB'\n"
        );
        let fault = "[[fault]]\nkind = 'loss'\nlink = '*'\nprobability = 0.1\n";
        let request = Request { text: Some(star + &fault.repeat(faults)), ..Request::new("faults") };
        World::build(&request.resolve().unwrap()).err().map(|error| error.to_string())
    }

    #[test]
    fn a_link_has_a_thousand_faults_at_most_and_all_faults_have_four_million_links() {
        assert_eq!(refused(1000, 2), None);
        let one_link = refused(1001, 2).unwrap();
        assert!(one_link.contains("fault[1000]: more than 1000 faults of the link"), "{one_link}");
        let all = refused(43, 50_000).unwrap();
        assert!(all.contains("links together") && all.contains("give fewer faults"), "{all}");
    }
}
