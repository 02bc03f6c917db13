//! The events of one flow, as the kernel has them: microseconds and packets.

use std::fmt;

/// An ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// Now, in us.
    pub now_us: u64,
    /// Round trip of the newest packet that it acknowledges, in us; 0: of a packet that was sent twice, which has none.
    pub rtt_us: u64,
    /// Packets acknowledged for the first time.
    pub acked_pkts: u64,
    /// Whether all of them came marked; else none did.
    pub marked: bool,
    /// Packets in flight after it.
    pub in_flight_pkts: u64,
    /// Whether the window is what limits the flow.
    pub limited: bool,
}

/// Something that a control is notified of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// An ACK came.
    Ack(Ack),
    /// A loss was found, the first of its episode.
    Loss {
        /// Now, in us.
        now_us: u64,
    },
    /// A time-out ran out.
    Timeout {
        /// Now, in us.
        now_us: u64,
        /// Packets in flight before.
        in_flight_pkts: u64,
    },
    /// All that was lost is acknowledged.
    Repaired {
        /// Now, in us.
        now_us: u64,
    },
    /// The first packet after an idle time is about to leave.
    Idle {
        /// How long nothing left, in ticks of the kernel.
        idle_ticks: u64,
        /// The time-out, in the same.
        rto_ticks: u64,
    },
}

/// A line of `bpf/tcp/replay.c`, which says what stands where.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Ack(Ack { now_us, rtt_us, acked_pkts, marked, in_flight_pkts, limited }) => {
                let (marked, limited) = (u8::from(marked), u8::from(limited));
                write!(f, "a {now_us} {rtt_us} {acked_pkts} {marked} {in_flight_pkts} {limited}")
            }
            Self::Loss { now_us } => write!(f, "l {now_us}"),
            Self::Timeout { now_us, in_flight_pkts } => write!(f, "t {now_us} {in_flight_pkts}"),
            Self::Repaired { now_us } => write!(f, "o {now_us}"),
            Self::Idle { idle_ticks, rto_ticks } => write!(f, "i {idle_ticks} {rto_ticks}"),
        }
    }
}
