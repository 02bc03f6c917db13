//! Outcomes of messages and errors, as a driver reports them.

use farspan_transport::coding::CodingError;
use farspan_transport::{ReceiverReport, SenderReport};
use farspan_units::FlowId;
use std::io;
use std::net::SocketAddr;

/// Why a driver stopped.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The socket itself failed; what concerns one peer does not stop a driver.
    #[error("the socket failed: {0}; bind another one")]
    Io(#[from] io::Error),
    /// A block of a message that is being sent does not fit its code.
    #[error("flow {flow} cannot be coded: {source}; this is a bug in farspan")]
    Coding {
        /// The flow.
        flow: FlowId,
        /// The reason why the block does not fit its code.
        source: CodingError,
    },
}

/// A message that has come to its end, or news of one that goes on.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MessageOutcome {
    /// The peer has all of it.
    Sent(SenderReport),
    /// Nothing was heard of its receiver for [`Limits::idle`](crate::Limits::idle): it is not sent any more. The peer may have all of it, part
    /// of it or nothing.
    GivenUp {
        /// Where it was to go.
        to: SocketAddr,
        /// The sender's report up to then.
        report: SenderReport,
    },
    /// The system does not send to a peer that a message goes to: said once for a peer, while a message is under way.
    /// Packets are sent again as if they had been lost, until the message is [given up](Self::GivenUp).
    Unreachable {
        /// The peer.
        to: SocketAddr,
        /// The system's error.
        error: io::ErrorKind,
    },
    /// It has arrived in part, and nothing was taken of it for [`Limits::idle`](crate::Limits::idle): what was here is forgotten.
    Expired {
        /// Who began to send it.
        from: SocketAddr,
        /// The number that the sender gave it.
        flow: FlowId,
    },
    /// It has arrived.
    Received {
        /// Who sent it.
        from: SocketAddr,
        /// The receiver's report; its flow is the number that the sender gave it.
        report: ReceiverReport,
        /// Blocks of which segments were decoded.
        blocks_repaired: u64,
        /// Its bytes.
        bytes: Vec<u8>,
    },
}
