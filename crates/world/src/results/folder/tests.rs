//! Tests of folders of results.

use super::*;
use farspan_scenario::Request;
use serde_json::json;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("farspan-folder-{name}-{}", std::process::id())))
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn has(&self, path: &str) -> bool {
        self.0.join(path).exists()
    }

    /// Opens it for one run at the top, or for several seeds.
    fn open(&self, run: &Resolved, seeds: &[u64], force: bool) -> Result<ResultFolder, FolderError> {
        self.open_as(run.scheme(), run, seeds, force)
    }

    /// As `open`, for a document that names its scheme so.
    fn open_as(
        &self,
        scheme: &str,
        run: &Resolved,
        seeds: &[u64],
        force: bool,
    ) -> Result<ResultFolder, FolderError> {
        let runs: Vec<_> = match seeds {
            [] => vec![(self.0.clone(), run.clone())],
            _ => seeds.iter().map(|s| (self.0.join(format!("seed-{s}")), run.with_seed(*s))).collect(),
        };
        let planned: Vec<_> =
            runs.iter().map(|(folder, resolved)| PlannedRun { folder, resolved, scheme }).collect();
        ResultFolder::open(&self.0, &planned, force)
    }

    /// The results of a run, as far as they matter here.
    fn results(&self, at: &str, run: &Resolved) {
        let document = json!({"farspan_version": "0", "scheme": run.scheme(), "seed": 1});
        self.put(&format!("{at}summary.json"), &document.to_string());
        self.put(&format!("{at}scenario.toml"), &run.to_toml());
        self.put(&format!("{at}report.html"), "");
        self.put(&format!("{at}trace/flow-1.sqlog"), "");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(scheme: &str) -> Resolved {
    let scheme = Some(scheme.to_owned());
    Request { scheme, ..Request::new("uno/incast-mixed") }.resolve().unwrap()
}

#[test]
fn results_of_the_same_run_are_replaced_and_others_stay() {
    let folder = Folder::new("same");
    folder.results("", &run("uno"));
    let error = folder.open(&run("gemini"), &[], false).unwrap_err().to_string();
    assert!(
        error.contains("their scheme.name is \"uno\" and this run's is \"gemini\". Choose another --out"),
        "{error}"
    );
    let error = folder.open(&run("uno").with_seed(2), &[], false).unwrap_err().to_string();
    assert!(error.contains("their seed is 1 and this run's is 2"), "{error}");
    let error = folder.open(&run("uno"), &[1, 2], false).unwrap_err().to_string();
    assert!(error.contains("this command writes 2 other runs"), "{error}");
    assert!(folder.has("summary.json") && folder.has("report.html") && !folder.has(LOCK));
    folder.open(&run("uno"), &[], false).unwrap().finish();
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "the scenario is what the user may have run");
    folder.results("", &run("uno"));
    folder.open(&run("gemini"), &[], true).unwrap().finish();
    assert!(!folder.has("summary.json") && !folder.has("report.html") && !folder.has("trace"));
}

