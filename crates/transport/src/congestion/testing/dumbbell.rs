//! A small packet model of one bottleneck, for tests of controls: flows with their own round trips share a queue that
//! marks and drops.
//!
//! Much is left out on purpose (hops, ACK queues, retransmissions: a sender always has new data), so that a curve shows
//! the control and little else.

use crate::congestion::*;
use crate::notifier::Notifier;
use crate::path::Path;
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec::Vec;
use core::cmp::Reverse;
use farspan_units::{Bytes, FlowId, HopTelemetry, Purpose, Random, Rate, TelemetryKind, Time};

/// How the queue marks a packet: never up to `min` bytes, always above `max`, and by chance between.
#[derive(Clone, Copy)]
pub struct Marking {
    pub min: f64,
    pub max: f64,
}

impl Marking {
    /// All above one threshold.
    pub const fn step(at: f64) -> Self {
        Self { min: at, max: at }
    }

    fn marks(self, queued: f64, uniform: f64) -> bool {
        queued > self.max || (queued > self.min && uniform * (self.max - self.min) < queued - self.min)
    }
}

/// A counter that rises with each packet and falls at a part of the line rate.
#[derive(Clone, Copy)]
pub struct Phantom {
    pub size: f64,
    pub drain: f64,
    pub marking: Marking,
}

/// The bottleneck.
#[derive(Clone)]
pub struct Link {
    pub rate: Rate,
    pub buffer: Bytes,
    pub marking: Marking,
    pub phantom: Option<Phantom>,
    /// From when on which part of the rate is left for the flows; in the order of time.
    pub shares: Vec<(Time, f64)>,
    /// When a packet that arrives is lost, and found so from later ACKs.
    pub losses: Vec<Time>,
    /// From when to when every packet is lost, until its time-out.
    pub blackout: (Time, Time),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ModelEvent {
    Send,
    Arrive {
        sent_at: Time,
    },
    /// The link begins to send a packet, whose control reads telemetry.
    Serve {
        sent_at: Time,
        marked: bool,
        ack_at: Time,
    },
    Ack {
        sent_at: Time,
        marked: bool,
    },
    Loss {
        sent_at: Time,
    },
    Timeout {
        sent_at: Time,
    },
    /// The control's timer, if it is still wanted then.
    Timer,
}

/// How many packets of this size that is.
const fn packets(all: Bytes, size: Bytes) -> u32 {
    (all.get() / size.get()) as u32
}

/// A flow with endless data.
pub struct Flow {
    pub control: Control,
    path: Path,
    pub in_flight: Bytes,
    /// How many packets the receiver has pulled: one with each ACK.
    pulled: u32,
    /// The CNPs that the receiver sends, which come with ACKs.
    notifier: Option<Notifier>,
    /// When the control's timer comes up next.
    timer_at: Time,
    pub delivered: Bytes,
    pub marked: Bytes,
    /// When the pacer and the NIC let the next packet go.
    next_at: Time,
    /// Whether a `Send` waits in the queue of events.
    waiting: bool,
    jitter: Random,
    /// Send records of the packets in flight, by send time, for controls that ask.
    records: BTreeMap<Time, SendRecord>,
    /// Telemetry of packets whose ACKs are under way, by send time, for controls that ask.
    stamps: BTreeMap<Time, HopTelemetry>,
    /// All that the control asks for.
    needs: Needs,
    /// When payload was last delivered.
    delivered_at: Time,
    /// When the packet acknowledged last was sent.
    first_sent_at: Time,
}

impl Flow {
    /// Payload that may be in flight: the window, or what is and the allowance; what is, without a window.
    pub fn window(&self) -> Bytes {
        let decision = self.control.decision();
        match decision.allowance {
            Some(allowance) => decision.cwnd.min(self.in_flight + allowance),
            None if decision.cwnd == Bytes::MAX => self.in_flight,
            None => decision.cwnd,
        }
    }
}

/// The model.
pub struct Dumbbell {
    pub now: Time,
    pub flows: Vec<Flow>,
    link: Link,
    events: BinaryHeap<Reverse<(Time, u64, usize, ModelEvent)>>,
    /// Numbers events, so that those of one time keep their order.
    count: u64,
    /// When the queue will be empty.
    busy_until: Time,
    /// Bytes in the phantom queue, and when that was so.
    phantom: (f64, Time),
    chance: Random,
    lost: usize,
    /// Bytes that have left the queue, other traffic's not among them.
    left: Bytes,
}

impl Dumbbell {
    pub fn new(link: Link, flows: &[(CongestionConfig, Path, Bytes)]) -> Self {
        let mut model = Self {
            now: Time::ZERO,
            flows: Vec::new(),
            link,
            events: BinaryHeap::new(),
            count: 0,
            busy_until: Time::ZERO,
            phantom: (0.0, Time::ZERO),
            chance: Random::new(1, Purpose::Test, 0),
            lost: 0,
            left: Bytes::ZERO,
        };
        for (i, (config, path, initial_cwnd)) in flows.iter().enumerate() {
            let (initial_cwnd, flow) = (*initial_cwnd, FlowId(i as u32));
            let start = Start { path, size: Bytes::MAX, initial_cwnd, active_flows: 0, seed: 1, flow };
            let needs = config.needs();
            model.flows.push(Flow {
                control: config.build(&start),
                path: *path,
                in_flight: Bytes::ZERO,
                pulled: 0,
                notifier: needs.cnps.map(Notifier::new),
                timer_at: Time::MAX,
                delivered: Bytes::ZERO,
                marked: Bytes::ZERO,
                next_at: Time::ZERO,
                waiting: false,
                jitter: Random::new(1, Purpose::Jitter, i as u64),
                records: BTreeMap::new(),
                stamps: BTreeMap::new(),
                needs,
                delivered_at: Time::ZERO,
                first_sent_at: Time::ZERO,
            });
            model.wake(i);
        }
        model
    }

