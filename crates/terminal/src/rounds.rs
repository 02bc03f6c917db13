//! How a benchmark was measured.

/// The load average of the last minute; `None` where the system does not say.
#[must_use]
pub fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// The number of rounds, and how busy the machine was: `load_average` has the load before and after, where it is known.
#[must_use]
pub fn rounds(repeat: u32, load_average: &[f64]) -> String {
    let rounds = match repeat {
        1 => "one run each".to_owned(),
        n => format!("median of {n} runs each"),
    };
    match load_average {
        [before, after] => format!("{rounds}; load average {before} before, {after} after"),
        _ => rounds,
    }
}

#[cfg(test)]
mod tests {
    use super::rounds;

    #[test]
    fn an_unknown_load_is_left_out() {
        assert_eq!(rounds(1, &[]), "one run each");
        assert_eq!(rounds(3, &[0.5, 1.5]), "median of 3 runs each; load average 0.5 before, 1.5 after");
    }
}
