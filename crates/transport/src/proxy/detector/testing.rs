//! Sprayed flows whose losses are known, and how many of them a detector finds.

use super::{PerFlow, PerFlowConfig, PerPath, PerPathConfig};
use alloc::vec;
use alloc::vec::Vec;
use farspan_units::{Bytes, Duration, Purpose, Random, Time};

/// The packets of a flow leave at this distance: 4 KiB at 100 Gb/s.
pub const PACKET_TIME: Duration = Duration::from_ps(332_800);

/// A loss that is found so long after the first later packet is missed: the sender has found it by itself.
pub const DEADLINE: Duration = Duration::from_ps(1000 * PACKET_TIME.as_ps());

/// Delays of paths change after so many packets, as queues do.
const PACKETS_OF_A_DELAY: u32 = 1024;

/// A sprayed flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SprayedFlow {
    /// How many packets it has.
    pub packets: u32,
    /// How many paths; each packet takes a random one.
    pub paths: u8,
    /// Delays of paths are uniform in [0, this], and change after each 1024 packets.
    pub spread: Duration,
    /// Mean of the exponential delay that each packet has beside its path's. Packets of a path keep their order.
    pub jitter: Duration,
    /// The part of the packets that is lost.
    pub loss: f64,
    /// How many packets in a row of one path a loss takes on average, at least 1.
    pub burst: f64,
    /// After each 64 packets the sender waits so long, as one does whose window is full.
    pub pause: Duration,
}

/// A packet of a sprayed flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SprayedPacket {
    /// Its number in the flow.
    pub seq: u32,
    /// Its path.
    pub path: u8,
    /// Its number on the path.
    pub number: u16,
    /// When it arrives; `None`: it is lost.
    pub at: Option<Time>,
}

/// How well a detector has done.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Score {
    /// Losses that a later packet follows: of the path for numbers per path, else of the flow.
    pub losses: u64,
    /// Losses that none follows.
    pub tail: u64,
    /// Losses of the first kind that were not found, or after the [`DEADLINE`].
    pub missed: u64,
    /// Packets that were declared lost and were not.
    pub false_losses: u64,
    /// From the first later packet to the declaration, summed over the losses that were found.
    pub delay: Duration,
    /// Memory that the detector takes.
    pub bytes: Bytes,
}

impl Score {
    /// Missed and false losses.
    #[must_use]
    pub const fn errors(&self) -> u64 {
        self.missed + self.false_losses
    }
}

impl SprayedFlow {
    /// A flow of 20,000 packets over eight paths, with a spread of so many packet times, an eighth of it as jitter and
    /// losses of single packets.
    #[must_use]
    pub fn new(spread: u64, loss: f64) -> Self {
        let spread = PACKET_TIME * spread;
        Self {
            packets: 20_000,
            paths: 8,
            spread,
            jitter: spread / 8,
            loss,
            burst: 1.0,
            pause: Duration::ZERO,
        }
    }

    /// Its packets in the order in which they were sent, and what becomes of them under this seed.
    #[must_use]
    pub fn packets(&self, seed: u64) -> Vec<SprayedPacket> {
        let draws = |entity| Random::new(seed, Purpose::Test, entity);
        let (mut choices, mut delays, mut losses) = (draws(0), draws(1), draws(2));
        let paths = usize::from(self.paths);
        let (mut numbers, mut free_at) = (vec![0_u16; paths], vec![Time::ZERO; paths]);
        let (mut base, mut losing) = (vec![Duration::ZERO; paths], vec![false; paths]);
        let mut send = |seq: u32| {
            if seq.is_multiple_of(PACKETS_OF_A_DELAY) {
                base.fill_with(|| self.spread.mul_f64(delays.uniform()));
            }
            let path = choices.below(u64::from(self.paths)) as usize;
            let number = numbers[path];
            numbers[path] = number.wrapping_add(1);
            losing[path] = self.is_lost(losing[path], losses.uniform());
            let jitter = self.jitter.mul_f64(delays.exponential());
            let at = Time::ZERO
                + PACKET_TIME * u64::from(seq)
                + self.pause * u64::from(seq / 64)
                + base[path]
                + jitter;
            free_at[path] = at.max(free_at[path] + Duration::from_ps(1));
            let at = (!losing[path]).then_some(free_at[path]);
            SprayedPacket { seq, path: path as u8, number, at }
        };
        (0..self.packets).map(&mut send).collect()
    }

