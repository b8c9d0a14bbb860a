//! The canonical spelling of numbers.

use std::borrow::Cow;

use crate::json::NumberParts;

/// The maximum number of zeros added to avoid an exponent. All 128-bit integers are written in full, but `1e400000`
/// does not become a text of 400,000 digits.
const MOST_ZEROS: usize = 40;

/// The maximum number of exponent digits for integer arithmetic.
const FEW_DIGITS: usize = 36;

/// 10^[`FEW_DIGITS`].
const SPLIT: i128 = 10_i128.pow(FEW_DIGITS as u32);

/// Returns the canonical spelling of the JSON number `text`, which is the same for all spellings of one exact decimal
/// value.
///
/// An integer is written in full (`1e2` becomes `100`) and a fraction with a point (`15e-1` becomes `1.5`). If that
/// would take more than [`MOST_ZEROS`] zeros, the form is `d.ddde-n`. `-0` becomes `0`.
pub(crate) fn canonical_number(text: &str) -> Cow<'_, str> {
    let NumberParts { is_negative, whole, fraction, exponent } = NumberParts::of(text);
    let is_plain = whole.len() + usize::from(is_negative) == text.len();
    if is_plain && whole != "0" && whole.len() - whole.trim_end_matches('0').len() <= MOST_ZEROS {
        return Cow::Borrowed(text);
    }
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Cow::Borrowed("0");
    }
    // The power of ten of the first significant digit, without the exponent.
    let leading = digits.len() - digits.trim_start_matches('0').len();
    let power = whole.len() as i128 - leading as i128 - 1;
    let sign = if is_negative { "-" } else { "" };
    let (exponent_is_negative, exponent) = match exponent.as_bytes().first() {
        Some(b'-') => (true, &exponent[1..]),
        Some(b'+') => (false, &exponent[1..]),
        _ => (false, exponent),
    };
    let exponent = exponent.trim_start_matches('0');
    if exponent.len() > FEW_DIGITS {
        let power = if exponent_is_negative { -power } else { power };
        let minus = if exponent_is_negative { "-" } else { "" };
        return Cow::Owned(format!(
            "{sign}{}e{minus}{}",
            insert_point_after_first_digit(significant),
            add_to_many_digits(exponent, power)
        ));
    }
    let exponent = exponent.parse::<i128>().unwrap_or_default();
    let power = power + if exponent_is_negative { -exponent } else { exponent };
    Cow::Owned(format_decimal(sign, significant, power))
}

/// Formats the number whose first digit has the weight 10^`power`.
fn format_decimal(sign: &str, digits: &str, power: i128) -> String {
    let whole = usize::try_from(power).ok().and_then(|power| power.checked_add(1));
    let zeros = |count: i128| usize::try_from(count).ok().filter(|count| *count <= MOST_ZEROS);
    let zeros = match whole {
        Some(whole) if whole < digits.len() => {
            let (whole, fraction) = digits.split_at(whole);
            return format!("{sign}{whole}.{fraction}");
        }
        Some(whole) => zeros(whole as i128 - digits.len() as i128),
        None => zeros(-1 - power),
    };
    match (whole, zeros) {
        (Some(_), Some(zeros)) => format!("{sign}{digits}{}", "0".repeat(zeros)),
        (None, Some(zeros)) => format!("{sign}0.{}{digits}", "0".repeat(zeros)),
        (_, None) => format!("{sign}{}e{power}", insert_point_after_first_digit(digits)),
    }
}

/// Returns the digits with a point after the first.
fn insert_point_after_first_digit(digits: &str) -> String {
    match digits.split_at(1) {
        (first, "") => first.to_owned(),
        (first, rest) => format!("{first}.{rest}"),
    }
}

/// Returns `number + add`, where the number has more than [`FEW_DIGITS`] digits and `add` has fewer.
fn add_to_many_digits(number: &str, add: i128) -> String {
    let (high, low) = number.split_at(number.len() - FEW_DIGITS);
    let low = low.parse::<i128>().unwrap_or_default() + add;
    let high = match low.div_euclid(SPLIT) {
        0 => high.to_owned(),
        1 => step_digits_with_carry(high, b'9', b'0', |digit| digit + 1),
        _ => step_digits_with_carry(high, b'0', b'9', |digit| digit - 1),
    };
    let text = format!("{high}{:0FEW_DIGITS$}", low.rem_euclid(SPLIT));
    text.trim_start_matches('0').to_owned()
}

