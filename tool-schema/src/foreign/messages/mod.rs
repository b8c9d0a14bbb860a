//! The violations of `jsonschema` in the wording of the built-in validator.
//!
//! The crate's own messages address a person with the schema at hand; these address a model.

mod lookups;
#[cfg(test)]
#[allow(clippy::panic, clippy::unwrap_used, reason = "a test may")]
mod tests;

use std::slice;

use jsonschema::{
    JsonType, ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::Value;

use crate::{
    Violation, Violations,
    arguments::{
        plan::messages::{counted, either, missing, one_of, received, unknown},
        violation::NOTHING,
    },
    pointer::push_step,
};

/// Reports the violations of `value` in document order: the first ones, and the number of all.
pub(super) fn report_errors<'v>(
    schema: &Value,
    value: &Value,
    errors: impl Iterator<Item = ValidationError<'v>>,
) -> Violations {
    let words = ErrorDescriber { schema, root: value };
    let mut found = FoundViolations::default();
    errors.for_each(|error| words.add_violations(&error, &mut found));
    let FoundViolations { first, total } = found;
    let mut first: Vec<_> =
        first.into_iter().map(|(pointer, violation)| (document_order(value, &pointer), violation)).collect();
    first.sort_by(|left, right| left.0.cmp(&right.0));
    Violations::new(first.into_iter().map(|(_, violation)| violation).collect(), total)
}

/// A collector of violations; beyond the limit, they are counted without a text.
#[derive(Default)]
struct FoundViolations {
    /// Each with its full pointer.
    first: Vec<(String, Violation)>,
    total: usize,
}

impl FoundViolations {
    fn add(&mut self, pointer: impl FnOnce() -> String, violation: impl FnOnce(&str) -> Violation) {
        if self.first.len() < Violations::LISTED {
            let pointer = pointer();
            let violation = violation(&pointer);
            // Two parts of a schema may report the same violation.
            if self.first.iter().any(|(known, it)| *known == pointer && *it == violation) {
                return;
            }
            self.first.push((pointer, violation));
        }
        self.total += 1;
    }
}

/// Returns a sort key in document order; a missing property comes last.
fn document_order(value: &Value, pointer: &str) -> Vec<usize> {
    let mut here = Some(value);
    let mut order = Vec::new();
    for step in pointer.split('/').skip(1) {
        let position = match here {
            Some(Value::Object(map)) => {
                map.keys().position(|name| property_pointer("", name).strip_prefix('/') == Some(step))
            }
            Some(Value::Array(_)) => step.parse().ok(),
            _ => None,
        };
        here = match here {
            Some(Value::Object(map)) => position.and_then(|at| map.values().nth(at)),
            Some(Value::Array(items)) => position.and_then(|at| items.get(at)),
            _ => None,
        };
        order.push(position.unwrap_or(usize::MAX));
    }
    order
}

/// Returns the pointer of the property `name` of the value at `place`.
fn property_pointer(pointer: &str, name: &str) -> String {
    let mut pointer = pointer.to_owned();
    push_step(&mut pointer, name);
    pointer
}

/// The depth to which a schema is summarized.
const LEVELS: usize = 3;

/// The summary of a schema without constraints.
const ANYTHING: &str = "anything";

struct ErrorDescriber<'s> {
    schema: &'s Value,
    /// The whole value.
    root: &'s Value,
}

