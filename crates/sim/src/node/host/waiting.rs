//! Flows of a host that wait for others.

use crate::outcome::rows::Rows;
use crate::plan::trigger::{End, Triggers};
use crate::spec::Rule;
use farspan_units::{FlowId, HostId, Time};
use std::collections::{BTreeMap, BTreeSet};

/// The state of a host about the triggers of its flows.
pub(crate) struct Waiting {
    host: HostId,
    /// Ends seen here, by trigger.
    ends: BTreeMap<u32, u32>,
    /// Notifications that came, by trigger; for a barrier one from each host that sees ends.
    notified: BTreeMap<u32, u32>,
    /// Flows that wait for their start alone.
    ready: BTreeSet<FlowId>,
    /// Notifications for other hosts: to whom, when, of which trigger.
    pub(crate) notifications: Vec<(HostId, Time, u32)>,
    /// Flows that a trigger started here: flow, when.
    pub(crate) started: Rows<2>,
    /// Flows that wait for no other any more.
    pub(crate) released: u64,
    /// Notifications sent to other hosts, less those received: over all hosts, the notifications under way.
    pub(crate) under_way: i64,
}

impl Waiting {
    pub(crate) fn new(host: HostId) -> Self {
        Self {
            host,
            ends: BTreeMap::new(),
            notified: BTreeMap::new(),
            ready: BTreeSet::new(),
            notifications: Vec::new(),
            started: Rows::default(),
            released: 0,
            under_way: 0,
        }
    }

    /// A flow has ended here. Gives the flows that may start now.
    pub(crate) fn ended(&mut self, now: Time, triggers: &Triggers, flow: FlowId, end: End) -> Vec<FlowId> {
        let mut free = Vec::new();
        for trigger in triggers.of(flow, end) {
            let plan = &triggers.plans[trigger as usize];
            let ends = self.ends.entry(trigger).or_default();
            *ends += 1;
            if plan.rule == Rule::All && *ends < plan.ends_at(self.host) {
                continue;
            }
            for &host in &plan.hosts {
                match plan.takes(self.host, host) {
                    None => free.extend(self.on_notify(triggers, trigger)),
                    Some(time) => {
                        self.notifications.push((host, now + time, trigger));
                        self.under_way += 1;
                    }
                }
            }
        }
        free
    }

    /// A notification of a trigger has come. Returns the flows that may start now.
    pub(crate) fn on_notify<'a>(
        &mut self,
        triggers: &'a Triggers,
        trigger: u32,
    ) -> impl Iterator<Item = FlowId> + use<'a> {
        let plan = &triggers.plans[trigger as usize];
        let count = self.notified.entry(trigger).or_default();
        *count += 1;
        let mine = plan.targets_at(self.host);
        let free = match plan.rule {
            Rule::All if *count as usize == plan.sources.len() => mine,
            Rule::All => &[],
            Rule::Next => {
                let found = mine.binary_search_by_key(&(*count - 1), |target| target.1);
                found.map_or(&[][..], |i| &mine[i..=i])
            }
        };
        free.iter().map(|target| target.2)
    }

    /// Whether a flow that may start now does so: not if its own start is still to come.
    pub(crate) fn begins(&mut self, now: Time, flow: FlowId, start: Time) -> bool {
        self.released += 1;
        // At the instant of its start the start itself comes later in the order of events.
        if start >= now {
            self.ready.insert(flow);
            return false;
        }
        self.started.push([flow.0.into(), now.as_ps()], []);
        true
    }

    /// Whether a flow whose start has come may start.
    pub(crate) fn may_start(&mut self, now: Time, triggers: &Triggers, flow: FlowId) -> bool {
        if !triggers.waits(flow) {
            return true;
        }
        let ready = self.ready.remove(&flow);
        if ready {
            self.started.push([flow.0.into(), now.as_ps()], []);
        }
        ready
    }
}
