//! Which flows go through a proxy, and through which.

use super::PacketSizes;
use farspan_fabric::{Network, Routes};
use farspan_scenario::ValueError;
use farspan_scenario::model::{Fault, FullBuffer, NaiveProxy, Proxy, Scenario, Traffic};
use farspan_scenario::value::{OnwardRule, ProxyHost, ProxyHostRule, ProxyLoss, RtoRule};
use farspan_sim::{NaiveSpec, ProxySpec};
use farspan_transport::balance::BalanceConfig;
use farspan_transport::congestion::CongestionConfig;
use farspan_transport::congestion::fixed_window::FixedWindowConfig;
use farspan_transport::proxy::{LossDetection, ProxyKind, planner};
use farspan_transport::recovery::Rto;
use farspan_transport::{FlowProfile, Scheme};
use farspan_units::{Bytes, Duration, FlowId, HostId, Purpose, Random, Time};
use farspan_workload::Workload;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Where a scenario says which host is the proxy.
const PATH: &str = "scheme.proxy.host";

/// The flows of an incast between two sites.
struct Group {
    part: u32,
    /// The sender of the first of them.
    src: HostId,
    flows: Vec<FlowId>,
    ends: BTreeSet<HostId>,
}

/// The proxies of a scenario; `inter`: the scheme between sites.
pub(super) fn proxies(
    scenario: &Scenario,
    (network, routes): (&Network, &Routes),
    workload: &Workload,
    inter: &Scheme,
    seed: u64,
) -> Result<Vec<ProxySpec>, ValueError> {
    let Some(proxy) = &scenario.scheme.proxy else { return Ok(Vec::new()) };
    let by_gaps = proxy.kind == ProxyKind::Streamlined(ProxyLoss::GapPath);
    if by_gaps && paths(&inter.balance).is_none() {
        let problem = format!("flows under {} take many paths, or change them", inter.balance.name());
        let cure =
            "write scheme.inter.balance = { name = \"spray\", entropy_bits = 3 }, or loss = \"gap-flow\"";
        return Err(ValueError::rule("scheme.proxy.loss", problem, cure));
    }
    let groups = groups(scenario, network, workload);
    let of_its_own = |group: &&Group| scenario.workload[group.part as usize].balance.is_some();
    if by_gaps && let Some(group) = groups.iter().find(of_its_own) {
        let problem = "gap-path knows the paths of scheme.inter.balance alone";
        let cure = "remove it, or write scheme.proxy.loss = \"gap-flow\"";
        return Err(ValueError::rule(format!("workload[{}].balance", group.part), problem, cure));
    }
    let hosts = Choosing { scenario, network, routes, workload, inter, seed }.hosts(proxy, &groups)?;
    let delay = proxy.delay.get("scheme.proxy.delay")?;
    let spec = |(group, host): (Group, Option<HostId>)| {
        Some(ProxySpec {
            host: host?,
            kind: kind(proxy, scenario, inter),
            flows: group.flows,
            delay: delay.clone(),
            longest_silence: proxy.patience,
        })
    };
    Ok(groups.into_iter().zip(hosts).filter_map(spec).collect())
}

/// The incasts between sites: of each part of that kind, the flows from one site to one receiver.
fn groups(scenario: &Scenario, network: &Network, workload: &Workload) -> Vec<Group> {
    let mut groups: BTreeMap<(u32, u32, HostId), Group> = BTreeMap::new();
    for (id, flow) in (0..).map(FlowId).zip(&workload.flows) {
        let is_incast = matches!(scenario.workload[flow.part as usize].traffic, Traffic::Incast(_));
        let sites = [flow.src, flow.dst].map(|host| network.site(host));
        if !is_incast || sites[0] == sites[1] {
            continue;
        }
        let new = || Group { part: flow.part, src: flow.src, flows: Vec::new(), ends: BTreeSet::new() };
        let group = groups.entry((flow.part, sites[0], flow.dst)).or_insert_with(new);
        group.flows.push(id);
        group.ends.extend([flow.src, flow.dst]);
    }
    groups.into_values().collect()
}

/// All that a choice of hosts depends on.
struct Choosing<'a> {
    scenario: &'a Scenario,
    network: &'a Network,
    routes: &'a Routes,
    workload: &'a Workload,
    inter: &'a Scheme,
    seed: u64,
}

