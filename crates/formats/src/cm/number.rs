//! Starts: exact decimals to whole nanoseconds.

use super::TimeUnit;
use crate::decimal::{Scaled, scaled};

/// A start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Start {
    /// Nanoseconds, rounded half up.
    pub(super) ns: u64,
    /// Whether rounding changed it.
    pub(super) rounded: bool,
}

/// The latest start: the simulator counts ps in 64 bits.
pub(super) const LATEST_NS: u64 = u64::MAX / 1000;

/// Reads a decimal number, such as `1500`, `1.5` or `2e6`; `None` if it is not one, is negative, or is too large.
pub(super) fn start(text: &str, unit: TimeUnit) -> Option<Start> {
    let power = match unit {
        TimeUnit::Us => 3,
        TimeUnit::Ps => -3,
    };
    let Scaled { whole: ns, rounded } = scaled(text, power).filter(|start| start.whole <= LATEST_NS)?;
    Some(Start { ns, rounded })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn starts_are_exact() {
        let exact = |ns| Some(Start { ns, rounded: false });
        let rounded = |ns| Some(Start { ns, rounded: true });
        for (text, us, ps) in [
            ("0", exact(0), exact(0)),
            ("1", exact(1000), rounded(0)),
            ("1500", exact(1_500_000), rounded(2)),
            ("1499", exact(1_499_000), rounded(1)),
            ("0.0005", rounded(1), rounded(0)),
            ("0.00049", rounded(0), rounded(0)),
            ("1.5", exact(1500), rounded(0)),
            ("+.5", exact(500), rounded(0)),
            ("5.", exact(5000), rounded(0)),
            ("2e6", exact(2_000_000_000), exact(2000)),
            ("2E-3", exact(2), rounded(0)),
            ("1e-60", rounded(0), rounded(0)),
            // 32-bit floats have 24 bits: 16777217 would become 16777216.
            ("16777217000", exact(16_777_217_000_000), exact(16_777_217)),
            ("18446744073709551", None, exact(18_446_744_073_710)),
            ("18446744073709551000", None, exact(18_446_744_073_709_551)),
            ("18446744073709552000", None, None),
            ("0e999999999", exact(0), exact(0)),
            ("1e2147483647", None, None),
        ] {
            let expected_ps = match text {
                // Written out here, where the last digits are lost.
                "18446744073709551" => rounded(18_446_744_073_710),
                _ => ps,
            };
            assert_eq!((start(text, TimeUnit::Us), start(text, TimeUnit::Ps)), (us, expected_ps), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_starts() {
        for text in
            ["", "-1", "1x", "0x10", "inf", "nan", "1e", "1e1.5", "1.2.3", ".", "+", "1_000", " 1", "١"]
        {
            assert_eq!(start(text, TimeUnit::Us), None, "{text:?}");
        }
        assert_eq!(start(&"9".repeat(39), TimeUnit::Ps), None);
        assert!(start(&format!("0.{}", "9".repeat(38)), TimeUnit::Us).is_some());
    }

    proptest! {
        #[test]
        fn whole_numbers_survive_in_every_writing(ns in 0..LATEST_NS / 1000, zeros in 0_usize..5) {
            let expected = Some(Start { ns, rounded: false });
            let zeros = "0".repeat(zeros);
            prop_assert_eq!(start(&format!("{ns}000"), TimeUnit::Ps), expected);
            prop_assert_eq!(start(&format!("{zeros}{}.{:03}{zeros}", ns / 1000, ns % 1000), TimeUnit::Us), expected);
            prop_assert_eq!(start(&format!("{ns}.{zeros}e-3"), TimeUnit::Us), expected);
        }
    }
}
