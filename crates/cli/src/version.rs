//! The words of `farspan -V` and `farspan --version`.

use crate::features::features;
use std::sync::LazyLock;

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

fn listed(built_in: bool) -> String {
    let names: Vec<_> = features(built_in).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