    /// Lets the model run up to a time.
    pub fn run_until(&mut self, until: Time) {
        while self.step(until) {}
        self.now = until;
    }

    /// Lets the next event happen, if it comes no later than a time; says whether it did.
    pub fn step(&mut self, until: Time) -> bool {
        let Some(&Reverse((at, _, flow, event))) = self.events.peek() else { return false };
        if at > until {
            return false;
        }
        self.events.pop();
        self.now = at;
        self.handle(flow, event);
        true
    }

    /// Bytes in the queue.
    pub fn queued(&self) -> f64 {
        self.busy_until.since(self.now).as_secs_f64() * self.rate().bytes_per_sec_f64()
    }

    fn schedule(&mut self, at: Time, flow: usize, event: ModelEvent) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, flow, event)));
    }

    fn wake(&mut self, i: usize) {
        let flow = &mut self.flows[i];
        if !flow.waiting && flow.in_flight < flow.control.decision().open_window() {
            flow.waiting = true;
            let at = flow.next_at.max(self.now);
            self.schedule(at, i, ModelEvent::Send);
        }
    }

    /// Sees to it that the control's timer comes up.
    fn arm(&mut self, i: usize) {
        let flow = &mut self.flows[i];
        if let Some(at) = flow.control.decision().next_timer
            && at < flow.timer_at
        {
            flow.timer_at = at;
            self.schedule(at, i, ModelEvent::Timer);
        }
    }

    fn handle(&mut self, i: usize, event: ModelEvent) {
        let now = self.now;
        let flow = &mut self.flows[i];
        let bytes = flow.path.mss;
        if matches!(event, ModelEvent::Ack { .. } | ModelEvent::Loss { .. } | ModelEvent::Timeout { .. }) {
            flow.in_flight -= bytes;
        }
        let in_flight = flow.in_flight;
        match event {
            ModelEvent::Send => self.send(i),
            ModelEvent::Arrive { sent_at } => return self.arrive(i, sent_at),
            ModelEvent::Serve { sent_at, marked, ack_at } => {
                let stamp = self.stamp(i);
                self.flows[i].stamps.insert(sent_at, stamp);
                return self.schedule(ack_at, i, ModelEvent::Ack { sent_at, marked });
            }
            ModelEvent::Ack { sent_at, marked } => {
                flow.delivered += bytes;
                flow.marked += if marked { bytes } else { Bytes::ZERO };
                let at_send = flow.records.remove(&sent_at);
                let stamp = flow.stamps.remove(&sent_at);
                (flow.delivered_at, flow.first_sent_at) = (now, sent_at);
                flow.control.on_ack(&Ack {
                    now,
                    bytes_acked: bytes,
                    mapped: Bytes::ZERO,
                    acked_packets: 1,
                    ecn_ce: marked,
                    rtt: now - sent_at,
                    sent_at,
                    in_flight,
                    delivered: flow.delivered,
                    // What is lost is not sent again here: packets that leave later have its numbers.
                    acked_below: packets(flow.delivered, bytes),
                    sent_below: packets(flow.delivered + in_flight, bytes),
                    has_losses: false,
                    at_send,
                    telemetry: stamp.map(|hop| [hop].into_iter().collect()).as_ref(),
                });
                flow.pulled += 1;
                if flow.needs.pulls.is_some() {
                    flow.control.on_pull(&Pull { now, count: flow.pulled, in_flight });
                }
                if flow.notifier.as_mut().is_some_and(|notifier| notifier.on_arrival(now, marked)) {
                    flow.control.on_cnp(&Cnp { now, in_flight });
                }
            }
            ModelEvent::Loss { sent_at } => {
                flow.records.remove(&sent_at);
                flow.control.on_loss(&Loss { now, bytes, sent_at, in_flight });
            }
            ModelEvent::Timeout { sent_at } => {
                flow.records.remove(&sent_at);
                let rto = now - sent_at;
                flow.control.on_timeout(&Timeout { now, bytes, sent_at, in_flight, rto });
            }
            ModelEvent::Timer => {
                flow.timer_at = if flow.timer_at == now { Time::MAX } else { flow.timer_at };
                if flow.control.decision().next_timer.is_some_and(|due| due <= now) {
                    flow.control.on_timer(now);
                }
            }
        }
        self.arm(i);
        self.wake(i);
    }

    fn send(&mut self, i: usize) {
        let now = self.now;
        let flow = &mut self.flows[i];
        flow.waiting = false;
        if flow.in_flight >= flow.control.decision().open_window() {
            return;
        }
        let (bytes, mtu) = (flow.path.mss, flow.path.mtu());
        if flow.in_flight.is_zero() {
            (flow.delivered_at, flow.first_sent_at) = (now, now);
        }
        flow.in_flight += bytes;
        let in_flight = flow.in_flight;
        if flow.needs.send_record {
            let Flow { delivered, delivered_at, first_sent_at, .. } = *flow;
            let cwnd = flow.control.decision().open_window();
            let app_limited = false;
            let record = SendRecord { in_flight, cwnd, delivered, delivered_at, first_sent_at, app_limited };
            flow.records.insert(now, record);
        }
        let sent = Sent { now, bytes, in_flight, retransmission: false };
        let decision = if flow.needs.sent { flow.control.on_sent(&sent) } else { flow.control.decision() };
        let nic = flow.path.packet_time();
        let gap = decision.pacing_rate.map_or(nic, |rate| rate.transmission(mtu).max(nic));
        flow.next_at = now + gap;
        let arrival = now + nic + nic.mul_f64(flow.jitter.uniform());
        self.schedule(arrival, i, ModelEvent::Arrive { sent_at: now });
    }

    fn arrive(&mut self, i: usize, sent_at: Time) {
        let path = self.flows[i].path;
        let (at, event) = match self.enqueue(path.mtu()) {
            // The base round trip holds two transmissions that have passed already, the NIC's and the queue's.
            QueueFate::Served { left_at, marked } => {
                let rest = path.base_rtt.saturating_sub(path.packet_time() * 2);
                let ack_at = left_at + rest;
                if self.flows[i].needs.telemetry == TelemetryKind::None {
                    (ack_at, ModelEvent::Ack { sent_at, marked })
                } else {
                    let began_at = left_at - self.rate().transmission(path.mtu());
                    (began_at, ModelEvent::Serve { sent_at, marked, ack_at })
                }
            }
            QueueFate::Lost => (sent_at + path.base_rtt.mul_f64(1.25), ModelEvent::Loss { sent_at }),
            QueueFate::Vanished => {
                (sent_at + path.base_rtt + path.max_queueing, ModelEvent::Timeout { sent_at })
            }
        };
        self.schedule(at, i, event);
    }

    /// The state of the queue when the service of a packet of flow `i` begins, without that packet: other traffic has sent its share of
    /// the link, and waits nowhere.
    fn stamp(&mut self, i: usize) -> HopTelemetry {
        let mut others = 0.0;
        for (n, (from, share)) in self.link.shares.iter().enumerate() {
            let until = self.link.shares.get(n + 1).map_or(self.now, |next| next.0.min(self.now));
            others += until.since(*from).as_secs_f64() * (1.0 - share);
        }
        let others = Bytes::new((others * self.link.rate.bytes_per_sec_f64()) as u64);
        let mtu = self.flows[i].path.mtu();
        let queued = Bytes::new((self.queued() - mtu.as_f64()).max(0.0) as u64);
        let hop = HopTelemetry { at: self.now, sent: self.left + others, queued, rate: self.link.rate };
        self.left += mtu;
        hop
    }

    fn rate(&self) -> Rate {
        let share = self.link.shares.iter().rev().find(|(from, _)| *from <= self.now).map_or(1.0, |s| s.1);
        self.link.rate.mul_f64(share)
    }

    fn enqueue(&mut self, mtu: Bytes) -> QueueFate {
        let at = self.now;
        if (self.link.blackout.0..self.link.blackout.1).contains(&at) {
            return QueueFate::Vanished;
        }
        if self.link.losses.get(self.lost).is_some_and(|loss| *loss <= at) {
            self.lost += 1;
            return QueueFate::Lost;
        }
        let rate = self.rate();
        let queued = self.busy_until.since(at).as_secs_f64() * rate.bytes_per_sec_f64();
        if queued + mtu.as_f64() > self.link.buffer.as_f64() {
            return QueueFate::Lost;
        }
        self.busy_until = self.busy_until.max(at) + rate.transmission(mtu);
        let on_queue = self.link.marking.marks(queued, self.chance.uniform());
        QueueFate::Served { left_at: self.busy_until, marked: self.marked_by_phantom(at, mtu) || on_queue }
    }

    fn marked_by_phantom(&mut self, at: Time, mtu: Bytes) -> bool {
        let Some(phantom) = self.link.phantom else { return false };
        let (level, since) = self.phantom;
        let drained = at.since(since).as_secs_f64() * self.link.rate.bytes_per_sec_f64() * phantom.drain;
        let level = ((level - drained).max(0.0) + mtu.as_f64()).min(phantom.size);
        self.phantom = (level, at.max(since));
        phantom.marking.marks(level, self.chance.uniform())
    }
}

/// The fate of a packet at the queue.
enum QueueFate {
    Served { left_at: Time, marked: bool },
    Lost,
    Vanished,
}
