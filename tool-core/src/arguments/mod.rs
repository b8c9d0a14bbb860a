//! What a model sent, before anybody looked at it.

mod document;
mod json;
pub(crate) mod plan;
mod violation;

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::Value;

pub use self::violation::Violation;
use crate::{ErrorKind, ToolError};

/// The arguments of one call, undecoded: JSON text, borrowed or owned.
///
/// Providers send text or an object; text is what a tool decodes from, since a typed value is
/// built from text in one pass. A [`Value`] is written out once, here.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_core::Arguments;
///
/// assert_eq!(Arguments::from(json!({ "city": "Paris" })).as_str(), r#"{"city":"Paris"}"#);
/// assert_eq!(Arguments::from("  null ").as_str(), "{}");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arguments<'a>(Cow<'a, str>);

impl<'a> Arguments<'a> {
    /// No arguments: `{}`.
    pub const EMPTY: Arguments<'static> = Arguments(Cow::Borrowed("{}"));

    /// The JSON text; `{}` where a model sent nothing, only blanks, or `null`.
    #[must_use]
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text itself, without a copy where it is borrowed.
    #[must_use]
    #[inline]
    pub fn into_text(self) -> Cow<'a, str> {
        self.0
    }

    /// The text as a [`Value`].
    ///
    /// # Errors
    ///
    /// If the text is not JSON; the error says where.
    pub fn to_value(&self) -> Result<Value, ToolError> {
        serde_json::from_str(&self.0).map_err(|_| not_json(&self.0))
    }

    #[inline]
    fn from_text(text: Cow<'a, str>) -> Self {
        match text.trim_ascii() {
            "" | "null" => Self::EMPTY,
            _ => Self(text),
        }
    }
}

/// The error for a text that is not JSON.
fn not_json(text: &str) -> ToolError {
    // Its words, with line and column, are what people know.
    let error = serde_json::from_str::<IgnoredAny>(text).err();
    let why = error.map_or_else(|| "something is wrong with it".to_owned(), |error| error.to_string());
    let received = format!("text that is not JSON ({why})");
    ToolError::new(ErrorKind::InvalidArguments, "the arguments are not JSON")
        .with_violations(vec![Violation::new("", "a JSON object", received)])
}

impl<'a> From<&'a str> for Arguments<'a> {
    fn from(text: &'a str) -> Self {
        Self::from_text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Arguments<'a> {
    fn from(text: &'a String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<String> for Arguments<'_> {
    fn from(text: String) -> Self {
        Self::from_text(Cow::Owned(text))
    }
}

impl From<Value> for Arguments<'_> {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

impl From<&Value> for Arguments<'_> {
    fn from(value: &Value) -> Self {
        Self::from_text(Cow::Owned(value.to_string()))
    }
}
