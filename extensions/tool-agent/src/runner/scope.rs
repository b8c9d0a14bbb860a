//! The parts of a run that do not change, but for its active agent, which each of its owners of state uses.

use std::{
    sync::{Arc, OnceLock},
    time::{Instant, SystemTime},
};

use tool_runtime::{Executor, RunContext, toolbox::RunDiagnostic};

use super::{
    AgentEvent, AgentEventKind, RunUsage, active_agent::ControlPeriod, child_history::ChildPlace,
    flow::Interruption, handle::Inbox, member::Member, parent_run::ParentRun, run_options::RunAdditions,
    session_writer::SessionWriter,
};
use crate::{Agent, agent::ListingError, event_stream::Emitter, hook::SharedAgentHook, skills::AgentSkills};

/// The agent of a run, its context, the messages that it receives, and the events that it emits.
pub(super) struct RunScope {
    /// The agent of the runner.
    pub(super) root: Agent,
    /// The active agent: the root, or one below it.
    pub(super) agent: Agent,
    pub(super) period: ControlPeriod,
    pub(super) run: Arc<RunContext>,
    /// The tools and settings of the run beside those of the agent.
    pub(super) additions: Box<RunAdditions>,
    /// The hooks of the runners, from the root run down, without those of agents.
    pub(super) hooks: Vec<SharedAgentHook>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) emitter: Emitter<AgentEvent>,
    /// The run as the runs below its calls see it.
    pub(super) parent: Arc<ParentRun>,
    /// `true` if the run ends with its call: no one answers its open calls.
    pub(super) ends_with_call: bool,
    /// The place of a run below a call; `None` for a root run.
    pub(super) place: Option<ChildPlace>,
    /// Writes to the store of the session, once the run has its lease.
    pub(super) writer: OnceLock<Arc<SessionWriter>>,
    /// The part of the agent, if it is one of several.
    pub(super) member: Option<Member>,
}

impl RunScope {
    /// Returns the place of a run below a call that is not one of several agents.
    pub(super) fn place_of_single_agent(&self) -> Option<&ChildPlace> {
        self.place.as_ref().filter(|_| self.member.is_none())
    }

    pub(super) async fn emit(&self, kind: AgentEventKind) {
        let (run, agent) = (self.run.id().clone(), Arc::clone(&self.agent.0.name));
        self.emitter.emit(AgentEvent { time: SystemTime::now(), run, agent, kind }).await;
    }

    /// Returns the usage of the run, a part of which is `own`, the usage of the agent.
    pub(super) fn total_usage(&self, own: RunUsage) -> RunUsage {
        self.member.as_ref().map_or(own, |member| member.total_usage(own))
    }

    /// Returns `true` if the agent works beside others, which share the inbox of the run.
    pub(super) fn works_beside_others(&self) -> bool {
        self.member.as_ref().is_some_and(|member| member.origin.view.is_some())
    }

    /// Returns `true` if a call may end a loop around the agent.
    pub(super) fn is_in_loop(&self) -> bool {
        self.member.as_ref().is_some_and(|member| member.is_in_loop)
    }

    pub(super) async fn emit_notice(&self, text: impl Into<String>) {
        self.emit(AgentEventKind::Notice { text: text.into() }).await;
    }

    pub(super) async fn emit_withdrawn(&self, reason: impl Into<String>) {
        self.emit(AgentEventKind::Withdrawn { reason: reason.into() }).await;
    }

    /// Returns the executor with the tools of `agent` and those of the run, and diagnostics about them.
    pub(super) async fn list_tools_of(
        &self,
        agent: &Agent,
    ) -> Result<(Executor, Vec<RunDiagnostic>), ListingError> {
        self.list_tools_in(agent, &self.run).await
    }

    /// Returns the tools as [`list_tools_of`](Self::list_tools_of) does, for `run`, which is this run or one of a member.
    pub(super) async fn list_tools_in(
        &self,
        agent: &Agent,
        run: &RunContext,
    ) -> Result<(Executor, Vec<RunDiagnostic>), ListingError> {
        let (tools, additions) = (&agent.0.tools, &self.additions);
        let replaced = additions.replaced_tools.as_ref().filter(|_| self.may_replace_tools_of(agent));
        let (executor, mut diagnostics) = match (replaced, &additions.tools) {
            (Some(replaced), _) => {
                tools.executor_of(run, replaced.clone(), additions.framework_tools_of(agent))?
            }
            (None, Some(of_run)) => tools.executor_with_run_tools(run, of_run).await?,
            (None, None) => tools.executor(run).await?,
        };
        if additions.settings.is_none() && additions.visibility.is_none() {
            return Ok((executor, diagnostics));
        }
        let executor = additions.with_settings(run, executor).map_err(ListingError::Executor)?;
        diagnostics.extend_from_slice(executor.diagnostics());
        Ok((executor, diagnostics))
    }

    /// Returns the skills of the active agent: those of the run, where they replace the agent's.
    pub(super) fn skills(&self) -> Option<&AgentSkills> {
        let framework = match self.may_replace_tools_of(&self.agent) {
            true => self.additions.framework_tools_of(&self.agent),
            false => &self.agent.0.tools.framework,
        };
        framework.skills.as_ref()
    }

    /// Returns `true` if the tools of the run, if it has some, replace those of `agent`: an agent that has control after a transfer keeps its
    /// tools, and the members of a team have no such agents.
    fn may_replace_tools_of(&self, agent: &Agent) -> bool {
        agent.name() == self.root.name() || self.root.model().is_none()
    }

    /// Awaits `future`, until the run is cancelled or its time is over.
    pub(super) async fn wait_unless_interrupted<T>(
        &self,
        future: impl Future<Output = T>,
    ) -> Result<T, Interruption> {
        tokio::select! {
            biased;
            () = self.run.cancellation().cancelled() => Err(Interruption::Cancelled),
            result = future => Ok(result),
            () = self.wait_for_deadline() => Err(Interruption::DeadlinePassed),
        }
    }

    /// Waits for the deadline of the run, or of its active agent.
    pub(super) async fn wait_for_deadline(&self) {
        match self.deadline() {
            Some(end) => tokio::time::sleep(end.saturating_duration_since(Instant::now())).await,
            None => std::future::pending().await,
        }
    }
}
