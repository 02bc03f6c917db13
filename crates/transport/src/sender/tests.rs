//! Tests of a sender: the notifications of its control and its path selector, and when it sends.

mod ack_requests;
mod coded;
mod connection;
mod messages;
mod noise;
mod proxied;
mod returned;

use super::*;
use crate::ack::AckConfig;
use crate::balance::{BalanceConfig, PathSample};
use crate::coding::{CodingConfig, Payload, blocks};
use crate::congestion::{Ack, CongestionConfig, Idle, Loss, Nack, NackCause, OnNack, Sent, Timeout, testing};
use crate::proxy::{Numbering, Via};
use crate::recovery::PacketState;
use crate::recovery::{RecoveryConfig, RecoveryPolicy, Rto};
use crate::wire::{Echo, Fate, Feedback, Header};
use crate::{Connection, FlowProfile, Scheme, WindowCheck};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use proptest::prelude::*;
use std::sync::Mutex;

const MSS: u64 = 4096;
const RTO: Duration = Duration::from_us(100);

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

fn mss(packets: u64) -> Bytes {
    Bytes::new(packets * MSS)
}

/// Events of which a scripted control and a scripted path selector were notified.
#[derive(Default)]
struct Events {
    sent: Vec<Sent>,
    acks: Vec<Ack<'static>>,
    nacks: Vec<Nack>,
    losses: Vec<Loss>,
    timeouts: Vec<Timeout>,
    timers: Vec<Time>,
    idles: Vec<Idle>,
    entropies_acked: Vec<u16>,
    entropies_nacked: Vec<u16>,
    entropies_lost: Vec<u16>,
    entropies_timed_out: Vec<u16>,
}

type Log = Arc<Mutex<Events>>;

/// A control that returns scripted decisions, and logs its events.
struct Scripted {
    decision: Decision,
    log: Log,
}

impl Congestion for Scripted {
    fn decision(&self) -> Decision {
        self.decision
    }
    fn on_sent(&mut self, sent: &Sent) -> Decision {
        self.log.lock().unwrap().sent.push(*sent);
        self.decision
    }
    fn on_ack(&mut self, ack: &Ack) -> Decision {
        self.log.lock().unwrap().acks.push(Ack { telemetry: None, ..*ack });
        self.decision
    }
    fn on_nack(&mut self, nack: &Nack) -> Decision {
        self.log.lock().unwrap().nacks.push(*nack);
        self.decision
    }
    fn on_loss(&mut self, loss: &Loss) -> Decision {
        self.log.lock().unwrap().losses.push(*loss);
        self.decision
    }
    fn on_timeout(&mut self, timeout: &Timeout) -> Decision {
        self.log.lock().unwrap().timeouts.push(*timeout);
        self.decision
    }
    fn on_idle(&mut self, idle: &Idle) -> Decision {
        self.log.lock().unwrap().idles.push(*idle);
        self.decision
    }
    fn on_timer(&mut self, now: Time) -> Decision {
        self.log.lock().unwrap().timers.push(now);
        self.decision
    }
}

/// A path selector whose n-th packet carries n + 100.
struct Counting {
    next: u16,
    log: Log,
}

impl Balance for Counting {
    fn entropy(&mut self, _now: Time, _random: &mut Random) -> u16 {
        self.next += 1;
        self.next + 99
    }
    fn wants_feedback(&self) -> bool {
        true
    }
    fn on_ack(&mut self, sample: PathSample, _ecn_ce: bool, _random: &mut Random) {
        self.log.lock().unwrap().entropies_acked.push(sample.entropy);
    }
    fn on_nack(&mut self, sample: PathSample, _at_last_hop: bool, _ecn_ce: bool, _random: &mut Random) {
        self.log.lock().unwrap().entropies_nacked.push(sample.entropy);
    }
    fn on_loss(&mut self, sample: PathSample, _random: &mut Random) {
        self.log.lock().unwrap().entropies_lost.push(sample.entropy);
    }
    fn on_timeout(&mut self, sample: PathSample, _random: &mut Random) {
        self.log.lock().unwrap().entropies_timed_out.push(sample.entropy);
    }
}

/// A sender under test, and the events of which its parts were notified.
struct Bench {
    sender: Sender,
    log: Log,
}

