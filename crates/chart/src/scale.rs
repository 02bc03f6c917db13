//! Axes of numbers: where they begin and end, and their ticks, at 1, 2 and 5.

/// An axis from its lowest to its highest number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Scale {
    log: bool,
    low: f64,
    high: f64,
    /// Between ticks of a linear axis.
    step: f64,
}

/// The steps of ticks within a decade.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];

impl Scale {
    /// An axis of values on which the smallest and the largest of them have ticks at or beyond them: linear from 0, or
    /// logarithmic. `None` if no value is finite, or above 0 where it must be.
    pub(crate) fn of(values: &[f64], log: bool, most_ticks: usize) -> Option<Self> {
        let shown = || values.iter().copied().filter(|value| value.is_finite() && (!log || *value > 0.0));
        let (low, high) = (shown().reduce(f64::min)?, shown().reduce(f64::max)?);
        if log {
            let (low, high) = (round_down(low), round_up(high));
            let high = if high > low { high } else { round_up(low * 1.5) };
            return Some(Self { log, low, high, step: 0.0 });
        }
        Some(Self::linear(low.min(0.0), high, most_ticks))
    }

    /// A linear axis on which these two have ticks at or beyond them.
    pub(crate) fn linear(low: f64, high: f64, most_ticks: usize) -> Self {
        let span = if high > low { high - low } else { 1.0 };
        let step = round_up(span / most_ticks.max(2) as f64);
        Self {
            log: false,
            low: (low / step + 1e-9).floor() * step,
            high: ((low + span).max(0.0) / step - 1e-9).ceil() * step,
            step,
        }
    }

    /// An axis that is exactly as long as its values reach.
    pub(crate) fn within(values: &[f64], log: bool) -> Option<Self> {
        let shown = || values.iter().copied().filter(|value| value.is_finite() && (!log || *value > 0.0));
        let (low, high) = (shown().reduce(f64::min)?, shown().reduce(f64::max)?);
        Some(Self { log, low, high, step: round_up((high - low) / 5.0) })
    }

    /// From 0 at its beginning to 1 at its end.
    pub(crate) fn share(&self, value: f64) -> f64 {
        let share = match self.log {
            true if value <= 0.0 => 0.0,
            true if self.high > self.low => (value / self.low).ln() / (self.high / self.low).ln(),
            false if self.high > self.low => (value - self.low) / (self.high - self.low),
            _ => 0.5,
        };
        share.clamp(0.0, 1.0)
    }

    /// At most so many ticks: of a logarithmic axis at 1, 2 and 5; where that is too many, at powers of ten.
    pub(crate) fn ticks(&self, most: usize) -> Vec<f64> {
        if self.log {
            let all = self.decades(&STEPS);
            if all.len() <= most {
                return all;
            }
            let ones = self.decades(&STEPS[..1]);
            let every = ones.len().div_ceil(most.max(1)).max(1);
            return if ones.len() < 2 { all } else { ones.into_iter().step_by(every).collect() };
        }
        if self.step <= 0.0 {
            return vec![self.low];
        }
        let first = (self.low / self.step - 1e-9).ceil();
        let last = (self.high / self.step + 1e-9).floor();
        (0..=(last - first).max(0.0) as u32).map(|i| (first + f64::from(i)) * self.step).collect()
    }

    fn decades(&self, steps: &[f64]) -> Vec<f64> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let all = (first..=last).flat_map(|decade| steps.iter().map(move |step| times_ten(*step, decade)));
        all.filter(|tick| *tick >= self.low * (1.0 - 1e-9) && *tick <= self.high * (1.0 + 1e-9)).collect()
    }
}

/// `step` times ten to the power, exact for what a tick shows.
fn times_ten(step: f64, power: i32) -> f64 {
    if power < 0 { step / 10_f64.powi(-power) } else { step * 10_f64.powi(power) }
}

/// The next of 1, 2, 5, 10, ... at or above a number.
fn round_up(x: f64) -> f64 {
    let x = x.max(f64::MIN_POSITIVE * 1e10);
    let decade = x.log10().floor() as i32;
    let steps = (decade..=decade + 1).flat_map(|decade| STEPS.map(|step| times_ten(step, decade)));
    steps.into_iter().find(|step| *step >= x * (1.0 - 1e-9)).unwrap_or(x)
}

