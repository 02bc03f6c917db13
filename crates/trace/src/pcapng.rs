//! pcapng (draft-ietf-opsawg-pcapng): one interface per port, stamps in nanoseconds from 0 of the run, comments on what the
//! port did. Of each packet the headers are kept; its length says how long it was. Simulated packets are framed as Ethernet; an
//! emulator hands real ones over as they are, from the IP header on.

use crate::event::{PacketEvent, Remark};
use crate::frame::{SNAPLEN, frame};
use farspan_units::{Bytes, PortId, Rate, Time};
use std::collections::BTreeMap;
use std::io::{self, Write};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;

const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const ETHERNET: u16 = 1;
/// Packets begin with the IP header.
const RAW_IP: u16 = 101;
/// Bytes of a real packet that are kept.
const RAW_SNAPLEN: usize = 256;
/// The length of a section where none is given.
const UNKNOWN_LENGTH: u64 = u64::MAX;

const COMMENT: u16 = 1;
const APPLICATION: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_SPEED: u16 = 8;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;
/// Stamps are in units of 10^-9 s.
const NANOSECONDS: u8 = 9;
/// Packet flags of a packet that its interface sends.
const OUTBOUND: u32 = 2;

/// A port as an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// The port.
    pub port: PortId,
    /// Its name.
    pub name: String,
    /// Its rate.
    pub rate: Rate,
}

/// Writes packets of some ports, in the order given, which is that of time.
pub struct PcapngWriter<W> {
    out: W,
    /// The number of each port's interface.
    interfaces: BTreeMap<PortId, u32>,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the head of a file of simulated packets: what made it, a comment on the run, and the interfaces.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn new(out: W, application: &str, comment: &str, interfaces: &[Interface]) -> io::Result<Self> {
        let kind = (ETHERNET, SNAPLEN, "simulated port; stamps: when the last bit left, from simulated 0");
        Self::begin(out, application, comment, interfaces, kind)
    }

    /// Writes the head of a file of real packets, which [`Self::raw_packet`] adds.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn raw(out: W, application: &str, comment: &str, interfaces: &[Interface]) -> io::Result<Self> {
        let kind = (
            RAW_IP,
            RAW_SNAPLEN,
            "emulated port; stamps: when the last bit left, from the start of the emulation",
        );
        Self::begin(out, application, comment, interfaces, kind)
    }

    fn begin(
        out: W,
        application: &str,
        comment: &str,
        interfaces: &[Interface],
        (link, snaplen, description): (u16, usize, &str),
    ) -> io::Result<Self> {
        let numbers = interfaces.iter().map(|interface| interface.port).zip(0..).collect();
        let mut writer = Self { out, interfaces: numbers };
        let mut section = Block::default();
        section.u32(BYTE_ORDER).u16(1).u16(0).u64(UNKNOWN_LENGTH);
        section.option(COMMENT, comment.as_bytes()).option(APPLICATION, application.as_bytes());
        writer.write(SECTION, section)?;
        for Interface { name, rate, .. } in interfaces {
            let mut interface = Block::default();
            interface.u16(link).u16(0).u32(snaplen as u32);
            interface.option(IF_NAME, name.as_bytes()).option(IF_DESCRIPTION, description.as_bytes());
            interface.option(IF_SPEED, &rate.as_bps().to_le_bytes()).option(IF_TSRESOL, &[NANOSECONDS]);
            writer.write(INTERFACE, interface)?;
        }
        Ok(writer)
    }

    /// Writes a packet of one of the interfaces; others are left out.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn packet(&mut self, event: &PacketEvent) -> io::Result<()> {
        let frame = frame(event);
        self.enhanced((event.at, event.port), &frame.bytes, frame.length, &event.remarks)
    }

    /// Writes a real packet that left one of the interfaces at `at`, or came there and was dropped, from its IP header on; of
    /// other interfaces none.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn raw_packet(&mut self, at: Time, port: PortId, bytes: &[u8], remarks: &[Remark]) -> io::Result<()> {
        self.enhanced((at, port), &bytes[..bytes.len().min(RAW_SNAPLEN)], bytes.len(), remarks)
    }

    /// Writes the front of a packet of so many bytes.
    fn enhanced(
        &mut self,
        (at, port): (Time, PortId),
        front: &[u8],
        length: usize,
        remarks: &[Remark],
    ) -> io::Result<()> {
        let Some(&interface) = self.interfaces.get(&port) else { return Ok(()) };
        let stamp = at.since(Time::ZERO).as_ns();
        let mut packet = Block::default();
        packet.u32(interface).u32((stamp >> 32) as u32).u32(stamp as u32);
        packet.u32(front.len() as u32).u32(length as u32).padded(front);
        for remark in remarks {
            packet.option(COMMENT, comment(remark).as_bytes());
        }
        packet.option(EPB_FLAGS, &OUTBOUND.to_le_bytes());
        self.write(PACKET, packet)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn write(&mut self, kind: u32, mut block: Block) -> io::Result<()> {
        block.u16(0).u16(0);
        let length = (block.0.len() + 12) as u32;
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(&block.0)?;
        self.out.write_all(&length.to_le_bytes())
    }
}

