//! The events of a flow, drawn by chance around the window of the Rust control.

use crate::{Ack, Event, MSS, Name, Setting, Simulated};
use farspan_units::{Purpose, Random};

/// The state of the network, which changes now and then.
struct Weather {
    /// The chance of a mark.
    marks: f64,
    /// The mean number of packets of an ACK.
    batch: u64,
    /// The queueing delay, in us.
    delay_us: u64,
    /// The chance of a loss, at an ACK.
    losses: f64,
}

impl Weather {
    /// Rare marks, mark storms, and none; queues below and above every threshold; ACKs of one packet and of a super-packet.
    fn draw(draws: &mut Random, setting: &Setting) -> Self {
        let marks = [0.0, 0.0, 0.001, 0.01, 0.1, 1.0][draws.below(6) as usize];
        let batch = [1, 2, 2, 8, 64][draws.below(5) as usize];
        let delays = [0, 0, setting.base_rtt_us / 20, 4_990, 5_010, 2 * setting.base_rtt_us];
        let losses = [0.0, 1e-4, 1e-3][draws.below(3) as usize];
        Self { marks, batch, delay_us: delays[draws.below(6) as usize], losses }
    }
}

/// Draws `number` events of a flow: ACKs of marked and unmarked packets, in batches, with RTTs that jump; losses, time-outs and idle times.
///
/// The times between ACKs follow the window of the Rust control, so that a window of packets takes about one round trip; whether
/// the window limits the flow follows from it and from what is in flight, as in the kernel.
#[must_use]
pub fn random_events(setting: &Setting, seed: u64, number: usize) -> Vec<Event> {
    let mut draws = Random::new(seed, Purpose::Test, 0);
    let mut control = Simulated::new(setting);
    let mut weather = Weather::draw(&mut draws, setting);
    // No round trip is longer.
    let mut now_us = 1_000_000;
    // When the last loss was found, until it is repaired.
    let mut lost_at_us = None;
    let mut timed_out = false;
    let mut events = Vec::with_capacity(number + 1);
    while events.len() < number {
        if draws.below(3000) == 0 {
            weather = Weather::draw(&mut draws, setting);
        }
        let cwnd_pkts = (control.cwnd().get() / MSS).max(1);
        let acked_pkts = (1 + draws.below(2 * weather.batch - 1)).min(2 * cwnd_pkts);
        let rtt_us = setting.base_rtt_us + weather.delay_us + draws.below(setting.base_rtt_us / 10 + 1);
        now_us += 1 + draws.below(2 * acked_pkts * rtt_us / cwnd_pkts + 1);
        let sent_at_us = now_us.saturating_sub(rtt_us);
        let event = if draws.uniform() < weather.losses && lost_at_us.is_none() {
            (lost_at_us, timed_out) = (Some(now_us), false);
            Event::Loss { now_us }
        } else if draws.below(100_000) == 0 {
            (lost_at_us, timed_out) = (Some(now_us), true);
            Event::Timeout { now_us, in_flight_pkts: cwnd_pkts }
        } else if draws.below(100_000) == 0 {
            Event::Idle { idle_ticks: draws.below(300), rto_ticks: 51 }
        } else if lost_at_us.is_some_and(|lost_at_us| sent_at_us >= lost_at_us) {
            lost_at_us = None;
            Event::Repaired { now_us }
        } else {
            // The simulator's UnoCC has no ACK without a round trip, and nothing to compare what the kernel's does then.
            let resent = setting.name == Name::Gemini && lost_at_us.is_some() && !timed_out;
            let rtt_us = if resent && draws.below(20) == 0 { 0 } else { rtt_us };
            Event::Ack(Ack {
                now_us,
                rtt_us,
                acked_pkts,
                marked: draws.uniform() < weather.marks,
                ..used(&mut draws, setting.name, control.cwnd().get(), acked_pkts)
            })
        };
        control.on(&event);
        events.push(event);
    }
    events
}

/// How much of the window is in flight at an ACK, all of it as a rule, and whether the window limits the flow: while half of it is
/// used. The simulator's UnoCC grows whatever is used.
fn used(draws: &mut Random, name: Name, cwnd: u64, acked_pkts: u64) -> Ack {
    let full = cwnd.div_ceil(MSS).saturating_sub(acked_pkts);
    let mut in_flight_pkts = if draws.below(10) == 0 { draws.below(full + 1) } else { full };
    // The window has a fraction of a byte more than it says: where that would decide, there is a packet more.
    if 2 * (in_flight_pkts + acked_pkts) * MSS == cwnd {
        in_flight_pkts += 1;
    }
    let limited = name == Name::Unocc || 2 * (in_flight_pkts + acked_pkts) * MSS > cwnd;
    Ack { now_us: 0, rtt_us: 0, acked_pkts, marked: false, in_flight_pkts, limited }
}
