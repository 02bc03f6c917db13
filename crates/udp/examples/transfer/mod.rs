//! One message between two loopback sockets of this process, through wires that lose, reorder and mark by a seed.

use farspan_transport::coding::CodingConfig;
use farspan_transport::congestion::CongestionConfig;
use farspan_transport::{FlowProfile, Path, Route, Scheme, SenderCounters};
use farspan_udp::{Config, Driver, DriverError, Limits, Losses, Lossy, MessageOutcome, Socket};
use farspan_units::{Bytes, Duration, FlowId, Purpose, Random, Rate, random};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// Payload of a full packet: fits an Ethernet frame, and a multiple of a cache line.
const MSS: Bytes = Bytes::new(1408);
/// Bytes of a packet beside its payload: IPv4, UDP and the longest header.
const HEADER: Bytes = Bytes::new(64);

/// A transfer: the message, its scheme and the channel.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// Size of the message.
    pub size: Bytes,
    /// Impairments of datagrams, in both directions.
    pub losses: Losses,
    /// Seed of the bytes, of the losses and of the endpoints.
    pub seed: u64,
    /// The control, by its name.
    pub congestion: String,
    /// The code.
    pub coding: CodingConfig,
    /// When to give up.
    pub limit: Duration,
}

/// How it went.
#[derive(Clone, Debug)]
pub struct Report {
    /// From the first packet to the last ACK.
    pub fct: Duration,
    /// The sender's counters.
    pub counters: SenderCounters,
    /// Datagrams that the wires lost: the sender's, and the receiver's.
    pub lost: [u64; 2],
    /// Packets that came with a congestion mark.
    pub marked: u64,
    /// Blocks of which segments were decoded.
    pub blocks_repaired: u64,
    /// Hashes of the bytes sent, and of those that arrived.
    pub hashes: [u64; 2],
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// A name that is not there, or a parameter out of range.
    #[error("{0}")]
    Scheme(String),
    /// A driver failed.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// No socket.
    #[error("no loopback socket: {0}")]
    Socket(#[from] std::io::Error),
    /// Time ran out.
    #[error("not done after {} s; raise the limit, or lower the loss", .0.as_secs_f64())]
    TimeLimit(Duration),
}

/// The loopback path, as the sender is given it: rough numbers.
fn path() -> Path {
    let path = Path::new(Rate::from_gbps(10), Duration::from_us(100));
    Path { max_queueing: Duration::from_ms(1), mss: MSS, header: HEADER, ..path }
}

fn route(transfer: &Transfer) -> Result<Arc<Route>, TransferError> {
    let congestion = CongestionConfig::by_name(&transfer.congestion)
        .ok_or_else(|| TransferError::Scheme(format!("there is no control {:?}", transfer.congestion)))?;
    let profile = FlowProfile::default();
    let scheme = Scheme { coding: transfer.coding.clone(), profile, ..Scheme::new(congestion) };
    Ok(Arc::new(Route::new(path(), &scheme)))
}

/// A driver on a loopback socket of its own.
fn driver(transfer: &Transfer, entity: u64) -> Result<Driver<Lossy<Socket>>, TransferError> {
    let socket = Socket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let wire = Lossy::new(socket, transfer.losses, transfer.seed, entity);
    let limits = Limits { held: transfer.size * 2 + Bytes::new(1 << 20), ..Limits::default() };
    let config =
        Config { seed: transfer.seed, mss: MSS, header: HEADER, longest_message: transfer.size, limits };
    Ok(Driver::new(wire, config)?)
}

fn hash(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(8).map(|chunk| chunk.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)));
    words.fold(bytes.len() as u64, |hash, word| random::mix(hash ^ word))
}

/// Sends one message from one end to the other.
///
/// # Errors
/// A scheme that is not there, a socket that fails, or a transfer that takes too long.
pub fn run(transfer: &Transfer) -> Result<Report, TransferError> {
    let route = route(transfer)?;
    let (mut from, mut to) = (driver(transfer, 0)?, driver(transfer, 1)?);
    let mut random = Random::new(transfer.seed, Purpose::Test, 2);
    let bytes: Vec<u8> = (0..transfer.size.get()).map(|_| random.bits() as u8).collect();
    let sent_hash = hash(&bytes);
    let began = from.now();
    from.submit(FlowId(1), to.address()?, bytes, route);
    let (mut sent, mut received) = (None, None);
    while sent.is_none() || received.is_none() {
        let waits = [from.poll()?, to.poll()?];
        while let Some(MessageOutcome::Sent(report)) = from.poll_outcome() {
            sent = Some(report);
        }
        while let Some(MessageOutcome::Received { report, blocks_repaired, bytes, .. }) = to.poll_outcome() {
            received = Some((report, blocks_repaired, hash(&bytes)));
        }
        if from.now().since(began) > transfer.limit {
            return Err(TransferError::TimeLimit(transfer.limit));
        }
        rest(waits);
    }
    let (Some(sent), Some((received, blocks_repaired, received_hash))) = (sent, received) else {
        return Err(TransferError::TimeLimit(transfer.limit));
    };
    Ok(Report {
        fct: sent.finished_at.since(began),
        counters: sent.counters,
        lost: [from.wire().lost(), to.wire().lost()],
        marked: received.marked_packets,
        blocks_repaired,
        hashes: [sent_hash, received_hash],
    })
}

/// Leaves the core to others when neither end has anything to do, for no longer than both can wait.
#[expect(clippy::disallowed_methods, reason = "a driver of real sockets may sleep")]
fn rest(waits: [Option<Duration>; 2]) {
    /// Shorter waits would be overslept.
    const SLEEP: Duration = Duration::from_us(200);
    let wait = waits.into_iter().flatten().min().unwrap_or(SLEEP);
    if wait >= SLEEP {
        std::thread::sleep(std::time::Duration::from_nanos(SLEEP.as_ns()));
    } else if !wait.is_zero() {
        std::thread::yield_now();
    }
}
