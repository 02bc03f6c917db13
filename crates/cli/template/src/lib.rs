//! The congestion control `my-control`: some packets more in each round trip, a part less for a mark or a loss.
//!
//! Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988, section 2, with marks (RFC 3168) beside losses. Left out:
//! slow start.

use farspan_extend::NamedControl;
use farspan_extend::transport::ConfigError;
use farspan_extend::transport::congestion::{
    Ack, Congestion, Decision, Ecn, Factory, Loss, Nack, NackRule, Needs, SignalBytes, Start, Timeout,
};
use farspan_extend::units::{Bytes, TelemetryKind, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameters: what a scenario may write beside the name, as in `congestion = { name = "my-control", cut = 0.3 }`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Packets by which the window grows in a round trip without marks.
    pub increase: f64,
    /// Part of the window that a mark or a loss takes.
    pub cut: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { increase: 1.0, cut: 0.5 }
    }
}

impl NamedControl for Config {
    const SUMMARY: &'static str =
        "Adds packets in each round trip, takes a part of the window for a mark or a loss";
    const SOURCE: &'static str = "Jacobson 1988, section 2";
    // Without this no port would mark, and lost packets would wait for their time-out.
    const CONSTANTS: &'static str = r#"
        ports.marking = "step"
        recovery.name = "rack"
    "#;

    fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(0.001..=1000.0, "my-control", "increase", self.increase)?;
        ConfigError::unless_in(0.001..=0.999, "my-control", "cut", self.cut)
    }
}

impl Factory for Config {
    fn name(&self) -> &'static str {
        "my-control"
    }

    fn needs(&self) -> Needs {
        Needs {
            ecn: Ecn::Required,
            sent: false,
            send_record: false,
            pulls: None,
            cnps: None,
            telemetry: TelemetryKind::None,
            arrival: false,
            nacks: NackRule::Published,
            signal_bytes: SignalBytes::NONE,
        }
    }

    fn control(&self, start: &Start<'_>) -> Box<dyn Congestion + Send> {
        let mss = start.path.mss.as_f64();
        let cwnd = start.initial_cwnd.as_f64().max(mss);
        Box::new(Flow { config: self.clone(), mss, cwnd, cut_at: Time::ZERO })
    }
}

/// The state of one flow.
struct Flow {
    config: Config,
    /// Payload of a full packet, in bytes.
    mss: f64,
    /// The window, in bytes.
    cwnd: f64,
    /// When it was last cut: news of packets that left before is no news.
    cut_at: Time,
}

impl Flow {
    fn cut(&mut self, now: Time, sent_at: Time) -> Decision {
        if sent_at >= self.cut_at {
            self.cwnd = (self.cwnd * (1.0 - self.config.cut)).max(self.mss);
            self.cut_at = now;
        }
        self.decision()
    }
}

impl Congestion for Flow {
    fn decision(&self) -> Decision {
        Decision::window(Bytes::new(self.cwnd as u64))
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if ack.ecn_ce {
            return self.cut(ack.now, ack.sent_at);
        }
        // A sender that its NIC holds back would otherwise grow its window for ever.
        let used = (ack.in_flight + ack.bytes_acked).as_f64();
        if 2.0 * used >= self.cwnd {
            self.cwnd += self.config.increase * self.mss * ack.bytes_acked.as_f64() / self.cwnd;
        }
        self.decision()
    }

    fn on_nack(&mut self, nack: &Nack) -> Decision {
        self.cut(nack.now, nack.sent_at)
    }

    fn lower(&mut self, most: Bytes) -> Decision {
        self.cwnd = self.cwnd.min(most.as_f64()).max(self.mss);
        self.decision()
    }

    fn on_loss(&mut self, loss: &Loss) -> Decision {
        self.cut(loss.now, loss.sent_at)
    }

    fn on_timeout(&mut self, timeout: &Timeout) -> Decision {
        self.cwnd = self.mss;
        self.cut_at = timeout.now;
        self.decision()
    }
}

#[cfg(feature = "python")]
farspan_extend::python_module!(Config);
