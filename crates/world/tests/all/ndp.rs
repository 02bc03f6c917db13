//! NDP's incast, against the time that the last link needs.

use crate::common;
use farspan_scenario::Request;
use farspan_units::{Bytes, Duration, Rate, Time};
use farspan_world::{EngineKind, World};

/// The outcome of an incast.
struct Incast {
    /// When each flow was complete at its sender, in order.
    finished: Vec<Duration>,
    timeouts: u64,
    dropped: u64,
    /// Headers that came back to their senders.
    returned: u64,
    /// Base round trip + the time of all packets, headers counted, on the last link.
    bound: Duration,
}

fn world(senders: u64, flow_size: u64, set: &[&str]) -> World {
    let k = if senders > 112 { 16 } else { 8 };
    let first = if k == 8 { 128 - senders } else { 128 };
    let list: Vec<_> = (first..first + senders).map(|host| host.to_string()).collect();
    let senders_are = format!("workload.senders=[{}]", list.join(", "));
    let (size, tree) = (format!("workload.flow_size={flow_size}B"), format!("topology.k={k}"));
    let set =
        [&senders_are, &size, &tree].into_iter().cloned().chain(set.iter().map(|&text| text.to_owned()));
    let request = Request { set: set.collect(), ..Request::new("ndp/incast") };
    World::build(&request.resolve().unwrap()).unwrap()
}

fn incast(senders: u64, flow_size: u64, set: &[&str]) -> Incast {
    let world = world(senders, flow_size, set);
    let outcome = farspan_sim::run(&world.spec, EngineKind::Windowed, &mut |_| true);
    let mut finished: Vec<_> =
        outcome.flows.iter().map(|flow| flow.finish.unwrap().since(Time::ZERO)).collect();
    finished.sort_unstable();
    let packets = flow_size.div_ceil(world.spec.mss.get());
    let wire = Bytes::new((flow_size + packets * world.spec.header.get()) * senders);
    let bound = world.intra.unwrap().base_rtt + Rate::from_gbps(100).transmission(wire);
    let timeouts = outcome.flows.iter().map(|flow| flow.sender.timeouts).sum();
    let returned = outcome.flows.iter().map(|flow| flow.returned_packets).sum();
    Incast { finished, timeouts, dropped: outcome.totals.dropped.packets, returned, bound }
}

impl Incast {
    /// The completion of the last flow, as a multiple of the bound.
    fn last(&self) -> f64 {
        self.finished.last().unwrap().as_secs_f64() / self.bound.as_secs_f64()
    }
}

#[test]
fn the_last_flow_ends_within_six_percent_of_the_line_rate_and_the_median_with_it() {
    for (senders, set) in [
        (8, &[][..]),
        (32, &[]),
        (100, &["scheme.ports.header_buffer=1MiB"]),
        (200, &["scheme.ports.header_buffer=1MiB"]),
    ] {
        let incast = incast(senders, 450_000, set);
        let median = incast.finished[incast.finished.len() / 2].as_secs_f64();
        let last = incast.finished.last().unwrap().as_secs_f64();
        println!(
            "{senders}: last {:.3} of the bound, median {:.3} of the last",
            incast.last(),
            median / last
        );
        assert_eq!((incast.timeouts, incast.dropped), (0, 0), "{senders}");
        assert!((1.0..=1.06).contains(&incast.last()), "{senders}: {}", incast.last());
        assert!(median >= 0.95 * last, "{senders}: {median} of {last}");
    }
}

#[test]
fn short_flows_end_within_twelve_percent_of_it() {
    for senders in [8, 32] {
        let incast = incast(senders, 16 * 4096, &[]);
        println!("{senders}: last {:.3} of the bound", incast.last());
        assert_eq!((incast.timeouts, incast.dropped), (0, 0), "{senders}");
        assert!((1.0..=1.12).contains(&incast.last()), "{senders}: {}", incast.last());
    }
}

#[test]
fn headers_that_find_no_room_go_back_and_leave_no_time_out() {
    for senders in [200, 400] {
        let incast = incast(senders, 450_000, &[]);
        let Incast { timeouts, dropped, returned, .. } = incast;
        println!(
            "{senders}: {returned} headers returned, {dropped} dropped, {timeouts} time-outs, last {:.3} of the bound",
            incast.last()
        );
        assert_eq!((timeouts, dropped), (0, 0), "{senders}");
        assert!(returned > 0, "{senders}");
        assert!(incast.last() <= 1.06, "{senders}: {}", incast.last());
    }
}

#[test]
fn every_engine_sends_the_same_headers_back() {
    // Room for ten headers; with less some are dropped on their way back, too.
    for (header_buffer, is_dropped) in [("640B", false), ("64B", true)] {
        let buffer = format!("scheme.ports.header_buffer={header_buffer}");
        let spec = world(32, 64 * 4096, &[&buffer, "transport.start=bdp"]).spec;
        let outcome = common::equal_under_all(&spec).unwrap_or_else(|what| panic!("{header_buffer}: {what}"));
        let returned: u64 = outcome.flows.iter().map(|flow| flow.returned_packets).sum();
        println!("{header_buffer}: {returned} returned, {} dropped", outcome.totals.headers_dropped);
        assert!(returned > 100 && (outcome.totals.headers_dropped > 0) == is_dropped, "{header_buffer}");
    }
}

#[test]
fn without_return_to_sender_they_are_lost_and_each_costs_a_time_out() {
    for senders in [200, 400] {
        let incast = incast(senders, 450_000, &["scheme.ports.return_to_sender=false"]);
        let Incast { timeouts, dropped, returned, .. } = incast;
        println!(
            "{senders}: {dropped} headers dropped, {timeouts} time-outs, last {:.3} of the bound",
            incast.last()
        );
        assert!(
            dropped > 0 && timeouts == dropped && returned == 0,
            "{senders}: {dropped} {timeouts} {returned}"
        );
    }
}
