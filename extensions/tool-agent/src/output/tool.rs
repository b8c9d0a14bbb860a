//! The tool by which a model submits its output.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tool_runtime::{
    Tool, ToolDefinition, ToolError, ToolName, ToolOutput, ToolResult,
    call::CallId,
    definition::{Metadata, Prepared},
    registry::OUTPUT_TOOL,
    schema::Arguments,
};

use super::{Decode, OutputType};

/// The tool `submit_output`, by which a model submits its output. Cheap to clone; clones share the submissions.
///
/// A run of an agent with an [`OutputType`] adds it by itself; for a loop written by hand, pass it to
/// [`RegistryBuilder::output_tool`](tool_runtime::registry::RegistryBuilder::output_tool). The result of a call is its
/// arguments; invalid arguments are an error that lists the problems.
///
/// # Examples
///
/// ```
/// use tool_agent::{OutputTool, OutputType};
/// use tool_runtime::prelude::*;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let output = OutputTool::new(OutputType::any()).map_err(anyhow::Error::msg)?;
/// let tools = Registry::builder().output_tool(output.clone()).build()?;
/// tools.call("submit_output", json!({ "answer": 42 })).await?;
/// assert_eq!(output.take(), Some(json!({ "answer": 42 })));
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct OutputTool {
    definition: ToolDefinition,
    decode: Option<Decode>,
    wrapped: bool,
    submitted: Arc<Mutex<Vec<SubmittedCall>>>,
}

/// The output of one call.
struct SubmittedCall {
    call: CallId,
    /// The result of the call, which distinguishes calls with the same id.
    result: Arc<str>,
    output: Submission,
}

/// A valid output.
#[derive(Debug, Clone)]
pub(crate) struct Submission {
    pub(crate) value: Value,
    /// The value with exact numbers.
    pub(crate) json: Arc<str>,
}

impl OutputTool {
    /// Creates the tool for outputs of this type.
    ///
    /// # Errors
    ///
    /// Returns a message if the type has no valid schema.
    pub fn new(output: OutputType) -> Result<Self, String> {
        let schema = output.0.schema.clone().map_err(|message| message.to_string())?;
        let name = ToolName::new(OUTPUT_TOOL).map_err(|error| error.to_string())?;
        let metadata = Metadata { read_only: Some(true), idempotent: Some(true), ..Metadata::default() };
        let description = "Submits the final answer, as the arguments of the call. Ends the conversation.";
        Ok(Self {
            definition: ToolDefinition::new(name, description, schema).with_metadata(metadata),
            decode: output.0.decode,
            wrapped: output.0.wrapped,
            submitted: Arc::default(),
        })
    }

    /// Removes all submissions, and returns the last valid one.
    #[must_use]
    pub fn take(&self) -> Option<Value> {
        self.drain_submissions().map(|submission| submission.value)
    }

    /// Removes all submissions, and returns the last one.
    pub(crate) fn drain_submissions(&self) -> Option<Submission> {
        std::mem::take(&mut *self.lock()).pop().map(|last| last.output)
    }

    /// Removes all submissions, and returns the one of the call with this result, whose text a hook may have changed.
    pub(crate) fn drain_submission_of(&self, result: &ToolResult) -> Option<Submission> {
        let mut all = std::mem::take(&mut *self.lock());
        all.retain(|it| it.call == result.id);
        let text = result.text();
        let at = all.iter().rposition(|it| *it.result == *text).or(all.len().checked_sub(1))?;
        Some(all.swap_remove(at).output)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SubmittedCall>> {
        self.submitted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the output in valid arguments: in canonical form, so that any decoder of its type reads it.
    fn canonical_submission(&self, arguments: Arguments<'_>) -> Result<Submission, ToolError> {
        #[derive(Deserialize)]
        struct WrappedJson<'a> {
            #[serde(borrow)]
            output: &'a RawValue,
        }
        let canonical = self.definition.canonical(arguments)?.into_text();
        let unreadable =
            |error: serde_json::Error| ToolError::failed(format!("the output is not JSON: {error}"));
        let json = match self.wrapped {
            true => serde_json::from_str::<WrappedJson<'_>>(&canonical).map_err(unreadable)?.output.get(),
            false => &canonical,
        };
        Ok(Submission { value: serde_json::from_str(json).map_err(unreadable)?, json: json.into() })
    }
}

impl Tool for OutputTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, mut arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        if let Some(decode) = self.decode {
            decode(&self.definition, &mut arguments)?;
        }
        Ok(Prepared::new(arguments, move |arguments, cx| {
            Box::pin(async move {
                let result = ToolOutput::json(
                    &serde_json::from_str::<&RawValue>(arguments.as_str())
                        .map_err(|error| ToolError::failed(format!("the output is not JSON: {error}")))?,
                )?;
                let submission = self.canonical_submission(arguments)?;
                let submitted = SubmittedCall {
                    call: cx.call_id().clone(),
                    result: result.text().into(),
                    output: submission,
                };
                self.lock().push(submitted);
                Ok(result)
            })
        }))
    }

    fn holds_arguments(&self) -> bool {
        self.decode.is_some()
    }
}

impl fmt::Debug for OutputTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputTool").field("definition", &self.definition).finish_non_exhaustive()
    }
}
