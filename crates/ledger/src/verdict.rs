//! The rule by which a claim holds: the same for every figure, and computed.

use serde::{Deserialize, Serialize};

/// Seeds that a verdict needs: of fewer, no interval of the median reaches 95%.
pub const SEEDS_FOR_A_VERDICT: usize = 6;

/// A claim's verdict.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As claimed.
    Holds,
    /// The interval is on the paper's side of no effect, and the claim does not hold; or as claimed, of hardware that is not simulated.
    Direction,
    /// The interval contains no effect, or reaches over an end of the band.
    Inconclusive,
    /// The interval says otherwise.
    Differs,
    /// Fewer than six seeds, not part of this size, or smoke size.
    NotRun,
}

impl Verdict {
    /// Every verdict, the best first.
    pub const ALL: [Self; 5] =
        [Self::Holds, Self::Direction, Self::Inconclusive, Self::Differs, Self::NotRun];

    /// Its name in tables and documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Direction => "direction",
            Self::Inconclusive => "inconclusive",
            Self::Differs => "differs",
            Self::NotRun => "not_run",
        }
    }
}

/// A median, or another statistic over seeds, with its 95% interval. Flows that never end make it infinite.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// The value.
    pub point: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The rule by which a claim is judged.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rule {
    /// A ratio of this printed factor, other than 1.
    Factor(f64),
    /// This printed value, above 0: within a quarter of it.
    Value(f64),
    /// At most this printed bound; of a ratio if `true`.
    AtMost(f64, bool),
    /// At least this printed bound; of a ratio if `true`.
    AtLeast(f64, bool),
    /// A ratio of about 1: within a tenth, the interval within [0.8, 1.25].
    Equal,
    /// A ratio above 1.
    Order,
    /// A ratio of 1 or more, where the paper says *outperforms or matches*: above 1 or equal.
    NotBelow,
    /// A ratio that the paper gives as a word, such as *clearly*. A bound above 1 is the least, one below 1 the most.
    Word(f64),
    /// A number between two ends; an end that is left out is open.
    Band(Option<f64>, Option<f64>),
}

/// A value that holds is at most this far from the printed one.
const NEAR: f64 = 0.25;
/// A close factor differs from the printed one by at most this part of the printed one's logarithm.
const CLOSE_FACTOR: f64 = 0.25;
/// A ratio that is close to equal is at most this far from 1.
const CLOSE_EQUAL: f64 = 0.05;
/// A ratio up to this one is no difference: a word such as *clearly* has no direction there.
const SAME: f64 = 1.02;
/// The band of a ratio that is called equal.
const EQUAL: (f64, f64) = (0.9, 1.1);
/// The ends between which its interval must lie.
const EQUAL_INTERVAL: (f64, f64) = (0.8, 1.25);

impl Rule {
    /// The band in which the point of a claim that holds lies; an open end is `None`.
    #[must_use]
    pub fn band(self) -> (Option<f64>, Option<f64>) {
        match self {
            Self::Factor(factor) => {
                let (a, b) = (factor.sqrt(), factor * factor);
                (Some(a.min(b)), Some(a.max(b)))
            }
            Self::Value(value) => (Some(value * (1.0 - NEAR)), Some(value * (1.0 + NEAR))),
            Self::AtMost(bound, _) => (None, Some(bound)),
            Self::AtLeast(bound, _) => (Some(bound), None),
            Self::Equal => (Some(EQUAL.0), Some(EQUAL.1)),
            Self::Order => (Some(1.0), None),
            Self::NotBelow => (Some(EQUAL.0), None),
            Self::Word(bound) if bound < 1.0 => (None, Some(bound)),
            Self::Word(bound) => (Some(bound), None),
            Self::Band(low, high) => (low, high),
        }
    }

