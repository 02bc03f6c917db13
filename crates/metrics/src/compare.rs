//! Two schemes, seed by seed: which numbers count, and their paired ratios.

use crate::seeds::Bootstraps;
use serde::Serialize;
use serde_json::value::Index;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Parts of a run's document whose numbers are compared: what happened in the network, not how long the computer took.
const SECTIONS: [&str; 12] = [
    "fct",
    "delivery",
    "bytes",
    "packets",
    "recovery",
    "fairness",
    "queues",
    "ports",
    "goodput",
    "rtt",
    "slowdown_by_size",
    "collectives",
];

/// How a number is to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Microseconds.
    Us,
    /// Bytes.
    Bytes,
    /// Bits per second.
    Bps,
    /// A share of 1.
    Share,
    /// A count, exact.
    Count,
    /// An index or a factor.
    Number,
}

/// A number of a run's document that tables show.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Measure {
    /// Its name in tables.
    pub name: String,
    /// Its place in the document (a JSON pointer).
    pub path: String,
    /// How to read it.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
}

/// Which of two numbers is better.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// The smaller.
    Less,
    /// The larger.
    More,
    /// Neither by itself: a busy link may carry retransmissions and parity.
    Neither,
}

/// Where a document names its bottleneck; the places of that port's numbers begin so.
const BOTTLENECK: &str = "/queues/bottleneck";

impl Measure {
    /// Whether it is a number of the bottleneck: of two ports there is no ratio.
    #[must_use]
    pub fn is_of_bottleneck(&self) -> bool {
        self.path.starts_with(BOTTLENECK)
    }
}

/// The port that is the bottleneck of a run; empty if there is none.
#[must_use]
pub fn bottleneck(document: &Value) -> &str {
    document.pointer(BOTTLENECK).and_then(Value::as_str).unwrap_or_default()
}

/// Where drops inside sites stand: without a WAN they would say the same again.
const IN_SITES: &str = "/ports/sites/dropped";

/// Beside completion times: name, place, unit, which way is better.
const MEASURES: [(&str, &str, Unit, Better); 16] = [
    ("unfinished flows", "/fct/all/unfinished", Unit::Count, Better::Less),
    ("goodput", "/goodput/all/bps", Unit::Bps, Better::More),
    ("Jain of goodput", "/goodput/jain", Unit::Number, Better::More),
    ("Jain mean", "/fairness/jain_mean", Unit::Number, Better::More),
    ("Jain late 5%", "/fairness/jain_p5_late", Unit::Number, Better::More),
    ("converged at", "/fairness/converged_at_us", Unit::Us, Better::Less),
    ("bottleneck queue, mean", "/queues/bottleneck_mean_bytes", Unit::Bytes, Better::Less),
    ("bottleneck queue, p99", "/queues/bottleneck_p99_bytes", Unit::Bytes, Better::Less),
    ("bottleneck utilisation", "/queues/bottleneck_utilization", Unit::Share, Better::Neither),
    ("packet delay, p99", "/queues/packet_delay_p99_us", Unit::Us, Better::Less),
    ("RTT, p99", "/rtt/all/p99_us", Unit::Us, Better::Less),
    ("packets dropped", "/packets/dropped", Unit::Count, Better::Less),
    ("drops inside sites", IN_SITES, Unit::Count, Better::Less),
    ("drops in the WAN", "/ports/tiers/wan/dropped", Unit::Count, Better::Less),
    ("time-outs", "/recovery/timeouts", Unit::Count, Better::Less),
    ("efficiency", "/bytes/efficiency", Unit::Share, Better::More),
];

/// The numbers that tables show of these documents, in order: those that at least one of them has.
#[must_use]
pub fn measures(documents: &[&Value]) -> Vec<Measure> {
    let has = |path: &str, keep: fn(&Value) -> bool| {
        documents.iter().any(|document| document.pointer(path).is_some_and(keep))
    };
    let mut found = Vec::new();
    let mut add = |name: String, path: String, unit: Unit, better: Better| {
        if has(&path, Value::is_number) {
            found.push(Measure { name, path, unit, better });
        }
    };
    // With one class, `all` would say the same again.
    let both = has("/fct/intra", Value::is_object) && has("/fct/inter", Value::is_object);
    let classes: &[&str] = if both { &["intra", "inter"] } else { &["all"] };
    for class in classes {
        for (name, key) in [("mean", "mean_us"), ("p50", "p50_us"), ("p99", "p99_us"), ("max", "max_us")] {
            add(format!("{class} {name} FCT"), format!("/fct/{class}/{key}"), Unit::Us, Better::Less);
        }
        let path = format!("/fct/{class}/slowdown_mean");
        add(format!("{class} mean slowdown"), path, Unit::Number, Better::Less);
    }
    let collectives = documents.first().and_then(|document| document.get("collectives"));
    for (i, collective) in collectives.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let tag = collective.get("tag").and_then(Value::as_str).unwrap_or("collective");
        add(format!("{tag}, mean"), format!("/collectives/{i}/mean_us"), Unit::Us, Better::Less);
        add(format!("{tag}, over ideal"), format!("/collectives/{i}/ratio"), Unit::Number, Better::Less);
    }
    let tags = documents.first().and_then(|document| document.pointer("/goodput/tags")?.as_object());
    for tag in tags.into_iter().filter(|tags| tags.len() > 1).flat_map(Map::keys) {
        let path = format!("/goodput/tags/{}/bps", tag.replace('~', "~0").replace('/', "~1"));
        add(format!("{tag}, goodput"), path, Unit::Bps, Better::Neither);
    }
    let has_wan = has("/ports/tiers/wan", Value::is_object);
    for (name, path, unit, better) in
        MEASURES.into_iter().filter(|(_, path, ..)| has_wan || *path != IN_SITES)
    {
        add(name.to_owned(), path.to_owned(), unit, better);
    }
    found
}

