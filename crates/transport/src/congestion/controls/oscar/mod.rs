//! OSCAR: moves window and rate in one step to where the delay and its gradient say that the bottleneck's share lies.
//!
//! Zhang et al., "OSCAR: O(1)-Step Convergence and Readily-deployable Congestion Control" (NSDI 2026), section 4 and
//! appendix A.1, and its published code. Bytes are those on the wire (a window of payload would be some percent wider).
//!
//! Left out: any reaction to losses, of which the delay tells (appendix A.1).
//!
//! Its page: `docs/src/schemes/oscar.md`.

mod estimator;

pub use estimator::{BatchStart, Samples};

use crate::congestion::contract::{Ack, Congestion, Decision, Ecn, NackRule, Needs, SignalBytes, Start};
use crate::congestion::parts::lowered::Lowered;
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::sync::Arc;
use estimator::{Batches, Estimate, Estimator, Sample};
use farspan_units::{Bytes, Duration, Rate, TelemetryKind};

/// The smallest part of the line rate that a flow takes (published code).
/// A NACK can lower the window further, down to a packet, until the next estimate.
const LEAST: f64 = 0.001;
/// The steepest fall of the delay that is believed (published code): 1 / (1 + gradient) stays finite.
const STEEPEST_FALL: f64 = -0.9;

/// The delay that the window aims at.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(untagged))]
#[cfg_attr(
    feature = "serde",
    serde(expecting = "the value does not fit here; give a number of base round trips or a size")
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Target {
    /// A multiple of the base round trip of the flow.
    BaseRtts(f64),
    /// One base round trip and such a queue at the line rate.
    Queue(Bytes),
}

/// The delay that a flow goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Signal {
    /// The round trip.
    Rtt,
    /// The time to the receiver, by clocks that agree, and back through an empty network: what queues on the way of ACKs
    /// add does not count (appendix A.2, OSCAR-OWD).
    OneWay,
}

/// How long a batch is.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(untagged))]
#[cfg_attr(
    feature = "serde",
    serde(expecting = "the value does not fit here; give a number of base round trips or a time")
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum BatchPeriod {
    /// A multiple of the base round trip of the flow.
    BaseRtts(f64),
    /// A time.
    Time(Duration),
}

/// Parameters of OSCAR.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct OscarConfig {
    /// The delay that the flow goes by; `rtt` (section 4).
    pub signal: Signal,
    /// Target delay: a number of base round trips in [1, 100], or the size of a queue; 1.5 (table 4). Published code: 75 KB.
    pub target: Target,
    /// Length of a batch: a number of base round trips in [0.001, 100], or a time; 0.5 (table 4). Published code: 5 us.
    pub period: BatchPeriod,
    /// Additive increase while there is no queue, as a part of the line rate, in [0, 1]; 0.01 (table 4).
    pub hyper_increase: f64,
    /// Additive increase otherwise, as a part of the line rate, in [0, 1]; 0.001 (table 4).
    pub additive_increase: f64,
    /// The most by which the delay may exceed the base round trip and still mean that there is no queue: epsilon; 1 us (the
    /// paper gives none; published code).
    pub tolerance: Duration,
    /// How far below the target the delay must lie for a flow to accelerate; 0. Published code: 0.5 us.
    pub dead_band: Duration,
    /// Where a batch begins; `previous` (algorithm 1). Published code: `first`.
    pub batch_start: BatchStart,
    /// Which of a batch's ACKs its delay and slope are made of; `all` (algorithm 1).
    pub samples: Samples,
    /// The longest batch whose slope and rate are believed, in periods, in [1, 1000]; left out: any. Published code: 3.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub longest_batch: Option<f64>,
    /// The line rate of which the rate of a batch is a part; left out: that of the path. Published code: 100 Gb/s, whatever the
    /// links have.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub batch_line_rate: Option<Rate>,
    /// Bytes in the header of each data packet, at most 256; 6: a time stamp, and what is in flight (section 4.1).
    pub header: Bytes,
    /// Bytes that its ACK echoes, at most 256; 6. Published code: 0, for its senders keep a record of each packet.
    pub ack_header: Bytes,
}

impl Default for OscarConfig {
    fn default() -> Self {
        Self {
            signal: Signal::Rtt,
            target: Target::BaseRtts(1.5),
            period: BatchPeriod::BaseRtts(0.5),
            hyper_increase: 0.01,
            additive_increase: 0.001,
            tolerance: Duration::from_us(1),
            dead_band: Duration::ZERO,
            batch_start: BatchStart::Previous,
            samples: Samples::All,
            longest_batch: None,
            batch_line_rate: None,
            header: Bytes::new(6),
            ack_header: Bytes::new(6),
        }
    }
}

