//! Several models, of which the next one is asked where one fails.

use std::time::Duration;

use serde_json::Value;
use test_support::http::{Answer, Recorder};
use tool_agent::{
    Agent, AgentEventKind, EndReason, HttpModel, Model, Runner, ScriptedModel,
    model::{Fallback, ModelError, ModelErrorKind, ModelEvent, Reply, Request, ResponseStream, SharedModel},
};
use tool_runtime::{RunContext, prelude::*};

/// Adds two numbers.
#[tool(read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn model(name: &str, replies: impl IntoIterator<Item = Reply>) -> ScriptedModel {
    ScriptedModel::new(replies).with_name(name)
}

fn failing(name: &str, kind: ModelErrorKind) -> ScriptedModel {
    model(name, [Reply::error(kind, "it failed")])
}

fn runner(model: impl Into<SharedModel>) -> Runner {
    let tools = Registry::builder().tool::<add>().build().unwrap();
    Runner::new(Agent::builder("adder", model).tools(tools).build().unwrap())
}

#[tokio::test]
async fn the_next_model_answers_where_one_fails_and_withdraws_its_text() {
    let broken = Reply::error(ModelErrorKind::Connection, "the stream broke").with_stream(["It is ", "six"]);
    let fallback = Fallback::new(model("a", [broken])).or(model("b", [Reply::text("It is 5.")]));
    let mut events = runner(fallback).run("2 + 3?");
    let mut shown = Vec::new();
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Text { delta } => shown.push(delta),
            AgentEventKind::Withdrawn { reason } => shown.push(format!("[{reason}]")),
            AgentEventKind::Ended { end } => shown.push(end.text),
            _ => {}
        }
    }
    let withdrawn = "[`scripted:a` failed (the stream broke); `scripted:b` is asked]";
    assert_eq!(shown, ["It is ", "six", withdrawn, "It is 5.", "It is 5."]);
}

#[tokio::test]
async fn the_conversation_continues_with_the_other_model() {
    let call = || Reply::call("add", json!({ "a": 2, "b": 3 }));
    let first =
        model("a", [call(), Reply::error(ModelErrorKind::RateLimited, "slow down"), Reply::text("Bye.")]);
    let second = model("b", [Reply::text("It is 5.")]);
    let runner = runner(Fallback::new(first.clone()).or(second.clone()));
    let session = || RunContext::new().with_session("s");
    assert_eq!(runner.run_with(session(), "2 + 3?").answer().await.unwrap(), "It is 5.");
    // The second model has the call of the first, and its result.
    let messages = &second.requests()[0].messages;
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[1].calls().next().unwrap().id, messages[2].tool_results().next().unwrap().id);
    // The next request begins with the first model again, which has the answer of the second.
    assert_eq!(runner.run_with(session(), "Thanks.").answer().await.unwrap(), "Bye.");
    assert_eq!(first.requests()[2].messages[3].text(), "It is 5.");
}

#[tokio::test]
async fn all_failing_models_are_listed_with_their_errors() {
    let first = Reply::error(ModelErrorKind::Unavailable, "x".repeat(1_000));
    let second = ModelError::new(ModelErrorKind::RateLimited, "slow down");
    let second = second.with_retry_after(Some(Duration::from_secs(7)));
    let fallback = Fallback::new(model("a", [first])).or(model("b", [second.into()]));
    let error = fallback.respond(Request::new([])).response().await.unwrap_err();
    let long = "x".repeat(300);
    let expected =
        format!("all models failed: `scripted:a`: {long}… (700 more characters); `scripted:b`: slow down");
    assert_eq!(error.to_string(), expected);
    assert_eq!(
        (error.kind(), error.retry_after()),
        (ModelErrorKind::Unavailable, Some(Duration::from_secs(7)))
    );
    let fallback = Fallback::new(failing("a", ModelErrorKind::Authentication))
        .or(failing("b", ModelErrorKind::Authentication));
    let error = fallback.respond(Request::new([])).response().await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Authentication);
}

#[tokio::test]
async fn the_kind_of_an_error_decides_whether_the_next_model_is_asked() {
    use ModelErrorKind as Kind;
    let asks = [
        (Kind::Authentication, true),
        (Kind::InvalidRequest, true),
        (Kind::ContextTooLong, false),
        (Kind::RateLimited, true),
        (Kind::Unavailable, true),
        (Kind::Connection, true),
        (Kind::TimedOut, true),
        (Kind::Malformed, true),
        (Kind::Refused, false),
        (Kind::Script, false),
        (Kind::Cancelled, false),
        (Kind::Other, true),
    ];
    for (kind, asked) in asks {
        let second = model("b", [Reply::text("b")]);
        let fallback = Fallback::new(failing("a", kind)).or(second.clone());
        let response = fallback.respond(Request::new([])).response().await;
        assert_eq!((response.is_ok(), second.requests().len()), (asked, usize::from(asked)), "{kind:?}");
        if let Err(error) = response {
            assert_eq!((error.kind(), error.to_string().as_str()), (kind, "it failed"));
        }
        // A closure decides otherwise.
        let fallback = Fallback::new(failing("a", kind)).or(model("b", [Reply::text("b")]));
        let fallback = fallback.when(move |error| error.kind() == Kind::Refused);
        let response = fallback.respond(Request::new([])).response().await;
        assert_eq!(response.is_ok(), kind == Kind::Refused, "{kind:?}");
    }
}