/// Paired ratios `numerator / denominator` of every number of two schemes' documents, each with its seed, in an object of
/// the documents' shape. A number that is null counts as infinite, see [`paired_ratios`](crate::paired_ratios); but of a
/// queue, a tier or goodput it is one that was not measured, and its seed is missing. Where the bottleneck is not the same port
/// in both, at each seed, its numbers have no ratio.
#[must_use]
pub fn compare(numerator: &[(u64, &Value)], denominator: &[(u64, &Value)]) -> Value {
    let mut bootstraps = Bootstraps::default();
    let port =
        |seed| denominator.iter().find(|(other, _)| *other == seed).map(|(_, other)| bottleneck(other));
    let one_port =
        numerator.iter().all(|(seed, document)| port(*seed).is_none_or(|port| port == bottleneck(document)));
    let section = |documents: &[(u64, &Value)], name: &str| -> Vec<(u64, Value)> {
        let part = |document: &Value| {
            let mut part = document.get(name).cloned().unwrap_or_default();
            if let Some(queues) = part.as_object_mut().filter(|_| name == "queues" && !one_port) {
                queues.retain(|key, _| !key.starts_with("bottleneck"));
            }
            part
        };
        documents.iter().map(|(seed, document)| (*seed, part(document))).collect()
    };
    let sections = SECTIONS.iter().filter_map(|name| {
        let (above, below) = (section(numerator, name), section(denominator, name));
        let null = if matches!(*name, "queues" | "ports" | "goodput" | "rtt") {
            Null::Unmeasured
        } else {
            Null::Infinite
        };
        let tree = ratios(&places(&above), &places(&below), null, &mut bootstraps)?;
        Some(((*name).to_owned(), tree))
    });
    Value::Object(sections.collect())
}

/// The meaning of a number that is null.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Null {
    /// The thing that it measures never ended.
    Infinite,
    /// There is no number.
    Unmeasured,
}

/// The values at one JSON path of the documents, by seed.
type Places<'a> = [(u64, Option<&'a Value>)];

fn places(values: &[(u64, Value)]) -> Vec<(u64, Option<&Value>)> {
    values.iter().map(|(seed, value)| (*seed, Some(value))).collect()
}

/// The values one step further inside the documents: a field or an element.
fn inside<'a>(places: &Places<'a>, index: impl Index + Copy) -> Vec<(u64, Option<&'a Value>)> {
    places.iter().map(|(seed, value)| (*seed, value.and_then(|value| value.get(index)))).collect()
}

