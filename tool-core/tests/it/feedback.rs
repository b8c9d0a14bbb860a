//! The texts for a model of arguments that do not match their schema.

use serde_json::{Value, json};
use tool_core::{Plan, ToolError};

/// Returns the text for a model of the invalid `arguments`.
fn feedback(schema: &Value, arguments: &Value) -> String {
    let error = Plan::compile(schema).unwrap().fit(arguments.into()).unwrap_err();
    ToolError::from(error).feedback()
}

#[test]
fn violations_that_are_not_listed_are_counted() {
    let schema = json!({
        "properties": {"xs": {"items": {"type": "integer"}}, "y": {"type": "integer"}, "z": {"type": "integer"}},
        "required": ["x", "y"]
    });
    let text = feedback(&schema, &json!({"y": "a", "xs": vec!["b"; 30_000], "z": "c"}));
    assert!(text.contains("\n- and 29,983 more\nReceived: "), "{text}");
}

#[test]
fn a_text_has_at_most_8_kib_whatever_came() {
    let long = "ä".repeat(1_000_000);
    let name = format!("n{long}");
    let escapes = "\u{1}".repeat(100);
    let values: Vec<_> = (0..30).map(|at| format!("{at}{}", "v".repeat(100))).collect();
    let properties: serde_json::Map<_, _> = values.iter().map(|name| (name.clone(), json!({}))).collect();
    for (schema, value) in [
        (json!({"additionalProperties": false}), json!({ name.clone(): 1 })),
        (json!({"additionalProperties": false, "properties": properties}), json!({ &values[1][1..]: 1 })),
        (json!({"additionalProperties": {"type": "integer"}}), json!({ name.clone(): {"x": long} })),
        (json!({"additionalProperties": {"items": {"type": "null"}}}), json!({ name.clone(): [1, 2, 3] })),
        (json!({"required": [name]}), json!({})),
        (json!({"propertyNames": {"maxLength": 3}}), json!({ name.clone(): 1 })),
        (json!({"dependentRequired": {name.clone(): ["b"]}}), json!({ name.clone(): 1 })),
        (json!({"properties": {"a": {"enum": values}}}), json!({"a": &values[7][1..]})),
        (json!({"properties": {"a": {"const": long}}}), json!({"a": 1})),
        (json!({"properties": {"a": {"enum": [long, name]}}}), json!({"a": long[2..]})),
        (json!({"properties": {"a": {"type": "integer"}}}), json!({"a": escapes})),
        (json!({"properties": {"a": {"pattern": format!("^{}$", values.concat())}}}), json!({"a": "x"})),
        (json!({"anyOf": values.iter().map(|it| json!({"required": [it]})).collect::<Vec<_>>()}), json!({})),
    ] {
        let text = feedback(&schema, &value);
        assert!(text.len() <= 8 * 1024, "{} bytes", text.len());
    }
}

#[test]
fn each_kind_has_one_name_and_a_message_that_is_or_is_not_of_the_tool() {
    use tool_core::ErrorKind;
    for (name, is_of_tool, is_not_found) in [
        ("unknown_tool", false, true),
        ("invalid_arguments", false, false),
        ("incomplete", false, false),
        ("denied", false, false),
        ("approval_required", false, false),
        ("skipped", false, false),
        ("unavailable", false, false),
        ("cancelled", false, false),
        ("timed_out", false, false),
        ("panicked", false, false),
        ("invalid_output", false, false),
        ("over_budget", false, false),
        ("stopped", false, false),
        ("failed", true, false),
        ("not_found", true, true),
        ("bad_parameter", true, false),
        ("not_implemented", true, false),
        ("conflict", true, false),
        ("internal", true, false),
    ] {
        let kind: ErrorKind = serde_json::from_value(name.into()).unwrap();
        assert_eq!(
            (kind.name(), kind.has_message_of_tool(), kind.is_not_found()),
            (name, is_of_tool, is_not_found)
        );
        let error = tool_core::ToolError::new(kind, "why");
        assert_eq!(error.is_stop(), name == "stopped");
        // A stored error is the same again.
        let stored: tool_core::ToolError =
            serde_json::from_value(serde_json::to_value(&error).unwrap()).unwrap();
        assert_eq!(
            (stored.kind(), stored.feedback(), stored.to_string()),
            (kind, error.feedback(), error.to_string())
        );
    }
}

