//! Reading arguments by a plan: one pass for valid arguments, and a second, slower one that reports violations.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    Correction, Plan,
    decode::{Checked, DecodeError, DecodeErrorKind, Source},
    messages::received,
    normalize::{self, RemovedProperties},
};
use crate::{
    Arguments, Violation, Violations,
    arguments::{
        ArgumentError, canonical::canonical_text, document::Document,
        number_spelling::restore_number_spelling_in_corrections, rewrite::rewrite_text, violation::NOTHING,
    },
    json::{Fault, MAX_DEPTH},
};

/// The result of reading a text by a plan.
#[derive(Debug)]
enum Validation {
    /// Valid as it is.
    Valid,
    /// Valid after rewriting as this text, which is equivalent apart from the corrections.
    Corrected(String, Vec<Correction>),
    /// Invalid, with the violations.
    Invalid(Violations),
}

/// Decodes a value from a text; may be called again with another text of the same value.
pub trait DecodeFn: for<'c, 't, 'p> FnMut(Checked<'c, 't, 'p>, &'t str) -> Result<(), DecodeError> {}

impl<F: for<'c, 't, 'p> FnMut(Checked<'c, 't, 'p>, &'t str) -> Result<(), DecodeError>> DecodeFn for F {}

impl Plan {
    /// Validates `arguments` and decodes them as a `T` in the same pass.
    ///
    /// Afterwards, `arguments` contain the text that was decoded, and its corrections.
    ///
    /// # Errors
    ///
    /// Returns an error with all violations of the schema, or the error of `T`'s deserializer.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde::Deserialize;
    /// use serde_json::json;
    /// use tool_schema::{Arguments, Plan};
    ///
    /// #[derive(Debug, PartialEq, Deserialize)]
    /// struct Forecast {
    ///     days: u8,
    /// }
    ///
    /// let schema = json!({ "type": "object", "properties": { "days": { "type": "integer", "maximum": 14 } } });
    /// let plan = Plan::compile(&schema).unwrap();
    /// let mut arguments = Arguments::from(r#"{ "days": "3" }"#).lenient(true);
    /// assert_eq!(plan.decode::<Forecast>(&mut arguments)?, Forecast { days: 3 });
    /// assert_eq!(arguments.corrections()[0].to_string(), r#"/days: read "3" as 3"#);
    ///
    /// let error = plan.decode::<Forecast>(&mut r#"{ "days": 15 }"#.into()).unwrap_err();
    /// assert_eq!(error.violations()[0].to_string(), "/days: expected at most 14, got 15");
    /// # Ok::<(), tool_schema::ArgumentError>(())
    /// ```
    pub fn decode<T: DeserializeOwned>(&self, arguments: &mut Arguments<'_>) -> Result<T, ArgumentError> {
        let mut value = None;
        self.read(arguments, |source, _| {
            value = Some(T::deserialize(source)?);
            Ok(())
        })?;
        let nothing = || Violation::new("", "a value", NOTHING);
        value.ok_or_else(|| ArgumentError::new(nothing(), arguments.as_str()))
    }

    /// Reads `arguments` with `take`; afterwards they contain the text that was read.
    ///
    /// # Errors
    ///
    /// Returns an error with all violations.
    #[doc(hidden)]
    #[inline]
    pub fn read(&self, arguments: &mut Arguments<'_>, mut take: impl DecodeFn) -> Result<(), ArgumentError> {
        match self.try_decode(arguments.as_str(), &mut take) {
            Ok(()) => Ok(()),
            Err(error) => self.decode_with_corrections(arguments, error, &mut take),
        }
    }

