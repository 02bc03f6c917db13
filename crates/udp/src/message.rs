//! The bytes of messages: the endpoint speaks of byte ranges and parity, and here they are copied and coded.

use farspan_transport::Received;
use farspan_transport::coding::{Block, Code, CodingError, Layout, Payload, Shape};
use farspan_transport::wire::Coded;
use farspan_units::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;

/// The code of blocks of this shape.
fn code(shape: Shape) -> Code {
    Code::new(usize::from(shape.data()), usize::from(shape.parity())).expect("every shape has a code")
}

/// A range of a message in memory.
fn range(source: &Range<u64>) -> Range<usize> {
    // A message whose bytes are here is no longer than memory.
    source.start as usize..source.end as usize
}

/// A message that is being sent.
#[derive(Debug)]
pub(crate) struct OutgoingMessage {
    bytes: Vec<u8>,
    mss: usize,
    /// The block whose parity was made last, and the parity.
    parity: Option<(u32, Vec<Vec<u8>>)>,
}

impl OutgoingMessage {
    pub(crate) const fn new(bytes: Vec<u8>, mss: usize) -> Self {
        Self { bytes, mss, parity: None }
    }

    /// Appends what a packet carries.
    pub(crate) fn append(&mut self, payload: &Payload, to: &mut Vec<u8>) -> Result<(), CodingError> {
        match payload {
            Payload::Source(source) => to.extend_from_slice(&self.bytes[range(source)]),
            Payload::Parity { block, index } => {
                to.extend_from_slice(&self.parity(block)?[usize::from(*index)]);
            }
        }
        Ok(())
    }

    /// The parity of a block: all of it is made when the first segment is asked for.
    fn parity(&mut self, block: &Block) -> Result<&[Vec<u8>], CodingError> {
        if !matches!(self.parity, Some((number, _)) if number == block.number) {
            let segments: Vec<&[u8]> = self.bytes[range(&block.source)].chunks(self.mss).collect();
            let len = segments[0].len();
            let mut parity = vec![vec![0; len]; usize::from(block.shape.parity())];
            let mut slices: Vec<&mut [u8]> = parity.iter_mut().map(Vec::as_mut_slice).collect();
            code(block.shape).encode(&segments, &mut slices)?;
            self.parity = Some((block.number, parity));
        }
        Ok(self.parity.as_ref().map_or(&[], |(_, parity)| parity))
    }
}

/// Bookkeeping of a message beside its payload: the halves of its flow in the endpoint and in the driver.
const MESSAGE_OVERHEAD: usize = 1280;
/// Bookkeeping of a segment that is kept apart.
const SEGMENT_OVERHEAD: usize = 96;

/// A message that is arriving. It takes memory for what has arrived, whatever its headers claim.
#[derive(Debug)]
pub(crate) struct IncomingMessage {
    /// Everything before the first segment that is missing.
    prefix: Vec<u8>,
    /// Segments behind it, by number.
    later: BTreeMap<u32, Box<[u8]>>,
    /// Payload of these.
    later_bytes: usize,
    mss: usize,
    /// The most that the message can be, as its first header says.
    claimed: usize,
    /// How far above the first missing one a packet arrived: the endpoint has bits up to there.
    span: u32,
    coded: Option<Box<Blocks>>,
}

/// The state of coded blocks beside the bytes of the message.
#[derive(Debug)]
struct Blocks {
    layout: Layout,
    /// Parity of blocks that are not complete, with its index.
    parity: BTreeMap<u32, Vec<(u8, Vec<u8>)>>,
    /// Bytes that it takes.
    parity_bytes: usize,
}

impl Blocks {
    fn add_parity(&mut self, block: u32, index: u8, payload: &[u8]) {
        self.parity.entry(block).or_default().push((index, payload.to_vec()));
        self.parity_bytes += payload.len() + SEGMENT_OVERHEAD;
    }

