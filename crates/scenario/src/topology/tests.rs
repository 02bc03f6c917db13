//! Tests of topology files.

use super::*;
use crate::model::LinkChange;
use crate::value::{Buffers, Names, NodeType, Parameter, Wiring};
use proptest::prelude::*;

const BASE: Base =
    Base { rate: Rate::from_gbps(100), delay: Duration::from_us(1), switch_delay: Duration::ZERO };

fn network(text: &str) -> Network {
    let topology = TopologyDocument::parse("t.toml", text).unwrap_or_else(|error| panic!("{error}"));
    topology.network(&BASE).unwrap_or_else(|error| panic!("{error}"))
}

fn message(text: &str) -> String {
    let built = TopologyDocument::parse("t.toml", text).and_then(|topology| topology.network(&BASE));
    built.map_or_else(|error| error.to_string(), |_| panic!("accepted:\n{text}"))
}

/// Four hosts at two switches.
const TWO: &str = "[[node]]\nname = 'host[0..3]'\nkind = 'host'\n[[node]]\nname = 's[0..1]'\nkind = 'switch'\n\
                   [[link]]\na = 'host[0..3]'\nb = 's[0..1]'\nwiring = 'blocks'\n\
                   [[link]]\na = 's0'\nb = 's1'\ncount = 2\n";

#[test]
fn names_cannot_be_mistaken_for_ports_or_patterns() {
    for name in ["", "0host", "a->b", "a#0", "a*", "a?", "a b", "a[0", "é"] {
        let text = format!("[[node]]\nkind = 'host'\nname = '{name}'\n");
        let error = message(&text);
        assert!(error.contains("node[0].name"), "{name}: {error}");
    }
}

#[test]
fn ranges_wirings_and_counts_are_written_out() {
    let network = network(TWO);
    let ports: Vec<_> =
        (0..network.links.len() as u32).map(|p| network.port_name(farspan_units::PortId(p))).collect();
    let expected = [
        "host0->s0#0",
        "host1->s0#0",
        "host2->s1#0",
        "host3->s1#0",
        "s0->host0#0",
        "s0->host1#0",
        "s0->s1#0",
        "s0->s1#1",
        "s1->host2#0",
        "s1->host3#0",
        "s1->s0#0",
        "s1->s0#1",
    ];
    assert_eq!(ports, expected);
}

#[test]
fn links_say_what_differs_from_the_base() {
    let text = TWO.replace("count = 2", "rate = '40Gbps'\ndelay = '3us'\nbuffer = ['1KiB', '2KiB']");
    let text = text.replace("kind = 'switch'", "kind = 'switch'\nswitch_delay = '250ns'");
    let network = network(&text);
    let of = |name: &str| {
        let link = network.links[network.port_named(name).unwrap().index()];
        (link.rate.to_string(), link.delay.as_ns(), link.buffer.map(Bytes::get))
    };
    assert_eq!(of("s0->s1#0"), ("40Gbps".into(), 3250, Some(1024)));
    assert_eq!(of("s1->s0#0"), ("40Gbps".into(), 3250, Some(2048)));
    assert_eq!(of("s1->host2#0"), ("100Gbps".into(), 1000, None));
}

#[test]
fn the_delay_of_a_link_is_half_of_its_rtt_also_of_one_by_a_parameter() {
    let with = |key: &str| network(&TWO.replace("count = 2", &format!("count = 2\n{key}")));
    assert_eq!(with("rtt = '6us'"), with("delay = '3us'"));
    let named = network(&format!(
        "parameters = {{ wan = '6us' }}\n{}",
        TWO.replace("count = 2", "rtt = '$wan'\ncount = 2")
    ));
    assert_eq!(named, with("delay = '3us'"));
}

