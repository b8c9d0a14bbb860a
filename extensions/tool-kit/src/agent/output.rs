//! The output of a prompt: a type for its agent, and the value of a result.

use tool_agent::OutputType;
use tool_runtime::{
    ToolError, ToolOutput,
    schema::InputSchema,
    serde_json::{self, value::RawValue},
};

use crate::{
    catalogue::{ObjectSchema, unwrapped_text},
    prompt::PromptDefinition,
};

/// The member of an output that is no object.
const OUTPUT: &str = "output";

/// The output of a prompt with a schema.
pub(super) struct PromptOutput {
    schema: InputSchema,
    is_wrapped: bool,
}

impl PromptOutput {
    /// Reads the output of a prompt; `None` if it has no schema.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `BadParameter` if the schema cannot be one of an answer.
    pub(super) fn of(prompt: &PromptDefinition) -> Result<Option<Self>, ToolError> {
        let Some(schema) = prompt.output() else { return Ok(None) };
        let invalid = |problem: String| {
            ToolError::bad_parameter(format!("the output of the prompt `{}`: {problem}", prompt.name()))
        };
        let schema = ObjectSchema::new(schema, OUTPUT).map_err(invalid)?;
        let is_wrapped = schema.is_wrapped();
        let schema = InputSchema::new(schema.into_value()).map_err(|error| invalid(error.to_string()))?;
        Ok(Some(Self { schema, is_wrapped }))
    }

    /// Returns the type of the answer of an agent.
    pub(super) fn output_type(&self) -> OutputType {
        OutputType::schema(self.schema.clone())
    }

    /// Returns the result of a run with the value of its answer.
    ///
    /// # Errors
    ///
    /// Returns an error if the run ended without it, as by a tool.
    pub(super) fn require_unwrapped_value(&self, run_result: ToolOutput) -> Result<ToolOutput, ToolError> {
        if !run_result.structured().is_some_and(|value| value.is_object()) {
            return Err(ToolError::failed("the run ended without the output of the prompt"));
        }
        if !self.is_wrapped {
            return Ok(run_result);
        }
        let text = run_result.text();
        let value =
            unwrapped_text(&text, OUTPUT).and_then(|json| serde_json::from_str::<&RawValue>(json).ok());
        let value = value.ok_or_else(|| ToolError::failed("the output of the run has no value"))?;
        let mut output = ToolOutput::json(value)?;
        output.set_details(run_result.details().cloned());
        if let Some(id) = run_result.child_run_id() {
            output = output.with_child_run_id(id);
        }
        if let Some(actions) = run_result.actions() {
            output = output.with_actions(actions.clone());
        }
        Ok(output)
    }
}
