//! Hosts that call the six verbs of their endpoints alone, and get headers and telemetry as bytes, do what those do that are called in
//! place: what is simulated is what is shipped.
//!
//! A failure names the seed; `cargo run -p farspan-sim --example equality -- --verbs FROM TO` runs a longer range.

use crate::random::{
    FEATURES, features, holding_spec, lossless_spec, persistent_spec, policy_spec, proxied_spec, random_spec,
    shared_spec, telemetry_spec,
};
use crate::{common, worlds};
use farspan_sim::{EngineKind, Outcome, Spec};
use farspan_transport::FlowProfile;
use farspan_transport::congestion::CongestionConfig;
use farspan_transport::proxy::ProxyKind;
use farspan_units::TelemetryKind;
use std::sync::Arc;

/// Runs a world both ways.
fn both(name: &str, seed: u64, spec: &Spec) -> Outcome {
    let outcome = farspan_sim::run(spec, EngineKind::Windowed, &mut |_| true);
    common::equal_by_verbs(spec, &outcome).unwrap_or_else(|what| panic!("{name} {seed}: {what}"));
    outcome
}

#[test]
fn random_worlds_come_out_the_same_by_the_verbs_alone_with_every_feature_among_them() {
    let (mut missing, mut digest) = (FEATURES.to_vec(), worlds::Digest::default());
    // The first worlds, and more until each feature was seen.
    for seed in 0..400 {
        if seed >= 200 && missing.is_empty() {
            break;
        }
        let spec = random_spec(seed);
        let outcome = both("seed", seed, &spec);
        digest.as_listed(seed, &outcome).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        let seen = features(&spec, &outcome);
        missing.retain(|name| !seen.contains(name));
    }
    assert_eq!(missing, [""; 0], "the gate would not notice a fault there");
    // A NIC that asks in vain while its link has another rate.
    both("seed", 254, &random_spec(254));
}

#[test]
fn worlds_with_proxies_telemetry_pauses_and_other_policies_come_out_the_same_by_the_verbs_alone() {
    type Kind = (&'static str, fn(u64) -> Spec);
    let kinds: [Kind; 8] = [
        ("proxied", proxied_spec),
        ("telemetry", telemetry_spec),
        ("proxied telemetry", telemetry_through_proxies),
        ("shared", shared_spec),
        ("lossless", lossless_spec),
        ("policy", policy_spec),
        ("persistent", persistent_spec),
        ("holding", holding_spec),
    ];
    let [mut relayed, mut read, mut read_through_proxies, mut paused] = [0; 4];
    for (name, spec) in kinds {
        for seed in 0..50 {
            let spec = spec(seed);
            let outcome = both(name, seed, &spec);
            let is_relayed = relays(&outcome);
            relayed += u32::from(is_relayed);
            paused += u32::from(outcome.ports.iter().any(|port| port.pauses > 0));
            if name.ends_with("telemetry") && moves(&spec, &outcome) {
                read += 1;
                read_through_proxies += u32::from(is_relayed);
            }
        }
    }
    let seen = [(relayed, 40), (read, 20), (read_through_proxies, 20), (paused, 30)];
    println!(
        "{seen:?}: worlds that relayed, whose controls read telemetry, both at once, that paused; and the fewest"
    );
    assert!(
        seen.iter().all(|(count, least)| count >= least),
        "{seen:?}: the gate would not notice a fault there"
    );
}

fn relays(outcome: &Outcome) -> bool {
    let counters = outcome.flows.iter().filter_map(|flow| flow.relayed);
    counters.into_iter().any(|counters| counters.sent_packets > 0)
}

/// Whether the outcome of a world is another one without telemetry.
fn moves(spec: &Spec, outcome: &Outcome) -> bool {
    let mut without = spec.clone();
    without.ports.0.iter_mut().for_each(|port| port.telemetry = TelemetryKind::None);
    without.own_ports.values_mut().for_each(|port| Arc::make_mut(port).telemetry = TelemetryKind::None);
    let without = farspan_sim::run(&without, EngineKind::Windowed, &mut |_| true);
    without.packet_digest != outcome.packet_digest
}

/// A world with proxies in which every port writes telemetry, and every control reads it.
fn telemetry_through_proxies(seed: u64) -> Spec {
    let mut spec = proxied_spec(seed);
    for scheme in [&mut spec.intra, &mut spec.inter] {
        let scheme = Arc::make_mut(scheme);
        scheme.congestion = CongestionConfig::by_name("hpcc").expect("a built-in name");
        scheme.profile =
            FlowProfile::new(scheme.profile.acks.clone(), &scheme.congestion, scheme.recovery.policy);
    }
    for proxy in &mut spec.proxies {
        if let ProxyKind::Naive(naive) = &mut proxy.kind {
            naive.onward = Arc::clone(&spec.inter);
        }
    }
    spec.ports.0.iter_mut().for_each(|port| port.telemetry = TelemetryKind::Int);
    spec.own_ports.values_mut().for_each(|port| Arc::make_mut(port).telemetry = TelemetryKind::Int);
    spec
}
