//! UnoCC: additive increase, a decrease per datacenter-sized epoch for both classes of flows, and Quick Adapt.
//!
//! "Uno: A One-Stop Solution for Inter- and Intra-Data Center Congestion Control and Reliable Connectivity", section
//! 4.1 and Algorithm 1, constants from Table 2. Where the text leaves a choice, the default is the reading that keeps
//! the claim "same granularity for both classes"; each other reading, among them that of the published code, is a value
//! of its own key. A NACK of a packet that was trimmed, or that a proxy found lost, counts as a time-out: it may be all that comes
//! back, so it evaluates Quick Adapt. (The paper's own NACKs, of coded blocks, change nothing.) Left out: everything
//! that needs the network's configuration (phantom queues are the ports'), slow start (the paper has none) and any
//! reaction of the window to a loss other than Quick Adapt's. The published code also limits how often the pacing rate
//! changes (every base RTT / 20), which is not reproduced.
//!
//! Its page: `docs/src/schemes/unocc.md`.

mod config;

pub use config::{
    DelayConfig, DelaySample, EpochConfig, EpochDebt, EpochPeriod, EpochStart, EwmaConfig, Falling,
    MdScaleConfig, QaConfig, QaPeriod, QaPeriodRule, QaReference, Tolerance, ToleranceRule, UnoccConfig,
};

use crate::congestion::contract::{Ack, Congestion, Decision, Nack, NackCause, Sent, Start, Timeout};
use crate::congestion::parts::pace::{Pace, PaceParams};
use crate::congestion::parts::signals::Marks;
use crate::congestion::parts::window::{LARGEST_CUT, to_f64};
use crate::path::{Class, Path};
use alloc::sync::Arc;
use core::num::NonZeroU64;
use farspan_units::{Bytes, Duration, Time};

/// With a falling share of marks, the published code still cuts above this share.
const FALLING_LIMIT: f64 = 0.9;

/// UnoCC's state for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Unocc {
    /// The parameters that the flows of a path share.
    params: Arc<UnoccParams>,
    /// The congestion window, in bytes.
    cwnd: f64,
    /// Marks of the current epoch, and E, their average over epochs.
    marks: Marks,
    /// The smallest delay (round trip - base) among the marked ACKs of the current epoch.
    delay: Duration,
    /// MD_scale: 1, or less while only phantom queues are full.
    md_scale: f64,
    /// Where the flow is in its epochs.
    epoch: Epoch,
    /// Where the flow is in its Quick Adapt periods.
    qa: QuickAdapt,
    /// The rate.
    pace: Pace,
}

/// The parameters, and what a path makes of them.
#[derive(Clone, PartialEq, Debug)]
pub struct UnoccParams {
    /// The parameters.
    config: UnoccConfig,
    /// One full packet, the smallest window, in bytes.
    mss: f64,
    /// The bandwidth-delay product, the largest window, in bytes.
    bdp: f64,
    /// Additive increase per round trip, in bytes: alpha x BDP.
    increase: f64,
    /// 4K / (K + BDP), the decrease with every packet marked.
    md_gain: f64,
    /// The base round trip.
    base_rtt: Duration,
    /// The base round trip inside a datacenter: the constant epoch period.
    intra_base_rtt: Duration,
    /// The proportional epoch period, in measured round trips.
    epoch_rtts: f64,
    /// Up to which delay the real queues count as empty.
    tolerance: Duration,
    /// How the window turns into a rate.
    pace: PaceParams,
}

/// Where a flow is in its epochs.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Epoch {
    /// Off until an ACK of a packet sent at or after this time.
    UntilAck(Time),
    /// Off until so many bytes more have been sent.
    UntilSent(f64),
    /// Active: ends at an ACK of a packet sent at or after this time, T_epoch.
    Ends(Time),
}

