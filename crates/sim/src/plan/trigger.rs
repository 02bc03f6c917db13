//! Flows that start when others are done.
//!
//! The ends of a flow are seen by different hosts: the last ACK by the sender's, the last byte by the
//! receiver's; a start, where flows wait for that, counts as one more end, which the sender's host sees. A
//! host counts the ends that it sees. For a barrier it notifies the hosts of the waiting flows once, when its
//! own ends are done; for a queue it notifies them each time. They count in turn, and start their own flows.
//! So no host keeps a trigger for others, and a notification from host to host takes the trigger's delay
//! exactly once. A pause before the start is added to the delay of the notification; with one, a host
//! notifies itself, too.

use crate::outcome::rows::Rows;
use crate::spec::{Flow, Rule, Trigger};
use farspan_units::{Duration, FlowId, HostId, Time};
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
    rule: Rule,
    delay: Duration,
    pause: Duration,
    /// The hosts that see the ends, with how many each of them sees; in order.
    sources: Vec<(HostId, u32)>,
    /// The flows to start with their index in the trigger's order, by host.
    targets: Vec<(HostId, u32, FlowId)>,
    /// The hosts of `targets`.
    hosts: Vec<HostId>,
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
    fn ends_at(&self, host: HostId) -> u32 {
        self.sources.binary_search_by_key(&host, |source| source.0).map_or(0, |i| self.sources[i].1)
    }

    /// The flows of `host` in their order, with their indices.
    fn targets_at(&self, host: HostId) -> &[(HostId, u32, FlowId)] {
        let from = self.targets.partition_point(|target| target.0 < host);
        let count = self.targets[from..].partition_point(|target| target.0 == host);
        &self.targets[from..from + count]
    }

    /// The delay of a notification from one host to another, or to itself; `None`: the host knows at once.
    fn takes(&self, from: HostId, to: HostId) -> Option<Duration> {
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
    plans: Vec<TriggerPlan>,
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
    fn of(&self, flow: FlowId, end: End) -> impl Iterator<Item = u32> + '_ {
        let from = self.ends.partition_point(|at| (at.0, at.1) < (flow, end));
        self.ends[from..].iter().take_while(move |at| (at.0, at.1) == (flow, end)).map(|at| at.2)
    }

    /// The shortest delay of a notification, if there can be any.
    pub(crate) fn shortest_delay(triggers: &[Trigger], flows: &[Flow]) -> Option<Duration> {
        let started = triggers.iter().filter(|trigger| !trigger.targets.is_empty());
        started.filter_map(|trigger| TriggerPlan::new(trigger, flows).shortest()).min()
    }
}

/// The state of a host about the triggers of its flows.
pub(crate) struct Waiting {
    host: HostId,
    /// By trigger: ends seen here.
    ends: BTreeMap<u32, u32>,
    /// By trigger: notifications that came, of barriers one from each host that sees ends.
    notified: BTreeMap<u32, u32>,
    /// Flows that wait for their start alone.
    ready: BTreeSet<FlowId>,
    /// Notifications for other hosts: to whom, when, of which trigger.
    pub(crate) notifications: Vec<(HostId, Time, u32)>,
    /// By flow that a trigger started here: flow, when.
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
