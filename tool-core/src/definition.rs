//! What a model and a user interface see of a tool.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, OnceLock},
};

use serde::{Serialize, Serializer, de::DeserializeOwned, ser::SerializeStruct};
use serde_json::Value;

use crate::{
    Arguments, ContentHash, ErrorKind, InputSchema, Metadata, OutputSchema, Plan, ToolError, ToolName,
    arguments::plan::Take,
};

/// What is added to the description of a long-running tool.
const LONG_RUNNING_NOTE: &str =
    "This is a long-running operation. Do not call it again while a call of it is pending.";

/// What a model and a user interface see of a tool; the code behind it is a [`Tool`](crate::Tool).
///
/// Cheap to clone. Serialises to `name`, `rawName`, `title`, `description`, `inputSchema`, `outputSchema`,
/// `metadata` and `examples`; what a tool has not is left out.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_core::{InputSchema, ToolDefinition, ToolName};
///
/// let schema = InputSchema::new(json!({ "type": "object" }))?;
/// let definition = ToolDefinition::new(ToolName::new("ping")?, "Answers.", schema);
/// assert_eq!(definition.title(), "ping");
/// assert_eq!(serde_json::to_value(&definition)?["description"], "Answers.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ToolDefinition {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    name: ToolName,
    title: Option<Cow<'static, str>>,
    description: Cow<'static, str>,
    input_schema: InputSchema,
    output_schema: Option<OutputSchema>,
    metadata: Metadata,
    examples: Vec<Value>,
    /// The first of them, for the errors that show it.
    example: OnceLock<Option<Arc<Value>>>,
    content_hash: OnceLock<ContentHash>,
}

impl ToolDefinition {
    /// A definition of what every tool has.
    pub fn new(name: ToolName, description: impl Into<Cow<'static, str>>, input_schema: InputSchema) -> Self {
        let inner = Inner {
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

    /// Sets another name by which a model calls the tool. The [raw name](Self::raw_name) stays.
    #[must_use]
    pub fn with_name(mut self, name: ToolName) -> Self {
        let inner = self.change();
        inner.name = name.with_raw(inner.name.raw());
        self
    }

    /// Sets the name that people see.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<Cow<'static, str>>) -> Self {
        self.change().title = Some(title.into());
        self
    }

    /// Sets what results look like.
    #[must_use]
    pub fn with_output_schema(mut self, schema: OutputSchema) -> Self {
        self.change().output_schema = Some(schema);
        self
    }

    /// Sets hints, limits and labels. A tool that is long-running gets a note to its description,
    /// so that a model does not call it again in impatience.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        let inner = self.change();
        if metadata.is_long_running() && !inner.description.ends_with(LONG_RUNNING_NOTE) {
            let described = !inner.description.is_empty();
            let description = inner.description.to_mut();
            description.push_str(if described { "\n\n" } else { "" });
            description.push_str(LONG_RUNNING_NOTE);
        }
        inner.metadata = metadata;
        self
    }

    /// Sets examples of arguments.
    #[must_use]
    pub fn with_examples(mut self, examples: Vec<Value>) -> Self {
        self.change().examples = examples;
        self
    }

    /// The name by which a model calls the tool.
    #[must_use]
    #[inline]
    pub fn name(&self) -> &ToolName {
        &self.inner.name
    }

    /// The name of the tool at its origin, which it has without a prefix and before it was [made
    /// valid](ToolName::from_foreign); serialised as `rawName` where it differs from the name.
    #[must_use]
    pub fn raw_name(&self) -> &str {
        self.inner.name.raw()
    }

    /// The name that people see: the title, or else the name.
    #[must_use]
    pub fn title(&self) -> &str {
        self.inner.title.as_deref().unwrap_or(&self.inner.name)
    }

