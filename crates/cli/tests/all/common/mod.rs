//! The binary, and folders for it.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A command, to its end.
pub fn farspan(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_farspan")).args(arguments).output().unwrap()
}

/// The command for a user who is not root. It is a copy in this folder, because others may have no way into the folder of the build.
#[cfg(all(target_os = "linux", any(feature = "emu", feature = "kernel")))]
pub fn by_nobody(folder: &Folder) -> Command {
    use std::os::unix::process::CommandExt as _;
    let copy = folder.path("farspan");
    // Another process copies: a file that this one has open for writing cannot be started.
    assert!(Command::new("cp").args([env!("CARGO_BIN_EXE_farspan"), &copy]).status().unwrap().success());
    let mut command = Command::new(copy);
    if stdout(&Command::new("id").arg("-u").output().unwrap()) == "0\n" {
        command.uid(65_534).gid(65_534);
    }
    command
}

/// Its standard output.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Its standard error.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The document of a command that must end well.
pub fn document(arguments: &[&str]) -> Value {
    let output = farspan(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

/// A folder of the test's own, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("farspan-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
