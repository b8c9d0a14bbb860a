//! Requests with tools: declarations, instructions, and request hooks.

use std::{future::Ready, sync::Arc};

use serde_json::{Value, json};
use tool_runtime::{
    Content, Registry, RunContext, ToolBuilder, ToolError, Toolbox,
    dialect::{Dialect, RequestError},
    prelude::*,
    request::{ModelRequest, RequestHook, request_fn},
    toolset::{NamedTools, ToolSetExt},
};

#[tool_args]
struct Nothing {}

fn silent(name: &'static str) -> tool_runtime::builder::ClosureTool {
    ToolBuilder::new(name)
        .description("Answers.")
        .expect_handler(|_: Nothing, _| async { Ok::<_, ToolError>("pong") })
}

/// Returns a tool with an instruction.
fn saying(name: &'static str, text: &'static str) -> tool_runtime::builder::ClosureTool {
    silent(name).with_on_request(move |request| async move {
        request.instruct(text);
        Ok(())
    })
}

fn remember(request: ModelRequest) {
    let name = request.tool_name().unwrap_or_default().to_owned();
    request.instruct(format!("Call `{name}` when you are asked about the past."));
    if request.dialect().starts_with("openai-responses") {
        request.add_native(json!({ "type": "web_search" }));
    }
}

/// Remembers.
#[tool(register = false, on_request = remember)]
fn recall(
    /// The topic.
    topic: String,
) -> String {
    topic
}

fn packed(dialect: &Dialect, tools: &Registry, request: Value) -> Value {
    crate::run(dialect.bind_tools(tools).build_request(request, RunContext::new())).unwrap()
}

/// Returns the error for `request`.
fn refused_with(dialect: &Dialect, tools: &Registry, request: Value) -> RequestError {
    crate::run(dialect.bind_tools(tools).build_request(request, RunContext::new())).unwrap_err()
}

fn refused(dialect: &Dialect, request: Value) -> String {
    let tools = Registry::builder().tool::<recall>().build().unwrap();
    refused_with(dialect, &tools, request).to_string()
}

const RECALL: &str = "Call `recall` when you are asked about the past.";

