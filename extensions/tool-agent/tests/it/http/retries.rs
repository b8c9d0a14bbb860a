//! Errors, retries and pauses.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, SystemTime},
};

use futures_util::poll;
use test_support::http::Recorder;
use tool_agent::{
    Agent, HttpModel, Message, Runner,
    model::{Model, ModelErrorKind, ModelEvent, Request, ResponseStream},
};
use tool_runtime::prelude::*;

use super::{WIRES, ask, events, finished, model, saying, server::Answer, streaming};

fn question() -> Request {
    Request::new([Message::user("25 times 4?")])
}

/// Lets `time` pass while the stream waits for it, and for nothing else.
async fn passes(events: &mut ResponseStream, time: Duration) {
    tokio::time::pause();
    assert!(poll!(Box::pin(events.next())).is_pending());
    // The clock ran until now, on a busy machine for a while.
    tokio::time::advance(time / 2).await;
    assert!(poll!(Box::pin(events.next())).is_pending());
    tokio::time::advance(time / 2 + Duration::from_millis(4)).await;
    tokio::time::resume();
}

/// Waits for the next retry, and returns what was shown before, and the pause.
async fn retried(events: &mut ResponseStream) -> (String, Duration, ModelErrorKind) {
    let mut shown = String::new();
    loop {
        match events.next().await {
            Some(Ok(ModelEvent::Text(text))) => shown.push_str(&text),
            Some(Ok(ModelEvent::Retried { error, pause, .. })) => return (shown, pause, error.kind()),
            other => panic!("no retry: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_pause_lasts_as_long_as_the_server_asks() {
    for wire in WIRES {
        let busy = || Answer::text(429, r#"{"error":{"message":"slow down"}}"#);
        let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(30));
        let server = Recorder::scripted([
            busy().with_header("retry-after", "7"),
            busy().with_header("retry-after", date),
            Answer::events(&streaming(wire, "100")),
        ])
        .await;
        let mut events = model(wire, &server.url).respond(question());
        let (_, pause, kind) = retried(&mut events).await;
        assert_eq!((pause, kind), (Duration::from_secs(7), ModelErrorKind::RateLimited), "{wire}");
        passes(&mut events, pause).await;
        let (_, pause, _) = retried(&mut events).await;
        assert!((27..=30).contains(&pause.as_secs()), "{wire}: {pause:?}");
        passes(&mut events, pause).await;
        assert_eq!(events.response().await.unwrap().message.text(), "100", "{wire}");
        assert_eq!(server.received().len(), 3, "{wire}");
    }
}

#[tokio::test]
async fn a_pause_that_is_too_long_is_an_error() {
    let answer = Answer::text(503, "busy").with_header("retry-after", "61");
    let server = Recorder::scripted([answer]).await;
    let error = model("openai", &server.url).respond(question()).response().await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ModelErrorKind::Unavailable, Some(503)));
    assert_eq!(error.retry_after(), Some(Duration::from_secs(61)));
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_broken_stream_withdraws_what_was_shown() {
    for wire in ["openai", "openai-responses", "anthropic"] {
        let all = streaming(wire, "99");
        let part = &all[..all.len() - if wire == "openai" { 3 } else { 2 }];
        let malformed = [part, &[json!("{ not json")]].concat();
        for cut in [Answer::broken(part), Answer::events(part), Answer::events(&malformed)] {
            let server = Recorder::scripted([cut, Answer::events(&streaming(wire, "100"))]).await;
            let mut events = model(wire, &server.url).respond(question());
            let (shown, pause, _) = retried(&mut events).await;
            assert_eq!(shown, "99", "{wire}");
            passes(&mut events, pause).await;
            assert_eq!(events.response().await.unwrap().message.text(), "100", "{wire}");
        }
    }
}

/// The first events of a stream, with a whole call.
fn partial(wire: &str) -> Vec<Value> {
    match wire {
        "openai" => vec![json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [
            { "index": 0, "id": "c1", "function": { "name": "pay", "arguments": "{}" } }] } }] })],
        "openai-responses" => vec![json!({ "type": "response.output_item.done", "output_index": 0, "item":
            { "type": "function_call", "call_id": "c1", "name": "pay", "arguments": "{}", "status": "completed" } })],
        "anthropic" => vec![
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "tool_use", "id": "c1", "name": "pay", "input": {} } }),
            json!({ "type": "content_block_stop", "index": 0 }),
        ],
        _ => vec![
            json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "functionCall": { "name": "pay", "args": {} } }] } }] }),
        ],
    }
}

#[tokio::test]
async fn a_call_of_an_unfinished_response_is_not_returned() {
    for wire in WIRES {
        let server = Recorder::scripted([Answer::events(&partial(wire))]).await;
        let model = model(wire, &server.url).with_retries(0);
        let all = events(model.respond(question())).await;
        assert!(
            matches!(&all[..], [Err(error)] if error.kind() == ModelErrorKind::Connection),
            "{wire}: {all:?}"
        ); // D17
    }
}

