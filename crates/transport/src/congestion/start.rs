//! How a control begins.

use crate::flow::path::Path;
use farspan_units::{Bytes, FlowId};

/// The inputs from which a control is built.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Start<'a> {
    /// The path.
    pub path: &'a Path,
    /// Payload of the message.
    pub size: Bytes,
    /// First window: the same for every scheme of a scenario.
    pub initial_cwnd: Bytes,
    /// The flow's own key for [`farspan_units::Random`] draws: (seed, flow).
    pub seed: u64,
    /// The flow.
    pub flow: FlowId,
}
