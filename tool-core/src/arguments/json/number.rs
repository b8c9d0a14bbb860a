use serde_json::Number;

use super::Fault;

/// A number as it was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::arguments) enum Numeral<'t> {
    /// An integer of 64 bits, of at most 19 digits.
    Small {
        /// Whether there is a minus.
        negative: bool,
        /// The digits.
        magnitude: u64,
    },
    /// Any other number.
    Other(&'t str),
}

impl Numeral<'_> {
    /// The number as a value holds it, which is the same with all features of `serde_json`: an
    /// integer of 64 bits, or else the nearest float; `None` where there is none.
    pub(in crate::arguments) fn to_number(self) -> Option<Number> {
        self.rounded().map(|(number, _)| number)
    }

    /// The same, and whether it stands for a number with a fraction to which the nearest float has none.
    pub(in crate::arguments) fn rounded(self) -> Option<(Number, bool)> {
        let number = match self {
            Self::Small { negative: true, magnitude: 0 } => Number::from_f64(-0.0),
            Self::Small { negative, magnitude } => {
                let value = i128::from(magnitude);
                Number::from_i128(if negative { -value } else { value })
            }
            Self::Other(text) => match integral(text).filter(|it| is_kept(text, *it)) {
                Some(integer) => Number::from_i128(integer),
                None => {
                    let (float, is_rounded) = near(text)?;
                    return Number::from_f64(float).map(|number| (number, is_rounded));
                }
            },
        };
        number.map(|number| (number, false))
    }
}

/// Whether a number that stands for `integer` is one of 64 bits, and no float if it is of an
/// unknown type: it is written as an integer, or a float would be another one.
pub(in crate::arguments) fn is_kept(number: &str, integer: i128) -> bool {
    let is_written_as_one = || !number.contains(['.', 'e', 'E']);
    let is_of_64_bits = (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&integer);
    is_of_64_bits && (is_written_as_one() || written(integer as f64) != Some(integer))
}

/// The float that stands for a number, and whether the number [is rounded](is_rounded) by the nearest float: the
/// nearest, or another one with a fraction where the nearest is an integer of 64 bits and the number is none
/// (`3.0000000000000001` is no integer). `None` where the number is too large.
fn near(number: &str) -> Option<(f64, bool)> {
    /// From here on, no float has a fraction.
    const NO_FRACTIONS: f64 = (1_u64 << 52) as f64;
    /// From here on, no integer has 64 bits.
    const LARGE: f64 = u64::MAX as f64;

    let float = number.parse::<f64>().ok().filter(|float| float.is_finite())?;
    let is_rounded = is_rounded(number, float);
    let near = match float.abs() {
        _ if !is_rounded => float,
        NO_FRACTIONS..LARGE => (NO_FRACTIONS - 0.5).copysign(float),
        LARGE.. => float,
        _ => float.next_up(),
    };
    Some((near, is_rounded))
}

/// Whether a number has a fraction and `float`, the nearest to it, has none. What is so small that no float but
/// zero is near counts as zero.
pub(in crate::arguments) fn is_rounded(number: &str, float: f64) -> bool {
    float.fract() == 0.0 && float != 0.0 && number.contains(['.', 'e', 'E']) && has_fraction(number)
}

/// Whether a number is no integer, exactly.
fn has_fraction(number: &str) -> bool {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = whole.bytes().chain(fraction.bytes()).filter(u8::is_ascii_digit);
    if digits.all(|digit| digit == b'0') {
        return false;
    }
    // An exponent of more digits than an `i64` has is that of no float.
    let Ok(exponent) = exponent.parse::<i64>() else { return exponent.starts_with('-') };
    let kept = fraction.trim_end_matches('0');
    let zeros = if kept.is_empty() { whole.len() - whole.trim_end_matches('0').len() } else { 0 };
    let last = i64::try_from(zeros).unwrap_or(i64::MAX) - i64::try_from(kept.len()).unwrap_or(i64::MAX);
    exponent.saturating_add(last) < 0
}

/// The integer that a float stands for when it is written; `None` if it has a fraction or is beyond
/// 128 bits.
///
/// Above 2^53 that is another one than the float's own value, which nobody wrote: `1e23` is no
/// 99999999999999991611392.
pub(in crate::arguments) fn written(float: f64) -> Option<i128> {
    /// Below, floats and integers are the same.
    const EXACT: f64 = (1_u64 << 53) as f64;

    if float.fract() != 0.0 {
        None
    } else if float.abs() <= EXACT {
        Some(float as i128)
    } else {
        integral(&format!("{float:e}"))
    }
}

/// All numbers of so many digits fit an `u64`.
const FEW_DIGITS: usize = 19;

/// The integer that begins here, if it has at most 18 digits and nothing odd about it: its sign, its
/// digits, and what comes after it.
#[inline]
pub(super) fn common(bytes: &[u8]) -> Option<(bool, u64, &[u8])> {
    let (negative, digits) = match bytes {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let mut magnitude = 0_u64;
    let mut rest = digits;
    while let [digit @ b'0'..=b'9', after @ ..] = rest {
        magnitude = magnitude.wrapping_mul(10).wrapping_add(u64::from(*digit & 15));
        rest = after;
    }
    let count = digits.len() - rest.len();
    let is_odd = match count {
        0 => true,
        1 => negative && magnitude == 0,
        _ => count > 18 || digits.first() == Some(&b'0'),
    };
    let goes_on = matches!(rest.first(), Some(b'.' | b'e' | b'E'));
    if is_odd || goes_on { None } else { Some((negative, magnitude, rest)) }
}

/// The number that begins at `start`, and where the text goes on after it.
pub(super) fn read(text: &str, start: usize) -> Result<(Numeral<'_>, usize), Fault> {
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
        end = digits(bytes, end + 1)?;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        end += 1;
        end = digits(bytes, end + usize::from(matches!(bytes.get(end), Some(b'+' | b'-'))))?;
    }
    Ok((Numeral::Other(text.get(start..end).unwrap_or_default()), end))
}

/// Where the digits from `start` on end; there has to be one.
fn digits(bytes: &[u8], start: usize) -> Result<usize, Fault> {
    let rest = bytes.get(start..).unwrap_or_default();
    match rest.iter().take_while(|byte| byte.is_ascii_digit()).count() {
        0 => Err(Fault::Syntax),
        count => Ok(start + count),
    }
}

/// The integer that a number stands for, exactly; `None` if it has a fraction or is beyond 128 bits.
pub(in crate::arguments) fn integral(number: &str) -> Option<i128> {
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (number, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let (negative, whole) = whole.strip_prefix('-').map_or((false, whole), |whole| (true, whole));
    let mut value = 0_i128;
    for digit in whole.bytes().chain(fraction.bytes()) {
        value = value.checked_mul(10)?.checked_sub((digit & 15).into())?;
    }
    // Negative so far, since there is one more negative integer than there are positive ones.
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
    if negative { Some(value) } else { value.checked_neg() }
}
