//! Decimal numbers as other tools write them, read exactly.

/// A number in a smaller unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scaled {
    /// Whole units, rounded half up.
    pub whole: u64,
    /// Whether rounding changed it.
    pub rounded: bool,
}

/// Reads a decimal number, such as `1500`, `1.5` or `2e6`, times 10^`power`; `None` if it is not one, is negative, or is too
/// large.
#[must_use]
pub fn scaled(text: &str, power: i32) -> Option<Scaled> {
    let (mantissa, exponent) = decimal(text)?;
    let exponent = exponent.checked_add(power)?;
    let ten_to = |by: u32| 10_u128.checked_pow(by);
    let (whole, rounded) = if mantissa == 0 {
        (0, false)
    } else if let Ok(by) = u32::try_from(exponent) {
        (mantissa.checked_mul(ten_to(by)?)?, false)
    } else {
        // A mantissa has at most 38 digits: divided by more than 10^38 it is less than a tenth.
        ten_to(exponent.unsigned_abs()).map_or((0, true), |divisor| {
            let (whole, rest) = (mantissa / divisor, mantissa % divisor);
            (whole + u128::from(rest >= divisor - rest), rest != 0)
        })
    };
    Some(Scaled { whole: u64::try_from(whole).ok()?, rounded })
}

/// Digits with at most one point among them, and perhaps an exponent: mantissa x 10^exponent.
fn decimal(text: &str) -> Option<(u128, i32)> {
    let (number, exponent) = match text.split_once(['e', 'E']) {
        None => (text, 0),
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
    };
    let number = number.strip_prefix('+').unwrap_or(number);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = [whole, fraction].concat();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    if significant.is_empty() {
        return Some((0, 0));
    }
    if significant.len() > 38 {
        return None;
    }
    let shift = i32::try_from(zeros).ok()?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    Some((significant.parse().ok()?, exponent.checked_add(shift)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_whole_picoseconds() {
        for (text, whole, rounded) in [
            ("2.000000001", 2_000_000_001_000, false),
            ("0.001", 1_000_000_000, false),
            ("1e-12", 1, false),
            ("4e-13", 0, true),
            ("5e-13", 1, true),
        ] {
            assert_eq!(scaled(text, 12), Some(Scaled { whole, rounded }), "{text}");
        }
        assert_eq!(scaled("18446745", 12), None);
    }
}
