use super::*;
use serde_json::json;
use toml::Table;

/// A run whose number is `p99`.
fn head(scheme: &str, seed: u64, rtt: &str, p99: Option<f64>) -> Head {
    let summary = json!({
        "scenario": "s", "scheme": scheme, "profile": "paper", "seed": seed, "digest": "x",
        "fct": {"inter": {"count": 9, "unfinished": 1, "p99_us": p99, "p50_us": 1.0}, "intra": null},
        "queues": {"bottleneck": "a->b#0", "max_bytes": 7},
    });
    let text = format!(
        "seed = {seed}\n[scheme]\nname = '{scheme}'\n[topology]\nbuffer = '1MiB'\nwan.rtt = '{rtt}'\n[[workload]]\nkind = 'incast'\n[[workload]]\nload = 0.4"
    );
    Head { summary, scenario: text.parse().unwrap(), parameters: Default::default() }
}

/// Runs of two schemes over three RTTs: the number is the RTT in ms times the scheme's, and more by seed.
fn grid(seeds: u64) -> Vec<Head> {
    let mut runs = Vec::new();
    for (scheme, times) in [("uno", 1000.0), ("oscar", 2000.0)] {
        for (rtt, ms) in [("20ms", 20.0), ("1ms", 1.0), ("2000us", 2.0)] {
            runs.extend((1..=seeds).map(|seed| head(scheme, seed, rtt, Some(times * ms + seed as f64))));
        }
    }
    runs
}

const ASKED: Asked<'_> = Asked { x: "topology.wan.rtt", y: "fct.inter.p99_us", by: "scheme", only: &[] };

fn refused(runs: &[Head], asked: Asked<'_>) -> String {
    over(runs, &asked).unwrap_err().to_string()
}

#[test]
fn a_scheme_has_a_line_of_medians_over_seeds_in_rising_order_of_the_axis() {
    let over = over(&grid(3), &ASKED).unwrap();
    assert_eq!(
        (over.x_label.as_str(), over.y_label.as_str()),
        ("topology.wan.rtt (ms)", "fct.inter.p99 (ms)")
    );
    assert!(over.x_log && over.y_log);
    let short: Vec<Head> =
        grid(1).into_iter().filter(|run| run.value("topology.wan.rtt").unwrap() != "20ms").collect();
    let short = super::over(&short, &ASKED).unwrap();
    assert!(!short.x_log && !short.y_log);
    let numbers: Vec<_> =
        over.places.iter().map(|place| (place.name.as_str(), place.number.unwrap())).collect();
    assert_eq!(numbers, [("1ms", 1.0), ("2000us", 2.0), ("20ms", 20.0)]);
    assert_eq!(over.lines.iter().map(|line| line.name.as_str()).collect::<Vec<_>>(), ["uno", "oscar"]);
    let medians: Vec<_> = over.lines[1].points.iter().map(|point| point.unwrap().median.unwrap()).collect();
    assert_eq!(medians, [2.002, 4.002, 40.002]);
}

#[test]
fn the_band_is_the_interval_from_six_seeds_on_and_else_the_whole_range() {
    let few = over(&grid(5), &ASKED).unwrap();
    let point = few.lines[0].points[0].unwrap();
    assert_eq!((point.low, point.high, point.seeds), (Some(1.001), Some(1.005), 5));
    assert_eq!(few.notes, ["median over 5 seeds; band: smallest to largest (a 95% interval needs 6)"]);
    let many = over(&grid(20), &ASKED).unwrap();
    let point = many.lines[0].points[0].unwrap();
    assert!(point.low > Some(1.001) && point.high < Some(1.020) && point.low < point.median, "{point:?}");
    assert_eq!(many.notes, ["median over 20 seeds; band: its 95% interval"]);
}

