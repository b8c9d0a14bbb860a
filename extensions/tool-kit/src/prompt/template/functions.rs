//! The functions of templates, and the text of values.

use minijinja::{Environment, Error, ErrorKind, Output, State, Value, value::ValueKind};
use serde::Serialize;

use super::{MAX_OUTPUT_BYTES, TOO_LONG, bounded_text::BoundedText};

/// The filter that makes the elements of a `range`: of a list itself, of an object its values by name, of a number those below it.
pub(super) const VALUES: &str = "__values";

/// The filter that makes the pairs of a `range` with two variables.
pub(super) const PAIRS: &str = "__pairs";

/// The filter that makes `none` of a value that is missing, so that it is compared as one.
pub(super) const PRESENT: &str = "__present";

/// The filter that returns an element by its key or its index.
pub(super) const ELEMENT: &str = "__element";

/// The filters of the engine whose result may be much longer than what they receive.
const REMOVED_FILTERS: [&str; 5] = ["batch", "format", "indent", "pprint", "slice"];

/// The numbers that a `range` over a number may have.
const MAX_COUNT: i64 = 100_000;

pub(super) fn configure_environment(environment: &mut Environment<'static>) {
    for filter in REMOVED_FILTERS {
        environment.remove_filter(filter);
    }
    environment.set_formatter(write_value);
    environment.add_filter("json", |value: Value| json_text(&value));
    environment.add_filter("tojson", |value: Value| json_text(&value));
    environment
        .add_filter("default", |value: Value, other: Value| if value.is_true() { value } else { other });
    environment.add_filter("join", join_values);
    environment.add_filter("replace", replace_text);
    environment.add_filter(VALUES, |value: Value| elements_of(&value).map(Value::from));
    environment.add_filter(PAIRS, key_element_pairs);
    environment
        .add_filter(PRESENT, |value: Value| if value.is_undefined() { Value::from(()) } else { value });
    environment.add_filter(ELEMENT, element_of);
}

/// Writes a text as it is, and any other value as JSON.
fn write_value(output: &mut Output<'_>, _: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    match value.as_str() {
        Some(text) => output.write_str(text).map_err(Error::from),
        None => output.write_str(&json_text(value)?).map_err(Error::from),
    }
}

fn json_text(value: &Value) -> Result<String, Error> {
    let mut text = BoundedText::default();
    append_json(&mut text, value)?;
    text.into_string().ok_or_else(too_long_error)
}

/// Appends the text of a value: a text itself, any other value as JSON.
fn append_text(text: &mut BoundedText, value: &Value) -> Result<(), Error> {
    match value.as_str() {
        Some(plain) => text.push(plain.as_bytes()).map_err(|_| too_long_error()),
        None => append_json(text, value),
    }
}

fn append_json(text: &mut BoundedText, value: &Value) -> Result<(), Error> {
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    let written = value.serialize(&mut serde_json::Serializer::new(&mut *text));
    written.map_err(|error| match text.is_full() {
        true => too_long_error(),
        false => Error::new(ErrorKind::BadSerialization, error.to_string()),
    })
}

fn join_values(values: Value, separator: Option<Value>) -> Result<String, Error> {
    let mut text = BoundedText::default();
    for (at, value) in elements_of(&values)?.iter().enumerate() {
        if let Some(separator) = separator.as_ref().filter(|_| at > 0) {
            append_text(&mut text, separator)?;
        }
        append_text(&mut text, value)?;
    }
    text.into_string().ok_or_else(too_long_error)
}

fn replace_text(text: String, from: String, to: String) -> Result<String, Error> {
    let added = text.matches(&*from).count().saturating_mul(to.len().saturating_sub(from.len()));
    match text.len().saturating_add(added) <= MAX_OUTPUT_BYTES {
        true => Ok(text.replace(&*from, &to)),
        false => Err(too_long_error()),
    }
}

/// Returns the elements of a value; of an object in the order of its names, as in Go.
fn elements_of(value: &Value) -> Result<Vec<Value>, Error> {
    if let Some(count) = value.as_i64().filter(|_| value.is_integer()) {
        return match count <= MAX_COUNT {
            true => Ok((0..count).map(Value::from).collect()),
            false => Err(invalid_operation(format!("a range has at most {MAX_COUNT} numbers"))),
        };
    }
    match value.kind() {
        ValueKind::Undefined => Err(Error::from(ErrorKind::UndefinedError)),
        ValueKind::Map => sorted_keys(value)?.iter().map(|key| value.get_item(key)).collect(),
        ValueKind::String => Err(invalid_operation("a text has no elements".to_owned())),
        _ => Ok(value.try_iter()?.collect()),
    }
}

fn sorted_keys(map: &Value) -> Result<Vec<Value>, Error> {
    let mut keys: Vec<Value> = map.try_iter()?.collect();
    keys.sort();
    Ok(keys)
}

fn key_element_pairs(value: Value) -> Result<Value, Error> {
    let elements = elements_of(&value)?;
    let keys: Vec<Value> = match value.kind() {
        ValueKind::Map => sorted_keys(&value)?,
        _ => (0..elements.len()).map(Value::from).collect(),
    };
    let pairs = keys.into_iter().zip(elements);
    Ok(pairs.map(|(key, element)| Value::from(vec![key, element])).collect::<Vec<_>>().into())
}

fn element_of(value: Value, key: Value) -> Result<Value, Error> {
    if key.as_i64().is_some_and(|index| index < 0) {
        return Err(invalid_operation("an index is not negative".to_owned()));
    }
    value.get_item(&key)
}

fn invalid_operation(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

fn too_long_error() -> Error {
    invalid_operation(TOO_LONG.to_owned())
}

/// Returns the text of an error of the engine.
pub(super) fn error_text(error: &Error) -> String {
    match (error.kind(), error.detail()) {
        (ErrorKind::OutOfFuel, _) => "the template takes too many steps; shorten what it repeats".to_owned(),
        (ErrorKind::UndefinedError, detail) => {
            let detail = detail.and_then(user_detail).map(|detail| format!(" ({detail})"));
            let detail = detail.unwrap_or_default();
            format!("a value is not in the input{detail}; state it, or use `default`")
        }
        (ErrorKind::UnknownFilter | ErrorKind::UnknownFunction, Some(detail)) => {
            format!("{detail}; functions are {}", super::actions::FUNCTION_NAMES.join(", "))
        }
        (ErrorKind::SyntaxError, Some(detail)) => detail.to_owned(),
        (kind, Some(detail)) => format!("{kind}: {detail}"),
        (kind, None) => kind.to_string(),
    }
}

/// Returns the detail of an error with the names of the template, `None` if it has others of the engine.
fn user_detail(detail: &str) -> Option<String> {
    let detail = detail.replace(&format!("`{}.", super::INPUT), "`.");
    (!detail.contains("`__")).then_some(detail)
}
