//! Warnings about a scenario before it runs.

use farspan_scenario::Request;
use farspan_transport::Class;
use farspan_transport::congestion::{
    Ack, Congestion, CongestionConfig, Custom, Decision, Factory, Needs, Start,
};
use farspan_units::Bytes;
use farspan_world::World;

fn warnings(scenario: &str, set: &[&str]) -> Vec<String> {
    let set = set.iter().map(|set| (*set).to_owned()).collect();
    World::build(&Request { set, ..Request::new(scenario) }.resolve().unwrap()).unwrap().warnings
}

/// Whether exactly the warnings with these words are there, among those about a subject.
fn about(warnings: &[String], subject: &str) -> Vec<String> {
    warnings.iter().filter(|warning| warning.contains(subject)).cloned().collect()
}

#[test]
fn a_class_that_is_offered_more_than_its_links_carry() {
    let subject = "offers more than the network can carry";
    let over = warnings("uno/steady", &["workload.load=3", "workload.flows=100"]);
    let said = about(&over, subject);
    assert_eq!(said.len(), 1, "{over:?}");
    assert!(said[0].contains("for a steady state, lower workload.load"), "{said:?}");
    let fine = warnings("uno/steady", &["workload.load=0.4", "workload.flows=100"]);
    assert_eq!(about(&fine, subject), Vec::<String>::new());
}

