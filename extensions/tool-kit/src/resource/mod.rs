//! Resources: readable objects with a URI.

mod content;
mod file;
mod label;
mod live;
mod stored;
mod template;
mod uri;
mod uri_template;

use std::{error::Error, fmt, sync::Arc};

use tool_runtime::{BoxFuture, RunContext, ToolError, output};

pub(crate) use self::{content::detect_content, template::MatchedResource};
pub use self::{
    file::FileResource,
    label::LabelledResource,
    live::{LiveResource, live},
    stored::StoredResource,
    template::ResourceTemplate,
    uri::ResourceUri,
    uri_template::UriTemplate,
};

/// A readable object with a URI. [`StoredResource`] has its content in memory; [`FileResource`], [`live`] and functions with
/// [`#[resource]`](macro@crate::resource) read it each time anew.
///
/// Its content is an [`output::Resource`], the value that tools return and MCP servers send.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tool_kit::resource::{ReadableResource, StoredResource};
/// use tool_runtime::{RunContext, output::ResourceBody};
///
/// # #[tokio::main] async fn main() -> anyhow::Result<()> {
/// let notes = StoredResource::text("notes", "Buy milk.")?.with_uri("notes://today")?.with_description("Of today.");
/// let read = notes.read(&Arc::new(RunContext::new())).await?;
/// assert_eq!((&*read.uri, read.body), ("notes://today", ResourceBody::Text("Buy milk.".to_owned())));
/// # Ok(())
/// # }
/// ```
pub trait ReadableResource: Send + Sync + 'static {
    /// Returns the absolute URI.
    fn uri(&self) -> &ResourceUri;

    /// Returns the name: an identifier, unless the resource is of another program.
    fn name(&self) -> &str;

    /// Returns the description. Default: none.
    fn description(&self) -> Option<&str> {
        None
    }

    /// Returns the MIME type of the content; empty if it is known only when it is read. Default: empty.
    fn mime_type(&self) -> &str {
        ""
    }

    /// Reads the content.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    fn read<'a>(&'a self, run: &'a Arc<RunContext>) -> BoxFuture<'a, Result<output::Resource, ToolError>>;

    /// Asks the origin to announce changes of the content: the [events](crate::catalogue::Catalogue::subscribe) of the catalogue have them then, for
    /// as long as the connection to the origin holds. Default: there is nothing to ask.
    ///
    /// # Errors
    ///
    /// Returns an error if the origin announces no changes of it.
    fn subscribe(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns the resource under another URI. All else stays.
    ///
    /// # Errors
    ///
    /// Returns an error if the URI is not absolute.
    fn with_uri(self, uri: &str) -> Result<LabelledResource<Self>, ResourceError>
    where
        Self: Sized,
    {
        Ok(LabelledResource::new(self).replace_uri(ResourceUri::parse(uri)?))
    }

    /// Returns the resource with another description. All else stays.
    fn with_description(self, description: impl Into<String>) -> LabelledResource<Self>
    where
        Self: Sized,
    {
        LabelledResource::new(self).replace_description(description.into())
    }
}

impl<R: ReadableResource + ?Sized> ReadableResource for Arc<R> {
    fn uri(&self) -> &ResourceUri {
        (**self).uri()
    }

    fn name(&self) -> &str {
        (**self).name()
    }

    fn description(&self) -> Option<&str> {
        (**self).description()
    }

    fn mime_type(&self) -> &str {
        (**self).mime_type()
    }

    fn read<'a>(&'a self, run: &'a Arc<RunContext>) -> BoxFuture<'a, Result<output::Resource, ToolError>> {
        (**self).read(run)
    }

    fn subscribe(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        (**self).subscribe()
    }
}

/// A problem of a resource, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceError(String);

impl ResourceError {
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}

impl fmt::Display for ResourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for ResourceError {}
