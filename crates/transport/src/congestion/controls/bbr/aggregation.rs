//! Room for ACKs that come in lumps, as Linux has it since 5.1: links that hold packets back and let many go at once acknowledge
//! nothing for a while, and a window that covers the path alone would be used up meanwhile.

use super::Bbr;
use crate::congestion::contract::Ack;
use farspan_units::Time;

/// Rounds in each of the two parts of the filter: a lump counts for five to ten rounds.
const ROUNDS: u8 = 5;

/// The longest silence that the window makes up for, in seconds.
const LONGEST: f64 = 0.1;

/// An epoch in which so many packets were acknowledged is old, and ends.
const LONGEST_EPOCH: f64 = 1_048_576.0;

/// Lumps of ACKs: bytes acknowledged beyond what the path delivers, epoch by epoch. An epoch begins when ACKs have fallen behind
/// BtlBw, and what they bring beyond it from then on is a lump.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct AckAggregation {
    /// When the epoch began.
    began: Time,
    /// Bytes acknowledged in it.
    pub(super) acked: f64,
    /// The largest lumps of the current rounds and of those before, in bytes.
    largest: [f64; 2],
    /// Rounds since the two changed places.
    rounds: u8,
}

impl AckAggregation {
    /// The largest lump of the last five to ten rounds, in bytes.
    pub(super) fn largest(&self) -> f64 {
        self.largest[0].max(self.largest[1])
    }

    /// A round begins.
    fn begin_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= ROUNDS {
            self.rounds = 0;
            self.largest = [0.0, self.largest[0]];
        }
    }

    /// Takes in that `acked` bytes were acknowledged; lumps are never taken for larger than the window.
    pub(super) fn take(&mut self, now: Time, acked: f64, bandwidth: f64, (mss, cwnd): (f64, f64)) {
        let mut expected = bandwidth * now.since(self.began).as_secs_f64();
        if self.acked <= expected || self.acked + acked >= LONGEST_EPOCH * mss {
            (self.began, self.acked, expected) = (now, 0.0, 0.0);
        }
        self.acked += acked;
        self.largest[0] = self.largest[0].max((self.acked - expected).min(cwnd));
    }
}

impl Bbr {
    /// Takes an ACK in that gave a sample of the delivery rate, after BtlBw has.
    pub(super) fn note_aggregation(&mut self, ack: &Ack) {
        let bandwidth = self.bandwidth();
        let Some(aggregation) = &mut self.aggregation else { return };
        if self.model.round_start {
            aggregation.begin_round();
        }
        if !ack.bytes_acked.is_zero() {
            aggregation.take(ack.now, ack.bytes_acked.as_f64(), bandwidth, (self.params.mss, self.cwnd));
        }
    }

    /// Room of the window beyond its target, for ACKs that come in lumps, in bytes: none before the pipe was found full.
    pub(super) fn extra_room(&self) -> f64 {
        match &self.aggregation {
            Some(aggregation) if self.full_pipe.is_filled() => {
                aggregation.largest().min(LONGEST * self.bandwidth())
            }
            _ => 0.0,
        }
    }
}
