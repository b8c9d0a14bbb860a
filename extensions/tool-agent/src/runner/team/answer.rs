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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use tool_runtime::{CallOutcome, ToolCall, ToolOutput, ToolResult};

    use super::*;
    use crate::Part;

    fn answer_end(text: &str) -> End {
        End { text: text.to_owned(), ..End::new(EndReason::Answered) }
    }

    fn submitted(json: &str) -> End {
        let value = serde_json::from_str(json).unwrap();
        End::submitted(Submission { value, json: json.into() })
    }

    fn partial_end(reason: EndReason) -> End {
        End { text: "a part".to_owned(), ..End::new(reason) }
    }

    fn failure() -> EndReason {
        EndReason::Failed { message: "no".to_owned() }
    }

    #[test]
    fn the_last_answer_is_the_last_text_after_the_question_that_is_no_step() {
        let answer = |text: &str| Message::assistant([Part::Text(text.to_owned())]);
        let step = |text: &str| {
            let call = Part::Call(ToolCall::new("look", "{}").with_id("c"));
            Message::assistant([Part::Text(text.to_owned()), call])
        };
        let result = || {
            let id = "c".to_owned().into();
            Message::results([ToolResult::new(id, "look", Ok(ToolOutput::from("seen")))])
        };
        for (messages, expected) in [
            (vec![], ""),
            (vec![answer("a"), Message::user("?")], ""),
            (vec![Message::user("?"), answer("a"), answer("b"), answer("")], "b"),
            (vec![Message::user("?"), answer("a"), step("b"), result()], "a"),
            (vec![answer("a"), Message::user("?"), result()], ""),
        ] {
            assert_eq!(LastAnswer::of_conversation(&messages).text, expected, "{messages:?}");
        }
    }

    #[test]
    fn an_end_without_an_answer_has_the_answer_before_it() {
        let mut last = LastAnswer::default();
        let mut noted = |mut end: End| {
            last.note_answer(&mut end);
            (end.text, end.output_json.as_deref().map(str::to_owned))
        };
        let json = |json: &str| Some(json.to_owned());
        assert_eq!(noted(answer_end("a")), ("a".to_owned(), None));
        assert_eq!(noted(partial_end(failure())), ("a part".to_owned(), None));
        assert_eq!(noted(answer_end("")), ("a".to_owned(), None));
        assert_eq!(noted(submitted("1.50")), (String::new(), json("1.50")));
        assert_eq!(noted(End { text: String::new(), ..partial_end(failure()) }), (String::new(), None));
        assert_eq!(noted(answer_end("")), (String::new(), json("1.50")));
        assert_eq!(noted(answer_end("b")), ("b".to_owned(), None));
    }

    #[tokio::test]
    async fn the_answers_of_several_agents_are_joined_below_their_names() {
        let ends = || vec![("one", answer_end("a")), ("two", submitted("1.50")), ("three", answer_end(""))];
        let text = "one:\na\n\ntwo:\n1.50";
        let joined = joined_end(ends(), JoinedOutput::None).await;
        assert_eq!((joined.reason, &*joined.text, joined.output_json), (EndReason::Answered, text, None));
        // A type of the whole output has its canonical form.
        let outputs = [(JoinedOutput::Members, "1.50"), (JoinedOutput::Of(OutputType::any()), "1.5")];
        for (output, number) in outputs {
            let joined = joined_end(ends(), output).await;
            assert_eq!((joined.reason, &*joined.text), (EndReason::Submitted, text));
            let expected = format!(r#"{{"one":"a","two":{number},"three":""}}"#);
            assert_eq!(joined.output_json.as_deref(), Some(&*expected));
            assert_eq!(joined.output.unwrap()["two"], 1.5);
        }
        // The first failure, of which a cancellation is the least.
        for (reasons, expected) in [
            ([EndReason::Cancelled, failure()], failure()),
            ([failure(), EndReason::Empty], failure()),
            ([EndReason::Cancelled, EndReason::Answered], EndReason::Cancelled),
        ] {
            let [one, two] = reasons.map(partial_end);
            let joined = joined_end(vec![("one", one), ("two", two)], JoinedOutput::Members).await;
            assert_eq!((joined.reason, joined.output), (expected, None));
        }
    }

    #[test]
    fn open_calls_of_several_agents_keep_their_paths() {
        let outcome = |id: &str| {
            let result = ToolResult::new(id.to_owned().into(), "look", Ok(ToolOutput::from("seen")));
            CallOutcome::Finished(result)
        };
        let waiting = |ids: &[&str], paths: usize| {
            let mut end =
                End { open: ids.iter().map(|id| outcome(id)).collect(), ..partial_end(EndReason::OpenCalls) };
            end.paths.resize_with(paths, Vec::new);
            end
        };
        for (paths, expected) in [(0, 0), (1, 3)] {
            let mut answer = answer_end("a");
            answer.open.push(outcome("x"));
            let ends =
                vec![("one", waiting(&["a", "b"], 0)), ("two", answer), ("three", waiting(&["c"], paths))];
            let joined = end_with_open_calls(ends, None);
            let ids: Vec<_> = joined.open.iter().map(|call| call.id().to_string()).collect();
            assert_eq!((joined.reason, &*joined.text), (EndReason::OpenCalls, "two:\na"));
            assert_eq!((ids, joined.paths.len()), (["a", "b", "c"].map(str::to_owned).to_vec(), expected));
        }
        let cancelled = end_with_open_calls(vec![("one", waiting(&["a"], 0))], Some(EndReason::Cancelled));
        assert_eq!((cancelled.reason, cancelled.open.len()), (EndReason::Cancelled, 1));
    }
}
