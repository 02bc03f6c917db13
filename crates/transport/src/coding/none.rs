//! The null coding: a message is its segments, and each of them must arrive.
//!
//! Its page: `docs/src/schemes/unorc.md`.

use crate::registry::ConfigError;

/// Parameters of no coding: none.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct NoneConfig {}

impl NoneConfig {
    /// Nothing to check.
    ///
    /// # Errors
    /// None.
    pub const fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }
}
