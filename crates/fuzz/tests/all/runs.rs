//! Whole runs hold what their documents promise.

use farspan_fuzz::runs::{Trial, try_number};

#[test]
fn what_documents_promise_holds_in_random_scenarios() {
    let tried: Vec<_> = (0..16).map(|number| (number, try_number(number))).collect();
    let ran = tried.iter().filter(|(_, tried)| matches!(tried, Trial::Ran(_))).count();
    assert!(ran >= 8, "{ran} of {} ran", tried.len());
    for (number, tried) in tried {
        let (Trial::Ran(breaches) | Trial::Halved(breaches)) = &tried else { continue };
        assert!(breaches.is_empty(), "{number}: {breaches:?}");
    }
}
