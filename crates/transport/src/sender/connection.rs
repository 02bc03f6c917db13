//! The state of a sender that does as TCP's connections do, that may get further messages, or whose RTT samples are noisy.

use super::Sender;
use super::bursts::Bursts;
use super::cwr::Cwr;
use super::handshake::Opening;
use super::messages::Messages;
use super::reduction::Reduction;
use crate::flow::message::Message;
use alloc::boxed::Box;
use farspan_units::{Duration, Purpose, Random, Time};

/// The state of a sender's connection.
#[derive(Debug)]
pub(super) struct ConnectionState {
    /// A handshake that has not ended.
    pub opening: Option<Opening>,
    /// For a flow whose packets leave in bursts.
    pub bursts: Option<Bursts>,
    /// For a flow whose receiver repeats marks.
    pub cwr: Option<Cwr>,
    /// A cut of the window that is being made.
    pub reduction: Option<Reduction>,
    /// The messages of a persistent flow.
    pub messages: Option<Box<Messages>>,
    /// Draws of what RTT samples have on top, if they have.
    rtt_noise: Option<Random>,
}

impl ConnectionState {
    /// That of a message, if it has any.
    pub(super) fn of(now: Time, message: &Message, seed: u64, packets: u32) -> Option<Box<Self>> {
        let route = &message.route;
        let opening = Opening::of(message);
        let bursts = (!route.connection.burst.is_zero()).then(|| Bursts::new(now));
        let cwr = route.profile.repeats_marks.then(Cwr::default);
        let messages = Messages::of(now, message, packets);
        let draws = || Random::new(seed, Purpose::RttNoise, u64::from(message.flow.0));
        let rtt_noise = (!route.rtt_noise.is_zero()).then(draws);
        let is_needed = opening.is_some()
            || bursts.is_some()
            || cwr.is_some()
            || route.connection.prr
            || messages.is_some()
            || rtt_noise.is_some();
        is_needed.then(|| Box::new(Self { opening, bursts, cwr, reduction: None, messages, rtt_noise }))
    }

    /// An RTT sample as the sender takes it: with up to `most` on top, if samples are noisy.
    #[cold]
    pub(super) fn sample(&mut self, rtt: Duration, most: Duration) -> Duration {
        match &mut self.rtt_noise {
            None => rtt,
            Some(draws) => rtt + Duration::from_ps(draws.below(most.as_ps() + 1)),
        }
    }

    /// Whether it asks for more when a packet leaves.
    pub(super) const fn needs_slow_path(&self) -> bool {
        self.opening.is_some()
            || self.bursts.is_some()
            || self.cwr.is_some()
            || self.reduction.is_some()
            || self.messages.is_some()
    }
}

impl Sender {
    pub(super) fn connection(&self) -> Option<&ConnectionState> {
        self.cold.as_ref()?.connection.as_deref()
    }

    pub(super) fn connection_mut(&mut self) -> Option<&mut ConnectionState> {
        self.cold.as_mut()?.connection.as_deref_mut()
    }
}
