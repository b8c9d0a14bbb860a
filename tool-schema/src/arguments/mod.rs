//! The arguments of a call as JSON text, before decoding.

pub(crate) mod canonical;
mod document;
mod error;
mod exact_value;
mod number_spelling;
pub(crate) mod plan;
mod rewrite;
pub(crate) mod violation;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use self::plan::Correction;
pub use self::{
    error::ArgumentError,
    exact_value::ExactValue,
    violation::{Violation, Violations},
};
use crate::serialize::to_string;

/// Returns the canonical spelling of the JSON number `text`, which is the same for all spellings of one exact value.
#[must_use]
pub fn canonical_number(text: &str) -> Cow<'_, str> {
    canonical::canonical_number(text)
}

/// The arguments of one call: undecoded JSON text, borrowed or owned.
///
/// Providers send text or an object. Tools decode text, since a typed value is built from text in one pass; a
/// [`Value`] is serialised once, here.
///
/// [Lenient](Self::lenient) arguments are corrected while they are decoded if they are almost valid;
/// [`corrections`](Self::corrections) lists the changes.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_schema::Arguments;
///
/// assert_eq!(Arguments::from(json!({ "city": "Paris" })).as_str(), r#"{"city":"Paris"}"#);
/// assert_eq!(Arguments::from("  null ").as_str(), "{}");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arguments<'a> {
    text: Cow<'a, str>,
    lenient: bool,
    corrections: Corrections,
}

/// The corrections; usually none. One word wide, since arguments are passed on often.
pub type Corrections = Option<Box<Vec<Correction>>>;

/// The whitespace of JSON; other blanks, such as a form feed, are not.
const JSON_BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

impl<'a> Arguments<'a> {
    /// No arguments: `{}`.
    pub const EMPTY: Arguments<'static> = Arguments::new(Cow::Borrowed("{}"));

    const fn new(text: Cow<'a, str>) -> Self {
        Self { text, lenient: false, corrections: None }
    }

    /// Returns the JSON text; `{}` if the model sent nothing, only whitespace, or `null`.
    #[must_use]
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Borrows the arguments together with their corrections.
    #[must_use]
    #[inline]
    pub fn as_borrowed(&self) -> Arguments<'_> {
        let Self { text, lenient, corrections } = self;
        Arguments { text: Cow::Borrowed(text), lenient: *lenient, corrections: corrections.clone() }
    }

    /// Returns the text, without a copy if it is borrowed.
    #[must_use]
    #[inline]
    pub fn into_text(self) -> Cow<'a, str> {
        self.text
    }

    /// Sets whether almost valid arguments are corrected while they are decoded, by the rules of
    /// [`CorrectionRule`](crate::CorrectionRule). Default: `false`.
    #[must_use]
    #[inline]
    pub fn lenient(mut self, lenient: bool) -> Self {
        self.lenient = lenient;
        self
    }

    /// Returns the corrections that were applied; usually none.
    #[must_use]
    pub fn corrections(&self) -> &[Correction] {
        self.corrections.as_deref().map_or(&[], Vec::as_slice)
    }

    /// Replaces the text by `text` and adds the `corrections` that led to it.
    #[must_use]
    pub fn corrected(self, text: String, corrections: Vec<Correction>) -> Arguments<'static> {
        let Self { lenient, corrections: before, .. } = self;
        let corrections = match before {
            None => (!corrections.is_empty()).then(|| Box::new(corrections)),
            Some(mut all) => {
                all.extend(corrections);
                Some(all)
            }
        };
        Arguments { text: Cow::Owned(text), lenient, corrections }
    }

    /// Returns a copy of the corrections that outlives the arguments.
    #[doc(hidden)]
    #[must_use]
    pub fn kept_corrections(&self) -> Corrections {
        self.corrections.clone()
    }

    /// Returns the text and its corrections.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn into_parts(self) -> (Cow<'a, str>, Corrections) {
        (self.text, self.corrections)
    }

    /// Redacts the corrections because one of the arguments is a secret; `pointer` redacts the secret part of a
    /// pointer.
    #[doc(hidden)]
    pub fn hide(&mut self, pointer: impl Fn(&mut String)) {
        for correction in self.corrections.iter_mut().flat_map(|all| all.iter_mut()) {
            correction.redact_values();
            pointer(&mut correction.pointer);
        }
    }

    /// Parses the text as a [`Value`].
    ///
    /// # Errors
    ///
    /// Returns an error with the position if the text is not JSON, or contains something that a value cannot
    /// represent, such as a duplicate name.
    pub fn to_value(&self) -> Result<Value, ArgumentError> {
        let mut value = Value::Null;
        plan::Plan::anything().read(&mut Arguments::new(Cow::Borrowed(&self.text)), |source, _| {
            value = Value::deserialize(source)?;
            Ok(())
        })?;
        Ok(value)
    }

    #[inline]
    fn from_text(text: Cow<'a, str>) -> Self {
        // Fast path: most arguments begin with a brace.
        if !text.starts_with('{') && matches!(text.trim_matches(JSON_BLANKS), "" | "null") {
            return Self::EMPTY;
        }
        Self::new(text)
    }
}

impl<'a> From<&'a str> for Arguments<'a> {
    #[inline]
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
        // Equals the output of `Display` but is faster; serialising a value cannot fail.
        let text = to_string(value).unwrap_or_else(|_| value.to_string());
        Self::from_text(Cow::Owned(text))
    }
}

/// A value that can be the arguments of a call, by its conversion into [`Arguments`]: JSON text, or a JSON value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a call",
    label = "is neither JSON text nor a JSON value",
    note = "write `json!({{ .. }})`, or the JSON text as `&str` or `String`",
    note = "a value that implements `Serialize` is converted by `serde_json::to_value(value)?`"
)]
pub trait IntoArguments<'a>: Into<Arguments<'a>> {}

#[diagnostic::do_not_recommend]
impl<'a, T: Into<Arguments<'a>>> IntoArguments<'a> for T {}
