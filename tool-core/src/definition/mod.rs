//! The definition of a tool, as a model and a user interface see it.

mod decode;
mod peer;
mod redact;

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, LazyLock, OnceLock},
};

use serde::{Serialize, Serializer, ser::SerializeStruct};
use serde_json::Value;

use tool_schema::__private::Example;

pub use self::peer::PeerDefinition;
use crate::{ContentHash, InputSchema, Metadata, OutputSchema, ToolName};

/// The note in the description of a long-running tool.
const LONG_RUNNING_NOTE: &str =
    "This is a long-running operation. Do not call it again while a call of it is pending.";

/// The definition of a tool, as a model and a user interface see it. The code is a [`Tool`](crate::Tool).
///
/// Cheap to clone. Serialises to `name`, `rawName`, `title`, `description`, `inputSchema`, `outputSchema`, `metadata`
/// and `examples`; absent values are left out.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_runtime::{ToolDefinition, ToolName, schema::InputSchema};
///
/// let schema = InputSchema::new(json!({ "type": "object" }))?;
/// let definition = ToolDefinition::new(ToolName::new("ping")?, "Answers.", schema);
/// assert_eq!(definition.title(), "ping");
/// assert_eq!(serde_json::to_value(&definition)?["description"], "Answers.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ToolDefinition {
    inner: Arc<DefinitionParts>,
}

#[derive(Clone)]
struct DefinitionParts {
    name: ToolName,
    title: Option<Cow<'static, str>>,
    description: Cow<'static, str>,
    input_schema: InputSchema,
    output_schema: Option<OutputSchema>,
    metadata: Metadata,
    examples: Vec<Value>,
    /// The first example, for error messages.
    example: OnceLock<Option<Arc<Example>>>,
    content_hash: OnceLock<ContentHash>,
}

impl ToolDefinition {
    /// Creates a definition without title, output schema, metadata and examples.
    pub fn new(name: ToolName, description: impl Into<Cow<'static, str>>, input_schema: InputSchema) -> Self {
        let inner = DefinitionParts {
            name,
            title: None,
            description: description.into(),
            input_schema,
            output_schema: None,
            metadata: Metadata::default(),
            examples: Vec::new(),
            example: OnceLock::new(),
            content_hash: OnceLock::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Sets another name by which a model calls the tool; the [raw name](Self::raw_name) stays.
    #[must_use]
    pub fn with_name(mut self, name: ToolName) -> Self {
        let inner = self.inner_mut();
        inner.name = name.with_raw(inner.name.raw());
        self
    }

    /// Sets the display name. Default: the name.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<Cow<'static, str>>) -> Self {
        self.inner_mut().title = Some(title.into());
        self
    }

    /// Sets the JSON Schema of results. Default: none.
    #[must_use]
    pub fn with_output_schema(mut self, schema: OutputSchema) -> Self {
        self.inner_mut().output_schema = Some(schema);
        self
    }

    /// Sets hints, limits and labels. The description of a long-running tool gets a note that asks the model not to
    /// call it again while a call is pending.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        let inner = self.inner_mut();
        if metadata.is_long_running() && !inner.description.ends_with(LONG_RUNNING_NOTE) {
            let described = !inner.description.is_empty();
            let description = inner.description.to_mut();
            description.push_str(if described { "\n\n" } else { "" });
            description.push_str(LONG_RUNNING_NOTE);
        }
        inner.metadata = metadata;
        self
    }

    /// Sets examples of arguments. Default: none.
    #[must_use]
    pub fn with_examples(mut self, examples: Vec<Value>) -> Self {
        self.inner_mut().examples = examples;
        self
    }

    /// Returns the name by which a model calls the tool.
    #[must_use]
    #[inline]
    pub fn name(&self) -> &ToolName {
        &self.inner.name
    }

    /// Returns the name of the tool at its origin: without a prefix, and before it was [made
    /// valid](ToolName::from_foreign). Serialised as `rawName` if it differs from the name.
    #[must_use]
    pub fn raw_name(&self) -> &str {
        self.inner.name.raw()
    }

