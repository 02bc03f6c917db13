//! Erasure coding: which one, and with which constants.

use super::Context;
use super::scheme::{checked, in_range, named, part};
use crate::error::ValueError;
use crate::scheme_error::CODINGS;
use crate::schemes::scheme::{self, Stack};
use crate::table::overlay;
use crate::value::Part;
use farspan_transport::coding::{CodingConfig, Shape};
use toml::Value;

impl Context<'_> {
    /// The coding: the class's own, else what the constants say of the scheme by its name, else the scheme's.
    pub(super) fn coding(
        &self,
        path: &str,
        stack: Stack,
        own: Option<Part>,
    ) -> Result<CodingConfig, ValueError> {
        let of_scheme = stack.alias.and_then(|alias| self.constants(alias).remove("coding"));
        let of_scheme = of_scheme.and_then(|coding| coding.as_table().cloned().map(Part));
        let own = own.map(scheme::coding_in_full);
        let name_of = |part: &Option<Part>| part.as_ref().and_then(Part::name).map(str::to_owned);
        let name = match name_of(&own) {
            Some(name) => coding_named(path, &name)?,
            None => match name_of(&of_scheme).filter(|_| stack.coding != "none") {
                Some(name) => named(path, scheme::coding_name(&name))?,
                None => stack.coding,
            },
        };
        let shape = stack.shape.filter(|_| name == stack.coding);
        self.coding_of(path, name, shape, own)
    }

    /// The coding of all schemes, for flows between sites.
    pub(super) fn shared_coding(&self, shared: Part) -> Result<CodingConfig, ValueError> {
        let path = "transport.coding";
        let shared = scheme::coding_in_full(shared);
        let name = coding_named(path, shared.name().unwrap_or_default())?;
        self.coding_of(path, name, None, Some(shared))
    }

    /// A coding from its constants, the shape that the scheme's name gives, and what is written.
    fn coding_of(
        &self,
        path: &str,
        name: &'static str,
        shape: Option<Shape>,
        written: Option<Part>,
    ) -> Result<CodingConfig, ValueError> {
        let mut table = part(&self.constants(name), "coding", name, None);
        if let Some(shape) = shape {
            table.insert("data".to_owned(), Value::Integer(shape.data().into()));
            table.insert("parity".to_owned(), Value::Integer(shape.parity().into()));
        }
        overlay(&mut table, &written.map(|part| part.0).unwrap_or_default());
        table.insert("name".to_owned(), Value::String(name.to_owned()));
        let coding: CodingConfig = checked(path, &table)?;
        in_range(path, coding.check())?;
        Ok(coding)
    }
}

/// A coding's name; one with numbers is left over where it cannot have them.
fn coding_named(path: &str, name: &str) -> Result<&'static str, ValueError> {
    if name.contains('(') {
        return Err(ValueError::rule(path, format!("{name:?} is not a coding here"), CODINGS));
    }
    named(path, scheme::coding_name(name))
}
