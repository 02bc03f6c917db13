//! Flow completion times by class, tag and size.

use crate::{Class, FlowRecord, Quantile, nearest_rank};
use farspan_units::{Bytes, Duration};
use serde::Serialize;
use std::collections::BTreeMap;

/// Where a flow ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completion {
    /// The sender has the last ACK: `fct`.
    Sender,
    /// The receiver has the last byte: `delivery`.
    Receiver,
}

impl Completion {
    fn of(self, flow: &FlowRecord) -> Option<Duration> {
        let end = match self {
            Self::Sender => flow.outcome.finish,
            Self::Receiver => flow.outcome.delivered,
        };
        end.map(|t| t.since(flow.outcome.start))
    }
}

/// Flows that a Poisson class needs before its 99% quantile means anything.
const FLOWS_FOR_P99: u64 = 1000;
/// Flows that any class needs before its 99.9% quantile means anything.
const FLOWS_FOR_P999: u64 = 10_000;

/// Completion times of one class of flows. Unfinished flows count as infinite: whatever they make infinite is `None`.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Fct {
    /// Measured flows that started.
    pub count: u64,
    /// Those in `count` that did not finish.
    pub unfinished: u64,
    /// Mean.
    pub mean_us: Option<f64>,
    /// Median, by nearest rank as all quantiles here.
    pub p50_us: Option<f64>,
    /// 90% quantile.
    pub p90_us: Option<f64>,
    /// 95% quantile.
    pub p95_us: Option<f64>,
    /// 99% quantile; of a class with Poisson arrivals only from 1,000 flows on.
    pub p99_us: Option<f64>,
    /// 99.9% quantile; only from 10,000 flows on.
    pub p999_us: Option<f64>,
    /// Largest.
    pub max_us: Option<f64>,
    /// Mean of completion time over ideal.
    pub slowdown_mean: Option<f64>,
    /// Median of completion time over ideal.
    pub slowdown_p50: Option<f64>,
    /// 99% quantile of completion time over ideal, on the terms of `p99_us`.
    pub slowdown_p99: Option<f64>,
}

impl Fct {
    /// The completion times of the measured flows among `flows` that started; `None` if there are none.
    pub fn of<'a>(flows: impl Iterator<Item = &'a FlowRecord>, at: Completion) -> Option<Self> {
        let group = Group::of(flows, at);
        let us = |q| group.duration(q).map(Duration::as_us_f64);
        (group.count > 0).then(|| Self {
            count: group.count,
            unfinished: group.unfinished(),
            mean_us: group.mean().map(Duration::as_us_f64),
            p50_us: us(Quantile::P50),
            p90_us: us(Quantile::P90),
            p95_us: us(Quantile::P95),
            p99_us: us(Quantile::P99),
            p999_us: us(Quantile::P999),
            max_us: us(Quantile::per_10_000(10_000)),
            slowdown_mean: group.mean_slowdown(),
            slowdown_p50: group.slowdown(Quantile::P50),
            slowdown_p99: group.slowdown(Quantile::P99),
        })
    }
}

/// Sorted completion times of a group of flows.
struct Group {
    count: u64,
    poisson: bool,
    durations: Vec<Duration>,
    slowdowns: Vec<f64>,
}

impl Group {
    fn of<'a>(flows: impl Iterator<Item = &'a FlowRecord>, at: Completion) -> Self {
        let mut group = Self { count: 0, poisson: false, durations: Vec::new(), slowdowns: Vec::new() };
        for flow in flows.filter(|f| f.measured && f.outcome.started) {
            group.count += 1;
            group.poisson |= flow.poisson;
            if let Some(duration) = at.of(flow) {
                group.durations.push(duration);
                group.slowdowns.push(flow.outcome.slowdown(duration));
            }
        }
        group.durations.sort_unstable();
        group.slowdowns.sort_unstable_by(f64::total_cmp);
        group
    }

    fn unfinished(&self) -> u64 {
        self.count - self.durations.len() as u64
    }

    /// Whether there are flows enough for a quantile.
    fn supports(&self, q: Quantile) -> bool {
        match q {
            Quantile::P99 => !self.poisson || self.count >= FLOWS_FOR_P99,
            Quantile::P999 => self.count >= FLOWS_FOR_P999,
            _ => true,
        }
    }

    fn duration(&self, q: Quantile) -> Option<Duration> {
        nearest_rank(&self.durations, self.count, q).filter(|_| self.supports(q))
    }

    fn slowdown(&self, q: Quantile) -> Option<f64> {
        nearest_rank(&self.slowdowns, self.count, q).filter(|_| self.supports(q))
    }

    fn all_finished(&self) -> bool {
        self.count > 0 && self.unfinished() == 0
    }

    fn mean(&self) -> Option<Duration> {
        let sum: u128 = self.durations.iter().map(|d| u128::from(d.as_ps())).sum();
        let mean = || u64::try_from(sum / u128::from(self.count)).expect("a mean is at most the largest");
        self.all_finished().then(|| Duration::from_ps(mean()))
    }

    fn mean_slowdown(&self) -> Option<f64> {
        self.all_finished().then(|| self.slowdowns.iter().sum::<f64>() / self.count as f64)
    }
}

