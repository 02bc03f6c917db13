//! Event engines. They know nodes and messages, and nothing of networks.
//!
//! All mutable state belongs to one node; nodes communicate only by messages over channels. A node sees its
//! own events in the one total order, and an engine may run nodes in any order that keeps this: the oracle
//! runs all of them from one queue, in global order; a windowed engine runs one node at a time over a window
//! short enough that a message sent in it arrives in a later window of its receiver (see [`Alternation`]).
//!
//! **Total order**: (time, class, id, kind), see [`Key`]; events of one class that one channel brings at one
//! instant come in the order in which they were sent. Insertion order never decides.

mod alternation;
mod calendar;
mod far_slots;
mod oracle;
mod order;
mod packed;
mod parallel;
mod wakes;
mod window;
mod windowed;

pub(crate) use alternation::Alternation;
pub(crate) use oracle::Oracle;
pub(crate) use packed::{Arriving, MAX_LINKS, MAX_WINDOW, Message};
pub(crate) use parallel::{Parallel, Part};
pub(crate) use window::Window;
pub(crate) use windowed::Windowed;

use farspan_units::Time;
use std::sync::Arc;

/// The class of an event: events of one instant come in order of class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum EventClass {
    /// A port finished a transmission; id: port.
    Completion = 0,
    /// Something outside the node changes its state; id, kind: what.
    Fault = 1,
    /// A sample of the state; id: 0.
    Probe = 2,
    /// A [`Frame`] arrives; id: channel.
    Frame = 3,
    /// A message arrives; id: channel.
    Arrival = 4,
    /// A notification from another node; id: its subject.
    Notification = 5,
    /// A flow starts; id: flow.
    Start = 6,
    /// A timer of the node runs out; kind: which.
    Timer = 7,
}

/// The position of an event in the total order: by time, then class, then id, then kind; one number, so that
/// one comparison decides.
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
            1 => EventClass::Fault,
            2 => EventClass::Probe,
            3 => EventClass::Frame,
            4 => EventClass::Arrival,
            5 => EventClass::Notification,
            6 => EventClass::Start,
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

/// A value that travels over a channel by itself, ahead of messages of the same instant: a pause, say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frame(pub(crate) u32);

/// The payload of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Payload<M> {
    /// Nothing: the key says all.
    None,
    /// A message: [`EventClass::Arrival`].
    Message(M),
    /// A frame: [`EventClass::Frame`].
    Frame(Frame),
}

/// A channel as the engines address it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Channel {
    /// The channel's number.
    pub(crate) id: u32,
    /// The node at its end, counted within its part, or [`Channel::AWAY`] if that is not the part of the node
    /// at its start, or if both nodes run the same one of two alternating windows.
    node: u32,
    /// The part of the world that the node belongs to: what one thread runs.
    part: u16,
    /// Rank among the channels that end at the node, in order of their ids; one bit distinguishes messages
    /// from frames.
    rank: u16,
}

impl Channel {
    /// A number that no node has.
    const AWAY: u32 = u32::MAX;

    /// A channel to a node that is elsewhere.
    #[cfg(test)]
    pub(crate) const fn away(id: u32) -> Self {
        Self { id, node: Self::AWAY, part: 0, rank: packed::IS_MESSAGE }
    }
}

/// Where the nodes are, and the channels between them.
pub(crate) struct Map {
    /// Part of each node, and its index there; nodes of a part keep their order.
    pub(crate) locations: Vec<(u16, u32)>,
    /// How many nodes each part has.
    pub(crate) sizes: Vec<u32>,
    /// Channels by id.
    pub(crate) channels: Vec<Channel>,
    /// The node at the end of each channel, counted within its part.
    ends: Arc<[u32]>,
}

