//! Contents and limits of violation reports.

use std::collections::BTreeMap;

use tool_runtime::{
    Content, ToolResult,
    dialect::Dialect,
    output::{Resource, ResourceBody},
    prelude::*,
    schema::InputSchema,
};

/// Notes names.
#[tool(register = false)]
fn note(n: BTreeMap<i8, String>, s: u8) -> usize {
    n.len() + usize::from(s)
}

/// Sums numbers.
#[tool(register = false)]
fn sum(xs: Vec<i64>) -> i64 {
    xs.iter().sum()
}

#[test]
fn a_violation_found_only_by_the_type_is_reported_beside_coercible_values() {
    let tools = Registry::builder().tool::<note>().build().unwrap();
    for arguments in [r#"{"n":{"999":"a"},"s":"3"}"#, r#"{"s":"3","n":{"999":"a"}}"#] {
        let error = crate::run(tools.call("note", arguments)).unwrap_err();
        let pointers: Vec<_> = error.violations().iter().map(|it| it.pointer.as_str()).collect();
        assert!(error.feedback().contains("999") && pointers.contains(&"/n/999"), "{}", error.feedback());
    }
}

#[test]
fn a_report_of_30_000_violations_is_short_and_contains_their_number() {
    let tools = Registry::builder().tool::<sum>().build().unwrap();
    let arguments = json!({ "xs": vec!["x"; 30_000] }).to_string();
    let error = crate::run(tools.call("sum", arguments.as_str())).unwrap_err();
    assert_eq!((error.violations().len(), error.report().total()), (20, 30_000));
    let text = error.feedback();
    assert!(text.contains("\n- and 29,980 more\n") && text.len() <= 8 * 1024, "{text}");
    let name = "x".repeat(1_000_000);
    for arguments in [json!({ name.clone(): 1 }), json!({ "xs": [{ name.clone(): name.clone() }] })] {
        let error = crate::run(tools.call("sum", arguments.to_string())).unwrap_err();
        assert!(error.feedback().len() <= 8 * 1024 && error.to_string().len() <= 8 * 1024);
    }
    let error = crate::run(tools.call(&name, "{}")).unwrap_err();
    assert!(error.feedback().len() < 1_000 && error.to_string().len() < 1_000);
}

#[test]
fn a_similar_name_is_found_among_ten_thousand() {
    // E04
    let tool = |at: usize| {
        let name = if at == 7_000 { "get_weather".to_owned() } else { format!("tool_{at}") };
        let schema = InputSchema::new(json!({})).unwrap();
        ToolBuilder::new(name)
            .description("Nothing.")
            .input_schema(schema)
            .expect_handler(|_: Value, _| async { Ok::<_, ToolError>(()) })
    };
    let builder = (0..10_000).fold(Registry::builder(), |builder, at| builder.add(tool(at)));
    let tools = builder.build().unwrap();
    let error = crate::run(tools.call("get_wether", "{}")).unwrap_err();
    assert_eq!(error.feedback(), "Tool not found: get_wether\nDid you mean `get_weather`?");
}

#[test]
fn the_text_of_a_result_is_sent_unchanged_by_every_dialect() {
    let link = Content::ResourceLink { uri: "file:///a".into(), name: "a".into(), mime_type: None };
    let resource = Resource {
        uri: "file:///b".into(),
        mime_type: "text/plain".into(),
        body: ResourceBody::Text("body".into()),
    };
    let results = [
        Ok(ToolOutput::from("plain")),
        Ok(ToolOutput::default().with_structured(json!({ "a": 1 }))),
        Ok(ToolOutput::default().with_content(Content::text("words")).with_structured(json!({ "a": 1 }))),
        Ok(ToolOutput::default().with_content(Content::text("words")).with_content(link)),
        Ok(ToolOutput::default().with_content(Content::Resource { resource })),
        Err(ToolError::failed("disk full").with_content(vec![Content::text("half of it")])),
    ];
    let tools = Registry::builder().build().unwrap();
    let places = [
        (Dialect::openai_chat(), "/0/content"),
        (Dialect::openai_responses(), "/0/output"),
        (Dialect::anthropic(), "/content/0/content"),
        (Dialect::gemini(), "/parts/0/functionResponse/response"),
    ];
    for outcome in results {
        let result = ToolResult::new("c1".into(), "t", outcome);
        for (dialect, place) in &places {
            let wire = dialect.bind_tools(&tools).results(std::slice::from_ref(&result));
            let sent = wire.pointer(place).unwrap_or_else(|| panic!("{wire}"));
            let read = read(sent);
            // The marker of dialects without an error flag.
            let read = read.strip_prefix("Error: ").unwrap_or(&read);
            assert_eq!(read, result.text(), "{}: {wire}", dialect.name());
        }
    }
}

/// Returns the text of a result in a dialect.
fn read(sent: &Value) -> String {
    match sent {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<_> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            texts.join("\n")
        }
        Value::Object(map) => match map.get("result").or_else(|| map.get("error")) {
            Some(Value::String(text)) => text.clone(),
            _ => sent.to_string(),
        },
        other => other.to_string(),
    }
}
