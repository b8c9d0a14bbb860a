//! A server as a toolset.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use rmcp::model::{CallToolResult, ServerPeerInfo, Tool as RawTool};
use serde_json::{Map, Value};
use tool_runtime::{
    BoxFuture, Tool, ToolContext, ToolError, ToolSet, context::ReadonlyContext, diagnostic::Diagnostic,
    pin::Pins, toolset::ToolSetNotifier,
};

use super::{
    builder::McpToolSetBuilder,
    call::Call,
    config::ServerConfig,
    error::ClientError,
    handler::ServerChange,
    link::Link,
    pins::Pinned,
    tool::{RemoteTool, repeatable},
};

/// The tools of one server as tools of the program. Cheap to clone; clones share the connection.
///
/// The toolset has the name of the configuration. A tool has its name at the server as its
/// [raw name](tool_runtime::ToolDefinition::raw_name); [adapters](tool_runtime::toolset::ToolSetExt) prefix, rename, filter
/// and confirm, and the server receives the raw name in any case.
///
/// # Listing
///
/// Tools are listed once, and again after the server announced a change of them; a [`Toolbox`](tool_runtime::Toolbox) hears
/// of it. A tool that was handed out keeps its definition.
///
/// # Closing
///
/// [`close`](Self::close) ends the connection, and with it a child process. It also ends when the toolset and all its tools
/// are dropped.
///
/// # Examples
///
/// ```no_run
/// use tool_mcp::client::{McpToolSet, Process, ServerConfig};
/// use tool_runtime::{RunContext, Toolbox, toolset::ToolSetExt};
///
/// # async fn example() -> anyhow::Result<()> {
/// let files = McpToolSet::connect(ServerConfig::new("files", Process::new("files-server"))).await?;
/// let toolbox = Toolbox::new();
/// toolbox.add_toolset(files.clone().prefixed())?;
/// let tools = toolbox.snapshot(&RunContext::new()).await?.into_tools();
/// println!("{:?}", tools.definitions());
/// files.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct McpToolSet {
    inner: Arc<Inner>,
}

struct Inner {
    link: Arc<Link>,
    listed: Mutex<Arc<Listed>>,
}

/// The tools as last listed.
#[derive(Default)]
struct Listed {
    tools: Vec<Arc<RemoteTool>>,
    diagnostics: Vec<Diagnostic>,
    /// The number of changes before the listing; 0 if nothing was listed.
    version: u64,
}

impl McpToolSet {
    /// Connects to a server and lists its tools.
    ///
    /// # Errors
    ///
    /// If the server cannot be started or reached, does not speak the protocol, or does not answer in time. The error names
    /// the server.
    pub async fn connect(config: ServerConfig) -> Result<Self, ClientError> {
        Self::builder(config).connect().await
    }

    /// Creates the toolset of a server that is connected to when it is first listed or called.
    #[must_use]
    pub fn lazy(config: ServerConfig) -> Self {
        Self::builder(config).lazy()
    }

    /// Creates a builder, for filters, answers to the server's questions, and headers of requests.
    pub fn builder(config: ServerConfig) -> McpToolSetBuilder {
        McpToolSetBuilder::new(config)
    }

    pub(super) fn new(link: Link) -> Self {
        Self { inner: Arc::new(Inner { link: Arc::new(link), listed: Mutex::default() }) }
    }

