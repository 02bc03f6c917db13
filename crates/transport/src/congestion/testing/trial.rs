//! A sender that believes its control, what can happen to it, and the signals that its control may ask for.

use crate::congestion::*;
use crate::path::Path;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use farspan_units::{Bytes, Duration, FlowId, HopTelemetry, Random, Rate, Telemetry, TelemetryKind, Time};

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
        /// Why it comes.
        cause: NackCause,
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
    /// All that is in flight is acknowledged, and so many picoseconds later another message follows.
    Idle(u64),
}

impl FlowEvent {
    /// The event of the oldest packet in flight.
    pub(super) const fn of_the_oldest(self) -> Self {
        match self {
            Self::Ack { marked, .. } => Self::Ack { nth: 0, marked },
            Self::Nack { cause, .. } => Self::Nack { nth: 0, cause },
            Self::Loss { .. } => Self::Loss { nth: 0 },
            Self::Timeout { .. } => Self::Timeout { nth: 0 },
            other => other,
        }
    }

    /// A random one; sends, ACKs and short waits are frequent.
    pub(super) fn draw(random: &mut Random) -> Self {
        let marked = random.below(2) == 1;
        let mut nth = |below| random.below(below) as usize;
        match nth(32) {
            0..8 => Self::Send(1 + random.below(49)),
            8..16 => Self::Ack { nth: nth(5), marked },
            16 => Self::DuplicateAck { marked },
            17 => Self::Nack { nth: nth(100), cause: NackCause::ALL[nth(NackCause::ALL.len() as u64)] },
            18 => Self::Loss { nth: nth(100) },
            19 => Self::Timeout { nth: nth(100) },
            20 => Self::Timer,
            21 => Self::Pull { packets: 1 + nth(3) as u32, old: marked },
            22 => Self::Cnp,
            23..30 => Self::Wait(random.below(30_000_000)),
            30 => Self::Idle(random.below(10_000_000_000)),
            _ => Self::Wait(random.below(100_000_000_000)),
        }
    }
}

/// A signal that a control may ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    Ecn,
    Sent,
    SendRecord,
    Pulls,
    Cnps,
    Telemetry,
    Arrival,
}

impl Asked {
    pub(super) const ALL: [Self; 7] =
        [Self::Ecn, Self::Sent, Self::SendRecord, Self::Pulls, Self::Cnps, Self::Telemetry, Self::Arrival];

    /// The field of [`Needs`] that asks for it.
    pub(super) const fn field(self) -> &'static str {
        match self {
            Self::Ecn => "ecn",
            Self::Sent => "sent",
            Self::SendRecord => "send_record",
            Self::Pulls => "pulls",
            Self::Cnps => "cnps",
            Self::Telemetry => "telemetry",
            Self::Arrival => "arrival",
        }
    }

    /// Whether these needs name it.
    pub(super) fn is_named_by(self, needs: &Needs) -> bool {
        // What signals take on the wire is no signal.
        let Needs { ecn, sent, send_record, pulls, cnps, telemetry, arrival, nacks: _, signal_bytes: _ } =
            *needs;
        match self {
            Self::Ecn => ecn != Ecn::Ignored,
            Self::Sent => sent,
            Self::SendRecord => send_record,
            Self::Pulls => pulls.is_some(),
            Self::Cnps => cnps.is_some(),
            Self::Telemetry => telemetry != TelemetryKind::None,
            Self::Arrival => arrival,
        }
    }
}

/// A packet in flight.
#[derive(Clone, Copy)]
struct Packet {
    sent_at: Time,
    record: SendRecord,
}

/// A sender that believes its control.
pub(super) struct TrialSender {
    pub(super) control: Control,
    /// The signals that the control gets.
    pub(super) signals: Vec<Asked>,
    /// The kind that ports write: what the control needs, or, as `more`, the richest.
    telemetry: TelemetryKind,
    path: Path,
    initial_cwnd: Bytes,
    now: Time,
    flight: Vec<Packet>,
    delivered: Bytes,
    pulled: u32,
    /// The ports of its path.
    hops: [HopTelemetry; 2],
}

impl TrialSender {
    /// A sender whose control gets the signals that it asks for, and `more`.
    pub(super) fn new(config: &CongestionConfig, path: &Path, initial_cwnd: Bytes, more: &[Asked]) -> Self {
        let start = Start { path, size: Bytes::MAX, initial_cwnd, active_flows: 0, seed: 1, flow: FlowId(3) };
        let (control, needs) = (config.build(&start), config.needs());
        let richest = TelemetryKind::ALL.last().filter(|_| more.contains(&Asked::Telemetry));
        let is_given = |signal: &Asked| signal.is_named_by(&needs) || more.contains(signal);
        Self {
            control,
            signals: Asked::ALL.into_iter().filter(is_given).collect(),
            telemetry: richest.copied().unwrap_or(needs.telemetry),
            path: *path,
            initial_cwnd,
            now: Time::ZERO,
            flight: Vec::new(),
            delivered: Bytes::ZERO,
            pulled: 0,
            hops: [HopTelemetry::default(); 2],
        }
    }

