//! Bad input: every case names the place, what was expected, and the cure; nothing panics.

mod files;
mod workload;

use farspan_scenario::{Request, STARTER};
use farspan_world::World;
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;

/// A folder of the test's own, removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("farspan-bad-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The message for a scenario that must not build.
pub fn message(request: &Request) -> String {
    let built = request.resolve().and_then(|resolved| World::build(&resolved));
    built.map_or_else(|error| error.to_string(), |_| panic!("{request:?} was accepted"))
}

const INCAST: &str =
    "[topology]\nk = 4\n[[workload]]\nkind = 'incast'\nreceiver = 1\nsenders = [0]\nflow_size = '1MiB'\n";

#[test]
fn wrong_texts_name_line_column_and_cure() {
    let folder = Folder::new("texts");
    // Text, line:column, key, and words that the message must have.
    let cases: &[(&str, &str, &str, &[&str])] = &[
        ("sed = 1", "1:1", "sed", &["unknown key", "\"seed\""]),
        ("[topologie]\nk = 4", "1:2", "topologie", &["unknown key", "\"topology\""]),
        ("[topology]\nk = 4\nlinkrate = '1Gbps'", "3:1", "topology.linkrate", &["\"link_rate\""]),
        ("[[workload]]\nkind = 'incast'\nsize = '1B'", "3:1", "workload[0].size", &["unknown key"]),
        ("[topology]\nwan = { rrt = '2ms' }", "2:9", "topology.wan.rrt", &["\"rtt\""]),
        ("[topology]\nlink_rate = '2ms'", "2:13", "topology.link_rate", &["is not a rate", "Gbps"]),
        ("[topology]\nlink_delay = '1 MiB'", "2:14", "topology.link_delay", &["is not a time", "us"]),
        ("[topology]\nbuffer = '4 parsecs'", "2:10", "topology.buffer", &["is not a size", "MiB"]),
        ("[topology]\nbuffer = 4096", "2:10", "topology.buffer", &["a size as text"]),
        ("[topology]\nlink_delay = '-1us'", "2:14", "topology.link_delay", &["it is negative"]),
        ("[stop]\ntime = '-1s'", "2:8", "stop.time", &["it is negative"]),
        (
            "[measure]\ngoodput_from = '3ms'\ngoodput_until = '2ms'\n[[workload]]\nkind = 'permutation'\nflow_size = '1MB'",
            "3:17",
            "measure.goodput_until",
            &["2ms is not after measure.goodput_from = 3ms", "give goodput_from before goodput_until"],
        ),
        ("[topology]\nk = -4", "2:5", "topology.k", &["give a whole number that is not negative"]),
        ("[topology]\nkind = 'fat_treee'", "2:8", "topology.kind", &["did you mean \"fat_tree\""]),
        ("[topology]\nkind = 'leaf_spin'", "2:8", "topology.kind", &["did you mean \"leaf_spine\""]),
        ("[topology]\noversubscription = 0", "2:20", "topology.oversubscription", &["at least 1"]),
        ("[topology]\nk = 4\nk = 8", "3:1", "", &["not TOML", "remove one of the two"]),
        ("[topology", "1:10", "", &["not TOML", "close brackets"]),
        ("[scheme]\nprofile = 'papers'", "2:11", "scheme.profile", &["did you mean \"paper\""]),
        ("[probes]\nrate_interval = 'of'", "2:17", "probes.rate_interval", &["\"off\""]),
        ("[scheme.ports]\nmarking = 'redd'", "2:11", "scheme.ports.marking", &["did you mean \"red\""]),
        ("[scheme.ports]\noverflow = 'tirm'", "2:12", "scheme.ports.overflow", &["did you mean \"trim\""]),
        ("[scheme.ports]\noverflw = 'trim'", "2:1", "scheme.ports.overflw", &["\"overflow\""]),
        (
            "[scheme.intra]\ncongestion = { name = 'unocc', bet = 1 }",
            "2:32",
            "scheme.intra.congestion.bet",
            &["\"beta\""],
        ),
        (
            "[scheme.intra]\ncongestion = { name = 'unocc', beta = 1979-05-27 }",
            "2:39",
            "scheme.intra.congestion.beta",
            &["\"1979-05-27\" does not fit here; give a number, such as 0.5"],
        ),
        (
            "[scheme.proxy]\nloss = { name = 'gap-flow', window = 'a' }",
            "2:38",
            "scheme.proxy.loss.window",
            &["\"a\" does not fit here; give a whole number that is not negative, such as 8"],
        ),
    ];
    for (text, place, key, words) in cases {
        let file = folder.write("case.toml", text);
        let message = message(&Request::new(&file));
        let expected =
            if key.is_empty() { format!("{file}:{place}: ") } else { format!("{file}:{place}: {key}: ") };
        assert!(message.starts_with(&expected), "{text:?}\n  gave {message}\n  expected {expected}");
        for word in *words {
            assert!(message.contains(word), "{text:?}\n  gave {message}\n  expected {word}");
        }
    }
}

