//! Numbers and columns as a page holds them: short.

use serde_json::Value;

/// `x` rounded to `digits` significant digits; null if it is not finite.
pub(crate) fn short(x: f64, digits: i32) -> Value {
    if x == 0.0 {
        return 0.into();
    }
    if !x.is_finite() {
        return Value::Null;
    }
    let text = format!("{x:.*e}", (digits - 1).max(0) as usize);
    let rounded: f64 = text.parse().unwrap_or(x);
    // A whole number is shorter without its ".0".
    if rounded.fract() == 0.0 && rounded.abs() < 9e15 { (rounded as i64).into() } else { rounded.into() }
}

/// Four digits: what a curve needs.
pub(crate) fn point(x: f64) -> Value {
    short(x, 4)
}

/// A column; one that says the same of all rows is one value.
pub(crate) fn column<R>(rows: &[&R], of: &dyn Fn(&R) -> Value) -> Value {
    let values: Vec<Value> = rows.iter().map(|row| of(row)).collect();
    match values.first() {
        Some(first) if values.iter().all(|value| value == first) => first.clone(),
        _ => Value::Array(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_nobody_sees_are_left_out() {
        assert_eq!(point(1234.5678).to_string(), "1235");
        assert_eq!(point(0.123_456).to_string(), "0.1235");
        assert_eq!(point(2e10).to_string(), "20000000000");
        assert_eq!(point(0.0).to_string(), "0");
        assert_eq!(point(f64::INFINITY), Value::Null);
    }
}
