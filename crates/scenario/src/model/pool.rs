//! What the ports of a switch share, as it is written.

use crate::value::{Headroom, PfcLinks, PoolSize};
use farspan_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The buffer that all ports of a switch share. With it, a port that drops has no limit of its own: topology.buffer is then
/// what thresholds are fractions of.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pool {
    /// Bytes of data that a switch holds, or "off". Default: of the profile.
    pub size: Option<PoolSize>,
    /// How many times what is free of the shared part the packets from one link may take of it: 0.001 to 64. Default: of the
    /// profile.
    pub alpha: Option<f64>,
    /// Bytes that each link's packets have for themselves. Default: of the profile.
    pub reserve: Option<Bytes>,
}

/// Priority flow control (PFC).
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pfc {
    /// The links over which data is lossless: "none", "site" (those inside a site) or "all". Needs pool.size. Default: of the
    /// profile.
    pub links: Option<PfcLinks>,
    /// How far below its threshold a link's share of the pool must be before its sender goes on. Default: of the profile.
    pub resume_offset: Option<Bytes>,
    /// Bytes of the pool that each of these links has for what comes after a pause: "auto" (as much as can come: it follows
    /// from the link's rate and delay, jitter and packet size) or a size. Default: of the profile.
    pub headroom: Option<Headroom>,
}
