//! A tool of a pool.

use std::sync::{Arc, Mutex, PoisonError};

use tool_runtime::{
    Tool, ToolContext, ToolDefinition, ToolError, ToolOutput,
    definition::{Checks, Confirmation, ContentHash, Permission, Prepared},
    schema::Arguments,
};

use super::connection::Connection;

pub(super) struct RemoteTool {
    definition: ToolDefinition,
    hash: ContentHash,
    connection: Arc<Connection>,
    /// The name at the worker.
    worker_name: String,
    /// The registries that have the definition, as of the last listing.
    registries: Mutex<Vec<ContentHash>>,
}

impl RemoteTool {
    pub(super) fn new(definition: ToolDefinition, hash: ContentHash, connection: Arc<Connection>) -> Self {
        let worker_name = definition.name().to_string();
        let name = definition.name().prefixed(&format!("{}__", connection.channel.pool()));
        let definition = definition.with_name(name);
        Self { definition, hash, connection, worker_name, registries: Mutex::default() }
    }

    pub(super) fn hash(&self) -> ContentHash {
        self.hash
    }

    pub(super) fn set_registries(&self, registries: Vec<ContentHash>) {
        *self.registries.lock().unwrap_or_else(PoisonError::into_inner) = registries;
    }

    /// Returns one of the registries that have this definition and a worker, except those of `excluded`.
    pub(super) fn choose_registry(&self, excluded: &[ContentHash]) -> Option<ContentHash> {
        let known = self.registries.lock().unwrap_or_else(PoisonError::into_inner);
        let allowed = known.iter().filter(|it| !excluded.contains(it)).copied();
        let candidates = self.connection.workers.live_registries(allowed);
        drop(known);
        candidates.get(fastrand::usize(..candidates.len().max(1))).copied()
    }

    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Returns `true` if a repeated call does no more than one.
    pub(super) fn is_harmless(&self) -> bool {
        let metadata = self.definition.metadata();
        metadata.is_read_only() || metadata.is_idempotent()
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
        self.call_worker(canonical.as_str(), cx).await
    }
}

impl Tool for RemoteTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let prepared =
            Prepared::new(arguments, move |arguments, cx| Box::pin(self.call_canonically(arguments, cx)));
        let metadata = self.definition.metadata();
        // The function that decides is at the worker: without it, each call asks.
        let prepared = match metadata.confirmation {
            Confirmation::Sometimes => prepared.asking(),
            _ => prepared,
        };
        // The worker checks, and refuses.
        Ok(match metadata.permission {
            true => prepared.with_permission(|_| Ok(Permission::Allow)),
            false => prepared,
        })
    }

    fn checks(&self) -> Checks {
        let metadata = self.definition.metadata();
        Checks {
            confirmation: metadata.confirmation == Confirmation::Sometimes,
            permission: metadata.permission,
        }
    }
}
