//! Everything that is to happen, in the simulator's order: (time, class, id), and among equals the order in which it was put in.

use farspan_fabric::PacketId;
use farspan_fabric::switch::shared::Frame;
use farspan_units::{PortId, Time};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Something that happens. Variants stand in the order of one instant.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    /// A port of a switch has something to do; the id is the switch's place.
    Switch,
    /// A packet has left a NIC; the id is the host.
    Sent,
    /// The state of a port's link changes.
    Fault,
    /// All routes change; the id is the number of the new ones.
    Routes,
    /// Ports are sampled.
    Sample,
    /// A frame of a switch arrives over a link.
    Frame(Frame),
    /// A packet arrives over a link.
    Arrival(PacketId),
}

impl Happening {
    const fn class(self) -> u8 {
        match self {
            Self::Switch | Self::Sent => 0,
            Self::Fault | Self::Routes => 1,
            Self::Sample => 2,
            Self::Frame(_) => 3,
            Self::Arrival(_) => 4,
        }
    }
}

/// When, and what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) at: Time,
    /// A link, or what the happening says.
    pub(super) id: u32,
    number: u64,
    pub(super) happening: Happening,
}

impl Due {
    const fn key(&self) -> (Time, u8, u32, u64) {
        (self.at, self.happening.class(), self.id, self.number)
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// The queue of an engine.
#[derive(Debug)]
pub(super) struct Queue {
    heap: BinaryHeap<Reverse<Due>>,
    number: u64,
    /// When each switch has something to do, and those that have by time.
    switches: Vec<Time>,
    by_time: BTreeSet<(Time, u32)>,
}

impl Queue {
    pub(super) fn new(switches: usize) -> Self {
        Self {
            heap: BinaryHeap::new(),
            number: 0,
            switches: vec![Time::MAX; switches],
            by_time: BTreeSet::new(),
        }
    }

    pub(super) fn push(&mut self, at: Time, id: PortId, happening: Happening) {
        self.number += 1;
        self.heap.push(Reverse(Due { at, id: id.0, number: self.number, happening }));
    }

    /// Packets on links.
    #[cfg(test)]
    pub(super) fn arrivals(&self) -> impl Iterator<Item = PacketId> {
        self.heap.iter().filter_map(|Reverse(due)| match due.happening {
            Happening::Arrival(id) => Some(id),
            _ => None,
        })
    }

    /// A packet on a link never arrives.
    #[cfg(test)]
    pub(super) fn forget(&mut self, packet: PacketId) {
        self.heap.retain(|Reverse(due)| !matches!(due.happening, Happening::Arrival(id) if id == packet));
    }

    /// A switch has something to do at `at`; [`Time::MAX`]: it has not.
    pub(super) fn set_switch(&mut self, place: usize, at: Time) {
        let before = std::mem::replace(&mut self.switches[place], at);
        if before != at {
            self.by_time.remove(&(before, place as u32));
            if at != Time::MAX {
                self.by_time.insert((at, place as u32));
            }
        }
    }

    /// When something is due next.
    pub(super) fn next_at(&self) -> Time {
        let switch = self.by_time.first().map_or(Time::MAX, |(at, _)| *at);
        self.heap.peek().map_or(Time::MAX, |Reverse(due)| due.at).min(switch)
    }

    /// The first thing that is due, by `now`. A switch stays due until [`Self::set_switch`] says otherwise.
    pub(super) fn pop(&mut self, now: Time) -> Option<Due> {
        let first = self.heap.peek().map(|Reverse(due)| (due.at, due.happening.class()));
        if let Some(&(at, place)) = self.by_time.first()
            && at <= now
            && first.is_none_or(|other| (at, 0) <= other)
        {
            return Some(Due { at, id: place, number: 0, happening: Happening::Switch });
        }
        first.filter(|(at, _)| *at <= now)?;
        self.heap.pop().map(|Reverse(due)| due)
    }
}
