use serde_json::Number;

use super::Fault;

/// A number in its original spelling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Numeral<'t> {
    /// A 64-bit integer of at most 19 digits.
    Small {
        /// `true` for a negative number.
        negative: bool,
        /// The digits.
        magnitude: u64,
    },
    /// Any other number.
    Other(&'t str),
}

impl Numeral<'_> {
    /// Returns the number as a value represents it with any features of `serde_json`: a 64-bit integer or the nearest
    /// float; `None` if there is none.
    pub(crate) fn to_number(self) -> Option<Number> {
        self.to_number_with_rounding().map(|(number, _)| number)
    }

    /// As [`to_number`](Self::to_number); also returns `true` if rounding removed the fraction.
    pub(crate) fn to_number_with_rounding(self) -> Option<(Number, bool)> {
        let number = match self {
            Self::Small { negative: true, magnitude: 0 } => Number::from_f64(-0.0),
            Self::Small { negative, magnitude } => {
                let value = i128::from(magnitude);
                Number::from_i128(if negative { -value } else { value })
            }
            Self::Other(text) => match integer_value(text).filter(|it| fits_64_bits(text, *it)) {
                Some(integer) => Number::from_i128(integer),
                None => {
                    let float = text.parse::<f64>().ok().filter(|float| float.is_finite())?;
                    let (float, is_rounded) = nearest_float(text, float);
                    return Number::from_f64(float).map(|number| (number, is_rounded));
                }
            },
        };
        number.map(|number| (number, false))
    }
}

/// The parts of a JSON number, as they are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NumberParts<'t> {
    pub(crate) is_negative: bool,
    /// The digits before the point.
    pub(crate) whole: &'t str,
    /// The digits after the point.
    pub(crate) fraction: &'t str,
    /// The exponent with its sign; `0` if there is none.
    pub(crate) exponent: &'t str,
}

impl<'t> NumberParts<'t> {
    pub(crate) fn of(number: &'t str) -> Self {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let (is_negative, whole) = whole.strip_prefix('-').map_or((false, whole), |whole| (true, whole));
        Self { is_negative, whole, fraction, exponent }
    }
}

/// Returns `true` if a number equal to `integer` is read as a 64-bit integer by a type without a fixed number type:
/// it is written as an integer, or a float would change it.
pub(crate) fn fits_64_bits(number: &str, integer: i128) -> bool {
    let is_written_as_one = || !number.contains(['.', 'e', 'E']);
    let is_of_64_bits = (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&integer);
    is_of_64_bits && (is_written_as_one() || integer_of_float(integer as f64) != Some(integer))
}

/// Sentinel for a fractional number between 2^52, from which `f64` has no fractions, and [`MAX_SENTINEL`]; negative
/// ones likewise.
pub(crate) const FRACTION_SENTINEL: f64 = NO_FRACTIONS - 0.5;

/// 2^64: from here on, integers exceed 64 bits, and a float cannot be taken for one.
pub(crate) const MAX_SENTINEL: i128 = 1 << 64;

/// From this value on, floats have no fraction.
const NO_FRACTIONS: f64 = (1_u64 << 52) as f64;

/// Returns the float that a value has for a number, and `true` if `float`, the nearest one, [is rounded](is_rounded). It
/// is the nearest float, or another one with a fraction if the nearest is a 64-bit integer and the number is not
/// (`3.0000000000000001` is not an integer): the next one on the number's side, or a [stand-in](FRACTION_SENTINEL).
pub(crate) fn nearest_float(number: &str, float: f64) -> (f64, bool) {
    const LARGE: f64 = MAX_SENTINEL as f64;

    let is_rounded = is_rounded(number, float);
    let near = match float.abs() {
        _ if !is_rounded => float,
        NO_FRACTIONS..LARGE => FRACTION_SENTINEL.copysign(float),
        LARGE.. => float,
        _ if is_closer_to_zero(number, float) == (float > 0.0) => float.next_down(),
        _ => float.next_up(),
    };
    (near, is_rounded)
}

