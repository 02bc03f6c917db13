//! Conformance: the contract of controls, under random events of a flow.

use super::{path, wan_path};
use crate::congestion::*;
use crate::path::Path;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use farspan_units::{Bytes, Duration, FlowId, HopTelemetry, Purpose, Random, Rate, Telemetry, Time};

/// Sequences of events that a control must stand.
const SEQUENCES: u64 = 128;
/// The longest of them.
const LONGEST: u64 = 500;

/// An event of a flow. `nth` picks one of the packets in flight, the oldest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowEvent {
    /// Up to so many packets leave, as far as the window goes.
    Send(u64),
    /// The ACK of a packet in flight.
    Ack {
        /// The packet.
        nth: usize,
        /// Whether it came marked.
        marked: bool,
    },
    /// A second ACK for some packet.
    DuplicateAck {
        /// Whether it came marked.
        marked: bool,
    },
    /// A NACK for a packet in flight.
    Nack {
        /// The packet.
        nth: usize,
        /// Whether a port trimmed it.
        trimmed: bool,
    },
    /// A packet in flight is found lost.
    Loss {
        /// The packet.
        nth: usize,
    },
    /// A packet in flight times out.
    Timeout {
        /// The packet.
        nth: usize,
    },
    /// The receiver pulls so many packets more; the pull may come after a later one.
    Pull {
        /// How many.
        packets: u32,
        /// Whether it repeats the count before instead.
        old: bool,
    },
    /// A CNP.
    Cnp,
    /// The control's timer.
    Timer,
    /// Nothing, for so many picoseconds.
    Wait(u64),
}

impl FlowEvent {
    /// The event of the oldest packet in flight.
    const fn of_the_oldest(self) -> Self {
        match self {
            Self::Ack { marked, .. } => Self::Ack { nth: 0, marked },
            Self::Nack { trimmed, .. } => Self::Nack { nth: 0, trimmed },
            Self::Loss { .. } => Self::Loss { nth: 0 },
            Self::Timeout { .. } => Self::Timeout { nth: 0 },
            other => other,
        }
    }

    /// A random one; sends, ACKs and short waits are frequent.
    fn draw(random: &mut Random) -> Self {
        let marked = random.below(2) == 1;
        let mut nth = |below| random.below(below) as usize;
        match nth(32) {
            0..8 => Self::Send(1 + random.below(49)),
            8..16 => Self::Ack { nth: nth(5), marked },
            16 => Self::DuplicateAck { marked },
            17 => Self::Nack { nth: nth(100), trimmed: marked },
            18 => Self::Loss { nth: nth(100) },
            19 => Self::Timeout { nth: nth(100) },
            20 => Self::Timer,
            21 => Self::Pull { packets: 1 + nth(3) as u32, old: marked },
            22 => Self::Cnp,
            23..31 => Self::Wait(random.below(30_000_000)),
            _ => Self::Wait(random.below(100_000_000_000)),
        }
    }
}

/// A breach of the contract, with a sequence of events that leads to it, shortened event by event.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{control}, {} path, first window {initial_cwnd}: {problem}; after {events:?}", .path.class.name())]
pub struct Violation {
    /// The control, by name.
    pub control: String,
    /// The path of the flow.
    pub path: Box<Path>,
    /// Its first window.
    pub initial_cwnd: Bytes,
    /// The events, the last of which shows it.
    pub events: Vec<FlowEvent>,
    /// The rule that does not hold, in words.
    pub problem: String,
}

/// Checks a control against the contract of [`Congestion`], under random sequences of events on three paths: windows and
/// rates are sound, neither a NACK nor a CNP widens the window or the allowance, a CNP raises no rate, a packet spends allowance, the decision returned is the current one, the first window is the
/// scenario's, and the same events give the same decisions.
///
/// # Errors
/// The first breach found.
pub fn conforms(config: &CongestionConfig) -> Result<(), Violation> {
    within(config, |_, _| None)
}

