//! Resources in memory.

use std::{collections::BTreeMap, fmt, sync::Arc};

use rmcp::model::{Resource, ResourceTemplate};
use tool_runtime::{
    BoxFuture, RunContext, ToolError,
    output::{self, Blob, ResourceBody},
};

use super::{
    ChangeSignal, Completing, Page, Paging, Resources, TemplateError,
    collection::{Collection, unknown_item_error},
    template::UriTemplate,
};

type Read = dyn Fn(Arc<RunContext>) -> BoxFuture<'static, Result<ReadContent, ToolError>> + Send + Sync;
type ReadTemplate = dyn Fn(Arc<RunContext>, BTreeMap<String, String>) -> BoxFuture<'static, Result<ReadContent, ToolError>>
    + Send
    + Sync;
type ResourceReading = Box<dyn FnOnce() -> BoxFuture<'static, Result<ReadContent, ToolError>> + Send>;

/// Content that was read. Its own type counts more than the listed one.
struct ReadContent {
    mime_type: Option<String>,
    body: ResourceBody,
}

impl From<ResourceBody> for ReadContent {
    fn from(body: ResourceBody) -> Self {
        Self { mime_type: None, body }
    }
}

impl From<output::Resource> for ReadContent {
    fn from(document: output::Resource) -> Self {
        let output::Resource { mime_type, body, .. } = document;
        Self { mime_type: Some(mime_type).filter(|it| !it.is_empty()), body }
    }
}

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
#[derive(Clone)]
pub struct ResourceSet {
    resources: Collection<(Resource, Arc<Read>)>,
    templates: Collection<Offered>,
}

struct Offered {
    template: ResourceTemplate,
    matcher: UriTemplate,
    read: Arc<ReadTemplate>,
}

impl Default for ResourceSet {
    fn default() -> Self {
        let resources = Collection::default();
        let templates = Collection::with_changes(resources.changes.clone());
        Self { resources, templates }
    }
}

