//! Flows that start when others are done.
//!
//! The ends of a flow are seen by different hosts: the last ACK by the sender's, the last byte by the
//! receiver's; a start, where flows wait for that, counts as one more end, which the sender's host sees. A
//! host counts the ends that it sees. For a barrier it notifies the hosts of the waiting flows once, when its
//! own ends are done; for a queue it notifies them each time. They count in turn, and start their own flows.
//! No host keeps a trigger for others, and a notification from host to host takes the trigger's delay
//! exactly once. A pause before the start is added to the delay of the notification; with one, a host
//! notifies itself, too.

use crate::spec::{Flow, Rule, Trigger};
use farspan_units::{Duration, FlowId, HostId};
use std::collections::{BTreeMap, BTreeSet};

/// An end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum End {
    /// It has started.
    Started,
    /// The sender has the last ACK.
    Finished,
    /// The receiver has the last byte.
    Delivered,
}

/// A trigger, as hosts see it.
#[derive(Debug)]
pub(crate) struct TriggerPlan {
    pub(crate) rule: Rule,
    delay: Duration,
    pause: Duration,
    /// The hosts that see the ends, with how many each of them sees; in order.
    pub(crate) sources: Vec<(HostId, u32)>,
    /// The flows to start with their index in the trigger's order, by host.
    targets: Vec<(HostId, u32, FlowId)>,
    /// The hosts of `targets`.
    pub(crate) hosts: Vec<HostId>,
    /// Whether a host waits for its own ends as long as for those of others: the hosts of a queue must agree on how
    /// many came before.
    together: bool,
}

impl TriggerPlan {
    fn new(trigger: &Trigger, flows: &[Flow]) -> Self {
        let flow = |id: &FlowId| &flows[id.index()];
        let senders = trigger.started.iter().chain(&trigger.finished).map(|id| flow(id).src);
        let receivers = trigger.delivered.iter().map(|id| flow(id).dst);
        let mut sources: BTreeMap<HostId, u32> = BTreeMap::new();
        senders.chain(receivers).for_each(|host| *sources.entry(host).or_default() += 1);
        let place = |(place, id): (u32, &FlowId)| (flow(id).src, place, *id);
        let mut targets: Vec<_> = (0..).zip(&trigger.targets).map(place).collect();
        targets.sort_unstable();
        let hosts: BTreeSet<HostId> = targets.iter().map(|target| target.0).collect();
        let is_local = hosts.len() == 1 && sources.keys().eq(&hosts);
        Self {
            rule: trigger.rule,
            delay: trigger.delay,
            pause: trigger.pause,
            sources: sources.into_iter().collect(),
            targets,
            hosts: hosts.into_iter().collect(),
            together: trigger.rule == Rule::Next && !is_local,
        }
    }

    /// The ends that `host` sees.
    pub(crate) fn ends_at(&self, host: HostId) -> u32 {
        self.sources.binary_search_by_key(&host, |source| source.0).map_or(0, |i| self.sources[i].1)
    }

    /// The flows of `host` in their order, with their indices.
    pub(crate) fn targets_at(&self, host: HostId) -> &[(HostId, u32, FlowId)] {
        let from = self.targets.partition_point(|target| target.0 < host);
        let count = self.targets[from..].partition_point(|target| target.0 == host);
        &self.targets[from..from + count]
    }

    /// The delay of a notification from one host to another, or to itself; `None`: the host knows at once.
    pub(crate) fn takes(&self, from: HostId, to: HostId) -> Option<Duration> {
        if from != to || self.together {
            return Some(self.delay + self.pause);
        }
        (!self.pause.is_zero()).then_some(self.pause)
    }

    /// The shortest delay of a notification of the trigger, if there can be any.
    fn shortest(&self) -> Option<Duration> {
        let to =
            |source: &(HostId, u32)| self.hosts.iter().filter_map(|host| self.takes(source.0, *host)).min();
        self.sources.iter().filter_map(to).min()
    }
}

/// All triggers of a run. Read by every host, written by none.
#[derive(Debug, Default)]
pub(crate) struct Triggers {
    /// A plan for each trigger.
    pub(crate) plans: Vec<TriggerPlan>,
    /// The triggers that count each end of a flow, in order.
    ends: Vec<(FlowId, End, u32)>,
    /// Flows that a trigger starts, in order.
    waiting: Vec<FlowId>,
}

impl Triggers {
    pub(crate) fn new(triggers: &[Trigger], flows: &[Flow]) -> Self {
        let mut this = Self::default();
        for (number, trigger) in (0..).zip(triggers).filter(|(_, trigger)| !trigger.targets.is_empty()) {
            let ends = |flows: &[FlowId], end| flows.iter().map(|id| (*id, end, number)).collect::<Vec<_>>();
            this.ends.extend(ends(&trigger.started, End::Started));
            this.ends.extend(ends(&trigger.finished, End::Finished));
            this.ends.extend(ends(&trigger.delivered, End::Delivered));
            this.waiting.extend(&trigger.targets);
        }
        this.plans = triggers.iter().map(|trigger| TriggerPlan::new(trigger, flows)).collect();
        this.ends.sort_unstable();
        this.waiting.sort_unstable();
        assert!(this.waiting.windows(2).all(|w| w[0] != w[1]), "one trigger starts a flow");
        this
    }

    /// How many flows triggers start.
    pub(crate) const fn count(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Whether a trigger starts the flow.
    pub(crate) fn waits(&self, flow: FlowId) -> bool {
        !self.waiting.is_empty() && self.waiting.binary_search(&flow).is_ok()
    }

    /// The triggers that count the end of a flow.
    pub(crate) fn of(&self, flow: FlowId, end: End) -> impl Iterator<Item = u32> + '_ {
        let from = self.ends.partition_point(|at| (at.0, at.1) < (flow, end));
        self.ends[from..].iter().take_while(move |at| (at.0, at.1) == (flow, end)).map(|at| at.2)
    }

    /// The shortest delay of a notification, if there can be any.
    pub(crate) fn shortest_delay(triggers: &[Trigger], flows: &[Flow]) -> Option<Duration> {
        let started = triggers.iter().filter(|trigger| !trigger.targets.is_empty());
        started.filter_map(|trigger| TriggerPlan::new(trigger, flows).shortest()).min()
    }
}
