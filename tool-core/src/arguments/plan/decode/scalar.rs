use std::borrow::Cow;

use serde_json::{Number, Value};

use super::{Refusal, Why};
use crate::arguments::{
    json::{Numeral, Reader, integral},
    plan::{
        equality::equal,
        node::{Node, Types},
        number::Exact,
    },
};

/// What a type asks for; it gets what is there, in the form it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    None,
    Integer,
    /// An integer of up to 128 bits.
    Wide,
    Float,
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
    /// A number that `serde_json` should hand on.
    Other(&'t str),
    Borrowed(&'t str),
    Owned(String),
}

/// Reads the value that begins with `first`, and holds it to the rules.
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
    match node.values.as_deref() {
        Some(values) if !values.contains(value) => Err(Refusal::refused()),
        _ => Ok(scalar),
    }
}

/// Whether a node that is decided by the value alone admits a text.
pub(super) fn admits_text(node: &Node, text: &str) -> bool {
    let is_listed = |values: &[Value]| values.iter().any(|it| it.as_str() == Some(text));
    node.types.contains(Types::STRING)
        && node.values.as_deref().is_none_or(is_listed)
        && node.text.as_ref().is_none_or(|rules| rules.admits(text))
}

fn number<'t>(numeral: Numeral<'t>, node: &Node, hint: Hint) -> Result<Scalar<'t>, Refusal> {
    match numeral {
        Numeral::Small { negative, magnitude } => {
            let value = if negative { -i128::from(magnitude) } else { i128::from(magnitude) };
            let to_number = || i64::try_from(value).map_or_else(|_| Number::from(magnitude), Number::from);
            let wants_integer = hold(node, Types::INTEGER, Exact::Integer(value), to_number)?;
            if negative && magnitude == 0 && !wants_integer && matches!(hint, Hint::None | Hint::Float) {
                return Ok(Scalar::Float(-0.0));
            }
            Ok(match (negative, i64::try_from(value)) {
                (false, _) => Scalar::Unsigned(magnitude),
                (true, Ok(value)) => Scalar::Signed(value),
                (true, Err(_)) if hint == Hint::Wide => Scalar::Wide(value),
                // Below all of 64 bits: `serde_json` makes it a float.
                (true, Err(_)) => Scalar::Float(value as f64),
            })
        }
        Numeral::Other(text) => other(text, node, hint),
    }
}

/// A number with a fraction or an exponent, or of many digits.
fn other<'t>(text: &'t str, node: &Node, hint: Hint) -> Result<Scalar<'t>, Refusal> {
    /// A float holds what is written with so many characters.
    const SHORT: usize = 17;

    let integer = integral(text);
    let float: f64 = text.parse().map_err(|_| Refusal::new(Why::Syntax))?;
    if float.is_infinite() {
        return Err(Refusal::refused());
    }
    let exact = integer.map_or_else(|| Exact::from(float), Exact::Integer);
    let types = if exact.is_integer() { Types::INTEGER } else { Types::FRACTION };
    let to_number = || serde_json::from_str(text).unwrap_or_else(|_| Number::from(0));
    let wants_integer = hold(node, types, exact, to_number)?;
    if hint == Hint::Wide
        && let Some(value) = integer.map(Scalar::Wide).or_else(|| text.parse().ok().map(Scalar::WideUnsigned))
    {
        return Ok(value);
    }
    if let Some(value) = integer.filter(|_| wants_integer || hint == Hint::Integer) {
        if let Ok(value) = i64::try_from(value) {
            return Ok(Scalar::Signed(value));
        }
        if let Ok(value) = u64::try_from(value) {
            return Ok(Scalar::Unsigned(value));
        }
    }
    let is_exact = hint == Hint::Float || text.len() <= SHORT;
    Ok(if is_exact { Scalar::Float(float) } else { Scalar::Other(text) })
}

/// Holds a number to the rules; returns whether they want an integer.
fn hold(node: &Node, types: Types, exact: Exact, to_number: impl Fn() -> Number) -> Result<bool, Refusal> {
    node.allows(types)?;
    if let Some(values) = &node.values {
        let value = Value::Number(to_number());
        if !values.iter().any(|allowed| equal(allowed, &value)) {
            return Err(Refusal::refused());
        }
    }
    if let Some(number) = &node.number
        && !number.admits(exact, to_number)
    {
        return Err(Refusal::refused());
    }
    Ok(node.types.intersection(Types::NUMBER) == Types::INTEGER)
}
