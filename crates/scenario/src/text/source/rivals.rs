//! Keys that exclude each other.

use crate::resolve::topology::applies;
use crate::text::path::{Step, render};
use crate::value::TopologyKind;
use toml::{Table, Value};

/// The paths of the values that cannot stand beside the one that was just put at `target`.
pub(super) fn of(table: &Table, target: &[Step]) -> Vec<String> {
    match target {
        [Step { key, index: None }, knob] if key == "topology" => {
            let topology = table.get("topology").and_then(Value::as_table);
            topology.map_or_else(Vec::new, |topology| of_topology(topology, &knob.key))
        }
        [part @ Step { index: Some(index), .. }, knob] => {
            let values = table.get(&part.key).and_then(|parts| parts.get(*index)).and_then(Value::as_table);
            let rival = values
                .and_then(|values| of_part(values, &knob.key).filter(|rival| values.contains_key(*rival)));
            let path = |rival: &str| render(&[part.clone(), Step { key: rival.to_owned(), index: None }]);
            rival.into_iter().map(path).collect()
        }
        _ => Vec::new(),
    }
}

/// Another kind has other keys; a backbone has no border switches; of a leaf-spine, spines and oversubscription follow from each
/// other.
fn of_topology(topology: &Table, knob: &str) -> Vec<String> {
    let kind =
        topology.get("kind").and_then(Value::as_str).and_then(|kind| kind.parse::<TopologyKind>().ok());
    let is_rival = |key: &&String| match knob {
        "kind" => kind.is_some_and(|kind| !applies(kind, key)),
        "backbone" => matches!(key.as_str(), "core_border_links" | "core_border_buffer"),
        "oversubscription" => *key == "spines",
        "spines" => *key == "oversubscription",
        _ => false,
    };
    topology.keys().filter(is_rival).map(|key| format!("topology.{key}")).collect()
}

/// The rival of a key of a part of the workload.
fn of_part(part: &Table, knob: &str) -> Option<&'static str> {
    let named_mix = matches!(part.get("mix").and_then(Value::as_str), Some("paper" | "artifact"));
    match knob {
        "flows" => Some("duration"),
        "duration" => Some("flows"),
        "ranks" => Some("groups"),
        "groups" => Some("ranks"),
        "mix" if named_mix => Some("sizes"),
        "sizes" if named_mix => Some("mix"),
        _ => None,
    }
}

/// Takes a value away that [`of`] has named.
pub(super) fn remove(table: &mut Table, path: &str) {
    let Some((parent, key)) = path.rsplit_once('.') else { return };
    let values = match parent.strip_suffix(']').and_then(|parent| parent.split_once('[')) {
        Some((list, index)) => {
            index.parse::<usize>().ok().and_then(|index| table.get_mut(list)?.get_mut(index)?.as_table_mut())
        }
        None => table.get_mut(parent).and_then(Value::as_table_mut),
    };
    if let Some(values) = values {
        values.remove(key);
    }
}
