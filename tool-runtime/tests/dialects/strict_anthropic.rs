//! Strict mode of Anthropic: <https://platform.claude.com/docs/en/agents-and-tools/tool-use/strict-tool-use>;
//! and examples, for which only this API has a member.

use serde_json::{Value, json};
use tool_runtime::{
    Registry, ToolDefinition, ToolName,
    builder::ExternalTool,
    dialect::{BoundTools, Dialect},
    schema::InputSchema,
};

fn definition(name: &str, schema: Value) -> ToolDefinition {
    let schema = InputSchema::new(schema).unwrap();
    ToolDefinition::new(ToolName::new(name.to_owned()).unwrap(), "Takes what is given.", schema)
}

fn bound(dialect: &Dialect, tools: impl IntoIterator<Item = ToolDefinition>) -> BoundTools {
    let tools = tools.into_iter().map(ExternalTool::new);
    dialect.bind_tools(&tools.fold(Registry::builder(), |builder, tool| builder.add(tool)).build().unwrap())
}

fn found(bound: &BoundTools) -> Vec<String> {
    bound.diagnostics().iter().map(ToString::to_string).collect()
}

fn object(properties: Value, required: Value) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

#[test]
fn optional_properties_stay_optional_and_constraints_are_moved_into_the_description() {
    let schema = object(
        json!({
            "city": { "description": "The city.", "type": "string", "minLength": 2, "pattern": "^[A-Z]" },
            "days": { "type": "integer", "maximum": 14, "default": 3 },
            "at": { "type": "string", "format": "date-time" },
            "names": { "type": "array", "items": { "type": "string" }, "minItems": 2 },
            "more": { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 9 },
        }),
        json!(["city"]),
    );
    let bound = bound(&Dialect::anthropic_strict(), [definition("forecast", schema)]);
    let sent = &bound.definitions()[0];
    assert_eq!(sent["strict"], true);
    let expected = object(
        json!({
            "city": { "description": "The city. At least 2 characters. Must match the pattern `^[A-Z]`.", "type": "string" },
            "days": { "type": "integer", "default": 3, "description": "At most 14." },
            "at": { "type": "string", "format": "date-time" },
            "names": { "type": "array", "items": { "type": "string" }, "description": "At least 2 items." },
            "more": { "type": "array", "items": { "type": "string" }, "minItems": 1, "description": "At most 9 items." },
        }),
        json!(["city"]),
    );
    assert_eq!(sent["input_schema"], expected);
}

#[test]
fn recursive_schemas_and_maps_are_sent_without_strict() {
    let list = json!({
        "type": "object",
        "properties": { "first": { "$ref": "#/$defs/node" } },
        "additionalProperties": false,
        "$defs": { "node": object(json!({ "next": { "$ref": "#/$defs/node" } }), json!([])) },
    });
    let map = object(
        json!({ "map": { "type": "object", "additionalProperties": { "type": "string" } } }),
        json!([]),
    );
    let bound =
        bound(&Dialect::anthropic_strict(), [definition("list", list.clone()), definition("map", map)]);
    assert_eq!(bound.definitions()[0]["input_schema"], list);
    assert!(bound.definitions().as_array().unwrap().iter().all(|tool| tool.get("strict").is_none()));
    let without = "the tool is sent without `strict`";
    let remedy = "use a struct or a list of entries, or ignore it: calls are validated";
    assert_eq!(
        found(&bound),
        [
            format!(
                "warning: `list` in anthropic-strict, at `/$defs/node`: {without}: it is recursive; {remedy}"
            ),
            format!(
                "warning: `map` in anthropic-strict, at `/properties/map/additionalProperties`: {without}: its keys are \
                 not declared; {remedy}"
            ),
        ]
    );
}

#[test]
fn a_definition_that_is_used_twice_is_not_recursive() {
    let pair = json!({
        "type": "object",
        "properties": { "a": { "$ref": "#/$defs/x" }, "b": { "$ref": "#/$defs/y" }, "c": { "$ref": "#/$defs/x" } },
        "additionalProperties": false,
        "$defs": {
            "x": object(json!({ "y": { "$ref": "#/$defs/y" } }), json!([])),
            "y": { "type": "string" },
        },
    });
    let bound = bound(&Dialect::anthropic_strict(), [definition("pair", pair)]);
    assert_eq!(bound.definitions()[0]["strict"], true, "{:?}", found(&bound));
}

