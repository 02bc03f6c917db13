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

/// Whether the whole of a name fits a pattern: `*` stands for anything, `?` for one character.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut read) = (0, 0);
    // The last star, and where in the name what follows it was tried last.
    let mut star: Option<(usize, usize)> = None;
    while read < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(&byte) if byte == b'?' || byte == name[read] => (at, read) = (at + 1, read + 1),
            _ => {
                let Some((place, tried)) = star else { return false };
                star = Some((place, tried + 1));
                (at, read) = (place + 1, tried + 1);
            }
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
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

    #[test]
    fn patterns_fit_whole_names() {
        for (pattern, name, fits) in [
            ("border0->border1#0", "border0->border1#0", true),
            ("border0->border1#*", "border0->border1#17", true),
            ("core?->border*#1", "core7->border1#1", true),
            ("*", "tor0->host3#0", true),
            ("*", "", true),
            ("*r1*#0*", "tor12->host1#0", true),
            ("border0->border1#*", "border1->border0#0", false),
            ("border0", "border0->border1#0", false),
            ("core?->*", "core17->border1#1", false),
            ("*#1", "core1->border0#10", false),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
