//! Questions about one call to a person, and the answers to them.
//!
//! An answer is bound to its question: to the cause, the hint and the payload, the definition of the tool, and the
//! arguments. The answer to one question is not valid for another question about the same call.

use std::{sync::Arc, time::SystemTime};

use serde_json::Value;
use tool_core::{
    Arguments, CallAddress, CallId, ConfirmationAnswer, ContentHash, ErrorKind, RunContext, ToolContext,
    ToolDefinition, ToolError, ToolOutput,
};

use super::{ExecutorParts, open::OpenCalls, redact::redacted_call};
use crate::{
    ToolCall, millis,
    open_calls::{AuthenticatedText, with_address_fields},
    panics::run_in_call,
    policy::{Approval, ApprovalCause, ApprovalHandle, ApprovalRequest, Question, SharedApprover},
};

/// The maximum number of questions about one call.
const MAX_QUESTIONS: usize = 8;

/// The answers to the questions about one call, in the order in which they were given.
#[derive(Debug, Clone, Default)]
pub(super) struct QuestionAnswers {
    answers: Vec<(Box<ApprovalRequest>, ConfirmationAnswer)>,
    /// The number of answers that the context of the call was created with.
    passed: usize,
    /// A question that was asked, and will be answered later.
    pending: Option<Box<ApprovalRequest>>,
}

impl QuestionAnswers {
    /// Creates the list from earlier answers.
    pub(super) fn new(answers: Vec<(Box<ApprovalRequest>, ConfirmationAnswer)>) -> Self {
        Self { answers, ..Self::default() }
    }

    /// Returns `true` if no question was answered.
    pub(super) fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    pub(super) fn add(&mut self, request: Box<ApprovalRequest>, answer: ConfirmationAnswer) {
        self.answers.push((request, answer));
    }

    /// Returns the questions and answers, for a call that is opened again.
    pub(super) fn into_answers(self) -> Vec<(Box<ApprovalRequest>, ConfirmationAnswer)> {
        self.answers
    }

    pub(super) fn set_pending(&mut self, request: Box<ApprovalRequest>) {
        self.pending = Some(request);
    }

    pub(super) fn take_pending(&mut self) -> Option<Box<ApprovalRequest>> {
        self.pending.take()
    }

    /// Returns the reason for which a person refused the call by an answer that is not for the body: the payload of the answer if it is a
    /// text, and otherwise an empty reason.
    pub(super) fn refusal_reason(&self) -> Option<&str> {
        let is_refusal = |(request, answer): &&(Box<ApprovalRequest>, ConfirmationAnswer)| {
            request.cause != ApprovalCause::Tool && !answer.confirmed
        };
        self.answers.iter().find(is_refusal).map(|(_, answer)| answer.payload.as_str().unwrap_or_default())
    }

    /// Returns the answer to `question` if it was given for the call as it is now.
    pub(super) fn answer_to(
        &self,
        question: &Question,
        binding: &AnswerBinding<'_>,
    ) -> Option<&ConfirmationAnswer> {
        let is_it = |request: &ApprovalRequest| {
            (request.cause, &request.hint, &request.payload)
                == (question.cause, &question.hint, &question.payload)
                && binding.is_request_about_this_call(request)
        };
        self.answers.iter().rev().find(|(request, _)| is_it(request)).map(|(_, answer)| answer)
    }

    /// Passes the answers to questions of the body to `cx` if `counts` returns `true` for their requests.
    pub(super) fn pass_body_answers_to(
        &mut self,
        cx: &mut ToolContext,
        counts: impl Fn(&ApprovalRequest) -> bool,
    ) {
        let own = self
            .answers
            .iter()
            .filter(|(request, _)| request.cause == ApprovalCause::Tool && counts(request));
        for (request, answer) in own {
            cx.confirm(&request.hint, &request.payload, answer.clone());
        }
        self.passed = self.answers.len();
    }

    /// Passes the answers since [`pass_body_answers_to`](Self::pass_body_answers_to) to `cx`: while the call runs, only its body asks questions.
    pub(super) fn pass_new_answers_to(&self, cx: &mut ToolContext) {
        for (request, answer) in self.answers.iter().skip(self.passed) {
            cx.confirm(&request.hint, &request.payload, answer.clone());
        }
    }

    /// Checks that another question may be asked.
    ///
    /// # Errors
    ///
    /// Returns an error if the maximum is reached.
    pub(super) fn check_question_limit(&self) -> Result<(), ToolError> {
        match self.answers.len() < MAX_QUESTIONS {
            true => Ok(()),
            false => {
                let message = format!("more than {MAX_QUESTIONS} questions were asked about the call");
                Err(ToolError::new(ErrorKind::Denied, message))
            }
        }
    }
}

