//! Which flows and which ports: by id, name, tag, class and pattern.

use super::World;
use super::network::usual_nic;
use crate::memory;
use farspan_fabric::{Network, Tier};
use farspan_metrics::Probe;
use farspan_scenario::model::Scenario;
use farspan_scenario::names::{self, matches};
use farspan_scenario::ranges::{self, Pattern, RangeError};
use farspan_scenario::value::{FlowChoice, PortChoice};
use farspan_scenario::{Place, Problem, ScenarioError, ValueError};
use farspan_sim::{ProbeKind, Probes, Series, Spec, Trace};
use farspan_units::{Bytes, Duration, FlowId, HostId, PortId, Time};
use farspan_workload::{Flow, Workload};
use std::collections::{BTreeMap, BTreeSet};

/// How many receivers count as bottlenecks, at most.
const BOTTLENECK_RECEIVERS: usize = 4;

/// All that can be sampled.
const PROBES: [ProbeKind; 8] = [
    ProbeKind::Rate,
    ProbeKind::Cwnd,
    ProbeKind::Rtt,
    ProbeKind::Queue,
    ProbeKind::PhantomQueue,
    ProbeKind::Utilization,
    ProbeKind::ProxyQueue,
    ProbeKind::Signal,
];

/// The probe that tables name for a simulated sample.
pub(crate) const fn probe(kind: ProbeKind) -> Probe {
    match kind {
        ProbeKind::Rate => Probe::Rate,
        ProbeKind::Cwnd => Probe::Cwnd,
        ProbeKind::Rtt => Probe::Rtt,
        ProbeKind::Queue => Probe::Queue,
        ProbeKind::PhantomQueue => Probe::PhantomQueue,
        ProbeKind::Utilization => Probe::Utilization,
        ProbeKind::ProxyQueue => Probe::ProxyQueue,
        ProbeKind::Signal => Probe::Signal,
    }
}

impl World {
    /// The samples that its probes take at least.
    pub(crate) fn samples(&self) -> f64 {
        let Spec { network, probes, proxies, stop, .. } = &self.spec;
        let length = shortest_run(stop.time - Time::ZERO, network, &self.workload);
        samples(probes, proxies.len(), length).into_iter().map(|(_, count)| count).sum()
    }

    /// Traces the flows that any of the selectors `flows` selects (`flow=17,20..29`, `tag=incast*`, `class=inter`), and the
    /// ports that `ports` names or matches: arguments `--trace` and `--pcap`.
    ///
    /// # Errors
    /// If one of them selects nothing.
    pub fn trace(&mut self, flows: &[String], ports: &[String]) -> Result<(), ScenarioError> {
        let (network, workload) = (&self.spec.network, &self.workload);
        let at = |option: &str, word: &str| Place::Argument(format!("{option} {word}"));
        let (mut traced, mut captured) = (BTreeSet::new(), BTreeSet::new());
        for word in flows {
            let found = self::flows("", std::slice::from_ref(word), network, workload);
            traced.extend(found.map_err(|error| error.at(at("--trace", word)))?);
        }
        for word in ports {
            let found = self::ports("", std::slice::from_ref(word), network);
            captured.extend(found.map_err(|error| error.at(at("--pcap", word)))?);
        }
        self.spec.trace =
            Trace { flows: traced.into_iter().collect(), ports: captured.into_iter().collect() };
        Ok(())
    }
}

/// The flows and ports that the probes of a scenario sample, beside so many proxies.
pub(super) fn probes(
    scenario: &Scenario,
    network: &Network,
    workload: &Workload,
    proxies: usize,
) -> Result<Probes, ValueError> {
    let probes = &scenario.probes;
    let rate_interval = probes.rate_interval.get();
    let queue_interval = probes.queue_interval.get();
    let ports = |key, choice: &PortChoice| match choice {
        PortChoice::Bottlenecks => Ok(bottlenecks(network, workload)),
        PortChoice::All => Ok((0..network.links.len() as u32).map(PortId).collect()),
        PortChoice::Named(wanted) => self::ports(key, wanted, network),
    };
    let links = ports("probes.links", &probes.links)?;
    if !links.is_empty() && queue_interval.is_none() {
        let cure = "give probes.queue_interval, such as \"100us\", or leave the links out";
        return Err(ValueError::rule(
            "probes.links",
            "links are sampled at probes.queue_interval, which is off",
            cure,
        ));
    }
    let queue_ports = ports("probes.ports", &probes.ports)?;
    let flows = sampled_flows(scenario, network, workload)?;
    let rate_flows = if rate_interval.is_some() { flows } else { Vec::new() };
    let series = series(&probes.series)?;
    let [from, until] = [scenario.measure.goodput_from, scenario.measure.goodput_until]
        .map(|after| after.map(|after| Time::ZERO + after));
    let goodput = from.zip(until).map(|(from, until)| from..until);
    let probes = Probes { rate_interval, rate_flows, queue_interval, queue_ports, links, series, goodput };
    let length = shortest_run(scenario.stop.time, network, workload);
    for (key, samples) in samples(&probes, proxies, length) {
        let cure = "sample less often, or fewer ports";
        memory::fits(key, (samples, "samples", memory::OF_SAMPLE), cure)?;
    }
    Ok(probes)
}

