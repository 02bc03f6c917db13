//! Rules for all ACK policies.

mod conformance;