    fn remove_parity(&mut self, block: u32) -> Vec<(u8, Vec<u8>)> {
        let parity = self.parity.remove(&block).unwrap_or_default();
        self.parity_bytes -= parity.iter().map(|(_, bytes)| bytes.len() + SEGMENT_OVERHEAD).sum::<usize>();
        parity
    }
}

impl IncomingMessage {
    /// A message without bytes, of `packets`; `coded`: the header of its first packet, if it is coded.
    pub(crate) fn new(mss: Bytes, packets: u32, coded: Option<&Coded>) -> Self {
        let layout = coded.and_then(|c| Layout::of_header(c.shape, c.data.packets, c.last_len, mss));
        let claimed = layout.map_or(mss * u64::from(packets), |layout| layout.size());
        let coded =
            layout.map(|layout| Box::new(Blocks { layout, parity: BTreeMap::new(), parity_bytes: 0 }));
        Self {
            prefix: Vec::new(),
            later: BTreeMap::new(),
            later_bytes: 0,
            mss: mss.get() as usize,
            claimed: usize::try_from(claimed.get()).unwrap_or(usize::MAX),
            span: 0,
            coded,
        }
    }

    /// The message, when all has arrived.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        self.prefix.shrink_to_fit();
        self.prefix
    }

    /// Bytes that it takes in memory, the endpoint's half of the flow included: rather more than less.
    pub(crate) fn cost(&self) -> usize {
        let later = self.later_bytes + self.later.len() * SEGMENT_OVERHEAD;
        let parity = self.coded.as_ref().map_or(0, |blocks| blocks.parity_bytes);
        // One bit a packet, in a ring whose length is a power of two.
        let bits = self.span as usize / 4;
        MESSAGE_OVERHEAD + self.prefix.capacity() + later + parity + bits
    }

    /// Bytes that a message takes at most while it arrives, in any order: of `size` bytes in `packets`, none of which is
    /// taken further than `reach` above what is missing.
    pub(crate) const fn most_of(size: Bytes, mss: Bytes, packets: u32, reach: u32) -> u64 {
        let segments = size.get().div_ceil(mss.get());
        let bits = if packets < reach { packets } else { reach } / 4;
        segments.saturating_mul(mss.get() + SEGMENT_OVERHEAD as u64) + MESSAGE_OVERHEAD as u64 + bits as u64
    }

    /// Bytes that a message begins with, if its first packet lies at `distance`.
    pub(crate) const fn first_cost(payload: usize, distance: u32) -> usize {
        MESSAGE_OVERHEAD + payload + SEGMENT_OVERHEAD + distance as usize / 4
    }

    /// Bytes that a packet at `distance` adds at most. What stands behind the first missing segment costs no more when it is
    /// joined to it, nor does what takes the place of parity.
    pub(crate) fn more_cost(&self, payload: usize, distance: u32) -> usize {
        if distance == 0 {
            return payload.saturating_sub(self.prefix.capacity() - self.prefix.len());
        }
        payload + SEGMENT_OVERHEAD + (distance.max(self.span) as usize / 4 - self.span as usize / 4)
    }

    /// How far packet `seq` lies above the first that is missing, given how many packets of parity come with how many
    /// segments.
    pub(crate) fn distance(&self, seq: u32) -> u32 {
        let segment = self.first_missing() as u64;
        let first = self.coded.as_ref().map_or(segment, |blocks| {
            let shape = blocks.layout.shape();
            segment + segment / u64::from(shape.data()) * u64::from(shape.parity())
        });
        u64::from(seq).saturating_sub(first) as u32
    }

    /// Takes the payload of packet `seq`, and decodes what can be decoded with it. Room for more to come is made only while
    /// it costs less than `most`.
    pub(crate) fn take(
        &mut self,
        received: &Received,
        seq: u32,
        payload: &[u8],
        most: usize,
    ) -> Result<(), CodingError> {
        self.span = self.span.max(self.distance(seq));
        match &received.payload {
            Payload::Source(source) => self.put(self.segments(source).start, payload, most),
            Payload::Parity { block, index } => {
                if let Some(blocks) = &mut self.coded {
                    blocks.add_parity(block.number, *index, payload);
                }
            }
        }
        match &received.decodable {
            Some(block) => self.decode(block, most)?,
            None => self.forget_parity(seq),
        }
        Ok(())
    }

    /// The number of the first segment that is not here.
    const fn first_missing(&self) -> usize {
        self.prefix.len().div_ceil(self.mss)
    }

    /// The numbers of the segments in a range of the message.
    fn segments(&self, source: &Range<u64>) -> Range<usize> {
        let range = range(source);
        range.start / self.mss..range.end.div_ceil(self.mss)
    }

    /// A segment that is here.
    fn segment(&self, number: usize) -> Option<&[u8]> {
        if number < self.first_missing() {
            let start = number * self.mss;
            return Some(&self.prefix[start..self.prefix.len().min(start + self.mss)]);
        }
        self.later.get(&(number as u32)).map(|bytes| &**bytes)
    }

    /// Keeps a segment that was not here.
    fn put(&mut self, number: usize, payload: &[u8], most: usize) {
        if number != self.first_missing() {
            self.later_bytes += payload.len();
            self.later.insert(number as u32, payload.into());
            return;
        }
        self.append(payload, most);
        while let Some(first) = self.later.first_entry()
            && *first.key() as usize == self.prefix.len().div_ceil(self.mss)
        {
            let bytes = first.remove();
            self.later_bytes -= bytes.len();
            self.append(&bytes, most);
        }
    }

    fn append(&mut self, payload: &[u8], most: usize) {
        let (len, room) = (self.prefix.len(), self.prefix.capacity() - self.prefix.len());
        if let Some(lacking) = payload.len().checked_sub(room).filter(|lacking| *lacking > 0) {
            // A quarter more at a time, never more than the message can be, and of what is free half: the rest is for
            // segments that come out of order.
            let free = most.saturating_sub(self.cost() + lacking) / 2;
            let more = (len / 4).min(self.claimed.saturating_sub(len + payload.len())).min(free);
            self.prefix.reserve_exact(payload.len() + more);
        }
        self.prefix.extend_from_slice(payload);
    }

    /// The parity of a block whose segments are all here is of no use.
    fn forget_parity(&mut self, seq: u32) {
        let Some(blocks) = &self.coded else { return };
        let number = blocks.layout.block_of(seq);
        if !blocks.parity.contains_key(&number) {
            return;
        }
        let source = blocks.layout.block(number).source;
        if self.segments(&source).all(|segment| self.segment(segment).is_some())
            && let Some(blocks) = &mut self.coded
        {
            blocks.remove_parity(number);
        }
    }

    /// Makes the missing segments of a block.
    fn decode(&mut self, block: &Block, most: usize) -> Result<(), CodingError> {
        let Some(blocks) = &mut self.coded else { return Ok(()) };
        let parity = blocks.remove_parity(block.number);
        let (segments, end) = (self.segments(&block.source), range(&block.source).end);
        let mut there: Vec<Option<&[u8]>> = segments.clone().map(|number| self.segment(number)).collect();
        let missing = segments.filter(|number| self.segment(*number).is_none());
        let empty = |number: usize| vec![0; self.mss.min(end - number * self.mss)];
        let mut lost: Vec<(usize, Vec<u8>)> = missing.map(|number| (number, empty(number))).collect();
        there.extend((0..block.shape.parity()).map(|wanted| {
            parity.iter().find(|(index, _)| *index == wanted).map(|(_, bytes)| bytes.as_slice())
        }));
        let mut slices: Vec<&mut [u8]> = lost.iter_mut().map(|(_, bytes)| bytes.as_mut_slice()).collect();
        code(block.shape).reconstruct(&there, &mut slices)?;
        lost.iter().for_each(|(number, bytes)| self.put(*number, bytes, most));
        Ok(())
    }
}
