//! Values of the parameters of a topology file.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::fmt;

/// The value of a parameter: what can stand where the file names it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub enum Parameter {
    /// A quantity or a word, such as "10ms".
    Text(String),
    /// A whole number, such as a count of links.
    Whole(i64),
}

impl From<&Parameter> for toml::Value {
    fn from(parameter: &Parameter) -> Self {
        match parameter {
            Parameter::Text(text) => Self::String(text.clone()),
            Parameter::Whole(number) => Self::Integer(*number),
        }
    }
}

impl<'de> Deserialize<'de> for Parameter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ParameterVisitor;
        impl Visitor<'_> for ParameterVisitor {
            type Value = Parameter;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text such as \"10ms\", or a whole number")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Parameter, E> {
                Ok(Parameter::Text(text.to_owned()))
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Parameter, E> {
                Ok(Parameter::Whole(number))
            }
        }
        deserializer.deserialize_any(ParameterVisitor)
    }
}

impl JsonSchema for Parameter {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Parameter".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] })
    }
}
