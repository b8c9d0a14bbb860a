//! Arguments that are nearly JSON.
//!
//! What a model writes by hand it sometimes writes as JavaScript, as Python, or not to its end. One
//! pass reads such a text and writes what it says as JSON. The rule is that no data is left out and
//! no value guessed: where that would be needed, or where a string may end in two places, the text
//! is refused, and the model writes it again. Whether a text was cut off follows from the same
//! pass, which therefore cannot disagree with itself.
//!
//! [`envelope`] is what may stand around the object, [`reader`] follows the brackets, [`quoted`]
//! finds where strings end, [`bare`] says what a word without quotes is. All of them walk a
//! [`cursor`], whose steps are counted: time is linear in the length of any text.

mod bare;
mod cursor;
mod doubt;
mod envelope;
mod quoted;
mod reader;

use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use tool_core::__private::words::beginning;

use self::{cursor::Cursor, doubt::Doubt};

/// The longest text, in bytes, that [`recover`] tries to read where it is not JSON: 1 MiB.
pub const MAX_REPAIR_BYTES: usize = 1 << 20;

/// Which tools may run on arguments that were not JSON and could be read all the same.
///
/// # Examples
///
/// ```
/// use tool_runtime::schema::{Repair, recover};
///
/// let repaired = recover("{city: 'Oslo'}");
/// assert!(!Repair::Off.permits(true, &repaired));
/// assert!(Repair::ReadOnlyTools.permits(true, &repaired));
/// assert!(!Repair::ReadOnlyTools.permits(false, &repaired));
/// assert!(Repair::AllTools.permits(false, &repaired));
///
/// let cut_off = recover(r#"{"city":"Os"#);
/// assert!(!Repair::AllTools.permits(true, &cut_off));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Repair {
    /// None: what is not JSON is an error.
    #[default]
    Off,
    /// Tools that say that they are read-only.
    ReadOnlyTools,
    /// All tools.
    AllTools,
}

impl Repair {
    /// Whether a tool may run on what became of its arguments.
    ///
    /// No tool runs on a text that was cut off, not even one that is `read_only`: fields may be missing,
    /// and the last one may be shorter than it was meant to be.
    #[must_use]
    pub fn permits(self, read_only: bool, recovery: &RepairOutcome<'_>) -> bool {
        match (recovery, self) {
            (RepairOutcome::Strict(_), _) => true,
            (RepairOutcome::Invalid { .. } | RepairOutcome::Partial { .. }, _) | (_, Self::Off) => false,
            (RepairOutcome::Repaired { .. }, Self::AllTools) => true,
            (RepairOutcome::Repaired { .. }, _) => read_only,
        }
    }
}

/// What became of a text that should have been JSON.
///
/// A repair is never silent: [`note`](Self::note) is what the model should be told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RepairOutcome<'a> {
    /// It is JSON, byte for byte as it came. A blank text counts as such: it is no arguments at all.
    Strict(&'a str),
    /// It was not JSON, and could be read all the same, to its end.
    #[non_exhaustive]
    Repaired {
        /// The object that it was read as.
        text: String,
        /// What is wrong with the text that came, and where.
        error: String,
    },
    /// It ended before its object did: fields may be missing, and the last may be too short.
    #[non_exhaustive]
    Partial {
        /// The object as far as it came. A key without a value is not in it.
        text: String,
        /// What is wrong with the text that came, and where.
        error: String,
    },
    /// It is not JSON, and cannot be read with certainty.
    #[non_exhaustive]
    Invalid {
        /// The text as it came.
        text: &'a str,
        /// What is wrong with it, and where.
        error: String,
        /// Why it was not repaired.
        reason: String,
    },
}

impl RepairOutcome<'_> {
    /// The text to go on with: as it was read, or as it came where it could not be read.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Strict(text) | Self::Invalid { text, .. } => text,
            Self::Repaired { text, .. } | Self::Partial { text, .. } => text,
        }
    }

    /// What to tell the model; `None` where there was nothing to repair.
    ///
    /// It shows the arguments, shortened where they are long. What hides them can use the `error`
    /// and the `reason`, which repeat nothing of them.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        match self {
            Self::Strict(_) => None,
            Self::Repaired { text, error } => {
                let text = shortened(text);
                Some(format!("the arguments were not valid JSON ({error}) and were read as {text}"))
            }
            Self::Partial { text, error } => {
                let text = shortened(text);
                Some(format!(
                    "the arguments were cut off ({error}) and were read as {text}; fields may be missing"
                ))
            }
            Self::Invalid { error, reason, .. } => {
                Some(format!("the arguments are not valid JSON ({error}) and were not repaired: {reason}"))
            }
        }
    }
}

