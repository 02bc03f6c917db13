//! The Rust control, driven with the events of the kernel.

use crate::{Ack, Event, MSS, Setting};
use farspan_transport::congestion::{self, Congestion, Control, Idle, Loss, Start, Timeout};
use farspan_units::{Bytes, Duration, FlowId, Time};

/// A tick of the kernel; any length does, for both languages count in them.
const TICK: Duration = Duration::from_us(4000);

/// A round trip that is smaller than no other: that of an ACK which has none.
const NO_RTT: Duration = Duration::from_us(1 << 40);

/// A Rust control that takes the events of the kernel.
pub struct Simulated(Control, u64);

impl Simulated {
    /// The control at the start of a flow.
    #[must_use]
    pub fn new(setting: &Setting) -> Self {
        let path = setting.path();
        let initial_cwnd = Bytes::new(setting.start_pkts * MSS);
        let start =
            Start { path: &path, size: Bytes::MAX, initial_cwnd, active_flows: 0, seed: 1, flow: FlowId(0) };
        Self(setting.config().build(&start), setting.start_pkts)
    }

    /// The window in bytes.
    #[must_use]
    pub fn cwnd(&self) -> Bytes {
        self.0.decision().cwnd
    }

    /// Takes an event.
    pub fn on(&mut self, event: &Event) {
        match *event {
            Event::Ack(ack) => {
                self.0.on_ack(&in_bytes(&ack));
            }
            Event::Loss { now_us } => {
                let (now, bytes) = (at(now_us), Bytes::new(MSS));
                self.0.on_loss(&Loss { now, bytes, sent_at: now, in_flight: Bytes::ZERO });
            }
            Event::Timeout { now_us, in_flight_pkts } => {
                let (now, bytes) = (at(now_us), Bytes::new(in_flight_pkts * MSS));
                let rto = Duration::from_us(200_000);
                self.0.on_timeout(&Timeout { now, bytes, sent_at: now, in_flight: Bytes::ZERO, rto });
            }
            // The simulator's controls see by the send times of packets what is repaired.
            Event::Repaired { .. } => {}
            Event::Idle { idle_ticks, rto_ticks } => {
                let (idle, rto) = (TICK * idle_ticks, TICK * rto_ticks);
                let initial_cwnd = Bytes::new(self.1 * MSS);
                self.0.on_idle(&Idle { now: Time::ZERO, idle, rto, initial_cwnd });
            }
        }
    }
}

fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

/// An ACK as the Rust control takes it, in the same steps of microseconds and packets.
fn in_bytes(ack: &Ack) -> congestion::Ack<'static> {
    let (rtt, sent_at) = match ack.rtt_us {
        0 => (NO_RTT, Time::ZERO),
        rtt_us => (Duration::from_us(rtt_us), at(ack.now_us - rtt_us)),
    };
    congestion::Ack {
        now: at(ack.now_us),
        bytes_acked: Bytes::new(ack.acked_pkts * MSS),
        mapped: Bytes::ZERO,
        acked_packets: ack.acked_pkts as u32,
        ecn_ce: ack.marked,
        rtt,
        sent_at,
        in_flight: Bytes::new(ack.in_flight_pkts * MSS),
        delivered: Bytes::ZERO,
        acked_below: 0,
        sent_below: 0,
        has_losses: false,
        at_send: None,
        telemetry: None,
    }
}

/// The window after each event, in packets.
#[must_use]
pub fn simulated_windows(setting: &Setting, events: &[Event]) -> Vec<f64> {
    let mut control = Simulated::new(setting);
    events
        .iter()
        .map(|event| {
            control.on(event);
            control.cwnd().as_f64() / MSS as f64
        })
        .collect()
}
