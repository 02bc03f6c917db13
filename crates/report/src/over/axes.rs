//! The axes of a page: what varies among its groups.

use super::axis::{Kind, numbers};
use super::heads::{Head, candidates, distinct, named};
use crate::group::Group;
use crate::number::short;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The keys that vary among groups, each with its unit, whether its axis is better logarithmic, and the value of each group: as a
/// number of that unit if all have one, and as it is written.
pub(crate) fn axes(groups: &[Group]) -> Value {
    let first = |group: &Group| {
        let run = &group.arms[0].runs[0];
        Head {
            summary: run.summary.clone(),
            scenario: run.scenario.clone(),
            parameters: run.parameters.clone(),
        }
    };
    let heads = named(&groups.iter().map(first).collect::<Vec<_>>());
    let all: Vec<&Head> = heads.iter().collect();
    let keys = distinct(&all, candidates(&all));
    let axis = |key: &String| {
        let names: Vec<String> = heads.iter().map(|head| head.value(key)).collect::<Option<_>>()?;
        let varies = names.iter().collect::<BTreeSet<_>>().len() > 1;
        let arm = ["scheme", "profile"].contains(&key.as_str());
        if !varies || arm {
            return None;
        }
        let found = numbers(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let (unit, base) = match found.as_ref().map(|(kind, _)| *kind) {
            Some(Kind::Time) => ("us", 1e6),
            Some(Kind::Size) => ("bytes", 1.0),
            Some(Kind::Rate) => ("rate", 1.0),
            _ => ("number", 1.0),
        };
        let log = found.as_ref().is_some_and(|(_, numbers)| farspan_chart::wants_log(numbers));
        let values: Option<Vec<Value>> =
            found.map(|(_, numbers)| numbers.into_iter().map(|number| short(number / base, 9)).collect());
        Some(json!({ "key": key, "unit": unit, "log": log, "values": values, "names": names }))
    };
    let mut found: Vec<Value> = keys.iter().filter_map(axis).collect();
    // An axis of numbers has the first chart.
    found.sort_by_key(|axis| axis["values"].is_null());
    found.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::groups;
    use crate::group::testing::run;

    #[test]
    fn what_varies_among_groups_is_an_axis_and_numbers_come_first() {
        let mut runs = Vec::new();
        for (i, (rtt, file)) in [("1ms", "a"), ("20ms", "b"), ("1ms", "b")].into_iter().enumerate() {
            let mut one = run(
                "uno",
                1,
                "a",
                false,
                &format!("file = '{file}'\n[topology]\nrtt = '{rtt}'\nk = 4\nwan.rtt = '{rtt}'"),
            );
            one.title = i.to_string();
            runs.push(one);
        }
        let expected = json!([
            {"key": "topology.rtt", "unit": "us", "log": true, "values": [1000, 20000, 1000], "names": ["1ms", "20ms", "1ms"]},
            {"key": "file", "unit": "number", "log": false, "values": null, "names": ["a", "b", "b"]},
        ]);
        // What follows from a key and has a longer name is none.
        assert_eq!(axes(&groups(runs.clone())), expected);
        runs.truncate(1);
        assert_eq!(axes(&groups(runs)), json!([]));
    }

    #[test]
    fn the_axes_of_a_sweep_are_in_its_order() {
        let of = |size: u32, buffer: u32| {
            let mut one = run(
                "uno",
                1,
                "a",
                false,
                &format!("[topology]\nbuffer = {buffer}\n[workload]\nsize = {size}"),
            );
            one.title = format!("{size} {buffer}");
            let pair = |key: &str, value: u32| (key.to_owned(), value.to_string());
            one.parameters = vec![pair("workload.size", size), pair("topology.buffer", buffer)];
            one
        };
        let found = axes(&groups(vec![of(1, 1), of(1, 2), of(2, 1), of(2, 2)]));
        assert_eq!(
            (&found[0]["key"], &found[1]["key"]),
            (&json!("workload.size"), &json!("topology.buffer"))
        );
    }

    #[test]
    fn files_are_called_by_their_base_names() {
        let of = |file: &str| {
            let text = format!("[topology]\nfile = '/a/b/{file}'\n[files]\n'/a/b/{file}' = '{file}'");
            let mut one = run("uno", 1, "a", false, &text);
            one.title = file.to_owned();
            one
        };
        let found = axes(&groups(vec![of("x.toml"), of("y.toml")]));
        assert_eq!(
            (&found[0]["key"], &found[0]["names"]),
            (&json!("topology.file"), &json!(["x.toml", "y.toml"]))
        );
        assert_eq!(found.as_array().unwrap().len(), 1);
    }

    #[test]
    fn a_key_of_links_is_an_axis() {
        let of = |delay: &str| {
            let mut one = run("uno", 1, "a", false, &format!("[topology.link.'a.1->b*']\ndelay = '{delay}'"));
            one.title = delay.to_owned();
            one
        };
        let found = axes(&groups(vec![of("1ms"), of("2ms")]));
        assert_eq!(found[0]["key"], json!("topology.link[\"a.1->b*\"].delay"));
        assert_eq!(found[0]["values"], json!([1000, 2000]));
    }
}
