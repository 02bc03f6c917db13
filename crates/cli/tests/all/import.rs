//! `farspan import`: files of other tools, and runs of what they become.

use crate::common::*;
use serde_json::Value;

const MATRIX: &str = "Nodes 16\nConnections 3\nTriggers 1\n\
    0->5 id 1 start 0 size 20000 send_done_trigger 1\n\
    1->5 id 2 start 1000000 size 3000000000 send_done_trigger 1\n\
    5->9 id 3 trigger 1 size 40000 prio 1\n\
    trigger id 1 barrier count 2\n";

#[test]
fn an_imported_matrix_is_a_list_on_standard_output_or_in_a_file() {
    let folder = Folder::new("import");
    let matrix = folder.path("example.cm");
    std::fs::write(&matrix, MATRIX).unwrap();
    let output = farspan(&["import", "cm", &matrix, "--time-unit", "us"]);
    assert!(output.status.success());
    let head = "src,dst,size_bytes,start_ns,tag,after\n0,5,20000,0,,\n";
    assert_eq!(stdout(&output), format!("{head}1,5,3000000000,1000000000,,\n5,9,40000,0,,0 1\n"));
    let warnings = stderr(&output);
    assert!(warnings.contains("example.cm:6: prio, given by 1 flows, is ignored"), "{warnings}");
    assert!(warnings.contains("example.cm:5: the largest start is 1 s"), "{warnings}");

    let list = folder.path("list.parquet");
    let output = farspan(&["import", "cm", &matrix, "--time-unit", "ps", "-o", &list]);
    assert!(stdout(&output).starts_with(&format!("wrote {list}: 3 flows, 1 trigger, for 16 hosts; next")));
    assert!(
        stdout(&output).contains("constants = \"uno/permutation\""),
        "whose constants hold under `artifact`"
    );
    let scenario = folder.path("run.toml");
    let text = "[topology]\nkind = 'star'\nhosts = 16\n[stop]\ntime = '100us'\n\
        [[workload]]\nkind = 'flows'\nfile = 'list.parquet'\n";
    std::fs::write(&scenario, text).unwrap();
    let output = farspan(&["run", &scenario, "--quiet", "--json"]);
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["flows"], serde_json::json!({ "started": 2, "finished": 1, "not_started": 1 }));
    assert!(stderr(&output).contains("1 flows never started"), "{}", stderr(&output));
}

#[test]
fn a_matrix_with_an_error_leaves_no_list_behind() {
    let folder = Folder::new("import-bad");
    let (matrix, list) = (folder.path("bad.cm"), folder.path("list.csv"));
    std::fs::write(&matrix, MATRIX.replace("count 2", "count 3")).unwrap();
    let output = farspan(&["import", "cm", &matrix, "--time-unit", "us", "-o", &list]);
    assert_eq!(output.status.code(), Some(2));
    let place = format!("{matrix}:6: the flow would never start: trigger 1 needs 3 activations");
    assert!(stderr(&output).contains(&place), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1);
}

#[test]
fn an_imported_topology_is_one_that_a_scenario_takes() {
    let folder = Folder::new("import-topo");
    let (topo, file) = (folder.path("tree.topo"), folder.path("tree.toml"));
    let tier = |up: &str| format!("Downlink_speed_Gbps 100\n{up}Radix_Down 2\nDownlink_Latency_ns 1000\n");
    let text = format!("Nodes 8\nTiers 2\nPodsize 8\nTier 0\n{}Tier 1\n{}", tier("Radix_Up 2\n"), tier(""));
    std::fs::write(
        &topo,
        text.replace(
            "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 2",
            "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 4",
        ),
    )
    .unwrap();
    let output = farspan(&["import", "topo", &topo]);
    assert!(stdout(&output).contains("kind = \"leaf_spine\""), "{}", stderr(&output));
    let output = farspan(&["import", "topo", &topo, "-o", &file]);
    assert!(stdout(&output).starts_with(&format!("wrote {file}: 8 hosts, 6 switches; next")));
    let scenario = folder.path("run.toml");
    let text = "[topology]\nkind = 'from_file'\nfile = 'tree.toml'\n[[workload]]\nkind = 'permutation'\nflow_size = '1MiB'\n";
    std::fs::write(&scenario, text).unwrap();
    assert_eq!(document(&["run", &scenario, "--quiet", "--json"])["flows"]["finished"], 8);
    std::fs::write(&topo, "Nodes 8\nTiers 2\nPodsize 8\nTier 0\nRadix 2\n").unwrap();
    std::fs::remove_file(&file).unwrap();
    let output = farspan(&["import", "topo", &topo, "-o", &file]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("tree.topo:5: \"Radix\" is not a keyword of a tier"),
        "{}",
        stderr(&output)
    );
    assert!(!std::path::Path::new(&file).exists());
}

