//! The catalog: everything that scenarios can name, by kind, for `farspan list`.

pub(crate) mod builtin;
pub(crate) mod register;

use crate::model::{TopologyKind, WorkloadKind};
use crate::schemes::control;
use crate::schemes::scheme::{SchemeEntry, built_in_schemes};
use builtin::BUILT_IN;
use farspan_transport::{balance, coding, congestion};
use farspan_workload::{SizeDistribution, sizes};
use serde::Serialize;

/// The kinds of things that scenarios can name.
pub const KINDS: &[&str] =
    &["schemes", "congestion", "balance", "coding", "queues", "topologies", "workloads", "scenarios"];

/// One thing of a list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Item {
    /// Its name in scenarios.
    pub name: String,
    /// Its description, in one line.
    pub summary: String,
    /// Paper or RFC; empty if it has none.
    pub source: String,
    /// Whether this release has it.
    pub available: bool,
}

fn item(name: &str, summary: &str, source: &str) -> Item {
    Item { name: name.into(), summary: summary.into(), source: source.into(), available: true }
}

/// Everything of one of the [`KINDS`]; `None`: there is no such kind.
#[must_use]
pub fn catalog(kind: &str) -> Option<Vec<Item>> {
    Some(match kind {
        "schemes" => schemes(),
        "congestion" => {
            let entries = congestion::ENTRIES.iter().copied();
            let entries = entries.chain(control::registered().into_iter().map(|known| known.entry));
            entries.map(|e| item(e.name, e.summary, e.source)).collect()
        }
        "balance" => balance::ENTRIES.iter().map(|e| item(e.name, e.summary, e.source)).collect(),
        "coding" => coding::ENTRIES.iter().map(|e| item(e.name, e.summary, e.source)).collect(),
        "queues" => queues(),
        "topologies" => topologies(),
        "workloads" => workloads(),
        "scenarios" => BUILT_IN.iter().map(|s| item(s.name, &s.description(), "")).collect(),
        _ => return None,
    })
}

fn schemes() -> Vec<Item> {
    let summary = |intra: &str, inter: &str| match intra == inter {
        true => intra.to_owned(),
        false => format!("{intra} inside a site, {inter} between sites"),
    };
    let scheme = |s: SchemeEntry| Item {
        summary: summary(&s.intra, &s.inter),
        name: s.name,
        source: String::new(),
        available: s.available,
    };
    built_in_schemes().into_iter().map(scheme).collect()
}

fn queues() -> Vec<Item> {
    vec![
        item("red", "Marker: RED on the real queue", "Uno, section 5.1"),
        item(
            "phantom",
            "Marker: RED on a counter that drains more slowly than the link",
            "Uno, section 4.1.3",
        ),
        item("step", "Marker: every packet above a threshold of the real queue", "DCTCP, section 3.1"),
        item("none", "No marker", ""),
        item("drop", "Overflow: the arriving packet is dropped", ""),
        item("trim", "Overflow: the payload is cut off, and the header is sent first", "NDP, section 3.1"),
        item("pool", "Buffer: shared by all ports of a switch", "Choudhury and Hahne, 1998"),
        item("pfc", "Buffer: senders are paused before a pool is full", "IEEE 802.1Qbb"),
    ]
}

fn topologies() -> Vec<Item> {
    let source = |kind| match kind {
        TopologyKind::FatTree => "Al-Fares et al., SIGCOMM 2008",
        TopologyKind::DualFatTree => "Uno, section 5.1",
        _ => "",
    };
    TopologyKind::ALL.iter().map(|kind| item(kind.name(), kind.summary(), source(*kind))).collect()
}

fn workloads() -> Vec<Item> {
    let kinds =
        WorkloadKind::ALL.iter().map(|kind| item(kind.name(), &format!("kind: {}", kind.summary()), ""));
    let mixes = [
        item("paper", "mix: 4:1, websearch inside, alibaba-wan between sites", "Uno, section 5.1"),
        item(
            "artifact",
            "mix: 4:1, alistorage inside, websearch between sites",
            "flow lists published with Uno",
        ),
    ];
    let mean = |name: &str| SizeDistribution::built_in(name).map_or(0.0, |sizes| sizes.mean());
    let sizes = sizes::names().map(|name| {
        let mean = mean(name);
        let (mean, unit) = if mean < 1e6 { (mean / 1e3, "KB") } else { (mean / 1e6, "MB") };
        item(name, &format!("sizes: mean {mean:.3} {unit}"), "")
    });
    kinds.chain(mixes).chain(sizes).collect()
}
