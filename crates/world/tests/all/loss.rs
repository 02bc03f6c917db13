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
