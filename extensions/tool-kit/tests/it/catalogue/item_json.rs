//! Items as JSON, and construction that fails.

use std::sync::Arc;

use tool_kit::{
    catalogue::{Catalogue, ItemQuery},
    prompt::PromptFile,
    resource::{ReadableResource as _, StoredResource},
};
use tool_runtime::{
    Executor, ToolDefinition, ToolName, Toolbox,
    definition::Prepared,
    policy::{Rule, Rules},
    prelude::*,
    schema::{Arguments, InputSchema},
    toolset::NamedTools,
};

use super::{prompt, snapshot};

/// Returns the temperatures of the next days.
#[tool(register = false, read_only, idempotent, open_world)]
fn forecast(city: String, #[arg(default = 3)] days: u8) -> Vec<u64> {
    vec![city.len() as u64; days.into()]
}

#[tokio::test]
async fn items_serialise_with_their_keys_descriptions_schemas_and_hints() {
    let catalogue = Catalogue::new();
    let tools = Registry::builder().tool::<forecast>().build().unwrap();
    let forecast = Arc::clone(tools.get("forecast").unwrap());
    catalogue
        .tools()
        .add_toolset(tool_runtime::toolset::ToolSetExt::prefixed(NamedTools::new("weather", vec![forecast])))
        .unwrap();
    let explain = "---\nname: explain\ninput:\n  type: object\n  properties: { topic: { type: string } }\n---\nExplain {{ .topic }}.";
    catalogue.add_prompt(PromptFile::parse(explain).unwrap()).unwrap();
    catalogue.add_resource(StoredResource::must_text("notes", "Buy milk.").with_description("Of today."));
    let items = snapshot(&catalogue).await.list(&ItemQuery::all()).items;
    let found = serde_json::to_value(&items).unwrap();
    let expected = json!([
        {
            "kind": "tool",
            "namespace": "weather",
            "name": "weather.forecast",
            "rawName": "forecast",
            "description": "Returns the temperatures of the next days.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "city": { "type": "string" },
                    "days": { "type": "integer", "minimum": 0, "maximum": 255, "default": 3 },
                },
                "required": ["city"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "array",
                "items": { "type": "integer", "minimum": 0, "maximum": u64::MAX },
            },
            "metadata": { "readOnly": true, "idempotent": true, "openWorld": true },
        },
        {
            "kind": "prompt",
            "namespace": "builtin",
            "name": "explain",
            "arguments": [{ "name": "topic", "required": false }],
        },
        {
            "kind": "resource",
            "namespace": "builtin",
            "uri": "text:notes",
            "name": "notes",
            "description": "Of today.",
            "mimeType": "text/plain",
        },
    ]);
    assert_eq!(found, expected); // U36 U45
}

/// A tool with this definition.
struct DefinedTool(ToolDefinition);

/// Returns a tool whose schema has a mistake.
fn broken() -> Arc<dyn Tool> {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "nonsense" } } });
    let schema = InputSchema::new(schema).unwrap();
    Arc::new(DefinedTool(ToolDefinition::new(ToolName::new("broken").unwrap(), "Is broken.", schema)))
}

impl Tool for DefinedTool {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, |_, _| Box::pin(async { Ok(ToolOutput::empty()) })))
    }
}

#[tokio::test]
async fn a_mistake_in_a_schema_surfaces_and_no_such_tool_is_listed() {
    let catalogue = Catalogue::new();
    let error = catalogue.tools().add_all([broken()]).unwrap_err().to_string();
    assert!(error.contains("broken") && error.contains("nonsense"), "{error}"); // U01 U45
    catalogue.tools().add_toolset(NamedTools::new("other", vec![broken()])).unwrap();
    let items = snapshot(&catalogue).await;
    assert_eq!(items.list(&ItemQuery::all()).count, 0); // U45
    let diagnostics = items.toolbox_snapshot().diagnostics();
    assert!(diagnostics.iter().any(|it| it.to_string().contains("nonsense")), "{diagnostics:?}"); // U45
}

/// A part of a catalogue that may be wrong.
#[derive(Debug, PartialEq)]
enum Part {
    None,
    Tools,
    Prompts,
    Connector,
    Executor,
}

/// Builds a catalogue of a program.
fn build(wrong: &Part) -> anyhow::Result<Catalogue> {
    let tools = Registry::builder().tool::<forecast>();
    let tools = if *wrong == Part::Tools { tools.add(broken()) } else { tools }.build()?;
    let argument = if *wrong == Part::Executor { "/town" } else { "/city" };
    let executor = Executor::builder(tools.clone())
        .rules(Rules::new([Rule::deny("forecast").at(argument, "x")]))
        .build()?;
    let catalogue = Catalogue::of_tools(Toolbox::from_registry(&tools)).with_executor(executor);
    let second = if *wrong == Part::Prompts { "one" } else { "two" };
    catalogue.add_prompts([prompt("one"), prompt(second)])?;
    let namespace = if *wrong == Part::Connector { "user" } else { "library" };
    catalogue.connect(super::Fixed::named(namespace))?;
    Ok(catalogue)
}

#[test]
fn a_part_that_fails_fails_the_construction() {
    assert!(build(&Part::None).is_ok());
    for (wrong, expected) in [
        (Part::Tools, "nonsense"),
        (Part::Prompts, "there is a prompt `one`"),
        (Part::Connector, "the namespace `user` is reserved"),
        (Part::Executor, "town"),
    ] {
        let error = build(&wrong).unwrap_err().to_string();
        assert!(error.contains(expected), "{wrong:?}: {error}"); // U01
    }
}
