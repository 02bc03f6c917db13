//! Rules for all recovery policies.

mod conformance;