impl Choosing<'_> {
    /// The host of each group, or none.
    fn hosts(&self, proxy: &Proxy, groups: &[Group]) -> Result<Vec<Option<HostId>>, ValueError> {
        match &proxy.host {
            ProxyHost::Number(number) => {
                groups.iter().map(|group| self.named(group, *number).map(Some)).collect()
            }
            ProxyHost::Each(hosts) if hosts.len() != groups.len() => {
                let problem = format!("{} hosts for {} incasts between sites", hosts.len(), groups.len());
                Err(ValueError::rule(PATH, problem, "give a host or \"none\" for each, in order"))
            }
            ProxyHost::Each(hosts) => {
                let named = |(group, host): (&Group, &Option<u32>)| {
                    host.map(|host| self.named(group, host)).transpose()
                };
                groups.iter().zip(hosts).map(named).collect()
            }
            ProxyHost::Rule(ProxyHostRule::Last) => {
                let last = |group| self.spare(group)?.pop().map(Some).ok_or_else(|| none_idle(group));
                groups.iter().map(last).collect()
            }
            ProxyHost::Rule(ProxyHostRule::Random) => {
                let drawn = |(n, group): (u64, &Group)| {
                    let spare = self.spare(group)?;
                    let mut random = Random::new(self.seed, Purpose::Proxy, 2 << 32 | n);
                    Ok(Some(spare[random.below(spare.len() as u64) as usize]))
                };
                (0..).zip(groups).map(drawn).collect()
            }
            ProxyHost::Rule(ProxyHostRule::Planned) => Ok(self.planned(groups, planner::Choice::All)),
            ProxyHost::Rule(ProxyHostRule::Probed) => {
                Ok(self.planned(groups, planner::Choice::Two { seed: self.seed }))
            }
        }
    }

    fn of_site(&self, site: u32) -> impl Iterator<Item = HostId> + '_ {
        (0..self.network.hosts).map(HostId).filter(move |host| self.network.site(*host) == site)
    }

    /// The hosts of the sending site that neither send nor receive in an incast, at least one.
    fn spare(&self, group: &Group) -> Result<Vec<HostId>, ValueError> {
        let site = self.of_site(self.network.site(group.src));
        let spare: Vec<_> = site.filter(|host| !group.ends.contains(host)).collect();
        if spare.is_empty() { Err(none_idle(group)) } else { Ok(spare) }
    }

    fn named(&self, group: &Group, number: u32) -> Result<HostId, ValueError> {
        let cure = "give an idle host of the sending site, or a rule such as \"last\"";
        if number >= self.network.hosts {
            let problem = format!("host {number} of {}", self.network.hosts);
            return Err(ValueError::rule(PATH, problem, cure));
        }
        let host = HostId(number);
        if self.network.site(host) != self.network.site(group.src) || group.ends.contains(&host) {
            let problem =
                format!("host {number} sends or receives in workload[{}], or is of another site", group.part);
            return Err(ValueError::rule(PATH, problem, cure));
        }
        Ok(host)
    }

    /// The choice of the planner, site by site.
    fn planned(&self, groups: &[Group], choice: planner::Choice) -> Vec<Option<HostId>> {
        let mut plan = vec![None; groups.len()];
        let sites: BTreeSet<_> = groups.iter().map(|group| self.network.site(group.src)).collect();
        for site in sites {
            let of_site = |(_, group): &(usize, &Group)| self.network.site(group.src) == site;
            let here: Vec<_> = groups.iter().enumerate().filter(of_site).collect();
            let declared: Vec<_> = here.iter().map(|(_, group)| self.declared(group)).collect();
            let candidates: Vec<_> = self.of_site(site).collect();
            let Some(path) = declared.first().and_then(|first| self.path(first, &candidates)) else {
                continue;
            };
            let hosts = planner::plan(&declared, &path, &candidates, self.network.hosts, choice);
            here.into_iter().zip(hosts).for_each(|((place, _), host)| plan[place] = host);
        }
        plan
    }

    fn declared(&self, group: &Group) -> planner::Declared {
        let flows = || group.flows.iter().map(|flow| &self.workload.flows[flow.index()]);
        let receiver = flows().next().map_or(HostId(0), |flow| flow.dst);
        planner::Declared {
            senders: flows().map(|flow| flow.src).collect(),
            receiver,
            bytes: flows().map(|flow| flow.size).sum(),
        }
    }

    /// The path of an incast's first sender; `None`: there is no other host at its site.
    fn path(&self, incast: &planner::Declared, candidates: &[HostId]) -> Option<planner::PathFacts> {
        let from = *incast.senders.first()?;
        let near = candidates.iter().copied().rev().find(|host| *host != from)?;
        let sizes = PacketSizes::of(self.scenario);
        let between = |to| {
            let path = self.routes.path(self.network, from, to);
            let base_rtt =
                [sizes.mtu(), sizes.header].map(|size| path.one_way(self.network, size)).into_iter().sum();
            (self.network.links[path.links[0].index()].rate, base_rtt)
        };
        let ((line_rate, base_rtt), (_, near_rtt)): ((_, Duration), (_, Duration)) =
            (between(incast.receiver), between(near));
        let bdp = line_rate.bytes_in(base_rtt);
        let buffer = self.scenario.topology.buffer;
        let first_window = self.scenario.transport.start.bytes(bdp, sizes.payload);
        let rto = match self.inter.recovery.rto {
            Rto::BaseRtts(count) => base_rtt * u64::from(count),
            Rto::Fixed(rto) => rto,
            _ => base_rtt + line_rate.transmission(buffer),
        };
        let trims = matches!(self.scenario.scheme.ports.overflow, FullBuffer::Trims { .. });
        Some(planner::PathFacts { line_rate, base_rtt, near_rtt, first_window, buffer, rto, trims })
    }
}

