//! Conversion of schemas that providers support in part: A22, B21.

use serde_json::{Value, json};
use tool_runtime::{
    Registry, ToolDefinition, ToolName,
    builder::ExternalTool,
    diagnostic::{Diagnostic, Severity},
    dialect::{BoundTools, Dialect},
    prelude::*,
    schema::InputSchema,
};

/// Answers.
#[tool(register = false)]
fn ping() -> &'static str {
    "pong"
}

/// Returns the definition of a tool with this schema in a dialect.
fn of(dialect: &Dialect, schema: Value) -> BoundTools {
    let name = ToolName::new("take").unwrap();
    let definition = ToolDefinition::new(name, "Takes.", InputSchema::new(schema).unwrap());
    dialect.bind_tools(&Registry::builder().add(ExternalTool::new(definition)).build().unwrap())
}

fn is_strict(bound: &BoundTools) -> bool {
    let tool = &bound.definitions()[0];
    tool["strict"] == true || tool["function"]["strict"] == true
}

fn found(bound: &BoundTools) -> Vec<(String, Severity)> {
    bound.diagnostics().iter().map(|it| (it.location.pointer.clone(), it.severity)).collect()
}

#[test]
fn a_tool_without_parameters_stays_strict() {
    for dialect in
        [Dialect::openai_chat_strict(), Dialect::openai_responses_strict(), Dialect::anthropic_strict()]
    {
        let written = dialect.bind_tools(&Registry::builder().tool::<ping>().build().unwrap());
        assert!(is_strict(&written) && written.diagnostics().is_empty(), "{:?}", written.diagnostics());
        // As MCP servers send it, with or without empty properties.
        for schema in [
            json!({ "type": "object", "properties": {} }),
            json!({ "type": "object", "properties": {}, "required": [] }),
            json!({ "type": "object" }),
            json!({}),
        ] {
            let bound = of(&dialect, schema.clone());
            assert!(is_strict(&bound), "{} {schema}", dialect.name());
            let tool = &bound.definitions()[0];
            let parameters =
                tool.pointer("/function/parameters").or(tool.get("parameters")).or(tool.get("input_schema"));
            assert_eq!(parameters.unwrap()["additionalProperties"], false);
            assert_eq!(found(&bound), [(String::new(), Severity::Warning)], "{schema}");
        }
        // A tool that accepts any property is not strict.
        for schema in [
            json!({ "type": "object", "additionalProperties": true }),
            json!({ "type": "object", "properties": { "a": { "type": "object" } }, "required": ["a"], "additionalProperties": false }),
        ] {
            assert!(!is_strict(&of(&dialect, schema)));
        }
    }
}

/// Returns a parameter in `gemini-schema`, and its diagnostics.
fn gemini(parameter: Value) -> (Value, Vec<(String, Severity)>) {
    let bound = of(
        &Dialect::gemini_schema(),
        json!({ "type": "object", "properties": { "p": parameter }, "additionalProperties": false }),
    );
    let sent = bound.definitions()[0]["functionDeclarations"][0]["parameters"]["properties"]["p"].clone();
    (sent, found(&bound))
}

#[test]
fn an_enum_of_strings_is_sent_and_others_are_moved_into_the_description() {
    let sent = |parameter: Value| gemini(parameter).0;
    let texts = json!({ "type": "STRING", "enum": ["a", "b"] });
    assert_eq!(sent(json!({ "type": "string", "enum": ["a", "b"] })), texts);
    assert_eq!(sent(json!({ "enum": ["a", "b"] })), texts);
    // No value has one of the other types.
    for types in [json!(["string", "integer"]), json!(["string", "null"])] {
        assert_eq!(sent(json!({ "type": types, "enum": ["a", "b"] })), texts);
    }
    let note = [("/properties/p/enum".to_owned(), Severity::Note)];
    let in_words = [
        (
            json!({ "type": "integer", "enum": ["a"] }),
            json!({ "type": "INTEGER", "description": "One of: \"a\"." }),
        ),
        (
            json!({ "type": "string", "enum": ["", "a"] }),
            json!({ "type": "STRING", "description": "One of: \"\", \"a\"." }),
        ),
        (
            json!({ "type": "integer", "enum": [1, 2] }),
            json!({ "type": "INTEGER", "description": "One of: 1, 2." }),
        ),
    ];
    for (parameter, expected) in in_words {
        assert_eq!(gemini(parameter), (expected, note.to_vec()));
    }
    let (choice, found) =
        gemini(json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }], "enum": ["a"] }));
    assert!(!choice.to_string().contains("\"enum\""), "{choice}");
    assert!(choice["anyOf"][1]["description"].as_str().unwrap().contains("One of: \"a\"."), "{choice}");
    assert_eq!(found, note);
    // No value is valid, so that the tool is omitted.
    let bound =
        of(&Dialect::gemini_schema(), json!({ "properties": { "p": { "type": "string", "enum": [] } } }));
    assert_eq!(bound.diagnostics()[0].severity, Severity::Error);
}

#[test]
fn a_required_name_without_a_property_is_moved_into_the_description_or_prevents_strict_mode() {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "string" }, "in": { "type": "object", "properties": { "c": { "type": "string" } }, "required": ["d"] } },
        "required": ["a", "b"],
    });
    let bound = of(&Dialect::gemini_schema(), schema.clone());
    let parameters = &bound.definitions()[0]["functionDeclarations"][0]["parameters"];
    assert_eq!(parameters["required"], json!(["a"]));
    assert_eq!(parameters["description"], "\"b\" is required.");
    assert_eq!(parameters["properties"]["in"]["description"], "\"d\" is required.");
    assert!(parameters["properties"]["in"].get("required").is_none());
    let found = found(&bound);
    assert!(found.contains(&("/required".to_owned(), Severity::Warning)), "{found:?}");
    assert!(found.contains(&("/properties/in/required".to_owned(), Severity::Warning)), "{found:?}");
    for dialect in [Dialect::openai_chat_strict(), Dialect::openai_responses_strict()] {
        let bound = of(&dialect, schema.clone());
        assert!(!is_strict(&bound));
        assert!(
            bound.diagnostics().iter().any(|it| it.message.contains("is required but is not a property"))
        );
    }
}

#[test]
fn a_recursive_root_that_is_sent_as_an_object_is_a_finding() {
    let schema = json!({ "properties": { "next": { "$ref": "#" } } });
    for dialect in Dialect::all() {
        let bound = of(&dialect, schema.clone());
        let is_reported =
            |it: &Diagnostic| it.message.contains("`$ref` to \"#\"") || it.severity == Severity::Error;
        assert!(bound.diagnostics().iter().any(is_reported), "{} {:?}", dialect.name(), bound.diagnostics());
    }
    let typed = json!({ "type": "object", "properties": { "next": { "$ref": "#" } } });
    assert!(of(&Dialect::mcp(), typed).diagnostics().is_empty());
}
