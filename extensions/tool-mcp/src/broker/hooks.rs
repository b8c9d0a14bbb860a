//! Code of the program in the operations of a broker.

#[cfg(feature = "http")]
use tool_runtime::BoxFuture;
use tool_runtime::{ToolContext, ToolError};

use crate::client::{ClientError, McpToolSetBuilder, ServerConfig};

/// The part of the work of a broker that an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BrokerPhase {
    /// `mcp_list_tools`.
    ListTools,
    /// `mcp_inspect_tools`.
    InspectTools,
    /// `mcp_call`.
    CallTool,
}

/// The server and the tool of an operation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BrokerTarget<'a> {
    /// The selector of the model.
    pub selector: &'a str,
    /// The name of the server; `None` for a server that the model selected by URL.
    pub server: Option<&'a str>,
    /// The name of the called tool at the server.
    pub tool: Option<&'a str>,
    /// The phase.
    pub phase: BrokerPhase,
    /// A copy of the configuration.
    pub config: ServerConfig,
    /// The call that the operation belongs to.
    pub call: &'a ToolContext,
}

impl BrokerTarget<'_> {
    /// Returns `true` if the model selected the server by URL.
    #[must_use]
    pub fn is_chosen_by_model(&self) -> bool {
        self.server.is_none()
    }

    /// Returns the URL of the server; `None` for a child process.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        use crate::client::Transport;
        match &self.config.transport {
            Transport::Http(endpoint) | Transport::Sse(endpoint) => Some(&endpoint.url),
            Transport::Stdio(_) => None,
        }
    }
}

/// The handling of an error.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Interception {
    /// The error is not handled, and is the result of the operation.
    Unhandled,
    /// The error is handled: the model reads that the operation failed, and nothing else.
    Handled,
    /// This error is the result of the operation.
    Replaced(ToolError),
}

#[cfg(feature = "http")]
type HeaderHook = dyn for<'a> Fn(&'a BrokerTarget<'a>) -> BoxFuture<'a, Result<Option<http::HeaderMap>, ToolError>>
    + Send
    + Sync;
type ErrorHook = dyn Fn(&BrokerTarget<'_>, &ClientError) -> Interception + Send + Sync;
type OptionsHook =
    dyn Fn(&BrokerTarget<'_>, McpToolSetBuilder) -> Result<McpToolSetBuilder, ToolError> + Send + Sync;

/// The hooks of a broker.
#[derive(Default)]
pub(super) struct BrokerHooks {
    #[cfg(feature = "http")]
    pub(super) headers: Option<Box<HeaderHook>>,
    pub(super) errors: Option<Box<ErrorHook>>,
    pub(super) options: Option<Box<OptionsHook>>,
}

impl BrokerHooks {
    /// The error of an operation, as the model reads it.
    pub(super) fn error_for_model(&self, target: &BrokerTarget<'_>, error: ClientError) -> ToolError {
        let Some(intercept) = self.errors.as_ref().filter(|_| target.url().is_some()) else {
            return error.into();
        };
        match catch_panic(|| Ok(intercept(target, &error))) {
            Ok(Interception::Unhandled) => error.into(),
            Ok(Interception::Handled) => ToolError::failed("the operation on the MCP server failed"),
            Ok(Interception::Replaced(error)) | Err(error) => error,
        }
    }

    /// Adds the options of the program.
    pub(super) fn apply_options(
        &self,
        target: &BrokerTarget<'_>,
        builder: McpToolSetBuilder,
    ) -> Result<McpToolSetBuilder, ToolError> {
        match &self.options {
            Some(options) => catch_panic(|| options(target, builder)),
            None => Ok(builder),
        }
    }

    /// Adds the headers of the program to the configuration.
    #[cfg(feature = "http")]
    pub(super) async fn add_headers(
        &self,
        target: &BrokerTarget<'_>,
        config: &mut ServerConfig,
    ) -> Result<(), ToolError> {
        use crate::client::Transport;
        let (Some(provide), Transport::Http(endpoint) | Transport::Sse(endpoint)) =
            (&self.headers, &mut config.transport)
        else {
            return Ok(());
        };
        let provided = crate::client::run_callback(|| provide(target)).await?;
        for (name, value) in &provided.unwrap_or_default() {
            let value = value.to_str().map_err(|_| {
                ToolError::internal(format!("the value of the header `{name}` is not visible ASCII"))
            })?;
            endpoint.headers.retain(|configured, _| !configured.eq_ignore_ascii_case(name.as_str()));
            endpoint.headers.insert(name.to_string(), value.to_owned());
        }
        Ok(())
    }
}

/// Calls a hook of the program; a panic is an error.
fn catch_panic<T>(hook: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    let panicked = |_| ToolError::new(tool_runtime::ErrorKind::Panicked, "a hook of the broker panicked");
    tool_runtime::guard::catch(hook).map_err(panicked)?
}