impl OscarConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let within = |range, name, value| ConfigError::unless_in(range, "oscar", name, value);
        if let Target::BaseRtts(target) = self.target {
            within(1.0..=100.0, "target", target)?;
        }
        match self.period {
            BatchPeriod::BaseRtts(period) => within(0.001..=100.0, "period", period)?,
            BatchPeriod::Time(time) => ConfigError::if_zero(
                time.is_zero(),
                "oscar",
                "period",
                &time,
                "makes no batch",
                "a time or a number of base round trips",
            )?,
        }
        within(0.0..=1.0, "hyper_increase", self.hyper_increase)?;
        within(0.0..=1.0, "additive_increase", self.additive_increase)?;
        within(1.0..=1000.0, "longest_batch", self.longest_batch.unwrap_or(1.0))?;
        if let Some(rate) = self.batch_line_rate {
            ConfigError::if_zero(
                rate.is_zero(),
                "oscar",
                "batch_line_rate",
                &rate,
                "divides by nothing",
                "a rate",
            )?;
        }
        within(0.0..=256.0, "header", self.header.as_f64())?;
        within(0.0..=256.0, "ack_header", self.ack_header.as_f64())
    }

    /// All that it needs.
    #[must_use]
    pub const fn needs(&self) -> Needs {
        Needs {
            ecn: Ecn::Ignored,
            sent: false,
            send_record: true,
            pulls: None,
            cnps: None,
            telemetry: TelemetryKind::None,
            arrival: matches!(self.signal, Signal::OneWay),
            nacks: NackRule::Unsaid,
            signal_bytes: SignalBytes { data: self.header, ack: self.ack_header },
        }
    }

    /// The queueing delay that it aims at on a path: what the target exceeds the base round trip by.
    #[must_use]
    pub fn target_delay(&self, path: &Path) -> Option<Duration> {
        Some(match self.target {
            Target::BaseRtts(rtts) => path.base_rtt.mul_f64((rtts - 1.0).max(0.0)),
            Target::Queue(queue) => path.line_rate.transmission(queue),
        })
    }
}

/// The parameters, and what a path makes of them. Times are in ns, sizes in bytes on the wire.
#[derive(Clone, PartialEq, Debug)]
pub struct OscarParams {
    /// As configured.
    config: OscarConfig,
    /// Up to this delay there is no queue.
    unqueued: f64,
    /// `D_target`.
    target: f64,
    /// Below this delay a flow accelerates.
    accelerates_below: f64,
    batches: Batches,
    /// mu, in bytes a ns.
    line_rate: f64,
    /// The line rate of which the rate of a batch is a part, in bytes a ns.
    batch_line_rate: f64,
    /// The largest window.
    bdp: f64,
    /// A full packet.
    mtu: f64,
    /// Payload of a full packet: the smallest window.
    mss: Bytes,
    /// The way back of an ACK through an empty network: what the base round trip leaves beside that of a full packet. Exact
    /// where all links have the rate of the sender's.
    way_back: Duration,
}

impl OscarParams {
    /// Computes the parameters of `config` on `path`.
    #[must_use]
    pub fn new(config: &OscarConfig, path: &Path) -> Self {
        let ns = |time: Duration| time.as_ps() as f64 / 1000.0;
        let (base_rtt, line_rate) = (ns(path.base_rtt), path.line_rate.bytes_per_sec_f64() * 1e-9);
        let target = match config.target {
            Target::BaseRtts(rtts) => base_rtt * rtts,
            Target::Queue(queue) => base_rtt + queue.as_f64() / line_rate,
        };
        Self {
            unqueued: base_rtt + ns(config.tolerance),
            target,
            accelerates_below: target - ns(config.dead_band),
            batches: Batches {
                period: match config.period {
                    BatchPeriod::BaseRtts(rtts) => base_rtt * rtts,
                    BatchPeriod::Time(time) => ns(time),
                },
                start: config.batch_start,
                samples: config.samples,
            },
            line_rate,
            batch_line_rate: config.batch_line_rate.map_or(line_rate, |rate| rate.bytes_per_sec_f64() * 1e-9),
            bdp: path.bdp.as_f64(),
            mtu: path.mtu().as_f64(),
            mss: path.mss,
            way_back: path
                .base_rtt
                .saturating_sub(path.line_rate.transmission(path.mss) * u64::from(path.hops))
                / 2,
            config: config.clone(),
        }
    }

