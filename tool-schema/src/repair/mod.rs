//! Repair of arguments that are nearly JSON.
//!
//! Models sometimes write arguments as JavaScript, as Python, or incompletely. One pass reads such a text and
//! writes its content as JSON. No data is dropped and no value is guessed: where that would be necessary, or
//! where a string has two possible ends, the text is rejected, and the model writes it again. The same pass
//! detects that a text was cut off, so that both results are consistent.
//!
//! [`envelope`] reads text around the object, [`reader`] the brackets, [`quoted`] strings, [`unquoted`] unquoted
//! words. All of them use a [`cursor`], which counts steps: time is linear in the length of any text.

mod ambiguity;
mod cursor;
mod envelope;
mod quoted;
mod reader;
mod unquoted;

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use self::{ambiguity::Ambiguity, cursor::Cursor};
use crate::{
    ArgumentError, Arguments, Correction, CorrectionRule, Violation, arguments::plan::messages::beginning,
};

/// The maximum length in bytes of a text that [`recover`] repairs: 1 MiB.
pub const MAX_REPAIR_BYTES: usize = 1 << 20;

/// The result of reading a text that should be JSON.
///
/// A repair is never silent: [`note`](Self::note) is a text for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RepairOutcome<'a> {
    /// Valid JSON, byte for byte as received. A blank text is included: it means no arguments.
    Strict(&'a str),
    /// Invalid JSON that was read completely.
    #[non_exhaustive]
    Repaired {
        /// The object as JSON.
        text: String,
        /// The first error of the received text, with its position.
        error: String,
    },
    /// The text ended before its object did: properties may be missing, and the last one may be incomplete.
    #[non_exhaustive]
    Partial {
        /// The object as far as received, without a key whose value is missing.
        text: String,
        /// The first error of the received text, with its position.
        error: String,
    },
    /// Invalid JSON that is ambiguous.
    #[non_exhaustive]
    Invalid {
        /// The text as received.
        text: &'a str,
        /// Its first error, with its position.
        error: String,
        /// The reason why it was not repaired.
        reason: String,
    },
}

impl RepairOutcome<'_> {
    /// Returns the text to use: the repaired text, or the received text if it was not repaired.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Strict(text) | Self::Invalid { text, .. } => text,
            Self::Repaired { text, .. } | Self::Partial { text, .. } => text,
        }
    }

    /// Returns a note for the model; `None` if nothing was repaired.
    ///
    /// It contains the arguments, truncated if they are long. A program that hides them can use `error` and
    /// `reason`, which contain no part of them.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        match self {
            Self::Strict(_) => None,
            Self::Repaired { text, error } => {
                let text = excerpt_for_note(text);
                Some(format!("the arguments were not valid JSON ({error}) and were read as {text}"))
            }
            Self::Partial { text, error } => {
                let text = excerpt_for_note(text);
                Some(format!(
                    "the arguments were cut off ({error}) and were read as {text}; fields may be missing"
                ))
            }
            Self::Invalid { error, reason, .. } => {
                Some(format!("the arguments are not valid JSON ({error}) and were not repaired: {reason}"))
            }
        }
    }

    /// Returns the repaired text and the correction that describes the repair of `received`; `None` if that is valid JSON.
    ///
    /// # Errors
    ///
    /// Returns an error if the text was cut off or is ambiguous.
    #[doc(hidden)]
    pub fn into_correction(self, received: &str) -> Result<Option<(String, Correction)>, ArgumentError> {
        let (error, problem) = match self {
            Self::Strict(_) => return Ok(None),
            Self::Repaired { text, .. } => {
                let correction = Correction::new("", received, &*text, CorrectionRule::Repaired);
                return Ok(Some((text, correction)));
            }
            Self::Partial { error, .. } => (error, "was cut off".to_owned()),
            Self::Invalid { error, reason, .. } => {
                (error, format!("is not JSON, and cannot be repaired: {reason}"))
            }
        };
        let received = format!("text that {problem} ({error})");
        Err(ArgumentError::syntax(Violation::new("", "a JSON object", received)))
    }
}

impl<'a> Arguments<'a> {
    /// Repairs text that is not valid JSON, as [`recover`] does. The repair is one of the [`corrections`](Self::corrections).
    ///
    /// # Errors
    ///
    /// Returns an error if the text was cut off, or if it is ambiguous.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_schema::Arguments;
    ///
    /// let arguments = Arguments::from("{city: 'Oslo'}").repaired()?;
    /// assert_eq!(arguments.as_str(), r#"{"city":"Oslo"}"#);
    /// assert_eq!(arguments.corrections().len(), 1);
    /// assert!(Arguments::from(r#"{"city":"Os"#).repaired().is_err());
    /// # Ok::<(), tool_schema::ArgumentError>(())
    /// ```
    pub fn repaired(self) -> Result<Self, ArgumentError> {
        match recover(self.as_str()).into_correction(self.as_str())? {
            None => Ok(self),
            Some((text, correction)) => Ok(self.corrected(text, vec![correction])),
        }
    }
}

