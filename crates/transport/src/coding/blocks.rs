//! Blocks of an MDS code: which packet of a message is payload, and which is parity.
//!
//! "Uno: A One-Stop Solution for Inter- and Intra-Data Center Congestion Control and Reliable Connectivity", section
//! 4.2: a message is divided into blocks of n = x + y packets, x of data and y of parity, and a block can be
//! reconstructed from any x of them (a maximum-distance-separable code).
//!
//! Packets of a message are numbered through in the order of its blocks, in each block the data first:
//!
//! ```text
//! n = x + y;  block b holds the numbers b n .. b n + n;  the first x are segments b x .. b x + x of the message
//! ```
//!
//! The last block carries the x' <= x segments that are left and y packets of parity: nothing is padded (the published
//! code fills blocks up). Parity is as long as the longest segment of its block.
//!
//! Left out: the arithmetic on bytes, and what it costs.
//!
//! Its page: `docs/src/schemes/unorc.md`.

use crate::registry::ConfigError;
use core::num::NonZeroU8;
use core::ops::Range;
use farspan_units::{Bytes, Duration};

/// Data packets of a block (section 5.2.3).
const DATA: u32 = 8;
/// Parity packets of a block (section 5.2.3).
const PARITY: u32 = 2;
/// The longest timer. Packets carry it, with the time in which their block leaves, in 32 bits of nanoseconds: 4.29 s.
const LONGEST_TIMER: Duration = Duration::from_ms(4000);

/// Parameters of MDS blocks.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct MdsConfig {
    /// x: data packets of a block, at least 1; 8 (section 5.2.3).
    pub data: u32,
    /// y: parity packets of a block, at least 1, and x + y at most 255 (the points of a code over GF(2^8)); 2 (section
    /// 5.2.3).
    pub parity: u32,
    /// How long a receiver waits for a block after its first packet, but for the time in which the block leaves the
    /// sender; left out: the largest wait in full buffers along the path (section 4.2, "estimated maximum queuing ...
    /// delay"). From 0 to 4 s.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub timer: Option<Duration>,
    /// Which packets of a block that cannot be decoded are sent again; `needed`. Published code: `all`.
    pub resend: Resend,
}

/// Which packets of a block that cannot be decoded are sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Resend {
    /// As many of the missing packets as complete it.
    #[default]
    Needed,
    /// All of its packets that are not acknowledged.
    All,
}

impl Default for MdsConfig {
    fn default() -> Self {
        Self { data: DATA, parity: PARITY, timer: None, resend: Resend::Needed }
    }
}

impl MdsConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(1.0..=254.0, "mds", "data", f64::from(self.data))?;
        let most = f64::from(255 - self.data);
        ConfigError::unless_in(1.0..=most, "mds", "parity", f64::from(self.parity))?;
        let timer = self.timer.unwrap_or_default();
        let otherwise = "leave it out to wait as long as full buffers can hold a packet";
        ConfigError::unless_at_most(LONGEST_TIMER, "mds", "timer", timer, otherwise)
    }

    /// The shape of a full block; `None` if the ranges do not hold.
    #[must_use]
    pub fn shape(&self) -> Option<Shape> {
        Shape::new(u8::try_from(self.data).ok()?, u8::try_from(self.parity).ok()?)
    }
}

/// The numbers of data and parity packets of a block: it is whole when as many of its packets have arrived as it has
/// data packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    data: NonZeroU8,
    parity: u8,
}

impl Shape {
    /// A block of this many data and parity packets; `None` without data or parity, or with more than 255 together.
    #[must_use]
    pub const fn new(data: u8, parity: u8) -> Option<Self> {
        match NonZeroU8::new(data) {
            Some(data) if parity > 0 && data.get() as u32 + parity as u32 <= 255 => {
                Some(Self { data, parity })
            }
            _ => None,
        }
    }

    /// x: data packets.
    #[must_use]
    #[inline]
    pub const fn data(self) -> u8 {
        self.data.get()
    }

    /// y: parity packets.
    #[must_use]
    #[inline]
    pub const fn parity(self) -> u8 {
        self.parity
    }

