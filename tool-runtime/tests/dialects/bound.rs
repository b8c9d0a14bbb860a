//! Caching of bound tools, and tool names in dialects.

use serde_json::json;
use tool_runtime::{
    Content, Registry, RunContext, ToolDefinition, ToolError, ToolName,
    builder::ExternalTool,
    diagnostic::Severity,
    dialect::{Dialect, RequestError},
    output::{Blob, Resource, ResourceBody},
    schema::InputSchema,
};

use super::tools;

fn many(count: usize, description: &'static str) -> Registry {
    let all: serde_json::Map<_, _> =
        (0..20).map(|at| (format!("p{at}"), json!({ "type": "string", "description": "One." }))).collect();
    let schema = json!({ "type": "object", "properties": all, "required": ["p0"] });
    let tool = |at| {
        let name = ToolName::new(format!("tool_{at:04}")).unwrap();
        let schema = InputSchema::new(schema.clone()).unwrap();
        ExternalTool::new(ToolDefinition::new(name, description, schema))
    };
    (0..count).fold(Registry::builder(), |builder, at| builder.add(tool(at))).build().unwrap()
}

#[test]
fn a_registry_that_was_bound_before_is_not_converted_again() {
    let dialect = Dialect::openai_chat_strict();
    let tools = many(1_000, "One.");
    let first = dialect.bind_tools(&tools);
    // A rebuilt registry is converted once.
    for tools in [tools, many(1_000, "One.")] {
        drop(dialect.bind_tools(&tools));
        // The same allocation: nothing was converted.
        assert!(std::ptr::eq(first.definitions(), dialect.bind_tools(&tools).definitions()));
    }
}

#[test]
fn a_registry_with_another_tool_of_the_same_name_is_converted() {
    let dialect = Dialect::anthropic();
    assert_eq!(dialect.bind_tools(&many(2, "One.")).definitions()[1]["description"], "One.");
    assert_eq!(dialect.bind_tools(&many(2, "Two.")).definitions()[1]["description"], "Two.");
    assert_eq!(dialect.bind_tools(&many(3, "Two.")).definitions().as_array().unwrap().len(), 3);
}

#[test]
fn the_list_of_definitions_is_kept_as_text() {
    // More strict tools than Anthropic accepts.
    let tools = many(25, "One.");
    assert_eq!(tools.definitions_json(), serde_json::to_string(tools.definitions()).unwrap());
    assert!(std::ptr::eq(tools.definitions_json(), tools.clone().definitions_json()));
    let with_native = |dialect: Dialect| dialect.with_native(json!({ "googleSearch": {} }));
    for (first, second) in Dialect::all().into_iter().zip(Dialect::all()) {
        let [first, second] = [first, second].map(|dialect| with_native(dialect).bind_tools(&tools));
        let text = first.definitions_json();
        assert_eq!(text, first.definitions().to_string());
        assert_eq!((second.definitions(), second.definitions_json()), (first.definitions(), text));
        assert!(std::ptr::eq(text, first.clone().definitions_json()));
    }
}

// WHAT-USERS-ASK 19
#[test]
fn every_dialect_shortens_long_names_and_restores_them() {
    for dialect in Dialect::all() {
        let bound = dialect
            .with_prefix("a server with a very long name, of 70 characters at the least: ")
            .bind_tools(&tools());
        let wire = bound.wire_name("add").into_owned();
        let longest =
            if ["anthropic", "anthropic-strict", "mcp"].contains(&dialect_of(&bound)) { 128 } else { 64 };
        assert!(wire.len() <= longest && wire.is_ascii() && !wire.contains(' '), "{wire}");
        assert_eq!(bound.tool_name(&wire), "add");
        assert_ne!(bound.wire_name("draw"), wire);
        assert!(bound.definitions().to_string().contains(&*wire));
        let renamed = bound.diagnostics().iter().find(|it| it.message.contains(&*wire)).unwrap();
        assert_eq!(renamed.severity, Severity::Note);
    }
}

fn dialect_of(bound: &tool_runtime::dialect::BoundTools) -> &'static str {
    bound.diagnostics()[0].location.dialect.unwrap()
}

