//! The state of a run.

use super::{
    conversation::RunConversation, hooks::HookChain, limits::RunLimits, output::ExpectedOutput,
    scope::RunScope, tools::RunTools,
};
use crate::{agent::CheckFuture, model::ToolChoice};

/// A run that takes place: each part of its state has an owner.
pub(super) struct ActiveRun {
    pub(super) scope: RunScope,
    pub(super) hooks: HookChain,
    pub(super) conversation: RunConversation,
    pub(super) limits: RunLimits,
    pub(super) tools: RunTools,
    pub(super) output: Option<ExpectedOutput>,
    /// The check of the user's message, until it has decided.
    pub(super) check: Option<CheckFuture>,
    pub(super) tool_choice: ToolChoice,
    /// The text of the last response.
    pub(super) text: String,
}
