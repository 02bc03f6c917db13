//! Pause frames: a switch that holds many bytes from one neighbour pauses it, and resumes it when few are
//! left.

use super::{Crossing, Effects, Frame, Shared};
use crate::queue::port::Gate;
use alloc::collections::BTreeMap;
use farspan_units::{Bytes, PortId, Time};

/// When to pause and when to resume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PauseConfig {
    /// Bytes from one neighbour above which it is paused.
    pub pause_above: Bytes,
    /// Bytes from it up to which it is resumed.
    pub resume_at: Bytes,
}

/// Bytes held from each neighbour, and whether it is paused.
#[derive(Clone, Debug)]
pub struct Pause {
    config: PauseConfig,
    held: BTreeMap<PortId, (Bytes, bool)>,
}

impl Pause {
    pub(super) const fn new(config: &PauseConfig) -> Self {
        Self { config: *config, held: BTreeMap::new() }
    }
}

impl Shared for Pause {
    fn admits(&mut self, _: Time, crossing: Crossing, size: Bytes, _: bool, effects: &mut Effects) -> bool {
        let (held, is_paused) = self.held.entry(crossing.ingress).or_default();
        *held += size;
        if *held > self.config.pause_above && !core::mem::replace(is_paused, true) {
            effects.send(crossing.ingress, Frame::PAUSE);
        }
        true
    }

    fn released(&mut self, _: Time, crossing: Crossing, size: Bytes, effects: &mut Effects) {
        let (held, is_paused) = self.held.entry(crossing.ingress).or_default();
        *held -= size;
        if *held <= self.config.resume_at && core::mem::take(is_paused) {
            effects.send(crossing.ingress, Frame::RESUME);
        }
    }

    fn on_frame(&mut self, _: Time, ingress: PortId, frame: Frame, effects: &mut Effects) {
        effects.set_gate(ingress, if frame == Frame::PAUSE { Gate::Closed } else { Gate::Open });
    }
}
