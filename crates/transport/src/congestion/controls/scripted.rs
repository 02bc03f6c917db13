//! A script: the flow's part of the line rate at each time, whatever happens.
//!
//! The oracle of OSCAR (NSDI 2026, figure 3): window and rate move to their targets when the script says so, so that delay,
//! its gradient and the queue show what signals are worth, without a control that follows them.
//!
//! Its page: `docs/src/schemes/scripted.md`.

use crate::congestion::contract::{
    Ack, Congestion, Decision, Ecn, NackRule, Needs, Sent, SignalBytes, Start,
};
use crate::congestion::controls::oscar::{Oscar, OscarConfig, OscarParams};
use crate::congestion::controls::timely::{Timely, TimelyConfig, TimelyParams};
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use farspan_units::{Bytes, Duration, Rate, TelemetryKind, Time};

/// A control that looks on: it gets the ACKs of the flow, and nobody follows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Observer {
    /// TIMELY with its own constants: its gradient is the average of differences between the round trips of segments.
    Timely,
    /// OSCAR with its own constants: its gradient is the least squares of a batch.
    Oscar,
}

/// Parameters of the script.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ScriptedConfig {
    /// The times of the run at which the share changes, one after the other; none.
    pub at: Vec<Duration>,
    /// The share from each of these times on: window and rate as a part, in [0.001, 1], of bandwidth-delay product and line
    /// rate; none. Before the first, both are those of the scenario's first window.
    pub share: Vec<f64>,
    /// The control whose gradient the probe `signal` shows; none.
    pub observer: Option<Observer>,
}

impl ScriptedConfig {
    /// Checks that each time has a share, that times follow each other, and the range of shares.
    ///
    /// # Errors
    /// What does not hold.
    pub fn check(&self) -> Result<(), ConfigError> {
        let meaningful = |holds, name, value: &String, effect, give| {
            ConfigError::unless_meaningful(holds, "scripted", name, value, effect, give)
        };
        let Self { at, share, observer: _ } = self;
        let follow = at.windows(2).all(|pair| pair[0] < pair[1]);
        meaningful(
            follow,
            "at",
            &format!("{at:?}"),
            "goes back in time",
            "times, each later than the one before",
        )?;
        let all = format!("{share:?}");
        meaningful(at.len() == share.len(), "share", &all, "does not fit `at`", "as many shares as times")?;
        let range = 0.001..=1.0;
        share.iter().try_for_each(|share| ConfigError::unless_in(range.clone(), "scripted", "share", *share))
    }

    /// All that it needs.
    #[must_use]
    pub const fn needs(&self) -> Needs {
        Needs {
            ecn: Ecn::Ignored,
            sent: !self.at.is_empty(),
            send_record: matches!(self.observer, Some(Observer::Oscar)),
            pulls: None,
            cnps: None,
            telemetry: TelemetryKind::None,
            arrival: false,
            nacks: NackRule::Only,
            signal_bytes: SignalBytes::NONE,
        }
    }

    /// The queueing delay that it aims at on a path: none, it knows no such target.
    #[must_use]
    pub const fn target_delay(&self, _path: &Path) -> Option<Duration> {
        None
    }
}

/// The steps, on a path.
#[derive(Clone, PartialEq, Debug)]
pub struct ScriptedParams {
    steps: Vec<(Time, Decision)>,
    /// Payload of a full packet: the smallest window.
    mss: Bytes,
    line_rate: Rate,
    bdp: Bytes,
    observer: Option<ObserverParams>,
}

/// The parameters of the control that looks on.
#[derive(Clone, PartialEq, Debug)]
enum ObserverParams {
    Timely(Arc<TimelyParams>),
    Oscar(Arc<OscarParams>),
}

impl ObserverParams {
    fn new(observer: Observer, path: &Path) -> Self {
        match observer {
            Observer::Timely => Self::Timely(Arc::new(TimelyParams::new(&TimelyConfig::default(), path))),
            Observer::Oscar => Self::Oscar(Arc::new(OscarParams::new(&OscarConfig::default(), path))),
        }
    }
}