/// The parameters that the tests vary.
#[derive(Clone, Copy)]
struct Setup {
    size: Bytes,
    cwnd: Bytes,
    pacing_rate: Option<Rate>,
    next_timer: Option<Time>,
    on_nack: Option<OnNack>,
    window_check: WindowCheck,
    connection: Connection,
    repeats_marks: bool,
    persistent: bool,
    policy: RecoveryPolicy,
    rto: Rto,
    send_record: bool,
    /// Data and parity of a block.
    coding: Option<(u32, u32)>,
    acks: &'static str,
    /// How transmissions are numbered, if the message goes through a streamlined proxy.
    numbers: Option<Numbering>,
    rtt_noise: Duration,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            size: mss(100),
            cwnd: mss(4),
            pacing_rate: None,
            next_timer: None,
            on_nack: None,
            window_check: WindowCheck::Below,
            connection: Connection::default(),
            repeats_marks: false,
            persistent: false,
            policy: RecoveryPolicy::PerPacketRto,
            rto: Rto::Fixed(RTO),
            send_record: false,
            coding: None,
            acks: "per_packet",
            numbers: None,
            rtt_noise: Duration::ZERO,
        }
    }
}

impl Sender {
    /// The packet that leaves, and when its time-out runs out.
    fn send(&mut self, now: Time) -> (DataPacket, Time) {
        let mut packet: Option<Leaving> = None;
        let deadline = self.transmit(now, &mut packet);
        (packet.expect("a packet leaves").own(), deadline)
    }
}

impl Bench {
    fn new(setup: Setup) -> Self {
        let Setup { cwnd, pacing_rate, next_timer, send_record, .. } = setup;
        let scheme = Scheme {
            congestion: CongestionConfig::by_name("fixed_window").unwrap(),
            balance: BalanceConfig::by_name("ecmp").unwrap(),
            recovery: RecoveryConfig { rto: setup.rto, backoff: true, policy: setup.policy },
            coding: setup.coding.map_or(CodingConfig::by_name("none").unwrap(), |(data, parity)| {
                CodingConfig::Mds(blocks::MdsConfig { data, parity, ..blocks::MdsConfig::default() })
            }),
            on_nack: setup.on_nack,
            window_check: setup.window_check,
            connection: setup.connection,
            profile: FlowProfile {
                acks: AckConfig::by_name(setup.acks).unwrap(),
                repeats_marks: setup.repeats_marks,
                persistent: setup.persistent,
                ..FlowProfile::default()
            },
        };
        let mut route = Route::new(testing::path(), &scheme).with_rtt_noise(setup.rtt_noise);
        (route.needs.sent, route.needs.send_record) = (true, send_record);
        let route = Arc::new(route);
        let via = setup.numbers.map(|numbering| {
            Arc::new(Via {
                proxy: HostId(3),
                acknowledges: false,
                limit: u32::MAX,
                numbers: Some(numbering),
                direct: Arc::clone(&route),
                direct_cwnd: cwnd,
                longest_silence: Duration::from_ms(1),
            })
        });
        let (flow, to, size) = (FlowId(1), HostId(2), setup.size);
        let message = Message { flow, to, size, initial_cwnd: cwnd, route, via };
        let log = Log::default();
        let decision = Decision { cwnd, pacing_rate, next_timer, allowance: None };
        let control = Scripted { decision, log: Arc::clone(&log) };
        let balancer = Counting { next: 0, log: Arc::clone(&log) };
        let (control, balancer) =
            (Control::Custom(Box::new(Box::new(control))), Balancer::Custom(Box::new(Box::new(balancer))));
        Self { sender: Sender::assemble(Time::ZERO, &message, 1, control, balancer), log }
    }

    /// Sends all that may leave now; gives the numbers of the packets.
    fn send(&mut self, now: Time) -> Vec<u32> {
        core::iter::from_fn(|| {
            let may = self.sender.next_send().is_some_and(|at| at <= now);
            may.then(|| self.sender.send(now).0.header.seq)
        })
        .collect()
    }

    /// An ACK of the transmission of `seq` that left at `sent_at`, with nothing cumulative.
    fn ack(&mut self, now: Time, seq: u32, sent_at: Time) {
        self.ack_up_to(now, seq, sent_at, 0);
    }

    fn ack_up_to(&mut self, now: Time, seq: u32, sent_at: Time, cumulative: u32) {
        let echo = Echo { sent_at, entropy: seq as u16 };
        let fate = Fate::Arrived { echo, ecn_ce: seq == 3, block_complete: false, map: 0 };
        self.dispatch_ack(now, seq, cumulative, fate);
    }

