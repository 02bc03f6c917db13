//! HyStart: the end of slow start before a queue overflows.
//!
//! HyStart++ is RFC 9406. Linux' is Ha and Rhee, "Taming the elephants: New TCP slow start", 2011, with the constants of
//! `tcp_cubic`: it ends slow start at once, on the first of two signs.

use crate::congestion::contract::Ack;
use crate::congestion::parts::signals::DataWindow;
use farspan_units::{Duration, Time};

/// How slow start ends before a loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum HyStart {
    /// With a loss or a mark alone.
    Off,
    /// As Linux: at once, where a train of ACKs lasts half a round trip, or the smallest of eight round trips is long.
    Linux,
    /// HyStart++ (RFC 9406): where round trips have grown, by way of five more slowly growing rounds.
    PlusPlus,
}

/// RFC 9406 section 4.3, N_RTT_SAMPLE; Linux, HYSTART_MIN_SAMPLES.
const SAMPLES: u32 = 8;
/// RFC 9406 section 4.3, MIN_RTT_THRESH and MAX_RTT_THRESH; Linux, HYSTART_DELAY_MIN and HYSTART_DELAY_MAX.
const LEAST_GROWTH: Duration = Duration::from_ms(4);
const MOST_GROWTH: Duration = Duration::from_ms(16);
/// RFC 9406 section 4.3, MIN_RTT_DIVISOR; Linux, the shift by 3.
const GROWTH_SHARE: u64 = 8;
/// RFC 9406 section 4.3, CSS_GROWTH_DIVISOR.
pub(super) const SLOWER: f64 = 0.25;
/// RFC 9406 section 4.3, CSS_ROUNDS.
const SLOW_ROUNDS: u16 = 5;
/// Linux, hystart_low_window, in packets.
const LEAST_WINDOW: f64 = 16.0;
/// Linux, hystart_ack_delta: ACKs further apart are no train.
const TRAIN_GAP: Duration = Duration::from_ms(2);

/// The course of slow start after an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SlowStartStep {
    /// It goes on.
    Grow,
    /// It goes on a quarter as fast.
    GrowSlowly,
    /// It ends.
    End,
}

/// How much longer a round trip than this one must be to mean a queue.
fn growth(least: Duration) -> Duration {
    (least / GROWTH_SHARE).clamp(LEAST_GROWTH, MOST_GROWTH)
}

/// The state of one slow start.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum SlowStart {
    /// Nothing ends it before a loss.
    Plain,
    /// Linux' rule.
    Linux(Train),
    /// HyStart++.
    PlusPlus(Rounds),
}

impl SlowStart {
    /// The first one of a flow.
    pub(super) const fn first(rule: HyStart) -> Self {
        match rule {
            HyStart::Off => Self::Plain,
            HyStart::Linux => Self::Linux(Train::begun(Time::ZERO)),
            HyStart::PlusPlus => Self::PlusPlus(Rounds::NEW),
        }
    }

    /// One after a time-out. HyStart++ is for the first alone (RFC 9406 section 4.3).
    pub(super) const fn after_timeout(rule: HyStart, now: Time) -> Self {
        match rule {
            HyStart::Off | HyStart::PlusPlus => Self::Plain,
            HyStart::Linux => Self::Linux(Train::begun(now)),
        }
    }

    /// Takes an ACK in, with a window of so many packets.
    pub(super) fn on_ack(&mut self, ack: &Ack, packets: f64, is_paced: bool) -> SlowStartStep {
        match self {
            Self::Plain => SlowStartStep::Grow,
            Self::Linux(train) => train.on_ack(ack, packets, is_paced),
            Self::PlusPlus(rounds) => rounds.on_ack(ack),
        }
    }
}

/// The state of Linux' rule, `hystart_update`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Train {
    round: DataWindow,
    /// The smallest round trip of this round, and of all.
    least: Duration,
    base: Duration,
    /// The last ACK of the train.
    last_at: Time,
    samples: u32,
}

impl Train {
    const fn begun(now: Time) -> Self {
        let (round, least, base) = (DataWindow::begun(now), Duration::MAX, Duration::MAX);
        Self { round, least, base, last_at: now, samples: 0 }
    }

    /// The train lasts half the smallest round trip, or all of it where packets are paced.
    fn on_ack(&mut self, ack: &Ack, packets: f64, is_paced: bool) -> SlowStartStep {
        if self.round.ended_by(ack) {
            (self.least, self.samples, self.last_at) = (Duration::MAX, 0, ack.now);
        }
        self.base = self.base.min(ack.rtt);
        if packets < LEAST_WINDOW {
            return SlowStartStep::Grow;
        }
        if ack.now.since(self.last_at) <= TRAIN_GAP {
            self.last_at = ack.now;
            let most = if is_paced { self.base } else { self.base / 2 };
            if ack.now.since(self.round.began()) > most {
                return SlowStartStep::End;
            }
        }
        self.least = self.least.min(ack.rtt);
        self.samples += 1;
        let is_long = self.samples > SAMPLES && self.least > self.base + growth(self.base);
        if is_long { SlowStartStep::End } else { SlowStartStep::Grow }
    }
}

/// The state of HyStart++, RFC 9406 section 4.2.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Rounds {
    round: DataWindow,
    /// The smallest round trip of this round, and of the last one.
    least: Duration,
    last_least: Duration,
    /// cssBaselineMinRtt: the round trip that made it slower; zero while it is not.
    baseline: Duration,
    samples: u16,
    slow_rounds: u16,
}

impl Rounds {
    const NEW: Self = Self {
        round: DataWindow::begun(Time::ZERO),
        least: Duration::MAX,
        last_least: Duration::MAX,
        baseline: Duration::ZERO,
        samples: 0,
        slow_rounds: 0,
    };

    fn on_ack(&mut self, ack: &Ack) -> SlowStartStep {
        let is_slow = !self.baseline.is_zero();
        if self.round.ended_by(ack) {
            self.last_least = core::mem::replace(&mut self.least, Duration::MAX);
            self.samples = 0;
            self.slow_rounds += u16::from(is_slow);
            if self.slow_rounds >= SLOW_ROUNDS {
                return SlowStartStep::End;
            }
        }
        self.least = self.least.min(ack.rtt);
        self.samples = self.samples.saturating_add(1);
        if u32::from(self.samples) < SAMPLES || self.last_least == Duration::MAX {
            return if is_slow { SlowStartStep::GrowSlowly } else { SlowStartStep::Grow };
        }
        if is_slow {
            if self.least >= self.baseline {
                return SlowStartStep::GrowSlowly;
            }
            (self.baseline, self.slow_rounds) = (Duration::ZERO, 0);
        } else if self.least >= self.last_least + growth(self.last_least) {
            // The round in which it becomes slower is the first of the five, however much of it is over.
            (self.baseline, self.slow_rounds) = (self.least, 0);
            return SlowStartStep::GrowSlowly;
        }
        SlowStartStep::Grow
    }
}
