//! Dead links and held ACKs where ports trim.

use farspan_scenario::Request;
use farspan_world::{EngineKind, World};

/// Flows that did not end, and time-outs.
fn losses(scenario: &str, scheme: &str, set: &[&str]) -> (usize, u64) {
    let set = ["topology.k=8"].iter().chain(set).map(|&text| text.to_owned()).collect();
    let request = Request { scheme: Some(scheme.to_owned()), set, ..Request::new(scenario) };
    let world = World::build(&request.resolve().unwrap()).unwrap();
    let outcome = farspan_sim::run(&world.spec, EngineKind::Windowed, &mut |_| true);
    let unfinished = outcome.flows.iter().filter(|flow| flow.finish.is_none()).count();
    (unfinished, outcome.flows.iter().map(|flow| flow.sender.timeouts).sum())
}

#[test]
fn with_dead_links_recycling_has_under_half_of_the_time_outs_of_spraying() {
    let of = |scheme| losses("reps/failures", scheme, &["workload.flow_size=1MiB"]);
    let (unfinished, sprayed) = of("smartt+rps");
    assert_eq!(unfinished, 0);
    for scheme in ["smartt+reps-early", "smartt+reps"] {
        let (unfinished, timeouts) = of(scheme);
        assert!(unfinished == 0 && timeouts * 2 < sprayed, "{scheme}: {timeouts} of {sprayed}");
    }
    assert!(of("smartt+ecmp").0 > 0, "a flow on one path stays on a dead one");
}

#[test]
fn held_acks_cost_no_time_out_where_ports_trim_and_nothing_is_lost() {
    for (scenario, scheme) in [("ndp/incast", "nscc+reps"), ("reps/oversubscribed", "smartt+reps")] {
        let (unfinished, timeouts) = losses(scenario, scheme, &["transport.ack=coalesced"]);
        assert_eq!((unfinished, timeouts), (0, 0), "{scenario} under {scheme}");
    }
}