    /// Gilbert's model: a path that loses packets goes on for `burst` of them on average.
    fn is_lost(&self, was_lost: bool, draw: f64) -> bool {
        let stay = 1.0 - 1.0 / self.burst;
        let enter = self.loss / (self.burst * (1.0 - self.loss));
        let begin = if self.burst > 1.0 { enter } else { self.loss };
        draw < if was_lost && self.burst > 1.0 { stay } else { begin }
    }
}

/// The packets that arrive, in the order in which they do.
#[must_use]
pub fn arrivals(packets: &[SprayedPacket]) -> Vec<(Time, SprayedPacket)> {
    let mut arrivals: Vec<_> = packets.iter().filter_map(|packet| Some((packet.at?, *packet))).collect();
    arrivals.sort_by_key(|&(at, packet)| (at, packet.seq));
    arrivals
}

/// When the first later packet arrives, if one does, for each packet. `stream` says which packets belong together.
fn overtaken(packets: &[SprayedPacket], stream: impl Fn(&SprayedPacket) -> u8) -> Vec<Option<Time>> {
    let mut first = [None::<Time>; 64];
    let mut times = vec![None; packets.len()];
    for (packet, time) in packets.iter().zip(&mut times).rev() {
        let of_stream = &mut first[usize::from(stream(packet))];
        *time = *of_stream;
        *of_stream = [*of_stream, packet.at].into_iter().flatten().min();
    }
    times
}

/// Compares what was declared, and when, with what was lost.
fn score(
    packets: &[SprayedPacket],
    overtaken: &[Option<Time>],
    declared: &[(u32, Time)],
    bytes: Bytes,
) -> Score {
    let mut found = vec![None; packets.len()];
    for &(seq, at) in declared {
        found[seq as usize] = Some(at);
    }
    let mut score = Score { bytes, ..Score::default() };
    for ((packet, first_later), found) in packets.iter().zip(overtaken).zip(found) {
        match (packet.at, first_later, found) {
            (Some(_), _, found) => score.false_losses += u64::from(found.is_some()),
            (None, None, _) => score.tail += 1,
            (None, Some(first), Some(at)) if at.since(*first) <= DEADLINE => {
                score.losses += 1;
                score.delay += at.since(*first);
            }
            (None, Some(_), _) => {
                score.losses += 1;
                score.missed += 1;
            }
        }
    }
    score
}

/// The losses that numbers per path show, with their times.
#[must_use]
pub fn per_path(packets: &[SprayedPacket], config: &PerPathConfig) -> Score {
    let mut detector = PerPath::new(config);
    let mut sent = vec![Vec::new(); usize::from(config.paths)];
    for packet in packets {
        sent[usize::from(packet.path)].push(packet.seq);
    }
    let mut declared = Vec::new();
    let mut ends = vec![0_usize; usize::from(config.paths)];
    for (now, packet) in arrivals(packets) {
        let lost = detector.on_packet(packet.path, packet.number);
        let (sent, end) = (&sent[usize::from(packet.path)], &mut ends[usize::from(packet.path)]);
        declared.extend(sent[*end..].iter().take(usize::from(lost.count)).map(|&seq| (seq, now)));
        *end += usize::from(lost.count) + 1;
    }
    score(packets, &overtaken(packets, |packet| packet.path), &declared, detector.state_bytes())
}

/// The losses that numbers per flow show, with their times. No mark ends the flow.
#[must_use]
pub fn per_flow(packets: &[SprayedPacket], config: &PerFlowConfig) -> Score {
    let mut detector = PerFlow::new(config);
    let mut declared = Vec::new();
    let expire = |detector: &mut PerFlow, until: Time, declared: &mut Vec<(u32, Time)>| {
        while let Some(at) = detector.poll_timeout().filter(|&at| at <= until) {
            declared.extend(detector.on_timeout(at).map(|seq| (seq, at)));
        }
    };
    for (now, packet) in arrivals(packets) {
        expire(&mut detector, now, &mut declared);
        declared.extend(detector.on_packet(now, packet.seq, false).map(|seq| (seq, now)));
    }
    expire(&mut detector, Time::MAX, &mut declared);
    score(packets, &overtaken(packets, |_| 0), &declared, detector.state_bytes())
}
