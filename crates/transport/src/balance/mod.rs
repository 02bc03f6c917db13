//! Path selection: which entropy each packet carries.
//!
//! Switches hash (flow, entropy) with a salt of their own, so an entropy names a path without knowing it. A balancer
//! hears the same events as a control, each with the entropy of the packet concerned.

use farspan_units::{FlowId, Random, Time};

/// What switches hash together with the flow: a source port or a flow label.
pub type Entropy = u16;

/// What happened to a packet that carried an entropy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// Now.
    pub now: Time,
    /// The entropy that the packet carried.
    pub entropy: Entropy,
}

/// A path selector.
pub trait Balance {
    /// The entropy for the packet that leaves now. `random` is the flow's own stream for this purpose.
    fn entropy(&mut self, now: Time, random: &mut Random) -> Entropy;

    /// A packet with this entropy was acknowledged; `ecn_ce`: it carried a mark.
    fn on_ack(&mut self, _feedback: Feedback, _ecn_ce: bool, _random: &mut Random) {}

    /// A packet with this entropy came back as a NACK.
    fn on_nack(&mut self, _feedback: Feedback, _random: &mut Random) {}

    /// A packet with this entropy was found lost or timed out.
    fn on_timeout(&mut self, _feedback: Feedback, _random: &mut Random) {}
}

/// What a balancer is built with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Start<'a> {
    /// The path.
    pub path: &'a crate::Path,
    /// The flow.
    pub flow: FlowId,
    /// The flow's stream of draws for path selection.
    pub random: Random,
}

/// Placeholder until the registry stands.
pub type Config = ();
