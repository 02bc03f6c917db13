//! In-band network telemetry: what the ports of a path say of themselves on a packet that they send (HPCC, SIGCOMM 2019,
//! section 4.1).
//!
//! Networks write it and controls read it, so that it stands here, between the two: which kinds there are, and what a packet
//! carries. How a port stamps a packet is the network's: adding a kind takes a line here, and a file and a line in
//! `crates/fabric/src/telemetry`.

use crate::{Bytes, Duration, Rate, Time};

/// Generates [`TelemetryKind`] from one line per kind: its variant, its name in text, and of how many ports a packet carries the
/// state at most.
macro_rules! telemetry_kinds {
    ($($(#[$meta:meta])* $variant:ident, $name:literal, $most_hops:expr;)*) => {
        /// The state that a port writes on each data packet that it sends, the poorer before the richer: who needs one kind is
        /// served by those after it.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
        pub enum TelemetryKind {
            $($(#[$meta])* $variant,)*
        }

        impl TelemetryKind {
            /// Every kind, in order.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name of every kind, in order.
            pub const NAMES: &[&str] = &[$($name),*];

            /// The kind's name in text.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Of how many ports a packet carries the state at most.
            #[must_use]
            pub const fn most_hops(self) -> usize {
                match self {
                    $(Self::$variant => $most_hops,)*
                }
            }
        }
    };
}

telemetry_kinds! {
    /// Nothing.
    #[default]
    None, "none", 0;
    /// Its state, in the place of that of a port before it whose queue is shorter in time: the packet carries the largest
    /// queueing delay of its path (Poseidon, NSDI 2023: MPD).
    Mpd, "mpd", 1;
    /// Its state, behind those of the ports before it (HPCC, SIGCOMM 2019: INT).
    Int, "int", Telemetry::MOST_HOPS;
}

/// The state of a port when the last bit of a packet has left it (HPCC, figure 7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HopTelemetry {
    /// When that was: `ts`.
    pub at: Time,
    /// Bytes that the port has sent so far, this packet included: `txBytes`.
    pub sent: Bytes,
    /// The data queue that the packet leaves behind: `qLen`.
    pub queued: Bytes,
    /// The rate of its link: `B`.
    pub rate: Rate,
}

impl HopTelemetry {
    /// How long the port takes to send the queue.
    #[must_use]
    pub fn queueing_delay(&self) -> Duration {
        self.rate.transmission(self.queued)
    }
}

/// The telemetry of one packet, port by port, in the order in which it crossed them, and when it arrived.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Telemetry {
    /// When the packet arrived, by the receiver's clock; `None`: the receiver is not to say.
    pub received_at: Option<Time>,
    hops: [HopTelemetry; Self::MOST_HOPS],
    len: u8,
}

impl Telemetry {
    /// So many ports fit a packet: those of a path between two fat trees. Later ones leave no trace. HPCC's own header has
    /// room for five, those of a path inside one.
    pub const MOST_HOPS: usize = 8;

    /// Another port has sent the packet.
    pub const fn push(&mut self, hop: HopTelemetry) {
        if (self.len as usize) < Self::MOST_HOPS {
            self.hops[self.len as usize] = hop;
            self.len += 1;
        }
    }

    /// Another port has sent the packet, which carries the state of this one alone from here on.
    pub const fn replace(&mut self, hop: HopTelemetry) {
        (self.hops[0], self.len) = (hop, 1);
    }

    /// The ports, the first on the way first.
    #[must_use]
    pub fn hops(&self) -> &[HopTelemetry] {
        &self.hops[..usize::from(self.len)]
    }
}

impl FromIterator<HopTelemetry> for Telemetry {
    fn from_iter<T: IntoIterator<Item = HopTelemetry>>(hops: T) -> Self {
        let mut telemetry = Self::default();
        hops.into_iter().for_each(|hop| telemetry.push(hop));
        telemetry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_beyond_the_last_place_leave_no_trace() {
        let mut telemetry = Telemetry::default();
        assert_eq!(telemetry.hops(), []);
        let hop = |n: u64| HopTelemetry { sent: Bytes::new(n), ..HopTelemetry::default() };
        (0..10).for_each(|n| telemetry.push(hop(n)));
        assert!(telemetry.hops().iter().copied().eq((0..8).map(hop)));
    }

    #[test]
    fn a_port_that_replaces_the_others_stands_alone() {
        let hop = |n: u64| HopTelemetry { sent: Bytes::new(n), ..HopTelemetry::default() };
        let mut telemetry: Telemetry = (0..3).map(hop).collect();
        telemetry.replace(hop(7));
        assert_eq!(telemetry.hops(), [hop(7)]);
    }
}