impl fmt::Debug for ResourceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.resources.keys()).finish()
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

    /// Adds a described resource, such as a file, with its content: text, if the bytes are UTF-8 without NUL, or else bytes. One of the
    /// same URI is replaced.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_mcp::{rmcp::model::Resource, server::ResourceSet};
    ///
    /// let set = ResourceSet::new().content(Resource::new("file:///a.txt", "a.txt"), b"a text");
    /// ```
    #[must_use]
    pub fn content(self, resource: Resource, content: impl Into<Vec<u8>>) -> Self {
        let body = match String::from_utf8(content.into()) {
            Ok(text) if text.contains('\0') => ResourceBody::Blob(Blob(text.into_bytes())),
            Ok(text) => ResourceBody::Text(text),
            Err(error) => ResourceBody::Blob(Blob(error.into_bytes())),
        };
        self.body(resource, body)
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
        self.insert_resource(resource, move |run| {
            let reading = read(run);
            async move { Ok(reading.await?.into()) }
        })
    }

    /// Adds a resource whose document `read` returns, each time anew, with the type of its content. One of the same URI is replaced.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_mcp::{rmcp::model, server::ResourceSet};
    /// use tool_runtime::output::{Resource, ResourceBody};
    ///
    /// let resources = ResourceSet::new().document(model::Resource::new("chart://now", "chart"), |_| async {
    ///     let body = ResourceBody::Text("<svg/>".to_owned());
    ///     Ok(Resource { uri: "chart://now".to_owned(), mime_type: "image/svg+xml".to_owned(), body })
    /// });
    /// # drop(resources);
    /// ```
    #[must_use]
    pub fn document<F>(
        self,
        resource: Resource,
        read: impl Fn(Arc<RunContext>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<output::Resource, ToolError>> + Send + 'static,
    {
        self.insert_resource(resource, move |run| {
            let reading = read(run);
            async move { Ok(reading.await?.into()) }
        })
    }

    fn insert_resource<F>(
        self,
        resource: Resource,
        read: impl Fn(Arc<RunContext>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<ReadContent, ToolError>> + Send + 'static,
    {
        let read: Arc<Read> = Arc::new(move |run| Box::pin(read(run)));
        let before = self.resources.insert(resource.uri.clone(), (resource.clone(), read));
        let changes = &self.resources.changes;
        match before {
            Some((before, _)) if before == resource => changes.updated(resource.uri),
            Some(_) => {
                changes.list_changed();
                changes.updated(resource.uri);
            }
            None => changes.list_changed(),
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
        self.insert_template(template, move |run, variables| {
            let reading = read(run, variables);
            async move { Ok(reading.await?.into()) }
        })
    }

    /// Adds resources as [`template`](Self::template); `read` returns documents, with the types of their contents.
    ///
    /// # Errors
    ///
    /// As [`template`](Self::template).
    pub fn template_document<F>(
        self,
        template: ResourceTemplate,
        read: impl Fn(Arc<RunContext>, BTreeMap<String, String>) -> F + Send + Sync + 'static,
    ) -> Result<Self, TemplateError>
    where
        F: Future<Output = Result<output::Resource, ToolError>> + Send + 'static,
    {
        self.insert_template(template, move |run, variables| {
            let reading = read(run, variables);
            async move { Ok(reading.await?.into()) }
        })
    }

    fn insert_template<F>(
        self,
        template: ResourceTemplate,
        read: impl Fn(Arc<RunContext>, BTreeMap<String, String>) -> F + Send + Sync + 'static,
    ) -> Result<Self, TemplateError>
    where
        F: Future<Output = Result<ReadContent, ToolError>> + Send + 'static,
    {
        let matcher = UriTemplate::parse(&template.uri_template)?;
        let read: Arc<ReadTemplate> = Arc::new(move |run, variables| Box::pin(read(run, variables)));
        self.templates.insert(template.uri_template.clone(), Offered { template, matcher, read });
        self.templates.changes.list_changed();
        Ok(self)
    }

    /// Sets the candidates for the variables of the template that was added last.
    #[must_use]
    pub fn complete(
        self,
        complete: impl Fn(&RunContext, Completing<'_>) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.templates.set_completion_of_last(complete);
        self
    }

    /// Removes a resource. Returns `false` if there is none.
    pub fn remove(&self, uri: &str) -> bool {
        self.resources.remove(uri)
    }

    /// Tells the clients that subscribed to `uri` that its content has changed.
    pub fn updated(&self, uri: impl Into<String>) {
        self.resources.changes.updated(uri);
    }

    /// The reader of `uri`, and the type of its content.
    fn resource_reader(&self, run: &Arc<RunContext>, uri: &str) -> Option<(Option<String>, ResourceReading)> {
        let run = Arc::clone(run);
        let resource =
            self.resources.get(uri, |(resource, read)| (resource.mime_type.clone(), Arc::clone(read)));
        if let Some((mime_type, read)) = resource {
            return Some((mime_type, Box::new(move || read(run))));
        }
        let (mime_type, read, variables) = self.templates.find(|it| {
            let variables = it.matcher.matched_variables(uri)?;
            Some((it.template.mime_type.clone(), Arc::clone(&it.read), variables))
        })?;
        Some((mime_type, Box::new(move || read(run, variables))))
    }
}

impl Resources for ResourceSet {
    fn list<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        page: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<Resource>, ToolError>> {
        let page = self.resources.page(page, |(resource, _)| resource.clone(), |resource| &resource.uri);
        Box::pin(std::future::ready(Ok(page)))
    }

    fn templates<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        page: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<ResourceTemplate>, ToolError>> {
        let page = self.templates.page(page, |it| it.template.clone(), |template| &template.uri_template);
        Box::pin(std::future::ready(Ok(page)))
    }

    fn read<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Vec<output::Resource>, ToolError>> {
        Box::pin(async move {
            let reading = self.resource_reader(run, uri);
            let (mime_type, read) =
                reading.ok_or_else(|| ToolError::not_found(format!("there is no resource `{uri}`")))?;
            let ReadContent { mime_type: own_type, body } = read().await?;
            let mime_type = own_type.or(mime_type).unwrap_or_else(|| match &body {
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
            match self.templates.candidates(run, completing) {
                Some(candidates) => Ok(candidates),
                None if self.resources.contains(completing.of) => Ok(Vec::new()),
                None => Err(unknown_item_error("template", completing)),
            }
        })
    }

    fn completes(&self) -> bool {
        self.templates.completes()
    }

    fn changes(&self) -> Option<&ChangeSignal> {
        Some(&self.resources.changes)
    }
}

#[cfg(test)]
mod tests;
