//! A request with tools: their declarations, and what else each adds to it.

use std::sync::Arc;

use serde_json::{Value, json};
use tool_runtime::{
    ModelRequest, NamedTools, Registry, RunContext, ToolBuilder, ToolError, ToolSetExt, Toolbox,
    dialect::Dialect, prelude::*,
};

#[tool_args]
struct Nothing {}

fn silent(name: &'static str) -> tool_runtime::ClosureTool {
    ToolBuilder::new(name).description("Answers.").must(|_: Nothing, _| async { Ok::<_, ToolError>("pong") })
}

/// A tool that says a text.
fn saying(name: &'static str, text: &'static str) -> tool_runtime::ClosureTool {
    silent(name).with_on_request(move |request| request.instruct(text))
}

fn remember(request: &mut ModelRequest<'_>) {
    let name = request.tool_name().to_owned();
    request.instruct(format!("Call `{name}` when you are asked about the past."));
    if request.dialect().starts_with("openai-responses") {
        request.add_native(json!({ "type": "web_search" }));
    }
}

/// Remembers.
#[tool(register = false, on_request = remember)]
fn recall(
    /// What about.
    topic: String,
) -> String {
    topic
}

fn packed(dialect: &Dialect, tools: &Registry, mut request: Value) -> Value {
    dialect.bind(tools).pack(&mut request).unwrap();
    request
}

fn refused(dialect: &Dialect, mut request: Value) -> String {
    let tools = Registry::builder().tool::<recall>().build().unwrap();
    dialect.bind(&tools).pack(&mut request).unwrap_err().to_string()
}

const RECALL: &str = "Call `recall` when you are asked about the past.";

// A20
#[test]
fn an_instruction_of_a_tool_is_in_the_system_text_of_each_provider() {
    let tools = Registry::builder().tool::<recall>().add(silent("ping")).build().unwrap();
    let said = |dialect: Dialect, request: Value, at: &str| {
        let packed = packed(&dialect, &tools, request);
        // One without a processor is declared all the same.
        assert!(packed["tools"].to_string().contains("ping"), "{packed}");
        packed.pointer(at).cloned().unwrap_or_default()
    };
    assert_eq!(said(Dialect::openai_responses(), json!({}), "/instructions"), RECALL);
    assert_eq!(said(Dialect::anthropic(), json!({}), "/system"), RECALL);
    assert_eq!(
        said(Dialect::gemini(), json!({}), "/systemInstruction"),
        json!({ "parts": [{ "text": RECALL }] })
    );
    assert_eq!(said(Dialect::mcp(), json!({}), "/_meta/instructions"), RECALL);
    let system = json!([{ "role": "system", "content": RECALL }]);
    assert_eq!(said(Dialect::openai_chat(), json!({}), "/messages"), system);
    let user = json!({ "role": "user", "content": "Hi." });
    let both = said(Dialect::openai_chat(), json!({ "messages": [user] }), "/messages");
    assert_eq!(both, json!([{ "role": "system", "content": RECALL }, user]));
}

// A20
#[test]
fn instructions_come_below_those_that_there_are_and_none_twice() {
    let tools =
        Registry::builder().add(saying("b", "Second.")).add(saying("a", "First.")).add(saying("c", "First."));
    let tools = tools.build().unwrap();
    let cases = [
        (
            Dialect::openai_responses(),
            json!({ "instructions": "Be kind." }),
            "/instructions",
            json!("Be kind.\n\nFirst.\n\nSecond."),
        ),
        (Dialect::anthropic(), json!({ "system": "" }), "/system", json!("First.\n\nSecond.")),
        (
            Dialect::anthropic(),
            json!({ "system": [{ "type": "text", "text": "Be kind.", "cache_control": { "type": "ephemeral" } }] }),
            "/system",
            json!([
                { "type": "text", "text": "Be kind.", "cache_control": { "type": "ephemeral" } },
                { "type": "text", "text": "First." },
                { "type": "text", "text": "Second." },
            ]),
        ),
        (
            Dialect::gemini(),
            json!({ "system_instruction": { "parts": [{ "text": "Be kind." }] } }),
            "/system_instruction/parts",
            json!([{ "text": "Be kind." }, { "text": "First." }, { "text": "Second." }]),
        ),
        (
            Dialect::openai_chat(),
            json!({ "messages": [{ "role": "developer", "content": [{ "type": "text", "text": "Be kind." }] }] }),
            "/messages/0/content",
            json!([{ "type": "text", "text": "Be kind." }, { "type": "text", "text": "First." }, { "type": "text", "text": "Second." }]),
        ),
        (
            Dialect::openai_chat(),
            json!({ "messages": [{ "role": "system", "content": "Be kind." }] }),
            "/messages",
            json!([{ "role": "system", "content": "Be kind.\n\nFirst.\n\nSecond." }]),
        ),
    ];
    for (dialect, request, at, expected) in cases {
        let once = packed(&dialect, &tools, request);
        assert_eq!(once.pointer(at), Some(&expected));
        // The messages of a conversation are sent again.
        assert_eq!(packed(&dialect, &tools, once).pointer(at), Some(&expected));
    }
}