/// Completion times of all measured flows, by class and by tag; `None` for a class without flows.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct FctTable {
    /// All flows.
    pub all: Option<Fct>,
    /// Flows inside a site.
    pub intra: Option<Fct>,
    /// Flows between sites.
    pub inter: Option<Fct>,
    /// Completion times by part of the workload.
    pub tags: BTreeMap<String, Option<Fct>>,
}

impl FctTable {
    /// The table of `flows`, each ending at the sender or at the receiver.
    #[must_use]
    pub fn of(flows: &[FlowRecord], at: Completion) -> Self {
        let class = |class| Fct::of(flows.iter().filter(|f| f.outcome.class == class), at);
        let mut by_tag: BTreeMap<&str, Vec<&FlowRecord>> = BTreeMap::new();
        for flow in flows {
            by_tag.entry(&flow.tag).or_default().push(flow);
        }
        Self {
            all: Fct::of(flows.iter(), at),
            intra: class(Class::Intra),
            inter: class(Class::Inter),
            tags: by_tag.into_iter().map(|(t, f)| (t.to_owned(), Fct::of(f.into_iter(), at))).collect(),
        }
    }
}

/// Slowdown of the flows of one bin of sizes, at the sender.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct SlowdownBin {
    /// Largest size of the bin; `None` for no limit.
    pub up_to_bytes: Option<u64>,
    /// Measured flows that started.
    pub count: u64,
    /// Those in `count` that did not finish.
    pub unfinished: u64,
    /// Mean.
    pub slowdown_mean: Option<f64>,
    /// Median.
    pub slowdown_p50: Option<f64>,
    /// 99% quantile, on the terms of [`Fct::p99_us`].
    pub slowdown_p99: Option<f64>,
}

/// Slowdown by flow size; `None` for a bin without flows.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct SizeBins {
    /// At most one packet.
    pub one_packet: Option<SlowdownBin>,
    /// More, at most one BDP inside a site.
    pub intra_bdp: Option<SlowdownBin>,
    /// More, at most one BDP between sites.
    pub inter_bdp: Option<SlowdownBin>,
    /// More than that.
    pub larger: Option<SlowdownBin>,
}