/// Returns the answer of an approver; `None` if it will be given later.
pub(super) fn answer_of(approval: Approval) -> Option<ConfirmationAnswer> {
    let answer = |confirmed, payload| Some(ConfirmationAnswer { confirmed, payload });
    match approval {
        Approval::Approved => answer(true, Value::Null),
        Approval::ApprovedWith(payload) => answer(true, payload),
        Approval::Rejected(reason) if reason.is_empty() => answer(false, Value::Null),
        Approval::Rejected(reason) => answer(false, Value::String(reason)),
        Approval::Pending => None,
    }
}

/// Asks the approver about the call `id`; returns the request with the answer.
pub(super) async fn ask_approver(
    approver: &SharedApprover,
    id: &CallId,
    request: ApprovalRequest,
    definition: &ToolDefinition,
    run: Option<&Arc<RunContext>>,
) -> (Box<ApprovalRequest>, Result<Approval, ToolError>) {
    let handle = ApprovalHandle::new(request, definition, run);
    let decision = run_in_call(id, "the approver", || approver.dynamic().ask(&handle))
        .await
        .and_then(|decision| decision);
    (handle.into_request(), decision)
}

/// Returns the error by which a tool's body asks a question; `None` if the outcome is not one. A question of another
/// tool, which the body called and passed on, is an ordinary failure.
pub(super) fn question_of<'o>(
    outcome: &'o Result<ToolOutput, ToolError>,
    definition: &ToolDefinition,
) -> Option<&'o ToolError> {
    let error = outcome.as_ref().err().filter(|error| error.kind() == ErrorKind::ApprovalRequired)?;
    error.tool().is_none_or(|tool| tool == definition.name().as_str()).then_some(error)
}

/// A call whose body asks a question.
pub(super) struct AskingCall<'a> {
    pub(super) executor: &'a Arc<ExecutorParts>,
    pub(super) call: &'a ToolCall,
    pub(super) address: CallAddress,
    pub(super) definition: &'a ToolDefinition,
    /// The arguments in canonical form.
    pub(super) arguments: &'a Arguments<'a>,
}

impl AskingCall<'_> {
    /// Returns the request for the question that the body asked by `error`.
    pub(super) fn approval_request(self, error: &ToolError) -> Box<ApprovalRequest> {
        let Self { executor, call, address, definition, arguments } = self;
        let (hint, payload) = (error.reason().into_owned(), error.details().cloned().unwrap_or_default());
        let question = Question { cause: ApprovalCause::Tool, hint, payload };
        let arguments = Arguments::from(arguments.as_str().to_owned());
        let call = redacted_call(&ToolCall { arguments: arguments.clone(), ..call.clone() }, definition);
        let binding = AnswerBinding {
            open: &executor.open,
            address: &address,
            definition,
            arguments: arguments.as_str(),
        };
        Box::new(binding.approval_request(call, question))
    }
}

/// The current state of a call, to which answers are bound.
pub(super) struct AnswerBinding<'a> {
    pub(super) open: &'a OpenCalls,
    pub(super) address: &'a CallAddress,
    pub(super) definition: &'a ToolDefinition,
    /// The arguments in canonical form.
    pub(super) arguments: &'a str,
}

impl AnswerBinding<'_> {
    /// Creates the request for a person about the call, which is shown as `call`.
    pub(super) fn approval_request(&self, call: ToolCall, question: Question) -> ApprovalRequest {
        let expires_at = self.open.expires_at();
        let message = self.signed_message((question.cause, &question.hint, &question.payload), expires_at);
        let hash = self.open.key().sign(&message);
        ApprovalRequest::new(call, self.address.clone(), question, expires_at, hash)
    }

    /// Returns `true` if this program made `request` about the call as it is now.
    pub(super) fn is_request_about_this_call(&self, request: &ApprovalRequest) -> bool {
        let question = (request.cause, &*request.hint, &request.payload);
        self.open.key().authenticates(request.hash, &self.signed_message(question, request.expires_at))
    }

    /// Returns everything that an answer is bound to.
    fn signed_message(
        &self,
        (cause, hint, payload): (ApprovalCause, &str, &Value),
        expires_at: Option<SystemTime>,
    ) -> AuthenticatedText {
        let Self { open: _, address, definition, arguments } = self;
        // Hashed as JSON, so that the order of properties and whitespace are insignificant, and all digits are
        // significant.
        let arguments = ContentHash::of_json(arguments).unwrap_or_else(|| ContentHash::of(arguments));
        let expires_at = expires_at.map(|end| millis::epoch_millis(end).to_le_bytes());
        with_address_fields(AuthenticatedText::new("tool-runtime approval 1"), address)
            .with_field(cause.name().as_bytes())
            .with_field(hint.as_bytes())
            .with_hash(ContentHash::of(payload))
            .with_field(definition.name().as_str().as_bytes())
            .with_hash(definition.content_hash())
            .with_hash(arguments)
            .with_optional_field(expires_at.as_ref().map(<[u8; 8]>::as_slice))
    }
}