impl Map {
    /// `part_of[n]` is the part of node `n`, and `channels` leads from a node to a node.
    pub(crate) fn new(part_of: &[u16], alternation: &Alternation, channels: &[(u32, u32)]) -> Self {
        let parts = part_of.iter().max().map_or(1, |&last| usize::from(last) + 1);
        let mut sizes = vec![0; parts];
        let place = |&part: &u16| {
            let size: &mut u32 = &mut sizes[usize::from(part)];
            *size += 1;
            (part, *size - 1)
        };
        let locations: Vec<(u16, u32)> = part_of.iter().map(place).collect();
        let mut degree = vec![0_u32; part_of.len()];
        let channel = |(id, &(start, end)): (u32, &(u32, u32))| {
            let ((part, node), degree) = (locations[end as usize], &mut degree[end as usize]);
            *degree += 1;
            let side = |node| alternation.group_of[node as usize];
            let is_next = alternation.groups == 1 || side(start) != side(end);
            let node = if part == part_of[start as usize] && is_next { node } else { Channel::AWAY };
            // Nodes with more links than there are ranks run under the oracle, which has no use for ranks.
            Channel { id, node, part, rank: (*degree - 1) as u16 | packed::IS_MESSAGE }
        };
        let ends = channels.iter().map(|&(_, end)| locations[end as usize].1).collect();
        let channels = (0..).zip(channels).map(channel).collect();
        Self { locations, sizes, channels, ends }
    }
}

/// Requests that a node makes of the engine while it handles events.
pub(crate) trait Outbox<M> {
    /// Delivers `msg` at `at` to the node at the end of `channel`. `at` is at least the lookahead away.
    /// Messages of one channel that arrive at one instant keep the order in which they were sent; nothing for
    /// another instant is sent over the channel in between.
    fn send(&mut self, channel: &Channel, at: Time, msg: M);

    /// Delivers a frame in the same way; at one instant frames come before messages.
    fn send_frame(&mut self, channel: &Channel, at: Time, frame: Frame);

    /// Hands the node an event of its own at `key.at()`, now or later. Events cannot be taken back: a node
    /// ignores those that no longer matter.
    fn wake(&mut self, key: Key);

    /// Sends a [notification](EventClass::Notification) to a node, possibly the same one: an event whose key
    /// says everything, such as that flows may start. `key.at()` is at least the lookahead away.
    /// Notifications of equal keys are equal, so their order does not matter. They are rare, and need no
    /// channel.
    fn notify(&mut self, node: u32, key: Key);
}

/// State that the nodes of one part share: memory to put messages in, and counts. It never influences the
/// outcome.
pub(crate) trait PartitionState<M> {
    /// A message on its way to another part.
    type Moved: Send;

    /// Takes a message out.
    fn pack(&mut self, msg: M) -> Self::Moved;

    /// Puts a message in.
    fn unpack(&mut self, moved: Self::Moved) -> M;

    /// The message with this number is about to be handled: its record may be prefetched. Numbers of no
    /// message have no effect.
    fn fetch(&self, number: u32);
}

/// A part of the world that owns its state.
pub(crate) trait Node: Send {
    /// The message type that travels between nodes.
    type Msg: Message + Send;
    /// The state that the nodes of one part share.
    type Shared: PartitionState<Self::Msg> + Send;

    /// Handles one event; events come in the total order.
    fn handle(
        &mut self,
        key: Key,
        payload: Payload<Self::Msg>,
        shared: &mut Self::Shared,
        out: &mut impl Outbox<Self::Msg>,
    );

    /// Handles all events of a window. The outcome is that of handling them one by one; a node that keeps its
    /// own next event need not ask for it with [`Outbox::wake`], but returns its time, or [`Time::MAX`] if
    /// nothing of its own is under way: it will be run again then.
    fn run(&mut self, shared: &mut Self::Shared, window: &mut Window<'_, Self::Msg>) -> Time;

    /// Whether the node holds back what only a frame or a message from another one can release: then it is
    /// not idle, though nothing of its own is under way.
    fn is_held(&self) -> bool {
        false
    }
}

/// Why an engine paused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pause {
    /// Nothing is left to happen but probes.
    Idle,
    /// Nothing is left to happen but probes, while some node [holds something back](Node::is_held).
    Held,
    /// All events before the limit have been handled.
    Reached,
    /// The budget of events is used up.
    Budget,
}

impl Pause {
    /// Nothing of their own is under way at `nodes`.
    fn idle<N: Node>(nodes: &[N]) -> Self {
        if nodes.iter().any(Node::is_held) { Self::Held } else { Self::Idle }
    }
}
