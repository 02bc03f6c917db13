//! What only the senders of some schemes need.

use super::records::Records;
use crate::Route;
use crate::coding::{Layout, Outgoing};
use crate::recovery::{Rto, RttEstimate};
use alloc::boxed::Box;
use farspan_units::{Duration, Time};

/// What some schemes need beside.
#[derive(Debug)]
pub(super) struct Extras {
    /// For delivery-rate samples.
    pub records: Option<Records>,
    /// For time-outs and losses that follow round trips.
    pub rtt: RttEstimate,
    /// Time-out of a packet that never timed out.
    pub rto: Duration,
    /// Of a coded message.
    pub blocks: Option<Outgoing>,
}

impl Extras {
    /// What `route` asks for; `None`: nothing. `wants_send_record`: whether the control does; `wants_rtt`: whether the
    /// recovery policy takes an RTT estimate.
    pub(super) fn new(
        now: Time,
        route: &Route,
        wants_send_record: bool,
        wants_rtt: bool,
        layout: Option<Layout>,
    ) -> Option<Box<Self>> {
        let Route { recovery, rto, .. } = route;
        let is_adaptive = matches!(recovery.rto, Rto::Rfc6298 { .. });
        let records = wants_send_record.then(|| Records::new(now));
        let blocks = layout.map(|layout| Outgoing::new(layout, route.coding.resend()));
        let is_needed = records.is_some() || is_adaptive || wants_rtt || blocks.is_some();
        is_needed.then(|| Box::new(Self { records, rtt: RttEstimate::default(), rto: *rto, blocks }))
    }
}
