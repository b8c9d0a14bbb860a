//! A call of an agent: its run, the events that the run above shows, and the result.

use std::sync::Arc;

use serde_json::{Map, Value, json, value::RawValue};
use tool_runtime::{
    RunContext, ToolContext, ToolError, ToolOutput, call::CallAddress, context::StateScope, output::Actions,
};

use super::{AgentToolSettings, ChildState, ResponseMode, branch_state::BranchState};
use crate::{
    AgentEvent, AgentEventKind, End, EndReason, Part, Role, RunUsage,
    runner::{ParentRun, boxed, state_changes},
};

/// A call of an agent.
pub(super) struct ChildCall<'c> {
    settings: &'c AgentToolSettings,
    run: RunContext,
    /// The state with which the run starts.
    initial_state: Map<String, Value>,
    parent: Option<Arc<ParentRun>>,
    address: CallAddress,
}

/// The usage of a run, which counts for its parent also if the call is dropped.
struct CountedUsage {
    usage: RunUsage,
    parent: Option<Arc<ParentRun>>,
    /// The run itself, once it has begun.
    child: Option<Arc<ParentRun>>,
}

impl Drop for CountedUsage {
    fn drop(&mut self) {
        if let Some(child) = &self.child {
            self.usage.children = child.usage();
        }
        if let Some(parent) = &self.parent {
            parent.add_child(&self.usage);
        }
    }
}

impl<'c> ChildCall<'c> {
    /// Creates the run of a call.
    ///
    /// # Errors
    ///
    /// Returns an error if there are too many runs above.
    pub(super) fn start(settings: &'c AgentToolSettings, cx: &ToolContext) -> Result<Self, ToolError> {
        let parent = cx.run().and_then(|run| ParentRun::of(run));
        let mut run = cx.child_run(settings.runner.agent().name())?;
        if parent.is_some() {
            // The events of its calls are among those that are passed on.
            run = run.without_above();
        }
        let initial_state =
            initial_state(&settings.state, &BranchState::of(settings.runner.agent(), &run), cx);
        let run = run.with_state(initial_state.clone());
        Ok(Self { settings, run, initial_state, parent, address: cx.address() })
    }

    /// Runs the agent for `message`.
    ///
    /// # Errors
    ///
    /// Returns an error if the run ends without an answer.
    pub(super) async fn run_to_result(self, message: String) -> Result<ToolOutput, ToolError> {
        // Dropped after the stream, whose runs count what they used when they are dropped.
        let mut counted =
            CountedUsage { usage: RunUsage::default(), parent: self.parent.clone(), child: None };
        let mut stream = self.settings.runner.run_with(self.run, message);
        let run = Arc::clone(stream.run());
        let (mut texts, mut end) = (Vec::new(), None);
        while let Some(event) = stream.next().await {
            if counted.child.is_none() {
                counted.child = ParentRun::of(&run);
            }
            match &event.kind {
                AgentEventKind::Message { message } if message.role() == Role::Assistant => {
                    texts.push(message.text());
                }
                AgentEventKind::Usage { total, .. } => counted.usage = *total,
                AgentEventKind::Ended { end: reached } => end = Some(reached.clone()),
                _ => {}
            }
            if let Some(parent) = &self.parent
                && self.settings.shows(&event)
            {
                boxed(|| parent.emit_child(self.address.clone(), event)).await;
            }
        }
        let end = end.unwrap_or_else(End::without_reason);
        counted.usage = end.usage;
        drop(counted);
        let output = self.settings.output(&end, texts)?;
        let own = BranchState::of(self.settings.runner.agent(), &run);
        let actions = Actions {
            skip_summarization: self.settings.skips_summarization,
            state: shared_changes(&self.settings.state, &own, &self.initial_state, &run.state())?,
            ..Actions::default()
        };
        let details =
            json!({ "agent": self.settings.runner.agent().name(), "run": run.id(), "usage": end.usage });
        Ok(output.with_details(details).with_actions(actions))
    }
}

impl AgentToolSettings {
    /// Returns `true` if an event of the run is an event of the run above.
    fn shows(&self, event: &AgentEvent) -> bool {
        match &event.kind {
            AgentEventKind::Text { .. }
            | AgentEventKind::Reasoning { .. }
            | AgentEventKind::Withdrawn { .. } => self.shows_text && self.streams_text,
            AgentEventKind::Message { message } if message.role() == Role::Assistant => {
                let has_calls = message.parts().iter().any(|part| matches!(part, Part::Call(_)));
                self.shows_text && (!self.streams_text || has_calls)
            }
            _ => true,
        }
    }

    /// Returns the result of the run that ended with `end`, and whose responses have `texts`.
    fn output(&self, end: &End, texts: Vec<String>) -> Result<ToolOutput, ToolError> {
        if !end.reason.is_success() {
            return Err(match end.reason {
                EndReason::Cancelled => ToolError::cancelled(),
                _ => ToolError::failed(format!("agent error: {end}")),
            });
        }
        if let Some(output) = &end.output_json {
            let output: &RawValue = serde_json::from_str(output).map_err(|error| {
                ToolError::failed(format!("agent error: the output is not JSON: {error}"))
            })?;
            return ToolOutput::json(output);
        }
        let has_members = !self.runner.agent().members().is_empty();
        let text = match (self.response, end.reason == EndReason::Answered && !has_members) {
            // Tools ended the run: their results are its answer. The answer of several agents is not all of their texts.
            (_, false) => end.text.clone(),
            (ResponseMode::All, true) => texts.concat(),
            (ResponseMode::Last, true) => {
                texts.into_iter().rev().find(|text| !text.is_empty()).unwrap_or_default()
            }
        };
        match self.wraps_result {
            true if text.is_empty() => ToolOutput::json(&json!({})),
            true => ToolOutput::json(&json!({ "result": text })),
            false => Ok(ToolOutput::from(text)),
        }
    }
}

/// Returns the state with which the run of a call starts; `own` is the state of its branch.
fn initial_state(state: &ChildState, own: &BranchState<'_>, cx: &ToolContext) -> Map<String, Value> {
    let above = cx.run().map(|run| run.state_for_child()).unwrap_or_default();
    let is_granted = |name: &String| match state {
        ChildState::None => own.contains(name),
        ChildState::Copy => true,
        ChildState::Shared(names) => names.contains(name) || own.contains(name),
    };
    above.into_iter().filter(|(name, _)| is_granted(name)).collect()
}

/// Returns the changes that the run made to the names that were granted, and to the state of its branch.
///
/// # Errors
///
/// Returns an error if names are granted, and the run changed another one.
fn shared_changes(
    granted: &ChildState,
    own: &BranchState<'_>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Result<Map<String, Value>, ToolError> {
    let mut changes = state_changes(before, after);
    changes.retain(|name, _| StateScope::of(name) != StateScope::Temp);
    let ChildState::Shared(names) = granted else {
        changes.retain(|name, _| own.contains(name));
        return Ok(changes);
    };
    // What an agent further below has in its branch ends with this run.
    changes.retain(|name, _| names.contains(name) || own.contains(name) || !own.is_below(name));
    match changes.keys().find(|name| !names.contains(*name) && !own.contains(name)) {
        None => Ok(changes),
        Some(name) => {
            let message =
                format!("agent error: the agent changed the state `{name}`, which is not shared with it");
            Err(ToolError::failed(message))
        }
    }
}
