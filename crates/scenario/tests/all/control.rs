//! Controls of other crates, known to scenarios by name.

use farspan_scenario::catalog::catalog;
use farspan_scenario::{
    NamedControl, RegisterError, Request, built_in_schemes, check_control_name, register, schema,
};
use farspan_transport::congestion::{
    Ack, Congestion, Decision, Ecn, Factory, NackRule, Needs, SignalBytes, Start,
};
use farspan_transport::{CnpConfig, ConfigError};
use farspan_units::{Bytes, Duration, TelemetryKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A window of some packets.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Constant {
    /// Full packets in flight.
    packets: u64,
    /// Nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<f64>,
}

impl Default for Constant {
    fn default() -> Self {
        Self { packets: 10, note: None }
    }
}

impl NamedControl for Constant {
    const SUMMARY: &'static str = "A window of some packets";
    const SOURCE: &'static str = "this test";
    const CONSTANTS: &'static str =
        "ports.marking = \"step\"\nrecovery.name = \"rack\"\ncongestion.packets = 20";

    fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(1.0..=1e6, "constant", "packets", self.packets as f64)
    }
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

/// A control that differs from [`Constant`] in its name, and has no right constants.
macro_rules! called {
    ($control:ident, $name:literal, $constants:literal) => {
        called!($control, $name, $constants, None);
    };
    ($control:ident, $name:literal, $constants:literal, $cnps:expr) => {
        #[derive(Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        struct $control {}

        impl NamedControl for $control {
            const SUMMARY: &'static str = "";
            const CONSTANTS: &'static str = $constants;
        }

        impl Factory for $control {
            fn name(&self) -> &'static str {
                $name
            }

            fn needs(&self) -> Needs {
                Needs { cnps: $cnps, ..Constant::default().needs() }
            }

            fn control(&self, start: &Start<'_>) -> Box<dyn Congestion + Send> {
                Box::new(Window(start.initial_cwnd))
            }
        }
    };
}

called!(Impostor, "constant", "");
called!(BuiltIn, "dctcp", "");
called!(Notified, "notified", "", Some(CnpConfig { interval: Duration::from_us(50) }));
called!(Illegible, "illegible", "ports.marking = step");
called!(WrongPorts, "wrong-ports", "ports.marking = \"stp\"");
called!(WrongPortsKey, "wrong-ports-key", "[ports]\nmaking = \"step\"");
called!(WrongRecovery, "wrong-recovery", "recovery = { name = \"rck\" }");
called!(WrongTimeout, "wrong-timeout", "recovery.rto = 5");
called!(WrongWindow, "wrong-window", "recovery.name = \"rack\"\nwindow_check = \"fit\"");
called!(WrongParameter, "wrong-parameter", "congestion.packets = 20");
called!(NoTable, "no-table", "congestion = 1979-05-27");
called!(WrongKey, "wrong-key", "port.marking = \"step\"");

/// A control that is registered late.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Late {
    /// Nothing.
    lateness: u64,
}

impl NamedControl for Late {
    const SUMMARY: &'static str = "";
    const CONSTANTS: &'static str = "ports.marking = \"step\"";
}

impl Factory for Late {
    fn name(&self) -> &'static str {
        "late"
    }

    fn needs(&self) -> Needs {
        Constant::default().needs()
    }

    fn control(&self, start: &Start<'_>) -> Box<dyn Congestion + Send> {
        Box::new(Window(start.initial_cwnd))
    }
}

fn request(scheme: &str, set: &[&str]) -> Request {
    register::<Constant>().unwrap();
    let set = [&["workload.flow_size=64KiB"], set].concat().into_iter().map(str::to_owned).collect();
    Request { scheme: Some(scheme.to_owned()), set, ..Request::new("uno/incast-mixed") }
}

fn error(request: &Request) -> String {
    request.resolve().unwrap_err().to_string()
}

#[test]
fn a_name_is_had_once_and_is_none_of_farspans_own() {
    register::<Constant>().unwrap();
    assert_eq!(register::<Constant>(), Ok(()), "it is there already");
    assert_eq!(register::<Impostor>(), Err(RegisterError::Twice { name: "constant".to_owned() }));
    assert_eq!(register::<BuiltIn>(), Err(RegisterError::Taken { name: "dctcp".to_owned() }));
    assert!(matches!(register::<Illegible>(), Err(RegisterError::Constants { .. })));
    for taken in ["uno", "unolb", "ecmp", "mds", "none", "swift", "ports", "world", "scenario"] {
        assert_eq!(check_control_name(taken), Err(RegisterError::Taken { name: taken.to_owned() }));
    }
    for wrong in ["", "2x", "Mine", "a+b", "a/b", "a b", "-a", "ä"] {
        assert_eq!(check_control_name(wrong), Err(RegisterError::Name { name: wrong.to_owned() }));
    }
    assert_eq!(check_control_name("my-control_2"), Ok(()));
}

fn refused<C: NamedControl>() -> String {
    register::<C>().unwrap_err().to_string()
}

