//! Conformance: the contract of controls, under random events of a flow.

use super::trial::{Asked, FlowEvent, TrialSender};
use super::{path, wan_path};
use crate::congestion::*;
use crate::path::Path;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use farspan_units::{Bytes, Duration, FlowId, Purpose, Random, Rate};

/// Sequences of events that a control must stand.
const SEQUENCES: u64 = 128;
/// The longest of them.
const LONGEST: u64 = 500;

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
/// rates are sound, neither a NACK nor a CNP nor an idle time widens the window or the allowance, a CNP raises no rate, a packet spends
/// allowance, the decision returned is the current one, the first window is the scenario's, the same events give the same
/// decisions, and so they do with signals that its [`Needs`] do not name; [`Congestion::lower`] lowers a window if there is one, as the
/// needs say; who falls for the NACK of a trimmed packet falls for that of a packet which a proxy found lost.
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
        let decision = trial.sender(config, &[]).control.decision();
        let (first, asked) = match decision {
            Decision { cwnd, allowance: Some(allowance), .. } => (cwnd.min(allowance), initial_cwnd),
            // Without a window, it is what leaves in a base round trip, to the byte, headers and all.
            Decision { cwnd: Bytes::MAX, pacing_rate: Some(rate), .. } => {
                (rate.bytes_in(trial.path.base_rtt), trial.start().cwnd_on_wire())
            }
            Decision { cwnd, .. } => (cwnd, initial_cwnd),
        };
        if first.get().abs_diff(asked.get()) > 1 {
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
        if let Err(problem) = trial.lower(config, &events, Bytes::new(random.below(300_000))) {
            return Err(trial.violation(config, &events, problem));
        }
        if let Err(problem) = trial.nacks(config, &events) {
            return Err(trial.violation(config, &events, problem));
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

    fn start(&self) -> Start<'_> {
        let (path, initial_cwnd) = (&self.path, self.initial_cwnd);
        Start { path, size: Bytes::MAX, initial_cwnd, active_flows: 0, seed: 1, flow: FlowId(3) }
    }

    /// The flow's sender; its control gets the signals that it asks for, and `more`.
    fn sender(&self, config: &CongestionConfig, more: &[Asked]) -> TrialSender {
        TrialSender::new(config, &self.path, self.initial_cwnd, more)
    }

    /// Lets the events happen to two flows alike, and to one that gets every signal; the error is the position of one after
    /// which something does not hold, and what.
    fn run(
        &self,
        config: &CongestionConfig,
        events: &[FlowEvent],
        cap: Option<Bytes>,
    ) -> Result<(), (usize, String)> {
        let mut sender = self.sender(config, &[]);
        let mut twin = self.sender(config, &[]);
        let mut laden = self.sender(config, &Asked::ALL);
        for (i, &event) in events.iter().enumerate() {
            let before = sender.control.decision();
            let returned = sender.step(event).map_err(|problem| (i, problem))?;
            let again = twin.step(event).map_err(|problem| (i, problem))?;
            let fail = |problem: &str| Err((i, problem.to_string()));
            if returned != again || sender.control.decision() != twin.control.decision() {
                return fail("the same events gave two decisions");
            }
            laden.step(event).map_err(|problem| (i, problem))?;
            if laden.control.decision() != sender.control.decision() {
                let read = self.reads(config, &events[..=i]);
                return fail(&format!("it reads what its needs do not name: {}", read.join(", ")));
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
            let is_returned = matches!(event, FlowEvent::Nack { cause: NackCause::Returned, .. });
            let back = if is_returned { self.path.mss } else { Bytes::ZERO };
            let most = before.allowance.map(|allowance| allowance + back);
            if !name.is_empty() && (after.cwnd > before.cwnd || after.allowance > most) {
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

    /// Lowers the window after the events; the error says what does not hold.
    fn lower(&self, config: &CongestionConfig, events: &[FlowEvent], most: Bytes) -> Result<(), String> {
        let mut sender = self.sender(config, &[]);
        events.iter().try_for_each(|event| sender.step(*event).map(drop))?;
        // Without a window, it is what leaves in a base round trip.
        let window = |decision: Decision| match decision {
            Decision { cwnd: Bytes::MAX, pacing_rate: Some(rate), .. } => rate.bytes_in(self.path.base_rtt),
            Decision { cwnd, .. } => cwnd,
        };
        let before = window(sender.control.decision());
        let returned = sender.control.lower(most);
        let after = window(sender.control.decision());
        let least = sender.control.floor().bytes(self.path.mss);
        let expected = match config.needs().nacks {
            NackRule::Published | NackRule::Unsaid => before.min(most.max(least)),
            NackRule::Only => before,
        };
        if after.get().abs_diff(expected.get()) > 1 || returned != sender.control.decision() {
            return Err(format!("lowered to {most}, a window of {before} is {after}, not {expected}"));
        }
        sender.sound(None)
    }

    /// Gives the oldest packet in flight up after the events, for each cause; the error says what does not hold.
    fn nacks(&self, config: &CongestionConfig, events: &[FlowEvent]) -> Result<(), String> {
        let falls = |cause| {
            let mut sender = self.sender(config, &[]);
            events.iter().try_for_each(|event| sender.step(*event).map(drop))?;
            // Later than all periods that may hold an answer back.
            let wait = FlowEvent::Wait((self.path.base_rtt * 3).as_ps());
            for event in [wait, FlowEvent::Send(1)] {
                sender.step(event)?;
            }
            let before = sender.control.decision().cwnd;
            sender.step(FlowEvent::Nack { nth: 0, cause })?;
            Ok::<_, String>(sender.control.decision().cwnd < before)
        };
        for (cause, name) in [(NackCause::Gap, "that of a gap"), (NackCause::Returned, "a returned header")] {
            if falls(NackCause::Trimmed)? && !falls(cause)? {
                return Err(format!("it falls for the NACK of a trimmed packet, and not for {name}"));
            }
        }
        Ok(())
    }

    /// The signals that move the decision after these events, each alone, by the fields that do not ask for them.
    fn reads(&self, config: &CongestionConfig, events: &[FlowEvent]) -> Vec<&'static str> {
        let after = |more: &[Asked]| {
            let mut sender = self.sender(config, more);
            // Only the last event led to a breach.
            events.iter().for_each(|event| drop(sender.step(*event)));
            sender.control.decision()
        };
        let asked = after(&[]);
        let is_read = |signal: &Asked| after(&[*signal]) != asked;
        Asked::ALL.into_iter().filter(is_read).map(Asked::field).collect()
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

/// A slow path, whose bandwidth-delay product is less than a packet.
fn slow_path() -> Path {
    let line_rate = Rate::from_bps(1_000_000);
    let base_rtt = Duration::from_ms(20);
    Path { line_rate, base_rtt, bdp: line_rate.bytes_in(base_rtt), ..path() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::{TelemetryKind, Time};

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
        let mut sender = TrialSender::new(config, &path, path.bdp, &[]);
        let mut step = |event| sender.step(event).unwrap();
        let mut windows = Vec::new();
        for us in 0..2000 {
            step(FlowEvent::Send(50));
            step(FlowEvent::Wait(1_000_000));
            if marked && us % 50 == 0 {
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
    fn a_control_that_needs_marks_obeys_them() {
        for config in configs().filter(|config| config.needs().ecn != Ecn::Ignored) {
            let [marked, plain] = [true, false].map(|marked| windows(&config, marked));
            assert!(!plain.is_empty(), "{}", config.name());
            let (marked, plain) = (marked.last(), plain.last());
            assert!(marked < plain, "{}: {marked:?}, and {plain:?} without marks", config.name());
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
        }
        let decision = Decision::window(Bytes::new(4096));
        let mut control = Control::Custom(Box::new(Box::new(Doubling(decision))));
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
        /// A wider window after an idle time.
        Rested,
        /// A lower window after the NACK of a trimmed packet alone.
        Deaf,
        /// A rate of zero after a time-out.
        Stuck,
        /// Another decision returned than kept.
        TwoFaced,
        /// A packet too much to start with.
        Early,
        /// A packet more for a signal that it does not ask for.
        Reads(Asked),
        /// It asks for the state of one port, and reads that of a second.
        TwoPorts,
        /// Its signals do not fit an ACK.
        Wordy,
    }

    impl Factory for Wrong {
        fn name(&self) -> &'static str {
            "wrong"
        }

        fn needs(&self) -> Needs {
            Needs {
                ecn: Ecn::Ignored,
                sent: false,
                send_record: false,
                pulls: None,
                cnps: None,
                telemetry: match self {
                    Self::TwoPorts => TelemetryKind::Mpd,
                    _ => TelemetryKind::None,
                },
                arrival: false,
                nacks: NackRule::Only,
                signal_bytes: match self {
                    Self::Wordy => SignalBytes { ack: Bytes::new(257), ..SignalBytes::NONE },
                    _ => SignalBytes::NONE,
                },
            }
        }

        fn control(&self, start: &Start<'_>) -> Box<dyn Congestion + Send> {
            let extra = if matches!(self, Self::Early) { start.path.mss } else { Bytes::ZERO };
            let cwnd = start.initial_cwnd.max(start.path.mss) + extra;
            Box::new(WrongFlow(*self, Decision::window(cwnd)))
        }
    }

    struct WrongFlow(Wrong, Decision);

    impl WrongFlow {
        /// A signal is there.
        fn sees(&mut self, signal: Asked) -> Decision {
            if matches!(self.0, Wrong::Reads(read) if read == signal) {
                self.1.cwnd += Bytes::new(1);
            }
            self.1
        }
    }

    impl Congestion for WrongFlow {
        fn decision(&self) -> Decision {
            self.1
        }

        fn on_sent(&mut self, _sent: &Sent) -> Decision {
            self.sees(Asked::Sent)
        }

        fn on_pull(&mut self, _pull: &Pull) -> Decision {
            self.sees(Asked::Pulls)
        }

        fn on_cnp(&mut self, _cnp: &Cnp) -> Decision {
            self.sees(Asked::Cnps)
        }

        fn on_ack(&mut self, ack: &Ack) -> Decision {
            self.1.cwnd += ack.bytes_acked;
            let there = [
                (Asked::Ecn, ack.ecn_ce),
                (Asked::SendRecord, ack.at_send.is_some()),
                (Asked::Telemetry, !ack.hops().is_empty()),
                (Asked::Arrival, ack.received_at().is_some()),
            ];
            for (signal, _) in there.into_iter().filter(|(_, is_there)| *is_there) {
                self.sees(signal);
            }
            if matches!(self.0, Wrong::TwoPorts) && ack.hops().len() > 1 {
                self.1.cwnd += Bytes::new(1);
            }
            match self.0 {
                Wrong::TwoFaced => Decision { pacing_rate: Some(Rate::from_gbps(1)), ..self.1 },
                _ => self.1,
            }
        }

        fn on_nack(&mut self, nack: &Nack) -> Decision {
            if matches!(self.0, Wrong::Greedy) {
                self.1.cwnd += nack.bytes;
            }
            if matches!(self.0, Wrong::Deaf) && nack.cause == NackCause::Trimmed {
                self.1.cwnd = Bytes::new(4096);
            }
            self.1
        }

        fn on_idle(&mut self, idle: &Idle) -> Decision {
            if matches!(self.0, Wrong::Rested) {
                self.1.cwnd = self.1.cwnd.max(idle.initial_cwnd + Bytes::new(1));
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
            (Wrong::Rested, "an idle time let more go", 4),
            (Wrong::Stuck, "a pacing rate of zero", 4),
            (Wrong::TwoFaced, "another decision than the current one", 1),
            (Wrong::Early, "it starts with a window of", 0),
        ] {
            let violation = conforms(&CongestionConfig::Custom(Custom::new(wrong))).unwrap_err();
            let said = violation.to_string();
            assert!(said.contains(problem), "{said}");
            assert!(violation.events.len() <= most, "{said}");
        }
    }

    #[test]
    fn a_control_that_ignores_what_a_proxy_finds_lost_is_found() {
        let violation = conforms(&CongestionConfig::Custom(Custom::new(Wrong::Deaf))).unwrap_err();
        assert!(violation.problem.ends_with("not for that of a gap"), "{violation}");
    }

    #[test]
    fn a_control_whose_signals_take_too_many_bytes_is_refused() {
        let error = CongestionConfig::Custom(Custom::new(Wrong::Wordy)).check().unwrap_err();
        assert!(error.to_string().contains("signal_bytes"), "{error}");
        assert_eq!(CongestionConfig::Custom(Custom::new(Wrong::Small)).check(), Ok(()));
    }

    #[test]
    fn a_control_that_reads_more_of_telemetry_than_it_asks_for_is_found() {
        let violation = conforms(&CongestionConfig::Custom(Custom::new(Wrong::TwoPorts))).unwrap_err();
        assert_eq!(violation.problem, "it reads what its needs do not name: telemetry");
    }

    #[test]
    fn a_control_that_reads_what_it_does_not_ask_for_is_found_whatever_it_is() {
        for signal in Asked::ALL {
            let wrong = CongestionConfig::Custom(Custom::new(Wrong::Reads(signal)));
            let violation = conforms(&wrong).unwrap_err();
            let said = format!("it reads what its needs do not name: {}", signal.field());
            assert_eq!(violation.problem, said);
            assert!(violation.events.len() <= 2, "{violation}");
        }
    }

    /// Whether a signal that the control asks for moves it, in one of many sequences of events.
    fn moves(config: &CongestionConfig, signal: Asked) -> bool {
        (0..SEQUENCES).any(|sequence| {
            let mut random = Random::new(2, Purpose::Test, sequence);
            let trial = Trial::draw(&mut random);
            let [mut with, mut without] = [0; 2].map(|_| trial.sender(config, &[]));
            without.signals.retain(|given| *given != signal);
            (0..LONGEST).any(|_| {
                let event = FlowEvent::draw(&mut random);
                let both = [&mut with, &mut without].map(|sender| {
                    sender.step(event).unwrap();
                    sender.control.decision()
                });
                both[0] != both[1]
            })
        })
    }

    #[test]
    fn a_control_asks_for_nothing_that_does_not_move_it() {
        let one_way = oscar::OscarConfig { signal: oscar::Signal::OneWay, ..oscar::OscarConfig::default() };
        for config in configs().chain([CongestionConfig::Oscar(one_way)]) {
            let needs = config.needs();
            // Packets that leave may move it in states that random events do not lead to; marks may come as CNPs.
            let is_tried =
                |signal: &Asked| signal.is_named_by(&needs) && !matches!(signal, Asked::Sent | Asked::Ecn);
            for signal in Asked::ALL.into_iter().filter(is_tried) {
                assert!(moves(&config, signal), "{}: {}", config.name(), signal.field());
            }
        }
    }
}
