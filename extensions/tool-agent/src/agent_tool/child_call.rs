//! A call of an agent: its run, the events that the run above shows, and the result.

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json, value::RawValue};
use tool_runtime::{
    RunContext, ToolContext, ToolError, ToolOutput, call::CallAddress, executor::CallGuards, output::Actions,
};

use super::{AgentToolSettings, HistoryScope, ResponseMode, branch_state::BranchState, sub_agent};
use crate::{
    AgentEvent, AgentEventKind, AgentStream, End, EndReason, Message, Part, Role, RunOptions, RunUsage,
    Runner,
    runner::{
        CallStart, ChildPlace, Continuation, OpenChildRun, OpenQuestion, ParentRun, RunAdditions, ShownRun,
        boxed,
    },
};

/// A call of an agent.
pub(super) struct ChildCall<'c> {
    settings: &'c AgentToolSettings,
    run: RunContext,
    place: ChildPlace,
    /// The state of the branch of the run.
    own: BranchState<'c>,
    /// The state with which the run started first.
    initial_state: Map<String, Value>,
    parent: Option<Arc<ParentRun>>,
    address: CallAddress,
    /// The continuation of a run that waited for answers; `None` for a new run.
    continuation: Option<Continuation>,
}

/// The run of a call that takes place.
pub(super) struct RunningChild<'c> {
    settings: &'c AgentToolSettings,
    stream: AgentStream,
    /// Dropped after the stream, whose runs count what they used when they are dropped.
    counted: CountedUsage,
    run: Arc<RunContext>,
    own: BranchState<'c>,
    initial_state: Map<String, Value>,
    parent: Option<Arc<ParentRun>>,
    address: CallAddress,
    history: CallHistory,
    stays_open: bool,
    shown: Arc<OnceLock<ShownRun>>,
    /// The texts of the responses so far.
    texts: Vec<String>,
}

/// The history of a run, which ends with its call, also if the call is dropped, unless the call stays open.
struct CallHistory {
    view: Arc<str>,
    parent: Option<Arc<ParentRun>>,
}

impl CallHistory {
    /// Returns the view key of a history whose call stays open.
    fn keep_for_open_call(mut self) -> Arc<str> {
        self.parent = None;
        Arc::clone(&self.view)
    }
}

impl Drop for CallHistory {
    fn drop(&mut self) {
        if let Some(parent) = &self.parent {
            parent.end_history(&self.view);
        }
    }
}

/// The usage of a run, which counts for its parent also if the call is dropped.
struct CountedUsage {
    usage: RunUsage,
    /// The usage of the run when it was continued, which is counted already.
    before: RunUsage,
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
            parent.count_child_usage(&self.usage.since(&self.before));
        }
    }
}

impl<'c> ChildCall<'c> {
    /// Creates the run of a call.
    ///
    /// # Errors
    ///
    /// Returns an error if there are too many runs above, or if the run of the call has been continued already.
    fn prepare_run(settings: &'c AgentToolSettings, cx: &ToolContext) -> Result<Self, ToolError> {
        let (parent, address) = (cx.run().and_then(|run| ParentRun::of(run)), cx.address());
        let start = parent.as_ref().map_or(CallStart::New, |parent| parent.call_start(&address));
        let continuation = match start {
            CallStart::New => None,
            CallStart::Continued(continuation) => Some(*continuation),
            CallStart::Repeated => {
                return Err(ToolError::failed("agent error: the run has ended; it is not run again"));
            }
        };
        let mut run = cx.child_run(settings.runner.agent().name())?;
        if parent.is_some() {
            // The events of its calls are among those that are passed on.
            run = run.without_above();
        }
        let place = settings.place_of_child_run(&run, parent.as_ref(), &address, continuation.as_ref());
        let own = BranchState::of(settings.runner.agent(), &run, cx.run().map(AsRef::as_ref));
        let (initial_state, state) = match &continuation {
            Some(Continuation { below, .. }) => (below.initial_state.clone(), below.state.clone()),
            None => {
                let state = own.initial_state(&settings.state, cx);
                (state.clone(), state)
            }
        };
        let run = run.with_key(&*place.view).with_state(state);
        Ok(Self { settings, run, place, own, initial_state, parent, address, continuation })
    }

