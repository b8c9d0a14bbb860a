use serde_json::{Map, Value, map::Entry};

use super::{Refusal, Why};
use crate::arguments::json::Reader;

/// Reads the next value with the numbers that a [`Document`](crate::arguments::document::Document) has. It has no
/// duplicate names and no numbers beyond the range of floats.
pub(super) fn copied(reader: &mut Reader<'_>) -> Result<Value, Refusal> {
    Ok(match reader.peek() {
        Some(b'{') => Value::Object(object(reader)?),
        Some(b'[') => {
            reader.open()?;
            let mut items = Vec::new();
            while reader.next_item(items.is_empty(), b']')? {
                items.push(copied(reader)?);
            }
            Value::Array(items)
        }
        Some(b'"') => Value::String(reader.string()?.into_owned()),
        Some(b't') => reader.word("true").map(|()| Value::Bool(true))?,
        Some(b'f') => reader.word("false").map(|()| Value::Bool(false))?,
        Some(b'n') => reader.word("null").map(|()| Value::Null)?,
        Some(b'-' | b'0'..=b'9') => Value::Number(reader.number()?.to_number().ok_or_else(Refusal::refused)?),
        _ => return Err(Refusal::new(Why::Syntax)),
    })
}

fn object(reader: &mut Reader<'_>) -> Result<Map<String, Value>, Refusal> {
    reader.open()?;
    let mut map = Map::new();
    let mut is_first = true;
    while reader.next_property(is_first)? {
        is_first = false;
        match map.entry(reader.name()?) {
            Entry::Vacant(vacant) => vacant.insert(copied(reader)?),
            Entry::Occupied(_) => return Err(Refusal::refused()),
        };
    }
    Ok(map)
}
