//! Structured output: the type of an answer, and the tool by which a model submits it.
//!
//! An agent with an [`OutputType`] ends its runs with a value of that type. A model whose provider guarantees the
//! format of a response answers with JSON, which arrives as text. Any other model calls the tool [`submit_output`]
//! with the value as its arguments. Both are validated by the same tool, so that a provider that does not keep its
//! guarantee is noticed.
//!
//! [`submit_output`]: tool_runtime::registry::OUTPUT_TOOL

mod tool;

use std::{fmt, sync::Arc};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tool_runtime::{
    Registry, ToolDefinition, ToolError,
    guard::catch,
    schema::{Arguments, InputSchema, OutputSchema},
    schemars::{self, JsonSchema},
};

pub use self::tool::OutputTool;
pub(crate) use self::tool::Submission;
use crate::{model::OutputFormat, schema::is_plain_object};

/// The instruction for a model that submits its output by the tool
/// [`submit_output`](tool_runtime::registry::OUTPUT_TOOL). It follows the instruction of the agent, in requests with
/// that tool only.
pub const OUTPUT_INSTRUCTION: &str = "When your work is complete, call the tool `submit_output` with the final \
    answer as its arguments. Do not write the final answer as text.";

/// The maximum number of invalid outputs of a run that a model may correct.
const MAX_REPAIRS: u64 = 3;

/// The type of the answer of an agent. Cheap to clone.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, OutputType, Runner, ScriptedModel, model::Reply};
/// use tool_runtime::prelude::*;
///
/// /// An order.
/// #[tool_args]
/// #[derive(Debug, PartialEq)]
/// struct Order {
///     /// The article.
///     article: String,
///     /// The number of pieces.
///     count: u32,
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let model = ScriptedModel::new([Reply::call("submit_output", json!({ "article": "tea", "count": 2 }))]);
/// let agent = Agent::builder("clerk", model).output_type(OutputType::of::<Order>().with_repairs(1)).build()?;
/// let order: Order = Runner::new(agent).run("Two teas, please.").output().await?;
/// assert_eq!(order, Order { article: "tea".to_owned(), count: 2 });
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct OutputType(Arc<OutputSettings>);

#[derive(Clone)]
struct OutputSettings {
    name: Arc<str>,
    schema: Result<InputSchema, Arc<str>>,
    /// The schema for providers.
    value: Arc<Value>,
    /// Decodes arguments; `None` if they are validated by a schema only.
    decode: Option<Decode>,
    /// Set if the value is the property `output` of the arguments.
    wrapped: bool,
    repairs: u64,
    by_tool: bool,
}

type Decode = fn(&ToolDefinition, &mut Arguments<'_>) -> Result<(), ToolError>;

/// A value that is not an object, as arguments.
#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "schemars")]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "decoded to validate")]
struct Wrapped<T> {
    /// The output.
    output: T,
}

impl OutputType {
    /// The type `T`, which [`tool_args`](macro@tool_runtime::tool_args) or `Deserialize` and `JsonSchema` describe. A
    /// type that is not a JSON object, such as a list or an enum, is sent as the property `output` of one.
    pub fn of<T: DeserializeOwned + JsonSchema + 'static>() -> Self {
        let name = catch(|| T::schema_name().into_owned()).unwrap_or_default();
        let direct = derived_schema::<T>().ok().filter(|schema| is_plain_object(schema.as_value()));
        match direct {
            Some(schema) => Self::new(&name, Ok(schema), Some(decode_arguments::<T>), false),
            None => {
                Self::new(&name, derived_schema::<Wrapped<T>>(), Some(decode_arguments::<Wrapped<T>>), true)
            }
        }
    }

    /// The values that a handwritten schema permits.
    #[must_use]
    pub fn schema(schema: InputSchema) -> Self {
        Self::new("output", Ok(schema), None, false)
    }

    /// Any JSON object.
    #[must_use]
    pub fn any() -> Self {
        let schema = InputSchema::new(json!({ "type": "object" })).map_err(|error| error.to_string().into());
        Self::new("output", schema, None, false)
    }

    fn new(name: &str, schema: Result<InputSchema, Arc<str>>, decode: Option<Decode>, wrapped: bool) -> Self {
        let value = schema.as_ref().map(|schema| schema.as_value().clone()).unwrap_or_default();
        Self(Arc::new(OutputSettings {
            name: name_for_providers(name).into(),
            schema,
            value: Arc::new(value),
            decode,
            wrapped,
            repairs: MAX_REPAIRS,
            by_tool: false,
        }))
    }

    /// Returns the schema of the output as the result of a call; `None` if it is not an object.
    pub(crate) fn result_schema(&self) -> Option<OutputSchema> {
        let schema = self.0.schema.as_ref().ok().filter(|_| !self.0.wrapped)?;
        OutputSchema::new(schema.as_value().clone()).ok()
    }

    /// Sets the maximum number of invalid outputs of a run that the model may correct; one more ends the run with
    /// [`EndReason::InvalidOutput`](crate::EndReason::InvalidOutput). Default: 3.
    #[must_use]
    pub fn with_repairs(self, repairs: u64) -> Self {
        self.with_changed_settings(|it| it.repairs = repairs)
    }

    /// Sets whether the model always submits the output by the tool
    /// [`submit_output`](tool_runtime::registry::OUTPUT_TOOL), also if its provider guarantees the format of an
    /// answer. Default: `false`.
    #[must_use]
    pub fn by_tool(self, by_tool: bool) -> Self {
        self.with_changed_settings(|it| it.by_tool = by_tool)
    }

    fn with_changed_settings(self, change: impl FnOnce(&mut OutputSettings)) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.0);
        change(&mut inner);
        Self(Arc::new(inner))
    }

    pub(crate) fn max_repairs(&self) -> u64 {
        self.0.repairs
    }

    /// Returns the format for the provider; `None` if the output is always submitted by the tool.
    pub(crate) fn output_format(&self) -> Option<OutputFormat> {
        let OutputSettings { name, value, by_tool, .. } = &*self.0;
        (!by_tool).then(|| OutputFormat { name: Arc::clone(name), schema: Arc::clone(value) })
    }

    /// Creates the output tool of one run.
    ///
    /// # Errors
    ///
    /// Returns a message if the type has no valid schema.
    pub(crate) fn validator(&self) -> Result<Validator, String> {
        let tool = OutputTool::new(self.clone())?;
        let tools = Registry::builder()
            .repair(tool_runtime::schema::Repair::AllTools)
            .output_tool(tool.clone())
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Validator { tool, tools })
    }
}

