//! The demo says the same of its runs as its report and `farspan compare` do.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A folder of the test's own, removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn farspan(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_farspan")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Cells of a line of a table: two spaces or more part them.
fn cells(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

/// A table of the text: each row's cells by their heading, which the first line that begins with spaces has.
fn table(text: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("  "));
    let heading = cells(lines.next().unwrap());
    let rows = lines.take_while(|line| cells(line).len() == heading.len() + 1);
    let row = |line| {
        let (name, values) =
            cells(line).split_first().map(|(name, rest)| (name.to_string(), rest.to_vec())).unwrap();
        let values = heading.iter().zip(values).map(|(head, value)| (head.to_string(), value.to_owned()));
        (name, values.collect())
    };
    rows.map(row).collect()
}

/// The data of a page.
fn data(page: &str) -> Value {
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(data).unwrap()
}

/// The page must have the numbers of the comparison: counts exactly, others to the digits that it keeps.
fn same_in_page(group: &Value, comparison: &Value) {
    for (m, measure) in group["measures"].as_array().unwrap().iter().enumerate() {
        let path = measure["path"].as_str().unwrap();
        for arm in group["arms"].as_array().unwrap() {
            let mut sides = comparison["runs"].as_array().unwrap().iter();
            let side = sides.find(|side| side["name"] == arm["name"]).unwrap();
            let expected = side["summary"].pointer(path).and_then(|spread| spread["median"].as_f64());
            let shown = arm["numbers"][m][0][0].as_f64();
            match (measure["unit"].as_str().unwrap(), expected.zip(shown)) {
                (_, None) => assert_eq!(expected, shown, "{path}"),
                ("count", Some((expected, shown))) => assert_eq!(expected, shown, "{path}"),
                (_, Some((expected, shown))) => {
                    assert!((shown - expected).abs() <= 1e-3 * expected.abs(), "{path}: {shown} {expected}");
                }
            }
        }
        let best = &comparison["verdicts"][m]["best"];
        let shown = group["verdicts"][m]["best"].as_u64().map(|arm| &group["arms"][arm as usize]["name"]);
        assert_eq!(shown.unwrap_or(&Value::Null), best, "{path}");
    }
}

#[test]
fn the_demo_its_report_and_compare_say_the_same() {
    let folder = Folder(std::env::temp_dir().join(format!("farspan-demo-{}", std::process::id())));
    let out = folder.0.display().to_string();
    // The flows are so short that losses and rates hardly matter, and there are enough seeds for intervals.
    let small = ["--seeds", "1..6", "--set", "workload.flow_size=64KiB", "--out", &out];
    let said = text(&farspan(&[&["demo", "--quiet"], &small[..]].concat()));
    let page = data(&std::fs::read_to_string(folder.0.join("report.html")).unwrap());
    let scenes: Vec<&str> = said.split("\nuno/").collect();
    assert_eq!(scenes.len(), 3, "{said}");
    let names = [("border-failure", "bdp"), ("incast-mixed", "bdp"), ("incast-mixed-iw10", "iw10")];
    for (i, (scene, (name, start))) in scenes.iter().zip(names).enumerate() {
        assert!(scene.contains("Median over 6 seeds"), "{said}");
        let head = format!("all schemes use: first window {start};");
        assert!(scene.contains(&head) && scene.contains("the schemes differ in: "), "{said}");
        let head = &page["groups"][i]["head"];
        assert!(head.as_array().unwrap().iter().all(|line| scene.contains(line.as_str().unwrap())), "{said}");
        assert!(scene.contains("Phantom queues drain at 0.9 of the line rate (uno, uno-noec"), "{said}");
        let below = folder.0.join(name).display().to_string();
        let document: Value = serde_json::from_str(&text(&farspan(&["compare", &below, "--json"]))).unwrap();
        same_in_page(&page["groups"][i], &document["comparisons"][0]);
        let (demo, compared) = (table(scene), table(&text(&farspan(&["compare", &below]))));
        assert!(demo.len() >= 6, "{demo:?}");
        for (measure, row) in &demo {
            for (arm, value) in row {
                assert_eq!(Some(value), compared[measure].get(arm), "{name}, {measure}, {arm}");
            }
        }
        // The first scene's table has no number of the bottleneck.
        let noted = document["comparisons"][0]["notes"]
            .to_string()
            .contains("bottleneck: the port differs between schemes");
        assert!(i > 0 || noted && !scene.contains("note: bottleneck"), "{said}");
        // Probes are on in each.
        let series = &page["groups"][i]["arms"][0]["runs"][0]["detail"]["series"]["list"];
        assert!(!series.as_array().unwrap().is_empty(), "{name}");
    }
    let fault = &page["groups"][0]["arms"][0]["runs"][0]["detail"]["faults"][0];
    assert_eq!((&fault[3], &fault[4]), (&"border0->border1#0".into(), &"black_hole from 0ns".into()));
}

#[test]
fn a_name_for_both_scenarios_is_refused_before_anything_runs() {
    let out = std::env::temp_dir().join(format!("farspan-demo-name-{}", std::process::id()));
    let set = ["demo", "--set", "name=x", "--quiet", "--out", out.to_str().unwrap()];
    let output = Command::new(env!("CARGO_BIN_EXE_farspan")).args(set).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("--set name") && text.contains("set another key") && !out.exists(), "{text}");
}

/// A demo replaces what the same demo left. It leaves other results, and a page that no demo wrote, as they are.
#[test]
fn a_demo_can_be_run_again_where_it_ran() {
    let folder = Folder(std::env::temp_dir().join(format!("farspan-demo-again-{}", std::process::id())));
    let demo = |size: &str| {
        let set = format!("workload.flow_size={size}");
        let out = folder.0.display().to_string();
        let words = ["demo", "--quiet", "--seeds", "1", "--set", &set, "--out", &out];
        Command::new(env!("CARGO_BIN_EXE_farspan")).args(words).output().unwrap()
    };
    std::fs::create_dir_all(&folder.0).unwrap();
    std::fs::write(folder.0.join("report.html"), "mine").unwrap();
    assert_eq!(demo("64KiB").status.code(), Some(2), "somebody's page");
    std::fs::remove_file(folder.0.join("report.html")).unwrap();
    let (first, again) = (demo("64KiB"), demo("64KiB"));
    assert!(first.status.success() && again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    assert_eq!(text(&first), text(&again));
    assert!(folder.0.join("report.html").is_file());
    assert_eq!(demo("128KiB").status.code(), Some(2), "results of another size");
}
