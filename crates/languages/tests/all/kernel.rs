//! Rules that the kernel's controls alone have, and the receiver's echo of marks.

use crate::compiled;
use farspan_languages::{Name, Setting};
use farspan_units::{Purpose, Random};
use std::fmt::Write as _;

/// A flow that starts with ten packets over 20 ms.
const START: &str = "s 20000 1448 10\n";

/// The whole and the fractional windows after each line of such a flow, with these parameters beside its path's.
fn replay(name: Name, parameters: &[&str], lines: &str) -> Option<Vec<(u64, f64)>> {
    replay_all(name, parameters, &format!("{START}{lines}"))
}

/// The windows after each line, of lines that say when the flow starts.
fn replay_all(name: Name, parameters: &[&str], lines: &str) -> Option<Vec<(u64, f64)>> {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(name, folder.path())?;
    let setting = Setting::new(name, 1_000_000_000, 20_000);
    let mut arguments = setting.arguments();
    arguments.extend(parameters.iter().map(|&parameter| parameter.to_owned()));
    let (pairs, _) = program.replay(&arguments, lines).unwrap();
    Some(pairs.iter().map(|&[whole, cwnd]| (whole, cwnd as f64 / (1_u64 << 32) as f64)).collect())
}

/// ACKs of two packets each, 10 us apart from this time on.
fn acks(from_us: u64, number: u64, marked: u8, limited: u8) -> String {
    (0..number).fold(String::new(), |mut text, i| {
        writeln!(text, "a {} 20000 2 {marked} 100 {limited}", from_us + 10 * i).unwrap();
        text
    })
}

#[test]
fn a_window_that_does_not_limit_the_flow_does_not_grow() {
    for name in [Name::Gemini, Name::Unocc] {
        let Some(windows) = replay(name, &[], &acks(1_000_000, 1000, 0, 0)) else { return };
        assert!(windows.iter().all(|&(whole, _)| whole == 10), "{name:?}");
        let windows = replay(name, &[], &acks(1_000_000, 1000, 0, 1)).unwrap();
        assert!(windows[1000].1 > 11.0, "{name:?}: {:?}", windows[1000]);
    }
}

#[test]
fn the_largest_window_holds_whatever_grows_it() {
    for name in [Name::Gemini, Name::Unocc] {
        let Some(windows) = replay(name, &["max_cwnd_pkts=12"], &acks(1_000_000, 3000, 0, 1)) else {
            return;
        };
        assert_eq!(windows[3000], (12, 12.0), "{name:?}");
    }
}

#[test]
fn a_storm_of_marks_leaves_the_smallest_window() {
    for name in [Name::Gemini, Name::Unocc] {
        let storm = acks(1_000_000, 100_000, 1, 1);
        let Some(windows) = replay(name, &["min_cwnd_pkts=3"], &storm) else { return };
        assert_eq!(windows[100_000], (3, 3.0), "{name:?}");
        assert!(windows.iter().all(|&(whole, _)| whole >= 3), "{name:?}");
    }
}

#[test]
fn gemini_takes_back_what_a_loss_that_was_none_did() {
    let lines = format!("{}l 1001000\n{}u 1001200\n", acks(1_000_000, 50, 0, 1), acks(1_001_010, 3, 0, 1));
    let Some(windows) = replay(Name::Gemini, &[], &lines) else { return };
    assert_eq!((windows[50].0, windows[51].0, windows[55].0), (110, 55, 110));
    // A time-out in the midst of the recovery belongs to it.
    let lines = format!("{}l 1001000\nt 1001100 50\nu 1001200\n", acks(1_000_000, 50, 0, 1));
    let windows = replay(Name::Gemini, &[], &lines).unwrap();
    assert_eq!((windows[52].0, windows[53].0), (1, 110));
}

#[test]
fn acks_of_what_was_sent_twice_grow_gemini_s_window_after_a_time_out_alone() {
    let twice = "a 1002000 0 2 0 100 1\n";
    let Some(lost) = replay(Name::Gemini, &[], &format!("l 1001000\n{twice}")) else { return };
    assert_eq!((lost[1].0, lost[2].0), (5, 5));
    let timed_out = replay(Name::Gemini, &[], &format!("t 1001000 10\n{twice}")).unwrap();
    assert_eq!((timed_out[1].0, timed_out[2].0), (1, 3));
}

/// A receiver holds the ACK of a lone packet back: a window of one would wait 40 ms for each.
#[test]
fn unocc_keeps_its_smallest_window_where_a_bdp_is_less() {
    // 12.5 MB/s over 100 us are less than a packet.
    let parameters = ["line_rate_bytes_per_s=12500000", "base_rtt_us=100", "min_cwnd_pkts=2"];
    let Some(windows) = replay(Name::Unocc, &parameters, &acks(1_000_000, 100, 0, 1)) else { return };
    assert!(windows.iter().all(|&(whole, cwnd)| (whole, cwnd) == (2, 2.0)), "{windows:?}");
}

