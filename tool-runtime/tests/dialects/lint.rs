//! Findings of `lint` and their texts.

use serde_json::json;
use tool_runtime::{
    Registry, ToolDefinition, ToolName,
    builder::ExternalTool,
    diagnostic::Severity,
    dialect::{Dialect, assert_portable, lint},
    schema::InputSchema,
};

use super::tools;

fn of(schema: serde_json::Value) -> Registry {
    let schema = InputSchema::new(schema).unwrap();
    let tool = ToolDefinition::new(ToolName::new("tool").unwrap(), "Takes what is given.", schema);
    Registry::builder().add(ExternalTool::new(tool)).build().unwrap()
}

fn found(dialect: &Dialect, schema: serde_json::Value) -> Vec<String> {
    dialect.bind_tools(&of(schema)).diagnostics().iter().map(ToString::to_string).collect()
}

#[test]
fn portable_tools_pass_assert_portable() {
    assert_portable(&tools());
}

#[test]
#[should_panic(
    expected = "error: `tool` in gemini-schema, at `/properties/any`: the tool is left out: a value of any type"
)]
fn a_tool_that_cannot_be_sent_fails_the_test() {
    assert_portable(&of(json!({ "type": "object", "properties": { "any": {} } })));
}

#[test]
fn a_parameter_without_a_description_is_a_finding() {
    let diagnostics = lint(&of(json!({ "type": "object", "properties": { "a/b": { "type": "string" } } })));
    let of_all = diagnostics.iter().find(|diagnostic| diagnostic.location.dialect == Some("all")).unwrap();
    let text = "warning: `tool` in all, at `/properties/a~1b`: the parameter has no description; write a doc comment above it";
    assert_eq!(of_all.to_string(), text);
}

#[test]
fn a_tool_with_a_map_is_sent_without_strict() {
    let schema = json!({ "type": "object", "properties": { "map": { "type": "object", "additionalProperties": { "type": "string" } } } });
    let bound = Dialect::openai_chat_strict().bind_tools(&of(schema.clone()));
    assert_eq!(bound.definitions()[0]["function"]["strict"], false);
    assert_eq!(bound.definitions()[0]["function"]["parameters"], schema);
    let diagnostic = &bound.diagnostics()[0];
    assert_eq!(
        (diagnostic.severity, diagnostic.location.pointer.as_str(), diagnostic.message.as_str()),
        (
            Severity::Warning,
            "/properties/map/additionalProperties",
            "the tool is sent without `strict`: its keys are not declared"
        )
    );
}

#[test]
fn a_schema_that_is_too_large_is_sent_without_strict() {
    let mut deep = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    for _ in 0..10 {
        deep = json!({ "type": "object", "properties": { "in": deep }, "additionalProperties": false });
    }
    let properties: serde_json::Map<_, _> =
        (0..5_001).map(|at| (format!("p{at}"), json!({ "type": "null" }))).collect();
    let values = |count: usize, text: &str| (0..count).map(|at| format!("{text}{at}")).collect::<Vec<_>>();
    let of_enum = |values: Vec<String>| json!({ "type": "object", "properties": { "e": { "enum": values } }, "additionalProperties": false });
    let cases = [
        (deep, "there are 11 levels of objects; at most 10 are allowed"),
        (
            json!({ "type": "object", "properties": properties, "additionalProperties": false }),
            "there are 5001 properties; at most 5000 are allowed",
        ),
        (of_enum(values(1_000, "v")), "there are 1001 values of enums; at most 1000 are allowed"),
        (
            of_enum(values(251, &"x".repeat(60))),
            "an enum of more than 250 values has more than 15000 characters",
        ),
        (
            of_enum(values(2, &"x".repeat(60_000))),
            "there are 120003 characters of names and values; at most 120000 are allowed",
        ),
    ];
    for (schema, why) in cases {
        let found = found(&Dialect::openai_chat_strict(), schema);
        assert!(found.iter().any(|text| text.contains(why)), "{why}: {found:?}");
    }
}