/// The control that looks on.
#[derive(Clone, PartialEq, Debug)]
enum Watching {
    Timely(Timely),
    Oscar(Oscar),
}

impl Watching {
    fn new(params: &ObserverParams, start: &Start<'_>) -> Self {
        match params {
            ObserverParams::Timely(params) => Self::Timely(Timely::new(params, start)),
            ObserverParams::Oscar(params) => Self::Oscar(Oscar::new(params, start)),
        }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        match self {
            Self::Timely(timely) => _ = timely.on_ack(ack),
            Self::Oscar(oscar) => _ = oscar.on_ack(ack),
        }
    }

    fn signal(&self) -> Option<f64> {
        match self {
            Self::Timely(timely) => timely.signal(),
            Self::Oscar(oscar) => oscar.signal(),
        }
    }
}

impl ScriptedParams {
    /// The steps of `config` on `path`.
    #[must_use]
    pub fn new(config: &ScriptedConfig, path: &Path) -> Self {
        let step = |(at, share): (&Duration, &f64)| {
            let cwnd = path.bdp.mul_f64(*share).max(path.mss);
            let rate = Rate::from_bps(((path.line_rate.as_bps() as f64 * share) as u64).max(1));
            (Time::ZERO + *at, Decision { pacing_rate: Some(rate), ..Decision::window(cwnd) })
        };
        let steps = config.at.iter().zip(&config.share).map(step).collect();
        let observer = config.observer.map(|observer| ObserverParams::new(observer, path));
        Self { steps, mss: path.mss, line_rate: path.line_rate, bdp: path.bdp, observer }
    }
}

/// The script of one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Scripted {
    params: Arc<ScriptedParams>,
    decision: Decision,
    /// Steps that are done.
    done: usize,
    /// In a box: most scripts have none.
    watching: Option<Box<Watching>>,
}

impl Scripted {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<ScriptedParams>, start: &Start<'_>) -> Self {
        let cwnd = start.initial_cwnd.max(params.mss);
        let share = (start.cwnd_on_wire().as_f64() / params.bdp.as_f64().max(1.0)).min(1.0);
        let rate = Rate::from_bps(((params.line_rate.as_bps() as f64 * share) as u64).max(1));
        let decision = Decision { pacing_rate: Some(rate), ..Decision::window(cwnd) };
        let watching = params.observer.as_ref().map(|observer| Box::new(Watching::new(observer, start)));
        Self { params: Arc::clone(params), decision, done: 0, watching }
    }

    /// Does the steps whose time has come, and asks for the next.
    fn step(&mut self, now: Time) -> Decision {
        while let Some((_, decision)) = self.params.steps.get(self.done).filter(|(at, _)| *at <= now) {
            self.decision = *decision;
            self.done += 1;
        }
        self.decision.next_timer = self.params.steps.get(self.done).map(|(at, _)| *at);
        self.decision
    }
}

impl Congestion for Scripted {
    fn decision(&self) -> Decision {
        self.decision
    }

    // The first packet of a flow asks for the first step.
    fn on_sent(&mut self, sent: &Sent) -> Decision {
        self.step(sent.now)
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if let Some(watching) = &mut self.watching {
            watching.on_ack(ack);
        }
        self.decision
    }

    fn signal(&self) -> Option<f64> {
        self.watching.as_ref().and_then(|watching| watching.signal())
    }

