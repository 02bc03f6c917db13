//! A scheme as the transport sees it: what a sender is assembled from.

use crate::balance::BalanceConfig;
use crate::coding::CodingConfig;
use crate::congestion::CongestionConfig;
use crate::flow::profile::FlowProfile;
use crate::recovery::RecoveryConfig;

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
    pub congestion: CongestionConfig,
    /// The path selector.
    pub balance: BalanceConfig,
    /// Loss detection and time-outs.
    pub recovery: RecoveryConfig,
    /// Parity, if any.
    pub coding: CodingConfig,
    /// When the window lets a packet go.
    pub window_check: WindowCheck,
    /// The receiver's part, which both ends know.
    pub profile: FlowProfile,
}
