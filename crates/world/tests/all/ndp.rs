//! NDP's incast, against the time that the last link needs.

use farspan_scenario::Request;
use farspan_units::{Bytes, Duration, Rate, Time};
use farspan_world::{EngineKind, World};

/// The outcome of an incast.
struct Incast {
    /// When each flow was complete at its sender, in order.
    finished: Vec<Duration>,
    timeouts: u64,
    dropped: u64,
    /// Base round trip + the time of all packets, headers counted, on the last link.
    bound: Duration,
}

fn incast(senders: u64, flow_size: u64, set: &[&str]) -> Incast {
    let k = if senders > 112 { 16 } else { 8 };
    let first = if k == 8 { 128 - senders } else { 128 };
    let list: Vec<_> = (first..first + senders).map(|host| host.to_string()).collect();
    let senders_are = format!("workload.senders=[{}]", list.join(", "));
    let (size, tree) = (format!("workload.flow_size={flow_size}B"), format!("topology.k={k}"));
    let set =
        [&senders_are, &size, &tree].into_iter().cloned().chain(set.iter().map(|&text| text.to_owned()));
    let request = Request { set: set.collect(), ..Request::new("ndp/incast") };
    let world = World::build(&request.resolve().unwrap()).unwrap();
    let outcome = farspan_sim::run(&world.spec, EngineKind::Windowed, &mut |_| true);
    let mut finished: Vec<_> =
        outcome.flows.iter().map(|flow| flow.finish.unwrap().since(Time::ZERO)).collect();
    finished.sort_unstable();
    let packets = flow_size.div_ceil(world.spec.mss.get());
    let wire = Bytes::new((flow_size + packets * world.spec.header.get()) * senders);
    let bound = world.intra.unwrap().base_rtt + Rate::from_gbps(100).transmission(wire);
    let timeouts = outcome.flows.iter().map(|flow| flow.sender.timeouts).sum();
    Incast { finished, timeouts, dropped: outcome.totals.dropped.packets, bound }
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
fn headers_that_find_no_room_are_lost_and_each_costs_a_time_out() {
    let incast = incast(200, 450_000, &[]);
    println!("200: {} headers dropped, {} time-outs", incast.dropped, incast.timeouts);
    assert!(
        incast.dropped > 0 && incast.timeouts == incast.dropped,
        "{} {}",
        incast.dropped,
        incast.timeouts
    );
    assert!(incast.last() <= 1.06, "{}", incast.last());
}
