//! The state of a run.

use super::{
    conversation::RunConversation, hooks::HookChain, limits::RunLimits, member::MemberView,
    output::ExpectedOutput, scope::RunScope, tools::RunTools,
};
use crate::{
    OutputType,
    agent::CheckFuture,
    model::{SharedModel, ToolChoice},
};

/// A run that takes place: each part of its state has an owner.
pub(super) struct ActiveRun {
    pub(super) scope: RunScope,
    pub(super) hooks: HookChain,
    /// The type of the output, if it is not the agent's.
    pub(super) output_type: Option<OutputType>,
    pub(super) conversation: RunConversation,
    pub(super) limits: RunLimits,
    pub(super) tools: RunTools,
    pub(super) output: Option<ExpectedOutput>,
    /// The check of the user's message, until it has decided.
    pub(super) check: Option<CheckFuture>,
    pub(super) tool_choice: ToolChoice,
    pub(super) model: SharedModel,
    /// The messages of other agents as the model receives them.
    pub(super) view: MemberView,
    /// The text of the last response.
    pub(super) text: String,
}

impl ActiveRun {
    /// Creates a run of the agent of `scope`, which has `model`. Boxed, since runs nest.
    pub(super) fn new(scope: RunScope, model: SharedModel, mut conversation: RunConversation) -> Box<Self> {
        conversation.answered = scope.parent.answered_histories().clone();
        Box::new(Self {
            hooks: HookChain::new(&scope.hooks, &scope.agent),
            output_type: None,
            conversation,
            limits: RunLimits::default(),
            tools: RunTools::default(),
            output: None,
            check: None,
            tool_choice: scope.agent.0.tool_choice.clone(),
            model,
            view: MemberView::default(),
            text: String::new(),
            scope,
        })
    }
}
