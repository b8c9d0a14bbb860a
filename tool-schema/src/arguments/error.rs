//! The error of arguments that cannot be used.

use std::{error::Error, fmt};

use serde::de::IgnoredAny;
use serde_json::Value;

use super::{Violation, Violations, number_spelling::restore_number_spelling_in_violations};

/// The error of arguments that are not JSON, or that do not match their schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentError {
    violations: Violations,
    /// The JSON text as received; `None` if the text is not JSON.
    text: Option<String>,
}

impl ArgumentError {
    /// Creates the error of the JSON `text` with its violations.
    ///
    /// The violations show numbers as they are spelled in `text`.
    #[must_use]
    pub fn new(violations: impl Into<Violations>, text: &str) -> Self {
        let mut violations = violations.into();
        restore_number_spelling_in_violations(&mut violations, text);
        Self { violations, text: Some(text.to_owned()) }
    }

    /// Creates the error of `text`, which is not JSON.
    #[must_use]
    pub fn not_json(text: &str) -> Self {
        // The message of `serde_json` has line and column. Skipped strings may contain lone surrogates.
        let error = serde_json::from_str::<IgnoredAny>(text).err();
        let error = error.or_else(|| serde_json::from_str::<Value>(text).err());
        let reason = error.map_or_else(|| "it cannot be read".to_owned(), |error| error.to_string());
        Self::syntax(Violation::new("", "a JSON object", format!("text that is not JSON ({reason})")))
    }

    /// Creates the error of a text that is not JSON, with the violation that explains it.
    #[must_use]
    pub fn syntax(violation: Violation) -> Self {
        Self { violations: violation.into(), text: None }
    }

    /// Returns `true` if the text is not JSON.
    #[must_use]
    pub fn is_syntax(&self) -> bool {
        self.text.is_none()
    }

    /// Returns the violations; at least one.
    #[must_use]
    pub fn violations(&self) -> &Violations {
        &self.violations
    }

    /// Returns the text as received; `None` if it is not JSON.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Returns the violations, and the text unless it is not JSON.
    #[must_use]
    pub fn into_parts(self) -> (Violations, Option<String>) {
        (self.violations, self.text)
    }
}

/// Formats the error with its violations.
impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = if self.is_syntax() {
            "the arguments are not JSON"
        } else {
            "the arguments do not match the schema"
        };
        write!(f, "{problem}: {}", self.violations)
    }
}

impl Error for ArgumentError {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn an_error_tells_arguments_that_are_not_json_from_those_that_do_not_fit() {
        let violation = || Violation::new("/a", "a string", "1");
        let misfit = ArgumentError::new(violation(), r#"{"a":1}"#);
        assert_eq!(misfit.to_string(), "the arguments do not match the schema: /a: expected a string, got 1");
        assert!(!misfit.is_syntax());
        assert_eq!(misfit.text(), Some(r#"{"a":1}"#));
        assert_eq!(misfit.into_parts(), (violation().into(), Some(r#"{"a":1}"#.to_owned())));
        let broken = ArgumentError::not_json("{");
        assert_eq!(
            broken.to_string(),
            "the arguments are not JSON: the arguments: expected a JSON object, got text that is not JSON \
             (EOF while parsing an object at line 1 column 1)"
        );
        assert!(broken.is_syntax());
        assert_eq!((broken.text(), broken.violations().total()), (None, 1));
        // A lone surrogate is skipped, but not read.
        let surrogate = ArgumentError::not_json(r#""\ud800""#);
        assert_eq!(
            surrogate.violations()[0].received,
            "text that is not JSON (unexpected end of hex escape at line 1 column 8)"
        );
        assert_eq!(
            ArgumentError::not_json("{}").violations()[0].received,
            "text that is not JSON (it cannot be read)"
        );
    }
}