/// A model that panics.
struct Panicking;

impl Model for Panicking {
    fn name(&self) -> &str {
        "panicking"
    }

    fn respond(&self, _: Request) -> ResponseStream {
        ResponseStream::of_future(async { panic!("no model") })
    }
}

#[tokio::test]
async fn a_panic_of_a_model_or_of_the_closure_is_an_error() {
    let fallback = Fallback::new(Panicking).or(model("b", [Reply::text("b")]));
    assert_eq!(runner(fallback).run("Hi.").answer().await.unwrap(), "b");
    let fallback =
        Fallback::new(failing("a", ModelErrorKind::Other)).or(model("b", [])).when(|_| panic!("no"));
    let end = runner(fallback).run("Hi.").end().await;
    let expected = "the model failed: the closure of `Fallback::when` panicked: no";
    assert!(matches!(end.reason, EndReason::ModelFailed { .. }));
    assert_eq!(end.reason.to_string(), expected);
}

#[tokio::test]
async fn a_fallback_has_the_smallest_window_and_the_name_of_its_first_model() {
    let fallback = Fallback::new(model("a", []).with_context_window(9_000).with_strict_output(true))
        .or(model("b", []).with_context_window(4_000))
        .or(model("c", []));
    assert_eq!((fallback.name(), fallback.provider()), ("a", "scripted"));
    assert_eq!((fallback.context_window(), fallback.has_strict_output()), (Some(4_000), false));
    let answered = Fallback::new(failing("a", ModelErrorKind::Other)).or(model("b", [Reply::text("b")]));
    let mut events = answered.respond(Request::new([]));
    let mut name = None;
    while let Some(event) = events.next().await {
        if let ModelEvent::Finished(response) = event.unwrap() {
            name = response.model;
        }
    }
    assert_eq!(name.as_deref(), Some("b"));
}

#[tokio::test]
async fn messages_of_one_provider_are_converted_for_the_other() {
    let call = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Let me add.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"a\": 2, \"b\": 3}"}}]},"finish_reason":"tool_calls"}]}"#;
    let bye =
        r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Bye."},"finish_reason":"stop"}]}"#;
    let busy = Answer::of(503, "application/json", "{}");
    let openai = Recorder::scripted([Answer::json(call), busy, Answer::json(bye)]).await;
    let answer = r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"It is 5."}],"stop_reason":"end_turn"}"#;
    let anthropic = Recorder::scripted([Answer::json(answer)]).await;
    let http = |model: Result<HttpModel, ModelError>, url: &str| {
        model.unwrap().with_base_url(url).with_api_key("k").with_streaming(false).with_retries(0)
    };
    let fallback = Fallback::new(http(HttpModel::openai_chat("gpt"), &openai.url))
        .or(http(HttpModel::anthropic("claude"), &anthropic.url));
    let runner = runner(fallback);
    let session = || RunContext::new().with_session("s");
    assert_eq!(runner.run_with(session(), "2 + 3?").answer().await.unwrap(), "It is 5.");
    assert_eq!(runner.run_with(session(), "Thanks.").answer().await.unwrap(), "Bye.");

    // The call of OpenAI and its result, in the form of Anthropic.
    let sent = anthropic.received()[0].json()["messages"].clone();
    assert_eq!(sent[1]["content"][1]["type"], "tool_use");
    assert_eq!(sent[1]["content"][1]["id"], "call_1");
    assert_eq!(sent[1]["content"][1]["input"], json!({ "a": 2, "b": 3 }));
    assert_eq!(sent[2]["content"][0]["tool_use_id"], "call_1");
    // The answer of Anthropic in the form of OpenAI, after OpenAI's own message, which is unchanged.
    let request = openai.received()[2].json();
    let sent = request["messages"].as_array().unwrap();
    let own: Value = serde_json::from_str(call).unwrap();
    assert_eq!(sent[1], own["choices"][0]["message"]);
    assert_eq!((&sent[3]["role"], &sent[3]["content"]), (&json!("assistant"), &json!("It is 5.")));
}