    /// Begins the run of a call for `message`, or continues it. Not a part of a future, and boxed, since runs nest.
    ///
    /// # Errors
    ///
    /// Returns an error if there are too many runs above, or if the run of the call has been continued already.
    pub(super) fn begin_run(
        settings: &'c AgentToolSettings,
        cx: &ToolContext,
        message: impl Into<Message>,
    ) -> Result<Box<RunningChild<'c>>, ToolError> {
        let additions = RunAdditions::below_call(cx.get::<CallGuards>().and_then(CallGuards::plugins));
        Self::begin_run_with_additions(settings, cx, additions, message)
    }

    /// Begins the run as [`begin`](Self::begin) does, with the tools, the instruction and the guards of `additions`.
    ///
    /// # Errors
    ///
    /// As [`begin`](Self::begin).
    pub(super) fn begin_run_with_additions(
        settings: &'c AgentToolSettings,
        cx: &ToolContext,
        additions: Box<RunAdditions>,
        message: impl Into<Message>,
    ) -> Result<Box<RunningChild<'c>>, ToolError> {
        // The run has the token, and ends with an end of each of its calls: it is not dropped at once.
        let _ = cx.cancellation();
        Ok(Self::prepare_run(settings, cx)?.start_run(additions, message.into()))
    }

    fn start_run(self, additions: Box<RunAdditions>, message: Message) -> Box<RunningChild<'c>> {
        let Self { settings, run, place, own, initial_state, parent, address, continuation } = self;
        let (stays_open, shown) = (place.stays_open, Arc::clone(&place.shown));
        let history = CallHistory { view: Arc::clone(&place.view), parent: parent.clone() };
        let mut counted = CountedUsage {
            usage: RunUsage::default(),
            before: RunUsage::default(),
            parent: parent.clone(),
            child: None,
        };
        let run = RunOptions::new(run).with_additions(additions);
        let (stream, texts) = match continuation {
            None => (settings.runner.run_below(run, place, message), Vec::new()),
            Some(Continuation { below, input }) => {
                (counted.usage, counted.before) = (below.usage, below.usage);
                (settings.runner.continue_below(run, place, input), below.texts)
            }
        };
        let run = Arc::clone(stream.run());
        Box::new(RunningChild {
            settings,
            stream,
            counted,
            run,
            own,
            initial_state,
            parent,
            address,
            history,
            stays_open,
            shown,
            texts,
        })
    }
}

impl RunningChild<'_> {
    /// Returns the run, which nothing has polled yet.
    pub(super) fn run(&self) -> &RunContext {
        &self.run
    }

    /// Runs the agent to its end.
    ///
    /// # Errors
    ///
    /// Returns an error if the run ends without an answer.
    pub(super) async fn run_to_result(mut self: Box<Self>) -> Result<ToolOutput, ToolError> {
        let mut end = None;
        while let Some(event) = self.stream.next_boxed().await {
            if let AgentEventKind::Ended { end: reached } = &event.kind {
                end = Some(reached.clone());
            }
            self.note_text_and_usage(&event);
            if let Some(parent) = &self.parent
                && self.settings.shows_event_to_parent(&event)
            {
                boxed(|| parent.emit_child_event(self.address.clone(), event)).await;
            }
        }
        self.finish_or_leave_open(end.unwrap_or_else(End::without_reason))
    }

    /// Notes the texts and the usage of the run.
    fn note_text_and_usage(&mut self, event: &AgentEvent) {
        if self.counted.child.is_none() {
            self.counted.child = ParentRun::of(&self.run);
        }
        match &event.kind {
            AgentEventKind::Message { message } if message.role() == Role::Assistant => {
                self.texts.push(message.text());
            }
            AgentEventKind::Usage { total, .. } => self.counted.usage = *total,
            _ => {}
        }
    }

    /// Returns the result of the run that ended with `end`, or leaves the call open.
    fn finish_or_leave_open(self: Box<Self>, end: End) -> Result<ToolOutput, ToolError> {
        let Self {
            settings,
            mut counted,
            run,
            own,
            initial_state,
            parent,
            address,
            history,
            stays_open,
            shown,
            texts,
            ..
        } = *self;
        counted.usage = end.usage;
        drop(counted);
        let agent = &settings.runner.agent().0.name;
        if let Some(parent) = parent.as_ref().filter(|_| stays_open && end.reason == EndReason::OpenCalls) {
            let view = history.keep_for_open_call();
            let operation = view.to_string();
            parent.note_open_child(OpenChildRun {
                call: address,
                agent: Arc::clone(agent),
                view,
                questions: OpenQuestion::all_of(&end),
                texts,
                initial_state,
                state: run.state().as_ref().clone(),
                usage: end.usage,
            });
            return Ok(ToolOutput::empty()
                .with_child_run_id(run.id().to_string())
                .with_operation_id(operation));
        }
        if settings.history == HistoryScope::ParentBranch
            && let (Some(parent), Some(shown)) = (&parent, shown.get())
        {
            parent.add_notes_of_ended_child(agent, shown);
        }
        let id = run.id().to_string();
        let of_run = |error: ToolError| error.with_child_run_id(id.clone());
        let output = settings.result_of_ended_run(&end, texts).map_err(of_run)?;
        let actions = Actions {
            skip_summarization: settings.skips_summarization,
            state: own.shared_changes(&settings.state, &initial_state, &run.state()).map_err(of_run)?,
            ..Actions::default()
        };
        let (agent, run, usage) = (Arc::clone(agent), run.id().clone(), end.usage);
        let details = move || json!({ "agent": agent, "run": run, "usage": usage });
        Ok(output.with_details_from(details).with_child_run_id(id).with_actions(actions))
    }
}

