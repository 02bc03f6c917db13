//! The program that runs the points.

use farspan_scenario::{Request, file_digest};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program of the runs: how it starts, and which build it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The words that start it: a path, and arguments that come first.
    pub words: Vec<OsString>,
    /// The digests of its code, and the words after the first: results of another build are not taken for its own.
    pub id: String,
}

/// The code of the program cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be read to know its build ({source}); start farspan again", path.display())]
pub struct ProgramError {
    /// The file.
    pub path: PathBuf,
    /// The error of the operating system.
    pub source: io::Error,
}

impl Program {
    /// This very program.
    ///
    /// # Errors
    /// If its file cannot be read.
    pub fn current() -> Result<Self, ProgramError> {
        let path = std::env::current_exe()
            .map_err(|source| ProgramError { path: PathBuf::from("this program"), source })?;
        Self::new(vec![path.clone().into_os_string()], &[&path])
    }

    /// A program that `words` start; its code is in the files `code`. Other words after the first make another program.
    ///
    /// # Errors
    /// If one of the files cannot be read.
    pub fn new(words: Vec<OsString>, code: &[&Path]) -> Result<Self, ProgramError> {
        let mut id = Vec::new();
        for path in code {
            let digest = file_digest(path);
            id.push(digest.map_err(|source| ProgramError { path: (*path).to_owned(), source })?);
        }
        id.extend(words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()));
        Ok(Self { words, id: id.join(" ") })
    }

    /// The command `run` of a request, with its results in a folder. It ends when its standard input does.
    pub(crate) fn run(&self, request: &Request, out: &Path) -> Command {
        let (first, more) = self.words.split_first().expect("a program has a name");
        let mut command = Command::new(first);
        command.args(more).args(arguments(request)).arg("--out").arg(out);
        command.args(["--quiet", "--json", "--end-with-stdin"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }
}

/// The arguments of `farspan` that run a request.
#[must_use]
pub fn arguments(request: &Request) -> Vec<String> {
    let Request { scenario, scheme, profile, seed, set, .. } = request;
    let mut words = vec!["run".to_owned(), scenario.clone()];
    let mut option = |name: &str, value: &str| words.extend([name.to_owned(), value.to_owned()]);
    if let Some(scheme) = scheme {
        option("--scheme", scheme);
    }
    if let Some(profile) = profile {
        option("--profile", profile);
    }
    if let Some(seed) = seed {
        option("--seed", &seed.to_string());
    }
    set.iter().for_each(|set| option("--set", set));
    words
}
