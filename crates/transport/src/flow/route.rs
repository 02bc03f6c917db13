//! The route: parameters that the flows of one scheme over like paths share.

use crate::ack::AckPolicy;
use crate::balance::BalanceConfig;
use crate::coding::{CodingConfig, Layout, Shape};
use crate::congestion::{CongestionParams, Needs, OnNack};
use crate::flow::connection::Connection;
use crate::flow::profile::FlowProfile;
use crate::recovery::RecoveryConfig;
use crate::{Path, Scheme, WindowCheck};
use farspan_units::{Bytes, Duration};

/// A path, a scheme, and what the one makes of the other: made once, shared by every sender that it serves.
///
/// A sender then holds only what changes while it sends. A driver that makes a route for each flow spends more memory
/// and gets the same packets.
#[derive(Clone, PartialEq, Debug)]
pub struct Route {
    pub(crate) path: Path,
    pub(crate) congestion: CongestionParams,
    /// All that the control needs.
    pub(crate) needs: Needs,
    pub(crate) on_nack: OnNack,
    pub(crate) balance: BalanceConfig,
    pub(crate) recovery: RecoveryConfig,
    pub(crate) window_check: WindowCheck,
    /// Whether the window lets a packet go as the check says, or only with others.
    pub(crate) gate: Gate,
    pub(crate) connection: Connection,
    pub(crate) coding: CodingConfig,
    pub(crate) profile: FlowProfile,
    /// Payload for which the receiver [holds](AckPolicy::holds) its ACKs.
    pub(crate) held: Bytes,
    /// How long the receiver [holds](AckPolicy::delays) an ACK for another packet.
    pub(crate) ack_delay: Duration,
    /// The most in flight that may wait for a delayed ACK, since no further packet comes.
    pub(crate) lone: Bytes,
    /// The numbers of data and parity packets of a full block, if the scheme has blocks.
    shape: Option<Shape>,
    /// How many packets of a message may be shorter than full ones: the last ones, one and the parity of its block.
    pub(crate) tail: u32,
    /// How long a receiver waits for a block, but for the time in which the block leaves.
    pub(crate) block_timer: Duration,
    /// Time that a full packet occupies the sender's NIC.
    pub(crate) packet_time: Duration,
    /// Time-out of a packet that never timed out, before the first RTT sample.
    pub(crate) rto: Duration,
    /// How long an answer may be due.
    pub(crate) path_rto: Duration,
    /// The largest extra of an RTT sample, uniform; zero: none.
    pub(crate) rtt_noise: Duration,
}

/// When the window lets a packet go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gate {
    /// As [`WindowCheck::Below`] says.
    Below,
    /// As [`WindowCheck::Fits`] says.
    Fits,
    /// Once a burst may leave.
    Bursts,
}

impl Route {
    /// Computes the route of `scheme` over `path`.
    #[must_use]
    pub fn new(path: Path, scheme: &Scheme) -> Self {
        let Scheme { congestion, on_nack, balance, recovery, window_check, connection, coding, profile } =
            scheme;
        let (shape, needs) = (coding.shape(), congestion.needs());
        let timer = match coding {
            CodingConfig::None(_) => None,
            CodingConfig::Mds(mds) => mds.timer,
        };
        let acks = profile.acks.build();
        let (held, ack_delay) = (acks.holds(), acks.delays());
        let recovery = RecoveryConfig { rto: recovery.rto.beside(ack_delay), ..*recovery };
        Self {
            congestion: congestion.params(&path),
            on_nack: on_nack.unwrap_or(needs.nacks.by_default()),
            needs,
            balance: balance.clone(),
            recovery,
            window_check: *window_check,
            gate: match (connection.burst.is_zero(), window_check) {
                (false, _) => Gate::Bursts,
                (true, WindowCheck::Below) => Gate::Below,
                (true, WindowCheck::Fits) => Gate::Fits,
            },
            // A control that takes samples of the delivery rate governs its own recovery, as under Linux's `cong_control`.
            connection: Connection { prr: connection.prr && !needs.send_record, ..*connection },
            coding: coding.clone(),
            profile: profile.clone(),
            held,
            ack_delay,
            lone: path.mss * u64::from(acks.holds_packets()),
            shape,
            tail: 1 + shape.map_or(0, |shape| u32::from(shape.parity())),
            block_timer: timer.unwrap_or(path.max_queueing),
            packet_time: path.packet_time(),
            rto: recovery.rto.initial(&path, ack_delay),
            path_rto: recovery.rto.of_path(&path, ack_delay),
            rtt_noise: Duration::ZERO,
            path,
        }
    }

    /// Whether one ACK may stand for several packets.
    pub(crate) const fn merges_acks(&self) -> bool {
        !self.held.is_zero() || !self.ack_delay.is_zero()
    }

    /// Puts up to `most` on top of each RTT sample of its senders, uniform, as hosts do that take a packet's time late. Packets and
    /// their ACKs travel as before.
    #[must_use]
    pub fn with_rtt_noise(self, most: Duration) -> Self {
        Self { rtt_noise: most, ..self }
    }

    /// The path.
    #[must_use]
    pub const fn path(&self) -> &Path {
        &self.path
    }

    /// The receiver's part of the scheme.
    #[must_use]
    pub const fn profile(&self) -> &FlowProfile {
        &self.profile
    }

    /// Time-out of a packet that never timed out, before the first RTT sample.
    #[must_use]
    pub const fn rto(&self) -> Duration {
        self.rto
    }

    /// How long an answer may be due before one asks why: the time-out, or where that waits for a first sample, what the path
    /// takes at most.
    #[must_use]
    pub const fn path_rto(&self) -> Duration {
        self.path_rto
    }

    /// How the packets of a message of `size` bytes make blocks; `None` without coding.
    ///
    /// # Panics
    /// If the message is empty, or has more than 2^32 - 1 packets.
    #[must_use]
    #[inline]
    pub fn layout(&self, size: Bytes) -> Option<Layout> {
        let shape = self.shape?;
        let layout = Layout::of_message(size, self.path.mss, shape);
        Some(layout.expect("a message has 1 to 2^32 - 1 packets"))
    }
}
