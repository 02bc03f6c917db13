//! How a port is built.

use alloc::vec::Vec;
use farspan_units::Bytes;

/// Random early detection: never below `min`, always above `max`, linear between (Uno section 5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Red {
    /// `k_min`, in bytes of the queue that is looked at.
    pub min: Bytes,
    /// `k_max`, in bytes of the queue that is looked at.
    pub max: Bytes,
}

/// A phantom queue: a counter that fills as the real queue does and drains more slowly than the link (HULL; Uno 4.1.3).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Phantom {
    /// Where the counter saturates.
    pub size: Bytes,
    /// Drain rate as a fraction of the link's rate.
    pub drain: f64,
    /// Whether packets that the buffer refuses count as well.
    pub count_dropped: bool,
}

/// One reason to mark a data packet; a port carries a list, and any of them marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marker {
    /// RED on the real data queue.
    Queue(Red),
    /// RED on the phantom counter.
    Phantom(Red),
    /// Always above a threshold of the real data queue (DCTCP).
    Step(Bytes),
}

/// When the decision to mark is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkingPoint {
    /// On arrival, by the state after the packet was queued.
    Enqueue,
    /// On departure, by the state after the packet left.
    Dequeue,
}

/// Everything about a port but its link.
#[derive(Clone, PartialEq, Debug)]
pub struct PortConfig {
    /// Data bytes that the port holds, the packet in service included; `Bytes::MAX`: no limit.
    pub buffer: Bytes,
    /// The phantom queue, if the port has one.
    pub phantom: Option<Phantom>,
    /// Reasons to mark.
    pub markers: Vec<Marker>,
    /// When to mark.
    pub marking_point: MarkingPoint,
    /// Whether control packets (ACKs, NACKs, trimmed headers) go first, in a queue without limit.
    pub control_priority: bool,
}

impl PortConfig {
    /// A plain drop-tail port: no marking, control packets first.
    #[must_use]
    pub const fn drop_tail(buffer: Bytes) -> Self {
        Self {
            buffer,
            phantom: None,
            markers: Vec::new(),
            marking_point: MarkingPoint::Dequeue,
            control_priority: true,
        }
    }
}
