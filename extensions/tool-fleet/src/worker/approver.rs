//! Approvals of the caller, and its answers to questions of a body.

use std::{sync::Arc, time::Duration};

use tool_runtime::{
    ToolError,
    context::ConfirmationAnswer,
    policy::{Approval, ApprovalCause, ApprovalHandle, ApprovalRequest, Approver},
};

use super::{call::Reporter, state::RunningCall};
use crate::message::Report;

/// Decides as the caller's executor did, and passes on the questions of a body.
pub(super) struct CallerApprover {
    pub(super) reporter: Arc<Reporter>,
    pub(super) running: Arc<RunningCall>,
    pub(super) heartbeat: Duration,
    /// The approval that the caller's executor was given for exactly this call.
    pub(super) approval: Option<ConfirmationAnswer>,
}

impl CallerApprover {
    /// Waits for the answer that the caller has. One that has none ends the call with the question, and calls again with the answer. Asks
    /// each heartbeat, since messages may be lost, for as long as the caller is there: it may read slowly.
    async fn ask_caller(&self, request: &ApprovalRequest) -> Result<Approval, ToolError> {
        let (hint, payload) = (&request.hint, &request.payload);
        let mut answers = self.running.answers().subscribe();
        loop {
            let question = Report::Question { hint: hint.clone(), payload: payload.clone() };
            self.reporter.send_report(question).await?;
            let is_answered =
                answers.wait_for(|all| all.iter().any(|it| it.hint == *hint && it.payload == *payload));
            let answered = tokio::select! {
                answered = tokio::time::timeout(self.heartbeat, is_answered) => answered,
                () = self.running.token.cancelled() => return Ok(Approval::Pending),
                () = self.running.caller_left().cancelled() => return Ok(Approval::Pending),
            };
            if let Ok(Ok(all)) = answered {
                let answer = all.iter().rev().find(|it| it.hint == *hint && it.payload == *payload);
                return Ok(answer.map_or(Approval::Pending, |it| approval_of(it.answer.clone())));
            }
        }
    }
}

impl Approver for CallerApprover {
    async fn ask(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
        if request.cause == ApprovalCause::Tool {
            return self.ask_caller(request).await;
        }
        Ok(match &self.approval {
            Some(answer) if answer.confirmed => Approval::ApprovedWith(answer.payload.clone()),
            _ => Approval::Rejected("the caller was not given an approval for this call".to_owned()),
        })
    }
}

/// Returns the approval by which a body reads `answer`.
pub(super) fn approval_of(answer: ConfirmationAnswer) -> Approval {
    let ConfirmationAnswer { confirmed, payload } = answer;
    match (confirmed, payload) {
        (true, payload) => Approval::ApprovedWith(payload),
        (false, payload) => Approval::Rejected(payload.as_str().unwrap_or_default().to_owned()),
    }
}
