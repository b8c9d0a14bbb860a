//! What stands between a call that fits and a tool that runs.
//!
//! Four controls, each with its own purpose: a filter decides what a model *sees*, an external
//! execution what is run *here*, a permission what *may* run, and a [`Hook`](crate::Hook) what else is
//! done about a call. None of them does the work of another.

mod approval;
mod budget;
mod limits;
mod permission;
mod repetition;
mod retry;
mod reveal;
mod rules;
mod sanitizer;

pub(crate) use self::{
    approval::Question,
    limits::{Limited, Permits},
    retry::pauses,
};
pub use self::{
    approval::{
        Approval, ApprovalRequest, Approver, CONFIRMATION_CALL, Cause, NotAConfirmation, confirmation_answer,
    },
    budget::{ResultBudget, ResultStore},
    limits::{Limits, LimitsError},
    permission::{PermissionPolicy, PermissionRequest},
    repetition::Repetition,
    retry::{RetryInfo, RetryPolicy, RetryRule},
    reveal::Reveal,
    rules::{InvalidRule, Matcher, NumberPattern, PathPattern, Rule, RuleProblem, Rules, UrlPattern},
    sanitizer::Sanitizer,
};