    /// A NACK of the transmission of `seq` that left at `sent_at`.
    fn nack(&mut self, now: Time, seq: u32, sent_at: Time, cumulative: u32) {
        let echo = Echo { sent_at, entropy: (seq as u16).wrapping_add(100) };
        self.dispatch_ack(now, seq, cumulative, Fate::Trimmed { echo, at_last_hop: false, ecn_ce: false });
    }

    fn dispatch_ack(&mut self, now: Time, seq: u32, cumulative: u32, fate: Fate) {
        self.sender.on_feedback(now, &Feedback { flow: FlowId(1), seq, cumulative, fate }, None);
    }

    fn nacks_seen(&self) -> usize {
        self.log.lock().unwrap().nacks.len()
    }

    fn last_ack(&self) -> Ack<'static> {
        *self.log.lock().unwrap().acks.last().unwrap()
    }
}

#[test]
fn below_lets_the_last_packet_overshoot_and_fits_does_not() {
    let cwnd = Bytes::new(3 * MSS + 1);
    let mut below = Bench::new(Setup { cwnd, ..Setup::default() });
    assert_eq!(below.send(us(0)), [0, 1, 2, 3]);
    let mut fits = Bench::new(Setup { cwnd, window_check: WindowCheck::Fits, ..Setup::default() });
    assert_eq!(fits.send(us(0)), [0, 1, 2]);
}

#[test]
fn one_packet_may_be_in_flight_while_the_window_is_open_and_none_leaves_while_it_is_zero() {
    for window_check in [WindowCheck::Below, WindowCheck::Fits] {
        let mut open = Bench::new(Setup { cwnd: Bytes::new(1), window_check, ..Setup::default() });
        assert_eq!(open.send(us(0)), [0]);
        open.ack(us(10), 0, us(0));
        assert_eq!(open.send(us(10)), [1]);
        let mut closed = Bench::new(Setup { cwnd: Bytes::ZERO, window_check, ..Setup::default() });
        assert!(closed.send(us(0)).is_empty());
    }
}

#[test]
fn only_the_last_packet_is_shorter() {
    let mut bench = Bench::new(Setup { size: Bytes::new(2 * MSS + 1), ..Setup::default() });
    let packets: Vec<_> = (0..3).map(|_| bench.sender.send(us(0)).0).collect();
    let payload = |packet: DataPacket| packet.into_transmit(mss(1)).payload.unwrap();
    let payloads: Vec<_> = packets.iter().cloned().map(payload).collect();
    assert_eq!(payloads, [0..4096, 4096..8192, 8192..8193].map(Payload::Source));
    assert_eq!(
        packets.iter().map(|p| (p.header.len, p.header.packets)).collect::<Vec<_>>(),
        [(4096, 3), (4096, 3), (1, 3)]
    );
    assert_eq!(bench.sender.next_send(), None);
    assert_eq!(bench.sender.view().in_flight, Bytes::new(8193));
}

#[test]
fn an_ack_tells_the_control_what_it_acknowledges_and_when_that_left() {
    let mut bench = Bench::new(Setup::default());
    bench.send(us(5));
    bench.ack(us(25), 3, us(5));
    assert_eq!(
        bench.last_ack(),
        Ack {
            now: us(25),
            bytes_acked: mss(1),
            mapped: Bytes::ZERO,
            acked_packets: 1,
            ecn_ce: true,
            rtt: Duration::from_us(20),
            sent_at: us(5),
            in_flight: mss(3),
            delivered: mss(1),
            acked_below: 0,
            sent_below: 4,
            has_losses: false,
            at_send: None,
            telemetry: None,
        }
    );
    assert_eq!(bench.log.lock().unwrap().entropies_acked, [3]);
}

#[test]
fn the_cumulative_number_makes_up_for_lost_acks() {
    let mut bench = Bench::new(Setup::default());
    bench.send(us(0));
    bench.ack(us(20), 1, us(0));
    bench.ack_up_to(us(21), 2, us(0), 3);
    assert_eq!(bench.last_ack().bytes_acked, mss(2), "packets 0 and 2; 1 was known");
    assert_eq!(bench.last_ack().delivered, mss(3));
    assert_eq!(bench.sender.view().in_flight, mss(1));
}

