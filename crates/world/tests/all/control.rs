//! Runs of a control of another crate, which scenarios know by name.

use farspan_scenario::{NamedControl, Request, register};
use farspan_transport::congestion::{
    Ack, Congestion, Decision, Ecn, Factory, NackRule, Needs, SignalBytes, Start,
};
use farspan_units::{Bytes, TelemetryKind};
use farspan_world::{EngineKind, Results, World, run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A window of some packets.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Constant {
    /// Full packets in flight.
    packets: u64,
}

impl NamedControl for Constant {
    const SUMMARY: &'static str = "A window of some packets";
    const CONSTANTS: &'static str = "ports.marking = \"step\"\nrecovery.name = \"rack\"";
}

impl Factory for Constant {
    fn name(&self) -> &'static str {
        "constant"
    }

    fn needs(&self) -> Needs {
        Needs {
            ecn: Ecn::Ignored,
            sent: false,
            send_record: false,
            pulls: None,
            cnps: None,
            telemetry: TelemetryKind::None,
            arrival: false,
            nacks: NackRule::Only,
            signal_bytes: SignalBytes::NONE,
        }
    }

    fn control(&self, start: &Start<'_>) -> Box<dyn Congestion + Send> {
        Box::new(Window(start.path.mss * self.packets))
    }
}

struct Window(Bytes);

impl Congestion for Window {
    fn decision(&self) -> Decision {
        Decision::window(self.0)
    }

    fn on_ack(&mut self, _ack: &Ack) -> Decision {
        self.decision()
    }
}

#[test]
fn a_run_obeys_its_parameters_and_bears_the_schemes_name() {
    register::<Constant>().unwrap();
    let run = |packets: &str| -> Results {
        // What the other class takes by default would be no window.
        let set = ["workload.flow_size=64KiB", "scheme.inter.congestion.packets=20", packets];
        let scheme = Some("constant+rps".to_owned());
        let set = set.map(str::to_owned).to_vec();
        let resolved = Request { scheme, set, ..Request::new("uno/incast-mixed") }.resolve().unwrap();
        run(&resolved, &World::build(&resolved).unwrap(), EngineKind::Windowed, &mut |_| true)
    };
    let (few, many) = (run("scheme.intra.congestion.packets=1"), run("scheme.intra.congestion.packets=16"));
    assert_eq!(few.summary.scheme, "constant+rps");
    assert_eq!(few.summary.flows.finished, 8);
    let mean = |results: &Results| results.summary.fct.intra.as_ref().unwrap().mean_us.unwrap();
    assert!(mean(&few) > 2.0 * mean(&many), "{} and {}", mean(&few), mean(&many));
}
