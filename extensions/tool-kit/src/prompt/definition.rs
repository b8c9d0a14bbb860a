//! The description of a prompt.

use std::borrow::Cow;

use serde::{Serialize, Serializer, ser::SerializeMap as _};
use tool_runtime::{ErrorKind, ToolError, serde_json::Value};

use super::{PromptError, schema::PromptSchema};
use crate::names::check_name;

/// The minimum length of a title, in characters.
const MIN_TITLE_CHARS: usize = 10;

/// The name, the description and the settings of a prompt.
///
/// It serialises as MCP describes a prompt: name, title, description, and the [arguments](Self::arguments).
///
/// # Examples
///
/// ```
/// use tool_kit::prompt::PromptDefinition;
/// use tool_runtime::prelude::*;
///
/// let input = json!({
///     "type": "object",
///     "properties": { "topic": { "type": "string", "description": "What to explain." }, "length": { "type": "integer" } },
///     "required": ["topic"],
/// });
/// let explain = PromptDefinition::new("explain")?.with_description("Explains a topic.").with_input(input)?;
/// let names: Vec<_> = explain.arguments().into_iter().map(|argument| (argument.name, argument.required)).collect();
/// assert_eq!(names, [("length".to_owned(), false), ("topic".to_owned(), true)]);
/// # Ok::<(), tool_kit::prompt::PromptError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PromptDefinition {
    name: String,
    title: Option<String>,
    description: Option<String>,
    model: Option<String>,
    provider: Option<String>,
    input: Option<PromptSchema>,
    output: Option<PromptSchema>,
    tools: Option<Vec<String>>,
    thinking: Option<PromptThinking>,
    thinking_budget: Option<u32>,
}

/// The amount of thinking before an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PromptThinking {
    /// Not at all.
    Off,
    /// To a usual amount: moderately, where a model has several.
    On,
    /// A little.
    Low,
    /// More.
    Medium,
    /// A lot.
    High,
}

/// An argument of a prompt, for the user of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PromptArgument {
    /// The name of the property of the input.
    pub name: String,
    /// Its description, or else its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `true` if the input must have it.
    pub required: bool,
}

impl PromptDefinition {
    /// Creates the definition of a prompt without input.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is no identifier: 1 to 64 letters, digits, `_` and `-`, of ASCII, the first no digit and no `-`.
    pub fn new(name: impl Into<String>) -> Result<Self, PromptError> {
        let name = name.into();
        check_name("prompt", &name).map_err(PromptError::new)?;
        Ok(Self {
            name,
            title: None,
            description: None,
            model: None,
            provider: None,
            input: None,
            output: None,
            tools: None,
            thinking: None,
            thinking_budget: None,
        })
    }

    /// Sets the title, of at least 10 characters.
    ///
    /// # Errors
    ///
    /// Returns an error if it is shorter.
    pub fn with_title(mut self, title: impl Into<String>) -> Result<Self, PromptError> {
        let title = title.into();
        if title.trim().chars().count() < MIN_TITLE_CHARS {
            let problem =
                format!("the title has fewer than {MIN_TITLE_CHARS} characters; say what the prompt is for");
            return Err(PromptError::new(problem));
        }
        self.title = Some(title);
        Ok(self)
    }

    /// Sets a title that the text of the prompt has.
    pub(crate) fn with_unchecked_title(mut self, heading: &str) -> Self {
        self.title = Some(heading.to_owned());
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the name of the model that answers.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets the name of the provider of the model.
    #[must_use]
    pub fn with_provider(mut self, provider: impl Into<String>) -> Self {
        self.provider = Some(provider.into());
        self
    }

    /// Sets the JSON Schema of the input, which may be of any type. A property that an object lacks has its `default`.
    ///
    /// # Errors
    ///
    /// Returns an error if the schema is not valid, or states no type.
    pub fn with_input(mut self, schema: Value) -> Result<Self, PromptError> {
        self.input = Some(PromptSchema::compile("input", schema)?);
        Ok(self)
    }

    /// Sets the JSON Schema of the answer.
    ///
    /// # Errors
    ///
    /// As [`with_input`](Self::with_input).
    pub fn with_output(mut self, schema: Value) -> Result<Self, PromptError> {
        self.output = Some(PromptSchema::compile("output", schema)?);
        Ok(self)
    }

    /// Names the tools that a run of the prompt may use. The code that runs it applies them.
    #[must_use]
    pub fn with_tools<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Sets how much the model thinks.
    #[must_use]
    pub fn with_thinking(mut self, thinking: PromptThinking) -> Self {
        self.thinking = Some(thinking);
        self
    }

    /// Sets the number of tokens that the model may think.
    #[must_use]
    pub fn with_thinking_budget(mut self, tokens: u32) -> Self {
        self.thinking_budget = Some(tokens);
        self
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the title.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Returns the description.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// Returns the name of the model.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Returns the name of the provider.
    #[must_use]
    pub fn provider(&self) -> Option<&str> {
        self.provider.as_deref()
    }

    /// Returns the schema of the input; `None` for a prompt that takes any.
    #[must_use]
    pub fn input(&self) -> Option<&Value> {
        self.input.as_ref().map(PromptSchema::value)
    }

    /// Returns the schema of the answer.
    #[must_use]
    pub fn output(&self) -> Option<&Value> {
        self.output.as_ref().map(PromptSchema::value)
    }

    /// Returns the names of the tools that a run may use; `None` for all.
    #[must_use]
    pub fn tools(&self) -> Option<&[String]> {
        self.tools.as_deref()
    }

    /// Returns how much the model thinks.
    #[must_use]
    pub fn thinking(&self) -> Option<PromptThinking> {
        self.thinking
    }

    /// Returns the number of tokens that the model may think.
    #[must_use]
    pub fn thinking_budget(&self) -> Option<u32> {
        self.thinking_budget
    }

    /// Returns the properties of the input, by name.
    #[must_use]
    pub fn arguments(&self) -> Vec<PromptArgument> {
        let Some(schema) = self.input() else { return Vec::new() };
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
        let text = |property: &Value, member: &str| property.get(member)?.as_str().map(str::to_owned);
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let mut arguments: Vec<_> = properties
            .map(|(name, property)| PromptArgument {
                name: name.clone(),
                description: text(property, "description").or_else(|| text(property, "title")),
                required: is_required(name),
            })
            .collect();
        arguments.sort_by(|one, other| one.name.cmp(&other.name));
        arguments
    }

    /// Returns an input with the defaults of the properties that it lacks, once it is checked against the schema.
    ///
    /// # Errors
    ///
    /// As [`check_input`](Self::check_input).
    pub(super) fn complete_input<'i>(&self, input: &'i Value) -> Result<Cow<'i, Value>, ToolError> {
        let schema = self.input.as_ref().map(PromptSchema::value);
        let defaults = schema.map(|schema| missing_defaults(schema, input)).unwrap_or_default();
        let mut completed = Cow::Borrowed(input);
        for (name, default) in defaults {
            completed.to_mut()[name] = default.clone();
        }
        self.check_input(&completed)?;
        Ok(completed)
    }

