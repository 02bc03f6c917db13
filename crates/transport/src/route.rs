//! What the flows of one scheme over like paths share.

use crate::{Path, Scheme, WindowCheck, balance, congestion, recovery};
use farspan_units::Duration;

/// A path, a scheme, and what the one makes of the other: made once, shared by every sender that it serves.
///
/// A sender then holds only what changes while it sends. A driver that makes a route for each flow spends more memory and
/// gets the same packets.
#[derive(Clone, PartialEq, Debug)]
pub struct Route {
    pub(crate) path: Path,
    pub(crate) congestion: congestion::Law,
    pub(crate) balance: balance::Config,
    pub(crate) recovery: recovery::Config,
    pub(crate) window_check: WindowCheck,
    /// Time-out of a packet that never timed out, before the first RTT sample.
    pub(crate) rto: Duration,
}

impl Route {
    /// What `path` makes of `scheme`.
    #[must_use]
    pub fn new(path: Path, scheme: &Scheme) -> Self {
        let Scheme { congestion, balance, recovery, window_check } = scheme;
        Self {
            congestion: congestion.law(&path),
            balance: balance.clone(),
            recovery: *recovery,
            window_check: *window_check,
            rto: recovery.rto.initial(&path),
            path,
        }
    }

    /// The path.
    #[must_use]
    pub const fn path(&self) -> &Path {
        &self.path
    }
}
