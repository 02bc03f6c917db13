//! The cold state of a sender, which only some schemes need.

use super::bursts::Bursts;
use super::cwr::Cwr;
use super::opening::Opening;
use super::proxied::ProxiedState;
use super::records::Records;
use super::reduction::Reduction;
use crate::coding::{Layout, OutgoingBlocks};
use crate::recovery::{Recovery, Rto, RttEstimate};
use crate::{Connection, Message};
use alloc::boxed::Box;
use farspan_units::{Duration, Purpose, Random, Time};

/// State of a sender that only some schemes need.
#[derive(Debug)]
pub(super) struct ColdState {
    /// For delivery-rate samples.
    pub records: Option<Records>,
    /// For time-outs and losses that follow round trips.
    pub rtt: RttEstimate,
    /// Which packets are lost, and when.
    pub recovery: Recovery,
    /// Time-out of a packet that never timed out.
    pub rto: Duration,
    /// Of a coded message.
    pub blocks: Option<OutgoingBlocks>,
    /// No packet from this one on has asked for an ACK.
    pub asked_below: u32,
    /// No packet from this one on may be sent yet: it is not here, or the flow's proxy has no room for it.
    pub available: u32,
    /// Of a message that goes through a proxy, or went through one before.
    pub proxied: Option<Box<ProxiedState>>,
    /// Of a message whose handshake has not ended.
    pub opening: Option<Opening>,
    /// Of a flow whose packets leave in bursts.
    pub bursts: Option<Bursts>,
    /// Of a flow whose receiver repeats marks.
    pub cwr: Option<Cwr>,
    /// A cut of the window that is being made.
    pub reduction: Option<Reduction>,
    /// Draws of what RTT samples have on top, if they have.
    pub rtt_noise: Option<Box<Random>>,
}

impl ColdState {
    /// The state that `route` asks for; `None`: nothing.
    pub(super) fn new(now: Time, message: &Message, seed: u64, layout: Option<Layout>) -> Option<Box<Self>> {
        let route = &message.route;
        let config = &route.recovery;
        let recovery = config.policy.build(now);
        let is_adaptive = matches!(config.rto, Rto::Rfc6298 { .. });
        let records = route.needs.send_record.then(|| Records::new(now));
        let blocks = layout.map(|layout| OutgoingBlocks::new(layout, route.coding.resend()));
        let keeps_something = !matches!(recovery, Recovery::PerPacketRto(_));
        let asks = !route.held.is_zero();
        let is_proxied = message.via.is_some();
        let is_connection = route.connection != Connection::default() || route.profile.repeats_marks;
        let is_noisy = !route.rtt_noise.is_zero();
        let is_needed = records.is_some()
            || is_adaptive
            || keeps_something
            || blocks.is_some()
            || asks
            || is_proxied
            || is_connection
            || is_noisy;
        is_needed.then(|| {
            let mut cold = Self::with(now, message, recovery, records, blocks);
            let draws = || Random::new(seed, Purpose::RttNoise, u64::from(message.flow.0));
            cold.rtt_noise = is_noisy.then(|| Box::new(draws()));
            cold
        })
    }

    /// The state, needed or not.
    pub(super) fn with(
        now: Time,
        message: &Message,
        recovery: Recovery,
        records: Option<Records>,
        blocks: Option<OutgoingBlocks>,
    ) -> Box<Self> {
        let opening = Opening::of(message);
        let room = message.via.as_ref().map_or(u32::MAX, |via| via.limit);
        Box::new(Self {
            records,
            rtt: RttEstimate::default(),
            recovery,
            rto: message.route.rto,
            blocks,
            asked_below: 0,
            available: if opening.is_some() { 0 } else { room },
            proxied: ProxiedState::of(now, message).map(Box::new),
            opening,
            bursts: (!message.route.connection.burst.is_zero()).then(|| Bursts::new(now)),
            cwr: message.route.profile.repeats_marks.then(Cwr::default),
            reduction: None,
            rtt_noise: None,
        })
    }

    /// An RTT sample as the sender takes it: with up to `most` on top, if samples are noisy.
    #[inline]
    pub(super) fn sample(&mut self, rtt: Duration, most: Duration) -> Duration {
        match &mut self.rtt_noise {
            None => rtt,
            Some(draws) => rtt + Duration::from_ps(draws.below(most.as_ps() + 1)),
        }
    }
}
