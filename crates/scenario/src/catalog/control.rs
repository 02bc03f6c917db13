//! Controls of other crates that scenarios know by name, as they know the built-in ones.

use super::profile::Profiles;
use super::scheme;
use crate::error::{Problem, ScenarioError, ValueError};
use crate::model::PortsText;
use crate::table::join;
use crate::text::document::Document;
use crate::text::reader::{component, read as read_table, read_value};
use crate::text::schema::unknown_key;
use crate::value::{Part, Recovery};
use farspan_transport::congestion::{self, CongestionConfig, Custom, Factory, OnNack};
use farspan_transport::{ConfigError, Entry, WindowCheck, balance, coding};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::TypeId;
use std::sync::{PoisonError, RwLock};
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

/// A control of another crate.
pub(crate) struct Registered {
    /// As `list` shows it.
    pub entry: Entry,
    /// Constants that it asks of ports and senders.
    pub constants: Table,
    kind: TypeId,
    schema: fn(&mut SchemaGenerator) -> Schema,
    spell_out: fn(&str, &Table) -> Result<Table, ValueError>,
    custom: fn(&str, &Table) -> Result<Custom, ValueError>,
}

/// In the order of registration. A name never changes its meaning, so that what was resolved stays resolved.
static REGISTERED: RwLock<Vec<&'static Registered>> = RwLock::new(Vec::new());

/// Makes a control known to the scenarios of this process, for good.
///
/// # Errors
/// If its name cannot be had, or its constants cannot be read.
pub fn register<C: NamedControl>() -> Result<(), RegisterError> {
    let name = C::default().name();
    check_control_name(name)?;
    let constants =
        constants::<C>().map_err(|error| RegisterError::Constants { name: name.to_owned(), error })?;
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    match registered.iter().find(|known| known.entry.name == name) {
        Some(known) if known.kind == TypeId::of::<C>() => return Ok(()),
        Some(_) => return Err(RegisterError::Twice { name: name.to_owned() }),
        None => {}
    }
    registered.push(Box::leak(Box::new(Registered {
        entry: Entry { name, summary: C::SUMMARY, source: C::SOURCE },
        constants,
        kind: TypeId::of::<C>(),
        schema: |generator| C::json_schema(generator),
        spell_out: |path, table| read::<C>(path, table).map(|control| written(&control)),
        custom: |path, table| read::<C>(path, table).map(Custom::new),
    })));
    Ok(())
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
            _ => Err(unknown_key("", key, &["congestion", "ports", "recovery", "window_check"])),
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
    if parts.concat().contains(&name) || scheme::is_alias(name) || Profiles::get().knows(name) {
        return Err(RegisterError::Taken { name: name.to_owned() });
    }
    Ok(())
}

/// The controls of other crates.
pub(crate) fn registered() -> Vec<&'static Registered> {
    REGISTERED.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The control of another crate that has this name.
pub(crate) fn named(name: &str) -> Option<&'static Registered> {
    registered().into_iter().find(|known| known.entry.name == name)
}

/// The names of all controls: built-in ones, then those of other crates.
pub(crate) fn names() -> Vec<&'static str> {
    congestion::NAMES.iter().copied().chain(registered().into_iter().map(|known| known.entry.name)).collect()
}

impl Registered {
    /// The table at `path` with every default spelled out.
    pub fn spell_out(&self, path: &str, table: &Table) -> Result<Part, ValueError> {
        let name = ("name".to_owned(), Value::String(self.entry.name.to_owned()));
        Ok(Part([name].into_iter().chain((self.spell_out)(path, table)?).collect()))
    }

    /// The schema of its table.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        let mut schema = (self.schema)(generator);
        let name = serde_json::json!({ "type": "string", "const": self.entry.name });
        let object = schema.ensure_object();
        let properties = object.entry("properties").or_insert_with(|| serde_json::json!({}));
        properties.as_object_mut().expect("properties are an object").insert("name".to_owned(), name);
        object.insert("required".to_owned(), serde_json::json!(["name"]));
        let mut table = schema.to_value();
        with_on_nack(&mut table);
        table.try_into().expect("it still is a schema")
    }
}

/// The congestion control that a part at `path` of a resolved scenario describes: built in, or of another crate.
///
/// # Errors
/// If a parameter does not fit.
pub fn congestion(path: &str, part: &Part) -> Result<CongestionConfig, ValueError> {
    let (own, _) = apart(&part.0);
    match part.name().and_then(named) {
        Some(control) => (control.custom)(path, &own).map(CongestionConfig::Custom),
        None => component(path, &own),
    }
}

/// The key of every control's table that says what a NACK does.
pub(crate) const ON_NACK: &str = "on_nack";

/// A control's own parameters, and what its table says of NACKs.
pub(crate) fn apart(table: &Table) -> (Table, Option<Value>) {
    let mut own = table.clone();
    let on_nack = own.remove(ON_NACK);
    (own, on_nack)
}

/// The effect of a NACK on the window of the control that a part of a resolved scenario describes.
#[must_use]
pub fn on_nack(part: &Part) -> Option<OnNack> {
    part.0.get(ON_NACK).and_then(|value| read_value(value).ok())
}

/// The schema of [`ON_NACK`], which stands in the table of every control.
pub(crate) fn with_on_nack(table: &mut serde_json::Value) {
    let schema = serde_json::json!({
        "type": "string",
        "enum": ["published", "before", "in_flight", "none"],
        "description": "What the NACK of a trimmed packet, or of one that a proxy has found lost, does to the window: \"published\" (what the \
                        control's source says of such packets), \"before\" (at most what was in flight before this packet was taken out), \
                        \"in_flight\" (one packet less than that) or \"none\". Default: published where the source says something, else before; \
                        a control without a window lowers its rate.",
    });
    let alternatives = ["oneOf", "anyOf"].into_iter().find(|key| table.get(key).is_some());
    if let Some(tables) = alternatives.and_then(|key| table.get_mut(key)?.as_array_mut()) {
        return tables.iter_mut().for_each(with_on_nack);
    }
    let object = table.as_object_mut().expect("a control has a table");
    let properties = object.entry("properties").or_insert_with(|| serde_json::json!({}));
    properties.as_object_mut().expect("properties are an object").insert(ON_NACK.to_owned(), schema);
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
