//! Resources in memory.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rmcp::model::{Resource, ResourceTemplate};
use tool_runtime::{
    BoxFuture, RunContext, ToolError,
    output::{self, Blob, ResourceBody},
};

use super::{ChangeSignal, Completing, Page, Paging, Resources, TemplateError, template::Template};

type Read = dyn Fn(Arc<RunContext>) -> BoxFuture<'static, Result<ResourceBody, ToolError>> + Send + Sync;
type ReadTemplate = dyn Fn(Arc<RunContext>, BTreeMap<String, String>) -> BoxFuture<'static, Result<ResourceBody, ToolError>>
    + Send
    + Sync;
type Reading = Box<dyn FnOnce() -> BoxFuture<'static, Result<ResourceBody, ToolError>> + Send>;
type Complete = dyn Fn(&RunContext, Completing<'_>) -> Vec<String> + Send + Sync;

/// [`Resources`] in memory: texts, bytes, and closures. Clones are the same set; changes reach the clients.
///
/// # Examples
///
/// ```
/// use tool_mcp::{
///     rmcp::model::ResourceTemplate,
///     server::{McpServer, ResourceSet},
/// };
/// use tool_runtime::{Registry, output::ResourceBody};
///
/// # fn example() -> anyhow::Result<()> {
/// let resources = ResourceSet::new()
///     .text("notes://today", "today", "Buy milk.")
///     .template(ResourceTemplate::new("notes://{day}", "day"), |_, variables| async move {
///         Ok(ResourceBody::Text(format!("Nothing on {}.", variables["day"])))
///     })?;
/// let server = McpServer::new(Registry::discover()?).resources(resources.clone());
/// // Later: the clients that subscribed to it receive `notifications/resources/updated`.
/// let resources = resources.text("notes://today", "today", "Buy milk and eggs.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct ResourceSet {
    items: Arc<Mutex<Items>>,
    changes: ChangeSignal,
}

#[derive(Default)]
struct Items {
    resources: BTreeMap<String, (Resource, Arc<Read>)>,
    templates: Vec<Offered>,
}

struct Offered {
    template: ResourceTemplate,
    matcher: Template,
    read: Arc<ReadTemplate>,
    complete: Option<Arc<Complete>>,
}

impl fmt::Debug for ResourceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.items().resources.keys()).finish()
    }
}

impl ResourceSet {
    /// Creates an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text, of the type `text/plain`.
    #[must_use]
    pub fn text(self, uri: impl Into<String>, name: impl Into<String>, text: impl Into<String>) -> Self {
        let body = ResourceBody::Text(text.into());
        self.body(Resource::new(uri, name).with_mime_type("text/plain"), body)
    }

    /// Adds bytes of the type `mime_type`.
    #[must_use]
    pub fn bytes(
        self,
        uri: impl Into<String>,
        name: impl Into<String>,
        mime_type: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
    ) -> Self {
        let body = ResourceBody::Blob(Blob(bytes.into()));
        self.body(Resource::new(uri, name).with_mime_type(mime_type), body)
    }

    /// Adds a described resource with its content. One of the same URI is replaced.
    #[must_use]
    pub fn body(self, resource: Resource, body: ResourceBody) -> Self {
        self.dynamic(resource, move |_| {
            let body = body.clone();
            async move { Ok(body) }
        })
    }

