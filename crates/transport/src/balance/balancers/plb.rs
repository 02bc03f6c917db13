//! PLB: a flow keeps one path and takes another when its rounds stay congested or a packet times out.
//!
//! Qureshi et al., "PLB: Congestion Signals are Simple and Effective for Network Load Balancing" (SIGCOMM 2022), with
//! the constants of Linux (`tcp_plb_*`). A round is congested if at least so large a share of its ACKs is marked. After
//! some congested rounds in a row the flow takes another path, after fewer of them if nothing is in flight; after a
//! time-out it does so at once, and then leaves congestion alone for a while. A NACK, or a loss found from later ACKs,
//! counts as a time-out. Left out: whether the control asks for PLB (in Linux only DCTCP does).
//!
//! Its page: `docs/src/schemes/plb.md`.

use crate::balance::contract::{Balance, BalancerStart, Entropy, PathSample};
use crate::registry::ConfigError;
use farspan_units::{Duration, Random, Time};

/// Parameters of PLB.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct PlbConfig {
    /// From which share of marked ACKs on a round is congested, in [0, 1]; 0.5 (Linux). Uno's published code: 0.25.
    pub congested: f64,
    /// After how many congested rounds in a row the flow moves, 1 to 1000; 12 (Linux). Uno's published code: 2.
    pub busy_rounds: u32,
    /// After how many congested rounds in a row a flow with nothing in flight moves; 3 (Linux). Uno's published code:
    /// 2.
    pub idle_rounds: u32,
    /// How long congestion moves nothing after a time-out: so long to twice as long; 60 s (Linux). Uno's published
    /// code: 0.
    pub pause: Duration,
    /// The unit of a round; `window` (Linux). Uno's published code: `base_rtt`.
    pub round: Round,
    /// How many entropies there are to draw from, 1 to 65536; 65536, all that a header holds. Uno's published code:
    /// 250.
    pub entropies: u32,
}

/// The unit of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Round {
    /// A window of data: it ends with the first ACK of a packet that was sent after it began.
    Window,
    /// The base round trip of the path.
    BaseRtt,
}

impl Default for PlbConfig {
    fn default() -> Self {
        Self {
            congested: 0.5,
            busy_rounds: 12,
            idle_rounds: 3,
            pause: Duration::from_ms(60_000),
            round: Round::Window,
            entropies: 65_536,
        }
    }
}

impl PlbConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let checks = [
            (0.0..=1.0, "congested", self.congested),
            (1.0..=1000.0, "busy_rounds", f64::from(self.busy_rounds)),
            (1.0..=1000.0, "idle_rounds", f64::from(self.idle_rounds)),
            (1.0..=65536.0, "entropies", f64::from(self.entropies)),
        ];
        checks
            .into_iter()
            .try_for_each(|(range, parameter, value)| ConfigError::unless_in(range, "plb", parameter, value))
    }
}

/// Nothing happened at this time.
const NEVER: Time = Time::MAX;

/// PLB's state for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Plb {
    /// The parameters.
    config: PlbConfig,
    /// The path.
    entropy: Entropy,
    /// Congested rounds in a row.
    rounds: u32,
    /// ACKs of the round under way.
    acked: u32,
    /// Those of them that carried a mark.
    marked: u32,
    /// When it began; [`NEVER`] before the first ACK.
    began: Time,
    /// Base round trip.
    base_rtt: Duration,
    /// The path's time-out: a flow moves at most once in it for time-outs and NACKs.
    rto: Duration,
    /// When a time-out last moved the flow; [`NEVER`] before.
    lost_at: Time,
    /// Until when congestion moves nothing.
    paused_until: Time,
}

impl Plb {
    /// The path selector for one flow.
    #[must_use]
    pub fn new(config: &PlbConfig, start: &BalancerStart<'_>) -> Self {
        let mut random = start.random;
        Self {
            entropy: random.below(u64::from(config.entropies)) as Entropy,
            config: config.clone(),
            rounds: 0,
            acked: 0,
            marked: 0,
            began: NEVER,
            base_rtt: start.path.base_rtt,
            rto: start.path.base_rtt + start.path.max_queueing,
            lost_at: NEVER,
            paused_until: Time::ZERO,
        }
    }

