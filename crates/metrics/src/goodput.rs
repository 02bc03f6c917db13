//! Goodput between two times: what arrived at receivers for the first time, over how long that took, by class and by tag.

use crate::{Class, FlowRecord, jain};
use farspan_units::{Bytes, Duration, Time};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;

/// Goodput between two times. It counts all flows, measured or not; `None` for a class without flows.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Goodput {
    /// The first time.
    pub from_us: f64,
    /// The second time.
    pub until_us: f64,
    /// All flows.
    pub all: Option<GoodputSum>,
    /// Flows inside a site.
    pub intra: Option<GoodputSum>,
    /// Flows between sites.
    pub inter: Option<GoodputSum>,
    /// Sums by part of the workload.
    pub tags: BTreeMap<String, GoodputSum>,
    /// Jain's index over the flows of the fairness group that were under way all the time; `None` without a group, or where nothing of such
    /// flows arrived.
    pub jain: Option<f64>,
}

/// Goodput of some flows together.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct GoodputSum {
    /// How many of them were under way at some time in between.
    pub flows: u64,
    /// Payload that arrived for the first time.
    pub bytes: u64,
    /// `bytes` in bits per second, over all the time in between.
    pub bps: f64,
    /// Over what arrived of all flows; `None` if nothing did.
    pub share: Option<f64>,
}

impl Goodput {
    /// The goodput of `flows` from the first to the second time, of the second no more; `arrived`: what arrived of each of them meanwhile.
    #[must_use]
    pub fn of(span: &Range<Time>, flows: &[FlowRecord], arrived: &[Bytes], group: Option<&str>) -> Self {
        let all: Bytes = arrived.iter().copied().sum();
        let sum = |keep: &dyn Fn(&FlowRecord) -> bool| {
            let mut kept = flows.iter().zip(arrived).filter(|(flow, _)| keep(flow)).peekable();
            kept.peek()?;
            let mut sum = Partial::default();
            kept.for_each(|(flow, bytes)| sum.add(span, flow, *bytes));
            Some(sum.over(all, span.end - span.start))
        };
        let class = |class| sum(&|flow| flow.outcome.class == class);
        let mut tags: BTreeMap<&str, Partial> = BTreeMap::new();
        for (flow, bytes) in flows.iter().zip(arrived) {
            tags.entry(&flow.tag).or_default().add(span, flow, *bytes);
        }
        let length = span.end - span.start;
        let is_member = |flow: &FlowRecord| group == Some(&*flow.tag) && flow.is_under_way_throughout(span);
        let members = flows.iter().zip(arrived).filter(|(flow, _)| is_member(flow));
        let members: Vec<f64> = members.map(|(_, bytes)| bytes.as_f64()).collect();
        let [from_us, until_us] = [span.start, span.end].map(|at| at.since(Time::ZERO).as_us_f64());
        Self {
            from_us,
            until_us,
            all: sum(&|_| true),
            intra: class(Class::Intra),
            inter: class(Class::Inter),
            tags: tags.into_iter().map(|(tag, sum)| (tag.to_owned(), sum.over(all, length))).collect(),
            jain: jain(&members),
        }
    }
}

/// A sum that grows.
#[derive(Clone, Copy, Default)]
struct Partial {
    flows: u64,
    bytes: Bytes,
}

impl Partial {
    fn add(&mut self, span: &Range<Time>, flow: &FlowRecord, bytes: Bytes) {
        self.flows += u64::from(flow.is_under_way(span));
        self.bytes += bytes;
    }

    fn over(self, all: Bytes, length: Duration) -> GoodputSum {
        GoodputSum {
            flows: self.flows,
            bytes: self.bytes.get(),
            bps: self.bytes.as_f64() * 8e12 / length.as_ps() as f64,
            share: (!all.is_zero()).then(|| self.bytes.as_f64() / all.as_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::testing;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn flow(tag: &str, class: Class, start: u64, delivered: Option<u64>) -> FlowRecord {
        let mut flow = testing::flow(0, 1);
        (flow.tag, flow.outcome.class) = (tag.into(), class);
        (flow.outcome.start, flow.outcome.delivered) = (at(start), delivered.map(at));
        flow
    }

    /// Two long flows, one that goes and one that comes in between, and one that is over before.
    fn flows() -> [FlowRecord; 5] {
        [
            flow("long", Class::Inter, 0, None),
            flow("long", Class::Inter, 10, Some(20)),
            flow("long", Class::Inter, 0, Some(15)),
            flow("short", Class::Intra, 12, Some(30)),
            flow("short", Class::Intra, 0, Some(9)),
        ]
    }

    #[test]
    fn bytes_become_rates_and_shares_by_class_and_tag() {
        let arrived = [4000, 2000, 1000, 1000, 0].map(Bytes::new);
        let goodput = Goodput::of(&(at(10)..at(20)), &flows(), &arrived, Some("long"));
        assert_eq!((goodput.from_us, goodput.until_us), (10.0, 20.0));
        let all = GoodputSum { flows: 4, bytes: 8000, bps: 6.4e9, share: Some(1.0) };
        let long = GoodputSum { flows: 3, bytes: 7000, bps: 5.6e9, share: Some(0.875) };
        let short = GoodputSum { flows: 1, bytes: 1000, bps: 0.8e9, share: Some(0.125) };
        assert_eq!((goodput.all, goodput.inter, goodput.intra), (Some(all), Some(long), Some(short)));
        assert_eq!(goodput.tags, [("long".to_owned(), long), ("short".to_owned(), short)].into());
        // The two that were there all the time, at 4 : 2.
        assert_eq!(goodput.jain, Some(0.9));
    }

    #[test]
    fn without_arrivals_there_is_no_share_and_without_flows_no_class() {
        let goodput = Goodput::of(&(at(10)..at(20)), &flows()[..3], &[Bytes::ZERO; 3], Some("long"));
        let all = goodput.all.expect("there are flows");
        assert_eq!((all.bytes, all.bps, all.share, goodput.jain), (0, 0.0, None, None));
        assert_eq!(goodput.intra, None);
        let none = Goodput::of(&(at(10)..at(20)), &[], &[], None);
        assert!(none.all.is_none() && none.tags.is_empty() && none.jain.is_none());
    }

    #[test]
    fn without_a_group_there_is_no_index() {
        let arrived = [Bytes::new(1); 5];
        assert_eq!(Goodput::of(&(at(10)..at(20)), &flows(), &arrived, None).jain, None);
    }
}
