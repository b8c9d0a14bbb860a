//! Bounds of numbers and lengths.
//!
//! Integer formats (`uint8`, ...) become bounds, since they are not part of JSON Schema and some clients reject them.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::SchemaError;
use crate::internal_keywords::SINGLE;

/// Replaces a number format of schemars by its bounds; of two bounds, the narrower is kept.
pub(super) fn replace_format_by_bounds(schema: &mut Map<String, Value>) {
    let Some(format) = schema.get("format").and_then(Value::as_str) else { return };
    let (low, high): (i128, i128) = match format {
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "int64" | "int" => (i64::MIN.into(), i64::MAX.into()),
        "uint8" => (0, u8::MAX.into()),
        "uint16" => (0, u16::MAX.into()),
        "uint32" => (0, u32::MAX.into()),
        "uint64" | "uint" => (0, u64::MAX.into()),
        // Wider than the numbers of JSON Schema validators; the decoder checks the bounds.
        "int128" | "float" | "double" => {
            let is_single = format == "float";
            schema.shift_remove("format");
            if is_single {
                shorten_default(schema);
                schema.insert(SINGLE.to_owned(), true.into());
            }
            return;
        }
        "uint128" => {
            schema.shift_remove("format");
            narrow_bound(schema, "minimum", 0, Ordering::Less);
            return;
        }
        _ => return,
    };
    schema.shift_remove("format");
    narrow_bound(schema, "minimum", low, Ordering::Less);
    narrow_bound(schema, "maximum", high, Ordering::Greater);
}

/// Shortens the default of an `f32` to its own digits: as an `f64`, it has more, and the output of `serde_json`
/// depends on its features.
fn shorten_default(schema: &mut Map<String, Value>) {
    let Some(default) = schema.get_mut("default") else { return };
    let short = default.as_f64().and_then(|double| (double as f32).to_string().parse().ok());
    if let Some(short) = short.and_then(Number::from_f64) {
        *default = short.into();
    }
}

/// Sets the bound `key` unless a narrower one is present; `wider` is the ordering of a wider bound relative to the
/// new one.
fn narrow_bound(schema: &mut Map<String, Value>, key: &str, bound: i128, wider: Ordering) {
    let is_wider = match schema.get(key) {
        None => true,
        Some(Value::Number(number)) => compare_exactly(number, bound) == wider,
        // Not a valid bound; compiling the schema reports it.
        Some(_) => false,
    };
    if is_wider && let Some(number) = Number::from_i128(bound) {
        schema.insert(key.to_owned(), number.into());
    }
}

/// The keywords of bounds, least and most.
const BOUNDS: [(&str, &str); 3] =
    [("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems")];

/// Returns an error if the least bound of `schema` is above the greatest, so that it admits no value.
pub(super) fn check_bounds(schema: &Map<String, Value>) -> Result<(), SchemaError> {
    let is_integer = schema.get("type").is_some_and(|name| name == "integer");
    for (least_key, most_key) in BOUNDS {
        if let (Some(Value::Number(least)), Some(Value::Number(most))) =
            (schema.get(least_key), schema.get(most_key))
            && is_empty_range(least, most, is_integer)
        {
            let message = format!(
                "`{least_key}` is {least} and `{most_key}` is {most}, so no value is valid; change one"
            );
            return Err(SchemaError::new(message));
        }
    }
    Ok(())
}

/// Returns `true` if no number, or no integer, is between `least` and `most`.
pub(super) fn is_empty_range(least: &Number, most: &Number, is_integer: bool) -> bool {
    let whole = |number: &Number, round: fn(f64) -> f64| {
        number.as_i128().unwrap_or_else(|| round(number.as_f64().unwrap_or_default()) as i128)
    };
    match (least.as_i128(), most.as_i128()) {
        _ if is_integer => whole(least, f64::ceil) > whole(most, f64::floor),
        (_, Some(most)) => compare_exactly(least, most).is_gt(),
        (Some(least), None) => compare_exactly(most, least).is_lt(),
        (None, None) => least.as_f64() > most.as_f64(),
    }
}

/// Compares `given` with `bound` exactly, since not every integer fits into a float.
pub(super) fn compare_exactly(number: &Number, bound: i128) -> Ordering {
    if let Some(integer) = number.as_i128() {
        return integer.cmp(&bound);
    }
    let number = number.as_f64().unwrap_or_default();
    let whole = number.floor();
    let fraction = if number > whole { Ordering::Greater } else { Ordering::Equal };
    (whole as i128).cmp(&bound).then(fraction)
}
