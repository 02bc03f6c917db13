//! NDP: a first window at line rate, then the receiver's pulls decide.
//!
//! Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance" (SIGCOMM 2017),
//! section 3.2. The sender spends credit: a first window, and a packet for each pull. The receiver pulls once for each packet
//! that reaches it, whole or trimmed, at the rate of its link. What is in flight decides nothing, so that an ACK or a NACK
//! opens no window. A packet that is lost whole earns no pull: its time-out gives its credit back.
//!
//! Nor does one whose header came back earn a pull. It waits for the next one that comes, so that an incast is not repeated, but for two
//! cases (section 3.2.4; csg-htsim `processRTS`), in which its credit comes back at once: nothing else is under way that could bring a
//! pull; or so many of the last packets were acknowledged that a path is bad, and not the receiver's link full.
//!
//! Its page: `docs/src/schemes/ndp.md`.

use crate::congestion::contract::{
    Ack, Congestion, Decision, Ecn, Floor, Loss, Nack, NackCause, NackRule, Needs, Pull, Sent, SignalBytes,
    Start, Timeout,
};
use crate::path::Path;
use crate::pulls::PullConfig;
use crate::registry::ConfigError;
use farspan_units::{Bytes, Duration, TelemetryKind, Time};

/// Parameters of NDP.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct NdpConfig {
    /// The part of the receiver's line rate that its pulls ask for, in (0, 1]; 0.99.
    pub pull_rate: f64,
    /// How long a sender without credit waits for news of its flow before one packet may leave, above zero; 1 ms. It makes up
    /// for pulls that were lost with none after them.
    pub pull_timeout: Duration,
}

impl Default for NdpConfig {
    fn default() -> Self {
        Self { pull_rate: 0.99, pull_timeout: Duration::from_ms(1) }
    }
}

impl NdpConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// A part of the line rate outside (0, 1], or no wait for pulls.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(1e-6..=1.0, "ndp", "pull_rate", self.pull_rate)?;
        let wait = self.pull_timeout;
        ConfigError::if_zero(wait.is_zero(), "ndp", "pull_timeout", &wait, "waits for no pull", "a duration")
    }

    /// All that it needs.
    #[must_use]
    pub const fn needs(&self) -> Needs {
        Needs {
            ecn: Ecn::Ignored,
            sent: true,
            send_record: false,
            pulls: Some(PullConfig { rate: self.pull_rate }),
            cnps: None,
            telemetry: TelemetryKind::None,
            arrival: false,
            nacks: NackRule::Only,
            signal_bytes: SignalBytes::NONE,
        }
    }

    /// The queueing delay that it aims at on a path: none, it knows no such target.
    #[must_use]
    pub const fn target_delay(&self, _path: &Path) -> Option<Duration> {
        None
    }
}

/// The parameters of flows that share a path.
#[derive(Clone, PartialEq, Debug)]
pub struct NdpParams {
    /// Payload of a packet, what a pull asks for.
    mss: Bytes,
    pull_timeout: Duration,
}

impl NdpParams {
    /// The parameters for this path.
    #[must_use]
    pub const fn new(config: &NdpConfig, path: &Path) -> Self {
        Self { mss: path.mss, pull_timeout: config.pull_timeout }
    }
}

/// The fates of the last packets of a flow: a bit each, the newest the lowest, set where it was acknowledged.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Recent {
    acked: u16,
    known: u32,
}

impl Recent {
    /// How many packets back it looks (csg-htsim).
    const LENGTH: u32 = 12;

    fn note(&mut self, is_acked: bool) {
        self.acked = (self.acked << 1 | u16::from(is_acked)) & ((1 << Self::LENGTH) - 1);
        self.known = (self.known + 1).min(Self::LENGTH);
    }

    /// Whether a quarter of them or more were acknowledged.
    const fn are_acked(self) -> bool {
        self.acked.count_ones() * 4 >= self.known
    }
}