#[test]
fn tables_and_lists_of_tables_are_told_apart() {
    let folder = Folder::new("headers");
    // Text, line:column, key, problem, cure.
    let (no_list, no_table) = ("not a list of tables", "a list of tables, where one table belongs");
    for (text, place, key, problem, cure) in [
        ("[workload]\nkind = 'incast'", "1:2", "workload", no_list, "write [[workload]]"),
        ("workload = { kind = 'incast' }", "1:1", "workload", no_list, "write [[workload]]"),
        ("workload = 'incast'", "1:1", "workload", no_list, "write [[workload]]"),
        ("[topology]\nk = 4\n[fault]\nkind = 'loss'", "3:2", "fault", no_list, "write [[fault]]"),
        ("[[topology]]\nk = 4", "1:3", "topology", no_table, "write [topology]"),
        ("[[topology.wan]]\nrtt = '2ms'", "1:12", "topology.wan", no_table, "write [topology.wan]"),
        ("[[scheme]]\nname = 'uno'", "1:3", "scheme", no_table, "write [scheme]"),
        ("[[scheme.ports]]\nmarking = 'red'", "1:10", "scheme.ports", no_table, "write [scheme.ports]"),
        (
            "[[scheme.intra.congestion]]\nname = 'unocc'",
            "1:16",
            "scheme.intra.congestion",
            no_table,
            "write [",
        ),
        ("[[probes]]\nports = 'all'", "1:3", "probes", no_table, "write [probes], once"),
        (
            "[scheme.x]\nname = 'uno'",
            "1:9",
            "scheme.x",
            "unknown key \"x\"",
            "Known here: inter, intra, name",
        ),
        ("[x]\nname = 'uno'", "1:2", "x", "unknown key \"x\"", "Known here: "),
    ] {
        let file = folder.write("case.toml", text);
        let message = message(&Request::new(&file));
        let expected = format!("{file}:{place}: {key}: {problem}; {cure}");
        assert!(message.starts_with(&expected), "{text:?}\n  gave {message}\n  expected {expected}");
    }
    for text in ["[workload]\nkind = 'incast'\n[workload]\n", "[[workload]]\nkind = 'incast'\n[workload]\n"] {
        let message = message(&Request::new(&folder.write("case.toml", text)));
        assert!(
            message.contains(":3:")
                && message.contains("for parts that can repeat, such as workload and fault"),
            "{message}"
        );
    }
    let set = vec!["workload=incast".to_owned()];
    let message = message(&Request { set, ..Request::new(&folder.write("case.toml", INCAST)) });
    assert!(message.starts_with("--set workload=incast: workload: not a list of tables"), "{message}");
}

#[test]
fn a_name_near_no_known_one_gets_the_list_of_them() {
    let folder = Folder::new("far");
    let file = folder.write("incast.toml", INCAST);
    for (assignment, words) in [
        ("topology.kind=torus", "\"torus\" is not a known topology; available: fat_tree, dual_fat_tree"),
        ("topology.colour=1", "unknown key \"colour\"; Known here: backbone, bottleneck_delay, "),
        ("scheme.name=reno", "available: uno, "),
        ("scheme.intra.balance=hash", "available: ecmp, "),
        (
            "workload.sizes=zipf",
            "no part of the workload has \"sizes\"; its parts have: tag, balance, receiver",
        ),
        ("probes.ports=gateway->*", "nodes are: agg0..15, border0..1, core0..7, host0..31, tor0..15"),
        ("probes.series=['loss']", "available: rate, "),
        ("measure.fairness_group=all", "available: incast"),
    ] {
        let request = Request { set: vec![assignment.to_owned()], ..Request::new(&file) };
        let message = message(&request);
        assert!(message.contains(words), "{assignment}\n  gave {message}\n  expected {words}");
        assert!(!message.contains("did you mean"), "{message}");
    }
    let message = message(&Request::new("my/steady-run.toml"));
    assert!(message.contains("`farspan list scenarios`") && message.len() < 300, "{message}");
}