/// The probes of a network whose traffic comes from elsewhere: ports alone. Where the scenario samples bottlenecks, those are all
/// ports of switches, since nobody knows where the traffic will go.
pub(super) fn port_probes(scenario: &Scenario, network: &Network) -> Result<Probes, ValueError> {
    let probes = &scenario.probes;
    let ports = |key, choice: &PortChoice| match choice {
        PortChoice::Bottlenecks => {
            let links = (0..).zip(&network.links);
            Ok(links.filter(|(_, link)| link.tier != Tier::HostUp).map(|(port, _)| PortId(port)).collect())
        }
        PortChoice::All => Ok((0..network.links.len() as u32).map(PortId).collect()),
        PortChoice::Named(wanted) => self::ports(key, wanted, network),
    };
    Ok(Probes {
        queue_interval: probes.queue_interval.get(),
        queue_ports: ports("probes.ports", &probes.ports)?,
        links: ports("probes.links", &probes.links)?,
        series: series(&probes.series)?,
        ..Probes::default()
    })
}

/// The samples that probes take at least, by the key of their interval: of one flow at a time, and of all ports.
fn samples(probes: &Probes, proxies: usize, length: f64) -> [(&'static str, f64); 2] {
    let flows = probes.rate_flows.len().min(1);
    let ports = probes.queue_ports.len().max(probes.links.len()) + proxies;
    let count = |interval: Option<Duration>, sampled: usize| {
        interval.map_or(0.0, |interval| sampled as f64 * (length / interval.as_ps() as f64))
    };
    [
        ("probes.rate_interval", count(probes.rate_interval, flows)),
        ("probes.queue_interval", count(probes.queue_interval, ports)),
    ]
}

/// How long a run lasts at least, in ps: until the measured flow that could end last has left its NIC, or until `stop.time`.
fn shortest_run(stop: Duration, network: &Network, workload: &Workload) -> f64 {
    const PS: f64 = 1e12;
    let rate = usual_nic(network).as_bps().max(1) as f64;
    let end = |flow: &Flow| flow.start.as_ps() as f64 + flow.size.as_f64() * 8.0 * PS / rate;
    let last = workload.flows.iter().filter(|flow| flow.measured).map(end).fold(0.0, f64::max);
    last.min(stop.as_ps() as f64)
}

/// The flows whose rates, windows and RTTs are sampled.
fn sampled_flows(
    scenario: &Scenario,
    network: &Network,
    workload: &Workload,
) -> Result<Vec<FlowId>, ValueError> {
    let group = scenario.measure.fairness_group.as_deref();
    let tag = match group {
        None => None,
        Some(group) => Some(workload.tags.iter().position(|tag| tag == group).ok_or_else(|| {
            let tags: Vec<_> = workload.tags.iter().map(String::as_str).collect();
            ValueError::unknown("measure.fairness_group", "tag", group, &tags, &[])
        })? as u32),
    };
    let all = (0..).map(FlowId).zip(&workload.flows);
    match &scenario.probes.flows {
        None => Ok(all.filter(|(_, flow)| tag.is_none_or(|tag| flow.tag == tag)).map(|(id, _)| id).collect()),
        Some(FlowChoice::All) => Ok(all.map(|(id, _)| id).collect()),
        Some(FlowChoice::Selected(words)) => flows("probes.flows", words, network, workload),
    }
}

/// The series that the patterns choose.
fn series(patterns: &[String]) -> Result<Series, ValueError> {
    let mut chosen = Series::NONE;
    for pattern in patterns {
        let mut found = PROBES.into_iter().filter(|kind| matches(pattern, probe(*kind).name())).peekable();
        if found.peek().is_none() {
            let known: Vec<_> = PROBES.into_iter().map(|kind| probe(kind).name()).collect();
            return Err(ValueError::unknown("probes.series", "series", pattern, &known, &[]));
        }
        chosen = found.fold(chosen, Series::with);
    }
    Ok(chosen)
}

/// The ports with these names, or that these patterns match, in order of their ids.
///
/// # Errors
/// If one of them names no port; the error stands at `key`.
pub(crate) fn ports(key: &str, wanted: &[String], network: &Network) -> Result<Vec<PortId>, ValueError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let all: Vec<_> = (0..network.links.len() as u32).map(|port| network.port_name(PortId(port))).collect();
    let mut chosen = BTreeSet::new();
    for pattern in wanted {
        let parsed = Pattern::parse(pattern).map_err(|error| ValueError::new(key, error))?;
        let matching = (0..).map(PortId).zip(&all).filter(|(_, name)| parsed.fits(name));
        let matching: Vec<_> = matching.map(|(port, _)| port).collect();
        if matching.is_empty() {
            let problem = format!("there is no port {pattern:?}");
            return Err(ValueError::rule(key, problem, names::port_cure(pattern, &all)));
        }
        chosen.extend(matching);
    }
    Ok(chosen.into_iter().collect())
}