    /// Returns the display name: the title if there is one, otherwise the name.
    #[must_use]
    pub fn title(&self) -> &str {
        self.inner.title.as_deref().unwrap_or(&self.inner.name)
    }

    /// Returns the description, for a model.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.inner.description
    }

    /// Returns the JSON Schema of the arguments.
    #[must_use]
    #[inline]
    pub fn input_schema(&self) -> &InputSchema {
        &self.inner.input_schema
    }

    /// Returns the JSON Schema of results; `None` if the tool has none.
    #[must_use]
    pub fn output_schema(&self) -> Option<&OutputSchema> {
        self.inner.output_schema.as_ref()
    }

    /// Returns hints, limits and labels.
    #[must_use]
    #[inline]
    pub fn metadata(&self) -> &Metadata {
        &self.inner.metadata
    }

    /// Returns examples of arguments.
    #[must_use]
    pub fn examples(&self) -> &[Value] {
        &self.inner.examples
    }

    /// Returns a hash of the serialised definition. Equal definitions have equal hashes on every machine and in every
    /// build, regardless of the order of keys.
    #[must_use]
    pub fn content_hash(&self) -> ContentHash {
        *self.inner.content_hash.get_or_init(|| ContentHash::of(self))
    }

    fn inner_mut(&mut self) -> &mut DefinitionParts {
        let inner = Arc::make_mut(&mut self.inner);
        (inner.example, inner.content_hash) = (OnceLock::new(), OnceLock::new());
        inner
    }
}

/// Metadata that say nothing, and are not serialised.
static DEFAULT_METADATA: LazyLock<Metadata> = LazyLock::new(Metadata::default);

impl Serialize for ToolDefinition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let DefinitionParts {
            name,
            title,
            description,
            input_schema,
            output_schema,
            metadata,
            examples,
            example: _,
            content_hash: _,
        } = &*self.inner;
        let mut fields = serializer.serialize_struct("ToolDefinition", 8)?;
        fields.serialize_field("name", name)?;
        if name.raw() != name.as_str() {
            fields.serialize_field("rawName", name.raw())?;
        }
        if let Some(title) = title {
            fields.serialize_field("title", title)?;
        }
        fields.serialize_field("description", description)?;
        fields.serialize_field("inputSchema", input_schema)?;
        if let Some(schema) = output_schema {
            fields.serialize_field("outputSchema", schema)?;
        }
        if *metadata != *DEFAULT_METADATA {
            fields.serialize_field("metadata", metadata)?;
        }
        if !examples.is_empty() {
            fields.serialize_field("examples", examples)?;
        }
        fields.end()
    }
}

impl PartialEq for ToolDefinition {
    fn eq(&self, other: &Self) -> bool {
        // Comparing the text is faster than computing the hashes.
        Arc::ptr_eq(&self.inner, &other.inner)
            || self.inner.has_equal_parts(&other.inner)
            || self.content_hash() == other.content_hash()
    }
}

impl DefinitionParts {
    fn has_equal_parts(&self, other: &Self) -> bool {
        self.name == other.name
            && self.name.raw() == other.name.raw()
            && self.title == other.title
            && self.description == other.description
            && self.metadata == other.metadata
            && self.examples == other.examples
            && are_equal_in_order(&self.input_schema.to_value(), &other.input_schema.to_value())
            && match (&self.output_schema, &other.output_schema) {
                (None, None) => true,
                (Some(one), Some(other)) => are_equal_in_order(one.as_value(), other.as_value()),
                _ => false,
            }
    }
}

/// Returns `true` if both values have the same members in the same order, which is faster to compare than to look up
/// keys.
fn are_equal_in_order(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len()
                && pairs.all(|(one, other)| one.0 == other.0 && are_equal_in_order(one.1, other.1))
        }
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len() && pairs.all(|(one, other)| are_equal_in_order(one, other))
        }
        (one, other) => one == other,
    }
}

impl fmt::Debug for ToolDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDefinition")
            .field("name", &self.inner.name)
            .field("input_schema", &self.inner.input_schema)
            .finish_non_exhaustive()
    }
}