#[test]
fn a_pattern_s_rtt_and_delay_replace_each_other_and_the_last_one_counts() {
    let topology = TopologyDocument::parse("t.toml", &TWO.replace("count = 2", "rtt = '8us'")).unwrap();
    let (rtt, delay) = (Some(Duration::from_us(20)), Some(Duration::from_us(5)));
    let of = |changes: [LinkChange; 2]| {
        let links = LinkChanges(vec![("s0->*".to_owned(), changes[0]), ("*->s1*".to_owned(), changes[1])]);
        let network = topology.changed_network(&BASE, &links).unwrap();
        ["s0->s1#0", "s1->s0#0", "host0->s0#0"]
            .map(|name| network.links[network.port_named(name).unwrap().index()].delay.as_ns() / 1000)
    };
    let (by_rtt, by_delay) =
        (LinkChange { rtt, ..LinkChange::default() }, LinkChange { delay, ..LinkChange::default() });
    assert_eq!(of([by_rtt, by_delay]), [5, 5, 10]);
    assert_eq!(of([by_delay, by_rtt]), [10, 10, 5]);
    assert_eq!(of([by_delay, LinkChange { rate: Some(BASE.rate), ..LinkChange::default() }]), [5, 5, 5]);
}

#[test]
fn the_built_in_file_is_three_sites() {
    let topology = TopologyDocument::open("three-sites").unwrap();
    assert_eq!(topology.sites(), 3);
    let network = topology.network(&BASE).unwrap();
    assert_eq!((network.hosts, network.nodes.len()), (20, 31));
    // What it says in a comment holds, too.
    let text = crate::TOPOLOGY_STARTER;
    let at = text.find("# [[ecmp]]").unwrap();
    let lines = text[at..].lines().map(|line| line.trim_start_matches("# ").to_owned() + "\n");
    let with = text[..at].to_owned() + &lines.collect::<String>();
    let network = TopologyDocument::parse("t", &with).unwrap().network(&BASE).unwrap();
    assert_eq!(network.groups.len(), 1);
}

#[test]
fn wrong_files_name_line_column_key_and_cure() {
    let cases: &[(&str, &str, &str, &[&str])] = &[
        ("nodes = 1", "1:1", "nodes", &["unknown key", "\"node\""]),
        ("[[node]]\nnam = 'a'", "2:1", "node[0].nam", &["unknown key", "\"name\""]),
        ("[[link]]\na = 1", "2:5", "link[0].a", &["leaf[0..3]"]),
        ("[[link]]\nrate = '1us'", "2:8", "link[0].rate", &["is not a rate"]),
        ("[[link]]\nbuffer = ['1B']", "2:10", "link[0].buffer", &["two"]),
        ("[[link]]\nwiring = 'block'", "2:10", "link[0].wiring", &["did you mean \"blocks\""]),
        ("[[link]]\nrate = '0Gbps'", "2:8", "link[0].rate", &["out of range", "from 1Mbps"]),
        ("[[link]]\ndelay = '11s'", "2:9", "link[0].delay", &["to 10s"]),
        ("[[link]]\nrtt = '21s'", "2:7", "link[0].rtt", &["to 20s"]),
        ("[[link]]\ndelay = '1ms'\nrtt = '2ms'", "3:7", "link[0].rtt", &["are given", "give one"]),
        ("[[link]]\ncount = 0", "2:9", "link[0].count", &["from 1 to 4096"]),
        ("[[link]]\nbuffer = '0B'", "2:10", "link[0].buffer", &["out of range"]),
        ("[defaults]\nrate = '0Gbps'", "2:8", "defaults.rate", &["out of range"]),
        ("[defaults]\nbuffer = '1TiB'", "2:10", "defaults.buffer", &["is not a size"]),
        ("[[site]]\n", "1:1", "site[0].name", &["missing"]),
        ("[[site]]\nname = 'a'\n[[site]]\nname = 'a'", "4:8", "site[1].name", &["more than one"]),
        ("[[site]]\nname = 'a b'", "2:8", "site[0].name", &["is not a valid name", "letter"]),
        ("[[node]]\nname = 'a'", "1:1", "node[0].kind", &["missing", "\"switch\""]),
        ("[[node]]\nkind = 'router'", "2:8", "node[0].kind", &["available: host, switch"]),
        ("[[node]]\nkind = 'host'", "1:1", "node[0].name", &["missing"]),
        ("[[node]]\nkind = 'host'\nname = 'a->b'", "3:8", "node[0].name", &["is not a valid name"]),
        (
            "[[node]]\nkind = 'host'\nname = 'a[1..0]'",
            "3:8",
            "node[0].name",
            &["no number lies between 1 and 0"],
        ),
        ("[[node]]\nkind = 'host'\nname = 'a'\nsite = 'x'", "4:8", "node[0].site", &["[[site]]"]),
        (
            "[[site]]\nname = 'w'\n[[site]]\nname = 'e'\n[[node]]\nkind = 'host'\nname = 'a'",
            "5:1",
            "node[0].site",
            &["missing", "e, w"],
        ),
        (
            "[[node]]\nkind = 'host'\nname = 'a'\nswitch_delay = '1ns'",
            "4:16",
            "node[0].switch_delay",
            &["hosts have none"],
        ),
        ("[[node]]\nkind = 'host'\nname = ['a', 'a']", "3:8", "node[0].name", &["more than one node \"a\""]),
        ("[[node]]\nkind = 'host'\nname = 'h[0..1]'", "1:1", "node[0]", &["h0 has no link", "[[link]]"]),
        ("[[node]]\nkind = 'switch'\nname = 's'", "1:1", "node", &["0 hosts", "from 2"]),
    ];
    for (text, place, key, words) in cases {
        let message = message(text);
        let expected = format!("t.toml:{place}: {key}: ");
        assert!(message.starts_with(&expected), "{text:?}\n  gave {message}\n  expected {expected}");
        words
            .iter()
            .for_each(|word| assert!(message.contains(word), "{text:?}\n  gave {message}, no {word}"));
    }
}

