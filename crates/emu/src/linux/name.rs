//! The name of an emulation, and what is called after it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The folder of all emulations, one folder each: a tmpfs, gone at the next boot as the namespaces are.
const FOLDER: &str = "/run/farspan-emu";
const NAMESPACES: &str = "/run/netns";
const SETTINGS: &str = "/etc/netns";
const LONGEST: usize = 32;
const LOCK: &str = ".lock";
const PREFIX: &str = "farspan-";

/// The name of an emulation: letters, digits and underscores.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Name(String);

/// Why a text is no name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{0:?} is not a valid name of an emulation: write up to {LONGEST} letters, digits and underscores, such as lab1"
)]
pub struct NameError(String);

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let is_right = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if text.is_empty() || text.len() > LONGEST || !text.chars().all(is_right) {
            return Err(NameError(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Default for Name {
    fn default() -> Self {
        Self("default".to_owned())
    }
}

impl Name {
    /// The emulations of which there is anything: a folder, a lock, a namespace. They are up, have ended, or were killed.
    #[must_use]
    pub fn known() -> Vec<Self> {
        let folders = entries(Path::new(FOLDER)).into_iter();
        let folders = folders.map(|entry| entry.strip_suffix(LOCK).map(str::to_owned).unwrap_or(entry));
        let namespaces = entries(Path::new(NAMESPACES)).into_iter().chain(entries(Path::new(SETTINGS)));
        let owners = namespaces.filter_map(|namespace| owner(&namespace).map(str::to_owned));
        let mut names: Vec<Self> = folders.chain(owners).filter_map(|name| name.parse().ok()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The file that the process of the emulation keeps locked. It lies beside the folder, so that the folder can go while it is held.
    pub(super) fn lock(&self) -> PathBuf {
        Path::new(FOLDER).join(format!("{}{LOCK}", self.0))
    }

    pub(super) fn folder(&self) -> PathBuf {
        Path::new(FOLDER).join(&self.0)
    }

    /// The file in which the emulation leaves what it has to say on standard error.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.folder().join("log")
    }

    fn prefix(&self) -> String {
        // No name has a hyphen: no other emulation's namespaces begin so.
        format!("{PREFIX}{}-", self.0)
    }

    pub(super) fn namespace(&self, host: u32) -> Namespace {
        Namespace(format!("{}{host}", self.prefix()))
    }

    /// The namespaces and folders of settings that there are.
    pub(super) fn namespaces(&self) -> Vec<Namespace> {
        let mut all = entries(Path::new(NAMESPACES));
        all.extend(entries(Path::new(SETTINGS)));
        all.retain(|name| name.starts_with(&self.prefix()));
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(Namespace).collect()
    }
}

/// The name of the emulation that a namespace belongs to, if it does to one.
fn owner(namespace: &str) -> Option<&str> {
    let (name, host) = namespace.strip_prefix(PREFIX)?.rsplit_once('-')?;
    host.bytes().all(|digit| digit.is_ascii_digit()).then_some(name)
}

fn entries(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Removes the folders that all emulations share, where nothing is left in them.
pub(super) fn remove_empty_folders() {
    for folder in [FOLDER, SETTINGS] {
        let _ = std::fs::remove_dir(folder);
    }
}

/// The name of a network namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Namespace(String);

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Namespace {
    pub(super) fn file(&self) -> PathBuf {
        Path::new(NAMESPACES).join(&self.0)
    }

    /// Where files lie that programs in the namespace see in /etc.
    pub(super) fn settings(&self) -> PathBuf {
        Path::new(SETTINGS).join(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_letters_digits_and_underscores() {
        for right in ["default", "lab1", "a_B_3"] {
            assert_eq!(right.parse::<Name>().unwrap().to_string(), right);
        }
        for wrong in ["", "a-b", "../x", "a b", &"x".repeat(33)] {
            assert!(wrong.parse::<Name>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_namespace_names_its_emulation() {
        assert_eq!(owner("farspan-lab_1-12"), Some("lab_1"));
        assert_eq!((owner("farspan-lab"), owner("farspan-lab-x"), owner("lab-1")), (None, None, None));
    }
}
