//! A scenario over a base: what it takes over, what it changes, and where its errors stand.

use farspan_scenario::model::{Shape, Traffic, WorkloadText};
use farspan_scenario::{Request, Resolved};
use farspan_units::Duration;
use std::fs;
use std::path::PathBuf;

/// A folder of the test's own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("farspan-base-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("below")).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// The scenario of a text.
    fn resolve(&self, text: &str) -> Resolved {
        let file = self.write("mine.toml", text);
        Request::new(&file).resolve().unwrap_or_else(|error| panic!("{error}"))
    }

    /// The message for a text that is no scenario.
    fn error(&self, text: &str) -> String {
        let file = self.write("wrong.toml", text);
        let message = Request::new(&file).resolve().expect_err(text).to_string();
        message.replace(&format!("{}/", self.0.display()), "")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The radix of its fat trees.
fn radix(resolved: &Resolved) -> Option<u32> {
    match &resolved.scenario().topology.shape {
        Shape::FatTree(site) | Shape::DualFatTree { site, .. } => Some(site.k),
        _ => None,
    }
}

/// A resolved scenario without what it is called.
fn values(resolved: &Resolved) -> String {
    let told = ["name", "description", "constants"];
    let is_told = |line: &&str| told.iter().any(|key| line.starts_with(&format!("{key} = ")));
    resolved.to_toml().lines().filter(|line| !is_told(line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_base_brings_its_values_and_its_constants_in_each_profile() {
    let folder = Folder::new("constants");
    for scenario in ["uno/permutation", "uno/websearch", "uno/border-failure", "topology/leaf-spine"] {
        for profile in ["paper", "artifact"] {
            for scheme in ["uno", "gemini", "mprdma-bbr"] {
                let file = folder.write("mine.toml", &format!("base = '{scenario}'\n"));
                let [own, built_in] = [&file, scenario].map(|scenario| {
                    let (scheme, profile) = (Some(scheme.to_owned()), Some(profile.to_owned()));
                    Request { scheme, profile, ..Request::new(scenario) }.resolve().unwrap()
                });
                assert_eq!(values(&own), values(&built_in), "{scenario} {profile} {scheme}");
                assert_eq!(own.name(), "mine");
            }
        }
    }
}

#[test]
fn what_a_file_names_takes_the_place_of_what_stands_in_its_base() {
    let folder = Folder::new("changes");
    let resolved = folder.resolve(
        "base = 'uno/websearch'\nname = 'ours'\nseed = 4\n[topology]\nk = 4\nwan.rtt = '4ms'\n[workload]\nload = 0.25\nduration = '1ms'\n",
    );
    let scenario = resolved.text();
    assert_eq!((resolved.name(), resolved.seed(), radix(&resolved)), ("ours", 4, Some(4)));
    assert_eq!(resolved.scenario().topology.wan().unwrap().0, Duration::from_ms(4));
    let WorkloadText::Poisson(part) = &scenario.workload[0] else { panic!("Poisson arrivals") };
    assert_eq!((part.load, part.flows, part.duration.is_some()), (Some(0.25), None, true));
    let resolved = folder.resolve(
        "base = 'uno/websearch'\n[[workload]]\nkind = 'permutation'\nflow_size = '1MiB'\n[scheme.inter]\ncongestion = { beta = 0.25 }\n",
    );
    assert_eq!(resolved.scenario().workload.len(), 1);
    assert!(resolved.to_toml().contains("beta = 0.25"));
}

#[test]
fn another_scheme_drops_the_parts_of_the_bases() {
    let folder = Folder::new("scheme");
    folder.write("base.toml", "base = 'uno/permutation'\n[scheme]\nname = 'uno'\nprofile = 'artifact'\n[scheme.inter]\nbalance = 'rps'\n");
    let text = "base = 'base.toml'\n[scheme]\nname = 'gemini'\n";
    let set = ["scheme.name=gemini", "scheme.profile=artifact"].map(str::to_owned).into();
    let plain = Request { set, ..Request::new("uno/permutation") }.resolve().unwrap();
    assert_eq!(values(&folder.resolve(text)), values(&plain));
    let kept = folder.resolve("base = 'base.toml'\n[scheme]\nname = 'uno'\n").to_toml();
    assert!(kept.contains("\"rps\""), "{kept}");
}

#[test]
fn another_kind_of_topology_drops_the_keys_of_the_bases() {
    let folder = Folder::new("kind");
    let resolved = folder.resolve("base = 'uno/incast-intra'\n[topology]\nkind = 'leaf_spine'\nleaves = 8\n[[workload]]\nkind = 'permutation'\nflow_size = '64KiB'\n");
    let Shape::LeafSpine(site) = &resolved.scenario().topology.shape else { panic!("a leaf-spine") };
    assert_eq!(site.leaves, 8);
    let error = folder.error("base = 'uno/incast-intra'\n[topology]\nk = 4\nkind = 'leaf_spine'\n");
    assert!(error.starts_with("wrong.toml:3:5: topology.k: leaf_spine has no \"k\""), "{error}");
}

#[test]
fn the_resolved_scenario_stands_on_its_own() {
    let folder = Folder::new("alone");
    let text =
        "base = 'uno/websearch'\n[scheme]\nprofile = 'artifact'\n[topology]\nk = 4\n[workload]\nflows = 50\n";
    let first = folder.resolve(text);
    let alone = folder.write("alone.toml", &first.to_toml());
    let again = Request::new(&alone).resolve().unwrap();
    assert_eq!(again.to_toml(), first.to_toml());
    let other = |file: &str| {
        Request { scheme: Some("mprdma-bbr".to_owned()), ..Request::new(file) }.resolve().unwrap()
    };
    assert_eq!(
        values(&other(&alone)),
        values(&other(&folder.write("mine.toml", text))),
        "its constants are kept"
    );
}

#[test]
fn a_base_can_be_a_file_with_a_base_and_files_are_found_beside_who_names_them() {
    let folder = Folder::new("chain");
    folder.write("below/flows.csv", "src,dst,size_bytes,start_ns\n0,1,1000,0\n");
    folder.write(
        "below/flows.toml",
        "base = 'uno/permutation'\n[topology]\nk = 4\n[[workload]]\nkind = 'flows'\nfile = 'flows.csv'\n",
    );
    folder.write("middle.toml", "base = 'below/flows.toml'\nseed = 3\n");
    let resolved = folder.resolve("base = 'middle.toml'\n[topology]\nbuffer = '2MiB'\n");
    assert_eq!((resolved.seed(), radix(&resolved)), (3, Some(4)));
    assert_eq!(resolved.scenario().constants.as_deref(), Some("uno/permutation"));
    let Traffic::Flows { file, .. } = &resolved.scenario().workload[0].traffic else { panic!("a list") };
    assert_eq!(fs::canonicalize(file).unwrap(), fs::canonicalize(folder.0.join("below/flows.csv")).unwrap());
}

#[test]
fn errors_name_the_file_the_line_and_the_column() {
    let folder = Folder::new("errors");
    folder.write("one.toml", "base = 'two.toml'\n");
    folder.write("two.toml", "seed = 1\nbase = \"one.toml\"\n");
    folder.write("broken.toml", "[topology]\nkk = 4\n");
    for (text, said) in [
        ("base = 'uno/permutatio'", "wrong.toml:1:8: base: neither a built-in scenario nor a file"),
        ("base = 'uno/permutatio'", "did you mean \"uno/permutation\""),
        ("base = 7", "wrong.toml:1:8: base: 7 does not fit here"),
        ("base = 'wrong.toml'", "wrong.toml:1:8: base: wrong.toml has this file as its base in turn"),
        ("base = 'one.toml'", "two.toml:2:8: base: one.toml has this file as its base in turn; remove base"),
        ("base = 'broken.toml'", "broken.toml:2:1: topology.kk: unknown key \"kk\""),
        ("base = 'uno/permutation'\n[topology]\nkk = 4", "wrong.toml:3:1: topology.kk: unknown key"),
        ("base = 'uno/permutation'\n[topology]\nk = '7'", "wrong.toml:3:5: topology.k: "),
        ("base = 'uno/websearch'\n[workload]\nlod = 0.3", "wrong.toml:3:1: workload.lod: "),
        ("base = 'uno/websearch'\n[workload]\nload = 'much'", "wrong.toml:3:8: workload"),
        (
            "base = 'uno/websearch'\n[workload]\nkind = 'flows'",
            "wrong.toml:3:1: workload.kind: the kind of a part",
        ),
        ("base = 'uno/websearch'\n[[workload]]\nkind = 'poison'", "wrong.toml:3:8: workload[0].kind: "),
        (
            "constants = 'uno/none'\n[[workload]]\nkind = 'permutation'\nflow_size = '1B'",
            "wrong.toml:1:13: constants: ",
        ),
    ] {
        let error = folder.error(text);
        assert!(error.contains(said), "{text}\n  gave {error}\n  expected {said}");
    }
    let set = vec!["base=uno/steady".to_owned()];
    let error = Request { set, ..Request::new("uno/permutation") }.resolve().unwrap_err().to_string();
    assert!(error.starts_with("--set base=uno/steady: base: a scenario's base cannot be changed"), "{error}");
}

#[test]
fn a_scenario_can_be_a_text_in_no_file() {
    let text = Some("base = 'uno/permutation'\n[topology]\nk = 4\n".to_owned());
    let resolved = Request { text, ..Request::new("scenario") }.resolve().unwrap();
    assert_eq!((resolved.name(), radix(&resolved)), ("scenario", Some(4)));
}
