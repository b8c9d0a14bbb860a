//! What a flag takes.

use serde::de::IgnoredAny;
use serde_json::{Number, Value};

use super::exact::{TOO_LONG, exact};

/// What a value is, as a person writes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// As it stands.
    Text,
    /// A whole number, with the bounds that a schema gives it.
    Integer { least: Option<Value>, most: Option<Value> },
    /// A number, with its bounds.
    Number { least: Option<Value>, most: Option<Value> },
    /// Yes or no.
    Switch,
    /// One of these.
    Choice(Vec<Value>),
    /// Several of these.
    List(Box<Self>),
    /// Properties that have flags of their own, written as JSON.
    Object,
    /// Anything else, as JSON; what is no JSON is a text where `text` says so.
    Json { text: bool },
}

impl Kind {
    /// What stands for a value in help: `<INTEGER>`.
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

    /// In words, as tables have it.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Integer { .. } => "integer".to_owned(),
            Self::Number { .. } => "number".to_owned(),
            Self::Switch => "true or false".to_owned(),
            Self::Choice(values) => values.iter().map(shown).collect::<Vec<_>>().join(" | "),
            Self::List(of) => format!("list of {}", of.words()),
            Self::Object => "object".to_owned(),
            Self::Json { .. } => "JSON".to_owned(),
        }
    }

    /// Reads what was written.
    pub(crate) fn read(&self, text: &str) -> Result<Value, String> {
        match self {
            Self::Text => Ok(text.into()),
            Self::Switch => match text {
                "true" | "yes" | "on" => Ok(true.into()),
                "false" | "no" | "off" => Ok(false.into()),
                _ => Err("expected true or false".to_owned()),
            },
            Self::Choice(values) => {
                let same = values.iter().find(|value| shown(value) == text);
                same.cloned().ok_or_else(|| format!("expected one of: {}", self.words()))
            }
            Self::Integer { least, most } => {
                let fits = |number: &Number| within(number, least.as_ref(), most.as_ref());
                match whole(text) {
                    Some(number) if fits(&number) => Ok(Value::Number(number)),
                    None if is_whole(text) && text.parse().is_ok_and(|it: Number| fits(&it)) => {
                        Err(TOO_LONG.to_owned())
                    }
                    _ => Err(format!("expected an integer{}", bounds(least.as_ref(), most.as_ref()))),
                }
            }
            Self::Number { least, most } => {
                let number = text.parse::<Number>().ok();
                let number = number.filter(|number| within(number, least.as_ref(), most.as_ref()));
                let expected = || format!("expected a number{}", bounds(least.as_ref(), most.as_ref()));
                number.map(Value::Number).ok_or_else(expected)
            }
            Self::List(of) => of.read(text),
            Self::Object => match exact(text)? {
                object @ Value::Object(_) => Ok(object),
                _ => Err("expected a JSON object".to_owned()),
            },
            // What looks like JSON and is none is a text as well: `[draft] report`.
            Self::Json { text: true } if serde_json::from_str::<IgnoredAny>(text).is_err() => Ok(text.into()),
            Self::Json { .. } => exact(text).map_err(|error| format!("expected JSON: {error}")),
        }
    }
}

/// A value as a person writes it: a text without quotes.
pub(crate) fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// ` from 1 to 14`, ` of at least 1`; nothing where there are no bounds.
pub(crate) fn bounds(least: Option<&Value>, most: Option<&Value>) -> String {
    match (least, most) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" of at least {least}"),
        (None, Some(most)) => format!(" of at most {most}"),
        (None, None) => String::new(),
    }
}

/// A whole number that a value can hold as it is.
fn whole(text: &str) -> Option<Number> {
    let unsigned = || text.parse::<u64>().ok().map(Number::from);
    text.parse::<i64>().ok().map(Number::from).or_else(unsigned)
}

fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
}

/// Bounds beyond what is compared here are left to the check of the call.
fn within(number: &Number, least: Option<&Value>, most: Option<&Value>) -> bool {
    let Some(number) = number.as_f64() else { return true };
    least.and_then(Value::as_f64).is_none_or(|least| number >= least)
        && most.and_then(Value::as_f64).is_none_or(|most| number <= most)
}
