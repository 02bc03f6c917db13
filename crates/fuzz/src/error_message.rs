//! The parts of an error message about an input.

/// Words by which a message says what could stand there instead, or what to do.
const CURES: [&str; 33] = [
    "give ",
    "write ",
    "expected ",
    "did you mean ",
    "available: ",
    "known here",
    "known: ",
    "it has: ",
    "there are ",
    "must ",
    "remove",
    "leave out ",
    "add ",
    "correct ",
    "keep ",
    "move ",
    "separate ",
    "number ",
    "numbered ",
    "count ",
    "keywords are ",
    "complete ",
    "break ",
    "save ",
    "raise ",
    "sort ",
    "say ",
    "change ",
    "begin ",
    "a flow list has ",
    "built in: ",
    "get ",
    "use farspan ",
];
/// The longest message: lists of names are part of some.
const LONGEST: usize = 4000;

/// The flaw of an error message: it must begin with the place, such as `run.toml:3:1`, `--set seed=x` or another file's name
/// and line, and end with a cure, on one line. `None`: it has no flaw.
#[must_use]
pub fn flaw(message: &str, place: &str) -> Option<String> {
    let of_place = || message.split_once(place)?.1.split_once(": ");
    let Some((line, problem)) = of_place() else { return Some(format!("no place: {message}")) };
    let is_line = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !line.is_empty() && !line.trim_start_matches(':').split(':').all(is_line) {
        return Some(format!("no place: {message}"));
    }
    let problem = problem.to_lowercase();
    let cure = problem.split_once("; ");
    if !cure.is_some_and(|(_, cure)| CURES.iter().any(|word| cure.contains(word))) {
        return Some(format!("no cure: {message}"));
    }
    (message.lines().count() > 1 || message.len() > LONGEST).then(|| format!("not one short line: {message}"))
}

#[cfg(test)]
mod tests {
    use super::flaw;

    #[test]
    fn an_error_message_says_a_place_and_a_cure_in_a_line() {
        for message in [
            "run.toml:3:9: seeds: 3.5 does not fit here; give \"1..10\"",
            "x.toml:1:1: workload[0].file: run.toml:2: size_bytes is \"x\"; expected a whole number",
            "run.toml: has no flows; give at least one row",
        ] {
            assert_eq!(flaw(message, "run.toml"), None, "{message}");
        }
        assert_eq!(flaw("--set a=b: a: unknown key \"a\"; did you mean \"b\"?", "--set a=b"), None);
        for (message, what) in [
            ("seeds: 3.5 does not fit here; give 3", "no place"),
            ("run.toml:x: 3.5 does not fit here; give 3", "no place"),
            ("run.toml", "no place"),
            ("run.toml:3: give up: it is wrong", "no cure"),
            ("run.toml:3: 3.5 does not fit here", "no cure"),
            ("run.toml:3: wrong; it is", "no cure"),
            ("run.toml:3: wrong\n; give 4", "not one short line"),
        ] {
            assert!(flaw(message, "run.toml").is_some_and(|flaw| flaw.starts_with(what)), "{message}");
        }
    }
}