    pub(super) fn link(&self) -> &Link {
        &self.inner.link
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &ServerConfig {
        &self.inner.link.config
    }

    /// Lists the tools of the server again, and replaces the list as a whole. Tools that were handed out keep their
    /// definition. Connects if there is no connection, or it was lost.
    ///
    /// # Errors
    ///
    /// If the tools cannot be listed; the list is unchanged.
    pub async fn refresh(&self) -> Result<(), ClientError> {
        self.inner.reconnected();
        self.inner.list().await.map(drop)
    }

    /// Lists the tools as the server defines them: all of them, by their names there. Asks the server.
    ///
    /// # Errors
    ///
    /// If the tools cannot be listed.
    pub async fn list(&self) -> Result<Vec<RawTool>, ClientError> {
        Ok(self.inner.link.list().await?.items)
    }

    /// Lists the tools that the filters keep and that are as they were pinned, with the diagnostics of the others. Asks the
    /// server.
    pub(crate) async fn list_admitted(&self) -> Result<(Vec<RawTool>, Vec<Diagnostic>), ClientError> {
        let (link, version) = (&self.inner.link, self.inner.link.changes.version());
        let mut listed = link.list().await?;
        listed.items.retain(|tool| link.reading.keeps(&tool.name));
        if let Some(pinned) = link.pinned() {
            let definition = |tool: &RawTool| Some(link.reading.definition(tool, &link.name).ok()?.0);
            // A pin is of a definition.
            listed.items.retain(|tool| pinned.warns() || definition(tool).is_some());
            let definitions: Vec<_> = listed.items.iter().filter_map(definition).collect();
            listed.diagnostics.extend(pinned.compare(definitions.iter(), version));
            listed.items.retain(|tool| pinned.admits(&tool.name));
        }
        Ok((listed.items, listed.diagnostics))
    }

    /// Calls a tool by its name at the server, and returns the result as received. Arguments are not validated here.
    ///
    /// # Errors
    ///
    /// If there is no result. A failure of the tool is a result with `isError`.
    pub async fn call_raw(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<CallToolResult, ClientError> {
        let listed = self.inner.listed();
        let known = listed.tools.iter().find(|it| it.raw().name == tool);
        let call = Call {
            tool,
            arguments,
            meta: Map::new(),
            repeatable: known.is_some_and(|tool| repeatable(tool.raw())),
            context: None,
        };
        self.inner.link.call(call).await
    }

    /// Calls a tool for a call of the program, which receives the reports and questions of the server.
    pub(crate) async fn call_for(
        &self,
        cx: &ToolContext,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<CallToolResult, ClientError> {
        let link = self.link();
        let call = Call { tool, arguments, meta: link.meta(cx), repeatable: false, context: Some(cx) };
        link.call(call).await
    }

    /// Returns the description that the server gives of itself. Connects if necessary.
    ///
    /// # Errors
    ///
    /// If there is no connection.
    pub async fn server_info(&self) -> Result<ServerPeerInfo, ClientError> {
        let connection = self.inner.link.connection().await?;
        let info = connection.server();
        info.map(|info| (*info).clone())
            .ok_or_else(|| ClientError::unusable(&self.inner.link.name, "it does not describe itself"))
    }

    /// Returns the diagnostics of the last listing (tools that are left out, renamed, or not as they were pinned), and those of
    /// answers of which a part could not be read: each of the latter once, and the first 20 of a code only.
    ///
    /// | code | severity | problem |
    /// | --- | --- | --- |
    /// | `malformed` | error | the definition is malformed, and the tool left out |
    /// | `duplicate` | error | another tool has the name, and the tool is left out |
    /// | `renamed` | note | the name at the server is no valid name here |
    /// | `hidden_text` | warning | name, title or description have characters that a person does not see |
    /// | `not_pinned` | error | the tool has no pin, and is left out |
    /// | `changed_since_pinned` | error | the tool differs from its pin, and is left out |
    /// | `unreadable_hint` | warning | a part of the definition is malformed: it is ignored, or read as far as it can be |
    /// | `unreadable_schema` | warning | keywords of a schema are malformed, and ignored |
    /// | `listing_cut` | warning | pages repeat, or go beyond a [limit](super::ServerLimits): tools may be missing |
    /// | `unreadable_content` | warning | a part of a result of the tool is malformed; it is kept as its JSON, as text |
    /// | `unreadable_answer` | warning | an answer is malformed; what could be read of it was used |
    /// | `question_refused` | warning | the server asked more questions than the [limits](super::ServerLimits) allow |
    /// | `unreadable_handshake` | warning | a part of the server's description of itself is malformed, and ignored |
    ///
    /// Those of pins are warnings with [`pins_warn`](McpToolSetBuilder::pins_warn), and the tool is used.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut diagnostics = self.inner.listed().diagnostics.clone();
        diagnostics.extend(self.inner.link.notices.all());
        diagnostics
    }

    /// Returns pins of the tools as the server defines them now, for a file that a person reviews. Asks the server.
    ///
    /// # Errors
    ///
    /// If the tools cannot be listed.
    pub async fn current_pins(&self) -> Result<Pins, ClientError> {
        let link = &self.inner.link;
        let listed = link.list().await?;
        let definitions = listed.items.iter().filter(|tool| link.reading.keeps(&tool.name));
        let definitions: Vec<_> =
            definitions.filter_map(|tool| Some(link.reading.definition(tool, &link.name).ok()?.0)).collect();
        Ok(Pins::of_definitions(&definitions))
    }

    /// Sets or renews the pins: see [`McpToolSetBuilder::pins`].
    pub fn set_pins(&self, pins: Pins) {
        let warns = self.inner.link.pinned().is_some_and(|before| before.warns());
        self.inner.link.pin(Some(Pinned::new(pins, warns)));
        self.inner.link.changes.happened(ServerChange::Tools);
    }

    /// Ends the connection and waits for its end; a child process that does not end by itself is killed. Later calls fail,
    /// and further calls of this method have no effect.
    pub async fn close(&self) {
        self.inner.link.close().await;
    }
}

impl Inner {
    fn listed(&self) -> Arc<Listed> {
        Arc::clone(&self.listed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Gives up a connection that was lost.
    fn reconnected(&self) {
        if let Some(connection) = self.link.existing().filter(|it| it.is_lost()) {
            self.link.forget(&connection);
        }
    }

    /// The tools as last listed, if the server announced no change since.
    async fn current(&self) -> Result<Arc<Listed>, ClientError> {
        let listed = self.listed();
        match listed.version == self.link.changes.version() {
            true => Ok(listed),
            false => self.list().await,
        }
    }

    async fn list(&self) -> Result<Arc<Listed>, ClientError> {
        let (link, version) = (&self.link, self.link.changes.version());
        let mut raw = link.list().await?;
        let mut tools = link.reading.tools(&mut raw, &self.listed().tools, link);
        if let Some(pinned) = link.pinned() {
            raw.diagnostics.extend(pinned.compare(tools.iter().map(|tool| tool.definition()), version));
            tools.retain(|tool| pinned.admits(&tool.raw().name));
        }
        for diagnostic in &raw.diagnostics {
            tracing::warn!(server = &*link.name, "{diagnostic}");
        }
        let listed = Arc::new(Listed { tools, diagnostics: raw.diagnostics, version });
        let before = {
            let mut current = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
            // A listing that another one overtook is older.
            match current.version > version {
                true => return Ok(listed),
                false => std::mem::replace(&mut *current, Arc::clone(&listed)),
            }
        };
        drop(before);
        Ok(listed)
    }
}

impl ToolSet for McpToolSet {
    fn name(&self) -> &str {
        &self.inner.link.name
    }

    fn tools<'a>(&'a self, _: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        Box::pin(async move {
            let listed = self.inner.current().await?;
            Ok(listed.tools.iter().map(|tool| Arc::clone(tool) as Arc<dyn Tool>).collect())
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            self.inner.link.close().await;
            Ok(())
        })
    }

    fn attached(&self, notifier: ToolSetNotifier) {
        self.inner.link.changes.add(notifier);
    }
}

impl fmt::Debug for McpToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpToolSet")
            .field("config", &self.inner.link.config)
            .field("tools", &self.inner.listed().tools.len())
            .finish_non_exhaustive()
    }
}
