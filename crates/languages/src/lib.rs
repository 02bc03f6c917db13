//! Compares the congestion controls of `bpf/tcp`, in C, with those of the transport, in Rust. Both get the same events and must
//! give the same windows.
//!
//! [`Program`] compiles the C file that the kernel loads as a plain program, with all its hooks. [`simulated_windows`] gives the
//! Rust control the same events, in microseconds and packets as in Linux. [`random_events`] draws the events of a flow.

mod events;
mod program;
mod random;
mod setting;
mod simulated;

pub use events::{Ack, Event};
pub use program::{Program, ReplayError, Replayed};
pub use random::random_events;
pub use setting::{MSS, Name, Setting};
pub use simulated::{Simulated, simulated_windows};

/// How far the windows of two languages are apart, in packets.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Distance {
    /// The largest difference beyond 0.1% of the window.
    pub beyond: f64,
    /// The largest difference.
    pub largest: f64,
    /// The largest difference of the whole packets that the kernel gets from the window of the simulator, rounded up as its sender
    /// does.
    pub whole: f64,
    /// The largest window.
    pub window: f64,
    /// The first event after which the windows are more than a packet and 0.1% apart.
    pub first: Option<usize>,
}

impl Distance {
    /// The distance of the windows after each event, in the kernel and in the simulator.
    #[must_use]
    pub fn between(kernel: &[Replayed], simulated: &[f64]) -> Self {
        let mut distance = Self::default();
        for (i, (kernel, &simulated)) in kernel.iter().zip(simulated).enumerate() {
            let apart = (kernel.cwnd - simulated).abs();
            let beyond = apart - 0.001 * simulated;
            distance.beyond = distance.beyond.max(beyond);
            distance.largest = distance.largest.max(apart);
            distance.whole = distance.whole.max((f64::from(kernel.snd_cwnd) - simulated).abs());
            distance.window = distance.window.max(simulated);
            let whole = (f64::from(kernel.snd_cwnd) - simulated).abs() - 0.001 * simulated;
            if distance.first.is_none() && beyond.max(whole) > 1.0 + 1e-6 {
                distance.first = Some(i);
            }
        }
        distance
    }

    /// Whether all windows are within 1 packet and 0.1% of each other.
    #[must_use]
    pub const fn is_small(&self) -> bool {
        self.first.is_none()
    }
}
