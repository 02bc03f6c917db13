//! Flows, the parts of a workload, and their one order.

use crate::Trigger;
use farspan_units::{Bytes, HostId, Time};
use std::collections::BTreeMap;

/// One message from one host to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Payload.
    pub size: Bytes,
    /// When the sender is handed the message; with a [`Trigger`], no earlier than this.
    pub start: Time,
    /// The part of the workload it belongs to: the position of its [`Part`].
    pub part: u32,
    /// Its tag: an index into [`Part::tags`], and into [`Workload::tags`] once assembled.
    pub tag: u32,
    /// Whether it is in the summary.
    pub measured: bool,
}

/// The flows of one part of a workload, in the order of their generator, and their tags.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Names for [`Flow::tag`].
    pub tags: Vec<String>,
    /// The flows.
    pub flows: Vec<Flow>,
    /// The triggers by which some of them wait for others.
    pub triggers: Vec<Trigger>,
}

impl Part {
    /// A part whose flows all carry one tag, and wait for nothing.
    #[must_use]
    pub fn new(tag: impl Into<String>, flows: Vec<Flow>) -> Self {
        Self { tags: vec![tag.into()], flows, triggers: Vec::new() }
    }
}

/// All flows of a run; a flow's id is its position.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Workload {
    /// Flows by start, then part, then position in the part.
    pub flows: Vec<Flow>,
    /// The distinct tags, in the order of the parts.
    pub tags: Vec<String>,
    /// The triggers by which some flows wait for others, in the order of the parts.
    pub triggers: Vec<Trigger>,
}

impl Workload {
    /// Takes flows that start before `warmup` out of the summary. When flows that wait for others start shows only in the
    /// run: they stay.
    pub fn exclude_warmup(&mut self, warmup: Time) {
        let waits = self.waits();
        for (flow, waits) in self.flows.iter_mut().zip(waits) {
            flow.measured &= waits || flow.start >= warmup;
        }
    }

    /// Whether each flow waits for others.
    #[must_use]
    pub fn waits(&self) -> Vec<bool> {
        let mut waits = vec![false; self.flows.len()];
        for target in self.triggers.iter().flat_map(|trigger| &trigger.targets) {
            waits[*target as usize] = true;
        }
        waits
    }

    /// Leaves out flows that are not measured, start at `end` or later and have nothing to do with others: what would
    /// start after the end of a run matters only to the count of flows asked for.
    pub fn leave_out_after(&mut self, end: Time) {
        let mut keep = self.waits();
        for flow in self.triggers.iter().flat_map(Trigger::awaited) {
            keep[flow as usize] = true;
        }
        let mut id_of = Vec::with_capacity(self.flows.len());
        let mut next = 0;
        for (keep, flow) in keep.iter_mut().zip(&self.flows) {
            *keep |= flow.measured || flow.start < end;
            id_of.push(next);
            next += u32::from(*keep);
        }
        let mut kept = keep.into_iter();
        self.flows.retain(|_| kept.next() == Some(true));
        for trigger in &mut self.triggers {
            *trigger = trigger.renamed(|flow| id_of[flow as usize]);
        }
    }
}

/// Why parts do not make a workload.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// More flows than flow ids.
    #[error("the workload has {flows} flows, but flow ids end at {limit}: ask for fewer", limit = u32::MAX)]
    TooMany {
        /// All flows.
        flows: usize,
    },
}

/// Merges the parts of a workload into one list, sorted by (start, part, position in the part). That position is the
/// flow id, fixed before the run; `part` and `tag` of every flow, and the flows of every trigger, are renumbered
/// accordingly.
///
/// # Errors
/// If there are more flows than flow ids.
pub fn assemble(parts: Vec<Part>) -> Result<Workload, AssembleError> {
    let count = parts.iter().map(|p| p.flows.len()).sum();
    if count > u32::MAX as usize {
        return Err(AssembleError::TooMany { flows: count });
    }
    let mut tags = Tags::default();
    let mut flows = Vec::with_capacity(count);
    let mut triggers = Vec::new();
    for (number, part) in parts.into_iter().enumerate() {
        let renumbered: Vec<u32> = part.tags.iter().map(|tag| tags.number(tag)).collect();
        let base = flows.len() as u32;
        flows.extend(part.flows.into_iter().map(|flow| Flow {
            part: number as u32,
            tag: renumbered[flow.tag as usize],
            ..flow
        }));
        let own = part.triggers.iter().map(|trigger| trigger.renamed(|flow| base + flow));
        triggers.extend(own.map(|trigger| Trigger { part: number as u32, ..trigger }));
    }
    // `flows` is in order of (part, position), so a stable order by start is the order asked for.
    let mut order: Vec<u32> = (0..flows.len() as u32).collect();
    order.sort_by_key(|i| flows[*i as usize].start);
    let mut id_of = vec![0; flows.len()];
    for (id, i) in order.iter().enumerate() {
        id_of[*i as usize] = id as u32;
    }
    let flows = order.iter().map(|i| flows[*i as usize]).collect();
    let triggers = triggers.iter().map(|trigger| trigger.renamed(|flow| id_of[flow as usize])).collect();
    Ok(Workload { flows, tags: tags.into_names(), triggers })
}

/// Distinct tags in the order of their first use.
#[derive(Debug, Default)]
pub(crate) struct Tags {
    names: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

impl Tags {
    /// The number of a tag, which is the next one if it is new.
    pub(crate) fn number(&mut self, tag: &str) -> u32 {
        if let Some(number) = self.numbers.get(tag) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.numbers.insert(tag.to_owned(), number);
        self.names.push(tag.to_owned());
        number
    }

