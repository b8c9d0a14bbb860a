//! The active agent of a run: it belongs to the run, and changes between rounds.

use std::{
    collections::HashSet,
    ops::ControlFlow,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use serde_json::{Value, json};
use tool_runtime::{
    CallOutcome, Executor, Registry, ToolCall,
    executor::Batch,
    toolbox::{Origin, RunDiagnostic},
};

use super::{
    active_run::ActiveRun,
    control::{Control, UsageMark, transfer_limit_message},
    flow::{Flow, end_at_limit},
    hooks::HookChain,
    output::ExpectedOutput,
    scope::RunScope,
};
use crate::{
    Agent, Limit,
    agent::{AWAIT_TOOL, AgentTree, AwaitReplyTool, ListingError, Price, TRANSFER_TOOL, TransferTool},
};

/// The time for which an agent is the active one of a run.
#[derive(Default)]
pub(super) struct ControlPeriod {
    /// The agents to which its model may transfer.
    targets: Vec<Agent>,
    /// The usage of the run when it took over.
    pub(super) start: UsageMark,
    /// The end of its own time; the root's is the deadline of the run.
    pub(super) deadline: Option<Instant>,
    /// The tools of the program, and the executor that has the tools of this crate, too.
    executor: Mutex<Option<(Registry, Executor)>>,
}

impl RunScope {
    /// Returns `true` while the root is the active agent.
    pub(super) fn is_root_active(&self) -> bool {
        self.agent.name() == self.root.name()
    }

    /// Makes the agent active that has control.
    pub(super) fn activate_controlling_agent(&mut self, control: &Control) {
        self.agent = control.active_agent(&self.root);
        let own_time = self.agent.0.limits.time.filter(|_| !self.is_root_active());
        self.period = ControlPeriod {
            targets: AgentTree(&self.root).transfer_targets(self.agent.name()),
            start: control.start,
            deadline: own_time.and_then(|time| Instant::now().checked_add(time)),
            executor: Mutex::default(),
        };
        if let Some(writer) = self.writer.get() {
            writer.set_agent(Some(&self.agent.0.name).filter(|_| !self.is_root_active()).cloned());
        }
    }

    /// Returns the deadline of the run, or the earlier one of the active agent.
    pub(super) fn deadline(&self) -> Option<Instant> {
        [self.run.deadline(), self.period.deadline].into_iter().flatten().min()
    }

    /// Returns the price of a model: the active agent's, or the root's.
    pub(super) fn price(&self, model: &str) -> Option<Price> {
        self.agent.0.prices.get(model).or_else(|| self.root.0.prices.get(model)).copied()
    }

    /// Lists the tools of the active agent, with those of this crate that it receives.
    pub(super) async fn list_tools(&self) -> Result<(Executor, Vec<RunDiagnostic>), ListingError> {
        let (executor, diagnostics) = self.list_tools_of(&self.agent).await?;
        let has_session = !self.ends_with_call && self.place.is_none() && !self.works_beside_others();
        let awaits_reply = self.agent.0.awaits_user_reply && has_session;
        match awaits_reply || !self.period.targets.is_empty() {
            true => Ok((self.with_control_tools(executor, awaits_reply)?, diagnostics)),
            false => Ok((executor, diagnostics)),
        }
    }

    fn with_control_tools(&self, executor: Executor, awaits_reply: bool) -> Result<Executor, ListingError> {
        let lock = || self.period.executor.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((tools, derived)) = &*lock()
            && tools.is_same(executor.tools())
        {
            return Ok(derived.clone());
        }
        let mut tools = executor.tools().clone();
        if !self.period.targets.is_empty() {
            let tool = TransferTool::new(&self.period.targets).map_err(ListingError::Control)?;
            tools = tools.with_framework_tool(tool).map_err(ListingError::Tools)?;
        }
        if awaits_reply {
            let tool = AwaitReplyTool::new().map_err(ListingError::Control)?;
            tools = tools.with_framework_tool(tool).map_err(ListingError::Tools)?;
        }
        let derived = executor.with_tools(tools).map_err(ListingError::Executor)?;
        *lock() = Some((executor.tools().clone(), derived.clone()));
        Ok(derived)
    }

    /// Returns the names of tools of the program whose place those of this crate take.
    pub(super) fn replaced_tool_names(&self) -> Vec<&'static str> {
        let executor = self.period.executor.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((tools, derived)) = &*executor else { return Vec::new() };
        let is_replaced = |name: &&str| {
            tools.get(name).is_some() && derived.tools().origin(name) == Some(&Origin::Framework)
        };
        [TRANSFER_TOOL, AWAIT_TOOL].into_iter().filter(is_replaced).collect()
    }

    /// Returns the calls that are executed: a call of an agent that is no tool is a transfer to it.
    fn calls_with_transfers(&self, tools: &Registry, calls: &[ToolCall]) -> Vec<ToolCall> {
        let names: HashSet<_> = self.period.targets.iter().map(Agent::name).collect();
        let is_transfer = |call: &ToolCall| {
            names.contains(call.name.as_str())
                && tools.get(&call.name).is_none()
                && tools.get(TRANSFER_TOOL).is_some()
        };
        let executed = |call: &ToolCall| match is_transfer(call) {
            true => transfer_call(call),
            false => call.clone(),
        };
        calls.iter().map(executed).collect()
    }

    /// Returns the batch of calls of a response, whose results then receive [their names](restore_call_names).
    pub(super) fn batch(&self, executor: &Executor, calls: &[ToolCall]) -> Batch {
        executor.batch(self.calls_with_transfers(executor.tools(), calls))
    }

    /// Ends the run before calls of which one asks for more transfers than the run may make.
    pub(super) fn check_transfer_limit(
        &self,
        control: &Control,
        tools: &Registry,
        calls: &[ToolCall],
    ) -> Flow {
        let max = self.root.0.limits.transfers.filter(|max| control.transfers >= *max);
        let has_transfer = || {
            let executed = self.calls_with_transfers(tools, calls);
            !self.period.targets.is_empty() && executed.iter().any(|call| call.name == TRANSFER_TOOL)
        };
        match max.filter(|_| has_transfer()) {
            Some(max) => end_at_limit(Limit::Transfers, transfer_limit_message(max)),
            None => ControlFlow::Continue(()),
        }
    }
}

