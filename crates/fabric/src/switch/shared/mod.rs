//! State that the ports of a switch share: its [buffer](pool), and which of them its neighbours have [paused](pause). A
//! switch with such state runs in ordered mode.
//!
//! Packets are of one of two classes. Control packets that go first have a queue without limit: they take nothing of the
//! buffer and are never paused. All others are data, which the buffer may refuse; over links that are
//! [lossless](pause::PauseConfig::links) it pauses the sender before it has to.

pub mod pause;
pub mod pool;

use crate::packet::{Access, PacketId, Packets};
use crate::queue::port::Gate;
use alloc::sync::Arc;
use alloc::vec::Vec;
use farspan_units::{Bytes, PortId, Time};
pub use pause::Frame;
use pause::PauseRecord;
use pool::{Accounts, Ingress, Pool, PoolConfig, PoolError, Verdict};

/// The state that the ports of one switch share.
#[derive(Debug)]
pub struct Shared {
    pool: Pool,
    /// Whether the neighbour has paused each port.
    records: Vec<PauseRecord>,
    /// The link in the other direction, for each link of the network.
    reverse: Arc<[PortId]>,
    first_port: u32,
    accounts: Accounts,
}

impl Shared {
    /// The state of the switch whose first port is `first_port`. `ingress`: the links that lead to it, in the order of the
    /// ports that lead back; `reverse`: the reverse of each link of the network.
    ///
    /// # Errors
    /// If the pool is too small for these links.
    pub fn new(
        config: &PoolConfig,
        first_port: PortId,
        ingress: &[Ingress],
        reverse: Arc<[PortId]>,
    ) -> Result<Self, PoolError> {
        let records = alloc::vec![PauseRecord::default(); ingress.len()];
        let pool = Pool::new(config, ingress)?;
        Ok(Self { pool, records, reverse, first_port: first_port.0, accounts: config.accounts })
    }

    /// The port that leads back to where a link comes from, counted from the switch's first.
    #[inline]
    pub(super) fn back(&self, ingress: PortId) -> usize {
        (self.reverse[ingress.index()].0 - self.first_port) as usize
    }

    /// Charges a packet that came over link `ingress` for port `egress`, counted from the switch's first. Gives whether there is room for it, and the port and the frame that
    /// is to leave there.
    #[inline]
    pub(super) fn admit(
        &mut self,
        ingress: PortId,
        egress: usize,
        id: PacketId,
        packets: &mut Packets<impl Access>,
    ) -> (bool, Option<(usize, Frame)>) {
        let size = packets[id].size();
        // A port's account is that of the link back from where it leads.
        let ingress = match self.accounts {
            Accounts::Ingress => ingress,
            Accounts::Egress => self.reverse[self.first_port as usize + egress],
        };
        let account = self.back(ingress);
        let verdict = self.pool.admit(account, size);
        if verdict == Verdict::Refused {
            return (false, None);
        }
        let side = packets.side_mut(id);
        (side.ingress, side.charged) = (Some(ingress), size.get() as u16);
        (true, (verdict == Verdict::Pauses).then_some((account, Frame::PAUSE)))
    }

    /// Gives back what a packet took that leaves or is discarded; gives the port and the frame that is to leave there.
    #[inline]
    pub(super) fn give_back(
        &mut self,
        id: PacketId,
        packets: &mut Packets<impl Access>,
    ) -> Option<(usize, Frame)> {
        let side = packets.present_side_mut(id)?;
        let ingress = side.ingress.take()?;
        let size = Bytes::new(u64::from(core::mem::take(&mut side.charged)));
        let account = self.back(ingress);
        self.pool.release(account, size);
        self.pool.resumes(account).then_some((account, Frame::RESUME))
    }

    #[inline]
    pub(super) fn gate(&self, port: usize) -> Gate {
        self.records[port].gate()
    }

    /// A frame comes from the neighbour of `port`.
    pub(super) fn on_frame(&mut self, now: Time, port: usize, frame: Frame) {
        self.records[port].note(now, frame);
    }

    pub(super) fn record(&self, port: usize) -> &PauseRecord {
        &self.records[port]
    }

    /// Whether the switch has paused the neighbour that it gets packets from over link `ingress`.
    pub(super) fn has_paused(&self, ingress: PortId) -> bool {
        self.pool.has_paused(self.back(ingress))
    }

    /// Bytes that packets at the switch take.
    pub(super) fn held(&self) -> Bytes {
        self.pool.held()
    }
}
