//! Resources from a function of the program.

use std::{fmt, sync::Arc};

use tool_runtime::{
    BoxFuture, RunContext, ToolError,
    output::{self, ResourceBody},
};

use super::{ReadableResource, ResourceError, ResourceUri};
use crate::names::check_name;

/// A resource whose content a function returns, each time anew: the result of [`live`].
pub struct LiveResource<F> {
    uri: ResourceUri,
    name: String,
    read: F,
}

/// Creates a resource whose content `read` returns, each time anew. Text has the type `text/plain`.
///
/// # Errors
///
/// Returns an error if the URI is not absolute, or the name is no identifier.
///
/// # Examples
///
/// ```
/// use tool_kit::resource::live;
/// use tool_runtime::output::ResourceBody;
///
/// let clock = live("clock://now", "now", |_| async { Ok(ResourceBody::Text("12:00".to_owned())) })?;
/// # Ok::<(), tool_kit::resource::ResourceError>(())
/// ```
pub fn live<F, R>(uri: &str, name: impl Into<String>, read: F) -> Result<LiveResource<F>, ResourceError>
where
    F: Fn(Arc<RunContext>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<ResourceBody, ToolError>> + Send + 'static,
{
    let name = name.into();
    check_name("resource", &name).map_err(ResourceError::new)?;
    Ok(LiveResource { uri: ResourceUri::parse(uri)?, name, read })
}

impl<F> fmt::Debug for LiveResource<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveResource")
            .field("uri", &self.uri)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl<F, R> ReadableResource for LiveResource<F>
where
    F: Fn(Arc<RunContext>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<ResourceBody, ToolError>> + Send + 'static,
{
    fn uri(&self) -> &ResourceUri {
        &self.uri
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn read<'a>(&'a self, run: &'a Arc<RunContext>) -> BoxFuture<'a, Result<output::Resource, ToolError>> {
        Box::pin(async move {
            let body = (self.read)(Arc::clone(run)).await?;
            let mime_type = match &body {
                ResourceBody::Text(_) => "text/plain",
                ResourceBody::Blob(_) => "application/octet-stream",
            };
            Ok(output::Resource { uri: self.uri.to_string(), mime_type: mime_type.to_owned(), body })
        })
    }
}
