//! Tests of htsim's topologies.

use super::*;
use farspan_fabric::Network;
use farspan_fabric::topology::{DualFatTree, FatTree, LeafSpine};
use farspan_scenario::topology::{Base, TopologyDocument};
use farspan_units::{Duration, Rate};

/// As `fat_tree_128_8os` has it: 8 pods of 16 hosts, 4:1 at the ToRs, 2:1 at the aggregation switches.
const TREE: &str = "# 128 hosts\nNodes 128\nTiers 3\nPodsize 16\n\n\
    Tier 0\nDownlink_speed_Gbps 100\nRadix_Up 1\nRadix_Down 4\nDownlink_Latency_ns 1000\nOversubscribed 4\n\
    Tier 1\nDownlink_speed_Gbps 100\nRadix_Up 2\nRadix_Down 4\nDownlink_Latency_ns 1000\nOversubscribed 2\n\
    Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 8\nDownlink_Latency_ns 1000\n";

const LEAVES: &str = "nodes 64\ntiers 2\npodsize 64\n\
    tier 0\ndownlink_speed_gbps 100\nradix_up 4\nradix_down 16\noversubscribed 4\ndownlink_latency_ns 500\nswitch_latency_ns 300\n\
    tier 1\ndownlink_speed_gbps 100\nradix_down 4\ndownlink_latency_ns 500\nswitch_latency_ns 300\n";

