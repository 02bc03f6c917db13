//! When iterations of collectives began and ended, from what became of their flows.

use crate::assemble::CollectivePlan;
use crate::assemble::World;
use farspan_metrics::{Collective, CollectiveKind, FlowRecord, IterationRecord};
use farspan_scenario::Resolved;
use farspan_units::Time;
use std::sync::Arc;

/// The iterations of a collective, by iteration and group.
pub(super) fn iterations(
    resolved: &Resolved,
    world: &World,
    plan: &CollectivePlan,
    flows: &[FlowRecord],
) -> Vec<IterationRecord> {
    let tag: Arc<str> = tag(resolved, plan).into();
    let warmup = Time::ZERO + resolved.scenario().measure.warmup;
    // Flows of a part keep their order, whatever other parts stand between.
    let of_part = world.workload.flows.iter().zip(flows).filter(|(flow, _)| flow.part == plan.part);
    let own: Vec<&FlowRecord> = of_part.map(|(_, record)| record).collect();
    let mut rows = Vec::new();
    for (iteration, flows) in (0..).zip(own.chunks(plan.moves.len())) {
        let mut spans = vec![(Latest::default(), Latest::default()); plan.groups as usize];
        for (each, flow) in plan.moves.iter().zip(flows) {
            let (start, end) = &mut spans[each.group as usize];
            if each.after.is_empty() {
                start.add(flow.outcome.started.then_some(flow.outcome.start));
            }
            end.add(flow.outcome.delivered);
        }
        rows.extend((0..).zip(spans).map(|(group, (start, end))| IterationRecord {
            tag: Arc::clone(&tag),
            group,
            iteration,
            measured: start.time.is_none_or(|start| start >= warmup),
            start: start.time,
            end: end.time,
            ideal: plan.ideal,
        }));
    }
    rows
}

/// The latest of some times; none if one of them is not known.
#[derive(Clone, Copy, Default)]
struct Latest {
    time: Option<Time>,
    lacks_one: bool,
}

impl Latest {
    fn add(&mut self, time: Option<Time>) {
        self.lacks_one |= time.is_none();
        self.time = if self.lacks_one { None } else { self.time.max(time) };
    }
}

/// The summary of a collective's iterations.
pub(super) fn summary(resolved: &Resolved, plan: &CollectivePlan, rows: &[IterationRecord]) -> Collective {
    let part = &resolved.scenario().workload[plan.part as usize];
    let kind = CollectiveKind {
        tag: tag(resolved, plan).to_owned(),
        kind: part.kind().name().to_owned(),
        algorithm: plan.algorithm.name().to_owned(),
        groups: plan.groups,
        ranks: plan.ranks,
        ideal: plan.ideal,
    };
    Collective::of(kind, rows)
}

fn tag<'a>(resolved: &'a Resolved, plan: &CollectivePlan) -> &'a str {
    &resolved.scenario().workload[plan.part as usize].tag
}