impl SizeBins {
    /// The bins of `flows`, which end at `payload` of a packet, intra BDP and inter BDP (with a single site: the intra
    /// BDP again). Each limit is at least the one before.
    #[must_use]
    pub fn of(flows: &[FlowRecord], payload: Bytes, intra_bdp: Bytes, inter_bdp: Bytes) -> Self {
        let intra = intra_bdp.max(payload);
        let inter = inter_bdp.max(intra);
        let bin = |above: Option<Bytes>, up_to: Option<Bytes>| {
            let inside = |f: &&FlowRecord| {
                above.is_none_or(|a| f.outcome.size > a) && up_to.is_none_or(|u| f.outcome.size <= u)
            };
            let group = Group::of(flows.iter().filter(inside), Completion::Sender);
            (group.count > 0).then(|| SlowdownBin {
                up_to_bytes: up_to.map(Bytes::get),
                count: group.count,
                unfinished: group.unfinished(),
                slowdown_mean: group.mean_slowdown(),
                slowdown_p50: group.slowdown(Quantile::P50),
                slowdown_p99: group.slowdown(Quantile::P99),
            })
        };
        Self {
            one_packet: bin(None, Some(payload)),
            intra_bdp: bin(Some(payload), Some(intra)),
            inter_bdp: bin(Some(intra), Some(inter)),
            larger: bin(Some(inter), None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::testing::flow;
    use farspan_units::Time;

    fn flows(n: u32, change: impl Fn(&mut FlowRecord)) -> Vec<FlowRecord> {
        let made = (1..=n).map(|i| {
            let mut f = flow(i, u64::from(i));
            change(&mut f);
            f
        });
        made.collect()
    }

    fn sender(flows: &[FlowRecord]) -> Fct {
        Fct::of(flows.iter(), Completion::Sender).unwrap()
    }

    #[test]
    fn quantiles_of_a_small_pattern_are_given_except_the_per_mille() {
        let fct = sender(&flows(8, |_| ()));
        assert_eq!((fct.count, fct.unfinished), (8, 0));
        assert_eq!((fct.mean_us, fct.p50_us, fct.p90_us), (Some(4.5), Some(4.0), Some(8.0)));
        assert_eq!((fct.p99_us, fct.p999_us, fct.max_us), (Some(8.0), None, Some(8.0)));
        assert_eq!((fct.slowdown_p50, fct.slowdown_p99), (Some(0.4), Some(0.8)));
        assert!((fct.slowdown_mean.unwrap() - 0.45).abs() < 1e-12);
    }

    #[test]
    fn a_poisson_class_needs_1000_flows_for_p99_and_10000_for_p999() {
        let of = |n| sender(&flows(n, |f| f.poisson = true));
        assert_eq!((of(999).p99_us, of(999).slowdown_p99, of(999).p95_us), (None, None, Some(950.0)));
        assert_eq!((of(1000).p99_us, of(1000).slowdown_p99), (Some(990.0), Some(99.0)));
        assert_eq!((of(9_999).p999_us, of(10_000).p999_us), (None, Some(9990.0)));
    }

    #[test]
    fn unfinished_flows_count_as_infinite() {
        let mut all = flows(10, |_| ());
        all[0].outcome.finish = None;
        all[9].outcome.finish = None;
        let fct = sender(&all);
        assert_eq!((fct.count, fct.unfinished), (10, 2));
        // Finished: 2..=9 us; ranks 9 and 10 are infinite.
        assert_eq!((fct.p50_us, fct.p90_us, fct.max_us), (Some(6.0), None, None));
        assert_eq!((fct.mean_us, fct.slowdown_mean), (None, None));
    }

    #[test]
    fn only_measured_flows_that_started_count() {
        let mut all = flows(4, |_| ());
        all[0].measured = false;
        all[1].outcome.started = false;
        assert_eq!(sender(&all).count, 2);
        all.truncate(2);
        assert_eq!(Fct::of(all.iter(), Completion::Sender), None);
    }

    #[test]
    fn delivery_is_measured_at_the_receiver() {
        let all = flows(2, |f| f.outcome.delivered = Some(Time::ZERO + Duration::from_us(1)));
        assert_eq!(Fct::of(all.iter(), Completion::Receiver).unwrap().max_us, Some(1.0));
        assert_eq!(sender(&all).max_us, Some(2.0));
    }

    #[test]
    fn a_table_has_every_class_and_tag() {
        let mut all = flows(3, |_| ());
        all[1].outcome.class = Class::Inter;
        all[2].tag = "background".into();
        all[2].measured = false;
        let table = FctTable::of(&all, Completion::Sender);
        let count = |fct: &Option<Fct>| fct.as_ref().map(|f| f.count);
        assert_eq!([&table.all, &table.intra, &table.inter].map(count), [Some(2), Some(1), Some(1)]);
        let tags: Vec<_> = table.tags.iter().map(|(t, f)| (t.as_str(), count(f))).collect();
        assert_eq!(tags, [("background", None), ("test", Some(2))]);
    }

    #[test]
    fn every_flow_falls_into_one_bin_of_sizes() {
        let mut all = flows(5, |_| ());
        for (f, size) in all.iter_mut().zip([1, 4096, 4097, 200_000, 1 << 30]) {
            f.outcome.size = Bytes::new(size);
        }
        let bins = SizeBins::of(&all, Bytes::new(4096), Bytes::new(175_344), Bytes::new(22_400_515));
        let counts = [&bins.one_packet, &bins.intra_bdp, &bins.inter_bdp, &bins.larger]
            .map(|b| b.as_ref().map(|b| (b.count, b.up_to_bytes)));
        assert_eq!(
            counts,
            [Some((2, Some(4096))), Some((1, Some(175_344))), Some((1, Some(22_400_515))), Some((1, None))]
        );
        let none = SizeBins::of(&all[..2], Bytes::new(4096), Bytes::new(100), Bytes::new(100));
        assert_eq!((none.intra_bdp, none.larger), (None, None));
    }
}
