//! JSON text that is stored as it was written.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned, de::Error as _};
use serde_json::value::RawValue;

use crate::SessionError;

/// Valid JSON text, kept byte for byte: the order of members, the spelling of numbers, escapes and blanks. Stores never interpret
/// it. Clones share the text.
///
/// # Examples
///
/// ```
/// use tool_session::JsonText;
///
/// let text = JsonText::new(r#"{"b": 1.50e0, "a": "\u0000"}"#)?;
/// assert_eq!(text.as_str(), r#"{"b": 1.50e0, "a": "\u0000"}"#);
/// assert!(JsonText::new("{").is_err());
/// # Ok::<(), tool_session::SessionError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct JsonText(Arc<str>);

impl JsonText {
    /// The maximum number of bytes: 16 MiB.
    pub const MAX_BYTES: usize = 16 << 20;

    /// Validates `text`.
    ///
    /// # Errors
    ///
    /// Returns an error if `text` is not valid JSON, and if it has more than [16 MiB](Self::MAX_BYTES).
    pub fn new(text: impl Into<Arc<str>>) -> Result<Self, SessionError> {
        let text = text.into();
        check_json_length(text.len())?;
        serde_json::from_str::<&RawValue>(&text)
            .map_err(|error| SessionError::Invalid(format!("the text is not valid JSON: {error}")))?;
        Ok(Self(text))
    }

    /// Serialises `value`.
    ///
    /// # Errors
    ///
    /// Returns an error if `value` cannot be serialised, and if its text has more than [16 MiB](Self::MAX_BYTES).
    pub fn of(value: &impl Serialize) -> Result<Self, SessionError> {
        let text = serde_json::to_string(value)
            .map_err(|error| SessionError::Invalid(format!("the value is not JSON: {error}")))?;
        check_json_length(text.len())?;
        Ok(Self(text.into()))
    }

    /// Returns the text `null`.
    pub(crate) fn null() -> Self {
        Self("null".into())
    }

    /// Wraps a text that a store checked before it stored it.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn from_stored(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Deserialises the text.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, SessionError> {
        // The error may repeat a part of the text, which belongs to the reader of the text.
        serde_json::from_str(&self.0).map_err(|error| {
            let type_name = std::any::type_name::<T>();
            SessionError::Invalid(format!("the stored text is not a valid `{type_name}`: {error}"))
        })
    }
}

/// Checks the number of bytes of a text.
pub(crate) fn check_json_length(bytes: usize) -> Result<(), SessionError> {
    const MAX: usize = JsonText::MAX_BYTES;
    if bytes <= MAX {
        return Ok(());
    }
    let problem = format!("the text has {bytes} bytes; at most {MAX} bytes (16 MiB) are stored");
    Err(SessionError::Invalid(problem))
}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Serialises as a string, which keeps blanks and line breaks of the text.
impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
