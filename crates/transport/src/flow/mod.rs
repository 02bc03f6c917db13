//! Facts of a flow before it starts and after it has ended: its message, path and scheme, those that flows of one path share,
//! and the counters of its record.

pub(crate) mod counters;
pub(crate) mod message;
pub(crate) mod path;
pub(crate) mod profile;
pub(crate) mod route;
pub(crate) mod scheme;
