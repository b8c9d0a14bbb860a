//! Parsing of keywords without subschemas.

use serde_json::Value;

use super::{
    compile::Compiler,
    equality::json_equal,
    location::Location,
    messages::{quoted, received},
    node::{DependentProperties, TypeSet},
    number::{Divisor, ExactNumber},
    pattern::{Pattern, PatternError},
    permitted_values::PermittedValues,
};

impl<'s> Compiler<'s> {
    /// Reports a malformed keyword.
    pub(super) fn add_malformed_problem(
        &mut self,
        key: &str,
        value: &Value,
        wanted: &str,
        at: &Location<'_>,
    ) {
        self.add_keyword_problem(key, at, format!("`{key}` must be {wanted}, not {}", received(value)));
    }

    /// Parses `type`, a name or a list of names.
    pub(super) fn parse_types(&mut self, value: &Value, at: &Location<'_>) -> TypeSet {
        let names = match value {
            Value::Array(names) => names.as_slice(),
            name => std::slice::from_ref(name),
        };
        let mut types = TypeSet::NONE;
        let mut seen = Vec::new();
        for name in names {
            match name.as_str().and_then(TypeSet::from_name) {
                Some(named) if !seen.contains(&name) => {
                    types = types.union(named);
                    seen.push(name);
                }
                Some(_) => self.add_keyword_problem("type", at, format!("`type` lists {name} twice")),
                None => self.add_malformed_problem("type", name, "a type of JSON or a list of them", at),
            }
        }
        if names.is_empty() {
            self.add_keyword_problem("type", at, "`type` lists nothing");
        }
        types
    }

    /// Parses `enum`, and `const` beside it.
    pub(super) fn parse_enum_values(
        &mut self,
        value: &Value,
        only: Option<&Value>,
        at: &Location<'_>,
    ) -> Option<PermittedValues> {
        let Some(values) = value.as_array() else {
            self.add_malformed_problem("enum", value, "a list of values", at);
            return None;
        };
        let is_meant = |value: &&Value| only.is_none_or(|only| json_equal(only, value));
        Some(PermittedValues::new(values.iter().filter(is_meant).cloned().collect()))
    }

    pub(super) fn parse_bound(&mut self, key: &str, value: &Value, at: &Location<'_>) -> Option<ExactNumber> {
        if let Value::Number(number) = value {
            return Some(ExactNumber::from(number));
        }
        self.add_malformed_problem(key, value, "a number", at);
        None
    }

    pub(super) fn parse_divisor(&mut self, value: &Value, at: &Location<'_>) -> Option<Divisor> {
        let divisor = if let Value::Number(number) = value { Divisor::new(number) } else { None };
        if divisor.is_none() {
            self.add_malformed_problem("multipleOf", value, "a number greater than 0", at);
        }
        divisor
    }

    /// Parses a length or a count.
    pub(super) fn parse_count(&mut self, key: &str, value: &Value, at: &Location<'_>) -> usize {
        if let Value::Number(number) = value {
            match ExactNumber::from(number) {
                // A count beyond `usize` is as good as no limit.
                ExactNumber::Integer(count @ 0..) => return usize::try_from(count).unwrap_or(usize::MAX),
                ExactNumber::Float(float) if float > 0.0 && float.fract() == 0.0 => return usize::MAX,
                _ => {}
            }
        }
        self.add_malformed_problem(key, value, "an integer that is not negative", at);
        0
    }

    pub(super) fn parse_boolean(&mut self, key: &str, value: &Value, at: &Location<'_>) -> bool {
        value.as_bool().unwrap_or_else(|| {
            self.add_malformed_problem(key, value, "a boolean", at);
            false
        })
    }

    /// Parses a list of distinct names.
    pub(super) fn parse_names(&mut self, key: &str, value: &'s Value, at: &Location<'_>) -> Vec<&'s str> {
        let names: Option<Vec<_>> =
            value.as_array().and_then(|list| list.iter().map(Value::as_str).collect());
        let Some(names) = names else {
            self.add_malformed_problem(key, value, "a list of names", at);
            return Vec::new();
        };
        let mut sorted = names.clone();
        sorted.sort_unstable();
        for pair in sorted.chunk_by(|left, right| left == right).filter(|run| run.len() > 1) {
            let name = pair.first().copied().unwrap_or_default();
            self.add_keyword_problem(key, at, format!("`{key}` lists {} twice", quoted(name)));
        }
        names
    }

    /// Parses `dependentRequired`.
    pub(super) fn parse_dependent_required(
        &mut self,
        value: &'s Value,
        at: &Location<'_>,
    ) -> Box<[DependentProperties]> {
        let Some(map) = value.as_object() else {
            self.add_malformed_problem("dependentRequired", value, "an object of lists of names", at);
            return Box::default();
        };
        let mut found = Vec::with_capacity(map.len());
        for (name, value) in map {
            let names = self.parse_names("dependentRequired", value, at);
            found.push(DependentProperties {
                name: name.as_str().into(),
                required: names.into_iter().map(Box::from).collect(),
            });
        }
        found.into()
    }

    pub(super) fn parse_pattern(&mut self, key: &str, value: &Value, at: &Location<'_>) -> Option<Pattern> {
        match value.as_str() {
            Some(source) => self.compile_pattern(key, source, at),
            None => {
                self.add_malformed_problem(key, value, "a regular expression", at);
                None
            }
        }
    }

    pub(super) fn compile_pattern(&mut self, key: &str, source: &str, at: &Location<'_>) -> Option<Pattern> {
        match Pattern::new(source) {
            Ok(pattern) => return Some(pattern),
            Err(PatternError::Mistake(reason)) => {
                self.add_keyword_problem(key, at, format!("the pattern `{source}` cannot be used: {reason}"));
            }
            Err(PatternError::Uncovered(what)) => {
                self.add_unsupported(&format!("{what} in the pattern `{source}`"), at)
            }
        }
        None
    }
}
