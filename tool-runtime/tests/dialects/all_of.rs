//! Inheritance and references with a default, as generators write them.

use serde_json::{Value, json};
use tool_runtime::{Registry, builder::ExternalTool, dialect::Dialect};

#[test]
fn all_of_is_sent_as_one_schema_or_as_text_without_references() {
    let choice = json!({ "type": "string", "enum": ["a", "b"] });
    let age = json!({ "type": "object", "properties": { "age": { "type": "integer" } } });
    let reference = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    let properties = [
        json!({ "allOf": [reference("E")], "default": "a" }),
        json!({ "allOf": [choice] }),
        json!({ "allOf": [reference("Pet"), age] }),
        json!({ "allOf": [reference("Pet")], "type": "object", "properties": { "age": { "type": "integer" } } }),
        json!({ "anyOf": [{ "allOf": [reference("E")] }, { "type": "null" }] }),
    ];
    for property in properties {
        for at_root in [false, true] {
            sent_in_every_dialect(&property, at_root, |sent, case| {
                assert!(!sent.contains("Must also match"), "{case}");
            });
        }
    }
}

/// Checks that every dialect sends a tool with this property, with its choices and the names of its properties, and
/// without references in texts.
fn sent_in_every_dialect(property: &Value, at_root: bool, check: impl Fn(&str, &str)) {
    let mut schema = match at_root {
        true => json!({ "allOf": [{ "type": "object", "properties": { "p": property } }], "type": "object" }),
        false => json!({ "type": "object", "properties": { "p": property } }),
    };
    schema["$defs"] = json!({
        "E": { "type": "string", "enum": ["a", "b"] },
        "Alias": { "$ref": "#/$defs/E" },
        "Pet": { "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] },
        "Aged": { "allOf": [{ "$ref": "#/$defs/Pet" }, { "type": "object", "properties": { "age": { "type": "integer" } } }] },
    });
    let schema = tool_runtime::schema::InputSchema::new(schema).unwrap();
    let name = tool_runtime::ToolName::new("t").unwrap();
    let definition = tool_runtime::ToolDefinition::new(name, "Takes a value.", schema);
    let registry = Registry::builder().add(ExternalTool::new(definition)).build().unwrap();
    for dialect in Dialect::all() {
        let bound = dialect.bind_tools(&registry);
        let sent = bound.definitions_json();
        let case = format!("{}, {at_root}: {property}: {sent}", dialect.name());
        assert!(sent.contains("\"t\""), "{case}: {:?}", bound.diagnostics());
        let has_content = ["\"a\"", "\"name\"", "\"age\""].iter().any(|part| sent.contains(part));
        assert!(has_content, "{case}");
        for text in descriptions(bound.definitions()) {
            assert!(!text.contains("$defs"), "{case}");
        }
        check(sent, &case);
    }
}

/// Returns all descriptions within `value`.
fn descriptions(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(members) => {
            let own = members.get("description").and_then(Value::as_str);
            own.into_iter().chain(members.values().flat_map(descriptions)).collect()
        }
        Value::Array(items) => items.iter().flat_map(descriptions).collect(),
        _ => Vec::new(),
    }
}