/// Where a flow is in its Quick Adapt periods.
#[derive(Clone, Copy, PartialEq, Debug)]
enum QuickAdapt {
    /// Off until an ACK of a packet sent at or after this time.
    Paused(Time),
    /// A period.
    Open {
        /// When it is over.
        ends: Time,
        /// How long it is, in picoseconds; not zero, so that a flow's Quick Adapt fits its four numbers.
        period: NonZeroU64,
        /// Bytes in flight when it opened.
        in_flight: Bytes,
        /// Bytes acknowledged in it.
        acked: Bytes,
    },
}

impl Unocc {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<UnoccParams>, start: &Start<'_>) -> Self {
        let cwnd = start.initial_cwnd.as_f64().clamp(params.mss, params.bdp);
        Self {
            cwnd,
            marks: Marks::new(0.0),
            delay: Duration::MAX,
            md_scale: 1.0,
            epoch: Epoch::begin(params.config.epoch.start, Time::ZERO, cwnd),
            qa: QuickAdapt::Paused(Time::ZERO),
            pace: Pace::default(),
            params: Arc::clone(params),
        }
    }

    /// cwnd += alpha x bytes acked / cwnd (Algorithm 1 line 3).
    #[inline]
    fn increase(&mut self, acked: Bytes) {
        let cwnd = self.cwnd + self.params.increase * to_f64(acked) / self.cwnd;
        self.cwnd = if cwnd < self.params.bdp { cwnd } else { self.params.bdp };
    }

    /// Counts the ACK in its epoch and ends the epoch if the packet was sent after T_epoch (section 4.1.1).
    #[inline(always)]
    fn on_epoch_ack(&mut self, ack: &Ack) {
        match self.epoch {
            Epoch::UntilSent(_) => {}
            Epoch::UntilAck(since) if ack.sent_at < since => {}
            Epoch::UntilAck(_) => self.begin_epochs(ack.now),
            Epoch::Ends(t_epoch) => {
                self.marks.count(ack);
                if ack.ecn_ce {
                    self.delay = self.delay.min(ack.rtt.saturating_sub(self.params.base_rtt));
                }
                if ack.sent_at >= t_epoch {
                    self.end_epoch(t_epoch, ack.sent_at, ack.rtt);
                }
            }
        }
    }

    /// Makes epochs active from `now` on; E stays.
    #[cold]
    fn begin_epochs(&mut self, now: Time) {
        self.epoch = Epoch::Ends(now);
        self.marks.restart();
        self.delay = Duration::MAX;
    }

    /// T_epoch of the epoch after the one that an ACK ends, of a packet sent at `sent_at`.
    fn next_epoch(&self, t_epoch: Time, sent_at: Time, rtt: Duration) -> Time {
        let period = match self.params.config.epoch.period {
            EpochPeriod::Constant => self.params.intra_base_rtt,
            EpochPeriod::Proportional => rtt.mul_f64(self.params.epoch_rtts),
            EpochPeriod::BaseRtt => self.params.base_rtt,
        };
        let next = t_epoch.saturating_add(period);
        match self.params.config.epoch.debt {
            EpochDebt::Max => next.max(sent_at),
            EpochDebt::Previous => next,
        }
    }

    /// Procedure ONEPOCH of Algorithm 1. Takes what it needs of the ACK, so that the ACK itself need not lie in memory.
    #[cold]
    #[inline(never)]
    fn end_epoch(&mut self, t_epoch: Time, sent_at: Time, rtt: Duration) {
        self.epoch = Epoch::Ends(self.next_epoch(t_epoch, sent_at, rtt));
        let (before, acked) = (self.marks.average(), self.marks.acked());
        let marked = self.marks.end_period(self.params.config.ewma.gain) > 0.0;
        let smallest = core::mem::replace(&mut self.delay, Duration::MAX);
        if !marked {
            return;
        }
        let delay = match self.params.config.delay.sample {
            DelaySample::MinMarked => smallest,
            DelaySample::Last => rtt.saturating_sub(self.params.base_rtt),
        };
        self.scale(delay <= self.params.tolerance);
        let e = self.marks.average();
        let falling = before > 0.0 && e < before && e <= FALLING_LIMIT;
        if falling && self.params.config.ewma.falling == Falling::Increase {
            self.increase(acked);
        } else {
            // Line 14: cwnd = cwnd x (1 - MD_ECN x MD_scale), MD_ECN = E x 4K / (K + BDP). The bound matters only
            // between hosts nearer than the farthest pair, where the gain alone exceeds 1/2.
            let cut = (e * self.params.md_gain * self.md_scale).min(LARGEST_CUT);
            self.cwnd = (self.cwnd * (1.0 - cut)).max(self.params.mss);
        }
    }

    /// MD_scale (Algorithm 1 lines 9 to 13).
    fn scale(&mut self, phantom_only: bool) {
        let MdScaleConfig { factor, cumulative } = self.params.config.md_scale;
        self.md_scale = match (phantom_only, cumulative) {
            (false, _) => 1.0,
            (true, false) => factor,
            (true, true) => self.md_scale * factor,
        };
    }

    /// Counts the ACK in its Quick Adapt period; evaluates the period if it is over, and opens the next.
    #[inline]
    fn on_qa_ack(&mut self, ack: &Ack) {
        match &mut self.qa {
            QuickAdapt::Paused(since) if ack.sent_at < *since => return,
            QuickAdapt::Paused(_) => {}
            QuickAdapt::Open { ends, acked, .. } => {
                *acked += ack.bytes_acked;
                if ack.now < *ends {
                    return;
                }
            }
        }
        self.on_qa_end(ack.now, ack.rtt, ack.in_flight);
    }

    /// Evaluates the period, if there is one, and opens the next.
    #[cold]
    #[inline(never)]
    fn on_qa_end(&mut self, now: Time, rtt: Duration, in_flight: Bytes) {
        if self.evaluate_qa(now) {
            return;
        }
        let period = match self.params.config.qa.period {
            QaPeriod::Rule(QaPeriodRule::Measured) => rtt,
            QaPeriod::BaseRtts(number) => self.params.base_rtt.mul_f64(number),
        };
        self.open_qa(now, period, in_flight);
    }

    fn open_qa(&mut self, now: Time, period: Duration, in_flight: Bytes) {
        let (ends, acked) = (now.saturating_add(period), Bytes::ZERO);
        let period = NonZeroU64::new(period.as_ps()).unwrap_or(NonZeroU64::MIN);
        self.qa = QuickAdapt::Open { ends, period, in_flight, acked };
    }

    /// A loss: if everything is lost no ACK comes, so losses, too, evaluate a period that is over. `in_flight` counts
    /// what was lost.
    fn on_lost(&mut self, now: Time, in_flight: Bytes) {
        if let QuickAdapt::Open { ends, period, .. } = self.qa {
            let over = self.params.config.qa.on_timeout && now >= ends;
            if over && !self.evaluate_qa(now) {
                // No ACK may ever come to open the next period; what was lost is about to be in flight again.
                self.open_qa(now, Duration::from_ps(period.get()), in_flight);
            }
        }
    }

    /// Procedure ONQA of Algorithm 1, for a period that is over; says whether it acted. Afterwards one round trip
    /// passes without a Quick Adapt or a cut.
    fn evaluate_qa(&mut self, now: Time) -> bool {
        let QuickAdapt::Open { in_flight, acked, .. } = self.qa else { return false };
        let reference = match self.params.config.qa.reference {
            QaReference::InFlight => self.cwnd.min(in_flight.as_f64()),
            QaReference::Cwnd => self.cwnd,
        };
        // Line 19: bytes_acked_in_qa < cwnd x beta.
        let extreme = acked.as_f64() < reference * self.params.config.beta;
        if extreme {
            // Line 20: cwnd = bytes acked in qa.
            self.cwnd =
                (acked.as_f64() * self.params.config.qa.factor).clamp(self.params.mss, self.params.bdp);
            // A packet that started at this very instant left under the old window: it is not one "sent after".
            let after = now.saturating_add(Duration::from_ps(1));
            self.epoch = Epoch::begin(self.params.config.qa.pause, after, self.cwnd);
            self.qa = QuickAdapt::Paused(after);
        }
        extreme
    }
}

