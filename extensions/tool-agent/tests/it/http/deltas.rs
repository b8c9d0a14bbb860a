//! The events and deltas of a response while it arrives.

use std::time::Duration;

use serde_json::{Value, json};
use test_support::http::Recorder;
use tool_agent::{
    HttpModel, Message,
    model::{Model as _, ModelError, ModelEvent, Request},
};

use super::{events, model, saying, server::Answer, streaming};

/// The events of the response of `model`, in short.
async fn shown(model: &HttpModel) -> Vec<String> {
    let all = events(model.respond(Request::new([Message::user("25 times 4?")]))).await;
    let short = |event: Result<ModelEvent, ModelError>| match event {
        Ok(ModelEvent::Text(text)) => format!("text {text}"),
        Ok(ModelEvent::Reasoning(text)) => format!("reasoning {text}"),
        Ok(ModelEvent::Retried { attempt, pause, .. }) => format!("retry {attempt} after {pause:?}"),
        Ok(ModelEvent::Finished(response)) => format!("{} parts", response.message.parts().len()),
        Ok(other) => format!("{other:?}"),
        Err(error) => format!("{:?}: {error}", error.kind()),
    };
    all.into_iter().map(short).collect()
}

async fn shown_of(wire: &str, answer: Answer) -> Vec<String> {
    let server = Recorder::scripted([answer]).await;
    shown(&model(wire, &server.url).with_retries(0)).await
}

fn anthropic(blocks: &Value) -> Answer {
    Answer::json(
        &json!({ "type": "message", "role": "assistant", "stop_reason": "end_turn", "content": blocks }),
    )
}

#[tokio::test]
async fn empty_texts_are_neither_shown_nor_parts_of_the_message() {
    let call = json!({ "type": "tool_use", "id": "c1", "name": "add", "input": {} });
    let thought = |text: &str| json!({ "type": "thinking", "thinking": text, "signature": "E" });
    let text = |text: &str| json!({ "type": "text", "text": text });
    for (blocks, expected) in [
        (json!([call]), &["1 parts"][..]),
        (json!([thought(""), text(""), call]), &["1 parts"]),
        (json!([text("100")]), &["text 100", "1 parts"]),
        (json!([thought("Hm."), call]), &["reasoning Hm.", "2 parts"]),
        (json!([thought("Hm."), text("100"), call]), &["reasoning Hm.", "text 100", "3 parts"]),
    ] {
        assert_eq!(shown_of("anthropic", anthropic(&blocks)).await, expected, "{blocks}");
    }
    let delta = |text: &str| json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
    let stop = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    let stream = [delta(""), delta("10"), delta(""), delta("0"), stop.clone(), json!("[DONE]")];
    assert_eq!(shown_of("openai", Answer::events(&stream)).await, ["text 10", "text 0", "1 parts"]);
    assert_eq!(shown_of("openai", Answer::events(&[delta(""), stop])).await, ["0 parts"]);
}

#[tokio::test]
async fn an_event_is_a_keep_alive_by_its_name_or_if_it_is_neither_the_providers_nor_json() {
    let delta = r#"{"choices":[{"index":0,"delta":{"content":"X"}}]}"#;
    let malformed = |shown: &[String]| shown.len() == 1 && shown[0].starts_with("Malformed: ");
    for (event, expected) in [
        (format!("event: ping\ndata: {delta}"), Some("text 100")),
        (format!("event: PING\ndata: {delta}"), Some("text 100")),
        (format!("event: Keep-Alive\ndata: {delta}"), Some("text 100")),
        (format!("event: keepalive\ndata: {delta}"), Some("text 100")),
        (format!("event: heartbeat\ndata: {delta}"), Some("text 100")),
        (format!("data: {delta}"), Some("text X")),
        (format!("event: message\ndata: {delta}"), Some("text X")),
        (format!("event: status\ndata: {delta}"), Some("text X")),
        (format!("event: status\ndata:   {delta}"), Some("text X")),
        ("event: status\ndata: busy".to_owned(), Some("text 100")),
        ("data: busy".to_owned(), None),
        ("event: message\ndata: busy".to_owned(), None),
        ("event: error\ndata: busy".to_owned(), None),
        ("event: status\ndata: {busy".to_owned(), None),
    ] {
        let body = format!("{event}\n\n{}", Answer::event_text(&streaming("openai", "100")));
        let answer = Answer::untyped(body).with_header("content-type", "text/event-stream");
        let shown = shown_of("openai", answer).await;
        match expected {
            Some(first) => assert_eq!(shown[0], first, "{event}"),
            None => assert!(malformed(&shown), "{event}: {shown:?}"),
        }
    }
}

