//! The settings of calls: bodies, responses, and what of them a model sees.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;
use tool_runtime::{ToolDefinition, policy::ResultStore};

use crate::{
    OpenApiToolSetBuilder,
    media_type::media_essence,
    request::{FileResolver, SharedFileResolver},
    view::View,
};

/// The settings of requests and responses.
#[derive(Clone)]
pub(crate) struct CallSettings {
    /// Preferred media types of request bodies.
    pub(crate) media_types: Vec<String>,
    pub(crate) resolver: Option<SharedFileResolver>,
    pub(crate) read_limit: usize,
    pub(crate) readback: Option<Arc<ResultStore>>,
    pub(crate) strict: bool,
    pub(crate) failures_as_errors: bool,
    /// The views by the ids of their operations.
    views: BTreeMap<String, View>,
}

/// The default of the maximum number of bytes that are read of a response.
const DEFAULT_READ_LIMIT_BYTES: usize = 8 << 20;

impl Default for CallSettings {
    fn default() -> Self {
        Self {
            media_types: Vec::new(),
            resolver: None,
            read_limit: DEFAULT_READ_LIMIT_BYTES,
            readback: None,
            strict: false,
            failures_as_errors: false,
            views: BTreeMap::new(),
        }
    }
}

impl CallSettings {
    /// Returns the view of an operation, by its id or by the name of its tool.
    pub(crate) fn operation_view(&self, id: Option<&str>, name: &str) -> Option<&View> {
        id.and_then(|id| self.views.get(id)).or_else(|| self.views.get(name))
    }

    /// Returns the operations with a view that are none of `tools`.
    pub(crate) fn views_of_unknown_operations<'a>(
        &'a self,
        tools: impl Iterator<Item = &'a ToolDefinition> + Clone,
    ) -> impl Iterator<Item = &'a str> {
        let is_known =
            move |id: &str| tools.clone().any(|it| it.name().as_str() == id || it.raw_name() == id);
        self.views.keys().map(String::as_str).filter(move |id| !is_known(id))
    }
}

impl OpenApiToolSetBuilder {
    /// Prefers `media_type` for request bodies that may have several; a later call adds a second choice. Default: JSON, then
    /// forms, `multipart/form-data`, text and bytes.
    pub fn prefer_media_type(mut self, media_type: &str) -> Self {
        self.settings.calls.media_types.push(media_essence(media_type).into_owned());
        self
    }

    /// Sets the resolver of files in request bodies: a model then gives references, such as names, and the program the files.
    /// Default: a model gives files in base64.
    pub fn files(mut self, resolver: impl FileResolver + 'static) -> Self {
        self.settings.calls.resolver = Some(SharedFileResolver::new(resolver));
        self
    }

    /// Sets the maximum number of bytes that are read of a response, after decompression. Of a longer one, the rest is not read;
    /// an image or a file is then not shown. Default: 8 MiB.
    pub fn read_limit(mut self, bytes: usize) -> Self {
        self.settings.calls.read_limit = bytes;
        self
    }

    /// Stores what the [response limit](Self::response_limit) cuts in `store`, from which the tool `read_result` of
    /// [`ResultStore::tool`] reads it. Default: it is lost.
    pub fn readback(mut self, store: Arc<ResultStore>) -> Self {
        self.settings.calls.readback = Some(store);
        self
    }

    /// Sets whether a response that does not match its declared schema is an error. Default: `false`; it is a result, with the
    /// mismatch as a warning in the [log of the call](tool_runtime::ToolContext::log) and as `mismatch` in the details.
    pub fn strict_responses(mut self, strict: bool) -> Self {
        self.settings.calls.strict = strict;
        self
    }

    /// Sets whether a response with a status other than `2xx` is an error. Default: `false`; it is a result that a model reads.
    pub fn failures_as_errors(mut self, errors: bool) -> Self {
        self.settings.calls.failures_as_errors = errors;
        self
    }

    /// Shows a model only the members that `pointers` (JSON pointers) name of the successful responses of `operation`, an
    /// operation id or a name of a tool. `*` names each item of a list. The tool then has no output schema. Default: all
    /// members.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_openapi::{Document, OpenApiToolSet};
    ///
    /// # let text = r#"{"openapi":"3.1.0","info":{"title":"Pets","version":"1"},"paths":{"/pets":{"get":{"operationId":"listPets"}}}}"#;
    /// let pets = OpenApiToolSet::builder(Document::from_text(text)?)
    ///     .base_url("https://pets.example")
    ///     .view("listPets", ["/pets/*/name", "/total"])
    ///     .build()?;
    /// # Ok::<(), tool_openapi::OpenApiError>(())
    /// ```
    pub fn view(
        mut self,
        operation: impl Into<String>,
        pointers: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let pointers: Vec<String> = pointers.into_iter().map(Into::into).collect();
        match View::of_pointers(&pointers) {
            Ok(view) => drop(self.settings.calls.views.insert(operation.into(), view)),
            Err(pointer) => self.record_first_invalid_setting(format!(
                "`{pointer}` is not a JSON pointer; expected one that begins with `/`, such as `/items/*/id`"
            )),
        }
        self
    }

    /// Shows a model what `view` makes of the JSON of the successful responses of `operation`, an operation id or a name of a
    /// tool. The tool then has no output schema. Default: all of it.
    pub fn view_with(
        mut self,
        operation: impl Into<String>,
        view: impl Fn(Value) -> Value + Send + Sync + 'static,
    ) -> Self {
        self.settings.calls.views.insert(operation.into(), View::Closure(Arc::new(view)));
        self
    }
}
