//! F12: numbers as they are written.

#![allow(clippy::unwrap_used, reason = "a test may")]

use super::*;

// F12
#[test]
fn an_integer_of_64_bits_and_at_most_19_digits_is_read_at_once() {
    for (text, negative, magnitude) in [
        ("0", false, 0),
        ("-0", true, 0),
        ("7", false, 7),
        ("-10", true, 10),
        ("9999999999999999999", false, 9_999_999_999_999_999_999),
        ("-9223372036854775808", true, 1 << 63),
    ] {
        for rest in ["", "]", ",1", " ", "x"] {
            let within = format!("[{text}{rest}");
            let read = read_numeral(&within, 1).unwrap();
            assert_eq!(read, (Numeral::Small { negative, magnitude }, 1 + text.len()), "{text}{rest}");
        }
    }
    for text in [
        "18446744073709551615",
        "10000000000000000000",
        "-9223372036854775809",
        "-9999999999999999999",
        "1.0",
        "-0.0",
        "1e2",
        "1E+2",
        "10.25e-3",
    ] {
        assert_eq!(read_numeral(&format!("{text}]"), 0), Ok((Numeral::Other(text), text.len())), "{text}");
    }
    for wrong in ["", "-", "x", "01", "-01", "00", "1.", "1.e2", "1e", "1e+", "1E-x", ".5", "-.5", "+1"] {
        assert_eq!(read_numeral(wrong, 0), Err(Fault::Syntax), "{wrong}");
    }
}

#[test]
fn a_common_integer_has_at_most_18_digits() {
    for (text, negative, magnitude) in [
        ("0", false, 0),
        ("9", false, 9),
        ("-1", true, 1),
        ("-10", true, 10),
        ("999999999999999999", false, 999_999_999_999_999_999),
        ("-123456789012345678", true, 123_456_789_012_345_678),
    ] {
        for rest in ["", ",", "]", "x"] {
            let read =
                read_common_integer(format!("{text}{rest}").as_bytes()).map(|it| (it.0, it.1, it.2.len()));
            assert_eq!(read, Some((negative, magnitude, rest.len())), "{text}{rest}");
        }
    }
    for other in ["", "-", "x", "-0", "00", "01", "-01", "1.5", "1e2", "1E2", "1000000000000000000"] {
        assert_eq!(read_common_integer(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn a_short_decimal_has_a_fraction_and_at_most_15_digits() {
    for text in [
        "0.5",
        "-0.5",
        "1.50",
        "10.0",
        "0.1",
        "-0.0",
        "12345678.1234567",
        "0.00000000000001",
        "12345678901234.5",
    ] {
        for rest in ["", ",", "]", "x"] {
            let whole = format!("{text}{rest}");
            let (float, after) = read_short_decimal(whole.as_bytes()).unwrap();
            assert_eq!(float.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
            assert_eq!(after, rest.as_bytes(), "{text}");
        }
    }
    for other in [
        "",
        "-",
        "1",
        "1.",
        "1.x",
        ".5",
        "-.5",
        "01.5",
        "-00.5",
        "1.5e2",
        "1.5E2",
        "123456789.1234567",
        "0.000000000000001",
        "123456789012345.5",
    ] {
        assert_eq!(read_short_decimal(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn an_integer_value_is_exact_within_128_bits() {
    for (text, value) in [
        ("0", Some(0)),
        ("-0", Some(0)),
        ("0.000", Some(0)),
        ("0e99", Some(0)),
        ("0e-99", Some(0)),
        // In few steps.
        ("0e9000000000000000000", Some(0)),
        ("0e-9000000000000000000", Some(0)),
        ("12", Some(12)),
        ("-12.50e1", Some(-125)),
        ("1.20E+2", Some(120)),
        ("1200e-2", Some(12)),
        ("1200e-3", None),
        ("1.5", None),
        ("170141183460469231731687303715884105727", Some(i128::MAX)),
        ("170141183460469231731687303715884105728", None),
        ("-170141183460469231731687303715884105728", Some(i128::MIN)),
        ("-170141183460469231731687303715884105729", None),
        ("1e38", Some(10_i128.pow(38))),
        ("1e39", None),
        ("1e99999999999999999999", None),
    ] {
        assert_eq!(integer_value(text), value, "{text}");
    }
}

#[test]
fn a_number_has_a_fraction_if_a_digit_other_than_zero_is_behind_the_point() {
    for (number, expected) in [
        ("1", false),
        ("10", false),
        ("1.0", false),
        ("1.5", true),
        ("1.5e1", false),
        ("1.50e1", false),
        ("1.05e1", true),
        ("10e-1", false),
        ("10.0e-1", false),
        ("100e-2", false),
        ("100e-3", true),
        ("100.0E-2", false),
        ("101e-1", true),
        ("100.10e1", false),
        ("1e-9223372036854775808", true),
        ("1.5e9223372036854775807", false),
    ] {
        assert_eq!(has_fraction(number), expected, "{number}");
        assert_eq!(has_fraction(&format!("-{number}")), expected, "-{number}");
    }
}

#[test]
fn a_fraction_beyond_64_bits_keeps_the_nearest_float() {
    for (number, near) in [
        ("18446744073709551616.5", 18_446_744_073_709_551_616.0),
        ("100000000000000000000.5", 1e20),
        ("-100000000000000000000.5", -1e20),
    ] {
        assert_eq!(nearest_float(number, number.parse().unwrap()), (near, true), "{number}");
    }
    let (near, is_rounded) = nearest_float("4503599627370496.75", 4_503_599_627_370_497.0);
    assert!(is_rounded && near == FRACTION_SENTINEL);
}
