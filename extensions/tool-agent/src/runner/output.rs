//! The structured output of a run.

use std::{
    ops::ControlFlow,
    sync::{Mutex, PoisonError},
};

use tool_runtime::{CallOutcome, Registry, ToolError, ToolResult, registry::OUTPUT_TOOL};

use super::{AgentEventKind, End, EndReason, drive::Drive};
use crate::{
    Message, OUTPUT_INSTRUCTION, OutputType, guard::called, hook::Step, model::Response, output::Validator,
};

/// The output that a run expects, and the attempts so far.
pub(super) struct Submissions {
    output: OutputType,
    validator: Validator,
    /// The number of invalid outputs.
    invalid: u64,
    /// Set after the reminder of the output tool.
    reminded: bool,
    /// The tools of the last round, and the same with the output tool.
    tools: Mutex<Option<(Registry, Registry)>>,
}

impl Drive {
    /// Prepares the run for the output of its agent.
    pub(super) fn expect_output(&mut self) -> ControlFlow<End> {
        let output = self.runner.0.output.as_ref().or(self.agent().output_type());
        let Some(output) = output.cloned() else { return ControlFlow::Continue(()) };
        match output.validator() {
            Ok(validator) => {
                let (invalid, reminded, tools) = (0, false, Mutex::default());
                self.output = Some(Submissions { output, validator, invalid, reminded, tools });
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(End::new(EndReason::Failed { message: error.to_string() })),
        }
    }

    /// Adds to the request of `step`: the format of the answer, or the tool by which the model submits it.
    pub(super) fn request_output(&self, step: &mut Step) -> Result<(), ToolError> {
        let Some(Submissions { output, validator, tools, .. }) = &self.output else { return Ok(()) };
        step.request.output = output.format();
        let is_strict = || step.model.has_strict_output_for(&step.request);
        if step.request.output.is_some() && called(is_strict).unwrap_or(false) {
            return Ok(());
        }
        step.request.output = None;
        step.request.instruction = match step.request.instruction.trim().is_empty() {
            true => OUTPUT_INSTRUCTION.into(),
            false => format!("{}\n\n{OUTPUT_INSTRUCTION}", step.request.instruction).into(),
        };
        let mut known = tools.lock().unwrap_or_else(PoisonError::into_inner);
        let with_output = match &*known {
            Some((before, with)) if is_same(before, &step.request.tools) => with.clone(),
            _ => {
                let with = step.request.tools.with_output_tool(validator.tool().clone());
                let with = with.map_err(|error| ToolError::failed(error.to_string()))?;
                *known = Some((step.request.tools.clone(), with.clone()));
                with
            }
        };
        drop(known);
        step.set_tools(with_output);
        Ok(())
    }

    /// Returns the end of the run after a response without calls; `None` if the model answers again.
    pub(super) async fn output_of(
        &mut self,
        step: &Step,
        response: &Response,
    ) -> ControlFlow<End, Option<End>> {
        let Some(expected) = &mut self.output else {
            return ControlFlow::Continue(Some(End::new(EndReason::Answered)));
        };
        if step.request.output.is_none() {
            let message = "the model answered with a text in place of a call of `submit_output`";
            if std::mem::replace(&mut expected.reminded, true) {
                let message = format!("{message}, after a reminder");
                return ControlFlow::Break(End::new(EndReason::InvalidOutput { message }));
            }
            let reminder =
                "Your answer was not submitted. Call the tool `submit_output` with it as the arguments.";
            self.ask_again(format!("{message}; it is reminded"), reminder.to_owned()).await;
            return ControlFlow::Continue(None);
        }
        match expected.validator.submission(&response.message.text()).await {
            Ok(submission) => ControlFlow::Continue(Some(End::submitted(submission))),
            Err(error) => {
                let problems = error.feedback().to_string();
                let notice = expected.refuse(&problems)?;
                let request = format!(
                    "The answer does not have the required format. {problems}\nAnswer again, with the JSON only."
                );
                self.ask_again(notice, request).await;
                ControlFlow::Continue(None)
            }
        }
    }

    /// Sends a message that is not stored in the session.
    async fn ask_again(&mut self, notice: String, request: String) {
        self.view.push(Message::user(request));
        self.emit(AgentEventKind::Notice { text: notice }).await;
    }

    /// Returns the end of the run if one of the calls submitted the output, or if too many were invalid.
    pub(super) async fn submitted(&mut self, outcomes: &[CallOutcome]) -> Option<End> {
        if let Some(end) = self.output_in(outcomes).await {
            return Some(end);
        }
        let expected = self.output.as_mut()?;
        submissions(outcomes).find_map(|result| expected.refuse(&result.text()).break_value())
    }

    /// Returns the end of the run if one of the calls submitted the output.
    pub(super) async fn output_in(&self, outcomes: &[CallOutcome]) -> Option<End> {
        let Submissions { validator, .. } = self.output.as_ref()?;
        let valid = submissions(outcomes).filter(|result| !result.is_error()).last()?;
        let submission = match validator.tool().taken_of(valid) {
            Some(submission) => submission,
            // A call that was approved after its run was submitted to the tool of that run. Its result is its arguments.
            None => validator.submission(&valid.text()).await.ok()?,
        };
        Some(End::submitted(submission))
    }
}

/// Returns the final results of the output tool.
fn submissions(outcomes: &[CallOutcome]) -> impl Iterator<Item = &ToolResult> {
    let results = outcomes.iter().filter(|outcome| outcome.is_finished()).filter_map(CallOutcome::result);
    results.filter(|result| *result.name == *OUTPUT_TOOL)
}

impl Submissions {
    /// Counts an invalid output; breaks if it was the last that the model may correct.
    fn refuse(&mut self, problems: &str) -> ControlFlow<End, String> {
        self.invalid += 1;
        let (invalid, repairs) = (self.invalid, self.output.repairs());
        if invalid > repairs {
            let message = problems.to_owned();
            return ControlFlow::Break(End::new(EndReason::InvalidOutput { message }));
        }
        ControlFlow::Continue(format!("the output is invalid (repair {invalid} of {repairs}): {problems}"))
    }
}

fn is_same(one: &Registry, other: &Registry) -> bool {
    std::ptr::eq(one.definitions(), other.definitions())
}
