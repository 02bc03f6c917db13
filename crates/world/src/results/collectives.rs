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
        for group in 0..plan.groups {
            let moves = || plan.moves.iter().zip(flows).filter(|(each, _)| each.group == group);
            let first = moves().filter(|(each, _)| each.after.is_empty());
            let start = first.map(|(_, flow)| flow.outcome.started.then_some(flow.outcome.start));
            let start = start.collect::<Option<Vec<_>>>();
            let end = moves().map(|(_, flow)| flow.outcome.delivered).collect::<Option<Vec<_>>>();
            let last = |times: Option<Vec<Time>>| times.and_then(|times| times.into_iter().max());
            let start = last(start);
            rows.push(IterationRecord {
                tag: Arc::clone(&tag),
                group,
                iteration,
                measured: start.is_none_or(|start| start >= warmup),
                start,
                end: last(end),
                ideal: plan.ideal,
            });
        }
    }
    rows
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
