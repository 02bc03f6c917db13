//! Flows by number, in slots that stay where they are while the flow lives.

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hasher};
use farspan_units::{FlowId, random};
use hashbrown::{HashMap, HashTable};

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

/// A flow's hash, for tables that hold flows elsewhere.
pub(crate) fn hash(flow: FlowId) -> u64 {
    Fixed.hash_one(flow)
}

/// A flow and its slot: valid while the slot holds this flow. An endpoint never sees a flow's number twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    /// The flow.
    pub flow: FlowId,
    /// The slot; below 2^30.
    pub slot: u32,
}

impl Key {
    /// Of no flow: the endpoint's own.
    pub(crate) const NONE: Self = Self { flow: FlowId(u32::MAX), slot: 0 };
}

/// Something that knows whose it is.
pub(crate) trait OfFlow {
    /// The flow, always the same.
    fn flow(&self) -> FlowId;
}

/// Flows by number; slots of removed flows are used again.
#[derive(Debug)]
pub(crate) struct Table<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
    /// Slots by the flow in them.
    index: HashTable<u32>,
    /// Slots found last, by the low bits of the flow's number: a host hears from few flows at a time.
    recent: [u32; RECENT],
}

/// How many more of what each flow has are made room for when there are so many: a sixteenth, so that little stands
/// empty.
#[cold]
pub(crate) const fn room(len: usize) -> usize {
    len / 16 + 1
}

/// How many slots a table remembers; a power of two.
const RECENT: usize = 8;

impl<T: OfFlow> Table<T> {
    /// An empty table.
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), index: HashTable::new(), recent: [0; RECENT] }
    }

    /// Adds a flow.
    pub(crate) fn insert(&mut self, value: T) -> Key {
        let flow = value.flow();
        debug_assert!(self.key(flow).is_none(), "flow {flow} is already there");
        let slot = self.free.pop().unwrap_or_else(|| {
            if self.slots.len() == self.slots.capacity() {
                self.slots.reserve_exact(room(self.slots.len()));
            }
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.slots[slot as usize] = Some(value);
        let slots = &self.slots;
        let rehash = |&slot: &u32| slots[slot as usize].as_ref().map_or(0, |value| hash(value.flow()));
        self.index.insert_unique(hash(flow), slot, rehash);
        Key { flow, slot }
    }

    /// The key of a flow.
    pub(crate) fn key(&self, flow: FlowId) -> Option<Key> {
        self.index.find(hash(flow), |&slot| self.holds(slot, flow)).map(|&slot| Key { flow, slot })
    }

    #[inline]
    fn holds(&self, slot: u32, flow: FlowId) -> bool {
        matches!(&self.slots[slot as usize], Some(value) if value.flow() == flow)
    }

    /// A flow's key and value, faster if it was asked for lately.
    #[inline(always)]
    pub(crate) fn find(&mut self, flow: FlowId) -> Option<(Key, &mut T)> {
        let slot = self.recent[flow.0 as usize & (RECENT - 1)];
        if self
            .slots
            .get(slot as usize)
            .is_some_and(|value| matches!(value, Some(value) if value.flow() == flow))
        {
            return self.slots[slot as usize].as_mut().map(|value| (Key { flow, slot }, value));
        }
        let slot = self.look_up(flow)?;
        self.slots[slot as usize].as_mut().map(|value| (Key { flow, slot }, value))
    }

    #[cold]
    #[inline(never)]
    fn look_up(&mut self, flow: FlowId) -> Option<u32> {
        let Key { slot, .. } = self.key(flow)?;
        self.recent[flow.0 as usize & (RECENT - 1)] = slot;
        Some(slot)
    }

    /// The value behind a key; `None` if the flow was removed.
    #[inline]
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        match self.slots.get_mut(key.slot as usize)? {
            Some(value) if value.flow() == key.flow => Some(value),
            _ => None,
        }
    }

    /// The value behind a key; `None` if the flow was removed.
    #[inline]
    pub(crate) fn get(&self, key: Key) -> Option<&T> {
        match &self.slots[key.slot as usize] {
            Some(value) if value.flow() == key.flow => Some(value),
            _ => None,
        }
    }

    /// Takes a flow out.
    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        if let Ok(entry) = self.index.find_entry(hash(key.flow), |&slot| slot == key.slot) {
            entry.remove();
        }
        self.free.push(key.slot);
        self.slots[key.slot as usize].take()
    }
}

#[cfg(test)]
impl OfFlow for FlowId {
    fn flow(&self) -> FlowId {
        *self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stops_working_when_its_flow_is_removed_even_if_the_slot_is_used_again() {
        let mut table = Table::new();
        let old = table.insert(FlowId(7));
        assert_eq!(table.remove(old), Some(FlowId(7)));
        let new = table.insert(FlowId(8));
        assert_eq!(new.slot, old.slot);
        assert_eq!(table.get_mut(old), None);
        assert_eq!(table.remove(old), None);
        assert_eq!(table.get(new), Some(&FlowId(8)));
        assert_eq!(table.key(FlowId(7)), None);
        assert_eq!(table.key(FlowId(8)), Some(new));
    }
}
