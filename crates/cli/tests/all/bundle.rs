//! `farspan bundle`: made, run again, and changed.

use crate::common::{Folder, document, farspan, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A figure whose runs take milliseconds, with numbers that are computed of samples.
const FIGURE: &str = "oscar/fig2";

/// The bundle of the figure in a folder, and the document of the command.
fn made(folder: &Folder, name: &str, more: &[&str]) -> (String, Value) {
    let (file, runs) = (folder.path(name), folder.path("runs"));
    let words = ["bundle", FIGURE, "-o", &file, "--size", "smoke", "--runs", &runs, "--quiet", "--json"];
    let document = document(&[&words[..], more].concat());
    (file, document)
}

/// Packs a folder, as somebody with tar and zstd does.
fn repacked(from: &Path, to: &str) {
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_dir_all("mine", from).unwrap();
    fs::write(to, zstd::encode_all(builder.into_inner().unwrap().as_slice(), 1).unwrap()).unwrap();
}

#[test]
fn a_bundle_runs_again_and_a_changed_number_is_found() {
    let folder = Folder::new("bundle");
    let (file, told) = made(&folder, "a.tar.zst", &[]);
    assert_eq!((&told["figure"], &told["file"]), (&Value::from(FIGURE), &Value::from(file.as_str())));
    assert_eq!(made(&folder, "b.tar.zst", &["--resume"]).1["runs"], told["runs"]);
    assert_eq!(
        fs::read(&file).unwrap(),
        fs::read(folder.path("b.tar.zst")).unwrap(),
        "equal results, equal bytes"
    );

    let again = folder.path("again");
    let checked = document(&["bundle", "--check", &file, "--runs", &again, "--quiet", "--json"]);
    assert_eq!((&checked["holds"], &checked["same_build"]), (&true.into(), &true.into()), "{checked}");
    assert_eq!(checked["runs"].as_array().unwrap().len(), told["runs"].as_u64().unwrap() as usize);
    assert!(checked["runs"].as_array().unwrap().iter().all(|run| run["digest"] == run["digest_now"]));

    let unpacked = Path::new(&again).join("bundle");
    let manifest: Value = serde_json::from_slice(&fs::read(unpacked.join("manifest.json")).unwrap()).unwrap();
    let digest = manifest["runs"][0]["digest"].as_str().unwrap();
    let path = unpacked.join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen(digest, "0123456789abcdef", 1)).unwrap();
    let forged = folder.path("forged.tar.zst");
    repacked(&unpacked, &forged);
    let output = farspan(&["bundle", "--check", &forged, "--quiet"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(said.contains("0123456789abcdef") && said.contains(digest), "both values: {said}");
    assert!(said.contains("manifest.json: SHA-256"), "{said}");

    // A run of another seed in place of one that the figure has; and another scenario.
    let place = |run: &Value| {
        let of = |key: &str| run[key].as_str().unwrap();
        format!("{}, {}, seed {}: the scenario, by its hash", of("case"), of("arm"), run["seed"])
    };
    let mut other: Value = serde_json::from_str(&text).unwrap();
    let wanted = place(&other["runs"][0]);
    other["runs"][0]["seed"] = 7.into();
    fs::write(&path, other.to_string()).unwrap();
    repacked(&unpacked, &forged);
    let output = farspan(&["bundle", "--check", &forged, "--quiet"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stdout(&output).contains(&wanted), "{wanted}: {}", stdout(&output));

    fs::write(&path, &text).unwrap();
    let scenario = unpacked.join(manifest["runs"][0]["folder"].as_str().unwrap()).join("scenario.toml");
    let changed = fs::read_to_string(&scenario).unwrap().replacen("seed = 1\n", "seed = 2\n", 1);
    fs::write(&scenario, changed).unwrap();
    repacked(&unpacked, &forged);
    let output = farspan(&["bundle", "--check", &forged, "--quiet"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stdout(&output).contains(&wanted), "{wanted}: {}", stdout(&output));
}

#[test]
fn what_is_no_bundle_is_refused_before_anything_runs() {
    let folder = Folder::new("no-bundle");
    let (file, _) = made(&folder, "a.tar.zst", &[]);
    let (text, cut, hostile) = (folder.path("text"), folder.path("cut"), folder.path("hostile"));
    fs::write(&text, "no archive").unwrap();
    let bytes = fs::read(&file).unwrap();
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let mut header = tar::Header::new_gnu();
    header.as_old_mut().name[..4].copy_from_slice(b"../x");
    header.set_size(1);
    header.set_cksum();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append(&header, &b"x"[..]).unwrap();
    fs::write(&hostile, zstd::encode_all(builder.into_inner().unwrap().as_slice(), 1).unwrap()).unwrap();
    let (again, nowhere) = (folder.path("again"), folder.path("no/such/a.tar.zst"));
    let foreign = folder.path("");
    let check = |file: &str| ["bundle", "--check", file, "--runs", &again].map(str::to_owned).to_vec();
    let make = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    for (words, said) in [
        (check(&text), "no archive of a bundle"),
        (check(&cut), "damaged"),
        (check(&hostile), "refused: \"../x\""),
        (check(&folder.path("absent")), "cannot be read"),
        (make(&["bundle", FIGURE, "-o", &nowhere]), "cannot be written"),
        (make(&["bundle", FIGURE, "-o", &file, "--runs", &foreign]), "choose a new folder"),
        (make(&["bundle", FIGURE, "-o", &foreign]), "is a folder"),
        (make(&["bundle", "oscar", "-o", &file]), "a bundle holds one"),
        (make(&["bundle", "oscar/fig", "-o", &file]), "did you mean"),
        (make(&["bundle", FIGURE]), "--output"),
        (make(&["bundle"]), "<PAPER/FIGURE>"),
    ] {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = farspan(&words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{words:?}: {}", stderr(&output));
    }
    assert!(!Path::new(&again).exists(), "nothing is written");
    assert_eq!(fs::read(&file).unwrap(), bytes, "what stood there stands there still");
}
