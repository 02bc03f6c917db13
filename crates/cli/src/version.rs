//! The words of `farspan -V` and `farspan --version`.

use std::sync::LazyLock;

/// Features that a build can be without, and whether this one has them.
const FEATURES: [(&str, bool); 2] =
    [("emu", cfg!(target_os = "linux")), ("kernel", cfg!(all(target_os = "linux", feature = "kernel")))];

/// The release, and the commit that results of this program name.
pub fn short() -> &'static str {
    static VERSION: LazyLock<String> =
        LazyLock::new(|| format!("{} (commit {})", env!("CARGO_PKG_VERSION"), farspan_world::COMMIT));
    &VERSION
}

/// The release, the features of this build, and those that it was built without.
pub fn long() -> &'static str {
    static VERSION: LazyLock<String> =
        LazyLock::new(|| format!("{}\nfeatures: {}\nmissing: {}", short(), listed(true), listed(false)));
    &VERSION
}

/// The names of the features that are built in, or of those that are not.
pub fn features(built_in: bool) -> impl Iterator<Item = &'static str> {
    FEATURES.into_iter().filter(move |(_, is)| *is == built_in).map(|(name, _)| name)
}

fn listed(built_in: bool) -> String {
    let names: Vec<_> = features(built_in).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
