//! Flows, the parts of a workload, and their one order.

use farspan_units::{Bytes, HostId, Time};

/// One message from one host to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Payload.
    pub size: Bytes,
    /// When the sender is handed the message; with `after`, no earlier than this.
    pub start: Time,
    /// The part of the workload it belongs to: the position of its [`Part`].
    pub part: u32,
    /// Its tag: an index into [`Part::tags`], and into [`Workload::tags`] once assembled.
    pub tag: u32,
    /// The flow that must finish first: an index into the part's flows, and a flow id once assembled.
    pub after: Option<u32>,
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
}

impl Part {
    /// A part whose flows all carry one tag.
    #[must_use]
    pub fn new(tag: impl Into<String>, flows: Vec<Flow>) -> Self {
        Self { tags: vec![tag.into()], flows }
    }
}

/// All flows of a run; a flow's id is its position.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Workload {
    /// By start, then part, then position in the part.
    pub flows: Vec<Flow>,
    /// The distinct tags, in the order of the parts.
    pub tags: Vec<String>,
}

impl Workload {
    /// Takes flows that start before `warmup` out of the summary.
    pub fn exclude_warmup(&mut self, warmup: Time) {
        for flow in &mut self.flows {
            flow.measured &= flow.start >= warmup;
        }
    }
}

/// Why parts do not make a workload.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AssembleError {
    /// More flows than flow ids.
    #[error("the workload has {flows} flows, but flow ids end at {limit}: ask for fewer", limit = u32::MAX)]
    TooMany {
        /// All flows.
        flows: usize,
    },
}

/// Merges the parts of a workload into one list, sorted by (start, part, position in the part). That position is the
/// flow id, fixed before the run; `part`, `tag` and `after` of every flow are renumbered accordingly.
///
/// # Errors
/// If there are more flows than flow ids.
pub fn assemble(parts: Vec<Part>) -> Result<Workload, AssembleError> {
    let count = parts.iter().map(|p| p.flows.len()).sum();
    if count > u32::MAX as usize {
        return Err(AssembleError::TooMany { flows: count });
    }
    let mut tags: Vec<String> = Vec::new();
    let mut flows = Vec::with_capacity(count);
    for (number, part) in parts.into_iter().enumerate() {
        let renumbered: Vec<u32> = part.tags.into_iter().map(|tag| intern(&mut tags, tag)).collect();
        let base = flows.len() as u32;
        flows.extend(part.flows.into_iter().map(|flow| Flow {
            part: number as u32,
            tag: renumbered[flow.tag as usize],
            after: flow.after.map(|a| base + a),
            ..flow
        }));
    }
    // `flows` is in order of (part, position), so a stable order by start is the order asked for.
    let mut order: Vec<u32> = (0..flows.len() as u32).collect();
    order.sort_by_key(|i| flows[*i as usize].start);
    let mut id_of = vec![0; flows.len()];
    for (id, i) in order.iter().enumerate() {
        id_of[*i as usize] = id as u32;
    }
    let sorted = order
        .iter()
        .map(|i| flows[*i as usize])
        .map(|flow| Flow { after: flow.after.map(|a| id_of[a as usize]), ..flow });
    Ok(Workload { flows: sorted.collect(), tags })
}

/// The index of `tag`, appended if it is new.
pub(crate) fn intern(tags: &mut Vec<String>, tag: String) -> u32 {
    let found = tags.iter().position(|t| *t == tag);
    found.unwrap_or_else(|| {
        tags.push(tag);
        tags.len() - 1
    }) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn flow(src: u32, start: u64) -> Flow {
        Flow {
            src: HostId(src),
            dst: HostId(src + 1),
            size: Bytes::new(1),
            start: Time::from_ps(start),
            part: 0,
            tag: 0,
            after: None,
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

    proptest! {
        #[test]
        fn a_dependency_still_points_at_the_same_flow_after_merging(
            starts in prop::collection::vec(0_u64..20, 2..40), before in 1_usize..30,
        ) {
            let mut flows: Vec<Flow> = starts.iter().enumerate().map(|(i, s)| flow(i as u32, *s)).collect();
            let n = flows.len();
            for (i, flow) in flows.iter_mut().enumerate() {
                flow.after = (i >= before).then(|| ((i - before) % n) as u32);
            }
            let other: Vec<Flow> = (100..110).map(|i| flow(i, u64::from(i) % 7)).collect();
            let expected: Vec<Option<u32>> = flows.iter().map(|f| f.after).collect();
            let workload = assemble(vec![Part::new("o", other), Part::new("a", flows)]).unwrap();
            for flow in workload.flows.iter().filter(|f| f.part == 1) {
                let after = flow.after.map(|id| workload.flows[id as usize].src.0);
                prop_assert_eq!(after, expected[flow.src.index()]);
            }
            prop_assert!(workload.flows.is_sorted_by_key(|f| (f.start, f.part)));
        }
    }
}
