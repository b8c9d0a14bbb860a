//! Schemas of the input and of the output of a prompt: of any type.

use std::{fmt, sync::Arc};

use tool_runtime::{schema::Violations, serde_json::Value};
use tool_schema::Validator;

use super::PromptError;

/// The keywords that say which values a schema is about.
const TYPE_KEYWORDS: [&str; 7] = ["type", "enum", "const", "$ref", "oneOf", "anyOf", "allOf"];

/// A compiled schema.
#[derive(Clone)]
pub(super) struct PromptSchema {
    schema: Arc<Value>,
    validator: Arc<Validator>,
}

impl PromptSchema {
    /// Compiles a schema; `part` names it in errors.
    pub(super) fn compile(part: &str, schema: Value) -> Result<Self, PromptError> {
        let Some(members) = schema.as_object() else {
            let problem = format!("the schema `{part}` is no object; write one such as `type: string`");
            return Err(PromptError::new(problem));
        };
        if !TYPE_KEYWORDS.iter().any(|keyword| members.contains_key(*keyword)) {
            let problem = format!("the schema `{part}` has no `type`; state one, such as `type: object`");
            return Err(PromptError::new(problem));
        }
        let validator = Validator::compile(&schema).map_err(|mistakes| {
            PromptError::new(format!("the schema `{part}` is not valid: {}", mistakes.join("; ")))
        })?;
        Ok(Self { schema: Arc::new(schema), validator: Arc::new(validator) })
    }

    pub(super) fn value(&self) -> &Value {
        &self.schema
    }

    pub(super) fn violations(&self, value: &Value) -> Violations {
        self.validator.violations(value)
    }
}

impl PartialEq for PromptSchema {
    fn eq(&self, other: &Self) -> bool {
        self.schema == other.schema
    }
}

impl fmt::Debug for PromptSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.schema)
    }
}
