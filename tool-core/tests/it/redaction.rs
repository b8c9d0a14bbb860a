//! Arguments without secrets.

use serde_json::{Value, json};
use tool_core::{InputSchema, Metadata, ToolDefinition, ToolName};

fn redacted(schema: Value, arguments: &str) -> String {
    let schema = InputSchema::new(schema).unwrap();
    let metadata = Metadata { secrets: vec!["pin".into()], ..Metadata::default() };
    let definition =
        ToolDefinition::new(ToolName::new("log_in").unwrap(), "Logs in.", schema).with_metadata(metadata);
    definition.redacted(&arguments.into()).as_str().to_owned()
}

fn person() -> Value {
    let text = json!({ "type": "string" });
    json!({
        "type": "object", "additionalProperties": false,
        "properties": { "name": text, "pin": text, "home": { "type": "object", "properties": { "street": text }, "additionalProperties": false } },
    })
}

// E10
#[test]
fn each_secret_and_unknown_member_is_hidden_and_all_others_stay() {
    let schema = json!({
        "type": "object",
        "properties": { "pin": {}, "user": person(), "people": { "type": "array", "items": person() }, "n": {} },
    });
    for (arguments, expected) in [
        (r#"{}"#, r#"{}"#),
        (r#"{"pin":{"a":1},"n":1.50}"#, r#"{"pin":"***","n":1.50}"#),
        (r#"{"key":1,"pin":2}"#, r#"{"***":"***","pin":"***"}"#),
        (
            r#"{"user":{"name":"a","pin":"b","key":"c","home":{"street":"d","pin":"e"}},"n":[{"x":1,"pin":2}]}"#,
            r#"{"user":{"name":"a","pin":"***","***":"***","home":{"street":"d","***":"***"}},"n":[{"x":1,"pin":"***"}]}"#,
        ),
        // The same at each place of a list.
        (
            r#"{"people":[{"name":"a"},{"name":"b","key":"c"},{"home":{"street":"d"}},[{"name":"e"}],{"name":"f"}],"n":1}"#,
            r#"{"people":[{"name":"a"},{"name":"b","***":"***"},{"home":{"street":"d"}},[{"***":"***"}],{"name":"f"}],"n":1}"#,
        ),
        ("[1]", r#""***""#),
        ("{", r#""***""#),
    ] {
        assert_eq!(redacted(schema.clone(), arguments), expected, "{arguments}");
    }
}

// E10
#[test]
fn items_of_a_list_have_their_own_schemas_up_to_the_sixteenth() {
    let own = |at: usize| json!({ "type": "object", "properties": { format!("p{at}"): {} }, "additionalProperties": false });
    let prefix: Vec<_> = (0..18).map(own).collect();
    let list = json!({ "type": "array", "prefixItems": prefix, "items": own(99) });
    let schema = json!({ "type": "object", "properties": { "list": list } });
    let items: Vec<_> = (0..18).map(|at| json!({ format!("p{at}"): at })).collect();
    let shown: Value =
        serde_json::from_str(&redacted(schema, &json!({ "list": items }).to_string())).unwrap();
    for (at, item) in items.iter().enumerate() {
        let hidden = json!({ "***": "***" });
        assert_eq!(shown["list"][at], if at <= 16 { item.clone() } else { hidden }, "{at}");
    }
}