    /// Validates `arguments` and returns them with corrections applied.
    ///
    /// # Errors
    ///
    /// Returns an error with all violations.
    pub fn fit<'a>(&self, arguments: Arguments<'a>) -> Result<Arguments<'a>, ArgumentError> {
        if self.is_in_normal_form(arguments.as_str()) {
            return Ok(arguments);
        }
        match self.validate_text(arguments.as_str(), arguments.lenient)? {
            Validation::Valid => Ok(arguments),
            Validation::Corrected(text, corrections) => Ok(arguments.corrected(text, corrections)),
            Validation::Invalid(violations) => Err(ArgumentError::new(violations, arguments.as_str())),
        }
    }

    /// Returns the canonical text of the call with valid `arguments`: property names instead of aliases, exact
    /// numbers in one spelling, and without properties that are ignored or `null` for "absent". The corrections are
    /// kept.
    ///
    /// # Errors
    ///
    /// Returns an error if the arguments are not JSON, or nest choices so deeply that the step limit is exceeded;
    /// arguments without a canonical text are not executed.
    pub fn canonical<'a>(&self, arguments: Arguments<'a>) -> Result<Arguments<'a>, ArgumentError> {
        let text = arguments.as_str();
        if self.is_in_canonical_form(text) {
            return Ok(arguments);
        }
        let document = Document::read(text).map_err(|_| ArgumentError::not_json(text))?;
        let mut value = document.value;
        let effects = normalize::make_canonical(self, &mut value);
        if effects.is_unclear || (effects.is_exhausted && self.may_have_alias_or_ignored_property(&value)) {
            return Err(ArgumentError::new(ambiguous_arguments_violation(), text));
        }
        // Most values are in their normal form, and need no other text.
        let rewritten = match effects.changed || document.is_rewritten {
            true => Cow::Owned(rewrite_text(text, &value, &self.alias_pairs())),
            false => Cow::Borrowed(text),
        };
        let canonical = canonical_text(&rewritten).ok_or_else(|| ArgumentError::not_json(text))?;
        if *canonical == *text {
            return Ok(arguments);
        }
        let canonical = canonical.into_owned();
        Ok(arguments.corrected(canonical, Vec::new()))
    }

    #[inline]
    fn try_decode(&self, text: &str, take: &mut (impl DecodeFn + ?Sized)) -> Result<(), DecodeError> {
        let mut source = Source::new(text, self);
        take(source.root_value(), text)?;
        source.expect_end()
    }

    #[cold]
    fn decode_with_corrections(
        &self,
        arguments: &mut Arguments<'_>,
        error: DecodeError,
        take: &mut dyn DecodeFn,
    ) -> Result<(), ArgumentError> {
        let text = arguments.as_str();
        if !matches!(error.kind(), DecodeErrorKind::Syntax | DecodeErrorKind::TooDeep)
            && let Some(violations) = self.report_from_text(text, arguments.lenient)
        {
            return Err(ArgumentError::new(violations, text));
        }
        let error = match self.validate_text(text, arguments.lenient)? {
            Validation::Invalid(violations) => return Err(ArgumentError::new(violations, text)),
            Validation::Valid => error,
            Validation::Corrected(fitting, corrections) => match self.try_decode(&fitting, take) {
                Ok(()) => {
                    let received_arguments = std::mem::replace(arguments, Arguments::EMPTY);
                    *arguments = received_arguments.corrected(fitting, corrections);
                    return Ok(());
                }
                Err(error) if corrections.is_empty() => error,
                // Report the text as received.
                Err(error) => match self.validate_text(text, false)? {
                    Validation::Invalid(violations) => {
                        let violations = with_decode_violation(violations, text, &fitting, &error);
                        return Err(ArgumentError::new(violations, text));
                    }
                    Validation::Valid | Validation::Corrected(..) => error,
                },
            },
        };
        Err(ArgumentError::new(unreadable_violation(text, &error), text))
    }

    /// Returns `true` if `text` is valid and in its normal form; if `false`, it may be so nevertheless.
    pub(super) fn is_in_normal_form(&self, text: &str) -> bool {
        // Otherwise, a value may be too deep for the other walks.
        let is_bounded = self.deepest >= MAX_DEPTH as usize;
        is_bounded && !self.has_aliases && !may_have_unnormalized_spelling(text) && self.is_readable(text)
    }

    /// Returns `true` if the decoder of a tool reads `text`, apart from the types of its values.
    pub(super) fn is_readable(&self, text: &str) -> bool {
        let mut source = Source::new(text, self);
        source.skip_value_if_valid(self.root_node()) && source.expect_end().is_ok()
    }

    fn validate_text(&self, text: &str, is_lenient: bool) -> Result<Validation, ArgumentError> {
        let mut document = match Document::read(text) {
            Ok(document) => document,
            Err(Fault::Syntax) => return Err(ArgumentError::not_json(text)),
            Err(Fault::TooDeep) => {
                let expected = format!("a value that is nested at most {MAX_DEPTH} levels deep");
                return Ok(Validation::Invalid(
                    Violation::new("", expected, "one that is nested more deeply").into(),
                ));
            }
        };
        let rewritten = |value: &Value| rewrite_text(text, value, &self.alias_pairs());
        // Reports name numbers and properties by their location in the text.
        let (effects, removed) =
            if document.has_repeated_names_or_huge_numbers() || !document.moved.is_empty() {
                self.normalize_value_recording_removals(&mut document.value)
            } else {
                (self.normalize_value(&mut document.value), RemovedProperties::default())
            };
        let changed = effects.changed || document.is_rewritten;
        if !document.has_repeated_names_or_huge_numbers() && self.admits(&document.value) {
            if effects.is_unclear {
                return Ok(Validation::Invalid(ambiguous_arguments_violation().into()));
            }
            if !changed {
                return Ok(Validation::Valid);
            }
            let text = rewritten(&document.value);
            let is_normal = !effects.is_exhausted || self.is_readable(&text);
            return Ok(if is_normal {
                Validation::Corrected(text, Vec::new())
            } else {
                Validation::Invalid(ambiguous_arguments_violation().into())
            });
        }
        if is_lenient {
            let (changed, mut corrections) = self.correct_document(&mut document);
            if !corrections.is_empty() && self.admits(&document.value) {
                let received_text = text;
                let text = rewritten(&document.value);
                // With too many choices within choices, it is not in the normal form, which the tool expects.
                if self.is_readable(&text) {
                    restore_number_spelling_in_corrections(&mut corrections, received_text);
                    return Ok(Validation::Corrected(text, corrections));
                }
            }
            if changed {
                // Report the text as received.
                return self.validate_text(text, false);
            }
        }
        let findings = self
            .find_violations(&document.value)
            .with_mapped_locations(|order| removed.restore_original_location(order));
        let findings = findings.with_original_spellings(&document.moved);
        let findings = findings.with_too_large(&document.too_large);
        Ok(Validation::Invalid(findings.with_repeated(&document.repeated).into()))
    }
}

