//! Policies, which control calls between validation and execution.
//!
//! | purpose | types |
//! | --- | --- |
//! | permit calls by code | [`PermissionPolicy`], [`PermissionRequest`], [`SharedPermissionPolicy`] |
//! | permit calls by configuration | [`Rules`], [`Rule`]; [`Matcher`], [`PathPattern`], [`UrlPattern`] and [`NumberPattern`] compare arguments; [`RuleDiagnostic`], [`InvalidRule`] |
//! | ask a person | [`Approver`], [`ApprovalRequest`], [`Approval`], [`SharedApprover`]; [`confirmation_answer`] parses the answer of a front end |
//! | retry failed attempts | [`RetryPolicy`]; [`RetryRule`], [`RetryInfo`] and [`SharedRetryRule`] decide which ones |
//! | limit concurrency | [`Limits`] |
//! | limit the size of results | [`ResultBudget`]; [`ResultStore`] keeps the omitted parts |
//! | show external text to a person | [`Escape`] |
//!
//! [`ExecutorBuilder`](crate::executor::ExecutorBuilder) sets them for all calls of an executor, and
//! [`RunSettings`](crate::executor::RunSettings) some of them for one run. `ApprovalHandle` and `AttemptHandle` are the
//! owned handles that asynchronous closures receive.
//!
//! Each control has one purpose: a [visibility filter](crate::toolbox) decides which tools a model *sees*, [external
//! execution](crate::executor::ExecutorBuilder::external) which calls run *elsewhere*, a permission which calls *may*
//! run, and a [`Hook`](crate::hook::Hook) observes and changes calls.

mod approval;
#[cfg(feature = "executor")]
mod approver;
mod escape;
#[cfg(feature = "executor")]
mod limits;
#[cfg(feature = "executor")]
mod permission;
#[cfg(feature = "executor")]
mod result_budget;
#[cfg(feature = "executor")]
mod retry;
#[cfg(feature = "executor")]
mod retry_rule;
#[cfg(feature = "executor")]
mod rules;
#[cfg(feature = "executor")]
mod shared;

#[cfg(feature = "executor")]
pub(crate) use self::{
    approval::Question,
    approver::Approves,
    escape::is_invisible,
    limits::{EnforcedLimits, Permits},
    permission::PermitsBy,
    retry::{pause_after, repeats_safely, retry_pauses},
    shared::{decider, shared_handle},
};
pub use self::{
    approval::{
        Approval, ApprovalCause, ApprovalRequest, CONFIRMATION_CALL, InvalidConfirmation, confirmation_answer,
    },
    escape::Escape,
};
#[cfg(feature = "executor")]
pub use self::{
    approver::{ApprovalHandle, Approver, SharedApprover},
    limits::{Limits, LimitsError},
    permission::{PermissionPolicy, PermissionRequest, SharedPermissionPolicy},
    result_budget::{ResultBudget, ResultStore},
    retry::RetryPolicy,
    retry_rule::{AttemptHandle, RetryInfo, RetryRule, SharedRetryRule},
    rules::{InvalidRule, Matcher, NumberPattern, PathPattern, Rule, RuleDiagnostic, Rules, UrlPattern},
};
