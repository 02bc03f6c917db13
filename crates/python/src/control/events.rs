//! The start and the events of a flow, as objects of Python. `python/farspan/_farspan.pyi` documents these classes.

use farspan_transport::Path;
use farspan_transport::congestion::{
    Ack, Cnp, Ecn, Idle, Loss, Nack, NackCause, Needs, Pull, SendRecord, Sent, Start, Timeout,
};
use farspan_units::{Bytes, HopTelemetry, TelemetryKind, Time};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A flow's path, as its sender knows it before the first packet.
#[pyclass(frozen, get_all, module = "farspan.control")]
pub struct FlowPath {
    class_name: &'static str,
    base_rtt_ps: u64,
    intra_base_rtt_ps: u64,
    largest_base_rtt_ps: u64,
    max_queueing_ps: u64,
    k_min: Option<u64>,
    /// Whether full ports of the path trim packets; else they drop them.
    trims: bool,
    line_rate: u64,
    bdp: u64,
    hops: u32,
    mss: u64,
    header: u64,
    initial_cwnd: u64,
    cwnd_on_wire: u64,
    size: u64,
    active_flows: u32,
    seed: u64,
    flow: u32,
}

impl FlowPath {
    pub(super) fn of(start: &Start<'_>) -> Self {
        let &Start { path, size, initial_cwnd, active_flows, seed, flow } = start;
        let Path {
            class,
            base_rtt,
            line_rate,
            bdp,
            intra_base_rtt,
            largest_base_rtt,
            hops,
            max_queueing,
            k_min,
            trims,
            mss,
            header,
        } = *path;
        Self {
            class_name: class.name(),
            base_rtt_ps: base_rtt.as_ps(),
            intra_base_rtt_ps: intra_base_rtt.as_ps(),
            largest_base_rtt_ps: largest_base_rtt.as_ps(),
            max_queueing_ps: max_queueing.as_ps(),
            k_min: k_min.map(Bytes::get),
            trims,
            line_rate: line_rate.as_bps(),
            bdp: bdp.get(),
            hops,
            mss: mss.get(),
            header: header.get(),
            initial_cwnd: initial_cwnd.get(),
            cwnd_on_wire: start.cwnd_on_wire().get(),
            size: size.get(),
            active_flows,
            seed,
            flow: flow.0,
        }
    }
}

/// A signal that the control asked for; else how to ask.
fn asked<T>(given: Option<T>, field: &str, need: &str) -> PyResult<T> {
    given.ok_or_else(|| {
        PyAttributeError::new_err(format!("{field} is not given; add \"{need}\" to the control's needs"))
    })
}

/// The state of a port when its service of a packet began.
#[pyclass(frozen, get_all, name = "Hop", module = "farspan.control")]
pub struct PyHop {
    at_ps: u64,
    sent: u64,
    queued: u64,
    rate: u64,
}

impl From<&HopTelemetry> for PyHop {
    fn from(&HopTelemetry { at, sent, queued, rate }: &HopTelemetry) -> Self {
        Self { at_ps: at.as_ps(), sent: sent.get(), queued: queued.get(), rate: rate.as_bps() }
    }
}

#[pymethods]
impl PyHop {
    #[getter]
    fn queueing_delay_ps(&self) -> u64 {
        farspan_units::Rate::from_bps(self.rate).transmission(Bytes::new(self.queued)).as_ps()
    }
}

/// The state of the sender when a packet left.
#[pyclass(frozen, get_all, name = "SendRecord", module = "farspan.control")]
pub struct PySendRecord {
    in_flight: u64,
    cwnd: u64,
    delivered: u64,
    delivered_at_ps: u64,
    first_sent_at_ps: u64,
    app_limited: bool,
}

impl From<SendRecord> for PySendRecord {
    fn from(record: SendRecord) -> Self {
        let SendRecord { in_flight, cwnd, delivered, delivered_at, first_sent_at, app_limited } = record;
        Self {
            in_flight: in_flight.get(),
            cwnd: cwnd.get(),
            delivered: delivered.get(),
            delivered_at_ps: delivered_at.as_ps(),
            first_sent_at_ps: first_sent_at.as_ps(),
            app_limited,
        }
    }
}

/// An ACK arrived.
#[pyclass(frozen, name = "Ack", module = "farspan.control")]
pub struct PyAck {
    #[pyo3(get)]
    now_ps: u64,
    #[pyo3(get)]
    bytes_acked: u64,
    #[pyo3(get)]
    mapped: u64,
    #[pyo3(get)]
    echoed_bytes: u64,
    #[pyo3(get)]
    acked_packets: u32,
    #[pyo3(get)]
    rtt_ps: u64,
    #[pyo3(get)]
    sent_at_ps: u64,
    #[pyo3(get)]
    in_flight: u64,
    #[pyo3(get)]
    delivered: u64,
    #[pyo3(get)]
    acked_below: u32,
    #[pyo3(get)]
    sent_below: u32,
    #[pyo3(get)]
    has_losses: bool,
    // Signals that a control asks for; `None`: it has not.
    ecn_ce: Option<bool>,
    received_at_ps: Option<Option<u64>>,
    at_send: Option<Option<Py<PySendRecord>>>,
    hops: Option<Py<PyTuple>>,
}

