//! Faults of links: failures, black holes, slower links, losses. They are values of a scenario, kept beside
//! the ports; a link without faults knows nothing of them.
//!
//! A fault holds from [`Fault::at`] until [`Fault::until`]. At one instant a port first completes what it sends; then a
//! fault begins or ends; then packets arrive. So a packet meets the faults that held just before its last bit left.

mod loss;
mod node;

pub use loss::{Affected, Loss, LossDraws, LossProcess, Numbering};
pub use node::{Lost, NodeFaults};

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use farspan_units::{Duration, PortId, Rate, Time};

/// The effect of a fault on a link.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum FaultKind {
    /// The port stops. What waits there, the packet in service included, is lost when the fault begins, and
    /// what comes to the port while it lasts is lost at once; what has left before arrives. A host's NIC
    /// keeps its pace: what it has not yet sent when the fault begins, and what it sends while it lasts, is
    /// lost.
    LinkDown,
    /// The port sends as ever, and nothing arrives.
    BlackHole,
    /// Services that begin while the fault lasts have this rate; one under way goes on as it was. Markers and phantom
    /// queues stay as they were configured. Of several such faults the last that began counts.
    Rate(Rate),
    /// Some packets are lost. Loss processes of one link draw independently of each other, and each counts every packet
    /// that concerns it, lost by another or not.
    Loss(Loss),
}

/// A fault of some links.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// The effect on the links.
    pub kind: FaultKind,
    /// To which links, each once.
    pub links: Vec<PortId>,
    /// When it begins.
    pub at: Time,
    /// When it ends; [`Time::MAX`]: never.
    pub until: Time,
    /// The delay after the beginning of the fault, and after its end, until all switches reroute packets,
    /// where there is another path; `None`: routes do not react to the fault.
    pub withdraw_after: Option<Duration>,
}

impl Fault {
    /// Whether it holds for what arrives, or begins, at `now`.
    #[must_use]
    pub fn holds(&self, now: Time) -> bool {
        self.at <= now && now < self.until
    }

    /// Whether it concerns a packet whose last bit leaves at `now`.
    #[must_use]
    pub fn meets(&self, now: Time) -> bool {
        self.at < now && now <= self.until
    }
}

/// All faults of a world, with those of each link.
#[derive(Clone, PartialEq, Debug)]
pub struct Faults {
    all: Arc<[Fault]>,
    /// The faults of each port, in order; empty without faults.
    of_port: Vec<Vec<u32>>,
}

impl Faults {
    /// The faults of a network with so many ports.
    ///
    /// # Panics
    /// If a fault names another port.
    #[must_use]
    pub fn new(all: &[Fault], ports: usize) -> Self {
        let mut of_port = vec![Vec::new(); if all.is_empty() { 0 } else { ports }];
        for (number, fault) in (0..).zip(all) {
            for link in &fault.links {
                of_port[link.index()].push(number);
            }
        }
        Self { all: all.into(), of_port }
    }
}

/// When routes change, and the links that they avoid from then on.
#[must_use]
pub fn withdrawals(faults: &[Fault]) -> Vec<(Time, BTreeSet<PortId>)> {
    let mut changes: BTreeMap<Time, Vec<(PortId, i32)>> = BTreeMap::new();
    for fault in faults {
        let Some(delay) = fault.withdraw_after else { continue };
        for (time, step) in [(fault.at, 1), (fault.until, -1)] {
            if time != Time::MAX {
                let links = fault.links.iter().map(|&link| (link, step));
                changes.entry(time.saturating_add(delay)).or_default().extend(links);
            }
        }
    }
    let mut reasons: BTreeMap<PortId, i32> = BTreeMap::new();
    let mut avoided = BTreeSet::new();
    let apply = |(time, steps): (Time, Vec<(PortId, i32)>)| {
        for (link, step) in steps {
            *reasons.entry(link).or_default() += step;
        }
        let now: BTreeSet<_> = reasons.iter().filter(|(_, n)| **n > 0).map(|(&link, _)| link).collect();
        let changed = now != avoided;
        avoided.clone_from(&now);
        changed.then_some((time, now))
    };
    changes.into_iter().filter_map(apply).collect()
}

#[cfg(test)]
mod tests;