/// [`conforms`], and no window exceeds what `cap` gives for a path and a first window.
fn within(
    config: &CongestionConfig,
    cap: fn(&CongestionConfig, &Trial) -> Option<Bytes>,
) -> Result<(), Violation> {
    for initial_cwnd in [Bytes::new(40_960), path().bdp] {
        let trial = Trial { path: path(), initial_cwnd };
        let decision = TrialSender::new(config, &trial).control.decision();
        let first = match decision {
            Decision { cwnd, allowance: Some(allowance), .. } => cwnd.min(allowance),
            // Without a window, it is what leaves in a base round trip, to the byte.
            Decision { cwnd: Bytes::MAX, pacing_rate: Some(rate), .. } => rate.bytes_in(trial.path.base_rtt),
            Decision { cwnd, .. } => cwnd,
        };
        if first.get().abs_diff(initial_cwnd.get()) > 1 {
            return Err(trial.violation(config, &[], format!("it starts with a window of {first}")));
        }
    }
    for sequence in 0..SEQUENCES {
        let mut random = Random::new(1, Purpose::Test, sequence);
        let trial = Trial::draw(&mut random);
        let length = random.below(LONGEST);
        let mut events: Vec<FlowEvent> = (0..length).map(|_| FlowEvent::draw(&mut random)).collect();
        let cap = cap(config, &trial);
        if let Err((last, _)) = trial.run(config, &events, cap) {
            events.truncate(last + 1);
            return Err(trial.shortest(config, events, cap));
        }
    }
    Ok(())
}

/// The flow that meets the events.
struct Trial {
    path: Path,
    initial_cwnd: Bytes,
}

impl Trial {
    fn draw(random: &mut Random) -> Self {
        let path = [path(), wan_path(), slow_path()][random.below(3) as usize];
        let initial_cwnd = Bytes::new([1, 40_960, 175_344, 1 << 30][random.below(4) as usize]);
        Self { path, initial_cwnd }
    }

    /// Lets the events happen to two flows alike; the error is the position of one after which something does not hold,
    /// and what.
    fn run(
        &self,
        config: &CongestionConfig,
        events: &[FlowEvent],
        cap: Option<Bytes>,
    ) -> Result<(), (usize, String)> {
        let mut sender = TrialSender::new(config, self);
        let mut twin = TrialSender::new(config, self);
        for (i, &event) in events.iter().enumerate() {
            let before = sender.control.decision();
            let returned = sender.step(event).map_err(|problem| (i, problem))?;
            let again = twin.step(event).map_err(|problem| (i, problem))?;
            let fail = |problem: &str| Err((i, problem.to_string()));
            if returned != again || sender.control.decision() != twin.control.decision() {
                return fail("the same events gave two decisions");
            }
            if returned.is_some_and(|returned| returned != sender.control.decision()) {
                return fail("the event returned another decision than the current one");
            }
            let after = sender.control.decision();
            let name = match event {
                FlowEvent::Nack { .. } => "NACK",
                FlowEvent::Cnp => "CNP",
                _ => "",
            };
            if !name.is_empty() && (after.cwnd > before.cwnd || after.allowance > before.allowance) {
                return fail(&format!("a {name} widened the window"));
            }
            let rate = |decision: Decision| decision.pacing_rate.map_or(u64::MAX, Rate::as_bps);
            if event == FlowEvent::Cnp && rate(after) > rate(before) {
                return fail("a CNP raised the rate");
            }
            sender.sound(cap).map_err(|problem| (i, problem))?;
        }
        Ok(())
    }

    /// The violation that these events lead to, without those that it does not need.
    fn shortest(
        &self,
        config: &CongestionConfig,
        mut events: Vec<FlowEvent>,
        cap: Option<Bytes>,
    ) -> Violation {
        // Values first: an event of the oldest packet needs fewer before it.
        for i in 0..events.len() {
            let mut simpler = events.clone();
            simpler[i] = simpler[i].of_the_oldest();
            if self.run(config, &simpler, cap).is_err_and(|(last, _)| last + 1 == events.len()) {
                events = simpler;
            }
        }
        let mut i = events.len();
        while i > 0 {
            i -= 1;
            let mut fewer = events.clone();
            fewer.remove(i);
            if let Err((last, _)) = self.run(config, &fewer, cap) {
                fewer.truncate(last + 1);
                // Events after it may be needless without it.
                i = fewer.len();
                events = fewer;
            }
        }
        let problem = self.run(config, &events, cap).err().map(|(_, problem)| problem);
        self.violation(config, &events, problem.unwrap_or_default())
    }

