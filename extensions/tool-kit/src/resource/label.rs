//! A resource under another URI, or with another description.

use std::sync::Arc;

use tool_runtime::{BoxFuture, RunContext, ToolError, output};

use super::{ReadableResource, ResourceUri};

/// A resource under another URI or with another description: the result of [`with_uri`](ReadableResource::with_uri) and
/// [`with_description`](ReadableResource::with_description).
#[derive(Debug, Clone)]
pub struct LabelledResource<R> {
    resource: R,
    uri: Option<ResourceUri>,
    description: Option<String>,
}

impl<R> LabelledResource<R> {
    pub(super) fn new(resource: R) -> Self {
        Self { resource, uri: None, description: None }
    }

    pub(super) fn replace_uri(self, uri: ResourceUri) -> Self {
        Self { uri: Some(uri), ..self }
    }

    pub(super) fn replace_description(self, description: String) -> Self {
        Self { description: Some(description), ..self }
    }
}

impl<R: ReadableResource> ReadableResource for LabelledResource<R> {
    fn uri(&self) -> &ResourceUri {
        self.uri.as_ref().unwrap_or_else(|| self.resource.uri())
    }

    fn name(&self) -> &str {
        self.resource.name()
    }

    fn description(&self) -> Option<&str> {
        self.description.as_deref().or_else(|| self.resource.description())
    }

    fn mime_type(&self) -> &str {
        self.resource.mime_type()
    }

    fn read<'a>(&'a self, run: &'a Arc<RunContext>) -> BoxFuture<'a, Result<output::Resource, ToolError>> {
        Box::pin(async move {
            let mut content = self.resource.read(run).await?;
            if let Some(uri) = &self.uri {
                content.uri = uri.to_string();
            }
            Ok(content)
        })
    }

    fn subscribe(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        self.resource.subscribe()
    }
}
