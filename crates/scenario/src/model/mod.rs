//! A scenario twice: as it is written, and resolved.
//!
//! A written table is a `...Text`: every key of the TOML text, none of them required; its doc comments are the descriptions of
//! the JSON Schema. A resolved table has a value for each key that applies, by kind where a kind decides which do, and makes
//! a text again, with every default spelled out.

mod declare;
mod fault;
mod link_changes;
mod poisson;
pub(crate) mod ports;
mod proxy;
mod schema;
mod shape;
mod tables;
mod topology;
mod workload;

pub(crate) use fault::LinkFaultCommon;
pub use fault::{
    BlockLossKeys, Fault, FaultKind, LinkChoice, LinkEvent, LinkFault, LinkFaultText, LossKeys, OutageKeys,
    ProxyDownKeys, RateKeys,
};
pub use link_changes::{LinkChange, LinkChanges};
pub use poisson::{Classes, FlowCount, FlowSizes, Poisson};
pub use ports::{
    FullBuffer, Pfc, PfcText, Phantom, PhantomText, Pool, PoolText, Ports, PortsText, Red, RedText,
    Thresholds,
};
pub use proxy::{NaiveProxy, Proxy, ProxyText};
pub use shape::{Between, Borders, FatTree, LeafSpine, Shape, Sides, Topology, Wan};
pub use tables::{
    Backbone, BackboneText, Host, HostText, Measure, MeasureText, Probes, ProbesText, SchemeClass,
    SchemeClassText, Stop, StopText, Transport, TransportText, WanText,
};
pub(crate) use topology::TopologyCommon;
pub use topology::{
    DualFatTreeKeys, DualLeafSpineKeys, DumbbellKeys, FatTreeKeys, FromFileKeys, LeafSpineKeys,
    ParkingLotKeys, StarKeys, TopologyKind, TopologyText,
};
pub(crate) use workload::WorkloadCommon;
pub use workload::{
    Collective, CollectiveKeys, CollectiveKind, DrawnHosts, FlowsKeys, Incast, IncastHosts, IncastKeys,
    IncastText, Members, PairsKeys, PermutationKeys, PoissonKeys, Traffic, Workload, WorkloadKind,
    WorkloadText,
};

use crate::value::Profile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A farspan scenario: topology, scheme, workload, probes and stop rule.
///
/// Quantities are text with a unit: "100Gbps", "2ms", "14us", "1MiB", "4096B". KiB, MiB, GiB are powers of two; KB, MB,
/// GB and rates powers of ten.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Scenario")]
pub struct ScenarioText {
    /// The name. Default: the file's name.
    pub name: Option<String>,
    /// The purpose of the scenario, in one line.
    pub description: Option<String>,
    /// The scenario to start from: a built-in name, or a file, relative to this one's folder. Keys set here override
    /// it. The constants of a profile are those of the base. `[workload]` changes every part that has the key;
    /// `[[workload]]` replaces all parts.
    pub base: Option<String>,
    /// The built-in scenario whose constants apply in each profile. Default: base's, or of its own name.
    pub constants: Option<String>,
    /// The seed of all random draws: workload, hashes, losses. Default: 1.
    pub seed: Option<u64>,
    /// Hosts, switches, links.
    pub topology: TopologyText,
    /// Settings that all schemes of the scenario share.
    pub transport: TransportText,
    /// The hosts.
    pub host: HostText,
    /// Congestion control, path selection, recovery, and what they ask of the ports.
    pub scheme: SchemeText,
    /// The parts of the workload; they run together.
    pub workload: Vec<WorkloadText>,
    /// Incasts that programs declare: parts of the workload, too, whose flows a proxy may take.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incast: Vec<IncastText>,
    /// Faults of links.
    pub fault: Vec<LinkFaultText>,
    /// Samples to take.
    pub probes: ProbesText,
    /// Flows that count in the summary.
    pub measure: MeasureText,
    /// When to end.
    pub stop: StopText,
    /// Digests of the files that the scenario reads (topology, sizes, flow lists), by absolute path. `check` and runs
    /// write them. A scenario is refused if one of its files has changed since. Default: not compared.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

/// Congestion control, path selection, recovery, and what they ask of the ports.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Scheme")]
pub struct SchemeText {
    /// A built-in scheme, CC+LB, or A/B for intra and inter. Default: uno.
    pub name: Option<String>,
    /// Which constants: "paper" or "artifact". Default: paper.
    pub profile: Option<Profile>,
    /// Settings of its own for flows inside a site.
    pub intra: SchemeClassText,
    /// Settings of its own for flows between the sites.
    pub inter: SchemeClassText,
    /// Settings of its own at the ports.
    pub ports: PortsText,
    /// A proxy for incasts between sites. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<ProxyText>,
}

/// A scenario in which every key that applies has a value. Keys are those of [`ScenarioText`].
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// The name.
    pub name: String,
    /// Purpose of the scenario, in a line.
    pub description: Option<String>,
    /// The built-in scenario whose constants this one takes in each profile, if not those of its own name.
    pub constants: Option<String>,
    /// Seed of all draws.
    pub seed: u64,
    /// Hosts, switches, links.
    pub topology: Topology,
    /// Settings that all schemes of the scenario share.
    pub transport: Transport,
    /// The hosts.
    pub host: Host,
    /// Congestion control, path selection, recovery, and what they ask of the ports.
    pub scheme: Scheme,
    /// The parts of the workload, those of declared incasts among them.
    pub workload: Vec<Workload>,
    /// Faults.
    pub fault: Vec<Fault>,
    /// Samples to take.
    pub probes: Probes,
    /// Flows that count in the summary.
    pub measure: Measure,
    /// When to end.
    pub stop: Stop,
    /// Digests of the files that the scenario reads, by absolute path.
    pub files: BTreeMap<String, String>,
}

/// A scheme. Keys are those of [`SchemeText`].
#[derive(Clone, PartialEq, Debug)]
pub struct Scheme {
    /// Its name.
    pub name: String,
    /// Which constants.
    pub profile: Profile,
    /// For flows inside a site.
    pub intra: SchemeClass,
    /// For flows between the sites.
    pub inter: SchemeClass,
    /// At the ports.
    pub ports: Ports,
    /// A proxy for incasts between sites, if there is one.
    pub proxy: Option<Proxy>,
}

impl From<&Scenario> for ScenarioText {
    fn from(scenario: &Scenario) -> Self {
        Self {
            name: Some(scenario.name.clone()),
            description: scenario.description.clone(),
            base: None,
            constants: scenario.constants.clone(),
            seed: Some(scenario.seed),
            topology: (&scenario.topology).into(),
            transport: (&scenario.transport).into(),
            host: (&scenario.host).into(),
            scheme: (&scenario.scheme).into(),
            workload: scenario.workload.iter().map(WorkloadText::from).collect(),
            incast: Vec::new(),
            fault: scenario.fault.iter().map(LinkFaultText::from).collect(),
            probes: (&scenario.probes).into(),
            measure: (&scenario.measure).into(),
            stop: (&scenario.stop).into(),
            files: scenario.files.clone(),
        }
    }
}

impl From<&Scheme> for SchemeText {
    fn from(scheme: &Scheme) -> Self {
        Self {
            name: Some(scheme.name.clone()),
            profile: Some(scheme.profile),
            intra: (&scheme.intra).into(),
            inter: (&scheme.inter).into(),
            ports: (&scheme.ports).into(),
            proxy: scheme.proxy.as_ref().map(ProxyText::from),
        }
    }
}
