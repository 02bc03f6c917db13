//! Numbers of a run's document by their dotted place.

use serde_json::Value;
use std::collections::BTreeSet;

/// The content of a place.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Found {
    /// A number.
    Number(f64),
    /// Null, for flows that did not end or rates that never converged.
    Infinite,
    /// Null, for there is no such number: too few flows for a quantile, no flows of a class.
    Null,
    /// Nothing, or something else than a number.
    Absent,
}

/// The number at a dotted place; elements of lists have their place from 0.
pub(crate) fn number(document: &Value, path: &str) -> Found {
    let (mut value, mut around) = (document, document);
    for name in path.split('.') {
        if value.is_null() {
            return Found::Null;
        }
        let inner = match value {
            Value::Array(items) => name.parse::<usize>().ok().and_then(|place| items.get(place)),
            other => other.get(name),
        };
        let Some(inner) = inner else { return Found::Absent };
        (around, value) = (value, inner);
    }
    match value {
        Value::Number(number) => number.as_f64().map_or(Found::Absent, Found::Number),
        Value::Null if is_infinite(around, path) => Found::Infinite,
        Value::Null => Found::Null,
        _ => Found::Absent,
    }
}

/// Whether null at a place says that flows or collectives did not end, or that rates which were sampled never converged. Elsewhere
/// it says that nothing was measured, or that a quantile would be of too few.
fn is_infinite(around: &Value, path: &str) -> bool {
    let is_above_zero =
        |key: &str| around.get(key).and_then(Value::as_f64).is_some_and(|number| number > 0.0);
    is_above_zero("unfinished") || path == "fairness.converged_at_us" && is_above_zero("jain_mean")
}

/// The places of numbers in documents; and those below `path`, if it is the place of something else.
pub(crate) fn known<'a>(
    documents: impl Iterator<Item = &'a Value>,
    path: &str,
) -> (BTreeSet<String>, Vec<String>) {
    let mut found = BTreeSet::new();
    documents.for_each(|document| collect("", document, &mut found));
    let below = format!("{path}.");
    let inner = found.iter().filter(|name| name.starts_with(&below)).cloned().collect();
    (found, inner)
}

fn collect(path: &str, value: &Value, found: &mut BTreeSet<String>) {
    let inner = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| collect(&inner(name), value, found)),
        Value::Array(items) => {
            let objects = items.iter().enumerate().filter(|(_, item)| item.is_object());
            objects.for_each(|(i, item)| collect(&inner(&i.to_string()), item, found));
        }
        Value::Number(_) | Value::Null => {
            found.insert(path.to_owned());
        }
        Value::String(_) | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn null_is_infinite_only_where_flows_did_not_end_or_rates_never_converged() {
        let document = json!({
            "fct": {"all": {"unfinished": 1, "p99_us": null, "p50_us": 3}, "intra": {"unfinished": 0, "p99_us": null}, "inter": null},
            "fairness": {"jain_mean": 0.5, "jain_p5_late": null, "converged_at_us": null}, "collectives": [{"mean_us": 7.5}],
            "queues": {"bottleneck_p99_bytes": null}, "scheme": "uno",
        });
        let of = |path| number(&document, path);
        assert_eq!((of("fct.all.p50_us"), of("fct.all.p99_us")), (Found::Number(3.0), Found::Infinite));
        assert_eq!((of("fct.intra.p99_us"), of("fct.inter.p99_us")), (Found::Null, Found::Null));
        assert_eq!(of("fairness.converged_at_us"), Found::Infinite);
        assert_eq!(
            (of("fairness.jain_p5_late"), of("queues.bottleneck_p99_bytes")),
            (Found::Null, Found::Null)
        );
        let unsampled = json!({"fairness": {"jain_mean": null, "converged_at_us": null}});
        assert_eq!(number(&unsampled, "fairness.converged_at_us"), Found::Null);
        assert_eq!(of("collectives.0.mean_us"), Found::Number(7.5));
        assert_eq!(
            (of("scheme"), of("fct.all"), of("collectives.1.mean_us")),
            (Found::Absent, Found::Absent, Found::Absent)
        );
    }
}
