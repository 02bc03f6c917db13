//! The cold state of a sender, which only some schemes need.

use super::connection::ConnectionState;
use super::proxied::ProxiedState;
use super::records::Records;
use crate::Message;
use crate::coding::{Layout, OutgoingBlocks};
use crate::recovery::{Recovery, Rto, RttEstimate};
use alloc::boxed::Box;
use farspan_units::{Duration, Time};

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
    /// The blocks of a coded message.
    pub blocks: Option<OutgoingBlocks>,
    /// No packet from this one on has asked for an ACK.
    pub asked_below: u32,
    /// No packet from this one on may be sent yet: it is not here, or the flow's proxy has no room for it.
    pub available: u32,
    /// For a message that goes through a proxy, or went through one before.
    pub proxied: Option<Box<ProxiedState>>,
    /// For a flow that does as TCP's connections do.
    pub connection: Option<Box<ConnectionState>>,
}

impl ColdState {
    /// The state that `route` asks for; `None`: nothing.
    pub(super) fn new(
        now: Time,
        message: &Message,
        seed: u64,
        layout: Option<Layout>,
        packets: u32,
    ) -> Option<Box<Self>> {
        let route = &message.route;
        let config = &route.recovery;
        let recovery = config.policy.build(now);
        let is_adaptive = matches!(config.rto, Rto::Rfc6298 { .. });
        let records = route.needs.send_record.then(|| Records::new(now));
        let blocks = layout.map(|layout| OutgoingBlocks::new(layout, route.coding.resend()));
        let keeps_something = !matches!(recovery, Recovery::PerPacketRto(_));
        let asks = !route.held.is_zero();
        let is_proxied = message.via.is_some();
        let connection = ConnectionState::of(now, message, seed, packets);
        let is_needed = records.is_some()
            || is_adaptive
            || keeps_something
            || blocks.is_some()
            || asks
            || is_proxied
            || connection.is_some();
        is_needed.then(|| {
            let mut cold = Self::with(now, message, packets, recovery, records, blocks);
            if connection.as_ref().is_some_and(|connection| connection.opening.is_some()) {
                cold.available = 0;
            }
            cold.connection = connection;
            cold
        })
    }

    /// The state, needed or not.
    pub(super) fn with(
        now: Time,
        message: &Message,
        packets: u32,
        recovery: Recovery,
        records: Option<Records>,
        blocks: Option<OutgoingBlocks>,
    ) -> Box<Self> {
        Box::new(Self {
            records,
            rtt: RttEstimate::default(),
            recovery,
            rto: message.route.rto,
            blocks,
            asked_below: 0,
            available: message.via.as_ref().map_or(packets, |via| via.limit.min(packets)),
            proxied: ProxiedState::of(now, message).map(Box::new),
            connection: None,
        })
    }
}
