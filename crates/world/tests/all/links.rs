//! Changes of links by pattern, and parameters of topology files: they do what the file would do itself.

use farspan_scenario::{Request, ScenarioError};
use farspan_world::{EngineKind, World};
use proptest::prelude::*;
use std::path::Path;

/// Three sites in a triangle, each a switch with two hosts; a link says what its line is replaced by.
const FILE: &str = "site = [{ name = 'west' }, { name = 'east' }, { name = 'north' }]
node = [
  { name = 'host[0..1]', kind = 'host', site = 'west' },
  { name = 'host[2..3]', kind = 'host', site = 'east' },
  { name = 'host[4..5]', kind = 'host', site = 'north' },
  { name = 'west-switch', kind = 'switch', site = 'west', switch_delay = '300ns' },
  { name = 'east-switch', kind = 'switch', site = 'east' },
  { name = 'north-switch', kind = 'switch', site = 'north' },
]
link = [
  { a = 'host[0..1]', b = 'west-switch' },
  { a = 'host[2..3]', b = 'east-switch' },
  { a = 'host[4..5]', b = 'north-switch' },
  { a = 'west-switch', b = 'east-switch', count = 2, delay = '50us' },
  { a = 'west-switch', b = 'north-switch', delay = '20us' },
  { a = 'east-switch', b = 'north-switch', delay = '30us' },
]
";

/// Patterns, and which links of the file they fit.
const PATTERNS: [(&str, &[usize]); 6] = [
    ("west-*->east-*", &[3]),
    ("*->north-switch#*", &[2, 4, 5]),
    ("host*", &[0, 1, 2]),
    ("*-switch->*-switch#?", &[3, 4, 5]),
    ("north-switch->west-switch#0", &[4]),
    ("*", &[0, 1, 2, 3, 4, 5]),
];

const SCENARIO: &str = "[topology]\nkind = 'from_file'\nfile = 'net.toml'\n[scheme]\nname = 'dctcp'\n\
                        [[workload]]\nkind = 'permutation'\nflow_size = '64KiB'\n";

/// The file with values of its own at some links, later ones over earlier ones.
fn file(own: &[(usize, &str, String)]) -> String {
    let mut at = 0;
    let line = |line: &str| {
        if !line.starts_with("  { a =") {
            return line.to_owned();
        }
        let own: Vec<_> = own.iter().filter(|(link, ..)| *link == at).collect();
        at += 1;
        let mut line = line.to_owned();
        for key in ["delay", "rate", "buffer"] {
            let Some((.., value)) = own.iter().rev().find(|(_, known, _)| *known == key) else { continue };
            if let Some((before, _)) = line.split_once(&format!(", {key} = ")) {
                line = format!("{before} }},");
            }
            line = line.replace(" },", &format!(", {key} = '{value}' }},"));
        }
        line
    };
    FILE.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn world(folder: &Path, scenario: &str, topology: &str, set: &[String]) -> Result<World, ScenarioError> {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("net.toml"), topology).unwrap();
    let path = folder.join("run.toml");
    std::fs::write(&path, scenario).unwrap();
    let resolved = Request { set: set.to_vec(), ..Request::new(&path.display().to_string()) }.resolve();
    // As `scenario.toml` of a run has it.
    let again = resolved.and_then(|resolved| {
        std::fs::write(&path, resolved.to_toml()).unwrap();
        Request::new(&path.display().to_string()).resolve()
    });
    let built = again.and_then(|again| World::build(&again));
    std::fs::remove_dir_all(folder).unwrap();
    built
}

fn folder(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("farspan-world-links-{name}-{}", std::process::id()))
}

fn digest(world: &World) -> (u64, u64) {
    let outcome = farspan_sim::run(&world.spec, EngineKind::Windowed, &mut |_| true);
    (outcome.digest, outcome.packet_digest)
}

