//! A scheme as the transport sees it: what a sender is assembled from.

use crate::ack::AckConfig;
use crate::balance::{BalanceConfig, ecmp};
use crate::coding::{CodingConfig, none};
use crate::congestion::{CongestionConfig, OnNack, bbr};
use crate::flow::connection::Connection;
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
    /// The effect of a trimmed packet's NACK on the control's window; `None`: as [the control's needs](crate::congestion::Needs::nacks) say.
    pub on_nack: Option<OnNack>,
    /// The path selector.
    pub balance: BalanceConfig,
    /// Loss detection and time-outs.
    pub recovery: RecoveryConfig,
    /// Parity, if any.
    pub coding: CodingConfig,
    /// When the window lets a packet go.
    pub window_check: WindowCheck,
    /// The habits of TCP's connections that its flows have.
    pub connection: Connection,
    /// The receiver's part, which both ends know.
    pub profile: FlowProfile,
}

impl Scheme {
    /// A scheme with this control, and of the rest what asks nothing of the network: one path, no parity, losses found as
    /// [`RecoveryConfig::default`] does, an ACK for each packet. Its profile is the one that the control needs.
    #[must_use]
    pub fn new(congestion: CongestionConfig) -> Self {
        let recovery = RecoveryConfig::default();
        let profile = FlowProfile::new(AckConfig::default(), &congestion, recovery.policy);
        Self {
            on_nack: None,
            congestion,
            balance: BalanceConfig::Ecmp(ecmp::EcmpConfig::default()),
            recovery,
            coding: CodingConfig::None(none::NoneConfig::default()),
            window_check: WindowCheck::default(),
            connection: Connection::default(),
            profile,
        }
    }
}

impl Default for Scheme {
    /// [`Self::new`] with BBR, which needs neither marks nor telemetry. Its profile is the default one, which an endpoint has
    /// unless it is given others.
    fn default() -> Self {
        Self::new(CongestionConfig::Bbr(bbr::BbrConfig::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_scheme_needs_no_profile_of_its_own() {
        assert_eq!(Scheme::default().profile, FlowProfile::default());
        let dcqcn = CongestionConfig::by_name("dcqcn").unwrap();
        let profile = Scheme::new(dcqcn.clone()).profile;
        assert_eq!(profile.cnps, dcqcn.needs().cnps);
        assert_ne!(profile, FlowProfile::default());
    }
}