    fn violation(&self, config: &CongestionConfig, events: &[FlowEvent], problem: String) -> Violation {
        let (path, initial_cwnd) = (Box::new(self.path), self.initial_cwnd);
        Violation { control: config.name().to_string(), path, initial_cwnd, events: events.to_vec(), problem }
    }
}

/// A packet in flight.
#[derive(Clone, Copy)]
struct Packet {
    sent_at: Time,
    record: SendRecord,
}

/// A sender that believes its control.
struct TrialSender {
    control: Control,
    path: Path,
    now: Time,
    flight: Vec<Packet>,
    delivered: Bytes,
    pulled: u32,
    /// The ports of its path.
    hops: [HopTelemetry; 2],
}

impl TrialSender {
    fn new(config: &CongestionConfig, &Trial { path, initial_cwnd }: &Trial) -> Self {
        let start = Start { path: &path, size: Bytes::MAX, initial_cwnd, seed: 1, flow: FlowId(3) };
        let control = config.build(&start);
        Self {
            control,
            path,
            now: Time::ZERO,
            flight: Vec::new(),
            delivered: Bytes::ZERO,
            pulled: 0,
            hops: [HopTelemetry::default(); 2],
        }
    }

    /// Time passes; a timer that the control asked for comes up.
    fn pass(&mut self, until: Time) {
        self.now = self.now.max(until);
        if self.control.decision().next_timer.is_some_and(|at| at < self.now) {
            self.control.on_timer(self.now);
        }
    }

    fn in_flight(&self) -> Bytes {
        self.path.mss * self.flight.len() as u64
    }

    /// Sends up to so many packets, as far as the window goes; gives the last decision.
    fn send(&mut self, packets: u64) -> Result<Decision, String> {
        for _ in 0..packets {
            if self.in_flight() >= self.control.decision().open_window() {
                break;
            }
            let record = SendRecord {
                in_flight: self.in_flight() + self.path.mss,
                cwnd: self.control.decision().open_window(),
                delivered: self.delivered,
                ..SendRecord::default()
            };
            self.flight.push(Packet { sent_at: self.now, record });
            let in_flight = self.in_flight();
            let sent = Sent { now: self.now, bytes: self.path.mss, in_flight, retransmission: false };
            let before = self.control.decision();
            let decision = self.control.on_sent(&sent);
            // A sender does not notify it of an event that it does not ask for.
            if !self.control.wants_sent() && decision != before {
                return Err("on_sent changed the decision, and wants_sent says no".to_string());
            }
            let spent = |allowance: Bytes| allowance.saturating_sub(self.path.mss);
            if decision.allowance > before.allowance.map(spent) {
                return Err("a packet left and spent no allowance".to_string());
            }
            self.pass(self.now + self.path.packet_time());
        }
        Ok(self.control.decision())
    }

    fn ack(&mut self, packet: Packet, bytes_acked: Bytes, ecn_ce: bool) -> Decision {
        // No round trip is shorter than the base.
        self.pass(packet.sent_at + self.path.base_rtt);
        self.delivered += bytes_acked;
        self.stamp();
        let mut telemetry: Telemetry = self.hops.into_iter().collect();
        telemetry.received_at = Some(packet.sent_at + self.path.base_rtt / 2);
        self.control.on_ack(&Ack {
            now: self.now,
            bytes_acked,
            acked_packets: 1,
            ecn_ce,
            rtt: self.now - packet.sent_at,
            sent_at: packet.sent_at,
            in_flight: self.in_flight(),
            delivered: self.delivered,
            at_send: self.control.wants_send_record().then_some(packet.record),
            telemetry: Some(&telemetry),
        })
    }

