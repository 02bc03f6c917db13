//! Bundles: what goes in comes out, and what is changed is found.

use farspan_ledger::{Build, Bundle, BundleCheck, BundleError, BundledRun, Figure, PackError, Size};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Read as _;

type Files = BTreeMap<String, Vec<u8>>;

fn figure() -> Figure {
    let text = r#"
        title = "A figure"
        place = "Section 1"
        scenario = "uno/incast-mixed"
        size = { smoke = { seeds = "1" }, small = { seeds = "1..6" }, full = { seeds = "1..6" } }
        arm = [{ name = "uno" }, { name = "gemini" }]
        measure = [{ name = "mean", path = "fct.all.mean_us" }]
        plot = [{ title = "mean FCT, us", measure = "mean" }]
        [[check]]
        id = "mean"
        text = "mean"
        measure = "mean"
        of = ["gemini"]
        over = "uno"
        rule = "order"
    "#;
    Figure::parse("x/fig1", text, "").unwrap()
}

fn build(commit: &str) -> Build {
    Build { farspan_version: "0.1.0".to_owned(), commit: commit.to_owned(), features: Vec::new() }
}

/// The runs of a size, in which Gemini takes so many times as long.
fn runs(size: Size, factor: f64, digest: &str) -> Vec<BundledRun> {
    let figure = figure();
    let run = |run: farspan_ledger::Run| {
        let arm = figure.arms[run.arm].name.clone();
        let mean = if arm == "uno" { 1.0 } else { factor };
        let summary = json!({
            "scheme": arm, "profile": "paper", "digest": digest, "packet_digest": "77", "wall_time_s": 0.5,
            "fct": {"all": {"mean_us": mean, "p50_us": 3}}, "ports": {"tiers": {"host_up": {"ports": 16}}},
        });
        let (case, scenario) = (figure.cases[run.case].name.clone(), "seed = 1\n".to_owned());
        BundledRun {
            case,
            arm,
            seed: run.seed,
            scenario,
            summary: summary.to_string(),
            computed: String::new(),
        }
    };
    figure.plan(size).into_iter().map(run).collect()
}

fn bundle(size: Size, commit: &str, runs: &[BundledRun]) -> Bundle {
    Bundle::new(&figure(), size, &build(commit), runs, b"a table".to_vec()).unwrap()
}

fn bytes(bundle: &Bundle) -> Vec<u8> {
    let mut bytes = Vec::new();
    bundle.write(&mut bytes).unwrap();
    bytes
}

/// The files of an archive, without the folder that they are in.
fn unpacked(bundle: &Bundle) -> Files {
    let tar = zstd::decode_all(bytes(bundle).as_slice()).unwrap();
    let mut files = Files::new();
    for entry in tar::Archive::new(tar.as_slice()).entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        files.insert(path.split_once('/').unwrap().1.to_owned(), content);
    }
    files
}

/// An archive as other programs pack it, without a folder around its files.
fn packed(files: &Files) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, path, content.as_slice()).unwrap();
    }
    zstd::encode_all(builder.into_inner().unwrap().as_slice(), 1).unwrap()
}

/// The bundle with a piece of one of its files replaced.
fn changed(bundle: &Bundle, path: &str, from: &str, to: &str) -> Bundle {
    let mut files = unpacked(bundle);
    let text = String::from_utf8(files[path].clone()).unwrap();
    assert!(text.contains(from), "{path} has no {from}: {text}");
    files.insert(path.to_owned(), text.replacen(from, to, 1).into_bytes());
    Bundle::read(packed(&files).as_slice()).unwrap()
}

fn places(checked: &BundleCheck) -> Vec<&str> {
    checked.differences.iter().map(|difference| difference.place.as_str()).collect()
}

#[test]
fn equal_runs_give_equal_bytes_and_all_of_it_comes_back() {
    let runs = runs(Size::Small, 2.0, "12");
    let made = bundle(Size::Small, "a", &runs);
    assert_eq!(bytes(&made), bytes(&bundle(Size::Small, "a", &runs)));
    let read = Bundle::read(bytes(&made).as_slice()).unwrap();
    assert_eq!((&read, read.runs()), (&made, runs));
    assert_eq!(Bundle::read(packed(&unpacked(&made)).as_slice()).unwrap(), made, "packed by someone else");
    let run = &made.manifest().runs[0];
    assert_eq!((run.folder.as_str(), run.hosts, run.seed), ("runs/default/uno/s1", Some(16), 1));
    assert!((made.manifest().run_time_s - 6.0).abs() < 1e-9, "twelve runs of half a second");
}

