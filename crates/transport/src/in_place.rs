//! For drivers that keep headers in records of their own, such as the simulator: the parts of the six verbs, so that no
//! header is built only to be taken apart.
//!
//! | verb | its part |
//! |---|---|
//! | [`Endpoint::handle_packet`] | [`InPlace::handle`], inlined: where it is known what a header is, the compiler drops the other arms; else [`InPlace::handle_any`] |
//! | [`Endpoint::poll_transmit`] | [`InPlace::poll_reply`], then [`InPlace::poll_data`]; [`InPlace::has_replies`] and [`InPlace::next_data`] say when |
//! | [`Endpoint::poll_event`] | [`InPlace::has_events`] says whether |

pub use crate::proxy::Forward;
pub use crate::replies::Reply;
pub use crate::sender::{DataPacket, Take};

use crate::endpoint::Endpoint;
use crate::flow::message::{Incoming, Received};
use farspan_units::Time;

/// The parts of an endpoint's verbs.
pub trait InPlace {
    /// Takes a packet that has arrived, and whose feedback is known to come from where its flow goes; returns the payload
    /// that came for the first time.
    fn handle(&mut self, now: Time, packet: Incoming) -> Option<Received>;

    /// As [`Self::handle`], not inlined: for packets that may be anything.
    fn handle_any(&mut self, now: Time, packet: Incoming) -> Option<Received>;

    /// `to` takes the next control packet. Says whether there was one.
    fn poll_reply(&mut self, to: impl Take) -> bool;

    /// When there is no control packet: `to` takes the next data packet. Says whether there was one.
    fn poll_data(&mut self, now: Time, to: impl Take) -> bool;

    /// Whether a control packet may leave.
    fn has_replies(&self) -> bool;

    /// No data packet leaves before this time, unless something happens; [`Time::ZERO`]: one may leave at once,
    /// [`Time::MAX`]: none waits.
    fn next_data(&self) -> Time;

    /// Whether there is an event to [poll](Endpoint::poll_event).
    fn has_events(&self) -> bool;
}

impl InPlace for Endpoint {
    #[inline(always)]
    fn handle(&mut self, now: Time, packet: Incoming) -> Option<Received> {
        self.dispatch::<true>(now, packet)
    }

    #[inline(never)]
    fn handle_any(&mut self, now: Time, packet: Incoming) -> Option<Received> {
        self.dispatch::<true>(now, packet)
    }

    #[inline(always)]
    fn poll_reply(&mut self, to: impl Take) -> bool {
        self.send_reply(to)
    }

    #[inline(always)]
    fn poll_data(&mut self, now: Time, to: impl Take) -> bool {
        self.send_data(now, to)
    }

    #[inline(always)]
    fn has_replies(&self) -> bool {
        self.has_replies()
    }

    #[inline(always)]
    fn next_data(&self) -> Time {
        self.next_data()
    }

    #[inline(always)]
    fn has_events(&self) -> bool {
        self.has_events()
    }
}