impl ErrorDescriber<'_> {
    fn add_violations(&self, error: &ValidationError<'_>, found: &mut FoundViolations) {
        let (pointer, value) = (error.instance_path().as_str(), error.instance().as_ref());
        match error.kind() {
            Kind::AdditionalProperties { unexpected } => {
                let known = self.known_properties(error);
                let map = value.as_object();
                let expected = |name: &str| {
                    map.map(|map| unknown(&known, |it| map.contains_key(it), name)).unwrap_or_default()
                };
                add_properties(error, unexpected, expected, found);
            }
            Kind::UnevaluatedProperties { unexpected } => {
                add_properties(error, unexpected, |_| "a property that the schema knows".to_owned(), found);
            }
            Kind::AdditionalItems { limit } => {
                let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
                let expected = format!("no item here; at most {}", counted(*limit, "item", "items"));
                for (index, item) in items.iter().enumerate().skip(*limit) {
                    let violation = |at: &str| Violation::new(at, &*expected, received(item));
                    found.add(|| property_pointer(pointer, &index.to_string()), violation);
                }
            }
            Kind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                let violation = |at: &str| Violation::new(at, self.required_text(error, name), NOTHING);
                found.add(|| property_pointer(pointer, name), violation);
            }
            Kind::PropertyNames { error: inner } => {
                let name = inner.instance().as_str().unwrap_or_default();
                let violation = |at: &str| {
                    let why: Vec<_> = self.violations_of(inner).into_iter().map(|it| it.expected).collect();
                    let expected = format!("another name for this property: {}", why.join(", "));
                    Violation::new(at, expected, received(inner.instance()))
                };
                found.add(|| property_pointer(pointer, name), violation);
            }
            // The error contains the object and the value of its first unknown property, but not the property's
            // name.
            Kind::FalseSchema if error.schema_path().as_str().ends_with("/additionalProperties") => {
                let map = self.root.pointer(pointer).and_then(Value::as_object);
                for (name, value) in map.into_iter().flatten() {
                    let violation = |at: &str| Violation::new(at, "no such property", received(value));
                    found.add(|| property_pointer(pointer, name), violation);
                }
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                self.add_branches(error, context, found)
            }
            _ => found.add(
                || pointer.to_owned(),
                |pointer| Violation::new(pointer, self.expected_text(error), received(value)),
            ),
        }
    }

    /// Returns the violations of one error.
    fn violations_of(&self, error: &ValidationError<'_>) -> Vec<Violation> {
        let mut found = FoundViolations::default();
        self.add_violations(error, &mut found);
        found.first.into_iter().map(|(_, violation)| violation).collect()
    }

    /// Describes the expected value.
    fn expected_text(&self, error: &ValidationError<'_>) -> String {
        match error.kind() {
            Kind::Type { kind: TypeKind::Single(only) } => types_with_articles(&[*only]),
            Kind::Type { kind: TypeKind::Multiple(set) } => {
                types_with_articles(&set.iter().collect::<Vec<_>>())
            }
            Kind::Enum { options } => {
                one_of(options.as_array().map(Vec::as_slice).unwrap_or_default(), Some(error.instance()))
            }
            Kind::Constant { expected_value } => one_of(slice::from_ref(expected_value), None),
            Kind::FalseSchema => no_value_allowed_text(error.schema_path().as_str()),
            Kind::Minimum { limit } => format!("at least {limit}"),
            Kind::Maximum { limit } => format!("at most {limit}"),
            Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
            Kind::ExclusiveMaximum { limit } => format!("less than {limit}"),
            Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
            Kind::MinLength { limit } => at_least_text(*limit, "character", "characters"),
            Kind::MaxLength { limit } => at_most_text(*limit, "character", "characters"),
            Kind::MinItems { limit } => at_least_text(*limit, "item", "items"),
            Kind::MaxItems { limit } => at_most_text(*limit, "item", "items"),
            Kind::MinProperties { limit } => at_least_text(*limit, "property", "properties"),
            Kind::MaxProperties { limit } => at_most_text(*limit, "property", "properties"),
            Kind::Pattern { pattern } => format!("a string that matches the pattern `{pattern}`"),
            Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => self.pattern_text(error),
            Kind::UniqueItems => "items that all differ".to_owned(),
            Kind::UnevaluatedItems { .. } => "no item but those that the schema speaks of".to_owned(),
            Kind::Contains => self.contains_text(error),
            Kind::Not { schema } => format!("anything but {}", self.schema_summary(schema, LEVELS)),
            Kind::OneOfMultipleValid { .. } => {
                format!("a value that fits only one of: {}", self.branch_list(error).unwrap_or_default())
            }
            other => format!("a value that fits `{}`", other.keyword()),
        }
    }

    /// A text for which the engine gave up counts as no match.
    fn pattern_text(&self, error: &ValidationError<'_>) -> String {
        let pattern = self.keyword_value(error).and_then(Value::as_str);
        let pattern = pattern.map_or_else(|| "its pattern".to_owned(), |it| format!("the pattern `{it}`"));
        format!("a text for which {pattern} can be decided in a bounded number of steps")
    }

    fn required_text(&self, error: &ValidationError<'_>, name: &str) -> String {
        let rules = self.keyword_value(error).and_then(Value::as_object);
        let is_reason = |(key, names): &(&String, &Value)| {
            error.instance().get(key).is_some()
                && names.as_array().is_some_and(|it| it.iter().any(|it| it == name))
        };
        let beside = rules.and_then(|it| it.iter().find(is_reason)).map(|(key, _)| key.as_str());
        let kind = self.enclosing_schema(error).and_then(|it| it.get("properties")?.get(name));
        let kind = kind.map(|it| self.schema_summary(it, LEVELS)).filter(|it| it != ANYTHING);
        missing(name, beside, kind.as_deref())
    }

    fn contains_text(&self, error: &ValidationError<'_>) -> String {
        let limit = self.keyword_value(error).and_then(Value::as_u64);
        let is_most = error.schema_path().as_str().ends_with("/maxContains");
        let bound = match limit {
            Some(limit) if is_most => at_most_text(limit, "item", "items"),
            limit => at_least_text(limit.unwrap_or(1), "item", "items"),
        };
        let kind = self.enclosing_schema(error).and_then(|it| it.get("contains"));
        match kind.map(|it| self.schema_summary(it, LEVELS)) {
            Some(kind) => format!("{bound} of this kind: {kind}"),
            None => format!("{bound} that fit `contains`"),
        }
    }
}

