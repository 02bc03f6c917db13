//! Files of people and of other tools: whatever they hold, they are read or refused with a place and a cure.

use crate::error_message::flaw;
use crate::runs;
use farspan_formats::{cm as matrix, hpcc, htsim};
use farspan_scenario::topology::TopologyDocument;
use farspan_scenario::{Request, ScenarioError};
use farspan_sweep::Sweep;
use farspan_workload::{Sites, SizeDistribution};
use std::sync::atomic::{AtomicU64, Ordering};

const NAME: &str = "fuzz";

/// Unwraps a result; a refusal must say its place, which begins with `place`, and a cure.
pub(crate) fn is_said<T, E: std::fmt::Display>(result: Result<T, E>, place: &str) -> Option<T> {
    let refused = |error: E| assert_eq!(flaw(&error.to_string(), place), None);
    result.map_err(refused).ok()
}

/// The text of an input, unless it is too long to be worth the time.
fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok().filter(|text| text.len() < 1 << 16)
}

/// A scenario: what is accepted is accepted again as it is written out, and is the same. Its first millisecond holds what
/// documents promise, if it is small.
pub fn scenario(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let request = |text: &str| Request { text: Some(text.to_owned()), ..Request::new(NAME) };
    let resolved: Result<_, ScenarioError> = request(text).resolve();
    if let Some(resolved) = is_said(resolved, NAME) {
        let written = resolved.to_toml();
        let again = request(&written).resolve().expect("what was resolved is a scenario");
        assert_eq!(again.to_toml(), written);
        runs::hold(&resolved);
    }
}

/// A topology file.
pub fn topology(data: &[u8]) {
    if let Some(text) = text(data) {
        is_said(TopologyDocument::parse(NAME, text), NAME);
    }
}

/// A sweep. Those with large numbers are left out: a hundred thousand points are valid, and take their time.
pub fn sweep(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let has_large_number = text.as_bytes().windows(3).any(|w| w.iter().all(u8::is_ascii_digit));
    let has_many_values = text.matches([',', '=']).count() > 40;
    if !has_large_number && !has_many_values {
        is_said(Sweep::parse(NAME, text, None), NAME);
    }
}

/// A connection matrix of htsim.
pub fn cm(data: &[u8]) {
    let Some(text) = text(data) else { return };
    for unit in [matrix::TimeUnit::Ps, matrix::TimeUnit::Us] {
        is_said(matrix::parse(NAME, text, unit, None), NAME);
    }
}

/// A topology of htsim.
pub fn topo(data: &[u8]) {
    if let Some(text) = text(data) {
        is_said(htsim::parse(NAME, text, None), NAME);
    }
}

/// Files of HPCC's simulator: a topology, and behind lines of `---` its flows and a configuration. What is accepted is a
/// scenario.
pub fn hpcc_files(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let mut parts = text.split("\n---\n").map(|text| hpcc::HpccText { name: NAME, text });
    let [topology, flows] = [(); 2].map(|()| parts.next().unwrap_or(hpcc::HpccText { name: NAME, text: "" }));
    if let Some(imported) = is_said(hpcc::parse(topology, flows, parts.next()), NAME) {
        let text = Some(imported.scenario("t.toml", "f.csv"));
        let scenario = text.as_ref().map(|text| text.parse::<toml::Table>());
        assert!(scenario.is_some_and(|scenario| scenario.is_ok()), "{text:?}");
    }
}

fn hosts() -> Sites {
    Sites::new(vec![0..8, 8..16]).expect("two sites")
}

/// A flow list in CSV.
pub fn list(data: &[u8]) {
    if let Some(text) = text(data) {
        is_said(farspan_workload::list::parse_csv(NAME, text, &hosts(), 0, "tag"), NAME);
    }
}

/// A distribution of flow sizes.
pub fn sizes(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Some(sizes) = is_said(SizeDistribution::parse(NAME, text), NAME) {
        assert!(sizes.quantile(0.0) <= sizes.quantile(0.5) && sizes.quantile(0.5) <= sizes.largest());
    }
}

/// A flow list in Parquet, which is read from a file.
pub fn parquet(data: &[u8]) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("farspan-fuzz-{}-{number}.parquet", std::process::id());
    let path = std::env::temp_dir().join(&name);
    std::fs::write(&path, data).expect("a temporary file can be written");
    let read = farspan_workload::list::read(&path, &hosts(), 0, "tag");
    std::fs::remove_file(&path).expect("it was written");
    is_said(read, &name);
}
