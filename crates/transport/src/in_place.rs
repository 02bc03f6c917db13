//! For drivers that keep headers in records of their own, such as the simulator: the parts of the six verbs, so that no
//! header is built only to be taken apart.
//!
//! | verb | its parts |
//! |---|---|
//! | [`Endpoint::handle_packet`] | [`InPlace::handle_data`], [`InPlace::handle_coded`], [`InPlace::handle_numbered`], [`InPlace::handle_feedback`] |
//! | [`Endpoint::poll_transmit`] | [`InPlace::poll_reply`], then [`InPlace::poll_data`]; [`InPlace::has_replies`] and [`InPlace::next_data`] say when |
//! | [`Endpoint::poll_timeout`] | [`InPlace::next_timeout`] |
//! | [`Endpoint::poll_event`] | [`InPlace::has_events`] says whether |
//!
//! A host that is a proxy calls [`InPlace::handle_relay_feedback`] and [`InPlace::poll_relay_data`] in their place.
//!
//! Trimmed packets go the whole way, by [`Endpoint::handle_packet`].

pub use crate::proxy::Forward;
pub use crate::replies::Reply;
pub use crate::sender::{DataPacket, Take};

use crate::endpoint::Endpoint;
use crate::flow::message::Received;
use crate::wire::{Coded, Data, Feedback, Numbered};
use alloc::boxed::Box;
use farspan_units::{HostId, Telemetry, Time};

/// The parts of an endpoint's verbs.
pub trait InPlace {
    /// Takes a data packet that was not trimmed, with its telemetry, if it carries any; returns the payload that came for
    /// the first time.
    fn handle_data(
        &mut self,
        now: Time,
        from: HostId,
        data: &Data,
        ecn_ce: bool,
        telemetry: Option<Box<Telemetry>>,
    ) -> Option<Received>;

    /// Takes a packet of a coded message that was not trimmed, with its telemetry, if it carries any; returns what came for
    /// the first time.
    fn handle_coded(
        &mut self,
        now: Time,
        from: HostId,
        coded: &Coded,
        ecn_ce: bool,
        telemetry: Option<Box<Telemetry>>,
    ) -> Option<Received>;

    /// Takes a numbered packet that was not trimmed, as [`Self::handle_data`].
    fn handle_numbered(
        &mut self,
        now: Time,
        from: HostId,
        numbered: &Numbered,
        ecn_ce: bool,
        telemetry: Option<Box<Telemetry>>,
    ) -> Option<Received>;

    /// Takes feedback that is known to come from the receiver of its flow, with the telemetry that it echoes.
    fn handle_feedback(&mut self, now: Time, feedback: &Feedback, telemetry: Option<&Telemetry>);

    /// As [`Self::handle_feedback`], at a host that is a proxy.
    fn handle_relay_feedback(&mut self, now: Time, feedback: &Feedback, telemetry: Option<&Telemetry>);

    /// As [`Self::poll_data`], at a host that is a proxy.
    fn poll_relay_data(&mut self, now: Time, to: impl Take) -> bool;

    /// Hands the next control packet to `take`, which may take its telemetry out, if one may leave; gives the result.
    fn poll_reply<T>(&mut self, take: impl FnOnce(&mut Reply) -> T) -> Option<T>;

    /// When there is no control packet: `to` takes the next data packet. Says whether there was one.
    fn poll_data(&mut self, now: Time, to: impl Take) -> bool;

    /// Whether a control packet may leave.
    fn has_replies(&self) -> bool;

    /// No data packet leaves before this time, unless something happens; [`Time::ZERO`]: one may leave at once,
    /// [`Time::MAX`]: none waits.
    fn next_data(&self) -> Time;

    /// When [`Endpoint::handle_timeout`] is wanted; [`Time::MAX`]: never.
    fn next_timeout(&self) -> Time;

    /// Whether there is an event to [poll](Endpoint::poll_event).
    fn has_events(&self) -> bool;
}

impl InPlace for Endpoint {
    #[inline(always)]
    fn handle_data(
        &mut self,
        now: Time,
        from: HostId,
        data: &Data,
        ecn_ce: bool,
        telemetry: Option<Box<Telemetry>>,
    ) -> Option<Received> {
        self.on_data(now, from, data, ecn_ce, telemetry)
    }

    #[inline]
    fn handle_coded(
        &mut self,
        now: Time,
        from: HostId,
        coded: &Coded,
        ecn_ce: bool,
        telemetry: Option<Box<Telemetry>>,
    ) -> Option<Received> {
        self.on_coded(now, from, coded, ecn_ce, telemetry)
    }

    fn handle_numbered(
        &mut self,
        now: Time,
        from: HostId,
        numbered: &Numbered,
        ecn_ce: bool,
        telemetry: Option<Box<Telemetry>>,
    ) -> Option<Received> {
        self.on_numbered(now, from, numbered, ecn_ce, telemetry)
    }

    #[inline(always)]
    fn handle_feedback(&mut self, now: Time, feedback: &Feedback, telemetry: Option<&Telemetry>) {
        self.on_feedback(now, feedback, telemetry);
    }

    fn handle_relay_feedback(&mut self, now: Time, feedback: &Feedback, telemetry: Option<&Telemetry>) {
        self.on_relay_feedback(now, feedback, telemetry);
    }

    fn poll_relay_data(&mut self, now: Time, to: impl Take) -> bool {
        self.send_relay_data(now, to)
    }

    #[inline(always)]
    fn poll_reply<T>(&mut self, take: impl FnOnce(&mut Reply) -> T) -> Option<T> {
        self.take_reply(take)
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
    fn next_timeout(&self) -> Time {
        self.next_timeout()
    }

    #[inline(always)]
    fn has_events(&self) -> bool {
        self.has_events()
    }
}