#[test]
fn an_open_object_is_closed_for_strict_mode_with_a_finding() {
    let open = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] });
    let text = "warning: `tool` in openai-chat-strict, at ``: additional properties cannot be sent; \
                set `additionalProperties: false`, or use a dialect that is not strict";
    assert_eq!(found(&Dialect::openai_chat_strict(), open), [text]);
}

// As in API descriptions: such a property admits `null` and values other than objects.
#[test]
fn properties_without_a_type_are_sent_as_an_object_with_a_finding() {
    let schema = json!({
        "type": "object",
        "properties": { "body": { "properties": { "a": { "type": "string" } }, "additionalProperties": false } },
        "additionalProperties": false,
    });
    let kept = "note: `tool` in openai-chat-strict, at `/properties/body`: `null` differs from absent here, so the model \
                cannot omit the property; treat `null` and absent alike";
    let narrowed = |dialect: &str| {
        format!(
            "note: `tool` in {dialect}, at `/properties/body`: no type is declared; it is sent as `object`; declare its type"
        )
    };
    let strict = found(&Dialect::openai_chat_strict(), schema.clone());
    assert!(
        strict.contains(&kept.to_owned()) && strict.contains(&narrowed("openai-chat-strict")),
        "{strict:?}"
    );
    assert_eq!(found(&Dialect::gemini_schema(), schema), [narrowed("gemini-schema")]);
}

#[test]
fn an_empty_root_is_sent_as_an_object_in_every_dialect() {
    for dialect in Dialect::all() {
        let definitions = dialect.bind_tools(&of(json!({}))).definitions().to_string();
        let is_object = definitions.contains(r#""type":"object""#);
        // Gemini's own form omits empty parameters.
        assert!(is_object || dialect.name() == "gemini-schema", "{definitions}");
    }
}

// No plan covers it.
#[cfg(feature = "foreign-schemas")]
#[test]
fn an_unsupported_look_around_is_moved_into_the_description() {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "string", "pattern": "^(?!x)" } },
        "required": ["a"],
        "additionalProperties": false,
    });
    let sent = Dialect::openai_responses_strict().bind_tools(&of(schema)).definitions()[0]["parameters"]["properties"]["a"].clone();
    assert_eq!(sent, json!({ "type": "string", "description": "Must match the pattern `^(?!x)`." }));
}

#[test]
fn names_and_recursion_that_gemini_may_refuse_are_findings() {
    let schema = json!({
        "type": "object",
        "properties": { "my-list": { "type": "array", "items": { "$ref": "#/$defs/node" } } },
        "required": ["my-list"],
        "additionalProperties": false,
        "$defs": { "node": {
            "type": "object",
            "properties": { "next": { "$ref": "#/$defs/node" } },
            "additionalProperties": false,
        } },
    });
    let required = "warning: `tool` in gemini, at `/properties/my-list`: the provider unrolls recursive types and \
                    supports them in optional properties only; make the property optional";
    assert_eq!(found(&Dialect::gemini(), schema.clone()), [required]);
    let simple = found(&Dialect::gemini_schema(), schema);
    assert!(
        simple[0].contains("at `/properties/my-list`: the provider documents only names of letters"),
        "{simple:?}"
    );
    assert!(simple[1].contains("at `/$defs/node/properties/next`: it is recursive"), "{simple:?}");
}

#[test]
fn references_without_recursion_are_not_findings() {
    let schema = json!({
        "type": "object",
        "properties": { "from": { "$ref": "#/$defs/place" }, "to": { "$ref": "#/$defs/place" } },
        "required": ["from", "to"],
        "$defs": { "place": { "type": "object", "properties": { "at": { "$ref": "#/$defs/point" } } }, "point": { "type": "string" } },
    });
    assert!(found(&Dialect::gemini(), schema).is_empty());
}

// WHAT-USERS-ASK 4
#[test]
fn expansion_of_references_is_limited() {
    let link = |at: usize| json!({ "$ref": format!("#/$defs/d{at}") });
    let definition = |at: usize| {
        let properties = json!({ "a": link((at + 1) % 30), "b": link((at + 7) % 30), "c": link(at) });
        (format!("d{at}"), json!({ "type": "object", "properties": properties }))
    };
    let definitions: serde_json::Map<_, _> = (0..30).map(definition).collect();
    let schema = json!({ "type": "object", "properties": { "root": link(0) }, "$defs": definitions });
    let found = found(&Dialect::gemini_schema(), schema);
    assert!(found[0].contains("its references expand to more than 1000 schemas"), "{found:?}");
}

