//! Flow profiles: both ends of a flow know its profile before the first packet.

use crate::ack::AckConfig;
use crate::congestion::{CongestionConfig, Needs};
use crate::notifier::CnpConfig;
use crate::pulls::PullConfig;
use crate::recovery::RecoveryPolicy;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// The receiver's part of a scheme: what both ends of a flow agree on.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FlowProfile {
    /// When the receiver acknowledges packets.
    pub acks: AckConfig,
    /// The pulls that it sends, those of [`Needs::pulls`]; `None`: it sends none, and
    /// a control on credit has what its time-outs give.
    pub pulls: Option<PullConfig>,
    /// The CNPs that it sends, those of [`Needs::cnps`]; `None`: it sends none.
    pub cnps: Option<CnpConfig>,
    /// The signals that its ACKs bring.
    pub signals: AckSignals,
    /// Whether its ACKs repeat a mark until the sender says that it has cut its window (RFC 3168, section 6.1.3); otherwise each
    /// echoes its packet's own. Not with ACKs that are [held](crate::ack::AckPolicy::holds).
    pub repeats_marks: bool,
    /// Whether the receiver takes packets in their order alone (go-back-N): one behind a gap is dropped, and the first of them is
    /// answered by a NACK. Not of coded messages, nor through a proxy. [`RecoveryPolicy::wants_order`].
    pub in_order: bool,
    /// Whether further messages may follow a flow's first one ([`Endpoint::append`](crate::Endpoint::append)): its ends stay until
    /// their drivers end them. Not of coded messages, nor through a proxy.
    pub persistent: bool,
}

/// The signals that ACKs bring, beside which packet has arrived, with which mark, and up to which all have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AckSignals {
    /// Bytes by which they make an ACK longer than a header, those of [`Needs::signal_bytes`].
    pub bytes: u16,
    /// Whether the time of arrival is among them: [`Needs::arrival`].
    pub arrival: bool,
    /// Whether a [map](crate::wire::Fate::Arrived) is: so of a [policy](RecoveryPolicy::wants_maps) that waits for the ACK of each
    /// packet. ACKs that are [held](crate::ack::AckPolicy::holds) have one anyway.
    pub map: bool,
}

impl FlowProfile {
    /// The profile of flows of this control and this recovery, whose receivers acknowledge packets so.
    #[must_use]
    pub fn new(acks: AckConfig, congestion: &CongestionConfig, recovery: RecoveryPolicy) -> Self {
        let Needs { pulls, cnps, arrival, signal_bytes, .. } = congestion.needs();
        let (bytes, map) = (signal_bytes.ack.get() as u16, recovery.wants_maps());
        let signals = AckSignals { bytes, arrival, map };
        let in_order = recovery.wants_order();
        Self { acks, pulls, cnps, signals, repeats_marks: false, in_order, persistent: false }
    }
}

/// The profiles of a network's flows: every endpoint is built with the same list, and a data packet names the profile
/// of its flow by the index in it.
///
/// The default is a list of one: the default profile.
#[derive(Clone, PartialEq, Debug)]
pub struct Profiles(Arc<[FlowProfile]>);

impl Default for Profiles {
    fn default() -> Self {
        Self(vec![FlowProfile::default()].into())
    }
}

impl Profiles {
    /// A list of these profiles, each once, in this order.
    ///
    /// # Panics
    /// If there are more than 128 that differ.
    pub fn new(profiles: impl IntoIterator<Item = FlowProfile>) -> Self {
        let mut list: Vec<FlowProfile> = Vec::new();
        for profile in profiles {
            if !list.contains(&profile) {
                list.push(profile);
            }
        }
        assert!(list.len() <= 128, "a packet names one of at most 128 profiles, not {}", list.len());
        Self(list.into())
    }

    /// The index of a profile in the list; `None` if it is not there.
    #[must_use]
    pub fn place(&self, profile: &FlowProfile) -> Option<u8> {
        self.0.iter().position(|other| other == profile).map(|place| place as u8)
    }

    /// The profile at this index.
    #[must_use]
    pub fn get(&self, place: u8) -> Option<&FlowProfile> {
        self.0.get(usize::from(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::delayed;

    #[test]
    fn equal_profiles_share_a_place_and_unknown_ones_have_none() {
        let delayed = |us| FlowProfile {
            acks: AckConfig::Delayed(delayed::DelayedConfig { delay: us, ..Default::default() }),
            ..FlowProfile::default()
        };
        let [short, long] = [1, 2].map(farspan_units::Duration::from_us).map(delayed);
        let profiles = Profiles::new([FlowProfile::default(), short.clone(), FlowProfile::default()]);
        assert_eq!((profiles.place(&FlowProfile::default()), profiles.place(&short)), (Some(0), Some(1)));
        assert_eq!((profiles.place(&long), profiles.get(2)), (None, None));
        assert_eq!(profiles.get(1), Some(&short));
        assert_eq!(Profiles::default().get(0), Some(&FlowProfile::default()));
    }
}
