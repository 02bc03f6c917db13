//! BBR's model of its path (section 4.1): delivery rate, rounds, the two filters.

use super::filters::{MaxBandwidth, MinRtt};
use crate::congestion::contract::{Ack, SendRecord};
use farspan_units::{Bytes, Time};

/// BBR's model of its path, and the facts of the newest ACK.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Model {
    /// BtlBw.
    pub(super) bandwidth: MaxBandwidth,
    /// RTprop.
    pub(super) rtprop: MinRtt,
    /// Whether the newest ACK began a round.
    pub(super) round_start: bool,
    /// Whether the newest sample shows what the sender had to send, and not what the path carries.
    pub(super) app_limited: bool,
    /// Whether the sender had no more to send when the packet left that was acknowledged last.
    pub(super) had_no_more: bool,
    /// Payload delivered so far.
    pub(super) delivered: Bytes,
    /// Rounds so far.
    round: u32,
    /// A round ends with the ACK of a packet that was sent when so much was delivered.
    round_ends: Bytes,
    /// Packets sent from then on ...
    limited_from: Time,
    /// ... until so much was delivered are limited by the sender.
    limited_until: Bytes,
}

impl Model {
    /// Nothing known but, maybe, the round trip.
    pub(super) fn new(rtprop: MinRtt) -> Self {
        Self {
            bandwidth: MaxBandwidth::default(),
            rtprop,
            round_start: false,
            app_limited: false,
            had_no_more: false,
            delivered: Bytes::ZERO,
            round: 0,
            round_ends: Bytes::ZERO,
            limited_from: Time::MAX,
            limited_until: Bytes::ZERO,
        }
    }

    /// BBRUpdateBtlBw; says whether the ACK gave a sample.
    pub(super) fn on_ack(&mut self, ack: &Ack) -> bool {
        self.delivered = ack.delivered;
        self.round_start = false;
        let Some(sent) = ack.at_send else { return false };
        self.update_round(&sent);
        let by_sender = ack.sent_at >= self.limited_from && sent.delivered <= self.limited_until;
        self.had_no_more = sent.app_limited;
        self.app_limited = sent.app_limited || by_sender;
        let sample = self.delivery_rate(ack, &sent).unwrap_or(0.0);
        if sample > 0.0 && (sample >= self.bandwidth.get() || !self.app_limited) {
            self.bandwidth.update(self.round, sample);
        }
        sample > 0.0
    }

    /// BBRUpdateRound (section 4.1.1.3).
    fn update_round(&mut self, sent: &SendRecord) {
        if sent.delivered >= self.round_ends {
            self.round_ends = self.delivered;
            self.round += 1;
            self.round_start = true;
        }
    }

    /// Begins a round here, without counting it.
    pub(super) const fn begin_round(&mut self, delivered: Bytes) {
        self.round_ends = delivered;
    }

    /// The delivery rate between the sending and the ACK of a packet, in bytes per second (delivery rate estimation,
    /// draft-cheng-iccrg-delivery-rate-estimation-00, section 3.2): what was delivered meanwhile, over the longer of
    /// the time that it took to send and the time that its ACKs took. `None` if that is shorter than any round trip.
    fn delivery_rate(&self, ack: &Ack, sent: &SendRecord) -> Option<f64> {
        let delivered = ack.delivered.saturating_sub(sent.delivered).as_f64();
        let send_elapsed = ack.sent_at.since(sent.first_sent_at);
        let ack_elapsed = ack.now.since(sent.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        let is_reliable = !interval.is_zero() && self.rtprop.get().is_none_or(|min| interval >= min);
        is_reliable.then(|| delivered / interval.as_secs_f64())
    }

    /// From now on the sender itself holds back.
    pub(super) const fn limit_from(&mut self, now: Time) {
        self.limited_from = now;
    }

    /// It held back what will be delivered up to here.
    pub(super) const fn limit_until(&mut self, delivered: Bytes) {
        self.limited_until = delivered;
    }
}