/// Pays.
#[tool(register = false)]
fn pay(paid: &AtomicU32) {
    paid.fetch_add(1, Ordering::Relaxed);
}

#[tokio::test]
async fn a_call_of_an_unfinished_response_never_runs() {
    for wire in WIRES {
        let server =
            Recorder::scripted([Answer::events(&partial(wire)), Answer::events(&streaming(wire, "No."))])
                .await;
        let paid = Arc::new(AtomicU32::new(0));
        let tools = Registry::builder().tool::<pay>().provide_shared(Arc::clone(&paid)).build().unwrap();
        let model = model(wire, &server.url).with_longest_pause(Duration::from_millis(1));
        let agent = Agent::builder("clerk", model).tools(tools).build().unwrap();
        assert_eq!(Runner::new(agent).run("Pay?").answer().await.unwrap(), "No.", "{wire}");
        assert_eq!(paid.load(Ordering::Relaxed), 0, "{wire}"); // D17: a partial response triggers no call
        assert_eq!(server.received().len(), 2, "{wire}");
    }
}

#[tokio::test]
async fn a_slow_server_times_out() {
    for wire in WIRES {
        let server = Recorder::scripted([] as [Answer; 0]).await;
        let model = model(wire, &server.url).with_retries(0).with_timeout(Duration::from_secs(90));
        let mut events = model.respond(question());
        while server.received().is_empty() {
            assert!(poll!(Box::pin(events.next())).is_pending());
            tokio::task::yield_now().await;
        }
        passes(&mut events, Duration::from_secs(90)).await;
        let error = events.response().await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::TimedOut, "{wire}");
    }
}

#[tokio::test]
async fn a_server_has_two_minutes_by_default() {
    let server = Recorder::scripted([] as [Answer; 0]).await;
    let mut events = model("openai", &server.url).with_retries(0).respond(question());
    while server.received().is_empty() {
        assert!(poll!(Box::pin(events.next())).is_pending());
        tokio::task::yield_now().await;
    }
    passes(&mut events, Duration::from_secs(120)).await;
    let error = events.response().await.unwrap_err().to_string();
    assert!(error.contains("did not answer within 120s"), "{error}");
}

#[tokio::test]
async fn a_complete_response_needs_no_end_of_its_connection() {
    for wire in ["openai", "openai-responses", "anthropic"] {
        let server = Recorder::scripted([Answer::open(&streaming(wire, "100"))]).await;
        assert_eq!(ask(&model(wire, &server.url), question()).await.message.text(), "100", "{wire}");
    }
}

#[tokio::test]
async fn an_error_within_a_stream_has_its_kind() {
    let overloaded =
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let server =
        Recorder::scripted([Answer::events(&[overloaded]), Answer::events(&streaming("anthropic", "100"))])
            .await;
    let mut stream = model("anthropic", &server.url).respond(question());
    let (_, pause, kind) = retried(&mut stream).await;
    assert_eq!(kind, ModelErrorKind::Unavailable);
    passes(&mut stream, pause).await;
    assert_eq!(stream.response().await.unwrap().message.text(), "100");

    let failed = json!({ "type": "response.failed", "response": { "id": "r", "error": {
        "code": "context_length_exceeded", "message": "Your input exceeds the context window of this model." } } });
    let server = Recorder::scripted([Answer::events(&[failed])]).await;
    let error = model("openai-responses", &server.url).respond(question()).response().await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::ContextTooLong);
}

#[tokio::test]
async fn a_conversation_that_is_too_long_has_its_own_kind() {
    let errors = [
        (
            "openai",
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        ),
        (
            "openai-responses",
            r#"{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}"#,
        ),
        (
            "anthropic",
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"},"request_id":"req_1"}"#,
        ),
        (
            "anthropic",
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again"}}"#,
        ),
        (
            "gemini",
            r#"[{"error":{"code":400,"message":"The input token count (314175) exceeds the maximum number of tokens allowed (131072).","status":"INVALID_ARGUMENT"}}]"#,
        ),
    ];
    for (wire, body) in errors {
        let server = Recorder::scripted([Answer::text(400, body)]).await;
        let error = model(wire, &server.url).respond(question()).response().await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::ContextTooLong, "{wire}: {error}");
    }
}

#[tokio::test]
async fn a_blocked_prompt_is_a_refusal() {
    let blocked =
        json!({ "promptFeedback": { "blockReason": "SAFETY" }, "usageMetadata": { "promptTokenCount": 4 } });
    for answer in [Answer::json(&blocked), Answer::events(std::slice::from_ref(&blocked))] {
        let server = Recorder::scripted([answer]).await;
        let error = model("gemini", &server.url).respond(question()).response().await.unwrap_err();
        assert_eq!((error.kind(), server.received().len()), (ModelErrorKind::Refused, 1));
    }
}

