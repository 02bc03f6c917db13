//! The control in a small simulation, in the place of a built-in one.
#![allow(clippy::unwrap_used, reason = "a test says by failing")]

use farspan_scenario::{EngineKind, Request, Results, World};
use farspan_transport::Class;
use farspan_transport::congestion::Custom;
use my_control::MyControl;

// ANCHOR: run
/// Eight flows into one host, four of them from another site, at ports that mark as DCTCP asks for.
fn incast(control: MyControl, engine: EngineKind) -> Results {
    let set = ["workload.flow_size=8MiB", "topology.wan.rtt=200us"].map(str::to_owned).to_vec();
    let scheme = Some("dctcp".to_owned());
    let resolved = Request { scheme, set, ..Request::new("uno/incast-mixed") }.resolve().unwrap();
    let mut world = World::build(&resolved).unwrap();
    let control = Custom::new(control);
    world.set_control(Class::Intra, control.clone());
    world.set_control(Class::Inter, control);
    farspan_scenario::run(&resolved, &world, engine, &mut |_| true)
}
// ANCHOR_END: run

#[test]
fn flows_end_and_share_the_link() {
    let results = incast(MyControl { cut: 0.5 }, EngineKind::Windowed);
    assert_eq!(results.summary.flows.finished, 8);
    assert_eq!(results.summary.scheme, "my-control");
    assert!(results.summary.packets.ecn_marked > 0);
    let jain = results.summary.fairness.jain_mean.unwrap();
    assert!(jain > 0.5, "{jain}");
}

#[test]
fn every_engine_gives_the_same_and_another_parameter_another_result() {
    let digest = |cut, engine| incast(MyControl { cut }, engine).summary.digest;
    assert_eq!(digest(0.5, EngineKind::Windowed), digest(0.5, EngineKind::Oracle));
    assert_ne!(digest(0.5, EngineKind::Windowed), digest(0.1, EngineKind::Windowed));
}

#[test]
fn traces_name_it_as_the_summary_does() {
    let set = vec!["workload.flow_size=64KiB".to_owned()];
    let resolved = Request { set, ..Request::new("uno/incast-mixed") }.resolve().unwrap();
    let mut world = World::build(&resolved).unwrap();
    world.set_control(Class::Intra, Custom::new(MyControl { cut: 0.5 }));
    world.trace(&["flow=0".to_owned()], &[]).unwrap();
    let results = farspan_scenario::run(&resolved, &world, EngineKind::Windowed, &mut |_| true);
    let folder = std::env::temp_dir().join(format!("farspan-my-control-{}", std::process::id()));
    results.save(&folder).unwrap();
    let log = std::fs::read_to_string(folder.join("trace/flow-0.sqlog")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(results.summary.scheme, "my-control/uno");
    assert!(log.lines().next().unwrap().contains("scheme my-control/uno, "), "{log}");
}