impl PyAck {
    pub(super) fn of(py: Python<'_>, ack: &Ack<'_>, needs: &Needs) -> PyResult<Self> {
        let at_send = || ack.at_send.map(|record| Py::new(py, PySendRecord::from(record))).transpose();
        let hops = || {
            let hops: Vec<_> = ack.hops().iter().map(PyHop::from).collect();
            let hops = hops.into_iter().map(|hop| Py::new(py, hop)).collect::<PyResult<Vec<_>>>()?;
            PyResult::Ok(PyTuple::new(py, hops)?.unbind())
        };
        Ok(Self {
            now_ps: ack.now.as_ps(),
            bytes_acked: ack.bytes_acked.get(),
            mapped: ack.mapped.get(),
            echoed_bytes: ack.echoed_bytes().get(),
            acked_packets: ack.acked_packets,
            rtt_ps: ack.rtt.as_ps(),
            sent_at_ps: ack.sent_at.as_ps(),
            in_flight: ack.in_flight.get(),
            delivered: ack.delivered.get(),
            acked_below: ack.acked_below,
            sent_below: ack.sent_below,
            has_losses: ack.has_losses,
            ecn_ce: (needs.ecn != Ecn::Ignored).then_some(ack.ecn_ce),
            received_at_ps: needs.arrival.then(|| ack.received_at().map(Time::as_ps)),
            at_send: needs.send_record.then(at_send).transpose()?,
            hops: (needs.telemetry != TelemetryKind::None).then(hops).transpose()?,
        })
    }
}

#[pymethods]
impl PyAck {
    #[getter]
    fn ecn_ce(&self) -> PyResult<bool> {
        asked(self.ecn_ce, "ack.ecn_ce", "ecn")
    }

    #[getter]
    fn received_at_ps(&self) -> PyResult<Option<u64>> {
        asked(self.received_at_ps, "ack.received_at_ps", "arrival")
    }

    #[getter]
    fn at_send(&self, py: Python<'_>) -> PyResult<Option<Py<PySendRecord>>> {
        let at_send = asked(self.at_send.as_ref(), "ack.at_send", "send_record")?;
        Ok(at_send.as_ref().map(|record| record.clone_ref(py)))
    }

    #[getter]
    fn hops(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        asked(self.hops.as_ref(), "ack.hops", "telemetry").map(|hops| hops.clone_ref(py))
    }
}

/// Packets were lost: found so from later ACKs, by a NACK, or by a time-out.
#[pyclass(frozen, subclass, get_all, name = "Loss", module = "farspan.control")]
pub struct PyLoss {
    now_ps: u64,
    bytes: u64,
    sent_at_ps: u64,
    in_flight: u64,
}

impl From<&Loss> for PyLoss {
    fn from(&Loss { now, bytes, sent_at, in_flight }: &Loss) -> Self {
        let (bytes, in_flight) = (bytes.get(), in_flight.get());
        Self { now_ps: now.as_ps(), bytes, sent_at_ps: sent_at.as_ps(), in_flight }
    }
}

/// A NACK arrived.
#[pyclass(frozen, extends = PyLoss, get_all, name = "Nack", module = "farspan.control")]
pub struct PyNack {
    cause: &'static str,
}

impl PyNack {
    pub(super) fn of(&Nack { now, bytes, sent_at, in_flight, cause }: &Nack) -> PyClassInitializer<Self> {
        let cause = match cause {
            NackCause::Trimmed => "trimmed",
            NackCause::Gap => "gap",
            NackCause::Returned => "returned",
            NackCause::Block => "block",
        };
        let loss = PyLoss::from(&Loss { now, bytes, sent_at, in_flight });
        PyClassInitializer::from(loss).add_subclass(Self { cause })
    }
}

/// Packets timed out.
#[pyclass(frozen, extends = PyLoss, get_all, name = "Timeout", module = "farspan.control")]
pub struct PyTimeout {
    rto_ps: u64,
}

impl PyTimeout {
    pub(super) fn of(&Timeout { now, bytes, sent_at, in_flight, rto }: &Timeout) -> PyClassInitializer<Self> {
        let loss = PyLoss::from(&Loss { now, bytes, sent_at, in_flight });
        PyClassInitializer::from(loss).add_subclass(Self { rto_ps: rto.as_ps() })
    }
}

/// A packet left.
#[pyclass(frozen, get_all, name = "Sent", module = "farspan.control")]
pub struct PySent {
    now_ps: u64,
    bytes: u64,
    in_flight: u64,
    retransmission: bool,
}

impl From<&Sent> for PySent {
    fn from(&Sent { now, bytes, in_flight, retransmission }: &Sent) -> Self {
        Self { now_ps: now.as_ps(), bytes: bytes.get(), in_flight: in_flight.get(), retransmission }
    }
}

/// A pull arrived.
#[pyclass(frozen, get_all, name = "Pull", module = "farspan.control")]
pub struct PyPull {
    now_ps: u64,
    count: u32,
    in_flight: u64,
}

impl From<&Pull> for PyPull {
    fn from(&Pull { now, count, in_flight }: &Pull) -> Self {
        Self { now_ps: now.as_ps(), count, in_flight: in_flight.get() }
    }
}

/// A CNP arrived.
#[pyclass(frozen, get_all, name = "Cnp", module = "farspan.control")]
pub struct PyCnp {
    now_ps: u64,
    in_flight: u64,
}

impl From<&Cnp> for PyCnp {
    fn from(&Cnp { now, in_flight }: &Cnp) -> Self {
        Self { now_ps: now.as_ps(), in_flight: in_flight.get() }
    }
}

/// A message follows on an idle flow.
#[pyclass(frozen, get_all, name = "Idle", module = "farspan.control")]
pub struct PyIdle {
    now_ps: u64,
    idle_ps: u64,
    rto_ps: u64,
    initial_cwnd: u64,
}

impl From<&Idle> for PyIdle {
    fn from(&Idle { now, idle, rto, initial_cwnd }: &Idle) -> Self {
        let initial_cwnd = initial_cwnd.get();
        Self { now_ps: now.as_ps(), idle_ps: idle.as_ps(), rto_ps: rto.as_ps(), initial_cwnd }
    }
}
