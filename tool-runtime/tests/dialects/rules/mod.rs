//! Rules of `lint` for all dialects.

mod parameters;
mod similar;
mod tokens;

use serde_json::{Value, json};
use tool_runtime::{
    Registry, ToolDefinition, ToolName,
    builder::ExternalTool,
    definition::Metadata,
    dialect::{Dialect, lint},
    prelude::*,
    schema::InputSchema,
};

fn definition(name: &str, description: &str, properties: Value) -> ToolDefinition {
    let schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    let name = ToolName::new(name.to_owned()).unwrap();
    let metadata = Metadata { read_only: Some(true), ..Metadata::default() };
    ToolDefinition::new(name, description.to_owned(), InputSchema::new(schema).unwrap())
        .with_metadata(metadata)
}

fn registry(tools: impl IntoIterator<Item = ToolDefinition>) -> Registry {
    let tools = tools.into_iter().map(ExternalTool::new);
    tools.fold(Registry::builder(), |builder, tool| builder.add(tool)).build().unwrap()
}

/// Returns the diagnostics in all dialects.
fn found(tools: impl IntoIterator<Item = ToolDefinition>) -> Vec<String> {
    found_in(&registry(tools))
}

fn found_in(registry: &Registry) -> Vec<String> {
    lint(registry).iter().filter(|it| it.location.dialect == Some("all")).map(ToString::to_string).collect()
}

/// Returns the diagnostics for a tool with this name and description.
fn of_description(name: &str, description: &str) -> Vec<String> {
    found([definition(name, description, json!({}))])
}

/// Returns the diagnostics for a tool with this parameter.
fn of_parameter(parameter: Value) -> Vec<String> {
    found([definition("search", "Finds the lines that hold a text.", json!({ "p": parameter }))])
}

/// The place to search.
#[tool_args]
struct Place {
    /// The folder.
    folder: String,
    /// The maximum depth.
    depth: Option<u8>,
}

/// The text to search for.
#[tool_args]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Wanted {
    /// A text as it is.
    Text {
        /// The text.
        text: String,
    },
    /// Whatever holds it.
    Pattern {
        /// The pattern.
        pattern: String,
    },
}

/// A bound, on either side.
#[tool_args]
#[serde(rename_all = "lowercase")]
enum BoundTools {
    /// No line before it.
    From(u32),
    /// No line after it.
    To(u32),
}

/// A tree of folders.
#[tool_args]
struct Tree {
    /// The name.
    name: String,
    /// The entries.
    within: Vec<Tree>,
}

/// Finds the lines that hold a text.
#[tool(register = false, read_only)]
fn search(
    /// The text to search for.
    wanted: Wanted,
    /// The folders to look in.
    places: Vec<Place>,
    /// The range of lines.
    bound: Option<BoundTools>,
    /// The root of the tree.
    tree: Option<Tree>,
) -> String {
    drop((wanted, places, bound, tree));
    String::new()
}

#[test]
fn a_well_described_tool_has_no_findings() {
    let tools = Registry::builder().tool::<search>().build().unwrap();
    assert_eq!(found_in(&tools), Vec::<String>::new());
}

/// Adds two numbers.
#[tool(register = false, read_only)]
fn add(
    /// The one.
    a: i64,
    /// The other.
    b: u64,
    /// A factor for the sum.
    times: Option<f64>,
    /// A name for the result.
    name: String,
    /// Further numbers to add.
    more: Vec<i64>,
) -> f64 {
    drop((b, name, more));
    a as f64 * times.unwrap_or(1.0)
}

#[test]
fn bounds_of_the_whole_type_are_not_added_to_the_description() {
    let tools = Registry::builder().tool::<add>().build().unwrap();
    let found: Vec<_> = lint(&tools).iter().map(ToString::to_string).collect();
    // The lower bound of an unsigned integer is significant.
    let least = "note: `add` in anthropic-strict, at `/properties/b/minimum`: `minimum` is moved into the \
                 description; no action needed: calls are validated";
    assert_eq!(found, [least]);
    let bound_to = |most: i64| {
        let number =
            json!({ "description": "How many.", "type": "integer", "minimum": -most, "maximum": most });
        let tool = definition("count", "Counts up.", json!({ "n": number }));
        Dialect::anthropic_strict().bind_tools(&registry([tool])).diagnostics().len()
    };
    assert_eq!((bound_to(9_007_199_254_740_991), bound_to(9_007_199_254_740_992)), (2, 0));
    // Bounds beyond the integer types are kept.
    for kind in [json!("number"), json!(["integer", "number"])] {
        let number = json!({ "description": "How much.", "type": kind, "maximum": 1e20 });
        let bound = Dialect::anthropic_strict().bind_tools(&registry([definition(
            "count",
            "Counts up.",
            json!({ "n": number }),
        )]));
        assert!(bound.definitions().to_string().contains("At most 1e+20."), "{:?}", bound.definitions());
    }
}

