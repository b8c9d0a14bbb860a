//! Schemas that no plan covers, held by the `jsonschema` crate.
//!
//! They come from elsewhere and are written in another draft, or say what a plan cannot check. The
//! crate stands behind one type, since each of its frequent releases may break. The draft is the one
//! that `$schema` names, 2020-12 otherwise; `format` is an annotation, as everywhere here; nothing
//! is fetched. Values are checked as they come: `null` is not read as absent, and `3.0` is an
//! integer to the check but stays as it is written.

mod reach;
mod words;

use jsonschema::{PatternOptions, ReferencingError, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;
use tool_core::{__private::words::received, SchemaProblem, Violation, Violations};

use self::reach::Reach;

/// How many lists and objects may be nested in a schema, and in a value: as many as in a JSON text.
const DEEPEST: usize = 128;

/// How often an engine that knows look-around may go back within one text, which is some
/// milliseconds; then it gives up, and the text does not fit.
const BACKTRACKS: usize = 100_000;

/// A schema, compiled by another than us.
#[derive(Debug)]
pub(crate) struct Foreign {
    validator: Validator,
    schema: Value,
    reach: Reach,
}

impl Foreign {
    /// The check of `schema`, of which a plan has `problems`.
    ///
    /// # Errors
    ///
    /// What is wrong with the schema, and would be with any check.
    pub(crate) fn instead_of(problems: &[SchemaProblem], schema: &Value) -> Result<Self, Vec<String>> {
        let mistakes: Vec<_> = problems.iter().filter(|it| !it.uncovered).map(ToString::to_string).collect();
        if mistakes.is_empty() { Self::new(schema).map_err(|mistake| vec![mistake]) } else { Err(mistakes) }
    }

    fn new(schema: &Value) -> Result<Self, String> {
        // Before anything else, since whoever reads a schema does so level by level.
        if !is_nested_within(schema, DEEPEST) {
            return Err("at the root: the schema is nested too deeply".to_owned());
        }
        let reach = Reach::of(schema, DEEPEST)?;
        let validator = compile(schema).map_err(|error| mistake(schema, error))?;
        Ok(Self { validator, schema: schema.clone(), reach })
    }

    /// What is wrong with `value`, in its order.
    pub(crate) fn violations(&self, value: &Value) -> Violations {
        let Reach { deepest, explained } = self.reach;
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
        let violations = words::report(&self.schema, value, self.validator.iter_errors(value));
        if violations.is_empty() {
            return Violation::new("", "a value that fits the schema", received(value)).into();
        }
        violations
    }
}

/// Compiles with an engine for patterns whose time no text can blow up, or else with one that knows
/// look-around and gives up in time.
fn compile(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    let options = jsonschema::options()
        .offline()
        .should_validate_formats(false)
        .without_content_encoding_support("base64")
        .without_content_media_type_support("application/json");
    match options.clone().with_pattern_options(PatternOptions::regex()).build(schema) {
        Err(error) if is_of_a_pattern(&error) => {
            let engine = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS);
            options.with_pattern_options(engine).build(schema)
        }
        built => built,
    }
}

fn is_of_a_pattern(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), ValidationErrorKind::Format { format } if format == "regex")
}

/// Why `schema` cannot be used.
fn mistake(schema: &Value, error: ValidationError<'_>) -> String {
    if is_of_a_pattern(&error) {
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
    // What its draft says of schemas, of which no part is at hand.
    let found = words::report(&Value::Null, schema, std::iter::once(error));
    let shown: Vec<_> = found
        .iter()
        .map(|Violation { pointer, expected, received, .. }| {
            let place = if pointer.is_empty() { "the root" } else { pointer };
            format!("at {place}: expected {expected}, got {received}")
        })
        .collect();
    shown.join("; ")
}

/// Whether no more than `levels` lists and objects are nested.
fn is_nested_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_nested_within(item, levels - 1)),
        Value::Object(map) => levels > 0 && map.values().all(|value| is_nested_within(value, levels - 1)),
        _ => true,
    }
}

#[cfg(test)]
mod tests;
