//! A bundle beside a rerun of it: what differs, with both values.

use super::{Bundle, CLAIMS, COMPUTED_FILE, ManifestRun, SUMMARY, SUMS, sha256};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Fields of a document that are the machine's or the program's, not the run's.
const APART: [&str; 5] = ["farspan_version", "commit", "wall_time_s", "setup_time_s", "peak_rss_bytes"];

/// Something that is not as the bundle has it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Difference {
    /// The file, and the place in it.
    pub place: String,
    /// The value in the bundle; null where it has none.
    pub bundle: Value,
    /// The value now; null where there is none.
    pub now: Value,
}

/// The digests of a run, and those of its rerun.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RunPair {
    /// The run's folder in the bundle.
    pub run: String,
    /// The digest in the bundle.
    pub digest: String,
    /// That of the rerun.
    pub digest_now: String,
    /// The packet digest in the bundle.
    pub packet_digest: String,
    /// That of the rerun.
    pub packet_digest_now: String,
}

impl RunPair {
    /// Whether both digests are equal.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.digest == self.digest_now && self.packet_digest == self.packet_digest_now
    }
}

/// A claim or check of the bundle, and what the rerun says of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ClaimPair {
    /// The id.
    pub id: String,
    /// The number in the bundle; null if infinite, or there is none.
    pub measured: Value,
    /// That of the rerun.
    pub measured_now: Value,
    /// Lower end of the band.
    pub low: Value,
    /// Upper end.
    pub high: Value,
    /// The verdict in the bundle.
    pub verdict: Value,
    /// That of the rerun.
    pub verdict_now: Value,
}

/// The outcome of a check.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BundleCheck {
    /// Whether the rerun is by the build that made the bundle.
    pub same_build: bool,
    /// Whether all digests are equal.
    pub digests_equal: bool,
    /// The runs.
    pub runs: Vec<RunPair>,
    /// The claims and checks.
    pub claims: Vec<ClaimPair>,
    /// Differences beyond the tolerance.
    pub differences: Vec<Difference>,
}

impl Bundle {
    /// Compares a bundle with its rerun, within the tolerance of the manifest. `remade` is what this build makes of the bundle's
    /// own runs, where it is the build that made it.
    #[must_use]
    pub fn compare(&self, remade: Option<&Self>, rerun: &Self) -> BundleCheck {
        let same_build = self.manifest.build.is(&rerun.manifest.build);
        let runs = self.run_pairs(rerun);
        let digests_equal = runs.iter().all(RunPair::is_equal);
        let mut differences = Vec::new();
        if same_build {
            differences.extend(runs.iter().flat_map(digests_that_differ));
        }
        // A run whose packets went other ways differs in most numbers: its digest says so.
        for (pair, run) in runs.iter().zip(&self.manifest.runs) {
            if pair.is_equal() {
                self.compare_documents(run, rerun, same_build, &mut differences);
            }
        }
        let (before, now) = (self.claims(), rerun.claims());
        if same_build || digests_equal {
            compare_values(CLAIMS, &before, &now, same_build, &mut differences);
        } else {
            compare_verdicts(&before, &now, &mut differences);
        }
        // Numbers come first: a checksum says less.
        differences.extend(self.altered(remade));
        let claims = claim_pairs(&before, &now);
        BundleCheck { same_build, digests_equal, runs, claims, differences }
    }

    fn run_pairs(&self, rerun: &Self) -> Vec<RunPair> {
        let now: BTreeMap<&str, &ManifestRun> =
            rerun.manifest.runs.iter().map(|run| (run.folder.as_str(), run)).collect();
        let pair = |run: &ManifestRun| RunPair {
            run: run.folder.clone(),
            digest: run.digest.clone(),
            digest_now: now.get(&*run.folder).map_or_else(String::new, |run| run.digest.clone()),
            packet_digest: run.packet_digest.clone(),
            packet_digest_now: now
                .get(&*run.folder)
                .map_or_else(String::new, |run| run.packet_digest.clone()),
        };
        self.manifest.runs.iter().map(pair).collect()
    }

    /// Files that are not those that the bundle was packed with, by their checksums and by what follows from the runs.
    fn altered(&self, remade: Option<&Self>) -> Vec<Difference> {
        let sums = self.text(SUMS);
        let listed: BTreeMap<&str, &str> =
            sums.lines().filter_map(|line| line.split_once("  ")).map(|(sum, path)| (path, sum)).collect();
        let paths: BTreeSet<&str> =
            listed.keys().copied().chain(self.files.keys().map(String::as_str)).collect();
        let sum_of = |bundle: &Self, path: &str| bundle.files.get(path).map(|bytes| sha256(bytes));
        let difference = |path: &str| {
            let own = sum_of(self, path);
            let wanted = listed.get(path).map(|sum| (*sum).to_owned());
            if wanted != own {
                return Some(different(format!("{path}: SHA-256"), wanted.into(), own.into()));
            }
            let made = sum_of(remade?, path);
            (made != own).then(|| {
                different(
                    format!("{path}: SHA-256 of what follows from the bundle's runs"),
                    own.into(),
                    made.into(),
                )
            })
        };
        paths.into_iter().filter(|path| *path != SUMS).filter_map(difference).collect()
    }