#[test]
fn fields_and_items_without_a_description_are_findings() {
    let text = |at: &str, what: &str| {
        format!(
            "warning: `search` in all, at `/properties/p{at}`: the {what} has no description; \
             write a doc comment above it"
        )
    };
    let silent = json!({ "type": "object", "properties": { "q": { "type": "string" } } });
    let said = |mut schema: Value| {
        schema["description"] = "Said.".into();
        schema
    };
    assert_eq!(of_parameter(json!({ "type": "string" })), [text("", "parameter")]);
    assert_eq!(of_parameter(json!({ "description": " ", "type": "string" })), [text("", "parameter")]);
    assert_eq!(of_parameter(said(silent.clone())), [text("/properties/q", "field")]);
    let list = said(json!({ "type": "array", "items": silent }));
    assert_eq!(of_parameter(list), [text("/items/properties/q", "field")]);
    let map = said(json!({ "type": "object", "additionalProperties": silent }));
    assert_eq!(of_parameter(map), [text("/additionalProperties/properties/q", "field")]);
    let choice = said(json!({ "anyOf": [{ "type": "null" }, silent] }));
    assert_eq!(of_parameter(choice), [text("/anyOf/1/properties/q", "field")]);
}

#[test]
fn a_description_of_a_type_or_value_counts_for_its_parameter() {
    let described = [
        json!({ "anyOf": [{ "description": "A text.", "type": "string" }, { "type": "null" }] }),
        json!({ "const": "circle" }),
        json!({ "allOf": [{ "description": "A text.", "type": "string" }, { "minLength": 1 }] }),
        json!({ "type": "string", "enum": ["circle"] }),
        json!({ "description": "One or more.", "type": "array", "items": { "type": "string" } }),
    ];
    for parameter in described {
        assert_eq!(of_parameter(parameter), Vec::<String>::new());
    }
    let half = json!({ "anyOf": [{ "description": "A text.", "type": "string" }, { "type": "integer" }] });
    assert!(of_parameter(half)[0].contains("the parameter has no description"));
    let schema = json!({
        "type": "object",
        "properties": { "p": { "$ref": "#/$defs/said" }, "q": { "$ref": "#/$defs/silent" } },
        "additionalProperties": false,
        "$defs": {
            "said": { "description": "Said.", "type": "object", "properties": {} },
            "silent": { "type": "object", "properties": {} },
        },
    });
    let base = definition("search", "Finds the lines that hold a text.", json!({}));
    let metadata = base.metadata().clone();
    let tool = ToolDefinition::new(base.name().clone(), "Finds lines.", InputSchema::new(schema).unwrap());
    let found = found([tool.with_metadata(metadata)]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("at `/properties/q`: the parameter has no description"), "{found:?}");
}

#[test]
fn an_uninformative_description_is_a_finding() {
    let text = |name: &str, message: &str| {
        [format!("warning: `{name}` in all, at ``: {message}; describe what it does and when to call it")]
    };
    assert_eq!(of_description("ping", " "), text("ping", "the tool has no description"));
    let restated = "the description only repeats the name";
    assert_eq!(of_description("get_user", "Gets the user."), text("get_user", restated));
    assert_eq!(of_description("getUser", "This tool gets a user"), text("getUser", restated));
    assert_eq!(of_description("delete_entries", "Deleting of an entry"), text("delete_entries", restated));
    assert_eq!(of_description("ping", "Does something with data."), text("ping", restated));
    assert_eq!(of_description("ping", "Answers."), text("ping", "the description is a single word"));
}

#[test]
fn a_short_informative_description_is_not_a_finding() {
    let cases = [
        ("greet", "Says hello."),
        ("forecast", "Forecasts the weather."),
        ("get_user", "Gets the user who is signed in."),
        ("add", "Adds two numbers."),
        ("yohou", "天気を予報する"),
    ];
    for (name, description) in cases {
        assert_eq!(of_description(name, description), Vec::<String>::new());
    }
}

#[test]
fn a_very_long_description_is_a_finding() {
    let long = |count: usize| format!("Finds lines. {}", "x".repeat(count - 13));
    let text = "warning: `search` in all, at ``: the description adds 4001 characters to every request; \
                keep it within 4000; move details to the descriptions of parameters, or to the results";
    assert_eq!(of_description("search", &long(4_001)), [text]);
    assert_eq!(of_description("search", &long(4_000)), Vec::<String>::new());
    let parameter = |count: usize| json!({ "type": "string", "description": "é".repeat(count) });
    let text = "warning: `search` in all, at `/properties/p`: the description of the parameter has 1001 characters; \
                keep it within 1000; shorten it";
    assert_eq!(of_parameter(parameter(1_001)), [text]);
    assert_eq!(of_parameter(parameter(1_000)), Vec::<String>::new());
}