/// Returns `true` if a number with a fraction is closer to zero than `float`, the nearest one, which has none.
fn is_closer_to_zero(number: &str, float: f64) -> bool {
    let NumberParts { whole, fraction, exponent, .. } = NumberParts::of(number);
    let whole_digits = i64::try_from(whole.len()).unwrap_or(i64::MAX);
    let before_point = whole_digits.saturating_add(exponent.parse().unwrap_or_default());
    let digits =
        whole.bytes().chain(fraction.bytes()).take(usize::try_from(before_point).unwrap_or_default());
    let integer =
        digits.fold(0_u64, |integer, digit| integer.saturating_mul(10).saturating_add((digit & 15).into()));
    integer < float.abs() as u64
}

/// Returns `true` if a number has a fraction and `float`, the nearest one, has none. Numbers so small that zero is
/// the nearest float count as zero.
fn is_rounded(number: &str, float: f64) -> bool {
    float.fract() == 0.0 && float != 0.0 && number.contains(['.', 'e', 'E']) && has_fraction(number)
}

/// Returns `true` if a number other than zero, in the range of floats, is not an integer, exactly.
fn has_fraction(number: &str) -> bool {
    let NumberParts { whole, fraction, exponent, .. } = NumberParts::of(number);
    // An exponent with more digits than an `i64` is outside the range of floats.
    let exponent: i64 = exponent.parse().unwrap_or_default();
    let significant = fraction.trim_end_matches('0');
    let zeros = if significant.is_empty() { whole.len() - whole.trim_end_matches('0').len() } else { 0 };
    let last =
        i64::try_from(zeros).unwrap_or(i64::MAX) - i64::try_from(significant.len()).unwrap_or(i64::MAX);
    exponent.saturating_add(last) < 0
}

/// Returns the integer that the shortest form of a float denotes; `None` if it has a fraction or exceeds 128 bits.
///
/// Above 2^53 it may differ from the float's exact value, which the author did not write: `1e23` is not
/// 99999999999999991611392.
pub(crate) fn integer_of_float(float: f64) -> Option<i128> {
    /// Below this value, all integers are exact floats.
    const EXACT: f64 = (1_u64 << 53) as f64;

    if float.fract() != 0.0 {
        None
    } else if float.abs() <= EXACT {
        Some(float as i128)
    } else {
        integer_value(&format!("{float:e}"))
    }
}

/// Every number with this many digits fits into a `u64`.
const FEW_DIGITS: usize = 19;

/// Reads an integer of at most 18 digits in its usual form; returns its sign, its digits, and the remaining bytes.
#[inline]
pub(super) fn read_common_integer(bytes: &[u8]) -> Option<(bool, u64, &[u8])> {
    let (negative, digits) = split_sign(bytes);
    let (magnitude, rest) = leading_digits(digits, 0);
    let count = digits.len() - rest.len();
    let is_odd = match count {
        0 => true,
        1 => negative && magnitude == 0,
        _ => count > 18 || digits.first() == Some(&b'0'),
    };
    let goes_on = matches!(rest.first(), Some(b'.' | b'e' | b'E'));
    if is_odd || goes_on { None } else { Some((negative, magnitude, rest)) }
}

/// Reads a number with a fraction, without exponent, of at most 15 digits; returns the nearest float and the remaining
/// bytes.
///
/// The digits and the power of ten are exact floats, so that their quotient is rounded once. With so few digits, the
/// float is an integer only if the number is.
#[inline]
pub(super) fn read_short_decimal(bytes: &[u8]) -> Option<(f64, &[u8])> {
    const POWERS: [f64; 15] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];

    let (negative, digits) = split_sign(bytes);
    let (whole, rest) = leading_digits(digits, 0);
    let count = digits.len() - rest.len();
    let [b'.', fraction @ ..] = rest else { return None };
    let (magnitude, rest) = leading_digits(fraction, whole);
    let places = fraction.len() - rest.len();
    let is_odd = count == 0
        || (count > 1 && digits.first() == Some(&b'0'))
        || count + places > POWERS.len()
        || matches!(rest.first(), Some(b'e' | b'E'));
    let power = POWERS.get(places).filter(|_| places > 0 && !is_odd)?;
    let float = magnitude as f64 / power;
    Some((if negative { -float } else { float }, rest))
}

