//! The trait of resources.

use std::sync::Arc;

use rmcp::model::{Resource, ResourceTemplate};
use tool_runtime::{BoxFuture, RunContext, ToolError, diagnostic::Diagnostic, output};

use super::{ChangeSignal, Completing, Page, Paging};

/// Readable objects with a URI, which a server offers. [`ResourceSet`](super::ResourceSet) is one in memory.
///
/// Each method receives the run of the request: its session, its client, its `_meta`, its user if there is a token. A
/// [`Caller`](crate::server::Caller) is among its provided values, so that reading may ask questions; from revision 2026-07-28
/// on, reading then begins again with the answers, as a tool does.
///
/// An error of kind [`NotFound`](tool_runtime::ErrorKind::NotFound) is the protocol's error for an unknown resource, one of
/// kind [`BadParameter`](tool_runtime::ErrorKind::BadParameter) that for invalid parameters; any other is an internal error.
/// A panic is an internal error, too.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tool_mcp::{rmcp::model, server::{Page, Paging, Resources}};
/// use tool_runtime::{
///     BoxFuture, RunContext, ToolError,
///     output::{Resource, ResourceBody},
/// };
///
/// /// The time of day.
/// struct Clock;
///
/// impl Resources for Clock {
///     fn list<'a>(
///         &'a self,
///         _: &'a Arc<RunContext>,
///         page: Paging<'a>,
///     ) -> BoxFuture<'a, Result<Page<model::Resource>, ToolError>> {
///         let clock = model::Resource::new("clock://now", "now").with_description("The time of day.");
///         Box::pin(async move { Ok(page.of([clock], |item| &item.uri)) })
///     }
///
///     fn read<'a>(
///         &'a self,
///         _: &'a Arc<RunContext>,
///         uri: &'a str,
///     ) -> BoxFuture<'a, Result<Vec<Resource>, ToolError>> {
///         Box::pin(async move {
///             if uri != "clock://now" {
///                 return Err(ToolError::not_found(format!("there is no resource `{uri}`")));
///             }
///             let body = ResourceBody::Text("12:00".to_owned());
///             Ok(vec![Resource { uri: uri.to_owned(), mime_type: "text/plain".to_owned(), body }])
///         })
///     }
/// }
/// ```
pub trait Resources: Send + Sync + 'static {
    /// Lists the resources.
    ///
    /// # Errors
    ///
    /// If they cannot be listed.
    fn list<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        page: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<Resource>, ToolError>>;

    /// Lists the templates of further resources. Default: none.
    ///
    /// # Errors
    ///
    /// If they cannot be listed.
    fn templates<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        page: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<ResourceTemplate>, ToolError>> {
        let _ = (run, page);
        Box::pin(async { Ok(Page::all(Vec::new())) })
    }

    /// Reads the resource `uri`: usually one document, several for a folder.
    ///
    /// # Errors
    ///
    /// If there is none, or it cannot be read.
    fn read<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Vec<output::Resource>, ToolError>>;

    /// Returns the candidates for a variable of a template's URI, best first. Default: none.
    ///
    /// # Errors
    ///
    /// If there is no such template.
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

    /// Returns the signal of changes; with one, clients may subscribe. Default: none.
    fn changes(&self) -> Option<&ChangeSignal> {
        None
    }

    /// Returns the diagnostics since the last call of this method, such as resources that the list lacks. Called after each list; see
    /// [`McpServer::on_diagnostic`](crate::server::McpServer::on_diagnostic). Default: none.
    fn diagnostics(&self) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Called when a client subscribes to `uri`, so that its changes can be watched for. Default: nothing.
    ///
    /// If a server has resources of several sources, each that has a signal of changes is called: one that has no such resource returns
    /// an error of kind `NotFound`, or ignores it.
    ///
    /// # Errors
    ///
    /// If the client cannot subscribe to it.
    fn subscribe(&self, run: &Arc<RunContext>, uri: &str) -> Result<(), ToolError> {
        let _ = (run, uri);
        Ok(())
    }

    /// Called when a client that subscribed to `uri` no longer does, or is gone; of several sources, each. Default: nothing.
    fn unsubscribe(&self, uri: &str) {
        let _ = uri;
    }
}