/// Returns the violation of arguments whose normal form is not known: trying all choices within choices would take too long.
fn ambiguous_arguments_violation() -> Violation {
    let expected = "arguments of which it can be told what they mean";
    Violation::new("", expected, "too many choices within choices")
}

/// Returns `true` if `text` may have a value in another spelling than the normal one: `null` for "absent", and an integer as `3.0`,
/// `1e2` or `-0`.
fn may_have_unnormalized_spelling(text: &str) -> bool {
    let bytes = text.as_bytes();
    let next = |at: usize| bytes.get(at).copied().unwrap_or_default();
    bytes.iter().enumerate().any(|(at, byte)| match byte {
        b'0'..=b'9' => matches!(next(at + 1), b'.' | b'e' | b'E'),
        b'-' => next(at + 1) == b'0' && !next(at + 2).is_ascii_digit(),
        b'n' => bytes.get(at..).is_some_and(|rest| rest.starts_with(b"null")),
        _ => false,
    })
}

/// Combines the plan's violations of `text` with those of the type in `read`, the text after corrections: a corrected
/// value is not the remaining mistake.
///
/// For a violation inside a string that was parsed as JSON, the string is reported.
fn with_decode_violation(violations: Violations, text: &str, read: &str, error: &DecodeError) -> Violations {
    if !matches!(error.kind(), DecodeErrorKind::Undecodable(_)) {
        return violations;
    }
    let received_value = Document::read(text).map(|document| document.value).unwrap_or_default();
    let mut only = unreadable_violation(read, error);
    while received_value.pointer(&only.pointer).is_none()
        && let Some(end) = only.pointer.rfind('/')
    {
        only.pointer.truncate(end);
        only.received = received_value.pointer(&only.pointer).map(received).unwrap_or_default();
    }
    violations.insert_first_if_new(only)
}

/// Returns the violation for a value that the plan admits and the type rejects; the type's own message is the only
/// explanation.
fn unreadable_violation(text: &str, error: &DecodeError) -> Violation {
    let pointer = error.pointer();
    let expected = match error.kind() {
        DecodeErrorKind::Undecodable(message) => format!("something that can be read ({message})"),
        DecodeErrorKind::Refused | DecodeErrorKind::Syntax | DecodeErrorKind::TooDeep => {
            "something that can be read".to_owned()
        }
    };
    let value = Document::read(text).ok().and_then(|document| document.value.pointer(&pointer).map(received));
    Violation::new(pointer, expected, value.unwrap_or_else(|| NOTHING.to_owned()))
}