    fn compare_documents(
        &self,
        run: &ManifestRun,
        rerun: &Self,
        same_build: bool,
        differences: &mut Vec<Difference>,
    ) {
        for name in [SUMMARY, COMPUTED_FILE] {
            let path = format!("{}/{name}", run.folder);
            let of = |bundle: &Self| {
                let mut document = serde_json::from_str(&bundle.text(&path)).unwrap_or(Value::Null);
                if let Some(fields) = document.as_object_mut() {
                    APART.iter().for_each(|field| drop(fields.remove(*field)));
                }
                document
            };
            compare_values(&path, &of(self), &of(rerun), same_build, differences);
        }
    }

    /// Claims and checks as a document; null where it is no JSON.
    fn claims(&self) -> Value {
        serde_json::from_str(&self.text(CLAIMS)).unwrap_or(Value::Null)
    }
}

fn different(place: String, bundle: Value, now: Value) -> Difference {
    Difference { place, bundle, now }
}

fn digests_that_differ(pair: &RunPair) -> Vec<Difference> {
    let both = [
        ("digest", &pair.digest, &pair.digest_now),
        ("packet_digest", &pair.packet_digest, &pair.packet_digest_now),
    ];
    let differ = both.into_iter().filter(|(_, bundle, now)| bundle != now);
    differ
        .map(|(name, bundle, now)| {
            different(format!("{}: {name}", pair.run), bundle.as_str().into(), now.as_str().into())
        })
        .collect()
}

/// Adds each value that differs, by its place. What only the later document has counts if `all`: another build may say more.
fn compare_values(place: &str, bundle: &Value, now: &Value, all: bool, differences: &mut Vec<Difference>) {
    let (before, after) = (parts(bundle), parts(now));
    if before.is_none() || after.is_none() {
        if bundle != now {
            differences.push(different(place.to_owned(), bundle.clone(), now.clone()));
        }
        return;
    }
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    let added = after.keys().filter(|name| all && !before.contains_key(*name));
    for name in before.keys().chain(added) {
        let of = |parts: &BTreeMap<String, &Value>| parts.get(name).copied().cloned().unwrap_or(Value::Null);
        compare_values(&format!("{place} {name}"), &of(&before), &of(&after), all, differences);
    }
}

/// The parts of an object, or of an array by their ids or numbers.
fn parts(value: &Value) -> Option<BTreeMap<String, &Value>> {
    match value {
        Value::Object(fields) => Some(fields.iter().map(|(name, value)| (name.clone(), value)).collect()),
        Value::Array(items) => {
            let name = |(i, item): (usize, &Value)| item["id"].as_str().map_or(i.to_string(), str::to_owned);
            Some(items.iter().enumerate().map(|(i, item)| (name((i, item)), item)).collect())
        }
        _ => None,
    }
}

/// Claims and checks by id.
fn by_id(record: &Value) -> BTreeMap<&str, &Value> {
    let all = ["claims", "checks"].into_iter().filter_map(|kind| record[kind].as_array()).flatten();
    all.filter_map(|claim| Some((claim["id"].as_str()?, claim))).collect()
}

/// Adds claims that have another verdict; without a verdict, another number.
fn compare_verdicts(before: &Value, now: &Value, differences: &mut Vec<Difference>) {
    let now = by_id(now);
    for (id, claim) in by_id(before) {
        let field = if claim["verdict"] == "not_run" { "measured" } else { "verdict" };
        let after = now.get(id).map_or(Value::Null, |claim| claim[field].clone());
        if claim[field] != after {
            differences.push(different(format!("{CLAIMS} {id} {field}"), claim[field].clone(), after));
        }
    }
}

fn claim_pairs(before: &Value, now: &Value) -> Vec<ClaimPair> {
    let now = by_id(now);
    let pair = |(id, claim): (&str, &Value)| {
        let after = |field: &str| now.get(id).map_or(Value::Null, |claim| claim[field].clone());
        ClaimPair {
            id: id.to_owned(),
            measured: claim["measured"].clone(),
            measured_now: after("measured"),
            low: claim["low"].clone(),
            high: claim["high"].clone(),
            verdict: claim["verdict"].clone(),
            verdict_now: after("verdict"),
        }
    };
    by_id(before).into_iter().map(pair).collect()
}
