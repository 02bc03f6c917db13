//! The program that runs the points.

use farspan_scenario::{Request, file_digest};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// The program of the runs: how it starts, and which build it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The words that start it: a path, and arguments that come first.
    pub words: Vec<OsString>,
    /// The digests of its code, and the words after the first: results of another build are not taken for its own.
    pub id: String,
    /// The files of its code, as they were.
    code: Vec<Code>,
}

/// A file of a program's code.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Code {
    path: PathBuf,
    digest: String,
    stamp: Stamp,
}

/// Length and time of a file: they change with it, and cost no reading.
type Stamp = (u64, Option<SystemTime>);

/// Why nothing can be said of the program's build.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// A file of its code cannot be read.
    #[error("{}: this program cannot be read to identify its build ({source}); start farspan again", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file of its code is another one than at the beginning.
    #[error(
        "{}: another build replaced this program during the sweep, and its runs would not match; start the sweep again", path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

impl Code {
    fn read(path: &Path) -> Result<Self, ProgramError> {
        let unreadable = |source| ProgramError::Unreadable { path: path.to_owned(), source };
        // The stamp comes first: a change while the file is read shows in the next one.
        let stamp = stamp(path).map_err(unreadable)?;
        let digest = file_digest(path).map_err(unreadable)?;
        Ok(Self { path: path.to_owned(), digest, stamp })
    }
}

fn stamp(path: &Path) -> io::Result<Stamp> {
    let file = path.metadata()?;
    Ok((file.len(), file.modified().ok()))
}

impl Program {
    /// This very program.
    ///
    /// # Errors
    /// If its file cannot be read.
    pub fn current() -> Result<Self, ProgramError> {
        let path = std::env::current_exe()
            .map_err(|source| ProgramError::Unreadable { path: PathBuf::from("this program"), source })?;
        Self::new(vec![path.clone().into_os_string()], &[&path])
    }

    /// A program that `words` start; its code is in the files `code`. Other words after the first make another program.
    ///
    /// # Errors
    /// If one of the files cannot be read.
    pub fn new(words: Vec<OsString>, code: &[&Path]) -> Result<Self, ProgramError> {
        let code = code.iter().map(|path| Code::read(path)).collect::<Result<Vec<_>, _>>()?;
        let mut id: Vec<String> = code.iter().map(|code| code.digest.clone()).collect();
        id.extend(words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()));
        Ok(Self { words, id: id.join(" "), code })
    }

    /// Looks whether the code is still the same: runs are started by its path.
    pub(crate) fn unchanged(&self) -> Result<(), ProgramError> {
        for Code { path, digest, stamp: known } in &self.code {
            let same = stamp(path).is_ok_and(|stamp| stamp == *known)
                || file_digest(path).is_ok_and(|now| now == *digest);
            if !same {
                return Err(ProgramError::Changed { path: path.clone() });
            }
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn another_build_shows() {
        let path = std::env::temp_dir().join(format!("farspan-program-{}", std::process::id()));
        fs::write(&path, "one build").unwrap();
        let program = Program::new(vec!["farspan".into()], &[&path]).unwrap();
        assert!(program.unchanged().is_ok());
        // Written anew, with the same bytes.
        fs::remove_file(&path).unwrap();
        fs::write(&path, "one build").unwrap();
        assert!(program.unchanged().is_ok());
        fs::write(&path, "another build").unwrap();
        assert!(matches!(program.unchanged(), Err(ProgramError::Changed { .. })));
        fs::remove_file(&path).unwrap();
        assert!(matches!(program.unchanged(), Err(ProgramError::Changed { .. })));
    }
}
