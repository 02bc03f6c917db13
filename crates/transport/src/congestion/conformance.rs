//! Conformance tests: the contract of every control of the registry, under random events of its flow.

use super::testing::{path, wan_path};
use super::*;
use alloc::vec::Vec;
use farspan_units::FlowId;
use proptest::prelude::*;

/// An event of a flow. `nth` picks one of the packets in flight, the oldest first.
#[derive(Clone, Copy, Debug)]
enum Event {
    Send(usize),
    Ack { nth: usize, marked: bool },
    DuplicateAck { marked: bool },
    Nack { nth: usize, trimmed: bool },
    Loss { nth: usize },
    Timeout { nth: usize },
    Timer,
    Wait(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (1..50_usize).prop_map(Event::Send),
        8 => (0..5_usize, any::<bool>()).prop_map(|(nth, marked)| Event::Ack { nth, marked }),
        1 => any::<bool>().prop_map(|marked| Event::DuplicateAck { marked }),
        1 => (0..100_usize, any::<bool>()).prop_map(|(nth, trimmed)| Event::Nack { nth, trimmed }),
        1 => (0..100_usize).prop_map(|nth| Event::Loss { nth }),
        1 => (0..100_usize).prop_map(|nth| Event::Timeout { nth }),
        1 => Just(Event::Timer),
        8 => (0..30_000_000_u64).prop_map(Event::Wait),
        1 => (0..100_000_000_000_u64).prop_map(Event::Wait),
    ]
}

/// A packet in flight.
#[derive(Clone, Copy)]
struct Packet {
    sent_at: Time,
    record: SendRecord,
}

/// A sender that believes its control.
struct Sender {
    control: Control,
    path: Path,
    now: Time,
    flight: Vec<Packet>,
    delivered: Bytes,
}

impl Sender {
    fn new(config: &CongestionConfig, path: Path, initial_cwnd: Bytes) -> Self {
        let start = Start { path: &path, initial_cwnd, seed: 1, flow: FlowId(3) };
        let control = config.build(&start);
        Self { control, path, now: Time::ZERO, flight: Vec::new(), delivered: Bytes::ZERO }
    }

    fn in_flight(&self) -> Bytes {
        self.path.mss * self.flight.len() as u64
    }

    fn take(&mut self, nth: usize) -> Option<Packet> {
        (nth < self.flight.len()).then(|| self.flight.remove(nth))
    }

    /// Sends up to so many packets, as far as the window goes; gives the last decision.
    fn send(&mut self, packets: usize) -> Decision {
        for _ in 0..packets {
            if self.in_flight() >= self.control.decision().cwnd {
                break;
            }
            let record = SendRecord {
                in_flight: self.in_flight() + self.path.mss,
                delivered: self.delivered,
                ..SendRecord::default()
            };
            self.flight.push(Packet { sent_at: self.now, record });
            let in_flight = self.in_flight();
            let sent = Sent { now: self.now, bytes: self.path.mss, in_flight, retransmission: false };
            let before = self.control.decision();
            let decision = self.control.on_sent(&sent);
            // An event that it does not ask for changes nothing: a sender does not notify it of that.
            assert!(self.control.wants_sent() || decision == before, "{decision:?} after {before:?}");
            self.now += self.path.packet_time();
        }
        self.control.decision()
    }

    fn ack(&mut self, packet: Packet, bytes_acked: Bytes, ecn_ce: bool) -> Decision {
        // No round trip is shorter than the base.
        self.now = self.now.max(packet.sent_at + self.path.base_rtt);
        self.delivered += bytes_acked;
        self.control.on_ack(&Ack {
            now: self.now,
            bytes_acked,
            ecn_ce,
            rtt: self.now - packet.sent_at,
            sent_at: packet.sent_at,
            in_flight: self.in_flight(),
            delivered: self.delivered,
            at_send: self.control.wants_send_record().then_some(packet.record),
        })
    }

    /// Makes an event happen, if it can; gives the decision that the control returned.
    fn step(&mut self, event: Event) -> Option<Decision> {
        let (now, bytes) = (self.now, self.path.mss);
        Some(match event {
            Event::Send(packets) => self.send(packets),
            Event::Ack { nth, marked } => {
                let packet = self.take(nth)?;
                self.ack(packet, bytes, marked)
            }
            Event::DuplicateAck { marked } => {
                let packet = Packet { sent_at: now, record: SendRecord::default() };
                self.ack(packet, Bytes::ZERO, marked)
            }
            Event::Nack { nth, trimmed } => {
                let sent_at = self.take(nth)?.sent_at;
                self.control.on_nack(&Nack { now, bytes, sent_at, in_flight: self.in_flight(), trimmed })
            }
            Event::Loss { nth } => {
                let sent_at = self.take(nth)?.sent_at;
                self.control.on_loss(&Loss { now, bytes, sent_at, in_flight: self.in_flight() })
            }
            Event::Timeout { nth } => {
                let sent_at = self.take(nth)?.sent_at;
                let rto = self.path.base_rtt + self.path.max_queueing;
                let in_flight = self.in_flight();
                self.control.on_timeout(&Timeout { now, bytes, sent_at, in_flight, rto })
            }
            Event::Timer => self.control.on_timer(now),
            Event::Wait(ps) => {
                self.now += Duration::from_ps(ps);
                return None;
            }
        })
    }
}

