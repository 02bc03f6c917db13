//! The gate: random small worlds come out equal, field by field, under every engine, and with the digests
//! that are listed.
//!
//! A failure names the seed: `cargo run -p farspan-sim --example equality -- SEED SEED+1` runs it alone, and
//! a longer range as well.

use crate::random::{
    FEATURES, features, lossless_spec, proxied_spec, random_spec, shared_spec, telemetry_spec,
};
use crate::{common, worlds};
use farspan_transport::Scheme;
use farspan_units::{Duration, TelemetryKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Runs the worlds of a range of seeds and gives how often each feature was seen.
fn hold(seeds: std::ops::Range<u64>) -> BTreeMap<&'static str, u32> {
    let (mut seen, mut digest) = (BTreeMap::new(), worlds::Digest::default());
    for seed in seeds {
        let spec = random_spec(seed);
        let outcome = common::equal_under_all(&spec).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        digest.as_listed(seed, &outcome).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        features(&spec, &outcome).into_iter().for_each(|name| *seen.entry(name).or_default() += 1);
    }
    seen
}

#[test]
fn random_worlds_come_out_equal_under_every_engine_and_the_gate_sees_what_it_should() {
    // Two halves side by side: what one core does in a minute, two do in half of it.
    let (mut seen, more) = std::thread::scope(|scope| {
        let other = scope.spawn(|| hold(200..400));
        (hold(0..200), other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    more.into_iter().for_each(|(name, count)| *seen.entry(name).or_default() += count);
    for name in FEATURES {
        let count = seen.get(name).copied().unwrap_or(0);
        println!("{count:4} {name}");
        assert!(
            count >= 4,
            "{name:?} was seen in {count} of these worlds: the gate would not notice a fault there"
        );
    }
}

#[test]
fn worlds_with_pools_and_pauses_come_out_equal_under_every_engine() {
    let (mut differ, mut worlds) = ([0; 2], [0; 2]);
    let [mut paused, mut two_threads] = [0; 2];
    for seed in 0..300 {
        let spec = shared_spec(seed);
        let outcome = common::equal_under_all(&spec).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        let without = farspan_sim::Spec { pool: None, ..spec.clone() };
        let without = farspan_sim::run(&without, farspan_sim::EngineKind::Windowed, &mut |_| true);
        let kind = usize::from(spec.pool.is_some_and(|pool| pool.pause.is_some()));
        worlds[kind] += 1;
        differ[kind] += usize::from(outcome.packet_digest != without.packet_digest);
        let pauses: u64 = outcome.ports.iter().map(|port| port.pauses).sum();
        let cuts = farspan_sim::threads(&spec, farspan_sim::EngineKind::Threads(2)) == 2;
        paused += u32::from(pauses > 0);
        two_threads += u32::from(pauses > 0 && cuts);
    }
    println!("of {worlds:?} worlds with pools, and with pauses, {differ:?} differ from those without");
    println!("{paused} worlds with pauses, {two_threads} of them on two threads");
    assert!(differ.iter().all(|&count| count >= 15), "{differ:?}: the gate would not notice a fault there");
    assert!(paused >= 40 && two_threads >= 10, "{paused}, {two_threads}");
}

#[test]
fn lossless_links_drop_nothing_in_any_world() {
    let (mut paused, mut pauses) = (0, 0);
    for seed in 0..400 {
        let spec = lossless_spec(seed);
        let outcome = farspan_sim::run(&spec, farspan_sim::EngineKind::Windowed, &mut |_| true);
        for port in &outcome.ports {
            assert_eq!(port.dropped_packets, port.lost_packets, "seed {seed}: {} has no room", port.name);
        }
        let count: u64 = outcome.ports.iter().map(|port| port.pauses).sum();
        (paused, pauses) = (paused + u32::from(count > 0), pauses + count);
    }
    println!("{pauses} pauses in {paused} worlds");
    assert!(paused >= 100, "{paused}: the gate would not notice a fault there");
}

#[test]
fn worlds_with_proxies_come_out_equal_under_every_engine() {
    let (mut relayed, mut gaps, mut losses, mut tails, mut went_direct, mut failed, mut threads) =
        (0, 0, 0, 0, 0, 0, 0);
    for seed in 0..200 {
        let spec = proxied_spec(seed);
        let outcome = common::equal_under_all(&spec).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        let counters = || outcome.flows.iter().filter_map(|flow| flow.relayed);
        relayed += u32::from(counters().any(|counters| counters.sent_packets > 0));
        gaps += u32::from(counters().any(|counters| counters.gap_packets > 0));
        tails += counters().filter(|counters| counters.tail_packets > 0).count();
        // A proxy that fails, and a flow that goes straight, end the account.
        let stays =
            |flow: &&farspan_sim::FlowOutcome| flow.went_direct.is_none() && spec.proxy_failures.is_empty();
        for flow in outcome.flows.iter().filter(stays) {
            let Some(relayed) = flow.relayed else { continue };
            let found = relayed.gap_packets - relayed.false_packets;
            assert!(found <= flow.lost_to_proxy, "seed {seed}: found {found} of {}", flow.lost_to_proxy);
            losses += found;
        }
        went_direct += u32::from(outcome.flows.iter().any(|flow| flow.went_direct.is_some()));
        failed += u32::from(!spec.proxy_failures.is_empty());
        threads += u32::from(farspan_sim::threads(&spec, farspan_sim::EngineKind::Threads(2)) == 2);
    }
    println!(
        "{relayed} worlds relayed, {gaps} with gaps, {losses} losses found, some by marks in {tails} flows, {went_direct} in which flows went direct, {failed} with failures, {threads} on two threads"
    );
    assert!(
        relayed >= 100 && gaps >= 15 && losses >= 100 && tails >= 15 && went_direct >= 15 && threads >= 30,
        "the gate would not notice a fault there"
    );
}

#[test]
fn worlds_with_telemetry_and_cnps_come_out_equal_under_every_engine() {
    let (mut moved, mut stamped, mut notified) = (0, 0, 0);
    for seed in 0..240 {
        let spec = telemetry_spec(seed);
        let outcome = common::equal_under_all(&spec).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        let mut without = spec.clone();
        without.ports.0.iter_mut().for_each(|port| port.telemetry = TelemetryKind::None);
        without.own_ports.values_mut().for_each(|port| Arc::make_mut(port).telemetry = TelemetryKind::None);
        let without = farspan_sim::run(&without, farspan_sim::EngineKind::Windowed, &mut |_| true);
        let mut silent = spec.clone();
        for scheme in [&mut silent.intra, &mut silent.inter] {
            Arc::make_mut(scheme).profile.cnps = None;
        }
        let silent = farspan_sim::run(&silent, farspan_sim::EngineKind::Windowed, &mut |_| true);
        notified += u32::from(outcome.packet_digest != silent.packet_digest);
        let reads = |scheme: &Scheme| scheme.congestion.needs().telemetry != TelemetryKind::None;
        let is_read = [&spec.intra, &spec.inter].into_iter().any(|scheme| reads(scheme));
        if is_read {
            moved += u32::from(outcome.packet_digest != without.packet_digest);
        } else if spec
            .ports
            .0
            .iter()
            .chain(spec.own_ports.values().map(|port| &**port))
            .all(|port| port.control_priority)
        {
            // Others count to the bit without telemetry, and whole packets with it.
            assert_eq!(outcome.packet_digest, without.packet_digest, "seed {seed}: no one reads it");
            stamped += 1;
        }
    }
    println!(
        "telemetry moved windows in {moved} worlds; in {stamped} no one read it; CNPs left in {notified}"
    );
    let seen = [(moved, 20), (stamped, 4), (notified, 20)];
    assert!(
        seen.iter().all(|(count, least)| count >= least),
        "{seen:?}: the gate would not notice a fault there"
    );
}

#[test]
fn no_nic_of_a_random_world_takes_in_more_goodput_than_its_line_carries() {
    let mut coded = 0;
    for seed in 0..600 {
        let mut spec = random_spec(seed);
        // Jitter moves what a port sends out of one interval into the next.
        spec.port_jitter = Duration::ZERO;
        let interval = spec.probes.rate_interval.unwrap_or(Duration::from_us(20));
        common::sample_rates(&mut spec, interval);
        let outcome = farspan_sim::run(&spec, farspan_sim::EngineKind::Windowed, &mut |_| true);
        common::goodput_within_line_rate(&spec, &outcome)
            .unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        coded += u32::from(outcome.flows.iter().any(|flow| flow.receiver.blocks_repaired > 0));
    }
    println!("blocks were decoded in {coded} worlds");
    assert!(coded >= 20, "{coded}: the gate would not notice a fault there");
}

#[test]
fn a_difference_is_named_by_its_field() {
    let spec = random_spec(0);
    let outcome = common::equal_under_all(&spec).expect("equal");
    assert_eq!(common::difference(&outcome, &outcome), None);
    let mut other = outcome.clone();
    other.ports[1].marked_packets += 1;
    let what = common::difference(&outcome, &other).expect("different");
    assert!(what.starts_with("port 1") && what.contains("marked_packets"), "{what}");
}

#[test]
fn one_world_changes_the_digest_of_its_block_which_is_named_with_the_listed_one() {
    assert_eq!(worlds::count(), 10_000, "a hundred lines");
    let outcome = common::equal_under_all(&random_spec(7)).expect("equal");
    let mut other = outcome.clone();
    other.packet_digest ^= 1 << 63;
    let digest = |first| {
        let mut digest = worlds::Digest::default();
        (100..200)
            .find_map(|seed| digest.add(seed, if seed == 107 { first } else { &outcome }))
            .expect("a block")
    };
    let (start, changed) = digest(&other);
    assert!(start == 100 && changed != digest(&outcome).1);
    let what = worlds::compare(start, changed).expect_err("another digest");
    assert!(what.contains(&worlds::line(changed)) && what.contains("--each 100 200"), "{what}");
    assert_eq!(worlds::compare(worlds::count(), changed), Ok(()), "no line, no comparison");
    // A part of a block is not compared.
    let mut digest = worlds::Digest::default();
    assert_eq!((1..100).find_map(|seed| digest.add(seed, &outcome)), None);
}
