//! Tests of the sent-packet map.

use super::cell::MAX_TIMEOUTS;
use super::*;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use farspan_units::Duration;
use proptest::prelude::*;

const RTO: Duration = Duration::from_us(100);
const RTO_POLICY: RtoPolicy = RtoPolicy::of(RTO);
/// After all that happens in tests that do not count time themselves.
const LATER: Time = Time::from_ps(1 << 40);

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

/// A map whose packet `i` left at `i` us.
fn sent(packets: u32) -> SentMap {
    let mut map = SentMap::new(true);
    for i in 0..packets {
        assert_eq!(map.send_new(us(u64::from(i)), i as Entropy + 100), i);
    }
    map
}

fn ack(map: &mut SentMap, seq: u32) -> AckOutcome {
    ack_of(map, seq, LATER)
}

fn ack_of(map: &mut SentMap, seq: u32, sent_at: Time) -> AckOutcome {
    let outcome = map.acknowledge(sent_at, seq);
    map.advance();
    outcome
}

fn timed_out(map: &mut SentMap, now: u64) -> Vec<u32> {
    core::iter::from_fn(|| map.take_timed_out(us(now), RTO_POLICY).ok()).map(|lost| lost.seq).collect()
}

#[test]
fn acks_in_any_order_move_the_base_over_what_is_acknowledged() {
    let mut map = sent(4);
    assert_eq!(ack_of(&mut map, 2, us(2)), AckOutcome::Arrived { is_last: true });
    assert_eq!(ack_of(&mut map, 1, us(2)), AckOutcome::Arrived { is_last: false });
    assert_eq!(map.base(), 0);
    assert_eq!(ack_of(&mut map, 0, us(0)), AckOutcome::Arrived { is_last: true });
    assert_eq!(map.base(), 3);
    assert_eq!(ack(&mut map, 2), AckOutcome::Known);
    assert_eq!(ack(&mut map, 1), AckOutcome::Known);
}

#[test]
fn each_packet_times_out_a_time_out_after_it_left() {
    let mut map = sent(3);
    assert_eq!(map.deadline(LATER, RTO_POLICY), us(100));
    ack(&mut map, 0);
    assert_eq!(map.deadline(LATER, RTO_POLICY), us(101));
    assert!(timed_out(&mut map, 100).is_empty());
    assert_eq!(timed_out(&mut map, 102), [1, 2]);
    assert_eq!(map.deadline(LATER, RTO_POLICY), Time::MAX);
}

#[test]
fn the_time_out_doubles_with_every_repeat_of_one_packet() {
    let mut map = sent(1);
    let mut now = 0;
    for repeat in 0..4 {
        assert_eq!(map.deadline(LATER, RTO_POLICY), us(now + (100 << repeat)));
        now += 100 << repeat;
        assert!(timed_out(&mut map, now - 1).is_empty());
        assert_eq!(timed_out(&mut map, now), [0]);
        assert_eq!(map.resend(us(now), 0), Some((0, repeat + 1)));
    }
}

#[test]
fn a_loss_found_without_a_time_out_does_not_double_it() {
    let mut map = sent(2);
    assert_eq!(map.take_sent_until(LATER, us(0)).map(|lost| lost.seq), Some(0));
    assert_eq!(map.take_sent_until(LATER, us(0)), None);
    assert_eq!(map.resend(us(10), 0), Some((0, 0)));
    ack(&mut map, 1);
    assert_eq!(map.deadline(LATER, RTO_POLICY), us(110));
}

#[test]
fn one_transmission_given_up_for_itself_times_out_no_more_and_later_ones_of_the_packet_do() {
    let mut map = sent(3);
    assert_eq!(map.take_one(LATER, 0, us(0)), Some(LostPacket { seq: 0, sent_at: us(0), entropy: 100 }));
    assert_eq!(map.take_one(LATER, 0, us(0)), None, "it is lost already");
    assert_eq!(map.deadline(LATER, RTO_POLICY), us(101));
    assert_eq!(map.resend(us(5), 7), Some((0, 0)), "no time-out has run out");
    assert_eq!(map.take_one(LATER, 0, us(0)), None, "an earlier transmission");
    assert_eq!(map.take_one(LATER, 9, us(0)), None, "never sent");
    ack(&mut map, 1);
    assert_eq!(map.take_one(LATER, 1, us(1)), None, "acknowledged");
    ack(&mut map, 2);
    assert_eq!(map.deadline(LATER, RTO_POLICY), us(105));
}

