//! The items of an MCP server.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tool_mcp::{
    client::{ClientError, McpToolSet, McpToolSetBuilder, ServerChange},
    rmcp::model,
};
use tool_runtime::{
    BoxFuture, Content, RunContext, ToolError, ToolSet, output,
    serde_json::{Map, Value, json},
};

use crate::{
    catalogue::{CatalogueChange, Connector, ConnectorNotifier},
    prompt::{Prompt, PromptDefinition, PromptMessage, PromptRole, RenderedPrompt},
    resource::{ReadableResource, ResourceUri},
};

/// The tools, prompts and resources of an MCP server as a namespace of a [`Catalogue`](crate::catalogue::Catalogue).
///
/// The namespace is the name of the server in its configuration. Lists are kept until the server announces a change of them, or another
/// connection to it is made. A prompt without an identifier as its name and a resource without an absolute URI are left out.
///
/// # Examples
///
/// ```no_run
/// use std::sync::Arc;
/// use tool_kit::{catalogue::{Catalogue, ItemQuery}, mcp::McpConnector};
/// use tool_mcp::client::{McpToolSet, Process, ServerConfig};
/// use tool_runtime::RunContext;
///
/// # async fn example() -> anyhow::Result<()> {
/// let process = Process::new("npx").args(["-y", "@modelcontextprotocol/server-everything"]);
/// let server = McpToolSet::builder(ServerConfig::new("everything", process));
/// let catalogue = Catalogue::new();
/// catalogue.connect(McpConnector::connect(server).await?)?;
/// for item in catalogue.snapshot(&Arc::new(RunContext::new())).await?.list(&ItemQuery::all()).items {
///     println!("{}", item.key());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct McpConnector {
    set: McpToolSet,
    lists: Arc<ServerLists>,
}

/// The lists of a server, as far as they are known.
#[derive(Default)]
struct ServerLists {
    /// The number of changes of any list.
    version: AtomicU64,
    prompts: KeptList<dyn Prompt>,
    resources: KeptList<dyn ReadableResource>,
    notifiers: Mutex<Vec<ConnectorNotifier>>,
}

/// A list, and the version at which it was made.
struct KeptList<T: ?Sized>(Mutex<Option<(u64, Vec<Arc<T>>)>>);

impl McpConnector {
    /// Connects to a server. Its [`on_change`](McpToolSetBuilder::on_change) is set by the connector.
    ///
    /// # Errors
    ///
    /// As [`McpToolSetBuilder::connect`].
    pub async fn connect(server: McpToolSetBuilder) -> Result<Self, ClientError> {
        let lists = Arc::<ServerLists>::default();
        let set = with_change_listener(server, &lists).connect().await?;
        Ok(Self { set, lists })
    }

    /// Creates the connector of a server that is connected when it is first listed or called.
    #[must_use]
    pub fn lazy(server: McpToolSetBuilder) -> Self {
        let lists = Arc::<ServerLists>::default();
        Self { set: with_change_listener(server, &lists).lazy(), lists }
    }

    /// Returns the server, to subscribe to its resources, and to close it.
    #[must_use]
    pub fn server(&self) -> &McpToolSet {
        &self.set
    }

    async fn capabilities(&self) -> Result<model::ServerCapabilities, ToolError> {
        self.set.server_info().await.map(|info| info.capabilities).map_err(ToolError::from)
    }

    async fn list_prompts(&self) -> Result<Vec<Arc<dyn Prompt>>, ToolError> {
        if self.capabilities().await?.prompts.is_none() {
            return Ok(Vec::new());
        }
        let listed = self.set.list_prompts().await?.into_iter();
        let prompts = listed.filter_map(|prompt| ServerPrompt::of_listed(prompt, &self.set));
        Ok(prompts.map(|prompt| Arc::new(prompt) as Arc<dyn Prompt>).collect())
    }

    async fn list_resources(&self) -> Result<Vec<Arc<dyn ReadableResource>>, ToolError> {
        if self.capabilities().await?.resources.is_none() {
            return Ok(Vec::new());
        }
        let listed = self.set.list_resources().await?.into_iter();
        let resources = listed.filter_map(|resource| ServerResource::of_listed(resource, &self.set));
        Ok(resources.map(|resource| Arc::new(resource) as Arc<dyn ReadableResource>).collect())
    }
}

fn with_change_listener(server: McpToolSetBuilder, lists: &Arc<ServerLists>) -> McpToolSetBuilder {
    let lists = Arc::clone(lists);
    server.on_change(move |change| lists.announce(change))
}

impl ServerLists {
    fn announce(&self, change: ServerChange) {
        let changes = match change {
            // Another connection is announced by this, too: its other lists may differ.
            ServerChange::Tools => vec![CatalogueChange::Prompts, CatalogueChange::Resources],
            ServerChange::Prompts => vec![CatalogueChange::Prompts],
            ServerChange::Resources => vec![CatalogueChange::Resources],
            ServerChange::Resource { uri } => vec![CatalogueChange::Resource { uri }],
            _ => Vec::new(),
        };
        self.version.fetch_add(1, Ordering::AcqRel);
        let notifiers = self.notifiers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for change in changes {
            notifiers.iter().for_each(|notifier| notifier.announce(change.clone()));
        }
    }
}

