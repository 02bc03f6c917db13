//! The contract of path selectors: the trait, and the feedback that they are notified of.

use crate::path::Path;
use farspan_units::{Bytes, FlowId, Random, Time};

/// A header field that switches hash together with the flow: a source port or a flow label.
pub type Entropy = u16;

/// The feedback on a packet that carried an entropy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathSample {
    /// Now.
    pub now: Time,
    /// When it left.
    pub sent_at: Time,
    /// The entropy that it carried.
    pub entropy: Entropy,
    /// Payload in flight after this.
    pub in_flight: Bytes,
}

/// A path selector.
pub trait Balance {
    /// The entropy for the packet that leaves now. `random` is the flow's own stream for this purpose.
    fn entropy(&mut self, now: Time, random: &mut Random) -> Entropy;

    /// Whether the sender must remember the entropy of each packet and report what became of it; costs memory per
    /// packet in flight. Otherwise none of the methods below is called.
    fn wants_feedback(&self) -> bool {
        false
    }

    /// A packet with this entropy was acknowledged; `ecn_ce`: it carried a mark.
    fn on_ack(&mut self, _sample: PathSample, _ecn_ce: bool, _random: &mut Random) {}

    /// A packet with this entropy came back as a NACK; `at_last_hop`: the port to the receiver trimmed it, which every path
    /// ends with; `ecn_ce`: it carried a mark, of a port before.
    fn on_nack(&mut self, _sample: PathSample, _at_last_hop: bool, _ecn_ce: bool, _random: &mut Random) {}

    /// The header of a packet with this entropy came back: a port on its way, which one is not known, had no room even for that. As a
    /// NACK, unless the path selector has an answer of its own.
    fn on_returned(&mut self, sample: PathSample, random: &mut Random) {
        self.on_nack(sample, false, false, random);
    }

    /// A packet with this entropy was found lost from the ACKs of later ones.
    fn on_loss(&mut self, _sample: PathSample, _random: &mut Random) {}

    /// A packet with this entropy timed out.
    fn on_timeout(&mut self, _sample: PathSample, _random: &mut Random) {}
}

/// The inputs from which a balancer is built.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BalancerStart<'a> {
    /// The path.
    pub path: &'a Path,
    /// The flow.
    pub flow: FlowId,
    /// The flow's stream of draws for path selection.
    pub random: Random,
}