#[test]
fn the_cure_of_an_overload_fits_the_kind_of_workload() {
    let folder = std::env::temp_dir().join(format!("farspan-overload-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let list = folder.join("flows.csv");
    std::fs::write(&list, "src,dst,size_bytes,start_ns\n0,1,50000000,0\n2,3,50000000,10\n4,5,50000000,20\n")
        .unwrap();
    let of = |part: &str| {
        let text = format!("[topology]\nkind = 'star'\nhosts = 8\n[[workload]]\n{part}\n");
        let request = Request { text: Some(text), ..Request::new("overload") };
        about(
            &World::build(&request.resolve().unwrap()).unwrap().warnings,
            "offers more than the network can carry",
        )
    };
    let said = of(&format!("kind = 'flows'\nfile = {list:?}"));
    assert!(said.len() == 1 && said[0].ends_with("start later, or send less"), "{said:?}");
    assert!(!said[0].contains("workload.load"), "{said:?}");
    let spaced = "kind = 'pairs'\npairs = [[0, 1], [2, 3], [4, 5], [6, 7]]\nflow_size = '50MB'\n";
    let said = of(&format!("{spaced}gap = '1ns'"));
    assert!(said.len() == 1 && said[0].ends_with("for a steady state, raise workload.gap"), "{said:?}");
    let burst = "kind = 'incast'\nreceiver = 0\nsenders = '1..7'\nflow_size = '50MB'\nspread = '1us'";
    assert_eq!(of(burst), Vec::<String>::new(), "a burst is meant to");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_first_window_that_no_buffer_holds() {
    let subject = "first window";
    let of = |set: &[&str]| about(&warnings("uno/incast-mixed", set), subject);
    let said = of(&[]);
    assert!(said.len() == 1 && said[0].contains("of inter flows is up to 22"), "{said:?}");
    assert!(said[0].contains("holds 1048576 B"), "{said:?}");
    assert_eq!(of(&["transport.start=iw10"]), Vec::<String>::new());
    assert_eq!(of(&["topology.buffer=64MiB"]), Vec::<String>::new());
    assert_eq!(of(&["transport.start=4MiB"]).len(), 2, "both classes");
    assert_eq!(of(&["topology.core_border_links=4"]), said);
    let text = Request::new("uno/incast-mixed").resolve().unwrap().to_toml();
    let again = Request { text: Some(text), ..Request::new("again") }.resolve().unwrap();
    assert_eq!(about(&World::build(&again).unwrap().warnings, subject), said, "written out");
}

#[test]
fn a_control_for_lossless_fabrics_on_ports_that_drop() {
    let of = |scheme: &str, set: &[&str]| {
        let scheme = format!("scheme.name={scheme}");
        about(&warnings("uno/incast-mixed", &[&[&*scheme], set].concat()), "was made for lossless fabrics")
    };
    for control in ["hpcc", "dcqcn", "timely"] {
        let said = of(control, &[]);
        assert_eq!(said.len(), 2, "{said:?}");
        let words =
            format!("{control} was made for lossless fabrics, but ports on the path of intra flows drop");
        assert!(said[0].starts_with(&words) && said[0].contains("scheme.ports.pfc"), "{said:?}");
    }
    let pool = "scheme.ports.pool={ size = '2GiB' }";
    assert_eq!(of("hpcc", &[pool, "scheme.ports.pfc.links=all"]), [""; 0]);
    let site = of("hpcc", &[pool, "scheme.ports.pfc.links=site"]);
    assert!(site.len() == 1 && site[0].contains("inter flows"), "{site:?}");
    assert_eq!(of("timely", &["scheme.ports.overflow=trim"]), [""; 0]);
    assert_eq!(of("uno", &[]), [""; 0]);
}

#[test]
fn a_collective_whose_messages_begin_anew() {
    let of = |kind: &str| {
        let part =
            format!("workload=[{{ {kind}, tag = 'training', ranks = [0, 1, 2, 3], flow_size = '64KiB' }}]");
        about(
            &warnings("uno/incast-mixed", &[&part, "measure.fairness_group=training"]),
            "starts with a new first window",
        )
    };
    let said = of("kind = 'allreduce', algorithm = 'ring'");
    assert!(said.len() == 1 && said[0].contains("\"training\"") && said[0].contains("(bdp)"), "{said:?}");
    assert_eq!(of("kind = 'all_to_all'"), [""; 0], "one message a pair");
    assert_eq!(of("kind = 'all_to_all', iterations = 2").len(), 1);
}

#[test]
fn a_time_out_shorter_than_the_base_rtt() {
    let of = |rto: &str| about(&warnings("uno/incast-mixed", &[&format!("transport.rto={rto}")]), "time-out");
    let said = of("1ms");
    assert!(said.len() == 1 && said[0].contains("base RTT of inter flows (1.792ms)"), "{said:?}");
    assert_eq!(of("1us").len(), 2, "both classes");
    assert_eq!((of("3ms"), of("path")), (Vec::new(), Vec::new()));
}

#[test]
fn a_control_that_waits_for_marks_that_nobody_sets() {
    let subject = "needs ECN marks";
    let of = |scheme: &str, marking: &str| {
        let set = [format!("scheme.name={scheme}"), format!("scheme.ports.marking={marking}")];
        about(&warnings("uno/incast-mixed", &[&set[0], &set[1]]), subject)
    };
    let said = of("dctcp", "none");
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].starts_with("dctcp needs ECN marks, but no port on the path of intra flows sets them"),
        "{said:?}"
    );
    assert_eq!(of("dctcp", "step"), Vec::<String>::new());
    assert_eq!(of("bbr", "none"), Vec::<String>::new());
    for scheme in ["uno", "gemini", "mprdma-bbr", "dctcp"] {
        let set = format!("scheme.name={scheme}");
        assert_eq!(about(&warnings("uno/incast-mixed", &[&set]), subject), Vec::<String>::new(), "{scheme}");
    }
}

/// A control that needs what a built-in one does.
struct Needing(&'static str);

impl Congestion for Needing {
    fn decision(&self) -> Decision {
        Decision::window(Bytes::new(10_000))
    }

    fn on_ack(&mut self, _ack: &Ack) -> Decision {
        self.decision()
    }
}

impl Factory for Needing {
    fn name(&self) -> &'static str {
        "mine"
    }

    fn needs(&self) -> Needs {
        CongestionConfig::by_name(self.0).expect("a built-in name").needs()
    }

    fn control(&self, _start: &Start<'_>) -> Box<dyn Congestion + Send> {
        Box::new(Self(self.0))
    }
}

#[test]
fn a_control_from_outside_is_warned_of_and_not_the_one_that_it_replaces() {
    let set = vec!["scheme.name=hpcc".to_owned()];
    let resolved = Request { set, ..Request::new("uno/incast-mixed") }.resolve().unwrap();
    let with = |needs| {
        let mut world = World::build(&resolved).unwrap();
        assert_eq!(about(&world.warnings, "hpcc").len(), 2);
        for class in [Class::Intra, Class::Inter] {
            world.set_control(&resolved, class, Custom::new(Needing(needs))).unwrap();
        }
        world.warnings
    };
    let marks = with("dctcp");
    assert_eq!(
        (about(&marks, "mine needs ECN marks").len(), about(&marks, "hpcc").len()),
        (2, 0),
        "{marks:?}"
    );
    assert_eq!(about(&with("fixed_window"), "needs"), Vec::<String>::new());
}

#[test]
fn thresholds_above_what_a_buffer_holds_bring_no_mark() {
    let of = |red: &str| {
        let set = ["scheme.name=dctcp", "scheme.ports.marking=red", "topology.buffer=100KB", red];
        about(&warnings("uno/incast-intra", &set), "marking threshold")
    };
    let high = of("scheme.ports.red={ min_bytes = '400KB', max_bytes = '1600KB' }");
    assert!(
        high[0].starts_with(
            "dctcp needs ECN marks, but every port on the path of intra flows has a marking threshold"
        ),
        "{high:?}"
    );
    assert!(of("scheme.ports.red={ min_bytes = '50KB', max_bytes = '1600KB' }").is_empty());
}

#[test]
fn thresholds_above_what_a_shared_buffer_leaves_a_port_bring_no_mark() {
    let of = |pool: &str| {
        let red = "scheme.ports.red={ min_bytes = '600KB', max_bytes = '1600KB' }";
        let buffer = "topology.buffer=10MB";
        let set = ["scheme.name=dctcp", "scheme.ports.marking=red", buffer, red, pool];
        about(&warnings("uno/incast-intra", &set), "marking threshold")
    };
    assert!(of("scheme.ports.pool={ size = '4MB', alpha = 1.0 }").is_empty());
    let small = of("scheme.ports.pool={ size = '4MB', alpha = 0.005 }");
    assert_eq!(small.len(), 1, "links with a 200th each take less than 600 KB: {small:?}");
}

#[test]
fn a_first_time_out_that_the_run_does_not_live_to_see() {
    let of = |set: &[&str]| about(&warnings("uno/incast-mixed", set), "rto_initial");
    let said = of(&["transport.rto=rfc6298", "stop.time=100ms"]);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].starts_with("transport.rto_initial = 1s is longer than the run (stop.time = 100ms)"),
        "{said:?}"
    );
    assert_eq!(of(&["transport.rto=rfc6298", "transport.rto_initial=50ms", "stop.time=100ms"]), [""; 0]);
    let own = "scheme.intra.recovery={ rto = \"rfc6298\", rto_initial = \"200ms\" }";
    assert_eq!(of(&[own, "stop.time=100ms"]).len(), 1, "a class's own");
    assert_eq!(of(&["stop.time=100ms"]), [""; 0], "without rfc6298 it says nothing");
}

