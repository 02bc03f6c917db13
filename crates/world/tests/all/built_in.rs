//! Worlds of built-in scenarios, and the knobs they answer to.

use farspan_fabric::fault::{Affected, FaultKind, Loss, LossProcess, Numbering};
use farspan_fabric::{Overflow, Tier, Victim};
use farspan_scenario::value::Profile;
use farspan_scenario::{BUILT_IN, Request, STARTER};
use farspan_units::Time;
use farspan_world::{EngineKind, World};
use std::collections::{BTreeMap, BTreeSet};

fn request(scenario: &str, scheme: &str, profile: &str) -> Request {
    Request { scheme: Some(scheme.to_owned()), profile: Some(profile.to_owned()), ..Request::new(scenario) }
}

fn with(scenario: &str, set: &[&str]) -> Request {
    Request { set: set.iter().map(|s| (*s).to_owned()).collect(), ..Request::new(scenario) }
}

#[test]
fn every_scenario_builds_under_every_profile() {
    for scenario in BUILT_IN {
        for profile in Profile::NAMES {
            for scheme in ["uno", "uno-noec", "gemini", "dctcp", "fixed_window"] {
                let world =
                    World::build(&request(scenario.name, scheme, profile).resolve().unwrap()).unwrap();
                let hosts = match scenario.name {
                    "topology/leaf-spine" | "steady/websearch" => 32,
                    "topology/three-sites" => 20,
                    "topology/parking-lot" => 8,
                    name if name.starts_with("gemini/") && name.ends_with("-10g") => 8,
                    name if name.starts_with("gemini/") => 48,
                    "tcp/shares" => 4,
                    "oscar/incast" => 201,
                    "oscar/parking-lot" => 6,
                    "oscar/equilibrium" | "oscar/microburst" | "oscar/convergence" => 33,
                    "oscar/reference-state" | "oscar/rtt-ratio" => 3,
                    "oscar/two-short-flows" => 4,
                    "oscar/testbed" | "oscar/testbed-all-to-all" => 7,
                    "oscar/link-degradation" => 8,
                    "oscar/queue-nonempty" => 11,
                    "oscar/training" => 64,
                    "oscar/longtail" | "oscar/hadoop-incast" | "oscar/oversubscribed" => 320,
                    name if name.starts_with("bench/fat-tree") || name.starts_with("proxy/") => 128,
                    name if name.starts_with("reps/") || name.starts_with("ndp/") => 1024,
                    _ => 256,
                };
                assert_eq!(world.spec.network.hosts, hosts, "{}", scenario.name);
                // Papers overrun links and buffers, and run RoCE's controls where ports drop: scenarios say so as one's own do.
                let of_papers = [
                    "the workload offers more",
                    "transport.start: the first window",
                    "transport.prr = true does nothing",
                    "each message of collective",
                ];
                let mut warnings = world.warnings;
                warnings.retain(|text| {
                    // OSCAR's microscopic figures show how rates move within a round trip.
                    let is_meant =
                        text.starts_with("probes.rate_interval") && scenario.name.starts_with("oscar/");
                    let is_said = of_papers.iter().any(|words| text.starts_with(words))
                        || text.contains("was made for lossless fabrics");
                    // What has a natural name overloads nothing, and its windows fit.
                    let is_of_a_paper = !scenario.name.starts_with("steady/");
                    !(is_of_a_paper && (is_meant || is_said))
                });
                assert_eq!(warnings, [] as [&str; 0], "{}", scenario.name);
            }
        }
    }
}

#[test]
fn the_published_delay_between_borders_gives_the_artifact_its_base_rtt() {
    let world =
        World::build(&request("uno/incast-mixed", "uno-noec", "artifact").resolve().unwrap()).unwrap();
    let inter = world.inter.unwrap();
    assert_eq!((inter.hops, inter.base_rtt.as_ps()), (9, 1_792_041_280));
    let delay = world.spec.network.links.iter().map(|link| link.delay).max().unwrap();
    assert_eq!(delay.as_ns(), 886_500);
    let intra = world.intra.unwrap();
    assert_eq!((intra.hops, intra.base_rtt.as_ps()), (6, 14_027_520));
    assert_eq!(intra.bdp.get(), 175_344);
}

#[test]
fn published_runs_have_no_jitter() {
    for (profile, none) in [("artifact", true), ("paper", false)] {
        let spec = World::build(&request("uno/permutation", "uno", profile).resolve().unwrap()).unwrap().spec;
        assert_eq!(spec.jitter.is_zero() && spec.port_jitter.is_zero(), none, "{profile}");
    }
}

