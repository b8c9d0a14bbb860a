//! Functions as resources.

use std::{borrow::Cow, fmt, sync::Arc};

use serde::Serialize;
use tool_runtime::{
    __private::{ItemRegistration, Registration, Tag},
    BoxFuture, Content, ErrorKind, Registry, RunContext, ToolError, ToolOutput,
    output::{self, Blob, Bytes, ResourceBody},
    serde_json,
};

use super::{
    call::{FunctionItem, ItemFunction, discover_items, make_item},
    error::DiscoveryError,
};
use crate::resource::{ReadableResource, ResourceUri, detect_content};

/// A function with [`#[resource]`](macro@crate::resource) as a [`ReadableResource`], which is read each time anew. Cheap to clone.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tool_kit::{function::FunctionResource, resource, resource::ReadableResource};
/// use tool_runtime::{output::ResourceBody, prelude::*};
///
/// struct Notes(&'static str);
///
/// /// The notes of today.
/// #[resource(uri = "notes://today", mime_type = "text/markdown")]
/// fn today(notes: &Notes) -> String {
///     format!("- {}", notes.0)
/// }
///
/// # #[tokio::main] async fn main() -> anyhow::Result<()> {
/// let registry = Registry::builder().provide(Notes("Buy milk.")).build()?;
/// let today = FunctionResource::of::<today>(&registry)?;
/// let read = today.read(&Arc::new(RunContext::new())).await?;
/// assert_eq!((&*read.uri, &*read.mime_type), ("notes://today", "text/markdown"));
/// assert_eq!(read.body, ResourceBody::Text("- Buy milk.".to_owned()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FunctionResource {
    uri: ResourceUri,
    function: ItemFunction,
    mime_type: &'static str,
}

/// A type that represents a function with `#[resource]` whose URI has no variables: [`FunctionResource::of`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the type of a resource",
    label = "has no `#[resource]`, or a URI with variables",
    note = "`#[resource]` makes a type of the name of its function, unless it has `handle = none`",
    note = "if its URI has variables, use `FunctionTemplate::of`"
)]
pub trait ResourceHandle {
    #[doc(hidden)]
    const REGISTRATION: &'static ItemRegistration;
}

/// The keys of `#[resource(..)]` that a tool does not have, as a constant.
#[doc(hidden)]
#[derive(Debug)]
pub struct ResourceSpec {
    pub uri: &'static str,
    pub mime_type: &'static str,
}

impl FunctionResource {
    /// Creates the resource of a function, by its handle. `values` provides the values that the function takes by reference.
    ///
    /// # Errors
    ///
    /// Returns an error with all mistakes of the resource: a URI that is not valid, and values that are not provided.
    pub fn of<R: ResourceHandle>(values: &Registry) -> Result<Self, DiscoveryError> {
        make_item(R::REGISTRATION, Some(values))
    }

    /// Creates all resources that are linked into this program, sorted by URI, without those whose URI has variables.
    ///
    /// # Errors
    ///
    /// Returns an error with all mistakes of all resources, as [`of`](Self::of); also if two of them have equal URIs.
    pub fn discover(values: &Registry) -> Result<Vec<Self>, DiscoveryError> {
        let (resources, diagnostics) = discover_items(Some(values));
        DiscoveryError::items_or_error(resources, diagnostics)
    }
}

impl FunctionItem for FunctionResource {
    const NOUN: &'static str = "resource";
    type Spec = ResourceSpec;

    fn from_function(function: ItemFunction, spec: &'static ResourceSpec) -> Result<Self, String> {
        let uri = ResourceUri::parse(spec.uri).map_err(|error| error.to_string())?;
        Ok(Self { uri, function, mime_type: spec.mime_type })
    }

    fn unique_key(_: &Registration, spec: &ResourceSpec) -> String {
        let uri = ResourceUri::parse(spec.uri);
        uri.map_or_else(|_| spec.uri.to_owned(), |uri| uri.normalized().to_owned())
    }

    fn describe_duplicates(uri: &str) -> String {
        format!("resources have the URI `{uri}`")
    }
}

impl ReadableResource for FunctionResource {
    fn uri(&self) -> &ResourceUri {
        &self.uri
    }

    fn name(&self) -> &str {
        self.function.name()
    }

    fn description(&self) -> Option<&str> {
        self.function.definition().map(|definition| definition.description())
    }

    fn mime_type(&self) -> &str {
        self.mime_type
    }

    fn read<'a>(&'a self, run: &'a Arc<RunContext>) -> BoxFuture<'a, Result<output::Resource, ToolError>> {
        Box::pin(async move {
            let mut content = content_of_output(&self.function.call(run, "{}").await?)?;
            if content.uri.is_empty() {
                content.uri = self.uri.to_string();
            }
            Ok(content)
        })
    }
}

impl fmt::Debug for FunctionResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionResource")
            .field("uri", &self.uri)
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

/// The content that a function returned. Its URI and its type are empty unless the function states them.
#[doc(hidden)]
pub struct ReturnedContent {
    uri: String,
    mime_type: String,
    /// The type if neither the function nor the attribute states one.
    default_mime_type: Cow<'static, str>,
    body: ResourceBody,
}

