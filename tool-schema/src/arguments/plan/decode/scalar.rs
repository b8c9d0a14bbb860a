use std::borrow::Cow;

use serde::de::Error as _;
use serde_json::Value;

use super::{DecodeError, DecodeErrorKind};
use crate::{
    arguments::plan::{
        node::{Node, TypeSet},
        number::ExactNumber,
    },
    json::{Numeral, Reader, fits_64_bits, integer_value, nearest_float},
};

/// The form that a type requests; the value is converted to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    None,
    Integer,
    /// An integer of up to 128 bits.
    Wide,
    Float,
    /// A 32-bit float.
    Single,
}

/// A value without parts.
#[derive(Debug)]
pub(super) enum Scalar<'t> {
    Null,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Wide(i128),
    WideUnsigned(u128),
    Float(f64),
    Borrowed(&'t str),
    Owned(String),
}

/// Reads the value that begins with `first` and applies the rules.
#[inline]
pub(super) fn read_scalar<'t>(
    reader: &mut Reader<'t>,
    node: &Node,
    first: u8,
    hint: Hint,
) -> Result<Scalar<'t>, DecodeError> {
    match first {
        b'"' => {
            let text = reader.read_string()?;
            if !admits_text(node, &text) {
                return Err(DecodeError::refused());
            }
            Ok(match text {
                Cow::Borrowed(text) => Scalar::Borrowed(text),
                Cow::Owned(text) => Scalar::Owned(text),
            })
        }
        b'-' | b'0'..=b'9' => convert_number(reader.read_number()?, node, hint),
        b'n' => read_word(reader, node, "null", &Value::Null, TypeSet::NULL, Scalar::Null),
        b't' => read_word(reader, node, "true", &Value::Bool(true), TypeSet::BOOLEAN, Scalar::Bool(true)),
        b'f' => read_word(reader, node, "false", &Value::Bool(false), TypeSet::BOOLEAN, Scalar::Bool(false)),
        _ => Err(DecodeError::new(DecodeErrorKind::Syntax)),
    }
}

fn read_word<'t>(
    reader: &mut Reader<'t>,
    node: &Node,
    word: &'static str,
    value: &Value,
    types: TypeSet,
    scalar: Scalar<'t>,
) -> Result<Scalar<'t>, DecodeError> {
    reader.read_word(word)?;
    node.check_type(types)?;
    match &node.values {
        Some(values) if !values.contain_value(value) => Err(DecodeError::refused()),
        _ => Ok(scalar),
    }
}

/// Returns `true` if a node that only restricts single values admits a string.
#[inline]
pub(super) fn admits_text(node: &Node, text: &str) -> bool {
    node.types.contains(TypeSet::STRING)
        && node.values.as_ref().is_none_or(|values| values.admit_text(text))
        && node.text.as_ref().is_none_or(|rules| rules.admits(text))
}

fn convert_number<'t>(numeral: Numeral<'t>, node: &Node, hint: Hint) -> Result<Scalar<'t>, DecodeError> {
    match numeral {
        Numeral::Small { negative, magnitude } => {
            let value = if negative { -i128::from(magnitude) } else { i128::from(magnitude) };
            check_number_rules(node, TypeSet::INTEGER, ExactNumber::Integer(value), numeral)?;
            if negative
                && magnitude == 0
                && !node.permits_only_integers()
                && matches!(hint, Hint::None | Hint::Float | Hint::Single)
            {
                return Ok(Scalar::Float(-0.0));
            }
            Ok(integer_of_64_bits_or_float(value, value as f64))
        }
        Numeral::Other(text) => convert_uncommon_number(text, node, hint),
    }
}

/// Reads a number with a fraction or an exponent, or with many digits.
fn convert_uncommon_number<'t>(text: &str, node: &Node, hint: Hint) -> Result<Scalar<'t>, DecodeError> {
    let float: f64 = text.parse().map_err(|_| DecodeError::new(DecodeErrorKind::Syntax))?;
    if float.is_infinite() {
        return Err(DecodeError::refused());
    }
    let whole = integer_value(text);
    let fitting_integer = whole.filter(|it| fits_64_bits(text, *it));
    // Validated is the number that a value represents, see `Numeral::rounded`; a type reads the nearest float.
    let exact = match fitting_integer {
        Some(integer) => ExactNumber::Integer(integer),
        None => ExactNumber::from(nearest_float(text, float).0),
    };
    let types = if exact.is_integer() { TypeSet::INTEGER } else { TypeSet::FRACTION };
    check_number_rules(node, types, exact, Numeral::Other(text))?;
    match (hint, whole, exact) {
        (Hint::Wide, Some(integer), _) => Ok(Scalar::Wide(integer)),
        (Hint::Wide, None, exact) if exact.is_integer() => {
            let beyond = |_| DecodeError::custom("it is beyond the integers of 128 bits");
            text.parse().map(Scalar::WideUnsigned).map_err(beyond)
        }
        (Hint::Single, ..) => parse_f32(text),
        (Hint::Integer, _, ExactNumber::Integer(integer)) => Ok(integer_of_64_bits_or_float(integer, float)),
        (Hint::None, _, ExactNumber::Integer(integer))
            if node.permits_only_integers() || fitting_integer.is_some() =>
        {
            Ok(integer_of_64_bits_or_float(integer, float))
        }
        _ => Ok(Scalar::Float(float)),
    }
}

/// Parses a 32-bit float, rounded once.
fn parse_f32<'t>(text: &str) -> Result<Scalar<'t>, DecodeError> {
    match text.parse::<f32>() {
        Ok(single) if single.is_finite() => Ok(Scalar::Float(single.into())),
        _ => Err(DecodeError::custom("it is beyond the floats of 32 bits")),
    }
}

/// Returns a 64-bit integer if possible, otherwise a float.
fn integer_of_64_bits_or_float<'t>(integer: i128, float: f64) -> Scalar<'t> {
    match (u64::try_from(integer), i64::try_from(integer)) {
        (Ok(value), _) => Scalar::Unsigned(value),
        (_, Ok(value)) => Scalar::Signed(value),
        _ => Scalar::Float(float),
    }
}

/// Refuses a number that the rules for numbers do not admit.
fn check_number_rules(
    node: &Node,
    types: TypeSet,
    exact: ExactNumber,
    numeral: Numeral<'_>,
) -> Result<(), DecodeError> {
    let to_number = || numeral.to_number().unwrap_or_else(|| 0.into());
    node.check_type(types)?;
    if let Some(values) = &node.values {
        let value = Value::Number(to_number());
        if !values.contain_value(&value) {
            return Err(DecodeError::refused());
        }
    }
    if let Some(number) = &node.number
        && !number.admits(exact, to_number)
    {
        return Err(DecodeError::refused());
    }
    Ok(())
}
