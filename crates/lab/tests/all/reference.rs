//! The pages of the book that are made from the schema and the profiles are those of this source.

use farspan_lab::reference::{components, constants, reference};
use std::path::Path;

fn same(page: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src").join(page);
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = committed.lines().zip(expected.lines()).find(|(ours, made)| ours != made);
    assert!(committed == expected, "docs/src/{page} is out of date: run `make docs`. {differs:?}");
}

#[test]
fn the_scenario_reference_is_up_to_date() {
    same("scenario-reference.md", &reference());
}

/// The sections of a scheme's page, in order.
const SECTIONS: [&str; 6] =
    ["## What it is", "## Equations", "## At the ports", "## Constants", "## Validation", "## Deviations"];

#[test]
fn every_component_has_a_page_of_the_same_structure_with_its_constants() {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src");
    let summary = std::fs::read_to_string(book.join("SUMMARY.md")).unwrap();
    for name in components().chain(["uno"]) {
        let page =
            format!("schemes/{}.md", if name == "mds" { "unorc".to_owned() } else { name.replace('_', "-") });
        assert!(summary.contains(&format!("]({page})")), "{page} is not in SUMMARY.md");
        let text = std::fs::read_to_string(book.join(&page)).unwrap_or_default();
        let places: Vec<_> = SECTIONS.iter().map(|section| text.find(&format!("\n{section}\n"))).collect();
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{page} has not all of {SECTIONS:?}"
        );
        if name != "uno" {
            let made = constants(name).unwrap();
            let part = format!("\n<!-- made: constants {name} -->\n\n{made}\n<!-- end -->\n");
            assert!(text.contains(&part), "the constants in {page} are out of date: run `make docs`");
            assert!(text.contains("](curves/"), "{page} has no figure");
        }
    }
}

#[test]
fn every_key_of_the_starter_and_of_the_built_in_scenarios_is_in_the_reference() {
    let page = reference();
    for key in [
        "`link_rate`",
        "`rtt`",
        "`flow_size`",
        "`probability`",
        "`rate_interval`",
        "`fairness_group`",
        "`drain`",
    ] {
        assert!(page.contains(&format!("| {key} |")), "{key}");
    }
    assert!(page.contains("## `[[workload]]`") && page.contains("## `[topology.wan]`"));
    assert!(!page.contains("{}"));
}
