//! What a model sent, before anybody looked at it.

pub(crate) mod canonical;
mod document;
mod exact;
mod json;
pub(crate) mod plan;
mod rewrite;
mod violation;

use std::borrow::Cow;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use self::plan::Correction;
pub use self::{
    exact::ExactValue,
    violation::{Violation, Violations},
};
use crate::{ErrorKind, ToolError};

/// The arguments of one call, undecoded: JSON text, borrowed or owned.
///
/// Providers send text or an object; text is what a tool decodes from, since a typed value is
/// built from text in one pass. A [`Value`] is written out once, here.
///
/// They may be [lenient](Self::lenient): what is almost right is then corrected when they are read,
/// and they say [what was](Self::corrections).
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_runtime::schema::Arguments;
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

/// What was corrected, which is nothing mostly: in a word, since arguments are handed on several times.
pub(crate) type Corrections = Option<Box<Vec<Correction>>>;

impl<'a> Arguments<'a> {
    /// No arguments: `{}`.
    pub const EMPTY: Arguments<'static> = Arguments::of(Cow::Borrowed("{}"));

    const fn of(text: Cow<'a, str>) -> Self {
        Self { text, lenient: false, corrections: None }
    }

    /// The JSON text; `{}` where a model sent nothing, only blanks, or `null`.
    #[must_use]
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The same arguments, borrowed, with what was corrected in them.
    #[must_use]
    #[inline]
    pub fn as_borrowed(&self) -> Arguments<'_> {
        let Self { text, lenient, corrections } = self;
        Arguments { text: Cow::Borrowed(text), lenient: *lenient, corrections: corrections.clone() }
    }

    /// The text itself, without a copy where it is borrowed.
    #[must_use]
    #[inline]
    pub fn into_text(self) -> Cow<'a, str> {
        self.text
    }

    /// Says whether what is almost right is corrected when the arguments are read, by the rules of
    /// [`CorrectionRule`](crate::CorrectionRule); it is not if nothing is said.
    #[must_use]
    #[inline]
    pub fn lenient(mut self, lenient: bool) -> Self {
        self.lenient = lenient;
        self
    }

    /// What was corrected in the arguments before they fitted; nothing, mostly.
    #[must_use]
    pub fn corrections(&self) -> &[Correction] {
        self.corrections.as_deref().map_or(&[], Vec::as_slice)
    }

    /// The same, written as `text`, with what was corrected for that beside what was before.
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

    /// What was corrected, to be kept beyond the arguments.
    pub(crate) fn kept_corrections(&self) -> Corrections {
        self.corrections.clone()
    }

    /// The text, and what was corrected in it.
    #[inline]
    pub(crate) fn into_parts(self) -> (Cow<'a, str>, Corrections) {
        (self.text, self.corrections)
    }

    /// Tells nothing of what was corrected, since there is a secret among the arguments; `pointer`
    /// hides what belongs to it in a pointer.
    pub(crate) fn hide(&mut self, pointer: impl Fn(&mut String)) {
        for correction in self.corrections.iter_mut().flat_map(|all| all.iter_mut()) {
            correction.hide();
            pointer(&mut correction.pointer);
        }
    }

    /// The text as a [`Value`].
    ///
    /// # Errors
    ///
    /// If the text is not JSON, or has what no value can hold, such as a name twice; the error says
    /// where.
    pub fn to_value(&self) -> Result<Value, ToolError> {
        let mut value = Value::Null;
        plan::Plan::anything().read(&mut Arguments::of(Cow::Borrowed(&self.text)), |source, _| {
            value = Value::deserialize(source)?;
            Ok(())
        })?;
        Ok(value)
    }

    #[inline]
    fn from_text(text: Cow<'a, str>) -> Self {
        // Most begin like this, and need no closer look.
        if !text.starts_with('{') && matches!(text.trim_ascii(), "" | "null") {
            return Self::EMPTY;
        }
        Self::of(text)
    }
}

/// The error for a text that is not JSON.
fn not_json(text: &str) -> ToolError {
    // Its words, with line and column, are what people know. What is skipped may have half a
    // surrogate pair in it.
    let error = serde_json::from_str::<IgnoredAny>(text).err();
    let error = error.or_else(|| serde_json::from_str::<Value>(text).err());
    let why = error.map_or_else(|| "something is wrong with it".to_owned(), |error| error.to_string());
    let received = format!("text that is not JSON ({why})");
    ToolError::new(ErrorKind::InvalidArguments, "the arguments are not JSON").with_violations(Violation::new(
        "",
        "a JSON object",
        received,
    ))
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
        // What `Display` writes, without its machinery; a value can always be written.
        let text = serde_json::to_string(value).unwrap_or_else(|_| value.to_string());
        Self::from_text(Cow::Owned(text))
    }
}
