//! Coding: parity that makes up for lost packets without a round trip.
//!
//! A coded message is cut into blocks; each carries some segments of the message and some packets of parity, and is
//! whole as soon as enough of its packets have arrived, whichever these are.
//!
//! - [`blocks`]: which packet is data, and which is parity. What a sender keeps of its blocks stands in `outgoing.rs`,
//!   what a receiver keeps of its in `incoming.rs`. These speak of numbers and byte ranges only.
//! - [`Code`]: which parity belongs to which data, and how lost data is reconstructed: for drivers that have bytes.
//! - [`gf256`]: arithmetic on bytes, with the vector instructions that the CPU has.

pub mod blocks;
pub mod gf256;
mod incoming;
mod mds;
pub mod none;
mod outgoing;

pub use blocks::{Block, Layout, Payload, Shape};
pub(crate) use incoming::{Decoded, IncomingBlocks, Progress};
pub use mds::{Code, CodeError, CodingError, Plan, PlanError};
pub(crate) use outgoing::OutgoingBlocks;

// The registry: variant, configuration, name, summary, source.
crate::registry::config_registry! {
    CodingConfig, "coding";
    None, none::NoneConfig, "none", "No parity", "";
    Mds, blocks::MdsConfig, "mds", "Blocks of data and parity packets; any packets, as many as the data, restore the \
        block", "Uno, section 4.2";
}

impl CodingConfig {
    /// The numbers of data and parity packets of a full block; `None` without blocks.
    #[must_use]
    pub fn shape(&self) -> Option<Shape> {
        match self {
            Self::None(_) => None,
            Self::Mds(mds) => mds.shape(),
        }
    }

    /// Which packets of a block that cannot be decoded are sent again.
    pub(crate) const fn resend(&self) -> blocks::Resend {
        match self {
            Self::None(_) => blocks::Resend::Needed,
            Self::Mds(mds) => mds.resend,
        }
    }
}
