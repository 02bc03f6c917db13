//! How a port is built.

use alloc::vec::Vec;
use core::num::NonZeroU32;
use farspan_units::{Bytes, TelemetryKind};

/// Random early detection: never up to `min`, always above `max`, linear between (Uno section 5.1), up to a largest
/// probability at `max` (DCQCN, SIGCOMM 2015, figure 5).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Red {
    /// `k_min`, in bytes of the queue that the marker reads.
    pub min: Bytes,
    /// `k_max`, in bytes of the queue that the marker reads.
    pub max: Bytes,
    /// `P_max`: the probability at `max`, in (0, 1]; above `max` it is 1.
    pub max_probability: f64,
}

impl Red {
    /// With a probability that rises up to 1.
    #[must_use]
    pub const fn new(min: Bytes, max: Bytes) -> Self {
        Self { min, max, max_probability: 1.0 }
    }
}

/// A phantom queue: a counter that fills as the real queue does and drains more slowly than the link (HULL; Uno 4.1.3).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Phantom {
    /// Where the counter saturates.
    pub size: Bytes,
    /// Drain rate as a fraction of the link's rate.
    pub drain: f64,
    /// Whether packets that the buffer drops count as well.
    pub count_dropped: bool,
}

/// One reason to mark a data packet; a port carries a list, and any of them marks.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
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

/// The handling of a data packet that the buffer of a port has no room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Overflow {
    /// The packet is dropped.
    #[default]
    Drop,
    /// A packet's payload is cut off, and its header goes on among the control packets (NDP section 3.1).
    Trim(Trim),
}

/// How a port trims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trim {
    /// The size of a trimmed packet, bytes.
    pub header: Bytes,
    /// Whose payload is cut off.
    pub victim: Victim,
    /// Bytes of headers that may wait or be on their way out, wherever they were cut; beyond them headers are dropped, and
    /// packets whole, unless they [return](Self::returns). They count as if they went before other control packets.
    pub headers: Bytes,
    /// How many headers and other control packets leave in a row, at most, while data waits; then a data packet leaves. `None`:
    /// they always go first.
    pub weight: Option<NonZeroU32>,
    /// Whether the port leads to a host, which headers that it cuts then say.
    pub at_last_hop: bool,
    /// Whether headers beyond `headers` go back to the host that sent the packet (NDP section 3.2.4), rather than that they, or their
    /// packets, are dropped. A header that is on its way back is dropped all the same. Switches with such a port run in ordered mode.
    pub returns: bool,
}

/// Whose payload is cut off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Victim {
    /// That of the packet that arrives.
    Arriving,
    /// A fair coin decides between the packet that arrives and the last one in the data queue, whose position
    /// the arriving packet then takes: exact clocks would trim the packets of one flow only (NDP section
    /// 3.1).
    Coin,
}

/// The bytes that telemetry counts at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TelemetryCounts {
    /// Those that left before the packet (HPCC).
    #[default]
    Departures,
    /// Those that had come to be sent when its service began, the packet included; what was refused does not count (published code of
    /// PowerTCP).
    Arrivals,
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
    /// The handling of data packets that the buffer has no room for.
    pub overflow: Overflow,
    /// The state that the port writes on each data packet that it sends.
    pub telemetry: TelemetryKind,
    /// The bytes that it counts there.
    pub telemetry_counts: TelemetryCounts,
    /// Whether control packets (ACKs, NACKs, trimmed headers) go first, in a queue without limit. A port that
    /// trims needs that.
    pub control_priority: bool,
}

impl PortConfig {
    /// The data queue at which the port begins to mark (`k_min` of RED, the step's threshold); `None`: its length is no
    /// reason to mark.
    #[must_use]
    pub fn k_min(&self) -> Option<Bytes> {
        let of_queue = |marker: &Marker| match *marker {
            Marker::Queue(red) => Some(red.min),
            Marker::Step(threshold) => Some(threshold),
            Marker::Phantom(_) => None,
        };
        self.markers.iter().filter_map(of_queue).min()
    }

    /// A plain drop-tail port: no marking, control packets first.
    #[must_use]
    pub const fn drop_tail(buffer: Bytes) -> Self {
        Self {
            buffer,
            phantom: None,
            markers: Vec::new(),
            marking_point: MarkingPoint::Dequeue,
            overflow: Overflow::Drop,
            telemetry: TelemetryKind::None,
            telemetry_counts: TelemetryCounts::Departures,
            control_priority: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Red;

    #[test]
    fn a_port_begins_to_mark_at_the_least_of_its_markers_of_the_queue() {
        let red = |min| Red::new(Bytes::new(min), Bytes::new(900));
        let of = |markers: &[Marker]| {
            PortConfig { markers: markers.to_vec(), ..PortConfig::drop_tail(Bytes::new(1000)) }.k_min()
        };
        assert_eq!(of(&[Marker::Queue(red(300)), Marker::Step(Bytes::new(200))]), Some(Bytes::new(200)));
        assert_eq!(of(&[Marker::Queue(red(300)), Marker::Phantom(red(100))]), Some(Bytes::new(300)));
        assert_eq!(of(&[Marker::Phantom(red(100))]), None);
    }
}
