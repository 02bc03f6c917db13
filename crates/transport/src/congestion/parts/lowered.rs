//! A bound on what was recorded when packets left, once a NACK has lowered the window ([`Congestion::lower`]).
//!
//! A control whose next window follows from the state at the sending of the acknowledged packet (HPCC with `reference = "send"`,
//! OSCAR) would bring the window back that packets before the NACK left by. No paper says this: none knows the rule.
//!
//! [`Congestion::lower`]: crate::congestion::Congestion::lower

use crate::congestion::contract::Ack;
use farspan_units::Time;

/// The bound of the last lowering.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Lowered {
    /// The bound, in the control's unit; infinite before the first.
    most: f64,
    /// Records of packets that left before this are bounded: the time of the first ACK after the lowering, up to which packets leave
    /// under a window of no more than the bound. [`Time::MAX`] until that ACK comes.
    until: Time,
}

impl Lowered {
    /// No bound yet.
    pub(crate) const NEVER: Self = Self { most: f64::INFINITY, until: Time::MAX };

    /// The window was lowered to this.
    pub(crate) const fn set(&mut self, most: f64) {
        *self = Self { most, until: Time::MAX };
    }

    /// The record of when the acknowledged packet left, at most the bound if that was before it.
    #[inline]
    pub(crate) fn cap(&mut self, ack: &Ack<'_>, recorded: f64) -> f64 {
        if self.until == Time::MAX {
            self.until = ack.now;
        }
        if ack.sent_at < self.until { recorded.min(self.most) } else { recorded }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::{AckStream, near, start};

    #[test]
    fn records_of_packets_that_left_before_are_bounded_and_later_ones_are_not() {
        let mut lowered = Lowered::NEVER;
        let mut acks = AckStream::new(&start());
        let first = acks.next(false);
        near(lowered.cap(&first, 9.0), 9.0, 0.0);
        lowered.set(5.0);
        let second = Ack { sent_at: first.now, ..acks.next(false) };
        near(lowered.cap(&second, 9.0), 5.0, 0.0);
        near(lowered.cap(&second, 4.0), 4.0, 0.0);
        near(lowered.cap(&Ack { sent_at: second.now, ..acks.next(false) }, 9.0), 9.0, 0.0);
        near(lowered.cap(&Ack { sent_at: first.now, ..acks.next(false) }, 9.0), 5.0, 0.0);
        lowered.set(3.0);
        near(lowered.cap(&Ack { sent_at: second.now, ..acks.next(false) }, 9.0), 3.0, 0.0);
    }
}
