use std::borrow::Cow;

use serde::de::Error as _;
use serde_json::Value;

use super::{Refusal, Why};
use crate::arguments::{
    json::{Numeral, Reader, integral, is_kept, near},
    plan::{
        node::{Node, Types},
        number::Exact,
    },
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
pub(super) fn read<'t>(
    reader: &mut Reader<'t>,
    node: &Node,
    first: u8,
    hint: Hint,
) -> Result<Scalar<'t>, Refusal> {
    match first {
        b'"' => {
            let text = reader.string()?;
            if !admits_text(node, &text) {
                return Err(Refusal::refused());
            }
            Ok(match text {
                Cow::Borrowed(text) => Scalar::Borrowed(text),
                Cow::Owned(text) => Scalar::Owned(text),
            })
        }
        b'-' | b'0'..=b'9' => number(reader.number()?, node, hint),
        b'n' => word(reader, node, "null", &Value::Null, Types::NULL, Scalar::Null),
        b't' => word(reader, node, "true", &Value::Bool(true), Types::BOOLEAN, Scalar::Bool(true)),
        b'f' => word(reader, node, "false", &Value::Bool(false), Types::BOOLEAN, Scalar::Bool(false)),
        _ => Err(Refusal::new(Why::Syntax)),
    }
}

fn word<'t>(
    reader: &mut Reader<'t>,
    node: &Node,
    word: &'static str,
    value: &Value,
    types: Types,
    scalar: Scalar<'t>,
) -> Result<Scalar<'t>, Refusal> {
    reader.word(word)?;
    node.allows(types)?;
    match &node.values {
        Some(values) if !values.admit(value) => Err(Refusal::refused()),
        _ => Ok(scalar),
    }
}

/// Returns `true` if a node that only restricts single values admits a string.
#[inline]
pub(super) fn admits_text(node: &Node, text: &str) -> bool {
    node.types.contains(Types::STRING)
        && node.values.as_ref().is_none_or(|values| values.admit_text(text))
        && node.text.as_ref().is_none_or(|rules| rules.admits(text))
}

fn number<'t>(numeral: Numeral<'t>, node: &Node, hint: Hint) -> Result<Scalar<'t>, Refusal> {
    match numeral {
        Numeral::Small { negative, magnitude } => {
            let value = if negative { -i128::from(magnitude) } else { i128::from(magnitude) };
            let wants_integer = hold(node, Types::INTEGER, Exact::Integer(value), numeral)?;
            if negative
                && magnitude == 0
                && !wants_integer
                && matches!(hint, Hint::None | Hint::Float | Hint::Single)
            {
                return Ok(Scalar::Float(-0.0));
            }
            Ok(of_64_bits(value, value as f64))
        }
        Numeral::Other(text) => other(text, node, hint),
    }
}

/// Reads a number with a fraction or an exponent, or with many digits.
fn other<'t>(text: &str, node: &Node, hint: Hint) -> Result<Scalar<'t>, Refusal> {
    let float: f64 = text.parse().map_err(|_| Refusal::new(Why::Syntax))?;
    if float.is_infinite() {
        return Err(Refusal::refused());
    }
    let whole = integral(text);
    let kept = whole.filter(|it| is_kept(text, *it));
    // Validated is the number that a value represents, see `Numeral::rounded`; a type reads the nearest float.
    let exact = match kept {
        Some(integer) => Exact::Integer(integer),
        None => Exact::from(near(text, float).0),
    };
    let types = if exact.is_integer() { Types::INTEGER } else { Types::FRACTION };
    let wants_integer = hold(node, types, exact, Numeral::Other(text))?;
    match (hint, whole, exact) {
        (Hint::Wide, Some(integer), _) => Ok(Scalar::Wide(integer)),
        (Hint::Wide, None, exact) if exact.is_integer() => {
            let beyond = |_| Refusal::custom("it is beyond the integers of 128 bits");
            text.parse().map(Scalar::WideUnsigned).map_err(beyond)
        }
        (Hint::Single, ..) => single(text),
        (Hint::Integer, _, Exact::Integer(integer)) => Ok(of_64_bits(integer, float)),
        (Hint::None, _, Exact::Integer(integer)) if wants_integer || kept.is_some() => {
            Ok(of_64_bits(integer, float))
        }
        _ => Ok(Scalar::Float(float)),
    }
}

/// Parses a 32-bit float, rounded once.
fn single<'t>(text: &str) -> Result<Scalar<'t>, Refusal> {
    match text.parse::<f32>() {
        Ok(single) if single.is_finite() => Ok(Scalar::Float(single.into())),
        _ => Err(Refusal::custom("it is beyond the floats of 32 bits")),
    }
}

/// Returns a 64-bit integer if possible, otherwise a float.
fn of_64_bits<'t>(integer: i128, float: f64) -> Scalar<'t> {
    match (u64::try_from(integer), i64::try_from(integer)) {
        (Ok(value), _) => Scalar::Unsigned(value),
        (_, Ok(value)) => Scalar::Signed(value),
        _ => Scalar::Float(float),
    }
}

/// Applies the rules for numbers; returns `true` if they require an integer.
fn hold(node: &Node, types: Types, exact: Exact, numeral: Numeral<'_>) -> Result<bool, Refusal> {
    let to_number = || numeral.to_number().unwrap_or_else(|| 0.into());
    node.allows(types)?;
    if let Some(values) = &node.values {
        let value = Value::Number(to_number());
        if !values.admit(&value) {
            return Err(Refusal::refused());
        }
    }
    if let Some(number) = &node.number
        && !number.admits(exact, to_number)
    {
        return Err(Refusal::refused());
    }
    Ok(node.wants_integer())
}
