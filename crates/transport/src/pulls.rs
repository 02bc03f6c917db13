//! Pulls: which flow a host pulls a packet from, and when.
//!
//! A receiver owes its sender a pull for each packet that has reached it, whole or trimmed (NDP, SIGCOMM 2017, section 3.2).
//! Flows take turns, a pull each, and one pacer holds the pulls of the host to the rate of its link.

use crate::queue::Queue;
use crate::table::PeerFlow;
use farspan_units::{Bytes, Duration, Rate, Time};

/// How a receiver pulls packets from a sender that runs on credit: one for each that has reached it, whole or trimmed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PullConfig {
    /// The part of its line rate that the receiver asks for, in (0, 1].
    pub rate: f64,
}

/// The pulls that one receiver owes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owed {
    /// Where they go, and the flow's number there.
    pub to: PeerFlow,
    /// The time between two pulls at the rate of this flow's profile.
    interval: Duration,
    /// How many are owed.
    owed: u32,
    /// How many have left.
    count: u32,
    /// Packets that came whole, for the first time.
    arrived: u32,
    /// Whether the flow waits for its turn.
    waits: bool,
}

impl Owed {
    /// Nothing yet, of a flow that comes from `to`, to a host with this line rate and full packets of this size.
    pub(crate) fn new(to: PeerFlow, config: PullConfig, line_rate: Rate, mtu: Bytes) -> Self {
        let interval = line_rate.mul_f64(config.rate).transmission(mtu);
        Self { to, interval, owed: 0, count: 0, arrived: 0, waits: false }
    }

    /// A packet of a message of `packets` has come; `is_new`: whole, and for the first time. No more pulls are owed than
    /// packets are missing.
    pub(crate) fn earn(&mut self, is_new: bool, packets: u32) {
        self.arrived += u32::from(is_new);
        self.owed = (self.owed + 1).min(packets.saturating_sub(self.arrived));
    }

    /// Whether the flow is to wait for its turn from now on.
    pub(crate) fn takes_turn(&mut self) -> bool {
        let starts = self.owed > 0 && !self.waits;
        self.waits |= starts;
        starts
    }

    /// It is its turn: the count of the pull that leaves, if it still owes one, and the time until the next of the host.
    fn pull(&mut self) -> Option<(u32, Duration)> {
        self.waits = false;
        self.owed = self.owed.checked_sub(1)?;
        self.count += 1;
        Some((self.count, self.interval))
    }
}

/// The turns of one host's flows.
#[derive(Debug, Default)]
pub(crate) struct Pulls {
    /// Flows that owe pulls, the next one first. Some may have ended.
    turns: Queue<PeerFlow>,
    /// No pull leaves before.
    next_at: Time,
}

impl Pulls {
    /// A flow waits for its turn.
    pub(crate) fn add(&mut self, name: PeerFlow) {
        self.turns.push(name);
    }

    /// Forgets the turns of flows that are `gone`.
    pub(crate) fn forget(&mut self, gone: impl Fn(PeerFlow) -> bool) {
        self.turns.filter_map(|name| (!gone(name)).then_some(name));
    }

    /// When the next pull may leave; [`Time::MAX`]: none waits.
    pub(crate) const fn next_release(&self) -> Time {
        if self.turns.is_empty() { Time::MAX } else { self.next_at }
    }

    /// The flow whose turn it is, if a pull may leave now.
    pub(crate) fn turn(&mut self, now: Time) -> Option<PeerFlow> {
        if self.next_at > now { None } else { self.turns.pop() }
    }

    /// The pull of the flow whose turn it was leaves now: its count. The flow waits for its next turn if it owes more.
    pub(crate) fn leave(&mut self, now: Time, name: PeerFlow, owed: &mut Owed) -> Option<u32> {
        let (count, interval) = owed.pull()?;
        self.next_at = now + interval;
        if owed.takes_turn() {
            self.add(name);
        }
        Some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use farspan_units::{FlowId, HostId};
    use proptest::prelude::*;

    const MTU: Bytes = Bytes::new(4160);
    const LINE_RATE: Rate = Rate::from_gbps(100);

    fn name(flow: u32) -> PeerFlow {
        PeerFlow { peer: HostId(0), flow: FlowId(flow) }
    }

    fn owed() -> Owed {
        Owed::new(name(0), PullConfig { rate: 1.0 }, LINE_RATE, MTU)
    }

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    #[test]
    fn a_packet_earns_a_pull_and_no_more_are_owed_than_packets_are_missing() {
        let mut owed = owed();
        for (is_new, expected) in [(true, 1), (false, 2), (true, 2), (true, 1), (false, 1), (true, 0)] {
            owed.earn(is_new, 4);
            assert_eq!(owed.owed, expected);
        }
    }

    #[test]
    fn flows_take_turns_and_a_pull_leaves_each_packet_time() {
        let mut pulls = Pulls::default();
        let mut owed = [owed(), owed()];
        for (i, earned) in [3, 1].into_iter().enumerate() {
            (0..earned).for_each(|_| owed[i].earn(false, 10));
            assert!(owed[i].takes_turn());
            pulls.add(name(i as u32));
        }
        let gap = LINE_RATE.transmission(MTU).as_ps();
        let mut left = Vec::new();
        while pulls.next_release() != Time::MAX {
            let now = pulls.next_release();
            if let Some(before) = now.as_ps().checked_sub(1) {
                assert_eq!(pulls.turn(at(before)), None, "too early");
            }
            let turn = pulls.turn(now).expect("a flow waits");
            let count = pulls.leave(now, turn, &mut owed[turn.flow.index()]);
            left.push((now.as_ps() / gap, turn.flow.0, count));
        }
        assert_eq!(left, [(0, 0, Some(1)), (1, 1, Some(1)), (2, 0, Some(2)), (3, 0, Some(3))]);
    }

    proptest! {
        /// Whatever comes when: in any time pulls ask for no more than the line carries, and one packet.
        #[test]
        fn pulls_never_exceed_the_line_rate_by_more_than_a_packet(
            arrivals in prop::collection::vec((0..4_usize, 0..2_000_000_u64), 1..200),
        ) {
            let (mut pulls, mut owed) = (Pulls::default(), [owed(); 4]);
            let (mut now, mut left) = (Time::ZERO, Vec::new());
            for (flow, gap) in arrivals {
                now += Duration::from_ps(gap);
                owed[flow].earn(false, u32::MAX);
                if owed[flow].takes_turn() {
                    pulls.add(name(flow as u32));
                }
                while let Some(turn) = pulls.turn(now) {
                    prop_assert!(pulls.leave(now, turn, &mut owed[turn.flow.index()]).is_some());
                    left.push(now);
                }
            }
            for (i, first) in left.iter().enumerate() {
                for (packets, last) in (1..).zip(&left[i..]) {
                    let carried = LINE_RATE.bytes_in(last.since(*first));
                    prop_assert!(MTU * packets <= carried + MTU, "{packets} pulls from {first:?} to {last:?}");
                }
            }
        }
    }
}
