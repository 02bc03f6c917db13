//! Details of one run on a page, in bounded size: ports, series, and a table of flows.

use crate::curve::counted;
use crate::load::ReportError;
use crate::number::{column, point, short};
use crate::picture::Picture;
use crate::proxy;
use crate::run::Run;
use crate::series::{Choice, FLOW_PROBES, PORT_PROBES, series};
use farspan_metrics::{FlowRow, PortRow};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Networks of more ports than this have their busiest ones in the table alone.
const ALL_PORTS: usize = 20_000;
/// Ports with series, and proxies.
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
    /// Ports that carried anything in all tables.
    pub ports: usize,
}

/// The whole page stays below 5 MB with these: the libraries take 0.83 MB, a flow about 70 bytes, a sample about 12, a port
/// about 40.
pub(crate) const BUDGET: Budget = Budget { runs: 24, flows: 24_000, samples: 80_000, ports: 24_000 };

/// The share of the page's budget for each run with details.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Share {
    /// Rows of its table of flows, at most.
    rows: usize,
    /// Flows with series, at most.
    series: usize,
    /// Bins of a series.
    bins: usize,
    /// Ports that carried anything in its table, at most.
    ports: usize,
}

impl Budget {
    /// How many runs of an arm have details, by its place among so many arms.
    pub(crate) fn runs_of(self, place: usize, arms: usize) -> usize {
        if place < self.runs { (self.runs / arms.max(1)).max(1) } else { 0 }
    }

    /// The share of each of some runs with so many flows, of which `sampled` have series, and at most so many proxies: what
    /// short tables leave goes to long ones.
    pub(crate) fn share(self, flows: &[usize], sampled: usize, proxies: usize) -> Share {
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
        let queues = PORT_SERIES * PORT_PROBES.len() + proxies.min(PORT_SERIES);
        let bins = (samples / (queues + FLOW_SERIES * FLOW_PROBES.len())).clamp(BINS.0, BINS.1);
        let series = (samples / bins).saturating_sub(queues) / FLOW_PROBES.len();
        let ports = (self.ports / flows.len().max(1)).max(50);
        Share { rows: rows.max(50), series: series.max(FLOW_SERIES), bins, ports }
    }
}

