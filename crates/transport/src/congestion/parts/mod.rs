//! Parts that several controls share.

pub(crate) mod lowered;
pub(crate) mod pace;
pub(crate) mod power;
pub(crate) mod signals;
pub(crate) mod telemetry;
pub(crate) mod window;