#[test]
fn wrong_shapes_are_refused() {
    let folder = Folder::new("shapes");
    let cases: &[(&str, &str, &str, &[&str])] = &[
        ("leaf_spine", "leaves=0", "leaves", &["from 1 to"]),
        ("leaf_spine", "spines=5000", "spines", &["out of range", "to 4096"]),
        ("leaf_spine", "uplink_rate=0Gbps", "uplink_rate", &["out of range"]),
        (
            "leaf_spine",
            "uplink_rate=300Gbps",
            "oversubscription",
            &["not need a whole number", "topology.spines"],
        ),
        ("leaf_spine", "oversubscription=3", "oversubscription", &["at 3:1, 8 hosts of 100Gbps"]),
        ("leaf_spine", "oversubscription=[2, 2]", "oversubscription", &["at its leaves only", "one number"]),
        ("leaf_spine", "k=4", "k", &["leaf_spine has no \"k\"", "it has: hosts, leaves"]),
        ("leaf_spine", "wan.rtt=1ms", "wan", &["leaf_spine has no \"wan\""]),
        ("leaf_spine", "bottlenecks=2", "bottlenecks", &["has no"]),
        ("dual_leaf_spine", "wan.rtt=1us", "wan.rtt", &["is less than", "longer"]),
        ("dual_leaf_spine", "wan.links=0", "wan.links", &["from 1 to"]),
        ("dual_leaf_spine", "core_border_links=0", "core_border_links", &["from 1 to"]),
        ("dual_leaf_spine", "core_border_buffer=1B", "core_border_buffer", &["is too small for a packet"]),
        ("parking_lot", "bottlenecks=0", "bottlenecks", &["no path", "at least 1"]),
        ("parking_lot", "bottlenecks=2000", "bottlenecks", &["too long", "to 1000"]),
        ("parking_lot", "hosts=1000000", "hosts", &["4 switches", "keep to"]),
        ("parking_lot", "oversubscription=2", "oversubscription", &["parking_lot has no", "bottleneck_rate"]),
        ("parking_lot", "bottleneck_rate=1Kbps", "bottleneck_rate", &["out of range"]),
    ];
    for (kind, assignment, key, words) in cases {
        let text = INCAST.replace("k = 4", &format!("kind = '{kind}'"));
        let set = vec![format!("topology.{assignment}")];
        let request = Request { set, ..Request::new(&folder.write("case.toml", &text)) };
        let message = message(&request);
        let expected = format!("--set topology.{assignment}: topology.{key}: ");
        let by_default = *key == "oversubscription" && assignment.starts_with("uplink_rate");
        assert!(by_default || message.starts_with(&expected), "{message}\n  expected {expected}");
        words.iter().for_each(|word| assert!(message.contains(word), "{message}\n  expected {word}"));
    }
    let both = INCAST.replace("k = 4", "kind = 'leaf_spine'\nspines = 4\noversubscription = 4");
    let message = message(&Request::new(&folder.write("both.toml", &both)));
    assert!(message.contains(":4:20: topology.oversubscription: 4, but 8 hosts"), "{message}");
    assert!(message.contains("are 2.000:1; leave out topology.spines"), "{message}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn wrong_values_name_the_argument_that_set_them() {
    let folder = Folder::new("values");
    let file = folder.write("incast.toml", INCAST);
    let cases: &[(&str, &str, &[&str])] = &[
        ("topology.k=7", "topology.k", &["even"]),
        ("topology.k=0", "topology.k", &["from 2"]),
        ("topology.k=256", "topology.k", &["a site of 4194304 hosts", "room for 1048576", "at most 128"]),
        ("topology.link_rate=100Gbit", "topology.link_rate", &["did you mean \"100Gbps\"?"]),
        ("workload.kind=flows", "workload.kind", &["cannot be changed", "base = \"NAME\"", "file = "]),
        ("workload[0].kind=poisson", "workload[0].kind", &["cannot be changed", "kind = \"poisson\""]),
        ("topology.link_rate=0Gbps", "topology.link_rate", &["out of range", "from 1Mbps"]),
        ("topology.wan.rate=0Gbps", "topology.wan.rate", &["out of range"]),
        ("topology.link_delay=1000s", "topology.link_delay", &["to 10s"]),
        ("topology.core_border_links=100000", "topology.core_border_links", &["to 4096"]),
        ("transport.payload=64KiB", "transport.payload", &["out of range"]),
        ("workload.flow_size=16000000GiB", "workload[0].flow_size", &["too large"]),
        ("topology.wan.links=0", "topology.wan.links", &["from 1 to"]),
        ("topology.wan.rtt=10us", "topology.wan.rtt", &["is less than", "longer"]),
        ("topology.buffer=1KiB", "topology.buffer", &["is too small for a packet"]),
        ("topology.core_border_buffer=1KiB", "topology.core_border_buffer", &["is too small for a packet"]),
        ("topology.core_border_buffer=0B", "topology.core_border_buffer", &["out of range"]),
        ("workload.iterations=2", "workload.iterations", &["no part of the workload has \"iterations\""]),
        ("topology.hosts=4", "topology.hosts", &["dual_fat_tree has no \"hosts\"", "it has: k"]),
        ("transport.payload=0B", "transport.payload", &["from 1B"]),
        ("transport.balance=rsp", "transport.balance", &["did you mean \"rps\""]),
        ("transport.recovery=rck", "transport.recovery", &["loss recovery", "did you mean \"rack\""]),
        ("transport.recovery={ rto = \"1ms\" }", "transport.recovery", &["no name", "\"scheme\""]),
        (
            "transport.recovery={ name = \"rack\", rto = \"0ns\" }",
            "transport.recovery.rto",
            &["a time-out of 0", "rfc6298"],
        ),
        ("transport.recovery={ name = \"rack\", rot = \"1ms\" }", "transport.recovery.rot", &["\"rto\""]),
        ("transport.coding=msd", "transport.coding", &["coding", "did you mean \"mds\""]),
        ("transport.coding={ parity = 4 }", "transport.coding", &["no name", "\"scheme\""]),
        ("transport.coding={ name = \"mds\", parity = 0 }", "transport.coding.parity", &["1"]),
        ("transport.ack=coalesce", "transport.ack", &["ACK policy", "did you mean \"coalesced\""]),
        ("transport.ack=every_third", "transport.ack", &["ACK policy"]),
        ("transport.ack={ bytes = \"1KiB\" }", "transport.ack.name", &["coalesced"]),
        (
            "transport.ack={ name = \"coalesced\", bytes = \"0B\" }",
            "transport.ack.bytes",
            &["holds no ACK", "give a size"],
        ),
        (
            "transport.ack={ name = \"delayed\", packets = 0 }",
            "transport.ack.packets",
            &["holds no ACK", "give a number"],
        ),
        (
            "transport.ack={ name = \"delayed\", delay = \"0s\" }",
            "transport.ack.delay",
            &["holds no ACK", "give a time"],
        ),
        ("transport.burst=all", "transport.burst", &["1MiB"]),
        ("transport.prr=1", "transport.prr", &["true or false"]),
        ("workload.flow_size=0B", "workload[0].flow_size", &["at least 1 B"]),
        ("workload.receiver=99", "workload[0].receiver", &["does not exist", "0 to 31"]),
        ("workload.senders=[1]", "workload[0].senders", &["itself"]),
        ("workload.senders=[0, 32]", "workload[0].senders", &["does not exist"]),
        ("workload.senders=[]", "workload[0].senders", &["at least 1"]),
        (
            "workload.iterations=4",
            "workload.iterations",
            &["no part of the workload has \"iterations\"", "flow_size"],
        ),
        ("workload.load=0.4", "workload.load", &["no part of the workload has \"load\"", "flow_size"]),
        (
            "workload[0].load=0.4",
            "workload[0].load",
            &["an incast with listed senders cannot repeat", "give a degree"],
        ),
        ("workload.flow_sizes=1MiB", "workload.flow_sizes", &["did you mean \"flow_size\""]),
        ("workload.flow_size=4 parsecs", "workload.flow_size", &["the unit is not known here", "MiB"]),
        ("scheme.name=unoo", "scheme.name", &["did you mean \"uno\""]),
        ("scheme.name=unocc+rps+mds(8)", "scheme.name", &["is not a coding", "mds(8,2)"]),
        ("scheme.name=unocc+rps+msd(8,2)", "scheme.name", &["did you mean \"mds\""]),
        ("scheme.name=unocc+rps+mds(200,56)", "scheme.name", &["is not a coding", "at most 255"]),
        ("scheme.inter.coding=reed", "scheme.inter.coding", &["available: none, mds"]),
        ("scheme.inter.coding={ name = 'mds', data = 0 }", "scheme.inter.coding.data", &["from 1 to 254"]),
        (
            "scheme.inter.coding={ name = 'mds', data = 8, parity = 248 }",
            "scheme.inter.coding.parity",
            &["to 247"],
        ),
        ("scheme.inter.coding={ name = 'mds', timer = '10s' }", "scheme.inter.coding.timer", &["at most 4s"]),
        ("scheme.inter.coding={ name = 'mds', dta = 8 }", "scheme.inter.coding.dta", &["\"data\""]),
        (
            "scheme.inter.coding={ name = 'mds', timer = 5 }",
            "scheme.inter.coding.timer",
            &["give a time as text", "14us"],
        ),
        (
            "scheme.inter.coding={ name = 'mds', resend = 'some' }",
            "scheme.inter.coding.resend",
            &["available: needed, all"],
        ),
        (
            "scheme.intra.congestion={ name = 3 }",
            "scheme.intra.congestion",
            &["name is not text", "in quotes"],
        ),
        ("scheme.intra.congestion.beta=7", "scheme.intra.congestion.beta", &["out of range", "from"]),
        ("scheme.intra.congestion.bet=7", "scheme.intra.congestion.bet", &["\"beta\""]),
        ("scheme.ports.red.min=2", "scheme.ports.red.min", &["0 <= min <= max <= 1"]),
        ("scheme.ports.red.max_probability=0", "scheme.ports.red.max_probability", &["above 0, at most 1"]),
        (
            "scheme.ports.red.min_bytes=4KiB",
            "scheme.ports.red.max_bytes",
            &["one threshold without the other"],
        ),
        (
            "scheme.ports.red={ min_bytes = '4KiB', max_bytes = '2KiB' }",
            "scheme.ports.red.max_bytes",
            &["thresholds from 4KiB to 2KiB", "min_bytes <= max_bytes"],
        ),
        (
            "scheme.ports.red={ min = 0.2, max_bytes = '2KiB' }",
            "scheme.ports.red",
            &["as fractions and in bytes", "or min_bytes and max_bytes"],
        ),
        ("scheme.ports.phantom.drain=0", "scheme.ports.phantom.drain", &["from 0.001 to 1"]),
        ("scheme.ports.overflow=cut", "scheme.ports.overflow", &["available: drop, trim"]),
        ("scheme.ports.routing=hash", "scheme.ports.routing", &["available: ecmp, adaptive"]),
        ("scheme.ports.telemetry=snmp", "scheme.ports.telemetry", &["available: none, mpd, int"]),
        (
            "scheme.ports.telemetry_counts=sent",
            "scheme.ports.telemetry_counts",
            &["available: departures, arrivals"],
        ),
        ("scheme.ports.pool.size=some", "scheme.ports.pool.size", &["\"off\""]),
        ("scheme.ports.pool.size=100GiB", "scheme.ports.pool.size", &["out of range", "to 64GiB"]),
        (
            "scheme.ports.pool.size=4KiB",
            "scheme.ports.pool.size",
            &["at tor0, the pool has 4KiB", "give more, such as"],
        ),
        ("scheme.ports.pool.alpha=0", "scheme.ports.pool.alpha", &["from 0.001 to 64"]),
        ("scheme.ports.pool.reserve=-1", "scheme.ports.pool.reserve", &["give a size as text", "1MiB"]),
        (
            "scheme.ports.pool.headroom=1KiB",
            "scheme.ports.pool.headroom",
            &["Known here: accounts, alpha, reserve, size"],
        ),
        (
            "scheme.ports.pfc.links=site",
            "scheme.ports.pfc.links",
            &["scheme.ports.pool.size", "links = \"none\""],
        ),
        ("scheme.ports.pool.accounts=port", "scheme.ports.pool.accounts", &["available: ingress, egress"]),
        ("scheme.ports.switches=tor", "scheme.ports.switches", &["available: all, site"]),
        ("scheme.ports.pfc.links=hosts", "scheme.ports.pfc.links", &["available: none, site, all"]),
        ("scheme.ports.pfc.headroom=much", "scheme.ports.pfc.headroom", &["\"auto\""]),
        ("scheme.ports.pfc.resume_offset=65GiB", "scheme.ports.pfc.resume_offset", &["out of range"]),
        ("topology.pods=0", "topology.pods", &["from 1 to 1024"]),
        ("topology.hosts_per_tor=0", "topology.hosts_per_tor", &["out of range", "from 1"]),
        ("topology.hosts_per_tor=1000000", "topology.hosts_per_tor", &["hosts", "keep to 1048576 in all"]),
        ("topology.fabric_rate=1bps", "topology.fabric_rate", &["out of range"]),
        (
            "scheme.intra.congestion={ name = 'oscar', target = 'low' }",
            "scheme.intra.congestion.target",
            &["a number of base round trips or a size"],
        ),
        (
            "scheme.intra.congestion={ name = 'hpcc', reference = 'now' }",
            "scheme.intra.congestion.reference",
            &["available: round_trip, send"],
        ),
        ("scheme.ports.trim_victim=last", "scheme.ports.trim_victim", &["available: arriving, coin"]),
        ("scheme.ports.trim_service=lax", "scheme.ports.trim_service", &["\"strict\"", "\"10:1\""]),
        ("scheme.ports.trim_service=10:1", "scheme.ports.trim_service", &["drop", "overflow = \"trim\""]),
        ("scheme.ports.trim_victim=coin", "scheme.ports.trim_victim", &["drop", "overflow = \"trim\""]),
        ("scheme.ports.header_buffer=1MiB", "scheme.ports.header_buffer", &["drop", "overflow = \"trim\""]),
        (
            "scheme.ports.return_to_sender=true",
            "scheme.ports.return_to_sender",
            &["drop", "overflow = \"trim\""],
        ),
        ("scheme.ports.return_to_sender=often", "scheme.ports.return_to_sender", &["true or false"]),
        ("workload.balance=resp", "workload[0].balance", &["path selector", "did you mean"]),
        (
            "workload.balance={ slots = 3 }",
            "workload[0].balance.name",
            &["a path selector, such as \"ecmp\""],
        ),
        ("workload.balance={ name = 'reps', slots = 9 }", "workload[0].balance.slots", &["out of range"]),
        ("scheme.ports.header_buffer=much", "scheme.ports.header_buffer", &["not a size", "1MiB"]),
        ("host.jitter='2ms'", "host.jitter", &["2ms is out of range", "to 1ms"]),
        ("topology.jitter='2ms'", "topology.jitter", &["2ms is out of range", "to 1ms"]),
        ("probes.rate_interval=0ns", "probes.rate_interval", &["\"off\""]),
        ("probes.ports=['tor1->host1#7']", "probes.ports", &["did you mean", "#0"]),
        ("probes.ports=bottleneck", "probes.ports", &["there is no port \"bottleneck\"", "FROM->TO#n"]),
        ("probes.ports=bordr*->*", "probes.ports", &["there is no port \"bordr*->*\"", "border0..1"]),
        ("probes.links=tor*->host*", "probes.links", &["probes.queue_interval, which is off"]),
        ("probes.flows=17", "probes.flows", &["a selector such as \"flow=17,20..29\""]),
        ("probes.flows=flow=17", "probes.flows", &["there is no flow 17", "the nearest is 0"]),
        ("probes.flows=flow=3..1", "probes.flows", &["no number lies between 3 and 1"]),
        ("probes.flows=flow=x", "probes.flows", &["\"x\" is not a whole number", "1,2,8..11"]),
        ("probes.flows=flow=0..4000000000", "probes.flows", &["more flows than there are", "from 0 to 0"]),
        ("probes.ports=tor[0..->*", "probes.ports", &["a bracket without the other one"]),
        ("probes.ports=tor[90..99]->*", "probes.ports", &["there is no port \"tor[90..99]->*\""]),
        ("workload.senders=hots[0..3]", "workload[0].senders", &["no host is named \"hots0\"", "host0..31"]),
        ("workload.senders=0..99", "workload[0].senders", &["host 32 does not exist"]),
        ("workload.senders=3..1", "workload.senders", &["no number lies between 3 and 1"]),
        ("probes.flows=tag=incats", "probes.flows", &["did you mean \"incast\""]),
        ("probes.flows=class=wan", "probes.flows", &["available: intra, inter"]),
        (
            "probes.flows=class=inter",
            "probes.flows",
            &["\"class=inter\" selects none of the flows", "flow=0..0, class=intra, tag=incast"],
        ),
        ("probes.series=['rat']", "probes.series", &["did you mean \"rate\""]),
        (
            "workload.trigger_delay=1us",
            "workload.trigger_delay",
            &["no part of the workload has", "flow_size"],
        ),
        ("measure.fairness_group=incats", "measure.fairness_group", &["did you mean \"incast\""]),
        ("stop.time=0s", "stop.time", &["to 281s"]),
        ("measure.goodput_until=11s", "measure.goodput_until", &["11s is after stop.time = 10s"]),
        (
            "measure.goodput_until=0s",
            "measure.goodput_until",
            &["0ns is not after measure.goodput_from = 0ns"],
        ),
        (
            "measure.goodput_from=10s",
            "measure.goodput_from",
            &["measure.goodput_until is not given", "120ms"],
        ),
        ("measure.goodput_from=-1s", "measure.goodput_from", &["it is negative"]),
        ("nonsense", "", &["PATH=VALUE"]),
        ("[=4", "[", &["not a path"]),
        ("=4", "", &["not a path"]),
    ];
    for (assignment, key, words) in cases {
        let request = Request { set: vec![(*assignment).to_owned()], ..Request::new(&file) };
        let message = message(&request);
        let expected = if key.is_empty() { String::new() } else { format!("{key}: ") };
        let expected = format!("--set {assignment}: {expected}");
        assert!(message.starts_with(&expected), "{assignment}\n  gave {message}\n  expected {expected}");
        for word in *words {
            assert!(message.contains(word), "{assignment}\n  gave {message}\n  expected {word}");
        }
    }
}

#[test]
fn wrong_faults_are_refused() {
    let folder = Folder::new("faults");
    let link = "link = 'tor0->agg0#0'";
    // Keys of a fault, the key to blame, and words that the message must have.
    let cases: &[(&str, &str, &[&str])] = &[
        ("", "kind", &["missing", "link_down, black_hole, rate, loss, block_loss"]),
        ("kind = 'black_hol'", "kind", &["did you mean \"black_hole\"?"]),
        ("kind = 'link_down'\nlinkes = 'a'", "linkes", &["unknown key", "\"links\""]),
        ("kind = 'link_down'\nlinks = 'wan'", "links", &["link is also given", "links by tier"]),
        ("kind = 'link_down'\nshare = 0.0", "share", &["out of range", "above 0"]),
        ("kind = 'link_down'\nshare = 1.5", "share", &["out of range", "at most 1"]),
        (
            "kind = 'link_down'\nshare = 0.01",
            "share",
            &["0.01 of 1 links is less than one link", "at least 1.000"],
        ),
        ("kind = 'link_down'\nprobability = 0.1", "probability", &["link_down has no", "withdraw_delay"]),
        ("kind = 'link_down'\nat = '3ms'\nuntil = '2ms'", "until", &["begins at 3ms", "later"]),
        ("kind = 'link_down'\nat = '300s'", "at", &["out of range", "to 281s"]),
        ("kind = 'link_down'\nwithdraw_delay = '1ms'", "withdraw_delay", &["withdraw_routes = true"]),
        ("kind = 'link_down'\nwithdraw_routes = true\nwithdraw_delay = '11s'", "withdraw_delay", &["to 10s"]),
        ("kind = 'rate'", "rate", &["missing", "10Gbps"]),
        ("kind = 'rate'\nrate = '0Gbps'", "rate", &["out of range", "from 1Mbps"]),
        ("kind = 'loss'", "probability", &["missing", "1e-4"]),
        ("kind = 'loss'\nprobability = 1.5", "probability", &["1.5 is out of range", "from 0 to 1"]),
        ("kind = 'loss'\nprobability = nan", "probability", &["NaN is out of range"]),
        ("kind = 'loss'\nprobability = 0.1\npackets = 'acks'", "packets", &["available: data, all"]),
        ("kind = 'block_loss'\nblock = 65", "block", &["65 is out of range", "from 1 to 64"]),
        ("kind = 'block_loss'\nblock = 2", "probabilities", &["3 probabilities for a block of 2"]),
        ("kind = 'block_loss'\nprobabilities = []", "probabilities", &["0 probabilities"]),
        ("kind = 'block_loss'\nprobabilities = [0.6, 0.5]", "probabilities", &["together 1.1", "at most 1"]),
        ("kind = 'block_loss'\nprobabilities = [-0.1]", "probabilities", &["-0.1 is out of range"]),
        ("kind = 'block_loss'\nper = 'port'", "per", &["available: queue, flow"]),
    ];
    for (text, key, words) in cases {
        let file = folder.write("case.toml", &format!("{INCAST}[[fault]]\n{link}\n{text}\n"));
        let message = message(&Request::new(&file));
        assert!(message.starts_with(&format!("{file}:")), "{message}");
        assert!(message.contains(&format!(": fault[0].{key}: ")), "{text:?}\n  gave {message}");
        words
            .iter()
            .for_each(|word| assert!(message.contains(word), "{text:?}\n  gave {message}, no {word}"));
    }
    for (place, words) in [
        ("lan", &["no link lies at \"lan\"", "fabric:agg-core", "wan:border-border"][..]),
        ("fabric:core-tor", &["no link lies at", "fabric:agg-tor"]),
    ] {
        let file = folder
            .write("case.toml", &format!("{INCAST}[[fault]]\nkind = 'black_hole'\nlinks = '{place}'\n"));
        let message = message(&Request::new(&file));
        assert!(message.contains(": fault[0].links: "), "{message}");
        words.iter().for_each(|word| assert!(message.contains(word), "{place}\n  gave {message}, no {word}"));
    }
    for (link, words) in [
        ("link = 'tor0->agg9#0'", &["no link is named \"tor0->agg9#0\"", "did you mean \"tor"][..]),
        ("link = 'boarder0->*'", &["no link is named", "* stands for any text", "border0..1"]),
        ("", &["missing", "border0->border1#*"]),
    ] {
        let file = folder.write("case.toml", &format!("{INCAST}[[fault]]\nkind = 'black_hole'\n{link}\n"));
        let message = message(&Request::new(&file));
        assert!(message.contains(": fault[0].link: "), "{message}");
        words
            .iter()
            .for_each(|word| assert!(message.contains(word), "{link:?}\n  gave {message}, no {word}"));
    }
}

#[test]
fn trimming_without_a_priority_queue_is_refused() {
    let set = ["transport.ack_priority=false", "scheme.ports.overflow=trim"].map(str::to_owned).to_vec();
    let message = message(&Request { set, ..Request::new("uno/incast-mixed") });
    assert!(message.starts_with("--set scheme.ports.overflow=trim: scheme.ports.overflow: "), "{message}");
    assert!(message.contains("write transport.ack_priority = true, or overflow = \"drop\""), "{message}");
}

#[test]
fn headers_go_back_neither_through_a_proxy_nor_to_other_programs() {
    let set =
        ["scheme.ports.overflow=trim", "scheme.ports.return_to_sender=true"].map(str::to_owned).to_vec();
    let through = Request {
        set: [&set[..], &["scheme.proxy.kind=streamlined".to_owned()]].concat(),
        ..Request::new("proxy/degree")
    };
    let emulated = Request { set, is_idle: true, ..Request::new("ndp/incast") };
    for (request, word) in [(through, "or remove the proxy"), (emulated, "packets of other programs")] {
        let message = message(&request);
        for word in ["scheme.ports.return_to_sender: ", "write scheme.ports.return_to_sender = false", word] {
            assert!(message.contains(word), "{message}");
        }
    }
}

#[test]
fn marks_that_held_acks_repeat_are_refused() {
    let set = ["transport.ack=coalesced", "transport.repeat_marks=true"].map(str::to_owned).to_vec();
    let message = message(&Request { set, ..Request::new("uno/incast-mixed") });
    let words = ["transport.repeat_marks: ", "echo each mark", "\"delayed\""];
    words.iter().for_each(|word| assert!(message.contains(word), "{message}"));
}

#[test]
fn a_handshake_through_a_proxy_is_refused() {
    let set = ["scheme.proxy.kind=streamlined", "transport.handshake=true"].map(str::to_owned).to_vec();
    let message = message(&Request { set, ..Request::new("proxy/degree") });
    let words = ["transport.handshake: ", "flows through a proxy have no handshake", "or remove the proxy"];
    words.iter().for_each(|word| assert!(message.contains(word), "{message}"));
}

#[test]
fn receivers_that_take_packets_in_order_alone_have_no_proxy_before_them() {
    let set =
        ["scheme.proxy.kind=streamlined", "scheme.inter.recovery=go_back_n"].map(str::to_owned).to_vec();
    let message = message(&Request { set, ..Request::new("proxy/degree") });
    let words =
        ["scheme.inter.recovery: ", "a proxy forwards packets as they arrive", "or remove scheme.proxy"];
    words.iter().for_each(|word| assert!(message.contains(word), "{message}"));
}

#[test]
fn connections_of_flows_that_need_an_end_are_refused() {
    let refused = |scenario: &str, scheme: &str, set: &[&str], word: &str| {
        let set = set.iter().copied().chain(["transport.connections=per_pair"]).map(str::to_owned).collect();
        let scheme = (!scheme.is_empty()).then(|| scheme.to_owned());
        let message = message(&Request { set, scheme, ..Request::new(scenario) });
        assert!(message.contains("transport.connections: ") && message.contains(word), "{message}");
    };
    refused("uno/incast-mixed", "uno", &[], "makes blocks of whole flows");
    refused("uno/permutation", "ndp", &[], "pulls whole flows under ndp");
    refused("proxy/degree", "", &["scheme.proxy.kind=streamlined"], "a proxy relays flow by flow");
}

proptest! {
    /// Any part of the starter replaced by anything: an error or a scenario, never a panic.
    #[test]
    fn no_text_panics(start in 0..STARTER.len(), length in 0..40_usize, junk in "[-a-z0-9=.\\[\\]{}\"',#\n ]{0,20}") {
        let floor = |mut at: usize| { while !STARTER.is_char_boundary(at) { at -= 1; } at };
        let (from, to) = (floor(start), floor((start + length).min(STARTER.len())));
        let text = [&STARTER[..from], &junk, &STARTER[to..]].concat();
        let folder = Folder::new("fuzz");
        let file = folder.write("case.toml", &text);
        if let Err(error) = Request::new(&file).resolve() {
            prop_assert!(error.to_string().starts_with(&file), "{error}");
        }
    }

    /// Any key set to anything.
    #[test]
    fn no_assignment_panics(key in 0..KEYS.len(), value in "[-0-9a-zA-Z.:\\[\\]{}=\" ]{0,16}") {
        let assignment = format!("{}={value}", KEYS[key]);
        let request = Request { set: vec![assignment], ..Request::new("uno/incast-mixed") };
        if let Err(error) = request.resolve() {
            prop_assert!(error.to_string().len() > 20, "{error}");
        }
    }
}

/// Keys of every kind of value.
const KEYS: &[&str] = &[
    "seed",
    "topology.k",
    "topology.kind",
    "topology.link_rate",
    "topology.wan.rtt",
    "topology.oversubscription",
    "topology.host_delays",
    "transport.start",
    "transport.rto",
    "transport.balance",
    "transport.recovery",
    "transport.coding",
    "transport.ack",
    "transport.handshake",
    "transport.burst",
    "host.jitter",
    "scheme.name",
    "scheme.profile",
    "scheme.intra.congestion",
    "scheme.intra.congestion.beta",
    "scheme.inter.balance",
    "scheme.inter.recovery",
    "scheme.intra.coding",
    "scheme.inter.coding.data",
    "scheme.inter.coding.timer",
    "scheme.ports.marking",
    "scheme.ports.red",
    "scheme.ports.tiers",
    "scheme.ports.overflow",
    "scheme.ports.trim_victim",
    "scheme.ports.trim_service",
    "scheme.ports.return_to_sender",
    "scheme.ports.phantom.size",
    "workload",
    "workload.senders",
    "workload.flow_size",
    "workload[0].start",
    "workload.trigger_delay",
    "fault",
    "probes.ports",
    "probes.links",
    "probes.flows",
    "probes.series",
    "probes.rate_interval",
    "measure.warmup",
    "measure.fairness_group",
    "measure.goodput_from",
    "measure.goodput_until",
    "stop.time",
    "files",
];

#[test]
fn a_missing_scenario_names_the_nearest_built_in_one() {
    let message = message(&Request::new("uno/incast-mixd"));
    assert!(message.contains("did you mean \"uno/incast-mixed\""), "{message}");
}

#[test]
fn missing_keys_are_named() {
    let folder = Folder::new("missing");
    for (text, key) in [
        ("", "workload"),
        ("[[workload]]", "workload[0].kind"),
        ("[[workload]]\nkind = 'incast'", "workload[0].flow_size"),
        ("[[workload]]\nkind = 'incast'\nflow_size = '1MB'", "workload[0].senders"),
        ("[[workload]]\nkind = 'incast'\nflow_size = '1MB'\nsenders = [1]", "workload[0].receiver"),
        ("[[workload]]\nkind = 'permutation'", "workload[0].flow_size"),
        ("[[workload]]\nkind = 'poisson'", "workload[0].load"),
        ("[[workload]]\nkind = 'poisson'\nload = 0.1\nflows = 1", "workload[0].sizes"),
        ("[[workload]]\nkind = 'poisson'\nload = 0.1\nsizes = 'websearch'", "workload[0].flows"),
        ("[[workload]]\nkind = 'flows'", "workload[0].file"),
        ("[[workload]]\nkind = 'all_to_all'", "workload[0].ranks"),
        ("[[workload]]\nkind = 'allreduce'\nranks = [0, 1]", "workload[0].flow_size"),
    ] {
        let file = folder.write("case.toml", text);
        let message = message(&Request::new(&file));
        assert!(message.contains(&format!(": {key}: ")), "{text:?} gave {message}");
    }
}
