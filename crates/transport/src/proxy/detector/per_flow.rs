//! Losses by the numbers that packets have in their flow, under spraying.
//!
//! Packets that take different paths overtake each other, so a gap may close again. After RACK (RFC 8985, section 6.2) a
//! missing packet is lost when
//!
//! - three later ones have arrived, and the first of them did so a [wait](PerFlow::wait) ago, which follows from the
//!   reordering that the flow has shown; or
//! - one later packet has arrived, and a wait and at least `initial_wait` have passed since; or
//! - the window has left it behind.
//!
//! Lower packets meet these before higher ones, so packets are declared lost in order, and one bit a packet is enough: below
//! the first packet that is not settled a clear bit is a declared loss, above it one that may still come.
//!
//! Left out: packets that the network duplicates. The second one of a packet below the window counts as a false loss.
//!
//! Its page: `docs/src/schemes/loss-detector.md`.

use super::arrivals::ArrivalMap;
use super::reordering::Reordering;
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::boxed::Box;
use farspan_units::{Bytes, Duration, Time};

/// Later packets that show a loss without reordering (DupThresh, RFC 5681).
const DUP_THRESH: u32 = 3;

/// The longest wait that can be asked for.
const LONGEST_WAIT: Duration = Duration::from_ms(1000);
/// Where it does not follow from a path, and at least: so many packets in the window, so long a wait.
const WINDOW: u32 = 1024;
const MAX_WAIT: Duration = Duration::from_ms(1);
/// The largest window, in packets.
const LARGEST_WINDOW: u32 = 1 << 16;

/// Parameters of the numbering per flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct PerFlowConfig {
    /// How many packets the window holds, a power of two from 64 to 65536; left out: what the path from the sender takes in a round
    /// trip and `max_wait`, at least 1024.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub window: Option<u32>,
    /// After so many later packets a missing one is lost, 1 to half of the window; left out: it follows from the
    /// reordering. 3 is TCP's threshold (RFC 5681).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub fixed: Option<u32>,
    /// How long a missing packet is waited for before the flow has shown its reordering, and at least if only one or two
    /// later ones have come, at most `max_wait`; 10 us, about a base round trip of a datacenter. A proxy can give the
    /// [wait](PerFlow::wait) of another flow.
    pub initial_wait: Duration,
    /// The longest wait for a missing packet, at most 1 s; left out: as long as the full buffers of the path from the sender take, at
    /// least 1 ms. While links have their rates no packet is overtaken by more.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub max_wait: Option<Duration>,
}

impl Default for PerFlowConfig {
    fn default() -> Self {
        Self { window: None, fixed: None, initial_wait: Duration::from_us(10), max_wait: None }
    }
}

impl PerFlowConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let within = |range, name, value| ConfigError::unless_in(range, "gap-flow", name, value);
        let time = |most, name, value, cure| ConfigError::unless_at_most(most, "gap-flow", name, value, cure);
        let window = self.window.unwrap_or(WINDOW);
        within(64.0..=f64::from(LARGEST_WINDOW), "window", f64::from(window))?;
        let (valid, effect) = (window.is_power_of_two(), "is not a power of two");
        ConfigError::unless_meaningful(valid, "gap-flow", "window", &window, effect, "1024 or 4096")?;
        if let Some(fixed) = self.fixed {
            within(1.0..=f64::from(window / 2), "fixed", f64::from(fixed))?;
        }
        let max_wait = self.max_wait.unwrap_or(MAX_WAIT);
        time(LONGEST_WAIT, "max_wait", max_wait, "leave it out")?;
        time(max_wait, "initial_wait", self.initial_wait, "give a longer max_wait")
    }

    /// Window and longest wait, where they are left out, follow from this path from the sender.
    #[must_use]
    pub fn behind(self, path: &Path) -> Self {
        let max_wait = self.max_wait.unwrap_or_else(|| path.max_queueing.clamp(MAX_WAIT, LONGEST_WAIT));
        let window = self.window.unwrap_or_else(|| {
            let packets = path.line_rate.bytes_in(path.base_rtt + max_wait).segments(path.mtu());
            let packets = packets.clamp(u64::from(WINDOW), u64::from(LARGEST_WINDOW));
            u32::try_from(packets.next_power_of_two()).unwrap_or(LARGEST_WINDOW)
        });
        Self { window: Some(window), max_wait: Some(max_wait), ..self }
    }
}

