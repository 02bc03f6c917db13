//! Tests of RACK-TLP: packets that leave each microsecond over a path of constant round trip, in closed form.

use super::*;
use alloc::vec::Vec;

/// The round trip, in microseconds; a quarter of it is the reordering window.
const R: u64 = 40;
/// Long enough to stay out of the way.
const RTO_POLICY: RtoPolicy = RtoPolicy::of(Duration::from_us(1000));

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

/// The verdict of a policy at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Said {
    Lost(u32),
    TimedOut(u32),
    Probe,
}

/// One flow's policy and packets; what is lost leaves again when the test says so.
struct Flow {
    rack: Rack,
    sent: SentMap,
    rtt: RttEstimate,
    rto_policy: RtoPolicy,
    /// How many ACKs were good ones.
    good: u32,
}

impl Flow {
    /// After so many packets, which left at 0, 1, 2 ... us.
    fn with(packets: u32, rto_policy: RtoPolicy) -> Self {
        let rack = Rack::new(Time::ZERO);
        let (sent, rtt) = (SentMap::new(false), RttEstimate::default());
        let mut flow = Self { rack, sent, rtt, rto_policy, good: 0 };
        (0..packets).for_each(|seq| flow.send(u64::from(seq)));
        flow
    }

    fn new(packets: u32) -> Self {
        Self::with(packets, RTO_POLICY)
    }

    fn send(&mut self, at: u64) {
        let was_idle = self.sent.oldest_sent_at(us(at)).is_none();
        self.sent.send_new(us(at), 0);
        self.rack.on_sent(us(at), 0, was_idle, self.rto_policy);
    }

    fn resend(&mut self, at: u64) -> u32 {
        let was_idle = self.sent.oldest_sent_at(us(at)).is_none();
        let (seq, timeouts) = self.sent.resend(us(at), 0).expect("a packet is lost");
        self.rack.on_sent(us(at), timeouts, was_idle, self.rto_policy);
        seq
    }

    /// The ACK of the transmission of `seq` that left at `sent_at`; gives what is lost by it.
    fn ack_at(&mut self, at: u64, seq: u32, sent_at: u64) -> Vec<u32> {
        let (now, sent_at) = (us(at), us(sent_at));
        let outcome = self.sent.acknowledge(sent_at, seq);
        self.sent.advance();
        let rtt = now.since(sent_at);
        self.rtt.update(rtt);
        let is_new = outcome != AckOutcome::Known;
        let ack = Acked { now, seq, sent_at, rtt, is_new, outcome, mapped_below: 0 };
        let mut quick = self.rack.clone();
        let said = quick.on_good_ack(&ack, &self.rtt, &mut self.sent, self.rto_policy);
        let verdict = self.rack.on_ack(ack, &self.rtt, &mut self.sent);
        let mut lost: Vec<u32> = verdict.repaired.iter().map(|lost| lost.seq).collect();
        let before = lost.len();
        while let Some(packet) = verdict.lost_until.and_then(|mark| self.sent.take_sent_until(now, mark)) {
            lost.push(packet.seq);
        }
        if lost.len() > before {
            self.rack.on_lost(&self.sent);
        }
        let is_earlier = self.rack.is_earlier(now, &mut self.sent, self.rto_policy);
        if let Some(said) = said {
            assert_eq!((said, &quick), (is_earlier, &self.rack), "what is noted is what would be judged");
            assert_eq!((verdict.repaired, lost.len()), (None, 0), "nothing is lost");
            self.good += 1;
        }
        let due = self.rack.deadline(now, &mut self.sent, self.rto_policy);
        assert!(self.rack.armed <= due, "{:?} at {now:?}: a timer comes up at {due:?}", self.rack.armed);
        lost
    }

    /// The ACK of a packet that left in turn, a round trip after.
    fn ack(&mut self, seq: u32) -> Vec<u32> {
        self.ack_at(u64::from(seq) + R, seq, u64::from(seq))
    }

    /// The timer that has run out at this time.
    fn expire(&mut self, at: Time) -> Vec<Said> {
        core::iter::from_fn(|| {
            let expired = self.rack.take_expired(at, &mut self.sent, self.rto_policy).ok()?;
            Some(match expired {
                Expired::Lost(lost) => Said::Lost(lost.seq),
                Expired::TimedOut(lost) => Said::TimedOut(lost.seq),
                Expired::Probe => {
                    let replaced = self.sent.take_last(at);
                    self.rack.on_probe(at, replaced, self.sent.next());
                    Said::Probe
                }
            })
        })
        .collect()
    }

