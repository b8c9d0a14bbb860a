use serde_json::{Map, Value, map::Entry};

use super::{DecodeError, DecodeErrorKind};
use crate::json::Reader;

/// Reads the next value with the numbers that a [`Document`](crate::arguments::document::Document) has. It has no
/// duplicate names and no numbers beyond the range of floats.
pub(super) fn copy_value(reader: &mut Reader<'_>) -> Result<Value, DecodeError> {
    Ok(match reader.peek() {
        Some(b'{') => Value::Object(copy_object(reader)?),
        Some(b'[') => {
            reader.open_container()?;
            let mut items = Vec::new();
            while reader.next_item(items.is_empty(), b']')? {
                items.push(copy_value(reader)?);
            }
            Value::Array(items)
        }
        Some(b'"') => Value::String(reader.read_string()?.into_owned()),
        Some(b't') => reader.read_word("true").map(|()| Value::Bool(true))?,
        Some(b'f') => reader.read_word("false").map(|()| Value::Bool(false))?,
        Some(b'n') => reader.read_word("null").map(|()| Value::Null)?,
        Some(b'-' | b'0'..=b'9') => {
            Value::Number(reader.read_number()?.to_number().ok_or_else(DecodeError::refused)?)
        }
        _ => return Err(DecodeError::new(DecodeErrorKind::Syntax)),
    })
}

fn copy_object(reader: &mut Reader<'_>) -> Result<Map<String, Value>, DecodeError> {
    reader.open_container()?;
    let mut map = Map::new();
    let mut is_first = true;
    while reader.next_property(is_first)? {
        is_first = false;
        match map.entry(reader.read_name()?) {
            Entry::Vacant(vacant) => vacant.insert(copy_value(reader)?),
            Entry::Occupied(_) => return Err(DecodeError::refused()),
        };
    }
    Ok(map)
}