/// The ratios below one place; `None` where nothing there is a number or an object, or all is null.
fn ratios(above: &Places, below: &Places, null: Null, bootstraps: &mut Bootstraps) -> Option<Value> {
    let present = || above.iter().chain(below).filter_map(|(_, value)| *value);
    if present().any(Value::is_object) {
        let names: BTreeSet<&str> =
            present().filter_map(Value::as_object).flat_map(Map::keys).map(String::as_str).collect();
        let mut tree = Map::new();
        for name in names {
            let (above, below) = (inside(above, name), inside(below, name));
            if let Some(ratios) = ratios(&above, &below, null, bootstraps) {
                tree.insert(name.to_owned(), ratios);
            }
        }
        return Some(Value::Object(tree));
    }
    if present().any(|v| v.get(0).is_some_and(Value::is_object)) {
        let longest = present().filter_map(Value::as_array).map(Vec::len).max().unwrap_or(0);
        let element = |i: usize| {
            let (above, below) = (inside(above, i), inside(below, i));
            ratios(&above, &below, null, bootstraps).unwrap_or_default()
        };
        return Some(Value::Array((0..longest).map(element).collect()));
    }
    present().any(Value::is_number).then(|| {
        let numbers = |places: &Places<'_>| -> Vec<(u64, Option<f64>)> {
            let all = places.iter().map(|(seed, v)| (*seed, v.and_then(Value::as_f64)));
            all.filter(|(_, v)| v.is_some() || null == Null::Infinite).collect()
        };
        let paired = bootstraps.paired_ratios(&numbers(above), &numbers(below));
        serde_json::to_value(paired).expect("ratios have a JSON form")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(mean: &Value, dropped: u64) -> Value {
        json!({
            "seed": 1, "wall_time_s": 3.0,
            "fct": {"all": {"mean_us": mean, "p999_us": null}, "intra": null},
            "packets": {"dropped": dropped},
            "collectives": [{"tag": "a", "mean_us": 4.0}],
        })
    }

    #[test]
    fn ratios_stand_where_the_numbers_stood() {
        let (a, b) = (document(&json!(2.0), 6), document(&json!(6.0), 3));
        let (c, d) = (document(&Value::Null, 0), document(&json!(1.0), 0));
        let tree = compare(&[(1, &a), (2, &c)], &[(1, &b), (2, &d)]);
        assert_eq!(tree["packets"]["dropped"]["ratios"], json!([{"seed": 1, "ratio": 2.0}]));
        assert_eq!(tree["packets"]["dropped"]["missing"], 1);
        let mean = &tree["fct"]["all"]["mean_us"]["ratios"];
        assert_eq!((&mean[0]["ratio"], &mean[1]["ratio"]), (&json!(2.0 / 6.0), &Value::Null));
        assert_eq!(tree["collectives"][0]["mean_us"]["median"], 1.0);
        assert!(tree.get("wall_time_s").is_none() && tree["fct"]["all"].get("p999_us").is_none());
    }

    #[test]
    fn a_queue_that_was_not_measured_is_missing() {
        let document = |p99: Value| json!({"queues": {"bottleneck_p99_bytes": p99}});
        let (a, b) = (document(json!(2.0)), document(Value::Null));
        let tree = compare(&[(1, &a), (2, &b)], &[(1, &a), (2, &a)]);
        let ratios = &tree["queues"]["bottleneck_p99_bytes"];
        assert_eq!(ratios["ratios"], json!([{"seed": 1, "ratio": 1.0}]));
        assert_eq!(ratios["missing"], 1);
    }

    #[test]
    fn two_ports_have_no_ratio() {
        let document = |port: &str| json!({"queues": {"max_bytes": 4, "bottleneck": port, "bottleneck_mean_bytes": 2.0}});
        let (a, b) = (document("a->b#0"), document("c->d#0"));
        let has_ratio = |above: &[(u64, &Value)], below: &[(u64, &Value)]| {
            let queues = &compare(above, below)["queues"];
            assert_eq!(queues["max_bytes"]["median"], 1.0);
            queues.get("bottleneck_mean_bytes").is_some()
        };
        assert!(has_ratio(&[(1, &a), (2, &b)], &[(1, &a), (2, &b)]));
        assert!(has_ratio(&[(1, &a), (2, &b)], &[(1, &a), (3, &a)]), "no pair differs");
        assert!(!has_ratio(&[(1, &a), (2, &b)], &[(1, &a), (2, &a)]));
        assert!(!has_ratio(&[(1, &a)], &[(1, &document(""))]));
    }

    #[test]
    fn seeds_of_one_side_only_are_missing() {
        let (a, b) = (document(&json!(2.0), 6), document(&json!(6.0), 3));
        let tree = compare(&[(1, &a), (3, &a)], &[(1, &b), (2, &b)]);
        let mean = &tree["fct"]["all"]["mean_us"];
        assert_eq!((&mean["missing"], mean["ratios"].as_array().unwrap().len()), (&json!(2), 1));
    }

    #[test]
    fn measures_are_those_that_some_run_has() {
        let names = |documents: &[&Value]| -> Vec<String> {
            measures(documents).into_iter().map(|measure| measure.name).collect()
        };
        let (with, without) = (document(&json!(2.0), 6), document(&Value::Null, 6));
        assert_eq!(names(&[&with, &without]), ["all mean FCT", "a, mean", "packets dropped"]);
        assert_eq!(names(&[&without]), ["a, mean", "packets dropped"]);
        let tier = json!({"dropped": 1});
        let goodput =
            json!({"all": {"bps": 3.0}, "tags": {"a/b": {"bps": 1.0}, "c": {"bps": 2.0}}, "jain": null});
        let one_site = json!({"ports": {"sites": tier, "tiers": {"fabric": tier}}, "goodput": goodput});
        assert_eq!(names(&[&one_site]), ["a/b, goodput", "c, goodput", "goodput"]);
        let two_sites = json!({"ports": {"sites": tier, "tiers": {"wan": tier}}});
        assert_eq!(names(&[&two_sites]), ["drops inside sites", "drops in the WAN"]);
    }
}
