//! Names that people write: the nearest known one, and what to say about an unknown one.

/// The known name that looks most like `text`.
pub(crate) fn nearest<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name: &str| strsim::normalized_damerau_levenshtein(text, name);
    known.into_iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
}

/// Why `text` is not one of the names of a `what`, and the cure.
///
/// `planned` are names that exist in the interface but not in this release.
pub(crate) fn unknown(what: &str, text: &str, available: &[&str], planned: &[&str]) -> (String, String) {
    if planned.contains(&text) {
        let problem = format!("{what} {text:?} is not in this release");
        return (problem, format!("available: {}", available.join(", ")));
    }
    let problem = format!("{text:?} is not a known {what}");
    let all = available.iter().chain(planned).copied();
    let near = nearest(text, all).map_or(String::new(), |name| format!("did you mean {name:?}? "));
    (problem, format!("{near}available: {}", available.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_named() {
        assert_eq!(nearest("flow_sizes", ["flows", "flow_size", "sizes"]), Some("flow_size"));
        let (problem, cure) = unknown("topology", "fat_treee", &["fat_tree", "star"], &["leaf_spine"]);
        assert_eq!(problem, "\"fat_treee\" is not a known topology");
        assert!(cure.starts_with("did you mean \"fat_tree\"?"), "{cure}");
    }

    #[test]
    fn a_planned_name_says_what_there_is_instead() {
        let (problem, cure) = unknown("topology", "leaf_spine", &["fat_tree", "star"], &["leaf_spine"]);
        assert_eq!(problem, "topology \"leaf_spine\" is not in this release");
        assert_eq!(cure, "available: fat_tree, star");
    }
}
