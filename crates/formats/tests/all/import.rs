//! From a file of another tool to a run.

use farspan_formats::cm::{TimeUnit, parse};
use farspan_formats::list;
use farspan_scenario::Request;
use farspan_world::{EngineKind, Results, World};
use std::path::PathBuf;

/// Two flows into host 5, and when both have ended one out of it.
const EXAMPLE: &str = "Nodes 16\nConnections 3\nTriggers 1\n\
    0->5 id 1 start 0 size 2000000 send_done_trigger 1\n\
    1->5 id 2 start 0 size 2000000 send_done_trigger 1\n\
    5->9 id 3 trigger 1 size 4000000\n\
    trigger id 1 barrier count 2\n";

const SCENARIO: &str = "[topology]\nkind = 'star'\nhosts = 16\n[scheme]\nname = 'fixed_window'\n[host]\njitter = '0ns'\n\
    [[workload]]\nkind = 'flows'\nfile = 'list.FORMAT'\n";

/// A folder with a connection matrix as a list and a scenario around it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, format: &str, matrix: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("farspan-import-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let matrix = parse("example.cm", matrix, TimeUnit::Us, None).unwrap();
        list::save(&folder.join(format!("list.{format}")), &matrix.rows).unwrap();
        std::fs::write(folder.join("run.toml"), SCENARIO.replace("FORMAT", format)).unwrap();
        Self(folder)
    }

    fn run(&self, set: &[&str], engine: EngineKind) -> Results {
        let scenario = self.0.join("run.toml").display().to_string();
        let set = set.iter().map(|&assignment| assignment.to_owned()).collect();
        let resolved = Request { set, ..Request::new(&scenario) }.resolve().unwrap();
        let world = World::build(&resolved).unwrap();
        farspan_world::run(&resolved, &world, engine, &mut |_| true)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn starts(results: &Results) -> Vec<u64> {
    results.flows.iter().map(|flow| flow.outcome.start.as_ps()).collect()
}

/// Links have 100 Gb/s and 1 us: 80 ps a byte. The first packets (4,160 B) are at the switch after 1,332,800 ps. From then
/// on the link to host 5 is never idle, for 4,000,000 B of payload and 2 x 489 headers of 64 B. The last packet is there
/// after 1 us more, and its ACK (64 B over two links) at its sender after 2,010,240 ps more.
const LAST_ACK: u64 = 1_332_800 + (4_000_000 + 2 * 489 * 64) * 80 + 1_000_000 + 2_010_240;

#[test]
fn the_waiting_flow_of_a_matrix_starts_to_the_picosecond() {
    for format in ["csv", "parquet"] {
        let folder = Folder::new(format, format, EXAMPLE);
        let results = folder.run(&[], EngineKind::Windowed);
        // The shortest link carries the notification to host 5: 1 us.
        assert_eq!(starts(&results), [0, 0, LAST_ACK + 1_000_000], "{format}");
        assert!(results.flows.iter().all(|flow| flow.outcome.finish.is_some()));
        let fct = results.flows[2].outcome.fct().unwrap();
        assert!(
            fct >= results.flows[2].outcome.ideal_fct && results.flows[2].outcome.slowdown(fct) < 1.01,
            "{fct}"
        );
        let oracle = folder.run(&[], EngineKind::Oracle);
        assert_eq!(oracle.summary.digest, results.summary.digest);
        let slow = folder.run(&["workload.trigger_delay=7us"], EngineKind::Windowed);
        assert_eq!(starts(&slow), [0, 0, LAST_ACK + 7_000_000]);
        assert_ne!(slow.summary.digest, results.summary.digest);
    }
}

#[test]
fn warm_up_is_counted_from_the_true_start() {
    let folder = Folder::new("warmup", "csv", EXAMPLE);
    let measured = |warmup: &str| {
        let results = folder.run(&[&format!("measure.warmup={warmup}")], EngineKind::Windowed);
        results.flows.iter().map(|flow| flow.measured).collect::<Vec<_>>()
    };
    assert_eq!(measured("330us"), [false, false, true]);
    assert_eq!(measured("331us"), [false, false, false]);
}

#[test]
fn flows_that_never_start_are_counted_and_have_no_start() {
    let folder = Folder::new("never", "csv", EXAMPLE);
    let results = folder.run(&["stop.time=200us"], EngineKind::Windowed);
    let flows = results.summary.flows;
    assert_eq!((flows.started, flows.finished, flows.not_started), (2, 0, 1));
    assert_eq!(results.summary.fct.all.as_ref().unwrap().count, 2);
}

#[test]
fn a_word_shorter_than_every_link_brings_a_warning() {
    let folder = Folder::new("warning", "csv", EXAMPLE);
    let scenario = folder.0.join("run.toml").display().to_string();
    let request = Request { set: vec!["workload.trigger_delay=10ns".to_owned()], ..Request::new(&scenario) };
    let world = World::build(&request.resolve().unwrap()).unwrap();
    assert!(world.warnings.iter().any(|warning| warning.contains("shorter than every link (1us)")));
    assert!(request.resolve().unwrap().to_toml().contains("trigger_delay = \"10ns\""));
    let default = Request::new(&scenario).resolve().unwrap();
    assert!(default.to_toml().contains("trigger_delay = \"lookahead\""));
    assert!(World::build(&default).unwrap().warnings.is_empty());
}
