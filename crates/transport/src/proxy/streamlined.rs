//! The streamlined proxy: one connection through it, and early NACKs for packets that are trimmed or lost (section 5).
//!
//! A packet that comes from the sender goes on to the receiver as it is, and feedback of the receiver goes back. A packet that a
//! port has trimmed on its way here becomes a NACK at once. Where ports drop, a [detector](super::detector) finds from the
//! numbers of transmissions which are lost, and the NACK names those.
//!
//! Its page: `docs/src/schemes/proxy.md`.

use super::LossDetection;
use super::detector::{LostNumbers, PerFlow, PerPath, PerPathConfig};
use crate::balance::Entropy;
use crate::wire::{Fate, Feedback, Place};
use alloc::vec::Vec;
use farspan_units::{FlowId, Time};

/// The state of one flow.
#[derive(Debug)]
pub(crate) struct Streamlined {
    detector: Option<Detector>,
    /// Feedback that was sent back: it goes round over the entropies, as ACKs do.
    sent_back: u8,
}

/// Which transmissions are lost.
#[derive(Debug)]
enum Detector {
    PerPath(PerPath),
    PerFlow {
        detector: PerFlow,
        /// The highest number so far, counted on beyond 2^16.
        highest: u32,
    },
}

/// Transmissions of one lane that are lost, in a row; none: a mark is confirmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lost {
    pub first: Place,
    pub count: u16,
}

impl Lost {
    /// The NACK that names them.
    pub(crate) const fn nack(self, flow: FlowId) -> Feedback {
        let Self { first, count } = self;
        Feedback { flow, seq: 0, cumulative: 0, fate: Fate::Gap { first, count } }
    }
}

/// The nearest number to `highest` that ends in these 16 bits.
const fn nearest(highest: u32, number: u16) -> u32 {
    let ahead = number.wrapping_sub(highest as u16) as i16;
    highest.saturating_add_signed(ahead as i32)
}

/// A gap of a path.
fn one_row(lost: LostNumbers) -> Vec<Lost> {
    let first = Place { lane: lost.path, number: lost.first };
    (!lost.is_empty()).then_some(Lost { first, count: lost.count }).into_iter().collect()
}

/// Numbers as a 16-bit header names them, in rows.
fn rows(numbers: impl Iterator<Item = u32>) -> Vec<Lost> {
    let mut rows: Vec<Lost> = Vec::new();
    for number in numbers {
        let number = number as u16;
        match rows.last_mut() {
            Some(row) if row.first.number.wrapping_add(row.count) == number && row.count < u16::MAX => {
                row.count += 1;
            }
            _ => rows.push(Lost { first: Place { lane: 0, number }, count: 1 }),
        }
    }
    rows
}

impl Detector {
    fn new(loss: LossDetection) -> Self {
        match loss {
            LossDetection::PerPath { paths } => Self::PerPath(PerPath::new(&PerPathConfig { paths })),
            LossDetection::PerFlow(config) => Self::PerFlow { detector: PerFlow::new(&config), highest: 0 },
        }
    }

    fn on_packet(&mut self, now: Time, Place { lane, number }: Place) -> Vec<Lost> {
        match self {
            Self::PerPath(detector) => one_row(detector.on_packet(lane, number)),
            Self::PerFlow { detector, highest } => {
                let number = nearest(*highest, number);
                *highest = (*highest).max(number);
                rows(detector.on_packet(now, number, false))
            }
        }
    }

    /// A mark: the next packet of the lane will bear this number.
    fn on_mark(&mut self, now: Time, Place { lane, number }: Place) -> Vec<Lost> {
        match self {
            Self::PerPath(detector) => one_row(detector.on_end(lane, number)),
            Self::PerFlow { detector, highest } => {
                *highest = (*highest).max(nearest(*highest, number));
                rows(detector.on_end(now, *highest))
            }
        }
    }
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

    /// A mark has come: those that are lost before it.
    pub(crate) fn on_mark(&mut self, now: Time, place: Place) -> Vec<Lost> {
        self.detector.as_mut().map(|detector| detector.on_mark(now, place)).unwrap_or_default()
    }