/// The output tool of one run, which also validates outputs that are texts.
pub(crate) struct Validator {
    tool: OutputTool,
    tools: Registry,
}

impl Validator {
    /// Returns the output that `text` contains.
    ///
    /// # Errors
    ///
    /// Returns an error that lists the problems.
    pub(crate) async fn validate(&self, text: &str) -> Result<Submission, ToolError> {
        self.tools.call(tool_runtime::registry::OUTPUT_TOOL, text).await?;
        self.tool.drain_submissions().ok_or_else(ToolError::cancelled)
    }

    /// Returns the tool.
    pub(crate) fn tool(&self) -> &OutputTool {
        &self.tool
    }
}

fn derived_schema<T: DeserializeOwned + JsonSchema>() -> Result<InputSchema, Arc<str>> {
    let schema = catch(InputSchema::of_decoded::<T>).map_err(|panic| format!("the schema {panic}"))?;
    Ok(schema.map_err(|error| error.to_string())?)
}

fn decode_arguments<T: DeserializeOwned>(
    definition: &ToolDefinition,
    arguments: &mut Arguments<'_>,
) -> Result<(), ToolError> {
    definition.decode::<T>(arguments).map(drop)
}

/// Returns `name` with the characters that providers accept.
fn name_for_providers(name: &str) -> String {
    let accepted = |it: char| if it.is_ascii_alphanumeric() || it == '-' { it } else { '_' };
    let name: String = name.chars().take(64).map(accepted).collect();
    if name.is_empty() { "output".to_owned() } else { name }
}

impl fmt::Debug for OutputType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutputSettings { name, value, repairs, by_tool, .. } = &*self.0;
        f.debug_struct("OutputType")
            .field("name", name)
            .field("schema", value)
            .field("repairs", repairs)
            .field("by_tool", by_tool)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_named_after_its_type() {
        for (name, expected) in
            [("Point", "Point"), ("Option<a::B-c>", "Option_a__B-c_"), ("\u{e4}", "_"), ("", "output")]
        {
            assert_eq!(name_for_providers(name), expected);
        }
        assert_eq!(name_for_providers(&"x".repeat(65)), "x".repeat(64));
        let output = OutputType::any();
        assert_eq!((output.max_repairs(), output.output_format().is_some()), (3, true));
        let output = output.with_repairs(1).by_tool(true);
        assert_eq!((output.max_repairs(), output.output_format().is_some()), (1, false));
        assert!(OutputType::any().by_tool(false).output_format().is_some());
    }

    #[test]
    fn the_tools_of_the_framework_change_nothing_and_may_be_called_again() {
        use tool_runtime::Tool as _;

        let output = OutputTool::new(OutputType::any()).map(|tool| tool.definition().metadata().clone());
        let exit = crate::exit_loop().definition().metadata().clone();
        for metadata in [output.unwrap_or_default(), exit] {
            assert_eq!((metadata.read_only, metadata.idempotent), (Some(true), Some(true)), "{metadata:?}");
        }
    }

    #[test]
    fn a_value_that_is_no_object_is_wrapped() {
        let wraps =
            |output: OutputType| (output.0.wrapped, output.0.value.pointer("/properties/output").is_some());
        assert_eq!(wraps(OutputType::of::<Vec<i64>>()), (true, true));
        assert_eq!(wraps(OutputType::any()), (false, false));
    }
}
