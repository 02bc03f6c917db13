//! How a control of another crate becomes known to scenarios.

use crate::document::Document;
use crate::error::{Problem, ScenarioError, ValueError};
use crate::model::PortsText;
use crate::reader::{read as read_table, read_value};
use crate::schemes::alias;
use crate::schemes::control::{self, Registered};
use crate::schemes::profile::Profiles;
use crate::table::join;
use crate::value::Recovery;
use farspan_transport::congestion::{self, Custom, Factory};
use farspan_transport::{ConfigError, Entry, WindowCheck, balance, coding};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::TypeId;
use toml::{Table, Value};

/// A control of another crate that scenarios know by its name.
///
/// Its fields are the parameters that a scenario may write beside the name: `congestion = { name = "mine", gain = 0.5 }`.
/// `Default` gives those that it leaves out, so derive `Deserialize` with `#[serde(default, deny_unknown_fields)]`.
///
/// ```
/// use farspan_scenario::{NamedControl, Request, register};
/// use farspan_transport::congestion::{Ack, Congestion, Decision, Ecn, Factory, NackRule, Needs, SignalBytes, Start};
/// use farspan_units::TelemetryKind;
///
/// /// Windows of a constant size.
/// #[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
/// #[serde(default, deny_unknown_fields)]
/// struct Constant {
///     /// Full packets in flight.
///     packets: u64,
/// }
///
/// impl Default for Constant {
///     fn default() -> Self {
///         Self { packets: 10 }
///     }
/// }
///
/// impl NamedControl for Constant {
///     const SUMMARY: &'static str = "A window of some packets";
/// }
///
/// impl Factory for Constant {
///     fn name(&self) -> &'static str {
///         "constant"
///     }
///     fn needs(&self) -> Needs {
///         Needs {
///             ecn: Ecn::Ignored,
///             sent: false,
///             send_record: false,
///             pulls: None,
///             cnps: None,
///             telemetry: TelemetryKind::None,
///             arrival: false,
///             nacks: NackRule::Only,
///             signal_bytes: SignalBytes::NONE,
///         }
///     }
///     fn control(&self, start: &Start<'_>) -> Box<dyn Congestion + Send> {
///         Box::new(Window(start.path.mss * self.packets))
///     }
/// }
///
/// struct Window(farspan_units::Bytes);
///
/// impl Congestion for Window {
///     fn decision(&self) -> Decision {
///         Decision::window(self.0)
///     }
///     fn on_ack(&mut self, _ack: &Ack) -> Decision {
///         self.decision()
///     }
/// }
///
/// register::<Constant>()?;
/// let set = vec!["scheme.inter.congestion.packets=40".to_owned()];
/// let scheme = Some("constant+rps".to_owned());
/// let resolved = Request { scheme, set, ..Request::new("uno/incast-mixed") }.resolve()?;
/// assert!(resolved.to_toml().contains("packets = 40"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait NamedControl: Factory + Default + Serialize + DeserializeOwned + JsonSchema + 'static {
    /// A line about it for `farspan list congestion`.
    const SUMMARY: &'static str;
    /// The paper that it follows, if any.
    const SOURCE: &'static str = "";
    /// Constants that it asks of ports and senders, in TOML: those of a built-in control stand in `data/profiles.toml`
    /// under `[paper.NAME]`, such as `ports.marking = "step"` or `recovery.name = "rack"`.
    const CONSTANTS: &'static str = "";

    /// Checks the ranges of the parameters.
    ///
    /// # Errors
    /// The first parameter out of range.
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }
}

/// Why a control cannot be registered.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Scenarios and schemes could not write the name.
    #[error(
        "{name:?} cannot name a control: write lower-case letters, digits, - and _, starting with a letter"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// A part of farspan has the name, or will have it.
    #[error("farspan already uses the name {name:?}: give the control another name")]
    Taken {
        /// The name.
        name: String,
    },
    /// Another control of another crate has the name.
    #[error("two controls are called {name:?}: give one of them another name")]
    Twice {
        /// The name.
        name: String,
    },
    /// [`NamedControl::CONSTANTS`] cannot be read.
    #[error("the constants of {name:?}: {error}")]
    Constants {
        /// The control.
        name: String,
        /// The key, its place in the text, and the cure.
        error: ScenarioError,
    },
}

/// Makes a control known to the scenarios of this process, for good.
///
/// # Errors
/// If its name cannot be had, or its constants cannot be read.
pub fn register<C: NamedControl>() -> Result<(), RegisterError> {
    let name = C::default().name();
    check_control_name(name)?;
    let constants =
        constants::<C>().map_err(|error| RegisterError::Constants { name: name.to_owned(), error })?;
    let added = control::add(Registered {
        entry: Entry { name, summary: C::SUMMARY, source: C::SOURCE },
        constants,
        kind: TypeId::of::<C>(),
        schema: |generator| C::json_schema(generator),
        spell_out: |path, table| read::<C>(path, table).map(|control| written(&control)),
        custom: |path, table| read::<C>(path, table).map(Custom::new),
    });
    if added { Ok(()) } else { Err(RegisterError::Twice { name: name.to_owned() }) }
}

/// The constants of a control, so far checked that no scenario can find them wrong.
fn constants<C: NamedControl>() -> Result<Table, ScenarioError> {
    let document = Document::parse("CONSTANTS", C::CONSTANTS)?;
    for (key, value) in &document.table {
        let checked = match key.as_str() {
            "ports" => read_value::<PortsText>(value).map(drop),
            "recovery" => read_value(value)
                .and_then(|table: Table| Recovery::read("", &table))
                .and_then(|recovery| recovery.policy("name").map(drop)),
            "window_check" => read_value::<WindowCheck>(value).map(drop),
            "congestion" => match value {
                Value::Table(parameters) => read::<C>("", parameters).map(drop),
                _ => {
                    Err(ValueError::rule("", "not a table", "give parameters, such as congestion.gain = 0.5"))
                }
            },
            _ => Err(ValueError::unknown_key("", key, &["congestion", "ports", "recovery", "window_check"])),
        };
        checked.map_err(|error| {
            let error = error.below(key);
            let place = document.nearest_place(&error.path);
            error.at(place)
        })?;
    }
    Ok(document.table)
}

/// Checks that a control of another crate can have this name.
///
/// # Errors
/// If scenarios could not write it, or a part of farspan has it.
pub fn check_control_name(name: &str) -> Result<(), RegisterError> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(allowed) {
        return Err(RegisterError::Name { name: name.to_owned() });
    }
    let parts = [congestion::NAMES, balance::NAMES, coding::NAMES];
    if parts.concat().contains(&name) || alias::is_alias(name) || Profiles::get().knows(name) {
        return Err(RegisterError::Taken { name: name.to_owned() });
    }
    Ok(())
}

/// A control from its table at `path`, checked.
fn read<C: NamedControl>(path: &str, table: &Table) -> Result<C, ValueError> {
    let mut parameters = table.clone();
    parameters.remove("name");
    let control: C = read_table(path, &parameters)?;
    control
        .check()
        .map_err(|error| ValueError::new(join(path, error.parameter), Problem::Parameter(error)))?;
    Ok(control)
}

fn written(control: &impl Serialize) -> Table {
    match Value::try_from(control).expect("a control has a TOML form") {
        Value::Table(table) => table,
        _ => Table::new(),
    }
}