/// The credit of one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Ndp {
    params: NdpParams,
    /// Payload of the message.
    size: Bytes,
    /// Payload that may leave.
    credit: Bytes,
    /// The largest count of a pull so far.
    pulled: u32,
    /// When the flow last had news, or sent.
    news_at: Time,
    /// Pulls that the receiver owes, as far as the sender knows; below zero while ACKs are late whose pulls have come.
    owed: i64,
    /// Packets of the message that are not acknowledged.
    missing: i64,
    recent: Recent,
}

impl Ndp {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &NdpParams, start: &Start<'_>) -> Self {
        // What a short message leaves of the first window must not send its lost packets again.
        let credit = start.initial_cwnd.min(start.size).max(params.mss);
        Self {
            params: params.clone(),
            size: start.size,
            credit,
            pulled: 0,
            news_at: Time::ZERO,
            owed: 0,
            missing: start.size.segments(params.mss) as i64,
            recent: Recent::default(),
        }
    }

    /// Packets have reached the receiver, whole or trimmed: it owes a pull for each, and no more than packets are missing.
    fn expect(&mut self, packets: u32) {
        self.owed = (self.owed + i64::from(packets)).min(self.missing);
    }

    /// Whether a packet whose header came back may leave again without a pull.
    fn resends_at_once(&self, in_flight: Bytes) -> bool {
        let is_alone = in_flight.is_zero() && self.owed <= 0 && self.credit.is_zero();
        is_alone || self.recent.are_acked()
    }

    fn news(&mut self, now: Time) -> Decision {
        self.news_at = now;
        self.decision()
    }

    /// Packets that never reached the receiver earn no pull: they may leave again without one.
    fn give_back(&mut self, now: Time, lost: Bytes) -> Decision {
        self.credit += self.params.mss * lost.segments(self.params.mss);
        self.news(now)
    }
}

impl Congestion for Ndp {
    fn decision(&self) -> Decision {
        let waits = self.credit.is_zero();
        Decision {
            next_timer: waits.then(|| self.news_at.saturating_add(self.params.pull_timeout)),
            allowance: Some(self.credit),
            ..Decision::window(Bytes::MAX)
        }
    }

    fn floor(&self) -> Floor {
        Floor::Zero
    }

    fn on_sent(&mut self, sent: &Sent) -> Decision {
        self.credit = self.credit.saturating_sub(self.params.mss);
        self.news(sent.now)
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        self.missing = self.size.saturating_sub(ack.delivered).segments(self.params.mss) as i64;
        self.expect(ack.acked_packets.max(1));
        self.recent.note(true);
        self.news(ack.now)
    }

    fn on_nack(&mut self, nack: &Nack) -> Decision {
        self.recent.note(false);
        match nack.cause {
            NackCause::Returned if self.resends_at_once(nack.in_flight) => {
                return self.give_back(nack.now, nack.bytes);
            }
            NackCause::Trimmed => self.expect(1),
            _ => {}
        }
        self.news(nack.now)
    }

    fn on_pull(&mut self, pull: &Pull) -> Decision {
        let more = pull.count.saturating_sub(self.pulled);
        self.pulled += more;
        self.owed -= i64::from(more);
        self.credit += self.params.mss * u64::from(more);
        self.news(pull.now)
    }

    fn on_loss(&mut self, loss: &Loss) -> Decision {
        self.give_back(loss.now, loss.bytes)
    }

    fn on_timeout(&mut self, timeout: &Timeout) -> Decision {
        self.give_back(timeout.now, timeout.bytes)
    }

