//! Exact comparison of numbers.
//!
//! Integers are compared exactly: 9007199254740993 differs from 9007199254740992. A fraction is the nearest `f64`, which is
//! compared without further rounding: 0.3 is a multiple of 0.1. `3.0` and `1e2` are integers, as in draft 2020-12.

use std::{cmp::Ordering, fmt};

use serde_json::Number;

use crate::json::{FRACTION_SENTINEL, MAX_SENTINEL, integer_of_float};

/// A number with exact comparison.
#[derive(Debug, Clone, Copy)]
pub(super) enum ExactNumber {
    /// Without a fraction, in any spelling.
    Integer(i128),
    /// With a fraction, or outside the range of `i128`.
    Float(f64),
}

impl ExactNumber {
    /// Returns `true` if the number has no fraction.
    pub(super) fn is_integer(self) -> bool {
        match self {
            Self::Integer(_) => true,
            Self::Float(float) => float.fract() == 0.0,
        }
    }

    /// Returns the end of the range of numbers that this one may [stand for](FRACTION_SENTINEL), which begins with itself; `None` if
    /// it stands for itself only. A limit applies to all of them.
    pub(super) fn represented_range_end(self) -> Option<Self> {
        match self {
            Self::Float(float) if float == FRACTION_SENTINEL => Some(Self::Integer(MAX_SENTINEL)),
            Self::Float(float) if float == -FRACTION_SENTINEL => Some(Self::Integer(-MAX_SENTINEL)),
            _ => None,
        }
    }

    /// Returns the float that equals the number; `None` if there is none, or it is not known to be exact.
    pub(super) fn as_float(self) -> Option<f64> {
        /// Up to this value, all integers are exact floats.
        const EXACT: u128 = 1 << 53;

        match self {
            Self::Integer(integer) => (integer.unsigned_abs() <= EXACT).then_some(integer as f64),
            Self::Float(float) => float.is_finite().then_some(float),
        }
    }

    /// Compares two numbers; `None` for NaN, which violates every bound.
    pub(super) fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => Some(left.cmp(&right)),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(&right),
            (Self::Integer(left), Self::Float(right)) => compare_integer_and_float(left, right),
            (Self::Float(left), Self::Integer(right)) => {
                compare_integer_and_float(right, left).map(Ordering::reverse)
            }
        }
    }
}

fn compare_integer_and_float(integer: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    // The float has a fraction or exceeds 128 bits, so the two cannot be equal; beyond the range of integers, the conversion
    // ends at their limit.
    Some(if integer <= float.floor() as i128 { Ordering::Less } else { Ordering::Greater })
}

impl From<f64> for ExactNumber {
    fn from(float: f64) -> Self {
        integer_of_float(float).map_or(Self::Float(float), Self::Integer)
    }
}

impl From<&Number> for ExactNumber {
    fn from(number: &Number) -> Self {
        if let Some(integer) = number.as_i64() {
            Self::Integer(integer.into())
        } else if let Some(integer) = number.as_u64() {
            Self::Integer(integer.into())
        } else {
            // `None` occurs only with `arbitrary_precision` of `serde_json`, for a number beyond the range of floats.
            number.as_f64().map_or(Self::Float(f64::NAN), Self::from)
        }
    }
}

impl fmt::Display for ExactNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(integer) => integer.fmt(f),
            Self::Float(float) => match Number::from_f64(*float) {
                Some(number) => number.fmt(f),
                None => float.fmt(f),
            },
        }
    }
}

/// Returns the integer that a float represents; `None` for other numbers and for integers beyond 64 bits.
pub(super) fn integer_equal_to(number: &Number) -> Option<Number> {
    if !number.is_f64() {
        return None;
    }
    let ExactNumber::Integer(integer) = ExactNumber::from(number) else { return None };
    i64::try_from(integer).map(Number::from).or_else(|_| u64::try_from(integer).map(Number::from)).ok()
}

/// The divisor of `multipleOf`.
#[derive(Debug, Clone)]
pub(super) struct Divisor {
    number: Number,
    decimal: Decimal,
}

impl Divisor {
    /// Creates a divisor; `None` unless the number is greater than zero.
    pub(super) fn new(number: &Number) -> Option<Self> {
        let positive = ExactNumber::from(number).compare(ExactNumber::Integer(0)) == Some(Ordering::Greater);
        positive.then(|| Self { number: number.clone(), decimal: Decimal::from(number) })
    }

    /// Returns `true` if `number` is a multiple of the divisor.
    pub(super) fn divides(&self, number: &Number) -> bool {
        Decimal::from(number).is_multiple_of(self.decimal)
    }
}

impl fmt::Display for Divisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number.fmt(f)
    }
}

/// `digits` × 10^`exponent`, without sign: the shortest literal of a number. The literal counts, since the float
/// nearest to 0.3 is not a multiple of the one nearest to 0.1.
#[derive(Debug, Clone, Copy)]
struct Decimal {
    digits: u64,
    exponent: i32,
}

impl Decimal {
    fn is_multiple_of(self, divisor: Self) -> bool {
        if self.digits == 0 {
            return true;
        }
        let (digits, by) = (u128::from(self.digits), u128::from(divisor.digits));
        let shift = self.exponent - divisor.exponent;
        if shift >= 0 {
            ((digits % by) * power_of_ten(shift.unsigned_abs(), by)).is_multiple_of(by)
        } else {
            // 10^20 exceeds any `digits`; below it, the product fits into a `u128`.
            let scale = shift.unsigned_abs();
            scale < 20 && digits.is_multiple_of(by * 10_u128.pow(scale))
        }
    }
}

/// Returns 10^`exponent` modulo `modulus`, which is below 2^64, so that no product overflows.
fn power_of_ten(mut exponent: u32, modulus: u128) -> u128 {
    let (mut result, mut factor) = (1 % modulus, 10 % modulus);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * factor % modulus;
        }
        factor = factor * factor % modulus;
        exponent >>= 1;
    }
    result
}

impl From<&Number> for Decimal {
    fn from(number: &Number) -> Self {
        if let Some(integer) = number.as_i64() {
            return Self { digits: integer.unsigned_abs(), exponent: 0 };
        }
        if let Some(integer) = number.as_u64() {
            return Self { digits: integer, exponent: 0 };
        }
        // The shortest form that parses to the same float, such as `1.5e-3`.
        let text = format!("{:e}", number.as_f64().unwrap_or_default().abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = whole.bytes().chain(fraction.bytes());
        let digits = digits.fold(0_u64, |sum, digit| sum.wrapping_mul(10).wrapping_add((digit & 15).into()));
        let places = i32::try_from(fraction.len()).unwrap_or_default();
        Self { digits, exponent: exponent.parse::<i32>().unwrap_or_default() - places }
    }
}