/// Returns the transfer that a call of an agent stands for.
fn transfer_call(call: &ToolCall) -> ToolCall {
    let arguments = serde_json::from_str::<Value>(call.arguments.as_str()).unwrap_or_default();
    let message = ["message", "request"].iter().find_map(|name| arguments.get(name)?.as_str());
    let arguments = match message {
        Some(message) => json!({ "agent_name": &*call.name, "message": message }),
        None => json!({ "agent_name": &*call.name }),
    };
    let mut transfer = call.clone();
    (transfer.name, transfer.arguments) = (TRANSFER_TOOL.into(), arguments.into());
    transfer
}

/// Gives the results of transfers the names that their calls have in the conversation.
pub(super) fn restore_call_names(calls: &[ToolCall], outcomes: &mut [CallOutcome]) {
    for (call, outcome) in calls.iter().zip(outcomes) {
        if let CallOutcome::Finished(result) = outcome
            && *result.name == *TRANSFER_TOOL
            && call.name != TRANSFER_TOOL
        {
            result.name = call.name.as_str().into();
        }
    }
}

impl ActiveRun {
    /// Goes on with the agent that has control; returns `true` if it is another one.
    pub(super) fn switch_to_controlling_agent(&mut self) -> bool {
        let control = &self.conversation.control;
        if control.active_agent(&self.scope.root).name() == self.scope.agent.name() {
            self.scope.period.start = control.start;
            return false;
        }
        self.scope.activate_controlling_agent(control);
        let agent = &self.scope.agent;
        self.hooks = HookChain::new(&self.scope.hooks, agent);
        if let Some(model) = agent.model() {
            self.model = model.clone();
        }
        self.tool_choice = agent.0.tool_choice.clone();
        self.conversation.counted = None;
        self.limits.retries.reset();
        true
    }

    /// Prepares the run for the output of the runner, or of the active agent.
    pub(super) fn set_expected_output(&mut self) -> Flow {
        let output = self.output_type.as_ref().or(self.scope.agent.output_type()).cloned();
        self.output = ExpectedOutput::of(output)?;
        if let Some((output, attempts)) = self.output.as_mut().zip(self.conversation.take_output_attempts()) {
            output.continue_attempts(attempts);
        }
        ControlFlow::Continue(())
    }
}
