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
        LazyLock::new(|| format!("{}\nfeatures: {}\nmissing: {}", short(), names(true), names(false)));
    &VERSION
}

/// The features that are built in, or those that are not.
fn names(built_in: bool) -> String {
    let names: Vec<_> = FEATURES.iter().filter(|(_, is)| *is == built_in).map(|(name, _)| *name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
