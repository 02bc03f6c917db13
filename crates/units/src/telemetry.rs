//! In-band network telemetry: what the ports of a path say of themselves on a packet that they send (HPCC, SIGCOMM 2019,
//! section 4.1).
//!
//! Networks write it and controls read it, so that it stands here, between the two: which kinds there are, and what a packet
//! carries. How a port stamps a packet is the network's: adding a kind takes a line here, and a file and a line in
//! `crates/fabric/src/telemetry`.

use crate::{Bytes, Duration, Rate, Time};
use alloc::vec::Vec;

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

            /// The most ports whose state a packet carries.
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

/// The state of a port when its service of a packet begins, without that packet, as the switches of HPCC's published simulator write
/// it (`SwitchNotifyDequeue`, before `TransmitStart`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HopTelemetry {
    /// When that was: `ts`.
    pub at: Time,
    /// Bytes that left the port before the packet: `txBytes`. At a port that counts arrivals: bytes that had come to it to be sent,
    /// the packet included.
    pub sent: Bytes,
    /// The data queue that waits behind the packet: `qLen`.
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

/// A value for each port of a path, the first on the way first, of [`Telemetry::MOST_HOPS`] at most. Those of most paths stand in place;
/// longer paths take memory of their own.
#[derive(Clone, Debug)]
pub struct PerHop<T>(Places<T>);

/// Values that stand in place: as many as a path between two fat trees has ports.
const IN_PLACE: usize = 8;

#[derive(Clone, Debug)]
enum Places<T> {
    Few { len: u8, values: [T; IN_PLACE] },
    Many(Vec<T>),
}

impl<T: Copy + Default> PerHop<T> {
    /// Adds the value of the next port. One too many leaves no trace.
    #[inline]
    pub fn push(&mut self, value: T) {
        match &mut self.0 {
            Places::Few { len, values } if usize::from(*len) < IN_PLACE => {
                values[usize::from(*len)] = value;
                *len += 1;
            }
            _ => self.push_beyond(value),
        }
    }

    #[cold]
    fn push_beyond(&mut self, value: T) {
        if let Places::Few { len, values } = &self.0 {
            self.0 = Places::Many(values[..usize::from(*len)].to_vec());
        }
        if let Places::Many(values) = &mut self.0
            && values.len() < Telemetry::MOST_HOPS
        {
            values.push(value);
        }
    }

    /// Makes it as long as a path of so many ports; values that come anew are the default.
    #[inline]
    pub fn resize(&mut self, ports: usize) {
        match &mut self.0 {
            Places::Few { len, .. } if usize::from(*len) == ports => {}
            Places::Many(values) if values.len() == ports => {}
            _ => self.set_len(ports),
        }
    }

    #[cold]
    fn set_len(&mut self, ports: usize) {
        let known = self.as_slice().iter().copied();
        let all: Vec<_> = known.chain(core::iter::repeat(T::default())).take(ports).collect();
        *self = all.into_iter().collect();
    }

    /// The values.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        match &self.0 {
            Places::Few { len, values } => &values[..usize::from(*len)],
            Places::Many(values) => values,
        }
    }

    /// The values, to be changed.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        match &mut self.0 {
            Places::Few { len, values } => &mut values[..usize::from(*len)],
            Places::Many(values) => values,
        }
    }
}

impl<T: Copy + Default> Default for PerHop<T> {
    fn default() -> Self {
        Self(Places::Few { len: 0, values: [T::default(); IN_PLACE] })
    }
}

impl<T: Copy + Default + PartialEq> PartialEq for PerHop<T> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<T: Copy + Default + Eq> Eq for PerHop<T> {}

impl<T: Copy + Default> FromIterator<T> for PerHop<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut all = Self::default();
        values.into_iter().for_each(|value| all.push(value));
        all
    }
}

/// The telemetry of one packet, port by port, in the order in which it crossed them, and when it arrived.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Telemetry {
    /// When the packet arrived, by the receiver's clock; `None`: the receiver is not to say.
    pub received_at: Option<Time>,
    hops: PerHop<HopTelemetry>,
}

impl Telemetry {
    /// The most ports that fit a packet; later ones leave no trace. The simulator refuses longer paths. HPCC's own header has room for
    /// five, those of a path inside a fat tree.
    pub const MOST_HOPS: usize = 32;

    /// Another port has sent the packet.
    #[inline]
    pub fn push(&mut self, hop: HopTelemetry) {
        self.hops.push(hop);
    }

    /// Another port has sent the packet, which carries the state of this one alone from here on.
    pub fn replace(&mut self, hop: HopTelemetry) {
        self.hops = PerHop::default();
        self.hops.push(hop);
    }

    /// The ports, the first on the way first.
    #[must_use]
    #[inline]
    pub fn hops(&self) -> &[HopTelemetry] {
        self.hops.as_slice()
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
    fn a_packet_has_room_for_thirty_two_ports_and_later_ones_leave_no_trace() {
        let mut telemetry = Telemetry::default();
        assert_eq!(telemetry.hops(), []);
        let hop = |n: u64| HopTelemetry { sent: Bytes::new(n), ..HopTelemetry::default() };
        (0..40).for_each(|n| telemetry.push(hop(n)));
        assert!(telemetry.hops().iter().copied().eq((0..32).map(hop)));
    }

    #[test]
    fn a_packet_of_a_short_path_takes_no_more_memory_than_eight_stamps_need() {
        assert!(size_of::<Telemetry>() <= 8 * size_of::<HopTelemetry>() + 24, "{}", size_of::<Telemetry>());
    }

    #[test]
    fn values_by_port_keep_their_places_however_many_there_are() {
        let mut ports = PerHop::default();
        for len in [3, 8, 9, 30, 12, 8, 0] {
            ports.resize(len);
            assert_eq!(ports.as_slice().len(), len);
            ports.as_mut_slice().iter_mut().zip(1..).for_each(|(port, n)| *port = n);
            assert!(ports.as_slice().iter().copied().eq(1..=len));
            let known = ports.clone();
            ports.resize(len + 2);
            assert_eq!(&ports.as_slice()[..len], known.as_slice());
            assert_eq!(ports.as_slice()[len..], [0, 0]);
            assert_ne!(ports, known);
        }
    }

    #[test]
    fn a_port_that_replaces_the_others_stands_alone() {
        let hop = |n: u64| HopTelemetry { sent: Bytes::new(n), ..HopTelemetry::default() };
        let mut telemetry: Telemetry = (0..3).map(hop).collect();
        telemetry.replace(hop(7));
        assert_eq!(telemetry.hops(), [hop(7)]);
    }
}
