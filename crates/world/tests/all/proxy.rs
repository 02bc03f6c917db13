//! Proxies and declared incasts, from text to results.

use farspan_metrics::ProxySums;
use farspan_scenario::model::WorkloadText;
use farspan_scenario::{Request, Resolved};
use farspan_sim::{Outcome, ProbeKind, SampleId, Series, Trace};
use farspan_trace::{Reason, What};
use farspan_transport::proxy::{LossDetection, ProxyKind};
use farspan_transport::wire::Header;
use farspan_units::{Bytes, Duration, FlowId, HostId, Time};
use farspan_world::{EngineKind, Results, World};
use std::collections::BTreeSet;

/// A small network, and 1 MB from each of three hosts of one site to a host of the other.
const SMALL: &str = "
[topology]
kind = 'dual_leaf_spine'
leaves = 2
hosts = 4
spines = 2
backbone = { routers = 4, links_per_spine = 4 }
buffer = '400KB'
wan = { rtt = '400us', buffer = '2MB' }
[scheme]
name = 'dctcp-per-ack+rps'
[[incast]]
receiver = 8
senders = [0, 1, 4]
bytes = '3MB'
[stop]
time = '1s'
";

fn resolved_of(text: &str, set: &[&str]) -> Result<Resolved, String> {
    let set = set.iter().map(|&text| text.to_owned()).collect();
    let request = Request { set, text: Some(text.to_owned()), ..Request::new("proxy") };
    request.resolve().map_err(|error| error.to_string())
}

fn built(text: &str, set: &[&str]) -> Result<World, String> {
    World::build(&resolved_of(text, set)?).map_err(|error| error.to_string())
}

fn world(set: &[&str]) -> World {
    built(SMALL, set).unwrap_or_else(|error| panic!("{set:?}: {error}"))
}

fn run(world: &World, engine: EngineKind) -> Outcome {
    let outcome = farspan_sim::run(&world.spec, engine, &mut |_| true);
    assert!(outcome.totals.conserved() && outcome.flows.iter().all(|flow| flow.finish.is_some()));
    outcome
}

fn results(set: &[&str]) -> Results {
    let resolved = resolved_of(SMALL, set).unwrap();
    let world = World::build(&resolved).unwrap();
    farspan_world::run(&resolved, &world, EngineKind::Windowed, &mut |_| true)
}

const NAIVE: &[&str] = &["scheme.proxy.kind=naive"];
const STREAMLINED: &[&str] = &["scheme.proxy.kind=streamlined", "scheme.ports.overflow=trim"];
const GAPS: &[&str] = &["scheme.proxy={kind=\"streamlined\", loss=\"gap-flow\"}"];
const ALL: [&[&str]; 3] = [NAIVE, STREAMLINED, GAPS];

#[test]
fn a_declared_incast_is_a_part_of_the_workload() {
    let resolved = resolved_of(SMALL, &["incast[0].tag=shuffle", "incast[0].start=2us"]).unwrap();
    let text = resolved.text();
    let [WorkloadText::Incast(part)] = &text.workload[..] else { panic!("one part") };
    assert_eq!((part.tag.as_deref(), part.flow_size), (Some("shuffle"), Some(Bytes::new(1_000_000))));
    assert_eq!(part.start, Some(Duration::from_us(2)));
    assert!(text.incast.is_empty());
    let uneven = resolved_of(SMALL, &["incast[0].bytes=10B"]).unwrap();
    assert!(uneven.to_toml().contains("flow_size = \"4B\""), "rounded up");
    let flows = &world(&[]).spec.flows;
    assert_eq!(flows.iter().map(|flow| flow.src.0).collect::<Vec<_>>(), [0, 1, 4]);
}

