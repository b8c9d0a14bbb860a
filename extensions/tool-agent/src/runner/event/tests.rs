use tool_runtime::{CallOutcome, Executor, Registry, ToolCall};

use super::{End, EndReason};
use crate::{Limit, model::ModelErrorKind};

/// Each reason with its name and its sentence.
fn reasons() -> Vec<(EndReason, &'static str, &'static str)> {
    let message = || "no more".to_owned();
    let cut = |reason: Option<&str>| EndReason::Truncated { stop_reason: reason.map(str::to_owned) };
    vec![
        (EndReason::Answered, "answered", "the model answered"),
        (EndReason::Submitted, "submitted", "the model submitted its output"),
        (EndReason::Terminated, "terminated", "the tools ended the run"),
        (EndReason::Escalated, "escalated", "a tool ended the loop"),
        (EndReason::SkippedSummarization, "skipped_summarization", "a tool answered the user"),
        (EndReason::HookStopped, "hook_stopped", "a hook ended the run"),
        (EndReason::OpenCalls, "open_calls", "calls wait for an answer"),
        (EndReason::Limit { limit: Limit::Rounds, message: message() }, "limit", "no more"),
        (EndReason::Stopped { message: message() }, "stopped", "no more"),
        (
            EndReason::InvalidOutput { message: message() },
            "invalid_output",
            "the model submitted no valid output: no more",
        ),
        (EndReason::Cancelled, "cancelled", "the run was cancelled"),
        (EndReason::Refused { message: message() }, "refused", "the input was refused: no more"),
        (EndReason::Empty, "empty", "the model sent an empty response"),
        (cut(Some("max_tokens")), "truncated", "the response of the model was cut off (`max_tokens`)"),
        (cut(None), "truncated", "the response of the model was cut off"),
        (
            EndReason::ModelFailed { kind: ModelErrorKind::Connection, message: message() },
            "model_failed",
            "the model failed: no more",
        ),
        (
            EndReason::Busy { run: "run-7".into() },
            "busy",
            "the run `run-7` of the session did not end; wait longer by `Runner::when_busy`",
        ),
        (
            EndReason::Superseded { run: "run-7".into() },
            "superseded",
            "the run `run-7` has taken over the session",
        ),
        (
            EndReason::StoreFailed { message: message() },
            "store_failed",
            "the store of the session failed: no more",
        ),
        (EndReason::Failed { message: message() }, "failed", "no more"),
    ]
}

#[test]
fn each_reason_has_one_name_in_json_and_in_spans_and_a_sentence() {
    for (reason, name, sentence) in reasons() {
        let json = serde_json::to_value(&reason).unwrap_or_default();
        assert_eq!(
            (reason.name(), &json["reason"], reason.to_string()),
            (name, &name.into(), sentence.to_owned())
        );
        assert_eq!(serde_json::from_value::<EndReason>(json).ok(), Some(reason.clone()));
        let is_success =
            ["answered", "submitted", "terminated", "skipped_summarization", "escalated"].contains(&name);
        assert_eq!(reason.is_success(), is_success, "{name}");
    }
}

/// The outcomes of so many calls, which differ by their ids.
async fn outcomes(count: usize) -> Vec<CallOutcome> {
    let calls = (1..=count).map(|id| ToolCall::new("none", "{}").with_id(format!("c{id}"))).collect();
    Executor::new(Registry::default()).run(calls).await
}

#[tokio::test]
async fn the_end_of_a_run_names_the_calls_that_wait_for_an_answer() {
    let next = "; answer them with `Runner::resume` in the same session, or give the agent an approver";
    let call = |id: usize| format!("`none` (id `c{id}`)");
    let calls = |ids: std::ops::RangeInclusive<usize>| ids.map(call).collect::<Vec<_>>().join(", ");
    for (reason, count, sentence) in [
        (EndReason::OpenCalls, 0, "calls wait for an answer".to_owned()),
        (EndReason::OpenCalls, 1, format!("calls wait for an answer: {}{next}", call(1))),
        (EndReason::OpenCalls, 5, format!("calls wait for an answer: {}{next}", calls(1..=5))),
        (EndReason::OpenCalls, 7, format!("calls wait for an answer: {} and 2 more{next}", calls(1..=5))),
        // The calls of a run that has its output are closed.
        (EndReason::Submitted, 1, "the model submitted its output".to_owned()),
        (EndReason::Answered, 0, "the model answered".to_owned()),
    ] {
        let end = End { open: outcomes(count).await, ..End::new(reason) };
        assert_eq!(end.to_string(), sentence);
    }
}
