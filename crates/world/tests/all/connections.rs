//! Flows of a pair on one connection, from the scenario to the results.

use farspan_scenario::{Request, Resolved};
use farspan_sim::{EngineKind, Trace};
use farspan_transport::Class;
use farspan_transport::congestion::{
    Ack, Congestion, CongestionConfig, Custom, Decision, Factory, Needs, Start,
};
use farspan_units::{Bytes, FlowId};
use farspan_world::World;

/// Three flows of one pair, and two of another that start before.
const FLOWS: &str = "workload=[{kind=\"pairs\", pairs=[[0,1],[0,1],[0,1]], flow_size=\"40KiB\", start=\"5us\"}, \
                     {kind=\"pairs\", pairs=[[2,3],[2,3]], flow_size=\"10KiB\"}]";

fn resolved(set: &[&str]) -> Resolved {
    let all =
        ["transport.connections=per_pair", "scheme.name=dctcp", "topology={kind=\"star\", hosts=4}", FLOWS];
    let set = all.iter().chain(set).map(|set| (*set).to_owned()).collect();
    Request { set, ..Request::new("uno/permutation") }.resolve().unwrap()
}

fn world(set: &[&str]) -> World {
    World::build(&resolved(set)).unwrap()
}

/// A window that stays, with the needs of a built-in control.
struct Fixed(&'static str);

impl Congestion for Fixed {
    fn decision(&self) -> Decision {
        Decision::window(Bytes::new(10_000))
    }

    fn on_ack(&mut self, _ack: &Ack) -> Decision {
        self.decision()
    }
}

impl Factory for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn needs(&self) -> Needs {
        CongestionConfig::by_name(self.0).expect("a built-in name").needs()
    }

    fn control(&self, _start: &Start<'_>) -> Box<dyn Congestion + Send> {
        Box::new(Self(self.0))
    }
}

#[test]
fn a_control_from_outside_keeps_the_connections_of_the_scenario() {
    let resolved = resolved(&[]);
    let mut world = World::build(&resolved).unwrap();
    for class in [Class::Intra, Class::Inter] {
        world.set_control(&resolved, class, Custom::new(Fixed("fixed_window"))).unwrap();
        assert!(world.spec.scheme(class).profile.persistent);
    }
}

#[test]
fn a_control_that_needs_what_connections_do_not_have_is_refused_and_the_world_stays() {
    let resolved = resolved(&[]);
    let mut world = World::build(&resolved).unwrap();
    let (before, warnings) = (world.spec.intra.clone(), world.warnings.clone());
    let error = world.set_control(&resolved, Class::Intra, Custom::new(Fixed("ndp"))).unwrap_err();
    assert!(error.to_string().contains("the receiver pulls whole flows under fixed"), "{error}");
    assert!(error.to_string().contains("write transport.connections = \"per_flow\""), "{error}");
    assert_eq!((&world.spec.intra, &world.warnings), (&before, &warnings));
}

#[test]
fn a_trace_of_any_flow_of_a_connection_is_that_of_all_of_it() {
    let mut world = world(&[]);
    // Flows are numbered by their start: 0 and 1 of the one pair, 2 to 4 of the other.
    world.spec.trace = Trace { flows: [1, 3, 4].map(FlowId).to_vec(), ports: Vec::new() };
    let outcome = farspan_sim::run(&world.spec, EngineKind::Windowed, &mut |_| true);
    assert_eq!(outcome.trace.of, [0, 2].map(FlowId));
    assert!(outcome.trace.flows.iter().all(|event| outcome.trace.of.contains(&event.flow)));
    let count = |flow| outcome.trace.flows.iter().filter(|event| event.flow == FlowId(flow)).count();
    assert!(count(0) > 0 && count(2) > count(0));
}

#[test]
fn blocks_in_a_class_without_flows_are_no_reason_to_refuse() {
    assert!(world(&["scheme.name=uno"]).spec.flows.len() == 5);
}