// A04, A20
#[test]
fn native_tools_come_after_the_declarations_and_none_twice() {
    let search = || json!({ "googleSearch": {} });
    let native = |name| silent(name).with_on_request(move |request| request.add_native(search()));
    let tools = Registry::builder().add(native("a")).add(native("b")).build().unwrap();
    let request = packed(&Dialect::gemini(), &tools, json!({ "contents": [] }));
    let tools = request["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 2);
    assert_eq!(tools[0]["functionDeclarations"].as_array().unwrap().len(), 2);
    assert_eq!(tools[1], search());
    let recalling = Registry::builder().tool::<recall>().build().unwrap();
    let request =
        packed(&Dialect::openai_responses(), &recalling, json!({ "tools": [{ "type": "web_search" }] }));
    assert_eq!(request["tools"].as_array().unwrap().len(), 2, "{request}");
}

// A04
#[test]
fn declarations_join_those_that_a_request_has_and_none_comes_twice() {
    let tools = Registry::builder().add(silent("a")).add(silent("b")).build().unwrap();
    for key in ["functionDeclarations", "function_declarations"] {
        let request = json!({ "tools": [{ "googleSearch": {} }, { key: [{ "name": "own" }] }] });
        let once = packed(&Dialect::gemini(), &tools, request);
        let names = once["tools"][1][key].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap());
        assert_eq!(names.collect::<Vec<_>>(), ["own", "a", "b"]);
        assert_eq!(once["tools"].as_array().unwrap().len(), 2);
    }
    // The request of the step before is sent again.
    for dialect in Dialect::all() {
        let once = packed(&dialect, &tools, json!({}));
        assert_eq!(packed(&dialect, &tools, once.clone()), once, "{}", dialect.name());
    }
}

#[test]
fn an_instruction_that_is_part_of_another_is_added_and_one_of_nothing_is_not() {
    let tools = Registry::builder().add(saying("a", "Be kind.")).add(saying("b", " ")).build().unwrap();
    let request = json!({ "instructions": "Be kind. But not here." });
    let once = packed(&Dialect::openai_responses(), &tools, request);
    assert_eq!(once["instructions"], "Be kind. But not here.\n\nBe kind.");
    assert_eq!(packed(&Dialect::openai_responses(), &tools, once.clone()), once);
    let nothing = Registry::builder().add(saying("b", "")).build().unwrap();
    assert_eq!(packed(&Dialect::anthropic(), &nothing, json!({})).get("system"), None);
}

#[test]
fn a_tool_sees_the_request_and_may_change_all_of_it() {
    let tool = silent("ping").with_on_request(|request| {
        let declared = request.body()["tools"][0]["name"].clone();
        request.body()["metadata"] = json!({ "declared": declared });
    });
    let tools = Registry::builder().add(tool).build().unwrap();
    assert_eq!(packed(&Dialect::anthropic(), &tools, json!({}))["metadata"], json!({ "declared": "ping" }));
}

#[test]
fn a_tool_under_another_name_adds_what_it_added_under_its_own() {
    let toolbox = Toolbox::new();
    let recalling = Registry::builder().tool::<recall>().build().unwrap();
    let tool = Arc::clone(recalling.get("recall").unwrap());
    toolbox.add_toolset(NamedTools::new("past", [tool]).prefixed());
    let tools = crate::run(toolbox.snapshot(&RunContext::default())).unwrap().into_tools();
    let dialect = Dialect::anthropic().with_prefix("x.");
    let request = packed(&dialect, &tools, json!({}));
    let name = request["tools"][0]["name"].as_str().unwrap();
    assert!(name.starts_with("x_past__recall"), "{name}");
    assert_eq!(request["system"], format!("Call `{name}` when you are asked about the past."));
}

#[test]
fn what_has_no_place_in_a_request_is_told() {
    let cases = [
        (
            Dialect::openai_responses(),
            json!({ "instructions": 1 }),
            "/instructions: expected a text, got a number",
        ),
        (
            Dialect::anthropic(),
            json!({ "system": {} }),
            "/system: expected a text or a list of blocks, got an object",
        ),
        (
            Dialect::gemini(),
            json!({ "systemInstruction": "x" }),
            "/systemInstruction/parts: expected a list, got nothing",
        ),
        (Dialect::openai_chat(), json!({ "messages": {} }), "/messages: expected a list, got an object"),
        (
            Dialect::openai_chat(),
            json!({ "messages": [{ "role": "system", "content": 1 }] }),
            "/messages/0/content: expected a text or a list of blocks, got a number",
        ),
        (Dialect::mcp(), json!({ "_meta": 1 }), "/_meta: expected an object, got a number"),
        (
            Dialect::mcp(),
            json!({ "_meta": { "instructions": 1 } }),
            "/_meta/instructions: expected a text, got a number",
        ),
        (Dialect::mcp(), json!([]), "the root: expected an object, got a list"),
    ];
    for (dialect, request, message) in cases {
        assert_eq!(refused(&dialect, request), message);
    }
}

#[test]
fn a_tool_that_panics_is_told_of() {
    let tools = Registry::builder().add(silent("ping").with_on_request(|_| panic!("boom"))).build().unwrap();
    let why = Dialect::mcp().bind(&tools).pack(&mut json!({})).unwrap_err();
    assert_eq!(why.to_string(), "/tools: expected what `ping` adds to a request, got a panic: boom");
}

#[test]
fn a_tool_that_leaves_no_place_for_others_is_told_of() {
    let spoiling = silent("ping").with_on_request(|request| request.body()["tools"] = json!({}));
    let tools = Registry::builder().add(spoiling).tool::<recall>().build().unwrap();
    let why = Dialect::openai_responses().bind(&tools).pack(&mut json!({})).unwrap_err();
    assert_eq!(why.to_string(), "/tools: expected a list, got an object");
}