    /// The tags by number.
    pub(crate) fn into_names(self) -> Vec<String> {
        self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rule;
    use farspan_units::Duration;
    use proptest::prelude::*;

    fn flow(src: u32, start: u64) -> Flow {
        Flow {
            src: HostId(src),
            dst: HostId(src + 1),
            size: Bytes::new(1),
            start: Time::from_ps(start),
            part: 0,
            tag: 0,
            measured: true,
        }
    }

    #[test]
    fn parts_are_merged_by_start_then_part_then_position() {
        let parts = vec![
            Part::new("a", vec![flow(0, 5), flow(1, 3), flow(2, 3)]),
            Part::new("b", vec![flow(3, 3), flow(4, 0)]),
        ];
        let workload = assemble(parts).unwrap();
        assert_eq!(workload.flows.iter().map(|f| f.src.0).collect::<Vec<_>>(), [4, 1, 2, 3, 0]);
        assert_eq!(workload.flows.iter().map(|f| f.part).collect::<Vec<_>>(), [1, 0, 0, 1, 0]);
        assert_eq!(workload.tags, ["a", "b"]);
    }

    #[test]
    fn parts_with_equal_tags_share_one() {
        let parts = vec![
            Part::new("x", vec![flow(0, 0)]),
            Part::new("y", vec![flow(1, 1)]),
            Part::new("x", vec![flow(2, 2)]),
        ];
        let workload = assemble(parts).unwrap();
        assert_eq!(workload.tags, ["x", "y"]);
        assert_eq!(
            workload.flows.iter().map(|f| (f.part, f.tag)).collect::<Vec<_>>(),
            [(0, 0), (1, 1), (2, 0)]
        );
    }

    #[test]
    fn warm_up_takes_flows_out_of_the_summary_only() {
        let mut workload = assemble(vec![Part::new("a", vec![flow(0, 9), flow(1, 10)])]).unwrap();
        workload.exclude_warmup(Time::from_ps(10));
        assert_eq!(workload.flows.iter().map(|f| f.measured).collect::<Vec<_>>(), [false, true]);
    }

    /// A part in which some flows wait for the one `before` places earlier.
    fn chained(starts: &[u64], before: usize) -> Part {
        let flows: Vec<Flow> = (0..).zip(starts).map(|(i, start)| flow(i, *start)).collect();
        let trigger = |i: usize| Trigger {
            part: 7,
            rule: Rule::All,
            started: Vec::new(),
            finished: vec![(i - before) as u32],
            delivered: vec![(i - before) as u32],
            targets: vec![i as u32],
            pause: Duration::ZERO,
        };
        let triggers = (before..flows.len()).map(trigger).collect();
        Part { triggers, ..Part::new("a", flows) }
    }

    #[test]
    fn warm_up_leaves_flows_that_wait_for_others_in_the_summary() {
        let mut workload = assemble(vec![chained(&[5, 0], 1)]).unwrap();
        workload.exclude_warmup(Time::from_ps(10));
        let measured: Vec<_> = workload.flows.iter().map(|f| (f.src.0, f.measured)).collect();
        assert_eq!(measured, [(1, true), (0, false)]);
    }

    #[test]
    fn what_starts_after_the_end_is_left_out_unless_others_depend_on_it() {
        let late = Part::new("late", vec![flow(8, 30), flow(9, 3)]);
        let mut workload = assemble(vec![chained(&[50, 2], 1), late]).unwrap();
        workload.flows.iter_mut().for_each(|flow| flow.measured = false);
        workload.leave_out_after(Time::from_ps(20));
        assert_eq!(workload.flows.iter().map(|f| f.src.0).collect::<Vec<_>>(), [1, 9, 0]);
        assert_eq!(
            (&workload.triggers[0].finished[..], &workload.triggers[0].targets[..]),
            (&[2][..], &[0][..])
        );
    }

    proptest! {
        #[test]
        fn a_dependency_still_points_at_the_same_flow_after_merging(
            starts in prop::collection::vec(0_u64..20, 2..40), before in 1_usize..30,
        ) {
            let part = chained(&starts, before);
            let expected = part.triggers.clone();
            let other: Vec<Flow> = (100..110).map(|i| flow(i, u64::from(i) % 7)).collect();
            let workload = assemble(vec![Part::new("o", other), part]).unwrap();
            let source = |ids: &[u32]| ids.iter().map(|id| workload.flows[*id as usize].src.0).collect::<Vec<_>>();
            for (merged, expected) in workload.triggers.iter().zip(&expected) {
                prop_assert_eq!(source(&merged.finished), expected.finished.clone());
                prop_assert_eq!(source(&merged.targets), expected.targets.clone());
                prop_assert_eq!(merged.part, 1);
            }
            prop_assert_eq!(workload.triggers.len(), expected.len());
            prop_assert!(workload.flows.is_sorted_by_key(|f| (f.start, f.part)));
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test is about time")]
    fn two_hundred_thousand_tags_cost_no_more_than_their_number() {
        let began = std::time::Instant::now();
        let mut tags = Tags::default();
        for round in 0..2 {
            for n in 0..200_000 {
                assert_eq!(tags.number(&format!("tag-{n}")), n, "{round}");
            }
        }
        assert_eq!(tags.into_names().len(), 200_000);
        // A search through all that came before takes a minute.
        assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    }
}
