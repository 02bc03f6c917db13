//! Samples of probes, thinned out.

use crate::load::ReportError;
use crate::number::point;
use crate::run::Run;
use farspan_metrics::read_series;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A series of samples in bins of equal time.
#[derive(Clone, Default)]
struct Bins(BTreeMap<u32, Bin>);

#[derive(Clone, Copy, Default)]
struct Bin {
    sum: f64,
    n: u32,
    max: f64,
}

impl Bins {
    fn add(&mut self, bin: u32, value: f64) {
        let bin = self.0.entry(bin).or_default();
        bin.sum += value;
        bin.n += 1;
        bin.max = bin.max.max(value);
    }

    /// Queues as the largest sample of a bin, since a mean would hide peaks; anything else as the mean.
    fn values(&self, largest: bool) -> Vec<Value> {
        let value = |bin: &Bin| point(if largest { bin.max } else { bin.sum / f64::from(bin.n) });
        self.0.values().map(value).collect()
    }
}

/// Probes of ports that the page has charts of.
pub(crate) const PORT_PROBES: [&str; 2] = ["queue", "phantom_queue"];
/// The probe of proxies that it has a chart of.
pub(crate) const PROXY_PROBE: &str = "proxy_queue";
/// Probes of flows that it has charts of.
pub(crate) const FLOW_PROBES: [&str; 3] = ["rate", "cwnd", "rtt"];

/// Which flows, ports and proxies keep their series, and how finely.
pub(crate) struct Choice {
    /// Flow ids, as text.
    pub flows: BTreeSet<String>,
    /// Ports with the longest queues, and so many proxies.
    pub queues: usize,
    /// Bins of the run's time.
    pub bins: u32,
}

/// The series of a run: of chosen flows, the ports and the proxies with the longest queues, and the goodput of each class together.
pub(crate) fn series(run: &Run, choice: &Choice) -> Result<Value, ReportError> {
    let end_ns = run.number("/sim_time_s").unwrap_or(0.0) * 1e9;
    let width = (end_ns / f64::from(choice.bins)).max(1.0);
    let bin_of = |t_ns: i64| ((t_ns as f64 / width) as u32).min(choice.bins - 1);
    let classes: BTreeMap<String, &str> =
        run.flows.iter().map(|flow| (flow.flow_id.to_string(), &*flow.class)).collect();
    let mut kept: BTreeMap<(String, String), Bins> = BTreeMap::new();
    let mut sums: BTreeMap<&str, Totals> = BTreeMap::new();
    read_series(&run.series(), &mut |row| {
        let class = classes.get(row.id);
        if row.probe == "rate"
            && let Some(class) = class
        {
            sums.entry(class).or_default().add(row.t_ns, bin_of(row.t_ns), row.value);
        }
        let (queues, flows) = (is_queue(row.probe), FLOW_PROBES.contains(&row.probe));
        if queues || (flows && choice.flows.contains(row.id)) {
            let key = (row.probe.to_owned(), row.id.to_owned());
            kept.entry(key).or_default().add(bin_of(row.t_ns), row.value);
        }
    })?;
    // No port is called like a host.
    let longest = ["queue", PROXY_PROBE].map(|probe| longest_queues(&kept, probe, choice.queues)).concat();
    kept.retain(|(probe, id), _| FLOW_PROBES.contains(&probe.as_str()) || longest.contains(id));
    let time = |bin: &u32| point((f64::from(*bin) + 0.5) * width / 1e3);
    let entry = |probe: &str, id: &str, bins: &Bins| {
        let times: Vec<Value> = bins.0.keys().map(time).collect();
        json!({"probe": probe, "id": id, "t": times, "v": bins.values(is_queue(probe))})
    };
    let totals = sums.into_iter().map(|(class, sum)| entry("goodput", class, &sum.end()));
    let series: Vec<Value> =
        totals.chain(kept.iter().map(|((probe, id), bins)| entry(probe, id, bins))).collect();
    Ok(json!({"bin_us": point(width / 1e3), "list": series}))
}

/// The sum over flows of samples of one instant, averaged over the instants of a bin.
#[derive(Default)]
struct Totals {
    bins: Bins,
    at: Option<(i64, u32)>,
    sum: f64,
}

impl Totals {
    fn add(&mut self, t_ns: i64, bin: u32, value: f64) {
        if self.at.is_some_and(|(t, _)| t != t_ns) {
            self.settle();
        }
        self.at = Some((t_ns, bin));
        self.sum += value;
    }

    fn settle(&mut self) {
        if let Some((_, bin)) = self.at.take() {
            self.bins.add(bin, self.sum);
        }
        self.sum = 0.0;
    }

    fn end(mut self) -> Bins {
        self.settle();
        self.bins
    }
}

fn is_queue(probe: &str) -> bool {
    PORT_PROBES.contains(&probe) || probe == PROXY_PROBE
}

/// Those whose queues are longest on average.
fn longest_queues(kept: &BTreeMap<(String, String), Bins>, queue: &str, count: usize) -> Vec<String> {
    let queues = kept.iter().filter(|((probe, _), _)| probe == queue);
    let mean = |bins: &Bins| {
        let (sum, n) = bins.0.values().fold((0.0, 0), |(sum, n), bin| (sum + bin.sum, n + bin.n));
        sum / f64::from(n.max(1))
    };
    let mut all: Vec<(f64, &String)> = queues.map(|((_, id), bins)| (mean(bins), id)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.into_iter().take(count).map(|(_, id)| id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_keeps_its_peaks_and_a_rate_its_mean() {
        let mut bins = Bins::default();
        for (bin, value) in [(0, 1.0), (0, 3.0), (7, 5.0)] {
            bins.add(bin, value);
        }
        assert_eq!(bins.values(true), [json!(3), json!(5)]);
        assert_eq!(bins.values(false), [json!(2), json!(5)]);
    }

    #[test]
    fn ports_and_proxies_keep_their_longest_queues_each() {
        let bins = |value| {
            let mut bins = Bins::default();
            bins.add(0, value);
            bins
        };
        let queues = [
            ("queue", "a->b#0", 1.0),
            ("queue", "b->c#0", 2.0),
            ("proxy_queue", "host7", 0.5),
            ("rate", "3", 9.0),
        ];
        let kept = queues.map(|(probe, id, value)| ((probe.to_owned(), id.to_owned()), bins(value))).into();
        let longest = |probe| longest_queues(&kept, probe, 1);
        assert_eq!(
            (longest("queue"), longest(PROXY_PROBE)),
            (vec!["b->c#0".to_owned()], vec!["host7".to_owned()])
        );
    }

    #[test]
    fn goodput_adds_flows_and_averages_instants() {
        let mut totals = Totals::default();
        for (t, value) in [(1, 10.0), (1, 20.0), (2, 50.0)] {
            totals.add(t, 0, value);
        }
        assert_eq!(totals.end().values(false), [json!(40)]);
    }
}