#[tokio::test]
async fn a_used_up_quota_is_not_retried() {
    let body = r#"{"error":{"message":"You exceeded your current quota.","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let server = Recorder::scripted([Answer::text(429, body)]).await;
    let error = model("openai", &server.url).respond(question()).response().await.unwrap_err();
    assert_eq!((error.kind(), server.received().len()), (ModelErrorKind::InvalidRequest, 1));
}

#[tokio::test]
async fn a_response_may_be_whole_although_a_stream_was_requested() {
    for wire in WIRES {
        let server = Recorder::scripted([Answer::json(&saying(wire, "100"))]).await;
        let all = events(model(wire, &server.url).respond(question())).await;
        assert!(matches!(&all[0], Ok(ModelEvent::Text(text)) if text == "100"), "{wire}");
        assert_eq!(finished(all).message.text(), "100", "{wire}");
    }
}

#[tokio::test]
async fn a_failed_request_is_sent_three_times_by_default() {
    let busy = || Answer::text(503, "busy").with_header("retry-after", "0");
    let server = Recorder::scripted((0..4).map(|_| busy())).await;
    let mut all = events(model("openai", &server.url).respond(question())).await;
    let error = all.pop().unwrap().unwrap_err();
    assert_eq!((error.status(), server.received().len()), (Some(503), 3));
    let attempts: Vec<_> = all
        .into_iter()
        .map(|event| match event.unwrap() {
            ModelEvent::Retried { attempt, pause, .. } => (attempt, pause),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(attempts, [(1, Duration::ZERO), (2, Duration::ZERO)]);
}

#[tokio::test]
async fn a_pause_of_the_longest_length_is_made_and_a_longer_one_is_an_error() {
    for (asked, requests) in [("0.002", 2), ("0.003", 1)] {
        let busy = Answer::text(503, "busy").with_header("retry-after", asked);
        let server = Recorder::scripted([busy, Answer::text(400, "{}")]).await;
        let model = model("openai", &server.url).with_longest_pause(Duration::from_millis(2));
        model.respond(question()).response().await.unwrap_err();
        assert_eq!(server.received().len(), requests, "{asked}");
    }
}

#[tokio::test]
async fn pauses_begin_with_half_a_second_and_are_doubled() {
    let server = Recorder::scripted((0..4).map(|_| Answer::text(503, "busy"))).await;
    let mut events = model("openai", &server.url).with_retries(3).respond(question());
    for base in [500, 1_000, 2_000] {
        let (_, pause, _) = retried(&mut events).await;
        // With a jitter of a quarter.
        let milliseconds = pause.as_millis();
        assert!((base * 3 / 4..=base * 5 / 4).contains(&milliseconds), "{base}: {pause:?}");
        passes(&mut events, pause).await;
    }
    assert_eq!(events.response().await.unwrap_err().status(), Some(503));
    let server = Recorder::scripted([Answer::text(503, "busy"), Answer::text(400, "{}")]).await;
    let short = model("openai", &server.url).with_longest_pause(Duration::from_millis(2));
    let (_, pause, _) = retried(&mut short.respond(question())).await;
    assert_eq!(pause, Duration::from_millis(2));
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_end_of_the_response_loses_nothing() {
    for wire in ["openai", "gemini"] {
        let mut all = streaming(wire, "100");
        all.retain(|event| *event != json!("[DONE]"));
        let server = Recorder::scripted([Answer::broken(&all)]).await;
        let response = model(wire, &server.url).with_retries(0).respond(question()).response().await;
        assert_eq!(response.unwrap().message.text(), "100", "{wire}");
    }
}

#[tokio::test]
async fn a_model_whose_server_is_changed_asks_the_new_one() {
    let [first, second] = [Recorder::scripted([answer()]).await, Recorder::scripted([answer()]).await];
    let asked = model("openai", &first.url);
    assert_eq!(ask(&asked, question()).await.message.text(), "100");
    let changed = asked.with_base_url(format!("{}/v1/", second.url));
    assert_eq!(ask(&changed, question()).await.message.text(), "100");
    let targets = [first, second].map(|server| server.one().target);
    assert_eq!(targets, ["/v1/chat/completions"; 2]);
}

fn answer() -> Answer {
    Answer::events(&streaming("openai", "100"))
}

#[test]
fn a_text_without_a_provider_or_a_name_is_no_model() {
    for text in ["gpt", "openai:", "other:a", ""] {
        let error = HttpModel::from_text(text).unwrap_err();
        let expected = format!(
            "expected `PROVIDER:NAME` with the provider `openai`, `openai-responses`, `anthropic` or `gemini`, got `{text}`"
        );
        assert_eq!((error.kind(), error.to_string()), (ModelErrorKind::InvalidRequest, expected));
    }
    // The name may have a colon.
    assert_eq!(HttpModel::from_text("openai:a:b").unwrap().name(), "a:b");
}