#[test]
fn uno_codes_between_the_sites_and_in_published_runs_of_figure_13_only() {
    let figure_13 = ["uno/border-failure", "uno/random-loss", "uno/allreduce"];
    for name in BUILT_IN.iter().map(|scenario| scenario.name).filter(|name| name.starts_with("uno/")) {
        for profile in Profile::NAMES {
            let shapes = |scheme| {
                let spec = World::build(&request(name, scheme, profile).resolve().unwrap()).unwrap().spec;
                [&spec.intra, &spec.inter].map(|class| class.coding.shape().map(|s| (s.data(), s.parity())))
            };
            let codes = *profile == "paper" || figure_13.contains(&name);
            assert_eq!(shapes("uno"), [None, codes.then_some((8, 2))], "{name} {profile}");
            assert_eq!(shapes("uno-noec"), [None, None], "{name} {profile}");
            assert_eq!(shapes("unocc+rps+mds(4,1)"), [None, Some((4, 1))], "{name} {profile}");
        }
    }
}

#[test]
fn the_papers_base_rtts_are_kept() {
    let rtt = |scenario| {
        let world = World::build(&Request::new(scenario).resolve().unwrap()).unwrap();
        world.inter.unwrap().base_rtt.as_ps()
    };
    assert_eq!(rtt("uno/websearch"), 2_000_000_000);
    assert_eq!(rtt("uno/incast-mixed"), 1_792_000_000);
}

