//! A live sender in its endpoint: its timers, and its turn at the NIC.

use super::schedule::Schedule;
use super::timers::{Armed, Timer, TimerKind, Timers};
use crate::sender::{IN_TURN, Sender};
use crate::table::{Key, Named};
use farspan_units::{FlowId, Time};

/// A live sender and where it stands.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) sender: Sender,
    /// The live entry of each of its timers.
    pub(super) armed: Armed,
}

impl Named for Live {
    type Name = FlowId;

    #[inline]
    fn name(&self) -> FlowId {
        self.sender.flow()
    }
}

impl Live {
    /// After anything that may have changed the sender's decision: arms its control timer, and gives it its turn.
    #[inline(always)]
    pub(super) fn settle(
        &mut self,
        now: Time,
        key: Key<FlowId>,
        timers: &mut Timers,
        schedule: &mut Schedule,
    ) {
        if self.sender.wants_timer() {
            self.arm_control(timers);
        }
        if !self.sender.is_scheduled()
            && let Some(at) = self.sender.next_send()
        {
            self.sender.set_scheduled(true);
            schedule.add(now, at, key);
        }
    }

    /// After a packet that the sender sent in its turn: when it is its turn again.
    #[inline(always)]
    pub(super) fn end_turn(
        &mut self,
        now: Time,
        key: Key<FlowId>,
        timers: &mut Timers,
        schedule: &mut Schedule,
    ) {
        if self.sender.wants_timer() {
            self.arm_control(timers);
        }
        let Some(at) = self.sender.next_send() else {
            self.sender.set_scheduled(false);
            return schedule.leave();
        };
        if at <= now {
            return schedule.pass();
        }
        if at != IN_TURN {
            schedule.leave();
            schedule.add(now, at, key);
        }
    }

    #[cold]
    fn arm_control(&mut self, timers: &mut Timers) {
        if let Some(at) = self.sender.control_timer() {
            let timer = Timer::of_sender(self.sender.flow(), TimerKind::Control);
            timers.arm(&mut self.armed[TimerKind::Control as usize], at, timer);
        }
    }

    /// Time-outs of packets run out at `deadline`, none before.
    #[inline(always)]
    pub(super) fn arm_recovery(&mut self, deadline: Time, timers: &mut Timers) {
        let timer = Timer::of_sender(self.sender.flow(), TimerKind::Recovery);
        timers.arm(&mut self.armed[TimerKind::Recovery as usize], deadline, timer);
    }
}