    /// The verdict on an interval.
    #[must_use]
    pub fn verdict(self, found: Interval) -> Verdict {
        let band = self.band();
        let inside = |(low, high): (Option<f64>, Option<f64>), value: f64| {
            low.is_none_or(|low| value >= low) && high.is_none_or(|high| value <= high)
        };
        let outside = |low: f64, high: f64| found.high < low || found.low > high;
        match self {
            Self::Factor(_) | Self::Order if found.low <= 1.0 && found.high >= 1.0 => Verdict::Inconclusive,
            Self::Factor(factor) if (found.low > 1.0) != (factor > 1.0) => Verdict::Differs,
            Self::Factor(_) if inside(band, found.point) => Verdict::Holds,
            Self::Factor(_) => Verdict::Direction,
            Self::Order if found.low > 1.0 => Verdict::Holds,
            Self::Order => Verdict::Differs,
            Self::NotBelow if found.low > 1.0 => Verdict::Holds,
            Self::NotBelow if found.point >= EQUAL.0 && found.low >= EQUAL_INTERVAL.0 => Verdict::Holds,
            Self::NotBelow if found.high < EQUAL.0 => Verdict::Differs,
            Self::NotBelow => Verdict::Inconclusive,
            Self::Equal => {
                let narrow = found.low >= EQUAL_INTERVAL.0 && found.high <= EQUAL_INTERVAL.1;
                match inside(band, found.point) && narrow {
                    true => Verdict::Holds,
                    false if outside(EQUAL.0, EQUAL.1) => Verdict::Differs,
                    false => Verdict::Inconclusive,
                }
            }
            Self::Word(bound) if bound > 1.0 && found.low > SAME && found.low < bound => Verdict::Direction,
            Self::Word(bound) if bound < 1.0 && found.high < 1.0 / SAME && found.high > bound => {
                Verdict::Direction
            }
            Self::AtLeast(bound, true) if bound > 1.0 && found.low > 1.0 && found.low < bound => {
                Verdict::Direction
            }
            Self::AtMost(bound, true) if bound < 1.0 && found.high < 1.0 && found.high > bound => {
                Verdict::Direction
            }
            Self::Value(_) | Self::Band(..) | Self::Word(_) | Self::AtMost(..) | Self::AtLeast(..) => {
                match inside(band, found.low) && inside(band, found.high) {
                    true => Verdict::Holds,
                    false
                        if outside(band.0.unwrap_or(f64::NEG_INFINITY), band.1.unwrap_or(f64::INFINITY)) =>
                    {
                        Verdict::Differs
                    }
                    false => Verdict::Inconclusive,
                }
            }
        }
    }

    /// Whether it has a printed number, or says that two things are equal.
    #[must_use]
    pub const fn can_be_close(self) -> bool {
        !matches!(self, Self::Order | Self::NotBelow | Self::Word(_) | Self::Band(..))
    }