#[test]
fn a_proxy_is_spelled_out_and_reads_back() {
    for set in ALL {
        let first = resolved_of(SMALL, set).unwrap();
        let text = first.to_toml();
        for line in ["[scheme.proxy]", "host = \"last\"", "delay = \"0ns\"", "patience = 3"] {
            assert!(text.contains(line), "{line} is missing:\n{text}");
        }
        let again = resolved_of(&text, &[]).unwrap();
        assert_eq!(again.scenario(), first.scenario());
        assert_eq!(World::build(&again).unwrap().spec.proxies.len(), 1);
    }
    let points = "scheme.proxy={kind=\"naive\", host=6, delay=[[0.0, \"0us\"], [1.0, \"9us\"]], queue=\"1MB\", rto=\"3rtt\"}";
    let first = resolved_of(SMALL, &[points]).unwrap();
    assert_eq!(resolved_of(&first.to_toml(), &[]).unwrap().scenario(), first.scenario());
    assert_eq!(World::build(&first).unwrap().spec.proxies[0].host, HostId(6));
}

/// At 20 MB the receiver's port holds what its first round trip brings, at 100 MB it does not.
#[test]
fn a_planner_sends_an_incast_straight_or_through_a_host_that_is_idle() {
    let hosts = |rule: &str, flow_size: &str, seed| {
        let set = [
            "scheme.proxy.kind=naive".to_owned(),
            format!("scheme.proxy.host={rule}"),
            format!("workload.flow_size={flow_size}"),
        ];
        let request = Request { set: set.to_vec(), seed: Some(seed), ..Request::new("proxy/degree") };
        let proxies = World::build(&request.resolve().unwrap()).unwrap().spec.proxies;
        proxies.iter().map(|proxy| proxy.host.0).collect::<Vec<_>>()
    };
    for rule in ["planned", "probed"] {
        assert!(hosts(rule, "5MB", 1).is_empty(), "{rule}: 20 MB");
        let through = hosts(rule, "25MB", 1);
        assert!(
            through.len() == 1 && through[0] < 64 && ![0, 8, 16, 24].contains(&through[0]),
            "{rule}: {through:?}"
        );
        assert_eq!(hosts(rule, "25MB", 1), through, "{rule}");
    }
    assert_eq!(hosts("planned", "25MB", 1), hosts("planned", "25MB", 2));
    assert!((2..9).any(|seed| hosts("probed", "25MB", seed) != hosts("probed", "25MB", 1)), "by the seed");
}

