//! Real sockets, real bytes: what arrives is what was sent.

#[path = "../../examples/transfer/mod.rs"]
mod transfer;

use farspan_transport::coding::{CodingConfig, blocks};
use farspan_transport::congestion;
use farspan_udp::Losses;
use farspan_units::{Bytes, Duration};
use transfer::{Report, Transfer};

fn plain() -> CodingConfig {
    CodingConfig::by_name("none").unwrap()
}

fn coded() -> CodingConfig {
    CodingConfig::Mds(blocks::MdsConfig::default())
}

fn run(size: u64, losses: Losses, congestion: &str, coding: CodingConfig) -> Report {
    let limit = Duration::from_ms(60_000);
    let transfer = Transfer {
        size: Bytes::new(size),
        losses,
        seed: 7,
        congestion: congestion.to_owned(),
        coding,
        limit,
    };
    let report = transfer::run(&transfer).unwrap();
    assert_eq!(report.hashes[0], report.hashes[1], "{transfer:?}");
    assert!(!report.fct.is_zero() && report.fct < limit);
    report
}

#[test]
fn messages_of_every_kind_of_length_arrive_without_loss() {
    for size in [1, 1407, 1408, 1409, 8 * 1408, 100_000] {
        for coding in [plain(), coded()] {
            let report = run(size, Losses::default(), "fixed_window", coding);
            assert_eq!(report.lost, [0, 0]);
        }
    }
}

#[test]
fn what_is_lost_is_sent_again() {
    let losses = Losses { loss: 0.03, reordering: 0.02, marking: 0.0 };
    let report = run(3 << 20, losses, "fixed_window", plain());
    assert!(report.lost[0] > 0 && report.lost[1] > 0);
    assert!(report.counters.retransmitted_packets >= report.lost[0]);
    assert_eq!(report.blocks_repaired, 0);
}

#[test]
fn what_is_lost_of_a_block_is_decoded() {
    let losses = Losses { loss: 0.03, reordering: 0.02, marking: 0.0 };
    let report = run(3 << 20, losses, "fixed_window", coded());
    assert!(report.blocks_repaired > 0 && report.blocks_repaired < report.counters.blocks);
}

#[test]
fn marks_are_read_off_the_socket() {
    let losses = Losses { marking: 0.2, ..Losses::default() };
    let report = run(1 << 20, losses, "fixed_window", plain());
    let packets = (1 << 20) / 1408;
    assert!(report.marked > packets / 10 && report.marked < packets / 2, "{} of {packets}", report.marked);
}

#[test]
fn every_control_drives_a_socket() {
    for name in congestion::NAMES {
        run(300_000, Losses { loss: 0.01, reordering: 0.01, marking: 0.01 }, name, coded());
    }
}
