//! Conversion between numbers and strings.
//!
//! Neither direction rounds to a float if that would change a digit.

use std::collections::HashMap;

use serde_json::Number;

use crate::{
    arguments::{
        document::{Document, Literal},
        plan::location::Location,
    },
    json::{Reader, integer_value},
};

/// Parses `text` as a number, without surrounding characters and without rounding; an integer has at most 64 bits.
pub(super) fn parse_unrounded_number(text: &str, permits_only_integers: bool) -> Option<Number> {
    let mut reader = Reader::new(text);
    reader.read_number().ok()?;
    if reader.position() != text.len() {
        return None;
    }
    if let Some(integer) = integer_value(text) {
        let small = i64::try_from(integer).map(Number::from);
        if let Ok(number) = small.or_else(|_| u64::try_from(integer).map(Number::from)) {
            return Some(number);
        }
    }
    // A longer integer without exponent or point is not a float.
    if permits_only_integers || !text.contains(['.', 'e', 'E']) {
        return None;
    }
    let float = text.parse::<f64>().ok().filter(|float| float.is_finite())?;
    let is_exact = Digits::from_text(text)? == Digits::from_text(&format!("{float:e}"))?;
    Number::from_f64(float).filter(|_| is_exact)
}

/// A number as digits without zeros at either end.
#[derive(PartialEq)]
struct Digits {
    negative: bool,
    digits: String,
    /// The power of ten of the last digit.
    exponent: i64,
}

impl Digits {
    fn from_text(number: &str) -> Option<Self> {
        let NumberParts { negative, whole, fraction, exponent } = NumberParts::split_number(number)?;
        let digits = [whole, fraction].concat();
        let significant = digits.trim_end_matches('0');
        let dropped = i64::try_from(digits.len() - significant.len()).ok()?;
        let exponent = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?.checked_add(dropped)?;
        let digits = significant.trim_start_matches('0').to_owned();
        let exponent = if digits.is_empty() { 0 } else { exponent };
        Some(Self { negative, digits, exponent })
    }
}

/// The parts of a JSON number.
struct NumberParts<'n> {
    negative: bool,
    whole: &'n str,
    fraction: &'n str,
    exponent: i64,
}

impl<'n> NumberParts<'n> {
    /// Splits a number; `None` if the exponent is out of range.
    fn split_number(number: &'n str) -> Option<Self> {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let (negative, mantissa) = mantissa.strip_prefix('-').map_or((false, mantissa), |it| (true, it));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        Some(Self { negative, whole, fraction, exponent: exponent.parse().ok()? })
    }
}

/// The spelling of numbers in the arguments, indexed when a number first becomes a string.
#[derive(Debug)]
pub(super) struct Literals<'t> {
    /// The literals of the arguments, until they are indexed.
    unread: Vec<Literal<'t>>,
    /// The spelling of each number; `None` if equal numbers have different spellings.
    by_number: HashMap<NumberKey, Option<String>>,
    by_place: HashMap<String, String>,
    /// The remaining size limit in bytes for looked-up pointers.
    room: usize,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum NumberKey {
    /// The bits of a float.
    Float(u64),
    Integer(String),
}

impl NumberKey {
    fn from_number(number: &Number) -> Self {
        match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => Self::Float(float.to_bits()),
            None => Self::Integer(number.to_string()),
        }
    }
}

impl<'t> Literals<'t> {
    pub(super) fn new(unread: Vec<Literal<'t>>) -> Self {
        Self { unread, by_number: HashMap::new(), by_place: HashMap::new(), room: 0 }
    }

    /// Adds the literals of a document inside a string at `place`.
    pub(super) fn add_literals_of_document(&mut self, document: &Document<'_>, location: &Location<'_>) {
        self.index_unread();
        self.index_literals(&document.literals, location.depth() == 0);
    }

    fn index_unread(&mut self) {
        let unread = std::mem::take(&mut self.unread);
        self.index_literals(&unread, true);
    }

