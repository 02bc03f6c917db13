//! Where backlogged flows rest, against closed forms.

use super::dumbbell::{Dumbbell, Link, Marking};
use super::path;
use crate::congestion::*;
use alloc::vec;
use alloc::vec::Vec;
use farspan_units::{Bytes, Duration, Time};

/// The mean queue in bytes, the part of the link that is used, and Jain's index, of so many flows that start with one
/// bandwidth-delay product each; from 4 to 8 ms.
fn rest(config: &CongestionConfig, flows: usize) -> [f64; 3] {
    let link = Link {
        rate: path().line_rate,
        buffer: Bytes::new(1 << 30),
        marking: Marking::step(f64::MAX),
        phantom: None,
        shares: Vec::new(),
        losses: Vec::new(),
        blackout: (Time::MAX, Time::MAX),
    };
    let mut model = Dumbbell::new(link, &vec![(config.clone(), path(), path().bdp); flows]);
    let at = |us| Time::ZERO + Duration::from_us(us);
    model.run_until(at(4000));
    let before: Vec<Bytes> = model.flows.iter().map(|flow| flow.delivered).collect();
    let mut queued = 0.0;
    for us in 4001..=8000 {
        model.run_until(at(us));
        queued += model.queued() / 4000.0;
    }
    let gained: Vec<f64> =
        model.flows.iter().zip(before).map(|(flow, before)| (flow.delivered - before).as_f64()).collect();
    let sum: f64 = gained.iter().sum();
    let jain = sum * sum / (flows as f64 * gained.iter().map(|x| x * x).sum::<f64>());
    let capacity = path().line_rate.bytes_in(Duration::from_ms(4)).as_f64();
    [queued, sum * path().mtu().as_f64() / path().mss.as_f64() / capacity, jain]
}

fn named(name: &str) -> CongestionConfig {
    CongestionConfig::by_name(name).expect("a name of the registry")
}

#[test]
fn powertcp_fills_the_link_behind_a_beta_of_each_flow() {
    for flows in [2, 8, 32] {
        let [queued, used, jain] = rest(&named("powertcp"), flows);
        let betas = 0.006 * path().bdp.as_f64() * flows as f64;
        assert!((0.5 * betas..=2.5 * betas + 4160.0).contains(&queued), "{flows}: {queued} B of {betas}");
        assert!(used >= 0.9 && jain >= 0.99, "{flows}: {used} of the link, Jain {jain}");
    }
}

#[test]
fn theta_powertcp_fills_the_link_behind_a_beta_of_each_flow_if_there_are_some_and_arrivals_have_a_floor() {
    let floor = |arrival_floor| {
        let config = theta_powertcp::ThetaPowertcpConfig { arrival_floor, ..Default::default() };
        CongestionConfig::ThetaPowertcp(config)
    };
    for flows in [8, 32] {
        let [queued, used, jain] = rest(&floor(0.5), flows);
        let betas = 0.006 * path().bdp.as_f64() * flows as f64;
        assert!((queued / betas - 1.0).abs() <= 0.35, "{flows}: {queued} B of {betas}");
        assert!(used >= 0.95 && jain >= 0.99, "{flows}: {used} of the link, Jain {jain}");
    }
    // Algorithm 2 has none: slopes of minus one and less open windows without bound.
    let [queued, used, _] = rest(&floor(0.0), 32);
    assert!(queued > 5.0 * path().bdp.as_f64() && used >= 0.99, "{queued} B, {used} of the link");
}

#[test]
fn swift_fills_the_link_behind_the_queue_of_its_target() {
    for flows in [2, 8] {
        let [queued, used, jain] = rest(&named("swift"), flows);
        // 12.5 us and 50 us, at 12,500 B a us; windows in packets of 4,160 B on the wire.
        let mut expected = 0.0;
        for _ in 0..100 {
            let cwnd = (path().bdp.as_f64() + expected) / flows as f64 / 4160.0;
            let scaled = (1.0 / libm::sqrt(cwnd) - 0.1) / (1.0 / libm::sqrt(0.1) - 0.1);
            expected = 12_500.0 * (12.5 + 50.0 * scaled.clamp(0.0, 1.0));
        }
        assert!((queued / expected - 1.0_f64).abs() <= 0.12, "{flows}: {queued} B of {expected}");
        assert!(used >= 0.99 && jain >= 0.99, "{flows}: {used} of the link, Jain {jain}");
    }
}

#[test]
fn vegas_keeps_alpha_to_beta_packets_of_each_flow_in_the_queue() {
    let given = vegas::VegasConfig { rtt_base: vegas::RttBase::Given, ..vegas::VegasConfig::default() };
    for flows in [1, 2, 8] {
        let [queued, used, _] = rest(&CongestionConfig::Vegas(given.clone()), flows);
        let (packets, n) = (queued / path().mtu().as_f64(), flows as f64);
        assert!((n..=5.0 * n).contains(&packets), "{flows}: {packets} packets");
        assert!(used >= 0.97, "{flows}: {used} of the link");
    }
}