#[test]
fn a_stored_error_keeps_at_most_32_sources_and_the_count_of_all_violations() {
    use tool_core::{ToolError, Violation, Violations};

    #[derive(Debug)]
    struct Deep(usize);
    impl std::fmt::Display for Deep {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "level {}", self.0)
        }
    }
    impl std::error::Error for Deep {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            (self.0 > 0).then(|| Box::leak(Box::new(Self(self.0 - 1))) as _)
        }
    }
    let stored = |error: &ToolError| -> (serde_json::Value, ToolError) {
        let written = serde_json::to_value(error).unwrap();
        (written.clone(), serde_json::from_value(written).unwrap())
    };
    for (levels, kept) in [(0, 1), (30, 31), (31, 32), (32, 32), (60, 32)] {
        let (written, read) = stored(&ToolError::from_source(Deep(levels)));
        assert_eq!(written["sources"].as_array().unwrap().len(), kept, "{levels}");
        let chain = std::iter::successors(std::error::Error::source(&read), |error| error.source());
        let texts: Vec<_> = chain.map(ToString::to_string).collect();
        assert_eq!(
            (texts.len(), texts[0].as_str(), read.feedback()),
            (kept, &*format!("level {levels}"), format!("level {levels}"))
        );
        assert_eq!(texts[kept - 1], format!("level {}", levels + 1 - kept));
    }
    let one = || vec![Violation::new("/a", "an integer", "x")];
    for (total, written_total) in [(1, None), (2, Some(2)), (700, Some(700))] {
        let error = ToolError::invalid_arguments(Violations::new(one(), total), "{}");
        let (written, read) = stored(&error);
        assert_eq!(written.get("violationsTotal").and_then(serde_json::Value::as_u64), written_total);
        assert_eq!((read.report().total(), read.feedback()), (total, error.feedback()));
    }
    // Hidden arguments are not stored.
    let shown = ToolError::invalid_arguments(one(), r#"{"pin":"1"}"#);
    let (written, read) = stored(&shown.clone().without_values());
    assert_eq!((written.get("arguments"), &written["hidden"]), (None, &serde_json::Value::Bool(true)));
    assert!(!read.feedback().contains("Received"));
    let (written, read) = stored(&shown);
    assert_eq!((written["arguments"].as_str(), written.get("hidden")), (Some(r#"{"pin":"1"}"#), None));
    assert!(read.feedback().contains(r#"Received: {"pin":"1"}"#));
}

#[test]
fn all_parts_of_a_stored_error_are_read_again() {
    use tool_core::{Content, ErrorKind, ToolError, ToolName};
    let near = vec![ToolName::new("get").unwrap()];
    let error = ToolError::unknown_tool("got", near)
        .with_log_note("removed yesterday")
        .with_feedback("Use another tool.")
        .with_details(json!({ "since": 1 }))
        .with_child_run_id("run-7")
        .with_content(vec![Content::text("so far")])
        .with_example(Some(std::sync::Arc::new(json!({ "a": 1 }))))
        .retryable(true)
        .without_values();
    let written = json!({
        "kind": "unknown_tool",
        "tool": "got",
        "message": "removed yesterday",
        "feedback": "Use another tool.",
        "retryable": true,
        "hidden": true,
        "example": { "a": 1 },
        "suggestions": ["get"],
        "details": { "since": 1 },
        "content": [{ "type": "text", "text": "so far" }],
        "childRunId": "run-7",
    });
    assert_eq!(serde_json::to_value(&error).unwrap(), written);
    let read: ToolError = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), written);
    assert_eq!(
        (read.tool(), read.child_run_id(), read.details()),
        (Some("got"), Some("run-7"), error.details())
    );
    assert_eq!((read.suggestions(), &*read.feedback()), (error.suggestions(), "Use another tool."));
    assert_eq!((read.reason(), read.to_string()), ("Use another tool.".into(), error.to_string()));
    assert_eq!(error.to_string(), "tool \"got\" not found: removed yesterday");
    // Another message is the text for the model, too; details can be removed.
    let mut changed = read.with_message("gone");
    changed.set_details(None);
    assert_eq!((&*changed.feedback(), &*changed.reason(), changed.details()), ("gone", "gone", None));
    // The message of an unknown tool is for the log, and no reason.
    let unknown = ToolError::unknown_tool("got", Vec::new()).with_log_note("removed yesterday");
    assert_eq!(
        (&*unknown.reason(), unknown.to_string().as_str()),
        ("", "tool \"got\" not found: removed yesterday")
    );
    assert_eq!(serde_json::to_value(ToolError::failed("")).unwrap(), json!({ "kind": "failed" }));
    let pause = std::time::Duration::from_secs(3);
    assert_eq!(ToolError::failed("busy").with_retry_after(pause).retry_after(), Some(pause));
    assert_eq!(
        (ToolError::failed("busy").retry_after(), ToolError::failed("busy").child_run_id()),
        (None, None)
    );
    // Text that is not JSON is named in the log.
    let syntax = ToolError::from(tool_core::Arguments::from("{").to_value().unwrap_err());
    assert_eq!(syntax.kind(), ErrorKind::InvalidArguments);
    assert!(
        syntax.to_string().starts_with(
            "tool was given invalid arguments: the arguments are not JSON: the arguments: expected"
        ),
        "{syntax}"
    );
}
