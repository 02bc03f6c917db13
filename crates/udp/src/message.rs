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

/// A message that is arriving.
#[derive(Debug)]
pub(crate) struct IncomingMessage {
    /// As far as something has arrived; zero where it has not.
    bytes: Vec<u8>,
    mss: usize,
    coded: Option<Box<Blocks>>,
}

/// The state of coded blocks beside the bytes of the message.
#[derive(Debug)]
struct Blocks {
    layout: Layout,
    /// Which segments of the message are here.
    here: Vec<bool>,
    /// Parity of blocks that are not complete, with its index.
    parity: BTreeMap<u32, Vec<(u8, Vec<u8>)>>,
}

impl IncomingMessage {
    /// A message without bytes; `coded`: the header of its first packet, if it is coded.
    pub(crate) fn new(mss: Bytes, coded: Option<&Coded>) -> Self {
        let layout = coded.and_then(|c| Layout::of_header(c.shape, c.data.packets, c.last_len, mss));
        let coded =
            layout.map(|layout| Box::new(Blocks { layout, here: Vec::new(), parity: BTreeMap::new() }));
        Self { bytes: Vec::new(), mss: mss.get() as usize, coded }
    }

    /// All that has arrived.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Takes the payload of packet `seq`, and decodes what can be decoded with it.
    pub(crate) fn take(&mut self, received: &Received, seq: u32, payload: &[u8]) -> Result<(), CodingError> {
        match &received.payload {
            Payload::Source(source) => {
                self.copy(source, payload);
                if let Some(blocks) = &mut self.coded {
                    blocks.on_source(source, self.mss);
                }
            }
            Payload::Parity { block, index } => {
                if let Some(blocks) = &mut self.coded {
                    blocks.parity.entry(block.number).or_default().push((*index, payload.to_vec()));
                }
            }
        }
        match &received.decodable {
            Some(block) => self.decode(block)?,
            None => self.forget_parity(seq),
        }
        Ok(())
    }

    fn copy(&mut self, source: &Range<u64>, payload: &[u8]) {
        let range = range(source);
        if self.bytes.len() < range.end {
            self.bytes.resize(range.end, 0);
        }
        self.bytes[range].copy_from_slice(payload);
    }

    /// The parity of a block whose segments are all here is of no use.
    fn forget_parity(&mut self, seq: u32) {
        let Some(blocks) = &mut self.coded else { return };
        let number = blocks.layout.block_of(seq);
        if blocks.parity.contains_key(&number) {
            let source = blocks.layout.block(number).source;
            if blocks.segments(&source, self.mss).all(|segment| blocks.is_here(segment)) {
                blocks.parity.remove(&number);
            }
        }
    }

    /// Makes the missing segments of a block.
    fn decode(&mut self, block: &Block) -> Result<(), CodingError> {
        let Some(blocks) = &mut self.coded else { return Ok(()) };
        let range = range(&block.source);
        if self.bytes.len() < range.end {
            self.bytes.resize(range.end, 0);
        }
        let parity = blocks.parity.remove(&block.number).unwrap_or_default();
        let (mut there, mut lost) = (Vec::new(), Vec::new());
        for (segment, bytes) in
            blocks.segments(&block.source, self.mss).zip(self.bytes[range].chunks_mut(self.mss))
        {
            if blocks.is_here(segment) {
                there.push(Some(&*bytes));
            } else {
                there.push(None);
                lost.push(bytes);
            }
        }
        there.extend((0..block.shape.parity()).map(|wanted| {
            parity.iter().find(|(index, _)| *index == wanted).map(|(_, bytes)| bytes.as_slice())
        }));
        code(block.shape).reconstruct(&there, &mut lost)?;
        for segment in blocks.segments(&block.source, self.mss) {
            blocks.set_here(segment);
        }
        Ok(())
    }
}

impl Blocks {
    /// The numbers of the segments in a range of the message.
    fn segments(&self, source: &Range<u64>, mss: usize) -> Range<usize> {
        let range = range(source);
        range.start / mss..range.end.div_ceil(mss)
    }

    fn is_here(&self, segment: usize) -> bool {
        self.here.get(segment).copied().unwrap_or(false)
    }

    fn set_here(&mut self, segment: usize) {
        if self.here.len() <= segment {
            self.here.resize(segment + 1, false);
        }
        self.here[segment] = true;
    }

    fn on_source(&mut self, source: &Range<u64>, mss: usize) {
        for segment in self.segments(source, mss) {
            self.set_here(segment);
        }
    }
}
