//! Pauses: a switch that is about to run out of room for what a neighbour sends tells it to wait, and later to go on
//! (priority flow control, IEEE 802.1Qbb).
//!
//! A [`Frame`] leaves ahead of everything that waits, but not inside the packet in service, takes [`FRAME_SIZE`] on the
//! wire, and acts at the far end when the packet that it is sending has left. Each pause ends by a frame of its own. Left
//! out: pauses that run out by themselves, and frames that are lost: faults of a link take packets alone.
//!
//! Its page: `docs/src/schemes/pfc.md`.

use crate::network::Tier;
use crate::queue::port::Gate;
use farspan_units::{Bytes, Duration, Time};

/// Size of a frame on the wire.
pub const FRAME_SIZE: Bytes = Bytes::new(64);

/// A value that switches send to each other and to their hosts beside packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame(pub u32);

impl Frame {
    /// Data may be sent to this node again.
    pub const RESUME: Self = Self(0);
    /// Data to this node must wait. A packet that has begun to leave still comes.
    pub const PAUSE: Self = Self(1);

    /// How the port that the frame has come to treats data.
    #[must_use]
    pub const fn gate(self) -> Gate {
        match self {
            Self::RESUME => Gate::Open,
            _ => Gate::Closed,
        }
    }
}

/// Over which links data is lossless: their senders are paused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LosslessLinks {
    /// Those inside a site.
    InsideSites,
    /// All of them: on long ones far more than their bandwidth-delay product has to lie ready as headroom.
    All,
}

/// When neighbours are paused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PauseConfig {
    /// The links whose senders are paused.
    pub links: LosslessLinks,
    /// How many bytes an account must be below its threshold before the neighbour may go on.
    pub resume_offset: Bytes,
    /// Bytes that each of these links has for what comes after a pause; `None`: as much as can
    /// [come](super::pool::Ingress::headroom).
    pub headroom: Option<Bytes>,
}

impl PauseConfig {
    /// Whether the senders of links of a tier are paused.
    #[must_use]
    pub fn includes(&self, tier: Tier) -> bool {
        self.links == LosslessLinks::All || tier != Tier::Wan
    }
}

/// How often and how long a port was paused, and whether it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PauseRecord {
    since: Option<Time>,
    count: u64,
    /// In pauses that have ended.
    time: Duration,
}

impl PauseRecord {
    /// A frame has come.
    pub fn note(&mut self, now: Time, frame: Frame) {
        match (frame.gate(), self.since) {
            (Gate::Closed, None) => {
                self.count += 1;
                self.since = Some(now);
            }
            (Gate::Open, Some(since)) => {
                self.time += now.since(since);
                self.since = None;
            }
            _ => {}
        }
    }

    /// Whether data may leave.
    #[must_use]
    #[inline]
    pub const fn gate(&self) -> Gate {
        if self.since.is_some() { Gate::Closed } else { Gate::Open }
    }

    /// How often it was paused.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// How long it was paused up to `now`.
    #[must_use]
    pub fn time(&self, now: Time) -> Duration {
        self.time + self.since.map_or(Duration::ZERO, |since| now.since(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_counts_pauses_and_their_time() {
        let at = |ns| Time::ZERO + Duration::from_ns(ns);
        let mut record = PauseRecord::default();
        record.note(at(5), Frame::RESUME);
        assert_eq!((record.gate(), record.count(), record.time(at(9))), (Gate::Open, 0, Duration::ZERO));
        record.note(at(10), Frame::PAUSE);
        record.note(at(12), Frame::PAUSE);
        assert_eq!(
            (record.gate(), record.count(), record.time(at(15))),
            (Gate::Closed, 1, Duration::from_ns(5))
        );
        record.note(at(20), Frame::RESUME);
        record.note(at(100), Frame::PAUSE);
        assert_eq!((record.count(), record.time(at(101))), (2, Duration::from_ns(11)));
    }

    #[test]
    fn links_between_sites_are_lossy_unless_all_are_lossless() {
        let of = |links| PauseConfig { links, resume_offset: Bytes::ZERO, headroom: None };
        let tiers = |links| Tier::ALL.map(|tier| of(links).includes(tier));
        assert_eq!(tiers(LosslessLinks::InsideSites), [true, true, true, true, false]);
        assert_eq!(tiers(LosslessLinks::All), [true; 5]);
    }
}
