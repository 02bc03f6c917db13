//! Details of one run on a page, in bounded size: ports, series, and a table of flows.

use crate::curve::counted;
use crate::load::{ReportError, Run};
use crate::number::{point, short};
use crate::picture::Picture;
use crate::series::{Choice, FLOW_PROBES, PORT_PROBES, series};
use farspan_metrics::{FlowRow, PortRow};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Ports in the table.
const BUSIEST: usize = 10;
/// Ports with series.
const PORT_SERIES: usize = 6;
/// Flows with series, at least.
const FLOW_SERIES: usize = 4;
/// Bins of a series, at least and at most.
const BINS: (usize, usize) = (80, 240);

/// How much of all runs a page holds.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    /// Runs with details.
    pub runs: usize,
    /// Flows in all tables.
    pub flows: usize,
    /// Samples in all series.
    pub samples: usize,
}

/// The whole page stays below 5 MB with these: the libraries take 0.83 MB, a flow about 70 bytes, a sample about 12.
pub(crate) const BUDGET: Budget = Budget { runs: 24, flows: 24_000, samples: 80_000 };

/// The share of the page's budget for each run with details.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Share {
    /// Rows of its table of flows, at most.
    rows: usize,
    /// Flows with series, at most.
    series: usize,
    /// Bins of a series.
    bins: usize,
}

impl Budget {
    /// How many runs of an arm have details, by its place among so many arms.
    pub(crate) fn runs_of(self, place: usize, arms: usize) -> usize {
        if place < self.runs { (self.runs / arms.max(1)).max(1) } else { 0 }
    }

    /// The share of each of some runs with so many flows, of which `sampled` have series: what short tables leave goes to
    /// long ones.
    pub(crate) fn share(self, flows: &[usize], sampled: usize) -> Share {
        let mut sizes = flows.to_vec();
        sizes.sort_unstable();
        let (mut left, mut rows) = (self.flows, self.flows);
        for (i, size) in sizes.iter().enumerate() {
            rows = left / (sizes.len() - i);
            if *size > rows {
                break;
            }
            left -= size;
            rows = self.flows;
        }
        let samples = self.samples / sampled.max(1);
        let ports = PORT_SERIES * PORT_PROBES.len();
        let bins = (samples / (ports + FLOW_SERIES * FLOW_PROBES.len())).clamp(BINS.0, BINS.1);
        let series = (samples / bins).saturating_sub(ports) / FLOW_PROBES.len();
        Share { rows: rows.max(50), series: series.max(FLOW_SERIES), bins }
    }
}

/// The details of a run.
pub(crate) fn detail(run: &Run, share: Share, picture: &Picture) -> Result<Value, ReportError> {
    let flows = choose(&run.flows, share.rows);
    let mut largest: Vec<&&FlowRow> = flows.iter().collect();
    largest.sort_by_key(|flow| (std::cmp::Reverse(flow.size_bytes), flow.flow_id));
    let chosen: BTreeSet<String> =
        largest.into_iter().take(share.series).map(|flow| flow.flow_id.to_string()).collect();
    let choice = Choice { flows: chosen, ports: PORT_SERIES, bins: share.bins as u32 };
    Ok(json!({
        "ports": busiest(&run.ports),
        "use": picture.utilisation(&run.ports),
        "series": series(run, &choice)?,
        "flows": table(&flows, run.flows.len()),
    }))
}

/// The flows that the table keeps, in order of their ids: all if they are few, else the slowest and some of the others.
fn choose(flows: &[FlowRow], rows: usize) -> Vec<&FlowRow> {
    if flows.len() <= rows {
        return flows.iter().collect();
    }
    let slowness = |flow: &FlowRow| flow.slowdown.unwrap_or(f64::INFINITY);
    let mut slowest: Vec<usize> = (0..flows.len()).collect();
    slowest.sort_by(|a, b| slowness(&flows[*b]).total_cmp(&slowness(&flows[*a])).then(a.cmp(b)));
    let mut kept: BTreeSet<usize> = slowest.into_iter().take(rows / 2).collect();
    let rest = rows - kept.len();
    kept.extend((0..rest).map(|i| i * flows.len() / rest));
    kept.into_iter().map(|i| &flows[i]).collect()
}

