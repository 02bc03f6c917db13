//! Epochs of 14 us, where an ACK speaks for more than one packet.
//!
//! An ACK ends one epoch at most: with ACKs further apart than an epoch, there are as many epochs as ACKs.

use crate::simulation::{Bottleneck, record};
use crate::{compiled, page};
use farspan_languages::{Ack, Event, MSS, Name};
use farspan_transport::ack::{AckConfig, coalesced::CoalescedConfig};
use farspan_units::{Bytes, Duration, Rate};

/// Measurements of one flow, over the time in which both are active, without its first quarter.
struct Measured {
    epochs_per_rtt: f64,
    share_marked: f64,
    mbps: f64,
    wait_us: f64,
}

/// The ACKs of a flow within a time.
fn acks(events: &[Event], from_us: u64, to_us: u64) -> impl Iterator<Item = &Ack> {
    events.iter().filter_map(move |event| match event {
        Event::Ack(ack) if (from_us..to_us).contains(&ack.now_us) => Some(ack),
        _ => None,
    })
}

/// Two flows of UnoCC, with an ACK for so many packets: what each has.
fn measure(rate: Rate, packets_per_ack: u64) -> Option<Vec<Measured>> {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(Name::Unocc, folder.path())?;
    let bottleneck = Bottleneck {
        name: Name::Unocc,
        rate,
        delays_us: [3_000, 90, 10],
        // Eight seconds of one flow alone.
        packets: rate.as_bps() / 1500,
        mark_above: rate.bytes_in(Duration::from_us(600)),
        acks: match packets_per_ack {
            1 => AckConfig::default(),
            packets => AckConfig::Coalesced(CoalescedConfig { bytes: Bytes::new(packets * MSS), gap: true }),
        },
    };
    let flows = record(&bottleneck);
    // Both are active from the second's start to the first end.
    let to_us = flows.values().map(|events| acks(events, 0, u64::MAX).last().unwrap().now_us).min().unwrap();
    let from_us = 500_000 + (to_us - 500_000) / 4;
    let measured = flows.iter().map(|(&flow, events)| {
        let setting = bottleneck.setting(flow);
        let (_, [epochs, _]) = program.windows(&setting, events).unwrap();
        let all: Vec<&Ack> = acks(events, 0, u64::MAX).collect();
        let whole_us = all[all.len() - 1].now_us - all[0].now_us;
        let sum = |of: &dyn Fn(&Ack) -> u64| acks(events, from_us, to_us).map(of).sum::<u64>();
        let acked = sum(&|ack| ack.acked_pkts);
        let marked = sum(&|ack| ack.acked_pkts * u64::from(ack.marked));
        let wait = sum(&|ack| ack.acked_pkts * ack.rtt_us.saturating_sub(setting.base_rtt_us));
        Measured {
            epochs_per_rtt: epochs as f64 * setting.base_rtt_us as f64 / whole_us as f64,
            share_marked: marked as f64 / acked as f64,
            mbps: (acked * MSS * 8) as f64 / (to_us - from_us) as f64,
            wait_us: wait as f64 / acked as f64,
        }
    });
    Some(measured.collect())
}

/// Holds a line of docs/src/kernel-tcp.md for each flow to what was measured, and gives what the first, of 6 ms, had.
fn line(mbps: u64, packets_per_ack: u64) -> Option<Measured> {
    let flows = measure(Rate::from_bps(mbps * 1_000_000), packets_per_ack)?;
    for (flow, base) in flows.iter().zip(["6 ms", "0.2 ms"]) {
        let line = format!(
            "| {} | {packets_per_ack} | {base} | {:.1} | {:.2} | {:.0} | {:.0} |",
            if mbps < 1_000 { mbps.to_string() } else { "1,000".to_owned() },
            flow.epochs_per_rtt,
            100.0 * flow.share_marked,
            flow.mbps,
            flow.wait_us
        );
        println!("{line}");
        assert!(page().contains(&line), "docs/src/kernel-tcp.md does not have: {line}");
    }
    flows.into_iter().next()
}

/// Its epochs are then longer; what it gets hardly changes, for the share of marks is over as many more packets.
#[test]
fn an_ack_for_many_packets_ends_one_epoch() {
    for (mbps, batches) in [(200, &[2, 8][..]), (1_000, &[2, 8, 44])] {
        let Some(single) = line(mbps, 1) else { return };
        for &packets_per_ack in batches {
            let Some(batched) = line(mbps, packets_per_ack) else { return };
            let epochs = batched.epochs_per_rtt * packets_per_ack as f64 / single.epochs_per_rtt;
            assert!((0.8..1.4).contains(&epochs), "{mbps} {packets_per_ack}: {epochs}");
            assert!((0.9..1.1).contains(&(batched.mbps / single.mbps)), "{mbps} {packets_per_ack}");
        }
    }
}
