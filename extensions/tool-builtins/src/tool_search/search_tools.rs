//! The tool by which a model searches.

use serde::Deserialize;
use serde_json::{Value, json};
use tool_runtime::{
    Tool, ToolContext, ToolDefinition, ToolError, ToolName, ToolOutput,
    context::Dependency,
    definition::{Metadata, Prepared},
    registry::AvailableTools,
    schema::{Arguments, InputSchema},
};

use super::{DEFAULT_MATCHES, SEARCH_TOOLS, ToolSearch};

/// The maximum number of tools that a model may request.
const MAX_MATCHES: usize = 20;

/// The maximum size of the parameters of a tool in a result, in bytes of JSON; larger ones are left out.
const MAX_PARAMETERS_BYTES: usize = 16 << 10;

/// The maximum number of characters of a description in a result.
const MAX_DESCRIPTION_CHARS: usize = 1_000;

/// The tool `search_tools`: it returns the tools of the run that fit a query, with their parameters. Created by
/// [`ToolSearch::search_tools`].
#[derive(Debug)]
pub struct SearchTools {
    definition: ToolDefinition,
    search: ToolSearch,
    needs: [Dependency; 1],
}

#[derive(Deserialize)]
struct SearchArguments {
    query: String,
    limit: Option<usize>,
}

impl SearchTools {
    pub(super) fn new(search: ToolSearch) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "Words for the task and its objects, such as `create github issue`.",
                },
                "limit": {
                    "type": "integer",
                    "description": "The maximum number of tools.",
                    "minimum": 1,
                    "maximum": MAX_MATCHES,
                    "default": DEFAULT_MATCHES,
                },
            },
            "required": ["query"],
            "additionalProperties": false,
        });
        let description = "Finds tools for a task. More tools exist than are listed: search before you decide that none \
                           fits. Returns names, descriptions and parameters; call the tools by `call_tool`.";
        let metadata = Metadata { read_only: Some(true), open_world: Some(false), ..Metadata::default() };
        let definition = tool_definition(SEARCH_TOOLS, description, schema).with_metadata(metadata);
        Self { definition, search, needs: [Dependency::of::<AvailableTools>()] }
    }

    async fn search_for_model(
        &self,
        arguments: &SearchArguments,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let tools = cx.require::<AvailableTools>()?.definitions();
        let limit = arguments.limit.unwrap_or(DEFAULT_MATCHES).clamp(1, MAX_MATCHES);
        // Without the embedder, the words alone find most tools.
        let found = self.search.find(tools, &arguments.query, limit).await.unwrap_or_else(|_| {
            let matches = self.search.matches(tools, &arguments.query, limit);
            matches.into_iter().map(|it| it.definition).collect()
        });
        let mut result = json!({ "tools": found.iter().map(match_for_model).collect::<Vec<_>>() });
        if found.is_empty() {
            result["hint"] =
                json!("no tool has one of these words; name the task and its objects in other words");
        }
        ToolOutput::json(&result)
    }
}

impl Tool for SearchTools {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let received: SearchArguments = serde_json::from_str(arguments.as_str()).map_err(|error| {
            ToolError::bad_parameter(format!("`{SEARCH_TOOLS}` needs `query`, a text: {error}"))
        })?;
        Ok(Prepared::new(arguments, move |_, cx| {
            Box::pin(async move { self.search_for_model(&received, cx).await })
        }))
    }

    fn needs(&self) -> &[Dependency] {
        &self.needs
    }
}

/// Returns a tool as the model reads it.
fn match_for_model(definition: &ToolDefinition) -> Value {
    let description = definition.description();
    let end =
        description.char_indices().nth(MAX_DESCRIPTION_CHARS).map_or(description.len(), |(place, _)| place);
    let mut shown = json!({ "name": definition.name(), "description": &description[..end] });
    let parameters = definition.input_schema().to_value();
    match parameters.to_string().len() {
        ..=MAX_PARAMETERS_BYTES => shown["parameters"] = parameters.into_owned(),
        bytes => {
            let note = format!(
                "left out, since they have {bytes} bytes; a call with wrong arguments names the right ones"
            );
            shown["parameters"] = note.into();
        }
    }
    shown
}

/// Returns the definition of one of the tools, whose name and schema are valid.
#[expect(clippy::expect_used, reason = "name and schema are constants, which tests read")]
pub(super) fn tool_definition(
    name: &'static str,
    description: &'static str,
    schema: Value,
) -> ToolDefinition {
    let name = ToolName::new(name).expect("the name is valid");
    ToolDefinition::new(name, description, InputSchema::new(schema).expect("the schema is valid"))
}