    fn take_another_path(&mut self, random: &mut Random) {
        self.entropy = random.below(u64::from(self.config.entropies)) as Entropy;
        self.rounds = 0;
    }

    /// Whether this ACK ends a round; if so, it begins the next one.
    fn ends_round(&mut self, now: Time, sent_at: Time) -> bool {
        let over = self.began != NEVER
            && match self.config.round {
                Round::Window => sent_at >= self.began,
                Round::BaseRtt => now.since(self.began) >= self.base_rtt,
            };
        if over || self.began == NEVER {
            self.began = now;
        }
        over
    }

    /// A loss, a time-out or a NACK: once in a time-out, another path at once, and a pause against leaving it for
    /// another dead one.
    fn on_lost(&mut self, now: Time, random: &mut Random) {
        if self.lost_at != NEVER && now.since(self.lost_at) < self.rto {
            return;
        }
        self.lost_at = now;
        self.take_another_path(random);
        let pause = self.config.pause.mul_f64(1.0 + random.uniform());
        self.paused_until = now.saturating_add(pause);
    }
}

impl Balance for Plb {
    fn entropy(&mut self, _now: Time, _random: &mut Random) -> Entropy {
        self.entropy
    }

    fn wants_feedback(&self) -> bool {
        true
    }

    fn on_ack(&mut self, sample: PathSample, ecn_ce: bool, random: &mut Random) {
        let PathSample { now, sent_at, in_flight, .. } = sample;
        self.acked += 1;
        self.marked += u32::from(ecn_ce);
        if !self.ends_round(now, sent_at) {
            return;
        }
        let is_congested = f64::from(self.marked) >= self.config.congested * f64::from(self.acked);
        self.rounds = if is_congested { self.rounds.saturating_add(1) } else { 0 };
        (self.acked, self.marked) = (0, 0);
        let is_due = self.rounds >= self.config.busy_rounds
            || (self.rounds >= self.config.idle_rounds && in_flight.is_zero());
        if is_due && now >= self.paused_until {
            self.take_another_path(random);
        }
    }

    fn on_nack(&mut self, sample: PathSample, _at_last_hop: bool, _ecn_ce: bool, random: &mut Random) {
        self.on_lost(sample.now, random);
    }

    fn on_loss(&mut self, sample: PathSample, random: &mut Random) {
        self.on_lost(sample.now, random);
    }

