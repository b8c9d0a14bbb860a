//! The permission of a valid call: by the tool, the policies, the rules and a person.

use serde_json::Value;
use tool_core::{
    Arguments, CallAddress, Confirmation, ErrorKind, Permission, ToolError, internals::within_call,
};

use super::{AnswerSource, CallPreparation, NextStep};
use crate::{
    ToolCall,
    executor::{
        questions::{AnswerBinding, answer_of, ask_approver, rejection_error, undecided_check_error},
        redact::redacted_call,
    },
    panics::{catch_result, run_in_call},
    policy::{Approval, ApprovalCause, PermissionRequest, Question},
};

/// The reason of a denial by an unknown [`Permission`].
const UNKNOWN_DECISION: &str = "by an unknown decision";

impl<'a> CallPreparation<'a, '_> {
    /// Evaluates the permission: the tool's, the policies', and a person's approval.
    pub(super) async fn check_permission(&mut self, rules_decision: Permission) -> Result<(), NextStep<'a>> {
        let by_permission = |error| NextStep::answered_early(AnswerSource::Permission, Err(error));
        // A rejection is valid even if the call has changed since.
        if let Some(reason) = self.answers.refusal_reason() {
            return Err(by_permission(rejection_error(&self.call.name, reason)));
        }
        let own = self.own_permission().map_err(by_permission)?;
        let is_tool_asking = matches!(own, Permission::Ask { .. });
        let permission = self.overall_decision(own, rules_decision).await.map_err(by_permission)?;
        if let Some(question) = self.question_before_call(permission).map_err(by_permission)? {
            let address = self.batch.address_of(&self.request);
            // An answer is valid for its own question only.
            let answer = self.answers.answer_to(&question, &self.answer_binding(&address)).cloned();
            match answer {
                Some(answer) => self.cx.approve(answer),
                None => self.request_approval(question, &address).await?,
            }
        }
        if is_tool_asking {
            self.check_policies_after_approval().await.map_err(by_permission)?;
        }
        self.pass_answers_to_body();
        Ok(())
    }

    /// Returns the first decision other than `Allow`: the tool's, the policies', and finally an `ask` of a rule;
    /// denials by rules were applied before.
    async fn overall_decision(
        &mut self,
        own: Permission,
        rules_decision: Permission,
    ) -> Result<Permission, ToolError> {
        let mut permission = own;
        if permission == Permission::Allow {
            permission = self.decide_by_policies().await?;
        }
        Ok(if permission == Permission::Allow { rules_decision } else { permission })
    }

    /// Evaluates the policies for a call that a person approved for the tool's own `ask`, which must not bypass a
    /// denial of the program.
    async fn check_policies_after_approval(&mut self) -> Result<(), ToolError> {
        match self.decide_by_policies().await? {
            // A person has already approved the call.
            Permission::Allow | Permission::Ask { .. } => Ok(()),
            Permission::Deny { reason } => Err(ToolError::new(ErrorKind::Denied, reason)),
            _ => Err(ToolError::new(ErrorKind::Denied, UNKNOWN_DECISION)),
        }
    }

    /// Returns the decision of the policies: a denial of any, otherwise the first other than `Allow`.
    async fn decide_by_policies(&mut self) -> Result<Permission, ToolError> {
        let mut decided = Permission::Allow;
        for policy in &self.executor.settings.policies {
            let (definition, arguments) = (self.entry.definition(), self.prepared.arguments());
            let request = PermissionRequest::new(definition, self.cx, arguments);
            let decides = || policy.dynamic().decide(&request);
            match run_in_call(&self.call.id, "the permission policy", decides)
                .await
                .and_then(|decision| decision)?
            {
                Permission::Allow => {}
                ask @ Permission::Ask { .. } if decided == Permission::Allow => decided = ask,
                Permission::Ask { .. } => {}
                denial => return Ok(denial),
            }
        }
        Ok(decided)
    }

    /// Returns the generic question before the call, if there is one.
    fn question_before_call(&self, permission: Permission) -> Result<Option<Question>, ToolError> {
        let (cause, hint) = match permission {
            Permission::Allow if !self.wants_confirmation()? => return Ok(None),
            Permission::Allow => {
                (ApprovalCause::Confirmation, format!("May the tool {} be called?", self.call.name))
            }
            Permission::Ask { reason } => (ApprovalCause::Permission, reason),
            Permission::Deny { reason } => return Err(ToolError::new(ErrorKind::Denied, reason)),
            _ => return Err(ToolError::new(ErrorKind::Denied, UNKNOWN_DECISION)),
        };
        Ok(Some(Question { cause, hint, payload: Value::Null }))
    }

    /// Passes the answers to questions of the tool's body to its context, if they were given for the call as it is now.
    fn pass_answers_to_body(&mut self) {
        if self.answers.is_empty() {
            return;
        }
        let address = self.batch.address_of(&self.request);
        let (open, definition) = (&self.executor.open, self.entry.definition());
        let arguments = self.prepared.arguments().as_str();
        let binding = AnswerBinding { open, address: &address, definition, arguments };
        self.answers.pass_body_answers_to(self.cx, |request| binding.is_request_about_this_call(request));
    }

    /// Returns the current state of the call, to which answers are bound.
    fn answer_binding<'q>(&'q self, address: &'q CallAddress) -> AnswerBinding<'q> {
        let (open, definition) = (&self.executor.open, self.entry.definition());
        AnswerBinding { open, address, definition, arguments: self.prepared.arguments().as_str() }
    }

    /// Returns the call as it would run, without secrets.
    fn redacted_call(&self) -> ToolCall {
        let arguments = Arguments::from(self.prepared.arguments().as_str().to_owned());
        redacted_call(&ToolCall { arguments, ..self.call.clone() }, self.entry.definition())
    }

    /// Requests an approval, from the approver or later.
    async fn request_approval(
        &mut self,
        question: Question,
        address: &CallAddress,
    ) -> Result<(), NextStep<'a>> {
        let by_permission = |error| NextStep::answered_early(AnswerSource::Permission, Err(error));
        let settings = &self.executor.settings;
        if settings.approver.is_none()
            && question.cause == ApprovalCause::Permission
            && !settings.pending_approvals
        {
            return Err(by_permission(ToolError::new(ErrorKind::ApprovalRequired, question.hint)));
        }
        self.answers.check_question_limit().map_err(by_permission)?;
        let request = self.answer_binding(address).approval_request(self.redacted_call(), question);
        self.batch.report_approval_request(&request, self.entry.definition()).await;
        let Some(approver) = &settings.approver else {
            return Err(NextStep::NeedsApproval(Box::new(request)));
        };
        let (request, decision) =
            ask_approver(approver, &self.call.id, request, self.entry.definition(), self.batch.run()).await;
        let decision = decision.map_err(by_permission)?;
        if let Approval::Rejected(reason) = &decision {
            return Err(by_permission(rejection_error(&self.call.name, reason)));
        }
        let Some(answer) = answer_of(decision) else { return Err(NextStep::NeedsApproval(request)) };
        self.cx.approve(answer.clone());
        self.answers.add(request, answer);
        Ok(())
    }

    /// Returns the decision of the tool's own permission.
    fn own_permission(&self) -> Result<Permission, ToolError> {
        match self.entry.definition().metadata().permission {
            true => self
                .call_tool_function(|| self.prepared.permission(self.cx))?
                .ok_or_else(|| undecided_check_error("permission")),
            false => Ok(Permission::Allow),
        }
    }

    fn wants_confirmation(&self) -> Result<bool, ToolError> {
        match self.entry.definition().metadata().confirmation {
            Confirmation::Never => Ok(false),
            Confirmation::Sometimes => {
                let wants = self.call_tool_function(|| self.prepared.wants_confirmation(self.cx))?;
                wants.ok_or_else(|| undecided_check_error("confirmation"))
            }
            _ => Ok(true),
        }
    }

    /// Calls a function of the tool within the panic barrier.
    fn call_tool_function<T>(&self, question: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
        catch_result(|| within_call(self.call.id.clone(), question))
    }
}
