//! `farspan new --control`: a crate with a control, its tests, and the whole command.

use crate::Failure;
use farspan_scenario::{RegisterError, check_control_name};
use farspan_terminal::output;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The files of the crate, for a control with the name [`NAME`]: those of `examples/my-control`, to which `template` links. A package of
/// this crate has copies; it would have none of a folder with a `Cargo.toml`, so that link has another name. Where git writes links as
/// text (`core.symlinks=false`), `template/src/lib.rs` is no file, and the build stops.
const FILES: &[(&str, &str)] = &[
    ("Cargo.toml", include_str!("../../template/manifest.toml")),
    ("README.md", include_str!("../../template/README.md")),
    ("pyproject.toml", include_str!("../../template/pyproject.toml")),
    ("python/my_control/__init__.py", include_str!("../../template/python/my_control/__init__.py")),
    ("python/my_control/__main__.py", include_str!("../../template/python/my_control/__main__.py")),
    ("rustfmt.toml", include_str!("../../template/rustfmt.toml")),
    ("src/lib.rs", include_str!("../../template/src/lib.rs")),
    ("src/main.rs", include_str!("../../template/src/main.rs")),
    ("tests/command.rs", include_str!("../../template/tests/command.rs")),
    ("tests/control.rs", include_str!("../../template/tests/control.rs")),
    ("tests/curve.txt", include_str!("../../template/tests/curve.txt")),
];

/// Makes a crate that is no member of farspan's workspace one of its own; farspan's profiles follow.
const WORKSPACE: &str =
    "\n# A workspace of its own wherever the folder stands, built as farspan is.\n[workspace]\n";

/// The control's name in the files.
const NAME: &str = "my-control";

/// The way to farspan's checkout in the manifest, from beside its examples.
const CHECKOUT: &str = "../..";

/// The modules of Python's standard library (`sys.stdlib_module_names` of 3.11): Python finds them before a package of that name.
const PYTHON_MODULES: &str = include_str!("python_modules.txt");

/// Names that cargo, Rust or Python refuses, or that a crate among the dependencies has.
const RESERVED: &[&str] = &[
    "abstract",
    "alloc",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "become",
    "box",
    "break",
    "build",
    "clap",
    "class",
    "const",
    "continue",
    "core",
    "crate",
    "def",
    "del",
    "deps",
    "do",
    "dyn",
    "elif",
    "else",
    "enum",
    "examples",
    "except",
    "extern",
    "false",
    "final",
    "finally",
    "fn",
    "for",
    "from",
    "gen",
    "global",
    "if",
    "impl",
    "import",
    "in",
    "incremental",
    "is",
    "lambda",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "nonlocal",
    "not",
    "or",
    "override",
    "pass",
    "priv",
    "proc_macro",
    "pub",
    "raise",
    "ref",
    "return",
    "schemars",
    "self",
    "serde",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "with",
    "yield",
];

/// Why no crate was written.
#[derive(Debug, thiserror::Error)]
enum NewError {
    #[error("--control: {0}")]
    Name(#[from] RegisterError),
    #[error(
        "--control: {0:?} is a word of Rust, a word or module of Python, or a crate that yours depends on: give another name"
    )]
    Reserved(String),
    #[error("{}: exists and is not an empty folder; give another one, or remove it", .0.display())]
    Exists(PathBuf),
    #[error("--farspan {}: not a checkout of farspan: it has no crates/cli/Cargo.toml", .0.display())]
    NoCheckout(PathBuf),
    #[error(
        "farspan's crates are not found: this program's checkout has gone, and the current folder is in none; say where one \
         is with --farspan PATH"
    )]
    NotFound,
    #[error("{}: not Unicode, which the manifest must be; give a folder whose path is", .0.display())]
    NotUnicode(PathBuf),
    #[error("{}: cannot be made ({error}); give another folder", .folder.display())]
    Folder { folder: PathBuf, error: io::Error },
    #[error("{}: cannot be written ({error}); remove the folder and try again", .path.display())]
    Write { path: PathBuf, error: io::Error },
}

impl From<NewError> for Failure {
    fn from(error: NewError) -> Self {
        match error {
            NewError::Write { .. } => Self::Failed(error.to_string()),
            _ => Self::BadInput(error.to_string()),
        }
    }
}

