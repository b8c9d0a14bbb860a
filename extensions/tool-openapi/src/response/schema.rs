//! The declared schema of a response.

use std::sync::LazyLock;

use serde_json::Value;
use tool_runtime::schema::{OutputSchema, OutputValidator};

/// The declared schema of the JSON of an operation, compiled for its first response.
pub(crate) struct ResponseSchema(
    LazyLock<Result<OutputValidator, String>, Box<dyn FnOnce() -> CompiledSchema + Send>>,
);

type CompiledSchema = Result<OutputValidator, String>;

impl ResponseSchema {
    pub(crate) fn new(schema: OutputSchema) -> Self {
        Self(LazyLock::new(Box::new(move || OutputValidator::new(&schema).map_err(|it| it.feedback()))))
    }

    /// Returns the violations of `value`, as text; `None` if it fits.
    pub(super) fn schema_mismatch(&self, value: &Value) -> Option<String> {
        match &*self.0 {
            Ok(validator) => {
                let violations = validator.violations(value);
                (!violations.is_empty()).then(|| violations.to_string())
            }
            Err(problem) => Some(format!("the declared schema cannot be used: {problem}")),
        }
    }
}
