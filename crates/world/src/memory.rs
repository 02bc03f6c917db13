//! The memory that a scenario would take, before it takes it.

use farspan_scenario::ValueError;
use farspan_units::Bytes;
use farspan_workload::input::free_memory;
use std::fmt::Display;

/// A flow, from its draw to its results.
pub(crate) const OF_FLOW: u64 = 1024;
/// A link with its port, its place in routes and its results: half of what large fat trees take for each.
pub(crate) const OF_LINK: u64 = 1024;
/// A sample of a probe.
pub(crate) const OF_SAMPLE: u64 = 32;
/// A sample when results are made, as nodes keep it, gathered, sorted, and as a row of a table: 100 to 220 bytes in runs with 180,000.
pub(crate) const OF_RECORD: u64 = 160;

/// Refuses `count` of `what` at `path` if they take more memory than is free here; `cure`: how to have fewer.
pub(crate) fn fits(
    path: &str,
    (count, what, each): (f64, &str, u64),
    cure: impl Display,
) -> Result<(), ValueError> {
    free_memory().map_or(Ok(()), |free| fits_into(free, path, (count, what, each), cure))
}

fn fits_into(
    free: u64,
    path: &str,
    (count, what, each): (f64, &str, u64),
    cure: impl Display,
) -> Result<(), ValueError> {
    let needed = count * each as f64;
    if needed <= free as f64 {
        return Ok(());
    }
    let gib = |bytes: f64| bytes / Bytes::new(1 << 30).as_f64();
    let [needed, free] = [needed, free as f64].map(gib);
    let problem = format!(
        "{count:.3e} {what} take at least {needed:.1} GiB of memory, but only {free:.1} GiB are free"
    );
    Err(ValueError::rule(path, problem, cure.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_its_place_its_size_and_a_cure() {
        let flows =
            |count| fits_into(4 << 30, "workload[0].flows", (count, "flows", OF_FLOW), "ask for fewer");
        assert_eq!(flows(4.0 * f64::from(1 << 20)), Ok(()));
        let error = flows(3e9).unwrap_err();
        assert_eq!(error.path, "workload[0].flows");
        assert_eq!(
            (error.problem.to_string().as_str(), error.problem.cure().as_str()),
            ("3.000e9 flows take at least 2861.0 GiB of memory, but only 4.0 GiB are free", "ask for fewer")
        );
    }
}
