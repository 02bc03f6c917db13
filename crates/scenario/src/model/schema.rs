//! Schemas of components: a name, or a table whose keys are those of the component.

use crate::schemes::control;
use farspan_transport::ack::{self, AckConfig};
use farspan_transport::balance::{self, BalanceConfig};
use farspan_transport::coding::{self, CodingConfig};
use farspan_transport::congestion::{self, CongestionConfig};
use farspan_transport::recovery;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// A component: one of `names`, or a table.
fn part_schema(names: &[&str], table: &Schema) -> Schema {
    json_schema!({ "anyOf": [{ "type": "string", "enum": names }, table] })
}

/// The tables of the built-in controls, with the key that all controls have.
struct Controls;

impl JsonSchema for Controls {
    fn schema_name() -> Cow<'static, str> {
        CongestionConfig::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut tables = CongestionConfig::json_schema(generator).to_value();
        control::with_on_nack(&mut tables);
        tables.try_into().expect("it still is a schema")
    }
}

pub(super) fn congestion_schema(generator: &mut SchemaGenerator) -> Schema {
    let built_in = generator.subschema_for::<Controls>();
    let registered = control::registered();
    if registered.is_empty() {
        return part_schema(congestion::NAMES, &built_in);
    }
    let tables: Vec<Schema> =
        [built_in].into_iter().chain(registered.iter().map(|known| known.schema(generator))).collect();
    part_schema(&control::names(), &json_schema!({ "anyOf": tables }))
}

pub(super) fn balance_schema(generator: &mut SchemaGenerator) -> Schema {
    let names = [&["scheme"], balance::NAMES].concat();
    part_schema(&names, &generator.subschema_for::<BalanceConfig>())
}

pub(super) fn own_balance_schema(generator: &mut SchemaGenerator) -> Schema {
    part_schema(balance::NAMES, &generator.subschema_for::<BalanceConfig>())
}

pub(super) fn ack_schema(generator: &mut SchemaGenerator) -> Schema {
    part_schema(ack::NAMES, &AckConfig::json_schema(generator))
}

pub(super) fn recovery_schema(_: &mut SchemaGenerator) -> Schema {
    recovery_of(recovery::NAMES)
}

pub(super) fn shared_recovery_schema(_: &mut SchemaGenerator) -> Schema {
    recovery_of(&[&["scheme"], recovery::NAMES].concat())
}

fn recovery_of(names: &[&str]) -> Schema {
    part_schema(
        names,
        &json_schema!({ "type": "object", "additionalProperties": false, "properties": {
            "name": { "type": "string", "enum": recovery::NAMES },
            "rto": { "type": "string", "description": "As transport.rto, for these flows only." },
            "rto_initial": { "type": "string", "description": "As transport.rto_initial, for these flows only." },
            "rto_variance_floor": {
                "type": "string",
                "description": "As transport.rto_variance_floor, for these flows only.",
            },
            "rto_min": { "type": "string", "description": "As transport.rto_min, for these flows only." },
            "backoff": {
                "type": "boolean",
                "description": "Whether a time-out doubles with each one before it. Left out: no under per_packet_rto, \
                                else yes.",
            },
        } }),
    )
}

pub(super) fn coding_schema(generator: &mut SchemaGenerator) -> Schema {
    coding_of(coding::NAMES, generator)
}

pub(super) fn shared_coding_schema(generator: &mut SchemaGenerator) -> Schema {
    coding_of(&[&["scheme"], coding::NAMES].concat(), generator)
}

/// A coding by name, with its numbers in parentheses, or as a table.
fn coding_of(names: &[&str], generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [
        { "type": "string", "enum": names },
        { "type": "string", "pattern": r"^mds\( *[0-9]+ *, *[0-9]+ *\)$" },
        generator.subschema_for::<CodingConfig>(),
    ] })
}

pub(super) fn class_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["intra", "inter"] })
}

pub(super) fn window_check_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["below", "fits"] })
}