    /// n = x + y: packets.
    #[must_use]
    #[inline]
    pub const fn packets(self) -> u8 {
        self.data.get() + self.parity
    }
}

/// A block of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Which one, from 0.
    pub number: u32,
    /// The shape of this block: the last block may have less data.
    pub shape: Shape,
    /// Its data: so many bytes of the message, cut into segments of the full payload of a packet. A shorter last
    /// segment counts as filled up with zeros to the length of the parity.
    pub source: Range<u64>,
}

/// The payload of a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Payload {
    /// These bytes of the message.
    Source(Range<u64>),
    /// Parity.
    Parity {
        /// Its block.
        block: Block,
        /// Which of its parity packets, from 0.
        index: u8,
    },
}

/// How the packets of one message make blocks: all that both ends must agree on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    shape: Shape,
    /// Payload of the last segment.
    last_len: u16,
    /// Payload of every other segment.
    mss: u16,
    /// Packets, parity included.
    packets: u32,
}

impl Layout {
    /// The layout of a message of `size` bytes in segments of `mss` (1 to 65,535); `None` for an empty message, or one
    /// of more than 2^32 - 1 packets.
    #[must_use]
    pub fn of_message(size: Bytes, mss: Bytes, shape: Shape) -> Option<Self> {
        let segments = size.segments(mss);
        let blocks = segments.div_ceil(u64::from(shape.data()));
        let parity = blocks.checked_mul(u64::from(shape.parity()))?;
        let packets = u32::try_from(segments.checked_add(parity)?).ok()?;
        let last_len = u16::try_from((size - mss * segments.checked_sub(1)?).get()).ok()?;
        Some(Self { shape, last_len, mss: u16::try_from(mss.get()).ok()?, packets })
    }

    /// The layout that a header describes; `None` if there is no such layout.
    #[must_use]
    pub fn of_header(shape: Shape, packets: u32, last_len: u16, mss: Bytes) -> Option<Self> {
        let mss = u16::try_from(mss.get()).ok()?;
        let rest = packets % u32::from(shape.packets());
        let is_whole = packets > 0 && (rest == 0 || rest > u32::from(shape.parity()));
        (is_whole && last_len > 0 && last_len <= mss).then_some(Self { shape, last_len, mss, packets })
    }

    /// The shape of every block but, maybe, the last.
    #[must_use]
    #[inline]
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// Packets of the message, parity included.
    #[must_use]
    #[inline]
    pub const fn packets(&self) -> u32 {
        self.packets
    }

    /// Payload of the last segment of the message.
    #[must_use]
    #[inline]
    pub const fn last_len(&self) -> u16 {
        self.last_len
    }

    /// Blocks of the message.
    #[must_use]
    pub const fn blocks(&self) -> u32 {
        self.packets.div_ceil(self.shape.packets() as u32)
    }

    /// The block of packet `seq`.
    #[must_use]
    #[inline]
    pub const fn block_of(&self, seq: u32) -> u32 {
        seq / self.shape.packets() as u32
    }

    /// The packets of a block, data first.
    #[must_use]
    #[inline]
    pub fn packets_of(&self, block: u32) -> Range<u32> {
        let first = block * u32::from(self.shape.packets());
        first..first.saturating_add(u32::from(self.shape.packets())).min(self.packets)
    }

    /// The data packets of a block.
    #[must_use]
    #[inline]
    pub fn sources_of(&self, block: u32) -> Range<u32> {
        let Range { start, end } = self.packets_of(block);
        start..end - u32::from(self.shape.parity)
    }

    /// Which segment of the message a data packet carries.
    const fn segment(&self, seq: u32) -> u64 {
        seq as u64 - self.block_of(seq) as u64 * self.shape.parity as u64
    }

    /// Segments of the message.
    const fn segments(&self) -> u64 {
        self.packets as u64 - self.blocks() as u64 * self.shape.parity as u64
    }

    /// Size of the message.
    #[must_use]
    pub const fn size(&self) -> Bytes {
        Bytes::new((self.segments() - 1) * self.mss as u64 + self.last_len as u64)
    }