    /// Adds a resource whose content `read` returns, each time anew. One of the same URI is replaced.
    #[must_use]
    pub fn dynamic<F>(
        self,
        resource: Resource,
        read: impl Fn(Arc<RunContext>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<ResourceBody, ToolError>> + Send + 'static,
    {
        let read: Arc<Read> = Arc::new(move |run| Box::pin(read(run)));
        let before = self.items().resources.insert(resource.uri.clone(), (resource.clone(), read));
        match before {
            Some((before, _)) if before == resource => self.changes.updated(resource.uri),
            Some(_) => {
                self.changes.list_changed();
                self.changes.updated(resource.uri);
            }
            None => self.changes.list_changed(),
        }
        self
    }

    /// Adds the resources whose URIs have the form of `template`, with the variables `{name}`, whose values have no slash, and
    /// `{+name}`. `read` receives the values of the variables, decoded. A URI with a value that has the segment `..`, a NUL, or,
    /// for `{name}`, a slash or backslash in any notation does not have the form.
    ///
    /// # Errors
    ///
    /// If the template has variables of another form.
    pub fn template<F>(
        self,
        template: ResourceTemplate,
        read: impl Fn(Arc<RunContext>, BTreeMap<String, String>) -> F + Send + Sync + 'static,
    ) -> Result<Self, TemplateError>
    where
        F: Future<Output = Result<ResourceBody, ToolError>> + Send + 'static,
    {
        let matcher = Template::parse(&template.uri_template)?;
        let read: Arc<ReadTemplate> = Arc::new(move |run, variables| Box::pin(read(run, variables)));
        let mut items = self.items();
        items.templates.retain(|it| it.template.uri_template != template.uri_template);
        items.templates.push(Offered { template, matcher, read, complete: None });
        drop(items);
        self.changes.list_changed();
        Ok(self)
    }

    /// Sets the candidates for the variables of the template that was added last.
    #[must_use]
    pub fn complete(
        self,
        complete: impl Fn(&RunContext, Completing<'_>) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        if let Some(template) = self.items().templates.last_mut() {
            template.complete = Some(Arc::new(complete));
        }
        self
    }

    /// Removes a resource. Returns `false` if there is none.
    pub fn remove(&self, uri: &str) -> bool {
        let is_removed = self.items().resources.remove(uri).is_some();
        if is_removed {
            self.changes.list_changed();
        }
        is_removed
    }

    /// Tells the clients that subscribed to `uri` that its content has changed.
    pub fn updated(&self, uri: impl Into<String>) {
        self.changes.updated(uri);
    }

    fn items(&self) -> MutexGuard<'_, Items> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reader of `uri`, and the type of its content.
    fn reading(&self, run: &Arc<RunContext>, uri: &str) -> Option<(Option<String>, Reading)> {
        let run = Arc::clone(run);
        let items = self.items();
        if let Some((resource, read)) = items.resources.get(uri) {
            let read = Arc::clone(read);
            return Some((resource.mime_type.clone(), Box::new(move || read(run))));
        }
        let found = items.templates.iter().find_map(|it| Some((it, it.matcher.matches(uri)?)));
        let (template, variables) = found?;
        let read = Arc::clone(&template.read);
        Some((template.template.mime_type.clone(), Box::new(move || read(run, variables))))
    }
}

impl Resources for ResourceSet {
    fn list<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        page: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<Resource>, ToolError>> {
        let items: Vec<_> = self.items().resources.values().map(|(resource, _)| resource.clone()).collect();
        Box::pin(async move { Ok(page.of(items, |item| &item.uri)) })
    }

    fn templates<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        page: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<ResourceTemplate>, ToolError>> {
        let items: Vec<_> = self.items().templates.iter().map(|it| it.template.clone()).collect();
        Box::pin(async move { Ok(page.of(items, |item| &item.uri_template)) })
    }

    fn read<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Vec<output::Resource>, ToolError>> {
        Box::pin(async move {
            let reading = self.reading(run, uri);
            let (mime_type, read) =
                reading.ok_or_else(|| ToolError::not_found(format!("there is no resource `{uri}`")))?;
            let body = read().await?;
            let mime_type = mime_type.unwrap_or_else(|| match &body {
                ResourceBody::Text(_) => "text/plain".to_owned(),
                ResourceBody::Blob(_) => "application/octet-stream".to_owned(),
            });
            Ok(vec![output::Resource { uri: uri.to_owned(), mime_type, body }])
        })
    }

    fn complete<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        completing: Completing<'a>,
    ) -> BoxFuture<'a, Result<Vec<String>, ToolError>> {
        Box::pin(async move {
            let complete = {
                let items = self.items();
                let template = items.templates.iter().find(|it| it.template.uri_template == completing.of);
                match template {
                    Some(template) => template.complete.clone(),
                    None if items.resources.contains_key(completing.of) => None,
                    None => {
                        let message = format!("there is no template `{}`", completing.of);
                        return Err(ToolError::bad_parameter(message));
                    }
                }
            };
            Ok(complete.map(|complete| complete(run, completing)).unwrap_or_default())
        })
    }

    fn completes(&self) -> bool {
        self.items().templates.iter().any(|it| it.complete.is_some())
    }

    fn changes(&self) -> Option<&ChangeSignal> {
        Some(&self.changes)
    }
}
