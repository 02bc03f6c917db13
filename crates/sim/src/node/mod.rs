//! The nodes of a network, as the engines run them: hosts and switches.

pub(crate) mod host;
pub(crate) mod instrumentation;
pub(crate) mod nic;
pub(crate) mod switch;
