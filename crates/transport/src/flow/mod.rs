//! Facts of a flow before it starts and after it has ended: its message and scheme, those that flows of one path share,
//! the counters of its record, and its outcome.

pub(crate) mod connection;
pub(crate) mod counters;
pub(crate) mod initial_window;
pub(crate) mod message;
pub(crate) mod outcome;
pub(crate) mod profile;
pub(crate) mod route;
pub(crate) mod scheme;
pub(crate) mod via;
