//! The contract of controls: the trait, the events that they are notified of, their decisions, their needs.

mod custom;
mod events;
mod nacks;
mod needs;

pub use custom::{Custom, Factory};
pub use events::{Ack, Cnp, Idle, Loss, Nack, NackCause, Pull, SendRecord, Sent, Start, Timeout};
pub use nacks::{NackRule, OnNack};
pub use needs::{Ecn, Needs, SignalBytes};

use farspan_units::{Bytes, Rate, Time};

/// The decision of a control. The sender sends while bytes in flight are below `cwnd` and the pacer allows.
///
/// An open window, however small, lets one packet be in flight. The sender adds nothing to it: while `cwnd` is zero,
/// nothing leaves. How low `cwnd` may go is what [`Congestion::floor`] states.
///
/// A control whose window falls below one packet gives one packet, and as the pacing rate its window in a round trip: packets
/// then leave more than a round trip apart.
///
/// The window bounds what is in flight; the allowance bounds what leaves, whatever is in flight. A control that gives
/// one spends it itself, packet by packet, in [`Congestion::on_sent`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Congestion window: payload bytes that may be in flight.
    pub cwnd: Bytes,
    /// Rate, on the wire, at which packets may leave; `None`: as fast as the NIC.
    pub pacing_rate: Option<Rate>,
    /// When the control wants [`Congestion::on_timer`], if at all.
    pub next_timer: Option<Time>,
    /// Payload bytes that may leave from now on, lost packets included: one packet more while there are any, none at
    /// zero. `None`: as the window says.
    pub allowance: Option<Bytes>,
}

impl Decision {
    /// A window alone: as fast as the NIC, without a timer or an allowance.
    #[must_use]
    pub const fn window(cwnd: Bytes) -> Self {
        Self { cwnd, pacing_rate: None, next_timer: None, allowance: None }
    }

    /// The window as far as the allowance goes: closed while there is none.
    #[must_use]
    #[inline]
    pub const fn open_window(&self) -> Bytes {
        match self.allowance {
            Some(Bytes::ZERO) => Bytes::ZERO,
            _ => self.cwnd,
        }
    }
}

/// How low the window of a control may go: who sees to it that a flow goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Floor {
    /// One full packet. A flow always has something in flight, and what becomes of it moves the window.
    OnePacket,
    /// Nothing. The control opens its window again by an event that needs nothing in flight, such as its timer.
    Zero,
}

impl Floor {
    /// The smallest window, for packets of `mss` bytes.
    #[must_use]
    pub const fn bytes(self, mss: Bytes) -> Bytes {
        match self {
            Self::OnePacket => mss,
            Self::Zero => Bytes::ZERO,
        }
    }
}

/// A congestion control.
///
/// Every method that can change the decision returns it; [`Congestion::decision`] gives the current one without an
/// event. Contract, checked by the conformance tests: `cwnd` is never below the [floor](Congestion::floor) that the
/// control states; it reads nothing that its [`Needs`] do not name; time never moves backwards between calls; a control
/// allocates nothing after it was built.
pub trait Congestion {
    /// The current decision.
    fn decision(&self) -> Decision;

    /// How low `cwnd` may go, always the same.
    fn floor(&self) -> Floor {
        Floor::OnePacket
    }

    /// The state that it is in, for traces, if it has states with names, such as `slow_start`.
    fn state(&self) -> Option<&'static str> {
        None
    }

    /// The number that it judges congestion by, for probes, if it keeps one: a utilisation, or a slope of the delay.
    fn signal(&self) -> Option<f64> {
        None
    }

    /// A packet left; if it [asks](Needs::sent).
    fn on_sent(&mut self, _sent: &Sent) -> Decision {
        self.decision()
    }

    /// An ACK arrived.
    fn on_ack(&mut self, ack: &Ack) -> Decision;

    /// A NACK arrived: never a reason to send more. A control on credit alone may give back the credit of a packet whose header
    /// came back. The NACK of a packet that was trimmed, that a proxy found lost, or whose header came back is a sign of congestion,
    /// and comes here only if the flow's [`OnNack`] is `Published`; a control that falls for the first falls for the others. The NACK
    /// of a coded block always comes here.
    fn on_nack(&mut self, _nack: &Nack) -> Decision {
        self.decision()
    }

    /// The window is at most this from here on, or its [floor](Self::floor) if that is more; what the control does next starts from
    /// there, and no window that it saved before brings back more. The window of a control that only has a rate is what the rate
    /// sends in a base round trip. [`Needs::nacks`] says which controls have neither.
    fn lower(&mut self, _most: Bytes) -> Decision {
        self.decision()
    }

    /// A pull arrived; if it [asks](Needs::pulls).
    fn on_pull(&mut self, _pull: &Pull) -> Decision {
        self.decision()
    }

    /// A CNP arrived, if it [asks](Needs::cnps): a sign of congestion, and never a reason to send more.
    fn on_cnp(&mut self, _cnp: &Cnp) -> Decision {
        self.decision()
    }

    /// Loss was detected without a time-out.
    fn on_loss(&mut self, _loss: &Loss) -> Decision {
        self.decision()
    }

    /// A time-out ran out.
    fn on_timeout(&mut self, _timeout: &Timeout) -> Decision {
        self.decision()
    }

    /// A message follows on an idle flow whose scheme has [`Connection::idle_restart`](crate::Connection::idle_restart); its first
    /// packet has not left. What the window was says little of the path now (RFC 5681, section 4.1): never a reason to send more.
    fn on_idle(&mut self, _idle: &Idle) -> Decision {
        self.decision()
    }

    /// The time asked for in [`Decision::next_timer`] has come.
    fn on_timer(&mut self, _now: Time) -> Decision {
        self.decision()
    }
}
