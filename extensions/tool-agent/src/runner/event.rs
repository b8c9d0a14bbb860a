//! Events of a run.

use std::{fmt, sync::Arc, time::SystemTime};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use tool_runtime::{
    CallOutcome, ToolCall,
    call::{CallAddress, CallId},
    dialect::Usage,
    event::ToolEvent,
};

use super::{RunUsage, open_below::CallAbove};
use crate::{Limit, Message, Role, model::ModelErrorKind, output::Submission};

/// An event of a run: the fields that all events have, and its [kind](Self::kind).
///
/// An event is read from its JSON again, also from one with the version `"v": 1`.
///
/// # Examples
///
/// ```
/// use tool_agent::{AgentEvent, AgentEventKind};
///
/// let line = r#"{"time":0,"run":"run-1","agent":"clerk","type":"text","delta":"Hello."}"#;
/// let event: AgentEvent = serde_json::from_str(line)?;
/// assert!(matches!(&event.kind, AgentEventKind::Text { delta } if delta == "Hello."));
/// assert_eq!(serde_json::to_string(&event)?, line);
/// # use tool_runtime::serde_json;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentEvent {
    /// The time of the event; in JSON, milliseconds since the Unix epoch.
    #[serde(serialize_with = "serialize_millis")]
    pub time: SystemTime,
    /// The id of the run.
    pub run: CallId,
    /// The name of the agent; after a [transfer](AgentEventKind::Transferred), the other agent.
    pub agent: Arc<str>,
    /// The kind of the event, with the data of this kind.
    #[serde(flatten)]
    pub kind: AgentEventKind,
}

impl AgentEvent {
    /// Returns `true` for the message with the results of calls. The run continues when the reader polls the stream for the next event: with
    /// that, it acknowledges that it has completed its work on this one, and the model is asked afterwards.
    #[must_use]
    pub fn requires_completion(&self) -> bool {
        matches!(&self.kind, AgentEventKind::Message { message } if message.role() == Role::Tool)
    }
}

/// The kind of an [`AgentEvent`].
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum AgentEventKind {
    /// A part of the text of the model.
    Text {
        /// The part.
        delta: String,
    },
    /// A part of the readable reasoning of the model.
    Reasoning {
        /// The part.
        delta: String,
    },
    /// The text and the reasoning of the current response that were shown are void: the model is asked again, or a hook
    /// replaced the response.
    Withdrawn {
        /// The reason.
        reason: String,
    },
    /// A message was added to the conversation, and is stored. The model is asked again after the results of calls only when the reader of
    /// the stream has [acknowledged](AgentEvent::requires_completion) them.
    Message {
        /// The message.
        message: Message,
    },
    /// The token counts of one response.
    Usage {
        /// The counts of the response.
        usage: Usage,
        /// The counts of the run so far.
        total: RunUsage,
    },
    /// An event of a call.
    Tool {
        /// The event.
        event: Box<ToolEvent>,
    },
    /// An event of a run below a call, such as one of an [`AgentTool`](crate::AgentTool).
    ///
    /// Each comes between the start and the end of the call. A run whose call was cancelled, and which has not ended when the [grace
    /// period](tool_runtime::executor::ExecutorBuilder::grace_period) is over, is dropped: it has no further events, so that its own end and those of
    /// its calls are missing.
    Child {
        /// The address of the call.
        call: CallAddress,
        /// The event.
        #[serde(rename = "child")]
        event: Box<AgentEvent>,
    },
    /// The agent of this event gave the conversation to another one, which has the events of the next round.
    Transferred {
        /// The name of the other agent.
        to: Arc<str>,
    },
    /// A part of the request that the provider does not support, or a repair of the run.
    Notice {
        /// The text.
        text: String,
    },
    /// Calls wait for an answer: see [`Answers`](crate::Answers).
    Open {
        /// The calls, in order. A call that waits for an approval is represented by a virtual call with its arguments,
        /// hint and payload: see [`Executor::confirmation_call`](tool_runtime::Executor::confirmation_call).
        calls: Vec<ToolCall>,
        /// The ids of those calls, all of which are answered later.
        long_running: Vec<CallId>,
    },
    /// The run ended; the last event.
    Ended {
        /// The end.
        end: End,
    },
}