#[test]
fn what_is_infinite_or_missing_is_said() {
    let mut runs = grid(3);
    for run in runs.iter_mut().filter(|run| run.value("topology.wan.rtt").as_deref() == Some("20ms")) {
        run.summary["fct"]["inter"]["p99_us"] = serde_json::Value::Null;
    }
    runs[3].summary["fct"]["inter"] = serde_json::Value::Null;
    runs[4].summary["partial"] = true.into();
    let over = over(&runs, &ASKED).unwrap();
    assert_eq!(over.lines[0].points[2].unwrap().median, None);
    assert_eq!(over.lines[0].points[0].unwrap().seeds, 1);
    let said = [
        "median over 1 to 3 seeds; band: smallest to largest (a 95% interval needs 6)",
        "∞: some flows did not finish, or rates never converged (6 of 17 runs)",
        "left out: not measured, or too few flows (1 of 17 runs)",
        "left out: 1 interrupted runs",
    ];
    assert_eq!(over.notes, said);
}

#[test]
fn words_are_places_without_numbers() {
    let runs = grid(2);
    let asked = Asked { x: "scheme", by: "topology.wan.rtt", ..ASKED };
    let over = over(&runs, &asked).unwrap();
    assert_eq!(over.places[0], Place { name: "oscar".to_owned(), number: None });
    assert_eq!((over.lines.len(), over.x_label.as_str()), (3, "scheme"));
}

#[test]
fn what_else_varies_is_named_with_its_cure() {
    let mut runs = grid(2);
    let mut more = grid(2);
    more.iter_mut().for_each(|run| run.scenario["topology"]["buffer"] = "4MiB".into());
    runs.extend(more);
    let said = "these vary too, but are neither on the axis nor have lines: topology.buffer (1MiB, 4MiB); choose: --where topology.buffer=1MiB";
    assert_eq!(refused(&runs, ASKED), said);
    let only = [("topology.buffer".to_owned(), "4096KiB".to_owned())];
    let chosen = over(&runs, &Asked { only: &only, ..ASKED }).unwrap();
    assert_eq!((chosen.heading.as_str(), chosen.lines.len()), ("s, topology.buffer = 4096KiB", 2));
    let none = [("topology.buffer".to_owned(), "2MiB".to_owned())];
    let said = "--where topology.buffer=2MiB: no run has it; there are: 1MiB, 4MiB";
    assert_eq!(refused(&runs, Asked { only: &none, ..ASKED }), said);
    // A key that follows from the axis is no other one.
    let mut follows = grid(2);
    for run in &mut follows {
        let rtt = run.value("topology.wan.rtt").unwrap();
        run.scenario["topology"]["buffer"] = rtt.into();
    }
    assert!(over(&follows, &ASKED).is_ok());
}

#[test]
fn the_last_names_of_a_key_that_varies_stand_for_it() {
    let mut runs = grid(2);
    let by_name = over(&runs, &Asked { x: "rtt", ..ASKED }).unwrap();
    assert_eq!(by_name, over(&runs, &ASKED).unwrap());
    assert_eq!(by_name.x_label, "topology.wan.rtt (ms)");
    // What does not vary has its whole name.
    let said = refused(&runs, Asked { x: "scheme", by: "buffer", ..ASKED });
    assert!(said.starts_with("--by buffer: no run has it; did you mean topology.buffer"), "{said}");
    for (i, run) in runs.iter_mut().enumerate() {
        run.scenario["topology"]["buffer"] = if i % 2 == 0 { "1MiB" } else { "4MiB" }.into();
        run.scenario.insert("links".to_owned(), "wan.buffer = '4MiB'".parse::<Table>().unwrap().into());
    }
    for size in ["4MiB", "4194304", "4194304B"] {
        let only = [("buffer".to_owned(), size.to_owned())];
        let chosen = over(&runs, &Asked { x: "wan.rtt", only: &only, ..ASKED }).unwrap();
        assert_eq!(chosen.lines[0].points[0].unwrap().seeds, 1, "{size}");
        assert!(chosen.heading.starts_with("s, topology.buffer = 4"), "{}", chosen.heading);
    }
    for (i, run) in runs.iter_mut().enumerate() {
        run.scenario["links"]["wan"]["buffer"] = if i % 3 == 0 { "1MiB" } else { "4MiB" }.into();
    }
    let only = [("buffer".to_owned(), "1MiB".to_owned())];
    let said = refused(&runs, Asked { only: &only, ..ASKED });
    let keys = "links.wan.buffer, topology.buffer";
    assert_eq!(said, format!("--where buffer: several keys end with it; give one of them: {keys}"));
    let said = refused(&runs, Asked { x: "tt", ..ASKED });
    assert!(said.starts_with("--x tt: no run has it"), "a part of a name is none: {said}");
}