/// When a missing packet is lost.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Rule {
    /// After so many later packets.
    Fixed(u32),
    /// After the time that the flow's reordering asks for.
    Adaptive(Box<Reordering>),
}

/// The proxy's state for one flow whose packets carry their number in the flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PerFlow {
    arrived: ArrivalMap,
    /// Each packet below has arrived or was declared lost.
    settled: u32,
    /// How many packets from `settled` on have arrived.
    later: u32,
    /// Packets that were declared lost and arrived after all.
    false_losses: u32,
    /// All packets of the burst were sent: nothing later is to be expected.
    ended: bool,
    rule: Rule,
}

impl PerFlow {
    /// The detector of a flow that has sent nothing; packets begin at 0.
    #[must_use]
    pub fn new(config: &PerFlowConfig) -> Self {
        let max_wait = config.max_wait.unwrap_or(MAX_WAIT);
        let adaptive = || Rule::Adaptive(Box::new(Reordering::new(config.initial_wait, max_wait)));
        Self {
            arrived: ArrivalMap::new(config.window.unwrap_or(WINDOW)),
            settled: 0,
            later: 0,
            false_losses: 0,
            ended: false,
            rule: config.fixed.map_or_else(adaptive, Rule::Fixed),
        }
    }

    /// A packet has come: returns the packets that are lost by now, in order. What is left of the iterator when it is
    /// dropped counts as declared.
    ///
    /// Retransmissions are ignored, and so is packet `u32::MAX`.
    pub fn on_packet(&mut self, now: Time, seq: u32, is_retransmission: bool) -> LostSeqs<'_> {
        let is_of_use = !is_retransmission && seq < u32::MAX;
        LostSeqs { now, step: is_of_use.then_some(Step::Packet(seq)), detector: self }
    }

    /// All packets before `next_seq` were sent, and no more for now: returns those that are lost. Those that are missing
    /// are lost after the [wait](Self::wait), or at once where the rule is `fixed`.
    pub fn on_end(&mut self, now: Time, next_seq: u32) -> LostSeqs<'_> {
        LostSeqs { now, step: Some(Step::End(next_seq)), detector: self }
    }

    /// When to call [`Self::on_timeout`], if nothing else comes before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let is_missing = self.settled < self.arrived.end();
        self.due_at().filter(|_| is_missing)
    }

    /// A time has come: returns the packets that are lost by now, in order.
    pub fn on_timeout(&mut self, now: Time) -> LostSeqs<'_> {
        LostSeqs { now, step: None, detector: self }
    }

    /// How long a missing packet is waited for at present, from the arrival of the first later one on, if three have come.
    #[must_use]
    pub fn wait(&self) -> Duration {
        match &self.rule {
            Rule::Fixed(_) => Duration::ZERO,
            Rule::Adaptive(reordering) => reordering.wait(),
        }
    }

    /// How many packets were declared lost and arrived after all.
    #[must_use]
    pub const fn false_losses(&self) -> u32 {
        self.false_losses
    }

    /// Whether all packets of the burst were sent, as far as is known.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.ended
    }

    /// Memory that the state takes.
    #[must_use]
    pub fn state_bytes(&self) -> Bytes {
        let rule = match &self.rule {
            Rule::Fixed(_) => 0,
            Rule::Adaptive(_) => size_of::<Reordering>(),
        };
        Bytes::new((size_of::<Self>() + self.arrived.heap_bytes() + rule) as u64)
    }

    /// When the first packet that is not settled is lost by the rule; `None`: not by time.
    fn due_at(&self) -> Option<Time> {
        match &self.rule {
            Rule::Fixed(packets) => (self.ended || self.later >= *packets).then_some(Time::ZERO),
            Rule::Adaptive(reordering) => {
                let is_sure = self.ended || self.later >= DUP_THRESH;
                let wait = if is_sure { reordering.wait() } else { reordering.long_wait() };
                Some(reordering.overtaken_at(self.settled).saturating_add(wait))
            }
        }
    }

    /// Settles the next packet; returns it if it is lost.
    fn settle(&mut self) -> Option<u32> {
        let seq = self.settled;
        self.settled += 1;
        if self.arrived.contains(seq) {
            self.later -= 1;
            return None;
        }
        Some(seq)
    }

    /// The next packet that a window up to `end` leaves behind without it.
    fn leave_behind(&mut self, end: u32) -> Option<u32> {
        while self.settled < self.arrived.start_of(end) {
            if let Some(lost) = self.settle() {
                return Some(lost);
            }
        }
        None
    }

    /// The next packet that is lost by the rule.
    fn declare(&mut self, now: Time) -> Option<u32> {
        while self.settled < self.arrived.end() {
            let has_arrived = self.arrived.contains(self.settled);
            if !has_arrived && self.due_at().is_none_or(|at| at > now) {
                return None;
            }
            if let Some(lost) = self.settle() {
                return Some(lost);
            }
        }
        None
    }

    /// Notes a packet, after [`Self::leave_behind`].
    fn note_packet(&mut self, now: Time, seq: u32) {
        let is_highest = seq >= self.arrived.end();
        if is_highest {
            self.ended = false;
            self.arrived.advance(seq + 1);
        }
        let is_in_window = seq >= self.arrived.start_of(self.arrived.end());
        if is_in_window && !self.arrived.insert(seq) {
            return;
        }
        let is_false_loss = seq < self.settled;
        self.later += u32::from(!is_false_loss);
        self.false_losses = self.false_losses.saturating_add(u32::from(is_false_loss));
        let Rule::Adaptive(reordering) = &mut self.rule else { return };
        if is_highest {
            reordering.note_end(now, seq + 1);
        } else {
            reordering.note_reordered(now, seq);
        }
        reordering.decay();
    }

    /// Notes the end of a burst, after [`Self::leave_behind`].
    fn note_end(&mut self, now: Time, next_seq: u32) {
        let is_known = self.ended && next_seq == self.arrived.end();
        if next_seq < self.arrived.end() || is_known {
            return;
        }
        self.ended = true;
        if let Rule::Adaptive(reordering) = &mut self.rule {
            reordering.push(now, next_seq);
        }
        self.arrived.advance(next_seq);
    }

    /// Moves on to a window up to `end` at once, if it shares no packet with this one.
    fn jump(&mut self, end: u32) {
        let start = self.arrived.start_of(end);
        if start >= self.arrived.end() {
            (self.settled, self.later) = (self.settled.max(start), 0);
        }
    }
}

