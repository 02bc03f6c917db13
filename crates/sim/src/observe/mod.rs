//! Observation of a run: probes, traces, and the delays of packets. It reads nodes and never writes them.

pub(crate) mod arrivals;
pub(crate) mod delay;
pub(crate) mod goodput;
pub(crate) mod port_tracer;
pub(crate) mod probe;
pub(crate) mod trace;
