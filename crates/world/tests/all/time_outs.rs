//! Time-outs of whole runs.

use farspan_scenario::Request;
use farspan_sim::EngineKind;
use farspan_world::World;

/// Two flows over one bottleneck that neither drops nor marks: the second begins when the first has 2 MB in the queue.
const STANDING_QUEUE: &str = "
[topology]
kind = 'dumbbell'
hosts = 2
link_rate = '10Gbps'
bottleneck_rate = '1Gbps'
link_delay = '100us'
buffer = '64MiB'
[host]
jitter = '0ns'
[scheme]
name = 'dctcp'
[scheme.ports]
marking = 'none'
[transport]
start = '2MB'
rto = 'rfc6298'
[[workload]]
kind = 'pairs'
pairs = [[0, 2], [1, 3]]
flow_size = '20MB'
gap = '20ms'
";

#[test]
fn a_flow_that_begins_in_a_standing_queue_waits_for_its_first_round_trip() {
    let of = |set: &[&str]| {
        let set = set.iter().map(|set| (*set).to_owned()).collect();
        let request =
            Request { set, text: Some(STANDING_QUEUE.to_owned()), ..Request::new("standing-queue") };
        let resolved = request.resolve().unwrap();
        let world = World::build(&resolved).unwrap();
        let summary = farspan_world::run(&resolved, &world, EngineKind::Windowed, &mut |_| true).summary;
        (summary.recovery.timeouts, summary.bytes.retransmitted)
    };
    assert_eq!(of(&[]), (0, 0), "RFC 6298 (2.1): a second");
    let (timeouts, resent) = of(&["transport.rto_initial=5ms"]);
    assert!(
        timeouts > 0 && resent > 0,
        "the queue holds up the first round trip by 16 ms: {timeouts}, {resent}"
    );
}