#[test]
fn a_retransmission_given_up_and_sent_again_stands_behind_those_sent_before() {
    let mut map = sent(2);
    timed_out(&mut map, 101);
    map.resend(us(110), 0);
    map.resend(us(111), 0);
    assert!(map.take_one(LATER, 0, us(110)).is_some());
    assert_eq!(map.resend(us(150), 0), Some((0, 1)), "the time-outs so far stay");
    assert_eq!(map.deadline(LATER, RTO_POLICY), us(311), "packet 1");
    assert_eq!(timed_out(&mut map, 349), [1]);
    assert_eq!(map.deadline(LATER, RTO_POLICY), us(350));
}

#[test]
fn a_late_packet_comes_with_its_last_send_time_and_entropy() {
    let mut map = sent(20);
    timed_out(&mut map, 100);
    map.resend(us(100), 7);
    let lost: Vec<_> = core::iter::from_fn(|| map.take_sent_until(LATER, us(100))).collect();
    assert_eq!(lost[2], LostPacket { seq: 3, sent_at: us(3), entropy: 103 });
    assert_eq!(lost.last(), Some(&LostPacket { seq: 0, sent_at: us(100), entropy: 7 }));
}

#[test]
fn a_lost_packet_that_is_acknowledged_is_not_sent_again() {
    let mut map = sent(3);
    assert_eq!(timed_out(&mut map, 101), [0, 1]);
    assert_eq!(ack(&mut map, 0), AckOutcome::WasLost);
    assert_eq!(map.resend(us(102), 0), Some((1, 1)));
    assert_eq!(map.resend(us(102), 0), None);
    assert!(!map.has_lost());
}

#[test]
fn retransmissions_that_were_acknowledged_do_not_hold_up_later_ones() {
    let mut map = sent(3);
    timed_out(&mut map, 102);
    for now in [110, 111, 112] {
        map.resend(us(now), 0);
    }
    ack(&mut map, 0);
    ack(&mut map, 1);
    assert_eq!(map.deadline(LATER, RTO_POLICY), us(312));
    assert_eq!(timed_out(&mut map, 312), [2]);
}

#[test]
fn without_back_off_every_repeat_waits_the_same_time() {
    let steady = RtoPolicy { backs_off: false, ..RTO_POLICY };
    let mut map = SentMap::new(false);
    map.send_new(us(0), 0);
    for n in 0..5 {
        let due = 100 * (n + 1);
        assert_eq!(map.deadline(us(due), steady), us(due));
        assert_eq!(map.take_timed_out(us(due), steady).map(|lost| lost.seq), Ok(0));
        map.resend(us(due), 0);
    }
}

#[test]
fn send_times_are_exact_after_the_58_bits_wrap() {
    let mut map = SentMap::new(false);
    let start = Time::from_ps((1 << 58) - 1);
    map.send_new(start, 0);
    map.send_new(start + Duration::from_ps(1), 0);
    assert_eq!(map.deadline(start + RTO, RTO_POLICY), start + RTO);
    let [first, second] = [0, 1].map(|seq| map.acknowledge(start + Duration::from_ps(1), seq));
    assert_eq!([first, second], [false, true].map(|is_last| AckOutcome::Arrived { is_last }));
}

#[test]
fn the_ring_follows_the_window_down_and_forgets_nothing() {
    let mut map = sent(1000);
    assert_eq!(map.capacity(), 1024);
    for seq in 0..990 {
        assert_eq!(ack_of(&mut map, seq, us(seq.into())), AckOutcome::Arrived { is_last: true });
    }
    for seq in 1000..3000 {
        assert_eq!(map.send_new(us(seq), 7), seq as u32);
        assert!(matches!(ack(&mut map, seq as u32 - 10), AckOutcome::Arrived { .. }));
    }
    assert_eq!(map.capacity(), 32, "ten packets in flight, and one more at times");
    let lost: Vec<LostPacket> =
        core::iter::from_fn(|| map.take_timed_out(us(5000), RTO_POLICY).ok()).collect();
    assert_eq!(lost.iter().map(|lost| lost.seq).collect::<Vec<_>>(), Vec::from_iter(2990..3000));
    assert!(lost.iter().all(|lost| lost.entropy == 7), "{lost:?}");
    assert_eq!(map.resend(us(5000), 9), Some((2990, 1)));
}

#[test]
fn a_packet_of_the_window_takes_eight_bytes_and_two_more_for_its_entropy() {
    let map = sent(4096);
    assert_eq!(map.ring.len() * size_of::<Cell>(), 4096 * 10);
    let mut map = SentMap::new(false);
    for i in 0..4096 {
        map.send_new(us(i), 7);
    }
    assert_eq!(map.ring.len() * size_of::<Cell>(), 4096 * 8);
}

/// A slow model of the map: every packet in a table, every question a scan.
#[derive(Default)]
struct Model {
    /// (state, time-outs, last send time) by packet.
    packets: BTreeMap<u32, (SentState, u32, Time)>,
}

