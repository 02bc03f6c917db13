//! A scheme as the transport sees it: what a sender is assembled from.

use crate::profile::FlowProfile;
use crate::{balance, coding, congestion, recovery};

/// When the window lets a packet go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum WindowCheck {
    /// While bytes in flight are below the window: the last packet may overshoot.
    #[default]
    Below,
    /// While bytes in flight and one more full packet fit the window.
    Fits,
}

/// The parts from which a sender is assembled.
#[derive(Clone, PartialEq, Debug)]
pub struct Scheme {
    /// The congestion control.
    pub congestion: congestion::CongestionConfig,
    /// The path selector.
    pub balance: balance::BalanceConfig,
    /// Loss detection and time-outs.
    pub recovery: recovery::RecoveryConfig,
    /// Parity, if any.
    pub coding: coding::CodingConfig,
    /// When the window lets a packet go.
    pub window_check: WindowCheck,
    /// The receiver's part, which both ends know.
    pub profile: FlowProfile,
}
