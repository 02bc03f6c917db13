//! Commands that are killed at any time.

use super::{Lab, code, eventually};
use crate::common::stderr;

/// Times after which a command is killed, in ms: they grow until some fall after its deed is done, or become denser until some fall
/// before.
fn until_both(mut round: impl FnMut(u64) -> bool) {
    let (mut before, mut after, mut step) = (0, 0, 40);
    for _ in 0..4 {
        for n in 0..12 {
            if round(step * n) { after += 1 } else { before += 1 }
        }
        if before > 0 && after > 0 {
            return;
        }
        step = if after == 0 { 5 * step } else { 1 };
    }
    panic!("killed {before} times before it was done, and {after} times after: the times say nothing");
}

#[test]
fn a_loader_that_is_killed_leaves_nothing_that_remove_does_not_clear() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.tcp("a");
    let mut over = false;
    until_both(|ms| {
        lab.killed(&["install", "gemini", "--as", &lab.name, "--netns", "a"], ms);
        let is_installed = lab.status()["installed"] == true;
        if over {
            // It is installed over what is left.
            let again = lab.farspan(&["install", "gemini", "--as", &lab.name, "--netns", "a"]);
            assert_eq!(code(&again), 0, "{}", stderr(&again));
            assert_eq!(lab.default("a"), lab.name);
            lab.kernel(&["remove", &lab.name]);
        } else {
            let removed = lab.farspan(&["remove", &lab.name]);
            assert!(matches!(code(&removed), 0 | 2), "{}", stderr(&removed));
        }
        over = !over;
        assert_eq!(lab.tcp("a"), before, "after {ms} ms");
        lab.assert_clear();
        is_installed
    });
}

#[test]
fn a_loader_that_is_killed_while_it_removes_leaves_nothing_that_remove_does_not_clear() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.tcp("a");
    until_both(|ms| {
        lab.kernel(&["install", "gemini", "--as", &lab.name, "--netns", "a"]);
        lab.killed(&["remove", &lab.name], ms);
        let is_gone = lab.status()["installed"] == false;
        let again = lab.farspan(&["remove", &lab.name]);
        assert!(code(&again) == 0 || (is_gone && code(&again) == 2), "{}", stderr(&again));
        assert_eq!(lab.tcp("a"), before, "after {ms} ms");
        lab.assert_clear();
        is_gone
    });
}

#[test]
fn a_loader_that_is_killed_while_it_replaces_leaves_one_program_in_force() {
    let Some(lab) = Lab::new() else { return };
    lab.kernel(&["install", "gemini", "--as", &lab.name, "--netns", "a", "--set", "beta=0.25"]);
    let mut start_cwnd = 10;
    until_both(|ms| {
        start_cwnd += 1;
        let setting = format!("start_cwnd={start_cwnd}");
        lab.killed(&["tune", &lab.name, "--set", &setting], ms);
        let settings = lab.settings();
        assert!(settings.contains(&"beta=0.25".to_owned()), "{settings:?}");
        settings.contains(&setting)
    });
    // A default may have stayed on the old program: the next update moves it.
    lab.kernel(&["tune", &lab.name, "--set", "start_cwnd=99"]);
    assert!(eventually(|| lab.status()["programs"].as_array().unwrap().len() == 1), "{}", lab.status());
    lab.kernel(&["remove", &lab.name]);
    lab.assert_clear();
}
