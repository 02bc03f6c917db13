//! Probes: small datagrams with their send times, a hundred a second over all pairs of hosts in turn. They say how long a packet
//! waits until the emulator reads it. The network does not see them, so that they take nothing of it.

use super::clock::{monotonic_ns, sleep_until};
use super::sys::{run_in_real_time, send_past_queue};
use super::tun::DEVICE;
use crate::address::v4;
use crate::bytes::{UDP, checksum};
use farspan_units::{HostId, Purpose, Random};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The UDP port of probes, from and to. Hosts know nothing of it.
const PORT: u16 = 64_009;

const MAGIC: [u8; 8] = *b"farspan\0";
const PAYLOAD: usize = 24;
const HEADERS: usize = 28;
const INTERVAL_NS: u64 = 10_000_000;

/// A probe that leaves more than this after its time counts from its time: something held its processor, and the packets with it.
const HELD_NS: u64 = 1_000_000;

/// A probe, as it was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Probe {
    pub(super) from: HostId,
    pub(super) to: HostId,
    /// When it was sent, in nanoseconds of CLOCK_MONOTONIC.
    pub(super) sent: u64,
}

impl Probe {
    /// A probe in an IPv4 packet, if it is one.
    pub(super) fn parse(packet: &[u8]) -> Option<Self> {
        let port = PORT.to_be_bytes();
        let is_probe = packet.len() == HEADERS + PAYLOAD
            && packet[0] == 0x45
            && packet[9] == UDP
            && packet[20..22] == port
            && packet[22..24] == port
            && packet[HEADERS..HEADERS + 8] == MAGIC;
        is_probe.then(|| {
            let word = |at: usize| u32::from_be_bytes(std::array::from_fn(|n| packet[HEADERS + at + n]));
            let sent = u64::from(word(8)) << 32 | u64::from(word(12));
            Self { from: HostId(word(16)), to: HostId(word(20)), sent }
        })
    }

    /// The IPv4 packet (RFC 791) of a datagram without a checksum (RFC 768).
    fn packet(self) -> [u8; HEADERS + PAYLOAD] {
        let mut packet = [0; HEADERS + PAYLOAD];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&((HEADERS + PAYLOAD) as u16).to_be_bytes());
        (packet[8], packet[9]) = (64, UDP);
        packet[12..16].copy_from_slice(&v4(self.from).octets());
        packet[16..20].copy_from_slice(&v4(self.to).octets());
        let sum = checksum::of(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet[20..22].copy_from_slice(&PORT.to_be_bytes());
        packet[22..24].copy_from_slice(&PORT.to_be_bytes());
        packet[24..26].copy_from_slice(&((8 + PAYLOAD) as u16).to_be_bytes());
        packet[HEADERS..HEADERS + 8].copy_from_slice(&MAGIC);
        packet[HEADERS + 8..HEADERS + 16].copy_from_slice(&self.sent.to_be_bytes());
        packet[HEADERS + 16..HEADERS + 20].copy_from_slice(&self.from.0.to_be_bytes());
        packet[HEADERS + 20..].copy_from_slice(&self.to.0.to_be_bytes());
        packet
    }
}

/// The sockets that send the probes of each host. Probes pass by the queue of their host: they measure the emulator, and not what programs send.
pub(super) type Sockets = Vec<OwnedFd>;

/// A socket of the host in whose namespace the calling thread is.
pub(super) fn socket() -> std::io::Result<OwnedFd> {
    send_past_queue(DEVICE)
}

/// Sends probes until `stop`; `due` counts them, those that a host does not send included.
pub(super) fn send(sockets: &Sockets, stop: &AtomicBool, due: &AtomicU64, priority: i32) {
    let _ = run_in_real_time(priority);
    let hosts = sockets.len() as u32;
    let pairs = (0..hosts).flat_map(|from| (0..hosts).map(move |to| (HostId(from), HostId(to))));
    let mut pairs: Vec<_> = pairs.filter(|(from, to)| from != to).collect();
    // Each of many hosts is to have its turn soon, whatever its number.
    Random::new(0, Purpose::Pattern, 0).shuffle(&mut pairs);
    let mut at = monotonic_ns();
    for (from, to) in pairs.into_iter().cycle() {
        at += INTERVAL_NS;
        sleep_until(at);
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let now = monotonic_ns();
        let sent = if now > at + HELD_NS { at } else { now };
        let packet = Probe { from, to, sent }.packet();
        // Whether it was sent shows when it is read, or is not.
        due.fetch_add(1, Ordering::Relaxed);
        let _ = rustix::io::write(&sockets[from.index()], &packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::Datagram;
    use std::net::IpAddr;

    #[test]
    fn a_probe_is_told_from_what_programs_send() {
        let probe = Probe { from: HostId(3), to: HostId(7), sent: 0x1234_5678_9abc };
        let mut packet = probe.packet().to_vec();
        let datagram = Datagram::parse(&packet).unwrap();
        assert_eq!([datagram.source, datagram.destination], [v4(HostId(3)), v4(HostId(7))].map(IpAddr::V4));
        assert_eq!((checksum::of(&packet[..20]), packet[24..26].to_vec()), (0, vec![0, 32]));
        assert_eq!(Probe::parse(&packet), Some(probe));
        for at in [0, 9, 20, 23, HEADERS] {
            let mut other = packet.clone();
            other[at] ^= 1;
            assert_eq!(Probe::parse(&other), None, "byte {at}");
        }
        packet.push(0);
        assert_eq!(Probe::parse(&packet), None);
    }
}