#[test]
fn oscar_s_testbed_has_its_base_rtt() {
    let scenario = request("oscar/testbed", "swift", "paper");
    let intra = World::build(&scenario.resolve().unwrap()).unwrap().intra.unwrap();
    assert_eq!(intra.hops, 2);
    assert!(intra.base_rtt.as_ps().abs_diff(13_500_000) <= 1000, "{}", intra.base_rtt);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn every_knob_of_the_interface_works() {
    let common = [
        "topology.link_rate=150Gbps",
        "topology.buffer=2MiB",
        "probes.rate_interval=3ms",
        "probes.queue_interval=50us",
        "host.jitter=0ns",
        "stop.time=5s",
    ];
    let fat_tree = ["topology.k=4", "topology.oversubscription=2"];
    let two_sites = ["topology.wan.rtt=4ms", "topology.wan.links=4"];
    let one_site =
        |name: &str| ["bench/fat-tree", "reps/", "ndp/"].iter().any(|start| name.starts_with(start));
    let own: &[(&str, &[&str])] = &[
        ("bench/fat-tree", &["workload.flow_size=4MiB"]),
        ("bench/fat-tree-fifo", &["workload.flow_size=4MiB"]),
        ("bench/two-sites", &["workload.flow_size=4MiB", "workload.flows=10", "workload.load=0.1"]),
        ("bench/two-sites-fifo", &["workload.flow_size=4MiB", "workload.flows=10", "workload.load=0.1"]),
        (
            "uno/border-failure",
            &["workload.flow_size=4MiB", "fault[0].at=1ms", "fault[0].both_directions=true"],
        ),
        ("uno/random-loss", &["workload.flow_size=4MiB", "fault[0].per=flow", "fault[0].packets=all"]),
        ("uno/allreduce", &["workload.flow_size=4MiB", "workload.iterations=2", "workload.algorithm=ring"]),
        (
            "uno/buffers",
            &["workload.flows=100", "workload.load=0.2", "workload.mix=paper", "topology.wan.buffer=4MiB"],
        ),
        (
            "uno/phantom",
            &["workload.flow_size=4MiB", "workload.flows=100", "workload.load=0.02", "workload.large=1MB"],
        ),
        ("uno/rtt-ratio", &["workload.flows=100", "workload.load=0.2", "workload.mix=paper"]),
        (
            "topology/leaf-spine",
            &[
                "workload.flows=100",
                "workload.load=0.2",
                "topology.leaves=6",
                "topology.oversubscription=4",
                "topology.uplink_rate=200Gbps",
            ],
        ),
        ("ndp/incast", &["workload.flow_size=64KiB", "scheme.ports.header_buffer=1MiB"]),
        ("ndp/permutation", &["workload.flow_size=1MiB", "scheme.ports.trim_victim=arriving"]),
        ("ndp/oversubscribed", &["workload.flow_size=1MiB", "topology.oversubscription=4"]),
        ("reps/permutation", &["workload.flow_size=1MiB", "scheme.ports.overflow=drop"]),
        ("reps/oversubscribed", &["workload.flow_size=1MiB", "topology.oversubscription=4"]),
        ("reps/failures", &["workload.flow_size=1MiB", "fault[0].share=0.2", "transport.rto=200us"]),
        ("reps/degraded", &["workload.flow_size=1MiB", "fault[0].rate=10Gbps"]),
        ("reps/wait-to-decrease", &["workload.flow_size=1MiB"]),
        ("reps/mixed", &["workload.flow_size=1MiB", "workload[1].balance=rps"]),
        ("oscar/equilibrium", &["workload.flow_size=1MB", "topology.link_delay=1us"]),
        ("oscar/incast", &["workload.flow_size=60KB", "topology.link_delay=1us"]),
        ("oscar/microburst", &["workload[1].flow_size=100KB", "workload[1].start=100us"]),
        ("oscar/convergence", &["workload[1].flow_size=100KB", "topology.link_delay=1us"]),
        ("oscar/link-degradation", &["workload.flow_size=1MB", "topology.leaves=3", "fault[0].rate=10Gbps"]),
        ("oscar/queue-nonempty", &["workload.load=0.2", "workload.duration=5ms"]),
        ("oscar/reference-state", &["workload.flow_size=1MB", "workload.gap=0us"]),
        ("oscar/rtt-ratio", &["workload.flow_size=1MB", "topology.host_delays=['1us', '9us', '1us']"]),
        ("oscar/testbed", &["workload[1].flow_size=100KB", "workload[1].start=100us"]),
        ("oscar/testbed-all-to-all", &["workload.flow_size=100KB", "topology.link_rate=10Gbps"]),
        ("oscar/two-short-flows", &["workload[1].flow_size=100KB", "workload[1].start=50us"]),
        ("oscar/parking-lot", &["workload.flow_size=1MB", "topology.bottleneck_rate=40Gbps"]),
        ("oscar/longtail", &["workload.load=0.2", "topology.pods=2", "topology.hosts_per_tor=2"]),
        ("oscar/hadoop-incast", &["workload.degree=8", "topology.pods=2", "workload[1].spread=0us"]),
        ("oscar/oversubscribed", &["workload.load=0.2", "topology.fabric_rate=100Gbps"]),
        (
            "oscar/training",
            &["workload.flow_size=9440KB", "workload.compute_time=365us", "workload.algorithm=ring"],
        ),
        ("gemini/inter-dc", &["workload.duration=1s", "workload.load=0.5", "topology.wan.rtt=20ms"]),
        ("gemini/inter-dc-10g", &["workload.duration=1s", "scheme.ports.pool.alpha=1"]),
        ("gemini/mixed", &["workload.duration=1s", "scheme.ports.switches=all"]),
        ("gemini/mixed-10g", &["workload.duration=1s", "topology.core_border_buffer=1MB"]),
        ("gemini/vegas-thresholds", &["workload.duration=1s", "scheme.inter.congestion.scale=20"]),
        ("gemini/dcn-bottleneck", &["workload.flows=8", "scheme.ports.step=30KB"]),
        (
            "gemini/wan-bottleneck",
            &[
                "workload.flows=2",
                "scheme.inter.congestion.delay_threshold=8ms",
                "scheme.inter.congestion.beta=0.1",
            ],
        ),
        ("gemini/long-wan", &["workload.flows=2", "topology.wan.rtt=50ms"]),
        ("gemini/three-groups", &["workload.flows=2", "workload[2].start=20s"]),
        ("gemini/rtt-fairness", &["topology.wan.rtt=12.8ms", "scheme.ports.step=75KB"]),
        ("tcp/shares", &["topology.bottleneck_rate=2Gbps", "topology.wan.rtt=160ms"]),
        ("proxy/degree", &["workload.flow_size=1MB", "scheme.proxy.kind=naive"]),
        ("proxy/size", &["workload.flow_size=1MB", "scheme.proxy.kind=streamlined"]),
        ("proxy/latency", &["workload.flow_size=1MB", "topology.wan.rtt=50us", "scheme.ports.overflow=trim"]),
        ("topology/three-sites", &["workload.flows=100", "workload.load=0.2", "topology.link_delay=3us"]),
        (
            "topology/parking-lot",
            &["workload.flow_size=4MiB", "topology.bottleneck_rate=40Gbps", "topology.bottleneck_delay=9us"],
        ),
        ("uno/incast-mixed", &["workload.flow_size=4MiB"]),
        ("uno/incast-inter", &["workload.flow_size=4MiB"]),
        ("uno/incast-intra", &["workload.flow_size=4MiB"]),
        ("uno/permutation", &["workload.flow_size=4MiB"]),
        ("uno/websearch", &["workload.flows=100", "workload.load=0.2", "workload.mix=paper"]),
        (
            "steady/websearch",
            &[
                "workload.flows=100",
                "workload.load=0.2",
                "workload.mix=paper",
                "topology.k=8",
                "topology.wan.rtt=4ms",
                "topology.wan.links=4",
            ],
        ),
        (
            "uno/steady",
            &["workload.flows=100", "workload.load=0.2", "workload.mix=paper", "workload[1].load=0.8"],
        ),
    ];
    assert_eq!(own.len(), BUILT_IN.len());
    for (scenario, own) in own {
        let untouched = Request::new(scenario).resolve().unwrap();
        let fat = !["topology/", "oscar/", "proxy/", "gemini/", "tcp/", "steady/"]
            .iter()
            .any(|start| scenario.starts_with(start));
        let fat_tree = fat_tree.iter().filter(|_| fat);
        let two_sites = two_sites.iter().filter(|_| fat && !one_site(scenario));
        for knob in common.iter().chain(fat_tree).chain(two_sites).chain(*own) {
            // A smaller tree has no host 240.
            let mut set = vec![*knob];
            if *knob == "topology.k=4" {
                set.extend(match *scenario {
                    "uno/allreduce" => &["workload.groups=[[0, 16], [1, 17]]"][..],
                    "uno/phantom" => {
                        &["workload.receiver=31", "workload.senders=[0, 1]", "workload.receivers=[30, 31]"]
                    }
                    "reps/oversubscribed" | "ndp/oversubscribed" => &["topology.oversubscription=2"],
                    "ndp/incast" => &["workload.senders=[8, 9]"],
                    _ if scenario.contains("incast") => &["workload.receiver=31", "workload.senders=[0, 1]"],
                    _ => &[],
                });
            }
            if *knob == "topology.k=4"
                && scenario.starts_with("uno/")
                && own.iter().any(|knob| knob.starts_with("fault"))
            {
                set.push("workload.pairs=[[0, 31], [1, 16]]");
            }
            let resolved = with(scenario, &set).resolve().unwrap();
            assert!(resolved.scenario() != untouched.scenario(), "{scenario}: {knob} changed nothing");
            World::build(&resolved).unwrap();
        }
    }
}

#[test]
fn the_failed_border_link_is_one_of_eight_one_way_and_for_ever() {
    let world = World::build(&Request::new("uno/border-failure").resolve().unwrap()).unwrap();
    let [fault] = &world.spec.faults[..] else { panic!("one fault") };
    assert_eq!(world.spec.network.port_named("border0->border1#0").as_slice(), fault.links);
    assert_eq!((fault.at, fault.until, fault.withdraw_after), (Time::ZERO, Time::MAX, None));
    assert_eq!(fault.kind, FaultKind::BlackHole);
    // Every flow goes from the first site to the second.
    assert!(world.spec.flows.iter().all(|flow| flow.src.0 < 128 && flow.dst.0 >= 128));
    let size = |profile| {
        let request = request("uno/border-failure", "gemini", profile);
        World::build(&request.resolve().unwrap()).unwrap().spec.flows[0].size.get()
    };
    assert_eq!((size("paper"), size("artifact")), (5 << 20, 5_000_000));
}

#[test]
fn random_losses_follow_table_1_once_in_each_direction() {
    let world = |set: &[&str]| World::build(&with("uno/random-loss", set).resolve().unwrap()).unwrap();
    let faults = world(&[]).spec.faults;
    let [fault] = &faults[..] else { panic!("one fault") };
    assert_eq!(fault.links.len(), 16, "eight links, both ways");
    let process = |per| LossProcess::Blocks { block: 10, losses: vec![3.0e-4, 7.5e-5, 1.6e-5], per };
    let loss = |per, packets| FaultKind::Loss(Loss { process: process(per), packets });
    assert_eq!(fault.kind, loss(Numbering::Queue, Affected::Data));
    let other = world(&["fault[0].per=flow", "fault[0].packets=all"]).spec.faults;
    assert_eq!(other[0].kind, loss(Numbering::Flow, Affected::All));
}

#[test]
fn off_is_a_value_of_a_probe() {
    let resolved =
        with("uno/incast-mixed", &["probes.rate_interval=off", "probes.queue_interval=off"]).resolve();
    let probes = World::build(&resolved.unwrap()).unwrap().spec.probes;
    assert_eq!((probes.rate_interval, probes.queue_interval), (None, None));
}

/// Whose samples of which probe a run gives.
fn sampled(set: &[&str]) -> BTreeMap<&'static str, BTreeSet<String>> {
    let common = ["workload.flow_size=1MiB", "probes.rate_interval=2ms", "probes.queue_interval=100us"];
    let request = with("uno/incast-mixed", &[&common, set].concat());
    let resolved = request.resolve().unwrap();
    let world = World::build(&resolved).unwrap();
    let results = farspan_world::run(&resolved, &world, EngineKind::Windowed, &mut |_| true);
    let mut sampled: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for sample in &results.series {
        sampled.entry(sample.probe.name()).or_default().insert(sample.id.text().into_owned());
    }
    sampled
}

