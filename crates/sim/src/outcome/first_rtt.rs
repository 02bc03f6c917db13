//! Drops of the first round trip: of packets that left before any ACK could have told their sender of the path.
//!
//! When a flow starts that waits for others, its sender alone knows, so drops are judged at the end of the run. Until then as few are
//! kept as may count: no packet of a flow left before its start, so that what left more than a base RTT after the first one that was
//! dropped is none of them.

use crate::plan::Plan;
use crate::record;
use farspan_transport::FlowOutcome;
use farspan_units::{Duration, FlowId, Time};

/// The drops that are kept before those are sorted out that cannot count.
const FEW: usize = 1 << 16;

/// Packets that were dropped, of each flow those that may be of its first round trip: when their host sent them.
#[derive(Default)]
pub(crate) struct FirstRtt {
    sent: Vec<(FlowId, Time)>,
    /// How many stayed when they were last sorted out.
    stayed: usize,
}

impl FirstRtt {
    /// Takes notes of packets that were dropped.
    pub(crate) fn add(&mut self, notes: Vec<[u64; 2]>, plan: &Plan) {
        let of_flow = |note| {
            let (flow, seq, sent_at) = record::noted(note);
            (plan.connections.of_packet(flow, seq).map_or(flow, |(flow, _)| flow), sent_at)
        };
        self.sent.extend(notes.into_iter().map(of_flow));
        if self.sent.len() > FEW.max(2 * self.stayed) {
            self.sort_out(|flow| plan.flow_base_rtt(flow));
        }
    }

    fn sort_out(&mut self, base_rtt: impl Fn(FlowId) -> Duration) {
        self.sent.sort_unstable();
        let (mut of, mut until) = (None, Time::ZERO);
        self.sent.retain(|&(flow, sent_at)| {
            if of != Some(flow) {
                (of, until) = (Some(flow), sent_at + base_rtt(flow));
            }
            sent_at < until
        });
        self.stayed = self.sent.len();
    }

    /// How many were of the first round trip of their flow.
    pub(crate) fn count(&self, flows: &[FlowOutcome], plan: &Plan) -> u64 {
        let early = |&&(flow, sent_at): &&(FlowId, Time)| {
            sent_at < flows[flow.index()].start + plan.flow_base_rtt(flow)
        };
        self.sent.iter().filter(early).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn none_that_may_count_is_sorted_out(
            sent in prop::collection::vec((0..3_u32, 0..40_u64), 0..60), starts in prop::array::uniform3(0..40_u64),
        ) {
            let all: Vec<_> = sent.iter().map(|&(flow, ps)| (FlowId(flow), starts[flow as usize] + ps)).collect();
            let rtt = |flow: FlowId| Duration::from_ps(7 * (1 + u64::from(flow.0)));
            let counted = |all: &[(FlowId, Time)]| {
                let early = |&&(flow, at): &&(FlowId, Time)| at < Time::from_ps(starts[flow.index()]) + rtt(flow);
                all.iter().filter(early).count()
            };
            let all: Vec<_> = all.into_iter().map(|(flow, ps)| (flow, Time::from_ps(ps))).collect();
            let mut kept = FirstRtt { sent: all.clone(), stayed: 0 };
            kept.sort_out(rtt);
            prop_assert_eq!(counted(&kept.sent), counted(&all));
            prop_assert_eq!(kept.stayed, kept.sent.len());
            for flow in (0..3).map(FlowId) {
                let of: Vec<_> = kept.sent.iter().filter(|(of, _)| *of == flow).map(|(_, at)| *at).collect();
                prop_assert!(of.first().zip(of.last()).is_none_or(|(first, last)| last.since(*first) < rtt(flow)));
            }
        }
    }
}