#[test]
fn several_seeds_are_replaced_by_the_same_or_if_they_are_not_all() {
    let folder = Folder::new("seeds");
    let put = |partial: bool| {
        for seed in [1, 2] {
            folder.results(&format!("seed-{seed}/"), &run("uno").with_seed(seed));
        }
        folder.put(
            "summary.json",
            &format!(r#"{{"partial": {partial}, "runs": [{{"seed": 1}}, {{"seed": 2}}]}}"#),
        );
    };
    put(false);
    let error = folder.open(&run("uno"), &[1, 2, 3], false).unwrap_err().to_string();
    assert!(error.contains("seeds 1 2, but they are of 2 seeds, and this command runs 3"), "{error}");
    assert!(folder.open(&run("uno"), &[1], false).is_err());
    folder.put("seed-2/notes.txt", "");
    folder.open(&run("uno"), &[1, 2], false).unwrap().finish();
    assert!(!folder.has("seed-1") && !folder.has("summary.json"));
    assert_eq!(fs::read_dir(folder.0.join("seed-2")).unwrap().count(), 1, "what no run wrote stays");
    put(true);
    assert!(folder.open(&run("gemini"), &[1, 2, 3], false).is_err());
    folder.open(&run("uno"), &[1, 2, 3], false).unwrap().finish();
}

#[test]
fn a_file_is_no_folder() {
    let folder = Folder::new("file");
    folder.put("x", "mine");
    let file = folder.0.join("x");
    let error = ResultFolder::open(&file, &[], true).unwrap_err();
    assert!(matches!(error, FolderError::NoFolder { .. }) && error.is_bad_input(), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_file_that_no_run_has_left_stays() {
    for name in ["scenario.toml", "flows.parquet", "report.html", "summary.json"] {
        let folder = Folder::new("foreign");
        folder.put(name, "{\"mine\": 1}");
        let error = folder.open(&run("uno"), &[], false).unwrap_err().to_string();
        assert!(error.contains(&format!("{name}: would be overwritten")), "{error}");
        folder.open(&run("uno"), &[], true).unwrap().finish();
    }
    let folder = Folder::new("own");
    folder.put("scenario.toml", &run("uno").to_toml());
    folder.put("notes.txt", "");
    folder.put("seed-x/summary.json", r#"{"farspan_version": "0"}"#);
    folder.open(&run("uno"), &[], false).unwrap().finish();
    assert!(folder.has("notes.txt") && folder.has("seed-x/summary.json") && folder.has("scenario.toml"));
}

#[test]
fn one_command_at_a_time_writes_to_a_folder() {
    let folder = Folder::new("lock");
    let first = folder.open(&run("uno"), &[], false).unwrap();
    let error = folder.open(&run("uno"), &[], true).unwrap_err().to_string();
    assert!(
        error.contains(&format!("another run is writing there (process {})", std::process::id())),
        "{error}"
    );
    first.finish();
    folder.open(&run("uno"), &[], false).unwrap().finish();
    assert!(!folder.has(LOCK));
}

#[test]
fn what_a_killed_run_has_left_is_no_result() {
    let folder = Folder::new("killed");
    drop(folder.open(&run("uno"), &[], false).unwrap());
    folder.put("scenario.toml", &run("uno").to_toml());
    folder.put("flows.parquet", "half a table");
    assert!(folder.has(LOCK));
    folder.open(&run("gemini"), &[], false).unwrap().finish();
    assert!(!folder.has("flows.parquet") && !folder.has(LOCK));
}

#[test]
fn beside_a_lock_goes_only_what_a_run_has_left() {
    let folder = Folder::new("foreign-lock");
    folder.put("flows.parquet", "mine");
    for lock in ["", "17\n"] {
        folder.put(LOCK, lock);
        let error = folder.open(&run("uno"), &[], false).unwrap_err().to_string();
        assert!(error.contains("flows.parquet: would be overwritten"), "{error}");
        folder.put("seed-3/flows.parquet", "mine");
        folder.open(&run("uno"), &[1, 2], false).unwrap().finish();
        assert!(folder.has("flows.parquet") && folder.has("seed-3/flows.parquet"));
    }
    let lock = "pnpm: locked by 17\n";
    folder.put(LOCK, lock);
    let error = folder.open(&run("uno"), &[1, 2], false).unwrap_err();
    assert!(error.is_bad_input() && error.to_string().contains("run.lock: would be overwritten"), "{error}");
    assert_eq!(fs::read_to_string(folder.0.join(LOCK)).unwrap(), lock);
}

#[test]
fn a_control_is_another_scheme() {
    let folder = Folder::new("control");
    folder.results("", &run("dctcp"));
    let error = folder.open_as("Mine", &run("dctcp"), &[], false).unwrap_err();
    assert!(
        error.is_bad_input()
            && error.to_string().contains("their scheme is \"dctcp\" and this run's is \"Mine\""),
        "{error}"
    );
    assert!(folder.has("summary.json"));
    folder.open(&run("dctcp"), &[], false).unwrap().finish();
}

#[test]
fn the_folder_of_a_sweep_is_its_own() {
    let folder = Folder::new("sweep");
    folder.put(SWEEP, "");
    for (at, force) in [("", false), ("", true), ("a-run", true)] {
        let at = Folder(folder.0.join(at));
        let error = at.open(&run("uno"), &[], force).unwrap_err();
        std::mem::forget(at);
        assert!(error.is_bad_input() && error.to_string().contains("is the folder of a sweep"), "{error}");
    }
    let sweep = File::open(folder.0.join(SWEEP)).unwrap();
    sweep.lock().unwrap();
    let error = folder.open(&run("uno"), &[], true).unwrap_err();
    assert!(!error.is_bad_input() && error.to_string().contains("another run is writing there (a sweep)"));
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
}

#[test]
fn one_seed_and_several_around_it_do_not_write_at_a_time() {
    let folder = Folder::new("around");
    let several = folder.open(&run("uno"), &[1, 2], false).unwrap();
    let seed = Folder(folder.0.join("seed-1"));
    let error = seed.open(&run("uno"), &[], true).unwrap_err();
    assert!(
        matches!(&error, FolderError::Locked { folder: at, .. } if at.ends_with(folder.0.file_name().unwrap()))
    );
    assert!(!seed.has(LOCK));
    several.finish();
    let one = seed.open(&run("uno"), &[], false).unwrap();
    let error = folder.open(&run("uno"), &[1, 2], true).unwrap_err();
    assert!(matches!(&error, FolderError::Locked { folder: at, .. } if *at == seed.0), "{error}");
    assert!(!folder.has(LOCK));
    one.finish();
    folder.open(&run("uno"), &[1, 2], false).unwrap().finish();
}