#[test]
fn jitter_above_the_time_of_a_packet() {
    let of = |set: &[&str]| about(&warnings("uno/incast-intra", set), "jitter");
    assert!(of(&[]).is_empty() && of(&["host.jitter=100ns"]).is_empty());
    let said = of(&["host.jitter=5us"]);
    assert!(said[0].starts_with("host.jitter = 5us is longer than the transmission of a packet"), "{said:?}");
}

#[test]
fn a_control_that_waits_for_telemetry_that_nobody_writes() {
    let of = |scheme: &str, telemetry: &str| {
        let set = [format!("scheme.name={scheme}"), format!("scheme.ports.telemetry={telemetry}")];
        about(&warnings("uno/incast-mixed", &[&set[0], &set[1]]), "needs telemetry")
    };
    let said = of("hpcc", "none");
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].starts_with("hpcc needs telemetry, but no port on the path of intra flows writes any"),
        "{said:?}"
    );
    let said = of("hpcc", "mpd");
    assert!(said[0].contains("writes all of it") && said[0].contains("telemetry = \"int\""), "{said:?}");
    assert!(of("poseidon", "none")[0].contains("telemetry = \"mpd\""));
    for (scheme, telemetry) in
        [("hpcc-star", "int"), ("poseidon", "mpd"), ("poseidon", "int"), ("oscar", "none")]
    {
        assert_eq!(of(scheme, telemetry), Vec::<String>::new(), "{scheme}, {telemetry}");
    }
    assert_eq!(about(&warnings("uno/incast-mixed", &["scheme.name=hpcc"]), "needs"), Vec::<String>::new());
}