/// Packets that are sent twice have no round trip: those of before the time-out would keep cutting until all of them have arrived.
#[test]
fn long_round_trips_before_a_time_out_do_not_cut_gemini_s_window_after_it() {
    // A base of 20 ms, and a whole window of data at 60.
    let before = "a 1000000 20000 2 0 100 1\na 1070000 60000 2 0 100 1\na 1140000 60000 2 0 100 1\n";
    let twice = (0..4).map(|n| format!("a {} 0 2 0 100 1\n", 1_400_000 + 100_000 * n)).collect::<String>();
    let Some(windows) = replay(Name::Gemini, &[], &format!("{before}t 1200000 10\n{twice}")) else { return };
    let whole: Vec<_> = windows[3..].iter().map(|(whole, _)| *whole).collect();
    assert!(whole[0] < windows[2].0, "delay cuts: {windows:?}");
    // One packet, then slow start and growth: no cut.
    assert_eq!(whole[1..5], [1, 3, 4, 6]);
}

/// The ACK of the handshake, time-outs of its packets, and the first packet after an idle time come before there is a flow.
#[test]
fn what_comes_before_the_start_changes_nothing() {
    for name in [Name::Gemini, Name::Unocc] {
        let before = "a 1000 20000 1 0 0 1\nl 1500\nt 2000 1\no 2500\nu 2600\ni 300 51\n";
        let acks = acks(1_000_000, 100, 0, 1);
        let Some(after) = replay_all(name, &[], &format!("{before}{START}{acks}")) else { return };
        assert!(after[..6].iter().all(|(_, cwnd)| *cwnd == 0.0), "{name:?}: there is no window yet");
        assert_eq!(after[6..], replay(name, &[], &acks).unwrap(), "{name:?}");
    }
}

#[test]
fn a_smaller_path_mtu_is_no_time_out() {
    for name in [Name::Gemini, Name::Unocc] {
        let before = acks(1_000_000, 50, 0, 1);
        let Some(windows) = replay(name, &[], &format!("{before}m 1001000\n")) else { return };
        assert_eq!(windows[50], windows[51], "{name:?}");
    }
    // In the first round trip, too.
    let windows = replay(Name::Unocc, &["start_pkts=0"], "m 1001000\n").unwrap();
    assert_eq!(windows[0], windows[1]);
}

#[test]
fn unocc_keeps_one_packet_where_nothing_of_the_first_window_arrives() {
    let Some(windows) =
        replay(Name::Unocc, &["start_pkts=0", "min_cwnd_pkts=3"], "t 1020100 0\nt 1060100 0\n")
    else {
        return;
    };
    let whole: Vec<_> = windows.iter().map(|&(whole, _)| whole).collect();
    // C x 20 ms are 1,727 packets.
    assert_eq!(whole, [1727, 1, 1]);
}

/// The smoothed round trip is 20 ms, in which most of the window is acknowledged.
#[test]
fn a_packet_that_comes_through_quickly_makes_no_short_period_of_quick_adapt() {
    let lines = (1..=110).fold("a 1000000 2000 12 0 1000 1\n".to_owned(), |mut text, n| {
        writeln!(text, "a {} 20000 12 0 1000 1", 1_000_000 + 200 * n).unwrap();
        text
    });
    let parameters = ["start_pkts=0", "base_rtt_us=20000"];
    let Some(windows) = replay(Name::Unocc, &parameters, &lines) else { return };
    assert!(windows.iter().all(|&(whole, _)| whole == 1727), "{windows:?}");
    // A period of 20 ms in which less than half of it is.
    let few = lines.replace(" 12 0", " 4 0");
    let windows = replay(Name::Unocc, &parameters, &few).unwrap();
    assert!(windows[111].0 < 500, "{:?}", windows[111]);
}

#[test]
fn unocc_keeps_its_window_at_losses_and_at_a_time_out_with_acks() {
    let lines = format!("{}l 1020000\nt 1020100 3\n", acks(1_000_000, 2000, 0, 1));
    let Some(windows) = replay(Name::Unocc, &[], &lines) else { return };
    assert_eq!(windows[2000], windows[2001]);
    assert_eq!(windows[2001], windows[2002]);
}

/// Packets with and without marks come; ACKs leave after one or two, are held by a timer, or wait while a program has the socket.
#[test]
fn every_mark_is_echoed_once_whenever_acks_leave() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(Name::Gemini, folder.path()) else { return };
    let mut draws = Random::new(9, Purpose::Test, 0);
    let mut lines = "s 20000 1448 10\n".to_owned();
    let (mut packets, mut marks) = (0, 0);
    for _ in 0..200_000 {
        let marked = u64::from(draws.below(4) == 0);
        // One that is neither held nor sent is due, and waits for the program.
        let held = draws.below(2);
        writeln!(lines, "d {marked} {held}").unwrap();
        if draws.below(3) == 0 {
            lines.push_str("k\n");
        }
        packets += 1;
        marks += marked;
    }
    lines.push_str("k\n");
    let (pairs, _) = program.replay(&[], &lines).unwrap();
    assert_eq!(pairs.last(), Some(&[packets - marks, marks]));
}
