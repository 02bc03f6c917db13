//! `farspan new --control`: what it writes, that it builds, and what it refuses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A new folder of this name for one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("new-control-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn new_control(words: &[&str], current: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_farspan"));
    command.args(["new", "--control"]).args(words).current_dir(current).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Every file below a folder, by its path there.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn beside_the_example_it_writes_each_file_of_it_for_this_version_of_farspan() {
    let checkout = folder("example");
    for name in ["cli", "transport"] {
        fs::create_dir_all(checkout.join("crates").join(name)).unwrap();
        fs::write(checkout.join("crates").join(name).join("Cargo.toml"), "").unwrap();
    }
    fs::create_dir(checkout.join("examples")).unwrap();
    let output = new_control(&["my-control", "examples/my-control", "--farspan", "."], &checkout);
    assert!(output.status.success(), "{}", stderr(&output));
    let (written, example) =
        (files(&checkout.join("examples/my-control")), files(&root().join("examples/my-control")));
    for (written, example) in written.iter().zip(&example) {
        assert_eq!(written, example);
    }
    assert_eq!(written.len(), example.len());
    let version = concat!("farspan==", env!("CARGO_PKG_VERSION"));
    assert!(
        example.iter().any(|(name, text)| name == "pyproject.toml" && text.contains(version)),
        "{version}"
    );
}

#[test]
fn a_crate_outside_the_checkout_builds() {
    let cargo = std::env::vars_os()
        .find(|(name, _)| name == "CARGO")
        .map_or_else(|| "cargo".into(), |(_, value)| value);
    if !Command::new(&cargo).arg("--version").output().is_ok_and(|output| output.status.success()) {
        farspan_skip::skip("cargo", "the crate of a control is not built: put cargo on the PATH");
        return;
    }
    let folder = folder("outside");
    let output = new_control(&["dc_cubed-2"], &folder);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        String::from_utf8_lossy(&output.stdout)
            .contains("wrote dc_cubed-2; next: cd dc_cubed-2 && cargo test")
    );
    let written = folder.join("dc_cubed-2");
    let manifest = fs::read_to_string(written.join("Cargo.toml")).unwrap();
    assert!(manifest.contains("name = \"dc_cubed-2\"") && manifest.contains("[workspace]"), "{manifest}");
    // Who gets the crate changes this one line.
    let own = files(&written);
    let lines =
        own.iter().flat_map(|(_, text)| text.lines()).filter(|line| line.contains(root().to_str().unwrap()));
    let [line] = lines.collect::<Vec<_>>()[..] else { panic!("farspan's path in several lines: {manifest}") };
    assert!(line.contains(root().join("crates/extend").to_str().unwrap()), "{line}");
    assert!(written.join("python/dc_cubed_2/__init__.py").is_file());
    // The lock file is farspan's own, until cargo takes out what this crate does not need.
    let mut own = files(&written).into_iter().filter(|(name, _)| name != "Cargo.lock");
    assert!(own.all(|(_, text)| !text.contains("my-control") && !text.contains("my_control")));
    // What the two workspaces share is built once.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let check = Command::new(&cargo)
        .args(["check", "--offline", "--quiet", "--all-targets", "--target-dir"])
        .arg(target)
        .current_dir(&written)
        .output()
        .unwrap();
    assert!(check.status.success(), "{}", stderr(&check));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn wrong_names_and_folders_are_refused_and_nothing_is_written() {
    let folder = folder("refused");
    fs::create_dir(folder.join("full")).unwrap();
    fs::write(folder.join("full/mine.txt"), "mine").unwrap();
    fs::write(folder.join("file"), "mine").unwrap();
    for (words, said) in [
        (&["My-Control"][..], "write lower-case letters, digits, - and _, starting with a letter"),
        (&["a+b"], "cannot name a control"),
        (&["dctcp"], "farspan already uses the name \"dctcp\""),
        (&["swift"], "farspan already uses the name"),
        (&["uno"], "farspan already uses the name"),
        (&["match"], "is a word of Rust, a word or module of Python, or a crate that yours depends on"),
        (&["import"], "is a word of Rust"),
        (&["random"], "a word or module of Python"),
        (&["farspan-x"], "a crate that yours depends on"),
        (&["mine", "full"], "full: exists and is not an empty folder"),
        (&["mine", "file"], "file: exists and is not an empty folder"),
        (&["mine", "--farspan", "full"], "--farspan full: not a checkout of farspan"),
        (&["mine", "--topology"], "cannot be used with"),
    ] {
        let output = new_control(words, &folder);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{words:?}: {}", stderr(&output));
    }
    let there: Vec<String> = files(&folder).into_iter().map(|(name, _)| name).collect();
    assert_eq!(there, ["file", "full/mine.txt"]);
}