#[test]
fn a_published_topology_is_imported_as_two_sites() {
    let folder = Folder::new("import-sites");
    let (topo, file) = (folder.path("tree.topo"), folder.path("tree.toml"));
    let tier = |up: &str, down: u32| {
        format!("Downlink_speed_Gbps 100\n{up}Radix_Down {down}\nDownlink_Latency_ns 1000\n")
    };
    let (leaf, middle, top) = (tier("Radix_Up 2\n", 2), tier("Radix_Up 2\n", 2), tier("", 4));
    std::fs::write(
        &topo,
        format!("Nodes 16\nTiers 3\nPodsize 4\nTier 0\n{leaf}Tier 1\n{middle}Tier 2\n{top}"),
    )
    .unwrap();
    let output = farspan(&["import", "topo", &topo, "--wan-delay", "886500ns", "-o", &file]);
    assert!(
        stdout(&output).starts_with(&format!("wrote {file}: 32 hosts, 42 switches; next")),
        "{}",
        stderr(&output)
    );
    let scenario = folder.path("run.toml");
    let text = "[topology]\nkind = 'from_file'\nfile = 'tree.toml'\n[[workload]]\nkind = 'permutation'\nflow_size = '64KiB'\n";
    std::fs::write(&scenario, text).unwrap();
    let checked = stdout(&farspan(&["check", &scenario]));
    assert!(checked.contains("# pair between the sites: 9 links, base RTT 1.79204128ms"), "{checked}");
    let output = farspan(&["import", "topo", &topo, "--wan-links", "4"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--wan-delay"), "{}", stderr(&output));
}

#[test]
fn a_wrong_number_of_hosts_is_overridden() {
    let folder = Folder::new("import-nodes");
    let matrix = folder.path("wrong.cm");
    std::fs::write(&matrix, "Nodes 32\nConnections 1\n0->240 start 0 size 1000\n").unwrap();
    let import = ["import", "cm", &matrix, "--time-unit", "us"];
    let output = farspan(&import);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("give --nodes 241 or more"), "{}", stderr(&output));
    let output = farspan(&[&import[..], &["--nodes", "256"]].concat());
    assert!(stdout(&output).ends_with("0,240,1000,0,,\n"), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("wrong.cm:1: Nodes says 32, but --nodes says 256: --nodes is used"),
        "{}",
        stderr(&output)
    );
}

/// A star whose switch has the lowest id, as a topology of HPCC's simulator, and two flows on it.
const STAR: &str = "4 1 3\n0\n0 1 100Gbps 0.001ms 0\n0 2 100Gbps 0.001ms 0\n0 3 100Gbps 0.001ms 0\n";
const FLOWS: &str = "2\n2 1 3 100 200000 2\n3 1 3 200 5000 2.000001\n";

/// The two files in a folder, and the words that import them.
fn hpcc(folder: &Folder, topology: &str, flows: &str) -> [String; 4] {
    let files = [folder.path("topology.txt"), folder.path("flow.txt")];
    std::fs::write(&files[0], topology).unwrap();
    std::fs::write(&files[1], flows).unwrap();
    let [topology, flows] = files;
    ["import".to_owned(), "hpcc".to_owned(), topology, flows]
}

#[test]
fn files_of_hpcc_s_simulator_become_a_scenario_and_its_results_an_fct_file() {
    let folder = Folder::new("import-hpcc");
    let import = hpcc(&folder, STAR, FLOWS);
    let [config, scenario, out] = ["config.txt", "star.toml", "result"].map(|name| folder.path(name));
    std::fs::write(&config, "CC_MODE 3\nMI_THRESH 0\nBUFFER_SIZE 32\nSIMULATOR_STOP_TIME 2.1\n").unwrap();
    let import: Vec<_> = import.iter().map(String::as_str).collect();
    let output = farspan(&[&import[..], &["--config", &config, "-o", &scenario]].concat());
    assert!(
        stdout(&output).starts_with(&format!(
            "wrote {scenario}, star-topology.toml and star-flows.csv: 3 hosts, 1 switch, 2 flows; next"
        )),
        "{}",
        stderr(&output)
    );
    let text = std::fs::read_to_string(&scenario).unwrap();
    assert!(text.contains("pool = { size = \"32MiB\"") && text.contains("pfc = { links = \"all\""), "{text}");
    let document = document(&["run", &scenario, "--out", &out, "--quiet", "--json"]);
    assert_eq!((&document["scheme"], &document["flows"]["finished"]), (&"hpcc".into(), &2.into()));
    assert_eq!(document["pfc"]["deadlock"], false);
    assert_eq!(document["fct"]["tags"]["dport200"]["count"], 1);

    let topology = import[2];
    let lines = |more: &[&str]| {
        let output = farspan(&[&["export", "hpcc", &out][..], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let flow = |line: &str, n: usize| line.split(' ').nth(n).unwrap().to_owned();
    let there = lines(&["--topology", topology]);
    let [short, long] = there.lines().collect::<Vec<_>>()[..] else { panic!("two flows: {there}") };
    assert!(short.starts_with("0b000301 0b000101 10000 200 5000 2000001000 "), "{short}");
    assert!(long.starts_with("0b000201 0b000101 10000 100 200000 2000000000 "), "{long}");
    // Whole nanoseconds, as `flows.parquet` has them.
    let short_ns = document["fct"]["tags"]["dport200"]["max_us"].as_f64().unwrap() * 1000.0;
    assert_eq!(short_ns.floor(), flow(short, 6).parse::<f64>().unwrap());
    let here = lines(&["--zero", "0s"]);
    assert!(here.starts_with("0b000201 0b000001 10000 200 5000 1000 "), "{here}");
    let file = folder.path("fct.txt");
    assert_eq!(lines(&["--topology", topology, "-o", &file]), "");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), there);
}

/// The configuration that ASTRA-sim publishes, in short; SimAI's names a control.
const FORK: &str = "ENABLE_QCN 1\nUSE_DYNAMIC_PFC_THRESHOLD 1\nPACKET_PAYLOAD_SIZE 1000\nSIMULATOR_STOP_TIME 40000000000000.00\n\
    CC_MODE 12\nEWMA_GAIN 0.00390625\nRATE_AI 50Mb/s\nRATE_HAI 100Mb/s\nMIN_RATE 100Mb/s\nHAS_WIN 1\nGLOBAL_T 0\nVAR_WIN 1\n\
    FAST_REACT 1\nU_TARGET 0.95\nMI_THRESH 0\nINT_MULTI 1\nBUFFER_SIZE 32\n";

#[test]
fn published_configurations_and_heads_of_forks_run_to_the_closed_form() {
    let folder = Folder::new("import-forks");
    let [config, scenario] = ["config.txt", "fork.toml"].map(|name| folder.path(name));
    // PowerTCP's head, and Reverie's, whose rates have no unit.
    let powertcp = STAR.replace("4 1 3\n", "4 1 1 3\n");
    let reverie =
        STAR.replace("4 1 3\n", "4 1 1 3 100000000000 100000000000\n").replace("100Gbps", "100000000000");
    for topology in [STAR, &powertcp, &reverie] {
        let import = hpcc(&folder, topology, "1\n2 1 3 100 1000000 2\n");
        let import: Vec<_> = import.iter().map(String::as_str).collect();
        std::fs::write(&config, FORK).unwrap();
        let output = farspan(&[&import[..], &["--config", &config, "-o", &scenario]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let said = stderr(&output);
        assert!(said.contains("config.txt:4: SIMULATOR_STOP_TIME is beyond the longest run here"), "{said}");
        assert!(
            said.contains("config.txt:5: no control: the simulator has no code for CC_MODE 12"),
            "{said}"
        );
        assert_eq!(said.contains("topology.txt:1: a head as of Reverie"), topology == reverie, "{said}");
        let document = document(&["run", &scenario, "--quiet", "--json"]);
        assert_eq!(document["scheme"], "fixed_window");
        // 1,000 packets of 1,048 B, the last of them sent on by the switch, and four times 1 us; an ACK crosses two links, too.
        let (sent, us) =
            (1001.0 * 1048.0 * 8.0 / 100_000.0, document["fct"]["all"]["max_us"].as_f64().unwrap());
        assert!((sent + 4.0..sent + 4.0 + 0.02).contains(&us), "{us} us");
    }
    // SimAI's has a control.
    std::fs::write(&config, FORK.replace("CC_MODE 12", "CC_MODE 1")).unwrap();
    let import = hpcc(&folder, STAR, FLOWS);
    let import: Vec<_> = import.iter().map(String::as_str).collect();
    let output = farspan(&[&import[..], &["--config", &config, "-o", &scenario]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(document(&["run", &scenario, "--quiet", "--json"])["flows"]["finished"], 2);
}

#[test]
fn a_file_of_another_format_is_told_which_it_seems_to_be() {
    let folder = Folder::new("import-other");
    let matrix = folder.path("matrix.cm");
    std::fs::write(&matrix, MATRIX).unwrap();
    let import = hpcc(&folder, STAR, FLOWS);
    let refused = |words: &[&str], said: &[&str]| {
        let output = farspan(words);
        assert_eq!(output.status.code(), Some(2));
        said.iter().for_each(|text| assert!(stderr(&output).contains(text), "{}", stderr(&output)));
    };
    refused(
        &["import", "hpcc", &matrix, &import[3]],
        &["matrix.cm:1: 2 words", "looks like a connection matrix of htsim"],
    );
    refused(&["import", "hpcc", &import[3], &import[2]], &["looks like a list of flows of HPCC's simulator"]);
    refused(
        &["import", "cm", &import[2], "--time-unit", "us"],
        &["topology.txt: has no connections", "looks like a topology of HPCC's simulator"],
    );
    // One that is what it should be, with an error, seems to be nothing else.
    std::fs::write(&import[2], STAR.replace("100Gbps", "100Gib")).unwrap();
    let output = farspan(&["import", "hpcc", &import[2], &import[3]]);
    assert!(!stderr(&output).contains("looks like"), "{}", stderr(&output));
    // Older flows count packets, and have an end.
    std::fs::write(&import[2], STAR).unwrap();
    std::fs::write(&import[3], "2\n2 1 3 10000000 2 9\n3 1 3 1000 2.5 9.0\n").unwrap();
    refused(
        &["import", "hpcc", &import[2], &import[3]],
        &["flow.txt:2: ", "\"src dst pg packets start_s end_s\" of the older simulator"],
    );
    // A ring without switches.
    std::fs::write(&import[2], "2 0 1\n0 1 100Gbps 0.001ms 0\n").unwrap();
    refused(
        &["import", "hpcc", &import[2], &import[3]],
        &["topology.txt:1: no switches", "as in a ring of ASTRA-sim"],
    );
}

#[test]
fn a_wrong_file_of_hpcc_s_simulator_leaves_nothing_behind() {
    let folder = Folder::new("import-hpcc-bad");
    let flows = FLOWS.replace("3 1 3", "0 1 3");
    let import = hpcc(&folder, STAR, &flows);
    let import: Vec<_> = import.iter().map(String::as_str).collect();
    let output = farspan(&[&import[..], &["-o", &folder.path("star.toml")]].concat());
    assert_eq!(output.status.code(), Some(2));
    let place = format!("{}:3: node 0 is a switch; give the id of a host", import[3]);
    assert!(stderr(&output).contains(&place), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 2);

    // Where the last of the three cannot be written, none stays.
    std::fs::write(import[3], FLOWS).unwrap();
    std::fs::create_dir(folder.path("star.toml")).unwrap();
    let output = farspan(&[&import[..], &["-o", &folder.path("star.toml")]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(!folder.0.join("star-topology.toml").exists() && !folder.0.join("star-flows.csv").exists());
}

#[test]
fn an_export_of_what_is_no_result_says_so() {
    let folder = Folder::new("export-bad");
    let output = farspan(&["export", "hpcc", &folder.path("nothing")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("give the folder that `farspan run --out` wrote"),
        "{}",
        stderr(&output)
    );
    let output = farspan(&["export", "hpc", "x"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did you mean \"hpcc\""), "{}", stderr(&output));
}