#[test]
fn a_duplicate_ack_acknowledges_nothing() {
    let mut bench = Bench::new(Setup::default());
    bench.send(us(0));
    bench.ack(us(20), 1, us(0));
    bench.ack(us(22), 1, us(0));
    assert_eq!(bench.last_ack().bytes_acked, Bytes::ZERO);
    assert_eq!(bench.sender.view().delivered, mss(1));
}

#[test]
fn an_ack_of_what_was_never_sent_is_ignored() {
    let mut bench = Bench::new(Setup::default());
    bench.send(us(0));
    bench.ack(us(20), 4, us(0));
    bench.ack(us(20), 0, us(21));
    assert!(bench.log.lock().unwrap().acks.is_empty());
    bench.ack_up_to(us(20), 0, us(0), 90);
    assert_eq!(bench.sender.view().delivered, mss(4), "no more than was sent");
}

#[test]
fn lost_packets_leave_the_window_and_go_first() {
    let mut bench = Bench::new(Setup::default());
    assert_eq!(bench.send(us(0)), [0, 1, 2, 3]);
    bench.ack(us(20), 0, us(0));
    assert_eq!(bench.send(us(20)), [4]);
    assert_eq!(bench.sender.deadline(us(1000)), us(100));
    bench.sender.on_timeout(us(100));
    assert_eq!(bench.sender.view().in_flight, mss(1));
    assert_eq!(bench.send(us(100)), [1, 2, 3]);
    assert_eq!(bench.sender.view().counters.retransmitted_packets, 3);
}

#[test]
fn a_packet_that_came_trimmed_leaves_the_window_at_once_and_goes_first() {
    let mut bench = Bench::new(Setup::default());
    assert_eq!(bench.send(us(5)), [0, 1, 2, 3]);
    bench.nack(us(25), 2, us(5), 0);
    let expected =
        Nack { now: us(25), bytes: mss(1), sent_at: us(5), in_flight: mss(3), cause: NackCause::Trimmed };
    assert_eq!(bench.log.lock().unwrap().nacks, [expected]);
    assert_eq!(bench.log.lock().unwrap().entropies_nacked, [102]);
    assert_eq!(bench.sender.view().in_flight, mss(3));
    let (again, deadline) = bench.sender.send(us(25));
    assert!(again.retransmission);
    assert_eq!((again.header.seq, deadline), (2, us(125)), "no time-out has run out");
    let counters = bench.sender.view().counters;
    assert_eq!((counters.nacks, counters.losses, counters.timeouts), (1, 0, 0));
    assert_eq!(bench.sender.view().srtt, None, "a trimmed packet's round trip is none");
}

#[test]
fn a_nack_of_a_transmission_that_is_not_in_flight_changes_nothing() {
    let mut bench = Bench::new(Setup::default());
    bench.send(us(0));
    bench.ack(us(20), 1, us(0));
    bench.nack(us(21), 1, us(0), 0);
    bench.nack(us(22), 0, us(0), 0);
    bench.nack(us(23), 0, us(0), 0);
    assert_eq!(bench.nacks_seen(), 1, "1 is acknowledged, and the second of 0 comes after the first");
    assert_eq!(bench.send(us(30)), [0, 4]);
    bench.nack(us(31), 0, us(0), 0);
    assert_eq!((bench.nacks_seen(), bench.sender.view().in_flight), (1, mss(4)), "0 was sent again");
    bench.nack(us(50), 0, us(30), 0);
    assert_eq!((bench.nacks_seen(), bench.sender.view().in_flight), (2, mss(3)));
    assert_eq!(bench.sender.view().counters.nacks, 5, "all that came are counted");
    bench.nack(us(51), 5, us(30), 0);
    bench.nack(us(51), 2, us(52), 0);
    assert_eq!(bench.sender.view().counters.nacks, 5, "but not those of what was never sent");
}

#[test]
fn a_packet_that_timed_out_and_then_came_trimmed_keeps_its_longer_time_out() {
    let mut bench = Bench::new(Setup { cwnd: mss(1), ..Setup::default() });
    bench.send(us(0));
    bench.sender.on_timeout(us(100));
    bench.nack(us(101), 0, us(0), 0);
    assert_eq!(bench.nacks_seen(), 0, "it is marked lost already");
    bench.send(us(110));
    bench.nack(us(130), 0, us(110), 0);
    assert_eq!(bench.sender.send(us(140)).1, us(340));
}

