//! The parts of a scheme beside its congestion control, in which of them schemes that are compared differ, and whether mechanisms have
//! acted.

use serde::{Deserialize, Serialize};

/// The parts of a scheme for each class of flows; `None` for a class without flows.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Setup {
    /// For flows inside a site.
    pub intra: Option<ClassSetup>,
    /// For flows between the sites.
    pub inter: Option<ClassSetup>,
}

/// The parts of a scheme for one class of flows. Those with constants have them in parentheses: `unolb (subflows 10)`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ClassSetup {
    /// The congestion control.
    pub congestion: String,
    /// The first window, as `transport.start` has it.
    pub first_window: String,
    /// The loss recovery, with its time-out.
    pub recovery: String,
    /// The path selector.
    pub balance: String,
    /// The erasure coding: `none`, or such as `mds(8,2)`.
    pub coding: String,
    /// Whether pauses (PFC) keep every port on the way from dropping.
    pub lossless: bool,
}

/// A part of a scheme, beside its congestion control.
struct Part {
    /// Its key in documents.
    key: &'static str,
    /// Its name in text.
    name: &'static str,
    value: fn(&ClassSetup) -> &str,
}

const PARTS: [Part; 5] = [
    Part { key: "first_window", name: "first window", value: |class| &class.first_window },
    Part { key: "recovery", name: "recovery", value: |class| &class.recovery },
    Part { key: "balance", name: "balance", value: |class| &class.balance },
    Part { key: "coding", name: "coding", value: |class| &class.coding },
    Part { key: "lossless", name: "lossless", value: |class| if class.lossless { "yes" } else { "no" } },
];

/// A value without the constants of its parts.
fn short(value: &str) -> &str {
    value.split(" (").next().unwrap_or(value)
}

impl Setup {
    /// A part for both classes: once where they have it in common.
    fn part(&self, part: &Part, text: fn(&str) -> &str) -> String {
        let of =
            |class: &Option<ClassSetup>| class.as_ref().map(|class| text((part.value)(class)).to_owned());
        match (of(&self.intra), of(&self.inter)) {
            (Some(intra), Some(inter)) if intra != inter => format!("{intra} intra, {inter} inter"),
            (Some(value), _) | (None, Some(value)) => value,
            (None, None) => "-".to_owned(),
        }
    }

    /// All parts in a line, without their constants.
    #[must_use]
    pub fn line(&self) -> String {
        let parts = PARTS.iter().map(|part| format!("{} {}", part.name, self.part(part, short)));
        parts.collect::<Vec<_>>().join("; ")
    }
}

/// Which parts schemes have in common, and in which they differ.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SetupComparison {
    /// Parts that all have in common.
    pub same: Vec<SamePart>,
    /// The others.
    pub differ: Vec<OtherPart>,
}

/// A part that all schemes have in common.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SamePart {
    /// `first_window`, `recovery`, `balance`, `coding` or `lossless`.
    pub part: &'static str,
    /// Its value.
    pub value: String,
}

/// A part in which schemes differ.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OtherPart {
    /// As in [`SamePart`].
    pub part: &'static str,
    /// The value of each.
    pub values: Vec<OwnPart>,
}

/// The value of one scheme.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OwnPart {
    /// The scheme's name in tables.
    pub name: String,
    /// Its value, without constants where names alone tell those that differ apart.
    pub value: String,
}

impl SetupComparison {
    /// Compares schemes, each with its name in tables.
    #[must_use]
    pub fn of(schemes: &[(&str, &Setup)]) -> Self {
        let mut comparison = Self::default();
        for part in &PARTS {
            let values = |text| schemes.iter().map(|(_, setup)| setup.part(part, text)).collect::<Vec<_>>();
            let (whole, brief) = (values(|value| value), values(short));
            let count = |values: &[String]| {
                let mut distinct: Vec<_> = values.iter().collect();
                distinct.sort_unstable();
                distinct.dedup();
                distinct.len()
            };
            let shown = if count(&brief) == count(&whole) { brief } else { whole };
            if count(&shown) < 2 {
                let value = shown.into_iter().next().unwrap_or_default();
                comparison.same.push(SamePart { part: part.key, value });
            } else {
                let own = |((name, _), value): (&(&str, &Setup), String)| OwnPart {
                    name: (*name).to_owned(),
                    value,
                };
                let values = schemes.iter().zip(shown).map(own).collect();
                comparison.differ.push(OtherPart { part: part.key, values });
            }
        }
        comparison
    }

