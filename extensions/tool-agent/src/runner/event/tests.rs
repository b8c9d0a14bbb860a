use super::EndReason;
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
