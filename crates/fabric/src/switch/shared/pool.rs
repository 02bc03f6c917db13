//! The buffer of a switch, which all of its ports share.
//!
//! It is charged where packets come in, each link that leads to the switch has an account; or where they go out, each port has
//! one ([`Accounts`]). A packet takes its size from the
//! time at which it arrives until its last bit has left, of the first of these that has room:
//!
//! 1. The *reserve* of its account, and for the rest the shared part, as long as the account then takes no more of the
//!    shared part than its threshold: alpha times what is still free there (Choudhury and Hahne, "Dynamic Queue Length
//!    Thresholds for Shared-Memory Packet Switches", 1998).
//! 2. The *headroom* of its account, if its link is lossless.
//!
//! Else it is refused. A neighbour is paused when its account reaches its threshold or takes headroom, and goes on when it
//! takes none and is below its threshold by an offset, or takes nothing of the shared part. What is shared is what reserves
//! and headroom leave of the buffer. This is the arrangement of the switches of HPCC (SIGCOMM 2019), whose published code
//! OSCAR's follows.
//!
//! Its page: `docs/src/schemes/pfc.md`.

use super::pause::{FRAME_SIZE, PauseConfig};
use crate::network::{Network, Tier};
use alloc::boxed::Box;
use alloc::string::String;
use farspan_units::{Bytes, Duration, NodeId, PortId, Rate};

/// Whose packets an account of a pool counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Accounts {
    /// Those that came over one link: what a neighbour can be paused by.
    #[default]
    Ingress,
    /// Those that wait at one port, as Choudhury and Hahne's thresholds do.
    Egress,
}

/// The switches that have a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pooled {
    /// All.
    #[default]
    All,
    /// Those without a link to another site: what stands at a border has a buffer for each port.
    InsideSites,
}

impl Pooled {
    /// Whether a switch of a network is one.
    #[must_use]
    pub fn includes(self, network: &Network, switch: NodeId) -> bool {
        self == Self::All || !network.is_border(switch)
    }
}

/// The buffer of each switch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PoolConfig {
    /// Bytes of all data that the switch holds, packets in service included.
    pub size: Bytes,
    /// How many times what is free of the shared part an account may take of it, from 2^-16 to 2^16.
    pub alpha: f64,
    /// Bytes that each account has for itself.
    pub reserve: Bytes,
    /// Whose packets an account counts; those of links where there are pauses.
    pub accounts: Accounts,
    /// Which switches have it.
    pub switches: Pooled,
    /// When neighbours are paused; `None`: never, and every link is lossy.
    pub pause: Option<PauseConfig>,
}

/// A link that leads to a switch, as far as its account depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ingress {
    /// Where the link lies.
    pub tier: Tier,
    /// Its rate.
    pub rate: Rate,
    /// Propagation, and processing at the switch.
    pub delay: Duration,
    /// The rate of the link back.
    pub back_rate: Rate,
    /// Propagation back, and processing at the neighbour.
    pub back_delay: Duration,
    /// Largest jitter of what the neighbour sends.
    pub jitter: Duration,
    /// The largest packet on either link.
    pub mtu: Bytes,
}

impl Ingress {
    /// The link with this id, and `back` the one in the other direction.
    #[must_use]
    pub fn new(network: &Network, [link, back]: [PortId; 2], jitter: Duration, mtu: Bytes) -> Self {
        let [link, back] = [link, back].map(|port| &network.links[port.index()]);
        Self {
            tier: link.tier,
            rate: link.rate,
            delay: link.delay,
            back_rate: back.rate,
            back_delay: back.delay,
            jitter,
            mtu,
        }
    }

    /// How much can come from the packet on that makes the switch pause the neighbour: that packet, what is on the link,
    /// what the neighbour sends until the frame is there, and the rest of a packet that it is sending then. The frame
    /// waits for a packet in service, and for a frame before it. With equal links and no jitter that is
    /// 2 x rate x delay + 3 x MTU + 128 B. Never less than 3 x rate x delay, the headroom of HPCC's switches.
    #[must_use]
    pub fn headroom(&self) -> Bytes {
        let frames = self.back_rate.transmission(FRAME_SIZE * 2);
        let reaction = self.back_rate.transmission(self.mtu) + frames + self.back_delay;
        let needed = self.rate.bytes_in(self.delay + self.jitter + reaction) + self.mtu * 2;
        needed.max(self.rate.bytes_in(self.delay * 3))
    }
}

/// Why a pool cannot serve the links of a switch.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{problem}; {cure}")]
pub struct PoolError {
    /// The problem.
    pub problem: String,
    /// The cure.
    pub cure: String,
}

/// The bytes of one link's packets.
#[derive(Clone, Copy, Debug)]
struct Account {
    /// Bytes in the reserve and the shared part.
    held: u64,
    in_headroom: u64,
    headroom: u64,
    is_lossless: bool,
    is_paused: bool,
}

/// The buffer of one switch.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    accounts: Box<[Account]>,
    reserve: u64,
    /// How large the shared part is, and how much of it is taken.
    shared: u64,
    used: u64,
    /// In units of 2^-16.
    alpha: u64,
    resume_offset: u64,
}

/// Bits after the point of alpha.
const ALPHA_BITS: u32 = 16;

impl PoolConfig {
    /// Alpha, in units of 2^-16.
    fn alpha(&self) -> u64 {
        (self.alpha * f64::from(1 << ALPHA_BITS)) as u64
    }