/// Reads `text` as the JSON object that it was meant to be, if that is clear.
///
/// JSON comes back as it is, whatever it is. In other texts these are read, and nothing else:
///
/// | what | is read as |
/// | --- | --- |
/// | keys without quotes, `'single'`, `` `back` `` and `“curly”` quotes | strings |
/// | a value without quotes that is no number and no literal, such as `hello world` or `2024-01-01` | a string, with each of its characters |
/// | leading, trailing and missing commas; surplus closers | as if they were right |
/// | a missing or wrong closer within the object | the closer of what is around it ends both |
/// | `// …`, `/* … */`, `# …` (with a space) after a comma, a bracket, a string, or a blank behind a number or a literal; the ellipses `...` and `…` between entries | nothing |
/// | exactly `True`, `False`, `None`, `undefined` | `true`, `false`, `null`, `null` |
/// | `"a" + "b"` | `"ab"` |
/// | `"` within a string, a raw line break or another control character | the same, escaped |
/// | a backslash that begins no escape, as in `\d` | a backslash; `\'` is an apostrophe |
/// | `.5`, `5.` | `0.5`, `5` |
/// | `007` | `"007"`: leading zeros are no number, and are kept |
/// | a code fence, a call `name({…});`, and sentences around | nothing |
///
/// Refused, among others: two objects; `NaN`, `Infinity`, `+1`, `1_000`, `0xff`; tuples, sets,
/// expressions, triple quotes; a key without a value, two commas in a row; a string that has both
/// `\d` and `\n`, for it may be a path; a string whose end cannot be told; `//`, `/*` or ` # ` within or
/// after a text without quotes, which may be a part of it; `none`, `NULL` and the like, which may be texts; a
/// comment on the last line with a closer in it; texts above
/// [`MAX_REPAIR_BYTES`] and objects nested deeper than 127 levels. A repeated key is left as it is:
/// the check of arguments refuses it.
///
/// A text is cut off where it ends within its object, be it that only the closer is missing:
/// nobody can know that no field was to follow.
///
/// # Examples
///
/// ```
/// use tool_runtime::schema::{RepairOutcome, recover};
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
    match read(text) {
        Ok(Reading { object, cut_off: false }) => RepairOutcome::Repaired { text: object, error },
        Ok(Reading { object, cut_off: true }) => RepairOutcome::Partial { text: object, error },
        Err(reason) => RepairOutcome::Invalid { text, error, reason },
    }
}

/// An object as it was read.
struct Reading {
    object: String,
    cut_off: bool,
}

fn read(text: &str) -> Result<Reading, String> {
    if text.len() > MAX_REPAIR_BYTES {
        return Err(format!("it is longer than {MAX_REPAIR_BYTES} bytes"));
    }
    let mut cursor = Cursor::new(text);
    let reading = read_object(&mut cursor);
    // Without fuel the text seems to end early, and whatever was made of that does not count.
    if cursor.is_exhausted() {
        return Err("it is too tangled".to_owned());
    }
    let reading = reading.map_err(|doubt| doubt.in_text(text))?;
    // The grammar is kept by construction; if it were not, nothing should run.
    match serde_json::from_str::<Map<String, Value>>(&reading.object) {
        Ok(_) => Ok(reading),
        Err(error) => Err(format!("{error} of what it was read as")),
    }
}

fn read_object(cursor: &mut Cursor<'_>) -> Result<Reading, Doubt> {
    let envelope = envelope::open(cursor)?;
    let reading = reader::read(cursor)?;
    if !reading.cut_off {
        envelope.close(cursor)?;
    }
    Ok(reading)
}

/// At most about 500 characters, with a word about the rest.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 500;
    match beginning(text, LONGEST) {
        Some(start) => format!("{start}… ({} bytes in all)", text.len()),
        None => text.to_owned(),
    }
}