    fn index_literals(&mut self, literals: &[Literal<'_>], have_places: bool) {
        for Literal { number, text, pointer } in literals {
            let key = NumberKey::from_number(number);
            // An integer written as a float may be written as an integer elsewhere.
            let is_unclear = matches!(key, NumberKey::Integer(_));
            let known = self.by_number.entry(key).or_insert_with(|| Some((*text).to_owned()));
            if is_unclear || known.as_deref().is_some_and(|it| it != *text) {
                *known = None;
            }
            if let Some(pointer) = pointer.as_ref().filter(|_| have_places) {
                self.room = self.room.saturating_add(pointer.len().saturating_mul(4) + 64);
                self.by_place.insert(pointer.clone(), (*text).to_owned());
            }
        }
    }

    /// Returns the digits of `number` at `place` as written.
    pub(super) fn number_text_as_written(
        &mut self,
        number: &Number,
        location: &Location<'_>,
    ) -> Option<String> {
        self.index_unread();
        match self.by_number.get(&NumberKey::from_number(number)) {
            Some(Some(literal)) => decimal_without_exponent(literal),
            // The location selects one of several spellings.
            Some(None) if self.room > 0 => {
                let pointer = location.pointer();
                self.room = self.room.saturating_sub(pointer.len() + 1);
                let literal = self.by_place.get(&pointer)?;
                let is_it = literal.parse::<f64>().ok() == number.as_f64();
                if is_it { decimal_without_exponent(literal) } else { None }
            }
            Some(None) => None,
            None => Some(number.to_string()),
        }
    }
}

/// The maximum length of a string made from a number, in characters.
const MAX_NUMBER_CHARS: usize = 1_000;

/// Formats a JSON number without exponent and with all its digits, including trailing zeros such as in `1.10`.
fn decimal_without_exponent(literal: &str) -> Option<String> {
    let NumberParts { negative, whole, fraction, exponent } = NumberParts::split_number(literal)?;
    let digits = [whole, fraction].concat();
    let sign = if negative { "-" } else { "" };
    if exponent != 0 && digits.bytes().all(|digit| digit == b'0') {
        return Some(format!("{sign}0"));
    }
    // The number of digits before the point.
    let point = i64::try_from(whole.len()).ok()?.checked_add(exponent)?;
    let zeros = usize::try_from(point.unsigned_abs()).ok().filter(|zeros| *zeros <= MAX_NUMBER_CHARS)?;
    if digits.len() > MAX_NUMBER_CHARS {
        return None;
    }
    let (whole, fraction) = if point <= 0 {
        (String::new(), "0".repeat(zeros) + &digits)
    } else {
        let padded = format!("{digits:0<zeros$}");
        let (whole, fraction) = padded.split_at_checked(zeros)?;
        (whole.to_owned(), fraction.to_owned())
    };
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let dot = if fraction.is_empty() { "" } else { "." };
    Some(format!("{sign}{whole}{dot}{fraction}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::Number;

    use super::{Literals, decimal_without_exponent};
    use crate::arguments::{document::Literal, plan::location::Location};

    fn literal<'t>(text: &'t str, pointer: &str) -> Literal<'t> {
        let number = Number::from_f64(text.parse().unwrap()).unwrap();
        Literal { number, text, pointer: Some(pointer.to_owned()) }
    }

    #[test]
    fn spellings_are_selected_by_their_places_within_a_limit_of_bytes() {
        let place = |name| Location::ROOT.property(name, 0);
        let one = Number::from_f64(1.0).unwrap();
        // A spelling that is the only one needs no place, and has no limit.
        let mut single = Literals::new(vec![literal("1.0", "/a")]);
        assert!((0..200).all(|_| single.number_text_as_written(&one, &place("b")).as_deref() == Some("1.0")));
        // Two places of two bytes give 2 * (4 * 2 + 64) bytes, of which a look-up takes 2 + 1.
        let mut several = Literals::new(vec![literal("1.0", "/a"), literal("1.00", "/b")]);
        let mut read = |name| several.number_text_as_written(&one, &place(name));
        assert_eq!(
            (read("a").as_deref(), read("b").as_deref(), read("c")),
            (Some("1.0"), Some("1.00"), None)
        );
        for _ in 3..48 {
            assert_eq!(read("b").as_deref(), Some("1.00"));
        }
        assert_eq!(read("b"), None);
        // The last byte is as good as many.
        let mut last = Literals::new(vec![literal("1.0", "/a"), literal("1.00", "/b")]);
        for _ in 0..47 {
            assert!(last.number_text_as_written(&one, &place("b")).is_some());
        }
        for _ in 0..2 {
            assert_eq!(last.number_text_as_written(&one, &Location::ROOT), None);
        }
        assert_eq!(last.number_text_as_written(&one, &place("b")).as_deref(), Some("1.00"));
        assert_eq!(last.number_text_as_written(&one, &place("b")), None);
        // A place where another number was written does not count.
        let mut other =
            Literals::new(vec![literal("1.0", "/a"), literal("1.00", "/b"), literal("2.0", "/c")]);
        assert_eq!(other.number_text_as_written(&one, &place("c")), None);
        let three = Number::from(3);
        assert_eq!(other.number_text_as_written(&three, &place("c")).as_deref(), Some("3"));
    }

    #[test]
    fn a_number_without_exponent_has_at_most_a_thousand_digits_on_a_side() {
        for (literal, expected) in [
            ("1.10", Some("1.10")),
            ("-0.0", Some("-0.0")),
            ("-0e5", Some("-0")),
            ("0.00e-3", Some("0")),
            ("1e3", Some("1000")),
            ("1.5e1", Some("15")),
            ("1.50e1", Some("15.0")),
            ("-12.5e-1", Some("-1.25")),
            ("1e-1", Some("0.1")),
            ("1e-2", Some("0.01")),
            ("0.5e1", Some("5")),
            ("1e9999999999999999999", None),
            ("1e9223372036854775807", None),
        ] {
            assert_eq!(decimal_without_exponent(literal).as_deref(), expected, "{literal}");
        }
        let zeros = |count: usize| "0".repeat(count);
        assert_eq!(decimal_without_exponent("1e999").unwrap(), format!("1{}", zeros(999)));
        assert_eq!(decimal_without_exponent("1e1000"), None);
        assert_eq!(decimal_without_exponent("1e-1001").unwrap(), format!("0.{}1", zeros(1_000)));
        assert_eq!(decimal_without_exponent("1e-1002"), None);
        let long = format!("0.{}", "1".repeat(999));
        assert_eq!(decimal_without_exponent(&long).unwrap(), long);
        assert_eq!(decimal_without_exponent(&format!("{long}1")), None);
    }
}