#[test]
fn a_tool_without_hints_about_its_effects_is_a_finding() {
    let with =
        |name: &str, metadata| definition(name, "Looks after the notes.", json!({})).with_metadata(metadata);
    let text = "note: `tidy` in all, at ``: it has no hint about its effects, so hosts may ask before each call; \
                add `read_only` or `destructive` to it, or `destructive = false`";
    assert_eq!(found([with("tidy", Metadata::default())]), [text]);
    let text = "warning: `delete_note` in all, at ``: its name suggests a destructive action, but no hint says so; add \
                `destructive` to it, or `destructive = false`";
    assert_eq!(found([with("delete_note", Metadata::default())]), [text]);
    let note = found([with("undelete", Metadata::default())]);
    assert!(note[0].starts_with("note: `undelete`"), "{note:?}");
    for (read_only, destructive) in
        [(Some(true), None), (Some(false), None), (None, Some(true)), (None, Some(false))]
    {
        let metadata = Metadata { read_only, destructive, ..Metadata::default() };
        assert_eq!(found([with("delete_note", metadata)]), Vec::<String>::new());
    }
}

#[test]
fn excessive_definitions_are_reported_with_the_largest_tools() {
    let long = |count: usize| format!("Finds lines. {}", "x".repeat(count));
    let tools = |count: usize| {
        (0..20).map(move |at| {
            definition(&format!("t{at:02}"), &long(if at == 7 { count } else { 1_000 }), json!({}))
        })
    };
    let dialect = Dialect::anthropic();
    let bound = dialect.bind_tools(&registry(tools(3_900)));
    assert!(bound.estimated_tokens() < 10_000 && bound.diagnostics().is_empty(), "{:?}", bound.diagnostics());
    let bound = dialect.bind_tools(&registry((0..2).flat_map(|set| {
        tools(3_900).map(move |tool| {
            let name = format!("{}_{set}", tool.name());
            tool.with_name(ToolName::new(name).unwrap())
        })
    })));
    let found: Vec<_> = bound.diagnostics().iter().map(ToString::to_string).collect();
    let text = format!(
        "warning: `t07_1` in anthropic, at ``: the definitions of all tools add about {} tokens to every request; keep them \
         below 10000; this one is the largest, with 1006; show fewer tools per run, or shorten their \
         descriptions",
        bound.estimated_tokens()
    );
    assert_eq!(found, [text]);
}

#[derive(Debug)]
struct Odd;

impl std::fmt::Display for Odd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("odd")
    }
}

fn is_odd(_: &Odd) -> bool {
    true
}

// J01, J04
#[test]
fn a_retry_policy_that_never_applies_is_a_finding() {
    /// Fails with an error of unknown kind.
    #[tool(register = false, read_only, retry(attempts = 3))]
    fn blind() -> Result<(), Odd> {
        Err(Odd)
    }
    /// Fails with an error of unknown kind, and has a hand-written schema.
    #[tool(register = false, read_only, retry, output_schema = false)]
    async fn blind_too() -> Option<Result<u8, String>> {
        None
    }
    /// Fails with an error that a condition function classifies.
    #[tool(register = false, read_only, retry(attempts = 3, when = is_odd))]
    fn seeing() -> Result<(), Odd> {
        Err(Odd)
    }
    /// Classifies its temporary failures itself.
    #[tool(register = false, read_only, retry)]
    fn telling() -> Result<(), ToolError> {
        Ok(())
    }
    /// Fails with an I/O error.
    #[tool(register = false, read_only, retry)]
    async fn reading() -> std::io::Result<String> {
        Ok(String::new())
    }
    /// Fails with an error that may have a temporary source.
    #[tool(register = false, read_only, retry)]
    async fn wrapping() -> anyhow::Result<String> {
        Ok(String::new())
    }
    /// Fails with an error that may be temporary.
    #[tool(register = false, read_only, retry)]
    fn boxing() -> Option<Result<u8, Box<dyn std::error::Error + Send + Sync>>> {
        None
    }
    /// Never fails.
    #[tool(register = false, read_only, retry)]
    fn always() -> u8 {
        1
    }
    /// Fails, and has no retry policy.
    #[tool(register = false, read_only)]
    fn once() -> Result<(), Odd> {
        Err(Odd)
    }
    let tools = Registry::builder().tool::<blind>().tool::<blind_too>().tool::<seeing>().tool::<telling>();
    let tools = tools.tool::<reading>().tool::<wrapping>().tool::<boxing>().tool::<always>();
    let tools = tools.tool::<once>().build().unwrap();
    let retries: Vec<_> = found_in(&tools).into_iter().filter(|it| it.contains("retry")).collect();
    let message = "its `retry` has no effect: its errors are texts, and no text is known to be temporary; \
                   add `when = path` to `retry` with a function that decides, or return a `ToolError` or another \
                   `std::error::Error`";
    let expected = ["blind", "blind_too"].map(|tool| format!("warning: `{tool}` in all, at ``: {message}"));
    assert_eq!(retries, expected);
}
