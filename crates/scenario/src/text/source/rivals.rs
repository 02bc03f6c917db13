//! Keys that exclude each other.

use crate::model::TopologyKind;
use crate::text::path::{Step, at_position};
use toml::{Table, Value};

/// The paths of the values that cannot stand beside the one that was just put at `target`.
pub(super) fn of(table: &Table, target: &[Step]) -> Vec<Vec<Step>> {
    let Some((knob, parents)) = target.split_last() else { return Vec::new() };
    let values = at(table, parents);
    let rivals: Vec<&str> = match parents {
        [Step { key, index: None }] if key == "topology" => {
            values.map_or_else(Vec::new, |topology| of_topology(topology, &knob.key))
        }
        [Step { index: Some(_), .. }] => {
            values.and_then(|part| of_part(part, &knob.key)).into_iter().collect()
        }
        [topology, link, _] if (topology.key.as_str(), link.key.as_str()) == ("topology", "link") => {
            of_link(&knob.key).into_iter().collect()
        }
        _ => Vec::new(),
    };
    let is_there = |rival: &&str| values.is_some_and(|values| values.contains_key(*rival));
    let path = |rival: &str| [parents, &[Step { key: rival.to_owned(), index: None }]].concat();
    rivals.into_iter().filter(is_there).map(path).collect()
}

/// The table at a path.
fn at<'a>(table: &'a Table, path: &[Step]) -> Option<&'a Table> {
    path.iter().try_fold(table, |table, step| at_position(table.get(&step.key)?, step.index)?.as_table())
}

/// Another kind has other keys; a backbone has no border switches; of a leaf-spine, spines and oversubscription follow from each
/// other.
fn of_topology<'a>(topology: &'a Table, knob: &str) -> Vec<&'a str> {
    let kind =
        topology.get("kind").and_then(Value::as_str).and_then(|kind| kind.parse::<TopologyKind>().ok());
    let is_rival = |key: &&String| match knob {
        "kind" => kind.is_some_and(|kind| *key != "kind" && !kind.keys().contains(&key.as_str())),
        "backbone" => matches!(key.as_str(), "core_border_links" | "core_border_buffer"),
        "oversubscription" => *key == "spines",
        "spines" => *key == "oversubscription",
        _ => false,
    };
    topology.keys().filter(is_rival).map(String::as_str).collect()
}

/// The rival of a key of a change of links.
fn of_link(knob: &str) -> Option<&'static str> {
    match knob {
        "delay" => Some("rtt"),
        "rtt" => Some("delay"),
        _ => None,
    }
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
pub(super) fn remove(table: &mut Table, path: &[Step]) {
    let Some((last, parents)) = path.split_last() else { return };
    if let Some(values) = parents.iter().try_fold(table, inner) {
        values.remove(&last.key);
    }
}

fn inner<'a>(table: &'a mut Table, step: &Step) -> Option<&'a mut Table> {
    let value = table.get_mut(&step.key)?;
    match step.index {
        None => value,
        Some(index) => value.get_mut(index)?,
    }
    .as_table_mut()
}
