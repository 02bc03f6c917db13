//! Which flows go through a proxy, and through which.

use super::given;
use crate::error::ValueError;
use crate::model::{Proxy, Scenario};
use crate::value::{FaultKind, OnwardRule, ProxyHost, ProxyLoss, ProxyRule, RtoRule, WorkloadKind};
use farspan_fabric::Network;
use farspan_sim::{ProxyKind, ProxySpec};
use farspan_transport::balance::BalanceConfig;
use farspan_transport::congestion::CongestionConfig;
use farspan_transport::congestion::fixed_window::FixedWindowConfig;
use farspan_transport::proxy::LossDetection;
use farspan_transport::recovery::Rto;
use farspan_transport::{FlowProfile, Scheme};
use farspan_units::{Bytes, Duration, FlowId, HostId, Time};
use farspan_workload::Workload;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The flows of an incast between two sites.
struct Group {
    part: u32,
    /// Of the first of them.
    src: HostId,
    flows: Vec<FlowId>,
    ends: BTreeSet<HostId>,
}

/// The proxies of a scenario; `inter`: the scheme between sites.
pub(super) fn proxies(
    scenario: &Scenario,
    network: &Network,
    workload: &Workload,
    inter: &Scheme,
) -> Result<Vec<ProxySpec>, ValueError> {
    let Some(proxy) = &scenario.scheme.proxy else { return Ok(Vec::new()) };
    if proxy.loss == Some(ProxyLoss::GapPath) && paths(&inter.balance).is_none() {
        let problem = format!("flows under {} take many paths, or change them", inter.balance.name());
        let cure = "write scheme.inter.balance = { name = \"spray\", entropy_bits = 3 }, or loss = \"gap-flow\"";
        return Err(ValueError::rule("scheme.proxy.loss", problem, cure));
    }
    let groups = groups(scenario, network, workload);
    let spec = |group: Group| {
        Ok(ProxySpec {
            host: host(given(proxy.host), network, &group)?,
            kind: kind(proxy, scenario, inter),
            flows: group.flows,
            delay: given(proxy.delay.as_ref()).get().expect("delays are checked when a scenario is resolved"),
            patience: given(proxy.patience),
        })
    };
    groups.into_iter().map(spec).collect()
}

/// The incasts between sites: of each part of that kind, the flows from one site to one receiver.
fn groups(scenario: &Scenario, network: &Network, workload: &Workload) -> Vec<Group> {
    let mut groups: BTreeMap<(u32, u32, HostId), Group> = BTreeMap::new();
    for (id, flow) in (0..).map(FlowId).zip(&workload.flows) {
        let is_incast = scenario.workload[flow.part as usize].kind == Some(WorkloadKind::Incast);
        let sites = [flow.src, flow.dst].map(|host| u32::from(network.site(host)));
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

fn host(rule: ProxyHost, network: &Network, group: &Group) -> Result<HostId, ValueError> {
    let path = "scheme.proxy.host";
    let site = network.site(group.src);
    match rule {
        ProxyHost::Last => {
            let spare = (0..network.hosts).rev().map(HostId);
            let mut spare = spare.filter(|host| network.site(*host) == site && !group.ends.contains(host));
            spare.next().ok_or_else(|| {
                let problem = format!("every host of the site sends in workload[{}]", group.part);
                ValueError::rule(path, problem, "let a host be idle, or name one")
            })
        }
        ProxyHost::Number(number) => {
            let host = HostId(number);
            if number >= network.hosts {
                let problem = format!("host {number} of {}", network.hosts);
                return Err(ValueError::rule(path, problem, "give a host of the sending site, or \"last\""));
            }
            if network.site(host) != site || group.ends.contains(&host) {
                let problem = format!("host {number} sends or receives in workload[{}], or is of another site", group.part);
                return Err(ValueError::rule(path, problem, "give an idle host of the sending site, or \"last\""));
            }
            Ok(host)
        }
    }
}

fn kind(proxy: &Proxy, scenario: &Scenario, inter: &Scheme) -> ProxyKind {
    if given(proxy.kind) != ProxyRule::Naive {
        let loss = match given(proxy.loss) {
            ProxyLoss::GapPath => Some(LossDetection::PerPath { paths: paths(&inter.balance).unwrap_or(1) }),
            ProxyLoss::GapFlow => Some(LossDetection::PerFlow),
            ProxyLoss::Trim | ProxyLoss::None => None,
        };
        return ProxyKind::Streamlined { loss };
    }
    let onward = match given(proxy.onward) {
        OnwardRule::Scheme => inter.clone(),
        OnwardRule::LineRate => {
            let window = FixedWindowConfig { cwnd: Some(Bytes::MAX), pacing_rate: None };
            let congestion = CongestionConfig::FixedWindow(window);
            let profile = FlowProfile::new(inter.profile.acks.clone(), &congestion);
            Scheme { congestion, profile, ..inter.clone() }
        }
    };
    let rto = Some(match given(proxy.rto) {
        RtoRule::Path => Rto::Path,
        RtoRule::ThreeRtts => Rto::BaseRtts(3),
        RtoRule::Value(time) => Rto::Fixed(time),
        RtoRule::Rfc6298 => Rto::Rfc6298 {
            variance_floor: given(scenario.transport.rto_variance_floor),
            min: given(scenario.transport.rto_min),
        },
    });
    ProxyKind::Naive { rto, onward: Arc::new(onward), room: given(proxy.queue).get() }
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
pub(super) fn failures(scenario: &Scenario, proxies: &[ProxySpec]) -> Result<Vec<(Time, HostId)>, ValueError> {
    let hosts: BTreeSet<_> = proxies.iter().map(|proxy| proxy.host).collect();
    let down = scenario.fault.iter().enumerate().filter(|(_, fault)| fault.kind == Some(FaultKind::ProxyDown));
    let mut failures = Vec::new();
    for (n, fault) in down {
        let at = Time::ZERO + fault.at.unwrap_or(Duration::ZERO);
        let named: Vec<_> = match fault.host {
            None => hosts.iter().copied().collect(),
            Some(host) => hosts.get(&HostId(host)).copied().into_iter().collect(),
        };
        if named.is_empty() {
            let problem = fault.host.map_or("there is no proxy".to_owned(), |host| format!("host {host} is no proxy"));
            let cure = "give [scheme.proxy] a kind, or leave host out for all proxies";
            return Err(ValueError::rule(format!("fault[{n}].host"), problem, cure));
        }
        failures.extend(named.into_iter().map(|host| (at, host)));
    }
    Ok(failures)
}
