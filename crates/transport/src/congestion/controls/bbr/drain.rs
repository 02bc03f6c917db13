//! DRAIN (section 4.3.3): sends slowly until the queue that STARTUP built is gone.

use super::{Bbr, BbrState};
use farspan_units::{Bytes, Time};

impl Bbr {
    /// BBRCheckDrain, at each ACK: from STARTUP to here once the pipe is full; on to PROBE_BW once no more than a
    /// bandwidth-delay product is in flight.
    pub(super) fn check_drain(&mut self, now: Time, in_flight: Bytes) {
        if matches!(self.state, BbrState::Startup) && self.full_pipe.is_filled() {
            self.state = BbrState::Drain;
        }
        if matches!(self.state, BbrState::Drain) && in_flight.as_f64() <= self.inflight(1.0) {
            self.enter_probe_bw(now);
        }
    }
}