#[test]
fn the_parameters_of_a_table_that_varies_have_names_too() {
    let mut runs = grid(1);
    for run in &mut runs {
        let rtt = run.value("topology.wan.rtt").unwrap();
        let table: Table = format!("west_east = '{rtt}'\nsame = '1ms'").parse().unwrap();
        run.parameters = [("topology.parameters".to_owned(), table.to_string())].into();
        run.scenario["topology"].as_table_mut().unwrap().insert("parameters".to_owned(), table.into());
    }
    let over = over(&runs, &Asked { x: "west_east", ..ASKED }).unwrap();
    assert_eq!((over.x_label.as_str(), over.places.len()), ("topology.parameters.west_east (ms)", 3));
}

#[test]
fn a_sweeps_own_keys_come_before_what_follows_from_them() {
    let mut runs = grid(2);
    for run in &mut runs {
        let rtt = run.value("topology.wan.rtt").unwrap();
        run.parameters = [("files.three.rtt".to_owned(), rtt)].into();
    }
    let over = over(&runs, &Asked { x: "files.three.rtt", ..ASKED }).unwrap();
    assert_eq!(over.places.len(), 3);
    let said = refused(&runs, Asked { x: "files.tree.rtt", ..ASKED });
    assert!(said.starts_with("--x files.tree.rtt: no run has it; did you mean files.three.rtt"), "{said}");
    assert!(said.ends_with("? What varies: scheme, files.three.rtt"), "{said}");
}

#[test]
fn unknown_names_are_refused_with_the_nearest() {
    let runs = grid(1);
    let x = refused(&runs, Asked { x: "topology.wan.rt", ..ASKED });
    assert!(x.starts_with("--x topology.wan.rt: no run has it; did you mean topology.wan.rtt"), "{x}");
    let y = refused(&runs, Asked { y: "fct.inter.p99", ..ASKED });
    assert!(y.starts_with("--y fct.inter.p99: no run has it; did you mean fct.inter.p99_us"), "{y}");
    let by = refused(&runs, Asked { by: "shceme", ..ASKED });
    assert!(by.starts_with("--by shceme: no run has it; did you mean scheme"), "{by}");
    let inner = refused(&runs, Asked { y: "fct.inter", ..ASKED });
    assert!(
        inner.starts_with("--y fct.inter: it is not a number; it contains: fct.inter.count, "),
        "{inner}"
    );
}

#[test]
fn an_axis_that_does_not_vary_is_refused() {
    let said = "--x workload.load: it is 0.4 in every run; these vary: scheme (oscar, uno); topology.wan.rtt (1ms, 2000us, 20ms)";
    assert_eq!(refused(&grid(1), Asked { x: "workload.load", ..ASKED }), said);
}

#[test]
fn a_number_that_no_run_has_is_refused() {
    let mut runs: Vec<Head> = grid(1);
    let said = |runs: &[Head], y: &str| {
        let said = refused(runs, Asked { y, ..ASKED });
        said.strip_prefix(&format!("--y {y}: it is null in every run: ")).expect("why").to_owned()
    };
    assert!(said(&runs, "fct.intra").starts_with("there are no such flows, or too few: a p99"));
    for run in &mut runs {
        run.summary["queues"]["bottleneck_p99_bytes"] = serde_json::Value::Null;
        run.summary["fct"]["inter"]["p99_us"] = serde_json::Value::Null;
    }
    assert!(said(&runs, "queues.bottleneck_p99_bytes").starts_with("it was not measured; "));
    assert!(said(&runs, "fct.inter.p99_us").starts_with("some flows did not finish"));
}