    /// Payload of a block: so many bytes of the message.
    #[must_use]
    #[inline]
    pub fn payload_of(&self, block: u32) -> Bytes {
        let sources = self.sources_of(block);
        let full = u64::from(sources.end - 1 - sources.start) * u64::from(self.mss);
        Bytes::new(full + u64::from(self.len(sources.end - 1)))
    }

    /// Payload of all parity packets.
    #[must_use]
    pub fn parity(&self) -> Bytes {
        let full = Bytes::new(u64::from(self.mss)) * (u64::from(self.blocks()) - 1);
        (full + Bytes::new(u64::from(self.len(self.packets - 1)))) * u64::from(self.shape.parity)
    }

    /// Whether packet `seq` carries a segment of the message.
    #[must_use]
    #[inline]
    pub fn is_source(&self, seq: u32) -> bool {
        seq < self.sources_of(self.block_of(seq)).end
    }

    /// Payload of packet `seq`.
    #[must_use]
    #[inline]
    pub fn len(&self, seq: u32) -> u16 {
        let last = self.packets - 1 - u32::from(self.shape.parity);
        // Parity is as short as the last segment where that is alone in its block.
        let is_short = seq == last || (seq > last && self.sources_of(self.block_of(last)).start == last);
        if is_short { self.last_len } else { self.mss }
    }

    /// The payload of packet `seq`.
    #[must_use]
    pub fn payload(&self, seq: u32) -> Payload {
        let number = self.block_of(seq);
        let end = self.sources_of(number).end;
        if seq < end {
            let start = self.segment(seq) * u64::from(self.mss);
            return Payload::Source(start..start + u64::from(self.len(seq)));
        }
        Payload::Parity { block: self.block(number), index: (seq - end) as u8 }
    }

    /// A block by its number.
    #[must_use]
    pub fn block(&self, number: u32) -> Block {
        let sources = self.sources_of(number);
        let data = NonZeroU8::new((sources.end - sources.start) as u8).unwrap_or(self.shape.data);
        let start = self.segment(sources.start) * u64::from(self.mss);
        let source = start..start + self.payload_of(number).get();
        Block { number, shape: Shape { data, ..self.shape }, source }
    }

