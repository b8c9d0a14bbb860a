//! Validators of schemas of any supported draft.

use serde_json::Value;

use crate::{
    ArgumentError, Arguments, Plan, Violation, Violations, arguments::plan::messages::received,
    foreign::Foreign,
};

/// A compiled schema of any supported draft.
///
/// The built-in validator ([`Plan`]) is used where it supports all keywords of the schema; otherwise, with the feature
/// `foreign-schemas`, the crate `jsonschema`. Nothing is fetched, and neither a schema nor a value exhausts the stack or the time.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_schema::Validator;
///
/// let validator = Validator::compile(&json!({ "type": "object", "required": ["id"] })).unwrap();
/// assert!(validator.violations(&json!({ "id": 1 })).is_empty());
/// let violations = validator.violations(&json!({}));
/// assert_eq!(violations.to_string(), "/id: expected the property `id`, which is required, got nothing");
/// ```
#[derive(Debug)]
pub struct Validator(Compiled);

#[derive(Debug)]
enum Compiled {
    Plan(Plan),
    Foreign(Foreign),
}

impl Validator {
    /// Compiles `schema`, of draft 2020-12 unless `$schema` names another one.
    ///
    /// # Errors
    ///
    /// Returns the mistakes of the schema, and the keywords that only the feature `foreign-schemas` supports.
    pub fn compile(schema: &Value) -> Result<Self, Vec<String>> {
        match Plan::compile(schema) {
            Ok(plan) => Ok(Self(Compiled::Plan(plan))),
            Err(problems) => {
                Foreign::instead_of(&problems, schema).map(|foreign| Self(Compiled::Foreign(foreign)))
            }
        }
    }

    /// Returns the violations of `value`, in document order; empty if and only if the value is valid.
    #[must_use]
    pub fn violations(&self, value: &Value) -> Violations {
        match &self.0 {
            Compiled::Plan(plan) => plan.violations(value),
            Compiled::Foreign(foreign) => foreign.violations(value),
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