fn values() -> impl Strategy<Value = (&'static str, String)> {
    prop_oneof![
        (1_u32..200).prop_map(|us| ("delay", format!("{us}us"))),
        (1_u32..200).prop_map(|gbps| ("rate", format!("{gbps}Gbps"))),
        (16_u32..4096).prop_map(|kib| ("buffer", format!("{kib}KiB"))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Patterns that are set are what the file would say of these links: of several that fit, the last one.
    #[test]
    fn a_pattern_is_what_the_file_would_say(
        chosen in prop::sample::subsequence(PATTERNS.to_vec(), 1..4).prop_shuffle(),
        values in prop::collection::vec(values(), 3),
    ) {
        let changes = || chosen.iter().zip(&values);
        let set: Vec<String> = changes()
            .map(|((pattern, _), (key, value))| format!("topology.link[\"{pattern}\"].{key}={value}"))
            .collect();
        let own: Vec<_> = changes()
            .flat_map(|((_, links), (key, value))| links.iter().map(move |link| (*link, *key, value.clone())))
            .collect();
        let changed = world(&folder("set"), SCENARIO, FILE, &set).unwrap_or_else(|error| panic!("{error}"));
        let written = world(&folder("set"), SCENARIO, &file(&own), &[]).unwrap_or_else(|error| panic!("{error}"));
        prop_assert_eq!(&changed.spec.network, &written.spec.network);
        prop_assert_eq!(digest(&changed), digest(&written));
    }
}

#[test]
fn a_parameter_is_what_the_file_would_say() {
    let named = FILE.replace("'20us'", "'$wan'").replace("'30us'", "'$wan'");
    let with = |value: &str| format!("parameters = {{ wan = '{value}' }}\n{named}");
    let of = |topology: &str, set: &[&str]| {
        let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
        digest(
            &world(&folder("parameter"), SCENARIO, topology, &set).unwrap_or_else(|error| panic!("{error}")),
        )
    };
    let plain = of(&FILE.replace("'20us'", "'7us'").replace("'30us'", "'7us'"), &[]);
    assert_eq!(of(&with("7us"), &[]), plain);
    assert_eq!(of(&with("90us"), &["topology.parameters.wan=7us"]), plain);
    assert_ne!(of(&with("90us"), &[]), plain);
}

#[test]
fn links_of_generated_networks_change_too_and_no_others_do() {
    let star = "[topology]\nkind = 'star'\nhosts = 4\nlink_rate = '10Gbps'\nswitch_delay = '500ns'\n\
                [[workload]]\nkind = 'permutation'\nflow_size = '4KiB'\n";
    let set = ["topology.link['host0->*'].delay=3us", "topology.link['tor0->host1#0'].rate=1Gbps"];
    let set = [&set[..], &["topology.link['host2->tor0#0'].buffer=64KiB"]].concat();
    let set: Vec<String> = set.into_iter().map(str::to_owned).collect();
    let world = world(&folder("star"), star, FILE, &set).unwrap();
    let network = &world.spec.network;
    let of = |name: &str| {
        let port = network.port_named(name).unwrap();
        let link = network.links[port.index()];
        format!("{} {} {}", link.delay, link.rate, world.spec.port(port).buffer)
    };
    assert_eq!([of("host0->tor0#0"), of("tor0->host0#0")], ["3.5us 10Gbps 1MiB", "3us 10Gbps 1MiB"]);
    assert_eq!([of("host1->tor0#0"), of("tor0->host1#0")], ["1.5us 1Gbps 1MiB", "1us 1Gbps 1MiB"]);
    assert_eq!(of("tor0->host2#0"), "1us 10Gbps 64KiB");
    assert_eq!([of("host3->tor0#0"), of("tor0->host3#0")], ["1.5us 10Gbps 1MiB", "1us 10Gbps 1MiB"]);
}

#[test]
fn links_between_sites_take_a_delay_of_their_own_beside_the_rtt() {
    let text = "[topology]\nkind = 'dumbbell'\ntwo_sites = true\nhosts = 2\n[[workload]]\nkind = 'permutation'\nflow_size = '4KiB'\n";
    let of = |set: &[&str]| {
        let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
        world(&folder("rtt"), text, FILE, &set).unwrap()
    };
    let plain = of(&[]);
    let wan = plain.spec.network.port_named("tor0->tor1#0").unwrap();
    let delay = plain.spec.network.links[wan.index()].delay;
    let longer = of(&["topology.wan.rtt=9ms", &format!("topology.link['tor0->tor1#0'].delay={delay}")]);
    assert_eq!((plain.inter, digest(&plain)), (longer.inter, digest(&longer)));
}

#[test]
fn patterns_that_fit_nothing_or_hold_no_packet_are_refused() {
    let text = "[topology]\nkind = 'star'\n[[workload]]\nkind = 'permutation'\nflow_size = '4KiB'\n";
    for (scenario, set, words) in [
        (
            text,
            "topology.link['hots0->*'].delay=1us",
            "topology.link[\"hots0->*\"]: no link fits \"hots0->*\"; did you mean \"host0\"?",
        ),
        (
            text,
            "topology.link['*'].buffer=1KiB",
            "topology.link[\"*\"].buffer: a buffer of 1KiB is too small for a packet of 4160B",
        ),
        (
            SCENARIO,
            "topology.link['*'].buffer=1KiB",
            "topology.link[\"*\"].buffer: a buffer of 1KiB is too small for a packet",
        ),
    ] {
        let error =
            world(&folder("refused"), scenario, FILE, &[set.to_owned()]).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}\nhas no {words}");
    }
}

#[test]
fn a_line_says_how_many_links_a_pattern_fits() {
    let set = [
        "topology.link['*->west-switch#*'].delay=3us",
        "topology.link['east-*->west-switch#0'].rate=1Gbps",
        "topology.link['host*'].rate=1Gbps",
    ];
    let path = folder("lines");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("net.toml"), FILE).unwrap();
    std::fs::write(path.join("run.toml"), SCENARIO).unwrap();
    let request = Request {
        set: set.map(str::to_owned).into(),
        ..Request::new(&path.join("run.toml").display().to_string())
    };
    let resolved = request.resolve().unwrap();
    let world = World::build(&resolved).unwrap();
    std::fs::remove_dir_all(&path).unwrap();
    let links = &resolved.scenario().topology.link;
    assert_eq!(
        links.lines(&world.spec.network).unwrap(),
        [
            "topology.link[\"*->west-switch#*\"]: 5 links, both ways: east-switch->west-switch#0..1, host0->west-switch#0, host1->west-switch#0, north-switch->west-switch#0",
            "topology.link[\"east-*->west-switch#0\"]: 1 link, both ways: east-switch->west-switch#0",
            "topology.link[\"host*\"]: 6 links, both ways: host0->west-switch#0, host1->west-switch#0, host2->east-switch#0, host3->east-switch#0, ...",
        ]
    );
    assert_eq!(links.ports(&world.spec.network).unwrap()[1].len(), 2);
}
