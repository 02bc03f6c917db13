//! UnoLB: a flow takes turns over a few subflows and moves those off paths that fail.
//!
//! "Uno: A One-Stop Solution for Inter- and Intra-Data Center Congestion Control and Reliable Connectivity", section
//! 4.2 and Algorithm 2. The algorithm's single `last_reroute` is kept for each subflow: with one for the whole flow, a
//! failed link that carries several subflows would take as many round trips to be left. Left out: paths that an operator
//! assigns; a path is an entropy here.

use super::{Balance, Entropy, Feedback, Start};
use crate::congestion::ConfigError;
use alloc::vec;
use alloc::vec::Vec;
use farspan_units::{Duration, Random, Time};

/// A subflow without an ACK for this part of the base round trip is silent (published code).
const SILENCE: f64 = 0.5;

/// Parameters of UnoLB.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Config {
    /// How many subflows a flow has, 1 to 1024; 10, as many as a coded block has packets (section 4.2).
    pub subflows: u32,
    /// How many entropies there are to draw from, 1 to 65536; 250 (published code; the paper gives none).
    pub entropies: u32,
    /// Where a subflow moves; `recent` (section 4.2). Published code: `fresh`.
    pub reroute: Reroute,
}

/// Which subflows move after a NACK or a time-out, and where to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Reroute {
    /// The subflow of the lost packet moves to the path of a random other one that had an ACK within a base round trip;
    /// if there is none, to a random entropy.
    Recent,
    /// Every subflow without an ACK for half a base round trip moves to a random entropy.
    Fresh,
}

impl Default for Config {
    fn default() -> Self {
        Self { subflows: 10, entropies: 250, reroute: Reroute::Recent }
    }
}

impl Config {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(1.0..=1024.0, "unolb", "subflows", f64::from(self.subflows))?;
        ConfigError::unless_in(1.0..=65536.0, "unolb", "entropies", f64::from(self.entropies))
    }
}

/// A subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Subflow {
    /// Its path; drawn when its first packet leaves.
    entropy: Option<Entropy>,
    /// When a packet of its path was last acknowledged.
    acked_at: Option<Time>,
    /// When it last moved.
    moved_at: Option<Time>,
}

/// UnoLB's state for one flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unolb {
    /// The subflows, in the order of their turns.
    subflows: Vec<Subflow>,
    /// Whose turn it is.
    index: usize,
    /// How many entropies there are to draw from.
    entropies: u32,
    /// Which subflows move, and where to.
    reroute: Reroute,
    /// Base round trip: a subflow moves at most once in it.
    base_rtt: Duration,
    /// Without an ACK for so long, a subflow is silent.
    silence: Duration,
}

impl Unolb {
    /// The path selector for one flow.
    #[must_use]
    pub fn new(config: &Config, start: &Start<'_>) -> Self {
        Self {
            subflows: vec![Subflow::default(); config.subflows as usize],
            index: 0,
            entropies: config.entropies,
            reroute: config.reroute,
            base_rtt: start.path.base_rtt,
            silence: start.path.base_rtt.mul_f64(SILENCE),
        }
    }

    fn draw(&self, random: &mut Random) -> Entropy {
        random.below(u64::from(self.entropies)) as Entropy
    }

    /// Procedure ONNACKORTIMEOUT of Algorithm 2.
    fn on_lost(&mut self, Feedback { now, entropy }: Feedback, random: &mut Random) {
        for i in 0..self.subflows.len() {
            let subflow = self.subflows[i];
            let affected = match self.reroute {
                Reroute::Recent => subflow.entropy == Some(entropy),
                Reroute::Fresh => subflow.acked_at.is_none_or(|at| now.since(at) > self.silence),
            };
            // Line 6: now - last_reroute > base_rtt.
            let free = subflow.moved_at.is_none_or(|at| now.since(at) > self.base_rtt);
            if affected && free {
                let target = self.target(now, entropy, random);
                self.subflows[i] = Subflow { entropy: Some(target), acked_at: None, moved_at: Some(now) };
            }
        }
    }

    /// Where a subflow moves from the path `lost`.
    fn target(&self, now: Time, lost: Entropy, random: &mut Random) -> Entropy {
        let recent = |s: &&Subflow| {
            s.entropy != Some(lost) && s.acked_at.is_some_and(|at| now.since(at) < self.base_rtt)
        };
        let good = match self.reroute {
            Reroute::Recent => self.subflows.iter().filter(recent).count(),
            Reroute::Fresh => 0,
        };
        if good == 0 {
            return self.draw(random);
        }
        let nth = random.below(good as u64) as usize;
        let chosen = self.subflows.iter().filter(recent).nth(nth).and_then(|s| s.entropy);
        chosen.unwrap_or_else(|| self.draw(random))
    }
}

impl Balance for Unolb {
    fn entropy(&mut self, _now: Time, random: &mut Random) -> Entropy {
        // Procedure ONSEND of Algorithm 2.
        let i = self.index;
        self.index = (i + 1) % self.subflows.len();
        let entropy = self.subflows[i].entropy.unwrap_or_else(|| self.draw(random));
        self.subflows[i].entropy = Some(entropy);
        entropy
    }

    fn wants_feedback(&self) -> bool {
        true
    }

    fn on_ack(&mut self, feedback: Feedback, _ecn_ce: bool, _random: &mut Random) {
        for subflow in self.subflows.iter_mut().filter(|s| s.entropy == Some(feedback.entropy)) {
            subflow.acked_at = Some(feedback.now);
        }
    }

    fn on_nack(&mut self, feedback: Feedback, random: &mut Random) {
        self.on_lost(feedback, random);
    }

    fn on_timeout(&mut self, feedback: Feedback, random: &mut Random) {
        self.on_lost(feedback, random);
    }
}
