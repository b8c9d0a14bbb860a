//! The answers of several agents.

use std::sync::Arc;

use serde_json::{Value, value::RawValue};

use super::super::{End, EndReason};
use crate::{Message, OutputType, Role, output::Submission};

/// The answer of the agent that ran last and gave one.
#[derive(Default)]
pub(super) struct LastAnswer {
    text: String,
    output: Option<Value>,
    output_json: Option<Arc<str>>,
}

impl LastAnswer {
    /// Returns the last text in a conversation that is continued after the message of the user.
    pub(super) fn of_conversation(messages: &[Message]) -> Self {
        let since = messages.iter().rev().take_while(|message| message.role() != Role::User);
        let is_answer =
            |message: &&Message| message.role() == Role::Assistant && message.calls().next().is_none();
        let answer = since.filter(is_answer).map(Message::text).find(|text| !text.is_empty());
        Self { text: answer.unwrap_or_default(), ..Self::default() }
    }

    /// Notes the answer of an agent that ended; one without an answer ends with the one before.
    pub(super) fn note_answer(&mut self, end: &mut End) {
        if !end.reason.is_success() {
            return;
        }
        if end.text.is_empty() && end.output_json.is_none() {
            (end.text, end.output, end.output_json) =
                (self.text.clone(), self.output.clone(), self.output_json.clone());
        }
        (self.text, self.output, self.output_json) =
            (end.text.clone(), end.output.clone(), end.output_json.clone());
    }
}

/// Returns the end of a run that failed.
pub(super) fn failed_end(message: String) -> End {
    End::new(EndReason::Failed { message })
}

/// Returns the end of agents in parallel, each with its name.
pub(super) async fn joined_end(ends: Vec<(&str, End)>, output: JoinedOutput) -> End {
    let texts: Vec<_> = ends.iter().filter_map(|(name, end)| answer_below_name(name, end)).collect();
    let text = texts.join("\n\n");
    if let Some(failure) = first_failure(&ends) {
        return End { text, ..End::new(failure) };
    }
    let end = match output {
        JoinedOutput::None => End::new(EndReason::Answered),
        JoinedOutput::Members => match joined_output(&ends) {
            Some(submission) => End::submitted(submission),
            None => failed_end("the outputs of the agents cannot be joined".to_owned()),
        },
        JoinedOutput::Of(output) => match joined_output(&ends) {
            Some(submission) => validated_end(&output, &submission.json).await,
            None => failed_end("the outputs of the agents cannot be joined".to_owned()),
        },
    };
    End { text, ..end }
}

/// Returns the end of agents in parallel of which some wait for answers: their open calls, with the texts of those that ended.
pub(super) fn end_with_open_calls(ends: Vec<(&str, End)>, interruption: Option<EndReason>) -> End {
    let texts: Vec<_> = ends.iter().filter_map(|(name, end)| answer_below_name(name, end)).collect();
    let mut joined = End::new(interruption.unwrap_or(EndReason::OpenCalls));
    joined.text = texts.join("\n\n");
    let has_paths = ends.iter().any(|(_, end)| !end.paths.is_empty());
    for (_, end) in ends.into_iter().filter(|(_, end)| !end.reason.is_success()) {
        let mut paths = end.paths;
        paths.resize_with(end.open.len(), Vec::new);
        joined.open.extend(end.open);
        joined.confirmations.extend(end.confirmations);
        if has_paths {
            joined.paths.extend(paths);
        }
    }
    joined
}

/// The structured output of agents in parallel.
pub(super) enum JoinedOutput {
    None,
    /// An object with the outputs and texts of the agents.
    Members,
    /// The same, which must be of this type.
    Of(OutputType),
}

/// Returns the reason of the first agent that failed. An agent that was cancelled counts only if no other failed.
fn first_failure(ends: &[(&str, End)]) -> Option<EndReason> {
    let failures = || ends.iter().map(|(_, end)| &end.reason).filter(|reason| !reason.is_success());
    failures().find(|reason| **reason != EndReason::Cancelled).or_else(|| failures().next()).cloned()
}

/// Returns the answer of an agent below its name; `None` if it has none.
fn answer_below_name(name: &str, end: &End) -> Option<String> {
    let answer = end.output_json.as_deref().unwrap_or(&end.text);
    let has_answer = end.reason.is_success() && !answer.is_empty();
    has_answer.then(|| format!("{name}:\n{answer}"))
}

/// Returns an object with the output or the text of each agent by its name, with exact numbers.
fn joined_output(ends: &[(&str, End)]) -> Option<Submission> {
    let mut json = String::from("{");
    for (index, (name, end)) in ends.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        json.push_str(&serde_json::to_string(name).ok()?);
        json.push(':');
        match &end.output_json {
            Some(output) => json.push_str(serde_json::from_str::<&RawValue>(output).ok()?.get()),
            None => json.push_str(&serde_json::to_string(&end.text).ok()?),
        }
    }
    json.push('}');
    Some(Submission { value: serde_json::from_str(&json).ok()?, json: json.into() })
}

/// Returns the end of a run whose output must be of the type `output`.
async fn validated_end(output: &OutputType, json: &str) -> End {
    let validator = match output.validator() {
        Ok(validator) => validator,
        Err(message) => return failed_end(message),
    };
    match validator.validate(json).await {
        Ok(submission) => End::submitted(submission),
        Err(error) => End::new(EndReason::InvalidOutput { message: error.feedback().to_string() }),
    }
}
