//! Tests of HPCC's files.

use super::*;
use farspan_fabric::Network;
use farspan_scenario::topology::{Base, Defaults, TopologyDocument};
use farspan_scenario::{Request, Resolved};
use farspan_units::PortId;
use farspan_world::World;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// The switch has the lowest id, as in the published file; below the counted lines stand others.
const STAR: &str = "5 1 4\n0\n0 1 100Gbps 0.001ms 0\n0 2 100Gbps 0.001ms 0\n0 3 100Gbps 0.001ms 0\n\
    4 0 25Gbps 2us 0\n0 9 100Gbps 0.001ms 0\n\nFirst line: total node #, switch node #, link #\n";
const FLOWS: &str = "3\n2 1 3 100 200000 2\n3 4 3 200 5000 2.000001\n1 3 3 100 1 2.0000010004\n7 7 7\n";
/// A server of two GPUs and an NVSwitch, and two of their own.
const SIMAI: &str = "7 2 1 2 7 A100\n4 5 6\n0 4 2880Gbps 0.000025ms 0\n0 5 100Gbps 0.0005ms 0\n1 4 2880Gbps 0.000025ms 0\n\
    1 6 100Gbps 0.0005ms 0\n5 6 400Gbps 0.0005ms 0.01\n2 5 100Gbps 0.0005ms 0\n3 6 100Gbps 0.0005ms 0\n";
const CONFIG: &str = "ENABLE_QCN 1 {0: disable}\nPACKET_PAYLOAD_SIZE 1000\nSIMULATOR_STOP_TIME 4.00\nCC_MODE 3\n\
    RATE_AI 50Mb/s\nU_TARGET 0.95\nMI_THRESH 0\nINT_MULTI 1\nACK_HIGH_PRIO 0\nLINK_DOWN 0 0 0\nGLOBAL_T 1\n\
    KMAX_MAP 2 25000000000 400 100000000000 1600\nKMIN_MAP 2 25000000000 100 100000000000 400\n\
    PMAX_MAP 2 25000000000 0.2 100000000000 0.2\nBUFFER_SIZE 32\nEWMA_GAIN 0.0625\n";

fn source<'a>(name: &'a str, text: &'a str) -> HpccText<'a> {
    HpccText { name, text }
}

fn import(topology: &str, flows: &str, config: Option<&str>) -> Result<ImportedRun, HpccError> {
    parse(source("t.txt", topology), source("f.txt", flows), config.map(|config| source("c.txt", config)))
}

/// The message of an error.
#[track_caller]
fn refused(topology: &str, flows: &str, config: Option<&str>) -> String {
    import(topology, flows, config).expect_err("it is wrong").to_string()
}

fn network(imported: &ImportedRun) -> Network {
    let document = TopologyDocument::parse("t.toml", &imported.topology.to_toml()).unwrap();
    let Defaults { rate, delay, .. } = document.file().defaults.clone();
    let base = Base { rate: rate.unwrap(), delay: delay.unwrap(), switch_delay: Duration::ZERO };
    document.network(&base).unwrap()
}

/// A folder of its own with the three files, and the scenario resolved there.
fn resolved(imported: &ImportedRun) -> Resolved {
    built(imported, None).0
}