#[test]
fn a_detector_takes_parameters_and_says_all_of_them() {
    let few = "scheme.proxy={kind=\"streamlined\", loss={name=\"gap-flow\", window=256, fixed=3}}";
    let first = resolved_of(SMALL, &[few]).unwrap();
    let text = first.to_toml();
    for line in ["name = \"gap-flow\"", "window = 256", "fixed = 3", "initial_wait = \"10us\""] {
        assert!(text.contains(line), "{line} is missing:\n{text}");
    }
    assert_eq!(resolved_of(&text, &[]).unwrap().scenario(), first.scenario());
    let proxy = &World::build(&first).unwrap().spec.proxies[0];
    let ProxyKind::Streamlined(Some(LossDetection::PerFlow(config))) = proxy.kind else {
        panic!("{proxy:?}")
    };
    assert_eq!((config.window, config.fixed), (Some(256), Some(3)));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_makes_no_sense_is_refused_with_place_and_cure() {
    let own = "workload=[{kind=\"incast\", receiver=8, senders=[0], flow_size=\"1MB\", balance=\"ecmp\"}]";
    let few = "scheme.inter.balance={name=\"spray\", entropy_bits=3}";
    let streamlined = "scheme.proxy.kind=streamlined";
    let cases: &[(&[&str], &str, &str)] = &[
        (&["scheme.proxy.kind=naive", "scheme.intra.coding=mds"], "scheme.proxy.kind", "scheme.intra.coding"),
        (&[streamlined, "scheme.proxy.queue=1MB"], "scheme.proxy.queue", "kind = \"naive\""),
        (&[streamlined, "scheme.proxy.onward=scheme"], "scheme.proxy.onward", "remove it"),
        (&[streamlined, "scheme.proxy.rto=path"], "scheme.proxy.rto", "remove it"),
        (&["scheme.proxy={kind=\"naive\", loss=\"trim\"}"], "scheme.proxy.loss", "kind = \"streamlined\""),
        (&[streamlined, "scheme.proxy.delay=1000s"], "scheme.proxy.delay", "from 0ns to 10s"),
        (&[streamlined, "scheme.proxy.delay=[[0.0, \"1us\"]]"], "scheme.proxy.delay", "write points such as"),
        (
            &[streamlined, "scheme.proxy.delay=[[0.0, \"2us\"], [1.0, \"1us\"]]"],
            "scheme.proxy.delay",
            "write points such as",
        ),
        (
            &[streamlined, "scheme.proxy.delay=[[0.0, \"0us\", 7], [1.0, \"9us\", 8]]"],
            "scheme.proxy.delay",
            "a list of 3 does not fit here; give a list of 2",
        ),
        (&[streamlined, "scheme.proxy.patience=0"], "scheme.proxy.patience", "1 to 1000"),
        (&[streamlined, "scheme.inter.coding=mds"], "scheme.proxy.kind", "coding = \"none\""),
        (
            &[streamlined, "scheme.proxy.loss=none", "scheme.ports.overflow=trim"],
            "scheme.proxy.loss",
            "loss = \"trim\"",
        ),
        (
            &["scheme.proxy.kind=naive", "scheme.intra.congestion=dcqcn"],
            "scheme.proxy.kind",
            "kind = \"streamlined\"",
        ),
        (&["scheme.proxy.kind=naive", "transport.ack=coalesced"], "scheme.proxy.kind", "per_packet"),
        (&[streamlined, "scheme.proxy.loss=gap-path"], "scheme.proxy.loss", "gap-flow"),
        (&[streamlined, "scheme.proxy.loss={window=64}"], "scheme.proxy.loss", "a table without a name"),
        (
            &[streamlined, "scheme.proxy.loss={name=\"gap-flow\", window=65}"],
            "scheme.proxy.loss.window",
            "power of two",
        ),
        (&[streamlined, "scheme.proxy.loss={name=\"trim\", window=64}"], "scheme.proxy.loss", "remove it"),
        (
            &[streamlined, "scheme.proxy.loss={name=\"gap-flow\", window=\"a\"}"],
            "scheme.proxy.loss.window: \"a\" does not fit here",
            "give a whole number that is not negative, such as 8",
        ),
        (
            &["scheme.proxy={kind=\"none\", loss=\"gap-flo\"}"],
            "scheme.proxy.loss",
            "did you mean \"gap-flow\"?",
        ),
        (
            &[streamlined, "scheme.proxy.loss={name=\"gap-flow\", windo=64}"],
            "scheme.proxy.loss.windo",
            "did you mean \"window\"",
        ),
        (&[streamlined, "scheme.proxy.loss=gap-path", few, own], "workload[0].balance", "gap-flow"),
        (&[streamlined, "scheme.proxy.host=16"], "scheme.proxy.host", "give an idle host"),
        (&[streamlined, "scheme.proxy.host=0"], "scheme.proxy.host", "give an idle host"),
        (&[streamlined, "scheme.proxy.host=9"], "scheme.proxy.host", "of another site"),
        (&[streamlined, "scheme.proxy.host=[6, 7]"], "scheme.proxy.host", "for each"),
        (
            &[streamlined, "incast[0].senders=[0, 1, 2, 3, 4, 5, 6, 7]"],
            "scheme.proxy.host",
            "let a host be idle",
        ),
        (&["fault=[{kind=\"proxy_down\"}]"], "fault[0].host", "there is no proxy"),
        (&[streamlined, "fault=[{kind=\"proxy_down\", host=3}]"], "fault[0].host", "host 3 is not a proxy"),
        (
            &[streamlined, "fault=[{kind=\"proxy_down\", link=\"host0->leaf0#0\"}]"],
            "fault[0].link",
            "proxy_down",
        ),
        (&["incast[0].senders=[]"], "incast[0].senders", "[0, 1, 2]"),
        (&["incast[0].bytes=0B"], "incast[0].bytes", "100MB"),
        (&["incast=[{senders=[0], bytes=\"1MB\"}]"], "incast[0].receiver", "a host"),
    ];
    let mut missed = Vec::new();
    for (set, place, cure) in cases {
        match built(SMALL, set).err() {
            Some(message) if message.contains(place) && message.contains(cure) => {}
            other => missed.push(format!("{set:?}: expected {place} and {cure:?}: {other:?}")),
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn engines_and_threads_agree_and_traces_change_nothing() {
    for set in ALL {
        let mut world = world(set);
        let plain = run(&world, EngineKind::Windowed);
        let digests = |outcome: &Outcome| (outcome.packet_digest, outcome.totals);
        for engine in [EngineKind::Oracle, EngineKind::Threads(2)] {
            assert_eq!(digests(&run(&world, engine)), digests(&plain), "{set:?} {engine:?}");
        }
        world.spec.trace = Trace { flows: vec![FlowId(0)], ports: Vec::new() };
        let traced = run(&world, EngineKind::Windowed);
        assert_eq!(digests(&traced), digests(&plain), "{set:?}");
        let gaps = traced
            .trace
            .flows
            .iter()
            .filter(|event| matches!(event.what, What::Lost { reason: Reason::Gap, .. }));
        assert!(gaps.count() == 0 || set == GAPS, "{set:?}");
        let marks = traced.trace.flows.iter().filter(|event| {
            matches!(&event.what, What::Sent { header: Header::Numbered(numbered), again, .. } if numbered.is_mark() && again.is_none())
        });
        assert_eq!(marks.count() > 0, set == GAPS, "{set:?}");
        let packets = u32::try_from(traced.flows[0].size.segments(Bytes::new(4096))).unwrap();
        for event in &traced.trace.flows {
            let is_of_a_packet = match &event.what {
                What::Acked { packets: acked } => acked.iter().all(|seq| *seq < packets),
                What::Sent { header: Header::Numbered(numbered), again: Some(_), .. } => !numbered.is_mark(),
                _ => true,
            };
            assert!(is_of_a_packet, "{event:?}");
        }
        let ended = traced.trace.flows.iter().filter(|event| matches!(event.what, What::Ended));
        assert_eq!(ended.count(), 2, "both ends");
    }
}

#[test]
fn flows_whose_proxy_fails_go_direct_and_are_traced_all_along() {
    for set in ALL {
        let fault = "fault=[{kind=\"proxy_down\", at=\"150us\"}]";
        let mut world = world(&[set, &[fault]].concat());
        world.spec.trace = Trace { flows: vec![FlowId(0)], ports: Vec::new() };
        let outcome = run(&world, EngineKind::Windowed);
        assert!(outcome.flows.iter().all(|flow| flow.went_direct.is_some()), "{set:?}");
        let again = |what: &What| matches!(what, What::Sent { again: Some(Reason::Timeout), .. });
        assert!(outcome.trace.flows.iter().any(|event| again(&event.what)), "{set:?}");
        assert!(outcome.flows.iter().all(|flow| flow.delivered.is_some()), "{set:?}");
    }
}

/// The last ACK and the last byte of a scenario's incast: direct, naive and streamlined, where ports drop and where they trim.
fn all_six(scenario: &str) -> Vec<[Duration; 2]> {
    let sprays =
        ["intra", "inter"].map(|class| format!("scheme.{class}.balance={{name=\"rps\", entropies=65536}}"));
    let mut took = Vec::new();
    for kind in ["none", "naive", "streamlined"] {
        for overflow in ["drop", "trim"] {
            let set = [format!("scheme.proxy.kind={kind}"), format!("scheme.ports.overflow={overflow}")];
            let set = [&sprays[..], &set].concat();
            let resolved = Request { set, ..Request::new(scenario) }.resolve().unwrap();
            let outcome = run(&World::build(&resolved).unwrap(), EngineKind::Windowed);
            let last = |of: fn(&farspan_sim::FlowOutcome) -> Option<Time>| {
                outcome.flows.iter().filter_map(of).max().unwrap().since(Time::ZERO)
            };
            took.push([last(|flow| flow.finish), last(|flow| flow.delivered)]);
        }
    }
    took
}

/// An incast that no buffer overflows for takes as long with a proxy as without.
#[test]
fn a_dead_proxy_is_left_after_what_the_path_takes_though_the_first_time_out_is_a_second() {
    // Behind a streamlined proxy silence is noticed when a packet times out.
    for (kind, most) in [("naive", Duration::from_ms(50)), ("streamlined", Duration::from_ms(1000))] {
        let set = [
            &format!("scheme.proxy.kind={kind}")[..],
            "fault=[{kind=\"proxy_down\", at=\"150us\"}]",
            "transport.rto=rfc6298",
            "scheme.inter.recovery=rack",
            "stop.time=60s",
        ];
        let flows = run(&world(&set), EngineKind::Windowed).flows;
        let left = flows.iter().map(|flow| flow.went_direct.map(|at| at.since(flow.start)));
        let latest = left.max().flatten().expect("the proxy is dead");
        assert!(latest <= most, "{kind}: {latest}");
    }
}

#[test]
fn a_small_incast_neither_gains_nor_loses_by_a_proxy() {
    let took = all_six("proxy/size");
    for which in [0, 1] {
        let times = || took.iter().map(|times| times[which]);
        let (least, most) = (times().min().unwrap(), times().max().unwrap());
        assert!(most <= least.mul_f64(1.05), "{which}: {took:?}");
    }
}

/// 100 MB in packets of 4,160 B at the receiver's line rate, and the way.
#[test]
fn no_incast_ends_before_its_bytes_can_have_come() {
    let bound = Duration::from_us(8125) + Duration::from_us(2005);
    let took = all_six("proxy/degree");
    assert!(took.iter().all(|[_, delivered]| *delivered >= bound), "{took:?}");
}

#[test]
fn a_proxy_of_no_kind_is_none() {
    let off = world(&["scheme.proxy.kind=none"]);
    assert!(off.spec.proxies.is_empty());
    assert_eq!(run(&off, EngineKind::Windowed).digest, run(&world(&[]), EngineKind::Windowed).digest);
}

/// The proxy's uplink at half of the rate at which its senders reach it.
#[test]
fn a_bounded_queue_keeps_its_bound() {
    let largest = |queue: &str| {
        let queue = format!("scheme.proxy={{kind=\"naive\", host=7, queue=\"{queue}\"}}");
        let half = "fault=[{kind=\"rate\", link=\"host7->leaf1#0\", rate=\"50Gbps\"}]";
        let outcome = run(&world(&[&queue, half]), EngineKind::Windowed);
        assert!(outcome.flows.iter().all(|flow| flow.went_direct.is_none()));
        outcome.proxies[0].1.max
    };
    let unbounded = largest("unbounded");
    for bound in [Bytes::new(100_000), Bytes::new(1)] {
        let most = bound.max(Bytes::new(3 * 2 * 4096));
        let queue = largest(&format!("{}B", bound.get()));
        assert!(queue <= most && unbounded > queue * 10, "{bound}: {queue} of {unbounded}");
    }
}

const SAMPLED: &str = "probes={rate_interval=\"1ms\", queue_interval=\"5us\"}";

#[test]
fn what_waits_at_a_proxy_is_sampled_alike_under_every_engine_and_changes_nothing() {
    for set in ALL {
        let (mut world, plain) = (world(&[set, &[SAMPLED]].concat()), run(&world(set), EngineKind::Windowed));
        let outcome = run(&world, EngineKind::Windowed);
        let digests = |outcome: &Outcome| (outcome.digest, outcome.packet_digest, outcome.totals);
        assert_eq!(digests(&outcome), digests(&plain), "{set:?}");
        for engine in [EngineKind::Oracle, EngineKind::Threads(2)] {
            assert_eq!(run(&world, engine).samples, outcome.samples, "{set:?} {engine:?}");
        }
        let (host, queue) = outcome.proxies[0];
        let of_proxy = |outcome: &Outcome| -> Vec<_> {
            let samples = outcome.samples.iter().filter(|sample| sample.probe == ProbeKind::ProxyQueue);
            samples.map(|sample| (sample.id, sample.value)).collect()
        };
        let values = of_proxy(&outcome);
        let largest = values.iter().map(|(_, value)| *value).fold(0.0, f64::max);
        assert!(values.iter().all(|(id, _)| *id == SampleId::Host(host)), "{set:?}");
        assert!(largest > 0.0 && largest <= queue.max.as_f64(), "{set:?}: {largest} of {}", queue.max);
        world.spec.probes.series = Series::NONE.with(ProbeKind::Queue);
        assert_eq!(of_proxy(&run(&world, EngineKind::Windowed)), []);
    }
}

/// Whose queue the table of samples names, and those that the document does.
fn named(results: &Results) -> (BTreeSet<String>, Vec<(String, String)>) {
    let samples = results.series.iter().filter(|sample| sample.probe.name() == "proxy_queue");
    let hosts = results.summary.proxy.iter().flat_map(|proxy| &proxy.hosts);
    (
        samples.map(|sample| sample.id.text().into_owned()).collect(),
        hosts.map(|host| (host.host.clone(), host.kind.clone())).collect(),
    )
}

#[test]
fn a_proxy_is_called_after_its_host_and_without_one_there_is_nothing() {
    for (set, kind) in [(NAIVE, "naive"), (STREAMLINED, "streamlined")] {
        let host = "host7".to_owned();
        let expected = (BTreeSet::from([host.clone()]), vec![(host, kind.to_owned())]);
        assert_eq!(named(&results(&[set, &[SAMPLED]].concat())), expected);
    }
    assert_eq!(named(&results(&[SAMPLED])), (BTreeSet::new(), Vec::new()));
}

#[test]
fn each_of_two_proxies_has_its_own_numbers() {
    let incasts =
        "incast=[{receiver=8, senders=[0, 1, 4], bytes='3MB'}, {receiver=9, senders=[2], bytes='1MB'}]";
    let fault = "fault=[{kind='proxy_down', host=5, at='50us'}]";
    let results = results(&["scheme.proxy={kind='naive', host=[7, 5]}", incasts, fault]);
    let proxy = results.summary.proxy.unwrap();
    let [small, large] = &proxy.hosts[..] else { panic!("two proxies: {proxy:?}") };
    assert_eq!((&*small.host, small.flows, small.sums.went_direct), ("host5", 1, 1));
    assert_eq!((&*large.host, large.flows, large.sums.went_direct), ("host7", 3, 0));
    let (sums, small, large) = (proxy.sums, small.sums, large.sums);
    assert!(large.bytes >= 3_000_000 && small.bytes < 1_000_000 && small.packets > 0, "{proxy:?}");
    assert!(large.wait_mean_us > 0.0 && sums.wait_mean_us <= large.wait_mean_us.max(small.wait_mean_us));
    let added = |of: fn(&ProxySums) -> u64| (of(&sums), of(&small) + of(&large));
    for (all, each) in
        [added(|of| of.packets), added(|of| of.bytes), added(|of| of.nacks), added(|of| of.went_direct)]
    {
        assert_eq!(all, each, "{proxy:?}");
    }
    assert_eq!(sums.queue_max_bytes, large.queue_max_bytes.max(small.queue_max_bytes));
}