    /// What the tool does, in words for a model.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.inner.description
    }

    /// What arguments look like.
    #[must_use]
    #[inline]
    pub fn input_schema(&self) -> &InputSchema {
        &self.inner.input_schema
    }

    /// What results look like, where the tool says so.
    #[must_use]
    pub fn output_schema(&self) -> Option<&OutputSchema> {
        self.inner.output_schema.as_ref()
    }

    /// Hints, limits and labels.
    #[must_use]
    #[inline]
    pub fn metadata(&self) -> &Metadata {
        &self.inner.metadata
    }

    /// Examples of arguments.
    #[must_use]
    pub fn examples(&self) -> &[Value] {
        &self.inner.examples
    }

    /// A hash of all that is serialised: equal for equal definitions, on every machine and in every
    /// build, whatever the order in which keys were written.
    #[must_use]
    pub fn content_hash(&self) -> ContentHash {
        *self.inner.content_hash.get_or_init(|| ContentHash::of(self))
    }

    fn change(&mut self) -> &mut Inner {
        let inner = Arc::make_mut(&mut self.inner);
        (inner.example, inner.content_hash) = (OnceLock::new(), OnceLock::new());
        inner
    }
}

/// Reading arguments.
impl ToolDefinition {
    /// Reads `arguments` as a `T`, checked against the input schema in the same pass.
    ///
    /// For the [`prepare`](crate::Tool::prepare) of tools that are written by hand. Afterwards
    /// `arguments` are what was decoded, and say what was corrected in them.
    ///
    /// # Errors
    ///
    /// All that is wrong with the arguments, or what keeps a `T` from being made of them.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use tool_core::{InputSchema, ToolDefinition, ToolName};
    ///
    /// let schema = InputSchema::new(json!({ "properties": { "days": { "maximum": 14 } } }))?;
    /// let definition = ToolDefinition::new(ToolName::new("forecast")?, "Forecasts.", schema);
    /// let refused = definition.decode::<Value>(&mut r#"{ "days": 15 }"#.into()).unwrap_err();
    /// assert_eq!(refused.violations()[0].to_string(), "/days: expected at most 14, got 15");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode<T: DeserializeOwned>(&self, arguments: &mut Arguments<'_>) -> Result<T, ToolError> {
        let mut value = None;
        self.read(arguments, |source, _| {
            value = Some(T::deserialize(source)?);
            Ok(())
        })?;
        value.ok_or_else(|| ToolError::new(ErrorKind::InvalidArguments, "nothing was decoded"))
    }

    /// Gives `arguments` as they fit the input schema, for those who decode them by themselves.
    ///
    /// # Errors
    ///
    /// All that is wrong with them.
    pub fn fit<'a>(&self, arguments: Arguments<'a>) -> Result<Arguments<'a>, ToolError> {
        self.told(self.plan().fit(arguments))
    }

    /// The one text of the call with `arguments`, which fit: what judges, confirms, hashes, stores or logs
    /// a call is given it, and the tool decodes it.
    ///
    /// Properties have their own names in place of aliases, numbers one exact spelling (`1e2` and `100.0`
    /// are `100`), and what the tool's decoder takes for absent or ignores is left out. Of a schema that
    /// has no plan nothing but its JSON is known: numbers are spelled, and all else stays.
    ///
    /// A call that nobody looks at is decoded from the text as it came. All types read the same from both but
    /// those that tell `100` from `100.0`, as [`Value`](serde_json::Value) does.
    ///
    /// # Errors
    ///
    /// If the arguments are not JSON, or it cannot be told in time what they mean.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_core::{InputSchema, ToolDefinition, ToolName};
    ///
    /// let schema = InputSchema::new(json!({ "properties": { "days": { "type": "integer" } } }))?;
    /// let definition = ToolDefinition::new(ToolName::new("forecast")?, "Forecasts.", schema);
    /// let canonical = definition.canonical(r#"{ "days": 1e1, "at": 2.50 }"#.into())?;
    /// assert_eq!(canonical.as_str(), r#"{"days":10,"at":2.5}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn canonical<'a>(&self, arguments: Arguments<'a>) -> Result<Arguments<'a>, ToolError> {
        self.plan().canonical(arguments).map_err(|error| self.explained(error))
    }

    /// Reads `arguments` with `take`; afterwards they are as they were read.
    #[inline]
    pub(crate) fn read(&self, arguments: &mut Arguments<'_>, take: impl Take) -> Result<(), ToolError> {
        self.plan().read(arguments, take).map_err(|error| self.explained(error))?;
        self.hide_in(arguments);
        Ok(())
    }

    /// Arguments that fit, to be shown to a model: the tool's first example, or else the smallest that
    /// fit its schema.
    #[must_use]
    pub fn example(&self) -> Option<&Value> {
        self.shared_example().map(|example| &**example)
    }

    fn shared_example(&self) -> Option<&Arc<Value>> {
        let own = || self.examples().first().cloned().map(Arc::new);
        self.inner.example.get_or_init(own).as_ref().or_else(|| self.input_schema().shared_example())
    }

    /// The plan of the input schema. Where there is none, arguments are only read; whoever calls
    /// the tool has found that out, and holds them to the schema in another way.
    #[inline]
    fn plan(&self) -> &Plan {
        self.input_schema().plan().unwrap_or(Plan::anything())
    }

    /// What a model may be told: nothing of the arguments where one of them is a secret.
    #[doc(hidden)]
    pub fn told<'a>(&self, read: Result<Arguments<'a>, ToolError>) -> Result<Arguments<'a>, ToolError> {
        let mut arguments = read.map_err(|error| self.explained(error))?;
        self.hide_in(&mut arguments);
        Ok(arguments)
    }

    #[cold]
    fn explained(&self, error: ToolError) -> ToolError {
        let error = error.of_tool(self.name().to_string()).with_example(self.shared_example().cloned());
        if !self.has_secret() {
            return error;
        }
        error.without_values().with_pointers(|pointer| self.hide_names_in(pointer))
    }

    #[inline]
    fn hide_in(&self, arguments: &mut Arguments<'_>) {
        if !arguments.corrections().is_empty() && self.has_secret() {
            arguments.hide(|pointer| self.hide_names_in(pointer));
        }
    }

    /// Hides, in a pointer into the arguments, the names that a model chose and that may be a part of a
    /// secret: those within a secret parameter, or within one that is not known.
    fn hide_names_in(&self, pointer: &mut String) {
        let mut end = 0;
        for (depth, step) in pointer.split('/').skip(1).enumerate() {
            let name = step.replace("~1", "/").replace("~0", "~");
            let is_known = depth > 0 || self.knows_parameter(&name);
            // Where any name is allowed, this one may be a name within a secret; a step that was shortened
            // may have been one as well.
            if step.contains('…') || !(is_known || self.is_closed()) {
                pointer.replace_range(end.., "/***");
                return;
            }
            end += 1 + step.len();
            if !is_known || self.metadata().secrets.iter().any(|secret| *secret == name) {
                if end < pointer.len() {
                    pointer.replace_range(end.., "/***");
                }
                return;
            }
        }
    }

    /// Whether the schema of the arguments lists a parameter of that name.
    #[doc(hidden)]
    #[must_use]
    pub fn knows_parameter(&self, name: &str) -> bool {
        let properties = self.input_schema().as_value().get("properties");
        properties.and_then(Value::as_object).is_some_and(|known| known.contains_key(name))
    }

    /// Whether no parameters are admitted but those that the schema lists.
    #[doc(hidden)]
    #[must_use]
    pub fn is_closed(&self) -> bool {
        let schema = self.input_schema().as_value();
        schema.get("additionalProperties") == Some(&Value::Bool(false))
            && schema.get("patternProperties").is_none()
    }

    fn has_secret(&self) -> bool {
        !self.metadata().secrets.is_empty()
    }
}

impl Serialize for ToolDefinition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Inner {
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
        if *metadata != Metadata::default() {
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
        // What is written alike is found out sooner than hashes are made.
        Arc::ptr_eq(&self.inner, &other.inner)
            || self.inner.is_alike(&other.inner)
            || self.content_hash() == other.content_hash()
    }
}

impl Inner {
    fn is_alike(&self, other: &Self) -> bool {
        self.name == other.name
            && self.name.raw() == other.name.raw()
            && self.title == other.title
            && self.description == other.description
            && self.metadata == other.metadata
            && self.examples == other.examples
            && are_alike(self.input_schema.as_value(), other.input_schema.as_value())
            && match (&self.output_schema, &other.output_schema) {
                (None, None) => true,
                (Some(one), Some(other)) => are_alike(one.as_value(), other.as_value()),
                _ => false,
            }
    }
}

/// Whether two values are written alike, key by key: to look keys up takes longer.
fn are_alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len()
                && pairs.all(|(one, other)| one.0 == other.0 && are_alike(one.1, other.1))
        }
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len() && pairs.all(|(one, other)| are_alike(one, other))
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