/// Increments or decrements `number`: trailing digits equal to `full` become `empty`, and the digit before them is
/// changed by `step`.
fn step_digits_with_carry(number: &str, full: u8, empty: u8, step: fn(u8) -> u8) -> String {
    let mut digits: Vec<u8> = [b"0", number.as_bytes()].concat();
    for digit in digits.iter_mut().rev() {
        if *digit != full {
            *digit = step(*digit);
            break;
        }
        *digit = empty;
    }
    digits.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::canonical_number;

    fn check(spellings: &[&str], expected: &str) {
        for text in spellings {
            assert_eq!(canonical_number(text), expected, "{text}");
            assert_eq!(canonical_number(expected), expected);
        }
    }

    #[test]
    fn a_number_has_one_spelling() {
        check(&["100", "100.0", "1e2", "1E+2", "1000e-1", "0.1e3", "100.000e0"], "100");
        check(&["-1", "-1.0", "-10e-1", "-0.1e01"], "-1");
        check(&["0", "-0", "0.0", "-0e9", "0e-99999999999999999999999999999999999999999"], "0");
        check(&["1.5", "15e-1", "0.15e1", "1.50"], "1.5");
        check(&["0.001", "1e-3", "1E-03"], "0.001");
        check(&["10", "1e1", "1.0e1"], "10");
        check(&["-12.25", "-1225e-2"], "-12.25");
    }

    #[test]
    fn digits_are_never_rounded() {
        check(&["340282366920938463463374607431768211455"], "340282366920938463463374607431768211455");
        check(&["3.40282366920938463463374607431768211455e38"], "340282366920938463463374607431768211455");
        check(&["9007199254740993.0", "9007199254740993"], "9007199254740993");
        check(&["3.0000000000000000000000000000000000000001"], "3.0000000000000000000000000000000000000001");
    }

    #[test]
    fn an_exponent_is_bounded_and_exact() {
        check(&["1e400000", "10e399999", "0.1e400001"], "1e400000");
        check(&["-12e-400000", "-1.2e-399999"], "-1.2e-399999");
        let zeros = "0".repeat(50);
        check(&[&format!("1{zeros}"), "1e50"], "1e50");
        check(&[&format!("0.{zeros}1"), "1e-51"], "1e-51");
        let nines = "9".repeat(40);
        check(
            &[&format!("10e{nines}"), &format!("1e1{}", "0".repeat(40))],
            &format!("1e1{}", "0".repeat(40)),
        );
        check(&[&format!("0.1e1{}", "0".repeat(40))], &format!("1e{nines}"));
        check(&[&format!("0.1e-{nines}")], &format!("1e-1{}", "0".repeat(40)));
        check(&[&format!("10e-1{}", "0".repeat(40))], &format!("1e-{nines}"));
        // The exponent loses a digit when the point is moved.
        check(&[&format!("0.1e1{}", "0".repeat(36))], &format!("1e{}", "9".repeat(36)));
    }

    #[test]
    fn at_most_forty_zeros_are_added_to_avoid_an_exponent() {
        let zeros = "0".repeat(40);
        check(&["1e40", "1e+40", "10e39", &format!("1{zeros}.0")], &format!("1{zeros}"));
        check(&["-12e40", "-1.2e41"], &format!("-12{zeros}"));
        check(&["1e41", &format!("10{zeros}"), &format!("10{zeros}.0")], "1e41");
        check(&["-1.2e42", &format!("-120{zeros}")], "-1.2e42");
        check(&["1e-41", &format!("0.{zeros}10")], &format!("0.{zeros}1"));
        check(&["1e-42", &format!("0.{zeros}01")], "1e-42");
        check(&["-12e-42"], &format!("-0.{zeros}12"));
        check(&["-12e-43"], "-1.2e-42");
        // As many digits of an exponent as an integer has, and one more.
        let nines = "9".repeat(36);
        check(
            &[&format!("1e+{nines}"), &format!("1e00{nines}"), &format!("10e{}8", "9".repeat(35))],
            &format!("1e{nines}"),
        );
        check(&[&format!("1e-{nines}"), &format!("0.1e-{}8", "9".repeat(35))], &format!("1e-{nines}"));
        check(&[&format!("1e+1{nines}"), &format!("100e1{}7", "9".repeat(35))], &format!("1e1{nines}"));
        check(&[&format!("0.012e1{nines}")], &format!("1.2e1{}7", "9".repeat(35)));
    }
}
