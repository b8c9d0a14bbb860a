//! What stands between a call that fits and a tool that runs.
//!
//! Four controls, each with its own purpose: a filter decides what a model *sees*, an external
//! execution what is run *here*, a permission what *may* run, and a [`Hook`](crate::hook::Hook) what else is
//! done about a call. None of them does the work of another.

mod approval;
mod approver;
mod boxed;
mod budget;
mod escape;
mod limits;
mod permission;
mod retry;
mod retry_rule;
mod rules;

pub(crate) use self::escape::is_invisible;
pub(crate) use self::{
    approval::Question,
    approver::Approves,
    boxed::{boxed, decider},
    limits::{Limited, Permits},
    permission::PermitsBy,
    retry::pauses,
};
pub use self::{
    approval::{
        Approval, ApprovalCause, ApprovalRequest, CONFIRMATION_CALL, InvalidConfirmation, confirmation_answer,
    },
    approver::{ApprovalHandle, Approver, BoxApprover},
    budget::{ResultBudget, ResultStore},
    escape::Escape,
    limits::{Limits, LimitsError},
    permission::{BoxPolicy, PermissionPolicy, PermissionRequest},
    retry::RetryPolicy,
    retry_rule::{AttemptHandle, BoxRetryRule, RetryInfo, RetryRule},
    rules::{InvalidRule, Matcher, NumberPattern, PathPattern, Rule, RuleProblem, Rules, UrlPattern},
};
