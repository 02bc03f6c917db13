//! Schemes: their names, the constants of their parts by profile, and the controls of other crates.

pub(crate) mod alias;
pub(crate) mod control;
pub(crate) mod profile;
pub(crate) mod scheme;