#[tokio::test]
async fn a_request_is_repeated_as_often_as_the_model_says() {
    let busy = || Answer::text(500, r#"{"error":{"message":"busy"}}"#);
    for (retries, sent) in [(0, 1), (1, 2), (2, 3)] {
        let server = Recorder::scripted([busy(), busy(), busy(), busy()]).await;
        let model =
            model("openai", &server.url).with_longest_pause(Duration::from_millis(1)).with_retries(retries);
        let mut expected: Vec<_> =
            (1..=retries).map(|attempt| format!("retry {attempt} after 1ms")).collect();
        expected.push("Unavailable: the server answered 500: busy".to_owned());
        assert_eq!(shown(&model).await, expected);
        assert_eq!(server.received().len(), sent);
    }
    // Twice by default.
    let server = Recorder::scripted([busy(), busy(), busy(), busy()]).await;
    let default = model("openai", &server.url).with_longest_pause(Duration::from_millis(1));
    assert_eq!((shown(&default).await.len(), server.received().len()), (3, 3));
    let server = Recorder::scripted([Answer::text(400, r#"{"error":{"message":"bad"}}"#)]).await;
    assert_eq!(shown(&model("openai", &server.url)).await, ["InvalidRequest: the server answered 400: bad"]);
}

#[tokio::test]
async fn a_pause_is_as_long_as_the_longest_or_shorter() {
    for (millis, expected) in
        [("1", "retry 1 after 1ms"), ("2", "RateLimited: the server answered 429: no message")]
    {
        let busy = Answer::text(429, "").with_header("retry-after-ms", millis);
        let server = Recorder::scripted([busy, Answer::json(&saying("openai", "100"))]).await;
        let model = model("openai", &server.url).with_longest_pause(Duration::from_millis(1));
        assert_eq!(shown(&model).await[0], expected);
    }
    // Half a second, a quarter shorter or longer.
    let server = Recorder::scripted([Answer::text(500, "")]).await;
    let mut stream = model("openai", &server.url).respond(Request::new([Message::user("?")]));
    let Some(Ok(ModelEvent::Retried { pause, .. })) = stream.next().await else { panic!("no retry") };
    assert!((375..=625).contains(&pause.as_millis()), "{pause:?}");
}

#[tokio::test]
async fn a_response_may_have_exactly_as_many_bytes_as_the_longest() {
    let body = saying("openai", "100").to_string();
    for (missing, expected) in [(0, "text 100"), (1, "Other: the response is longer than ")] {
        let server = Recorder::scripted([Answer::text(200, body.clone())]).await;
        let model = model("openai", &server.url).with_longest_response(body.len() - missing);
        let shown = shown(&model).await;
        assert!(shown[0].starts_with(expected), "{shown:?}");
    }
}

#[tokio::test]
async fn a_response_has_at_most_64_mebibytes_by_default() {
    let shown = shown_of("openai", Answer::text(200, vec![b'0'; (64 << 20) + 1])).await;
    let expected =
        "Other: the response is longer than 67108864 bytes; see `HttpModel::with_longest_response`";
    assert_eq!(shown, [expected]);
}

#[tokio::test]
async fn a_model_that_was_asked_can_be_given_another_server() {
    let (one, other) = (
        Recorder::scripted([Answer::json(&saying("openai", "1"))]).await,
        Recorder::scripted([Answer::json(&saying("openai", "2"))]).await,
    );
    let first = model("openai", &one.url);
    assert_eq!(shown(&first).await[0], "text 1");
    assert_eq!(shown(&first.with_base_url(format!("{}/v1///", other.url))).await[0], "text 2");
    assert_eq!(other.received()[0].target, "/v1/chat/completions");
}

#[tokio::test]
async fn an_error_whose_body_is_no_text_has_its_status() {
    let shown = shown_of("openai", Answer::text(400, vec![0xe4])).await;
    assert_eq!(shown, ["InvalidRequest: the server answered 400: no message"]);
}

#[tokio::test]
async fn a_stream_ends_with_its_response_and_not_before() {
    let stop = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    assert_eq!(shown_of("openai", Answer::events(&[stop])).await, ["0 parts"]);
    let begun = json!({ "choices": [{ "index": 0, "delta": { "content": "10" } }] });
    let cut = "Connection: the stream of the response ended before the response did";
    assert_eq!(shown_of("openai", Answer::events(std::slice::from_ref(&begun))).await, ["text 10", cut]);
    let reported = json!({ "error": { "message": "busy", "type": "rate_limit_error" } });
    let shown = shown_of("openai", Answer::events(&[begun, reported])).await;
    assert_eq!(shown, ["text 10", "RateLimited: the server reported an error: busy"]);
}

#[tokio::test]
async fn members_are_sent_only_where_they_say_something() {
    use tool_agent::model::ToolChoice;

    let server =
        Recorder::scripted([Answer::json(&saying("openai", "1")), Answer::json(&saying("openai", "1"))])
            .await;
    let model =
        model("openai", &server.url).with_parameter("a", json!({ "b": { "c": 1, "d": [1] }, "e": 1 }));
    // Without tools there is nothing to choose, and a blank instruction is none.
    let mut request =
        Request::new([Message::user("?")]).with_instruction(" \n").with_tool_choice(ToolChoice::Required);
    request.parameters.insert("a".to_owned(), json!({ "b": { "c": 2, "d": {} }, "f": null }));
    events(model.respond(request.clone())).await;
    let body = server.received().remove(0).json();
    assert!(body.get("tool_choice").is_none() && body.get("tools").is_none(), "{body}");
    assert_eq!(body["messages"].as_array().unwrap().len(), 1);
    assert_eq!(body["a"], json!({ "b": { "c": 2, "d": {} }, "e": 1, "f": null }));
    request.parameters.insert("a".to_owned(), json!(7));
    events(model.respond(request.with_instruction("Be brief."))).await;
    let body = server.received().remove(1).json();
    assert_eq!((&body["a"], body["messages"].as_array().unwrap().len()), (&json!(7), 2));
}
