//! Number patterns: comparisons by exact decimal value.
//!
//! A number is represented by its sign, its digits without leading and trailing zeros, and its exponent, so that
//! numbers are compared as they are written. A tool that takes an `f64` reads `99.99999999999999999999` as 100: if the
//! type of an argument may round a number, the comparison is clear only if the rounded numbers compare equally.

use std::{cmp::Ordering, fmt, str::FromStr};

use tool_core::internals::{ExactValue, ValueTypes, canonical_number};

use super::{InvalidRule, Match};

/// A comparison of numbers by their exact values: `100`, `> 0.1`, or several comparisons that must all hold, as in `>=
/// 1, < 1000`.
///
/// The operators are `=` (the default), `<`, `<=`, `>` and `>=`. `100`, `100.0` and `1e2` are equal; 9007199254740993
/// and 9007199254740992 are not. A value that is not a JSON number, including a string of digits, matches every `deny`
/// and `ask`, and no `allow`. The same applies to a number whose comparison changes when the type of the argument rounds
/// it: to an `f64`, `99.99999999999999999999` is not clearly less than 100, and 9007199254740993 not clearly greater
/// than 9007199254740992; to an `f32`, `99.9999999` is not clearly less than 100. An integer type rounds no integer.
///
/// # Examples
///
/// ```
/// use tool_runtime::{definition::Permission, policy::{NumberPattern, Rule, Rules}, prelude::*};
///
/// let rules = Rules::new([Rule::deny("pay").at("/amount", NumberPattern::new("> 100")?)]);
/// assert_eq!(rules.judge("pay", &json!({ "amount": 100 })), Permission::Allow);
/// assert!(matches!(rules.judge("pay", &json!({ "amount": 100.5 })), Permission::Deny { .. }));
/// assert!(matches!(rules.judge("pay", &json!({ "amount": "12" })), Permission::Deny { .. }));
/// # Ok::<(), tool_runtime::policy::InvalidRule>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberPattern {
    text: String,
    comparisons: Vec<(Operator, Decimal)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl NumberPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    ///
    /// Returns an error if `pattern` is not a comma-separated list of comparisons, or no number satisfies all of them.
    pub fn new(pattern: &str) -> Result<Self, InvalidRule> {
        let read = |text: &str| {
            let text = text.trim();
            let (operator, number) = [
                ("<=", Operator::AtMost),
                (">=", Operator::AtLeast),
                ("<", Operator::Less),
                (">", Operator::Greater),
                ("=", Operator::Equal),
                ("", Operator::Equal),
            ]
            .into_iter()
            .find_map(|(sign, operator)| Some((operator, text.strip_prefix(sign)?)))?;
            Some((operator, Decimal::parse(number.trim())?))
        };
        let comparisons: Option<Vec<_>> = pattern.split(',').map(read).collect();
        let Some(comparisons) = comparisons else {
            return Err(InvalidRule(format!(
                "`{pattern}` is not a number pattern; write a number, or comparisons such as `>= 1, < 100`"
            )));
        };
        let pattern = Self { text: pattern.to_owned(), comparisons };
        match pattern.is_empty() {
            true => Err(InvalidRule(format!("no number satisfies `{}`", pattern.text))),
            false => Ok(pattern),
        }
    }

    /// Returns the pattern as it was written.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Creates the pattern of the number `text`; `None` for other texts.
    pub(super) fn equal_to(text: &str) -> Option<Self> {
        let comparisons = vec![(Operator::Equal, Decimal::parse(text)?)];
        Some(Self { text: text.to_owned(), comparisons })
    }

    pub(super) fn match_value(&self, value: &ExactValue<'_>, rounding: Rounding) -> Match {
        match value {
            ExactValue::Number(number) => self.match_number(number, rounding),
            _ => Match::Unclear,
        }
    }

    pub(super) fn match_number(&self, number: &str, rounding: Rounding) -> Match {
        match Decimal::parse(number) {
            Some(number) if self.is_unaffected_by_rounding(&number, rounding) => {
                Match::of(self.holds(&number))
            }
            _ => Match::Unclear,
        }
    }

    /// Returns `true` if the number compares equally after each rounding.
    fn is_unaffected_by_rounding(&self, number: &Decimal, rounding: Rounding) -> bool {
        let is_same = |limit: &Decimal, rounded: Option<Ordering>| {
            rounded.is_none_or(|rounded| rounded == number.cmp(limit))
        };
        let as_double = |limit: &Decimal| number.nearest_f64().partial_cmp(&limit.nearest_f64());
        let as_single = |limit: &Decimal| number.nearest_f32().partial_cmp(&limit.nearest_f32());
        self.comparisons.iter().all(|(_, limit)| {
            (!rounding.is_to_double(number) || is_same(limit, as_double(limit)))
                && (!rounding.single || is_same(limit, as_single(limit)))
        })
    }

    fn holds(&self, number: &Decimal) -> bool {
        self.comparisons.iter().all(|(operator, limit)| operator.holds(number.cmp(limit)))
    }

    /// Returns `true` if the comparisons contradict each other.
    fn is_empty(&self) -> bool {
        let lower = |operator: &Operator| matches!(operator, Operator::Greater | Operator::AtLeast);
        let upper = |operator: &Operator| matches!(operator, Operator::Less | Operator::AtMost);
        self.comparisons.iter().any(|(one, left)| {
            self.comparisons.iter().any(|(other, right)| match (one, other) {
                (Operator::Equal, _) => !other.holds(left.cmp(right)),
                _ if lower(one) && upper(other) => match left.cmp(right) {
                    Ordering::Less => false,
                    Ordering::Equal => (*one, *other) != (Operator::AtLeast, Operator::AtMost),
                    Ordering::Greater => true,
                },
                _ => false,
            })
        })
    }
}