fn network(imported: &Imported) -> Network {
    let text = imported.to_toml("t.topo");
    let topology = TopologyDocument::parse("t.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let defaults = topology.file().defaults.clone();
    let base = Base {
        rate: defaults.rate.unwrap(),
        delay: defaults.delay.unwrap(),
        switch_delay: defaults.switch_delay.unwrap_or_default(),
    };
    topology.network(&base).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Links with their names, but for tiers, which generators know better.
fn links(network: &Network) -> Vec<(String, Rate, Duration)> {
    let link = |(port, link): (u32, &farspan_fabric::Link)| {
        (network.port_name(farspan_units::PortId(port)), link.rate, link.delay)
    };
    (0..).zip(&network.links).map(link).collect()
}

fn tree() -> FatTree {
    FatTree { oversubscription: [4, 2], ..FatTree::new(8, Rate::from_gbps(100), Duration::from_us(1)) }
}

#[test]
fn a_published_tree_is_what_the_generator_makes() {
    let imported = parse("t.topo", TREE, None).unwrap();
    assert_eq!((imported.hosts, imported.switches, &imported.warnings[..]), (128, 32 + 8 + 2, &[][..]));
    let made = tree();
    assert_eq!(links(&network(&imported)), links(&made.build().unwrap()));
    let generator = imported.generator.unwrap();
    assert!(generator.starts_with("kind = \"fat_tree\"\nk = 8\noversubscription = [4, 2]\n"), "{generator}");
}

#[test]
fn two_sites_are_what_the_generator_of_two_makes() {
    let wan = TwoSites { delay: Duration::from_ns(886_500), links: 8, core_border_links: 4 };
    let imported = parse("t.topo", TREE, Some(&wan)).unwrap();
    assert_eq!((imported.hosts, imported.switches), (256, 2 * (32 + 8 + 2) + 2));
    assert_eq!(imported.generator, None);
    let made = DualFatTree {
        site: tree(),
        core_border_links: 4,
        wan_links: 8,
        wan_rate: Rate::from_gbps(100),
        wan_delay: Duration::from_ns(886_500),
    };
    let sorted = |network: &Network| {
        let mut links = links(network);
        links.sort();
        links
    };
    let network = network(&imported);
    assert_eq!(sorted(&network), sorted(&made.build().unwrap()));
    let site = |host| network.site(farspan_units::HostId(host));
    assert_eq!([0, 127, 128, 255].map(site), [site(0), site(0), site(255), site(255)]);
    assert_ne!(site(0), site(255));
}

#[test]
fn two_tiers_are_a_leaf_spine() {
    let imported = parse("t.topo", LEAVES, None).unwrap();
    let made = LeafSpine {
        leaves: 4,
        spines: 4,
        hosts_per_leaf: 16,
        link_rate: Rate::from_gbps(100),
        uplink_rate: Rate::from_gbps(100),
        link_delay: Duration::from_ns(500),
        switch_delay: Duration::from_ns(300),
    };
    let renamed = |network: &Network| -> Vec<_> {
        links(network)
            .into_iter()
            .map(|(name, rate, delay)| (name.replace("leaf", "tor"), rate, delay))
            .collect()
    };
    assert_eq!(renamed(&network(&imported)), renamed(&made.build().unwrap()));
    let generator = imported.generator.unwrap();
    assert!(
        generator.starts_with("kind = \"leaf_spine\"\nleaves = 4\nspines = 4\nhosts = 16\n"),
        "{generator}"
    );
}

#[test]
fn bundles_queues_and_delays_of_a_tier_are_kept_where_no_generator_has_them() {
    let text = LEAVES
        .replace("radix_down 4\n", "radix_down 8\nbundle 2\nQueue_Down 2000\n")
        .replace("radix_up 4", "radix_up 4\nqueue_up 1000");
    let text = text.replace(
        "downlink_latency_ns 500\nswitch_latency_ns 300\ntier 1",
        "downlink_latency_ns 700\nqueue_down 3000\ntier 1",
    );
    let imported = parse("t.topo", &text, None).unwrap();
    assert_eq!((imported.switches, imported.generator.as_deref()), (4 + 2, None));
    let [warning] = &imported.warnings[..] else { panic!("{:?}", imported.warnings) };
    assert!(
        warning.starts_with("t.topo:7: queue sizes became") && warning.contains("topology.buffer"),
        "{warning}"
    );
    let network = network(&imported);
    let of = |name: &str| {
        let link = network.links[network.port_named(name).unwrap().index()];
        (link.rate.as_bps() / 1_000_000_000, link.delay.as_ns(), link.buffer.map(farspan_units::Bytes::get))
    };
    assert_eq!(of("tor3->host63#0"), (100, 700, Some(3000)));
    assert_eq!(of("host63->tor3#0"), (100, 700, Some(3000)));
    assert_eq!(of("tor0->spine1#1"), (100, 800, Some(1000)));
    assert_eq!(of("spine1->tor0#1"), (100, 500, Some(2000)));
}

#[test]
fn a_radix_that_is_not_what_is_wired_is_said_so() {
    // With faster uplinks htsim's formulas need a radix that no switch has.
    let text =
        LEAVES.replace("downlink_speed_gbps 100\nradix_down 4", "downlink_speed_gbps 400\nradix_down 1");
    let imported = parse("t.topo", &text, None).unwrap();
    assert_eq!(imported.switches, 8);
    let [warning] = &imported.warnings[..] else { panic!("{:?}", imported.warnings) };
    assert!(warning.starts_with("t.topo:13: Radix_Down 1 of tier 1, but 4 links"), "{warning}");
    assert!(imported.generator.clone().unwrap().contains("uplink_rate = \"400Gbps\""));
    assert_eq!(links(&network(&imported)).len(), 2 * (64 + 16));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn wrong_topologies_name_the_line_and_the_cure() {
    let with = |from: &str, to: &str| TREE.replacen(from, to, 1);
    let cases: &[(String, &str, &str)] = &[
        (String::new(), "t.topo: Nodes is missing", "Nodes 128"),
        (with("Nodes 128\n", ""), "t.topo: Nodes is missing", "begin the file"),
        (with("Nodes 128", "Nodes"), "t.topo:2: Nodes has no value", "whole number"),
        (with("Nodes 128", "Nodes 128 9"), "t.topo:2: \"9\" behind the value of Nodes", "one whole number"),
        (
            with("Nodes 128", "Nodes 12.5"),
            "t.topo:2: \"12.5\" is not a whole number: htsim would cut",
            "from 1",
        ),
        (with("Nodes 128", "Nodes x"), "t.topo:2: \"x\" is not a whole number", "from 1"),
        (with("Nodes 128", "Nodes 0"), "t.topo:2: Nodes 0 is out of range", "from 1"),
        (with("Nodes 128", "Nodes -1"), "t.topo:2: \"-1\" is not a whole number", "from 1"),
        (with("Nodes 128", "Nodes 128\nNODES 128"), "t.topo:3: NODES was given on line 2", "once"),
        (
            with("Nodes 128", "Nodes 120"),
            "t.topo:4: Podsize 16 does not divide Nodes 120 (120 / 16)",
            "cut the rest",
        ),
        (with("Tiers 3", "Tiers 4"), "t.topo:3: Tiers 4 is out of range", "to 3"),
        (with("Tiers 3", "Tiers 1"), "t.topo:3: Tiers 1 is out of range", "from 2 to 3"),
        (with("Tiers 3", "Tiers 2"), "t.topo:18: there are 2 tiers", "raise Tiers"),
        (with("Tier 2", "Tier 3"), "t.topo:18: Tier 3 is out of range", "from 0 to 2"),
        (with("Tier 1", "Tier 0"), "t.topo:12: tier 0 was begun on line 6", "once"),
        (
            with("Tier 1", "Tier 2").replacen("Radix_Up 2\n", "", 1),
            "t.topo:17: tier 2 was begun on line 12",
            "once",
        ),
        (
            with("Radix_Up 1", "Radix_Upp 1"),
            "t.topo:8: \"Radix_Upp\" is not a keyword of a tier",
            "mean \"Radix_Up\"",
        ),
        (with("Radix_Up 1", "Podsize 1"), "t.topo:8: Podsize after the first Tier line", "top"),
        (with("Radix_Up 1\n", ""), "t.topo:6: tier 0 has no Radix_Up", "Radix_Up 4"),
        (
            with("Radix_Up 1", "Radix_Up 1\nradix_up 1"),
            "t.topo:9: radix_up was given for this tier on line 8",
            "once",
        ),
        (
            with("Downlink_speed_Gbps 100\nRadix_Up 2", "Radix_Up 2"),
            "t.topo:12: tier 1 has no Downlink_speed",
            "100",
        ),
        (
            with("Oversubscribed 4", "Oversubscribed 2"),
            "t.topo:11: Oversubscribed 2 of tier 0, but",
            "Oversubscribed 4",
        ),
        (
            with("Radix_Up 1", "Radix_Up 8"),
            "t.topo:11: Oversubscribed 4 of tier 0, but",
            "write a Radix_Down of at least Radix_Up",
        ),
        (
            with("Radix_Up 2", "Radix_Up 4"),
            "t.topo:14: Radix_Up 4 of tier 1, but the other numbers make 2",
            "Radix_Up 2",
        ),
        (with("Radix_Down 8", "Radix_Down 8\nRadix_Up 1"), "t.topo:21: Radix_Up in tier 2", "remove"),
        (
            with("Radix_Down 8", "Radix_Down 8\nBundle 3"),
            "t.topo:21: Bundle 3 of tier 2 does not divide",
            "divisor",
        ),
        (
            with("Radix_Down 8", "Radix_Down 5"),
            "t.topo:20: Radix_Down 5 of tier 2 does not divide 16 uplinks",
            "rest",
        ),
        (
            with("Oversubscribed 4", "Oversubscribed 4\nBundle 2"),
            "t.topo:12: a host has one link",
            "Bundle 1",
        ),
        (
            with("Oversubscribed 4", "Oversubscribed 4\nQueue_Up 9"),
            "t.topo:12: of Queue_Up of tier 0 and",
            "both",
        ),
        (LEAVES.replace("podsize 64", "podsize 32"), "t.topo:3: Podsize 32 with two tiers", "Podsize 64"),
    ];
    for (text, problem, cure) in cases {
        let error = parse("t.topo", text, None)
            .map_or_else(|error| error.to_string(), |_| panic!("accepted:\n{text}"));
        assert!(error.starts_with(problem), "{error}\n  expected {problem}");
        assert!(error.contains(cure), "{error}\n  has no {cure}");
    }
}

#[test]
fn unknown_headers_are_left_out_with_a_warning() {
    let imported = parse("t.topo", &TREE.replace("Podsize 16", "Podsize 16\nPodsizes 3"), None).unwrap();
    let [warning] = &imported.warnings[..] else { panic!("{:?}", imported.warnings) };
    assert!(
        warning.starts_with("t.topo:5: \"Podsizes\" is not a keyword") && warning.contains("Podsize"),
        "{warning}"
    );
}

#[test]
fn windows_line_ends_comments_and_case_do_not_matter() {
    let plain = parse("t.topo", TREE, None).unwrap();
    let other = TREE.to_uppercase().replace('\n', "\r\n").replace("TIERS 3", "  TIERS 3   # three");
    assert_eq!(parse("t.topo", &other, None).unwrap(), plain);
}

proptest::proptest! {
    #[test]
    fn no_text_panics(start in 0..TREE.len(), length in 0..40_usize, junk in "[-a-zA-Z0-9_. \n]{0,20}") {
        let (from, to) = (start, (start + length).min(TREE.len()));
        let text = [&TREE[..from], &junk, &TREE[to..]].concat();
        match parse("t.topo", &text, None) {
            Ok(imported) if imported.hosts <= 4096 => drop(network(&imported)),
            Ok(_) => {}
            Err(error) => proptest::prop_assert!(error.to_string().starts_with("t.topo:"), "{}", error),
        }
    }
}
