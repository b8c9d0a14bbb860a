//! The type of the value of a flag.

use serde::de::IgnoredAny;
use serde_json::{Number, Value};

use super::lossless_json::{INTEGER_TOO_LONG, parse_lossless_json};

/// The type of a value on a command line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ValueKind {
    /// Text, unchanged.
    Text,
    /// An integer with the bounds of its schema.
    Integer { least: Option<Value>, most: Option<Value> },
    /// A number with the bounds of its schema.
    Number { least: Option<Value>, most: Option<Value> },
    /// A boolean.
    Switch,
    /// One of several values.
    Choice(Vec<Value>),
    /// A list.
    List(Box<Self>),
    /// An object, written as JSON; its properties have flags of their own.
    Object,
    /// Any other value, as JSON; with `text`, other text is a string.
    Json { text: bool },
}

impl ValueKind {
    /// The placeholder of a value in help, such as `INTEGER`.
    pub(crate) fn placeholder(&self) -> &'static str {
        match self {
            Self::Text => "TEXT",
            Self::Integer { .. } => "INTEGER",
            Self::Number { .. } => "NUMBER",
            Self::Switch => "true|false",
            Self::Choice(_) => "CHOICE",
            Self::List(of) => of.placeholder(),
            Self::Object | Self::Json { .. } => "JSON",
        }
    }

    /// The name of the type in tables.
    pub(crate) fn description(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Integer { .. } => "integer".to_owned(),
            Self::Number { .. } => "number".to_owned(),
            Self::Switch => "true or false".to_owned(),
            Self::Choice(values) => values.iter().map(value_text).collect::<Vec<_>>().join(" | "),
            Self::List(of) => format!("list of {}", of.description()),
            Self::Object => "object".to_owned(),
            Self::Json { .. } => "JSON".to_owned(),
        }
    }

    /// Parses the value of a flag.
    pub(crate) fn parse(&self, text: &str) -> Result<Value, String> {
        match self {
            Self::Text => Ok(text.into()),
            Self::Switch => match text {
                "true" | "yes" | "on" => Ok(true.into()),
                "false" | "no" | "off" => Ok(false.into()),
                _ => Err("expected true or false".to_owned()),
            },
            Self::Choice(values) => {
                let same = values.iter().find(|value| value_text(value) == text);
                same.cloned().ok_or_else(|| format!("expected one of: {}", self.description()))
            }
            Self::Integer { least, most } => {
                let fits = |number: &Number| is_in_bounds(number, least.as_ref(), most.as_ref());
                match parse_integer(text) {
                    Some(number) if fits(&number) => Ok(Value::Number(number)),
                    None if is_integer(text) && text.parse().is_ok_and(|it: Number| fits(&it)) => {
                        Err(INTEGER_TOO_LONG.to_owned())
                    }
                    _ => Err(format!("expected an integer{}", bounds_text(least.as_ref(), most.as_ref()))),
                }
            }
            Self::Number { least, most } => {
                let number = text.parse::<Number>().ok();
                let number = number.filter(|number| is_in_bounds(number, least.as_ref(), most.as_ref()));
                let expected = || format!("expected a number{}", bounds_text(least.as_ref(), most.as_ref()));
                number.map(Value::Number).ok_or_else(expected)
            }
            Self::List(of) => of.parse(text).map_err(|error| match text.trim_start().starts_with('[') {
                true => format!("{error}; repeat the flag for each item"),
                false => error,
            }),
            Self::Object => {
                match serde_json::from_str::<IgnoredAny>(text).is_ok().then(|| parse_lossless_json(text)) {
                    Some(Ok(object @ Value::Object(_))) => Ok(object),
                    Some(Err(error)) => Err(error),
                    _ => Err("expected a JSON object".to_owned()),
                }
            }
            // Text that only looks like JSON is a string: `[draft] report`.
            Self::Json { text: true } if serde_json::from_str::<IgnoredAny>(text).is_err() => Ok(text.into()),
            Self::Json { .. } => parse_lossless_json(text).map_err(|error| format!("expected JSON: {error}")),
        }
    }
}

/// A value on a command line: a string has no quotes.
pub(crate) fn value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The bounds as text, such as ` from 1 to 14` or ` of at least 1`; empty without bounds.
pub(crate) fn bounds_text(least: Option<&Value>, most: Option<&Value>) -> String {
    match (least, most) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" of at least {least}"),
        (None, Some(most)) => format!(" of at most {most}"),
        (None, None) => String::new(),
    }
}

/// An integer that a value can hold exactly.
fn parse_integer(text: &str) -> Option<Number> {
    let unsigned = || text.parse::<u64>().ok().map(Number::from);
    text.parse::<i64>().ok().map(Number::from).or_else(unsigned)
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
}

/// Compares with the bounds as `f64`; the call is validated exactly.
fn is_in_bounds(number: &Number, least: Option<&Value>, most: Option<&Value>) -> bool {
    let bound = |value: Option<&Value>| value.and_then(Value::as_f64);
    number.as_f64().is_none_or(|number| {
        bound(least).is_none_or(|least| number >= least) && bound(most).is_none_or(|most| number <= most)
    })
}
