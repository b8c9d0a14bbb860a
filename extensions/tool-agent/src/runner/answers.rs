//! Answers to open calls.

use tool_runtime::{ToolError, ToolOutput, context::ConfirmationAnswer, open_calls::CallRef};

use crate::Message;

/// Answers to the open calls of a session: results, and decisions on approvals. Passed to
/// [`Runner::resume`](crate::Runner::resume) after the run, or to [`RunHandle::answer`](crate::RunHandle::answer) while
/// it waits.
///
/// A call is named by its id, its address, or the request for its approval; an id is enough if no other open call of the
/// session has it.
///
/// # Examples
///
/// ```
/// use tool_agent::Answers;
///
/// let answers = Answers::new()
///     .result("call_1", Ok("delivered".into()))
///     .approve("call_2")
///     .reject("call_3", "too expensive");
/// assert_eq!(answers.len(), 3);
/// ```
#[derive(Debug, Default)]
#[must_use = "answers have an effect when they are passed to a runner or a handle"]
pub struct Answers(pub(super) Vec<(CallRef, Answer)>);

/// An answer to one call.
#[derive(Debug)]
pub(super) enum Answer {
    Result(Result<ToolOutput, ToolError>),
    Decision(ConfirmationAnswer),
}

/// The input of a run.
pub(super) enum Input {
    Message(Message),
    Answers(Answers),
    /// The continuation of a run that was interrupted.
    Recovery,
    /// The conversation as it is: the turn of one of several agents.
    Turn,
}

impl Answers {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the final result of an external or long-running call. It replaces the interim result of the call.
    pub fn result(self, call: impl Into<CallRef>, result: Result<ToolOutput, ToolError>) -> Self {
        self.with_answer(call.into(), Answer::Result(result))
    }

    /// Approves a call, which then runs.
    pub fn approve(self, call: impl Into<CallRef>) -> Self {
        self.decide(call, ConfirmationAnswer { confirmed: true, payload: serde_json::Value::Null })
    }

    /// Rejects a call, which does not run. The model reads the reason.
    pub fn reject(self, call: impl Into<CallRef>, reason: impl Into<String>) -> Self {
        self.decide(call, ConfirmationAnswer { confirmed: false, payload: reason.into().into() })
    }

    /// Adds the answer to a request for an approval.
    pub fn decide(self, call: impl Into<CallRef>, answer: ConfirmationAnswer) -> Self {
        self.with_answer(call.into(), Answer::Decision(answer))
    }

    /// Returns the number of answers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no answers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn with_answer(mut self, call: CallRef, answer: Answer) -> Self {
        self.0.push((call, answer));
        self
    }
}