/// Explains why no branch matches: the violations of the intended branch, if it can be identified.
impl ErrorDescriber<'_> {
    fn add_branches(
        &self,
        error: &ValidationError<'_>,
        branches: &[Vec<ValidationError<'static>>],
        found: &mut FoundViolations,
    ) {
        let pointer = error.instance_path().as_str();
        let is_kind = |it: &ValidationError<'_>| {
            matches!(
                it.kind(),
                Kind::Type { .. } | Kind::Enum { .. } | Kind::Constant { .. } | Kind::FalseSchema
            )
        };
        let is_here = |it: &ValidationError<'_>| it.instance_path().as_str() == pointer;
        let has_kind =
            |branch: &&Vec<ValidationError<'static>>| !branch.iter().any(|it| is_here(it) && is_kind(it));
        let mut meant: Vec<_> = branches.iter().filter(has_kind).collect();
        if meant.len() > 1 {
            if let Some((at, violation)) = self.tag_property(pointer, &meant) {
                return found.add(|| at, |_| violation);
            }
            let has_names = |branch: &&Vec<ValidationError<'static>>| {
                !branch.iter().any(|it| is_here(it) && matches!(it.kind(), Kind::Required { .. }))
            };
            meant.retain(has_names);
        }
        if let [only] = meant.as_slice() {
            return only.iter().for_each(|error| self.add_violations(error, found));
        }
        let first = |branch: &Vec<_>| Some(self.violations_of(branch.first()?).into_iter().next()?.expected);
        let violation = |pointer: &str| {
            let listed = self.branch_list(error);
            let listed = listed.unwrap_or_else(|| join_distinct(branches.iter().filter_map(first).collect()));
            Violation::new(pointer, format!("any of: {listed}"), received(error.instance()))
        };
        found.add(|| pointer.to_owned(), violation);
    }

    /// Returns the property in which each of `branches` requires a different constant.
    fn tag_property(
        &self,
        pointer: &str,
        branches: &[&Vec<ValidationError<'static>>],
    ) -> Option<(String, Violation)> {
        let constants = |branch: &Vec<ValidationError<'static>>, at: &str| -> Vec<Value> {
            let here = branch.iter().filter(|it| it.instance_path().as_str() == at);
            here.flat_map(|it| match it.kind() {
                Kind::Constant { expected_value } => vec![(**expected_value).clone()],
                Kind::Enum { options } => options.as_array().cloned().unwrap_or_default(),
                _ => Vec::new(),
            })
            .collect()
        };
        let below = |it: &&ValidationError<'static>| {
            it.instance_path().as_str().strip_prefix(pointer).is_some_and(|rest| rest.rfind('/') == Some(0))
        };
        branches.first()?.iter().filter(below).find_map(|error| {
            let at = error.instance_path().as_str();
            let kinds: Vec<_> = branches.iter().map(|branch| constants(branch, at)).collect();
            let wanted = kinds.concat();
            let is_tag = kinds.iter().all(|it| !it.is_empty());
            is_tag.then(|| {
                let expected = one_of(&wanted, Some(error.instance()));
                (at.to_owned(), Violation::new(at, expected, received(error.instance())))
            })
        })
    }

    /// Lists the branches under the keyword of `error`.
    fn branch_list(&self, error: &ValidationError<'_>) -> Option<String> {
        let branches = self.keyword_value(error)?.as_array()?;
        Some(join_distinct(branches.iter().map(|branch| self.schema_summary(branch, LEVELS)).collect()))
    }
}

