//! The attributes `#[schemars(..)]` and `#[arg(..)]` of a parameter, as data.
//!
//! Each entry has the same effect on the parameter's schema as schemars has on the schema of a field.

use schemars::Schema;
use serde_json::Value;
use tool_schema::__private::{Limits, Plain, has_type};

/// One attribute. Values are given by functions, since not all of them are constants.
#[derive(Debug)]
pub enum Constraint {
    Title(fn() -> Value),
    Deprecated,
    Required,
    Minimum(fn() -> Value),
    Maximum(fn() -> Value),
    MinLength(fn() -> Value),
    MaxLength(fn() -> Value),
    Pattern(fn() -> Value),
    Contains(fn() -> Value),
    Format(&'static str),
    Inner(&'static [Constraint]),
    Example(fn() -> Value),
    Extend(&'static str, fn() -> Value),
}

impl Constraint {
    pub(super) fn apply(&self, schema: &mut Schema) {
        match self {
            Self::Title(title) => set_keyword(schema, "title", title()),
            Self::Deprecated => set_keyword(schema, "deprecated", true.into()),
            // Handled by `is_required`, where the list of required properties is built.
            Self::Required => {}
            Self::Minimum(bound) => set_keyword_for_types(schema, &["number", "integer"], "minimum", bound()),
            Self::Maximum(bound) => set_keyword_for_types(schema, &["number", "integer"], "maximum", bound()),
            Self::MinLength(length) => {
                set_keyword_for_types(schema, &["string"], "minLength", length());
                set_keyword_for_types(schema, &["array"], "minItems", length());
            }
            Self::MaxLength(length) => {
                set_keyword_for_types(schema, &["string"], "maxLength", length());
                set_keyword_for_types(schema, &["array"], "maxItems", length());
            }
            Self::Pattern(pattern) => set_keyword_for_types(schema, &["string"], "pattern", pattern()),
            Self::Contains(part) => {
                let part = part();
                set_keyword_for_types(
                    schema,
                    &["string"],
                    "pattern",
                    escaped_pattern(part.as_str().unwrap_or_default()).into(),
                );
            }
            Self::Format(format) => set_keyword(schema, "format", (*format).into()),
            Self::Inner(constraints) => {
                let items = schema.get_mut("items").and_then(|items| items.try_into().ok());
                if let Some(items) = items {
                    let items: &mut Schema = items;
                    constraints.iter().for_each(|constraint| constraint.apply(items));
                }
            }
            Self::Example(example) => {
                let mut examples = match schema.remove("examples") {
                    Some(Value::Array(examples)) => examples,
                    _ => Vec::new(),
                };
                examples.push(example());
                set_keyword(schema, "examples", examples.into());
            }
            Self::Extend(key, value) => set_keyword(schema, key, value()),
        }
    }

    /// Sets the limit that the constraint is for a type with a constant schema; `None` if the schema has to be made.
    pub(super) fn set_limit(&self, plain: &Plain, limits: &mut Limits) -> Option<()> {
        let (limit, value, applies, is_length) = match self {
            Self::Required => return Some(()),
            Self::Minimum(bound) => (&mut limits.least, bound, plain.is_number(), false),
            Self::Maximum(bound) => (&mut limits.most, bound, plain.is_number(), false),
            Self::MinLength(length) => (&mut limits.least, length, plain.has_length(), true),
            Self::MaxLength(length) => (&mut limits.most, length, plain.has_length(), true),
            _ => return None,
        };
        match value() {
            Value::Number(number) if applies && (!is_length || number.is_u64()) => *limit = Some(number),
            _ => return None,
        }
        Some(())
    }

    /// Returns the example, if the constraint is one.
    pub(super) fn example(&self) -> Option<Value> {
        if let Self::Example(example) = self { Some(example()) } else { None }
    }

    pub(super) fn is_required(&self) -> bool {
        matches!(self, Self::Required)
    }
}

fn set_keyword(schema: &mut Schema, key: &str, value: Value) {
    schema.insert(key.to_owned(), value);
}

fn set_keyword_for_types(schema: &mut Schema, types: &[&str], key: &str, value: Value) {
    if types.iter().any(|name| has_type(schema, name)) {
        set_keyword(schema, key, value);
    }
}

/// Escapes `text` to a pattern that matches it literally.
fn escaped_pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// Compile-time assertions that a type supports a constraint.
pub mod check {
    use crate::constraint::{Measured, Ranged, Textual};

    pub fn ranged<T: Ranged>() {}
    pub fn measured<T: Measured>() {}
    pub fn textual<T: Textual>() {}
}
