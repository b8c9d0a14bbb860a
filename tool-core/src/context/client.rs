//! The client that a run serves.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{RunContext, ToolContext};

/// The client program of a session, as it describes itself. The description is not verified.
///
/// # Examples
///
/// ```
/// use tool_runtime::{RunContext, context::ClientInfo};
///
/// let run = RunContext::new().with_client(ClientInfo::new("editor").with_version("1.2"));
/// assert_eq!(run.client().unwrap().version.as_deref(), Some("1.2"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ClientInfo {
    /// The name for programs.
    pub name: String,
    /// The name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The capabilities, in the form of the session's protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Map<String, Value>>,
}

impl ClientInfo {
    /// Creates a client with a name and nothing else.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Sets the name for people.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the version.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Sets the capabilities.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Map<String, Value>) -> Self {
        self.capabilities = Some(capabilities);
        self
    }
}

impl RunContext {
    /// Sets the client that the run serves.
    #[must_use]
    pub fn with_client(mut self, client: impl Into<Arc<ClientInfo>>) -> Self {
        self.client = Some(client.into());
        self
    }

    /// Returns the client that the run serves.
    #[must_use]
    pub fn client(&self) -> Option<&ClientInfo> {
        self.client.as_deref()
    }
}

impl ToolContext {
    /// Returns the id of the session that the call belongs to; `None` outside a session.
    #[must_use]
    pub fn session_id(&self) -> Option<&str> {
        self.run()?.session()
    }

    /// Returns the client that the call serves; `None` outside a session.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::ToolContext;
    ///
    /// assert!(ToolContext::for_test().client_info().is_none());
    /// ```
    #[must_use]
    pub fn client_info(&self) -> Option<&ClientInfo> {
        self.run()?.client()
    }

    /// Returns the capabilities of the client that the call serves; `None` outside a session.
    #[must_use]
    pub fn client_capabilities(&self) -> Option<&Map<String, Value>> {
        self.client_info()?.capabilities.as_ref()
    }
}