#[test]
fn every_series_is_sampled_of_flows_and_ports_chosen_by_pattern() {
    let all = sampled(&["scheme.ports.marking=red+phantom"]);
    let names: Vec<_> = all.keys().copied().collect();
    assert_eq!(names, ["cwnd", "phantom_queue", "queue", "rate", "rtt", "utilization"]);
    assert_eq!(all["rate"].len(), 8);

    let some = sampled(&[
        "probes.ports=border0->border1#*",
        "probes.links=['host0->*', 'border1->border0#0']",
        "probes.flows=['flow=4,6..7', 'class=inter']",
        "probes.series=['r*', 'queue']",
    ]);
    let names: Vec<_> = some.keys().copied().collect();
    assert_eq!(names, ["queue", "rate", "rtt", "utilization"]);
    assert_eq!(Vec::from_iter(&some["rate"]), ["0", "1", "2", "3", "4", "6", "7"]);
    assert!(
        some["queue"].len() == 8 && some["queue"].iter().all(|port| port.starts_with("border0->border1#"))
    );
    assert_eq!(Vec::from_iter(&some["utilization"]), ["border1->border0#0", "host0->tor0#0"]);
}

#[test]
fn a_flow_list_takes_another_file() {
    let folder = std::env::temp_dir().join(format!("farspan-list-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("list.csv", "src,dst,size_bytes,start_ns,tag\n0,1,100,0,rpc\n0,20,200,1000,\n");
    write("other.csv", "src,dst,size_bytes,start_ns\n2,3,300,5\n");
    write(
        "flows.toml",
        "[topology]\nk = 4\n[[workload]]\nkind = 'flows'\nfile = 'list.csv'\nstart = '1us'\n",
    );
    let scenario = folder.join("flows.toml").display().to_string();
    let world = World::build(&Request::new(&scenario).resolve().unwrap()).unwrap();
    assert_eq!(world.workload.tags, ["rpc", "flows"]);
    assert_eq!(world.spec.flows[1].start.as_ns(), 2000);
    let other = format!("workload.file={}", folder.join("other.csv").display());
    let world = World::build(&with(&scenario, &[&other]).resolve().unwrap()).unwrap();
    assert_eq!(world.spec.flows[0].size.get(), 300);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The links of the one fault of `uno/border-failure` with these settings, by name.
fn failed_links(scheme: &str, seed: u64, set: &[&str]) -> Vec<String> {
    let mut request = with("uno/border-failure", set);
    (request.scheme, request.seed) = (Some(scheme.to_owned()), Some(seed));
    let world = World::build(&request.resolve().unwrap()).unwrap();
    world.spec.faults[0].links.iter().map(|port| world.spec.network.port_name(*port)).collect()
}

#[test]
fn a_share_of_the_links_of_a_tier_fails_by_seed_and_never_by_scheme() {
    let share =
        ["fault=[{ kind = 'black_hole', links = 'fabric:agg-core', share = 0.05, both_directions = true }]"];
    let drawn = failed_links("uno", 1, &share);
    // Two fat trees of radix 8 have 256 links between aggregation and core.
    assert_eq!(drawn.len(), 2 * 13);
    let up: Vec<_> = drawn.iter().filter(|name| name.starts_with("agg")).collect();
    assert_eq!(up.len(), 13);
    for name in up {
        let (from, rest) = name.split_once("->").unwrap();
        let (to, number) = rest.split_once('#').unwrap();
        assert!(drawn.contains(&format!("{to}->{from}#{number}")), "{name} fails both ways");
    }
    assert_eq!(drawn, failed_links("gemini", 1, &share));
    assert_ne!(drawn, failed_links("uno", 2, &share));
    let all = ["fault=[{ kind = 'black_hole', links = 'wan' }]"];
    assert_eq!(failed_links("uno", 1, &all).len(), 16, "eight links each way");
    let half = ["fault=[{ kind = 'black_hole', links = 'wan', share = 0.5, both_directions = true }]"];
    assert_eq!(failed_links("uno", 1, &half).len(), 8, "four of eight, both ways");
}

#[test]
fn a_permutation_can_stay_inside_each_site() {
    let world = World::build(&Request::new("bench/two-sites").resolve().unwrap()).unwrap();
    let (inside, between): (Vec<&farspan_workload::Flow>, Vec<_>) =
        world.workload.flows.iter().partition(|flow| world.class(flow) == farspan_transport::Class::Intra);
    assert_eq!((inside.len(), between.len()), (256, 100));
    let error = with("bench/two-sites", &["workload[0].class=inter"]).resolve().unwrap_err().to_string();
    assert!(error.contains("a permutation between the sites") && error.contains("\"intra\""), "{error}");
}

#[test]
fn a_workload_never_depends_on_the_scheme() {
    let flows = |scheme, profile: &str| {
        let resolved = request("uno/websearch", scheme, profile).resolve().unwrap();
        World::build(&resolved).unwrap().workload
    };
    assert_eq!(flows("uno-noec", "paper"), flows("gemini", "paper"));
    let seed = |seed| {
        let resolved = Request { seed: Some(seed), ..Request::new("uno/websearch") }.resolve().unwrap();
        World::build(&resolved).unwrap().workload
    };
    assert_ne!(seed(1), seed(2));
}

#[test]
fn the_steady_scenario_overloads_nothing_at_any_load_and_has_a_p99_of_each_class() {
    let world = |set: &[&str]| World::build(&with("steady/websearch", set).resolve().unwrap()).unwrap();
    let untouched = world(&[]);
    let is_inter = |flow: &&farspan_workload::Flow| (flow.src.0 < 16) != (flow.dst.0 < 16);
    let measured: Vec<_> = untouched.workload.flows.iter().filter(|flow| flow.measured).collect();
    let inter = measured.iter().filter(|flow| is_inter(flow)).count();
    assert!(inter >= 1000 && measured.len() - inter >= 1000, "{inter} of {}", measured.len());
    // The links between the sites are the tightest, then the hosts' where the sites are wide apart and many links join them.
    for (set, load) in [(&[][..], 0.4), (&["topology.wan.links=16"], 0.4), (&["workload.load=0.7"], 0.7)] {
        let offered = world(&[set, &["scheme.name=gemini"]].concat()).offered_load;
        let tiers = [offered.host, offered.fabric].into_iter().chain(offered.wan.iter().map(|way| way.load));
        let most = tiers.flatten().fold(0.0, f64::max);
        assert!((most / load - 1.0).abs() < 0.15 && !offered.transient(), "{set:?}: {most}");
    }
}

#[test]
fn a_warm_up_lets_arrivals_go_on() {
    let world = World::build(&Request::new("uno/steady").resolve().unwrap()).unwrap();
    let flows = &world.workload.flows;
    let measured = |tag| {
        flows.iter().filter(|flow| flow.measured && world.workload.tags[flow.tag as usize] == tag).count()
    };
    assert_eq!((measured("intra"), measured("inter")), (20_000, 2000));
    assert!(flows.iter().all(|flow| !flow.measured || flow.start.as_ns() >= 20_000_000));
    let last = flows.iter().map(|flow| flow.start.as_ns()).max().unwrap();
    assert!(last > 119_000_000 && last < 120_000_000, "the last flow starts at {last} ns");
    assert!(world.spec.stop.when_measured_end.is_some());
    assert!(!world.offered_load.transient(), "{:?}", world.offered_load);
}

#[test]
fn the_burst_overloads_the_links_between_the_sites() {
    let world = World::build(&request("uno/websearch", "uno-noec", "paper").resolve().unwrap()).unwrap();
    assert_eq!(world.spec.flows.len(), 5000);
    let wan = world.offered_load.wan[0].load.unwrap();
    assert!((4.5..7.0).contains(&wan), "{wan}");
    assert!(world.offered_load.transient());
}

#[test]
fn the_starter_runs_as_it_stands() {
    let file = std::env::temp_dir().join(format!("farspan-starter-{}.toml", std::process::id()));
    std::fs::write(&file, STARTER).unwrap();
    let resolved = Request::new(&file.display().to_string()).resolve().unwrap();
    assert_eq!(World::build(&resolved).unwrap().spec.flows.len(), 8);
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn ports_drop_unless_a_scenario_lets_them_trim() {
    let ports = |set: &[&str]| {
        let resolved = with("uno/incast-mixed", set).resolve().unwrap();
        (World::build(&resolved).unwrap().spec.ports, resolved.to_toml())
    };
    let (plain, text) = ports(&[]);
    assert!(plain.0.iter().all(|port| port.overflow == Overflow::Drop));
    assert!(text.contains("overflow = \"drop\"") && !text.contains("trim_victim"), "{text}");
    let (coin, text) =
        ports(&["scheme.ports.overflow=trim", "transport.header=48B", "topology.buffer=100KB"]);
    assert!(text.contains("overflow = \"trim\"") && text.contains("trim_victim = \"coin\""), "{text}");
    let trim = |overflow: Overflow| match overflow {
        Overflow::Trim(trim) => (trim.victim, trim.header.get(), trim.headers.get()),
        _ => panic!("a port that drops"),
    };
    for tier in Tier::ALL.into_iter().filter(|tier| *tier != Tier::HostUp) {
        assert_eq!(trim(coin.of(tier).overflow), (Victim::Coin, 48, 200_000), "{tier:?}");
    }
    let (arriving, _) = ports(&["scheme.ports.overflow=trim", "scheme.ports.trim_victim=arriving"]);
    assert_eq!(trim(arriving.of(Tier::Wan).overflow).0, Victim::Arriving);
    let (wide, text) = ports(&["scheme.ports.overflow=trim", "scheme.ports.header_buffer=1MiB"]);
    assert_eq!(trim(wide.of(Tier::Fabric).overflow).2, 1 << 20);
    assert!(text.contains("header_buffer = \"1MiB\""), "{text}");
}

#[test]
fn headers_go_back_to_their_sender_under_ndp_and_wherever_it_is_asked_for() {
    let returns = |scheme: &str, set: &[&str], is_idle| {
        let request = Request { scheme: Some(scheme.to_owned()), is_idle, ..with("uno/incast-mixed", set) };
        let resolved = request.resolve().unwrap();
        let world = if is_idle { World::idle(&resolved) } else { World::build(&resolved) };
        let Overflow::Trim(trim) = world.unwrap().spec.ports.of(Tier::Fabric).overflow else {
            panic!("a port that drops")
        };
        assert!(resolved.to_toml().contains(&format!("return_to_sender = {}", trim.returns)));
        trim.returns
    };
    let (trims, asked) = ("scheme.ports.overflow=trim", "scheme.ports.return_to_sender=true");
    for profile in ["scheme.profile=paper", "scheme.profile=artifact"] {
        assert!(returns("ndp", &[profile], false) && returns("ndp/dctcp", &[profile, trims], false));
        assert!(!returns("smartt", &[profile], false) && returns("smartt", &[profile, asked], false));
    }
    assert!(!returns("ndp", &["scheme.ports.return_to_sender=false"], false));
    assert!(!returns("uno", &[trims], false) && returns("uno", &[trims, asked], false));
    assert!(!returns("ndp", &["scheme.proxy.kind=streamlined"], false), "behind a proxy none does unasked");
    assert!(!returns("ndp", &[], true), "nor in an emulation");
}

#[test]
fn ports_that_trim_serve_headers_as_the_scheme_was_published() {
    let service = |scheme: &str, set: &[&str]| {
        let request = Request { scheme: Some(scheme.to_owned()), ..with("uno/incast-mixed", set) };
        let resolved = request.resolve().unwrap();
        let Overflow::Trim(trim) = World::build(&resolved).unwrap().spec.ports.of(Tier::Wan).overflow else {
            panic!("a port that drops")
        };
        let weight = trim.weight.map_or("strict".to_owned(), |weight| format!("{weight}:1"));
        assert!(resolved.to_toml().contains(&format!("trim_service = {weight:?}")), "{}", resolved.to_toml());
        weight
    };
    let trims = "scheme.ports.overflow=trim";
    assert_eq!(service("ndp", &[]), "10:1");
    for scheme in ["smartt", "nscc", "smartt+reps", "dctcp-per-ack", "uno"] {
        assert_eq!(service(scheme, &[trims]), "strict", "{scheme}");
    }
    assert_eq!(service("uno", &[trims, "scheme.profile=artifact"]), "20:1");
    assert_eq!(service("uno", &[trims, "scheme.ports.trim_service=7:1"]), "7:1");
    assert_eq!(service("ndp", &["scheme.ports.trim_service=strict"]), "strict");
    for mixed in ["dctcp/ndp", "ndp/dctcp"] {
        assert_eq!(service(mixed, &[]), "10:1", "{mixed}");
    }
    let red = |scheme: &str| {
        let request = Request { scheme: Some(scheme.to_owned()), ..with("uno/incast-mixed", &[]) };
        let text = request.resolve().unwrap().to_toml();
        let start = text.find("[scheme.ports.red]").expect("the ports mark by RED");
        text[start..].lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(red("mprdma/dcqcn"), red("dcqcn"), "the control's, not what all share");
}

#[test]
fn ports_to_hosts_alone_say_that_they_cut_at_the_last_hop() {
    let resolved = with("uno/incast-mixed", &["scheme.ports.overflow=trim"]).resolve().unwrap();
    let ports = World::build(&resolved).unwrap().spec.ports;
    for tier in Tier::ALL.into_iter().filter(|tier| *tier != Tier::HostUp) {
        let Overflow::Trim(trim) = ports.of(tier).overflow else { panic!("a port that drops") };
        assert_eq!(trim.at_last_hop, tier == Tier::HostDown, "{tier:?}");
    }
}

#[test]
fn trimmed_packets_and_nacks_reach_every_result() {
    let set = ["workload.flow_size=256KiB", "topology.buffer=64KiB", "scheme.ports.overflow=trim"];
    let mut request = with("uno/incast-mixed", &set);
    request.scheme = Some("uno-noec".to_owned());
    let resolved = request.resolve().unwrap();
    let world = World::build(&resolved).unwrap();
    let results = farspan_world::run(&resolved, &world, farspan_world::EngineKind::Windowed, &mut |_| true);
    let (packets, recovery) = (&results.summary.packets, &results.summary.recovery);
    assert!(packets.trimmed > 0 && packets.dropped == 0 && recovery.timeouts == 0, "{packets:?}");
    assert_eq!(packets.sent, packets.delivered + packets.trimmed);
    assert_eq!(results.ports.iter().map(|port| port.trims).sum::<u64>(), packets.trimmed);
    assert_eq!(
        results.flows.iter().map(|flow| flow.outcome.receiver.trimmed_packets).sum::<u64>(),
        packets.trimmed
    );
    assert_eq!(results.flows.iter().map(|flow| flow.outcome.sender.nacks).sum::<u64>(), recovery.nacks);
    assert_eq!((recovery.nacks, results.summary.flows.finished), (packets.trimmed, 8));
}

#[test]
fn ports_say_their_links_faults_and_documents_name_the_sites() {
    let fault = "fault=[{ kind = \"link_down\", link = \"border0->border1#1\", at = \"1us\", until = \"9us\", \
                 both_directions = true }, { kind = \"loss\", link = \"border0->border1#*\", probability = 0.5 }]";
    let resolved = with("uno/border-failure", &["workload.flow_size=4KiB", fault]).resolve().unwrap();
    let world = World::build(&resolved).unwrap();
    let results = farspan_world::run(&resolved, &world, EngineKind::Windowed, &mut |_| true);
    let faults = |name: &str| results.ports.iter().find(|port| port.name == name).unwrap().faults.as_str();
    assert_eq!(faults("border0->border1#0"), "loss 0.5 from 0ns");
    assert_eq!(faults("border0->border1#1"), "link_down 1us to 9us; loss 0.5 from 0ns");
    assert_eq!((faults("border1->border0#1"), faults("border1->border0#0")), ("link_down 1us to 9us", ""));
    assert_eq!(results.summary.sites, ["site 0", "site 1"]);
    let named =
        World::build(&with("topology/three-sites", &["workload.flows=10"]).resolve().unwrap()).unwrap();
    assert_eq!(named.site_names.len(), 3);
    assert!(named.site_names.iter().all(|name| !name.starts_with("site ")), "{:?}", named.site_names);
}
