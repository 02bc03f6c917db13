//! Triggers, by which flows wait for others.

use farspan_units::Duration;

/// How a trigger starts its flows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rule {
    /// All of them, when everything that the trigger waits for is done: a barrier.
    All,
    /// One at a time, in order: when `k` of what the trigger waits for is done, the `k`-th has started. Which flow of
    /// the others ends first shows only while the run goes on.
    Next,
}

/// Flows that start when others are done. A flow is started by one trigger at most; flows are named by their position
/// in the part, and by their flow id once assembled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trigger {
    /// The part of the workload that it belongs to.
    pub part: u32,
    /// How it starts its flows.
    pub rule: Rule,
    /// Flows that must have started, in ascending order.
    pub started: Vec<u32>,
    /// Flows whose senders must have the last ACK, in ascending order.
    pub finished: Vec<u32>,
    /// Flows whose receivers must have the last byte, in ascending order.
    pub delivered: Vec<u32>,
    /// The flows that it starts, in order.
    pub targets: Vec<u32>,
    /// How long after that they start.
    pub pause: Duration,
}

impl Trigger {
    /// Everything that it waits for; a flow stands as often as something of it is waited for.
    pub fn awaited(&self) -> impl Iterator<Item = u32> + '_ {
        self.started.iter().chain(&self.finished).chain(&self.delivered).copied()
    }

    /// How many starts and ends it waits for.
    #[must_use]
    pub const fn needed(&self) -> usize {
        self.started.len() + self.finished.len() + self.delivered.len()
    }

    /// A copy of the trigger with every flow renamed.
    pub(crate) fn renamed(&self, name: impl Fn(u32) -> u32) -> Self {
        let all = |flows: &[u32]| flows.iter().map(|flow| name(*flow)).collect::<Vec<_>>();
        let sorted = |flows: &[u32]| {
            let mut flows = all(flows);
            flows.sort_unstable();
            flows
        };
        Self {
            part: self.part,
            rule: self.rule,
            started: sorted(&self.started),
            finished: sorted(&self.finished),
            delivered: sorted(&self.delivered),
            targets: all(&self.targets),
            pause: self.pause,
        }
    }
}

/// Why a flow can never start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stuck {
    /// Each of these flows waits for the next one, and the last for the first.
    Cycle(Vec<u32>),
    /// The flow comes later in its trigger than ends are waited for.
    Starved {
        /// The flow.
        flow: u32,
        /// Its place among the flows of the trigger, from 1.
        place: usize,
        /// How many ends the trigger waits for.
        needed: usize,
    },
}

/// A flow among `flows` that can never start, even if every flow that starts ends.
///
/// Which flows start does not depend on the order in which others end: a trigger counts ends, whoever brings them. So one
/// walk in any order decides. Triggers name flows by numbers below `flows`.
#[must_use]
pub fn stuck(flows: usize, triggers: &[Trigger]) -> Option<Stuck> {
    starved(triggers).or_else(|| cycle(flows, triggers))
}

fn starved(triggers: &[Trigger]) -> Option<Stuck> {
    triggers.iter().find_map(|trigger| {
        let needed = trigger.needed();
        let first = if trigger.rule == Rule::All && needed > 0 { usize::MAX } else { needed };
        trigger.targets.get(first).map(|&flow| Stuck::Starved { flow, place: first + 1, needed })
    })
}

fn cycle(flows: usize, triggers: &[Trigger]) -> Option<Stuck> {
    let mut trigger_of = vec![None; flows];
    let mut ends: Vec<(u32, u32)> = Vec::new();
    for (number, trigger) in (0..).zip(triggers) {
        trigger.targets.iter().for_each(|target| trigger_of[*target as usize] = Some(number));
        ends.extend(trigger.awaited().map(|flow| (flow, number)));
    }
    ends.sort_unstable();
    let started = started(&trigger_of, triggers, &ends);
    let mut path = vec![started.iter().position(|started| !started)? as u32];
    let mut place = vec![None; flows];
    loop {
        let at = *path.last().expect("the path has begun");
        if let Some(before) = place[at as usize].replace(path.len() - 1) {
            path.pop();
            return Some(Stuck::Cycle(path.split_off(before)));
        }
        let trigger: u32 = trigger_of[at as usize].expect("a flow that waits for nothing starts");
        let mut awaited = triggers[trigger as usize].awaited();
        path.push(awaited.find(|flow| !started[*flow as usize]).expect("something else does not end"));
    }
}

