//! Citations, grounding and metadata of responses.

use serde_json::{Value, json};
use tool_agent::{
    Agent, AgentHook, Message, Part, Role, Runner, Step,
    model::{Request, Response},
};
use tool_runtime::{RunContext, ToolError};
use tool_session::{InMemoryStore, SharedSessionStore};

use super::{
    ask, model, saying,
    server::{Answer, validating_server},
    streaming,
};

/// A response of an API with citations, whole and as a stream, and the citations and metadata that are expected.
fn cited(wire: &str) -> (Value, Vec<Value>, Value, Value) {
    let (mut whole, mut events) = (saying(wire, "Oslo."), streaming(wire, "Oslo."));
    match wire {
        "openai" => {
            whole["citations"] = json!(["https://a.example", "https://b.example"]);
            whole["x_source"] = json!({ "index": "news" });
            // Says nothing.
            for (name, empty) in [("x_list", json!([])), ("x_map", json!({})), ("x_text", json!(""))] {
                whole[name] = empty;
            }
            whole["created"] = json!(7);
            // Each event repeats the list, which grows.
            events[0]["citations"] = json!(["https://a.example"]);
            events[1]["citations"] = whole["citations"].clone();
            events[1]["x_source"] = whole["x_source"].clone();
            let citations = whole["citations"].clone();
            (
                whole,
                events,
                citations.clone(),
                json!({ "citations": citations, "x_source": { "index": "news" } }),
            )
        }
        "openai-responses" => {
            let citation = json!({ "type": "url_citation", "url": "https://a.example", "start_index": 0, "end_index": 5 });
            whole["output"][0]["content"][0]["annotations"] = json!([citation]);
            whole["metadata"] = json!({ "team": "sales" });
            whole["instructions"] = json!("x".repeat(10_000));
            events[3]["item"] = whole["output"][0].clone();
            events[4]["response"] = whole.clone();
            (whole, events, json!([citation]), json!({ "metadata": { "team": "sales" } }))
        }
        "anthropic" => {
            let citation = json!({ "type": "web_search_result_location", "url": "https://a.example", "cited_text": "Oslo" });
            whole["content"][0]["citations"] = json!([citation]);
            whole["container"] = json!({ "id": "c-1" });
            let delta = json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "citations_delta", "citation": citation } });
            events.insert(3, delta);
            events[5]["delta"]["container"] = whole["container"].clone();
            (whole, events, json!([citation]), json!({ "container": { "id": "c-1" } }))
        }
        _ => {
            let chunk = json!({ "web": { "uri": "https://a.example", "title": "A" } });
            let metadata = json!({
                "groundingMetadata": { "groundingChunks": [chunk], "webSearchQueries": ["oslo"] },
                "urlContextMetadata": { "urlMetadata": [{ "retrievedUrl": "https://a.example" }] },
            });
            for (name, value) in metadata.as_object().unwrap() {
                whole["candidates"][0][name] = value.clone();
            }
            let mut last = whole.clone();
            last["candidates"][0]["content"]["parts"] = json!([]);
            let events = vec![saying(wire, "Oslo."), last];
            (whole, events, json!([chunk]), metadata)
        }
    }
}

#[tokio::test]
async fn citations_and_metadata_reach_the_response_whole_and_streamed() {
    for wire in super::WIRES {
        let (whole, events, citations, metadata) = cited(wire);
        let server = validating_server([Answer::json(&whole), Answer::events(&events)], |_| Ok(())).await;
        let model = model(wire, &server.url);
        for kind in ["whole", "streamed"] {
            let response = ask(&model, Request::new([Message::user("?")])).await;
            assert_eq!(json!(response.metadata()), metadata, "{wire} {kind}");
            assert_eq!(json!(response.message.citations()), citations, "{wire} {kind}");
        }
    }
}

#[tokio::test]
async fn a_response_without_metadata_has_none() {
    for wire in super::WIRES {
        let answers = [Answer::json(&saying(wire, "Oslo.")), Answer::events(&streaming(wire, "Oslo."))];
        let server = validating_server(answers, |_| Ok(())).await;
        let model = model(wire, &server.url);
        for _ in 0..2 {
            let response = ask(&model, Request::new([Message::user("?")])).await;
            assert_eq!(
                (json!(response.metadata()), response.message.citations()),
                (json!({}), vec![]),
                "{wire}"
            );
            assert!(!serde_json::to_string(&response).unwrap().contains("metadata"));
        }
    }
}

#[tokio::test]
async fn grounding_of_parts_of_a_stream_is_joined() {
    let event = |uri: &str| {
        let mut event = saying("gemini", "a");
        event["candidates"][0]["citationMetadata"] =
            json!({ "citationSources": [{ "uri": uri }], "last": uri });
        event
    };
    let server = validating_server([Answer::events(&[event("a"), event("b")])], |_| Ok(())).await;
    let response = ask(&model("gemini", &server.url), Request::new([Message::user("?")])).await;
    let expected =
        json!({ "citationMetadata": { "citationSources": [{ "uri": "a" }, { "uri": "b" }], "last": "b" } });
    assert_eq!(json!(response.metadata()), expected);
    assert_eq!(json!(response.message.citations()), json!([{ "uri": "a" }, { "uri": "b" }]));
}

/// Adds metadata of the program.
struct Reviewed;

impl AgentHook for Reviewed {
    async fn after_model(&self, _: &Step, response: &Response) -> Result<Option<Response>, ToolError> {
        let mut metadata = response.metadata().clone();
        metadata.insert("reviewed".to_owned(), json!(true));
        let mut response = response.clone();
        response.message = response.message.with_metadata(metadata);
        Ok(Some(response))
    }
}

#[tokio::test]
async fn metadata_are_stored_with_the_message_and_never_sent() {
    let (whole, ..) = cited("gemini");
    let answers = [Answer::json(&whole), Answer::json(&saying("gemini", "Again."))];
    let server = validating_server(answers, |body| match body.to_string() {
        body if body.contains("groundingMetadata") || body.contains("reviewed") => {
            Err("it was sent".to_owned())
        }
        _ => Ok(()),
    })
    .await;
    let agent = Agent::builder("clerk", model("gemini", &server.url)).hook(Reviewed).build().unwrap();
    let store = SharedSessionStore::new(InMemoryStore::new());
    let runner = || Runner::new(agent.clone()).with_app("shop").with_store(store.clone());
    let run = || RunContext::new().with_user("u-7").with_session("s-1");
    runner().run_with(run(), "Capital?").answer().await.unwrap();
    // As in another process.
    runner().run_with(run(), "Again?").answer().await.unwrap();
    let history = runner().history(&run()).await;
    let first = history.iter().find(|it| it.role() == Role::Assistant).unwrap();
    assert_eq!(first.metadata()["reviewed"], true);
    assert_eq!(first.citations()[0]["web"]["uri"], "https://a.example");
}

#[tokio::test]
async fn a_clone_keeps_its_metadata_and_the_json_of_a_message_has_them_only_if_there_are_some() {
    let message = Message::assistant([Part::Text("a".to_owned())]);
    let plain = message.clone();
    let metadata = json!({ "a": 1 }).as_object().unwrap().clone();
    let marked = message.with_metadata(metadata);
    assert!(plain.metadata().is_empty());
    assert_eq!(
        serde_json::to_value(&plain).unwrap(),
        json!({ "role": "assistant", "parts": [{ "text": "a" }] })
    );
    let read: Message = serde_json::from_value(serde_json::to_value(&marked).unwrap()).unwrap();
    assert_eq!(read.metadata()["a"], 1);
}