fn none_idle(group: &Group) -> ValueError {
    let problem = format!("every host of the site sends in workload[{}]", group.part);
    ValueError::rule(PATH, problem, "let a host be idle, or name one")
}

fn kind(proxy: &Proxy, scenario: &Scenario, inter: &Scheme) -> ProxyKind<NaiveSpec, Option<LossDetection>> {
    let NaiveProxy { queue, onward, rto } = match proxy.kind {
        ProxyKind::Naive(naive) => naive,
        ProxyKind::Streamlined(ProxyLoss::GapPath) => {
            let paths = paths(&inter.balance).unwrap_or(1);
            return ProxyKind::Streamlined(Some(LossDetection::PerPath { paths }));
        }
        ProxyKind::Streamlined(ProxyLoss::GapFlow(config)) => {
            return ProxyKind::Streamlined(Some(LossDetection::PerFlow(config)));
        }
        ProxyKind::Streamlined(ProxyLoss::Trim | ProxyLoss::None) => return ProxyKind::Streamlined(None),
    };
    let onward = match onward {
        OnwardRule::Scheme => inter.clone(),
        OnwardRule::LineRate => {
            let window = FixedWindowConfig { cwnd: Some(Bytes::MAX), pacing_rate: None };
            let congestion = CongestionConfig::FixedWindow(window);
            let profile = FlowProfile::new(inter.profile.acks.clone(), &congestion, inter.recovery.policy);
            Scheme { congestion, profile, ..inter.clone() }
        }
    };
    let rto = Some(match rto {
        RtoRule::Path => Rto::Path,
        RtoRule::ThreeRtts => Rto::BaseRtts(3),
        RtoRule::Value(time) => Rto::Fixed(time),
        RtoRule::Rfc6298 => Rto::Rfc6298 {
            initial: scenario.transport.rto_initial,
            variance_floor: scenario.transport.rto_variance_floor,
            min: scenario.transport.rto_min,
        },
    });
    ProxyKind::Naive(NaiveSpec { rto, onward: Arc::new(onward), room: queue.get() })
}

/// How many paths a flow takes under a path selector, if it takes a few and the same all the time.
pub(crate) const fn paths(balance: &BalanceConfig) -> Option<u8> {
    match balance {
        BalanceConfig::Ecmp(_) => Some(1),
        BalanceConfig::Rps(rps) if rps.entropies <= 64 => Some(rps.entropies as u8),
        BalanceConfig::Spray(spray) if spray.entropy_bits <= 6 => Some(1 << spray.entropy_bits),
        _ => None,
    }
}

/// Proxies that fail, and when.
pub(super) fn failures(
    scenario: &Scenario,
    proxies: &[ProxySpec],
) -> Result<Vec<(Time, HostId)>, ValueError> {
    let hosts: BTreeSet<_> = proxies.iter().map(|proxy| proxy.host).collect();
    let mut failures = Vec::new();
    for (n, fault) in scenario.fault.iter().enumerate() {
        let Fault::ProxyDown { host, at } = fault else { continue };
        let named: Vec<_> = match host {
            None => hosts.iter().copied().collect(),
            Some(host) => hosts.get(&HostId(*host)).copied().into_iter().collect(),
        };
        if named.is_empty() {
            let problem =
                host.map_or("there is no proxy".to_owned(), |host| format!("host {host} is not a proxy"));
            let cure = "give [scheme.proxy] a kind, or leave host out for all proxies";
            return Err(ValueError::rule(format!("fault[{n}].host"), problem, cure));
        }
        failures.extend(named.into_iter().map(|host| (Time::ZERO + *at, host)));
    }
    Ok(failures)
}
