//! Notes at the end of a sweep: the warnings of its runs, and faults that lost nothing.

use crate::{Finished, Point};
use farspan_metrics::Warned;
use farspan_scenario::model::{Fault, LinkEvent};

/// Whether a fault of the point's links can lose packets: a lower rate loses none itself.
fn can_lose(point: &Point) -> bool {
    let faults = &point.resolved.scenario().fault;
    faults
        .iter()
        .any(|fault| matches!(fault, Fault::OfLinks(fault) if !matches!(fault.event, LinkEvent::Rate(_))))
}

/// The most different warnings that are said.
const MOST_WARNINGS: usize = 8;

/// The warnings of the runs, each text once, and a note where their faults lost nothing.
#[must_use]
pub fn notes(points: &[Point], finished: &[Finished]) -> Vec<String> {
    let warnings = |finished: &Finished| -> Vec<String> {
        let said = finished.result.as_ref().ok().and_then(|document| document["warnings"].as_array());
        said.into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let said: Vec<Vec<String>> = finished.iter().map(warnings).collect();
    let warned = Warned::of(said.iter().map(|texts| texts.iter().map(String::as_str)));
    let shown =
        warned.iter().take(MOST_WARNINGS).map(|warned| format!("warning: {}", warned.line(finished.len())));
    let more = warned.len().saturating_sub(MOST_WARNINGS);
    let more = (more > 0).then(|| format!("{more} more warnings: see summary.json of each run"));
    shown.chain(more).chain(faults_note(points, finished).map(|note| format!("note: {note}"))).collect()
}

/// A note on runs whose faults lost no packet; `None` if there is none.
fn faults_note(points: &[Point], finished: &[Finished]) -> Option<String> {
    let faulty = finished.iter().filter(|finished| can_lose(&points[finished.point]));
    let lost = |finished: &Finished| finished.result.as_ref().ok()?.pointer("/ports/all/lost")?.as_u64();
    let lost: Vec<u64> = faulty.filter_map(lost).collect();
    let idle = lost.iter().filter(|lost| **lost == 0).count();
    (idle > 0).then(|| format!("no fault lost a packet in {idle} of {} runs with faults", lost.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_scenario::Request;
    use serde_json::json;
    use std::path::PathBuf;

    #[test]
    fn runs_whose_faults_lost_nothing_are_counted() {
        let star =
            "[topology]\nkind = 'star'\nhosts = 2\n[[workload]]\nkind = 'permutation'\nflow_size = '1KiB'\n";
        let fault = |kind: &str| format!("{star}[[fault]]\nlink = '*'\nkind = {kind}\n");
        let note = |text: &str, lost: &[u64]| {
            let request = Request { text: Some(text.to_owned()), ..Request::new("faults") };
            let points = [Point::new(request, Vec::new()).unwrap()];
            let of = |lost: &u64| {
                let result = Ok(json!({"ports": {"all": {"lost": lost}}}));
                Finished { point: 0, folder: PathBuf::new(), reused: false, result }
            };
            faults_note(&points, &lost.iter().map(of).collect::<Vec<_>>())
        };
        let down = fault("'link_down'");
        assert_eq!(note(&down, &[0, 3, 0]).unwrap(), "no fault lost a packet in 2 of 3 runs with faults");
        assert_eq!(note(&down, &[3]), None);
        assert_eq!(note(&fault("'rate'\nrate = '1Gbps'"), &[0]), None);
        assert_eq!(note(star, &[0]), None);
    }
}