    fn on_timeout(&mut self, sample: PathSample, random: &mut Random) {
        self.on_lost(sample.now, random);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::testing::Flow;
    use crate::congestion::testing::path;
    use alloc::collections::BTreeSet;
    use farspan_units::Bytes;

    impl Flow<Plb> {
        fn new(config: &PlbConfig) -> Self {
            let mut flow = Self::with(|start| Plb::new(config, start));
            flow.random.bits();
            flow
        }

        /// A round of ten ACKs of which so many are marked; says whether the flow moved.
        fn round(&mut self, marked: u32) -> bool {
            let before = self.entropy();
            for i in 0..10 {
                self.now += path().base_rtt / 10;
                self.ack(before, i < marked);
            }
            self.entropy() != before
        }

        /// After how many such rounds the flow moves.
        fn moves_after(&mut self, marked: u32) -> Option<u32> {
            (1..=100).find(|_| self.round(marked))
        }

        fn lose(&mut self) -> bool {
            let before = self.entropy();
            self.time_out(before);
            self.entropy() != before
        }
    }

    fn artifact() -> PlbConfig {
        let (congested, pause) = (0.25, Duration::ZERO);
        PlbConfig {
            congested,
            busy_rounds: 2,
            idle_rounds: 2,
            pause,
            round: Round::BaseRtt,
            ..PlbConfig::default()
        }
    }

    /// A Linux flow whose first round has begun.
    fn linux() -> Flow<Plb> {
        let mut flow = Flow::new(&PlbConfig::default());
        flow.round(0);
        flow
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let config = PlbConfig { congested: 1.5, ..PlbConfig::default() };
        assert_eq!(config.check().unwrap_err().parameter, "congested");
        let config = PlbConfig { busy_rounds: 0, ..PlbConfig::default() };
        assert_eq!(config.check().unwrap_err().parameter, "busy_rounds");
        let config = PlbConfig { idle_rounds: 0, ..PlbConfig::default() };
        assert_eq!(config.check().unwrap_err().parameter, "idle_rounds");
        let config = PlbConfig { entropies: 70_000, ..PlbConfig::default() };
        assert_eq!(config.check().unwrap_err().parameter, "entropies");
        assert_eq!(PlbConfig::default().check(), Ok(()));
    }

    #[test]
    fn a_flow_keeps_its_path_while_less_than_half_of_its_acks_are_marked() {
        assert_eq!(linux().moves_after(4), None);
    }

    #[test]
    fn a_busy_flow_moves_after_twelve_congested_rounds() {
        let moved = linux().moves_after(5).expect("half of the ACKs are marked");
        assert!((12..=13).contains(&moved), "{moved}: the rounds of ten ACKs begin with another's last");
    }

    #[test]
    fn an_idle_flow_moves_after_three() {
        let mut flow = linux();
        flow.in_flight = Bytes::ZERO;
        let moved = flow.moves_after(10).expect("all ACKs are marked");
        assert!((3..=4).contains(&moved), "{moved}");
    }

    #[test]
    fn a_round_without_congestion_starts_the_count_again() {
        let mut flow = linux();
        for _ in 0..5 {
            assert!((0..10).all(|_| !flow.round(10)));
            assert!((0..2).all(|_| !flow.round(0)));
        }
    }

    #[test]
    fn a_window_s_round_ends_with_the_ack_of_a_packet_sent_after_it_began() {
        let mut flow = Flow::new(&PlbConfig::default());
        flow.round(0);
        let began = flow.balancer.began;
        let mut sample = flow.sample(0);
        sample.now = began + path().base_rtt * 5;
        sample.sent_at = Time::from_ps(began.as_ps() - 1);
        flow.balancer.on_ack(sample, true, &mut flow.random);
        assert_eq!(flow.balancer.began, began);
        sample.sent_at = began;
        flow.balancer.on_ack(sample, true, &mut flow.random);
        assert_eq!(flow.balancer.began, sample.now);
    }

    #[test]
    fn the_artifact_s_round_is_a_base_round_trip_and_two_are_enough() {
        let mut flow = Flow::new(&artifact());
        flow.round(0);
        assert_eq!(flow.moves_after(2), None);
        let moved = flow.moves_after(3).expect("three of ten are more than a quarter");
        assert!((2..=3).contains(&moved), "{moved}");
    }

    #[test]
    fn a_time_out_moves_the_flow_at_once_and_once_in_a_time_out() {
        let mut flow = linux();
        let rto = path().base_rtt + path().max_queueing;
        assert!(flow.lose());
        assert!(!flow.lose(), "the other packets of the window");
        flow.now += rto - Duration::from_ps(1);
        assert!(!flow.lose());
        flow.now += Duration::from_ps(1);
        assert!(flow.lose());
    }

    #[test]
    fn a_nack_is_a_time_out() {
        let mut flow = linux();
        let before = flow.entropy();
        flow.balancer.on_nack(flow.sample(0), false, false, &mut flow.random);
        assert_ne!(flow.entropy(), before);
        assert!(!flow.lose());
    }

    #[test]
    fn after_a_time_out_congestion_moves_nothing_for_a_minute_or_two() {
        let mut flow = linux();
        flow.lose();
        assert_eq!(flow.moves_after(10), None);
        let pause = flow.balancer.paused_until.since(flow.balancer.lost_at);
        assert!(pause >= Duration::from_ms(60_000) && pause <= Duration::from_ms(120_000), "{pause}");
        flow.now += Duration::from_ms(120_000);
        assert!(flow.moves_after(10).is_some());
    }

    #[test]
    fn paths_are_drawn_from_all_entropies() {
        let mut flow = Flow::new(&PlbConfig { entropies: 8, ..PlbConfig::default() });
        let mut seen = BTreeSet::new();
        for _ in 0..200 {
            flow.now += Duration::from_ms(1);
            flow.lose();
            seen.insert(flow.entropy());
        }
        assert_eq!(seen, (0..8).collect());
    }
}
