//! ACKs that say more than that one packet has arrived: their maps, and the paths of what they acknowledge.

use super::Sender;
use super::feedback::WireAck;
use crate::balance::{Balance, PathSample};
use crate::recovery::AckOutcome;
use crate::wire::mapped;
use farspan_units::{Bytes, Time};

impl Sender {
    /// Reads the map of an ACK, and gives what [`Self::acknowledge_map`] does, and how much payload the map names first though
    /// each of these packets had an ACK of its own, whose mark is not known. Where each packet has its ACK, it is read only if
    /// the oldest packet that is not acknowledged has timed out, or left a base RTT or more before the one that the ACK is for:
    /// it is missing, or its ACK is. Else packets and ACKs have overtaken each other, and the ACKs that a map stands in for are
    /// on their way. Where ACKs are held, a marked packet has one of its own: what one without a mark names came without.
    #[inline(always)]
    pub(super) fn read_map(&mut self, now: Time, ack: &WireAck<'_>) -> (u32, Bytes) {
        let holds = !self.route.held.is_zero();
        if holds || self.sent.is_overdue(now, ack.echo.sent_at, self.route.path.base_rtt) {
            let before = self.delivered;
            let below = self.acknowledge_map(now, ack.cumulative, ack.map);
            let stands_for = holds && !ack.ecn_ce;
            return (below, if stands_for { Bytes::ZERO } else { self.delivered - before });
        }
        (0, Bytes::ZERO)
    }

    /// Acknowledges what a map names and was sent: bit `i` is packet `cumulative + 1 + i`. Gives the packet after the last
    /// that was not acknowledged before; 0: there was none.
    #[cold]
    #[inline(never)]
    fn acknowledge_map(&mut self, now: Time, cumulative: u32, map: u64) -> u32 {
        let (mut below, end) = (0, self.sent.next());
        for seq in mapped(cumulative, map).take_while(|&seq| seq < end) {
            if self.acknowledge(now, seq) != AckOutcome::Known {
                below = seq + 1;
            }
        }
        self.sent.advance();
        below
    }

    /// Notes of an ACK what few senders ask for, before it acknowledges anything.
    #[cold]
    #[inline(never)]
    pub(super) fn note_on_slow_path(&mut self, now: Time, ack: &WireAck<'_>) {
        if ack.ecn_ce && self.route.profile.repeats_marks {
            self.note_repeated_mark(ack.cumulative);
        }
        self.note_paths(now, ack);
    }

    /// The path selector hears of each packet that an ACK acknowledges first, but for the one that it echoes. The mark of a delayed
    /// ACK is that of all of them. Of a receiver that holds ACKs a marked packet has one of its own: none of what an ACK without a
    /// mark acknowledges was marked, and of one with a mark it is not known. Before they are acknowledged.
    fn note_paths(&mut self, now: Time, ack: &WireAck<'_>) {
        // An ACK of a coded message also covers packets that are not needed and need not have arrived.
        let is_unknown = ack.ecn_ce && !self.route.held.is_zero();
        let is_silent = !self.route.merges_acks() || is_unknown || self.blocks().is_some();
        if is_silent || !self.sent.keeps_entropies() {
            return;
        }
        let (base, end, mut in_flight) = (self.sent.base(), self.sent.next(), self.in_flight);
        let above =
            mapped(ack.cumulative, ack.map).skip_while(|&seq| seq < base).take_while(|&seq| seq < end);
        for seq in (base..ack.cumulative.min(end)).chain(above) {
            let Some(entropy) = self.sent.path_of(seq) else { continue };
            in_flight -= self.len(seq);
            // The receiver kept them until the echoed one came: its round trip is that of the path.
            let sent_at = ack.echo.sent_at;
            let sample = PathSample { now, sent_at, entropy, in_flight };
            self.balancer.on_ack(sample, ack.ecn_ce, &mut self.random);
        }
    }
}
