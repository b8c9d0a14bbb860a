//! The canonical text of arguments.

use serde_json::{Value, json};
use tool_core::{Arguments, InputSchema, ToolDefinition, ToolName};

fn definition(schema: Value) -> ToolDefinition {
    ToolDefinition::new(ToolName::new("tool").unwrap(), "Does.", InputSchema::own(schema).unwrap())
}

fn canonical(definition: &ToolDefinition, text: &str) -> String {
    let fitting = definition.fit(text.into()).unwrap();
    let canonical = definition.canonical(fitting).unwrap().as_str().to_owned();
    assert_eq!(definition.canonical(canonical.as_str().into()).unwrap().as_str(), canonical);
    canonical
}

fn file() -> ToolDefinition {
    definition(json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "x-tool-aliases": ["file", "name"] },
            "lines": { "type": "integer" },
            "inner": { "$ref": "#/$defs/inner" },
            "either": { "anyOf": [{ "$ref": "#/$defs/inner" }, { "type": "string" }] },
            "list": { "type": "array", "items": { "$ref": "#/$defs/inner" } },
            "map": { "type": "object", "additionalProperties": { "$ref": "#/$defs/inner" } },
            "any": {},
        },
        "additionalProperties": false,
        "$defs": {
            "inner": {
                "type": "object",
                "properties": { "to": { "type": "string", "x-tool-aliases": ["target"] } },
                "additionalProperties": false,
            },
        },
    }))
}

// F10, F20
#[test]
fn aliases_become_own_names_and_keep_their_order() {
    let cases = [
        (r#"{"file":"a","lines":1}"#, r#"{"path":"a","lines":1}"#),
        (r#"{"lines":1.0,"name":"a"}"#, r#"{"lines":1,"path":"a"}"#),
        (r#"{"lines":null,"any":null}"#, r#"{"any":null}"#),
        (
            r#"{"inner":{"target":"a"},"list":[{"target":"b"},{"to":"c"}]}"#,
            r#"{"inner":{"to":"a"},"list":[{"to":"b"},{"to":"c"}]}"#,
        ),
        (
            r#"{"either":{"target":"a"},"map":{"target":{"target":"b"}}}"#,
            r#"{"either":{"to":"a"},"map":{"target":{"to":"b"}}}"#,
        ),
        (
            r#"{"any":[true,false,null,-1.50,"a\u00e9",[],{}],"file":"a"}"#,
            r#"{"any":[true,false,null,-1.5,"aé",[],{}],"path":"a"}"#,
        ),
        // Properties that the schema does not describe have no aliases.
        (r#"{"any":{"file":1e0}}"#, r#"{"any":{"file":1}}"#),
    ];
    for (text, expected) in cases {
        assert_eq!(canonical(&file(), text), expected, "{text}");
    }
}

// F10
#[test]
fn numbers_keep_all_digits() {
    let any = definition(json!({ "type": "object" }));
    let text = r#"{ "id": 340282366920938463463374607431768211455, "f": 0.1000000000000000055511151231257827, "n": -0.0 }"#;
    let expected =
        r#"{"id":340282366920938463463374607431768211455,"f":0.1000000000000000055511151231257827,"n":0}"#;
    assert_eq!(canonical(&any, text), expected);
    // Also beside a renamed property.
    let text = r#"{"any":340282366920938463463374607431768211455,"file":"a"}"#;
    assert_eq!(canonical(&file(), text), r#"{"any":340282366920938463463374607431768211455,"path":"a"}"#);
}

// In a written schema, `default` is an annotation: the tool may use another value.
#[test]
fn a_default_of_a_written_schema_is_not_filled_in() {
    let written = definition(json!({ "type": "object", "properties": { "n": { "default": 3 } } }));
    assert_eq!(canonical(&written, "{}"), "{}");
}

#[test]
fn canonical_text_keeps_its_corrections() {
    let lenient = Arguments::from(r#"{"file":"a","lines":"3"}"#).lenient(true);
    let fitting = file().fit(lenient).unwrap();
    let canonical = file().canonical(fitting.clone()).unwrap();
    assert_eq!(canonical.as_str(), r#"{"path":"a","lines":3}"#);
    assert_eq!(canonical.corrections(), fitting.corrections());
    assert_eq!(canonical.corrections().len(), 1);
}

// A call whose validation exceeds the limit is refused.
#[test]
fn arguments_that_exceed_the_validation_limit_are_refused() {
    let deep = json!({
        "type": "object",
        "properties": { "x": { "$ref": "#/$defs/x" } },
        "$defs": { "x": { "anyOf": [
            { "type": "object", "properties": {
                "l": { "$ref": "#/$defs/x" }, "r": { "$ref": "#/$defs/x" },
                "path": { "x-tool-aliases": ["file"] },
            } },
            { "type": "array", "items": { "$ref": "#/$defs/x" } },
            { "type": "integer" },
        ] } },
    });
    let deep = definition(deep);
    let nested = (0..30).fold("1".to_owned(), |inner, at| {
        let name = if at == 0 { "file" } else { "path" };
        format!(r#"{{"l":{inner},"r":[{}],"{name}":"a"}}"#, vec!["1"; 300].join(","))
    });
    let text = format!(r#"{{"x":{nested}}}"#);
    match deep.canonical(text.as_str().into()) {
        Ok(canonical) => assert!(!canonical.as_str().contains("file")),
        Err(error) => assert!(error.feedback().contains("choices"), "{}", error.feedback()),
    }
}

// Extension keywords of generated schemas have no meaning in a foreign schema; otherwise its owner would receive
// other arguments than the model wrote. F10
#[test]
fn a_foreign_schema_defines_no_aliases_and_defaults() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "x-tool-aliases": ["file"] },
            "mode": { "type": "string", "default": "all", "x-tool-fills": true },
        },
        "x-tool-ignores": true,
    });
    let schema = InputSchema::new(schema).unwrap();
    let places = |pointer| schema.resolve_pointer(pointer).into_iter().map(|it| it.steps).collect::<Vec<_>>();
    assert_eq!(places("/file"), [["file"]]);
    assert_eq!(places("/other"), [["other"]]);
    let foreign = ToolDefinition::new(ToolName::new("tool").unwrap(), "Does.", schema);
    assert_eq!(canonical(&foreign, r#"{"file":"a","other":1}"#), r#"{"file":"a","other":1}"#);
}
