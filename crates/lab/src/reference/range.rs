//! Ranges of values: what the checks say of a value that is surely out of range.

use super::kind::Kind;
use farspan_scenario::{Problem, Request};
use farspan_transport::Requirement;

/// Scenarios in which, together, every key applies.
const SCENARIOS: &[&str] = &[
    "[topology]\nk = 4\n[[workload]]\nkind = 'incast'\nreceiver = 1\nsenders = [0]\nflow_size = '1MiB'",
    "[topology]\nkind = 'star'\n[[workload]]\nkind = 'pairs'\npairs = [[0, 1]]\nflow_size = '1MiB'",
    "[topology]\nkind = 'dumbbell'\n[[workload]]\nkind = 'pairs'\npairs = [[0, 8]]\nflow_size = '1MiB'",
    "[topology]\nkind = 'leaf_spine'\n[[workload]]\nkind = 'pairs'\npairs = [[0, 1]]\nflow_size = '1MiB'",
    "[topology]\nkind = 'dual_leaf_spine'\nbackbone = {}\n[[workload]]\nkind = 'pairs'\npairs = [[0, 1]]\nflow_size = '1MiB'",
    "[topology]\nk = 4\n[[workload]]\nkind = 'poisson'\nsizes = 'websearch'\nload = 0.1\nflows = 10",
    "[topology]\nk = 4\n[[workload]]\nkind = 'allreduce'\nranks = [0, 1]\nflow_size = '1MiB'",
    "[topology]\nk = 4\n[[fault]]\nkind = 'rate'\nlink = 'a'\nrate = '1Gbps'\n[[workload]]\nkind = 'permutation'\nflow_size = '1MiB'",
    "[topology]\nk = 4\n[[fault]]\nkind = 'loss'\nlink = 'a'\nprobability = 0.1\n[[workload]]\nkind = 'permutation'\nflow_size = '1MiB'",
    "[topology]\nk = 4\n[[fault]]\nkind = 'block_loss'\nlink = 'a'\n[[workload]]\nkind = 'permutation'\nflow_size = '1MiB'",
    "[topology]\nk = 4\n[[fault]]\nkind = 'link_down'\nlink = 'a'\nwithdraw_routes = true\n[[workload]]\nkind = 'permutation'\nflow_size = '1MiB'",
    "[topology]\nk = 4\n[scheme]\nname = 'uno'\n[scheme.ports]\nmarking = 'red+phantom'\n[[workload]]\nkind = 'permutation'\nflow_size = '1MiB'",
];

/// The range of a key of the scenario.
pub(super) fn of(path: &str, kind: &Kind) -> Option<String> {
    let path = path.replace("workload.", "workload[0].").replace("fault.", "fault[0].");
    SCENARIOS.iter().find_map(|text| ask(text, None, &path, kind))
}

/// The range of a parameter of a component.
pub(super) fn of_component(part: &str, component: &str, key: &str, kind: &Kind) -> Option<String> {
    let named = format!("{part}={{ name = '{component}' }}");
    ask(SCENARIOS[0], Some(&named), &format!("{part}.{key}"), kind)
}

fn ask(text: &str, first: Option<&str>, path: &str, kind: &Kind) -> Option<String> {
    for value in too_large(kind) {
        let set = first.map(str::to_owned).into_iter().chain([format!("{path}={value}")]).collect();
        let request = Request { text: Some(text.to_owned()), set, ..Request::new("reference") };
        let Err(error) = request.resolve() else { continue };
        if error.path == path
            && let Some(range) = range(&error.problem)
        {
            return Some(range);
        }
    }
    None
}

/// The range that a value is out of.
fn range(problem: &Problem) -> Option<String> {
    match problem {
        Problem::OutOfRange { least, most, .. } => Some(format!("{least} to {most}")),
        Problem::Parameter(error) => match &error.expected {
            Requirement::InRange { least, most } => Some(format!("{least} to {most}")),
            Requirement::AtMost { most, .. } => Some(format!("at most {most}")),
            _ => None,
        },
        _ => None,
    }
}

/// Values that no range holds, of this type.
fn too_large(kind: &Kind) -> &'static [&'static str] {
    match kind.name.as_str() {
        "time" => &["10000000s"],
        "size" => &["9000000GiB"],
        "rate" => &["1000000Tbps"],
        "integer" => &["4294967295"],
        "number" => &["1e9"],
        name if name.contains("time") || name == "text" => &["10000000s"],
        name if name.contains("integer") => &["4294967295"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(path: &str, name: &str) -> Option<String> {
        of(path, &Kind { name: name.to_owned(), words: None })
    }

    #[test]
    fn the_checks_tell_their_ranges() {
        assert_eq!(asked("topology.link_delay", "time").as_deref(), Some("0ns to 10s"));
        assert_eq!(asked("topology.wan.links", "integer").as_deref(), Some("1 to 4096"));
        assert_eq!(asked("workload.compute_time", "time").as_deref(), Some("0ns to 10s"));
        assert_eq!(asked("fault.probability", "number").as_deref(), Some("0 to 1"));
        assert_eq!(asked("workload.receiver", "integer"), None, "that depends on the topology");
        let number = Kind { name: "number".to_owned(), words: None };
        let alpha = of_component("scheme.inter.congestion", "unocc", "ewma.gain", &number);
        assert_eq!(alpha.as_deref(), Some("0.000001 to 1"));
    }
}