impl Model {
    fn in_flight(&self) -> impl Iterator<Item = (u32, u32, Time)> {
        let flying = |(&seq, &(state, timeouts, at)): (&u32, &(SentState, u32, Time))| {
            matches!(state, SentState::First | SentState::Retransmitted).then_some((seq, timeouts, at))
        };
        self.packets.iter().filter_map(flying)
    }

    fn deadline(&self) -> Option<Time> {
        self.in_flight().map(|(_, timeouts, at)| at + RTO.doubled(timeouts)).min()
    }
}

proptest! {
    #[test]
    fn the_map_agrees_with_a_table_that_is_scanned(
        steps in prop::collection::vec((0u8..6, any::<u16>(), 0u64..40), 1..400),
    ) {
        let (mut map, mut model, mut now) = (SentMap::new(false), Model::default(), Time::ZERO);
        for (step, pick, wait) in steps {
            now += Duration::from_us(wait);
            match step {
                0 | 1 => {
                    let seq = map.send_new(now, 0);
                    model.packets.insert(seq, (SentState::First, 0, now));
                }
                2 if map.next() > 0 => {
                    let seq = u32::from(pick) % map.next();
                    let (state, _, at) = model.packets[&seq];
                    let expected = match state {
                        SentState::Acked => AckOutcome::Known,
                        SentState::Lost => AckOutcome::WasLost,
                        SentState::First | SentState::Retransmitted => AckOutcome::Arrived { is_last: wait > 0 },
                    };
                    let told_of = if wait > 0 { at } else { at + Duration::from_ps(1) };
                    prop_assert_eq!(ack_of(&mut map, seq, told_of), expected);
                    model.packets.entry(seq).and_modify(|packet| packet.0 = SentState::Acked);
                }
                5 if map.next() > 0 => {
                    let seq = u32::from(pick) % map.next();
                    let (state, timeouts, at) = model.packets[&seq];
                    // Now and then of another transmission than the last.
                    let echoed = if pick % 5 == 0 { Time::from_ps(at.as_ps() / 2) } else { at };
                    let flies = matches!(state, SentState::First | SentState::Retransmitted) && echoed == at;
                    let taken = map.take_one(LATER, seq, echoed);
                    prop_assert_eq!(taken, flies.then_some(LostPacket { seq, sent_at: at, entropy: 0 }));
                    if flies {
                        model.packets.insert(seq, (SentState::Lost, timeouts, at));
                    }
                }
                3 => {
                    let is_lost = model.packets.values().any(|packet| packet.0 == SentState::Lost);
                    prop_assert_eq!(map.has_lost(), is_lost);
                    let sent = map.resend(now, 0);
                    prop_assert_eq!(sent.is_some(), is_lost);
                    if let Some((seq, timeouts)) = sent {
                        prop_assert_eq!(model.packets[&seq].0, SentState::Lost);
                        prop_assert_eq!(model.packets[&seq].1, timeouts);
                        model.packets.insert(seq, (SentState::Retransmitted, timeouts, now));
                    }
                }
                _ => {
                    let by_time = pick % 2 == 0;
                    let mark = Time::from_ps(now.as_ps().saturating_sub(RTO.as_ps() / 2));
                    let lost = |timeouts: u32, at: Time| {
                        if by_time { at <= mark } else { at + RTO.doubled(timeouts) <= now }
                    };
                    let mut expected: Vec<u32> =
                        model.in_flight().filter(|&(_, timeouts, at)| lost(timeouts, at)).map(|p| p.0).collect();
                    let take = |map: &mut SentMap| {
                        if by_time { map.take_sent_until(LATER, mark) } else { map.take_timed_out(now, RTO_POLICY).ok() }
                    };
                    let mut taken: Vec<u32> =
                        core::iter::from_fn(|| take(&mut map)).map(|lost| lost.seq).collect();
                    for seq in &taken {
                        let timeouts = model.packets[seq].1 + u32::from(!by_time);
                        let at = model.packets[seq].2;
                        model.packets.insert(*seq, (SentState::Lost, timeouts.min(MAX_TIMEOUTS), at));
                    }
                    taken.sort_unstable();
                    expected.sort_unstable();
                    prop_assert_eq!(taken, expected);
                }
            }
            prop_assert_eq!(map.deadline(LATER, RTO_POLICY), model.deadline().unwrap_or(Time::MAX));
            let base = model.packets.iter().find(|(_, packet)| packet.0 != SentState::Acked).map(|(seq, _)| *seq);
            prop_assert_eq!(map.base(), base.unwrap_or(map.next()));
        }
    }
}