#[test]
fn what_a_nack_acknowledges_the_control_hears_with_the_next_ack() {
    let mut bench = Bench::new(Setup::default());
    bench.send(us(0));
    bench.nack(us(20), 2, us(0), 2);
    assert_eq!(bench.sender.view().delivered, mss(2), "the ACKs of 0 and 1 are late or lost");
    assert_eq!(bench.sender.view().in_flight, mss(1));
    bench.ack(us(21), 3, us(0));
    assert_eq!(bench.last_ack().bytes_acked, mss(3));
    bench.ack(us(22), 0, us(0));
    assert_eq!(bench.last_ack().bytes_acked, Bytes::ZERO);
}

#[test]
fn a_nack_that_acknowledges_everything_finishes_the_message() {
    let mut bench = Bench::new(Setup { size: mss(2), ..Setup::default() });
    bench.send(us(0));
    bench.nack(us(20), 0, us(0), 2);
    assert!(bench.sender.is_finished());
    assert_eq!(bench.sender.view().in_flight, Bytes::ZERO);
}

#[test]
fn all_time_outs_of_one_instant_make_one_event() {
    let mut bench = Bench::new(Setup::default());
    bench.send(us(0));
    bench.ack(us(20), 2, us(0));
    bench.sender.on_timeout(us(99));
    assert!(bench.log.lock().unwrap().timeouts.is_empty());
    bench.sender.on_timeout(us(100));
    let expected = Timeout { now: us(100), bytes: mss(3), sent_at: us(0), in_flight: Bytes::ZERO, rto: RTO };
    assert_eq!(bench.log.lock().unwrap().timeouts, [expected]);
    assert_eq!(bench.log.lock().unwrap().entropies_timed_out, [100, 101, 103]);
    assert_eq!(bench.sender.view().counters.timeouts, 3);
}

#[test]
fn a_retransmission_waits_twice_as_long() {
    let mut bench = Bench::new(Setup { cwnd: mss(1), ..Setup::default() });
    bench.send(us(0));
    bench.sender.on_timeout(us(100));
    let (packet, deadline) = bench.sender.send(us(110));
    assert!(packet.retransmission);
    assert_eq!((deadline, bench.sender.deadline(us(1000))), (us(310), us(310)));
}

#[test]
fn a_packet_held_for_lost_that_arrives_is_not_sent_again() {
    let mut bench = Bench::new(Setup { cwnd: mss(2), ..Setup::default() });
    bench.send(us(0));
    bench.sender.on_timeout(us(100));
    bench.ack(us(101), 0, us(0));
    assert_eq!(bench.last_ack().bytes_acked, mss(1));
    assert_eq!(bench.send(us(101)), [1, 2]);
    assert_eq!(bench.sender.view().counters.spurious, 1);
}

#[test]
fn a_late_ack_of_the_first_transmission_settles_the_packet_that_was_sent_again() {
    let mut bench = Bench::new(Setup { cwnd: mss(1), ..Setup::default() });
    bench.send(us(0));
    bench.sender.on_timeout(us(100));
    bench.send(us(100));
    bench.ack(us(105), 0, us(0));
    assert_eq!(bench.last_ack().rtt, Duration::from_us(105), "the echo says which transmission");
    assert_eq!(bench.sender.view().in_flight, Bytes::ZERO);
    bench.ack(us(120), 0, us(100));
    assert_eq!(bench.last_ack().bytes_acked, Bytes::ZERO);
    assert_eq!(bench.sender.view().counters.spurious, 1);
}

#[test]
fn rack_gives_up_packets_that_left_a_quarter_rtt_before_one_that_arrived() {
    let rack = Setup { cwnd: mss(10), policy: RecoveryPolicy::Rack, ..Setup::default() };
    let mut bench = Bench::new(rack);
    for at in 0..6 {
        bench.sender.send(us(at * 3));
    }
    // The RTT is 40 us, so the reordering window is 10 us.
    bench.ack(us(49), 3, us(9));
    assert!(bench.log.lock().unwrap().losses.is_empty());
    bench.ack(us(55), 5, us(15));
    let expected = Loss { now: us(55), bytes: mss(2), sent_at: us(3), in_flight: mss(2) };
    assert_eq!(bench.log.lock().unwrap().losses, [expected]);
    assert_eq!(bench.log.lock().unwrap().entropies_lost, [100, 101]);
    assert!(bench.log.lock().unwrap().entropies_timed_out.is_empty());
    let counters = bench.sender.view().counters;
    assert_eq!((counters.losses, counters.timeouts), (2, 0));
    assert_eq!(bench.sender.send(us(55)).0.header.seq, 0);
    assert_eq!(bench.sender.deadline(us(55)), us(56), "packet 2, which was not given up, left at 6 us");
}