    fn deadline(&mut self, now: u64) -> Time {
        self.rack.deadline(us(now), &mut self.sent, self.rto_policy)
    }

    /// Asserts that nothing is said before this time, and this at it.
    fn expect(&mut self, at: Time, said: &[Said]) {
        let before = Time::from_ps(at.as_ps() - 1);
        assert_eq!(self.expire(before), [], "nothing a picosecond before");
        assert_eq!(self.rack.deadline(before, &mut self.sent, self.rto_policy), at);
        assert_eq!(self.expire(at), said);
    }
}

#[test]
fn without_reordering_a_packet_is_lost_when_three_later_ones_have_arrived() {
    let mut flow = Flow::new(10);
    assert!(flow.ack(0).is_empty());
    assert!(flow.ack(2).is_empty() && flow.ack(3).is_empty());
    assert_eq!(flow.ack(4), [1]);
}

#[test]
fn with_fewer_later_ones_it_is_lost_a_round_trip_and_a_quarter_after_it_left() {
    for later in [1, 2] {
        let mut flow = Flow::new(2 + later);
        flow.ack(0);
        (2..2 + later).for_each(|seq| assert!(flow.ack(seq).is_empty()));
        flow.expect(us(1 + R + R / 4), &[Said::Lost(1)]);
    }
}

#[test]
fn a_lost_tail_is_found_by_the_ack_of_a_retransmission_below_it() {
    let mut flow = Flow::new(10);
    for seq in (0..5).chain([6, 7]) {
        assert!(flow.ack(seq).is_empty());
    }
    assert_eq!(flow.ack(8), [5]);
    let at = 8 + R;
    assert_eq!(flow.resend(at), 5);
    assert_eq!(flow.ack_at(at + R, 5, at), [9], "all before it have arrived, and it left earlier");
}

#[test]
fn a_probe_of_new_data_that_an_ack_forestalls_leaves_room_for_the_next() {
    let mut flow = Flow::new(10);
    flow.ack(0);
    let next = flow.sent.next();
    flow.rack.on_probe(us(3 * R), None, next + 1);
    flow.ack_at(3 * R + 1, 1, 1);
    assert!(flow.rack.probe.is_none(), "packet {next} has not left");
}

#[test]
fn once_reordering_was_seen_three_later_ones_show_no_loss() {
    let mut flow = Flow::new(30);
    // Packet 0 arrives after packet 1.
    assert!(flow.ack(1).is_empty() && flow.ack_at(R + 2, 0, 0).is_empty());
    let first_after = 2 + R / 4 + 1;
    for seq in 3..first_after as u32 {
        let lost = flow.ack(seq);
        assert_eq!(lost.is_empty(), u64::from(seq) < 2 + R / 4, "{seq}: {lost:?}");
    }
}

#[test]
fn a_packet_late_by_less_than_the_window_is_never_lost() {
    let mut flow = Flow::new(30);
    assert!(flow.ack(1).is_empty() && flow.ack_at(R + 2, 0, 0).is_empty());
    (3..2 + R as u32 / 4).for_each(|seq| assert!(flow.ack(seq).is_empty()));
    assert!(flow.ack_at(2 + R + R / 4 - 1, 2, 2).is_empty());
    assert_eq!(flow.deadline(2 + R + R / 4), flow.rack.tail_due(RTO_POLICY), "no packet is waited for");
}

#[test]
fn without_a_later_ack_the_window_runs_out_by_itself() {
    let mut flow = Flow::new(8);
    assert!(flow.ack(1).is_empty() && flow.ack_at(R + 2, 0, 0).is_empty());
    (3..8).for_each(|seq| assert!(flow.ack(seq).is_empty()));
    flow.expect(us(2 + R + R / 4), &[Said::Lost(2)]);
}

#[test]
fn in_recovery_the_next_later_packet_shows_a_loss() {
    let mut flow = Flow::new(12);
    [0, 2, 3].into_iter().for_each(|seq| assert!(flow.ack(seq).is_empty()));
    assert_eq!(flow.ack(4), [1]);
    assert_eq!(flow.ack(6), [5]);
}