    /// Bytes on the wire for each byte of payload.
    fn wire(&self) -> f64 {
        self.mtu / self.mss.as_f64()
    }

    /// Algorithm 2, lines 4 to 11: the part of the line rate that the flow takes from now on, if it took `share`.
    fn next_share(&self, share: f64, estimate: &Estimate) -> f64 {
        let Estimate { delay, gradient, in_flight, packets, span } = *estimate;
        let Self { config, line_rate, batch_line_rate, batches, .. } = self;
        if delay <= self.unqueued {
            return share + config.hyper_increase;
        }
        let by_window = in_flight / (delay * line_rate);
        // The slope and the rate of a batch that is too long say nothing of now (published code).
        let is_too_long = config.longest_batch.is_some_and(|longest| span > longest * batches.period);
        let by_rate = packets * self.mtu / span / ((1.0 + gradient.max(STEEPEST_FALL)) * batch_line_rate);
        let share = match () {
            () if is_too_long => by_window,
            () if delay < self.accelerates_below => by_window.max(by_rate),
            () => by_window.min(by_rate),
        };
        share + config.additive_increase
    }
}

/// OSCAR for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Oscar {
    /// The parameters that the flows of a path share.
    params: Arc<OscarParams>,
    /// u: the part of the line rate that the flow takes.
    share: f64,
    /// The window, in payload bytes.
    cwnd: Bytes,
    estimator: Estimator,
    /// The bound on the bytes in flight when packets left before a NACK lowered the window, in bytes on the wire.
    lowered: Lowered,
}

impl Oscar {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<OscarParams>, start: &Start<'_>) -> Self {
        let cwnd = start.initial_cwnd.max(params.mss);
        // Line rate with a first window of one bandwidth-delay product (section 4.2).
        let share = (start.cwnd_on_wire().as_f64() / params.bdp.max(1.0)).clamp(LEAST, 1.0);
        Self {
            params: Arc::clone(params),
            share,
            cwnd,
            estimator: Estimator::default(),
            lowered: Lowered::NEVER,
        }
    }

    /// The delay of an acknowledged packet; its round trip where nobody says when it arrived.
    fn delay(&self, ack: &Ack<'_>) -> Duration {
        match ack.received_at() {
            Some(at) if self.params.config.signal == Signal::OneWay => {
                at.since(ack.sent_at) + self.params.way_back
            }
            _ => ack.rtt,
        }
    }

    /// Algorithm 2, lines 3 to 13.
    fn on_estimate(&mut self, estimate: &Estimate) {
        let params = &*self.params;
        self.share = params.next_share(self.share, estimate).clamp(LEAST, 1.0);
        // Line 12 prints "max"; the text says that the window is not set above the base BDP.
        let window = (self.share * params.target * params.line_rate).min(params.bdp);
        self.cwnd = Bytes::new((window / params.wire()) as u64).max(params.mss);
    }
}

impl Congestion for Oscar {
    fn decision(&self) -> Decision {
        let rate = Rate::from_bps(((self.share * self.params.line_rate * 8e9) as u64).max(1));
        Decision { pacing_rate: Some(rate), ..Decision::window(self.cwnd) }
    }

    fn signal(&self) -> Option<f64> {
        Some(self.estimator.gradient())
    }

    fn on_ack(&mut self, ack: &Ack<'_>) -> Decision {
        if let Some(record) = ack.at_send {
            let sample = Sample {
                sent_at: ack.sent_at,
                delay: self.delay(ack),
                in_flight: self.lowered.cap(ack, record.in_flight.as_f64() * self.params.wire()),
                packets: ack.acked_packets,
            };
            if let Some(estimate) = self.estimator.take(&sample, &self.params.batches) {
                self.on_estimate(&estimate);
            }
        }
        self.decision()
    }

    fn lower(&mut self, most: Bytes) -> Decision {
        let most = most.max(self.params.mss);
        if self.cwnd > most {
            // Algorithm 2, line 12, backwards: the share that gives this window, which the next estimate starts from.
            let OscarParams { target, line_rate, .. } = *self.params;
            let share = most.as_f64() * self.params.wire() / (target * line_rate);
            (self.cwnd, self.share) = (most, self.share.min(share).max(LEAST));
            // What was in flight before counts for no more: an estimate of it would give the old share.
            let in_flight = most.as_f64() * self.params.wire();
            self.lowered.set(in_flight);
            self.estimator.lower(in_flight);
        }
        self.decision()
    }
}

#[cfg(test)]
pub(crate) mod tests;