/// Reads `text` as a JSON object, if it has exactly one interpretation.
///
/// Valid JSON is returned unchanged. In other texts, the following is read, and nothing else:
///
/// | text | is read as |
/// | --- | --- |
/// | keys without quotes, `'single'`, `` `back` `` and `“curly”` quotes | strings |
/// | an unquoted value that is neither a number nor a literal, such as `hello world` or `2024-01-01` | a string, with each of its characters |
/// | leading, trailing and missing commas; surplus closing brackets | as if they were right |
/// | a missing or wrong closing bracket within the object | the closing bracket of the enclosing container ends both |
/// | `// …`, `/* … */`, `# …` (with a space) after a comma, a bracket, a string, or a blank after a number or a literal; the ellipses `...` and `…` between entries | nothing |
/// | exactly `True`, `False`, `None`, `undefined` | `true`, `false`, `null`, `null` |
/// | `"a" + "b"` | `"ab"` |
/// | `"` within a string, a raw line break or another control character | the same, escaped |
/// | a backslash without a valid escape, as in `\d` | a backslash; `\'` is an apostrophe |
/// | `.5`, `5.` | `0.5`, `5` |
/// | `007` | `"007"`: not a number because of its leading zeros, which are kept |
/// | a code fence, a call `name({…});`, and sentences around the object | nothing |
///
/// Rejected, among others: two objects; `NaN`, `Infinity`, `+1`, `1_000`, `0xff`; tuples, sets, expressions,
/// triple quotes; a key without a value, two commas in a row; a string with both `\d` and `\n`, which may be a
/// path; a string whose end is ambiguous; `//`, `/*` or ` # ` within or after unquoted text, which may be part
/// of it; `none`, `NULL` and similar, which may be texts; a comment on the last line that contains a closing
/// bracket; texts longer than [`MAX_REPAIR_BYTES`] and objects nested deeper than 127 levels. A duplicate key
/// is kept: the validation of arguments rejects it.
///
/// A text that ends within its object counts as cut off, even if only the closing bracket is missing: another
/// property might have followed.
///
/// # Examples
///
/// ```
/// use tool_schema::{RepairOutcome, recover};
///
/// assert_eq!(recover(r#"{"a": 1}"#), RepairOutcome::Strict(r#"{"a": 1}"#));
///
/// let repaired = recover("```json\n{a: 'x', b: [1, 2,],}\n```");
/// assert!(matches!(repaired, RepairOutcome::Repaired { .. }));
/// assert_eq!(repaired.text(), r#"{"a":"x","b":[1,2]}"#);
///
/// let cut_off = recover(r#"{"city":"Par"#);
/// assert!(matches!(cut_off, RepairOutcome::Partial { .. }));
/// assert_eq!(
///     cut_off.note().as_deref(),
///     Some(
///         "the arguments were cut off (EOF while parsing a string at line 1 column 12) and were \
///          read as {\"city\":\"Par\"}; fields may be missing"
///     ),
/// );
///
/// let refused = recover(r#"{"a":2}foo"#);
/// assert!(matches!(refused, RepairOutcome::Invalid { .. }));
/// assert_eq!(refused.text(), r#"{"a":2}foo"#);
/// ```
#[must_use]
pub fn recover(text: &str) -> RepairOutcome<'_> {
    if text.trim_ascii().is_empty() {
        return RepairOutcome::Strict(text);
    }
    let error = match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => return RepairOutcome::Strict(text),
        Err(error) => error.to_string(),
    };
    match recover_object(text) {
        Ok(RecoveredObject { object, cut_off: false }) => RepairOutcome::Repaired { text: object, error },
        Ok(RecoveredObject { object, cut_off: true }) => RepairOutcome::Partial { text: object, error },
        Err(reason) => RepairOutcome::Invalid { text, error, reason },
    }
}

/// An object that was read.
struct RecoveredObject {
    object: String,
    cut_off: bool,
}

fn recover_object(text: &str) -> Result<RecoveredObject, String> {
    if text.len() > MAX_REPAIR_BYTES {
        return Err(format!("it is longer than {MAX_REPAIR_BYTES} bytes"));
    }
    let mut cursor = Cursor::new(text);
    let reading = read_object(&mut cursor);
    // Without remaining steps the text appears to end early, and the result is invalid.
    if cursor.is_exhausted() {
        return Err("it is too complex".to_owned());
    }
    let reading = reading.map_err(|doubt| doubt.in_text(text))?;
    // The output is JSON by construction; this check rejects it otherwise.
    match serde_json::from_str::<Map<String, Value>>(&reading.object) {
        Ok(_) => Ok(reading),
        Err(error) => Err(format!("{error} in the repaired text")),
    }
}

fn read_object(cursor: &mut Cursor<'_>) -> Result<RecoveredObject, Ambiguity> {
    let envelope = envelope::read_text_before_object(cursor)?;
    let reading = reader::read_object(cursor)?;
    if !reading.cut_off {
        envelope.read_text_after_object(cursor)?;
    }
    Ok(reading)
}

/// Returns at most about 500 characters, with a note about the rest.
fn excerpt_for_note(text: &str) -> String {
    const MAX_CHARS: usize = 500;
    match beginning(text, MAX_CHARS) {
        Some(start) => format!("{start}… ({} bytes in all)", text.len()),
        None => text.to_owned(),
    }
}