// A20
#[test]
fn an_instruction_of_a_tool_is_in_the_system_text_of_each_provider() {
    let tools = Registry::builder().tool::<recall>().add(silent("ping")).build().unwrap();
    let said = |dialect: Dialect, request: Value, at: &str| {
        let packed = packed(&dialect, &tools, request);
        // A tool without a request hook is declared, too.
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
fn instructions_follow_existing_ones_without_duplicates() {
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
fn a_message_of_the_user_comes_after_all_others_in_the_form_of_each_provider() {
    let asks = request_fn(|request| async move {
        request.add_text("And you?");
        Ok(())
    });
    let tools = Registry::builder().request_hook(asks).build().unwrap();
    let said = json!({ "role": "user", "content": "And you?" });
    for (dialect, list, expected) in [
        (Dialect::openai_chat(), "messages", said.clone()),
        (Dialect::openai_responses(), "input", said.clone()),
        (Dialect::anthropic(), "messages", said),
        (Dialect::gemini(), "contents", json!({ "role": "user", "parts": [{ "text": "And you?" }] })),
    ] {
        let request = packed(&dialect, &tools, json!({ list: [] }));
        assert_eq!(request[list], json!([expected]), "{}", dialect.name());
    }
}

// R24
#[test]
fn added_content_is_a_message_in_the_form_of_each_provider() {
    let shows = request_fn(|request| async move {
        request.add_content([
            Content::text("The map:"),
            Content::image(vec![1, 2, 3], "image/png"),
            Content::audio(vec![4], "audio/odd"),
        ]);
        request.add_content([]);
        Ok(())
    });
    let tools = Registry::builder().request_hook(shows).build().unwrap();
    let odd = "[audio/odd, 1 bytes: not shown, the provider does not accept this type of file]";
    let text = |text: &str| json!({ "type": "text", "text": text });
    let input = |text: &str| json!({ "type": "input_text", "text": text });
    let url = "data:image/png;base64,AQID";
    let chat = json!([text("The map:"), { "type": "image_url", "image_url": { "url": url } }, text(odd)]);
    let responses = json!([input("The map:"), { "type": "input_image", "image_url": url }, input(odd)]);
    let source = json!({ "type": "base64", "media_type": "image/png", "data": "AQID" });
    let anthropic = json!([text("The map:"), { "type": "image", "source": source }, text(odd)]);
    let image = json!({ "inlineData": { "mimeType": "image/png", "data": "AQID" } });
    let gemini = json!([{ "text": "The map:" }, image, { "text": odd }]);
    for (dialect, list, member, expected) in [
        (Dialect::openai_chat(), "messages", "content", chat),
        (Dialect::openai_responses(), "input", "content", responses),
        (Dialect::anthropic(), "messages", "content", anthropic),
        (Dialect::gemini(), "contents", "parts", gemini),
    ] {
        let request = packed(&dialect, &tools, json!({ list: [] }));
        assert_eq!(request[list], json!([{ "role": "user", member: expected }]), "{}", dialect.name());
    }
}

#[test]
fn native_tools_follow_the_declarations_without_duplicates() {
    fn search() -> Value {
        json!({ "googleSearch": {} })
    }
    let native = |name: &'static str| {
        silent(name).with_on_request(move |request| async move {
            request.add_native(search());
            Ok(())
        })
    };
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
fn declarations_are_added_to_existing_ones_without_duplicates() {
    let tools = Registry::builder().add(silent("a")).add(silent("b")).build().unwrap();
    for key in ["functionDeclarations", "function_declarations"] {
        let request = json!({ "tools": [{ "googleSearch": {} }, { key: [{ "name": "own" }] }] });
        let once = packed(&Dialect::gemini(), &tools, request);
        let names = once["tools"][1][key].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap());
        assert_eq!(names.collect::<Vec<_>>(), ["own", "a", "b"]);
        assert_eq!(once["tools"].as_array().unwrap().len(), 2);
    }
    // The request of the previous step is sent again.
    for dialect in Dialect::all() {
        let once = packed(&dialect, &tools, json!({}));
        assert_eq!(packed(&dialect, &tools, once.clone()), once, "{}", dialect.name());
    }
}

#[test]
fn an_instruction_contained_in_another_is_added_and_an_empty_one_is_not() {
    let tools = Registry::builder().add(saying("a", "Be kind.")).add(saying("b", " ")).build().unwrap();
    let request = json!({ "instructions": "Be kind. But not here." });
    let once = packed(&Dialect::openai_responses(), &tools, request);
    assert_eq!(once["instructions"], "Be kind. But not here.\n\nBe kind.");
    assert_eq!(packed(&Dialect::openai_responses(), &tools, once.clone()), once);
    let nothing = Registry::builder().add(saying("b", "")).build().unwrap();
    assert_eq!(packed(&Dialect::anthropic(), &nothing, json!({})).get("system"), None);
}

// A20
#[test]
fn a_tool_sees_the_request_and_may_set_any_member_of_it() {
    let tool = silent("ping").with_on_request(|request| async move {
        let declared = request.body()["tools"][0]["name"].clone();
        request.set("metadata", json!({ "declared": declared, "model": request.body()["model"] }));
        Ok(())
    });
    let tools = Registry::builder().add(tool).build().unwrap();
    let request = packed(&Dialect::anthropic(), &tools, json!({ "model": "m" }));
    assert_eq!(request["metadata"], json!({ "declared": "ping", "model": "m" }));
}

#[test]
fn a_renamed_tool_adds_its_instruction() {
    let toolbox = Toolbox::new();
    let recalling = Registry::builder().tool::<recall>().build().unwrap();
    let tool = Arc::clone(recalling.get("recall").unwrap());
    toolbox.add_toolset(NamedTools::new("past", [tool]).prefixed()).unwrap();
    let tools = crate::run(toolbox.snapshot(&RunContext::default())).unwrap().into_tools();
    let dialect = Dialect::anthropic().with_prefix("x.");
    let request = packed(&dialect, &tools, json!({}));
    let name = request["tools"][0]["name"].as_str().unwrap();
    assert!(name.starts_with("x_past__recall"), "{name}");
    assert_eq!(request["system"], format!("Call `{name}` when you are asked about the past."));
}

#[test]
fn additions_without_a_place_in_the_request_are_errors() {
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

// A20
#[test]
fn a_tool_or_hook_that_fails_or_panics_is_named_and_nothing_is_sent() {
    struct Late(bool);
    impl RequestHook for Late {
        async fn on_request(&self, _: ModelRequest) -> Result<(), ToolError> {
            tokio::task::yield_now().await;
            assert!(!self.0, "boom");
            Err(ToolError::failed("no clock"))
        }

        fn name(&self) -> &str {
            "clock"
        }
    }
    let failing = || silent("ping").with_on_request(|_| async { Err(ToolError::failed("no index")) });
    let at_once = || silent("ping").with_on_request(|_| -> Ready<Result<(), ToolError>> { panic!("boom") });
    let later = || silent("ping").with_on_request(|_| async { panic!("boom") });
    for (tools, expected) in [
        (Registry::builder().add(failing()), "the tool `ping` cannot add to the request: no index"),
        (Registry::builder().add(at_once()), "the tool `ping` cannot add to the request: it panicked: boom"),
        (Registry::builder().add(later()), "the tool `ping` cannot add to the request: it panicked: boom"),
        (
            Registry::builder().request_hook(Late(false)),
            "the hook `clock` cannot add to the request: no clock",
        ),
        (
            Registry::builder().request_hook(Late(true)),
            "the hook `clock` cannot add to the request: it panicked: boom",
        ),
    ] {
        let error = refused_with(&Dialect::mcp(), &tools.build().unwrap(), json!({}));
        assert_eq!(error.to_string(), expected);
        assert!(matches!(error, RequestError::Tool { .. } | RequestError::Hook { .. }));
    }
}

#[test]
fn a_tool_that_makes_the_request_invalid_is_an_error() {
    let spoiling = silent("ping").with_on_request(|request| async move {
        request.set("tools", json!({}));
        Ok(())
    });
    let tools = Registry::builder().add(spoiling).tool::<recall>().build().unwrap();
    let why = refused_with(&Dialect::openai_responses(), &tools, json!({}));
    assert_eq!(why.to_string(), "/tools: expected a list, got an object");
}

/// A request hook that adds the user and the time.
struct Greeting;

impl RequestHook for Greeting {
    async fn on_request(&self, request: ModelRequest) -> Result<(), ToolError> {
        assert_eq!(request.tool_name(), None);
        let run = request.run();
        let plan = run.state().get("plan").cloned().unwrap_or_default();
        tokio::task::yield_now().await;
        let (user, text) = (run.user().unwrap_or_default(), request.user_content().unwrap_or_default());
        request.instruct(format!("{user} of the plan {plan} asked: {text}"));
        request.add_text("It is noon.");
        Ok(())
    }
}

// A20
#[test]
fn a_request_hook_sees_the_run_and_is_not_a_tool() {
    const TEXT: &str = "ada of the plan 7 asked: the time?";
    let tools = Registry::builder().request_hook(Greeting).add(silent("ping")).build().unwrap();
    assert_eq!(tools.definitions().len(), 1);
    let state = json!({ "plan": 7 }).as_object().cloned().unwrap();
    for dialect in Dialect::all() {
        let run = RunContext::new().with_user("ada").with_user_content("the time?").with_state(state.clone());
        let (run, bound) = (Arc::new(run), dialect.bind_tools(&tools));
        let members = crate::run(bound.build_request(json!({}), Arc::clone(&run)));
        if dialect.name() == "mcp" {
            let expected = "the root: expected a dialect whose requests have messages, got an object";
            assert_eq!(members.unwrap_err().to_string(), expected);
            continue;
        }
        let members = members.unwrap().to_string();
        assert!(members.contains("It is noon.") && members.contains(TEXT), "{members}");
        // In a body with earlier messages.
        let mut body = bound.body(json!({})).unwrap();
        body.push(&json!({ "role": "user" })).unwrap();
        let packed = json!(crate::run(bound.build_request(body.clone(), run)).unwrap());
        assert!(packed.to_string().contains(TEXT), "{packed}");
        let list = ["messages", "input", "contents"].into_iter().find_map(|name| packed[name].as_array());
        let list = list.unwrap();
        let user = list.iter().position(|message| *message == json!({ "role": "user" })).unwrap();
        assert_eq!(list.len(), user + 2, "{}: {packed}", dialect.name());
        assert_eq!(list[user + 1]["role"], "user");
        assert!(list[user + 1].to_string().contains("It is noon."));
        // Additions apply to one request: the body is unchanged.
        assert!(!json!(body).to_string().contains("noon"));
    }
}

// A20
#[test]
fn request_hooks_run_before_tools_in_the_order_of_registration() {
    fn says(text: &'static str) -> impl RequestHook {
        request_fn(move |request| async move {
            request.instruct(text);
            Ok(())
        })
    }
    let registry = Registry::builder().request_hook(says("1")).request_hook(says("2"));
    let toolbox = Toolbox::from_registry(&registry.add(saying("b", "5")).build().unwrap());
    toolbox.request_hook(says("3"));
    let set = NamedTools::new("x", [Arc::new(saying("a", "6")) as Arc<dyn tool_runtime::Tool>]);
    toolbox.add_toolset(set.request_hook(says("4")).prefixed().listed_once()).unwrap();
    let tools = crate::run(toolbox.snapshot(&RunContext::new())).unwrap().into_tools();
    let request = packed(&Dialect::anthropic(), &tools, json!({}));
    assert_eq!(request["system"], "1\n\n2\n\n3\n\n4\n\n5\n\n6");
}

// A20
#[test]
fn a_cancelled_run_does_not_wait_for_request_hooks() {
    let stuck = request_fn(|_| std::future::pending());
    let tools = Registry::builder().request_hook(stuck).build().unwrap();
    let run = RunContext::new();
    run.cancellation().cancel();
    let error =
        crate::run(Dialect::anthropic().bind_tools(&tools).build_request(json!({}), run)).unwrap_err();
    assert!(matches!(error, RequestError::Cancelled));
}

// A20: each form of function.
#[test]
fn the_request_hook_of_the_attribute_may_be_async_and_may_fail() {
    fn plain(request: ModelRequest) -> Result<(), ToolError> {
        request.instruct("plain");
        Ok(())
    }
    async fn later(request: ModelRequest) {
        tokio::task::yield_now().await;
        request.instruct("later");
    }
    async fn never(_: ModelRequest) -> Result<(), ToolError> {
        Err(ToolError::failed("not today"))
    }
    /// One.
    #[tool(register = false, on_request = plain)]
    fn one() {}
    /// Two.
    #[tool(register = false, on_request = later)]
    fn two() {}
    /// Three.
    #[tool(register = false, on_request = never)]
    fn three() {}
    let tools = Registry::builder().tool::<one>().tool::<two>();
    let request = packed(&Dialect::anthropic(), &tools.build().unwrap(), json!({}));
    assert_eq!(request["system"], "plain\n\nlater");
    let tools = Registry::builder().tool::<three>().build().unwrap();
    let error = refused_with(&Dialect::anthropic(), &tools, json!({}));
    assert_eq!(error.to_string(), "the tool `three` cannot add to the request: not today");
}
