//! The proxy of a flow, as its sender knows it.

use crate::flow::route::Route;
use alloc::sync::Arc;
use farspan_units::{Bytes, Duration, HostId};

/// The proxy of a message, as its sender knows it.
#[derive(Clone, Debug)]
pub struct Via {
    /// The proxy's host.
    pub proxy: HostId,
    /// Whether the proxy acknowledges packets itself: the naive one does. The flow then ends when the proxy passes on that
    /// the receiver has all of it.
    pub acknowledges: bool,
    /// The sender may send packets below this one from the start; `u32::MAX`: all.
    pub limit: u32,
    /// How transmissions are numbered for the proxy; `None`: they are not.
    pub numbers: Option<Numbering>,
    /// The way without the proxy.
    pub direct: Arc<Route>,
    /// The first window on it.
    pub direct_cwnd: Bytes,
    /// How long the proxy may be silent before the sender goes that way.
    pub longest_silence: Duration,
}

/// The meaning of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbering {
    /// A path: packets of one entropy. A flow has at most 256.
    PerPath,
    /// The flow.
    PerFlow,
}
