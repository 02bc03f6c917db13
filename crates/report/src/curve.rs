//! Distributions in a few hundred points: completion times, and slowdown by size.

use crate::number::point;
use farspan_metrics::{FlowRow, Quantile, SizeBin, nearest_rank, slowdown_bins};
use serde_json::{Value, json};

/// Up to so many values a distribution keeps each.
const VALUES: usize = 240;
/// Otherwise: steps of the body, in ten-thousandths ...
const BODY: u32 = 50;
/// ... up to here, and of the tail.
const TAIL: (u32, u32) = (9900, 5);

/// The flows that count: measured and started.
pub(crate) fn counted<'a>(flows: impl Iterator<Item = &'a FlowRow>, class: &str) -> Vec<&'a FlowRow> {
    let of_class = |flow: &&FlowRow| class == "all" || &*flow.class == class;
    flows.filter(of_class).filter(|flow| flow.measured && flow.start_ns.is_some()).collect()
}

/// The distribution of completion times: `x` in microseconds, `p` the share of flows (unfinished ones included) that took
/// at most that long.
pub(crate) fn completion(flows: &[&FlowRow]) -> Value {
    let mut times: Vec<i64> = flows.iter().filter_map(|flow| flow.fct_ns).collect();
    times.sort_unstable();
    let n = flows.len() as u64;
    let mut points: Vec<(i64, f64)> = Vec::new();
    if times.len() <= VALUES {
        points.extend(times.iter().zip(1_u64..).map(|(t, rank)| (*t, rank as f64 / n as f64)));
    } else {
        let body = (0..TAIL.0 / BODY).map(|i| i * BODY);
        let tail = (0..=(10_000 - TAIL.0) / TAIL.1).map(|i| TAIL.0 + i * TAIL.1);
        for parts in body.chain(tail) {
            let q = Quantile::per_10_000(parts);
            let at = nearest_rank(&times, n, q);
            points.extend(at.map(|t| (t, q.rank(n) as f64 / n as f64)));
        }
    }
    // The last point of equal times says it all.
    let mut kept: Vec<(i64, f64)> = Vec::with_capacity(points.len());
    for (t, p) in points {
        match kept.last_mut() {
            Some(last) if last.0 == t => last.1 = p,
            _ => kept.push((t, p)),
        }
    }
    json!({
        "n": n,
        "left": n - times.len() as u64,
        "x": kept.iter().map(|(t, _)| point(*t as f64 / 1e3)).collect::<Vec<_>>(),
        "p": kept.iter().map(|(_, p)| point(*p)).collect::<Vec<_>>(),
    })
}

/// Median and 99% quantile of the slowdown by size: bins of `[largest size, flows, slowdown]`; null is infinite.
pub(crate) fn slowdown(flows: &[&FlowRow]) -> Value {
    let flows: Vec<_> = flows.iter().map(|flow| (flow.size_bytes, flow.slowdown)).collect();
    let bin = |bin: &SizeBin| json!([bin.up_to, bin.count, bin.value.map_or(Value::Null, point)]);
    let bins = |q| slowdown_bins(&flows, q).iter().map(bin).collect::<Value>();
    json!({ "p50": bins(Quantile::P50), "p99": bins(Quantile::P99) })
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A measured intra flow.
    pub(crate) fn row(id: u64, size: u64, fct_ns: Option<i64>) -> FlowRow {
        FlowRow {
            flow_id: id,
            src: 0,
            dst: 1,
            class: "intra".into(),
            tag: "t".into(),
            measured: true,
            size_bytes: size,
            start_ns: Some(0),
            fct_ns,
            delivered_ns: fct_ns,
            ideal_fct_ns: 1000,
            slowdown: fct_ns.map(|t| t as f64 / 1000.0),
            sent_bytes: size,
            parity_bytes: 0,
            retransmitted_bytes: 0,
            marked_packets: 0,
            trimmed_packets: 0,
            dropped_packets: 0,
            timeouts: 0,
            nacks: 0,
            blocks_undecodable: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::row;
    use super::*;

    #[test]
    fn a_small_distribution_keeps_every_value() {
        let flows = [row(0, 1, Some(3000)), row(1, 1, Some(1000)), row(2, 1, None), row(3, 1, Some(1000))];
        let curve = completion(&flows.iter().collect::<Vec<_>>());
        assert_eq!(curve, json!({"n": 4, "left": 1, "x": [1, 3], "p": [0.5, 0.75]}));
    }

    #[test]
    fn a_large_distribution_is_bounded_and_keeps_its_ends() {
        let flows: Vec<_> = (1..=100_000).map(|i| row(i as u64, 1, Some(i * 1000))).collect();
        let curve = completion(&flows.iter().collect::<Vec<_>>());
        let x: Vec<f64> = curve["x"].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
        assert!(x.len() < 260 && x.is_sorted(), "{}", x.len());
        assert_eq!((x[0], *x.last().unwrap()), (1.0, 100_000.0));
        assert_eq!(curve["p"].as_array().unwrap().last(), Some(&json!(1)));
    }

    #[test]
    fn slowdown_has_bins_without_a_gap_for_each_quantile() {
        let flows: Vec<_> = (1..=1000).map(|i| row(i, i * 100, Some(2000))).collect();
        let curve = slowdown(&flows.iter().collect::<Vec<_>>());
        for (q, least) in [("p50", 10), ("p99", 100)] {
            let bins = curve[q].as_array().unwrap();
            let counts: Vec<_> = bins.iter().map(|bin| bin[1].as_u64().unwrap()).collect();
            assert!(bins.len() > 2 && counts.iter().all(|count| *count >= least), "{q}: {counts:?}");
            assert_eq!(counts.iter().sum::<u64>(), 1000, "{q}");
            assert_eq!(bins.last().unwrap()[0], 131_072);
        }
        assert_eq!(slowdown(&[]), json!({ "p50": [], "p99": [] }));
    }
}