#[test]
fn a_probe_is_one_packet_more_than_the_window() {
    let rack = Setup { cwnd: mss(2), policy: RecoveryPolicy::Rack, ..Setup::default() };
    let mut bench = Bench::new(rack);
    assert_eq!(bench.send(us(0)), [0, 1]);
    assert!(bench.sender.on_timeout(us(100)) > us(100));
    assert_eq!(bench.send(us(100)), [2], "new data is the better probe");
    let view = bench.sender.view();
    assert_eq!((view.in_flight, view.counters.probes, view.counters.timeouts), (mss(3), 1, 0));
    assert!(bench.log.lock().unwrap().losses.is_empty());
}

#[test]
fn the_first_packet_leaves_again_after_a_time_out_whatever_the_window() {
    let rack = Setup { cwnd: mss(1), policy: RecoveryPolicy::Rack, ..Setup::default() };
    let mut bench = Bench::new(rack);
    assert_eq!(bench.send(us(0)), [0]);
    bench.sender.cwnd = mss(2);
    assert_eq!(bench.send(us(0)), [1]);
    bench.ack(us(40), 1, us(0));
    bench.sender.cwnd = mss(2);
    assert_eq!(bench.send(us(130)), [2]);
    // Packet 2 left too late to be given up with packet 0, and the window is one packet.
    bench.sender.on_timeout(us(140));
    assert_eq!((bench.sender.view().in_flight, bench.sender.view().counters.timeouts), (mss(1), 1));
    assert_eq!(bench.send(us(140)), [0]);
}

#[test]
fn retransmissions_are_paced_too() {
    let rate = Some(Rate::from_gbps(10));
    let mut bench = Bench::new(Setup { pacing_rate: rate, ..Setup::default() });
    let gap = Rate::from_gbps(10).transmission(Bytes::new(MSS + 64));
    assert_eq!(bench.send(us(0)), [0]);
    assert_eq!(bench.sender.next_send(), Some(us(0) + gap));
    bench.sender.on_timeout(us(100));
    assert_eq!(bench.send(us(100)), [0, 1], "the one and the burst of one packet after a pause");
    assert_eq!(bench.sender.next_send(), Some(us(100) + gap));
}

#[test]
fn the_control_hears_of_every_packet_that_leaves() {
    let mut bench = Bench::new(Setup { cwnd: mss(1), ..Setup::default() });
    bench.send(us(1));
    bench.sender.on_timeout(us(101));
    bench.send(us(101));
    let sent = |now, retransmission| Sent { now, bytes: mss(1), in_flight: mss(1), retransmission };
    assert_eq!(bench.log.lock().unwrap().sent, [sent(us(1), false), sent(us(101), true)]);
}

#[test]
fn the_control_s_timer_comes_when_it_asked_and_not_before() {
    let mut bench = Bench::new(Setup { next_timer: Some(us(50)), ..Setup::default() });
    assert_eq!(bench.sender.control_timer(), Some(us(50)));
    bench.sender.on_control_timer(us(49));
    bench.sender.on_control_timer(us(50));
    assert_eq!(bench.log.lock().unwrap().timers, [us(50)]);
    assert_eq!(bench.sender.control_timer(), None, "the script asks for the past again, which is ignored");
}

#[test]
fn the_time_out_of_rfc_6298_follows_the_samples() {
    let (initial, variance_floor) = (Duration::from_us(500), Duration::from_us(1));
    let rto = Rto::Rfc6298 { initial, variance_floor, min: Duration::ZERO };
    let mut bench = Bench::new(Setup { rto, ..Setup::default() });
    bench.send(us(0));
    assert_eq!(bench.sender.deadline(us(1000)), us(500), "before any sample");
    bench.ack(us(30), 0, us(0));
    assert_eq!(bench.sender.deadline(us(1000)), us(90), "SRTT 30, RTTVAR 15");
}