/// Writes the crate of a control into a folder that does not exist yet, or is empty.
pub fn control(name: &str, folder: Option<&Path>, farspan: Option<&Path>) -> Result<(), Failure> {
    let folder = folder.unwrap_or(Path::new(name));
    write(name, folder, farspan)?;
    let shown = folder.display();
    output::text(&format!("wrote {shown}; next: cd {shown} && cargo test; {shown}/README.md has the rest\n"));
    Ok(())
}

fn write(name: &str, folder: &Path, farspan: Option<&Path>) -> Result<(), NewError> {
    check_name(name)?;
    let checkout = checkout(farspan)?;
    if !is_free(folder) {
        return Err(NewError::Exists(folder.to_owned()));
    }
    let files = files(name, folder, &checkout)?;
    fs::create_dir_all(folder).map_err(|error| NewError::Folder { folder: folder.to_owned(), error })?;
    for (file, text) in files {
        let path = folder.join(file);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| NewError::Write { path, error })?;
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), NewError> {
    check_control_name(name)?;
    let module = name.replace('-', "_");
    if RESERVED.contains(&name)
        || name.starts_with("farspan")
        || PYTHON_MODULES.lines().any(|taken| taken == module)
    {
        return Err(NewError::Reserved(name.to_owned()));
    }
    Ok(())
}

fn is_free(folder: &Path) -> bool {
    match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// The checkout that `given` names; else the one that this program was built from, or that the current folder is in.
fn checkout(given: Option<&Path>) -> Result<PathBuf, NewError> {
    if let Some(given) = given {
        return absolute(given)
            .filter(|path| is_checkout(path))
            .ok_or_else(|| NewError::NoCheckout(given.to_owned()));
    }
    let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map(Path::to_owned);
    let current = absolute(Path::new("."));
    let above = current.iter().flat_map(|path| path.ancestors()).map(Path::to_owned);
    built_from.into_iter().chain(above).find(|path| is_checkout(path)).ok_or(NewError::NotFound)
}

fn is_checkout(path: &Path) -> bool {
    path.join("crates/cli/Cargo.toml").is_file() && path.join("crates/transport/Cargo.toml").is_file()
}

fn absolute(path: &Path) -> Option<PathBuf> {
    path.canonicalize().or_else(|_| std::path::absolute(path)).ok()
}

/// The files with the control's name and the way to farspan's crates. Beside the examples of the checkout the crate is a
/// member of farspan's workspace; elsewhere it is a workspace, with the versions of dependencies that farspan has.
fn files(name: &str, folder: &Path, checkout: &Path) -> Result<Vec<(String, String)>, NewError> {
    let is_member =
        absolute(folder).as_deref().and_then(Path::parent) == absolute(&checkout.join("examples")).as_deref();
    let named = |text: &str| text.replace(NAME, name).replace(&identifier(NAME), &identifier(name));
    let mut files: Vec<_> = FILES.iter().map(|(file, text)| (named(file), named(text))).collect();
    if is_member {
        return Ok(files);
    }
    let way = checkout.to_str().ok_or_else(|| NewError::NotUnicode(checkout.to_owned()))?;
    // A basic string of TOML escapes these two.
    let way = way.replace('\\', "\\\\").replace('"', "\\\"");
    for (_, text) in files.iter_mut().filter(|(file, _)| file == "Cargo.toml") {
        *text = text.replace(CHECKOUT, &way) + WORKSPACE + &profiles(checkout);
    }
    files.push((".gitignore".to_owned(), "/target\n/runs\n".to_owned()));
    let lock = fs::read_to_string(checkout.join("Cargo.lock"));
    files.extend(lock.ok().map(|lock| ("Cargo.lock".to_owned(), lock)));
    Ok(files)
}

/// The profiles of farspan's workspace, which end its manifest.
fn profiles(checkout: &Path) -> String {
    let manifest = fs::read_to_string(checkout.join("Cargo.toml")).unwrap_or_default();
    manifest.find("\n[profile.").map_or_else(String::new, |start| manifest[start..].to_owned())
}

fn identifier(name: &str) -> String {
    name.replace('-', "_")
}
