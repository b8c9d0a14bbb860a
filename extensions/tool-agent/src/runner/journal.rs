//! The journal of the calls of a run, in the store of its session.

use std::sync::Arc;

use serde::Serialize;
use tool_runtime::{
    CallOutcome, Executor, Registry, RunContext, ToolError,
    call::CallAddress,
    definition::ToolDefinition,
    executor::{CallIntent, CallJournal, SharedCallJournal},
};
use tool_session::{EntryContent, SessionError};

use super::{
    entry::{CallIntentBody, CallOutcomeBody},
    member::EntryOrigin,
    parent_run::ParentRun,
    session_writer::SessionWriter,
};

/// Stores the intents and outcomes of calls with effects, and passes all to the journal of the agent's executor.
///
/// The outcome of a read-only or idempotent call is not stored before the results of its batch: it runs again after a crash.
pub(super) struct SessionJournal {
    writer: Arc<SessionWriter>,
    /// The agent whose calls these are, if it is one of several.
    origin: Option<EntryOrigin>,
    tools: Registry,
    parent: Arc<ParentRun>,
    /// The journal of the program.
    next: Option<SharedCallJournal>,
}

impl SessionJournal {
    /// Creates the journal of the calls of `executor`.
    pub(super) fn new(
        writer: &Arc<SessionWriter>,
        origin: Option<&EntryOrigin>,
        parent: &Arc<ParentRun>,
        executor: &Executor,
    ) -> Self {
        let (tools, next) = (executor.tools().clone(), executor.journal().cloned());
        Self { writer: Arc::clone(writer), origin: origin.cloned(), tools, parent: Arc::clone(parent), next }
    }

    fn entry(
        &self,
        kind: &'static str,
        body: &impl Serialize,
        has_secret: bool,
    ) -> Result<EntryContent, SessionError> {
        match &self.origin {
            Some(origin) => self.writer.entry_of(origin, kind, body, has_secret),
            None => self.writer.entry(kind, body, has_secret),
        }
    }

    /// Returns `true` for a call of the run itself. An open batch keeps the journal of the run that opened it.
    fn records_calls_of(&self, run: Option<&RunContext>) -> bool {
        run.is_some_and(|run| match &self.origin {
            Some(origin) => std::ptr::eq(Arc::as_ptr(&origin.run), run),
            None => self.writer.is_writer_of(run),
        })
    }

    async fn store_intent(&self, intent: &CallIntent) -> Result<(), ToolError> {
        let body = CallIntentBody::new(intent.clone());
        let entry = self.entry(EntryContent::CALL_INTENT, &body, false);
        if self.writer.write_journal(entry).await {
            return Ok(());
        }
        let reason = self.writer.failure().map(ToString::to_string).unwrap_or_default();
        Err(ToolError::failed(format!("the intent is not stored in the session: {reason}")))
    }

    async fn store_outcome(&self, address: &CallAddress, outcome: &CallOutcome) {
        let definition = self.tools.get(outcome.name()).map(|tool| tool.definition());
        let metadata = definition.map(ToolDefinition::metadata);
        let repeats_safely = metadata.is_some_and(|it| it.is_read_only() || it.is_idempotent());
        if outcome.is_finished() && repeats_safely {
            return;
        }
        let has_secret = metadata.is_some_and(|it| !it.secrets.is_empty());
        let hash = definition.map(ToolDefinition::content_hash);
        let mut body = CallOutcomeBody::new(address.clone(), outcome.clone(), hash);
        if !outcome.is_finished() {
            body.below = self.parent.open_child_of_call(address);
        }
        self.writer.write_journal(self.entry(EntryContent::CALL_OUTCOME, &body, has_secret)).await;
    }
}

impl CallJournal for SessionJournal {
    async fn starting(&self, intent: &CallIntent, run: Option<&RunContext>) -> Result<(), ToolError> {
        if self.records_calls_of(run) {
            self.store_intent(intent).await?;
        }
        match &self.next {
            Some(next) => next.starting(intent, run).await,
            None => Ok(()),
        }
    }

    async fn ended(&self, address: &CallAddress, outcome: &CallOutcome, run: Option<&RunContext>) {
        if self.records_calls_of(run) {
            self.store_outcome(address, outcome).await;
        }
        if let Some(next) = &self.next {
            next.ended(address, outcome, run).await;
        }
    }
}
