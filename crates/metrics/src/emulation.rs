//! How well an emulation kept its own times, and what became of every packet that it read.

use serde::Serialize;

/// How late something was, in microseconds, from a histogram of buckets of about 3%.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Lateness {
    /// How many were measured.
    pub count: u64,
    /// Median.
    pub p50_us: Option<f64>,
    /// 99th percentile.
    pub p99_us: Option<f64>,
    /// 99.9th percentile.
    pub p999_us: Option<f64>,
    /// Largest.
    pub max_us: Option<f64>,
}

/// The fates of the packets that hosts sent into an emulation, and of those with which its switches answered: each has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct EmulatedPackets {
    /// Read from hosts, or counted at them at the end: packets that their kernels' queues still held, or had dropped.
    pub read: u64,
    /// Made by switches: errors of ICMP, which tell a sender why its packet went no farther.
    pub answered: u64,
    /// Written to hosts.
    pub delivered: u64,
    /// Dropped at full buffers of hosts, NICs and switches. Those that a host's kernel dropped count at the end, without their bytes.
    pub dropped: u64,
    /// Lost by faults of links.
    pub lost: u64,
    /// For no host, or no IP packet.
    pub unrouted: u64,
    /// Their hop limit ended.
    pub expired: u64,
    /// Longer than the MTU of the network.
    pub too_big: u64,
    /// Trimmed by a port, and dropped at the end, since bytes of their kind cannot be cut.
    pub untrimmable: u64,
    /// Refused by the kernel at the receiving end.
    pub refused: u64,
    /// Still under way at the end.
    pub under_way: u64,
}

impl EmulatedPackets {
    /// Those that hosts and switches sent.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.read + self.answered
    }

    /// Those that ended before a host had them, whatever ended them.
    #[must_use]
    pub const fn ended(&self) -> u64 {
        let Self { dropped, lost, unrouted, expired, too_big, untrimmable, refused, .. } = *self;
        dropped + lost + unrouted + expired + too_big + untrimmable + refused
    }

    /// Whether each packet has one fate.
    #[must_use]
    pub const fn conserved(&self) -> bool {
        self.sent() == self.delivered + self.ended() + self.under_way
    }
}

/// How an emulation judges itself. It is void where it was too late, or lost packets that no port counts.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Emulation {
    /// Whether its results are void.
    pub void: bool,
    /// Why, each reason a sentence; empty where it holds.
    pub reasons: Vec<String>,
    /// The most that the 99th percentile of excess delay may be: 100 us, or 1% of the shortest RTT where that is more.
    pub bound_p99_us: f64,
    /// The most that the 99.9th percentile may be: 5% of the shortest RTT.
    pub bound_p999_us: f64,
    /// The longest that its thread may be held at once: half of the shortest RTT, 10 ms at most.
    pub bound_stall_us: f64,
    /// The excess delay of probes, 100 a second over all pairs of hosts in turn: late reads and late releases together.
    pub excess: Lateness,
    /// How long probes waited until they were read.
    pub read: Lateness,
    /// How long after they were due packets were written to their hosts.
    pub release: Lateness,
    /// The longest time for which its thread was held: the time between two looks at its devices, less what it meant to sleep.
    pub stall_us: f64,
    /// Packets that the kernel dropped before they were read: no port counts them.
    pub unread_drops: u64,
    /// Share of the time of this machine's processors that a hypervisor gave to others: an emulation is late then, whatever it does.
    /// 0 where there is none; `None`: the system does not say.
    pub steal_share: Option<f64>,
    /// CPU time over run time of the thread that emulates.
    pub core_share: f64,
    /// How that thread was scheduled: `SCHED_FIFO` or `SCHED_OTHER`.
    pub scheduler: String,
    /// The fates of the packets.
    pub packets: EmulatedPackets,
    /// Packets that ports marked and that speak no ECN: they went on without a mark.
    pub unmarked: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_without_a_fate_fails_the_sums() {
        let mut packets = EmulatedPackets {
            read: 41,
            answered: 2,
            delivered: 8,
            dropped: 7,
            lost: 6,
            unrouted: 5,
            expired: 4,
            too_big: 7,
            untrimmable: 3,
            refused: 2,
            under_way: 1,
        };
        assert!(packets.conserved());
        packets.dropped -= 1;
        assert!(!packets.conserved(), "one was dropped and not counted");
        packets.delivered += 2;
        assert!(!packets.conserved(), "one was delivered twice");
    }
}
