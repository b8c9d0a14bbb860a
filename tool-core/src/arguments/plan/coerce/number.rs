//! Numbers that came as texts, and texts that came as numbers.
//!
//! Neither way goes through a float where that would change a digit.

use std::collections::HashMap;

use serde_json::Number;

use crate::arguments::{
    document::Document,
    json::{Reader, integral},
};

/// The number that `text` is, without anything around it.
pub(super) fn number_in(text: &str) -> Option<Number> {
    let mut reader = Reader::new(text);
    reader.number().ok()?;
    if reader.position() != text.len() {
        return None;
    }
    let integer = integral(text);
    if let Some(integer) = integer {
        let small = i64::try_from(integer).map(Number::from);
        if let Ok(number) = small.or_else(|_| u64::try_from(integer).map(Number::from)) {
            return Some(number);
        }
    }
    // An integer of more digits, written as one, is no float.
    if !text.contains(['.', 'e', 'E']) {
        return None;
    }
    let float = text.parse::<f64>().ok().filter(|float| *float != 0.0)?;
    if integer.is_some_and(|integer| float as i128 != integer) {
        return None;
    }
    Number::from_f64(float)
}

/// How numbers were written that are held as floats; `None` where two that differ became one float.
#[derive(Debug, Default)]
pub(super) struct Literals(HashMap<u64, Option<String>>);

impl Literals {
    /// Adds those of a document.
    pub(super) fn add(&mut self, document: &Document<'_>) {
        for (float, literal) in &document.floats {
            let known = self.0.entry(float.to_bits()).or_insert_with(|| Some((*literal).to_owned()));
            if known.as_deref().is_some_and(|it| it != *literal && decimal(it) != decimal(literal)) {
                *known = None;
            }
        }
    }

    /// The digits of `number`, as it was written.
    pub(super) fn text_of(&self, number: &Number) -> Option<String> {
        if !number.is_f64() {
            return Some(number.to_string());
        }
        let float = number.as_f64()?;
        match self.0.get(&float.to_bits()) {
            Some(literal) => decimal(literal.as_deref()?),
            None => Some(float.to_string()),
        }
    }
}

/// No number that a float comes near to needs so many digits, unless somebody plays.
const LONGEST: usize = 1_000;

/// A JSON number without an exponent, and without zeros that say nothing.
fn decimal(literal: &str) -> Option<String> {
    let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |mantissa| ("-", mantissa));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    if digits.bytes().all(|digit| digit == b'0') {
        return Some("0".to_owned());
    }
    // How many of the digits stand before the point.
    let point = i64::try_from(whole.len()).ok()?.checked_add(exponent.parse().ok()?)?;
    let zeros = usize::try_from(point.unsigned_abs()).ok().filter(|zeros| *zeros <= LONGEST)?;
    if digits.len() > LONGEST {
        return None;
    }
    let (whole, fraction) = if point <= 0 {
        (String::new(), "0".repeat(zeros) + &digits)
    } else {
        let padded = format!("{digits:0<zeros$}");
        let (whole, fraction) = padded.split_at_checked(zeros)?;
        (whole.to_owned(), fraction.to_owned())
    };
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    let dot = if fraction.is_empty() { "" } else { "." };
    Some(format!("{sign}{whole}{dot}{fraction}"))
}
