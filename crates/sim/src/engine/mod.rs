//! Event engines. They know nodes and messages, and nothing of networks.
//!
//! All mutable state belongs to one node; nodes speak only by messages over channels. A node sees its own events in the
//! one total order, and an engine may run nodes in any order that keeps this: the oracle runs all of them from one
//! queue, in global order; a windowed engine runs one node at a time over a window no longer than the lookahead, since
//! nothing that another node does in the window can reach it before the window ends.
//!
//! **Total order**: (time, class, id, kind), see [`Key`]. Insertion order never decides.

mod oracle;
mod windowed;

pub(crate) use oracle::Oracle;
pub(crate) use windowed::{MAX_LINKS, MAX_WINDOW, Window, Windowed};

use farspan_units::Time;

/// What comes first among events of one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum EventClass {
    /// A port finished a transmission; id: port.
    Completion = 0,
    /// A look at the state; id: 0.
    Probe = 2,
    /// A message arrives; id: channel.
    Arrival = 4,
    /// A flow starts; id: flow.
    Start = 5,
    /// A timer of the node runs out; kind: which.
    Timer = 6,
}

/// Where an event stands in the total order: by time, then class, then id, then kind; one number, so that one comparison
/// decides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key(u128);

impl Key {
    /// time : 64 | unused : 16 | class : 8 | id : 32 | kind : 8.
    pub(crate) const fn new(at: Time, class: EventClass, id: u32, kind: u8) -> Self {
        Self((at.as_ps() as u128) << 64 | (class as u128) << 40 | (id as u128) << 8 | kind as u128)
    }

    pub(crate) const fn at(self) -> Time {
        Time::from_ps((self.0 >> 64) as u64)
    }

    pub(crate) const fn class(self) -> EventClass {
        match (self.0 >> 40) as u8 {
            0 => EventClass::Completion,
            2 => EventClass::Probe,
            4 => EventClass::Arrival,
            5 => EventClass::Start,
            _ => EventClass::Timer,
        }
    }

    pub(crate) const fn id(self) -> u32 {
        (self.0 >> 8) as u32
    }

    pub(crate) const fn kind(self) -> u8 {
        self.0 as u8
    }
}

/// What a node asks of the engine while it handles events.
pub(crate) trait Outbox<M> {
    /// Delivers `msg` at `at` to the node at the end of `channel`. `at` is at least the lookahead away, and no two
    /// messages of one channel arrive at one instant.
    fn send(&mut self, channel: u32, at: Time, msg: M);

    /// Hands the node an event of its own at `key.at()`, now or later. Events cannot be taken back: a node ignores those
    /// that no longer matter.
    fn wake(&mut self, key: Key);
}

/// A part of the world that owns its state.
pub(crate) trait Node {
    /// What travels between nodes.
    type Msg: Copy;
    /// What the nodes of one thread share: memory to put messages in, never state that decides anything.
    type Shared;

    /// Handles one event; events come in the total order. `msg` is there for [`EventClass::Arrival`].
    fn handle(
        &mut self,
        key: Key,
        msg: Option<Self::Msg>,
        shared: &mut Self::Shared,
        out: &mut impl Outbox<Self::Msg>,
    );

    /// Handles all events of a window. The outcome is that of handling them one by one; a node that can settle its own
    /// completions lazily need not ask for them. Gives whether something of the node's own is still under way.
    fn run(&mut self, shared: &mut Self::Shared, window: &mut Window<'_, Self::Msg>) -> bool;
}

/// Why an engine paused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pause {
    /// Nothing is left to happen but probes.
    Idle,
    /// All events before the limit have been handled.
    Reached,
    /// The budget of events is used up.
    Budget,
}