/// The next of them at or below it.
fn round_down(x: f64) -> f64 {
    let decade = x.log10().floor() as i32;
    let steps = (decade - 1..=decade).flat_map(|decade| STEPS.map(|step| times_ten(step, decade)));
    steps.into_iter().rfind(|step| *step <= x * (1.0 + 1e-9)).unwrap_or(x)
}

/// Whether all finite values are above 0 and span more than a decade.
#[must_use]
pub fn spans_a_decade(values: &[f64]) -> bool {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(0.0, f64::max));
    low > 0.0 && high > 10.0 * low
}

/// Whether places are better shown on a logarithmic axis: they span more than a decade, and their steps grow.
#[must_use]
pub fn wants_log(values: &[f64]) -> bool {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.dedup();
    let steps: Vec<f64> = sorted.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let grow = steps.len() < 2 || steps[steps.len() - 1] > 2.0 * steps[0];
    spans_a_decade(&sorted) && grow
}

/// A number as a tick shows it: 1.5, not 1.50.
#[must_use]
pub fn plain(x: f64) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    if !x.is_finite() {
        return "∞".to_owned();
    }
    let size = x.abs().log10().floor() as i32;
    if !(-4..7).contains(&size) {
        let text = format!("{x:.2e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", trimmed(digits));
    }
    trimmed(&format!("{x:.*}", (3 - size).clamp(0, 8) as usize))
}

fn trimmed(text: &str) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_zeros_at_their_end() {
        let shown = [1.5, 0.5, 200.0, 1234.0, 0.0001, 2e9, 0.1 + 0.2, 0.0].map(plain);
        assert_eq!(shown, ["1.5", "0.5", "200", "1234", "0.0001", "2e9", "0.3", "0"]);
    }

    #[test]
    fn a_logarithmic_axis_has_ticks_at_1_2_and_5() {
        let scale = Scale::of(&[0.3, 40.0], true, 10).unwrap();
        assert_eq!(scale.ticks(12), [0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
        // Too many of them: powers of ten.
        assert_eq!(
            Scale::of(&[1.0, 1e6], true, 10).unwrap().ticks(12),
            [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]
        );
        assert_eq!(Scale::of(&[1.0, 1e6], true, 10).unwrap().ticks(4), [1.0, 100.0, 1e4, 1e6]);
        // No axis has a lone tick.
        assert_eq!(Scale::of(&[3.0], true, 10).unwrap().ticks(9), [2.0, 5.0]);
    }

    #[test]
    fn a_linear_axis_begins_at_zero_and_has_round_steps() {
        let ticks = |high: f64| Scale::of(&[high], false, 5).unwrap().ticks(5);
        assert_eq!(ticks(7.3), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(ticks(1.0), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0].map(|x: f64| (x * 5.0).round() * 0.2));
        assert_eq!(ticks(0.0).len(), 6);
    }

    #[test]
    fn every_value_lies_within_its_axis() {
        for power in -30..30 {
            for digits in [1.0, 1.7, 2.0, 3.3, 9.99] {
                let values = [digits * 2_f64.powi(power), digits * 2_f64.powi(power + 3)];
                for log in [false, true] {
                    let scale = Scale::of(&values, log, 6).unwrap();
                    assert!(
                        scale.low <= values[0] * 1.000_001 && scale.high >= values[1] * 0.999_999,
                        "{scale:?}"
                    );
                    assert!((2..=12).contains(&scale.ticks(12).len()), "{scale:?}");
                }
            }
        }
    }

    #[test]
    fn values_over_more_than_a_decade_with_growing_steps_take_a_logarithmic_axis() {
        assert!(
            wants_log(&[1.0, 2.0, 20.0]) && wants_log(&[0.014, 0.1, 1.0, 20.0]) && wants_log(&[1.0, 11.0])
        );
        assert!(spans_a_decade(&[1.0, 10.5, f64::INFINITY]) && !spans_a_decade(&[1.0, 10.0]));
        assert!(!spans_a_decade(&[0.0, 100.0]) && !spans_a_decade(&[]));
        let loads: Vec<f64> = (1..=20).map(f64::from).collect();
        assert!(
            !wants_log(&loads)
                && !wants_log(&[1.0, 10.0])
                && !wants_log(&[0.0, 1.0, 100.0])
                && !wants_log(&[5.0])
        );
    }
}
