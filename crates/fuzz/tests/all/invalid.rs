//! A thousand inputs that cannot be right: each is refused with its place and a cure, soon and with little memory.

use farspan_fuzz::{Invalid, invalid};
use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

const COUNT: usize = 1000;
/// Seconds for one of them.
const LONGEST: u64 = 10;

/// A folder of the test's own.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("farspan-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The flaw in how an input was refused; `None`: there is none.
#[expect(clippy::disallowed_methods, reason = "a refusal that takes long is none")]
fn flaw_of(input: &Invalid, folder: &Path) -> Option<String> {
    let began = std::time::Instant::now();
    let Ok(error) = catch_unwind(|| input.error(folder).unwrap()) else {
        return Some("panics".to_owned());
    };
    let Some(message) = error else { return Some("is accepted".to_owned()) };
    if began.elapsed().as_secs() >= LONGEST {
        return Some(format!("takes {:?}", began.elapsed()));
    }
    input.flaw_of(&message)
}

#[test]
fn each_of_a_thousand_is_refused_with_place_and_cure() {
    let folder = folder("invalid");
    let mut flaws = Vec::new();
    let mut count = BTreeMap::new();
    for input in invalid(COUNT) {
        *count.entry(input.kind).or_insert(0) += 1;
        flaws.extend(flaw_of(&input, &folder).map(|flaw| format!("{:?} {}: {flaw}", input.kind, input.how)));
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(flaws.is_empty(), "{} of {COUNT}:\n{}", flaws.len(), flaws.join("\n"));
    #[cfg(target_os = "linux")]
    take_less_than_a_gibibyte();
    assert!(count.len() == 9 && count.values().all(|count| *count >= 100), "{count:?}");
}

#[cfg(target_os = "linux")]
fn take_less_than_a_gibibyte() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 1 << 20, "{kib} KiB");
}