    fn gives(&self, signal: Asked) -> bool {
        self.signals.contains(&signal)
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
            if self.gives(Asked::Sent) {
                self.control.on_sent(&sent);
            }
            let spent = |allowance: Bytes| allowance.saturating_sub(self.path.mss);
            if self.control.decision().allowance > before.allowance.map(spent) {
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
        let telemetry = self.telemetry_of(packet);
        self.control.on_ack(&Ack {
            now: self.now,
            bytes_acked,
            mapped: Bytes::ZERO,
            acked_packets: 1,
            ecn_ce: ecn_ce && self.gives(Asked::Ecn),
            rtt: self.now - packet.sent_at,
            sent_at: packet.sent_at,
            in_flight: self.in_flight(),
            delivered: self.delivered,
            acked_below: (self.delivered.get() / self.path.mss.get()) as u32,
            sent_below: ((self.delivered + self.in_flight()).get() / self.path.mss.get()) as u32,
            has_losses: false,
            at_send: self.gives(Asked::SendRecord).then_some(packet.record),
            telemetry: Some(&telemetry),
        })
    }

    /// Ends the flight, waits, and lets a message follow.
    fn idle(&mut self, idle: Duration) -> Result<Decision, String> {
        for packet in core::mem::take(&mut self.flight) {
            self.ack(packet, self.path.mss, false);
        }
        self.pass(self.now + idle);
        let (now, rto) = (self.now, self.path.base_rtt + self.path.max_queueing);
        let before = self.control.decision();
        let after = self.control.on_idle(&Idle { now, idle, rto, initial_cwnd: self.initial_cwnd });
        let rate = |decision: Decision| decision.pacing_rate.unwrap_or(Rate::from_bps(u64::MAX));
        if after.cwnd > before.cwnd || after.allowance > before.allowance || rate(after) > rate(before) {
            return Err("an idle time let more go".to_string());
        }
        Ok(after)
    }

    /// The words of ports and receiver on a packet: of a kind that has room for one port, those of the longest queue.
    fn telemetry_of(&self, packet: Packet) -> Telemetry {
        let mut telemetry = Telemetry::default();
        if self.gives(Asked::Telemetry) {
            let [first, second] = self.hops;
            match self.telemetry.most_hops() {
                1 if first.queueing_delay() >= second.queueing_delay() => telemetry.push(first),
                1 => telemetry.push(second),
                _ => self.hops.into_iter().for_each(|hop| telemetry.push(hop)),
            }
        }
        let arrived = packet.sent_at + self.path.base_rtt / 2;
        telemetry.received_at = self.gives(Asked::Arrival).then_some(arrived);
        telemetry
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
    pub(super) fn step(&mut self, event: FlowEvent) -> Result<Option<Decision>, String> {
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
            FlowEvent::Nack { cause, .. } => {
                self.control.on_nack(&Nack { now, bytes, sent_at, in_flight, cause })
            }
            FlowEvent::Loss { .. } => self.control.on_loss(&Loss { now, bytes, sent_at, in_flight }),
            FlowEvent::Timeout { .. } => {
                let rto = self.path.base_rtt + self.path.max_queueing;
                self.control.on_timeout(&Timeout { now, bytes, sent_at, in_flight, rto })
            }
            FlowEvent::Timer => self.control.on_timer(now),
            FlowEvent::Pull { packets, old } if self.gives(Asked::Pulls) => {
                self.pulled += if old { 0 } else { packets };
                self.control.on_pull(&Pull { now, count: self.pulled, in_flight })
            }
            FlowEvent::Cnp if self.gives(Asked::Cnps) => self.control.on_cnp(&Cnp { now, in_flight }),
            FlowEvent::Pull { .. } | FlowEvent::Cnp => return Ok(None),
            FlowEvent::Idle(ps) => self.idle(Duration::from_ps(ps))?,
            FlowEvent::Wait(ps) => {
                self.pass(now + Duration::from_ps(ps));
                return Ok(None);
            }
        }))
    }

    /// Whether the current decision is one that a sender can obey.
    pub(super) fn sound(&self, cap: Option<Bytes>) -> Result<(), String> {
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
