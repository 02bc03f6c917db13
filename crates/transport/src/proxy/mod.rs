//! Parts of a proxy that stands between the halves of a flow, near its sender.

pub mod detector;