#[test]
fn a_native_tool_keeps_its_name_and_a_conflicting_tool_is_renamed() {
    let native = json!({ "type": "web_search_20250305", "name": "add" });
    let bound = Dialect::anthropic().with_native(native.clone()).bind_tools(&tools());
    assert_eq!(bound.definitions()[2], native);
    assert_ne!(bound.definitions()[0]["name"], "add");
    assert_eq!(bound.tool_name("add"), "add");
}

// A04
#[test]
fn tools_are_added_to_a_request_after_existing_tools() {
    let bound = Dialect::openai_responses().bind_tools(&tools());
    let request = json!({ "model": "gpt-5", "tools": [{ "type": "web_search" }] });
    let request = crate::run(bound.build_request(request, RunContext::new())).unwrap();
    assert_eq!(request["tools"].as_array().unwrap().len(), 3);
    assert_eq!(request["tools"][1]["name"], "add");
    let packing = bound.build_request(json!({ "tools": "none" }), RunContext::new());
    let RequestError::Dialect(refused) = crate::run(packing).unwrap_err() else { panic!() };
    assert_eq!((refused.pointer.as_str(), refused.got.as_str()), ("/tools", "a text"));
    let nothing = Dialect::mcp().bind_tools(&Registry::builder().build().unwrap());
    let bare = crate::run(nothing.build_request(json!({}), RunContext::new())).unwrap();
    assert_eq!(bare, json!({}));
}

/// Prefixes produce the longest names and names that begin with a digit.
#[test]
fn names_that_a_provider_accepts_are_unchanged() {
    let all: [(Dialect, usize, bool, bool); 5] = [
        (Dialect::openai_chat(), 64, false, false),
        (Dialect::openai_responses(), 64, false, false),
        (Dialect::anthropic(), 128, false, false),
        (Dialect::gemini(), 64, true, true),
        (Dialect::mcp(), 128, false, true),
    ];
    for (dialect, longest, starts_with_letter, dots) in all {
        let stays = |prefix: &str| {
            let bound = super::bound(&dialect.clone().with_prefix(prefix));
            bound.wire_name("add") == format!("{prefix}add")
        };
        assert!(stays("_") && stays("a-"), "{dialect:?}");
        assert!(stays(&"x".repeat(longest - 3)) && !stays(&"x".repeat(longest - 2)), "{dialect:?}");
        assert_eq!(stays("9_"), !starts_with_letter, "{dialect:?}");
        assert_eq!(stays("a."), dots, "{dialect:?}");
        assert!(!stays("a:"), "{dialect:?}");
    }
}

// A20
#[test]
fn an_error_of_a_request_has_the_source_of_its_reason() {
    use std::error::Error as _;

    use tool_runtime::request::request_fn;

    let refused = |error: fn() -> ToolError| {
        let hook = request_fn(move |_| async move { Err(error()) });
        let tools = Registry::builder().request_hook(hook).build().unwrap();
        let bound = Dialect::mcp().bind_tools(&tools);
        crate::run(bound.build_request(json!({}), RunContext::new())).unwrap_err()
    };
    let error = refused(|| ToolError::from(std::io::Error::other("no disk")));
    assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("no disk"));
    assert!(refused(|| ToolError::failed("no disk")).source().is_none());
}

#[test]
fn a_file_is_accepted_by_its_type_and_any_text_is() {
    let file = |mime_type: &str, body: ResourceBody| {
        let resource = Resource { uri: "file:///a".to_owned(), mime_type: mime_type.to_owned(), body };
        Content::Resource { resource }
    };
    let anthropic = Dialect::anthropic().bind_tools(&Registry::builder().build().unwrap());
    let blob = || ResourceBody::Blob(Blob(vec![0; 4]));
    assert!(anthropic.accepts(&file("application/pdf", blob())));
    assert!(!anthropic.accepts(&file("audio/wav", blob())));
    assert!(anthropic.accepts(&file("audio/wav", ResourceBody::Text("a".to_owned()))));
    assert!(anthropic.accepts(&Content::text("a")));
}
