//! Native tools of providers in the requests of agents.

use tool_agent::{Agent, AgentEventKind, NativeTool, Runner, ScriptedModel, model::Reply};
use tool_runtime::{RunContext, dialect::Dialect, prelude::*};

/// Adds two numbers.
#[tool(register = false, read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn web() -> NativeTool {
    let entry = json!({ "type": "web_search_20250305", "name": "web_search" });
    NativeTool::new("web", "Searches.")
        .entry("gemini", json!({ "googleSearch": {} }))
        .entry("anthropic", entry)
}

#[tokio::test]
async fn the_entry_of_a_native_tool_is_in_the_request_of_its_provider_and_not_among_the_definitions() {
    // R25
    assert_eq!((web().name(), web().description()), ("web", "Searches."));
    let tools = Registry::builder().tool::<add>().request_hook(web()).build().unwrap();
    for (dialect, entry) in [
        (Dialect::gemini(), Some(json!({ "googleSearch": {} }))),
        (Dialect::anthropic(), Some(json!({ "type": "web_search_20250305", "name": "web_search" }))),
        (Dialect::openai_chat(), None),
    ] {
        let bound = dialect.bind_tools(&tools);
        assert!(!bound.definitions_json().contains("earch"), "{}", bound.definitions_json());
        let run = std::sync::Arc::new(RunContext::new());
        let request = bound.build_request(json!({ "messages": [] }), run).await.unwrap();
        let request = serde_json::to_value(&request).unwrap();
        let sent = request["tools"].as_array().unwrap();
        let native = sent.iter().filter(|tool| tool.to_string().contains("earch")).collect::<Vec<_>>();
        assert_eq!(native, entry.iter().collect::<Vec<_>>(), "{}", dialect.name());
    }
}

#[tokio::test]
async fn a_native_tool_that_a_provider_does_not_have_is_a_notice_once_in_a_run() {
    // R25
    let model = ScriptedModel::new([Reply::call("add", json!({ "a": 1, "b": 2 })), Reply::text("3")]);
    let tools = Registry::builder().tool::<add>().build().unwrap();
    let agent = Agent::builder("clerk", model.clone()).tools(tools).native_tool(web()).build().unwrap();
    let (mut events, mut notices) = (Runner::new(agent).run("1 + 2?"), Vec::new());
    while let Some(event) = events.next().await {
        if let AgentEventKind::Notice { text } = event.kind {
            notices.push(text);
        }
    }
    assert_eq!(
        notices,
        [
            "the native tool `web` is not available: it has an entry for `anthropic`, `gemini`, and the model is of `neutral`"
        ]
    );
    let names =
        model.requests()[0].tools.definitions().iter().map(|it| it.name().to_string()).collect::<Vec<_>>();
    assert_eq!(names, ["add"]);
}

#[cfg(feature = "http")]
#[tokio::test]
async fn a_native_tool_reaches_the_server_of_its_provider() {
    // R25
    use tool_agent::HttpModel;

    let response = json!({
        "role": "assistant", "content": [{ "type": "text", "text": "Found." }], "stop_reason": "end_turn",
    });
    let server = test_support::http::Recorder::responding(move |_| {
        Some(axum::http::Response::new(response.to_string().into()))
    });
    let server = server.await;
    let model = HttpModel::anthropic("claude-x").unwrap().with_base_url(&server.url).with_api_key("k");
    let agent = Agent::builder("clerk", model).native_tool(web()).build().unwrap();
    assert_eq!(Runner::new(agent).run("Search.").answer().await.unwrap(), "Found.");
    let sent = server.received()[0].json()["tools"].clone();
    assert_eq!(sent, json!([{ "type": "web_search_20250305", "name": "web_search" }]));
}
