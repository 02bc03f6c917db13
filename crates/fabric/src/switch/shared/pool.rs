//! A pool of buffer that all ports of a switch share: a full one drops wherever the next packet is to leave.

use super::{Crossing, Effects, Frame, Shared};
use farspan_units::{Bytes, PortId, Time};

/// How large the pool is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolConfig {
    /// Bytes of all packets that wait at the switch, those in service included.
    pub size: Bytes,
}

/// The pool of one switch.
#[derive(Clone, Debug)]
pub struct Pool {
    size: Bytes,
    used: Bytes,
}

impl Pool {
    pub(super) const fn new(config: &PoolConfig) -> Self {
        Self { size: config.size, used: Bytes::ZERO }
    }
}

impl Shared for Pool {
    fn admits(&mut self, _: Time, _: Crossing, size: Bytes, _: bool, _: &mut Effects) -> bool {
        let fits = self.used + size <= self.size;
        if fits {
            self.used += size;
        }
        fits
    }

    fn released(&mut self, _: Time, _: Crossing, size: Bytes, _: &mut Effects) {
        self.used -= size;
    }

    fn on_frame(&mut self, _: Time, _: PortId, _: Frame, _: &mut Effects) {}
}