#[test]
fn wrong_links_and_groups_are_refused_where_they_stand() {
    let site = "[[site]]\nname = 'w'\n[[site]]\nname = 'e'\n";
    let sited = TWO.replace("kind", "site = 'w'\nkind");
    let cases: &[(String, &str, &[&str])] = &[
        (format!("{TWO}[[link]]\nb = 's0'"), "15:1: link[2].a: ", &["missing"]),
        (
            format!("{TWO}[[link]]\na = 's0'\nb = 's2'"),
            "17:5: link[2].b: ",
            &["no node \"s2\"", "there are: host0..3, s0..1"],
        ),
        (format!("{TWO}[[link]]\na = 's0'\nb = 's0'"), "15:1: link[2]: ", &["link to itself"]),
        (format!("{TWO}[[link]]\na = 'host0'\nb = 's1'"), "15:1: link[2]: ", &["second link", "blocks"]),
        (format!("{TWO}[[link]]\na = 'host0'\nb = 'host1'"), "15:1: link[2]: ", &["both hosts", "a switch"]),
        (TWO.replace("host[0..3]'\nb", "host[0..2]'\nb"), "10:10: link[0].wiring: ", &["3 and 2", "divide"]),
        (TWO.replace("wiring = 'blocks'", ""), "7:1: link[0]: ", &["host0 has a second link", "wiring"]),
        (TWO.replace("'s1'\ncount = 2", "'s0'"), "11:1: link[1]: ", &["itself"]),
        (
            TWO.split("[[link]]\na = 's0'").next().unwrap().into(),
            "1:1: node[0]: ",
            &["no path leads from host0 to host2"],
        ),
        (TWO.replace("host[", "host1["), "1:1: node[0]: ", &["host10 is host 0", "call it host0"]),
        (format!("{site}{sited}"), "3:1: site[1]: ", &["without hosts"]),
        (format!("{TWO}[[ecmp]]\nswitch = 's0'\nto = 's1'"), "15:1: ecmp[0].via: ", &["missing"]),
        (
            format!("{TWO}[[ecmp]]\nswitch = 'host0'\nto = 's1'\nvia = 's1'"),
            "16:10: ecmp[0].switch: ",
            &["is a host"],
        ),
        (
            format!("{TWO}[[ecmp]]\nswitch = 's0'\nto = 'host3'\nvia = 's1'"),
            "17:6: ecmp[0].to: ",
            &["is a host", "name its switch, \"s1\""],
        ),
        (
            format!("{TWO}[[ecmp]]\nswitch = 's0'\nto = 's1'\nvia = 's1#x'"),
            "18:7: ecmp[0].via: ",
            &["not a number of a parallel link"],
        ),
        (
            format!("{TWO}[[ecmp]]\nswitch = 's0'\nto = 's1'\nvia = 's1#2'"),
            "15:1: ecmp[0]: ",
            &["no link s0->s1#2"],
        ),
    ];
    for (text, place, words) in cases {
        let message = message(text);
        assert!(
            message.starts_with(&format!("t.toml:{place}")),
            "{text}\n  gave {message}\n  expected {place}"
        );
        words.iter().for_each(|word| assert!(message.contains(word), "{text}\n  gave {message}, no {word}"));
    }
}