#[test]
fn long_descriptions_and_too_many_tools_are_findings_if_the_provider_refuses_them() {
    let tool = |at: usize, description: String| {
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        ExternalTool::new(ToolDefinition::new(
            ToolName::new(format!("t{at:03}")).unwrap(),
            description,
            schema,
        ))
    };
    let tools = (0..129).map(|at| tool(at, if at == 7 { "é".repeat(1_025) } else { "Short.".to_owned() }));
    let registry = tools.fold(Registry::builder(), |builder, tool| builder.add(tool)).build().unwrap();
    let bound = Dialect::openai_responses().bind_tools(&registry);
    let found: Vec<_> = bound.diagnostics().iter().map(ToString::to_string).collect();
    let long = "warning: `t007` in openai-responses, at ``: the description has 1025 characters; some models reject more \
                than 1024; shorten it, or move details to the descriptions of parameters";
    let many = "warning: `t128` in openai-responses, at ``: there are 129 tools; the provider rejects requests with more \
                than 128; show fewer tools per run";
    assert_eq!(found, [long, many]);
    assert!(Dialect::anthropic().bind_tools(&registry).diagnostics().is_empty());
}

#[test]
fn descriptions_and_tools_at_the_limits_of_the_provider_are_not_findings() {
    let tool = |at: usize, description: String| {
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        let name = ToolName::new(format!("t{at:03}")).unwrap();
        ExternalTool::new(ToolDefinition::new(name, description, schema))
    };
    let found = |count: usize, dialect: &Dialect| {
        let tools = (0..count).map(|at| tool(at, "é".repeat(1_024)));
        let registry = tools.fold(Registry::builder(), |builder, tool| builder.add(tool)).build().unwrap();
        let bound = dialect.bind_tools(&registry);
        let found = bound.diagnostics().iter().filter(|it| it.code != "many_tokens");
        found.map(|it| format!("{} {}", it.code, it.message)).collect::<Vec<_>>()
    };
    let dialect = Dialect::openai_responses();
    assert_eq!(found(128, &dialect), [""; 0]);
    // A native tool counts, too.
    let native = dialect.with_native(json!({ "type": "web_search" }));
    assert_eq!(found(127, &native), [""; 0]);
    let many = "too_many_tools there are 129 tools; the provider rejects requests with more than 128";
    assert_eq!(found(128, &native), [many]);
}

#[test]
fn too_many_declarations_for_gemini_are_a_finding() {
    let tool = |at: usize| {
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        ExternalTool::new(ToolDefinition::new(ToolName::new(format!("t{at:03}")).unwrap(), "Short.", schema))
    };
    let found = |count: usize| {
        let registry = (0..count).map(tool).fold(Registry::builder(), |builder, tool| builder.add(tool));
        let gemini = Dialect::gemini().with_native(json!({ "googleSearch": {} }));
        let bound = gemini.bind_tools(&registry.build().unwrap());
        let found = bound
            .diagnostics()
            .iter()
            .filter(|diagnostic| diagnostic.message.contains("the provider rejects"));
        found.map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(found(512), Vec::<String>::new());
    let text = "warning: `t512` in gemini, at ``: there are 513 tools; the provider rejects requests with more \
                than 512; show fewer tools per run";
    assert_eq!(found(513), [text]);
    let of_anything = InputSchema::new(json!({ "type": "object", "properties": { "any": {} } })).unwrap();
    let left_out = ToolDefinition::new(ToolName::new("left_out").unwrap(), "Short.", of_anything);
    let all = Registry::builder().add(ExternalTool::new(left_out));
    let all = (0..512).map(tool).fold(all, |builder, tool| builder.add(tool)).build().unwrap();
    let bound = Dialect::gemini_schema().bind_tools(&all);
    assert!(
        !bound.diagnostics().iter().any(|diagnostic| diagnostic.message.contains("the provider rejects"))
    );
}
