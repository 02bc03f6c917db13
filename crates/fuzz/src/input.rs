//! Bytes of an input as numbers, and headers made of them.

use farspan_transport::coding::Shape;
use farspan_transport::wire::{
    Coded, Data, Echo, Fate, Feedback, Handshake, Header, Numbered, Place, telemetry,
};
use farspan_units::{FlowId, Telemetry, Time};

/// The bytes that are left; zeros follow them.
#[derive(Debug)]
pub(crate) struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// Two bytes as a number.
    pub fn short(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    /// Mostly a small number, sometimes any.
    pub fn number(&mut self) -> u32 {
        match self.byte() {
            255 => u32::from_be_bytes([(); 4].map(|()| self.byte())),
            small => u32::from(small),
        }
    }

    /// Up to so many bytes.
    pub fn take(&mut self, most: usize) -> &'a [u8] {
        let (first, rest) = self.0.split_at(self.0.len().min(most));
        self.0 = rest;
        first
    }

    /// Telemetry, as ports that know the format could write it, with any content.
    pub fn telemetry(&mut self) -> Option<Box<Telemetry>> {
        let (empty, mut bytes) = (Telemetry::default(), Vec::new());
        telemetry::encode(&empty, &mut bytes);
        let ports = self.byte() % (Telemetry::MOST_HOPS as u8 + 1);
        let says_arrival = self.byte() % 2;
        bytes[0] |= ports;
        bytes[1] |= says_arrival;
        bytes.extend(self.take(8 * usize::from(4 * ports + says_arrival)));
        telemetry::decode(&bytes).ok().map(|(telemetry, _)| Box::new(telemetry))
    }

    /// A header, as a peer could send it that knows the format; `mss`: of a full segment.
    pub fn header(&mut self, mss: u16) -> Header {
        let kind = self.byte();
        let (flow, seq, count) = (FlowId(u32::from(self.byte() % 8)), self.number(), self.number());
        let sent_at = Time::from_ps(u64::from(self.short()) * 1_000_000);
        let entropy = self.short();
        let len = if self.byte() < 200 { mss } else { self.short() % (mss + 2) };
        let byte = self.byte();
        let (profile, ask) = (byte % 16 / 15, byte & 16 != 0);
        let data = Data { flow, seq, packets: count, len, sent_at, entropy, profile, ask };
        let echo = Echo { sent_at, entropy };
        let feedback = |fate| Header::Feedback(Feedback { flow, seq, cumulative: count, fate });
        let place = Place { lane: profile | entropy as u8 & 14, number: entropy >> 4 };
        match kind % 7 {
            0 if kind & 128 != 0 => Header::Numbered(Numbered { data, place }),
            0 if kind & 64 != 0 => {
                Header::Handshake(Handshake { flow, packets: count, sent_at, entropy, profile })
            }
            0 => Header::Data(data),
            1 => {
                let map = if kind & 32 != 0 { u64::from(entropy) << 16 | u64::from(len) } else { 0 };
                let (ecn_ce, block_complete) = (kind & 64 != 0, kind & 128 != 0);
                feedback(Fate::Arrived { echo, ecn_ce, block_complete, map })
            }
            2 if kind & 128 != 0 => {
                feedback(Fate::Taken { echo, ecn_ce: kind & 64 != 0, limit: self.number() })
            }
            2 => feedback(Fate::Trimmed { echo, at_last_hop: kind & 64 != 0, ecn_ce: kind & 128 != 0 }),
            3 if kind & 128 != 0 => {
                let (cumulative, fate) = (count, Fate::PassedOn { limit: seq });
                Header::Feedback(Feedback { flow, seq: 0, cumulative, fate })
            }
            3 if kind & 64 != 0 => {
                let fate = Fate::Gap { first: place, count: count as u16 };
                Header::Feedback(Feedback { flow, seq: 0, cumulative: 0, fate })
            }
            3 => feedback(Fate::Missing { packets: u32::from(self.short()) }),
            6 if kind & 64 != 0 => {
                Header::Feedback(Feedback { flow, seq: 0, cumulative: count, fate: Fate::Cnp })
            }
            6 => Header::Feedback(Feedback {
                flow,
                seq: 0,
                cumulative: count,
                fate: Fate::Pull { count: seq },
            }),
            _ => match Shape::new(self.byte() % 12, self.byte() % 5) {
                Some(shape) => {
                    let last_len = if self.byte() < 128 { mss } else { self.short() };
                    let block_wait_ns = u32::from(self.short()) << 8;
                    Header::Coded(Coded { data, shape, last_len, block_wait_ns })
                }
                None => Header::Data(data),
            },
        }
    }
}