    /// How many segments of the message the packets before `seq` carry.
    #[must_use]
    pub fn sources_before(&self, seq: u32) -> u64 {
        if seq >= self.packets {
            return self.segments();
        }
        self.segment(seq.min(self.sources_of(self.block_of(seq)).end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const MSS: Bytes = Bytes::new(1000);

    fn shape(data: u8, parity: u8) -> Shape {
        Shape::new(data, parity).unwrap()
    }

    fn layout(size: u64, data: u8, parity: u8) -> Layout {
        Layout::of_message(Bytes::new(size), MSS, shape(data, parity)).unwrap()
    }

    fn lens(layout: &Layout) -> Vec<u16> {
        (0..layout.packets()).map(|seq| layout.len(seq)).collect()
    }

    #[test]
    fn a_block_has_data_and_parity_and_at_most_255_packets() {
        let (none, one) = (Shape::new(0, 1), Shape::new(1, 0));
        assert_eq!((none, one, Shape::new(254, 2), Shape::new(1, 255)), (None, None, None, None));
        assert_eq!(shape(254, 1).packets(), 255);
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let check = |data, parity| {
            MdsConfig { data, parity, ..MdsConfig::default() }.check().map_err(|e| e.parameter)
        };
        assert_eq!((check(8, 2), check(1, 254), check(254, 1)), (Ok(()), Ok(()), Ok(())));
        assert_eq!((check(0, 2), check(255, 1)), (Err("data"), Err("data")));
        assert_eq!((check(8, 0), check(8, 248)), (Err("parity"), Err("parity")));
        assert_eq!(MdsConfig { parity: 247, ..MdsConfig::default() }.shape(), Some(shape(8, 247)));
    }

    #[test]
    fn the_last_block_carries_what_is_left_and_all_of_its_parity() {
        let layout = layout(19_500, 8, 2);
        assert_eq!((layout.packets(), layout.blocks()), (26, 3), "20 segments: 8 + 2, 8 + 2, 4 + 2");
        assert_eq!((layout.packets_of(2), layout.sources_of(2)), (20..26, 20..24));
        assert_eq!(layout.payload(23), Payload::Source(19_000..19_500));
        let block = Block { number: 2, shape: shape(4, 2), source: 16_000..19_500 };
        assert_eq!(layout.payload(25), Payload::Parity { block, index: 1 });
        assert_eq!((layout.len(22), layout.len(23), layout.len(24)), (1000, 500, 1000));
    }

    #[test]
    fn parity_of_a_lone_short_piece_is_as_short() {
        assert_eq!(lens(&layout(300, 8, 2)), [300, 300, 300]);
        assert_eq!(lens(&layout(2300, 2, 1)), [1000, 1000, 1000, 300, 300]);
        assert_eq!(lens(&layout(1300, 2, 1)), [1000, 300, 1000]);
    }

    #[test]
    fn numbers_that_no_message_has_are_refused() {
        let of = |packets, last_len| Layout::of_header(shape(8, 2), packets, last_len, MSS);
        assert!(of(20, 1000).is_some() && of(23, 1).is_some());
        for (packets, last_len) in [(0, 1000), (2, 1000), (21, 1000), (22, 1000), (20, 0), (20, 1001)] {
            assert_eq!(of(packets, last_len), None, "{packets} {last_len}");
        }
        assert_eq!(Layout::of_message(Bytes::ZERO, MSS, shape(8, 2)), None);
        let segments = u64::from(u32::MAX) / 10 * 8;
        assert!(Layout::of_message(MSS * segments, MSS, shape(8, 2)).is_some());
        assert_eq!(Layout::of_message(MSS * (segments + 8), MSS, shape(8, 2)), None);
        // Numbers of packets beyond 64 bits, by their parity and by the sum.
        for size in [(1 << 57) + 1, u64::MAX / 128, u64::MAX / 128 + 1, u64::MAX] {
            assert_eq!(Layout::of_message(Bytes::new(size), Bytes::new(1), shape(1, 127)), None, "{size}");
        }
    }

    proptest! {
        #[test]
        fn pieces_follow_each_other_and_parity_stands_behind_them(
            size in 1_u64..60_000, data in 1_u8..30, parity in 1_u8..10,
        ) {
            let layout = layout(size, data, parity);
            let (mut end, mut before, mut parity) = (0, 0, Bytes::ZERO);
            for number in 0..layout.blocks() {
                let block = layout.block(number);
                prop_assert_eq!((block.number, block.source.start), (number, end));
                let mut longest = 0;
                for seq in layout.packets_of(number) {
                    prop_assert_eq!(layout.block_of(seq), number);
                    prop_assert_eq!(layout.sources_before(seq), before);
                    match layout.payload(seq) {
                        Payload::Source(range) => {
                            prop_assert!(layout.is_source(seq));
                            prop_assert_eq!((range.start, range.end), (end, end + u64::from(layout.len(seq))));
                            (end, longest) = (range.end, longest.max(layout.len(seq)));
                            before += 1;
                        }
                        Payload::Parity { block: of, index } => {
                            prop_assert!(!layout.is_source(seq) && of == block);
                            prop_assert_eq!(u32::from(index), seq - layout.sources_of(number).end);
                            prop_assert_eq!(layout.len(seq), longest);
                            parity += Bytes::new(u64::from(longest));
                        }
                    }
                }
                prop_assert_eq!(block.source.end, end);
                prop_assert_eq!(u32::from(block.shape.packets()), layout.packets_of(number).len() as u32);
            }
            prop_assert_eq!((end, layout.size(), layout.parity()), (size, Bytes::new(size), parity));
            prop_assert_eq!(layout.sources_before(layout.packets()), Bytes::new(size).segments(MSS));
            let again = Layout::of_header(layout.shape(), layout.packets(), layout.last_len(), MSS);
            prop_assert_eq!(again, Some(layout));
        }
    }
}
