//! Rules for the NACK of a packet that the network took: the control's own, or one of three that all controls share.

use super::{Congestion, Decision, Nack};

/// Whether the source of a control has a rule for packets that were trimmed, or lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NackRule {
    /// It has one, which [`Congestion::on_nack`] follows. [`Congestion::lower`] can lower the window instead.
    Published,
    /// It has one, and there is nothing to lower: the control runs on credit, or by design never moves.
    Only,
    /// It has none; there is a window, or a rate, to [lower](Congestion::lower).
    Unsaid,
}

/// The effect on the window of the NACK of a packet that a port trimmed, or that a proxy has found lost. The NACK of a coded block, whose
/// timer ran out, is no such sign: [`Congestion::on_nack`] gets it whatever stands here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum OnNack {
    /// The control's own rule.
    Published,
    /// The window falls to what was in flight before the packet was taken out: min(cwnd, in flight + this packet).
    Before,
    /// The window falls to what is in flight after the packet was taken out, one packet less: min(cwnd, in flight).
    InFlight,
    /// Nothing.
    None,
}

impl OnNack {
    /// The word in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Before => "before",
            Self::InFlight => "in_flight",
            Self::None => "none",
        }
    }

    /// Notifies a control of a NACK, whose packets are out of what is in flight, or lowers its window.
    pub(crate) fn apply(self, control: &mut impl Congestion, nack: &Nack) -> Decision {
        match self {
            Self::Published => control.on_nack(nack),
            Self::Before => control.lower(nack.in_flight + nack.bytes),
            Self::InFlight => control.lower(nack.in_flight),
            Self::None => control.decision(),
        }
    }
}

impl NackRule {
    /// The rule where nobody says: the source's, else [`OnNack::Before`], which keeps the window open as far as it is used.
    #[must_use]
    pub const fn by_default(self) -> OnNack {
        match self {
            Self::Published | Self::Only => OnNack::Published,
            Self::Unsaid => OnNack::Before,
        }
    }

    /// Whether a control can answer so: `Err` has why not, and what to write instead.
    ///
    /// # Errors
    /// If its source says nothing of NACKs, or there is nothing to lower.
    pub const fn allows(self, answer: OnNack) -> Result<(), (&'static str, &'static str)> {
        let nothing_said = "its source says nothing of packets that were trimmed or lost";
        let no_window = "it has no window and no rate that could fall";
        match (self, answer) {
            (_, OnNack::None)
            | (Self::Published | Self::Only, OnNack::Published)
            | (Self::Published | Self::Unsaid, OnNack::Before | OnNack::InFlight) => Ok(()),
            (Self::Unsaid, OnNack::Published) => {
                Err((nothing_said, "write \"before\", \"in_flight\" or \"none\""))
            }
            (Self::Only, OnNack::Before | OnNack::InFlight) => {
                Err((no_window, "write \"published\" or \"none\""))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::start;
    use crate::congestion::{CongestionConfig, NackCause};
    use farspan_units::{Bytes, Time};

    /// The window of the control with this name after the NACK of a packet of 4096 B, with so much left in flight.
    fn window(control: &str, answer: OnNack, in_flight: u64) -> u64 {
        let mut control = CongestionConfig::by_name(control).unwrap().build(&start());
        let (bytes, in_flight) = (Bytes::new(4096), Bytes::new(in_flight));
        let nack = Nack { now: Time::ZERO, bytes, sent_at: Time::ZERO, in_flight, cause: NackCause::Trimmed };
        let decision = answer.apply(&mut control, &nack);
        assert_eq!(decision, control.decision());
        decision.cwnd.get()
    }

    #[test]
    fn a_window_falls_to_what_was_in_flight_or_by_a_packet_more_or_by_its_own_rule_or_stays() {
        let bdp = start().initial_cwnd.get();
        for (answer, expected) in [
            (OnNack::Published, bdp - 4096),
            (OnNack::Before, 40_960 + 4096),
            (OnNack::InFlight, 40_960),
            (OnNack::None, bdp),
        ] {
            assert_eq!(window("dctcp-per-ack", answer, 40_960), expected, "{answer:?}");
        }
        for answer in [OnNack::Before, OnNack::InFlight] {
            assert_eq!(window("dctcp-per-ack", answer, bdp), bdp, "{answer:?}: it never grows");
            assert!(window("dctcp-per-ack", answer, 0) == 4096, "{answer:?}: a packet stays");
        }
    }

    #[test]
    fn what_is_in_flight_bounds_controls_whose_source_says_nothing() {
        for control in ["oscar", "hpcc", "poseidon", "powertcp", "theta-powertcp", "timely"] {
            let rule = CongestionConfig::by_name(control).unwrap().needs().nacks;
            assert_eq!(rule, NackRule::Unsaid, "{control}");
            assert_eq!(window(control, rule.by_default(), 40_960), 45_056, "{control}");
        }
    }

    #[test]
    fn every_control_allows_its_default_and_none() {
        for rule in [NackRule::Published, NackRule::Only, NackRule::Unsaid] {
            assert_eq!(rule.allows(rule.by_default()), Ok(()));
            assert_eq!(rule.allows(OnNack::None), Ok(()));
        }
        assert!(NackRule::Unsaid.allows(OnNack::Published).is_err());
        assert!(NackRule::Only.allows(OnNack::Before).is_err());
        assert!(NackRule::Only.allows(OnNack::InFlight).is_err());
    }
}
