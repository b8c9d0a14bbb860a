//! OpenAPI documents: reading, versions, and references.
//!
//! A document stays a [`Value`]: real documents break every typed model of the specification, and one mistake in one operation
//! must not cost the others. References are resolved inside the document, and in other files only below a folder that the
//! program names; never over the network.

mod fetch;
mod files;
mod parse;
mod reference;
mod swagger;

use std::{
    fmt,
    path::{Path, PathBuf},
};

use reqwest::Url;
use serde_json::Value;

pub use self::fetch::Fetch;
pub(crate) use self::reference::{DocumentPlace, Documents};
use self::reference::{UnresolvedReference, pointer_token};
use crate::{OpenApiError, OpenApiErrorKind};

/// An OpenAPI document, read but not yet imported.
///
/// Versions 3.0, 3.1 and 3.2 are read as they are, and Swagger 2.0 is converted.
///
/// # Examples
///
/// ```
/// use tool_openapi::{Document, OpenApiToolSet};
///
/// let document = Document::from_text(
///     r#"
///     openapi: 3.0.3
///     info: { title: Pets, version: "1" }
///     servers: [{ url: "https://pets.example/v1" }]
///     paths:
///       /pets:
///         get:
///           operationId: listPets
///           responses: { "200": { description: All pets. } }
///     "#,
/// )?;
/// let pets = OpenApiToolSet::import(document)?;
/// assert_eq!(pets.tools().len(), 1);
/// # Ok::<(), tool_openapi::OpenApiError>(())
/// ```
#[derive(Clone)]
pub struct Document {
    pub(crate) root: Value,
    pub(crate) origin: DocumentOrigin,
    pub(crate) folder: Option<PathBuf>,
}

/// The place that a document comes from, which decides what it may lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DocumentOrigin {
    /// The program gave the document.
    Program,
    /// A file, for references relative to it.
    File(PathBuf),
    /// A server, which may be hostile.
    Url(Box<FetchedLocation>),
}

/// The place that a document was fetched from.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct FetchedLocation {
    /// The URL, after redirects and without its query.
    pub(crate) url: Url,
    /// The origin for which the program allowed an address that is not public.
    pub(crate) private: Option<tool_http::Origin>,
}

impl fmt::Debug for FetchedLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url.as_str())
    }
}

impl Document {
    /// Reads a document from JSON or YAML. A text that begins with `{` or `[` is JSON.
    ///
    /// # Errors
    ///
    /// If the text is malformed (the error names the format), or the version of OpenAPI is not supported.
    pub fn from_text(text: &str) -> Result<Self, OpenApiError> {
        Self::from_value(parse::parse_document(text)?)
    }

    /// Reads a document from a file of at most 64 MiB.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is too long, and as [`from_text`](Self::from_text).
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, OpenApiError> {
        let path = path.as_ref();
        let named = |error: OpenApiError| {
            let message = format!("`{}`: {error}", path.display());
            OpenApiError::new(error.kind(), message).with_source(error)
        };
        let document = Self::from_text(&parse::read_text(path)?).map_err(named)?;
        Ok(Self { origin: DocumentOrigin::File(path.to_owned()), ..document })
    }

    /// Creates a document from a parsed value.
    ///
    /// # Errors
    ///
    /// If the version of OpenAPI is missing or not supported, or the value is nested more than 160 levels deep.
    pub fn from_value(root: Value) -> Result<Self, OpenApiError> {
        let root = refuse_deep_nesting(root)?;
        check_version(&root)?;
        Ok(Self { root, origin: DocumentOrigin::Program, folder: None })
    }

    /// Resolves references to other files below `folder`; references that lead out of it, also through links, are not
    /// followed. Default: no other file is read.
    #[must_use]
    pub fn with_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Returns the URL that the document was fetched from.
    pub(crate) fn fetched_from(&self) -> Option<&FetchedLocation> {
        match &self.origin {
            DocumentOrigin::Url(fetched) => Some(fetched),
            DocumentOrigin::Program | DocumentOrigin::File(_) => None,
        }
    }

    /// Returns the title that the document gives the API; empty if it has none.
    #[must_use]
    pub fn title(&self) -> &str {
        self.root.pointer("/info/title").and_then(Value::as_str).unwrap_or_default()
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("title", &self.title())
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// The maximum nesting of a document.
const MAX_DEPTH: usize = 160;

/// The maximum number of parameters in one list.
pub(crate) const MAX_PARAMETERS: usize = 1000;

/// The version of OpenAPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OpenApiVersion {
    V2,
    V3_0,
    /// 3.1 and later, whose schemas are those of JSON Schema.
    V3_1,
}

impl OpenApiVersion {
    /// Returns the version that `root` states; `None` if it is not supported.
    pub(crate) fn of(root: &Value) -> Option<Self> {
        let text = stated_version(root, "openapi").or_else(|| stated_version(root, "swagger"))?;
        let known = [("2", Self::V2), ("3.0", Self::V3_0), ("3.1", Self::V3_1), ("3.2", Self::V3_1)];
        known.into_iter().find_map(|(prefix, version)| text.starts_with(prefix).then_some(version))
    }
}

/// The version in the member `key`. YAML reads an unquoted `2.0` as a number.
fn stated_version(root: &Value, key: &str) -> Option<String> {
    match root.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn check_version(root: &Value) -> Result<(), OpenApiError> {
    let unsupported = |message: String| Err(OpenApiError::new(OpenApiErrorKind::Unsupported, message));
    if !root.is_object() {
        return unsupported(format!("expected an OpenAPI document, received {}", kind_name(root)));
    }
    match (
        OpenApiVersion::of(root),
        stated_version(root, "openapi").or_else(|| stated_version(root, "swagger")),
    ) {
        (Some(_), _) => Ok(()),
        (None, Some(it)) => {
            unsupported(format!("version {it} of OpenAPI is not supported; expected 2.0, 3.0, 3.1 or 3.2"))
        }
        (None, None) => unsupported(format!(
            "expected an OpenAPI document, received {}, which has neither an `openapi` nor a `swagger` member",
            detected_document_kind(root)
        )),
    }
}

/// Names what is often taken for an OpenAPI document.
fn detected_document_kind(root: &Value) -> &'static str {
    let schema = root.pointer("/info/schema").and_then(Value::as_str).unwrap_or_default();
    match () {
        () if root.get("asyncapi").is_some() => "an AsyncAPI document",
        () if schema.contains("postman.com") => "a Postman collection, which Postman can convert",
        () if root.get("$schema").is_some() => "a JSON Schema",
        () => "an object",
    }
}

/// The kind of a value, for messages.
pub(crate) fn kind_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Refuses a value that is nested so deeply that no text of JSON has it. Drops it without recursion.
fn refuse_deep_nesting(root: Value) -> Result<Value, OpenApiError> {
    if is_nested_within(&root, MAX_DEPTH) {
        return Ok(root);
    }
    let mut waiting = vec![root];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(items) => waiting.extend(items),
            Value::Object(members) => waiting.extend(members.into_iter().map(|(_, it)| it)),
            _ => {}
        }
    }
    let message = format!("the document is nested more than {MAX_DEPTH} levels deep");
    Err(OpenApiError::new(OpenApiErrorKind::Unsupported, message))
}

fn is_nested_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|it| is_nested_within(it, levels - 1)),
        Value::Object(map) => levels > 0 && map.values().all(|it| is_nested_within(it, levels - 1)),
        _ => true,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests;
