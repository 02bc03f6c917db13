//! Traffic that is refused.

use super::*;

#[test]
fn pairs_without_a_flow_are_refused() {
    let set = vec!["workload.flows=0".to_owned()];
    let message = message(&Request { set, ..Request::new("gemini/dcn-bottleneck") });
    let words = ["workload[0].flows: ", "pairs without a flow", "at least 1"];
    words.iter().for_each(|word| assert!(message.contains(word), "{message}"));
}

#[test]
fn wrong_pairs_are_refused() {
    let folder = Folder::new("pairs");
    for (pairs, words) in [
        ("pairs = [[0, 99]]", &["pairs: host 99 does not exist"][..]),
        ("pairs = [[3, 3]]", &["host 3 would send to itself"]),
        ("pairs = []", &["pairs has 0 hosts"]),
        ("pairs = [[0, 1], [1, 2, 3]]", &[":6:18: workload[0].pairs[1]: not two hosts", "[0, 129]"]),
        ("", &["pairs: missing", "[[0, 129]]"]),
    ] {
        let text = format!("[topology]\nk = 4\n[[workload]]\nkind = 'pairs'\nflow_size = '1MiB'\n{pairs}\n");
        let message = message(&Request::new(&folder.write("case.toml", &text)));
        words
            .iter()
            .for_each(|word| assert!(message.contains(word), "{pairs:?}\n  gave {message}, no {word}"));
    }
    let text = "[topology]\nk = 4\n[[workload]]\nkind = 'pairs'\npairs = [[0, 1]]\n";
    let message = message(&Request::new(&folder.write("case.toml", text)));
    assert!(message.contains("workload[0].flow_size: missing"), "{message}");
}

#[test]
fn wrong_poisson_traffic_is_refused() {
    let cases: &[(&str, &[&str])] = &[
        ("workload.load=-1", &["a load of -1", "above 0"]),
        ("workload.load=0", &["a load of 0"]),
        ("workload.load=nan", &["a load of NaN"]),
        ("workload.load=40", &["40"]),
        ("workload.flows=0", &["at least one flow"]),
        ("workload.mix=papers", &["\"4:1\""]),
        ("workload.mix=0:0", &["\"4:1\""]),
        ("workload.sizes=websarch", &["did you mean \"websearch\""]),
        ("workload.sizes=no-such.csv", &["no-such.csv"]),
        ("topology.kind=fat_tree", &["two sites"]),
    ];
    for (assignment, words) in cases {
        let request = Request { set: vec![(*assignment).to_owned()], ..Request::new("uno/websearch") };
        let message = message(&request);
        for word in *words {
            assert!(message.contains(word), "{assignment}\n  gave {message}\n  expected {word}");
        }
    }
}

#[test]
fn wrong_collectives_are_refused() {
    let folder = Folder::new("collectives");
    let text =
        "[topology]\nk = 4\n[[workload]]\nkind = 'allreduce'\nranks = [0, 1, 16]\nflow_size = '1MiB'\n";
    let file = folder.write("allreduce.toml", text);
    let cases: &[(&str, &str, &[&str])] = &[
        ("workload.ranks=[0]", "ranks", &["at least 2"]),
        ("workload.ranks=[]", "ranks", &["at least 2"]),
        ("workload.ranks=[0, 32]", "ranks", &["does not exist", "0 to 31"]),
        ("workload.ranks=[0, 1, 0]", "ranks", &["host 0 is listed twice"]),
        ("workload.groups=[]", "groups", &["at least 2"]),
        ("workload.groups=[[0, 1], [2]]", "groups", &["a group of 1 ranks"]),
        ("workload.groups=[[0, 99]]", "groups", &["does not exist"]),
        ("workload.flow_size=2B", "flow_size", &["3 chunks", "at least 3 B"]),
        ("workload.iterations=0", "iterations", &["at least 1"]),
        ("workload.iterations=4294967295", "iterations", &["more than 4194304", "fewer"]),
        ("workload.iterations=-1", "iterations", &["give a whole number"]),
        (
            "workload.algorithm=rings",
            "algorithm",
            &["did you mean \"ring\"", "direct, pipeline, hierarchical"],
        ),
        ("workload.algorithm=hierarchical", "algorithm", &["[2, 1] per site", "\"ring\""]),
        ("workload.compute_time=20s", "compute_time", &["out of range", "to 10s"]),
        ("workload.barrier=1", "barrier", &["give true or false"]),
        ("workload.trigger_delay=20s", "trigger_delay", &["out of range"]),
    ];
    for (assignment, key, words) in cases {
        let message = message(&Request { set: vec![(*assignment).to_owned()], ..Request::new(&file) });
        assert!(message.starts_with(&format!("--set {assignment}: workload")), "{message}");
        for word in words.iter().chain([key]) {
            assert!(message.contains(word), "{assignment}\n  gave {message}\n  expected {word}");
        }
    }
    let both = folder.write("both.toml", &format!("{text}groups = [[0, 1]]\n"));
    assert!(message(&Request::new(&both)).contains("workload[0].ranks: either ranks or groups"));
    let gather = folder.write("gather.toml", &text.replace("allreduce", "all_gather"));
    let set = vec!["workload.algorithm=hierarchical".to_owned()];
    assert!(message(&Request { set, ..Request::new(&gather) }).contains("only an allreduce"));
}

#[test]
fn wrong_receivers_are_refused() {
    let cases: &[(&str, &[&str])] = &[
        ("workload[1].receivers=[]", &["nobody receives", "[240]"]),
        ("workload[1].receivers=[256]", &["does not exist", "0 to 255"]),
    ];
    for (assignment, words) in cases {
        let message =
            message(&Request { set: vec![(*assignment).to_owned()], ..Request::new("uno/phantom") });
        assert!(message.starts_with(&format!("--set {assignment}: workload[1].receivers: ")), "{message}");
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
    let set = vec!["workload.receivers=[1]".to_owned()];
    let message = message(&Request { set, ..Request::new("uno/websearch") });
    assert!(message.contains("receivers without a class") && message.contains("\"intra\""), "{message}");
}
