//! A tool of a pool.

use std::sync::{Arc, Mutex, PoisonError};

use tool_runtime::{
    BoxFuture, Tool, ToolContext, ToolDefinition, ToolError, ToolName, ToolOutput,
    definition::{Checks, Confirmation, ContentHash, Prepared, RemoteSteps, ToolSteps},
    request::ModelRequest,
    schema::Arguments,
};

use super::{DurableCalls, connection::Connection};

pub(super) struct RemoteTool {
    definition: ToolDefinition,
    /// The steps of the tool at its worker.
    steps: ToolSteps,
    hash: ContentHash,
    connection: Arc<Connection>,
    /// The name at the worker.
    worker_name: String,
    /// The registries that have the definition, as of the last listing.
    registries: Mutex<Vec<ContentHash>>,
}

impl RemoteTool {
    pub(super) fn new(
        definition: ToolDefinition,
        steps: ToolSteps,
        hash: ContentHash,
        connection: Arc<Connection>,
    ) -> Self {
        let worker_name = definition.name().to_string();
        let name = name_in_pool(definition.name(), connection.channel.pool());
        let definition = definition.with_name(name);
        Self { definition, steps, hash, connection, worker_name, registries: Mutex::default() }
    }

    pub(super) fn own_definition(&self) -> &ToolDefinition {
        &self.definition
    }

    pub(super) fn tool_steps(&self) -> ToolSteps {
        self.steps
    }

    /// Returns the name that the tool `name` of a worker has here.
    pub(super) fn name_here(&self, name: &ToolName) -> ToolName {
        name_in_pool(name, self.connection.channel.pool())
    }

    pub(super) fn hash(&self) -> ContentHash {
        self.hash
    }

    pub(super) fn set_registries(&self, registries: Vec<ContentHash>) {
        *self.registries.lock().unwrap_or_else(PoisonError::into_inner) = registries;
    }

    /// Returns one of the registries that have this definition and a worker, except those of `excluded`.
    pub(super) fn choose_registry(&self, excluded: &[ContentHash]) -> Option<ContentHash> {
        let candidates = self.live_registries(excluded);
        candidates.get(fastrand::usize(..candidates.len().max(1))).copied()
    }

    /// Returns the registries that have this definition and a worker, except those of `excluded`.
    pub(super) fn live_registries(&self, excluded: &[ContentHash]) -> Vec<ContentHash> {
        let known = self.registries.lock().unwrap_or_else(PoisonError::into_inner);
        let allowed = known.iter().filter(|it| !excluded.contains(it)).copied();
        self.connection.workers.live_registries(allowed)
    }

    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Returns `true` if a repeated call does no more than one.
    pub(super) fn is_harmless(&self) -> bool {
        let metadata = self.definition.metadata();
        metadata.is_read_only() || metadata.is_idempotent()
    }

    pub(super) fn is_long_running(&self) -> bool {
        self.definition.metadata().is_long_running()
    }

    /// Returns the durable calls of the set, if those of this tool are.
    fn durable_calls(&self) -> Option<&DurableCalls> {
        let durable = self.connection.durable.as_ref();
        durable.filter(|durable| self.is_long_running() || durable.includes_tool(&self.worker_name))
    }

    /// Names this tool in an error of the tool at the worker.
    pub(super) fn rename_error(&self, error: ToolError) -> ToolError {
        match error.tool() {
            Some(tool) if tool == self.worker_name => error.with_tool(self.definition.name().to_string()),
            _ => error,
        }
    }

    async fn call_canonically(
        &self,
        arguments: Arguments<'_>,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let canonical = self.definition.canonical(arguments)?;
        let count = self.connection.channel.metrics().begin_call();
        let outcome = match self.durable_calls() {
            // Boxed, so that the future of other calls has no room for it.
            Some(durable) => Box::pin(self.call_by_queue(durable, canonical.as_str(), cx)).await,
            None => self.call_worker(canonical.as_str(), cx).await,
        };
        count.end(outcome.as_ref().err());
        outcome
    }
}

impl Tool for RemoteTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    /// Its checks, and what changes the arguments, are at the worker, which is asked before: see [`RemoteSteps`]. Without its answers, a call that
    /// needs them stays undecided, and does not run.
    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, move |arguments, cx| Box::pin(self.call_canonically(arguments, cx))))
    }

    fn checks(&self) -> Checks {
        let metadata = self.definition.metadata();
        Checks {
            confirmation: metadata.confirmation == Confirmation::Sometimes,
            permission: metadata.permission,
        }
    }

    fn on_request(&self, request: ModelRequest) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(self.add_to_request(request))
    }

    fn adds_to_requests(&self) -> bool {
        self.steps.adds_to_requests
    }

    fn remote_steps(&self) -> Option<&dyn RemoteSteps> {
        Some(self)
    }
}

fn name_in_pool(name: &ToolName, pool: &str) -> ToolName {
    name.prefixed(&format!("{pool}__"))
}

/// Returns the error of a call whose `workers` have ended; `started` tells whether one of them had obtained the start of a body with effects.
pub(super) fn interrupted_error(workers: u32, started: bool) -> ToolError {
    let effect = if started { "; it may have taken effect, and is not run again" } else { "" };
    let of_workers = if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") };
    ToolError::failed(format!("the call was interrupted: {of_workers} ended during it{effect}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_call_says_how_many_workers_ended_and_whether_it_had_started() {
        let effect = "; it may have taken effect, and is not run again";
        for (workers, started, expected) in [
            (1, false, "the call was interrupted: 1 worker ended during it".to_owned()),
            (2, false, "the call was interrupted: 2 workers ended during it".to_owned()),
            (1, true, format!("the call was interrupted: 1 worker ended during it{effect}")),
        ] {
            assert_eq!(interrupted_error(workers, started).feedback(), expected);
        }
    }

    #[test]
    fn a_tool_has_its_pool_before_its_name() {
        let name = ToolName::new("book").map(|name| name_in_pool(&name, "trip").to_string());
        assert_eq!(name.ok().as_deref(), Some("trip__book"));
    }
}
