//! Ranges of names: `host[0..15]`, `core[1..15 step 4]`.

use crate::error::Problem;

/// The most names of one range.
const MOST: u64 = 1 << 20;

/// The cure for a malformed range.
const CURE: &str = "write a range such as host[0..15] (both ends included) or core[0..15 step 4]";

/// The names that a text stands for: itself, or those of its range.
///
/// # Errors
/// If it has a bracket that is no range, or a range of too many names.
pub(super) fn expand(text: &str) -> Result<Vec<String>, Problem> {
    let fail = |what: &str| Err(Problem::rule(format!("{text:?}: {what}"), CURE));
    let Some((before, rest)) = text.split_once('[') else {
        return if text.contains(']') { fail("\"]\" without \"[\"") } else { Ok(vec![text.to_owned()]) };
    };
    let Some((range, after)) = rest.split_once(']') else { return fail("\"[\" without \"]\"") };
    if after.contains(['[', ']']) {
        return fail("more than one range");
    }
    let (ends, step) = match range.split_once("step") {
        Some((ends, step)) => (ends, step.trim().parse::<u64>().ok()),
        None => (range, Some(1)),
    };
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let ends = ends.split_once("..").map(|(from, to)| (number(from), number(to)));
    let (Some((Some(from), Some(to))), Some(step @ 1..)) = (ends, step) else { return fail("no range") };
    if from > to {
        return fail("the range begins after its end");
    }
    if (to - from) / step >= MOST {
        let cure = format!("give at most {MOST} in one range");
        return Err(Problem::rule(format!("{text:?}: too many names"), cure));
    }
    Ok((from..=to).step_by(step as usize).map(|n| format!("{before}{n}{after}")).collect())
}

/// Whether a text can be a node's or a site's name: ports are called `FROM->TO#n`, and patterns have `*` and `?`.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> String {
        expand(text).map_or_else(|problem| problem.to_string(), |names| names.join(" "))
    }

    #[test]
    fn ranges_count_both_ends() {
        assert_eq!(all("host[0..3]"), "host0 host1 host2 host3");
        assert_eq!(all("core[1..8 step 3]"), "core1 core4 core7");
        assert_eq!(all("pod[2..3]-leaf"), "pod2-leaf pod3-leaf");
        assert_eq!(all("b#[0..1]"), "b#0 b#1");
        assert_eq!(all("leaf7"), "leaf7");
        assert_eq!(all("x[5..5]"), "x5");
    }

    #[test]
    fn what_is_no_range_says_so() {
        for (text, word) in [
            ("host[0..", "\"[\" without \"]\""),
            ("host0]", "\"]\" without \"[\""),
            ("host[3..1]", "after its end"),
            ("host[0-3]", "no range"),
            ("host[0..3 step 0]", "no range"),
            ("host[-1..3]", "no range"),
            ("host[]", "no range"),
            ("a[0..1]b[0..1]", "more than one range"),
            ("host[0..18446744073709551615]", "too many names"),
            ("host[0..18446744073709551616]", "no range"),
        ] {
            assert!(all(text).contains(word), "{text}: {}", all(text));
        }
    }

    #[test]
    fn names_cannot_be_mistaken_for_ports_or_patterns() {
        for name in ["host0", "a", "dc-1.leaf_3"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "0host", "a->b", "a#0", "a*", "a?", "a b", "a[0]", "é"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