    /// Whether what holds is near the printed number, too; a bound that holds is. `None` where the rule has none.
    #[must_use]
    pub fn close(self, found: Interval) -> Option<bool> {
        let near = match self {
            Self::Factor(factor) => {
                (found.point.ln() - factor.ln()).abs() <= CLOSE_FACTOR * factor.ln().abs()
            }
            Self::Value(value) => (found.point - value).abs() <= NEAR * value,
            Self::Equal => (found.point - 1.0).abs() <= CLOSE_EQUAL + f64::EPSILON,
            Self::AtMost(..) | Self::AtLeast(..) => true,
            Self::Order | Self::NotBelow | Self::Word(_) | Self::Band(..) => return None,
        };
        Some(near && self.verdict(found) == Verdict::Holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(rule: Rule, low: f64, point: f64, high: f64) -> Verdict {
        rule.verdict(Interval { point, low, high })
    }

    #[test]
    fn a_factor_holds_from_its_root_to_its_square() {
        let rule = Rule::Factor(4.0);
        assert_eq!(rule.band(), (Some(2.0), Some(16.0)));
        for (point, expected) in [
            (1.99, Verdict::Direction),
            (2.0, Verdict::Holds),
            (16.0, Verdict::Holds),
            (16.01, Verdict::Direction),
        ] {
            assert_eq!(verdict(rule, 1.01, point, 20.0), expected, "{point}");
        }
    }

    #[test]
    fn a_factor_s_interval_that_touches_one_says_nothing() {
        let rule = Rule::Factor(4.0);
        assert_eq!(verdict(rule, 1.0, 4.0, 5.0), Verdict::Inconclusive);
        assert_eq!(verdict(rule, 0.5, 0.9, 1.0), Verdict::Inconclusive);
        assert_eq!(verdict(rule, 0.5, 0.9, 0.99), Verdict::Differs);
        assert_eq!(verdict(rule, 1.01, 4.0, f64::INFINITY), Verdict::Holds);
    }

    #[test]
    fn a_factor_below_one_is_the_mirror_of_its_inverse() {
        let rule = Rule::Factor(0.25);
        assert_eq!(rule.band(), (Some(0.0625), Some(0.5)));
        assert_eq!(verdict(rule, 0.2, 0.5, 0.9), Verdict::Holds);
        assert_eq!(verdict(rule, 0.2, 0.51, 0.9), Verdict::Direction);
        assert_eq!(verdict(rule, 0.9, 1.0, 1.1), Verdict::Inconclusive);
        assert_eq!(verdict(rule, 1.1, 1.2, 1.3), Verdict::Differs);
    }

    #[test]
    fn what_never_ends_is_the_right_direction_and_no_more() {
        let never = f64::INFINITY;
        assert_eq!(verdict(Rule::Factor(2.0), never, never, never), Verdict::Direction);
        assert_eq!(verdict(Rule::Factor(0.5), never, never, never), Verdict::Differs);
        assert_eq!(verdict(Rule::Order, never, never, never), Verdict::Holds);
        assert_eq!(verdict(Rule::Equal, never, never, never), Verdict::Differs);
        assert_eq!(verdict(Rule::Band(None, Some(9.0)), never, never, never), Verdict::Differs);
    }

    #[test]
    fn an_order_needs_an_interval_above_one() {
        assert_eq!(verdict(Rule::Order, 1.001, 1.1, 1.2), Verdict::Holds);
        assert_eq!(verdict(Rule::Order, 1.0, 1.1, 1.2), Verdict::Inconclusive);
        assert_eq!(verdict(Rule::Order, 0.8, 0.9, 0.999), Verdict::Differs);
    }

    #[test]
    fn equal_needs_a_point_within_a_tenth_and_a_narrow_interval() {
        let rule = Rule::Equal;
        assert_eq!(verdict(rule, 0.8, 0.9, 1.25), Verdict::Holds);
        assert_eq!(verdict(rule, 0.79, 0.9, 1.25), Verdict::Inconclusive);
        assert_eq!(verdict(rule, 0.8, 1.1, 1.26), Verdict::Inconclusive);
        assert_eq!(verdict(rule, 0.85, 0.89, 0.95), Verdict::Inconclusive);
        assert_eq!(verdict(rule, 0.8, 0.85, 0.899), Verdict::Differs);
        assert_eq!(verdict(rule, 1.101, 1.12, 1.2), Verdict::Differs);
    }

    #[test]
    fn a_value_holds_within_a_quarter() {
        let rule = Rule::Value(40.0);
        assert_eq!(verdict(rule, 30.0, 40.0, 50.0), Verdict::Holds);
        assert_eq!(verdict(rule, 29.9, 40.0, 50.0), Verdict::Inconclusive);
        assert_eq!(verdict(rule, 50.1, 60.0, 70.0), Verdict::Differs);
    }

    #[test]
    fn a_printed_bound_on_a_ratio_has_a_direction() {
        let rule = Rule::AtLeast(30.0, true);
        assert_eq!(verdict(rule, 31.0, 40.0, 50.0), Verdict::Holds);
        assert_eq!(verdict(rule, 29.0, 40.0, 50.0), Verdict::Direction);
        assert_eq!(verdict(rule, 0.9, 40.0, 50.0), Verdict::Inconclusive);
        assert_eq!(verdict(rule, 2.0, 3.0, 4.0), Verdict::Direction);
        assert_eq!(verdict(rule, 0.5, 2.0, 4.0), Verdict::Differs);
        assert_eq!(verdict(Rule::AtLeast(30.0, false), 2.0, 3.0, 4.0), Verdict::Differs);
        assert_eq!(verdict(Rule::AtMost(0.5, true), 0.6, 0.7, 0.8), Verdict::Direction);
        assert_eq!(verdict(Rule::AtMost(0.5, true), 0.3, 0.4, 0.8), Verdict::Direction);
        assert_eq!(verdict(Rule::AtMost(0.5, true), 0.3, 0.4, 1.1), Verdict::Inconclusive);
        assert_eq!(verdict(Rule::AtMost(1.05, true), 1.06, 1.1, 1.2), Verdict::Differs);
        assert_eq!(verdict(Rule::AtMost(10.0, false), 1.0, 2.0, 10.0), Verdict::Holds);
    }

    #[test]
    fn a_word_has_a_direction_beyond_no_difference() {
        let clearly = Rule::Word(1.25);
        assert_eq!(verdict(clearly, 1.25, 1.4, 1.5), Verdict::Holds);
        assert_eq!(verdict(clearly, 1.2, 1.3, 1.5), Verdict::Direction);
        assert_eq!(verdict(clearly, 1.021, 1.1, 1.2), Verdict::Direction);
        assert_eq!(verdict(clearly, 1.02, 1.1, 1.2), Verdict::Differs);
        assert_eq!(verdict(clearly, 1.02, 1.3, 1.5), Verdict::Inconclusive);
        let clearly = Rule::Word(0.8);
        assert_eq!(clearly.band(), (None, Some(0.8)));
        assert_eq!(verdict(clearly, 0.0, 0.1, 0.8), Verdict::Holds);
        assert_eq!(verdict(clearly, 0.7, 0.75, 0.95), Verdict::Direction);
        assert_eq!(verdict(clearly, 0.85, 0.9, 0.99), Verdict::Differs);
        assert_eq!(verdict(clearly, 0.7, 0.9, 0.99), Verdict::Inconclusive);
    }

    #[test]
    fn close_is_nearer_than_what_holds() {
        let close = |rule: Rule, low: f64, point: f64, high: f64| rule.close(Interval { point, low, high });
        // From 4^.75 = 2.83 to 4^1.25 = 5.66.
        assert_eq!(close(Rule::Factor(4.0), 2.0, 2.82, 3.0), Some(false));
        assert_eq!(close(Rule::Factor(4.0), 2.0, 2.83, 3.0), Some(true));
        assert_eq!(close(Rule::Factor(4.0), 0.9, 4.0, 9.0), Some(false), "the interval contains 1");
        assert_eq!(close(Rule::Factor(0.25), 0.2, 0.25, 0.3), Some(true));
        assert_eq!(close(Rule::Equal, 0.9, 1.05, 1.1), Some(true));
        assert_eq!(close(Rule::Equal, 0.9, 1.06, 1.1), Some(false));
        assert_eq!(close(Rule::Value(40.0), 31.0, 31.0, 32.0), Some(true));
        assert_eq!(close(Rule::Order, 2.0, 3.0, 4.0), None);
    }

    #[test]
    fn not_below_is_above_or_equal() {
        let rule = Rule::NotBelow;
        assert_eq!(verdict(rule, 1.001, 2.0, 9.0), Verdict::Holds);
        assert_eq!(verdict(rule, 0.8, 0.9, 2.0), Verdict::Holds);
        assert_eq!(verdict(rule, 0.79, 0.95, 2.0), Verdict::Inconclusive);
        assert_eq!(verdict(rule, 0.85, 0.89, 0.95), Verdict::Inconclusive);
        assert_eq!(verdict(rule, 0.85, 0.89, 0.899), Verdict::Differs);
    }

    #[test]
    fn a_band_holds_where_the_whole_interval_lies_in_it() {
        let rule = Rule::Band(Some(1.0), Some(2.0));
        assert_eq!(verdict(rule, 1.0, 1.5, 2.0), Verdict::Holds);
        assert_eq!(verdict(rule, 0.99, 1.5, 2.0), Verdict::Inconclusive);
        assert_eq!(verdict(rule, 2.01, 2.1, 2.2), Verdict::Differs);
        assert_eq!(verdict(Rule::Band(None, Some(0.9)), 0.1, 0.5, 0.9), Verdict::Holds);
        assert_eq!(verdict(Rule::Band(Some(0.9), None), 0.1, 0.5, 0.89), Verdict::Differs);
    }
}
