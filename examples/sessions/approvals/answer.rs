//! Answers to calls that wait.

use axum::http::StatusCode;
use serde_json::Value;
use tool_agent::{AgentEventKind, AgentStream, Answers, End};
use tool_runtime::{
    context::ConfirmationAnswer,
    open_calls::{CallRef, OpenCall},
    policy::confirmation_answer,
};

use crate::{
    refusal::Refusal,
    waiting::{WaitingCall, answered_before},
};

/// The answer of a user to a call.
pub(crate) enum UserAnswer {
    Decision(ConfirmationAnswer),
    Result(String),
}

impl UserAnswer {
    /// Reads `{"confirmed":..}`, with a `payload`, or `{"result":".."}`.
    pub(crate) fn from_json(body: &[u8]) -> Result<Self, Refusal> {
        let unreadable = |error: &serde_json::Error| {
            let message =
                format!("the answer is not `{{\"confirmed\":true}}` or `{{\"result\":\"..\"}}`: {error}");
            Refusal::new(StatusCode::BAD_REQUEST, message)
        };
        let value: Value = serde_json::from_slice(body).map_err(|error| unreadable(&error))?;
        match value.get("result").and_then(Value::as_str) {
            Some(result) => Ok(Self::Result(result.to_owned())),
            None => confirmation_answer(&value).map(Self::Decision).map_err(|error| unreadable(&error)),
        }
    }

    /// Returns the answer to `call`. A decision is bound to the question that the user read.
    pub(crate) fn into_answers(self, call: &WaitingCall) -> Result<Answers, Refusal> {
        let mismatch = |message: &str| Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, message));
        match (self, &call.open) {
            (Self::Decision(decision), OpenCall::Confirmation(_, request)) => {
                Ok(Answers::new().decide(CallRef::from(&**request), decision))
            }
            (Self::Result(_), OpenCall::Confirmation(..)) => {
                mismatch("the call waits for an approval; send `confirmed`")
            }
            (Self::Result(text), _) => Ok(Answers::new().result(&call.record.address, Ok(text.into()))),
            (Self::Decision(_), _) => mismatch("the call waits for its result; send `result`"),
        }
    }
}

/// Polls a run to its end. It is refused if another answer came first.
pub(crate) async fn end_of_answer(mut events: AgentStream) -> Result<End, Refusal> {
    let mut is_ignored = false;
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Notice { text } => is_ignored |= text.ends_with("the further answer is ignored"),
            AgentEventKind::Ended { .. } if is_ignored => return Err(answered_before()),
            AgentEventKind::Ended { end } => return Ok(end),
            _ => {}
        }
    }
    Err(Refusal::internal(&"the run has no end"))
}
