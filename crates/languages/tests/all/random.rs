//! A million random events for each control on each path.

use crate::{compiled, distance, hold_to_page};
use farspan_languages::{Ack, Event, Name, Setting, random_events};

const EVENTS: usize = 1_000_000;

fn agree(setting: &Setting, seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(setting.name, folder.path()) else { return };
    let events = random_events(setting, seed, EVENTS);
    let distance = distance(&program, setting, &events);
    if let Some(i) = distance.first {
        println!("{:#?}", &events[i.saturating_sub(3)..=i]);
    }
    hold_to_page(setting, "random", &distance);
    assert!(distance.window > 1.5 * setting.start_pkts as f64 || setting.name == Name::Unocc);
}

#[test]
fn gemini_on_a_gigabit_across_8_ms() {
    agree(&Setting::new(Name::Gemini, 1_000_000_000, 8_000), 1);
}

#[test]
fn gemini_on_a_gigabit_inside() {
    agree(&Setting::new(Name::Gemini, 1_000_000_000, 200), 2);
}

#[test]
fn gemini_on_50_mbit_across_40_ms() {
    agree(&Setting::new(Name::Gemini, 50_000_000, 40_000), 3);
}

#[test]
fn gemini_on_100_gbit_across_2_ms() {
    agree(&Setting::new(Name::Gemini, 100_000_000_000, 2_000), 4);
}

#[test]
fn unocc_on_100_gbit_across_2_ms() {
    let setting = Setting::new(Name::Unocc, 100_000_000_000, 2_000);
    agree(&Setting { start_pkts: setting.bdp_pkts() as u64, ..setting }, 5);
}

#[test]
fn unocc_on_100_gbit_inside() {
    let setting = Setting::new(Name::Unocc, 100_000_000_000, 14);
    agree(&Setting { start_pkts: setting.bdp_pkts() as u64, ..setting }, 6);
}

#[test]
fn unocc_on_200_mbit_across_20_ms() {
    agree(&Setting::new(Name::Unocc, 200_000_000, 20_000), 7);
}

/// Growth alone, where what rounding takes adds up: ten bits of fraction lose 131 packets here.
#[test]
fn a_million_acks_grow_a_window_of_20_000_packets_alike() {
    for name in [Name::Gemini, Name::Unocc] {
        let setting = Setting { start_pkts: 40_000, ..Setting::new(name, 100_000_000_000, 10_000) };
        let ack = Ack {
            now_us: 1_000_000,
            rtt_us: setting.base_rtt_us,
            acked_pkts: 1,
            marked: false,
            in_flight_pkts: 40_000,
            limited: true,
        };
        // Gemini halves its window here, and is done with slow start.
        let mut events = vec![Event::Ack(ack), Event::Loss { now_us: ack.now_us }];
        events.extend((0..EVENTS as u64).map(|i| {
            let now_us = ack.now_us + setting.base_rtt_us + i / 2;
            Event::Ack(Ack { now_us, ..ack })
        }));
        let folder = tempfile::tempdir().unwrap();
        let Some(program) = compiled(name, folder.path()) else { return };
        let distance = distance(&program, &setting, &events);
        hold_to_page(&setting, "growth alone", &distance);
        assert!(distance.window > 20_000.0, "{distance:?}");
    }
}