    /// Two lines: what all have in common, and in which parts they differ.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let same: Vec<_> =
            self.same.iter().map(|same| format!("{} {}", name(same.part), same.value)).collect();
        let differ: Vec<_> = self.differ.iter().map(OtherPart::text).collect();
        let first = if same.is_empty() { "nothing".to_owned() } else { same.join("; ") };
        let second = if differ.is_empty() { "none of these parts".to_owned() } else { differ.join(", ") };
        vec![format!("all schemes use: {first}"), format!("the schemes differ in: {second}")]
    }
}

fn name(key: &str) -> &'static str {
    PARTS.iter().find(|part| part.key == key).map_or("", |part| part.name)
}

impl OtherPart {
    /// The part, and in parentheses each value after the schemes that have it.
    fn text(&self) -> String {
        let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
        for own in &self.values {
            match groups.iter_mut().find(|(value, _)| *value == own.value) {
                Some((_, names)) => names.push(&own.name),
                None => groups.push((&own.value, vec![&own.name])),
            }
        }
        let groups: Vec<_> =
            groups.iter().map(|(value, names)| format!("{}: {value}", names.join(", "))).collect();
        format!("{} ({})", name(self.part), groups.join("; "))
    }
}

/// How often the mechanisms that a scheme has have acted; those that it does not have are not in the document.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Acted {
    /// Data packets that arrived with a mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marks: Option<u64>,
    /// CNPs that reached senders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cnps: Option<u64>,
    /// ACKs that brought telemetry to senders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<u64>,
    /// Data packets that arrived trimmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trims: Option<u64>,
    /// How often a port was paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pauses: Option<u64>,
    /// Coded blocks that were decoded because a segment did not arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repairs: Option<u64>,
    /// NACKs that senders received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nacks: Option<u64>,
    /// Time-outs that ran out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<u64>,
}