/// Returns the denial of a call whose tool declares a check but does not answer it.
pub(super) fn undecided_check_error(claim: &str) -> ToolError {
    let message = format!("the tool claims a {claim} check, but does not decide on this call");
    ToolError::new(ErrorKind::Denied, message)
}

/// Returns the denial of a call by a person.
pub(super) fn rejection_error(tool: &str, reason: &str) -> ToolError {
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    ToolError::new(ErrorKind::Denied, format!("the \"{tool}\" call is rejected{reason}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::time::Duration;

    use serde_json::json;
    use tool_core::{InputSchema, ToolName};

    use super::*;

    fn definition(name: &'static str, description: &'static str) -> ToolDefinition {
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        ToolDefinition::new(ToolName::new(name).unwrap(), description, schema)
    }

    fn address(run: Option<&str>, id: &str, serial: u64) -> CallAddress {
        CallAddress { run: run.map(Into::into), call_id: id.into(), serial }
    }

    // I17: an approval is not valid for a tool that replaced the approved one, or for another question.
    #[test]
    fn an_answer_is_bound_to_every_part_of_its_question() {
        let open = OpenCalls::new(Default::default());
        let pays = definition("pay", "Pays.");
        let bind =
            |definition, address, arguments| AnswerBinding { open: &open, address, definition, arguments };
        let new_question = |cause, hint: &str, payload| Question { cause, hint: hint.to_owned(), payload };
        let here = address(Some("r"), "c", 1);
        let first = bind(&pays, &here, r#"{"a":1,"b":2.0}"#);
        let question = || new_question(ApprovalCause::Tool, "Pay?", json!(7));
        let request = first.approval_request(ToolCall::new("pay", "{}"), question());
        assert!(first.is_request_about_this_call(&request));
        // I16: an approval is bound to the meaning of the arguments.
        assert!(bind(&pays, &here, r#"{ "b" : 2, "a" : 1 }"#).is_request_about_this_call(&request));

        let elsewhere = [address(None, "c", 1), address(Some("r"), "d", 1), address(Some("r"), "c", 2)];
        let twice = definition("pay", "Pays twice.");
        let named = definition("play", "Pays.");
        for other in [
            bind(&twice, &here, first.arguments),
            bind(&named, &here, first.arguments),
            bind(&pays, &here, r#"{"a":1,"b":3}"#),
            // An `f64` cannot represent this number.
            bind(&pays, &here, r#"{"a":1.00000000000000000000000000001,"b":2}"#),
            bind(&pays, &elsewhere[0], first.arguments),
            bind(&pays, &elsewhere[1], first.arguments),
            bind(&pays, &elsewhere[2], first.arguments),
        ] {
            assert!(!other.is_request_about_this_call(&request));
        }
        let altered: [fn(&mut ApprovalRequest); 6] = [
            |it| it.cause = ApprovalCause::Confirmation,
            |it| it.hint.push('!'),
            |it| it.payload = json!(8),
            |it| it.payload = Value::Null,
            |it| it.expires_at = None,
            |it| it.expires_at = it.expires_at.map(|end| end + Duration::from_secs(1)),
        ];
        for alter in altered {
            let mut altered = request.clone();
            alter(&mut altered);
            assert!(!first.is_request_about_this_call(&altered), "{altered:?}");
        }

        let answers = QuestionAnswers::new(vec![(Box::new(request), ConfirmationAnswer::default())]);
        assert!(answers.answer_to(&question(), &first).is_some());
        for other in [
            new_question(ApprovalCause::Permission, "Pay?", json!(7)),
            new_question(ApprovalCause::Tool, "Pay more?", json!(7)),
            new_question(ApprovalCause::Tool, "Pay?", Value::Null),
        ] {
            assert!(answers.answer_to(&other, &first).is_none());
        }
        // Another process, without the key of the program.
        let elsewhere = OpenCalls::new(Default::default());
        assert!(answers.answer_to(&question(), &AnswerBinding { open: &elsewhere, ..first }).is_none());
    }
}