#[test]
fn a_send_record_comes_back_with_the_ack_of_that_transmission_only() {
    let wants = Setup { send_record: true, size: mss(6), cwnd: mss(3), ..Setup::default() };
    let mut bench = Bench::new(wants);
    bench.send(us(5));
    bench.ack(us(25), 1, us(5));
    let at_send = |in_flight, delivered, delivered_at, first_sent_at, app_limited| {
        Some(SendRecord {
            in_flight: mss(in_flight),
            cwnd: mss(3),
            delivered: mss(delivered),
            delivered_at,
            first_sent_at,
            app_limited,
        })
    };
    assert_eq!(bench.last_ack().at_send, at_send(2, 0, us(5), us(5), false));
    assert_eq!(bench.send(us(26)), [3]);
    bench.ack(us(50), 3, us(26));
    assert_eq!(bench.last_ack().at_send, at_send(3, 1, us(25), us(5), false));
    assert_eq!(bench.send(us(51)), [4]);
    bench.sender.on_timeout(us(105));
    assert_eq!(bench.send(us(105)), [0, 2]);
    bench.ack(us(106), 0, us(5));
    assert_eq!(bench.last_ack().at_send, None, "an earlier transmission than the last");
    bench.ack(us(126), 2, us(105));
    assert_eq!(bench.send(us(126)), [5]);
    bench.ack(us(150), 5, us(126));
    assert!(bench.last_ack().at_send.is_some_and(|record| record.app_limited), "nothing was left to send");
}

#[test]
fn send_records_survive_the_growth_of_their_ring() {
    let wants = Setup { send_record: true, cwnd: mss(100), ..Setup::default() };
    let mut bench = Bench::new(wants);
    for i in 0..100 {
        bench.sender.send(us(i));
    }
    for seq in 0..100 {
        bench.ack(us(200), seq, us(u64::from(seq)));
        let record = bench.last_ack().at_send.unwrap();
        assert_eq!(record.in_flight, mss(u64::from(seq) + 1));
    }
}

proptest! {
    /// Bytes in flight, by a slow model: the last transmission of each packet, until it is acknowledged or lost.
    #[test]
    fn bytes_in_flight_are_those_of_packets_neither_acknowledged_nor_lost(
        steps in prop::collection::vec((0u8..6, any::<u16>(), 0u64..60), 1..300),
        cwnd in 1u64..30,
        check in prop_oneof![Just(WindowCheck::Below), Just(WindowCheck::Fits)],
        coding in prop_oneof![Just(None), Just(Some((4, 2)))],
    ) {
        let size = Bytes::new(60 * MSS - 1000);
        let mut bench = Bench::new(Setup { size, cwnd: mss(cwnd), window_check: check, coding, ..Setup::default() });
        let (mut now, mut flying, mut sent) = (Time::ZERO, BTreeMap::new(), Vec::new());
        for (step, pick, wait) in steps {
            now += Duration::from_us(wait);
            // Some transmission, not always the packet's last; or one that was never sent.
            let any = sent.get(usize::from(pick) % (sent.len() + 1)).copied().unwrap_or((u32::from(pick), now));
            match step {
                0 | 1 => if bench.sender.next_send().is_some_and(|at| at <= now) {
                    let seq = bench.sender.send(now).0.header.seq;
                    flying.insert(seq, now);
                    sent.push((seq, now));
                },
                2 => {
                    bench.ack(now, any.0, any.1);
                    flying.remove(&any.0);
                }
                3 | 4 => {
                    bench.nack(now, any.0, any.1, 0);
                    if flying.get(&any.0) == Some(&any.1) {
                        flying.remove(&any.0);
                    }
                }
                _ => if bench.sender.deadline(now) <= now {
                    let next = bench.sender.on_timeout(now);
                    prop_assert_eq!(next, bench.sender.deadline(now));
                    let held = |seq: &u32| bench.sender.sent.clone().take_one(now, *seq, flying[seq]).is_some();
                    let kept: Vec<u32> = flying.keys().copied().filter(held).collect();
                    flying.retain(|seq, _| kept.contains(seq));
                },
            }
            let bytes: Bytes = flying.keys().map(|&seq| bench.sender.len(seq)).sum();
            prop_assert_eq!(bench.sender.view().in_flight, bytes);
        }
    }
}
