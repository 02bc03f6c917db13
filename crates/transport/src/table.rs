//! Flows by name, in slots that stay where they are while the flow lives.

use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::{BuildHasher, Hash, Hasher};
use farspan_units::{FlowId, HostId, random};
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

/// A flow of a peer, which numbers its own: those of two may have one number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct PeerFlow {
    /// Whose number it is.
    pub peer: HostId,
    /// The number.
    pub flow: FlowId,
}

/// The name of a flow in a table: its number, where the host has given it itself, else peer and number.
pub(crate) trait Name: Copy + Eq + Hash + Debug {
    /// The number.
    fn flow(self) -> FlowId;
}

impl Name for FlowId {
    #[inline]
    fn flow(self) -> FlowId {
        self
    }
}

impl Name for PeerFlow {
    #[inline]
    fn flow(self) -> FlowId {
        self.flow
    }
}

/// Something that knows which flow's it is.
pub(crate) trait Named {
    /// The names of flows of its kind.
    type Name: Name;

    /// The flow, always the same.
    fn name(&self) -> Self::Name;
}

/// A map from flows whose order decides nothing.
pub(crate) type FlowMap<N, T> = HashMap<N, T, Fixed>;

/// A flow's hash, for tables that hold flows elsewhere.
pub(crate) fn hash(name: impl Name) -> u64 {
    Fixed.hash_one(name)
}

/// A flow and its slot: valid until [`Table::extract`], while the slot holds this flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key<N> {
    /// The flow.
    pub name: N,
    /// The slot.
    pub slot: u32,
}

impl Key<FlowId> {
    /// The endpoint's own key, which names no flow.
    pub(crate) const NONE: Self = Self { name: FlowId(u32::MAX), slot: u32::MAX };
}

/// Flows by name; slots of removed flows are used again.
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

