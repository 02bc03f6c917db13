//! The burst that a sender hands to its NIC at once (section 4.2.2): the head-room of windows is counted in it.

use super::{Bbr, Quantum};

/// Below this pacing rate a burst is one packet, in bits per second (section 4.2.2; Linux: `bbr_min_tso_rate`).
const ONE_PACKET: f64 = 1.2e6;

/// Below this pacing rate a burst is two packets, in bits per second (section 4.2.2).
const TWO_PACKETS: f64 = 24e6;

/// The largest burst, in bytes (section 4.2.2; Linux: the largest that a NIC cuts into packets itself).
const LARGEST: f64 = 65_536.0;

impl Bbr {
    /// BBRSetSendQuantum: the burst at today's pacing rate, in bytes.
    pub(super) fn quantum(&self) -> f64 {
        let (mss, rate) = (self.params.mss, self.pacing_rate);
        match self.params.config.quantum {
            Quantum::Packet => mss,
            Quantum::Draft | Quantum::Linux if rate < ONE_PACKET => mss,
            Quantum::Draft if rate < TWO_PACKETS => 2.0 * mss,
            // Its 1 ms is 1/1,000 s.
            Quantum::Draft => (rate / 8.0 / 1000.0).min(LARGEST),
            // Linux shifts the rate by ten bits, and counts whole packets.
            Quantum::Linux => libm::floor((rate / 8.0 / 1024.0).min(LARGEST) / mss).max(2.0) * mss,
        }
    }
}
