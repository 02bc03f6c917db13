//! Where backlogged flows rest, against closed forms.

use super::dumbbell::{Dumbbell, Link, Marking};
use super::testing::path;
use super::*;
use alloc::vec;
use alloc::vec::Vec;
use farspan_units::Duration;

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
fn powertcp_keeps_a_beta_of_each_flow_in_the_queue() {
    for name in ["powertcp", "theta-powertcp"] {
        for flows in [2, 8, 32] {
            let [queued, used, jain] = rest(&named(name), flows);
            panic!("{name} {flows}: {queued} {used} {jain}");
        }
    }
}
