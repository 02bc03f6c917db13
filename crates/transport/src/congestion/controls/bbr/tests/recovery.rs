//! Losses, NACKs and time-outs.

use super::*;

#[test]
fn loss_conserves_packets_for_a_round_trip() {
    let mut flow = Flow::steady(&BbrConfig::default());
    flow.lose(6);
    near(flow.cwnd(), 14.0 + 1.0, 1e-9);
    flow.lose(2);
    near(flow.cwnd(), 13.0, 1e-9);
    flow.in_flight = 12;
    for _ in 0..10 {
        flow.ack();
        near(flow.cwnd(), 13.0, 1e-9);
    }
    flow.in_flight = 15;
    flow.ack();
    near(flow.cwnd(), 16.0, 1e-9);
}

#[test]
fn the_window_comes_back_when_what_was_under_way_is_delivered() {
    let mut flow = Flow::steady(&BbrConfig::default());
    let before = flow.cwnd();
    flow.lose(6);
    flow.in_flight = 13;
    for acks in 1..20 {
        flow.ack();
        assert!(flow.control.recovery.is_some(), "{acks} of 20 packets");
    }
    flow.ack();
    assert_eq!(flow.control.recovery, None);
    near(flow.cwnd(), before, 1.01);
}

#[test]
fn losses_that_stand_when_recovery_ends_continue_it_and_conserve_nothing_anew() {
    let mut flow = Flow::steady(&BbrConfig::default());
    flow.lose(6);
    flow.in_flight = 13;
    flow.has_losses = true;
    for _ in 0..20 {
        flow.ack();
    }
    let recovery = flow.control.recovery.expect("losses stand");
    assert_eq!((recovery.ends, recovery.conserves), (flow.control.sent_below, false));
    let cwnd = flow.cwnd();
    flow.ack();
    near(flow.cwnd(), cwnd + 1.0, 1e-9);
    flow.has_losses = false;
    for _ in 0..20 {
        flow.ack();
    }
    assert_eq!(flow.control.recovery, None);
}

#[test]
fn a_loss_that_the_ending_ack_finds_continues_recovery() {
    let mut flow = Flow::steady(&BbrConfig::default());
    flow.lose(6);
    flow.in_flight = 13;
    while flow.control.recovery.is_some() {
        flow.ack();
    }
    let restored = flow.cwnd();
    flow.lose(1);
    let recovery = flow.control.recovery.expect("a loss");
    assert!(!recovery.conserves && flow.cwnd() < restored, "{recovery:?}: {} of {restored}", flow.cwnd());
    // One ACK later it is an episode of its own.
    let mut flow = Flow::steady(&BbrConfig::default());
    flow.lose(6);
    flow.in_flight = 13;
    while flow.control.recovery.is_some() {
        flow.ack();
    }
    flow.ack();
    flow.lose(1);
    assert!(flow.control.recovery.expect("a loss").conserves);
}

#[test]
fn losses_that_stand_after_a_time_out_are_recovered_and_conserve_packets() {
    let mut flow = Flow::steady(&BbrConfig::default());
    flow.time_out(flow.now);
    flow.has_losses = true;
    while !flow.control.recovery.expect("losses stand").conserves {
        flow.ack();
    }
    assert_eq!(flow.control.recovery.expect("losses stand").ends, flow.control.sent_below);
}

#[test]
fn after_its_first_round_trip_recovery_grows_with_what_arrives() {
    let mut flow = Flow::steady(&BbrConfig::default());
    flow.lose(6);
    let cwnd = flow.cwnd();
    flow.in_flight = 10;
    flow.now += flow.rtt;
    flow.ack();
    assert!(flow.control.recovery.is_some());
    near(flow.cwnd(), cwnd + 1.0, 1e-9);
}

#[test]
fn a_nack_is_a_loss() {
    let mut flow = Flow::steady(&BbrConfig::default());
    let (now, in_flight) = (flow.now, PACKET * 19);
    flow.control.on_nack(&Nack { now, bytes: PACKET, sent_at: now, in_flight, cause: NackCause::Trimmed });
    near(flow.cwnd(), 20.0, 1e-9);
}

#[test]
fn what_a_nack_lowers_the_end_of_an_episode_does_not_give_back() {
    let lowered = PACKET * 8;
    let recovered = |lowers: bool| {
        let mut flow = Flow::steady(&BbrConfig::default());
        flow.lose(6);
        if lowers {
            near(flow.control.lower(lowered).cwnd.as_f64() / MSS, 8.0, 0.0);
        }
        // At the end of the episode, without what the window grows by meanwhile.
        flow.control.restore_cwnd();
        flow.cwnd()
    };
    assert!(recovered(false) > 20.0, "{}", recovered(false));
    near(recovered(true), 8.0, 0.0);
    let mut probing = expired(&short());
    probing.ack();
    assert!(matches!(probing.control.state, BbrState::ProbeRtt(_)));
    probing.control.lower(lowered);
    near(probing.control.prior_cwnd / MSS, 8.0, 0.0);
}

#[test]
fn a_time_out_leaves_one_packet_once_a_flight_and_the_window_comes_back() {
    let mut flow = Flow::steady(&BbrConfig::default());
    let (before, sent_at) = (flow.cwnd(), flow.now);
    flow.in_flight = 9;
    flow.now += Duration::from_us(500);
    flow.time_out(sent_at);
    near(flow.cwnd(), 1.0, 0.0);
    flow.ack();
    near(flow.cwnd(), 4.0, 0.0);
    flow.time_out(sent_at);
    near(flow.cwnd(), 4.0, 0.0);
    for _ in 0..9 {
        flow.ack();
    }
    near(flow.cwnd(), before, 1.01);
    flow.time_out(flow.now);
    near(flow.cwnd(), 1.0, 0.0);
}
