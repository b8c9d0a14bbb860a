//! The structured output of a run.

use std::ops::ControlFlow;

use tool_runtime::{CallOutcome, Registry, ToolError, ToolResult, guard::catch, registry::OUTPUT_TOOL};

use super::{
    End, EndReason,
    conversation::RunConversation,
    flow::{Flow, end_as_failed, end_with},
    scope::RunScope,
};
use crate::{
    AgentError, Message, OUTPUT_INSTRUCTION, OutputType, hook::Step, model::Response, output::Validator,
};

/// The output that a run expects, and the attempts so far.
pub(super) struct ExpectedOutput {
    output: OutputType,
    validator: Validator,
    attempts: OutputAttempts,
    /// The tools of the last round, and the same with the output tool.
    tools: Option<(Registry, Registry)>,
}

/// The attempts of an agent to give its output.
#[derive(Clone, Copy, Default)]
pub(super) struct OutputAttempts {
    /// The number of invalid outputs.
    invalid: u64,
    /// Set after the reminder of the output tool.
    is_reminded: bool,
}

impl ExpectedOutput {
    /// Prepares a run for its output; ends it if the type has no valid schema.
    pub(super) fn of(output: Option<OutputType>) -> Flow<Option<Self>> {
        let Some(output) = output else { return ControlFlow::Continue(None) };
        match output.validator() {
            Ok(validator) => {
                let expected = Self { output, validator, attempts: OutputAttempts::default(), tools: None };
                ControlFlow::Continue(Some(expected))
            }
            Err(message) => end_as_failed(AgentError::InvalidOutputType { message }.to_string()),
        }
    }

    /// Returns the attempts so far.
    pub(super) fn attempts(&self) -> OutputAttempts {
        self.attempts
    }

    /// Goes on after the attempts of the run before it waited.
    pub(super) fn continue_attempts(&mut self, attempts: OutputAttempts) {
        self.attempts = attempts;
    }

    /// Adds to the request of `step`: the format of the answer, or the tool by which the model submits it.
    pub(super) fn add_to_request(&mut self, step: &mut Step) -> Result<(), ToolError> {
        step.request.output = self.output.output_format();
        let is_strict = || step.model.has_strict_output_for(&step.request);
        if step.request.output.is_some() && catch(is_strict).unwrap_or(false) {
            return Ok(());
        }
        step.request.output = None;
        step.request.instruction = match step.request.instruction.trim().is_empty() {
            true => OUTPUT_INSTRUCTION.into(),
            false => format!("{}\n\n{OUTPUT_INSTRUCTION}", step.request.instruction).into(),
        };
        let with_output = self.with_output_tool(&step.request.tools)?;
        step.set_tools(with_output);
        Ok(())
    }

    /// Returns `tools` with the output tool.
    fn with_output_tool(&mut self, tools: &Registry) -> Result<Registry, ToolError> {
        if let Some((before, with_output)) = &self.tools
            && before.is_same(tools)
        {
            return Ok(with_output.clone());
        }
        let with_output = tools.with_output_tool(self.validator.tool().clone());
        let with_output = with_output.map_err(|error| ToolError::failed(error.to_string()))?;
        self.tools = Some((tools.clone(), with_output.clone()));
        Ok(with_output)
    }

    /// Returns the end of the run after a response without calls; `None` if the model answers again.
    pub(super) async fn end_after_answer(
        &mut self,
        scope: &RunScope,
        conversation: &mut RunConversation,
        step: &Step,
        response: &Response,
    ) -> Flow<Option<End>> {
        if step.request.output.is_none() {
            let problem = "the model answered with a text in place of a call of `submit_output`";
            if std::mem::replace(&mut self.attempts.is_reminded, true) {
                let message = format!("{problem}, after a reminder");
                return end_with(EndReason::InvalidOutput { message });
            }
            let reminder =
                "Your answer was not submitted. Call the tool `submit_output` with it as the arguments.";
            conversation.add_message_for_model_alone(Message::user(reminder));
            scope.emit_notice(format!("{problem}; it is reminded")).await;
            return ControlFlow::Continue(None);
        }
        match self.validator.validate(&response.message.text()).await {
            Ok(submission) => ControlFlow::Continue(Some(End::submitted(submission))),
            Err(error) => {
                let problems = error.feedback().to_string();
                let notice = self.count_invalid_output(&problems)?;
                conversation.add_message_for_model_alone(Message::user(format!(
                    "The answer does not have the required format. {problems}\nAnswer again, with the JSON only."
                )));
                scope.emit_notice(notice).await;
                ControlFlow::Continue(None)
            }
        }
    }

    /// Returns the end of the run if one of the calls submitted the output, or if too many were invalid.
    pub(super) async fn end_after_calls(&mut self, outcomes: &[CallOutcome]) -> Option<End> {
        if let Some(end) = self.submitted_end(outcomes).await {
            return Some(end);
        }
        output_tool_results(outcomes)
            .find_map(|result| self.count_invalid_output(&result.text()).break_value())
    }

    /// Returns the end of the run if one of the calls submitted the output.
    pub(super) async fn submitted_end(&self, outcomes: &[CallOutcome]) -> Option<End> {
        let valid = output_tool_results(outcomes).filter(|result| !result.is_error()).last()?;
        let submission = match self.validator.tool().drain_submission_of(valid) {
            Some(submission) => submission,
            // A call that was approved after its run was submitted to the tool of that run. Its result is its arguments.
            None => self.validator.validate(&valid.text()).await.ok()?,
        };
        Some(End::submitted(submission))
    }

    /// Counts an invalid output; ends the run if it was the last that the model may correct.
    fn count_invalid_output(&mut self, problems: &str) -> Flow<String> {
        self.attempts.invalid += 1;
        let (invalid, repairs) = (self.attempts.invalid, self.output.max_repairs());
        if invalid > repairs {
            return end_with(EndReason::InvalidOutput { message: problems.to_owned() });
        }
        ControlFlow::Continue(format!("the output is invalid (repair {invalid} of {repairs}): {problems}"))
    }
}

/// Returns the final results of the output tool.
fn output_tool_results(outcomes: &[CallOutcome]) -> impl Iterator<Item = &ToolResult> {
    let results = outcomes.iter().filter(|outcome| outcome.is_finished()).filter_map(CallOutcome::result);
    results.filter(|result| *result.name == *OUTPUT_TOOL)
}