#[test]
fn a_page_says_how_to_run_it_and_what_must_come_out() {
    let made = bundle(Size::Small, "abc", &runs(Size::Small, 2.0, "12"));
    let files = unpacked(&made);
    let page = String::from_utf8(files["README.md"].clone()).unwrap();
    for part in [
        "It does 12 runs again",
        "farspan 0.1.0 (commit abc)",
        "6.0 s of one core",
        "| `x-fig1-mean` | mean | 2 | - | 1 to - | holds |",
        "## Tolerance",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    for name in ["x-fig1.md", "x-fig1.svg", "claims.json", "runs.parquet", "SHA256SUMS"] {
        assert!(files.contains_key(name), "{name} of {:?}", files.keys());
    }
    let sums = String::from_utf8(files["SHA256SUMS"].clone()).unwrap();
    assert_eq!(sums.lines().count(), files.len() - 1, "each file but the sums themselves");
}

#[test]
fn the_same_build_is_held_to_every_number() {
    let before = runs(Size::Small, 2.0, "12");
    let made = bundle(Size::Small, "a", &before);
    let checked = made.compare(Some(&made), &made);
    assert!(checked.same_build && checked.digests_equal && places(&checked).is_empty());

    let mut now = before.clone();
    now[0].summary = now[0].summary.replace("\"p50_us\":3", "\"p50_us\":4").replace("0.5", "0.75");
    let checked = made.compare(Some(&made), &bundle(Size::Small, "a", &now));
    assert_eq!(places(&checked), ["runs/default/uno/s1/summary.json fct all p50_us"], "times are apart");
    assert_eq!((&checked.differences[0].bundle, &checked.differences[0].now), (&json!(3), &json!(4)));

    let mut now = before;
    now[0].summary = now[0].summary.replace("\"77\"", "\"78\"");
    let checked = made.compare(Some(&made), &bundle(Size::Small, "a", &now));
    assert_eq!(places(&checked), ["runs/default/uno/s1: packet_digest"]);
}

#[test]
fn a_change_in_any_file_is_found() {
    let made = bundle(Size::Small, "a", &runs(Size::Small, 2.0, "12"));
    let cases = [
        ("claims.json", "\"measured\": 2.0", "\"measured\": 2.5", "claims.json checks x-fig1-mean measured"),
        ("manifest.json", "\"digest\": \"12\"", "\"digest\": \"13\"", "runs/default/uno/s1: digest"),
        (
            "runs/default/uno/s1/summary.json",
            "\"p50_us\":3",
            "\"p50_us\":2",
            "runs/default/uno/s1/summary.json fct all p50_us",
        ),
        (
            "runs/default/uno/s1/scenario.toml",
            "seed = 1",
            "seed = 2",
            "runs/default/uno/s1/scenario.toml: SHA-256",
        ),
        ("runs.parquet", "table", "taple", "runs.parquet: SHA-256"),
        ("README.md", "s of one core", "s of two cores", "README.md: SHA-256"),
    ];
    for (path, from, to, place) in cases {
        let tampered = changed(&made, path, from, to);
        let checked = tampered.compare(Some(&made), &made);
        assert!(places(&checked).contains(&place), "{path}: {:?}", places(&checked));
        assert!(places(&checked).contains(&&*format!("{path}: SHA-256")), "{path}: {:?}", places(&checked));
    }
}

#[test]
fn a_file_with_a_new_checksum_is_not_what_the_runs_make() {
    let made = bundle(Size::Small, "a", &runs(Size::Small, 2.0, "12"));
    let text = |bundle: &Bundle, path: &str| String::from_utf8(unpacked(bundle)[path].clone()).unwrap();
    let sums = text(&made, "SHA256SUMS");
    let own = sums.lines().find(|line| line.ends_with("  runs.parquet")).unwrap().to_owned();
    let mut other = runs(Size::Small, 2.0, "12");
    other[0].scenario.push('#');
    let forged = Bundle::new(&figure(), Size::Small, &build("a"), &other[..], b"a taple".to_vec()).unwrap();
    let new =
        text(&forged, "SHA256SUMS").lines().find(|line| line.ends_with("  runs.parquet")).unwrap().to_owned();
    let tampered = changed(&changed(&made, "runs.parquet", "table", "taple"), "SHA256SUMS", &own, &new);
    let checked = tampered.compare(Some(&made), &made);
    assert_eq!(places(&checked), ["runs.parquet: SHA-256 of what follows from the bundle's runs"]);
}

#[test]
fn another_build_is_held_to_the_verdicts_where_digests_differ() {
    let made = bundle(Size::Small, "a", &runs(Size::Small, 2.0, "12"));
    let checked = made.compare(None, &bundle(Size::Small, "b", &runs(Size::Small, 3.0, "13")));
    assert!(!checked.same_build && !checked.digests_equal && places(&checked).is_empty(), "{checked:?}");
    assert_eq!((&checked.claims[0].measured, &checked.claims[0].measured_now), (&json!(2.0), &json!(3.0)));
    let checked = made.compare(None, &bundle(Size::Small, "b", &runs(Size::Small, 0.5, "13")));
    assert_eq!(places(&checked), ["claims.json x-fig1-mean verdict"]);
    let checked = made.compare(None, &bundle(Size::Small, "b", &runs(Size::Small, 3.0, "12")));
    assert!(places(&checked).contains(&"claims.json checks x-fig1-mean measured"), "equal digests: exact");
    let (made, now) = (runs(Size::Smoke, 2.0, "12"), runs(Size::Smoke, 3.0, "13"));
    let checked = bundle(Size::Smoke, "a", &made).compare(None, &bundle(Size::Smoke, "b", &now));
    assert_eq!(places(&checked), ["claims.json x-fig1-mean measured"], "no verdict to go by");
}

#[test]
fn another_build_may_say_more_and_not_less() {
    let before = runs(Size::Small, 2.0, "12");
    let with = |field: &str| {
        let mut runs = before.clone();
        runs[0].summary = runs[0].summary.replace("\"p50_us\":3", field);
        runs
    };
    let made = bundle(Size::Small, "a", &before);
    let checked = made.compare(None, &bundle(Size::Small, "b", &with("\"p50_us\":3,\"p51_us\":4")));
    assert!(places(&checked).is_empty());
    let checked = made.compare(None, &bundle(Size::Small, "b", &with("\"p51_us\":4")));
    assert_eq!(places(&checked), ["runs/default/uno/s1/summary.json fct all p50_us"]);
    assert_eq!(checked.differences[0].now, Value::Null);
}

#[test]
fn no_flipped_bit_passes_unseen() {
    let made = bundle(Size::Smoke, "a", &runs(Size::Smoke, 2.0, "12"));
    let tar = zstd::decode_all(bytes(&made).as_slice()).unwrap();
    let (mut read, mut refused) = (0, 0);
    for at in (0..tar.len()).step_by(97) {
        let mut flipped = tar.clone();
        flipped[at] ^= 1 << (at % 8);
        let archive = zstd::encode_all(flipped.as_slice(), 1).unwrap();
        let Ok(other) = Bundle::read(archive.as_slice()) else {
            refused += 1;
            continue;
        };
        read += 1;
        let is_padding = other == made;
        assert!(is_padding || !places(&other.compare(Some(&made), &made)).is_empty(), "byte {at}");
    }
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
}

#[test]
fn what_is_no_whole_bundle_is_refused() {
    let made = bundle(Size::Small, "a", &runs(Size::Small, 2.0, "12"));
    for path in ["claims.json", "SHA256SUMS", "runs.parquet", "runs/default/gemini/s6/summary.json"] {
        let mut files = unpacked(&made);
        files.remove(path);
        let error = Bundle::read(packed(&files).as_slice()).unwrap_err();
        assert!(error.to_string().contains(&format!("{path} is missing")), "{error}");
    }
    for (path, text) in [
        ("claims.json", "{"),
        ("runs/default/gemini/s6/summary.json", "[]"),
        ("claims.json/x", "a file where a folder is"),
    ] {
        let mut files = unpacked(&made);
        files.insert(path.to_owned(), text.into());
        assert!(matches!(Bundle::read(packed(&files).as_slice()), Err(BundleError::Damaged(_))), "{path}");
    }
    let mut files = unpacked(&made);
    files.insert("a-manifest.json".to_owned(), b"{}".to_vec());
    assert!(Bundle::read(packed(&files).as_slice()).is_ok(), "another file whose name ends alike");
    files.insert("manifest.json".to_owned(), b"{\"format\": 9, \"farspan_version\": \"7.1\"}".to_vec());
    let error = Bundle::read(packed(&files).as_slice()).unwrap_err();
    assert!(
        matches!(error, BundleError::Form { format: 9, .. }) && error.to_string().contains("farspan 7.1")
    );
    files.remove("manifest.json");
    assert!(matches!(Bundle::read(packed(&files).as_slice()), Err(BundleError::Foreign)));
}

#[test]
fn a_run_of_no_case_or_without_a_document_makes_no_bundle() {
    let make = |runs: &[BundledRun]| Bundle::new(&figure(), Size::Small, &build("a"), runs, Vec::new());
    let mut strange = runs(Size::Small, 2.0, "12");
    strange[1].arm = "other".to_owned();
    assert!(matches!(make(&strange), Err(PackError::Setup { .. })));
    let mut damaged = runs(Size::Small, 2.0, "12");
    damaged[1].computed = "{".to_owned();
    let error = make(&damaged).unwrap_err();
    assert!(error.to_string().starts_with("runs/default/uno/s2: no document"), "{error}");
}