#[test]
fn a_number_of_several_bottlenecks_says_so() {
    let mut runs = grid(1);
    for run in &mut runs {
        run.summary["queues"]["bottleneck_p99_bytes"] = 7.into();
    }
    let notes = |runs: &[Head], y| over(runs, &Asked { y, ..ASKED }).unwrap().notes;
    assert_eq!(notes(&runs, "queues.bottleneck_p99_bytes"), ["one seed"]);
    runs[0].summary["queues"]["bottleneck"] = "b->c#0".into();
    let said = ["one seed", "over 2 ports: the bottleneck is not the same port in all runs"];
    assert_eq!(notes(&runs, "queues.bottleneck_p99_bytes"), said);
    assert_eq!(notes(&runs, "queues.max_bytes"), ["one seed"]);
}

#[test]
fn one_seed_twice_at_a_point_is_refused() {
    let runs = [grid(1), grid(1)].concat();
    assert!(refused(&runs, ASKED).starts_with("seed 1 appears twice at one point; "));
}

#[test]
fn a_pattern_stands_in_quotes_of_either_kind() {
    let mut runs = grid(1);
    for run in &mut runs {
        let rtt = run.value("topology.wan.rtt").unwrap();
        run.scenario = format!("[topology.link.'a.1->b*']\ndelay = '{rtt}'").parse().unwrap();
    }
    for x in ["topology.link['a.1->b*'].delay", "topology.link[\"a.1->b*\"].delay"] {
        let over = over(&runs, &Asked { x, ..ASKED }).unwrap();
        assert_eq!((over.places.len(), over.x_label.as_str()), (3, "topology.link[\"a.1->b*\"].delay (ms)"));
    }
    // What is offered for a wrong key can be given.
    let said = refused(&runs, Asked { x: "topology.link['a.1->b'].delay", ..ASKED });
    assert!(said.contains("did you mean topology.link[\"a.1->b*\"].delay"), "{said}");
    // As a sweep writes it is all one.
    for run in &mut runs {
        let rtt = run.value("topology.link['a.1->b*'].delay").unwrap();
        run.parameters = [("topology.link['a.1->b*'].delay".to_owned(), rtt)].into();
    }
    assert!(over(&runs, &Asked { x: "topology.link[\"a.1->b*\"].delay", ..ASKED }).is_ok());
    // A key without quotes is named as it was given.
    let said = refused(&runs, Asked { x: "topology.link.delay", ..ASKED });
    assert!(said.starts_with("--x topology.link.delay: no run has it"), "{said}");
    // A bracket that nothing closes is a part of a name.
    assert!(refused(&runs, Asked { x: "topology.link['a", ..ASKED }).contains("no run has it"));
}

#[test]
fn files_are_called_by_their_base_names() {
    let mut runs = grid(1);
    for run in &mut runs {
        let file = format!("/a/b/{}.toml", run.value("topology.wan.rtt").unwrap());
        let text = format!("[topology]\nfile = '{file}'\n[files]\n'{file}' = '{file}'");
        run.scenario = text.parse().unwrap();
        run.parameters = [("topology.file".to_owned(), format!("../b{}", &file[4..]))].into();
    }
    let names = |over: Over| over.places.into_iter().map(|place| place.name).collect::<Vec<_>>();
    let asked = Asked { x: "topology.file", ..ASKED };
    assert_eq!(names(over(&runs, &asked).unwrap()), ["1ms.toml", "20ms.toml", "2000us.toml"]);
    for file in ["1ms.toml", "/a/b/1ms.toml", "../b/1ms.toml"] {
        let only = [("topology.file".to_owned(), file.to_owned())];
        let asked = Asked { x: "scheme", by: "topology.file", only: &only, ..ASKED };
        let over = over(&runs, &asked).unwrap();
        assert_eq!(
            (over.heading.as_str(), over.lines[0].name.as_str()),
            ("s, topology.file = 1ms.toml", "1ms.toml")
        );
    }
}
