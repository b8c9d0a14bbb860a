//! Integer formats (`uint8`, ...) become bounds: they are no part of JSON Schema, and clients
//! stumble over them.

use serde_json::{Map, Number, Value};

/// Replaces the format of a number, where it has one that is schemars' own, by the bounds that it
/// stands for; bounds that are there already and narrower stay.
pub(super) fn bound(schema: &mut Map<String, Value>) {
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
        // Wider than what JSON Schema tools calculate with; the decoder knows the bounds.
        "int128" | "float" | "double" => {
            schema.shift_remove("format");
            return;
        }
        "uint128" => {
            schema.shift_remove("format");
            schema.entry("minimum").or_insert_with(|| 0.into());
            return;
        }
        _ => return,
    };
    schema.shift_remove("format");
    narrow(schema, "minimum", low, |given, bound| given < bound);
    narrow(schema, "maximum", high, |given, bound| given > bound);
}

/// Sets the bound `key`, unless a narrower one is there.
fn narrow(schema: &mut Map<String, Value>, key: &str, bound: i128, wider: fn(i128, i128) -> bool) {
    let given = match schema.get(key) {
        None => None,
        // A bound that is no integer is the author's; it stays.
        Some(given) => match given.as_i64().map(i128::from).or(given.as_u64().map(i128::from)) {
            None => return,
            given => given,
        },
    };
    if given.is_none_or(|given| wider(given, bound))
        && let Some(number) = Number::from_i128(bound)
    {
        schema.insert(key.to_owned(), number.into());
    }
}