#[test]
fn what_gives_way_to_an_argument_is_named() {
    let subject = "takes the place of";
    let said = about(&warnings("uno/permutation", &["topology.kind=leaf_spine"]), subject);
    assert!(
        said.len() == 1 && said[0].contains("--set topology.kind=leaf_spine takes the place of topology."),
        "{said:?}"
    );
    let spines = ["topology.kind=leaf_spine", "topology.spines=4"];
    assert_eq!(about(&warnings("uno/permutation", &spines), subject).len(), 1);
    assert_eq!(about(&warnings("uno/permutation", &["topology.k=4"]), subject), Vec::<String>::new());
}

#[test]
fn of_two_arguments_that_exclude_each_other_none_wins() {
    let refused = |scenario: &str, set: [&str; 2]| {
        let set = set.iter().map(|set| (*set).to_owned()).collect();
        let resolved = Request { set, ..Request::new(scenario) }.resolve();
        resolved.expect_err("they exclude each other").to_string()
    };
    let error = refused("topology/leaf-spine", ["topology.spines=4", "topology.oversubscription=4"]);
    assert!(error.contains("leave out topology.spines, or the oversubscription"), "{error}");
    let error = refused("uno/permutation", ["topology.k=4", "topology.kind=leaf_spine"]);
    assert!(error.starts_with("--set topology.k=4: topology.k: leaf_spine has no \"k\""), "{error}");
    let error = refused("uno/steady", ["workload.flows=10", "workload.duration=1ms"]);
    assert!(error.contains("either flows or duration"), "{error}");
}

