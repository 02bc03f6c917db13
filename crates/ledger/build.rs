//! Embeds every `experiments/PAPER/`, so that a figure is a folder and no line of code.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let root = Path::new(&folder).join("experiments");
    println!("cargo::rerun-if-changed={}", root.display());
    let (mut figures, mut papers) = (String::new(), String::new());
    for paper in folders(&root) {
        let statements = paper.join("statements.toml");
        assert!(
            statements.is_file(),
            "{} is missing: write one, as other papers have it",
            statements.display()
        );
        writeln!(papers, "PaperSource {{ name: {:?}, text: include_str!({statements:?}) }},", last(&paper))
            .expect("text can be written to");
        for figure in folders(&paper) {
            let (claims, why) = (figure.join("claims.toml"), figure.join("why.md"));
            if claims.is_file() {
                let why = if why.is_file() { format!("include_str!({why:?})") } else { "\"\"".to_owned() };
                let name = format!("{}/{}", last(&paper), last(&figure));
                writeln!(
                    figures,
                    "FigureSource {{ name: {name:?}, claims: include_str!({claims:?}), why: {why} }},"
                )
                .expect("text can be written to");
            }
        }
    }
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    for (name, list) in [("experiments.rs", figures), ("papers.rs", papers)] {
        std::fs::write(Path::new(&out).join(name), format!("&[\n{list}]\n"))
            .expect("OUT_DIR can be written to");
    }
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).expect("the folder of experiments can be read");
    let mut found: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

fn last(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