/// A mistake that no user of the control could mend is told to its author.
#[test]
fn constants_that_do_not_fit_name_key_and_cure() {
    for (said, key, cure) in [
        (refused::<WrongPorts>(), "wrong-ports\": CONSTANTS:1:17: ports.marking: ", "did you mean \"step\"?"),
        (refused::<WrongPortsKey>(), "ports.making: unknown key", "did you mean \"marking\"?"),
        (refused::<WrongRecovery>(), "CONSTANTS:1:21: recovery.name: ", "did you mean \"rack\"?"),
        (refused::<WrongTimeout>(), "CONSTANTS:1:16: recovery.rto: 5 does not fit here", "give "),
        (refused::<WrongWindow>(), "CONSTANTS:2:16: window_check: ", "did you mean \"fits\"?"),
        (refused::<WrongParameter>(), "congestion.packets: unknown key", "Known here: "),
        (refused::<NoTable>(), "CONSTANTS:1:14: congestion: not a table", "give parameters"),
        (refused::<WrongKey>(), "CONSTANTS:1:1: port: unknown key", "did you mean \"ports\"?"),
    ] {
        assert!(said.contains(key) && said.contains(cure), "{said}\n  expected {key} and {cure}");
    }
    assert!(built_in_schemes().iter().all(|scheme| !scheme.name.starts_with("wrong")));
}

/// The keys of scenarios are kept, and those of a control join them whenever it comes.
#[test]
fn a_control_may_be_registered_after_a_scenario_was_resolved() {
    let late = Request {
        set: vec!["scheme.intra.congestion.lateness=3".to_owned()],
        scheme: Some("late+rps/dctcp".to_owned()),
        ..Request::new("uno/incast-mixed")
    };
    assert!(error(&late).contains("late"));
    register::<Late>().unwrap();
    late.resolve().unwrap();
}

#[test]
fn schemes_combine_it_like_a_built_in_one() {
    for (scheme, parts) in [
        ("constant", ["constant", "ecmp", "constant", "none"]),
        ("constant+rps+mds(4,1)", ["constant", "rps", "constant", "mds"]),
        ("constant+unolb/uno", ["constant", "unolb", "unocc", "mds"]),
    ] {
        let resolved = request(scheme, &[]).resolve().unwrap();
        let scheme = &resolved.scenario().scheme;
        let [control, balance] = [&scheme.intra.congestion, &scheme.intra.balance];
        let [inter, coding] = [&scheme.inter.congestion, &scheme.inter.coding];
        let names = [control, balance, inter, coding].map(|part| part.name().unwrap());
        assert_eq!(names, parts);
    }
    assert!(error(&request("constnt", &[])).contains("did you mean \"constant\"?"));
    assert!(error(&request("uno+constant", &[])).contains("is a whole scheme"));
}

#[test]
fn its_constants_and_a_scenarios_parameters_stand_in_the_resolved_scenario() {
    let resolved = request("constant", &["scheme.inter.congestion.packets=40"]).resolve().unwrap();
    let scheme = &resolved.scenario().scheme;
    let packets =
        |class: &farspan_scenario::model::SchemeClass| class.congestion.0["packets"].as_integer().unwrap();
    assert_eq!((packets(&scheme.intra), packets(&scheme.inter)), (20, 40));
    assert_eq!(scheme.intra.recovery.name(), Some("rack"));
    let text = resolved.to_toml();
    assert!(text.contains("marking = \"step\""), "{text}");
    let folder = std::env::temp_dir().join(format!("farspan-scenario-control-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("scenario.toml");
    std::fs::write(&file, &text).unwrap();
    let again = Request::new(file.to_str().unwrap()).resolve().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(again.to_toml(), text);
}

#[test]
fn wrong_parameters_are_told_as_those_of_built_in_controls() {
    let error = |set: &str| error(&request("constant", &[set]));
    let unknown = error("scheme.intra.congestion={ name = 'constant', packtes = 4 }");
    assert!(unknown.contains("scheme.intra.congestion.packtes: unknown key"), "{unknown}");
    assert!(unknown.contains("did you mean \"packets\"?") && unknown.contains("note"), "{unknown}");
    let range = error("scheme.intra.congestion.packets=0");
    assert!(range.contains("scheme.intra.congestion.packets: packets = 0 is out of range"), "{range}");
    let kind = error("scheme.intra.congestion.packets='many'");
    assert!(kind.contains("packets: ") && kind.contains("does not fit here"), "{kind}");
    let name = error("scheme.intra.congestion=constat");
    assert!(name.contains("did you mean \"constant\"?"), "{name}");
}

#[test]
fn a_naive_proxy_is_not_for_a_control_that_needs_more_than_acks() {
    register::<Notified>().unwrap();
    let naive = |scheme: &str| request(scheme, &["scheme.proxy.kind=naive", "scheme.inter.coding=none"]);
    let error = error(&naive("notified/constant"));
    let words = "scheme.proxy.kind: notified needs more than ACKs from its receiver";
    assert!(error.contains(words) && error.contains("choose another control for scheme.intra"), "{error}");
    naive("constant").resolve().unwrap();
}

#[test]
fn lists_and_the_schema_know_it() {
    register::<Constant>().unwrap();
    let listed = catalog("congestion").unwrap().into_iter().find(|item| item.name == "constant").unwrap();
    assert_eq!((listed.summary.as_str(), listed.source.as_str()), ("A window of some packets", "this test"));
    assert!(built_in_schemes().iter().any(|scheme| scheme.name == "constant" && scheme.available));
    let text = schema().to_string();
    assert!(text.contains("Full packets in flight.") && text.contains("\"const\":\"constant\""));
}
