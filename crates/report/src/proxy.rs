//! The proxies of a run: a table, and where they stand in the picture.

use crate::number::{column, point};
use crate::picture::Picture;
use crate::run::Run;
use serde_json::{Value, json};
use std::cmp::Reverse;

/// Proxies of a run in its table, at most.
const MOST: usize = 100;

/// The records of a run's proxies in its document; empty without any.
pub(crate) fn hosts(run: &Run) -> &[Value] {
    let hosts = run.summary.pointer("/proxy/hosts").and_then(Value::as_array);
    hosts.map_or(&[], Vec::as_slice)
}

/// The table of proxies, of more than [`MOST`] those that sent most on; null without any. Of each the unit of the picture that
/// it stands in.
pub(crate) fn table(hosts: &[Value], picture: &Picture) -> Value {
    if hosts.is_empty() {
        return Value::Null;
    }
    let mut rows: Vec<&Value> = hosts.iter().collect();
    rows.sort_by_key(|host| Reverse(host["bytes"].as_u64()));
    rows.truncate(MOST);
    let unit = |host: &Value| picture.unit(host["host"].as_str()?);
    let column = |of: &dyn Fn(&Value) -> Value| column(&rows, of);
    let field = |name: &str| column(&|host| host[name].clone());
    json!({
        "n": rows.len(),
        "all": hosts.len(),
        "host": field("host"),
        "kind": field("kind"),
        "flows": field("flows"),
        "packets": field("packets"),
        "bytes": field("bytes"),
        "nacks": field("nacks"),
        "max": field("queue_max_bytes"),
        "wait": column(&|host| host["wait_mean_us"].as_f64().map_or(Value::Null, point)),
        "direct": field("went_direct"),
        "unit": column(&|host| unit(host).into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::testing::run;
    use crate::picture::testing::pair;

    fn host(name: &str, bytes: u64) -> Value {
        json!({
            "host": name, "kind": "naive", "flows": 4, "packets": 9, "bytes": bytes, "queue_max_bytes": 70, "unacked_max_bytes": 0,
            "wait_mean_us": 1.23456, "nacks": 0, "gap_packets": 0, "went_direct": 0,
        })
    }

    fn picture() -> Picture {
        Picture::of(&[pair("host0", "tor0"), pair("host1", "tor0")].concat())
    }

    #[test]
    fn a_run_without_a_proxy_has_no_table() {
        let run = run("uno", 1, "c", false, "");
        assert_eq!((hosts(&run), table(hosts(&run), &picture())), (&[][..], Value::Null));
    }

    #[test]
    fn a_proxy_has_its_numbers_and_its_unit() {
        let mut run = run("uno", 1, "c", false, "");
        run.summary["proxy"] = json!({"proxies": 2, "hosts": [host("host1", 7), host("host9", 8)]});
        let table = table(hosts(&run), &picture());
        assert_eq!((&table["n"], &table["all"], &table["kind"]), (&json!(2), &json!(2), &json!("naive")));
        assert_eq!((&table["host"], &table["bytes"]), (&json!(["host9", "host1"]), &json!([8, 7])));
        assert_eq!((&table["wait"], &table["max"]), (&json!(1.235), &json!(70)));
        assert_eq!(table["unit"], json!([null, 1]), "no port names host9");
    }

    #[test]
    fn of_too_many_proxies_those_stay_that_sent_most_on() {
        let hosts: Vec<Value> = (0..1000).map(|n| host(&format!("host{n}"), n)).collect();
        let table = table(&hosts, &picture());
        assert_eq!(
            (&table["n"], &table["all"], &table["host"][0]),
            (&json!(MOST), &json!(1000), &json!("host999"))
        );
    }

    #[test]
    fn a_document_of_an_older_build_names_no_proxy() {
        let mut run = run("uno", 1, "c", false, "");
        run.summary["proxy"] = json!({"proxies": 1, "packets": 9});
        assert!(hosts(&run).is_empty());
    }
}
