//! Resources whose content is in memory.

use std::{io::Read, sync::Arc};

use serde::Serialize;
use tool_runtime::{
    BoxFuture, RunContext, ToolError,
    output::{self, ResourceBody},
    serde_json,
};

use super::{ReadableResource, ResourceError, ResourceUri, content::detect_content};
use crate::names::check_name;

/// A resource whose content is in memory.
///
/// Its URI is `text:`, `json:` or `data:` and its name, unless [`with_uri`](ReadableResource::with_uri) sets another one.
///
/// # Examples
///
/// ```
/// use tool_kit::resource::{ReadableResource, StoredResource};
/// use tool_runtime::prelude::*;
///
/// let limits = StoredResource::json("limits", &json!({ "days": 14 }))?;
/// assert_eq!((limits.uri().as_str(), limits.mime_type()), ("json:limits", "application/json"));
/// let photo = StoredResource::data("photo", b"\x89PNG\r\n\x1a\n")?;
/// assert_eq!((photo.uri().as_str(), photo.mime_type()), ("data:photo", "image/png"));
/// # Ok::<(), tool_kit::resource::ResourceError>(())
/// ```
#[derive(Debug, Clone)]
pub struct StoredResource {
    uri: ResourceUri,
    name: String,
    mime_type: String,
    body: ResourceBody,
}

impl StoredResource {
    /// The maximum length of what [`read_from`](Self::read_from) reads, in bytes.
    pub const MAX_READ_BYTES: usize = 64 << 20;

    /// Creates a text of the type `text/plain`.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is no identifier.
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Result<Self, ResourceError> {
        Self::new("text", name.into(), "text/plain".to_owned(), ResourceBody::Text(text.into()))
    }

    /// Creates the JSON text of a value.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is no identifier, or the value has no JSON text.
    pub fn json(name: impl Into<String>, value: &(impl Serialize + ?Sized)) -> Result<Self, ResourceError> {
        let text = serde_json::to_string(value)
            .map_err(|error| ResourceError::new(format!("the value cannot be written as JSON: {error}")))?;
        Self::new("json", name.into(), "application/json".to_owned(), ResourceBody::Text(text))
    }

    /// Creates a resource of bytes, whose type is detected. Text in UTF-8, UTF-16 or Windows-1252 becomes text in UTF-8.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is no identifier.
    pub fn data(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Result<Self, ResourceError> {
        Self::from_bytes(name.into(), bytes.into(), None)
    }

    /// Creates a resource of what `reader` has, at most 64 MiB, as [`data`](Self::data). Of the name of the reader's file, such as
    /// `report.csv`, the extension tells the type of a text, and of other content that has no mark.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is no identifier, or `reader` fails or has more.
    pub fn read_from(
        name: impl Into<String>,
        file_name: Option<&str>,
        reader: impl Read,
    ) -> Result<Self, ResourceError> {
        let mut bytes = Vec::new();
        let limit = Self::MAX_READ_BYTES as u64 + 1;
        let failed = |error| ResourceError::new(format!("the resource cannot be read: {error}"));
        reader.take(limit).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() > Self::MAX_READ_BYTES {
            let problem = format!(
                "the resource exceeds {} bytes; use a `FileResource`, which is read when it is needed",
                Self::MAX_READ_BYTES
            );
            return Err(ResourceError::new(problem));
        }
        Self::from_bytes(name.into(), bytes, file_name)
    }

    /// Creates a text, as [`text`](Self::text).
    ///
    /// # Panics
    ///
    /// Panics if the name is no identifier. For names that are written in the program.
    #[must_use]
    pub fn must_text(name: &str, text: impl Into<String>) -> Self {
        unwrap_resource(Self::text(name, text))
    }

    /// Creates the JSON text of a value, as [`json`](Self::json).
    ///
    /// # Panics
    ///
    /// Panics if the name is no identifier, or the value has no JSON text.
    #[must_use]
    pub fn must_json(name: &str, value: &(impl Serialize + ?Sized)) -> Self {
        unwrap_resource(Self::json(name, value))
    }

    /// Creates a resource of bytes, as [`data`](Self::data).
    ///
    /// # Panics
    ///
    /// Panics if the name is no identifier.
    #[must_use]
    pub fn must_data(name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        unwrap_resource(Self::data(name, bytes))
    }

    fn from_bytes(name: String, bytes: Vec<u8>, file_name: Option<&str>) -> Result<Self, ResourceError> {
        let content = detect_content(bytes, file_name);
        Self::new("data", name, content.mime_type, content.body)
    }

    fn new(scheme: &str, name: String, mime_type: String, body: ResourceBody) -> Result<Self, ResourceError> {
        check_name("resource", &name).map_err(ResourceError::new)?;
        let uri = ResourceUri::parse(&format!("{scheme}:{name}"))?;
        Ok(Self { uri, name, mime_type, body })
    }
}

#[expect(clippy::panic, reason = "the documentation says so")]
fn unwrap_resource(resource: Result<StoredResource, ResourceError>) -> StoredResource {
    match resource {
        Ok(resource) => resource,
        Err(error) => panic!("{error}"),
    }
}

impl ReadableResource for StoredResource {
    fn uri(&self) -> &ResourceUri {
        &self.uri
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn mime_type(&self) -> &str {
        &self.mime_type
    }

    fn read<'a>(&'a self, _: &'a Arc<RunContext>) -> BoxFuture<'a, Result<output::Resource, ToolError>> {
        let (uri, mime_type, body) = (self.uri.to_string(), self.mime_type.clone(), self.body.clone());
        Box::pin(async move { Ok(output::Resource { uri, mime_type, body }) })
    }
}