    /// Checks an input against the schema.
    ///
    /// # Errors
    ///
    /// Returns an error of kind [`BadParameter`](ErrorKind::BadParameter) that states each violation.
    pub fn check_input(&self, input: &Value) -> Result<(), ToolError> {
        let Some(schema) = &self.input else { return Ok(()) };
        let violations = schema.violations(input);
        if violations.is_empty() {
            return Ok(());
        }
        let message = format!("the input of the prompt `{}` does not fit: {violations}", self.name);
        Err(ToolError::new(ErrorKind::BadParameter, message))
    }
}

/// Returns the defaults of the properties of an object that `input` lacks, by their names.
pub(crate) fn missing_defaults<'s>(schema: &'s Value, input: &Value) -> Vec<(&'s str, &'s Value)> {
    let properties = schema["properties"].as_object().filter(|_| schema["type"] == "object");
    let (Some(properties), Some(members)) = (properties, input.as_object()) else { return Vec::new() };
    let lacking = properties.iter().filter(|(name, _)| !members.contains_key(*name));
    lacking.filter_map(|(name, property)| Some((name.as_str(), property.get("default")?))).collect()
}

impl Serialize for PromptDefinition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        if let Some(title) = &self.title {
            map.serialize_entry("title", title)?;
        }
        if let Some(description) = &self.description {
            map.serialize_entry("description", description)?;
        }
        let arguments = self.arguments();
        if !arguments.is_empty() {
            map.serialize_entry("arguments", &arguments)?;
        }
        map.end()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use tool_runtime::serde_json::{json, to_value};

    use super::*;

    fn greet() -> PromptDefinition {
        PromptDefinition::new("greet").unwrap()
    }

    #[test]
    fn a_title_has_ten_characters() {
        for title in ["größe ist ", " größe ist"] {
            assert!(
                greet()
                    .with_title(title)
                    .is_err_and(|error| error.problem.contains("fewer than 10 characters"))
            );
        }
        assert_eq!(greet().with_title("größe ist x").unwrap().title(), Some("größe ist x"));
        assert_eq!(greet().with_title("größe ist!").unwrap().title(), Some("größe ist!"));
    }

    #[test]
    fn a_definition_has_what_is_set_and_nothing_else() {
        let plain = greet();
        let texts = [plain.title(), plain.description(), plain.model(), plain.provider()];
        assert_eq!((plain.name(), texts, plain.tools()), ("greet", [None; 4], None));
        assert_eq!(
            (plain.input(), plain.output(), plain.thinking(), plain.thinking_budget()),
            (None, None, None, None)
        );
        assert_eq!((plain.arguments(), to_value(&plain).unwrap()), (Vec::new(), json!({ "name": "greet" })));
        let (input, output) = (json!({ "type": "string" }), json!({ "type": "integer" }));
        let full = greet().with_description("d").with_model("m").with_provider("p").with_tools(["a", "b"]);
        let full = full.with_thinking(PromptThinking::High).with_thinking_budget(7);
        let full = full.with_input(input.clone()).unwrap().with_output(output.clone()).unwrap();
        assert_eq!((full.description(), full.model(), full.provider()), (Some("d"), Some("m"), Some("p")));
        assert_eq!(full.tools(), Some(&["a".to_owned(), "b".to_owned()][..]));
        assert_eq!((full.thinking(), full.thinking_budget()), (Some(PromptThinking::High), Some(7)));
        assert_eq!((full.input(), full.output()), (Some(&input), Some(&output)));
        assert!(full.arguments().is_empty());
    }

    #[test]
    fn defaults_are_those_of_the_properties_that_an_object_lacks() {
        let schema = json!({
            "type": "object",
            "properties": { "a": { "default": 1 }, "b": { "default": null }, "c": {}, "d": { "default": "x" } },
        });
        let defaults = |schema: &Value, input: Value| {
            missing_defaults(schema, &input)
                .into_iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(defaults(&schema, json!({ "d": 1 })), ["a=1", "b=null"]);
        assert_eq!(defaults(&schema, json!({ "a": null, "b": 1 })), ["d=\"x\""]);
        assert!(defaults(&schema, json!("text")).is_empty());
        let mut untyped = schema.clone();
        untyped["type"] = json!(["object", "null"]);
        assert!(defaults(&untyped, json!({})).is_empty());
    }
}
