//! Validation of foreign schemas, which no plan covers, by the `jsonschema` crate.
//!
//! They are written in another draft, or use keywords that a plan does not support. The crate is encapsulated
//! in one type, since its releases are frequent and may break. The draft is the one of `$schema`, by default
//! 2020-12; `format` is an annotation, as everywhere in this crate; nothing is fetched. Values are validated as
//! received: `null` does not mean absent, and `3.0` is a valid integer but keeps its spelling.

mod bounds;
mod messages;

use jsonschema::{PatternOptions, ReferencingError, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;

use self::bounds::DepthBounds;
use crate::{SchemaProblem, Violation, Violations, arguments::plan::messages::received};

/// The maximum nesting of lists and objects in a schema and in a value: the limit of the JSON parser.
const MAX_DEPTH: usize = 128;

/// The maximum number of backtracking steps of a pattern with look-around within one text, which take some
/// milliseconds; beyond it, the text is rejected.
const BACKTRACKS: usize = 100_000;

/// A compiled foreign schema.
#[derive(Debug)]
pub struct Foreign {
    validator: Validator,
    schema: Value,
    reach: DepthBounds,
}

impl Foreign {
    /// Compiles `schema`, for which a plan has `problems`.
    ///
    /// # Errors
    ///
    /// Returns the mistakes that make the schema invalid for every validator.
    pub fn instead_of(problems: &[SchemaProblem], schema: &Value) -> Result<Self, Vec<String>> {
        let mistakes: Vec<_> = problems.iter().filter(|it| !it.uncovered).map(ToString::to_string).collect();
        if mistakes.is_empty() { Self::new(schema).map_err(|mistake| vec![mistake]) } else { Err(mistakes) }
    }

    fn new(schema: &Value) -> Result<Self, String> {
        // Checked first, since readers of a schema recurse into it.
        if !is_nested_within(schema, MAX_DEPTH) {
            return Err("at the root: the schema is nested too deeply".to_owned());
        }
        let reach = DepthBounds::for_schema(schema, MAX_DEPTH)?;
        let validator = compile_validator(schema).map_err(|error| mistake_text(schema, error))?;
        Ok(Self { validator, schema: schema.clone(), reach })
    }

    /// Returns the violations of `value`, in document order.
    #[must_use]
    pub fn violations(&self, value: &Value) -> Violations {
        let DepthBounds { deepest, explained } = self.reach;
        if !is_nested_within(value, deepest) {
            let expected = format!("a value that is nested at most {deepest} levels deep");
            return Violation::new("", expected, "a value that is nested more deeply").into();
        }
        if self.validator.is_valid(value) {
            return Violations::default();
        }
        if !is_nested_within(value, explained) {
            let expected = "a value that fits the schema; it is nested too deeply to say where it does not";
            return Violation::new("", expected, received(value)).into();
        }
        let violations = messages::report_errors(&self.schema, value, self.validator.iter_errors(value));
        if violations.is_empty() {
            return Violation::new("", "a value that fits the schema", received(value)).into();
        }
        violations
    }
}

/// Compiles with an engine whose matching time is linear, or else with one that supports look-around and limits
/// its steps.
fn compile_validator(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    let options = jsonschema::options()
        .offline()
        .should_validate_formats(false)
        .without_content_encoding_support("base64")
        .without_content_media_type_support("application/json");
    match options.clone().with_pattern_options(PatternOptions::regex()).build(schema) {
        Err(error) if is_invalid_pattern_error(&error) => {
            let engine = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS);
            options.with_pattern_options(engine).build(schema)
        }
        built => built,
    }
}

fn is_invalid_pattern_error(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), ValidationErrorKind::Format { format } if format == "regex")
}

/// Describes the reason why `schema` is unusable.
fn mistake_text(schema: &Value, error: ValidationError<'_>) -> String {
    if is_invalid_pattern_error(&error) {
        let pattern = error.instance().as_str().unwrap_or_default();
        return format!("at {}: the pattern `{pattern}` cannot be used", error.instance_path());
    }
    if let ValidationErrorKind::Referencing(error) = error.kind() {
        return match error {
            ReferencingError::Unretrievable { uri, .. } => {
                format!("`$ref` to {uri:?} leaves the schema; nothing is fetched")
            }
            ReferencingError::PointerToNowhere { pointer } => {
                format!("`$ref` to \"#{pointer}\" leads nowhere")
            }
            ReferencingError::NoSuchAnchor { anchor } => format!("`$ref` to \"#{anchor}\" leads nowhere"),
            other => format!("a reference cannot be used: {other}"),
        };
    }
    // The violations of the meta-schema, whose parts are not available.
    let found = messages::report_errors(&Value::Null, schema, std::iter::once(error));
    let texts: Vec<_> = found
        .iter()
        .map(|Violation { pointer, expected, received, .. }| {
            let location = if pointer.is_empty() { "the root" } else { pointer };
            format!("at {location}: expected {expected}, got {received}")
        })
        .collect();
    texts.join("; ")
}

/// Returns `true` if at most `levels` lists and objects are nested.
fn is_nested_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_nested_within(item, levels - 1)),
        Value::Object(map) => levels > 0 && map.values().all(|value| is_nested_within(value, levels - 1)),
        _ => true,
    }
}

#[cfg(test)]
mod tests;