/// As [`resolved`], with the world of this seed.
fn built(imported: &ImportedRun, seed: Option<u64>) -> (Resolved, World) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder: PathBuf = std::env::temp_dir().join(format!("farspan-hpcc-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("t.toml"), imported.topology.to_toml()).unwrap();
    farspan_workload::list::save(&folder.join("f.csv"), &imported.rows).unwrap();
    let scenario = folder.join("s.toml");
    let text = imported.scenario("t.toml", "f.csv");
    std::fs::write(&scenario, &text).unwrap();
    let resolved = Request { seed, ..Request::new(scenario.to_str().unwrap()) }
        .resolve()
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let world = World::build(&resolved).unwrap_or_else(|error| panic!("{error}\n{text}"));
    std::fs::remove_dir_all(&folder).unwrap();
    (resolved, world)
}

#[test]
fn hosts_are_numbered_by_their_ids_and_keep_them_as_names() {
    let imported = import(STAR, FLOWS, None).unwrap();
    assert_eq!((imported.hosts, imported.switches), (4, 1));
    let network = network(&imported);
    let links: Vec<_> = (0..)
        .zip(&network.links)
        .map(|(port, link)| (network.port_name(PortId(port)), link.rate.to_string(), link.delay.to_string()))
        .collect();
    let link = |from: u32, to: u32, rate: &str, delay: &str| {
        (format!("node{from}->node{to}#0"), rate.to_owned(), delay.to_owned())
    };
    for (host, rate, delay) in [(1, "100Gbps", "1us"), (3, "100Gbps", "1us"), (4, "25Gbps", "2us")] {
        assert!(links.contains(&link(host, 0, rate, delay)), "{links:?}");
        assert!(links.contains(&link(0, host, rate, delay)), "{links:?}");
    }
    assert_eq!(links.len(), 8);
    assert!(imported.warnings.contains(
        &"t.txt:7: 2 lines from here on are ignored, as in the simulator: the file counts 4 links".to_owned()
    ));
}

#[test]
fn flows_go_between_these_hosts_and_count_from_the_second_second() {
    let imported = import(STAR, FLOWS, None).unwrap();
    let rows: Vec<_> =
        imported.rows.iter().map(|r| (r.src, r.dst, r.size_bytes, r.start_ns, r.tag.as_deref())).collect();
    assert_eq!(rows, [(1, 0, 200_000, 0, None), (2, 3, 5000, 1000, Some("dport200")), (0, 2, 1, 1000, None)]);
    assert_eq!(imported.zero, Duration::from_ms(2000));
    assert!(
        imported.warnings.iter().any(|w| w.starts_with("f.txt:4: the start is not a whole number of ns"))
    );
    assert!(imported.warnings.iter().any(|w| w.starts_with("f.txt:5: 1 lines from here on are ignored")));
    let early = import(STAR, "1\n2 1 3 100 200000 0.5\n", None).unwrap();
    assert_eq!((early.zero, early.rows[0].start_ns), (Duration::ZERO, 500_000_000));
}

#[test]
fn simai_s_header_counts_nvswitches_which_are_left_out() {
    let imported = import(SIMAI, "1\n0 2 3 100 1000 2\n", None).unwrap();
    assert_eq!((imported.hosts, imported.switches, network(&imported).links.len()), (4, 2, 10));
    assert!(
        imported.warnings.iter().any(|w| w.starts_with("t.txt:3: NVSwitches")),
        "{:?}",
        imported.warnings
    );
    let text = imported.scenario("t.toml", "f.csv");
    assert!(text.contains("header = \"52B\""), "{text}");
    assert!(text.contains("link = \"node5->node6#0\"\nprobability = 0.01\nboth_directions = true"), "{text}");
    resolved(&imported);
    let message = refused(SIMAI, "1\n0 1 3 100 1000 2\n", None);
    assert!(message.starts_with("f.txt:2: an NVSwitch joins hosts 0 and 1"), "{message}");
}

#[test]
fn what_a_configuration_says_is_in_the_scenario() {
    let imported = import(STAR, FLOWS, Some(CONFIG)).unwrap();
    let scenario = resolved(&imported).to_toml();
    for said in [
        "payload = \"1000B\"",
        "header = \"48B\"",
        "ack_priority = false",
        "eta = 0.95",
        "max_stage = 0",
        "additive = 0.0005",
        "quantised = true",
        "telemetry = \"int\"",
        "time = \"2s\"",
        "jitter = \"0ns\"",
        "size = \"32MiB\"",
        "alpha = 0.125",
        "reserve = \"4KiB\"",
        "links = \"all\"",
        "resume_offset = \"3KiB\"",
        "headroom = \"auto\"",
    ] {
        assert!(scenario.contains(said), "{said}: {scenario}");
    }
    let said = ["c.txt:11: GLOBAL_T is ignored: in farspan each flow has the base RTT of its own path"];
    assert_eq!(of_config(&imported), said);
}

/// The warnings about the configuration.
fn of_config(imported: &ImportedRun) -> Vec<&str> {
    imported.warnings.iter().filter(|w| w.starts_with("c.txt")).map(String::as_str).collect()
}

/// A scenario's text, which must resolve, and the warnings about its configuration.
fn scenario_of(config: &str) -> (String, Vec<String>) {
    let imported = import(STAR, FLOWS, Some(config)).unwrap();
    resolved(&imported);
    (imported.scenario("t.toml", "f.csv"), of_config(&imported).into_iter().map(str::to_owned).collect())
}

#[test]
fn switches_have_the_simulator_s_buffer_and_pause_unless_they_may_drop() {
    let ports = |config: Option<&str>| {
        let imported = import(STAR, FLOWS, config).unwrap();
        resolved(&imported);
        let text = imported.scenario("t.toml", "f.csv");
        let from = text.find("[scheme.ports]\n").unwrap();
        text[from..]
            .lines()
            .skip(1)
            .take_while(|line| !line.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let pool = |size: &str| format!("pool = {{ size = \"{size}\", alpha = 0.125, reserve = \"4KiB\" }}");
    let pfc = "pfc = { links = \"all\", resume_offset = \"3KiB\" }".to_owned();
    assert_eq!(ports(None), [pool("16MiB"), pfc.clone()]);
    assert_eq!(ports(Some("BUFFER_SIZE 9\nENABLE_PFC 1\n")), [pool("9MiB"), pfc]);
    assert_eq!(ports(Some("ENABLE_PFC 0\n")), [pool("16MiB")]);
    let (_, warnings) = scenario_of("USE_DYNAMIC_PFC_THRESHOLD 0\n");
    assert_eq!(
        warnings,
        [
            "c.txt:1: USE_DYNAMIC_PFC_THRESHOLD is ignored: thresholds follow the free buffer, as in the simulator whatever the value",
            "c.txt:1: has no CC_MODE, which means DCQCN in the simulator: name a scheme"
        ]
    );
}

#[test]
fn ports_that_are_faster_than_hosts_are_told_of() {
    let told = |topology: &str| {
        let imported = import(topology, FLOWS, None).unwrap();
        imported.warnings.iter().filter(|w| w.contains("a port that is faster")).cloned().collect::<Vec<_>>()
    };
    assert!(told(STAR).is_empty());
    let fast = told(&STAR.replace("0 3 100Gbps", "0 3 400Gbps"));
    assert!(matches!(&fast[..], [one] if one.starts_with("t.txt:5: ")), "{fast:?}");
}

#[test]
fn marks_are_those_of_the_hosts_rate_in_bytes() {
    let dctcp = CONFIG.replace("CC_MODE 3", "CC_MODE 8");
    let (text, warnings) = scenario_of(&dctcp);
    let marks = "marking = \"red\"\nat = \"dequeue\"\n";
    let red = |min, max, most| {
        format!("{marks}red = {{ min_bytes = \"{min}\", max_bytes = \"{max}\", max_probability = {most} }}\n")
    };
    assert!(text.contains(&red("400000B", "1600000B", "0.2")), "{text}");
    assert!(text.contains("congestion = { name = \"dctcp\", gain = 0.0625 }"), "{text}");
    assert_eq!(
        warnings,
        [
            "c.txt:4: DCTCP: farspan cuts a window, the simulator a rate",
            "c.txt:11: GLOBAL_T is ignored: in farspan each flow has the base RTT of its own path",
            "c.txt:13: the thresholds of 100Gbps are also used for links of 25Gbps: in farspan all ports have one RED",
        ]
    );
    // Alike at both rates.
    let alike =
        dctcp.replace("25000000000 400", "25000000000 1600").replace("25000000000 100 ", "25000000000 400 ");
    assert_eq!(scenario_of(&alike).1.len(), 2);
    // Without a chance in between, a step.
    let (text, _) = scenario_of(&dctcp.replace("100000000000 0.2", "100000000000 0"));
    assert!(text.contains(&red("1600000B", "1600000B", "1")), "{text}");
    // HPCC does not look at them.
    assert!(!scenario_of(CONFIG).0.contains("marking"));
}

#[test]
fn dcqcn_and_timely_have_the_simulator_s_constants() {
    let keys = "ALPHA_RESUME_INTERVAL 1\nRATE_DECREASE_INTERVAL 4\nRP_TIMER 900\nFAST_RECOVERY_TIMES 1\nRATE_HAI 100Mb/s\n\
                HAS_WIN 1\nMIN_RATE 100Mb/s\nCLAMP_TARGET_RATE 0\nDCTCP_RATE_AI 1000Mb/s\n";
    let config = |mode: u64| {
        CONFIG.replace("CC_MODE 3", &format!("CC_MODE {mode}")).replace("GLOBAL_T 1\n", "") + keys
    };
    let (text, warnings) = scenario_of(&config(1));
    assert!(
        text.contains(
            "congestion = { name = \"dcqcn\", gain = 0.0625, alpha_timer = \"1us\", increase_timer = \"900us\", \
             cnp_interval = \"4us\", recoveries = 2, byte_counter = \"1000GB\", additive = 0.0005, hyper = 0.001, hyper_grows = false, window = true }"
        ),
        "{text}"
    );
    assert!(text.contains("max_probability = 0.2"), "{text}");
    assert!(
        matches!(&warnings[..], [alpha, marks, clamp] if alpha.starts_with("c.txt:4: DCQCN: alpha rises at each CNP")
            && marks.contains("links of 25Gbps") && clamp.starts_with("c.txt:23: CLAMP_TARGET_RATE is ignored")),
        "{warnings:?}"
    );
    assert!(scenario_of(&config(1).replace("HAS_WIN 1", "HAS_WIN 0")).0.contains("window = false"));

    let (text, warnings) = scenario_of(&config(7));
    let timely = "congestion = { name = \"timely\", t_low = \"50us\", t_high = \"500us\", delta = 0.0005 }";
    assert!(text.contains(timely), "{text}");
    assert_eq!(
        warnings,
        [
            "c.txt:4: TIMELY: farspan divides the slope by the base RTT, the simulator by 20us",
            "c.txt:20: RATE_HAI is ignored: in farspan each increase after the fifth is five RATE_AI",
            "c.txt:21: HAS_WIN 1 has no counterpart in farspan"
        ]
    );
    let (_, warnings) =
        scenario_of(&config(3).replace("HAS_WIN 1", "HAS_WIN 0").replace("MIN_RATE 100", "MIN_RATE 10"));
    assert_eq!(
        warnings,
        [
            "c.txt:21: HAS_WIN 0 has no counterpart in farspan",
            "c.txt:22: MIN_RATE is ignored: the lowest rate in farspan is 0.001 of the line rate"
        ]
    );
    let (_, warnings) = scenario_of(&config(8));
    assert_eq!(
        warnings.last().unwrap(),
        "c.txt:24: DCTCP_RATE_AI is ignored: in farspan the window grows by one packet per RTT"
    );
}

#[test]
fn every_control_of_the_simulator_gives_a_scheme() {
    for (mode, name) in
        [(1, "dcqcn"), (3, "hpcc"), (7, "timely"), (8, "dctcp"), (10, "hpcc"), (12, "fixed_window")]
    {
        let config = CONFIG.replace("CC_MODE 3", &format!("CC_MODE {mode}"));
        let imported = import(STAR, FLOWS, Some(&config)).unwrap();
        let text = imported.scenario("t.toml", "f.csv");
        assert!(text.contains(&format!("[scheme]\nname = \"{name}\"")), "{mode}: {text}");
        resolved(&imported);
    }
}

#[test]
fn failing_and_lossy_links_are_faults() {
    let config = "LINK_DOWN 150 3 0\nERROR_RATE_PER_LINK 0.001\n";
    let imported = import(STAR, FLOWS, Some(config)).unwrap();
    let text = imported.scenario("t.toml", "f.csv");
    assert!(text.contains("kind = \"loss\"\nlink = \"*\"\nprobability = 0.001\npackets = \"all\""), "{text}");
    assert!(text.contains("kind = \"link_down\"\nlink = \"node3->node0#0\"\nat = \"150us\""), "{text}");
    resolved(&imported);
    let early = import(STAR, "1\n2 1 3 100 200000 0.5\n", Some(config)).unwrap();
    assert!(early.scenario("t.toml", "f.csv").contains("at = \"2.00015s\""));
}

#[test]
fn one_byte_flows_are_no_older_flows_if_a_port_says_so() {
    let flows = "2\n2 1 3 200 1 2\n3 4 3 100 1 2.5\n";
    assert_eq!(import(STAR, flows, None).unwrap().rows.len(), 2);
}

#[test]
fn a_stop_beyond_the_longest_run_is_cut_and_told() {
    for (stop, here, is_told) in [
        ("4.00", "2s", false),
        ("283", "281s", false),
        ("284", "281s", true),
        ("40000000000000.00", "281s", true),
    ] {
        let (text, warnings) = scenario_of(&CONFIG.replace("4.00", stop));
        assert!(text.contains(&format!("[stop]\ntime = \"{here}\"")), "{stop}: {text}");
        let told = warnings.iter().any(|w| w.starts_with("c.txt:3: SIMULATOR_STOP_TIME is beyond"));
        assert_eq!(told, is_told, "{stop}: {warnings:?}");
    }
}

#[test]
fn what_does_not_count_here_is_named() {
    let config = "MULTI_RATE 1\nHAS_WIN 1\nCC_MOD 3\nLINK_DELAY 1us\nRP_TIMER 900\n";
    let warnings = import(STAR, FLOWS, Some(config)).unwrap().warnings;
    let of_config: Vec<_> = warnings.iter().filter(|w| w.starts_with("c.txt")).map(String::as_str).collect();
    assert_eq!(
        of_config,
        [
            "c.txt:1: MULTI_RATE has no counterpart in farspan",
            "c.txt:1: has no CC_MODE, which means DCQCN in the simulator: name a scheme",
            "c.txt:3: \"CC_MOD\" is not a known key, and was left out; did you mean \"CC_MODE\"?"
        ]
    );
}

#[test]
fn a_wrong_topology_names_line_problem_and_cure() {
    let with = |from: &str, to: &str| refused(&STAR.replace(from, to), FLOWS, None);
    for (message, said) in [
        (refused("", FLOWS, None), "t.txt: has no lines; write \"nodes switches links\""),
        (with("5 1 4\n", "5 1\n"), "t.txt:1: 2 words, where 3, 4 or 6"),
        (with("5 1 4\n", "5 x 4\n"), "t.txt:1: switches: \"x\" is not a whole number"),
        (with("5 1 4\n", "5 0 4\n"), "t.txt:1: no switches, so that hosts would pass on"),
        (with("5 1 4\n", "5 1 x 4\n"), "t.txt:1: tors: \"x\" is not a whole number"),
        (with("5 1 4\n", "5 1 1 4 9 1\n"), "t.txt:1: the rate 9bps is out of range"),
        (with("5 1 4\n", "1 1 4\n"), "t.txt:1: nodes 1 is out of range"),
        (with("5 1 4\n", "5 5 4\n"), "t.txt:1: 5 nodes, of which 5 are switches"),
        (with("5 1 4\n0\n", "5 1 4\n5\n"), "t.txt:2: the id of a switch 5 is out of range"),
        (with("5 1 4\n0\n", "5 1 4\n0 1\n"), "t.txt:2: \"1\" comes after the ids of all 1 switches"),
        (with("5 1 4\n0\n", "5 2 4\n0 0\n"), "t.txt:2: switch 0 is listed twice"),
        (with("0 1 100Gbps 0.001ms 0\n", "0 1 100Gbps 0.001ms\n"), "t.txt:3: 4 words, where a link has 5"),
        (with("0 1 100Gbps", "0 1 100Gib"), "t.txt:3: \"100Gib\" is not a rate; write a rate"),
        (with("0 2 100Gbps 0.001ms", "0 2 100Gbps 1min"), "t.txt:4: \"1min\" is not a time; write a time"),
        (with("0 3 100Gbps 0.001ms 0", "0 3 100Gbps 0.001ms 1"), "t.txt:5: the error rate \"1\""),
        (with("0 2 100", "2 2 100"), "t.txt:4: a link from node 2 to itself"),
        (with("0 2 100", "1 0 100"), "t.txt:4: nodes 0 and 1 have a link on line 3"),
        (with("0 2 100", "2 1 100"), "t.txt:4: hosts 2 and 1 are joined without a switch"),
        (with("5 1 4\n", "6 1 4\n"), "t.txt: node 5 has no link; add one"),
        (
            refused("4 1 3\n0\n1 0 1Gbps 1us 0\n2 0 1Gbps 1us 0\n", FLOWS, None),
            "t.txt:1: 3 links are counted, and 2 lines follow",
        ),
        (
            refused("4 2 3\n0 3\n0 1 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 3 1Gbps 1us 0\n", FLOWS, None),
            "t.txt:4: host 1 has a second link (the first: line 3)",
        ),
        (
            refused(
                "6 3 4\n0 3 5\n0 1 1Gbps 1us 0\n4 3 1Gbps 1us 0\n2 3 1Gbps 1us 0\n5 3 1Gbps 1us 0\n",
                FLOWS,
                None,
            ),
            "t.txt: there is no path from switch 0 to node 2",
        ),
    ] {
        assert!(message.starts_with(said), "{message}");
    }
}

#[test]
fn a_wrong_list_of_flows_names_line_problem_and_cure() {
    let with = |from: &str, to: &str| refused(STAR, &FLOWS.replace(from, to), None);
    for (message, said) in [
        (refused(STAR, "\n", None), "f.txt: has no lines; begin with the number of flows"),
        (with("3\n", "3 2\n"), "f.txt:1: 2 words"),
        (with("3\n", "0\n"), "f.txt:1: the number of flows 0 is out of range"),
        (with("3\n2 1", "9\n2 1"), "f.txt:5: 3 words, where a flow has 6"),
        (refused(STAR, "2\n2 1 3 100 5 2\n", None), "f.txt:1: 2 flows are counted, and 1 lines follow"),
        (with("2 1 3", "0 1 3"), "f.txt:2: node 0 is a switch; give the id of a host"),
        (with("2 1 3", "5 1 3"), "f.txt:2: host 5 is out of range"),
        (with("2 1 3", "1 1 3"), "f.txt:2: the flow goes from host 1 to itself"),
        (
            refused(STAR, "2\n2 1 3 1000 2 9\n3 4 3 7 2.5 9.0\n", None),
            "f.txt:2: lines look like \"src dst pg packets start_s end_s\" of the older simulator",
        ),
        (with("200000 2", "0 2"), "f.txt:2: the size 0 is out of range"),
        (with("200000 2", "200000 -1"), "f.txt:2: \"-1\" is not a start"),
        (with("200000 2", "200000 3"), "f.txt:3: starts before the flow above it"),
        (with("200000 2", "200000 1e9"), "f.txt:2: \"1e9\" is not a start; write seconds up to"),
    ] {
        assert!(message.starts_with(said), "{message}");
    }
}

#[test]
fn a_wrong_configuration_names_line_problem_and_cure() {
    let with = |from: &str, to: &str| refused(STAR, FLOWS, Some(&CONFIG.replace(from, to)));
    for (message, said) in [
        (with("CC_MODE 3", "CC_MODE 5"), "c.txt:4: CC_MODE 5 is not a control; write 1 (DCQCN)"),
        (with("CC_MODE 3", "CC_MODE"), "c.txt:4: CC_MODE has 0 values; give it one value"),
        (with("CC_MODE 3", "BUFFER_SIZE 3"), "c.txt:15: BUFFER_SIZE was given on line 4"),
        (with("SIZE 1000", "SIZE 0"), "c.txt:2: PACKET_PAYLOAD_SIZE 0 is out of range"),
        (with("4.00", "0"), "c.txt:3: \"0\" is not a time"),
        (
            with("BUFFER_SIZE 32", "BUFFER_SIZE 0"),
            "c.txt:15: BUFFER_SIZE 0 is out of range; write a whole number from 1",
        ),
        (
            with("GLOBAL_T 1", "ENABLE_PFC 2"),
            "c.txt:11: ENABLE_PFC 2 is out of range; write a whole number from 0 to 1",
        ),
        (with("GLOBAL_T 1", "HAS_WIN x"), "c.txt:11: HAS_WIN: \"x\" is not a whole number"),
        (
            with("GLOBAL_T 1", "MIN_RATE 1Tb"),
            "c.txt:11: MIN_RATE \"1Tb\" is not a rate up to 100Gbps; write a rate",
        ),
        (with("50Mb/s", "500Gb/s"), "c.txt:5: RATE_AI \"500Gb/s\" is not a rate up to 100Gbps"),
        (with("0.95", "0.01"), "c.txt:6: U_TARGET \"0.01\" is out of range"),
        (with("DOWN 0 0 0", "DOWN 7 1 2"), "c.txt:10: there is no link between nodes 1 and 2"),
        (with("DOWN 0 0 0", "DOWN 7 1"), "c.txt:10: LINK_DOWN has 2 values"),
    ] {
        assert!(message.starts_with(said), "{message}");
    }
    let dctcp = CONFIG.replace("CC_MODE 3", "CC_MODE 8");
    let with = |from: &str, to: &str| refused(STAR, FLOWS, Some(&dctcp.replace(from, to)));
    for (message, said) in [
        (
            with("100000000000 400", "50000000000 400"),
            "c.txt:13: KMIN_MAP has no value for links of 100Gbps; add a pair",
        ),
        (with("KMAX_MAP 2", "KMAX_MAP 3"), "c.txt:12: KMAX_MAP has 5 values, but its count differs"),
        (with("100000000000 1600", "100000000000 16"), "c.txt:13: KMIN 400 is above KMAX 16"),
        (
            with("100000000000 0.2", "100000000000 2"),
            "c.txt:14: PMAX 2 is not a probability; write numbers from 0 to 1",
        ),
        (
            with("PMAX_MAP 2 25000000000 0.2 100000000000 0.2\n", ""),
            "c.txt:13: one of KMIN_MAP, KMAX_MAP, PMAX_MAP is missing; write all three, or none",
        ),
        (
            with("EWMA_GAIN 0.0625", "EWMA_GAIN 0"),
            "c.txt:16: EWMA_GAIN \"0\" never learns; write a number above 0",
        ),
    ] {
        assert!(message.starts_with(said), "{message}");
    }
    let dcqcn = CONFIG.replace("CC_MODE 3", "CC_MODE 1");
    for (key, said) in [
        ("RP_TIMER 0", "c.txt:11: RP_TIMER \"0\" is not a time; write microseconds above 0"),
        (
            "RP_TIMER 2000000",
            "c.txt:11: RP_TIMER \"2000000\" is not a time; write microseconds above 0, up to 1000000",
        ),
        ("FAST_RECOVERY_TIMES 1000", "c.txt:11: FAST_RECOVERY_TIMES 1000 is out of range"),
        ("RATE_HAI fast", "c.txt:11: RATE_HAI \"fast\" is not a rate up to 100Gbps"),
    ] {
        let config = dcqcn.replace("GLOBAL_T 1", key);
        let message = refused(STAR, FLOWS, Some(&config));
        assert!(message.starts_with(said), "{message}");
    }
}

/// Hosts of the simulator ask for the packet that is due, and are sent everything from there on again.
#[test]
fn a_lost_packet_of_an_imported_run_costs_a_round_trip() {
    const BASE_RTT: Duration = Duration::from_us(4);
    let run = |seed: u64, error_rate: &str| {
        let topology = format!("3 1 2\n2\n0 2 100Gbps 1us {error_rate}\n1 2 100Gbps 1us 0\n");
        let imported =
            import(&topology, "1\n0 1 3 100 1000000 0\n", Some("CC_MODE 3\nRATE_AI 50Mb/s\n")).unwrap();
        let (resolved, world) = built(&imported, Some(seed));
        let results =
            farspan_world::run(&resolved, &world, farspan_world::EngineKind::Windowed, &mut |_| true);
        (results.flows[0].outcome.fct().unwrap(), results.summary.recovery)
    };
    let (lossless, _) = run(1, "0");
    let mut nacks = 0;
    for seed in 1..=20 {
        let (fct, recovery) = run(seed, "0.001");
        assert_eq!(recovery.timeouts, 0, "seed {seed}");
        // The base RTT, and a packet or two on the way.
        let most = BASE_RTT.mul_f64(1.1 * recovery.nacks as f64) + Duration::from_ns(1);
        assert!(fct.saturating_sub(lossless) <= most, "seed {seed}: {fct}, {lossless}, {recovery:?}");
        nacks += recovery.nacks;
    }
    assert!(nacks >= 10, "{nacks}: packets were lost");
}