#[test]
fn a_scenario_of_its_own_name_under_the_profile_whose_constants_hang_on_it() {
    let of = |head: &str, scheme: &str, profile: &str, kind: &str| {
        let text = format!(
            "{head}\n[topology]\nkind = 'star'\n[scheme]\nprofile = '{profile}'\nname = '{scheme}'\n[[workload]]\n{kind}"
        );
        let resolved = Request { text: Some(text), ..Request::new("mine.toml") }.resolve().unwrap();
        about(&World::build(&resolved).unwrap().warnings, "depend on the scenario")
    };
    let permutation = "kind = 'permutation'\nflow_size = '1MiB'";
    let said = of("", "uno", "artifact", permutation);
    assert_eq!(said.len(), 1, "{said:?}");
    let [keys, cure] = ["scheme.inter.coding", "base = \"uno/permutation\""];
    assert!(said[0].contains("\"mine\"") && said[0].contains(keys) && said[0].contains(cure), "{said:?}");
    assert!(said[0].contains("scheme.intra.congestion, "), "by component: {said:?}");
    let incast = "kind = 'incast'\nreceiver = 1\nsenders = [0]\nflow_size = '1MiB'";
    let said = of("name = 'imported'", "mprdma-bbr", "artifact", incast);
    assert!(said.len() == 1 && said[0].contains("constants = \"uno/incast-mixed\""), "{said:?}");
    // Where nothing would differ, or it says whose constants it takes, there is nothing to say.
    for (head, scheme, profile) in [
        ("", "uno", "paper"),
        ("", "fixed_window", "artifact"),
        ("constants = 'uno/permutation'", "uno", "artifact"),
        ("constants = 'uno/websearch'", "uno", "artifact"),
        ("name = 'uno/permutation'", "uno", "artifact"),
    ] {
        assert_eq!(of(head, scheme, profile, permutation), Vec::<String>::new(), "{head} {scheme} {profile}");
    }
    let based = Request {
        text: Some("base = 'uno/permutation'\nscheme.profile = 'artifact'\n".to_owned()),
        ..Request::new("x.toml")
    };
    let world = World::build(&based.resolve().unwrap()).unwrap();
    assert_eq!(about(&world.warnings, "depend on the scenario"), Vec::<String>::new());
    for built_in in ["topology/leaf-spine", "uno/incast-mixed"] {
        let said = about(&warnings(built_in, &["scheme.profile=artifact"]), "depend on the scenario");
        assert_eq!(said, Vec::<String>::new(), "{built_in}");
    }
}

#[test]
fn a_target_delay_whose_queue_no_port_holds() {
    let of = |scheme: &str, set: &[&str]| {
        let name = format!("scheme.name={scheme}");
        let set: Vec<_> = [name.as_str()].into_iter().chain(set.iter().copied()).collect();
        about(&warnings("proxy/degree", &set), "aims at a queueing delay")
    };
    for overflow in ["scheme.ports.overflow=trim", "scheme.ports.overflow=drop"] {
        let said =
            of("oscar+rps", &["scheme.proxy.kind=streamlined", overflow, "scheme.proxy.loss=gap-flow"]);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("oscar aims at a queueing delay of 2.005"), "{said:?}");
        for word in ["inter flows", "25062672 B", "holds 17015000 B", "100Gbps", "a shorter target"] {
            assert!(said[0].contains(word), "{word}: {said:?}");
        }
    }
    assert_eq!(of("oscar+rps", &["topology.buffer=40MB"]), Vec::<String>::new());
    assert_eq!(of("oscar+rps", &["scheme.inter.congestion.target=1.2"]), Vec::<String>::new());
    assert_eq!(of("oscar+rps", &["scheme.proxy.kind=naive"]), Vec::<String>::new(), "it never sees that way");
    assert_eq!(of("dctcp-per-ack+rps", &[]), Vec::<String>::new(), "it has no such target");
    for scheme in ["smartt+reps", "nscc+reps", "gemini"] {
        assert_eq!(of(scheme, &[]), Vec::<String>::new(), "{scheme} goes by marks, too");
        assert_eq!(of(scheme, &["scheme.ports.marking=none"]).len(), 1, "{scheme} without any");
    }
    assert_eq!(of("swift", &[]), Vec::<String>::new());
}

#[test]
fn connections_that_nobody_shares_and_groups_whose_flows_share_one() {
    let pairs = |set: &[&str]| {
        about(
            &warnings(
                "uno/incast-mixed",
                &[&["transport.connections=per_pair", "scheme.name=dctcp"], set].concat(),
            ),
            "per_",
        )
    };
    let said = pairs(&[]);
    assert!(
        said.len() == 1 && said[0].contains("no two flows have the same sender and receiver"),
        "{said:?}"
    );
    let twice = pairs(&["workload.senders=[0, 0, 10, 20]", "measure.fairness_group=incast"]);
    assert!(twice.len() == 1 && twice[0].contains("counts with rate 0"), "{twice:?}");
}