/// The details of a run.
pub(crate) fn detail(
    run: &Run,
    share: Share,
    picture: &Picture,
    names: &mut Names,
) -> Result<Value, ReportError> {
    let flows = choose(&run.flows, share.rows);
    let mut largest: Vec<&&FlowRow> = flows.iter().collect();
    largest.sort_by_key(|flow| (std::cmp::Reverse(flow.size_bytes), flow.flow_id));
    let chosen: BTreeSet<String> =
        largest.into_iter().take(share.series).map(|flow| flow.flow_id.to_string()).collect();
    let choice = Choice { flows: chosen, queues: PORT_SERIES, bins: share.bins as u32 };
    Ok(json!({
        "ports": ports(&run.ports, share.ports, names),
        "use": picture.utilisation(&run.ports),
        "faults": picture.faults(&run.ports),
        "proxies": proxy::table(proxy::hosts(run), picture),
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

/// The columns of the table of flows.
fn table(flows: &[&FlowRow], all: usize) -> Value {
    let column = |of: &dyn Fn(&FlowRow) -> Value| column(flows, of);
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
        "tag": column(&|f| tags.binary_search(&&*f.tag).ok().into()),
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

/// Lists of names of ports: runs of one network share theirs.
pub(crate) type Names = Vec<Vec<String>>;

/// The table of ports: of all of them, in which those without a row were idle; of more than so many, the busiest.
fn ports(ports: &[PortRow], most: usize, names: &mut Names) -> Value {
    let idle = |port: &PortRow| port.bytes == 0 && port.drops == 0 && port.faults.is_empty();
    let mut busy: Vec<usize> = (0..ports.len()).filter(|port| !idle(&ports[*port])).collect();
    let whole = busy.len() <= most && ports.len() <= ALL_PORTS;
    if !whole {
        let rank = |port: &usize| (ports[*port].utilization, ports[*port].mean_queue_bytes);
        busy.sort_by(|a, b| {
            rank(b).partial_cmp(&rank(a)).unwrap_or(std::cmp::Ordering::Equal).then(a.cmp(b))
        });
        busy.truncate(most);
        busy.sort_unstable();
    }
    let rows: Vec<&PortRow> = busy.iter().map(|port| &ports[*port]).collect();
    let named: Vec<&PortRow> = if whole { ports.iter().collect() } else { rows.clone() };
    let list: Vec<String> = named.iter().map(|port| port.port.clone()).collect();
    let known = names.iter().position(|known| *known == list).unwrap_or_else(|| {
        names.push(list);
        names.len() - 1
    });
    let column = |of: &dyn Fn(&PortRow) -> Value| column(&rows, of);
    json!({
        "all": ports.len(),
        "names": known,
        "at": if whole { busy } else { (0..rows.len()).collect() },
        "use": column(&|p| point(p.utilization)),
        "bytes": column(&|p| p.bytes.into()),
        "mean": column(&|p| point(p.mean_queue_bytes)),
        "max": column(&|p| p.max_queue_bytes.into()),
        "drops": column(&|p| p.drops.into()),
        "marks": column(&|p| p.marks.into()),
        "trims": column(&|p| p.trims.into()),
        "pauses": column(&|p| p.pauses.into()),
        "paused": column(&|p| p.paused_ns.into()),
        "faults": column(&|p| (&*p.faults).into()),
    })
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
        let budget = Budget { runs: 24, flows: 1000, samples: 0, ports: 0 };
        let rows = |flows: &[usize]| budget.share(flows, 0, 0).rows;
        assert_eq!(rows(&[8, 8, 5000, 5000]), 492);
        assert_eq!(rows(&[5000, 100, 700]), 450);
        assert_eq!(rows(&[300, 700]), 1000);
        assert_eq!(rows(&[9; 1000]), 50);
        let (few, many) = (BUDGET.share(&[1], 4, 0), BUDGET.share(&[1], 24, 0));
        assert_eq!((few.bins, few.series, many.bins, many.series), (240, 23, 138, 4));
        let proxies = [1, 6, 90].map(|proxies| BUDGET.share(&[1], 24, proxies).bins);
        assert_eq!(proxies, [133, 111, 111], "their series take from the resolution of all");
    }

    #[test]
    fn details_of_many_arms_stay_within_the_budget() {
        let all = |arms: usize| (0..arms).map(|place| BUDGET.runs_of(place, arms)).sum::<usize>();
        assert_eq!([1, 2, 5, 24, 25, 400].map(all), [24, 24, 20, 24, 24, 24]);
    }

    #[test]
    fn all_ports_are_in_the_table_idle_ones_by_name_alone() {
        let port = |name: &str, bytes: u64| PortRow {
            port: name.to_owned(),
            tier: "".into(),
            sites: [0, 0],
            bytes,
            drops: 0,
            losses: 0,
            marks: 0,
            trims: 0,
            max_queue_bytes: 0,
            mean_queue_bytes: 0.0,
            utilization: bytes as f64 / 100.0,
            pauses: bytes,
            paused_ns: 9,
            faults: "".into(),
        };
        let rows = [port("a->b#0", 1), port("b->a#0", 0), port("b->c#0", 7)];
        let mut names = Names::new();
        let table = ports(&rows, 9, &mut names);
        assert_eq!(
            (&table["all"], &table["at"], &table["bytes"]),
            (&json!(3), &json!([0, 2]), &json!([1, 7]))
        );
        assert_eq!((&table["pauses"], &table["paused"]), (&json!([1, 7]), &json!(9)));
        assert_eq!((&table["names"], names[0].join(" ").as_str()), (&json!(0), "a->b#0 b->a#0 b->c#0"));
        assert_eq!((&ports(&rows, 9, &mut names)["names"], names.len()), (&json!(0), 1));
        let busiest = ports(&rows, 1, &mut names);
        assert_eq!(
            (&busiest["at"], &busiest["use"], names[1].join(" ").as_str()),
            (&json!([0]), &json!(0.07), "b->c#0")
        );
    }

    #[test]
    fn a_column_of_equals_is_one_value() {
        let flows = [row(0, 7, Some(1000)), row(1, 7, None)];
        let table = table(&flows.iter().collect::<Vec<_>>(), 9);
        assert_eq!((&table["size"], &table["all"]), (&json!(7), &json!(9)));
        assert_eq!((&table["fct"], &table["id"]), (&json!([1, null]), &json!([0, 1])));
    }
}
