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
    call::{RemoteCall, ToolCaller},
    config::ServerConfig,
    connector::Connector,
    error::ClientError,
    handler::ServerChange,
    pins::PinnedDefinitions,
    requests::RequestSender,
    tool::is_repeatable,
    tool_list::ToolList,
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
    inner: Arc<ToolSetState>,
}

struct ToolSetState {
    caller: Arc<ToolCaller>,
    tools: Mutex<Arc<ToolList>>,
}

impl McpToolSet {
    pub(super) fn new(caller: ToolCaller) -> Self {
        Self { inner: Arc::new(ToolSetState { caller: Arc::new(caller), tools: Mutex::default() }) }
    }

    pub(super) fn request_sender(&self) -> &RequestSender {
        &self.inner.caller.requests
    }

    fn connector(&self) -> &Connector {
        &self.request_sender().connection.connector
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &ServerConfig {
        self.request_sender().config()
    }

    /// Lists the tools of the server again, and replaces the list as a whole. Tools that were handed out keep their
    /// definition. Connects if there is no connection, or it was lost.
    ///
    /// # Errors
    ///
    /// If the tools cannot be listed; the list is unchanged.
    pub async fn refresh(&self) -> Result<(), ClientError> {
        self.request_sender().connection.discard_if_lost();
        self.inner.refresh_tool_list().await.map(drop)
    }

    /// Lists the tools as the server defines them: all of them, by their names there. Asks the server.
    ///
    /// # Errors
    ///
    /// If the tools cannot be listed.
    pub async fn list(&self) -> Result<Vec<RawTool>, ClientError> {
        Ok(self.request_sender().list_all_pages().await?.items)
    }

    /// Lists the tools that the filters keep and that are as they were pinned, with the diagnostics of the others. Asks the
    /// server.
    pub(crate) async fn list_admitted_tools(&self) -> Result<(Vec<RawTool>, Vec<Diagnostic>), ClientError> {
        let version = self.connector().changes.tools_version();
        let reader = &self.inner.caller.definitions;
        let mut listing = self.request_sender().list_all_pages::<RawTool>().await?;
        listing.items.retain(|tool| reader.includes_tool(&tool.name));
        if let Some(pinned) = self.inner.caller.pins.get() {
            let definition = |tool: &RawTool| Some(reader.read_definition(tool, self.name()).ok()?.0);
            // A pin is of a definition.
            listing.items.retain(|tool| pinned.only_warns() || definition(tool).is_some());
            let definitions: Vec<_> = listing.items.iter().filter_map(definition).collect();
            listing.diagnostics.extend(pinned.compare_definitions(definitions.iter(), version));
            listing.items.retain(|tool| pinned.admits_tool(&tool.name));
        }
        Ok((listing.items, listing.diagnostics))
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
        let list = self.inner.last_tool_list();
        let known = list.tools.iter().find(|it| it.raw_definition().name == tool);
        let call = RemoteCall {
            tool,
            arguments,
            meta: Map::new(),
            repeatable: known.is_some_and(|tool| is_repeatable(tool.raw_definition())),
            context: None,
        };
        self.inner.caller.call_tool(call).await
    }

    /// Calls a tool for a call of the program, which receives the reports and questions of the server.
    pub(crate) async fn call_tool_for(
        &self,
        cx: &ToolContext,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<CallToolResult, ClientError> {
        let caller = &self.inner.caller;
        let call = RemoteCall {
            tool,
            arguments,
            meta: caller.call_metadata(cx),
            repeatable: false,
            context: Some(cx),
        };
        caller.call_tool(call).await
    }

    /// Returns the description that the server gives of itself. Connects if necessary.
    ///
    /// # Errors
    ///
    /// If there is no connection.
    pub async fn server_info(&self) -> Result<ServerPeerInfo, ClientError> {
        let connection = self.request_sender().connection.get_or_connect().await?;
        let info = connection.server_info();
        info.map(|info| (*info).clone())
            .ok_or_else(|| self.request_sender().unusable_answer("it does not describe itself"))
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
    /// | `unreadable_content` | warning | a part of a result, prompt, resource or completion is malformed; it is its JSON, as text, or left out |
    /// | `unreadable_answer` | warning | an answer is malformed; what could be read of it was used |
    /// | `question_refused` | warning | the server asked more questions than the [limits](super::ServerLimits) allow |
    /// | `unreadable_handshake` | warning | a part of the server's description of itself is malformed, and ignored |
    ///
    /// Those of pins are warnings with [`pins_warn`](super::McpToolSetBuilder::pins_warn), and the tool is used.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut diagnostics = self.inner.last_tool_list().diagnostics.clone();
        diagnostics.extend(self.connector().notices.diagnostics());
        diagnostics
    }

    /// Returns pins of the tools as the server defines them now, for a file that a person reviews. Asks the server.
    ///
    /// # Errors
    ///
    /// If the tools cannot be listed.
    pub async fn current_pins(&self) -> Result<Pins, ClientError> {
        let reader = &self.inner.caller.definitions;
        let listing = self.request_sender().list_all_pages::<RawTool>().await?;
        let definitions = listing.items.iter().filter(|tool| reader.includes_tool(&tool.name));
        let definitions: Vec<_> =
            definitions.filter_map(|tool| Some(reader.read_definition(tool, self.name()).ok()?.0)).collect();
        Ok(Pins::of_definitions(&definitions))
    }

    /// Sets or renews the pins: see [`McpToolSetBuilder::pins`](super::McpToolSetBuilder::pins).
    pub fn set_pins(&self, pins: Pins) {
        let current = &self.inner.caller.pins;
        let warns = current.get().is_some_and(|before| before.only_warns());
        current.replace(PinnedDefinitions::new(pins, warns));
        self.connector().changes.announce(ServerChange::Tools);
    }

    /// Waits until the present connection is lost, and returns the reason; at once if there is none. A connection is known to be lost when its
    /// transport or process ends. Over HTTP, it is when a request does not reach the server, or the stream of its changes cannot be opened again:
    /// the loss of a server without changes is noticed by the next request.
    pub async fn disconnected(&self) -> ClientError {
        self.request_sender().connection.wait_for_loss().await
    }

    /// Ends the connection and waits for its end; a child process that does not end by itself is killed. Later calls fail,
    /// and further calls of this method have no effect.
    pub async fn close(&self) {
        self.request_sender().connection.close().await;
    }
}

impl ToolSetState {
    /// Returns the tools as last listed.
    fn last_tool_list(&self) -> Arc<ToolList> {
        Arc::clone(&self.tools.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the tools as last listed, if the server announced no change since.
    async fn current_tool_list(&self) -> Result<Arc<ToolList>, ClientError> {
        let list = self.last_tool_list();
        match list.version == self.caller.requests.connection.connector.changes.tools_version() {
            true => Ok(list),
            false => self.refresh_tool_list().await,
        }
    }

    async fn refresh_tool_list(&self) -> Result<Arc<ToolList>, ClientError> {
        let requests = &self.caller.requests;
        let version = requests.connection.connector.changes.tools_version();
        let listing = requests.list_all_pages().await?;
        let mut list = ToolList::from_listing(listing, &self.last_tool_list(), &self.caller, version);
        if let Some(pinned) = self.caller.pins.get() {
            list.diagnostics
                .extend(pinned.compare_definitions(list.tools.iter().map(|tool| tool.definition()), version));
            list.tools.retain(|tool| pinned.admits_tool(&tool.raw_definition().name));
        }
        for diagnostic in &list.diagnostics {
            tracing::warn!(server = requests.name(), "{diagnostic}");
        }
        let list = Arc::new(list);
        // Dropped outside the lock.
        let _before = {
            let mut current = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
            // A listing that another one overtook is older.
            match current.version > version {
                true => return Ok(list),
                false => std::mem::replace(&mut *current, Arc::clone(&list)),
            }
        };
        Ok(list)
    }
}

impl ToolSet for McpToolSet {
    fn name(&self) -> &str {
        self.request_sender().name()
    }

    fn tools<'a>(&'a self, _: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        Box::pin(async move {
            let list = self.inner.current_tool_list().await?;
            Ok(list.tools.iter().map(|tool| Arc::clone(tool) as Arc<dyn Tool>).collect())
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            self.request_sender().connection.close().await;
            Ok(())
        })
    }

    fn attached(&self, notifier: ToolSetNotifier) {
        self.connector().changes.add_notifier(notifier);
    }
}

impl fmt::Debug for McpToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpToolSet")
            .field("config", self.config())
            .field("tools", &self.inner.last_tool_list().tools.len())
            .finish_non_exhaustive()
    }
}