    /// An upper bound of what packets for one port hold that come from so many of a switch's links. With an account for each port
    /// there is one that fills. Without pauses each account takes at
    /// most alpha / (1 + alpha) of what is free when it begins, which leaves (1 + alpha)^-n of the shared part after n that
    /// fill one after another; as many that fill at once take less. The last packet of each, of `mtu` at most, may lie above.
    #[must_use]
    pub fn most_held(&self, links: usize, mtu: Bytes) -> Bytes {
        if self.pause.is_some() {
            return self.size;
        }
        let links = if self.accounts == Accounts::Egress { links.min(1) } else { links };
        let reserves = self.reserve * links as u64;
        let shared = self.size.saturating_sub(reserves).as_f64();
        let free = (0..links).fold(shared, |free, _| free / (1.0 + self.alpha));
        (reserves + Bytes::new((shared - free) as u64) + mtu * links as u64).min(self.size)
    }

    /// Headroom of a link; zero: it is lossy.
    fn headroom(&self, ingress: &Ingress) -> Bytes {
        let pause = self.pause.filter(|pause| pause.includes(ingress.tier));
        pause.map_or(Bytes::ZERO, |pause| pause.headroom.unwrap_or_else(|| ingress.headroom()))
    }

    /// How much the accounts of these links share.
    ///
    /// # Errors
    /// If reserves and headroom take all, or a lossy link's account could take no packet.
    pub fn shared(&self, ingress: &[Ingress]) -> Result<Bytes, PoolError> {
        let headroom: Bytes = ingress.iter().map(|ingress| self.headroom(ingress)).sum();
        let reserves = self.reserve * ingress.len() as u64;
        let mtu = ingress.iter().map(|ingress| ingress.mtu).max().unwrap_or_default();
        let shared = self.size.saturating_sub(headroom + reserves);
        let largest = Bytes::new(times(shared.get(), self.alpha())).min(shared);
        if largest + self.reserve >= mtu && !shared.is_zero() {
            return Ok(shared);
        }
        let taken =
            alloc::format!("{headroom} of headroom and {reserves} in reserve for {} links", ingress.len());
        Err(PoolError {
            problem: alloc::format!(
                "the pool has {}: {taken} leave {shared} to share, too little for a packet of {mtu}",
                self.size
            ),
            cure: alloc::format!("give more, such as {}, or a larger alpha", (headroom + reserves + mtu) * 2),
        })
    }
}

/// The fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// There is no room for it.
    Refused,
    /// It is charged.
    Admitted,
    /// It is charged, and the neighbour is to be paused.
    Pauses,
}

/// `alpha`, in units of 2^-16, times so many bytes: how much of the shared part an account may take while they are free.
#[inline]
fn times(free: u64, alpha: u64) -> u64 {
    ((u128::from(free) * u128::from(alpha)) >> ALPHA_BITS) as u64
}

impl Pool {
    pub(super) fn new(config: &PoolConfig, ingress: &[Ingress]) -> Result<Self, PoolError> {
        let shared = config.shared(ingress)?;
        let account = |ingress: &Ingress| Account {
            held: 0,
            in_headroom: 0,
            headroom: config.headroom(ingress).get(),
            is_lossless: config.pause.is_some_and(|pause| pause.includes(ingress.tier)),
            is_paused: false,
        };
        Ok(Self {
            accounts: ingress.iter().map(account).collect(),
            reserve: config.reserve.get(),
            shared: shared.get(),
            used: 0,
            alpha: config.alpha(),
            resume_offset: config.pause.map_or(0, |pause| pause.resume_offset.get()),
        })
    }

    /// Charges a packet of `size`, if there is room for it.
    #[inline]
    pub(super) fn admit(&mut self, account: usize, size: Bytes) -> Verdict {
        let free = self.shared - self.used;
        let account = &mut self.accounts[account];
        let before = account.held.saturating_sub(self.reserve);
        let after = (account.held + size.get()).saturating_sub(self.reserve);
        let more = after - before;
        if more == 0 || after <= times(free, self.alpha) && more <= free {
            account.held += size.get();
            self.used += more;
        } else if account.in_headroom + size.get() <= account.headroom {
            account.in_headroom += size.get();
        } else {
            return Verdict::Refused;
        }
        if !account.is_lossless || account.is_paused {
            return Verdict::Admitted;
        }
        let taken = account.held.saturating_sub(self.reserve);
        let threshold = times(self.shared - self.used, self.alpha);
        account.is_paused = account.in_headroom > 0 || taken > 0 && taken >= threshold;
        if account.is_paused { Verdict::Pauses } else { Verdict::Admitted }
    }

    /// A packet that took `size` has left: of the headroom first, then of the shared part.
    #[inline]
    pub(super) fn release(&mut self, account: usize, size: Bytes) {
        let account = &mut self.accounts[account];
        let of_headroom = size.get().min(account.in_headroom);
        account.in_headroom -= of_headroom;
        let before = account.held.saturating_sub(self.reserve);
        account.held -= size.get() - of_headroom;
        self.used -= before - account.held.saturating_sub(self.reserve);
    }

    /// Whether the neighbour of an account from which something was released is to go on now.
    #[inline]
    pub(super) fn resumes(&mut self, account: usize) -> bool {
        let threshold = times(self.shared - self.used, self.alpha);
        let account = &mut self.accounts[account];
        let taken = account.held.saturating_sub(self.reserve);
        let has_room = account.in_headroom == 0 && (taken == 0 || taken + self.resume_offset <= threshold);
        let resumes = account.is_paused && has_room;
        account.is_paused &= !resumes;
        resumes
    }

    pub(super) fn has_paused(&self, account: usize) -> bool {
        self.accounts[account].is_paused
    }

    /// Bytes that all packets take.
    pub(super) fn held(&self) -> Bytes {
        Bytes::new(self.accounts.iter().map(|account| account.held + account.in_headroom).sum())
    }
}

#[cfg(test)]
mod tests;
