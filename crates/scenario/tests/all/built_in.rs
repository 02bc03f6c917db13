//! Built-in scenarios under every scheme and profile: what is resolved.

use farspan_scenario::model::{Scheme, SchemeClass};
use farspan_scenario::value::Profile;
use farspan_scenario::{BUILT_IN, Request, available_schemes, schema};

fn request(scenario: &str, scheme: &str, profile: &str) -> Request {
    Request { scheme: Some(scheme.to_owned()), profile: Some(profile.to_owned()), ..Request::new(scenario) }
}

fn with(scenario: &str, set: &[&str]) -> Request {
    Request { set: set.iter().map(|s| (*s).to_owned()).collect(), ..Request::new(scenario) }
}

#[test]
fn every_scenario_resolves_under_every_scheme_and_profile_and_back() {
    let folder = std::env::temp_dir().join(format!("farspan-resolved-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut schemes = available_schemes();
    // Another test registers this control; this process may know it by now.
    schemes.retain(|scheme| scheme != "constant");
    schemes.extend(["unocc+rps", "dctcp+unolb+mds(4,1)/uno", "gemini/uno-noec"].map(str::to_owned));
    for scenario in BUILT_IN {
        for scheme in &schemes {
            for profile in Profile::NAMES {
                let resolved = request(scenario.name, scheme, profile).resolve().unwrap();
                let file = folder.join("scenario.toml");
                std::fs::write(&file, resolved.to_toml()).unwrap();
                let again = Request::new(&file.display().to_string()).resolve().unwrap();
                assert_eq!(again.scenario(), resolved.scenario(), "{} {scheme} {profile}", scenario.name);
                assert_eq!(again.to_toml(), resolved.to_toml());
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_resolved_scenario_spells_out_its_faults_and_gives_the_same_ones() {
    for (name, words) in [
        ("uno/border-failure", &["at = \"0ns\"", "both_directions = false", "withdraw_routes = false"][..]),
        ("uno/random-loss", &["block = 10", "per = \"queue\"", "packets = \"data\""]),
    ] {
        let resolved = Request::new(name).resolve().unwrap();
        let text = resolved.to_toml();
        words.iter().for_each(|word| assert!(text.contains(word), "{name}: no {word} in\n{text}"));
        let file = std::env::temp_dir().join(format!("farspan-fault-{}.toml", std::process::id()));
        std::fs::write(&file, &text).unwrap();
        let again = Request::new(&file.display().to_string()).resolve().unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(again.scenario(), resolved.scenario());
    }
}

#[test]
fn the_profiles_constants_reach_ports_and_schemes() {
    let toml = |scheme, profile| request("uno/incast-mixed", scheme, profile).resolve().unwrap().to_toml();
    let paper = toml("uno-noec", "paper");
    for line in
        ["marking = \"red+phantom\"", "drain = 0.9\n", "rtt = \"1.792ms\"", "buffer = \"1MiB\"", "gain = 0.5"]
    {
        assert!(paper.contains(line), "{line} is not in\n{paper}");
    }
    let artifact = toml("uno-noec", "artifact");
    for line in [
        "marking = \"phantom\"",
        "drain = 0.9523",
        "rtt = \"1.79204128ms\"",
        "buffer = \"1MB\"",
        "gain = 0.65",
    ] {
        assert!(artifact.contains(line), "{line} is not in\n{artifact}");
    }
    assert!(toml("gemini", "artifact").contains("delay_threshold = \"100us\""));
    assert!(toml("gemini", "paper").contains("tiers = [\"host_down\", \"fabric\", \"border\"]"));
    let websearch = request("uno/websearch", "uno-noec", "artifact").resolve().unwrap().to_toml();
    assert!(
        websearch.contains("drain = 0.909") && websearch.contains("start_granularity = \"1us\""),
        "{websearch}"
    );
}

#[test]
fn a_largest_probability_of_marks_goes_with_its_thresholds() {
    let largest = |scenario: &str, profile: &str, set: &[&str]| {
        let set = set.iter().map(|text| (*text).to_owned()).collect();
        let resolved = Request { set, ..request(scenario, "dcqcn", profile) }.resolve().unwrap().to_toml();
        let line = resolved.lines().find(|line| line.starts_with("max_probability")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("there is one in\n{resolved}"))
    };
    let bytes = ["scheme.ports.red.min_bytes=10KB", "scheme.ports.red.max_bytes=20KB"];
    let own = "scheme.ports.red.max_probability=0.3";
    for (profile, of_profile) in [("paper", "max_probability = 0.01"), ("artifact", "max_probability = 0.2")]
    {
        assert_eq!(largest("oscar/equilibrium", profile, &[]), of_profile);
        assert_eq!(largest("oscar/equilibrium", profile, &[own]), "max_probability = 0.3");
        assert_eq!(largest("oscar/equilibrium", profile, &bytes), "max_probability = 1.0");
        // Its thresholds are fractions of the buffer.
        assert_eq!(largest("reps/degraded", profile, &[]), "max_probability = 1.0");
    }
}

#[test]
fn the_rivals_of_the_published_incasts_are_not_those_of_its_websearch() {
    let toml = |scenario, profile| request(scenario, "mprdma-bbr", profile).resolve().unwrap().to_toml();
    let lines = |text: &str, wanted: &[&str], missing: &[&str]| {
        wanted.iter().for_each(|line| assert!(text.contains(line), "{line} is not in\n{text}"));
        missing.iter().for_each(|line| assert!(!text.contains(line), "{line} is in\n{text}"));
    };
    let paper = ["cut = 0.5", "rtprop = \"measured\"", "rtprop_window = \"10s\"", "marking = \"red\""];
    lines(&toml("uno/websearch", "paper"), &paper, &["3rtt", "cap = \"bdp\""]);
    let code =
        ["rtprop = \"given\"", "on_timeout = \"collapse\"", "min_bandwidth = \"3Gbps\"", "cap = \"bdp\""];
    let websearch = toml("uno/websearch", "artifact");
    lines(&websearch, &code, &["3rtt", "\"wan\""]);
    lines(&websearch, &["cut = 0.5", "pacing = \"base_rtt\""], &[]);
    let incast = toml("uno/incast-mixed", "artifact");
    lines(&incast, &code, &[]);
    lines(&incast, &["cut = 0.15", "pacing = \"off\"", "rto = \"3rtt\"", "\"wan\""], &[]);
    let plb = |profile| request("uno/websearch", "uno-plb", profile).resolve().unwrap().to_toml();
    lines(&plb("paper"), &["congested = 0.5", "busy_rounds = 12", "idle_rounds = 3", "pause = \"60s\""], &[]);
    lines(&plb("artifact"), &["congested = 0.25", "busy_rounds = 2", "round = \"base_rtt\""], &[]);
}

#[test]
fn the_paper_profile_is_what_the_controls_take_by_default() {
    for name in ["unocc", "dctcp", "dctcp-per-ack", "mprdma", "bbr"] {
        let resolved = request("uno/websearch", name, "paper").resolve().unwrap();
        let part = resolved.scenario().scheme.intra.congestion.clone();
        let written = farspan_scenario::congestion("scheme.intra.congestion", &part).unwrap();
        assert_eq!(written, farspan_transport::congestion::CongestionConfig::by_name(name).unwrap());
    }
}

#[test]
fn the_ports_that_are_measured_differ_in_all_that_costs() {
    let toml = |scenario| Request::new(scenario).resolve().unwrap().to_toml();
    for (full, plain) in
        [("bench/fat-tree", "bench/fat-tree-fifo"), ("bench/two-sites", "bench/two-sites-fifo")]
    {
        let (full, plain) = (toml(full), toml(plain));
        assert!(full.contains("ack_priority = true") && full.contains("marking = \"red+phantom\""), "{full}");
        assert!(plain.contains("ack_priority = false") && plain.contains("marking = \"red\""), "{plain}");
        assert!(!plain.contains("phantom") && plain.contains("pacing = \"off\""), "{plain}");
    }
}

#[test]
fn one_path_selector_can_serve_all_schemes() {
    let resolved = with("uno/incast-mixed", &["transport.balance=rps"]).resolve().unwrap();
    let scheme = &resolved.scenario().scheme;
    assert_eq!(scheme.inter.balance.name(), Some("rps"));
    assert_eq!(scheme.intra.balance.name(), Some("rps"));
}

#[test]
fn one_recovery_can_serve_all_schemes() {
    for scheme in ["uno", "dctcp", "mprdma-bbr"] {
        let own = &["scheme.intra.recovery.name=go_back_n"][..];
        for (set, name, rto) in [
            ("transport.recovery=rack", "rack", None),
            ("transport.recovery={ name = 'per_packet_rto', rto = '3ms' }", "per_packet_rto", Some("3ms")),
        ] {
            let set = [own, &[set]].concat();
            let request = Request { scheme: Some(scheme.to_owned()), ..with("uno/incast-mixed", &set) };
            let resolved = request.resolve().unwrap();
            let Scheme { intra, inter, .. } = &resolved.scenario().scheme;
            for class in [intra, inter] {
                let own_rto = class.recovery.0.get("rto").and_then(|value| value.as_str());
                assert_eq!((class.recovery.name(), own_rto), (Some(name), rto), "{scheme}");
            }
        }
    }
}

#[test]
fn one_coding_can_serve_the_flows_between_sites_of_all_schemes() {
    for scheme in ["uno", "uno-noec", "gemini", "dctcp+rps+mds(4,1)/dctcp+rps+mds(4,1)"] {
        let coding = |set: &str| {
            let request = Request { scheme: Some(scheme.to_owned()), ..with("uno/incast-mixed", &[set]) };
            let resolved = request.resolve().unwrap();
            let Scheme { intra, inter, .. } = &resolved.scenario().scheme;
            let shape = |class: &SchemeClass| {
                let number = |key: &str| class.coding.0.get(key).and_then(|number| number.as_integer());
                (class.coding.name().unwrap().to_owned(), number("data"), number("parity"))
            };
            (shape(intra), shape(inter))
        };
        let intra = coding("seed=1").0;
        let none = ("none".to_owned(), None, None);
        assert_eq!(coding("transport.coding=none"), (intra.clone(), none), "{scheme}");
        let eight = |parity| ("mds".to_owned(), Some(8), Some(parity));
        assert_eq!(coding("transport.coding=mds"), (intra.clone(), eight(2)), "{scheme}");
        let four = coding("transport.coding={ name = 'mds', parity = 4 }");
        assert_eq!(four, (intra.clone(), eight(4)), "{scheme}");
        let short = ("mds".to_owned(), Some(20), Some(3));
        for set in ["transport.coding=mds(20,3)", "transport.coding=mds(20, 3)"] {
            assert_eq!(coding(set), (intra.clone(), short.clone()), "{scheme}");
        }
        assert_eq!(coding("scheme.inter.coding=mds(20,3)"), (intra, short), "{scheme}");
    }
}

#[test]
fn a_coding_with_its_numbers_is_text_in_files_too() {
    let of = |coding: &str| {
        let text = format!("base = 'uno/incast-mixed'\n[transport]\ncoding = {coding}\n");
        Request { text: Some(text), ..Request::new("mine") }.resolve()
    };
    let inter = |coding: &str| of(coding).unwrap().scenario().scheme.inter.coding.clone();
    assert_eq!(inter("'mds(4,2)'"), inter("{ name = 'mds', data = 4, parity = 2 }"));
    let again = Request { text: Some(of("'mds(4,2)'").unwrap().to_toml()), ..Request::new("again") };
    assert_eq!(again.resolve().unwrap().to_toml(), of("'mds(4,2)'").unwrap().to_toml());
    for bad in ["'mds(8)'", "'mds(8,x)'", "'none(1,1)'", "'mds(200,56)'", "{ name = 'mds(8,2)', data = 4 }"] {
        let error = of(bad).unwrap_err().to_string();
        assert!(error.contains("is not a coding here; write mds, mds(DATA,PARITY)"), "{bad}: {error}");
        assert!(error.contains("transport.coding"), "{bad}: {error}");
    }
}

#[test]
fn every_key_of_the_schema_has_a_meaning() {
    fn visit(path: &str, node: &serde_json::Value) {
        for (key, child) in node["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{key}");
            let says = child.get("description").is_some() || child.get("const").is_some();
            assert!(
                says || path.contains("congestion") || path.contains("balance"),
                "{path} has no description"
            );
            visit(&path, child);
        }
    }
    let schema = schema();
    visit("", &schema);
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        visit(name, definition);
    }
}

#[test]
fn a_mix_is_written_once_and_comes_back() {
    let part = "workload=[{ kind = 'poisson', load = 0.1, flows = 9, ";
    for (keys, there, absent) in [
        ("mix = 'paper' }]", &["mix = \"paper\"", "mix_unit = \"flows\""][..], &["sizes", "class"][..]),
        (
            "mix = 'artifact', class = 'inter' }]",
            &["mix = \"artifact\"", "class = \"inter\""],
            &["sizes", "mix_unit"],
        ),
        (
            "mix = '3:1', mix_unit = 'bytes', sizes = 'websearch' }]",
            &["mix = \"3:1\"", "mix_unit = \"bytes\"", "sizes ="],
            &["class"],
        ),
        ("sizes = 'websearch' }]", &["mix = \"4:1\"", "sizes ="], &["class"]),
        ("class = 'intra', sizes = 'websearch' }]", &["class = \"intra\"", "sizes ="], &["mix"]),
    ] {
        let resolved = with("uno/websearch", &[&format!("{part}{keys}")]).resolve().unwrap();
        let text = resolved.to_toml();
        let (_, workload) = text.split_once("[[workload]]").unwrap();
        let workload = workload.split_once("\n[").map_or(workload, |(workload, _)| workload);
        there.iter().for_each(|key| assert_eq!(workload.matches(key).count(), 1, "{key} in {workload}"));
        absent.iter().for_each(|key| assert!(!workload.contains(key), "{key} in {workload}"));
        let file = std::env::temp_dir().join(format!("farspan-mix-{}.toml", std::process::id()));
        std::fs::write(&file, &text).unwrap();
        let again = Request::new(&file.display().to_string()).resolve().unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(again.scenario(), resolved.scenario());
    }
}