impl UnoccParams {
    /// Computes the parameters of `config` on `path`.
    #[must_use]
    pub fn new(config: &UnoccConfig, path: &Path) -> Self {
        let mss = path.mss.as_f64();
        let bdp = path.bdp.as_f64().max(mss);
        let k = config.k.bytes(path);
        let tolerance = match config.delay.tolerance {
            Tolerance::Rule(ToleranceRule::Hops) => path.packet_time() * u64::from(path.hops),
            Tolerance::Fraction(fraction) => path.base_rtt.mul_f64(fraction),
        };
        Self {
            mss,
            bdp,
            increase: config.alpha * bdp,
            md_gain: 4.0 * k / (k + bdp),
            base_rtt: path.base_rtt,
            intra_base_rtt: path.intra_base_rtt,
            epoch_rtts: match path.class {
                Class::Intra => 1.0,
                Class::Inter => path.intra_base_rtt / path.base_rtt,
            },
            tolerance,
            pace: PaceParams::new(config.pacing, config.pacing_headers, path).with_gain(config.pacing_gain),
            config: config.clone(),
        }
    }
}

impl Epoch {
    /// Epochs that are off from `now` on, until `start` begins them.
    const fn begin(start: EpochStart, now: Time, cwnd: f64) -> Self {
        match start {
            EpochStart::FirstAck => Self::UntilAck(now),
            EpochStart::FullWindow => Self::UntilSent(cwnd),
        }
    }
}

