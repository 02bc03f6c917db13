//! The streamlined proxy: one connection through it (section 4.2).
//!
//! What comes from the sender goes on to the receiver as it is, and what comes from the receiver goes back. A packet that a
//! port has trimmed on its way here becomes a NACK at once. Where ports drop, a detector finds what is
//! missing from the numbers of transmissions, and the NACK names those.

use super::LossDetection;
use crate::balance::Entropy;
use crate::wire::{Fate, Feedback, Place};
use alloc::vec::Vec;
use farspan_units::{FlowId, Time};

/// Transmissions of a lane that are lost, in a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    pub lane: u8,
    pub first: u16,
    pub count: u16,
}

#[derive(Debug)]
struct Detector;

impl Detector {
    fn new(_: LossDetection) -> Self {
        Self
    }
    fn on_packet(&mut self, _: Time, _: Place) -> Vec<Lost> {
        Vec::new()
    }
    fn poll_timeout(&self) -> Option<Time> {
        None
    }
    fn on_timeout(&mut self, _: Time) -> Vec<Lost> {
        Vec::new()
    }
}

/// The state of one flow.
#[derive(Debug)]
pub(crate) struct Streamlined {
    detector: Option<Detector>,
    /// Feedback that was sent back: it goes round over the entropies, as ACKs do.
    sent_back: u8,
}

/// The NACK of what a detector has found lost.
pub(crate) const fn nack(flow: FlowId, lost: Lost) -> Feedback {
    let Lost { lane, first, count } = lost;
    let fate = Fate::Gap { first: Place { lane, number: first }, count };
    Feedback { flow, seq: 0, cumulative: 0, fate }
}

impl Streamlined {
    pub(crate) fn new(loss: Option<LossDetection>) -> Self {
        Self { detector: loss.map(Detector::new), sent_back: 0 }
    }

    /// The entropy of the next packet that goes back to the sender.
    pub(crate) fn entropy_back(&mut self) -> Entropy {
        self.sent_back = self.sent_back.wrapping_add(1);
        Entropy::from(self.sent_back)
    }

    /// A transmission has come: those that are lost for it.
    pub(crate) fn on_packet(&mut self, now: Time, place: Option<Place>) -> Vec<Lost> {
        let parts = self.detector.as_mut().zip(place);
        parts.map(|(detector, place)| detector.on_packet(now, place)).unwrap_or_default()
    }

    /// When [`Self::on_timeout`] is wanted.
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        self.detector.as_ref()?.poll_timeout()
    }

    /// Those that are lost since nothing more has come of them.
    pub(crate) fn on_timeout(&mut self, now: Time) -> Vec<Lost> {
        self.detector.as_mut().map(|detector| detector.on_timeout(now)).unwrap_or_default()
    }
}