#[test]
fn parameters_stand_where_they_are_named() {
    let text = format!(
        "parameters = {{ rate = '40Gbps', links = 2, small = '1KiB' }}\ndescription = 'it costs $5'\n{}",
        TWO.replace("count = 2", "count = '$links'\nrate = '$rate'\nbuffer = ['$small', '2KiB']")
    );
    let topology = TopologyDocument::parse("t.toml", &text).unwrap();
    assert!(topology.file().parameters.is_empty() && topology.parameters().len() == 3);
    let plain = TWO.replace("count = 2", "count = 2\nrate = '40Gbps'\nbuffer = ['1KiB', '2KiB']");
    let built = topology.network(&BASE).unwrap();
    assert_eq!(built, network(&plain));
    let fast = [("rate".to_owned(), Parameter::Text("100Gbps".to_owned()))].into();
    let fast = TopologyDocument::parse_over("t.toml", &text, &fast).unwrap().network(&BASE).unwrap();
    assert_eq!(fast, network(&plain.replace("40Gbps", "100Gbps")));
}

#[test]
fn wrong_parameters_name_line_column_and_cure() {
    let link = "[[link]]\ndelay = '$wan'\n";
    for (text, place, words) in [
        ("parameters = 3\n", "1:14: parameters: 3 does not fit", "a table"),
        ("[parameters]\nwan = 0.5\n", "2:7: parameters.wan: 0.5 does not fit", "a whole number"),
        (
            "[parameters]\n'2' = '1ms'\n",
            "2:7: parameters.2: \"2\" is not a valid name",
            "begin with a letter",
        ),
        (
            "[parameters]\nwan = '$lan'\nlan = '1us'\n",
            "2:7: parameters.wan: \"$lan\" names another",
            "the value",
        ),
        (
            "[parameters]\nlan = '1us'\nwan = '1ms'\n",
            "2:7: parameters.lan: nothing in the file uses",
            "\"$lan\"",
        ),
        (
            "[parameters]\nwam = '1ms'\n",
            "4:9: link[0].delay: there is no parameter \"wan\"; did you mean \"wam\"?",
            "there are: wam",
        ),
        ("", "2:9: link[0].delay: there is no parameter \"wan\"", "add a table [parameters]"),
        ("[parameters]\nwan = '1MiB'\n", "4:9: link[0].delay: $wan: \"1MiB\" is not a time", "\"14us\""),
        ("[parameters]\nwan = 7\n", "4:9: link[0].delay: $wan: 7 does not fit", "text"),
        ("[parameters]\nwan = '11s'\n", "4:9: link[0].delay: $wan: 11s is out of range", "to 10s"),
    ] {
        let message = message(&format!("{text}{link}"));
        assert!(
            message.starts_with(&format!("t.toml:{place}")) && message.contains(words),
            "{text}\n  gave {message}"
        );
    }
}