/// The end of a run.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct End {
    /// The reason.
    pub reason: EndReason,
    /// The text of the last response; empty if it had none.
    pub text: String,
    /// The structured output; `None` if the run has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The structured output with exact numbers.
    #[serde(skip)]
    pub(crate) output_json: Option<Arc<str>>,
    /// The requests, calls and tokens of the run.
    pub usage: RunUsage,
    /// The calls that wait for an answer: [`Runner::resume`](crate::Runner::resume). If the run ended with its output, the
    /// calls that had no result; they are closed in the session.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<CallOutcome>,
    /// A virtual call for each call in [`open`](Self::open) that waits for an approval, in the same order: its name is
    /// configurable, its id is derived from the question, and its arguments contain the call, the hint and the payload.
    /// A program that shows approvals as calls forwards them; others show [`open`](Self::open). See
    /// [`Executor::confirmation_call`](tool_runtime::Executor::confirmation_call).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confirmations: Vec<ToolCall>,
    /// The calls of agents above each call in [`open`](Self::open), in the same order, each from the root down: a call with an empty path is one of
    /// the run itself. Empty if all of them are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Vec<CallAbove>>,
}

/// The reason for which a run ended.
///
/// # Responses that are not an answer
///
/// | response | effect |
/// | --- | --- |
/// | neither text nor calls | not stored; asked again once, then [`Empty`](Self::Empty) |
/// | a stream without an end, or not in the format of its provider | withdrawn, asked again once, then [`ModelFailed`](Self::ModelFailed) |
/// | longer than the context window | [compacted](crate::Compaction) and asked again once, then [`ModelFailed`](Self::ModelFailed) |
/// | cut off, without calls | stored; [`Truncated`](Self::Truncated) |
/// | cut off, with calls | the last call is answered with an error and never executed; the others run; the run continues |
/// | a call of an unknown tool, or with invalid arguments | answered with an error that names the problem; the run continues |
/// | the same calls again and again | [`Limit`](Self::Limit), by [`Limits::repeated_calls`](crate::Limits) |
/// | new calls without an end | [`Limit`](Self::Limit), by [`Limits::rounds`](crate::Limits) and the others |
/// | a refusal of the provider | [`ModelFailed`](Self::ModelFailed) of kind [`Refused`](ModelErrorKind::Refused) |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum EndReason {
    /// The model answered without calls.
    Answered,
    /// The model submitted its structured output.
    Submitted,
    /// All calls of a batch asked to end the run.
    Terminated,
    /// A result is shown to the user as it is, without another request to the model.
    SkippedSummarization,
    /// A call ended the [loop](crate::Agent::repeat) around its agent, as one of the tool [`exit_loop`](crate::exit_loop).
    Escalated,
    /// A hook ended the run after a round.
    HookStopped,
    /// Calls wait for an answer: [`End::open`].
    OpenCalls,
    /// The run reached a limit.
    Limit {
        /// The limit.
        limit: Limit,
        /// The limit in words.
        message: String,
    },
    /// A tool, a hook or a policy stopped the run on purpose.
    Stopped {
        /// The reason.
        message: String,
    },
    /// The model did not submit a valid [output](crate::AgentBuilder::output).
    InvalidOutput {
        /// The problems of the last output.
        message: String,
    },
    /// The run was cancelled.
    Cancelled,
    /// The [input check](crate::AgentBuilder::input_check) refused the message of the user. Neither the message nor a part
    /// of an answer is stored.
    Refused {
        /// The reason.
        message: String,
    },
    /// Two responses in a row have neither text nor calls.
    Empty,
    /// The last response was cut off, and has no calls.
    Truncated {
        /// The stop reason, as the provider sent it.
        stop_reason: Option<String>,
    },
    /// The model failed.
    ModelFailed {
        /// The kind of the error.
        kind: ModelErrorKind,
        /// The error.
        message: String,
    },
    /// Another run of the session did not end within [the time](crate::Runner::when_busy) that this run waited for it.
    Busy {
        /// The other run.
        run: CallId,
    },
    /// Another run has taken over the session, since this one did not renew its lease in time: nothing that this run did since
    /// its last message is stored.
    Superseded {
        /// The other run.
        run: CallId,
    },
    /// The [store](crate::Runner::with_store) of the session failed. Nothing that the run did since its last message is stored.
    StoreFailed {
        /// The error.
        message: String,
    },
    /// A part of the program failed: the instruction, a hook, or the listing of tools.
    Failed {
        /// The error.
        message: String,
    },
}

