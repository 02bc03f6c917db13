//! Prints how many losses the detectors of [`farspan_transport::proxy::detector`] miss, and how many they make up, as CSV.
//!
//! usage: cargo run --release -p farspan-transport --features testing --example detector_frontier [SEEDS]
//!
//! `reordering` is the spread of the paths' delays and `delay` the mean time from the first later packet to the
//! declaration, both in packet times; counts are sums over the seeds. Losses without a later packet are `tail`.

use farspan_transport::proxy::detector::testing::{PACKET_TIME, Score, SprayedFlow, per_flow, per_path};
use farspan_transport::proxy::detector::{PerFlowConfig, PerPathConfig};

const SPREADS: [u64; 5] = [0, 1, 4, 16, 64];
const LOSSES: [f64; 4] = [1e-4, 1e-3, 1e-2, 1e-1];
const BURSTS: [f64; 2] = [1.0, 8.0];
const WINDOWS: [u32; 4] = [64, 256, 1024, 4096];

/// Adds up scores of several seeds.
fn add(sum: &mut Score, score: Score) {
    sum.losses += score.losses;
    sum.tail += score.tail;
    sum.missed += score.missed;
    sum.false_losses += score.false_losses;
    sum.delay += score.delay;
    sum.bytes = score.bytes;
}

/// Every kind of detector with its name and window, and its scores.
fn kinds() -> Vec<(&'static str, u32)> {
    let of_window = |window| [("per_flow", window), ("threshold_3", window)];
    [("per_path", 0)].into_iter().chain(WINDOWS.into_iter().flat_map(of_window)).collect()
}

fn row(spread: u64, loss: f64, burst: f64, seeds: u64) {
    let kinds = kinds();
    let mut sums = vec![Score::default(); kinds.len()];
    let flow = SprayedFlow { burst, ..SprayedFlow::new(spread, loss) };
    for seed in 1..=seeds {
        let packets = flow.packets(seed);
        for (&(kind, window), sum) in kinds.iter().zip(&mut sums) {
            let adaptive = PerFlowConfig { window, ..PerFlowConfig::default() };
            let score = match kind {
                "per_path" => per_path(&packets, &PerPathConfig::default()),
                "per_flow" => per_flow(&packets, &adaptive),
                _ => per_flow(&packets, &PerFlowConfig { fixed: Some(3), ..adaptive }),
            };
            add(sum, score);
        }
    }
    for ((kind, window), sum) in kinds.into_iter().zip(sums) {
        let Score { losses, tail, missed, false_losses, bytes, .. } = sum;
        let delay = sum.delay / PACKET_TIME / (losses - missed).max(1) as f64;
        let (bytes, packets) = (bytes.get(), u64::from(flow.packets) * seeds);
        println!(
            "{kind},{spread},{loss},{burst},{window},{bytes},{packets},{losses},{tail},{missed},{false_losses},{delay:.1}"
        );
    }
}

fn main() {
    let seeds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20);
    println!("kind,reordering,loss_rate,burst,window,bytes,packets,losses,tail,missed,false,delay");
    for burst in BURSTS {
        for spread in SPREADS {
            for loss in LOSSES {
                row(spread, loss, burst, seeds);
            }
        }
    }
}
