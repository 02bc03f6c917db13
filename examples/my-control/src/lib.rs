//! A congestion control in a crate of its own: one more packet in each round trip, a part less when a packet was marked.
//!
//! Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988, section 2, with marks (RFC 3168) in the place of losses. Left
//! out: slow start, and any reaction to a loss that RACK finds.

use farspan_transport::congestion::{Ack, Congestion, Decision, Factory, Start, Timeout};
use farspan_units::{Bytes, Time};

// ANCHOR: factory
/// The control's parameters. A run asks it for the control of each flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MyControl {
    /// The part of the window that a mark takes, above 0 and below 1.
    pub cut: f64,
}

impl Factory for MyControl {
    fn name(&self) -> &'static str {
        "my-control"
    }

    fn control(&self, start: &Start<'_>) -> Box<dyn Congestion + Send> {
        let mss = start.path.mss.as_f64();
        let cwnd = start.initial_cwnd.as_f64().max(mss);
        Box::new(Flow { cut: self.cut, mss, cwnd, cut_at: Time::ZERO })
    }
}
// ANCHOR_END: factory

// ANCHOR: control
/// The state of one flow.
#[derive(Debug)]
struct Flow {
    cut: f64,
    /// Payload of a full packet, in bytes.
    mss: f64,
    /// The window, in bytes.
    cwnd: f64,
    /// When it was last cut: packets that left before say nothing new.
    cut_at: Time,
}

impl Congestion for Flow {
    fn decision(&self) -> Decision {
        Decision { cwnd: Bytes::new(self.cwnd as u64), pacing_rate: None, next_timer: None }
    }

    fn wants_sent(&self) -> bool {
        false
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if !ack.ecn_ce {
            self.cwnd += self.mss * ack.bytes_acked.as_f64() / self.cwnd;
        } else if ack.sent_at >= self.cut_at {
            self.cwnd = (self.cwnd * (1.0 - self.cut)).max(self.mss);
            self.cut_at = ack.now;
        }
        self.decision()
    }

    fn on_timeout(&mut self, timeout: &Timeout) -> Decision {
        self.cwnd = self.mss;
        self.cut_at = timeout.now;
        self.decision()
    }
}
// ANCHOR_END: control

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_transport::{Class, Path};
    use farspan_units::{Duration, FlowId, Rate};

    const MSS: u64 = 4096;

    /// A flow that starts with ten packets, on a path of 100 Gb/s and 14 us.
    fn flow() -> Box<dyn Congestion + Send> {
        let (line_rate, base_rtt) = (Rate::from_gbps(100), Duration::from_us(14));
        let path = Path {
            class: Class::Intra,
            base_rtt,
            line_rate,
            bdp: line_rate.bytes_in(base_rtt),
            intra_base_rtt: base_rtt,
            hops: 6,
            max_queueing: Duration::from_us(400),
            mss: Bytes::new(MSS),
            header: Bytes::new(64),
        };
        let start = Start { path: &path, initial_cwnd: Bytes::new(10 * MSS), seed: 1, flow: FlowId(0) };
        MyControl { cut: 0.5 }.control(&start)
    }

    fn ack(now: u64, ecn_ce: bool) -> Ack {
        let now = Time::ZERO + Duration::from_us(now);
        let (rtt, bytes) = (Duration::from_us(14), Bytes::new(MSS));
        let (in_flight, delivered) = (Bytes::new(9 * MSS), bytes);
        Ack { now, bytes_acked: bytes, ecn_ce, rtt, sent_at: now - rtt, in_flight, delivered, at_send: None }
    }

    #[test]
    fn a_window_of_unmarked_acks_adds_one_packet() {
        let mut flow = flow();
        for _ in 0..10 {
            flow.on_ack(&ack(20, false));
        }
        let cwnd = flow.decision().cwnd.get();
        assert!((10 * MSS + MSS * 9 / 10..=11 * MSS).contains(&cwnd), "{cwnd}");
    }

    #[test]
    fn marks_of_one_round_trip_cut_once() {
        let mut flow = flow();
        assert_eq!(flow.on_ack(&ack(20, true)).cwnd, Bytes::new(5 * MSS));
        assert_eq!(flow.on_ack(&ack(33, true)).cwnd, Bytes::new(5 * MSS), "it left before the cut");
        assert_eq!(flow.on_ack(&ack(34, true)).cwnd, Bytes::new(5 * MSS / 2));
    }

    #[test]
    fn the_window_never_falls_below_one_packet() {
        let mut flow = flow();
        for round in 1..20 {
            flow.on_ack(&ack(round * 20, true));
        }
        assert_eq!(flow.decision().cwnd, Bytes::new(MSS));
    }
}
