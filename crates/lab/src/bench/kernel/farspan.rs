//! The `farspan` program, which installs controls and reaches the hosts of an emulation.

use crate::failure::Failure;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Builds both programs with every feature, where this one lies.
const BUILD: &str = if cfg!(debug_assertions) {
    "build it with `cargo build --workspace --features farspan-cli/emu,farspan-cli/kernel`"
} else {
    "build it with `make release KERNEL=farspan-cli/kernel`"
};

/// The `farspan` program beside this one.
pub(super) struct Farspan(PathBuf);

impl Farspan {
    /// Looks for it. It must be of the same version and commit, and have these features; changes that are not committed are not seen.
    pub(super) fn beside(features: &[&str]) -> Result<Self, Failure> {
        let own = std::env::current_exe()
            .map_err(|error| Failure::Failed(format!("the path of this program is unknown ({error})")))?;
        let path = own.with_file_name(format!("farspan{}", std::env::consts::EXE_SUFFIX));
        let shown = path.display().to_string();
        if !path.is_file() {
            return Err(Failure::BadInput(format!("{shown} is missing: {BUILD}")));
        }
        let farspan = Self(path);
        let output = farspan.command(&["--version"]).output().map_err(|error| cannot_start(&error))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let version = format!("farspan {} (commit {})", env!("CARGO_PKG_VERSION"), farspan_world::COMMIT);
        if said.lines().next() != Some(&version) {
            return Err(Failure::BadInput(format!("{shown} is not {version}: {BUILD}")));
        }
        let line = said.lines().find_map(|line| line.strip_prefix("features: "));
        let has = |name: &str| line.is_some_and(|line| line.split(", ").any(|feature| feature == name));
        match features.iter().find(|&&feature| !has(feature)) {
            Some(feature) => {
                Err(Failure::BadInput(format!("{shown} was built without the feature {feature}: {BUILD}")))
            }
            None => Ok(farspan),
        }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The program, to be run with these words.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.0);
        command.args(words).stdin(Stdio::null());
        command
    }
}

pub(super) fn cannot_start(error: &std::io::Error) -> Failure {
    Failure::Failed(format!("farspan cannot be started ({error})"))
}

/// The output of a process, if it ended well.
pub(super) fn printed(output: Output) -> Result<Vec<u8>, Failure> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().trim_start_matches("farspan: ").to_owned();
    // Whatever is missing here is missing there.
    Err(match output.status.code() {
        Some(2) => Failure::BadInput(message),
        _ => Failure::Failed(message),
    })
}