/// Every control with its defaults, and those with a second published parameterisation with that.
fn configs() -> impl Iterator<Item = CongestionConfig> {
    NAMES
        .iter()
        .map(|name| CongestionConfig::by_name(name).expect("a name of the registry"))
        .chain(testing::published())
}

/// A slow path, whose bandwidth-delay product is less than a packet.
fn slow_path() -> Path {
    let line_rate = Rate::from_bps(1_000_000);
    let base_rtt = Duration::from_ms(20);
    Path { line_rate, base_rtt, bdp: line_rate.bytes_in(base_rtt), ..path() }
}

fn a_path() -> impl Strategy<Value = Path> {
    prop_oneof![Just(path()), Just(wan_path()), Just(slow_path())]
}

/// The largest window that a control documents, if it does.
fn cap(config: &CongestionConfig, path: &Path, initial_cwnd: Bytes) -> Option<Bytes> {
    let bdp = path.bdp.max(path.mss);
    match config {
        CongestionConfig::FixedWindow(_) => Some(initial_cwnd.max(path.mss)),
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

/// The windows of a flow that sends what it may and gets an ACK a microsecond, a round trip after each packet.
fn windows(config: &CongestionConfig, path: Path, marked: bool) -> Vec<Bytes> {
    let mut sender = Sender::new(config, path, path.bdp);
    let mut windows = Vec::new();
    for _ in 0..2000 {
        let cwnd = sender.control.decision().cwnd;
        sender.send(((cwnd.get() / path.mss.get()) as usize).saturating_sub(sender.flight.len()).min(50));
        sender.step(Event::Wait(1_000_000));
        sender.step(Event::Ack { nth: 0, marked });
        windows.push(sender.control.decision().cwnd);
    }
    windows
}

#[test]
fn a_control_that_needs_marks_obeys_them_and_others_do_not_look_at_them() {
    for config in configs() {
        let [marked, plain] = [true, false].map(|marked| windows(&config, path(), marked));
        match config.ecn() {
            Ecn::Ignored => assert_eq!(marked, plain, "{}", config.name()),
            Ecn::Required => assert!(marked.last() < plain.last(), "{}", config.name()),
        }
    }
}

#[test]
fn every_control_starts_with_the_first_window_of_the_scenario() {
    for config in configs() {
        for initial_cwnd in [Bytes::new(40_960), path().bdp] {
            let sender = Sender::new(&config, path(), initial_cwnd);
            assert_eq!(sender.control.decision().cwnd, initial_cwnd, "{}", config.name());
        }
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
    let decision = Decision { cwnd: Bytes::new(4096), pacing_rate: None, next_timer: None };
    let mut control = Control::Custom(Box::new(Box::new(Doubling(decision))));
    assert!(control.wants_send_record());
    assert_eq!(control.floor(), Floor::OnePacket, "unless it says otherwise");
    assert_eq!(control.on_ack(&testing::Acks::new(&testing::start()).next(false)).cwnd, Bytes::new(8192));
    assert_eq!(control.on_timer(Time::ZERO), control.decision());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn decisions_are_sound_whatever_happens(
        events in prop::collection::vec(event(), 0..500),
        path in a_path(),
        initial in prop_oneof![Just(1_u64), Just(40_960), Just(175_344), Just(1 << 30)],
    ) {
        for config in configs() {
            let mut sender = Sender::new(&config, path, Bytes::new(initial));
            for &event in &events {
                let returned = sender.step(event);
                let decision = sender.control.decision();
                let name = config.name();
                prop_assert!(returned.is_none_or(|returned| returned == decision), "{} {:?}", name, event);
                prop_assert_eq!(decision, sender.control.decision());
                prop_assert!(decision.cwnd >= sender.control.floor().bytes(path.mss), "{}: {}", name, decision.cwnd);
                prop_assert!(decision.pacing_rate.is_none_or(|rate| !rate.is_zero()), "{}", name);
                prop_assert!(decision.pacing_rate.is_none_or(|rate| rate < Rate::from_bps(u64::MAX)), "{}", name);
                prop_assert!(decision.next_timer.is_none_or(|at| at >= sender.now), "{}", name);
                if let Some(cap) = cap(&config, &path, Bytes::new(initial)) {
                    prop_assert!(decision.cwnd <= cap, "{}: {} exceeds {}", name, decision.cwnd, cap);
                }
            }
        }
    }

    #[test]
    fn a_nack_is_a_sign_of_congestion_and_never_widens_the_window(
        events in prop::collection::vec(event(), 0..300),
        path in a_path(),
    ) {
        for config in configs() {
            let mut sender = Sender::new(&config, path, path.bdp);
            for &event in &events {
                let before = sender.control.decision().cwnd;
                let after = sender.step(event).map_or(before, |decision| decision.cwnd);
                if let Event::Nack { .. } = event {
                    prop_assert!(after <= before, "{}: {} to {}", config.name(), before, after);
                }
            }
        }
    }

    #[test]
    fn the_same_events_give_the_same_decisions(
        events in prop::collection::vec(event(), 0..300),
        path in a_path(),
    ) {
        for config in configs() {
            let run = || {
                let mut sender = Sender::new(&config, path, path.bdp);
                events.iter().filter_map(|&event| sender.step(event)).collect::<Vec<_>>()
            };
            prop_assert_eq!(run(), run());
        }
    }
}