/// The flows that any of these selects, in order of their ids: `flow=17,20..29` (both ends included), `tag=incast*`,
/// `class=inter`.
///
/// # Errors
/// If one of them selects no flow; the error stands at `key`.
pub(crate) fn flows(
    key: &str,
    selectors: &[String],
    network: &Network,
    workload: &Workload,
) -> Result<Vec<FlowId>, ValueError> {
    let mut chosen = BTreeSet::new();
    for selector in selectors {
        let selected = selected(selector, network, workload);
        let selected = selected.map_err(|problem| ValueError::new(key, problem))?;
        if selected.is_empty() {
            let cure = format!("leave it out, or select some of {}", there(network, workload));
            return Err(ValueError::rule(key, format!("{selector:?} selects none of the flows"), cure));
        }
        chosen.extend(selected);
    }
    Ok(chosen.into_iter().map(FlowId).collect())
}

/// The flows there are, as selectors: all ids, classes and tags.
fn there(network: &Network, workload: &Workload) -> String {
    let ids = format!("flow=0..{}", workload.flows.len().saturating_sub(1));
    let classes = [(false, "class=intra"), (true, "class=inter")];
    let has = |inter| workload.flows.iter().any(|flow| is_inter(network, flow) == inter);
    let classes = classes.into_iter().filter(|(inter, _)| has(*inter)).map(|(_, class)| class.to_owned());
    let tags: BTreeSet<_> = workload.flows.iter().map(|flow| flow.tag).collect();
    let tags = tags.into_iter().map(|tag| format!("tag={}", workload.tags[tag as usize]));
    std::iter::once(ids).chain(classes).chain(tags).collect::<Vec<_>>().join(", ")
}

fn is_inter(network: &Network, flow: &farspan_workload::Flow) -> bool {
    network.site(flow.src) != network.site(flow.dst)
}

/// The ids of the flows that one selector selects.
fn selected(selector: &str, network: &Network, workload: &Workload) -> Result<Vec<u32>, Problem> {
    let flows = || (0..).zip(&workload.flows);
    let (what, value) = selector.split_once('=').unwrap_or(("", selector));
    match (what, value) {
        ("flow", "all") => Ok((0..workload.flows.len() as u32).collect()),
        ("flow", _) => ids(value, workload.flows.len()),
        ("tag", _) => {
            let tags: Vec<_> = workload.tags.iter().map(String::as_str).collect();
            if !tags.iter().any(|tag| matches(value, tag)) {
                return Err(Problem::UnknownName(names::unknown("tag", value, &tags, &[])));
            }
            let matching = flows().filter(|(_, flow)| matches(value, tags[flow.tag as usize]));
            Ok(matching.map(|(id, _)| id).collect())
        }
        ("class", "intra" | "inter") => {
            let of_class = flows().filter(|(_, flow)| is_inter(network, flow) == (value == "inter"));
            Ok(of_class.map(|(id, _)| id).collect())
        }
        ("class", _) => Err(Problem::UnknownName(names::unknown("class", value, &["intra", "inter"], &[]))),
        _ => {
            let cure =
                "write flow=17,20..29 or flow=all, tag=NAME (* stands for any text), or class=intra|inter";
            Err(Problem::rule(format!("{selector:?} selects no flows"), cure))
        }
    }
}

/// The flow ids of `17,20..29`, of `count` flows.
fn ids(text: &str, count: usize) -> Result<Vec<u32>, Problem> {
    let nearest = count.saturating_sub(1);
    let ids = match ranges::numbers(text, count) {
        Err(RangeError::TooMany { .. }) => {
            let problem = format!("{text:?} stands for more flows than there are");
            return Err(Problem::rule(problem, format!("give numbers from 0 to {nearest}, each once")));
        }
        ids => ids?,
    };
    if let Some(id) = ids.iter().find(|id| **id >= count as u64) {
        let cure = format!("the nearest is {nearest}; give numbers from 0 to {nearest}");
        return Err(Problem::rule(format!("there is no flow {id}"), cure));
    }
    Ok(ids.into_iter().map(|id| id as u32).collect())
}

/// The last links to the receivers with most traffic (those with at least half of the largest share), and the links
/// between the sites.
fn bottlenecks(network: &Network, workload: &Workload) -> Vec<PortId> {
    let mut received: BTreeMap<HostId, Bytes> = BTreeMap::new();
    for flow in &workload.flows {
        *received.entry(flow.dst).or_default() += flow.size;
    }
    let most = received.values().copied().max().unwrap_or_default();
    let mut receivers: Vec<_> = received.into_iter().filter(|(_, bytes)| *bytes * 2 >= most).collect();
    receivers.sort_by_key(|(host, bytes)| (std::cmp::Reverse(*bytes), *host));
    receivers.truncate(BOTTLENECK_RECEIVERS);
    let is_last = |to: u32| receivers.iter().any(|(host, _)| host.0 == to);
    let chosen = |link: &farspan_fabric::Link| link.tier == Tier::Wan || is_last(link.to.0);
    (0..).zip(&network.links).filter(|(_, link)| chosen(link)).map(|(port, _)| PortId(port)).collect()
}
