//! Questions about one call to a person, and what each answer counts for.
//!
//! An answer is bound to its question: to the cause, the hint and the payload, to the definition of the tool and to
//! the arguments. The answer to one question is none to another one of the same call.

use std::sync::Arc;

use serde_json::Value;
use tool_core::{
    Arguments, CallAddress, CallId, ConfirmationAnswer, ContentHash, ErrorKind, RunContext, ToolContext,
    ToolDefinition, ToolError, ToolOutput,
};

use super::{Inner, shown::shown};
use crate::{
    ApprovalHandle, BoxApprover, ToolCall,
    policy::{Approval, ApprovalRequest, Cause, Question},
    shield::shielded,
};

/// The number of questions that may be asked about one call.
const MOST: usize = 8;

/// The answers to the questions about one call, in the order in which they were given.
#[derive(Debug, Clone, Default)]
pub(super) struct Given {
    answers: Vec<(Box<ApprovalRequest>, ConfirmationAnswer)>,
    /// The number of those that the context of the call was made with.
    handed: usize,
    /// A question that was asked, and is to be answered later.
    pending: Option<Box<ApprovalRequest>>,
}

impl Given {
    /// Whether no question was answered.
    pub(super) fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    pub(super) fn add(&mut self, request: Box<ApprovalRequest>, answer: ConfirmationAnswer) {
        self.answers.push((request, answer));
    }

    /// Takes the last answer away; gives its question.
    pub(super) fn take_last(&mut self) -> Option<Box<ApprovalRequest>> {
        self.answers.pop().map(|(request, _)| request)
    }

    pub(super) fn wait_for(&mut self, request: Box<ApprovalRequest>) {
        self.pending = Some(request);
    }

    pub(super) fn take_pending(&mut self) -> Option<Box<ApprovalRequest>> {
        self.pending.take()
    }

    /// Whether a person has refused the call, other than by an answer that is the body's to read.
    pub(super) fn is_refused(&self) -> bool {
        self.answers.iter().any(|(request, answer)| request.cause != Cause::Tool && !answer.confirmed)
    }

    /// The answer to the question that has `hash`.
    pub(super) fn to(&self, hash: ContentHash) -> Option<&ConfirmationAnswer> {
        self.answers.iter().rev().find(|(request, _)| request.hash == hash).map(|(_, answer)| answer)
    }

    /// Hands the answers to questions of the body to `cx`, where `counts` says that they still count.
    pub(super) fn hand_to(&mut self, cx: &mut ToolContext, counts: impl Fn(&ApprovalRequest) -> bool) {
        let own = self.answers.iter().filter(|(request, _)| request.cause == Cause::Tool && counts(request));
        for (request, answer) in own {
            cx.confirm(&request.hint, &request.payload, answer.clone());
        }
        self.handed = self.answers.len();
    }

    /// Hands the answers to `cx` that came after [`hand_to`](Self::hand_to): while the call runs, only its body asks.
    pub(super) fn hand_new_to(&self, cx: &mut ToolContext) {
        for (request, answer) in self.answers.iter().skip(self.handed) {
            cx.confirm(&request.hint, &request.payload, answer.clone());
        }
    }

    /// Whether another question may be asked.
    ///
    /// # Errors
    ///
    /// If there were too many already.
    pub(super) fn has_room(&self) -> Result<(), ToolError> {
        match self.answers.len() < MOST {
            true => Ok(()),
            false => {
                let message = format!("more than {MOST} questions were asked about the call");
                Err(ToolError::new(ErrorKind::Denied, message))
            }
        }
    }
}

/// The answer that an approver gave; `None` where it is given later.
pub(super) fn answer_of(approval: Approval) -> Option<ConfirmationAnswer> {
    let answer = |confirmed, payload| Some(ConfirmationAnswer { confirmed, payload });
    match approval {
        Approval::Approved => answer(true, Value::Null),
        Approval::ApprovedWith(payload) => answer(true, payload),
        Approval::Rejected(reason) if reason.is_empty() => answer(false, Value::Null),
        Approval::Rejected(reason) => answer(false, Value::String(reason)),
        Approval::Later => None,
    }
}

/// Asks the approver about the call `id`; gives the question back with what was said.
pub(super) async fn asked(
    approver: &BoxApprover,
    id: &CallId,
    request: ApprovalRequest,
    definition: &ToolDefinition,
    run: Option<&Arc<RunContext>>,
) -> (Box<ApprovalRequest>, Result<Approval, ToolError>) {
    let handle = ApprovalHandle::new(request, definition, run);
    let said = shielded(id, "the approver", || approver.dynamic().ask(&handle)).await.flatten();
    (handle.into_request(), said)
}

/// The error by which the body of a tool asks a person; `None` where the outcome is not one. Where the body passed on
/// the question of another tool, which it called, that is a failure like any other.
pub(super) fn question<'o>(
    outcome: &'o Result<ToolOutput, ToolError>,
    definition: &ToolDefinition,
) -> Option<&'o ToolError> {
    let error = outcome.as_ref().err().filter(|error| error.kind() == ErrorKind::ApprovalRequired)?;
    error.tool().is_none_or(|tool| tool == definition.name().as_str()).then_some(error)
}

/// A call whose body asks.
pub(super) struct Asking<'a> {
    pub(super) executor: &'a Arc<Inner>,
    pub(super) call: &'a ToolCall,
    pub(super) address: CallAddress,
    pub(super) definition: &'a ToolDefinition,
    /// In canonical form.
    pub(super) arguments: &'a Arguments<'a>,
}

impl Asking<'_> {
    /// The question that the body asked by `error`.
    pub(super) fn request(self, error: &ToolError) -> Box<ApprovalRequest> {
        let Self { executor, call, address, definition, arguments } = self;
        let (hint, payload) = (error.reason().into_owned(), error.details().cloned().unwrap_or_default());
        let question = Question { cause: Cause::Tool, hint, payload };
        let hash = question.bound_to(executor.salt, definition, arguments.as_str());
        let arguments = Arguments::from(arguments.as_str().to_owned());
        let call = shown(&ToolCall { arguments, ..call.clone() }, definition);
        Box::new(ApprovalRequest::new(call, address, question, hash))
    }
}

/// The refusal of a call whose tool claims a check and does not answer the question.
pub(super) fn unanswered(claim: &str) -> ToolError {
    let message = format!("the tool claims a {claim} check, and does not answer for this call");
    ToolError::new(ErrorKind::Denied, message)
}

/// The refusal of a call by a person.
pub(super) fn rejected(tool: &str, reason: &str) -> ToolError {
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    ToolError::new(ErrorKind::Denied, format!("the \"{tool}\" call is rejected{reason}"))
}
