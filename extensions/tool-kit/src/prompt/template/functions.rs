//! The functions of templates, and the text of values.

use minijinja::{Environment, Error, ErrorKind, Output, State, Value};

/// The filter that makes the elements of a `range`: of a list itself, of an object its values, of a number those below it.
pub(super) const VALUES: &str = "__values";

/// The filter that makes the pairs of a `range` with two variables.
pub(super) const PAIRS: &str = "__pairs";

/// The numbers that a `range` over a number may have.
const MAX_COUNT: i64 = 100_000;

pub(super) fn add_to(environment: &mut Environment<'static>) {
    environment.set_formatter(write_value);
    environment.add_filter("json", |value: Value| json_text(&value));
    environment
        .add_filter("default", |value: Value, other: Value| if value.is_true() { value } else { other });
    environment.add_filter("join", join_values);
    environment.add_filter(VALUES, |value: Value| elements_of(&value).map(Value::from));
    environment.add_filter(PAIRS, pairs_of);
}

/// Writes a text as it is, and any other value as JSON.
fn write_value(output: &mut Output<'_>, _: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    match value.as_str() {
        Some(text) => output.write_str(text).map_err(Error::from),
        None => output.write_str(&json_text(value)?).map_err(Error::from),
    }
}

/// Returns the text of a value: a text itself, any other value as JSON.
fn text_of(value: &Value) -> Result<String, Error> {
    match value.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => json_text(value),
    }
}

fn json_text(value: &Value) -> Result<String, Error> {
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    serde_json::to_string(value).map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))
}

fn join_values(values: Value, separator: Option<Value>) -> Result<String, Error> {
    let separator = separator.as_ref().map(text_of).transpose()?.unwrap_or_default();
    let texts: Result<Vec<_>, _> = elements_of(&values)?.iter().map(text_of).collect();
    Ok(texts?.join(&separator))
}

fn elements_of(value: &Value) -> Result<Vec<Value>, Error> {
    if let Some(count) = value.as_i64().filter(|_| value.is_integer()) {
        return match count <= MAX_COUNT {
            true => Ok((0..count).map(Value::from).collect()),
            false => Err(invalid_operation(format!("a range has at most {MAX_COUNT} numbers"))),
        };
    }
    match value.kind() {
        minijinja::value::ValueKind::Map => value.try_iter()?.map(|key| value.get_item(&key)).collect(),
        minijinja::value::ValueKind::String => Err(invalid_operation("a text has no elements".to_owned())),
        _ => Ok(value.try_iter()?.collect()),
    }
}

fn pairs_of(value: Value) -> Result<Value, Error> {
    let keys: Vec<Value> = match value.kind() {
        minijinja::value::ValueKind::Map => value.try_iter()?.collect(),
        _ => (0..elements_of(&value)?.len()).map(Value::from).collect(),
    };
    let pairs = keys.into_iter().zip(elements_of(&value)?);
    Ok(pairs.map(|(key, element)| Value::from(vec![key, element])).collect::<Vec<_>>().into())
}

fn invalid_operation(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// Returns the text of an error of the engine.
pub(super) fn error_text(error: &Error) -> String {
    match (error.kind(), error.detail()) {
        (ErrorKind::OutOfFuel, _) => "the template takes too many steps; shorten what it repeats".to_owned(),
        (ErrorKind::UndefinedError, detail) => {
            let detail = detail.map(|detail| format!(" ({detail})")).unwrap_or_default();
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