    fn on_timer(&mut self, now: Time) -> Decision {
        if self.decision().next_timer.is_some_and(|due| due <= now) {
            self.credit = self.params.mss;
        }
        self.news(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::NackCause;
    use crate::congestion::testing::{AckStream, refused, start, start_with, timeout};
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const MSS: Bytes = Bytes::new(4096);

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// A flow that starts with two packets.
    fn ndp() -> Ndp {
        Ndp::new(&NdpParams::new(&NdpConfig::default(), start().path), &start_with(MSS * 2))
    }

    fn sent(now: Time) -> Sent {
        Sent { now, bytes: MSS, in_flight: MSS, retransmission: false }
    }

    fn pull(now: Time, count: u32) -> Pull {
        Pull { now, count, in_flight: MSS }
    }

    #[test]
    fn each_packet_spends_credit_and_each_pull_earns_one_packet() {
        let mut control = ndp();
        let credit = |decision: Decision| decision.allowance.map(|bytes| bytes.get() / MSS.get());
        assert_eq!(credit(control.decision()), Some(2));
        assert_eq!([0, 1].map(|at| credit(control.on_sent(&sent(us(at))))), [Some(1), Some(0)]);
        assert_eq!(control.decision().open_window(), Bytes::ZERO);
        assert_eq!(credit(control.on_pull(&pull(us(2), 1))), Some(1));
        assert_eq!(control.decision().open_window(), Bytes::MAX);
        assert_eq!(credit(control.on_pull(&pull(us(3), 4))), Some(4), "two pulls were lost");
        assert_eq!(credit(control.on_pull(&pull(us(4), 3))), Some(4), "an old one says nothing new");
    }

    #[test]
    fn the_first_window_has_credit_for_no_more_than_the_message() {
        let short = Start { size: MSS * 3, ..start() };
        let control = Ndp::new(&NdpParams::new(&NdpConfig::default(), short.path), &short);
        assert_eq!(control.decision().allowance, Some(MSS * 3));
    }

    #[test]
    fn neither_an_ack_nor_a_nack_lets_a_packet_leave() {
        let mut control = ndp();
        let before = control.decision().allowance;
        assert_eq!(control.on_ack(&AckStream::new(&start()).next(false)).allowance, before);
        let nack = Nack {
            now: us(20),
            bytes: MSS,
            sent_at: us(1),
            in_flight: Bytes::ZERO,
            cause: NackCause::Trimmed,
        };
        assert_eq!(control.on_nack(&nack).allowance, before);
    }

    /// A header has come back; so much is left in flight.
    fn returned(now: Time, in_flight: Bytes) -> Nack {
        Nack { now, bytes: MSS, sent_at: us(1), in_flight, cause: NackCause::Returned }
    }

    fn trimmed(now: Time) -> Nack {
        Nack { cause: NackCause::Trimmed, ..returned(now, Bytes::ZERO) }
    }

    /// A flow of ten packets that has sent its first window of two.
    fn spent() -> Ndp {
        let mut control = Ndp::new(
            &NdpParams::new(&NdpConfig::default(), start().path),
            &Start { size: MSS * 10, ..start_with(MSS * 2) },
        );
        for at in [0, 1] {
            control.on_sent(&sent(us(at)));
        }
        control
    }

    #[test]
    fn a_header_that_came_back_waits_for_the_next_pull_while_one_may_come() {
        let none = Some(Bytes::ZERO);
        let mut control = spent();
        assert_eq!(control.on_nack(&returned(us(9), MSS)).allowance, none, "a packet is in flight");
        let mut control = spent();
        control.on_nack(&trimmed(us(8)));
        assert_eq!(control.on_nack(&returned(us(9), Bytes::ZERO)).allowance, none, "a pull is owed");
        assert_eq!(control.on_pull(&pull(us(10), 1)).allowance, Some(MSS));
        control.on_sent(&sent(us(11)));
        assert_eq!(control.on_nack(&returned(us(20), Bytes::ZERO)).allowance, Some(MSS), "it has come");
    }

    #[test]
    fn a_header_that_came_back_and_is_all_that_was_under_way_leaves_again_at_once() {
        let mut control = spent();
        assert_eq!(control.on_nack(&returned(us(8), MSS)).allowance, Some(Bytes::ZERO));
        assert_eq!(control.on_nack(&returned(us(9), Bytes::ZERO)).allowance, Some(MSS), "for one of the two");
        assert_eq!(control.decision().next_timer, None);
    }

    #[test]
    fn a_header_that_came_back_leaves_again_at_once_where_a_quarter_of_the_last_twelve_arrived() {
        for (acks, nacks, at_once) in
            [(1, 2, true), (1, 3, false), (3, 8, true), (2, 9, false), (12, 8, true), (12, 9, false)]
        {
            let mut control = spent();
            let mut stream = AckStream::new(&start());
            for _ in 0..acks {
                control.on_ack(&stream.next(false));
            }
            for _ in 0..nacks {
                control.on_nack(&trimmed(us(100)));
            }
            let expected = if at_once { MSS } else { Bytes::ZERO };
            let credit = control.on_nack(&returned(us(101), MSS * 5)).allowance;
            assert_eq!(credit, Some(expected), "{acks} ACKs, then {nacks} NACKs and what came back");
        }
    }

    #[test]
    fn no_more_pulls_are_expected_than_packets_are_missing() {
        let mut control = spent();
        let ack = |delivered| Ack { delivered, ..AckStream::new(&start()).next(false) };
        // Nine of ten are there: one pull is owed, and after it none.
        control.on_ack(&ack(MSS * 8));
        control.on_ack(&ack(MSS * 9));
        for _ in 0..12 {
            control.on_nack(&trimmed(us(100)));
        }
        control.on_pull(&pull(us(101), 1));
        control.on_sent(&sent(us(102)));
        assert_eq!(control.on_nack(&returned(us(110), Bytes::ZERO)).allowance, Some(MSS));
    }

    #[test]
    fn a_packet_that_timed_out_may_leave_again_without_a_pull() {
        let mut control = ndp();
        let lost = Timeout { bytes: MSS + Bytes::new(1), ..timeout(us(500), us(0), Bytes::ZERO) };
        assert_eq!(control.on_timeout(&lost).allowance, Some(MSS * 4), "a full packet and a short one");
    }

    #[test]
    fn without_credit_and_news_one_packet_may_leave_after_the_wait() {
        let mut control = ndp();
        assert_eq!(control.decision().next_timer, None);
        for at in [0, 1] {
            control.on_sent(&sent(us(at)));
        }
        assert_eq!(control.decision().next_timer, Some(us(1001)));
        control.on_ack(&Ack { now: us(15), ..AckStream::new(&start()).next(false) });
        assert_eq!(control.decision().next_timer, Some(us(1015)), "there is news");
        assert_eq!(control.on_timer(us(1001)).allowance, Some(Bytes::ZERO), "too early");
        let after = us(1001) + Duration::from_ms(1);
        assert_eq!(
            control.on_timer(after),
            Decision { allowance: Some(MSS), ..Decision::window(Bytes::MAX) }
        );
    }

    #[test]
    fn parameters_out_of_range_are_refused_by_name() {
        refused(
            NdpConfig::check,
            &[
                ("pull_rate", |config| config.pull_rate = 0.0),
                ("pull_rate", |config| config.pull_rate = 1.01),
                ("pull_timeout", |config| config.pull_timeout = Duration::ZERO),
            ],
        );
    }

    proptest! {
        /// Pulls of counts 1 to n, some lost, in any order: as many packets as the largest count that arrived.
        #[test]
        fn pulls_conserve_credit_whatever_is_lost_or_reordered(
            counts in prop::collection::vec(1..200_u32, 0..100), spent in 0..100_u32,
        ) {
            let mut control = ndp();
            let mut left = 0;
            let mut counts: Vec<u32> = counts;
            let largest = counts.iter().copied().max().unwrap_or_default();
            let later = counts.split_off(counts.len() / 2);
            counts.iter().for_each(|&count| { control.on_pull(&pull(us(1), count)); });
            while left < spent && !control.decision().open_window().is_zero() {
                control.on_sent(&sent(us(2)));
                left += 1;
            }
            later.iter().for_each(|&count| { control.on_pull(&pull(us(3), count)); });
            let credit = MSS * u64::from(2 + largest - left);
            prop_assert_eq!(control.decision().allowance, Some(credit));
        }
    }
}