impl Congestion for Unocc {
    #[inline(always)]
    fn decision(&self) -> Decision {
        Decision {
            // A signed integer costs less to convert to, and holds every window.
            cwnd: Bytes::new(self.cwnd as i64 as u64),
            pacing_rate: self.pace.rate(&self.params.pace, self.cwnd),
            next_timer: None,
            allowance: None,
        }
    }

    /// `quick_adapt`: the round trip after a Quick Adapt, without cuts; `phantom`: at the last mark the real queues
    /// were empty.
    fn state(&self) -> Option<&'static str> {
        Some(match self.qa {
            QuickAdapt::Paused(since) if since != Time::ZERO => "quick_adapt",
            _ if self.md_scale < 1.0 => "phantom",
            _ => "congestion_avoidance",
        })
    }

    fn on_sent(&mut self, sent: &Sent) -> Decision {
        if let Epoch::UntilSent(left) = self.epoch {
            let left = left - sent.bytes.as_f64();
            self.epoch = Epoch::UntilSent(left);
            if left <= 0.0 {
                self.begin_epochs(sent.now);
            }
        }
        self.decision()
    }

    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack) -> Decision {
        self.pace.on_rtt(&self.params.pace, ack.rtt);
        if !ack.ecn_ce {
            self.increase(ack.bytes_acked);
        }
        // Quick Adapt first: where it acts, it puts off the cut that this ACK may bring.
        self.on_qa_ack(ack);
        self.on_epoch_ack(ack);
        self.decision()
    }

    fn lower(&mut self, most: Bytes) -> Decision {
        self.cwnd = self.cwnd.min(most.as_f64()).max(self.params.mss);
        self.decision()
    }

    fn on_nack(&mut self, nack: &Nack) -> Decision {
        if nack.cause != NackCause::Block {
            self.on_lost(nack.now, nack.in_flight + nack.bytes);
        }
        self.decision()
    }

    fn on_timeout(&mut self, timeout: &Timeout) -> Decision {
        self.on_lost(timeout.now, timeout.in_flight + timeout.bytes);
        self.decision()
    }
}

#[cfg(test)]
pub(crate) mod tests;
