//! Arguments without secrets.

use serde_json::{Value, json};
use tool_core::{Arguments, InputSchema, Metadata, ToolDefinition, ToolError, ToolName, Violation};

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

/// A tool with secrets at two levels.
fn guarded(is_guarded: bool) -> ToolDefinition {
    let list = json!({ "type": "array", "items": person() });
    let schema = json!({
        "type": "object",
        "properties": {
            "pin": {}, "p/n": {}, "t~x": {}, "n…": {}, "user": person(), "a/b": person(), "list": list,
            "counts": { "type": "object", "additionalProperties": { "type": "integer" } },
        },
        "additionalProperties": { "type": "integer" },
    });
    let secrets = ["pin", "p/n", "t~x"].map(Into::into);
    let secrets = if is_guarded { secrets.to_vec() } else { Vec::new() };
    ToolDefinition::new(ToolName::new("log_in").unwrap(), "Logs in.", InputSchema::new(schema).unwrap())
        .with_metadata(Metadata { secrets, ..Metadata::default() })
}

// E10
#[test]
fn names_of_a_violation_that_may_be_secret_are_hidden_in_its_pointer() {
    let reported = |definition: &ToolDefinition, pointer: &str| {
        let violation = Violation::new(pointer, "less", "\"s3cret\"");
        let error = ToolError::invalid_arguments(vec![violation], r#"{"pin":"s3cret"}"#);
        let error = definition.annotated(Err(error)).unwrap_err();
        assert_eq!(error.tool(), Some("log_in"));
        (error.violations()[0].pointer.clone(), error.feedback().contains("s3cret"))
    };
    for (pointer, expected) in [
        ("", ""),
        ("/pin", "/pin"),
        ("/pin/x", "/pin/***"),
        ("/pin/x/y", "/pin/***"),
        ("/p~1n", "/p~1n"),
        ("/p~1n/x", "/p~1n/***"),
        ("/t~0x/x", "/t~0x/***"),
        ("/other", "/***"),
        ("/other/x", "/***"),
        ("/n…", "/***"),
        ("/user", "/user"),
        ("/user/name", "/user/name"),
        ("/user/pin", "/user/pin"),
        ("/user/pin/q", "/user/pin/***"),
        ("/user/key", "/user/***"),
        ("/user/key/x", "/user/***"),
        ("/user/home/street", "/user/home/street"),
        ("/user/home/pin", "/user/home/***"),
        ("/a~1b/name", "/a~1b/name"),
        ("/a~1b/zip", "/a~1b/***"),
        ("/list/0/name", "/list/0/name"),
        ("/list/10/zip/x", "/list/10/***"),
    ] {
        assert_eq!(reported(&guarded(true), pointer), (expected.to_owned(), false), "{pointer}");
        assert_eq!(reported(&guarded(false), pointer), (pointer.to_owned(), true), "{pointer}");
    }
}

// E10
#[test]
fn arguments_of_a_tool_without_secrets_are_shown_as_they_are() {
    for text in [r#"{ "pin": 1.50, "unknown": [ ] }"#, "[1]", "{"] {
        assert_eq!(guarded(false).redacted(&text.into()).as_str(), text);
    }
}

// E10
#[test]
fn corrections_of_a_tool_with_secrets_show_no_values_and_no_unknown_names() {
    let corrected = |is_guarded| {
        let arguments = Arguments::from(r#"{"x":"3","counts":{"a":"4"}}"#).lenient(true);
        let arguments = guarded(is_guarded).fit(arguments).unwrap();
        let shown =
            arguments.corrections().iter().map(|it| [&it.pointer, &it.from, &it.to].map(String::clone));
        (arguments.as_str().to_owned(), shown.collect::<Vec<_>>())
    };
    let text = r#"{"x":3,"counts":{"a":4}}"#.to_owned();
    let shown = |all: [[&str; 3]; 2]| all.map(|one| one.map(str::to_owned)).to_vec();
    assert_eq!(corrected(false), (text.clone(), shown([["/x", "\"3\"", "3"], ["/counts/a", "\"4\"", "4"]])));
    let hidden = "a value that is hidden";
    assert_eq!(
        corrected(true),
        (text, shown([["/***", hidden, "a number"], ["/counts/a", hidden, "a number"]]))
    );
}