impl EndReason {
    /// Returns the name of the reason, as in JSON.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Submitted => "submitted",
            Self::Terminated => "terminated",
            Self::SkippedSummarization => "skipped_summarization",
            Self::Escalated => "escalated",
            Self::HookStopped => "hook_stopped",
            Self::OpenCalls => "open_calls",
            Self::Limit { .. } => "limit",
            Self::Stopped { .. } => "stopped",
            Self::InvalidOutput { .. } => "invalid_output",
            Self::Cancelled => "cancelled",
            Self::Refused { .. } => "refused",
            Self::Empty => "empty",
            Self::Truncated { .. } => "truncated",
            Self::ModelFailed { .. } => "model_failed",
            Self::Busy { .. } => "busy",
            Self::Superseded { .. } => "superseded",
            Self::StoreFailed { .. } => "store_failed",
            Self::Failed { .. } => "failed",
        }
    }

    /// Returns `true` if the run has its answer.
    #[must_use]
    pub fn is_success(&self) -> bool {
        use EndReason::{Answered, Escalated, SkippedSummarization, Submitted, Terminated};
        matches!(self, Answered | Submitted | Terminated | SkippedSummarization | Escalated)
    }
}

/// States the reason in one sentence without a period.
impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered => f.write_str("the model answered"),
            Self::Submitted => f.write_str("the model submitted its output"),
            Self::Terminated => f.write_str("the tools ended the run"),
            Self::SkippedSummarization => f.write_str("a tool answered the user"),
            Self::Escalated => f.write_str("a tool ended the loop"),
            Self::HookStopped => f.write_str("a hook ended the run"),
            Self::OpenCalls => f.write_str("calls wait for an answer"),
            Self::Limit { message, .. } | Self::Stopped { message } | Self::Failed { message } => {
                f.write_str(message)
            }
            Self::InvalidOutput { message } => write!(f, "the model submitted no valid output: {message}"),
            Self::Cancelled => f.write_str("the run was cancelled"),
            Self::Refused { message } => write!(f, "the input was refused: {message}"),
            Self::Empty => f.write_str("the model sent an empty response"),
            Self::Truncated { stop_reason: Some(reason) } => {
                write!(f, "the response of the model was cut off (`{reason}`)")
            }
            Self::Truncated { stop_reason: None } => f.write_str("the response of the model was cut off"),
            Self::ModelFailed { message, .. } => write!(f, "the model failed: {message}"),
            Self::Busy { run } => {
                write!(f, "the run `{run}` of the session did not end; wait longer by `Runner::when_busy`")
            }
            Self::Superseded { run } => write!(f, "the run `{run}` has taken over the session"),
            Self::StoreFailed { message } => write!(f, "the store of the session failed: {message}"),
        }
    }
}

fn serialize_millis<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    serializer.serialize_u64(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// States the reason in one sentence without a period; names open calls, and the method that answers them.
impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The maximum number of calls in the sentence.
        const MAX_CALLS: usize = 5;
        self.reason.fmt(f)?;
        if self.reason != EndReason::OpenCalls || self.open.is_empty() {
            return Ok(());
        }
        for (at, call) in self.open.iter().take(MAX_CALLS).enumerate() {
            let separator = if at == 0 { ": " } else { ", " };
            write!(f, "{separator}`{}` (id `{}`)", call.name(), call.id())?;
        }
        if let Some(more @ 1..) = self.open.len().checked_sub(MAX_CALLS) {
            write!(f, " and {more} more")?;
        }
        f.write_str("; answer them with `Runner::resume` in the same session, or give the agent an approver")
    }
}

impl End {
    pub(super) fn new(reason: EndReason) -> Self {
        Self {
            reason,
            text: String::new(),
            output: None,
            output_json: None,
            usage: RunUsage::default(),
            open: Vec::new(),
            confirmations: Vec::new(),
            paths: Vec::new(),
        }
    }

    /// The end of a run with its output.
    pub(super) fn submitted(output: Submission) -> Self {
        let Submission { value, json } = output;
        Self { output: Some(value), output_json: Some(json), ..Self::new(EndReason::Submitted) }
    }

    /// The end of a run whose stream ended without one.
    pub(crate) fn without_reason() -> Self {
        Self::new(EndReason::Failed { message: "the run ended without a reason".to_owned() })
    }
}

#[cfg(test)]
mod tests;
