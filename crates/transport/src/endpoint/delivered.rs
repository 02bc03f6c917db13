//! Records of complete receivers: a small one for each flow, so that duplicates that arrive afterwards are answered.

use crate::receiver::Counters;
use crate::table::{PeerFlow, hash};
use alloc::vec::Vec;
use hashbrown::HashTable;

/// The records in order of completion, 28 bytes each, and an index of 6 to 12 bytes a record.
#[derive(Debug, Default)]
pub(crate) struct Delivered {
    records: Vec<(PeerFlow, Counters)>,
    index: HashTable<u32>,
}

impl Delivered {
    /// Keeps the record of a flow that has none.
    pub(crate) fn insert(&mut self, name: PeerFlow, counters: Counters) {
        let place = self.records.len();
        if place == self.records.capacity() {
            // Records are many and stay: little more is enough room, and twice as much would be most of the cost.
            self.records.reserve_exact(place / 64 + 1);
        }
        self.records.push((name, counters));
        let records = &self.records;
        self.index.insert_unique(hash(name), place as u32, |&place| hash(records[place as usize].0));
    }

    fn place(&self, name: PeerFlow) -> Option<usize> {
        let is_it = |&place: &u32| self.records[place as usize].0 == name;
        self.index.find(hash(name), is_it).map(|&place| place as usize)
    }

    /// Forgets a flow, and says whether it was complete.
    pub(crate) fn remove(&mut self, name: PeerFlow) -> bool {
        let Some(place) = self.place(name) else { return false };
        if let Ok(entry) = self.index.find_entry(hash(name), |&other| other as usize == place) {
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

    /// Forgets the flows that are `gone`, and gives back their memory.
    pub(crate) fn forget(&mut self, gone: impl Fn(PeerFlow) -> bool) {
        if !self.records.iter().any(|&(name, _)| gone(name)) {
            return;
        }
        let mut records = core::mem::take(self).records;
        records.retain(|&(name, _)| !gone(name));
        self.records.reserve_exact(records.len());
        for (name, counters) in records {
            self.insert(name, counters);
        }
    }

    /// Whether a flow is complete.
    pub(crate) fn contains(&self, name: PeerFlow) -> bool {
        self.place(name).is_some()
    }

    /// The record of a flow that is complete.
    pub(crate) fn get(&self, name: PeerFlow) -> Option<&Counters> {
        self.place(name).map(|place| &self.records[place].1)
    }

    /// The record of a flow that is complete.
    pub(crate) fn get_mut(&mut self, name: PeerFlow) -> Option<&mut Counters> {
        self.place(name).map(|place| &mut self.records[place].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Data;
    use farspan_units::{FlowId, HostId, Time};

    /// Numbers come twice, from two peers.
    fn name(n: u32) -> PeerFlow {
        PeerFlow { peer: HostId(n % 2), flow: FlowId(n / 2 * 7919) }
    }

    #[test]
    fn each_flow_has_its_own_record_however_many_there_are() {
        let mut delivered = Delivered::default();
        (0..5000).for_each(|n| delivered.insert(name(n), Counters::of_packets(n)));
        for n in 0..5000 {
            let data = Data {
                flow: name(n).flow,
                seq: 0,
                packets: n,
                len: 1,
                sent_at: Time::ZERO,
                entropy: 0,
                profile: 0,
                ask: false,
            };
            let counters = delivered.get_mut(name(n)).expect("it is there");
            assert_eq!(counters.on_duplicate(&data, false).is_some(), n > 0, "the record is this flow's");
            let view = delivered.get(name(n)).expect("it is there").view(data.flow, true, 0, 0);
            assert_eq!(view.counters.arrived_packets, u64::from(n > 0));
        }
        assert!(!delivered.contains(PeerFlow { peer: HostId(2), flow: FlowId(0) }));
        assert_eq!(size_of::<(PeerFlow, Counters)>(), 28);
    }

    #[test]
    fn what_is_forgotten_is_gone_and_the_others_stay() {
        let mut delivered = Delivered::default();
        (0..100).for_each(|n| delivered.insert(name(n), Counters::of_packets(n)));
        for n in (0..100).step_by(3) {
            assert!(delivered.remove(name(n)) && !delivered.remove(name(n)));
        }
        for n in 0..100 {
            let there = delivered.get(name(n)).copied();
            assert_eq!(there, (n % 3 > 0).then(|| Counters::of_packets(n)), "{n}");
        }
        assert_eq!((delivered.records.len(), delivered.index.len()), (66, 66));
        delivered.forget(|name| name.peer == HostId(1));
        for n in 0..100 {
            let there = delivered.get(name(n)).copied();
            assert_eq!(there, (n % 3 > 0 && n % 2 == 0).then(|| Counters::of_packets(n)), "{n}");
        }
        assert_eq!((delivered.records.capacity(), delivered.index.len()), (33, 33));
    }
}