fn comment(remark: &Remark) -> String {
    let bytes = |bytes: &Bytes| bytes.get();
    match remark {
        Remark::Dropped { queue } => {
            format!("dropped: the queue holds {} B; the packet did not leave", bytes(queue))
        }
        Remark::Lost => "lost: a fault of the link took it".to_owned(),
        Remark::Marked { queue, phantom: None } => format!("marked: the queue holds {} B", bytes(queue)),
        Remark::Marked { queue, phantom: Some(phantom) } => {
            format!("marked: the queue holds {} B, the phantom queue {} B", bytes(queue), bytes(phantom))
        }
        Remark::Trimmed => "trimmed: the payload was cut off here".to_owned(),
        Remark::Returned => "returned: no room for the header, which went back from here".to_owned(),
    }
}

/// The body of a block, in little-endian order.
#[derive(Default)]
struct Block(Vec<u8>);

impl Block {
    fn u16(&mut self, value: u16) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Bytes, filled up with zeros to a multiple of four.
    fn padded(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend(bytes);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    fn option(&mut self, code: u16, value: &[u8]) -> &mut Self {
        self.u16(code).u16(value.len() as u16).padded(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_transport::wire::{Data, Header};
    use farspan_units::{FlowId, HostId};

    fn event(remarks: Vec<Remark>) -> PacketEvent {
        let data = Data {
            flow: FlowId(17),
            seq: 5,
            packets: 9,
            len: 4096,
            sent_at: Time::ZERO,
            entropy: 0xabcd,
            profile: 0,
            ask: false,
        };
        PacketEvent {
            at: Time::from_ps(1_234_567_999),
            port: PortId(3),
            header: Header::Data(data),
            size: Bytes::new(4160),
            from: HostId(0),
            to: HostId(255),
            entropy: 0xabcd,
            ecn_ce: true,
            trimmed: false,
            remarks,
        }
    }

    /// Kinds and bodies of the blocks of a file; lengths must say the same at both ends.
    fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let mut blocks = Vec::new();
        let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        while !file.is_empty() {
            let length = word(&file[4..]) as usize;
            assert_eq!(length % 4, 0);
            assert_eq!(word(&file[length - 4..]) as usize, length);
            blocks.push((word(file), file[8..length - 4].to_vec()));
            file = &file[length..];
        }
        blocks
    }

    #[test]
    fn a_file_is_a_section_its_interfaces_and_their_packets() {
        let interface = |port| Interface {
            port: PortId(port),
            name: format!("tor{port}->host0#0"),
            rate: Rate::from_gbps(100),
        };
        let mut writer =
            PcapngWriter::new(Vec::new(), "farspan", "a run", &[interface(1), interface(3)]).expect("memory");
        let marked = Remark::Marked { queue: Bytes::new(5), phantom: None };
        writer.packet(&event(vec![marked])).expect("memory");
        writer.packet(&PacketEvent { port: PortId(2), ..event(Vec::new()) }).expect("memory");
        let blocks = blocks(&writer.finish().expect("memory"));
        let kinds: Vec<_> = blocks.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [SECTION, INTERFACE, INTERFACE, PACKET]);
        let body = &blocks[3].1;
        let word = |at: usize| u32::from_le_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
        assert_eq!((word(0), word(4), word(8)), (1, 0, 1_234_567));
        assert_eq!((word(12), word(16)), (14 + 20 + 8 + 26, 14 + 20 + 8 + 26 + 4096));
        let text = b"marked: the queue holds 5 B";
        assert!(body.windows(text.len()).any(|bytes| bytes == text));
    }

    #[test]
    fn a_real_packet_stands_there_as_it_is() {
        let port = PortId(3);
        let interfaces = [Interface { port, name: "tor0->host0#0".to_owned(), rate: Rate::from_gbps(1) }];
        let mut writer = PcapngWriter::raw(Vec::new(), "farspan", "a run", &interfaces).expect("memory");
        let bytes: Vec<u8> = (0..=255).chain(0..44).collect();
        writer.raw_packet(Time::from_ps(5_000_999), port, &bytes, &[Remark::Lost]).expect("memory");
        writer.raw_packet(Time::ZERO, PortId(4), &bytes, &[]).expect("memory");
        let blocks = blocks(&writer.finish().expect("memory"));
        let kinds: Vec<_> = blocks.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [SECTION, INTERFACE, PACKET]);
        assert_eq!(blocks[1].1[..8], [101, 0, 0, 0, 0, 1, 0, 0], "raw IP, 256 bytes of each");
        let body = &blocks[2].1;
        let word = |at: usize| u32::from_le_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
        assert_eq!((word(8), word(12), word(16)), (5000, 256, 300));
        assert_eq!(body[20..276], bytes[..256]);
    }

    #[test]
    fn a_frame_says_who_and_how_long_and_its_checksum_holds() {
        let frame = frame(&event(Vec::new()));
        let ip = &frame.bytes[14..34];
        assert_eq!(ip[1], 0b11, "marked");
        assert_eq!((&ip[12..16], &ip[16..20]), (&[10, 0, 0, 1][..], &[10, 0, 1, 0][..]));
        let sum: u32 = ip.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
        assert_eq!(&frame.bytes[34..36], &[0xfb, 0xcd], "a private port");
        assert_eq!(usize::from(u16::from_be_bytes([ip[2], ip[3]])), frame.length - 14);
    }
}
