//! BBR, version 1: sends at the rate that the path delivers, with twice its product with the smallest round trip in
//! flight.
//!
//! draft-cardwell-iccrg-bbr-congestion-control-00; Cardwell et al., "BBR: Congestion-Based Congestion Control" (ACM
//! Queue 2016). Sections named here are the draft's, functions of its pseudo-code by their names there. Differences: a
//! window has three packets of head-room and not three bursts, since the pacer lets single packets go, unless a parameter says
//! otherwise; an episode of loss ends as Linux ends its recovery, when all that was sent before it began is acknowledged. A NACK
//! counts as a loss found without a time-out. Of what Linux adds to the draft there is, by a parameter, extra room for aggregated
//! ACKs. Left out: its long-term bandwidth against policers, and windows rounded up to an even number of packets.
//!
//! Its page: `docs/src/schemes/bbr.md`.

mod aggregation;
mod config;
mod drain;
mod filters;
mod model;
mod probe_bw;
mod probe_rtt;
mod quantum;
mod recovery;
mod startup;

pub use config::{BbrConfig, FirstPhase, OnTimeout, PhaseEnd, Quantum, Rtprop};

use crate::congestion::contract::{Ack, Congestion, Decision, Loss, Nack, Sent, Start, Timeout};
use crate::path::Path;
use aggregation::AckAggregation;
use alloc::boxed::Box;
use alloc::sync::Arc;
use farspan_units::{Bytes, Purpose, Random, Rate, Time};
use filters::MinRtt;
use model::Model;
use probe_bw::ProbeBw;
use probe_rtt::{MIN_PIPE, ProbeRtt};
use recovery::LossEpisode;
use startup::FullPipe;

/// Head-room of a window above its gain, in bursts (section 4.2.3.2).
const QUANTA: f64 = 3.0;

/// The parameters, and what a path makes of them.
#[derive(Clone, PartialEq, Debug)]
pub struct BbrParams {
    /// The parameters.
    config: BbrConfig,
    /// Payload of a full packet, in bytes.
    mss: f64,
    /// The largest window, in bytes.
    cap: f64,
    /// Bits on the wire for each byte of payload, less the margin.
    wire_bits: f64,
    /// RTprop at the start.
    rtprop: MinRtt,
    /// The base round trip, in seconds; stands for the handshake's sample in the first rate.
    base_rtt: f64,
    /// The least bandwidth, in bytes per second.
    min_bandwidth: f64,
}

impl BbrParams {
    /// Computes the parameters of `config` on `path`.
    #[must_use]
    pub fn new(config: &BbrConfig, path: &Path) -> Self {
        let mss = path.mss.as_f64();
        Self {
            mss,
            cap: config.cap.bytes(path).max(mss),
            wire_bits: 8.0 * path.mtu().as_f64() / mss * (1.0 - config.pacing_margin),
            rtprop: match config.rtprop {
                Rtprop::Measured => MinRtt::NONE,
                Rtprop::Given => MinRtt::known(path.base_rtt),
            },
            base_rtt: path.base_rtt.as_secs_f64(),
            min_bandwidth: config.min_bandwidth.bytes_per_sec_f64(),
            config: config.clone(),
        }
    }

    fn clamp(&self, cwnd: f64) -> f64 {
        cwnd.clamp(self.mss, self.cap)
    }
}

/// The state of BBR's state machine (section 4.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BbrState {
    /// Looking for the bandwidth.
    Startup,
    /// Draining the queue of STARTUP.
    Drain,
    /// Looking for more bandwidth now and then.
    ProbeBw(ProbeBw),
    /// Looking for the round trip of an empty path.
    ProbeRtt(ProbeRtt),
}

/// BBR's state for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Bbr {
    /// The parameters that the flows of a path share.
    params: Arc<BbrParams>,
    /// The state of the state machine.
    state: BbrState,
    /// The model of the path.
    model: Model,
    /// Whether the pipe has been found full.
    full_pipe: FullPipe,
    /// The episode of loss under way.
    recovery: Option<LossEpisode>,
    /// The window before the last ACK restored it, if that ended an episode; else 0.
    unrestored: f64,
    /// All packets below this one have been sent.
    sent_below: u32,
    /// The window, in bytes.
    cwnd: f64,
    /// The window before the last episode of loss or PROBE_RTT, in bytes.
    prior_cwnd: f64,
    /// The first window, in bytes.
    initial_cwnd: f64,
    /// The rate on the wire, in bits per second.
    pacing_rate: f64,
    /// When a time-out last collapsed the window.
    timed_out_at: Time,
    /// Draws of the first phase of PROBE_BW.
    random: Random,
    /// Whether something was lost since the last ACK.
    has_lost: bool,
    /// Whether the newest packets follow a pause.
    is_idle_restart: bool,
    /// How many more bytes ACKs bring at once than the path delivers meanwhile, if the window is to have room for them. Apart:
    /// most flows do without.
    aggregation: Option<Box<AckAggregation>>,
}

impl Bbr {
    /// The control for one flow (BBRInit).
    #[must_use]
    pub fn new(params: &Arc<BbrParams>, start: &Start<'_>) -> Self {
        let cwnd = params.clamp(start.initial_cwnd.as_f64());
        // BBRInitPacingRate: gain x first window / first round trip.
        let pacing_rate = params.config.startup_gain * cwnd / params.base_rtt * params.wire_bits;
        Self {
            state: BbrState::Startup,
            model: Model::new(params.rtprop),
            full_pipe: FullPipe::default(),
            recovery: None,
            unrestored: 0.0,
            sent_below: 0,
            cwnd,
            prior_cwnd: 0.0,
            initial_cwnd: cwnd,
            pacing_rate,
            timed_out_at: Time::ZERO,
            random: Random::new(start.seed, Purpose::Congestion, u64::from(start.flow.0)),
            has_lost: false,
            is_idle_restart: false,
            aggregation: params.config.extra_acked.then(Box::default),
            params: Arc::clone(params),
        }
    }