impl Operator {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

impl FromStr for NumberPattern {
    type Err = InvalidRule;

    fn from_str(pattern: &str) -> Result<Self, InvalidRule> {
        Self::new(pattern)
    }
}

impl fmt::Display for NumberPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The types of floats to which the decoder of an argument may round a number.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rounding {
    double: bool,
    single: bool,
}

impl Rounding {
    pub(super) fn of(types: ValueTypes) -> Self {
        Self { double: types.may_be_double(), single: types.may_be_single() }
    }

    /// Returns the rounding of an argument of unknown type, in a schema with or without 32-bit floats.
    pub(super) fn unknown(has_single: bool) -> Self {
        Self { double: true, single: has_single }
    }

    /// Returns `true` if `number` may be rounded to a 64-bit float. No type represents every fraction.
    fn is_to_double(self, number: &Decimal) -> bool {
        self.double || !number.is_integer()
    }

    /// Returns the canonical spellings of all numbers that a decoder may make of `number`; `None` if one of them is not
    /// finite, or `number` has an exponent beyond 64 bits.
    pub(super) fn spellings(self, number: &str) -> Option<Vec<String>> {
        let decimal = Decimal::parse(number)?;
        let mut spellings = vec![canonical_number(number).into_owned()];
        if self.is_to_double(&decimal) {
            let double = decimal.nearest_f64();
            spellings
                .push(double.is_finite().then(|| canonical_number(&format!("{double:e}")).into_owned())?);
        }
        if self.single {
            let single = decimal.nearest_f32();
            spellings
                .push(single.is_finite().then(|| canonical_number(&format!("{single:e}")).into_owned())?);
        }
        Some(spellings)
    }
}

/// Returns `true` if `text` is the canonical spelling of a number, in which arguments are compared.
pub(super) fn is_canonical(text: &str) -> bool {
    Decimal::parse(text).is_some() && canonical_number(text) == text
}

/// A signed decimal number: `0.DIGITS × 10^exponent`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Decimal {
    /// `false` for 0.
    is_negative: bool,
    /// Without leading and trailing zeros; empty for 0.
    digits: Vec<u8>,
    /// Meaningless if there are no digits.
    exponent: i128,
}

