//! Hosts that call the six verbs of their endpoints alone, and get headers and telemetry as bytes, do what those do that are called in
//! place: what is simulated is what is shipped.
//!
//! A failure names the seed; `cargo run -p farspan-sim --example equality -- --verbs FROM TO` runs a longer range.

use crate::random::{
    FEATURES, features, holding_spec, lossless_spec, policy_spec, proxied_spec, random_spec, shared_spec,
    telemetry_spec,
};
use crate::{common, worlds};
use farspan_sim::{EngineKind, Outcome, Spec};

/// Runs a world both ways.
fn both(name: &str, seed: u64, spec: &Spec) -> Outcome {
    let outcome = farspan_sim::run(spec, EngineKind::Windowed, &mut |_| true);
    common::equal_by_verbs(spec, &outcome).unwrap_or_else(|what| panic!("{name} {seed}: {what}"));
    outcome
}

#[test]
fn random_worlds_come_out_the_same_by_the_verbs_alone_with_every_feature_among_them() {
    let mut missing: Vec<_> = FEATURES.to_vec();
    // The first worlds, and more until each feature was seen.
    for seed in 0..400 {
        if seed >= 200 && missing.is_empty() {
            break;
        }
        let spec = random_spec(seed);
        let outcome = both("seed", seed, &spec);
        worlds::as_listed(seed, &outcome).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
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
    let kinds: [Kind; 6] = [
        ("proxied", proxied_spec),
        ("telemetry", telemetry_spec),
        ("shared", shared_spec),
        ("lossless", lossless_spec),
        ("policy", policy_spec),
        ("holding", holding_spec),
    ];
    for (name, spec) in kinds {
        for seed in 0..50 {
            both(name, seed, &spec(seed));
        }
    }
}