impl Acted {
    /// Sums of two runs.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| a.map_or(b, |a| Some(a + b.unwrap_or(0)));
        Self {
            marks: sum(self.marks, other.marks),
            cnps: sum(self.cnps, other.cnps),
            telemetry: sum(self.telemetry, other.telemetry),
            trims: sum(self.trims, other.trims),
            pauses: sum(self.pauses, other.pauses),
            repairs: sum(self.repairs, other.repairs),
            nacks: sum(self.nacks, other.nacks),
            timeouts: sum(self.timeouts, other.timeouts),
        }
    }

    /// All of them in a line, zero included.
    #[must_use]
    pub fn line(&self) -> String {
        let telemetry = self.telemetry.map(|acks| format!("telemetry on {acks} ACKs"));
        let counted = |name: &str, count: Option<u64>| count.map(|count| format!("{count} {name}"));
        let words = [
            counted("marks", self.marks),
            counted("CNPs", self.cnps),
            telemetry,
            counted("trims", self.trims),
            counted("pauses", self.pauses),
            counted("blocks repaired", self.repairs),
            counted("NACKs", self.nacks),
            counted("time-outs", self.timeouts),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Which share of so many drops fell into the first round trip of flows; `None` where that is not known.
#[must_use]
pub fn first_round_trip(dropped: u64, dropped_first_rtt: Option<u64>) -> Option<String> {
    let first = dropped_first_rtt?;
    Some(match dropped {
        0 => "no drops".to_owned(),
        _ => format!(
            "{:.1}% of {dropped} drops in the first round trip",
            first as f64 * 100.0 / dropped as f64
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class() -> ClassSetup {
        ClassSetup {
            congestion: "unocc".to_owned(),
            first_window: "bdp".to_owned(),
            recovery: "rack (rto path, backoff)".to_owned(),
            balance: "unolb (subflows 10)".to_owned(),
            coding: "none".to_owned(),
            lossless: false,
        }
    }

    fn changed(change: impl Fn(&mut ClassSetup)) -> Setup {
        let mut inter = class();
        change(&mut inter);
        Setup { intra: Some(class()), inter: Some(inter) }
    }

    fn differ(other: &Setup) -> Vec<String> {
        let comparison = SetupComparison::of(&[("uno", &changed(|_| {})), ("other", other)]);
        assert_eq!(comparison.same.len() + comparison.differ.len(), PARTS.len());
        comparison.differ.iter().map(OtherPart::text).collect()
    }

    #[test]
    fn a_part_that_differs_is_named_and_no_other() {
        assert!(differ(&changed(|_| {})).is_empty());
        assert!(differ(&changed(|class| class.congestion = "gemini".to_owned())).is_empty());
        let one = |change: fn(&mut ClassSetup)| differ(&changed(change)).join("; ");
        assert_eq!(
            one(|class| class.first_window = "iw10".to_owned()),
            "first window (uno: bdp; other: bdp intra, iw10 inter)"
        );
        assert_eq!(
            one(|class| class.recovery = "per_packet_rto (rto path)".to_owned()),
            "recovery (uno: rack; other: rack intra, per_packet_rto inter)"
        );
        assert_eq!(
            one(|class| class.coding = "mds(8,2)".to_owned()),
            "coding (uno: none; other: none intra, mds(8,2) inter)"
        );
        assert_eq!(one(|class| class.lossless = true), "lossless (uno: no; other: no intra, yes inter)");
    }

    #[test]
    fn constants_are_shown_where_names_do_not_tell_schemes_apart() {
        let five = changed(|class| class.balance = "unolb (subflows 5)".to_owned());
        assert_eq!(
            differ(&five),
            [
                "balance (uno: unolb (subflows 10); other: unolb (subflows 10) intra, unolb (subflows 5) inter)"
            ]
        );
    }

    #[test]
    fn schemes_with_one_value_stand_together() {
        let (a, b) = (changed(|_| {}), changed(|class| class.coding = "mds(8,2)".to_owned()));
        let one_class = Setup { intra: None, ..a.clone() };
        let lines = SetupComparison::of(&[("a", &a), ("b", &b), ("c", &one_class)]).lines();
        assert_eq!(
            lines,
            [
                "all schemes use: first window bdp; recovery rack; balance unolb; lossless no",
                "the schemes differ in: coding (a, c: none; b: none intra, mds(8,2) inter)",
            ]
        );
        assert_eq!(a.line(), "first window bdp; recovery rack; balance unolb; coding none; lossless no");
        let even = SetupComparison::of(&[("a", &a), ("b", &a)]).lines();
        assert_eq!(even[1], "the schemes differ in: none of these parts");
    }

    #[test]
    fn a_mechanism_that_is_there_says_zero_and_one_that_is_not_says_nothing() {
        let acted = Acted { marks: Some(0), timeouts: Some(7), ..Acted::default() };
        assert_eq!(acted.line(), "0 marks, 7 time-outs");
        assert_eq!(serde_json::to_string(&acted).unwrap(), r#"{"marks":0,"timeouts":7}"#);
        let two = acted.and(Acted { telemetry: Some(3), timeouts: Some(1), ..Acted::default() });
        assert_eq!(two.line(), "0 marks, telemetry on 3 ACKs, 8 time-outs");
    }

    #[test]
    fn the_share_of_the_first_round_trip_is_of_all_drops() {
        assert_eq!(first_round_trip(0, Some(0)).unwrap(), "no drops");
        assert_eq!(first_round_trip(8, Some(6)).unwrap(), "75.0% of 8 drops in the first round trip");
        assert_eq!(first_round_trip(8, None), None);
    }
}
