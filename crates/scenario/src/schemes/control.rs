//! Controls of other crates that scenarios know by name, as they know the built-in ones: which there are.

use crate::error::ValueError;
use crate::reader::{component, read_value};
use crate::value::Part;
use farspan_transport::Entry;
use farspan_transport::congestion::{self, CongestionConfig, Custom, OnNack};
use schemars::{Schema, SchemaGenerator};
use std::any::TypeId;
use std::sync::{PoisonError, RwLock};
use toml::{Table, Value};

/// A control of another crate.
pub(crate) struct Registered {
    /// As `list` shows it.
    pub entry: Entry,
    /// Constants that it asks of ports and senders.
    pub constants: Table,
    /// Its type.
    pub kind: TypeId,
    /// The schema of its parameters.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// Its table at a path with every default.
    pub spell_out: fn(&str, &Table) -> Result<Table, ValueError>,
    /// The control that its table at a path describes.
    pub custom: fn(&str, &Table) -> Result<Custom, ValueError>,
}

/// In the order of registration. A name never changes its meaning, so that what was resolved stays resolved.
static REGISTERED: RwLock<Vec<&'static Registered>> = RwLock::new(Vec::new());

/// Adds a control for good, unless it is there; whether no other one has its name.
pub(crate) fn add(control: Registered) -> bool {
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    match registered.iter().find(|known| known.entry.name == control.entry.name) {
        Some(known) => known.kind == control.kind,
        None => {
            registered.push(Box::leak(Box::new(control)));
            true
        }
    }
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
