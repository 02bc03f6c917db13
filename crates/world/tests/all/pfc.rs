//! Shared buffers and pauses, from keys to results.

use farspan_scenario::Request;
use farspan_world::{EngineKind, Results, World};
use std::path::PathBuf;

/// A file that goes when it is no longer needed.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, text: &str) -> Self {
        let name = format!("farspan-pfc-{:?}-{}-{name}", std::thread::current().id(), std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

fn run(text: &str, set: &[&str]) -> (World, Results) {
    let file = Temporary::new("scenario.toml", text);
    let set = set.iter().map(|&text| text.to_owned()).collect();
    let resolved = Request { set, ..Request::new(&file.0.display().to_string()) }.resolve();
    let resolved = resolved.unwrap_or_else(|error| panic!("{error}"));
    let world = World::build(&resolved).unwrap_or_else(|error| panic!("{error}"));
    let results = farspan_world::run(&resolved, &world, EngineKind::Windowed, &mut |_| true);
    (world, results)
}

/// 64 hosts send to one, with windows of a tenth of a millisecond each: no control keeps the queue short.
fn incast() -> String {
    let senders: Vec<_> = (1..65).map(|host| host.to_string()).collect();
    format!(
        "[topology]\nkind = 'star'\nhosts = 65\n[transport]\nstart = '1MiB'\nrto = '100ms'\n\
         [scheme]\nname = 'fixed_window'\n[scheme.ports]\npool = {{ size = '8MiB' }}\n\
         [[workload]]\nkind = 'incast'\nreceiver = 0\nsenders = [{}]\nflow_size = '256KiB'\n",
        senders.join(", ")
    )
}

#[test]
fn lossless_links_drop_nothing_in_an_incast_of_64_and_their_pauses_are_in_the_results() {
    let (_, lossless) = run(&incast(), &["scheme.ports.pfc.links=site"]);
    let pfc = lossless.summary.pfc.expect("links are lossless");
    assert_eq!((lossless.summary.packets.dropped, lossless.summary.flows.finished), (0, 64));
    assert_eq!(lossless.summary.recovery.timeouts, 0);
    assert!(pfc.pauses >= 64 && !pfc.deadlock, "{pfc:?}");
    assert_eq!(pfc.pauses, lossless.ports.iter().map(|port| port.pauses).sum::<u64>());
    let paused: f64 = lossless.ports.iter().map(|port| port.paused.as_us_f64()).sum();
    assert!((pfc.paused_us - paused).abs() < 1e-6 && paused > 1000.0, "{paused}");
    assert!(lossless.ports.iter().filter(|port| port.pauses > 0).all(|port| port.tier == "host_up"));
    let (_, lossy) = run(&incast(), &[]);
    assert!(lossy.summary.packets.dropped > 0 && lossy.summary.pfc.is_none());
    let (_, roomy) = run(&incast(), &["scheme.ports.pfc.links=site", "scheme.ports.pool.size=1GiB"]);
    assert_eq!(roomy.summary.pfc.map(|pfc| (pfc.pauses, pfc.paused_us)), Some((0, 0.0)));
}

#[test]
fn with_a_pool_ports_have_no_limit_of_their_own_unless_they_trim() {
    let of = |set: &[&str]| {
        let (world, _) = run(&incast().replace("256KiB", "4KiB"), set);
        let ports = &world.spec.ports;
        [farspan_fabric::Tier::HostDown, farspan_fabric::Tier::HostUp].map(|tier| ports.of(tier).buffer.get())
    };
    let (own, nic) = (1 << 20, 1 << 20);
    assert_eq!(of(&[]), [8 << 20, nic]);
    assert_eq!(of(&["scheme.ports.pool.size=off"]), [own, nic]);
    assert_eq!(of(&["scheme.ports.overflow=trim"]), [own, nic]);
    // Fractions of RED are of topology.buffer still.
    let red = [
        "scheme.ports.marking=red",
        "scheme.ports.tiers=['host_down']",
        "scheme.ports.red={ min = 0.25, max = 0.5 }",
    ];
    let (world, _) = run(&incast().replace("256KiB", "4KiB"), &red);
    let marker = &world.spec.ports.of(farspan_fabric::Tier::HostDown).markers[0];
    let (min, max) = (farspan_units::Bytes::new(1 << 18), farspan_units::Bytes::new(1 << 19));
    assert_eq!(*marker, farspan_fabric::Marker::Queue(farspan_fabric::Red::new(min, max)));
}

#[test]
fn a_resolved_scenario_has_the_keys_and_says_off_where_there_is_no_pool() {
    let (_, results) = run(&incast(), &["scheme.ports.pfc.links=all", "scheme.ports.pool.alpha=0.5"]);
    for line in [
        "size = \"8MiB\"",
        "alpha = 0.5",
        "reserve = \"4KiB\"",
        "links = \"all\"",
        "resume_offset = \"3KiB\"",
        "headroom = \"auto\"",
    ] {
        assert!(results.scenario.contains(line), "{line} in\n{}", results.scenario);
    }
    let (_, off) = run(&incast(), &["scheme.ports.pool.size=off"]);
    assert!(
        off.scenario.contains("size = \"off\"") && off.scenario.contains("links = \"none\""),
        "{}",
        off.scenario
    );
    assert!(!off.scenario.contains("alpha"), "{}", off.scenario);
    let (again, first) = (run(&results.scenario, &[]).1, results);
    assert_eq!((again.summary.digest, again.scenario), (first.summary.digest, first.scenario));
}

/// Five switches in a ring, a host at each.
const RING: &str = "[defaults]\nrate = '100Gbps'\ndelay = '1us'\n\
    [[site]]\nname = 'ring'\n[[node]]\nname = 'host[0..4]'\nkind = 'host'\n[[node]]\nname = 'switch[0..4]'\nkind = 'switch'\n\
    [[link]]\na = 'host[0..4]'\nb = 'switch[0..4]'\nwiring = 'blocks'\n\
    [[link]]\na = 'switch0'\nb = 'switch1'\n[[link]]\na = 'switch1'\nb = 'switch2'\n[[link]]\na = 'switch2'\nb = 'switch3'\n\
    [[link]]\na = 'switch3'\nb = 'switch4'\n[[link]]\na = 'switch4'\nb = 'switch0'\n";

#[test]
fn a_cycle_of_pauses_is_a_deadlock_in_the_results_and_a_warning() {
    let topology = Temporary::new("ring.toml", RING);
    let text = format!(
        "[topology]\nkind = 'from_file'\nfile = '{}'\n[transport]\nstart = '1MiB'\nrto = '1ms'\n[host]\njitter = '0ns'\n\
         [scheme]\nname = 'fixed_window'\n[scheme.ports]\npool = {{ size = '200KiB' }}\npfc = {{ links = 'site' }}\n\
         [[workload]]\nkind = 'pairs'\npairs = [[0, 2], [1, 3], [2, 4], [3, 0], [4, 1]]\nflow_size = '1MiB'\n\
         [stop]\ntime = '5ms'\n",
        topology.0.display()
    );
    let (_, held) = run(&text, &[]);
    let pfc = held.summary.pfc.unwrap();
    assert!(pfc.deadlock && held.summary.flows.finished == 0 && held.summary.packets.dropped == 0, "{pfc:?}");
    let warnings = held.summary.warnings.join("\n");
    assert!(
        warnings.contains("the run ended in a deadlock: 10 paused ports, including host0->switch0#0"),
        "{warnings}"
    );
    let (_, free) = run(&text, &["scheme.ports.pool.size=8MiB"]);
    // The pauses last, to the end of the run.
    assert_eq!((held.summary.sim_time_s, pfc.paused_us > 9.0 * 5000.0), (0.005, true));
    let said = farspan_world::runner::unfinished(&held.summary).join("\n");
    assert!(said.contains("5 flows had not finished when the run deadlocked"), "{said}");
    assert!(!warnings.contains("lose packets"), "{warnings}");
    assert!(!free.summary.pfc.unwrap().deadlock && free.summary.flows.finished == 5);
    assert!(!free.summary.warnings.join("\n").contains("deadlock"));
}

#[test]
fn a_pool_is_checked_at_every_switch() {
    let refused = |text: &str, set: &[&str]| {
        let file = Temporary::new("scenario.toml", text);
        let set = set.iter().map(|&text| text.to_owned()).collect();
        let resolved = Request { set, ..Request::new(&file.0.display().to_string()) }.resolve().unwrap();
        World::build(&resolved).unwrap_err().to_string()
    };
    let error = refused(&incast(), &["scheme.ports.pfc.links=site", "scheme.ports.pool.size=2MiB"]);
    for text in [
        "scheme.ports.pool.size",
        "at tor0, the pool has 2MiB",
        "of headroom",
        "for 65 links leave 0B to share",
        "give more, such as",
    ] {
        assert!(error.contains(text), "{text} in {error}");
    }
    let dual = "[scheme.ports]\npool = { size = '64MiB' }\npfc = { links = 'all' }\n[topology]\nk = 4\nwan = { rtt = '10ms' }\n\
        [[workload]]\nkind = 'permutation'\nflow_size = '64KiB'\n";
    let error = refused(dual, &[]);
    assert!(error.contains("at border0, the pool has 64MiB"), "headroom of long links: {error}");
    let (_, site) = run(dual, &["scheme.ports.pfc.links=site"]);
    assert!(site.summary.pfc.is_some());
}
