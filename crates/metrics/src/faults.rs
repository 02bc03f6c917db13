//! Faults of links, and the packets that they lost.

use std::collections::{BTreeMap, BTreeSet};

/// Links that have the same faults at the same times, together.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FaultyLinks {
    /// Their faults, each with its time, as `ports.parquet` has them: `link_down 38ms to 78ms`.
    pub faults: String,
    /// Their names, `FROM->TO#n`.
    pub links: BTreeSet<String>,
    /// Packets of any kind that their faults lost.
    pub lost: u64,
}

impl FaultyLinks {
    /// Ports by their faults, in the order in which each comes first; those without any are left out. Of a port: its name, its faults,
    /// and the packets that they lost. A port may come once for each of several runs.
    pub fn of<'a>(ports: impl IntoIterator<Item = (&'a str, &'a str, u64)>) -> Vec<Self> {
        let faulty = ports.into_iter().filter(|(_, faults, _)| !faults.is_empty());
        Self::together(faulty.map(|(name, faults, lost)| Self {
            faults: faults.to_owned(),
            links: BTreeSet::from([name.to_owned()]),
            lost,
        }))
    }

    /// Joins those with the same faults, such as those of several runs.
    pub fn together(parts: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut places = BTreeMap::new();
        let mut all: Vec<Self> = Vec::new();
        for part in parts {
            match places.get(&part.faults) {
                Some(place) => {
                    let known: &mut Self = &mut all[*place];
                    known.lost += part.lost;
                    known.links.extend(part.links);
                }
                None => {
                    places.insert(part.faults.clone(), all.len());
                    all.push(part);
                }
            }
        }
        all
    }

    /// The links, and what happened to them.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", few_names(self.links.iter().map(String::as_str)), self.faults)
    }

    /// The words for those that lost nothing; `None` where they lost packets, or could not: a lower rate loses none itself.
    #[must_use]
    pub fn nothing_lost(&self) -> Option<&'static str> {
        let kinds = || self.faults.split("; ");
        if self.lost > 0 || kinds().all(|fault| fault.starts_with("rate ")) {
            return None;
        }
        // A lossy link lets packets through.
        let is_lossy = kinds().any(|fault| fault.contains("loss "));
        Some(if is_lossy { "no packet lost" } else { "no packet met it" })
    }

    /// The links, what happened to them, and what it lost.
    #[must_use]
    pub fn line(&self) -> String {
        match (self.nothing_lost(), self.lost) {
            (Some(nothing), _) => format!("{}: {nothing}", self.name()),
            (None, 0) => self.name(),
            (None, 1) => format!("{}: 1 packet lost", self.name()),
            (None, lost) => format!("{}: {lost} packets lost", self.name()),
        }
    }
}

/// Up to four names; of more, how many others there are.
pub fn few_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 4;
    let names: Vec<&str> = names.into_iter().collect();
    let said = names[..names.len().min(MOST)].join(", ");
    match names.len().saturating_sub(MOST) {
        0 => said,
        more => format!("{said} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(ports: &[(&str, &str, u64)]) -> Vec<String> {
        FaultyLinks::of(ports.iter().copied()).iter().map(FaultyLinks::line).collect()
    }

    #[test]
    fn links_with_the_same_faults_are_told_together() {
        let down = "link_down 38ms to 78ms";
        assert_eq!(
            lines(&[
                ("a->b#0", down, 970),
                ("b->a#0", down, 7),
                ("c->d#0", "", 0),
                ("d->e#0", "black_hole from 0ns", 1)
            ]),
            [
                "a->b#0, b->a#0 link_down 38ms to 78ms: 977 packets lost",
                "d->e#0 black_hole from 0ns: 1 packet lost"
            ]
        );
    }

    #[test]
    fn what_lost_nothing_says_so_and_a_lower_rate_was_never_to_lose_any() {
        assert_eq!(
            lines(&[("a->b#0", "link_down 1ms to 2ms", 0)]),
            ["a->b#0 link_down 1ms to 2ms: no packet met it"]
        );
        assert_eq!(
            lines(&[("a->b#0", "block_loss from 0ns", 0)]),
            ["a->b#0 block_loss from 0ns: no packet lost"]
        );
        assert_eq!(lines(&[("a->b#0", "rate 1Gbps from 0ns", 0)]), ["a->b#0 rate 1Gbps from 0ns"]);
        let both = "rate 1Gbps from 0ns; link_down 1ms to 2ms";
        assert_eq!(lines(&[("a->b#0", both, 0)]), [format!("a->b#0 {both}: no packet met it")]);
    }

    #[test]
    fn a_link_of_several_runs_is_named_once() {
        let run = |link, lost| FaultyLinks::of([(link, "loss from 0ns", lost)]);
        let runs = [run("a->b#0", 2), run("a->b#0", 3), run("b->c#0", 0)].concat();
        let all = FaultyLinks::together(runs);
        assert_eq!(
            all.iter().map(FaultyLinks::line).collect::<Vec<_>>(),
            ["a->b#0, b->c#0 loss from 0ns: 5 packets lost"]
        );
        let rows =
            [("a->b#0", "loss from 0ns", 2), ("a->b#0", "loss from 0ns", 3), ("b->c#0", "loss from 0ns", 0)];
        assert_eq!(FaultyLinks::of(rows), all);
    }

    #[test]
    fn four_names_are_said_and_the_others_counted() {
        assert_eq!(few_names(["a", "b", "c", "d"]), "a, b, c, d");
        assert_eq!(few_names(["a", "b", "c", "d", "e", "f"]), "a, b, c, d and 2 more");
        assert_eq!(few_names([]), "");
    }
}