#[test]
fn after_recovery_the_window_counts_again() {
    let mut flow = Flow::new(6);
    [0, 2, 3].into_iter().for_each(|seq| assert!(flow.ack(seq).is_empty()));
    assert_eq!(flow.ack(4), [1]);
    flow.ack(5);
    assert_eq!(flow.resend(46), 1);
    (47..50).for_each(|at| flow.send(at));
    assert!(flow.ack_at(46 + R, 1, 46).is_empty());
    assert!(flow.ack_at(48 + R, 7, 48).is_empty(), "one later packet is no proof");
    flow.expect(us(47 + R + R / 4), &[Said::Lost(6)]);
}

#[test]
fn a_lost_retransmission_is_judged_by_its_own_send_time() {
    let mut flow = Flow::new(5);
    [0, 2, 3].into_iter().for_each(|seq| assert!(flow.ack(seq).is_empty()));
    assert_eq!(flow.ack(4), [1]);
    assert_eq!(flow.resend(45), 1);
    (46..48).for_each(|at| flow.send(at));
    assert_eq!(flow.ack_at(46 + R, 5, 46), [1]);
}

#[test]
fn a_quiet_flow_probes_two_srtt_after_its_last_packet_or_ack_and_the_rest_is_lost_a_round_trip_later() {
    let mut flow = Flow::new(5);
    flow.ack(0);
    flow.expect(us(R + 2 * R), &[Said::Probe]);
    // The last packet leaves once more.
    assert_eq!(flow.resend(R + 2 * R), 4);
    assert_eq!(flow.ack_at(R + 3 * R, 4, R + 2 * R), [4, 1, 2, 3], "the probe repaired a loss");
    // A packet sent later than the last ACK moves the probe.
    let mut flow = Flow::new(5);
    flow.ack(0);
    flow.send(R + 7);
    flow.expect(us(R + 7 + 2 * R), &[Said::Probe]);
}

#[test]
fn a_probe_whose_packet_was_only_late_shows_no_loss_and_widens_nothing() {
    let mut flow = Flow::new(2);
    flow.ack(0);
    flow.expect(us(R + 2 * R), &[Said::Probe]);
    flow.resend(R + 2 * R);
    assert!(flow.ack_at(R + 2 * R + 1, 1, 1).is_empty());
    assert_eq!((flow.rack.probe, flow.rack.spurious), (None, 0));
}

#[test]
fn one_probe_is_out_at_a_time_and_the_time_out_follows_it() {
    let mut flow = Flow::new(3);
    flow.ack(0);
    flow.expect(us(3 * R), &[Said::Probe]);
    flow.resend(3 * R);
    flow.expect(us(3 * R + 1000), &[Said::TimedOut(1), Said::Lost(2)]);
}

#[test]
fn where_the_time_out_is_shorter_the_probe_takes_its_place_and_it_starts_again() {
    let mut flow = Flow::with(3, RtoPolicy::of(Duration::from_us(R + 10)));
    flow.ack(0);
    flow.expect(us(2 * R + 10), &[Said::Probe]);
    flow.resend(2 * R + 10);
    flow.expect(us(3 * R + 20), &[Said::TimedOut(1), Said::Lost(2)]);
    flow.resend(3 * R + 20);
    assert_eq!(flow.deadline(3 * R + 20), us(3 * R + 20 + 2 * (R + 10)), "the second one is twice as long");
}

#[test]
fn before_the_first_sample_the_probe_leaves_when_the_time_out_would_run_out() {
    let mut flow = Flow::new(2);
    flow.expect(us(1000), &[Said::Probe]);
}

#[test]
fn a_time_out_takes_the_first_packet_and_what_left_long_enough_ago() {
    let mut flow = Flow::new(3);
    flow.ack(0);
    flow.expect(us(3 * R), &[Said::Probe]);
    flow.resend(3 * R);
    flow.send(3 * R + 990);
    // The last one left 10 us ago: it is waited for.
    flow.expect(us(3 * R + 1000), &[Said::TimedOut(1), Said::Lost(2)]);
    assert_eq!(flow.sent.oldest_sent_at(us(3 * R + 1000)), Some(us(3 * R + 990)));
}

#[test]
fn an_ack_of_new_data_starts_the_time_out_again_and_ends_its_back_off() {
    let mut flow = Flow::new(4);
    flow.rack.expiries = 2;
    assert_eq!(flow.rack.rto_due(RTO_POLICY), us(4000));
    flow.ack(0);
    assert_eq!(flow.rack.rto_due(RTO_POLICY), us(R + 1000));
}