    /// The gain of the rate.
    fn pacing_gain(&self) -> f64 {
        match self.state {
            BbrState::Startup => self.params.config.startup_gain,
            BbrState::Drain => self.params.config.drain_gain,
            BbrState::ProbeBw(cycle) => cycle.gain(),
            BbrState::ProbeRtt(_) => 1.0,
        }
    }

    /// The gain of the window.
    fn cwnd_gain(&self) -> f64 {
        match self.state {
            BbrState::Startup | BbrState::Drain => self.params.config.startup_gain,
            BbrState::ProbeBw(_) => self.params.config.cwnd_gain,
            BbrState::ProbeRtt(_) => 1.0,
        }
    }

    /// BtlBw, in bytes per second; 0 before the first sample.
    fn bandwidth(&self) -> f64 {
        let measured = self.model.bandwidth.get();
        if measured > 0.0 { measured.max(self.params.min_bandwidth) } else { 0.0 }
    }

    /// BBRInflight: gain x BtlBw x RTprop and some head-room, in bytes; the first window before both are known.
    fn inflight(&self, gain: f64) -> f64 {
        match self.model.rtprop.get() {
            Some(rtprop) if self.bandwidth() > 0.0 => {
                gain * self.bandwidth() * rtprop.as_secs_f64() + QUANTA * self.quantum()
            }
            _ => self.initial_cwnd,
        }
    }

    /// BBRSetPacingRateWithGain (section 4.2.1): never less before the pipe is full.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bandwidth() * self.params.wire_bits;
        if rate > 0.0 && (self.full_pipe.is_filled() || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// BBRSetCwnd (section 4.2.3).
    fn set_cwnd(&mut self, ack: &Ack) {
        self.check_recovery(ack);
        let (acked, target) = (ack.bytes_acked.as_f64(), self.inflight(self.cwnd_gain()) + self.extra_room());
        let min_pipe = MIN_PIPE * self.params.mss;
        if self.recovery.is_some_and(|recovery| recovery.conserves) {
            self.cwnd = self.cwnd.max(ack.in_flight.as_f64() + acked);
        } else {
            if self.full_pipe.is_filled() {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || ack.delivered.as_f64() < self.initial_cwnd {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(min_pipe);
        }
        if matches!(self.state, BbrState::ProbeRtt(_)) {
            self.cwnd = self.cwnd.min(min_pipe);
        }
        self.cwnd = self.params.clamp(self.cwnd);
    }

    /// BBRUpdateModelAndState (section 3.2).
    fn update_model_and_state(&mut self, ack: &Ack) {
        let is_sample = self.model.on_ack(ack);
        if is_sample {
            self.note_aggregation(ack);
        }
        self.check_phase(ack.now, ack.in_flight + ack.bytes_acked);
        self.full_pipe.check(&self.model);
        self.check_drain(ack.now, ack.in_flight);
        let expired = match self.params.config.rtprop {
            Rtprop::Measured => self.model.rtprop.update(ack.now, ack.rtt, self.params.config.rtprop_window),
            Rtprop::Given => false,
        };
        self.check_probe_rtt(ack, expired);
    }
}

impl Congestion for Bbr {
    fn state(&self) -> Option<&'static str> {
        Some(match self.state {
            BbrState::Startup => "startup",
            BbrState::Drain => "drain",
            BbrState::ProbeBw(_) => "probe_bw",
            BbrState::ProbeRtt(_) => "probe_rtt",
        })
    }

    fn decision(&self) -> Decision {
        Decision {
            cwnd: Bytes::new(self.cwnd as u64),
            pacing_rate: Some(Rate::from_bps((self.pacing_rate as u64).clamp(1, u64::MAX - 1))),
            next_timer: None,
            allowance: None,
        }
    }

    /// BBRHandleRestartFromIdle (section 4.3.4.4): new data after a pause leaves at the rate of the path.
    fn on_sent(&mut self, sent: &Sent) -> Decision {
        self.sent_below += u32::from(!sent.retransmission);
        if self.model.had_no_more && !sent.retransmission && sent.in_flight == sent.bytes {
            self.is_idle_restart = true;
            if matches!(self.state, BbrState::ProbeBw(_)) {
                self.set_pacing_rate(1.0);
            }
        }
        self.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        self.sent_below = ack.sent_below;
        self.update_model_and_state(ack);
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(ack);
        self.has_lost = false;
        self.decision()
    }

    fn lower(&mut self, most: Bytes) -> Decision {
        let most = self.params.clamp(most.as_f64());
        self.cwnd = self.cwnd.min(most);
        // BBRRestoreCwnd gives back no more.
        self.prior_cwnd = self.prior_cwnd.min(most);
        self.unrestored = self.unrestored.min(most);
        self.decision()
    }

    fn on_nack(&mut self, nack: &Nack) -> Decision {
        self.on_lost(nack.now, nack.bytes, nack.in_flight);
        self.decision()
    }

    fn on_loss(&mut self, loss: &Loss) -> Decision {
        self.on_lost(loss.now, loss.bytes, loss.in_flight);
        self.decision()
    }

    fn on_timeout(&mut self, timeout: &Timeout) -> Decision {
        self.on_timed_out(timeout.now, timeout.sent_at);
        self.decision()
    }
}

#[cfg(test)]
pub(crate) mod tests;
