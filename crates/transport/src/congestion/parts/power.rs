//! Power, and the window that it moves: what both PowerTCPs share.

use super::signals::DataWindow;
use crate::congestion::contract::{Decision, Start};
use crate::path::Path;
use farspan_units::{Bytes, Rate};

/// The smallest window and rate, as a part of the bandwidth-delay product and of the line rate (published code of OSCAR).
/// A NACK can lower it further, down to a packet, until the next update.
const LEAST: f64 = 0.001;

/// The largest normalised power, either way: an average whose weights exceed one grows without bound.
const MOST_POWER: f64 = 1e6;

/// The parameters that both forms have, on a path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PowerParams {
    /// gamma: the weight of the newest window.
    gamma: f64,
    /// beta: additive increase, in bytes.
    beta: f64,
    /// tau: the base round trip, in seconds.
    pub(crate) base_rtt: f64,
    /// The bandwidth-delay product, in bytes.
    bdp: f64,
    /// Payload of a full packet: the smallest window.
    mss: Bytes,
}

impl PowerParams {
    /// `beta`: a part of the bandwidth-delay product.
    pub(crate) fn new(gamma: f64, beta: f64, path: &Path) -> Self {
        let bdp = path.bdp.as_f64().max(1.0);
        Self { gamma, beta: beta * bdp, base_rtt: path.base_rtt.as_secs_f64(), bdp, mss: path.mss }
    }
}

/// The power that a flow sees, and its window.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PowerWindow {
    /// cwnd, in bytes; below a packet, only the rate is.
    pub(crate) cwnd: f64,
    /// The first window, which counts payload alone, until cwnd has moved.
    first: Bytes,
    /// `cwnd_old`: the window of the last round trip, in bytes.
    pub(crate) old: f64,
    /// The largest window, in bytes.
    max: f64,
    /// Gamma: normalised power, smoothed; 1 is a full link without a queue.
    pub(crate) power: f64,
    /// The round trip after which `old` moves.
    pub(crate) round: DataWindow,
}

impl PowerWindow {
    /// The first window, and a full link.
    pub(crate) fn new(params: &PowerParams, start: &Start<'_>) -> Self {
        let cwnd = start.cwnd_on_wire().as_f64();
        let first = start.initial_cwnd;
        Self { cwnd, first, old: cwnd, max: cwnd.max(params.bdp), power: 1.0, round: DataWindow::default() }
    }

    /// Algorithm 1, line 24: Gamma = (Gamma (tau - dt) + Gamma' dt) / tau. `weight`: dt / tau.
    #[inline]
    pub(crate) fn smooth(&mut self, power: f64, weight: f64) {
        let smoothed = self.power * (1.0 - weight) + power * weight;
        self.power = smoothed.clamp(-MOST_POWER, MOST_POWER);
    }

    /// Algorithm 1, `updateWindow`: cwnd = gamma (`cwnd_old` / Gamma + beta) + (1 - gamma) cwnd. `present`: the window of the
    /// second term.
    #[inline]
    pub(crate) fn update(&mut self, params: &PowerParams, power: f64, present: f64) {
        let PowerParams { gamma, beta, bdp, .. } = params;
        let cwnd = gamma * (self.old / power + beta) + (1.0 - gamma) * present;
        self.cwnd = cwnd.clamp(LEAST * bdp, self.max);
        self.first = Bytes::MAX;
    }

    /// The window is at most this from here on, and so is that of the last round trip, from which the next one follows.
    pub(crate) fn lower(&mut self, params: &PowerParams, most: Bytes) {
        let most = most.max(params.mss).as_f64();
        (self.cwnd, self.old) = (self.cwnd.min(most), self.old.min(most));
    }

    /// Algorithm 1, `updateOld`.
    #[inline]
    pub(crate) const fn remember(&mut self) {
        self.old = self.cwnd;
    }

    /// The window, a packet at least, and its rate, cwnd / tau: on the wire, as the published codes pace.
    #[inline]
    pub(crate) fn decision(&self, params: &PowerParams) -> Decision {
        let rate = Rate::from_bps(((self.cwnd * 8.0 / params.base_rtt) as u64).max(1));
        let cwnd = Bytes::new(self.cwnd as u64).min(self.first).max(params.mss);
        Decision { pacing_rate: Some(rate), ..Decision::window(cwnd) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::{MSS, near, path, start, start_with};

    const BDP: f64 = 175_344.0;

    fn params() -> PowerParams {
        PowerParams::new(0.9, 0.006, &path())
    }

    fn window() -> PowerWindow {
        PowerWindow::new(&params(), &start())
    }

    #[test]
    fn the_average_forgets_a_base_round_trip_ago() {
        let mut window = window();
        window.smooth(3.0, 0.25);
        near(window.power, 1.5, 1e-12);
        window.smooth(7.0, 1.0);
        near(window.power, 7.0, 1e-12);
    }

    #[test]
    fn an_average_with_weights_above_one_stays_finite() {
        let mut window = window();
        for _ in 0..1000 {
            window.smooth(0.5, 1e5);
            window.update(&params(), window.power, window.old);
            assert!(window.power.is_finite() && window.cwnd.is_finite());
        }
    }

    #[test]
    fn twice_the_power_halves_the_window_but_for_its_tenth_and_beta() {
        let mut window = window();
        window.update(&params(), 2.0, window.cwnd);
        near(window.cwnd / BDP, 0.9 * (0.5 + 0.006) + 0.1, 1e-9);
        near(window.old, BDP, 0.0);
        window.update(&params(), 2.0, window.cwnd);
        near(window.cwnd / BDP, 0.9 * 0.506 + 0.1 * (0.9 * 0.506 + 0.1), 1e-9);
        window.remember();
        near(window.old, window.cwnd, 0.0);
    }

    #[test]
    fn the_window_stays_between_a_thousandth_and_the_larger_of_first_window_and_bdp() {
        for (start, most) in
            [(start_with(Bytes::new(40_960)), BDP), (start_with(Bytes::new(1 << 20)), 1_048_576.0)]
        {
            let mut window = PowerWindow::new(&params(), &start);
            for power in [0.01, 0.0] {
                window.update(&params(), power, window.cwnd);
                near(window.cwnd, most, 0.0);
            }
            for power in [1e9, -1e-9] {
                window.old = 0.0001;
                window.update(&PowerParams { beta: 0.0, gamma: 1.0, ..params() }, power, window.cwnd);
                near(window.cwnd, 0.001 * BDP, 1e-9);
            }
        }
    }

    #[test]
    fn below_a_packet_only_the_rate_goes_on_falling() {
        let gbps = |window: &PowerWindow| {
            window.decision(&params()).pacing_rate.map_or(0.0, |rate| rate.as_bps() as f64 * 1e-9)
        };
        let mut window = window();
        near(gbps(&window), 100.0, 0.001);
        window.cwnd = 0.01 * BDP;
        near(window.decision(&params()).cwnd.as_f64(), MSS, 0.0);
        near(gbps(&window), 1.0, 0.001);
    }
}
