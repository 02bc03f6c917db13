//! The text of a scenario, or of a topology file: parsed, its keys checked, every value with its place.
//!
//! [`file`] reads it, [`source`] has the layers over it that arguments make, [`path`] what these name, [`schema`] the keys there are,
//! [`seeds`] the lists of seeds that arguments and files name.

pub(crate) mod file;
pub(crate) mod path;
pub(crate) mod schema;
pub(crate) mod seeds;
pub(crate) mod source;