    fn on_timer(&mut self, now: Time) -> Decision {
        self.step(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::{AckStream, START_CWND, near, path, refused, start};
    use alloc::vec;

    fn script(steps: &[(u64, f64)]) -> ScriptedConfig {
        let (at, share) = steps.iter().map(|(us, share)| (Duration::from_us(*us), *share)).unzip();
        ScriptedConfig { at, share, observer: None }
    }

    fn sent(us: u64) -> Sent {
        let (now, bytes) = (Time::ZERO + Duration::from_us(us), path().mss);
        Sent { now, bytes, in_flight: bytes, retransmission: false }
    }

    fn flow(config: &ScriptedConfig) -> Scripted {
        Scripted::new(&Arc::new(ScriptedParams::new(config, start().path)), &start())
    }

    #[test]
    fn a_parameter_out_of_range_is_named() {
        let us = |list: &[u64]| list.iter().copied().map(Duration::from_us).collect::<Vec<_>>();
        refused(
            ScriptedConfig::check,
            &[
                ("at", |c| c.at = vec![Duration::from_us(2), Duration::from_us(2)]),
                ("share", |c| c.share = vec![1.0]),
                ("share", |c| {
                    c.at = vec![Duration::from_us(1)];
                    c.share = vec![0.0];
                }),
            ],
        );
        let fine = ScriptedConfig { at: us(&[1, 2]), share: vec![0.5, 1.0], observer: None };
        assert_eq!([ScriptedConfig::default(), fine].map(|config| config.check()), [Ok(()), Ok(())]);
    }

    #[test]
    fn without_steps_a_flow_stays_at_its_first_window() {
        let mut control = flow(&ScriptedConfig::default());
        let first = control.decision();
        assert_eq!(first.cwnd, START_CWND);
        assert_eq!(control.on_sent(&sent(5)), first);
        assert_eq!(control.on_ack(&AckStream::new(&start()).next(true)), first);
    }

    #[test]
    fn window_and_rate_are_the_share_from_each_time_on() {
        let mut control = flow(&script(&[(550, 0.2), (1550, 1.0)]));
        let at = |us| Some(Time::ZERO + Duration::from_us(us));
        assert_eq!(control.decision().next_timer, None, "before its first packet a flow waits for nothing");
        assert_eq!(control.on_sent(&sent(0)).next_timer, at(550));
        let slow = control.on_timer(Time::ZERO + Duration::from_us(550));
        near(slow.cwnd.as_f64() / path().bdp.as_f64(), 0.2, 1e-4);
        assert_eq!(slow.pacing_rate, Some(Rate::from_gbps(20)));
        assert_eq!(slow.next_timer, at(1550));
        let fast = control.on_timer(Time::ZERO + Duration::from_us(1550));
        assert_eq!((fast.pacing_rate, fast.next_timer), (Some(Rate::from_gbps(100)), None));
    }

    #[test]
    fn a_flow_that_starts_late_begins_where_the_others_are() {
        let mut control = flow(&script(&[(100, 0.5), (200, 0.1), (300, 1.0)]));
        let late = control.on_sent(&sent(250));
        assert_eq!(late.pacing_rate, Some(Rate::from_gbps(10)));
        assert_eq!(late.next_timer, Some(Time::ZERO + Duration::from_us(300)));
    }

    #[test]
    fn an_observer_sees_the_slope_and_changes_nothing() {
        for observer in [None, Some(Observer::Timely), Some(Observer::Oscar)] {
            let config = ScriptedConfig { observer, ..ScriptedConfig::default() };
            assert_eq!(config.needs().send_record, observer == Some(Observer::Oscar));
            let mut control = flow(&config);
            let (before, mut acks) = (control.decision(), AckStream::new(&start()));
            for packet in 0..200 {
                // A packet each microsecond, and a round trip that grows half as fast.
                let next = acks.next(false);
                let at_send =
                    Some(crate::congestion::SendRecord { in_flight: START_CWND, ..Default::default() });
                let rtt = path().base_rtt + Duration::from_ns(500 * packet);
                let sent_at = Time::ZERO + Duration::from_us(packet);
                assert_eq!(
                    control.on_ack(&Ack { sent_at, now: sent_at + rtt, rtt, at_send, ..next }),
                    before
                );
            }
            match observer {
                None => assert_eq!(control.signal(), None),
                // Segments of four packets: the round trip grows by 2 us from one to the next.
                Some(Observer::Timely) => {
                    near(control.signal().unwrap(), 2e-6 / path().base_rtt.as_secs_f64(), 1e-6);
                }
                Some(Observer::Oscar) => near(control.signal().unwrap(), 0.5, 1e-6),
            }
        }
    }
}
