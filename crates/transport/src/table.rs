//! Flows by number, in slots that stay where they are while the flow lives.

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hasher};
use farspan_units::{FlowId, random};
use hashbrown::HashMap;

/// A hasher for small integers, the same on every machine.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Fixed;

/// The state of [`Fixed`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedState(u64);

impl BuildHasher for Fixed {
    type Hasher = FixedState;

    fn build_hasher(&self) -> FixedState {
        FixedState(0)
    }
}

impl Hasher for FixedState {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = random::mix(self.0 ^ u64::from(byte)));
    }

    fn write_u32(&mut self, x: u32) {
        self.0 = random::mix(self.0 ^ (u64::from(x) + 1));
    }
}

/// A map from flows that is looked up and never iterated.
pub(crate) type FlowMap<T> = HashMap<FlowId, T, Fixed>;

/// A flow and its slot: valid while the slot holds this flow. An endpoint never sees a flow's number twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    /// The flow.
    pub flow: FlowId,
    slot: u32,
}

/// Flows by number; slots of removed flows are used again.
#[derive(Debug)]
pub(crate) struct Table<T> {
    slots: Vec<Option<(FlowId, T)>>,
    free: Vec<u32>,
    index: FlowMap<u32>,
    /// Slots found last, by the low bits of the flow's number: a host hears from few flows at a time.
    recent: [u32; RECENT],
}

/// How many slots a table remembers; a power of two.
const RECENT: usize = 8;

impl<T> Table<T> {
    /// An empty table.
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), index: HashMap::with_hasher(Fixed), recent: [0; RECENT] }
    }

    /// Adds a flow.
    pub(crate) fn insert(&mut self, flow: FlowId, value: T) -> Key {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.slots[slot as usize] = Some((flow, value));
        let before = self.index.insert(flow, slot);
        debug_assert!(before.is_none(), "flow {flow} is already there");
        Key { flow, slot }
    }

    /// The key of a flow.
    pub(crate) fn key(&self, flow: FlowId) -> Option<Key> {
        self.index.get(&flow).map(|&slot| Key { flow, slot })
    }

    /// The key of a flow, faster if it was asked for lately.
    #[inline]
    pub(crate) fn find(&mut self, flow: FlowId) -> Option<Key> {
        let recent = &mut self.recent[flow.0 as usize & (RECENT - 1)];
        if let Some(Some((found, _))) = self.slots.get(*recent as usize)
            && *found == flow
        {
            return Some(Key { flow, slot: *recent });
        }
        *recent = *self.index.get(&flow)?;
        Some(Key { flow, slot: *recent })
    }

    /// The value behind a key; `None` if the flow was removed.
    #[inline]
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        match &mut self.slots[key.slot as usize] {
            Some((flow, value)) if *flow == key.flow => Some(value),
            _ => None,
        }
    }

    /// The value behind a key; `None` if the flow was removed.
    #[inline]
    pub(crate) fn get(&self, key: Key) -> Option<&T> {
        match &self.slots[key.slot as usize] {
            Some((flow, value)) if *flow == key.flow => Some(value),
            _ => None,
        }
    }

    /// Takes a flow out.
    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        self.index.remove(&key.flow);
        self.free.push(key.slot);
        self.slots[key.slot as usize].take().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stops_working_when_its_flow_is_removed_even_if_the_slot_is_used_again() {
        let mut table = Table::new();
        let old = table.insert(FlowId(7), 'a');
        assert_eq!(table.remove(old), Some('a'));
        let new = table.insert(FlowId(8), 'b');
        assert_eq!(new.slot, old.slot);
        assert_eq!(table.get_mut(old), None);
        assert_eq!(table.remove(old), None);
        assert_eq!(table.get(new), Some(&'b'));
        assert_eq!(table.key(FlowId(7)), None);
        assert_eq!(table.key(FlowId(8)), Some(new));
    }
}
