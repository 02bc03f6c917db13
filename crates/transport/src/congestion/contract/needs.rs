//! The needs of controls, beside ACKs.

use farspan_units::Bytes;

/// Whether a control needs marks: where no port sets any, one that does learns of a queue when it overflows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ecn {
    /// They say when to send less.
    Required,
    /// It does not look at them.
    Ignored,
}

/// Bytes that the signals of a control take on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SignalBytes {
    /// In each data packet.
    pub data: Bytes,
    /// In each ACK, which echoes them.
    pub ack: Bytes,
}
