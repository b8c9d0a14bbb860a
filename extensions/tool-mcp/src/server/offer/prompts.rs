//! The trait of prompts.

use std::{collections::BTreeMap, sync::Arc};

use rmcp::model::{GetPromptResult, Prompt};
use tool_runtime::{BoxFuture, RunContext, ToolError, diagnostic::Diagnostic};

use super::{ChangeSignal, Completing, Page, Paging};

/// Described templates of messages, which a server offers to the user of a client. [`PromptSet`](super::PromptSet) is one in
/// memory.
///
/// Runs and errors are those of [`Resources`](super::Resources), except that an unknown prompt is an error of invalid
/// parameters.
pub trait Prompts: Send + Sync + 'static {
    /// Lists the prompts.
    ///
    /// # Errors
    ///
    /// If they cannot be listed.
    fn list<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        page: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<Prompt>, ToolError>>;

    /// Returns the messages of the prompt `name`.
    ///
    /// # Errors
    ///
    /// If there is none, or an argument is missing.
    fn get<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        name: &'a str,
        arguments: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<GetPromptResult, ToolError>>;

    /// Returns the candidates for an argument, best first. Default: none.
    ///
    /// # Errors
    ///
    /// If there is no such prompt.
    fn complete<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        completing: Completing<'a>,
    ) -> BoxFuture<'a, Result<Vec<String>, ToolError>> {
        let _ = (run, completing);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Returns `true` if [`complete`](Self::complete) has candidates for anything. Default: `false`.
    fn completes(&self) -> bool {
        false
    }

    /// Returns the signal of changes. Default: none.
    fn changes(&self) -> Option<&ChangeSignal> {
        None
    }

    /// Returns the diagnostics since the last call of this method, such as prompts that the list lacks. Called after each list; see
    /// [`McpServer::on_diagnostic`](crate::server::McpServer::on_diagnostic). Default: none.
    fn diagnostics(&self) -> Vec<Diagnostic> {
        Vec::new()
    }
}