// Further forms of the same.
#[test]
fn nested_all_of_and_its_neighbours_are_sent_as_one_schema() {
    let reference = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    let age = json!({ "type": "object", "properties": { "age": { "type": "integer" } } });
    let properties = [
        json!({ "allOf": [{ "allOf": [reference("E")] }], "default": "a" }),
        json!({ "allOf": [reference("Alias")], "description": "A letter." }),
        json!({ "allOf": [{ "allOf": [reference("Alias"), { "title": "Letter" }] }] }),
        json!({ "type": "array", "items": { "allOf": [reference("Pet"), age] } }),
        json!({ "anyOf": [{ "allOf": [reference("Pet"), age] }, { "type": "null" }] }),
        reference("Aged"),
        json!({ "allOf": [reference("Aged"), { "type": "object", "properties": { "name": { "type": "string" } } }] }),
        json!({ "allOf": [reference("E"), { "description": "A letter." }] }),
        json!({ "allOf": [{ "$ref": "#/$defs/E", "description": "A letter." }], "description": "The first." }),
        json!({ "allOf": [true, reference("E")] }),
        json!({ "allOf": [{}, reference("E")] }),
        json!({ "allOf": [{ "type": ["string", "null"] }, { "enum": ["a", "b"] }] }),
    ];
    for property in properties {
        for at_root in [false, true] {
            sent_in_every_dialect(&property, at_root, |sent, case| {
                assert!(!sent.contains("Must also match"), "{case}");
            });
        }
    }
    // Members that contradict each other, or close each other, leave the tool usable.
    let closed = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "additionalProperties": false });
    for property in [
        json!({ "allOf": [{ "type": "string", "enum": ["a"] }, { "type": "object", "properties": { "age": reference("E") } }] }),
        json!({ "type": "string", "enum": ["a"], "allOf": [{ "minLength": 1 }, { "minLength": 2 }] }),
        json!({ "allOf": [closed("name"), closed("other")] }),
        json!({ "allOf": [closed("name"), reference("Aged")] }),
    ] {
        sent_in_every_dialect(&property, false, |_, _| {});
    }
}

#[test]
fn references_of_all_of_are_written_out_within_a_budget() {
    // 10,000 values, or four times those of the schema, are written out; the rest stays as a text.
    let large: serde_json::Map<_, _> =
        (0..1_000).map(|at| (format!("p{at}"), json!({ "type": "string" }))).collect();
    let large = json!({ "type": "object", "properties": large });
    let user = json!({ "allOf": [{ "$ref": "#/$defs/Large" }, { "type": "object", "properties": { "age": { "type": "integer" } } }] });
    let properties: serde_json::Map<_, _> = (0..60).map(|at| (format!("u{at}"), user.clone())).collect();
    let schema = json!({ "type": "object", "properties": properties, "$defs": { "Large": large } });
    let schema = tool_runtime::schema::InputSchema::new(schema).unwrap();
    let definition =
        tool_runtime::ToolDefinition::new(tool_runtime::ToolName::new("t").unwrap(), "Takes users.", schema);
    let registry = Registry::builder().add(ExternalTool::new(definition)).build().unwrap();
    let bound = Dialect::openai_chat().bind_tools(&registry);
    let written = bound.definitions_json().matches("\"p7\"").count();
    // The definition itself counts 2,000 values and some; each reference another 2,000.
    assert!((4..=8).contains(&written), "{written}");
}

#[test]
fn references_of_all_of_are_written_out_up_to_ten_thousand_values() {
    // Each reference counts the values of its target: the object, each of its members, and each item of a list.
    let written = |names: usize| {
        let names: Vec<_> = (0..names).map(|at| format!("n{at}")).collect();
        let large = json!({ "type": "object", "required": names });
        let user =
            json!({ "allOf": [{ "$ref": "#/$defs/Large" }, { "type": "object", "description": "Own." }] });
        let properties: serde_json::Map<_, _> = (0..8).map(|at| (format!("u{at}"), user.clone())).collect();
        let schema = json!({ "type": "object", "properties": properties, "$defs": { "Large": large } });
        let schema = tool_runtime::schema::InputSchema::new(schema).unwrap();
        let definition = tool_runtime::ToolDefinition::new(
            tool_runtime::ToolName::new("t").unwrap(),
            "Takes users.",
            schema,
        );
        let registry = Registry::builder().add(ExternalTool::new(definition)).build().unwrap();
        let bound = Dialect::openai_chat().bind_tools(&registry);
        bound.definitions_json().matches("\"n7\"").count()
    };
    // The definition itself, and five of 2,000 values; four of 2,001.
    assert_eq!(written(1_997), written(1_998) + 1);
    assert_eq!(written(1_247), written(1_248) + 1);
    assert_eq!((written(1_997), written(1_247)), (6, 9));
}