    /// How many transmissions were found lost and came after all.
    pub(crate) fn false_losses(&self) -> u32 {
        match &self.detector {
            None => 0,
            Some(Detector::PerPath(detector)) => detector.false_losses(),
            Some(Detector::PerFlow { detector, .. }) => detector.false_losses(),
        }
    }

    /// Whether what time shows to be lost is of the end of a burst.
    pub(crate) const fn has_ended(&self) -> bool {
        matches!(&self.detector, Some(Detector::PerFlow { detector, .. }) if detector.has_ended())
    }

    /// When [`Self::on_timeout`] is wanted; [`Time::MAX`]: never.
    pub(crate) fn next_timeout(&self) -> Time {
        match &self.detector {
            Some(Detector::PerFlow { detector, .. }) => detector.poll_timeout().unwrap_or(Time::MAX),
            _ => Time::MAX,
        }
    }

    /// Those that are lost since nothing more has come of them.
    pub(crate) fn on_timeout(&mut self, now: Time) -> Vec<Lost> {
        match &mut self.detector {
            Some(Detector::PerFlow { detector, .. }) => rows(detector.on_timeout(now)),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::detector::PerFlowConfig;
    use alloc::vec;

    fn lost(lane: u8, number: u16, count: u16) -> Lost {
        Lost { first: Place { lane, number }, count }
    }

    #[test]
    fn a_gap_in_a_path_is_named_at_the_next_packet_of_it() {
        let mut proxy = Streamlined::new(Some(LossDetection::PerPath { paths: 8 }));
        let mut on = |lane, number| proxy.on_packet(Time::ZERO, Some(Place { lane, number }));
        assert_eq!([on(0, 0), on(1, 0), on(0, 3), on(1, 1)], [vec![], vec![], vec![lost(0, 1, 2)], vec![]]);
    }

    #[test]
    fn numbers_of_a_flow_go_on_beyond_their_sixteen_bits() {
        let mut proxy = Streamlined::new(Some(LossDetection::PerFlow(PerFlowConfig::default())));
        let mut found = Vec::new();
        for n in (0..70_000_u32).filter(|n| ![65_534, 65_535, 65_536, 69_000].contains(n)) {
            let at = Time::from_ps(u64::from(n) * 300_000);
            found.extend(proxy.on_packet(at, Some(Place { lane: 0, number: n as u16 })));
        }
        let named: u32 = found.iter().map(|lost| u32::from(lost.count)).sum();
        assert_eq!((named, found[0].first.number), (4, 65_534));
    }

    #[test]
    fn a_mark_shows_what_no_later_packet_does() {
        let place = |lane, number| Place { lane, number };
        let mut proxy = Streamlined::new(Some(LossDetection::PerPath { paths: 8 }));
        assert_eq!(proxy.on_packet(Time::ZERO, Some(place(1, 0))), vec![]);
        assert_eq!(proxy.on_mark(Time::ZERO, place(1, 3)), [lost(1, 1, 2)]);
        assert_eq!(proxy.on_mark(Time::ZERO, place(1, 3)), vec![]);
        assert_eq!(proxy.on_packet(Time::ZERO, Some(place(1, 3))), vec![]);

        let mut proxy = Streamlined::new(Some(LossDetection::PerFlow(PerFlowConfig::default())));
        assert_eq!(proxy.on_packet(Time::ZERO, Some(place(0, 0))), vec![]);
        assert_eq!(proxy.on_mark(Time::ZERO, place(0, 3)), vec![], "it waits for those on other paths");
        let due = proxy.next_timeout();
        assert!(due < Time::MAX);
        assert_eq!(proxy.on_timeout(due), [lost(0, 1, 2)]);
    }

    #[test]
    fn without_a_detector_nothing_is_found() {
        let mut proxy = Streamlined::new(None);
        assert_eq!(proxy.on_packet(Time::ZERO, Some(Place { lane: 0, number: 9 })), vec![]);
        assert_eq!((proxy.next_timeout(), proxy.on_timeout(Time::ZERO)), (Time::MAX, vec![]));
    }
}