/// News that a detector has still to note before it looks for losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// A packet.
    Packet(u32),
    /// The end of a burst before this packet.
    End(u32),
}

impl Step {
    /// Where the window ends with it.
    const fn end(self) -> u32 {
        match self {
            Self::Packet(seq) => seq + 1,
            Self::End(seq) => seq,
        }
    }
}

/// Packets of a flow that are lost, in order.
#[derive(Debug)]
pub struct LostSeqs<'a> {
    detector: &'a mut PerFlow,
    now: Time,
    step: Option<Step>,
}

impl LostSeqs<'_> {
    fn take_step(&mut self) {
        match self.step.take() {
            Some(Step::Packet(seq)) => self.detector.note_packet(self.now, seq),
            Some(Step::End(seq)) => self.detector.note_end(self.now, seq),
            None => {}
        }
    }
}

impl Iterator for LostSeqs<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if let Some(step) = self.step {
            let behind = self.detector.leave_behind(step.end());
            if behind.is_some() {
                return behind;
            }
            self.take_step();
        }
        self.detector.declare(self.now)
    }
}

impl Drop for LostSeqs<'_> {
    fn drop(&mut self) {
        if let Some(step) = self.step {
            self.detector.jump(step.end());
        }
        while self.next().is_some() {}
    }
}
