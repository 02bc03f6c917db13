//! Controls on links that lose packets at random.

use farspan_scenario::Request;
use farspan_world::{EngineKind, World, run};

const LONG_AND_LOSSY: &str = "
[topology]
kind = 'dumbbell'
hosts = 1
two_sites = true
link_rate = '1Gbps'
bottleneck_rate = '100Mbps'
buffer = '2MB'
wan = { rtt = '100ms', buffer = '2MB' }
[host]
jitter = '0ns'
[scheme]
name = 'bbr'
[transport]
payload = '1400B'
header = '60B'
start = 'iw10'
[stop]
time = '200s'
[[workload]]
kind = 'pairs'
pairs = [[0, 1]]
flow_size = '200MB'
[[fault]]
kind = 'loss'
links = 'wan'
probability = 0.02
";

#[test]
fn bbr_fills_what_random_loss_leaves_of_a_link() {
    for loss in [0.001, 0.01, 0.02, 0.05] {
        let set = vec![format!("fault[0].probability={loss}")];
        let request = Request { set, text: Some(LONG_AND_LOSSY.to_owned()), ..Request::new("loss") };
        let resolved = request.resolve().unwrap();
        let world = World::build(&resolved).unwrap();
        let results = run(&resolved, &world, EngineKind::Windowed, &mut |_| true);
        let fct = results.summary.fct.all.unwrap().max_us.unwrap() * 1e-6;
        // Nine tenths of the payload's share of what arrives, after a start-up of ten round trips.
        let least = 200e6 * 8.0 / (0.9 * 100e6 * (1.0 - loss) * 1400.0 / 1460.0) + 1.0;
        assert!(fct <= least, "loss {loss}: {fct} s, not {least}");
    }
}

const RDMA: &str = "
[topology]
kind = 'star'
hosts = 2
link_rate = '100Gbps'
link_delay = '3us'
[host]
jitter = '0ns'
[transport]
payload = '1000B'
header = '48B'
rto = 'path'
[scheme]
name = 'dcqcn+ecmp'
[scheme.intra]
recovery = 'go_back_n'
[scheme.ports]
pool = { size = '16MiB', alpha = 0.125, reserve = '4KiB' }
[stop]
time = '4s'
[[workload]]
kind = 'pairs'
pairs = [[0, 1]]
flow_size = '100MB'
[[fault]]
kind = 'loss'
link = 'host0->tor0#0'
probability = 0.01
packets = 'data'
";

/// A loss costs what leaves in the round trip until its NACK has come, and without a window no more than that: what a time-out
/// gave up, thousands of packets, waits behind what a later NACK names.
#[test]
fn go_back_n_resends_a_round_trip_for_a_loss() {
    for (loss, most_timeouts) in [(0.0001, 0), (0.001, 1), (0.01, 20)] {
        let set = vec![format!("fault[0].probability={loss}")];
        let request = Request { set, text: Some(RDMA.to_owned()), ..Request::new("rdma") };
        let resolved = request.resolve().unwrap();
        let world = World::build(&resolved).unwrap();
        let results = run(&resolved, &world, EngineKind::Windowed, &mut |_| true);
        let summary = &results.summary;
        let timeouts = summary.recovery.timeouts;
        assert!(timeouts <= most_timeouts, "loss {loss}: {timeouts} time-outs");
        // Packets that leave in 12.3 us, for each of 100,000 that is lost; a time-out takes 1.4 ms.
        let (round_trip, after_timeout) = (12.3e-6 * 100e9 / 8.0 / 1048.0, 1.5e-3 * 100e9 / 8.0);
        let most = 100e6 * loss * round_trip * 1.5 + after_timeout * timeouts as f64;
        let resent = summary.bytes.retransmitted as f64;
        assert!(resent > 0.0 && resent <= most, "loss {loss}: {resent} B sent again, {most} at the most");
    }
}