    /// The ports go on since the last ACK: a fast one, without a queue, and one that carries this flow and half as much
    /// besides, with several times in its queue what is in flight.
    fn stamp(&mut self) {
        let Path { line_rate, .. } = self.path;
        let elapsed = self.now - self.hops[0].at;
        let sent = [line_rate.bytes_in(elapsed), line_rate.bytes_in(elapsed) / 2];
        let queued = [Bytes::ZERO, self.in_flight() * (self.delivered.get() % 7)];
        for (i, rate) in [line_rate.mul_f64(4.0), line_rate].into_iter().enumerate() {
            let sent = self.hops[i].sent + sent[i];
            self.hops[i] = HopTelemetry { at: self.now, sent, queued: queued[i], rate };
        }
    }

    /// Makes an event happen, if it can; gives the decision that the control returned.
    fn step(&mut self, event: FlowEvent) -> Result<Option<Decision>, String> {
        let (now, bytes) = (self.now, self.path.mss);
        let mut taken = |nth: usize| (nth < self.flight.len()).then(|| self.flight.remove(nth));
        let packet = match event {
            FlowEvent::Ack { nth, .. }
            | FlowEvent::Nack { nth, .. }
            | FlowEvent::Loss { nth }
            | FlowEvent::Timeout { nth } => taken(nth),
            _ => Some(Packet { sent_at: now, record: SendRecord::default() }),
        };
        let Some(packet) = packet else { return Ok(None) };
        let (sent_at, in_flight) = (packet.sent_at, self.in_flight());
        Ok(Some(match event {
            FlowEvent::Send(packets) => self.send(packets)?,
            FlowEvent::Ack { marked, .. } => self.ack(packet, bytes, marked),
            FlowEvent::DuplicateAck { marked } => self.ack(packet, Bytes::ZERO, marked),
            FlowEvent::Nack { trimmed, .. } => {
                self.control.on_nack(&Nack { now, bytes, sent_at, in_flight, trimmed })
            }
            FlowEvent::Loss { .. } => self.control.on_loss(&Loss { now, bytes, sent_at, in_flight }),
            FlowEvent::Timeout { .. } => {
                let rto = self.path.base_rtt + self.path.max_queueing;
                self.control.on_timeout(&Timeout { now, bytes, sent_at, in_flight, rto })
            }
            FlowEvent::Timer => self.control.on_timer(now),
            FlowEvent::Pull { packets, old } => {
                self.pulled += if old { 0 } else { packets };
                self.control.on_pull(&Pull { now, count: self.pulled, in_flight })
            }
            FlowEvent::Cnp => self.control.on_cnp(&Cnp { now, in_flight }),
            FlowEvent::Wait(ps) => {
                self.pass(now + Duration::from_ps(ps));
                return Ok(None);
            }
        }))
    }

    /// Whether the current decision is one that a sender can obey.
    fn sound(&self, cap: Option<Bytes>) -> Result<(), String> {
        let decision = self.control.decision();
        let floor = self.control.floor().bytes(self.path.mss);
        if decision.cwnd < floor {
            return Err(format!("a window of {}, below the floor of {floor}", decision.cwnd));
        }
        if let Some(cap) = cap.filter(|cap| decision.cwnd > *cap) {
            return Err(format!("a window of {}, above the documented {cap}", decision.cwnd));
        }
        if decision.pacing_rate.is_some_and(|rate| rate.is_zero() || rate == Rate::from_bps(u64::MAX)) {
            return Err("a pacing rate of zero, or without bound".to_string());
        }
        if decision.next_timer.is_some_and(|at| at < self.now) {
            return Err("a timer in the past".to_string());
        }
        Ok(())
    }
}

