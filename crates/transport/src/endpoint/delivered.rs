//! Records of complete receivers: a small one for each flow, so that duplicates that arrive afterwards are answered.

use crate::receiver::Counters;
use crate::table::hash;
use alloc::vec::Vec;
use farspan_units::FlowId;
use hashbrown::HashTable;

/// The records in order of completion, 24 bytes each, and an index of 6 to 12 bytes a record.
#[derive(Debug, Default)]
pub(crate) struct Delivered {
    records: Vec<(FlowId, Counters)>,
    index: HashTable<u32>,
}

impl Delivered {
    /// Keeps the record of a flow that has none.
    pub(crate) fn insert(&mut self, flow: FlowId, counters: Counters) {
        let place = self.records.len();
        if place == self.records.capacity() {
            // Records are many and stay: an eighth more is enough room, and twice as much would be most of the cost.
            self.records.reserve_exact(place / 8 + 1);
        }
        self.records.push((flow, counters));
        let records = &self.records;
        self.index.insert_unique(hash(flow), place as u32, |&place| hash(records[place as usize].0));
    }

    fn place(&self, flow: FlowId) -> Option<usize> {
        let is_it = |&place: &u32| self.records[place as usize].0 == flow;
        self.index.find(hash(flow), is_it).map(|&place| place as usize)
    }

    /// Forgets a flow, and says whether it was complete.
    pub(crate) fn remove(&mut self, flow: FlowId) -> bool {
        let Some(place) = self.place(flow) else { return false };
        if let Ok(entry) = self.index.find_entry(hash(flow), |&other| other as usize == place) {
            entry.remove();
        }
        // The last record comes to its place.
        let last = self.records.len() - 1;
        if let Some(moved) = self.index.find_mut(hash(self.records[last].0), |&other| other as usize == last)
        {
            *moved = place as u32;
        }
        self.records.swap_remove(place);
        true
    }

    /// Whether a flow is complete.
    pub(crate) fn contains(&self, flow: FlowId) -> bool {
        self.place(flow).is_some()
    }

    /// The record of a flow that is complete.
    pub(crate) fn get(&self, flow: FlowId) -> Option<&Counters> {
        self.place(flow).map(|place| &self.records[place].1)
    }

    /// The record of a flow that is complete.
    pub(crate) fn get_mut(&mut self, flow: FlowId) -> Option<&mut Counters> {
        self.place(flow).map(|place| &mut self.records[place].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Data;
    use farspan_units::Time;

    #[test]
    fn each_flow_has_its_own_record_however_many_there_are() {
        let mut delivered = Delivered::default();
        let flows = || (0..5000).map(|n| FlowId(n * 7919));
        flows().for_each(|flow| delivered.insert(flow, Counters::of_packets(flow.0)));
        for flow in flows() {
            let data = Data {
                flow,
                seq: 0,
                packets: flow.0,
                len: 1,
                sent_at: Time::ZERO,
                entropy: 0,
                profile: 0,
                ask: false,
            };
            let counters = delivered.get_mut(flow).expect("it is there");
            assert_eq!(
                counters.on_duplicate(&data, false).is_some(),
                flow.0 > 0,
                "the record is this flow's"
            );
            let arrived =
                delivered.get(flow).expect("it is there").view(flow, true, 0, 0).counters.arrived_packets;
            assert_eq!(arrived, u64::from(flow.0 > 0));
        }
        assert!(!delivered.contains(FlowId(1)));
        assert_eq!(size_of::<(FlowId, Counters)>(), 24);
    }

    #[test]
    fn what_is_forgotten_is_gone_and_the_others_stay() {
        let mut delivered = Delivered::default();
        (0..100).for_each(|flow| delivered.insert(FlowId(flow), Counters::of_packets(flow)));
        for flow in (0..100).step_by(3) {
            assert!(delivered.remove(FlowId(flow)) && !delivered.remove(FlowId(flow)));
        }
        for flow in 0..100 {
            let there = delivered.get(FlowId(flow)).copied();
            assert_eq!(there, (flow % 3 > 0).then(|| Counters::of_packets(flow)), "{flow}");
        }
        assert_eq!((delivered.records.len(), delivered.index.len()), (66, 66));
    }
}