/// Returns the number of strict tools, and the reason for the first that is not.
fn strict(schema: &Value) -> (usize, String) {
    let tools = (0..30).map(|at| definition(&format!("t{at:02}"), schema.clone()));
    let bound = bound(&Dialect::anthropic_strict(), tools);
    let tools = bound.definitions().as_array().unwrap();
    let count = tools.iter().filter(|tool| tool.get("strict").is_some()).count();
    // The first tools are strict, and all have the same form.
    assert!(tools[..count].iter().all(|tool| tool["strict"] == true));
    assert!(tools.iter().all(|tool| tool["input_schema"] == tools[0]["input_schema"]));
    assert_eq!(bound.diagnostics().len(), 30 - count);
    (count, bound.diagnostics()[0].to_string())
}

#[test]
fn tools_beyond_the_limits_of_a_request_are_sent_without_strict() {
    let text = |tool: usize, what: &str| {
        format!(
            "warning: `t{tool}` in anthropic-strict, at ``: the tool is sent without `strict`: together with the tools \
             before it, the request would exceed {what}; show fewer tools per run, or ignore it: calls are validated"
        )
    };
    let plain = object(json!({ "a": { "type": "string" } }), json!(["a"]));
    assert_eq!(strict(&plain), (20, text(20, "20 strict tools")));
    let optional = object(json!({ "a": { "type": "string" }, "b": { "type": "string" } }), json!([]));
    assert_eq!(strict(&optional), (12, text(12, "24 optional properties")));
    let others = object(json!({ "a": { "type": "string" } }), json!(["b", "c"]));
    assert_eq!(strict(&others), (20, text(20, "20 strict tools")));
    let others = object(json!({ "a": { "type": "string" }, "b": { "type": "string" } }), json!(["c", "d"]));
    assert_eq!(strict(&others), (12, text(12, "24 optional properties")));
    let choice = object(json!({ "a": { "type": ["string", "null"] } }), json!(["a"]));
    assert_eq!(strict(&choice), (16, text(16, "16 values of several types")));
}

#[test]
fn examples_are_sent_if_supported_and_else_moved_into_the_description() {
    let plain = object(json!({ "a": { "type": "string" } }), json!(["a"]));
    let choice = json!({ "oneOf": [plain] });
    let examples = || vec![json!({ "a": "x" }), json!({ "a": "y" })];
    let tools = || {
        [
            definition("choice", choice.clone()).with_examples(examples()),
            definition("plain", plain.clone()).with_examples(examples()),
        ]
    };
    for dialect in [Dialect::anthropic(), Dialect::anthropic_strict()] {
        let bound = bound(&dialect, tools());
        let sent = bound.definitions();
        assert_eq!(
            sent[0]["input_examples"],
            json!([{ "arguments": { "a": "x" } }, { "arguments": { "a": "y" } }])
        );
        assert_eq!(sent[1]["input_examples"], json!([{ "a": "x" }, { "a": "y" }]));
        assert_eq!(sent[1]["description"], "Takes what is given.");
    }
    let said = "Takes what is given.\n\nExamples of arguments:\n{\"a\":\"x\"}\n{\"a\":\"y\"}";
    let bound_as = |dialect: Dialect| bound(&dialect, tools()).definitions().clone();
    assert_eq!(bound_as(Dialect::openai_responses())[1]["description"], said);
    assert_eq!(bound_as(Dialect::gemini())[0]["functionDeclarations"][1]["description"], said);
    assert_eq!(bound_as(Dialect::mcp())[1]["description"], said);
    let held = bound_as(Dialect::openai_chat())[0]["function"]["description"].clone();
    assert!(held.as_str().unwrap().ends_with("{\"arguments\":{\"a\":\"y\"}}"), "{held}");
}

#[test]
fn an_example_that_the_provider_would_refuse_is_moved_into_the_description() {
    let open = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let tool = || definition("open", open.clone()).with_examples(vec![json!({ "a": "x", "b": 1 })]);
    let bound_as = |dialect: Dialect| bound(&dialect, [tool()]).definitions()[0].clone();
    assert_eq!(bound_as(Dialect::anthropic())["input_examples"], json!([{ "a": "x", "b": 1 }]));
    let strict = bound_as(Dialect::anthropic_strict());
    assert_eq!(strict.get("input_examples"), None);
    assert!(strict["description"].as_str().unwrap().ends_with("{\"a\":\"x\",\"b\":1}"), "{strict}");
}

#[test]
fn examples_in_a_description_count_towards_its_limit() {
    let plain = object(json!({ "a": { "type": "string" } }), json!(["a"]));
    let tool = definition("plain", plain).with_examples(vec![json!({ "a": "x".repeat(1_000) })]);
    let bound = bound(&Dialect::openai_chat(), [tool]);
    assert!(found(&bound)[0].contains("the description has 1053 characters"), "{:?}", found(&bound));
}