/// A slow path, whose bandwidth-delay product is less than a packet.
fn slow_path() -> Path {
    let line_rate = Rate::from_bps(1_000_000);
    let base_rtt = Duration::from_ms(20);
    Path { line_rate, base_rtt, bdp: line_rate.bytes_in(base_rtt), ..path() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every control with its defaults, and those with a second published parameterisation with that.
    fn configs() -> impl Iterator<Item = CongestionConfig> {
        NAMES
            .iter()
            .map(|name| CongestionConfig::by_name(name).expect("a name of the registry"))
            .chain(testing::published())
    }

    /// The largest window that a control documents, if it does.
    fn cap(config: &CongestionConfig, trial: &Trial) -> Option<Bytes> {
        let Trial { path, initial_cwnd } = trial;
        let bdp = path.bdp.max(path.mss);
        match config {
            CongestionConfig::FixedWindow(_) => Some((*initial_cwnd).max(path.mss)),
            CongestionConfig::Smartt(_) | CongestionConfig::Nscc(_) => {
                Some((*initial_cwnd).max(path.mss).max(path.bdp * 3 / 2))
            }
            CongestionConfig::Hpcc(_)
            | CongestionConfig::Poseidon(_)
            | CongestionConfig::Oscar(_)
            | CongestionConfig::Powertcp(_)
            | CongestionConfig::ThetaPowertcp(_)
            | CongestionConfig::Swift(swift::SwiftConfig { cap: swift::LargestWindow::Bdp, .. }) => {
                Some((*initial_cwnd).max(bdp))
            }
            CongestionConfig::Swift(swift::SwiftConfig { base_target, .. }) => {
                let target = path.line_rate.bytes_in(path.base_rtt + *base_target);
                Some((*initial_cwnd).max(target).max(path.mss))
            }
            CongestionConfig::Unocc(_) => Some(bdp),
            CongestionConfig::Gemini(gemini::GeminiConfig { cap, .. })
            | CongestionConfig::Mprdma(mprdma::MprdmaConfig { cap, .. })
            | CongestionConfig::Bbr(bbr::BbrConfig { cap, .. }) => (*cap == Cap::Bdp).then_some(bdp),
            _ => None,
        }
    }

    #[test]
    fn every_name_builds_the_control_of_that_name_with_valid_defaults() {
        for name in NAMES {
            let config = CongestionConfig::by_name(name).expect("a name of the registry");
            assert_eq!(config.name(), *name);
            assert_eq!(config.check(), Ok(()));
        }
        assert!(ENTRIES.iter().map(|entry| entry.name).eq(NAMES.iter().copied()));
        assert_eq!(CongestionConfig::by_name("no such"), None);
    }

    /// The windows and rates of a flow that sends what it may and gets an ACK a microsecond, a round trip after each packet,
    /// and, of marked packets, a CNP each 50 us.
    fn windows(config: &CongestionConfig, marked: bool) -> Vec<(Bytes, Rate)> {
        let path = path();
        let mut sender = TrialSender::new(config, &Trial { path, initial_cwnd: path.bdp });
        let mut step = |event| sender.step(event).unwrap();
        let mut windows = Vec::new();
        for us in 0..2000 {
            step(FlowEvent::Send(50));
            step(FlowEvent::Wait(1_000_000));
            if marked && us % 50 == 0 && config.cnps().is_some() {
                step(FlowEvent::Cnp);
            }
            let both = |decision: Decision| {
                (decision.cwnd, decision.pacing_rate.unwrap_or(Rate::from_bps(u64::MAX)))
            };
            windows.extend(step(FlowEvent::Ack { nth: 0, marked }).map(both));
        }
        windows
    }

    #[test]
    fn a_control_that_needs_marks_obeys_them_and_others_do_not_look_at_them() {
        for config in configs() {
            let [marked, plain] = [true, false].map(|marked| windows(&config, marked));
            assert!(!plain.is_empty(), "{}", config.name());
            match config.ecn() {
                Ecn::Ignored => assert_eq!(marked, plain, "{}", config.name()),
                Ecn::Required => {
                    let (marked, plain) = (marked.last(), plain.last());
                    assert!(marked < plain, "{}: {marked:?}, and {plain:?} without marks", config.name());
                }
            }
        }
    }

    #[test]
    fn every_control_keeps_the_contract() {
        for config in configs() {
            within(&config, cap).unwrap();
        }
    }

    #[test]
    fn a_control_from_elsewhere_is_called_like_a_built_in_one() {
        struct Doubling(Decision);
        impl Congestion for Doubling {
            fn decision(&self) -> Decision {
                self.0
            }
            fn on_ack(&mut self, _ack: &Ack) -> Decision {
                self.0.cwnd = self.0.cwnd * 2;
                self.0
            }
            fn wants_send_record(&self) -> bool {
                true
            }
        }
        let decision = Decision::window(Bytes::new(4096));
        let mut control = Control::Custom(Box::new(Box::new(Doubling(decision))));
        assert!(control.wants_send_record());
        assert_eq!(control.floor(), Floor::OnePacket, "unless it says otherwise");
        assert_eq!(
            control.on_ack(&testing::AckStream::new(&testing::start()).next(false)).cwnd,
            Bytes::new(8192)
        );
        assert_eq!(control.on_timer(Time::ZERO), control.decision());
    }

    /// A control that adds a packet with each ACK and does one thing that it must not.
    #[derive(Clone, Copy)]
    enum Wrong {
        /// A window of half a packet after a loss.
        Small,
        /// A wider window after a NACK.
        Greedy,
        /// A rate of zero after a time-out.
        Stuck,
        /// Another decision returned than kept.
        TwoFaced,
        /// A packet too much to start with.
        Early,
        /// A packet more for what it does not want to be told.
        Deaf,
    }

    impl Factory for Wrong {
        fn name(&self) -> &'static str {
            "wrong"
        }

        fn control(&self, start: &Start<'_>) -> Box<dyn Congestion + Send> {
            let extra = if matches!(self, Self::Early) { start.path.mss } else { Bytes::ZERO };
            let cwnd = start.initial_cwnd.max(start.path.mss) + extra;
            Box::new(WrongFlow(*self, Decision::window(cwnd)))
        }
    }

    struct WrongFlow(Wrong, Decision);

    impl Congestion for WrongFlow {
        fn decision(&self) -> Decision {
            self.1
        }

        fn wants_sent(&self) -> bool {
            !matches!(self.0, Wrong::Deaf)
        }

        fn on_sent(&mut self, sent: &Sent) -> Decision {
            if matches!(self.0, Wrong::Deaf) {
                self.1.cwnd += sent.bytes;
            }
            self.1
        }

        fn on_ack(&mut self, ack: &Ack) -> Decision {
            self.1.cwnd += ack.bytes_acked;
            match self.0 {
                Wrong::TwoFaced => Decision { pacing_rate: Some(Rate::from_gbps(1)), ..self.1 },
                _ => self.1,
            }
        }

        fn on_nack(&mut self, nack: &Nack) -> Decision {
            if matches!(self.0, Wrong::Greedy) {
                self.1.cwnd += nack.bytes;
            }
            self.1
        }

        fn on_loss(&mut self, loss: &Loss) -> Decision {
            if matches!(self.0, Wrong::Small) {
                self.1.cwnd = Bytes::new(loss.bytes.get() / 2);
            }
            self.1
        }

        fn on_timeout(&mut self, _timeout: &Timeout) -> Decision {
            if matches!(self.0, Wrong::Stuck) {
                self.1.pacing_rate = Some(Rate::from_bps(0));
            }
            self.1
        }
    }

    #[test]
    fn a_breach_is_found_and_told_by_the_fewest_events() {
        for (wrong, problem, most) in [
            (Wrong::Small, "below the floor of 4KiB", 4),
            (Wrong::Greedy, "a NACK widened the window", 4),
            (Wrong::Stuck, "a pacing rate of zero", 4),
            (Wrong::TwoFaced, "another decision than the current one", 1),
            (Wrong::Early, "it starts with a window of", 0),
            (Wrong::Deaf, "wants_sent says no", 1),
        ] {
            let violation = conforms(&CongestionConfig::Custom(Custom::new(wrong))).unwrap_err();
            let said = violation.to_string();
            assert!(said.contains(problem), "{said}");
            assert!(violation.events.len() <= most, "{said}");
        }
    }
}
