//! An ACK for each packet, at once.
//!
//! The null ACK policy, and what Uno, Gemini and their rivals assume: each packet's round trip and mark come back by
//! themselves.
//!
//! Its page: `docs/src/schemes/recovery.md`.

use crate::ack::contract::AckPolicy;
use crate::registry::ConfigError;

/// Parameters: none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct PerPacketConfig {}

impl PerPacketConfig {
    /// Nothing to check.
    ///
    /// # Errors
    /// None.
    pub const fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }
}

/// Keeps nothing of a flow.
#[derive(Debug)]
pub struct PerPacket;

impl PerPacket {
    /// The policy of one flow.
    #[must_use]
    pub const fn new(_config: &PerPacketConfig) -> Self {
        Self
    }
}

impl AckPolicy for PerPacket {
    fn wants_arrivals(&self) -> bool {
        false
    }
}