/// Columns; one that says the same of all flows is one value.
fn table(flows: &[&FlowRow], all: usize) -> Value {
    let column = |of: &dyn Fn(&FlowRow) -> Value| {
        let values: Vec<Value> = flows.iter().map(|flow| of(flow)).collect();
        match values.first() {
            Some(first) if values.iter().all(|value| value == first) => first.clone(),
            _ => Value::Array(values),
        }
    };
    let mut tags: Vec<&str> = flows.iter().map(|flow| &*flow.tag).collect();
    tags.sort_unstable();
    tags.dedup();
    let us = |ns: i64| short(ns as f64 / 1e3, 6);
    let time = |ns: Option<i64>| ns.map_or(Value::Null, us);
    json!({
        "n": flows.len(),
        "all": all,
        "tags": tags,
        "id": column(&|f| f.flow_id.into()),
        "src": column(&|f| f.src.into()),
        "dst": column(&|f| f.dst.into()),
        "inter": column(&|f| u8::from(&*f.class == "inter").into()),
        "tag": column(&|f| tags.iter().position(|tag| *tag == &*f.tag).into()),
        "measured": column(&|f| u8::from(f.measured).into()),
        "size": column(&|f| f.size_bytes.into()),
        "start": column(&|f| time(f.start_ns)),
        "fct": column(&|f| time(f.fct_ns)),
        "delivered": column(&|f| time(f.delivered_ns.zip(f.start_ns).map(|(end, start)| end - start))),
        "ideal": column(&|f| us(f.ideal_fct_ns)),
        "slowdown": column(&|f| f.slowdown.map_or(Value::Null, point)),
        "parity": column(&|f| f.parity_bytes.into()),
        "resent": column(&|f| f.retransmitted_bytes.into()),
        "marked": column(&|f| f.marked_packets.into()),
        "trimmed": column(&|f| f.trimmed_packets.into()),
        "dropped": column(&|f| f.dropped_packets.into()),
        "timeouts": column(&|f| f.timeouts.into()),
        "nacks": column(&|f| f.nacks.into()),
        "undecodable": column(&|f| f.blocks_undecodable.into()),
    })
}

fn busiest(ports: &[PortRow]) -> Value {
    let mut order: Vec<&PortRow> = ports.iter().collect();
    order.sort_by(|a, b| {
        b.utilization.total_cmp(&a.utilization).then(b.mean_queue_bytes.total_cmp(&a.mean_queue_bytes))
    });
    let row = |port: &&PortRow| {
        json!({
            "port": port.port,
            "use": point(port.utilization),
            "bytes": port.bytes,
            "mean": point(port.mean_queue_bytes),
            "max": port.max_queue_bytes,
            "drops": port.drops,
            "marks": port.marks,
            "trims": port.trims,
        })
    };
    order.iter().take(BUSIEST).map(row).collect()
}

/// The curves of an arm's runs together, by class.
pub(crate) fn curves(runs: &[&Run], of: fn(&[&FlowRow]) -> Value) -> Value {
    let class = |class: &str| {
        let flows = counted(runs.iter().flat_map(|run| &run.flows), class);
        (class.to_owned(), if flows.is_empty() { Value::Null } else { of(&flows) })
    };
    Value::Object(["all", "intra", "inter"].into_iter().map(class).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::testing::row;

    #[test]
    fn a_table_that_is_too_long_keeps_the_slowest_and_a_sample() {
        let mut flows: Vec<_> = (0..1000).map(|i| row(i, 1, Some(1000 + i as i64))).collect();
        flows[3].fct_ns = None;
        flows[3].slowdown = None;
        let kept: Vec<u64> = choose(&flows, 100).iter().map(|flow| flow.flow_id).collect();
        assert!(kept.len() <= 100 && kept.len() > 90 && kept.is_sorted(), "{}", kept.len());
        assert!(kept.contains(&3) && kept.contains(&999) && kept.contains(&951));
        assert_eq!(choose(&flows, 1000).len(), 1000);
    }

    #[test]
    fn short_tables_leave_their_share_to_long_ones() {
        let budget = Budget { runs: 24, flows: 1000, samples: 0 };
        let rows = |flows: &[usize]| budget.share(flows, 0).rows;
        assert_eq!(rows(&[8, 8, 5000, 5000]), 492);
        assert_eq!(rows(&[5000, 100, 700]), 450);
        assert_eq!(rows(&[300, 700]), 1000);
        assert_eq!(rows(&[9; 1000]), 50);
        let (few, many) = (BUDGET.share(&[1], 4), BUDGET.share(&[1], 24));
        assert_eq!((few.bins, few.series, many.bins, many.series), (240, 23, 138, 4));
    }

    #[test]
    fn details_of_many_arms_stay_within_the_budget() {
        let all = |arms: usize| (0..arms).map(|place| BUDGET.runs_of(place, arms)).sum::<usize>();
        assert_eq!([1, 2, 5, 24, 25, 400].map(all), [24, 24, 20, 24, 24, 24]);
    }

    #[test]
    fn a_column_of_equals_is_one_value() {
        let flows = [row(0, 7, Some(1000)), row(1, 7, None)];
        let table = table(&flows.iter().collect::<Vec<_>>(), 9);
        assert_eq!((&table["size"], &table["all"]), (&json!(7), &json!(9)));
        assert_eq!((&table["fct"], &table["id"]), (&json!([1, null]), &json!([0, 1])));
    }
}