/// Adds a violation for each of the `names` of an object, with the expected value.
fn add_properties(
    error: &ValidationError<'_>,
    names: &[String],
    expected: impl Fn(&str) -> String,
    found: &mut FoundViolations,
) {
    let pointer = error.instance_path().as_str();
    let value = |name: &str| error.instance().get(name).map(received).unwrap_or_default();
    for name in names {
        found.add(|| property_pointer(pointer, name), |at| Violation::new(at, expected(name), value(name)));
    }
}

/// Describes a value whose schema is `false`.
fn no_value_allowed_text(pointer: &str) -> String {
    let (above, key) = pointer.rsplit_once('/').unwrap_or_default();
    match key {
        // A property may have the name of a keyword.
        _ if above.ends_with("/properties") => either(&[]),
        "unevaluatedProperties" => "no such property".to_owned(),
        "propertyNames" => "no property at all".to_owned(),
        "items" | "additionalItems" | "unevaluatedItems" => "no item here".to_owned(),
        _ => either(&[]),
    }
}

fn at_least_text(limit: u64, one: &str, many: &str) -> String {
    format!("at least {}", counted(usize::try_from(limit).unwrap_or(usize::MAX), one, many))
}

fn at_most_text(limit: u64, one: &str, many: &str) -> String {
    format!("at most {}", counted(usize::try_from(limit).unwrap_or(usize::MAX), one, many))
}

/// Returns the names of the types with their articles.
fn types_with_articles(types: &[JsonType]) -> String {
    let names = [
        (JsonType::String, "a string"),
        (JsonType::Number, "a number"),
        (JsonType::Integer, "an integer"),
        (JsonType::Boolean, "a boolean"),
        (JsonType::Array, "an array"),
        (JsonType::Object, "an object"),
        (JsonType::Null, "null"),
    ];
    let is_wanted = |kind: JsonType| {
        types.contains(&kind) && (kind != JsonType::Integer || !types.contains(&JsonType::Number))
    };
    let names: Vec<_> = names.iter().filter(|it| is_wanted(it.0)).map(|it| it.1).collect();
    either(&names)
}

/// Joins distinct words.
fn join_distinct(mut words: Vec<String>) -> String {
    const LISTED: usize = 20;
    words.dedup();
    let count = words.len();
    if count > LISTED {
        words.truncate(LISTED);
        words.push(format!("… ({count} in all)"));
    }
    words.join("; ")
}