impl ReturnedContent {
    fn new(default_mime_type: impl Into<Cow<'static, str>>, body: ResourceBody) -> Self {
        Self {
            uri: String::new(),
            mime_type: String::new(),
            default_mime_type: default_mime_type.into(),
            body,
        }
    }

    fn text(text: impl Into<String>) -> Self {
        ResourceBody::Text(text.into()).into()
    }

    fn bytes(bytes: Vec<u8>) -> Self {
        let content = detect_content(bytes, None);
        Self::new(content.mime_type, content.body)
    }
}

impl From<ResourceBody> for ReturnedContent {
    fn from(body: ResourceBody) -> Self {
        let default_mime_type = match body {
            ResourceBody::Text(_) => "text/plain",
            ResourceBody::Blob(_) => "application/octet-stream",
        };
        Self::new(default_mime_type, body)
    }
}

impl From<output::Resource> for ReturnedContent {
    fn from(resource: output::Resource) -> Self {
        let output::Resource { uri, mime_type, body } = resource;
        Self { uri, mime_type, ..body.into() }
    }
}

macro_rules! contents {
    ($($of:ty: |$value:ident| $content:expr;)*) => { $(
        impl From<$of> for ReturnedContent {
            fn from($value: $of) -> Self {
                $content
            }
        }
    )* };
}

contents! {
    String: |text| Self::text(text);
    &str: |text| Self::text(text);
    Cow<'_, str>: |text| Self::text(text);
    Vec<u8>: |bytes| Self::bytes(bytes);
    &[u8]: |bytes| Self::bytes(bytes.to_vec());
    Bytes: |bytes| Self::bytes(bytes.0);
    Blob: |blob| ResourceBody::Blob(blob).into();
}

/// The traits that select the conversion of a result, from the most specific to the most general.
#[doc(hidden)]
pub mod probe {
    use super::{JsonContent, ReturnedContent, Tag, ToolError};

    pub trait DirectContent<T> {
        fn content(self, value: T) -> Result<ReturnedContent, ToolError>;
    }

    impl<T: Into<ReturnedContent>> DirectContent<T> for &&Tag<T> {
        fn content(self, value: T) -> Result<ReturnedContent, ToolError> {
            Ok(value.into())
        }
    }

    pub trait SerializedContent<T> {
        fn content(self, value: T) -> Result<ReturnedContent, ToolError>
        where
            T: JsonContent;
    }

    impl<T> SerializedContent<T> for &Tag<T> {
        fn content(self, value: T) -> Result<ReturnedContent, ToolError>
        where
            T: JsonContent,
        {
            super::json_content(&value)
        }
    }
}

/// A type that a resource can return.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the content of a resource",
    label = "needs `Serialize`",
    note = "derive `serde::Serialize` for JSON, or return a text, bytes, a `ResourceBody`, an `output::Resource`, or a `Result` of one of those"
)]
pub trait JsonContent: Serialize {}

#[diagnostic::do_not_recommend]
impl<T: Serialize> JsonContent for T {}

fn json_content(value: &impl Serialize) -> Result<ReturnedContent, ToolError> {
    let text = serde_json::to_string(value).map_err(|error| {
        ToolError::new(ErrorKind::InvalidOutput, format!("the content cannot be written as JSON: {error}"))
    })?;
    Ok(ReturnedContent::new("application/json", ResourceBody::Text(text)))
}

/// Returns the content of a resource as the output of its function; `stated_type` is the type of its attribute, or empty.
#[doc(hidden)]
pub fn resource_output(content: ReturnedContent, stated_type: &str) -> ToolOutput {
    let ReturnedContent { uri, mime_type, default_mime_type, body } = content;
    let mime_type = match (&*mime_type, stated_type) {
        ("", "") => default_mime_type.into_owned(),
        ("", stated) => stated.to_owned(),
        _ => mime_type,
    };
    ToolOutput::new([Content::Resource { resource: output::Resource { uri, mime_type, body } }])
}

/// Returns the content of an output that [`resource_output`] made.
pub(super) fn content_of_output(output: &ToolOutput) -> Result<output::Resource, ToolError> {
    match &*output.content() {
        [Content::Resource { resource }] => Ok(resource.clone()),
        _ => Err(ToolError::new(ErrorKind::Internal, "the content of a resource was lost")),
    }
}

/// Converts the result of a resource: any type that a resource may return, or a `Result` of it.
#[doc(hidden)]
#[macro_export]
macro_rules! resource_outcome {
    ($spec:expr, $value:expr) => {{
        #[allow(unused_imports, reason = "each type needs some of them")]
        use $crate::__private::{probe::*, resource_probe::*};
        match $value {
            value => match $crate::__private::Tag::of(&value).split(value) {
                ::core::result::Result::Ok(value) => {
                    let content = (&&$crate::__private::Tag::of(&value)).content(value);
                    content.map(|content| $crate::__private::resource_output(content, $spec.mime_type))
                }
                ::core::result::Result::Err(error) => {
                    ::core::result::Result::Err((&&&&$crate::__private::Tag::of(&error)).error(error))
                }
            },
        }
    }};
}
