//! The needs of a class, as `python/farspan/control.py` reads them off it.

use farspan_transport::congestion::{Ecn, Floor, NackRule, Needs, SignalBytes};
use farspan_transport::{CnpConfig, PullConfig};
use farspan_units::{Bytes, Duration, TelemetryKind};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The needs of a class, and which methods it has of those that controls may have.
pub(super) struct ClassNeeds {
    pub(super) needs: Needs,
    pub(super) floor: Floor,
    pub(super) has_timer: bool,
    pub(super) has_signal: bool,
    pub(super) has_state: bool,
}

/// `control.Asked` of the package, field by field.
#[derive(FromPyObject)]
struct Words {
    ecn: String,
    sent: bool,
    send_record: bool,
    pull_rate: Option<f64>,
    cnp_interval_ps: Option<u64>,
    telemetry: String,
    arrival: bool,
    nacks: String,
    signal_bytes: (u64, u64),
    may_close: bool,
    has_timer: bool,
    has_signal: bool,
    has_state: bool,
}

impl ClassNeeds {
    /// Reads them off the class.
    ///
    /// # Errors
    /// `ScenarioError`, with the cure, if the class does not say it.
    pub(super) fn of(class: &Bound<'_, PyType>) -> PyResult<Self> {
        let asked = class.py().import("farspan.control")?.getattr("asked")?.call1((class,))?;
        let words: Words = asked.extract()?;
        let unknown =
            |word: &str| PyValueError::new_err(format!("{word:?} is none of the words of controls"));
        let kind = TelemetryKind::ALL.iter().find(|kind| kind.name() == words.telemetry);
        let (data, ack) = words.signal_bytes;
        let needs = Needs {
            ecn: match words.ecn.as_str() {
                "required" => Ecn::Required,
                "as_loss" => Ecn::AsLoss,
                "ignored" => Ecn::Ignored,
                other => return Err(unknown(other)),
            },
            sent: words.sent,
            send_record: words.send_record,
            pulls: words.pull_rate.map(|rate| PullConfig { rate }),
            cnps: words.cnp_interval_ps.map(|ps| CnpConfig { interval: Duration::from_ps(ps) }),
            telemetry: *kind.ok_or_else(|| unknown(&words.telemetry))?,
            arrival: words.arrival,
            nacks: match words.nacks.as_str() {
                "published" => NackRule::Published,
                "only" => NackRule::Only,
                "unsaid" => NackRule::Unsaid,
                other => return Err(unknown(other)),
            },
            signal_bytes: SignalBytes { data: Bytes::new(data), ack: Bytes::new(ack) },
        };
        let Words { may_close, has_timer, has_signal, has_state, .. } = words;
        let floor = if may_close { Floor::Zero } else { Floor::OnePacket };
        Ok(Self { needs, floor, has_timer, has_signal, has_state })
    }
}
