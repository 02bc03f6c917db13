//! The cold state of a sender, which only some schemes need.

use super::records::Records;
use crate::Route;
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
    /// Of a coded message.
    pub blocks: Option<OutgoingBlocks>,
    /// No packet from this one on has asked for an ACK.
    pub asked_below: u32,
}

impl ColdState {
    /// The state that `route` asks for; `None`: nothing. `wants_send_record`: whether the control asks for send
    /// records.
    pub(super) fn new(
        now: Time,
        route: &Route,
        wants_send_record: bool,
        layout: Option<Layout>,
    ) -> Option<Box<Self>> {
        let Route { recovery: config, rto, .. } = route;
        let recovery = config.policy.build(now);
        let is_adaptive = matches!(config.rto, Rto::Rfc6298 { .. });
        let records = wants_send_record.then(|| Records::new(now));
        let blocks = layout.map(|layout| OutgoingBlocks::new(layout, route.coding.resend()));
        let keeps_something = !matches!(recovery, Recovery::PerPacketRto(_));
        let asks = !route.held.is_zero();
        let is_needed = records.is_some() || is_adaptive || keeps_something || blocks.is_some() || asks;
        let rtt = RttEstimate::default();
        is_needed.then(|| Box::new(Self { records, rtt, recovery, rto: *rto, blocks, asked_below: 0 }))
    }
}