impl Decimal {
    /// Parses a JSON number; `None` for other texts, and for an exponent beyond 64 bits.
    fn parse(text: &str) -> Option<Self> {
        let (is_negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (mantissa, ""),
        };
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let is_whole = !whole.is_empty() && (whole == "0" || !whole.starts_with('0'));
        if !is_whole || !is_digits(whole) || !is_digits(fraction) {
            return None;
        }
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let leading = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..leading);
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        let places = i128::try_from(whole.len()).ok()? - i128::try_from(leading).ok()?;
        let is_negative = is_negative && !digits.is_empty();
        Some(Self { is_negative, digits, exponent: i128::from(exponent) + places })
    }

    fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    fn is_integer(&self) -> bool {
        i128::try_from(self.digits.len()).is_ok_and(|digits| digits <= self.exponent.max(0))
    }

    fn nearest_f64(&self) -> f64 {
        self.to_text().parse().unwrap_or(f64::NAN)
    }

    fn nearest_f32(&self) -> f32 {
        self.to_text().parse().unwrap_or(f32::NAN)
    }

    fn to_text(&self) -> String {
        let digits: String = self.digits.iter().copied().map(char::from).collect();
        let sign = if self.is_negative { "-" } else { "" };
        format!("{sign}0.{digits}e{}", self.exponent)
    }

    /// Compares the absolute values.
    fn compare_magnitude(&self, other: &Self) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            // Digits of a fraction are compared from the left; if one is a prefix of the other, the longer is greater.
            (false, false) => self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits)),
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_negative, other.is_negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.compare_magnitude(other),
            (true, true) => other.compare_magnitude(self),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_the_spellings_of_the_floats_that_it_may_become() {
        let spelled = |double: bool, single: bool, number: &str| {
            Rounding { double, single }.spellings(number).map(|spellings| spellings.join(" "))
        };
        let (precise, large) = ("0.1000000000000000000001", "16777217");
        for (double, single, number, spellings) in [
            // A fraction is always rounded to some float.
            (false, false, precise, Some(format!("{precise} 0.1"))),
            (true, false, precise, Some(format!("{precise} 0.1"))),
            (true, true, precise, Some(format!("{precise} 0.1 0.1"))),
            (false, false, large, Some(large.to_owned())),
            (true, false, large, Some(format!("{large} {large}"))),
            (false, true, large, Some(format!("{large} 16777216"))),
            (true, true, large, Some(format!("{large} {large} 16777216"))),
            (true, false, "1e400", None),
            (false, true, "1e39", None),
            (false, false, "x", None),
        ] {
            assert_eq!(spelled(double, single, number), spellings, "{double} {single} {number}");
        }
    }

    #[test]
    fn decimals_are_compared_exactly_whatever_their_spelling() {
        let read = |text: &str| Decimal::parse(text).unwrap();
        let ascending = [
            "-1e3",
            "-999.5",
            "-1",
            "-0.5",
            "0",
            "1e-9",
            "0.10",
            "0.100000001",
            "1",
            "1.5",
            "2",
            "10",
            "1e30",
        ];
        for (at, one) in ascending.iter().enumerate() {
            for (other_at, other) in ascending.iter().enumerate() {
                assert_eq!(read(one).cmp(&read(other)), at.cmp(&other_at), "{one} {other}");
            }
        }
        for (one, other) in
            [("0", "-0"), ("0", "0.00e7"), ("100", "1e2"), ("1.50", "15e-1"), ("-0.5", "-5E-1")]
        {
            assert_eq!(read(one).cmp(&read(other)), Ordering::Equal, "{one} {other}");
        }
        for (text, is_integer) in [
            ("0", true),
            ("1.0", true),
            ("10e-1", true),
            ("1e3", true),
            ("1.5e1", true),
            ("1.55e1", false),
            ("0.1", false),
        ] {
            assert_eq!(read(text).is_integer(), is_integer, "{text}");
        }
        for text in
            ["", "-", "+1", "01", "1.", ".5", "1e", "1e99999999999999999999", "0x1", "1 ", "1a", "1.a"]
        {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }
}