#[inline]
const fn split_sign(bytes: &[u8]) -> (bool, &[u8]) {
    match bytes {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    }
}

/// Appends the digits at the start of `bytes` to `magnitude`; returns it, and the remaining bytes.
#[inline]
const fn leading_digits(bytes: &[u8], mut magnitude: u64) -> (u64, &[u8]) {
    let mut rest = bytes;
    while let [digit @ b'0'..=b'9', after @ ..] = rest {
        magnitude = magnitude.wrapping_mul(10).wrapping_add((*digit & 15) as u64);
        rest = after;
    }
    (magnitude, rest)
}

/// Reads the number at `start`; returns it and the offset of its end.
pub(super) fn read_numeral(text: &str, start: usize) -> Result<(Numeral<'_>, usize), Fault> {
    let bytes = text.as_bytes();
    let negative = bytes.get(start) == Some(&b'-');
    let first = start + usize::from(negative);
    let mut magnitude = 0_u64;
    let mut end = first;
    while let Some(digit @ b'0'..=b'9') = bytes.get(end) {
        magnitude = magnitude.wrapping_mul(10).wrapping_add((digit & 15).into());
        end += 1;
    }
    let has_leading_zero = end > first + 1 && bytes.get(first) == Some(&b'0');
    if end == first || has_leading_zero {
        return Err(Fault::Syntax);
    }
    let is_integer = !matches!(bytes.get(end), Some(b'.' | b'e' | b'E'));
    if is_integer && end - first <= FEW_DIGITS && !(negative && magnitude > 1 << 63) {
        return Ok((Numeral::Small { negative, magnitude }, end));
    }
    if bytes.get(end) == Some(&b'.') {
        end = digits_end(bytes, end + 1)?;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        end += 1;
        end = digits_end(bytes, end + usize::from(matches!(bytes.get(end), Some(b'+' | b'-'))))?;
    }
    Ok((Numeral::Other(text.get(start..end).unwrap_or_default()), end))
}

/// Returns the end of the digits from `start`; there must be at least one.
fn digits_end(bytes: &[u8], start: usize) -> Result<usize, Fault> {
    let rest = bytes.get(start..).unwrap_or_default();
    match rest.iter().take_while(|byte| byte.is_ascii_digit()).count() {
        0 => Err(Fault::Syntax),
        count => Ok(start + count),
    }
}

/// Returns the exact integer value of a number; `None` if it has a fraction or exceeds 128 bits.
pub(crate) fn integer_value(number: &str) -> Option<i128> {
    let NumberParts { is_negative, whole, fraction, exponent } = NumberParts::of(number);
    let (exponent, fraction) = (exponent.parse::<i64>().ok()?, fraction.trim_end_matches('0'));
    let mut value = 0_i128;
    for digit in whole.bytes().chain(fraction.bytes()) {
        value = value.checked_mul(10)?.checked_sub((digit & 15).into())?;
    }
    // Computed as a negative number, since the range of negative integers is larger by one.
    let mut shift = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    while shift < 0 && value != 0 {
        if value % 10 != 0 {
            return None;
        }
        (value, shift) = (value / 10, shift + 1);
    }
    while shift > 0 && value != 0 {
        (value, shift) = (value.checked_mul(10)?, shift - 1);
    }
    if is_negative { Some(value) } else { value.checked_neg() }
}

#[cfg(test)]
mod tests;
