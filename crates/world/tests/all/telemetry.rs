//! Telemetry of whole runs: controls that read it share a link and find the bottleneck wherever it is, or the run is refused.

use farspan_fabric::TelemetryCounts;
use farspan_scenario::{Request, Resolved};
use farspan_sim::{ProbeKind, SampleId};
use farspan_units::{Duration, FlowId, PortId, Time};
use farspan_world::{EngineKind, World};

/// Two flows of HPCC that never end, with `max_stage` as in HPCC's published `config.txt`.
const TWO_FLOWS: &str = "
[topology]
kind = 'star'
hosts = 3
link_rate = '100Gbps'
link_delay = '1us'
buffer = '16MiB'
[host]
jitter = '0ns'
[transport]
payload = '1000B'
header = '48B'
ack_priority = false
[scheme]
name = 'hpcc'
intra.congestion = { name = 'hpcc', max_stage = 0 }
[[workload]]
kind = 'incast'
senders = [1, 2]
receiver = 0
flow_size = '200MB'
[probes]
rate_interval = '1ms'
flows = 'all'
[stop]
time = '6ms'
";

/// An incast from the first switch of a chain to its last, so that the last of nine ports is the slow one.
const CHAIN: &str = "
[topology]
kind = 'parking_lot'
bottlenecks = 8
hosts = 3
link_rate = '100Gbps'
bottleneck_rate = '400Gbps'
bottleneck_delay = '10us'
buffer = '64MiB'
[host]
jitter = '0ns'
[transport]
payload = '1000B'
header = '48B'
[scheme]
name = 'hpcc'
[[workload]]
kind = 'incast'
senders = [0, 1, 2]
receiver = 24
flow_size = '60MB'
[probes]
queue_interval = '10us'
[stop]
time = '6ms'
";

fn resolved(text: &str, set: &[&str]) -> Resolved {
    let set = set.iter().map(|&text| text.to_owned()).collect();
    let request = Request { set, text: Some(text.to_owned()), ..Request::new("telemetry") };
    request.resolve().unwrap_or_else(|error| panic!("{error}"))
}

/// The mean of samples from 3 ms on.
fn mean(world: &World, probe: ProbeKind, ids: &[SampleId]) -> Vec<f64> {
    let outcome = farspan_sim::run(&world.spec, EngineKind::Windowed, &mut |_| true);
    let from = Time::ZERO + Duration::from_ms(3);
    let of = |id: &SampleId| {
        let samples = outcome.samples.iter().filter(|sample| sample.at > from && sample.probe == probe);
        let values: Vec<_> = samples.filter(|sample| sample.id == *id).map(|sample| sample.value).collect();
        assert!(!values.is_empty(), "{probe:?} of {id:?} was sampled");
        values.iter().sum::<f64>() / values.len() as f64
    };
    ids.iter().map(of).collect()
}

fn built(text: &str, set: &[&str]) -> World {
    World::build(&resolved(text, set)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn two_flows_of_hpcc_that_only_multiply_share_the_link() {
    let world = built(TWO_FLOWS, &[]);
    let rates = mean(&world, ProbeKind::Rate, &[0, 1].map(|flow| SampleId::Flow(FlowId(flow))));
    let ratio = rates[0].max(rates[1]) / rates[0].min(rates[1]);
    assert!(ratio <= 2.0, "{rates:?}");
    assert!(rates.iter().sum::<f64>() >= 80e9, "{rates:?}");
}

#[test]
fn a_slow_port_is_found_wherever_it_is_on_the_path() {
    for scheme in ["hpcc", "powertcp"] {
        let world = built(CHAIN, &[&format!("scheme.name={scheme}")]);
        let network = &world.spec.network;
        let last = network.links.iter().position(|link| network.nodes[link.to.index()].name == "host24");
        let queue = mean(&world, ProbeKind::Queue, &[SampleId::Port(PortId(last.unwrap() as u32))]);
        assert!(queue[0] <= 100e3, "{scheme}: {} B", queue[0]);
    }
}

#[test]
fn a_path_that_packets_have_no_room_for_is_refused() {
    let chain = |ports: u32, scheme: &str, telemetry: &str| {
        let bottlenecks = format!("topology.bottlenecks={}", ports - 1);
        let name = format!("scheme.name={scheme}");
        let receiver = format!("workload.receiver={}", 3 * (ports - 1));
        let mut set = vec![&*bottlenecks, &*name, &*receiver];
        set.extend((!telemetry.is_empty()).then_some(telemetry));
        World::build(&resolved(CHAIN, &set)).map_err(|error| error.to_string())
    };
    for scheme in ["hpcc", "powertcp"] {
        assert!(chain(32, scheme, "").is_ok(), "{scheme}");
        let error = chain(33, scheme, "").unwrap_err();
        for word in
            ["scheme.intra.congestion", scheme, "room for 32 ports", "33 from host 0 to host 96", "poseidon"]
        {
            assert!(error.contains(word), "{error}");
        }
    }
    assert!(chain(33, "poseidon", "").is_ok(), "one value is enough");
    assert!(chain(33, "dctcp", "scheme.ports.telemetry=int").is_ok(), "it reads none");
    let blind = chain(33, "hpcc", "scheme.ports.telemetry=none").unwrap();
    assert!(blind.warnings.iter().any(|warning| warning.contains("needs telemetry")), "{:?}", blind.warnings);
}

#[test]
fn what_ports_count_is_a_setting_where_they_write_of_every_port() {
    let of = |set: &[&str]| {
        let resolved = resolved(TWO_FLOWS, set);
        let counts = World::build(&resolved).unwrap().spec.ports.0.map(|port| port.telemetry_counts);
        assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
        (counts[0], resolved.to_toml())
    };
    let (counts, text) = of(&[]);
    assert_eq!(counts, TelemetryCounts::Departures);
    assert!(text.contains("telemetry_counts = \"departures\""), "{text}");
    let (counts, text) = of(&["scheme.ports.telemetry_counts=arrivals"]);
    assert_eq!(counts, TelemetryCounts::Arrivals);
    assert!(text.contains("telemetry_counts = \"arrivals\""), "{text}");
    let (_, text) = of(&["scheme.name=poseidon", "scheme.intra.congestion={ name = 'poseidon' }"]);
    assert!(!text.contains("telemetry_counts"), "{text}");
}