impl<T: ?Sized> KeptList<T> {
    /// Returns the list of this version, if it is kept.
    fn list_of_version(&self, version: u64) -> Option<Vec<Arc<T>>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|(made_at, _)| *made_at == version).map(|(_, list)| list.clone())
    }

    fn keep(&self, version: u64, list: &[Arc<T>]) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((version, list.to_vec()));
    }
}

impl<T: ?Sized> Default for KeptList<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl Connector for McpConnector {
    fn namespace(&self) -> &str {
        ToolSet::name(&self.set)
    }

    fn toolset(&self) -> Option<Arc<dyn ToolSet>> {
        Some(Arc::new(self.set.clone()))
    }

    fn prompts<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Prompt>>, ToolError>> {
        Box::pin(async move {
            let version = self.lists.version.load(Ordering::Acquire);
            if let Some(list) = self.lists.prompts.list_of_version(version) {
                return Ok(list);
            }
            let list = self.list_prompts().await?;
            self.lists.prompts.keep(version, &list);
            Ok(list)
        })
    }

    fn resources<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn ReadableResource>>, ToolError>> {
        Box::pin(async move {
            let version = self.lists.version.load(Ordering::Acquire);
            if let Some(list) = self.lists.resources.list_of_version(version) {
                return Ok(list);
            }
            let list = self.list_resources().await?;
            self.lists.resources.keep(version, &list);
            Ok(list)
        })
    }

    fn attached(&self, notifier: ConnectorNotifier) {
        self.lists.notifiers.lock().unwrap_or_else(PoisonError::into_inner).push(notifier);
    }
}

impl fmt::Debug for ServerLists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerLists").field("version", &self.version).finish_non_exhaustive()
    }
}

/// A prompt of a server.
struct ServerPrompt {
    definition: PromptDefinition,
    set: McpToolSet,
}

impl ServerPrompt {
    fn of_listed(listed: model::Prompt, set: &McpToolSet) -> Option<Self> {
        let mut definition = PromptDefinition::new(listed.name).ok()?;
        if let Some(title) = listed.title.filter(|title| !title.trim().is_empty()) {
            definition = definition.with_heading(&title);
        }
        if let Some(description) = listed.description {
            definition = definition.with_description(description);
        }
        let arguments = listed.arguments.unwrap_or_default();
        let required: Vec<_> =
            arguments.iter().filter(|it| it.required == Some(true)).map(|it| it.name.clone()).collect();
        let properties: Map<String, Value> = arguments
            .into_iter()
            .map(|argument| {
                let description = argument.description.or(argument.title);
                let property = match description {
                    Some(description) => json!({ "type": "string", "description": description }),
                    None => json!({ "type": "string" }),
                };
                (argument.name, property)
            })
            .collect();
        let input = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        });
        let definition = definition.with_input(input).ok()?;
        Some(Self { definition, set: set.clone() })
    }

    async fn request_messages(&self, input: &Value) -> Result<RenderedPrompt, ToolError> {
        self.definition.check_input(input)?;
        let arguments = input.as_object().cloned().unwrap_or_default();
        let messages = self.set.prompt_contents(self.definition.name(), arguments).await?;
        Ok(RenderedPrompt::new(messages.into_iter().map(|(role, content)| {
            let role = match role {
                model::Role::Assistant => PromptRole::Assistant,
                _ => PromptRole::User,
            };
            PromptMessage::new(role, content)
        })))
    }
}

impl Prompt for ServerPrompt {
    fn definition(&self) -> &PromptDefinition {
        &self.definition
    }

    fn render<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        input: &'a Value,
    ) -> BoxFuture<'a, Result<RenderedPrompt, ToolError>> {
        Box::pin(self.request_messages(input))
    }
}

/// A resource of a server.
struct ServerResource {
    uri: ResourceUri,
    listed: model::Resource,
    set: McpToolSet,
}

impl ServerResource {
    fn of_listed(listed: model::Resource, set: &McpToolSet) -> Option<Self> {
        let uri = ResourceUri::parse(&listed.uri).ok()?;
        Some(Self { uri, listed, set: set.clone() })
    }

    /// Returns the document of the URI, or else the first one.
    async fn request_document(&self) -> Result<output::Resource, ToolError> {
        let mut documents = Vec::new();
        let mut problem = None;
        for content in self.set.resource_contents(self.uri.as_str()).await? {
            match content {
                Content::Resource { resource } => documents.push(resource),
                other => problem = other.as_text().map(str::to_owned),
            }
        }
        let place = documents.iter().position(|it| it.uri == self.uri.as_str()).unwrap_or(0);
        if place < documents.len() {
            return Ok(documents.swap_remove(place));
        }
        let problem = problem.unwrap_or_else(|| "the server sent no document".to_owned());
        Err(ToolError::failed(format!("the resource `{}` cannot be read: {problem}", self.uri)))
    }
}

impl ReadableResource for ServerResource {
    fn uri(&self) -> &ResourceUri {
        &self.uri
    }

    fn name(&self) -> &str {
        &self.listed.name
    }

    fn description(&self) -> Option<&str> {
        self.listed.description.as_deref()
    }

    fn mime_type(&self) -> &str {
        self.listed.mime_type.as_deref().unwrap_or_default()
    }

    fn read<'a>(&'a self, _: &'a Arc<RunContext>) -> BoxFuture<'a, Result<output::Resource, ToolError>> {
        Box::pin(self.request_document())
    }
}