impl AgentToolSettings {
    /// Returns the place of the run of a call at `address`.
    fn place_of_child_run(
        &self,
        run: &RunContext,
        parent: Option<&Arc<ParentRun>>,
        address: &CallAddress,
        continuation: Option<&Continuation>,
    ) -> ChildPlace {
        let above = parent.and_then(|parent| parent.history()).cloned();
        let stays_open = parent.is_some_and(|parent| parent.may_stay_open(address));
        let key = run.key().unwrap_or_default();
        let view = match (continuation, &self.history, &above) {
            (Some(Continuation { below, .. }), ..) => Arc::clone(&below.view),
            (None, HistoryScope::Persistent(key), _) => shared_history_view(&self.runner, key).into(),
            (None, HistoryScope::ParentBranch, Some(above)) => above.shared_view_below(key).into(),
            (None, HistoryScope::Fresh, Some(above)) => above.single_call_view_below(key).into(),
            (None, HistoryScope::Isolated, Some(above)) => above.own_view_below(key).into(),
            (None, _, None) => key.into(),
        };
        let shares = self.history == HistoryScope::ParentBranch;
        ChildPlace {
            above,
            view,
            is_continued: continuation.is_some(),
            is_kept: matches!(self.history, HistoryScope::Persistent(_)),
            shares,
            shown: Arc::default(),
            note_above: parent.filter(|_| shares).and_then(|parent| parent.note_for_child()),
            stays_open,
            parent: parent.cloned(),
            usage: continuation.map_or_else(RunUsage::default, |continuation| continuation.below.usage),
        }
    }

    /// Returns `true` if an event of the run is an event of the run above.
    fn shows_event_to_parent(&self, event: &AgentEvent) -> bool {
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
    fn result_of_ended_run(&self, end: &End, texts: Vec<String>) -> Result<ToolOutput, ToolError> {
        if self.is_sub_agent
            && let Some(output) = sub_agent::output_at_rounds_limit(end, &texts)
        {
            return Ok(output);
        }
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
        if self.is_sub_agent && text.is_empty() {
            return Ok(ToolOutput::from(sub_agent::NO_TEXT));
        }
        match self.wraps_result {
            true if text.is_empty() => ToolOutput::json(&json!({})),
            true => ToolOutput::json(&json!({ "result": text })),
            false => Ok(ToolOutput::from(text)),
        }
    }
}

/// Returns the view key of a history that calls share.
fn shared_history_view(runner: &Runner, key: &str) -> String {
    match key {
        "" => format!("agenttool:{}:default", runner.agent().name()),
        // A `/` is between the segments of runs that share a history.
        key => key.replace('%', "%25").replace('/', "%2F"),
    }
}
