//! Flows that are messages of persistent connections: those from one host to another, one after another. A flow that no other follows, and
//! that follows none, is none of them.
//!
//! On the wire a connection goes by the number of its first flow, and its packets number on through all of them.

use crate::spec::Flow;
use farspan_units::{Bytes, FlowId};
use std::collections::BTreeMap;

/// A flow's position in its connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InConnection {
    /// The first flow of the connection.
    pub(crate) first: FlowId,
    /// The flow's index among its messages.
    pub(crate) index: u32,
}

/// The persistent connections of a run.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    positions: BTreeMap<FlowId, InConnection>,
    /// All flows of a connection by its first, each with the number of the packet after its last.
    messages: BTreeMap<FlowId, Vec<(FlowId, u32)>>,
}

impl Connections {
    /// Those of these flows; `shares`: what flows of one connection share beside their hosts; `None`: a flow has one of its own.
    pub(crate) fn new<K: Ord>(
        flows: &[Flow],
        mss: Bytes,
        shares: impl Fn(FlowId, &Flow) -> Option<K>,
    ) -> Self {
        let mut this = Self::default();
        let mut by_pair: BTreeMap<_, Vec<FlowId>> = BTreeMap::new();
        for (id, flow) in (0..).map(FlowId).zip(flows) {
            if let Some(shared) = shares(id, flow) {
                by_pair.entry((flow.src, flow.dst, shared)).or_default().push(id);
            }
        }
        for mut connection in by_pair.into_values() {
            connection.sort_by_key(|id| flows[id.index()].start);
            this.add(&connection, flows, mss);
        }
        this
    }

    /// Flows that follow each other on a connection. Where its numbers do not reach for one more, another begins.
    fn add(&mut self, connection: &[FlowId], flows: &[Flow], mss: Bytes) {
        let (mut messages, mut end): (Vec<(FlowId, u32)>, u64) = (Vec::new(), 0);
        for &id in connection {
            end += flows[id.index()].size.segments(mss).max(1);
            if end >= u64::from(u32::MAX) && !messages.is_empty() {
                self.close(std::mem::take(&mut messages));
                end = flows[id.index()].size.segments(mss).max(1);
            }
            messages.push((id, end as u32));
        }
        self.close(messages);
    }

    fn close(&mut self, messages: Vec<(FlowId, u32)>) {
        let &[(first, _), _, ..] = &messages[..] else { return };
        let positions = (0..).zip(&messages).map(|(index, (id, _))| (*id, InConnection { first, index }));
        self.positions.extend(positions);
        self.messages.insert(first, messages);
    }

    /// Whether there are none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// The position of a flow; `None`: it is no message of a persistent connection.
    pub(crate) fn position(&self, flow: FlowId) -> Option<InConnection> {
        self.positions.get(&flow).copied()
    }

    /// The number that a flow has on the wire.
    pub(crate) fn first(&self, flow: FlowId) -> FlowId {
        self.position(flow).map_or(flow, |position| position.first)
    }

    /// The flow that is this message of the flow with this number on the wire.
    pub(crate) fn message(&self, first: FlowId, index: u32) -> FlowId {
        self.messages.get(&first).map_or(first, |messages| messages[index as usize].0)
    }

    /// The flow that packet `seq` of this number on the wire is of, and the packet after that flow's last; `None`: it is of no
    /// persistent connection.
    pub(crate) fn of_packet(&self, first: FlowId, seq: u32) -> Option<(FlowId, u32)> {
        let messages = self.messages.get(&first)?;
        messages.get(messages.partition_point(|&(_, end)| end <= seq)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::{Duration, HostId, Time};

    const MSS: Bytes = Bytes::new(1000);

    fn flow(src: u32, start: u64, size: u64) -> Flow {
        let start = Time::ZERO + Duration::from_us(start);
        Flow { src: HostId(src), dst: HostId(9), size: Bytes::new(size), start, measured: true }
    }

    fn connections(flows: &[Flow], alone: &[u32]) -> Connections {
        Connections::new(flows, MSS, |id, _| (!alone.contains(&id.0)).then_some(()))
    }

    #[test]
    fn flows_of_a_pair_follow_each_other_in_order_of_their_start() {
        let flows = [flow(0, 5, 2500), flow(1, 0, 10), flow(0, 2, 1000), flow(0, 5, 1)];
        let all = connections(&flows, &[]);
        let order: Vec<_> = (0..3).map(|index| all.message(FlowId(2), index).0).collect();
        assert_eq!(order, [2, 0, 3]);
        assert_eq!(all.position(FlowId(3)).map(|position| (position.first.0, position.index)), Some((2, 2)));
        let of = |seq| all.of_packet(FlowId(2), seq).map(|(flow, end)| (flow.0, end));
        assert_eq!([0, 1, 3, 4, 5].map(of), [Some((2, 1)), Some((0, 4)), Some((0, 4)), Some((3, 5)), None]);
        assert_eq!((all.first(FlowId(1)), all.of_packet(FlowId(0), 0)), (FlowId(1), None));
    }

    #[test]
    fn a_flow_that_is_to_be_alone_is() {
        let flows = [flow(0, 0, 1), flow(0, 1, 1), flow(0, 2, 1)];
        let all = connections(&flows, &[1]);
        assert_eq!([0, 1, 2].map(|id| all.first(FlowId(id)).0), [0, 1, 0]);
    }

    #[test]
    fn another_connection_begins_where_numbers_end() {
        let flows = [flow(0, 0, 1), flow(0, 1, 4_294_967_293_000), flow(0, 2, 1)];
        let all = connections(&flows, &[]);
        assert_eq!([0, 1, 2].map(|id| all.first(FlowId(id)).0), [0, 0, 2]);
    }
}