impl<T: Named> Table<T> {
    /// An empty table.
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), index: HashTable::new(), recent: [0; RECENT] }
    }

    /// Adds a flow.
    pub(crate) fn insert(&mut self, value: T) -> Key<T::Name> {
        let name = value.name();
        debug_assert!(self.key(name).is_none(), "flow {name:?} is already there");
        let slot = self.free.pop().unwrap_or_else(|| {
            if self.slots.len() == self.slots.capacity() {
                self.slots.reserve_exact(room(self.slots.len()));
            }
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.slots[slot as usize] = Some(value);
        let slots = &self.slots;
        let rehash = |&slot: &u32| slots[slot as usize].as_ref().map_or(0, |value| hash(value.name()));
        self.index.insert_unique(hash(name), slot, rehash);
        Key { name, slot }
    }

    /// How many flows there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The key of a flow.
    pub(crate) fn key(&self, name: T::Name) -> Option<Key<T::Name>> {
        self.index.find(hash(name), |&slot| self.holds(slot, name)).map(|&slot| Key { name, slot })
    }

    #[inline]
    fn holds(&self, slot: u32, name: T::Name) -> bool {
        matches!(&self.slots[slot as usize], Some(value) if value.name() == name)
    }

    /// A flow's value.
    pub(crate) fn by_name(&self, name: T::Name) -> Option<&T> {
        self.get(self.key(name)?)
    }

    /// A flow's key and value, faster if it was asked for lately.
    #[inline(always)]
    pub(crate) fn find(&mut self, name: T::Name) -> Option<(Key<T::Name>, &mut T)> {
        let slot = self.recent[name.flow().0 as usize & (RECENT - 1)];
        if self
            .slots
            .get(slot as usize)
            .is_some_and(|value| matches!(value, Some(value) if value.name() == name))
        {
            return self.slots[slot as usize].as_mut().map(|value| (Key { name, slot }, value));
        }
        let slot = self.look_up(name)?;
        self.slots[slot as usize].as_mut().map(|value| (Key { name, slot }, value))
    }

    #[cold]
    #[inline(never)]
    fn look_up(&mut self, name: T::Name) -> Option<u32> {
        let Key { slot, .. } = self.key(name)?;
        self.recent[name.flow().0 as usize & (RECENT - 1)] = slot;
        Some(slot)
    }

    /// The value behind a key; `None` if the flow was removed.
    #[inline]
    pub(crate) fn get_mut(&mut self, key: Key<T::Name>) -> Option<&mut T> {
        match self.slots.get_mut(key.slot as usize)? {
            Some(value) if value.name() == key.name => Some(value),
            _ => None,
        }
    }

    /// The value behind a key; `None` if the flow was removed.
    #[inline]
    pub(crate) fn get(&self, key: Key<T::Name>) -> Option<&T> {
        match self.slots.get(key.slot as usize)? {
            Some(value) if value.name() == key.name => Some(value),
            _ => None,
        }
    }

    /// All flows, in the order of their slots: that in which they came, until one is removed.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }

    /// As [`Self::iter`], to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().flatten()
    }

    /// Takes a flow out.
    pub(crate) fn remove(&mut self, key: Key<T::Name>) -> Option<T> {
        self.get(key)?;
        if let Ok(entry) = self.index.find_entry(hash(key.name), |&slot| slot == key.slot) {
            entry.remove();
        }
        self.free.push(key.slot);
        self.slots[key.slot as usize].take()
    }

    /// Takes the flows out that are `gone`, and gives back the memory of their slots. The others move: keys must be
    /// looked up anew.
    pub(crate) fn extract(&mut self, gone: impl Fn(&T) -> bool) -> Vec<T> {
        if !self.iter().any(&gone) {
            return Vec::new();
        }
        let all = core::mem::replace(self, Self::new()).slots.into_iter().flatten();
        let (gone, kept): (Vec<T>, Vec<T>) = all.partition(gone);
        self.slots.reserve_exact(kept.len());
        for value in kept {
            self.insert(value);
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Named for FlowId {
        type Name = Self;

        fn name(&self) -> Self {
            *self
        }
    }

    impl Named for PeerFlow {
        type Name = Self;

        fn name(&self) -> Self {
            *self
        }
    }

    fn of(peer: u32, flow: u32) -> PeerFlow {
        PeerFlow { peer: HostId(peer), flow: FlowId(flow) }
    }

    #[test]
    fn a_key_stops_working_when_its_flow_is_removed_even_if_the_slot_is_used_again() {
        let mut table = Table::new();
        for (old, new) in [(of(1, 7), of(1, 8)), (of(1, 0), of(2, 0))] {
            let key = table.insert(old);
            assert_eq!(table.remove(key), Some(old));
            let next = table.insert(new);
            assert_eq!(next.slot, key.slot);
            assert_eq!(table.get_mut(key), None);
            assert_eq!(table.remove(key), None);
            assert_eq!(table.get(next), Some(&new));
            assert_eq!((table.key(old), table.key(new)), (None, Some(next)));
            table.remove(next);
        }
    }

    #[test]
    fn a_flow_is_found_by_peer_and_number_whoever_was_asked_for_last() {
        let mut table = Table::new();
        let names = [of(1, 0), of(2, 0), of(1, 8), of(3, 0)];
        for name in names {
            table.insert(name);
        }
        for name in names.into_iter().chain(names.into_iter().rev()).chain(names) {
            assert_eq!(table.find(name).map(|(_, found)| *found), Some(name));
        }
        assert_eq!(table.find(of(4, 0)), None);
    }

    #[test]
    fn flows_that_are_extracted_leave_no_slot_and_the_others_stay() {
        let mut table = Table::new();
        for flow in 0..100 {
            table.insert(of(flow % 2, flow / 2));
        }
        let gone = table.extract(|name| name.peer == HostId(1));
        assert_eq!(gone, (0..50).map(|flow| of(1, flow)).collect::<Vec<_>>());
        assert!(table.iter().copied().eq((0..50).map(|flow| of(0, flow))));
        assert_eq!((table.slots.len(), table.free.len(), table.index.len()), (50, 0, 50));
        for flow in 0..50 {
            assert_eq!(table.find(of(0, flow)).map(|(_, name)| *name), Some(of(0, flow)));
            assert_eq!(table.find(of(1, flow)), None);
        }
        assert_eq!(table.extract(|_| true).len(), 50);
        assert_eq!((table.slots.capacity(), table.index.capacity()), (0, 0));
    }
}
