//! Incasts whose hosts are drawn, from text to flows.

use farspan_scenario::Request;
use farspan_world::World;
use std::collections::BTreeSet;
use std::fs;

const TOPOLOGY: &str =
    "[topology]\nkind = 'star'\nhosts = 33\n[[workload]]\nkind = 'incast'\nflow_size = '100KB'\n";

/// The world of these lines of an incast on 33 hosts.
fn world(name: &str, lines: &str) -> Result<World, String> {
    let path = std::env::temp_dir().join(format!("farspan-incasts-{name}-{}.toml", std::process::id()));
    fs::write(&path, format!("{TOPOLOGY}{lines}")).unwrap();
    let request = Request::new(&path.display().to_string());
    let world = request.resolve().and_then(|resolved| World::build(&resolved));
    let _ = fs::remove_file(&path);
    world.map_err(|error| error.to_string())
}

#[test]
fn a_load_makes_incasts_come_to_drawn_receivers() {
    let world = world("load", "degree = 8\nload = 0.5\nduration = '2ms'").unwrap();
    let flows = &world.spec.flows;
    // Half of 33 hosts at 12.5 GB/s, for 2 ms, in flows of 100 KB.
    assert!((3_000..5_300).contains(&flows.len()), "{}", flows.len());
    assert!(flows.iter().map(|flow| flow.dst).collect::<BTreeSet<_>>().len() > 20);
}

#[test]
fn a_degree_alone_draws_the_senders_of_one_incast() {
    let world = world("degree", "degree = 32\nreceiver = 5\nspread = '10us'").unwrap();
    let flows = &world.spec.flows;
    assert!(flows.len() == 32 && flows.iter().all(|flow| flow.dst.0 == 5));
    assert!(flows.iter().map(|flow| flow.start).collect::<BTreeSet<_>>().len() > 20);
}

#[test]
fn incasts_that_make_no_sense_are_refused() {
    let cases = [
        ("receiver = 5", "workload[0].senders", "or a degree"),
        ("degree = 8", "workload[0].receiver", "give a host"),
        ("degree = 8\nsenders = [1]\nreceiver = 2", "workload[0].degree", "give one of the two"),
        ("senders = [1]\nreceiver = 2\nload = 0.2", "workload[0].load", "in place of senders"),
        ("senders = [1]\nreceiver = 2\nduration = '1ms'", "workload[0].duration", "in place of senders"),
        ("degree = 8\nload = 0.2", "workload[0].load", "give both or neither"),
        ("degree = 33\nload = 0.2\nduration = '1ms'", "workload[0].degree", "give 1 to 32"),
        ("degree = 8\nload = 20\nduration = '1ms'", "workload[0].load", "0.2 for 20%"),
        ("degree = 8\nload = 0.2\nduration = '0s'", "workload[0].duration", "such as \"2ms\""),
        ("degree = 8\nreceiver = 33", "workload[0].receiver", "numbered 0 to 32"),
        ("degree = 8\nload = 1\nduration = '10000s'", "workload[0].load", "shorten the duration"),
        ("degree = 8\nload = 1\nduration = '250s'", "workload[0].degree", "a shorter time"),
    ];
    let mut missed = Vec::new();
    for (lines, place, cure) in cases {
        match world("bad", lines) {
            Err(message) if message.contains(place) && message.contains(cure) => {}
            Err(message) => missed.push(format!("{lines:?}: expected {place} and {cure:?}: {message}")),
            Ok(_) => missed.push(format!("{lines:?} was accepted")),
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