#[test]
fn a_spurious_loss_widens_the_window_once_a_round_and_up_to_the_srtt() {
    let mut flow = Flow::new(0);
    let mut at = 0;
    for round in 1..=5_u64 {
        // Two packets are found lost, and arrive all the same.
        let first = flow.sent.next();
        (0..2).for_each(|i| flow.send(at + i));
        flow.send(at + 500);
        flow.ack_at(at + 500 + R, first + 2, at + 500);
        flow.expire(us(at + 900));
        // The round goes on while this one is under way.
        flow.send(at + 990);
        flow.ack_at(at + 1000, first, at + 1000 - R);
        flow.ack_at(at + 1000, first + 1, at + 1000 - R);
        assert_eq!(u64::from(flow.rack.spurious), round);
        flow.ack_at(at + 990 + R, first + 3, at + 990);
        let window = flow.rack.reordering_window(&flow.sent);
        assert_eq!(window, Duration::from_us((R / 4 * (round + 1)).min(R)));
        at += 10_000;
    }
}

#[test]
fn after_sixteen_recoveries_without_a_spurious_loss_the_window_shrinks_back() {
    let mut flow = Flow::new(1);
    (flow.rack.spurious, flow.rack.persist) = (3, PERSIST);
    for recovery in 1..=u32::from(PERSIST) {
        flow.rack.recovery_end = Some(0);
        flow.rack.adapt(false, &flow.sent);
        assert_eq!(flow.rack.spurious, if recovery < 16 { 3 } else { 0 });
    }
}

#[test]
fn good_acks_are_noted_without_a_judgement_until_something_may_be_lost() {
    let mut flow = Flow::new(10);
    (0..4).for_each(|seq| assert!(flow.ack(seq).is_empty()));
    assert_eq!(flow.good, 4);
    // Packet 4 is missing, and nothing was reordered before: from here on each ACK is judged.
    for seq in 5..8 {
        flow.ack(seq);
    }
    flow.resend(2 * R);
    flow.ack_at(3 * R, 4, 2 * R);
    flow.ack_at(3 * R, 8, 8);
    assert_eq!(flow.good, 4);
}

#[test]
fn among_reordered_packets_acks_are_good_ones_until_the_window_has_passed() {
    let mut flow = Flow::new(20);
    flow.ack(1);
    flow.ack_at(1 + R, 0, 0);
    assert!(flow.rack.reordering_seen);
    let before = flow.good;
    (3..6).for_each(|seq| assert!(flow.ack(seq).is_empty()));
    assert_eq!(flow.good, before + 3);
    // Packet 2 left 50 us ago: a round trip and the reordering window.
    assert_eq!(flow.ack(12), [2]);
    assert_eq!(flow.good, before + 3);
}

#[test]
fn an_ack_of_what_is_known_is_a_good_one() {
    let mut flow = Flow::new(4);
    flow.ack(0);
    flow.ack(1);
    let before = flow.good;
    assert!(flow.ack_at(2 + R, 0, 0).is_empty());
    assert_eq!(flow.good, before + 1);
}

#[test]
fn a_probe_is_judged_by_the_acks_that_follow() {
    let mut flow = Flow::new(3);
    flow.ack(0);
    flow.expect(us(3 * R), &[Said::Probe]);
    assert_eq!(flow.good, 1);
    flow.ack_at(3 * R, 1, 1);
    assert_eq!(flow.good, 1);
}

#[test]
fn only_the_first_packet_of_a_flight_asks_for_a_timer() {
    let mut flow = Flow::new(0);
    flow.sent.send_new(us(5), 0);
    let due = flow.rack.on_sent(us(5), 0, true, RTO_POLICY);
    assert_eq!(due, us(1005));
    flow.sent.send_new(us(6), 0);
    assert_eq!(flow.rack.on_sent(us(6), 0, false, RTO_POLICY), due);
    assert!(flow.rack.tail_due(RTO_POLICY) >= due, "the second one puts nothing forward");
}

#[test]
fn the_probe_for_a_lone_packet_waits_for_an_ack_that_may_be_held() {
    let delayed = RtoPolicy { ack_delay: Duration::from_us(500), ..RTO_POLICY };
    let mut flow = Flow::with(1, RtoPolicy { is_lone: true, ..delayed });
    flow.ack(0);
    flow.send(100);
    assert_eq!(flow.deadline(100), us(100 + 2 * R + 500));
    flow.rto_policy = delayed;
    flow.send(110);
    assert!(flow.rack.armed <= us(110 + 2 * R), "a second packet makes the receiver acknowledge both");
    flow.expect(us(110 + 2 * R), &[Said::Probe]);
}
