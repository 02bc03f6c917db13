//! The model that ports of one kind share.

use super::super::marking::Marking;
use crate::packet::Packet;
use crate::port_config::{MarkingPoint, Overflow, PortConfig, TelemetryCounts, Trim};
use farspan_units::{Bytes, Duration, Rate, TelemetryKind};

/// The properties that ports of one kind have in common: the link and the configuration. Ports share the
/// model, so that the state of each port stays small.
#[derive(Clone, PartialEq, Debug)]
pub struct PortModel {
    /// Picoseconds a byte if that is exact, else 0.
    pub(super) byte_time: u64,
    pub(super) rate: Rate,
    pub(super) delay: Duration,
    pub(super) buffer: Bytes,
    pub(super) marking: Marking,
    pub(super) marks_at_enqueue: bool,
    /// Whether a packet that has left may be marked or stamped.
    pub(super) acts_at_departure: bool,
    /// The state that the ports write on the packets that they send.
    pub(super) telemetry: TelemetryKind,
    /// The bytes that they count there.
    pub(super) telemetry_counts: TelemetryCounts,
    pub(super) control_priority: bool,
    /// Flags of packets of which none passes what waits without being counted in: of all, or of headers.
    pub(super) held_up: u32,
    /// How the ports trim, if they do.
    pub(super) trim: Option<Trim>,
    /// Whether headers are counted when they leave: their weight decides when, so the time alone does not say how many wait.
    pub(super) counts_headers: bool,
    pub(super) fifo: bool,
    /// How long a full buffer takes to send.
    pub(super) full: Duration,
    /// With less than this to send, a FIFO port neither drops a packet nor marks it; zero: it checks every
    /// packet.
    pub(super) unmarked: Duration,
}

impl PortModel {
    /// Ports of `config` on links of `rate` whose far end is `delay` away.
    ///
    /// # Panics
    /// If the rate is zero, the markers contradict each other, or ports trim without a priority queue; scenarios are
    /// checked earlier.
    #[must_use]
    pub fn new(config: &PortConfig, rate: Rate, delay: Duration) -> Self {
        Self::build(config, rate, delay, true)
    }

    /// As [`Self::new`], for ports that may [stop](super::Port::flush) or [change their rate](super::Port::set_rate):
    /// what leaves them is not known when it arrives, so that they are never [FIFO](Self::is_fifo), and count whole
    /// packets.
    ///
    /// # Panics
    /// As [`Self::new`].
    #[must_use]
    pub fn changeable(config: &PortConfig, rate: Rate, delay: Duration) -> Self {
        Self::build(config, rate, delay, false)
    }

    fn build(config: &PortConfig, rate: Rate, delay: Duration, may_be_fifo: bool) -> Self {
        assert!(!rate.is_zero(), "a link moves something");
        let trim = match config.overflow {
            Overflow::Drop => None,
            Overflow::Trim(trim) => Some(trim),
        };
        assert!(trim.is_none() || config.control_priority, "trimmed packets travel in the priority queue");
        let counts_headers = trim.is_some_and(|trim| trim.weight.is_some());
        let marks_at_enqueue = config.marking_point == MarkingPoint::Enqueue || config.markers.is_empty();
        let stamps = config.telemetry != TelemetryKind::None;
        let acts_at_departure = !marks_at_enqueue || stamps;
        let fifo = may_be_fifo && !config.control_priority && !acts_at_departure && trim.is_none();
        let (marking, full) = (Marking::new(config, rate, fifo), rate.transmission(config.buffer));
        let byte_time = exact_byte_time(rate);
        let unmarked = if fifo && byte_time > 0 { full.min(marking.unmarked()) } else { Duration::ZERO };
        Self {
            byte_time,
            rate,
            delay,
            buffer: config.buffer,
            marking,
            marks_at_enqueue,
            acts_at_departure,
            telemetry: config.telemetry,
            telemetry_counts: config.telemetry_counts,
            control_priority: config.control_priority,
            // What has been sent is part of a stamp: nothing may be counted before it has left. By weight nothing goes first for sure.
            held_up: match config.control_priority && !stamps && !counts_headers {
                true => Packet::TRIMMED,
                false => Packet::CONTROL,
            },
            trim,
            counts_headers,
            fifo,
            full,
            unmarked,
        }
    }

    /// Whether the ports decide everything when a packet arrives, and send in the order of arrival: one
    /// queue, marks at enqueue if any, no telemetry, no trimming. The data queue of such a port counts to the bit: what is
    /// left to send, the rest of the packet in service included. It follows from when the port will have sent
    /// everything.
    #[must_use]
    #[inline]
    pub const fn is_fifo(&self) -> bool {
        self.fifo
    }

    /// Whether headers that find no room go back to the hosts that their packets came from.
    #[must_use]
    pub fn returns_headers(&self) -> bool {
        self.trim.is_some_and(|trim| trim.returns)
    }

    /// Whether control packets go first, in a queue of their own.
    #[must_use]
    #[inline]
    pub const fn control_goes_first(&self) -> bool {
        self.control_priority
    }

    /// The model at another link rate; markers and phantom queues keep their configuration.
    pub(super) fn at(&self, rate: Rate) -> Self {
        Self { byte_time: exact_byte_time(rate), rate, ..self.clone() }
    }

    /// How far away the link's far end is: propagation, and processing there.
    #[must_use]
    #[inline]
    pub const fn delay(&self) -> Duration {
        self.delay
    }

    #[inline]
    pub(super) fn transmission(&self, size: Bytes) -> Duration {
        if self.byte_time == 0 {
            return self.odd_transmission(size);
        }
        Duration::from_ps(self.byte_time * size.get())
    }

    #[cold]
    fn odd_transmission(&self, size: Bytes) -> Duration {
        // Two packets of one link never arrive at one instant.
        self.rate.transmission(size).max(Duration::from_ps(1))
    }
}

/// Picoseconds a byte if that is exact, else 0.
fn exact_byte_time(rate: Rate) -> u64 {
    let second = 8_000_000_000_000_u64;
    if second.is_multiple_of(rate.as_bps()) { second / rate.as_bps() } else { 0 }
}
