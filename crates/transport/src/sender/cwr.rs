//! Marks that ACKs repeat: once a window the sender says that it has cut its own (RFC 3168, section 6.1.2).
//!
//! The receiver repeats a mark until it hears so. The word is the bit with which a sender asks for an ACK at once, as TCP's
//! CWR brings one, on the next packet that was not sent before.

use super::Sender;

/// The answers of a sender to the marks that ACKs repeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Cwr {
    /// A mark before this packet is acknowledged is of the window that was cut.
    until: u32,
    /// Whether the next new packet is to say so.
    is_due: bool,
}

impl Sender {
    /// An ACK came with a mark; it acknowledges all packets below this one.
    pub(super) fn note_repeated_mark(&mut self, cumulative: u32) {
        let (acked_below, next) = (self.sent.base().max(cumulative), self.sent.next());
        if let Some(cwr) = self.connection_mut().and_then(|connection| connection.cwr.as_mut())
            && acked_below >= cwr.until
        {
            *cwr = Cwr { until: next, is_due: true };
        }
    }

    /// Whether the new packet that leaves now says that the window was cut.
    pub(super) fn take_cwr(&mut self) -> bool {
        let cwr = self.connection_mut().and_then(|connection| connection.cwr.as_mut());
        cwr.is_some_and(|cwr| core::mem::take(&mut cwr.is_due))
    }
}
