//! The events of flows that the simulator ran.

use crate::simulation::{Bottleneck, record};
use crate::{compiled, distance, hold_to_page};
use farspan_languages::{Event, MSS, Name, Setting, Simulated};
use farspan_transport::ack::{AckConfig, coalesced::CoalescedConfig};
use farspan_units::{Bytes, Rate};

/// Says of each ACK whether the window limits the flow, as the kernel would: while half of it is used. The simulator's UnoCC grows
/// whatever is used.
fn with_limits(setting: &Setting, events: &mut [Event]) {
    let mut control = Simulated::new(setting);
    for event in events {
        if let (Event::Ack(ack), Name::Gemini) = (&mut *event, setting.name) {
            // The window has a fraction of a byte more than it says: where that would decide, there is a packet more.
            if 2 * (ack.in_flight_pkts + ack.acked_pkts) * MSS == control.cwnd().get() {
                ack.in_flight_pkts += 1;
            }
            ack.limited = 2 * (ack.in_flight_pkts + ack.acked_pkts) * MSS > control.cwnd().get();
        }
        control.on(event);
    }
}

/// How the table of docs/src/kernel-tcp.md names the events.
const SINGLE: &str = "recorded, an ACK a packet";
const HELD: &str = "recorded, ACKs for up to 12";

fn agree(name: Name, acks: AckConfig, events_are: &str) {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(name, folder.path()) else { return };
    // Less than the windows of both want.
    let (rate, mark_above) = (Rate::from_gbps(1), Bytes::new(75_000));
    let bottleneck =
        Bottleneck { name, rate, delays_us: [3_000, 90, 10], packets: 600_000, mark_above, acks };
    let flows = record(&bottleneck);
    assert_eq!(flows.len(), 2);
    for (flow, mut events) in flows {
        let setting = bottleneck.setting(flow);
        with_limits(&setting, &mut events);
        let counted = |of: fn(&Event) -> bool| events.iter().filter(|event| of(event)).count();
        let marks = counted(|event| matches!(event, Event::Ack(ack) if ack.marked));
        let losses = counted(|event| matches!(event, Event::Loss { .. } | Event::Timeout { .. }));
        let distance = distance(&program, &setting, &events);
        println!("{} events, {marks} marked, {losses} losses: {distance:?}", events.len());
        assert!(marks > 50, "the port marks");
        hold_to_page(&setting, events_are, &distance);
    }
}

#[test]
fn recorded_flows_of_gemini() {
    agree(Name::Gemini, AckConfig::default(), SINGLE);
}

#[test]
fn recorded_flows_of_gemini_with_held_acks() {
    agree(Name::Gemini, AckConfig::Coalesced(CoalescedConfig::default()), HELD);
}

#[test]
fn recorded_flows_of_unocc() {
    agree(Name::Unocc, AckConfig::default(), SINGLE);
}

#[test]
fn recorded_flows_of_unocc_with_held_acks() {
    agree(Name::Unocc, AckConfig::Coalesced(CoalescedConfig::default()), HELD);
}
