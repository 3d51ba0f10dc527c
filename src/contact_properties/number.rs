//! Conversion of numbers from and to text. Values of contacts are stored as text. Pure.

use serde_json::Number;

/// 2^63. An integer of a smaller magnitude fits into an `i64`.
const INTEGER_BELOW: f64 = 9_223_372_036_854_775_808.0;
/// Smallest magnitude that is written without an exponent.
const DIGITS_FROM: f64 = 1e-6;
/// Magnitude from which numbers are written with an exponent: further digits would not be significant.
const DIGITS_BELOW: f64 = 1e21;

/// Parses a decimal number, such as `12`, `-0.5` or `1e3`. Ignores surrounding white space. Returns
/// `None` if the text is not a number, or the number is too large for an `f64`.
pub(crate) fn parse(text: &str) -> Option<f64> {
    let text = text.trim();
    // The standard library also accepts `inf`, `infinity` and `nan`.
    if !text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E')) {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    // Adding zero turns negative zero into zero.
    number.is_finite().then_some(number + 0.0)
}

/// Parses the same texts as [`parse`], for output. An integer of 64 bits keeps all its digits. Any other
/// number is the nearest `f64`, as an integer if it has no fraction.
pub(super) fn read(text: &str) -> Option<Number> {
    let nearest = parse(text)?;
    let text = text.trim();
    let integer = text.parse::<i64>().ok().map(Number::from);
    if let Some(integer) = integer.or_else(|| text.parse::<u64>().ok().map(Number::from)) {
        return Some(integer);
    }
    if nearest.fract() == 0.0 && nearest.abs() < INTEGER_BELOW {
        return Some(Number::from(nearest as i64));
    }
    Number::from_f64(nearest)
}

/// Returns the shortest text that [`parse`] converts back to the same number. An integer has all its
/// digits.
pub(super) fn to_text(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => shortest(float),
        _ => number.to_string(),
    }
}

fn shortest(number: f64) -> String {
    if number == 0.0 {
        "0".to_owned()
    } else if (DIGITS_FROM..DIGITS_BELOW).contains(&number.abs()) {
        format!("{number}")
    } else {
        format!("{number:e}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_decimal_numbers_are_parsed() {
        for (text, number) in [
            ("12", Some(12.0)),
            (" -0.5\n", Some(-0.5)),
            ("+7", Some(7.0)),
            ("007", Some(7.0)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("1e3", Some(1_000.0)),
            ("1E-3", Some(0.001)),
            ("-0", Some(0.0)),
            ("1e-999", Some(0.0)),
            ("", None),
            (" \t", None),
            ("1e999", None),
            ("-1e999", None),
            ("inf", None),
            ("-Infinity", None),
            ("NaN", None),
            ("0x10", None),
            ("1_000", None),
            ("1,000", None),
            ("1 000", None),
            ("12a", None),
            ("e", None),
            ("-", None),
            ("1.2.3", None),
            ("\u{663}", None),
            ("true", None),
        ] {
            assert_eq!(parse(text), number, "{text:?}");
        }
        assert!(parse("-0").is_some_and(f64::is_sign_positive));
    }

    #[test]
    fn a_number_is_written_as_its_shortest_text() {
        for (number, text) in [
            (json!(0), "0"),
            (json!(-0.0), "0"),
            (json!(12), "12"),
            (json!(12.0), "12"),
            (json!(-1.5), "-1.5"),
            (json!(0.1), "0.1"),
            (json!(0.000_001), "0.000001"),
            (json!(1e-7), "1e-7"),
            (json!(1e20), "100000000000000000000"),
            (json!(1e21), "1e21"),
            (json!(u64::MAX), "18446744073709551615"),
            (json!(i64::MIN), "-9223372036854775808"),
            (json!(f64::MAX), "1.7976931348623157e308"),
        ] {
            assert_eq!(to_text(number.as_number().unwrap()), text);
        }
    }

    proptest! {
        #[test]
        fn every_finite_number_is_read_back(number: f64) {
            prop_assume!(number.is_finite());

            prop_assert_eq!(parse(&to_text(&Number::from_f64(number).unwrap())), Some(number));
        }

        #[test]
        fn the_parser_never_panics(text in ".{0,30}|[-+.eE0-9 ]{0,30}") {
            prop_assert!(parse(&text).is_none_or(f64::is_finite));
        }
    }
}
