//! Validators of schemas of any supported draft.

use serde_json::Value;

use crate::{
    ArgumentError, Arguments, Plan, Violation, Violations, arguments::plan::words::received, foreign::Foreign,
};

/// A compiled schema of any supported draft.
///
/// It is a [`Plan`] where that supports all keywords of the schema, and otherwise the validator of `jsonschema`, if the feature
/// `foreign-schemas` is on. Nothing is fetched, and neither a schema nor a value exhausts the stack or the time.
#[derive(Debug)]
pub enum Validator {
    /// The built-in validator.
    Plan(Plan),
    /// The validator of `jsonschema`.
    Foreign(Foreign),
}

impl Validator {
    /// Compiles `schema`.
    ///
    /// # Errors
    ///
    /// Returns the mistakes of the schema, and the keywords that only the feature `foreign-schemas` supports.
    pub fn compile(schema: &Value) -> Result<Self, Vec<String>> {
        match Plan::compile(schema) {
            Ok(plan) => Ok(Self::Plan(plan)),
            Err(problems) => Foreign::instead_of(&problems, schema).map(Self::Foreign),
        }
    }

    /// Returns the violations of `value`, in document order; empty if and only if the value is valid.
    #[must_use]
    pub fn violations(&self, value: &Value) -> Violations {
        match self {
            Self::Plan(plan) => plan.violations(value),
            Self::Foreign(foreign) => foreign.violations(value),
        }
    }
}

impl Foreign {
    /// Returns `arguments` if they are valid, without coercion.
    ///
    /// # Errors
    ///
    /// Returns an error with the violations.
    pub fn fit<'a>(&self, arguments: Arguments<'a>) -> Result<Arguments<'a>, ArgumentError> {
        let value = arguments.to_value()?;
        let violations = match &value {
            Value::Object(_) => self.violations(&value),
            // A schema may omit this constraint.
            other => Violation::new("", "an object", received(other)).into(),
        };
        if violations.is_empty() {
            return Ok(arguments);
        }
        Err(ArgumentError::new(violations, arguments.as_str()))
    }
}