/// Which flows start, if every flow that starts ends.
fn started(trigger_of: &[Option<u32>], triggers: &[Trigger], ends: &[(u32, u32)]) -> Vec<bool> {
    let mut started = vec![false; trigger_of.len()];
    let mut counts = vec![0; triggers.len()];
    let free = (0..).zip(trigger_of).filter(|(_, trigger)| trigger.is_none()).map(|(flow, _)| flow);
    let mut ready: Vec<u32> = free.collect();
    while let Some(flow) = ready.pop() {
        started[flow as usize] = true;
        let from = ends.partition_point(|end| end.0 < flow);
        for &(_, number) in ends[from..].iter().take_while(|end| end.0 == flow) {
            let (trigger, count) = (&triggers[number as usize], &mut counts[number as usize]);
            *count += 1;
            match trigger.rule {
                Rule::All if *count == trigger.needed() => ready.extend(&trigger.targets),
                Rule::All => {}
                Rule::Next => ready.extend(trigger.targets.get(*count - 1)),
            }
        }
    }
    started
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigger(rule: Rule, finished: &[u32], delivered: &[u32], targets: &[u32]) -> Trigger {
        let (finished, delivered, targets) = (finished.to_vec(), delivered.to_vec(), targets.to_vec());
        Trigger { part: 0, rule, started: Vec::new(), finished, delivered, targets, pause: Duration::ZERO }
    }

    #[test]
    fn chains_barriers_and_queues_that_feed_themselves_start() {
        let chain = [trigger(Rule::All, &[2], &[], &[0]), trigger(Rule::All, &[0, 2], &[2], &[1])];
        assert_eq!(stuck(3, &chain), None);
        // Two at a time: the end of each starts the next of the queue, its own members included.
        let queue = [trigger(Rule::Next, &[0, 1, 2, 3], &[], &[2, 3, 4])];
        assert_eq!(stuck(5, &queue), None);
        assert_eq!(stuck(4, &[]), None);
    }

    #[test]
    fn circles_are_named_flow_by_flow() {
        let triggers = [
            trigger(Rule::All, &[1], &[], &[0]),
            trigger(Rule::All, &[4], &[2], &[1]),
            trigger(Rule::All, &[], &[3], &[2]),
            trigger(Rule::All, &[1], &[], &[3]),
        ];
        assert_eq!(stuck(5, &triggers), Some(Stuck::Cycle(vec![1, 2, 3])));
        assert_eq!(stuck(2, &[trigger(Rule::All, &[0], &[0], &[0, 1])]), Some(Stuck::Cycle(vec![0])));
        // The first of a queue that only its own members feed.
        let queue = [trigger(Rule::Next, &[0, 1], &[], &[0, 1])];
        assert_eq!(stuck(2, &queue), Some(Stuck::Cycle(vec![0])));
    }

    #[test]
    fn flows_beyond_what_feeds_their_queue_are_starved() {
        let queue = [trigger(Rule::Next, &[0], &[0], &[1, 2, 3])];
        assert_eq!(stuck(4, &queue), Some(Stuck::Starved { flow: 3, place: 3, needed: 2 }));
        let barrier = [trigger(Rule::All, &[], &[], &[1])];
        assert_eq!(stuck(2, &barrier), Some(Stuck::Starved { flow: 1, place: 1, needed: 0 }));
    }

    #[test]
    fn a_walk_over_many_flows_takes_no_stack() {
        let n = 200_000;
        let chain: Vec<_> = (1..n).map(|flow| trigger(Rule::All, &[flow - 1], &[], &[flow])).collect();
        assert_eq!(stuck(n as usize, &chain), None);
    }
}
