//! RTT samples with something on top: what senders see, and what packets do not.

use crate::common::*;
use farspan_sim::{InitialWindow, Outcome, ProbeKind, Spec};
use farspan_units::{Bytes, Duration, Rate, Time};

const NOISE: Duration = Duration::from_us(10);

/// A flow whose window leaves no queue, and its samples.
fn alone(name: &str, rtt_noise: Duration) -> Spec {
    let network = star(2, Rate::from_gbps(100), Duration::from_us(5));
    let flows = vec![flow(0, 1, Bytes::new(40_000_000), Time::ZERO)];
    let mut spec = spec(network, ports(Bytes::MAX, &[]), &scheme(control(name), "ecmp"), flows);
    (spec.initial_window, spec.rtt_noise) = (InitialWindow::Bytes(MSS * 8), rtt_noise);
    sample_rates(&mut spec, Duration::from_us(200));
    spec
}

/// In nanoseconds.
fn mean_rtt(outcome: &Outcome) -> f64 {
    let rtts =
        outcome.samples.iter().filter(|sample| sample.probe == ProbeKind::Rtt).map(|sample| sample.value);
    let rtts: Vec<f64> = rtts.collect();
    assert!(rtts.len() > 50, "{} samples", rtts.len());
    rtts.iter().sum::<f64>() / rtts.len() as f64
}

#[test]
fn the_mean_round_trip_of_a_sender_is_longer_by_half_of_the_noise() {
    let [quiet, noisy] = [Duration::ZERO, NOISE].map(|noise| run(&alone("fixed_window", noise)));
    let shift = mean_rtt(&noisy) - mean_rtt(&quiet);
    assert!((shift / NOISE.as_ns() as f64 - 0.5).abs() < 0.05, "{shift} ns of {NOISE}");
}

#[test]
fn packets_of_a_control_that_looks_at_no_round_trip_do_the_same() {
    let [quiet, noisy] = [Duration::ZERO, NOISE].map(|noise| {
        let mut spec = alone("fixed_window", noise);
        spec.probes = Default::default();
        run(&spec)
    });
    assert_eq!((quiet.digest, quiet.packet_digest), (noisy.digest, noisy.packet_digest));
    // Longer than Swift's target.
    let [quiet, noisy] = [Duration::ZERO, NOISE * 10].map(|noise| run(&alone("swift", noise)));
    assert_ne!(quiet.packet_digest, noisy.packet_digest, "swift looks at nothing else");
}

#[test]
fn noise_comes_out_equal_under_every_engine() {
    for name in ["gemini", "swift", "bbr", "cubic"] {
        let mut spec = alone(name, NOISE);
        spec.flows = (0..3).map(|n| flow(n % 2, 1 - n % 2, Bytes::new(3_000_000), Time::ZERO)).collect();
        equal_under_all(&spec).unwrap_or_else(|what| panic!("{name}: {what}"));
    }
}
