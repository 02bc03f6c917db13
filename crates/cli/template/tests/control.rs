//! The control by itself: the contract of all controls, the window on its way through one script, and each rule.

use farspan_extend::transport::congestion::testing::{AckStream, conforms, start, window_curve};
use farspan_extend::transport::congestion::{CongestionConfig, Custom, Factory};
use farspan_extend::units::Bytes;
use my_control::Config;
use std::path::Path;

const MSS: u64 = 4096;

fn control() -> CongestionConfig {
    CongestionConfig::Custom(Custom::new(Config::default()))
}

#[test]
fn it_keeps_the_contract_of_controls() {
    if let Err(violation) = conforms(&control()) {
        panic!("{violation}");
    }
}

/// `ACCEPT=1 cargo test` writes tests/curve.txt anew, for a change that is meant.
#[test]
fn the_window_moves_as_before() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/curve.txt");
    let curve = window_curve(&control());
    if std::env::vars_os().any(|(name, _)| name == "ACCEPT") {
        std::fs::write(&file, &curve).unwrap();
    }
    let before = std::fs::read_to_string(&file).unwrap().replace('\r', "");
    assert_eq!(curve, before, "if this is meant: ACCEPT=1 cargo test");
}

#[test]
fn a_window_of_unmarked_acks_adds_one_packet() {
    let start = start();
    let (mut flow, mut acks) = (Config::default().control(&start), AckStream::new(&start));
    let first = flow.decision().cwnd;
    for _ in 0..first.get() / MSS {
        flow.on_ack(&acks.next(false));
    }
    let grown = (flow.decision().cwnd - first).get();
    assert!((MSS * 9 / 10..=MSS).contains(&grown), "{grown}");
}

#[test]
fn marks_of_one_round_trip_cut_once() {
    let start = start();
    let config = Config::default();
    let cut = |cwnd: Bytes| Bytes::new((cwnd.as_f64() * (1.0 - config.cut)) as u64);
    let (mut flow, mut acks) = (config.control(&start), AckStream::new(&start));
    let first = cut(flow.decision().cwnd);
    assert_eq!(flow.on_ack(&acks.next(true)).cwnd, first);
    assert_eq!(flow.on_ack(&acks.next(true)).cwnd, first, "it left before the cut");
    assert_eq!(flow.on_ack(&acks.next_round(true)).cwnd, cut(first));
}
