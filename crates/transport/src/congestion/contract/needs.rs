//! The needs of controls, beside the events that every flow has.

use super::NackRule;
use crate::notifier::CnpConfig;
use crate::pulls::PullConfig;
use farspan_units::{Bytes, TelemetryKind};

/// Everything that a control asks of senders, receivers and ports. What it does not ask for it must not read, which the
/// conformance tests check: its decisions are the same with and without.
///
/// There is no default: each control says all of it, so that a new signal is one that every control has answered for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Needs {
    /// Marks: [`Ack::ecn_ce`](super::Ack::ecn_ce), or the CNPs that follow from them.
    pub ecn: Ecn,
    /// Whether it is notified of packets that leave: [`Congestion::on_sent`](super::Congestion::on_sent).
    pub sent: bool,
    /// Whether the sender keeps its state at the time when a packet left: [`Ack::at_send`](super::Ack::at_send). It costs
    /// memory for each packet in flight.
    pub send_record: bool,
    /// The pulls that the receiver is to send, of a control that runs on credit:
    /// [`Congestion::on_pull`](super::Congestion::on_pull).
    pub pulls: Option<PullConfig>,
    /// The CNPs that the receiver is to send: [`Congestion::on_cnp`](super::Congestion::on_cnp).
    pub cnps: Option<CnpConfig>,
    /// The least that ports are to write on packets: [`Ack::hops`](super::Ack::hops). With less the control does not move, or
    /// amiss.
    pub telemetry: TelemetryKind,
    /// Whether the receiver says when packets arrived: [`Ack::received_at`](super::Ack::received_at).
    pub arrival: bool,
    /// Whether its source has a rule for trimmed and lost packets, and whether it has a window to [lower](super::Congestion::lower).
    pub nacks: NackRule,
    /// Bytes that its signals take on the wire, beside the header of every packet.
    pub signal_bytes: SignalBytes,
}

/// Whether a control needs marks: where no port sets any, one that does learns of a queue when it overflows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ecn {
    /// They say when to send less.
    Required,
    /// They say so once a window, as a loss does (RFC 3168): an ACK may repeat one until the window is cut.
    AsLoss,
    /// It does not look at them.
    Ignored,
}

/// Bytes that the signals of a control take on the wire, at most [`Self::MOST`] each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignalBytes {
    /// In each data packet.
    pub data: Bytes,
    /// In each ACK, which echoes them.
    pub ack: Bytes,
}

impl SignalBytes {
    /// The most that they may take.
    pub const MOST: Bytes = Bytes::new(256);

    /// None: its signals take no room of their own.
    pub const NONE: Self = Self { data: Bytes::ZERO, ack: Bytes::ZERO };
}
