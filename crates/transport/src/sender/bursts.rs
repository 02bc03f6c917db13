//! Bursts: packets that leave in one go, as the segments of up to 64 KB do that TCP hands to a NIC, which cuts them up.
//!
//! A sender waits until so much may leave as is worth a burst (Linux, `tcp_tso_should_defer`): the smallest of the largest
//! burst, what the flow's rate sends in a millisecond, and a third of the window. It does not wait with nothing in flight,
//! with less left of the message than may leave, nor with a packet that is lost. A burst is no larger than the first two of
//! these, but two packets at least (`tcp_tso_autosize`). It keeps its turn at the NIC; a pacer holds back the next one, but for the
//! first packets of a connection where its scheme says so (`tcp_update_skb_after_send`).
//! Left out: that Linux takes two windows a round trip in slow start, and does not wait long after an application wrote, nor where
//! the next ACK is far off.

use super::connection::ConnectionState;
use super::{Sender, UNPACED};
use crate::WindowCheck;
use crate::pacing::Pacer;
use farspan_units::{Bytes, Duration, Rate, Time};

/// A burst holds what the rate sends in so long.
const PART: Duration = Duration::from_ms(1);

/// Without a pacer the rate is so many windows a round trip: Linux's `tcp_pacing_ca_ratio`.
const PACE_GAIN: f64 = 1.2;

/// A sender waits for at most one so-manieth of its window: Linux's `tcp_tso_win_divisor`.
const WINDOW_PARTS: u64 = 3;

/// The packets of a burst at least: Linux's `tcp_min_tso_segs`.
const FEWEST: u64 = 2;

/// The bursts of a sender.
#[derive(Debug)]
pub(super) struct Bursts {
    /// Payload of the burst that has not left.
    left: Bytes,
    /// The pacer, which holds back bursts and not their packets.
    pacer: Pacer,
}

impl Bursts {
    /// Those of a flow that starts now.
    pub(super) const fn new(now: Time) -> Self {
        Self { left: Bytes::ZERO, pacer: Pacer::new(now) }
    }
}

impl Sender {
    fn bursts(&self) -> Option<&Bursts> {
        self.connection()?.bursts.as_ref()
    }

    /// Whether a burst is leaving, so that the turn at the NIC stays here.
    #[cold]
    pub(super) fn is_amid_burst(&self) -> bool {
        self.bursts().is_some_and(|bursts| !bursts.left.is_zero()) && self.has_data()
    }

    /// Payload that the window lets go, in full packets.
    fn room(&self) -> Bytes {
        let (mss, free) = (self.route.path.mss.get(), self.cwnd.saturating_sub(self.in_flight).get());
        let packets = match self.route.window_check {
            WindowCheck::Below => free.div_ceil(mss),
            WindowCheck::Fits => free / mss,
        };
        let forced = u64::from(self.in_flight.is_zero() && !self.cwnd.is_zero());
        // A control on credit opens its window without a limit.
        Bytes::new(packets.max(forced).min(u64::from(u32::MAX)) * mss)
    }

    /// The largest burst now, in full packets.
    fn largest_burst(&self) -> Bytes {
        let (mss, most) = (self.route.path.mss.get(), self.route.connection.burst.get());
        let rate = if self.pacing_rate == UNPACED {
            self.srtt.get().map(|srtt| Rate::per(self.cwnd.mul_f64(PACE_GAIN), srtt))
        } else {
            Some(self.pacing_rate)
        };
        let of_rate = rate.map_or(u64::MAX, |rate| rate.bytes_in(PART).get());
        Bytes::new((most.min(of_rate) / mss).max(FEWEST) * mss)
    }

    /// Payload that has not been sent, in full packets.
    fn unsent(&self) -> Bytes {
        self.route.path.mss * u64::from(self.available() - self.sent.next())
    }

    /// Whether the window lets a packet go, of a sender that waits until a burst may.
    #[cold]
    pub(super) fn lets_burst_go(&self) -> bool {
        if self.bursts().is_none() || !self.has_data() {
            return false;
        }
        let room = self.room();
        if self.is_amid_burst() {
            return true;
        }
        let of_window = Bytes::new(self.cwnd.get() / WINDOW_PARTS);
        let is_worth = room >= self.unsent() || room >= self.largest_burst().min(of_window);
        !room.is_zero() && (is_worth || self.in_flight.is_zero() || self.sent.has_lost())
    }

    /// A packet is about to leave: as the first of a burst, or in one.
    pub(super) fn begin_burst(&mut self) {
        let burst = self.room().min(self.largest_burst());
        let connection = self.cold.as_deref_mut().and_then(|cold| cold.connection.as_deref_mut());
        let Some(ConnectionState { bursts: Some(bursts), .. }) = connection else { return };
        if bursts.left.is_zero() {
            bursts.left = burst;
        }
        self.pacer = bursts.pacer;
    }

    /// A packet has left: others of its burst follow at once.
    pub(super) fn end_burst(&mut self, now: Time) {
        let (mss, has_data, unpaced) = (self.route.path.mss, self.has_data(), self.route.connection.unpaced);
        let connection = self.cold.as_deref_mut().and_then(|cold| cold.connection.as_deref_mut());
        let Some(ConnectionState { bursts: Some(bursts), .. }) = connection else { return };
        if self.sent.next() < unpaced {
            self.pacer = Pacer::new(now);
        }
        bursts.pacer = self.pacer;
        bursts.left = if has_data { bursts.left.saturating_sub(mss) } else { Bytes::ZERO };
        if !bursts.left.is_zero() {
            self.pacer = Pacer::new(now);
        }
    }
}