#[test]
fn the_schema_lets_quantities_name_a_parameter() {
    let schema = schema();
    for quantity in ["Bytes", "Duration", "Rate"] {
        let pattern = schema["$defs"][quantity]["pattern"].as_str().unwrap();
        assert!(
            pattern.starts_with("^\\s*[0-9]") && pattern.ends_with("|^\\$[A-Za-z][A-Za-z0-9_-]*$"),
            "{pattern}"
        );
    }
    assert_eq!(schema["$defs"]["Link"]["properties"]["count"]["pattern"], NAMED);
}

fn names() -> impl Strategy<Value = Names> {
    prop::collection::vec("[a-z][a-z0-9-]{0,6}(\\[[0-9]\\.\\.[0-9]{2}( step [1-9])?\\])?", 1..4)
        .prop_map(Names)
}

fn sizes() -> impl Strategy<Value = Bytes> {
    (1_u64..1 << 30).prop_map(Bytes::new)
}

fn times() -> impl Strategy<Value = Duration> {
    (0_u64..5_000_000_000_000).prop_map(Duration::from_ps)
}

fn rates() -> impl Strategy<Value = Rate> {
    (1_000_000_u64..1_000_000_000_000).prop_map(Rate::from_bps)
}

prop_compose! {
    fn links()(
        a in prop::option::of(names()),
        b in prop::option::of(names()),
        wiring in prop::option::of(prop::sample::select(vec![Wiring::All, Wiring::Blocks])),
        count in prop::option::of(1_u32..4096),
        rate in prop::option::of(rates()),
        (delay, rtt) in prop_oneof![
            prop::option::of(times()).prop_map(|delay| (delay, None)),
            times().prop_map(|rtt| (None, Some(rtt))),
        ],
        buffer in prop::option::of([sizes(), sizes()].prop_map(Buffers)),
    ) -> Link {
        Link { a, b, wiring, count, rate, delay, rtt, buffer }
    }
}

prop_compose! {
    fn nodes()(
        name in prop::option::of(names()),
        kind in prop::option::of(prop::sample::select(vec![NodeType::Host, NodeType::Switch])),
        site in prop::option::of("[a-z]{1,5}"),
        switch_delay in prop::option::of(times()),
    ) -> Node {
        Node { name, kind, site, switch_delay }
    }
}

prop_compose! {
    fn files()(
        description in prop::option::of("[ -~]{0,20}"),
        (rate, delay) in (prop::option::of(rates()), prop::option::of(times())),
        (buffer, switch_delay) in (prop::option::of(sizes()), prop::option::of(times())),
        site in prop::collection::vec(prop::option::of("[a-z]{1,5}").prop_map(|name| Site { name }), 0..4),
        node in prop::collection::vec(nodes(), 0..6),
        link in prop::collection::vec(links(), 0..6),
        ecmp in prop::collection::vec([names(), names(), names()].prop_map(|[switch, to, via]| {
            Ecmp { switch: Some(switch), to: Some(to), via: Some(via) }
        }), 0..3),
    ) -> TopologyFile {
        let parameters = BTreeMap::new();
        TopologyFile { description, parameters, defaults: Defaults { rate, delay, buffer, switch_delay }, site, node, link, ecmp }
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back_the_same(file in files()) {
        let text = file.to_toml();
        let read = TopologyDocument::parse("t.toml", &text);
        prop_assert!(read.is_ok(), "{}\n{}", text, read.unwrap_err());
        let again = read.unwrap();
        prop_assert_eq!(again.file(), &file);
    }

    /// Any part of the built-in file replaced by anything: an error with a place, or a network; never a panic.
    #[test]
    fn no_text_panics(start in 0_usize..4000, length in 0_usize..40, junk in "[-a-z0-9=.\\[\\]{}\"',#\n ]{0,20}") {
        let starter = crate::TOPOLOGY_STARTER;
        let (from, to) = (start.min(starter.len()), (start + length).min(starter.len()));
        let text = [&starter[..from], &junk, &starter[to..]].concat();
        let built = TopologyDocument::parse("t.toml", &text).and_then(|topology| topology.network(&BASE));
        if let Err(error) = built {
            prop_assert!(error.to_string().starts_with("t.toml:"), "{}", error);
        }
    }
}
