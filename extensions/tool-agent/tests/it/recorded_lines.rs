//! The lines of scripts: their form in a recording, and the requests that they answer.

use std::{
    fs::{self, File},
    time::Duration,
};

use serde_json::value::RawValue;
use tool_agent::{
    Message, Model as _, Original, Part, ScriptedModel,
    model::{
        ModelError, ModelErrorKind, ModelEvent, RecordingModel, Reply, Request, Response, ResponseStream,
    },
};
use tool_runtime::prelude::*;

const REQUEST: &str =
    r#"{"request":{"instruction":"","messages":[],"tools":[],"tool_choice":"auto","output":null},"#;

/// The events of a stream, in short.
async fn shown(mut stream: ResponseStream) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(event) = stream.next().await {
        all.push(match event {
            Ok(ModelEvent::Text(text)) => format!("text {text}"),
            Ok(ModelEvent::Reasoning(text)) => format!("reasoning {text}"),
            Ok(ModelEvent::Unsupported(text)) => format!("unsupported {text}"),
            Ok(ModelEvent::Notice(text)) => format!("notice {text}"),
            Ok(ModelEvent::Finished(response)) => format!("={}", response.message.text()),
            Ok(other) => format!("{other:?}"),
            Err(error) => format!("{:?}: {error}", error.kind()),
        });
    }
    all
}

/// The line that a recording of `reply` is, without the request.
async fn recorded(name: &str, reply: Reply) -> String {
    let path = format!("{}/lines-{}-{name}.jsonl", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    drop(fs::remove_file(&path));
    let model = RecordingModel::create(ScriptedModel::new([reply]), &path).unwrap();
    let live = shown(model.respond(Request::new([]))).await;
    assert_eq!(model.failure(), None);
    let replayed = ScriptedModel::from_file(&path).unwrap();
    assert_eq!(shown(replayed.respond(Request::new([]))).await, live);
    let line = fs::read_to_string(&path).unwrap();
    fs::remove_file(path).unwrap();
    line.strip_prefix(REQUEST).unwrap_or(&line).to_owned()
}

#[tokio::test]
async fn a_recording_that_fails_withholds_no_event() {
    let path = format!("{}/lines-{}-read-only.jsonl", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    fs::write(&path, "").unwrap();
    let replies = [Reply::text("one"), Reply::text("two")];
    // Open for reading: each write fails.
    let model = RecordingModel::to_file(ScriptedModel::new(replies), File::open(&path).unwrap());
    let first = shown(model.respond(Request::new([]))).await;
    assert!(first[1].starts_with("notice the recording ended: "), "{first:?}");
    assert_eq!((first.len(), &*first[0], &*first[2]), (3, "text one", "=one"));
    assert_eq!(model.failure().map(|reason| format!("notice {reason}")), Some(first[1].clone()));
    assert_eq!(shown(model.respond(Request::new([]))).await, ["text two", "=two"]);
    let failing = ScriptedModel::new([Reply::error(ModelErrorKind::Other, "no")]);
    let model = RecordingModel::to_file(failing, File::open(&path).unwrap());
    let all = shown(model.respond(Request::new([]))).await;
    assert!(all[0].starts_with("notice the recording ended: "), "{all:?}");
    assert_eq!(all[1..], ["Other: no"]);
    fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn an_error_is_recorded_with_its_status_and_its_pause() {
    let error = ModelError::new(ModelErrorKind::RateLimited, "slow down").with_status(429);
    let error = error.with_retry_after(Some(Duration::from_millis(1500)));
    let expected = "\"error\":{\"kind\":\"rate_limited\",\"message\":\"slow down\",\"status\":429,\"retry_after_ms\":1500}}\n";
    assert_eq!(recorded("error", Reply::from(error)).await, expected);
    let broken = Reply::error(ModelErrorKind::Connection, "it broke").with_stream(["a", "b"]);
    let expected = "\"error\":{\"kind\":\"connection\",\"message\":\"it broke\",\"stream\":[\"a\",\"b\"]}}\n";
    assert_eq!(recorded("broken", broken).await, expected);
}

#[tokio::test]
async fn a_response_is_recorded_with_all_its_members_in_one_line() {
    let json = RawValue::from_string("{ \"a\" :\n [ 1.50, \"b c\" ] }".to_owned()).unwrap();
    let message = Message::assistant([Part::Text("Hi.".to_owned())]);
    let mut response = Response::new(message.with_original(Original { dialect: "d".into(), json }));
    response.stop_reason = Some("length".to_owned());
    (response.id, response.model, response.truncated) = (Some("r1".into()), Some("m1".into()), true);
    let expected = "\"response\":{\"parts\":[{\"text\":\"Hi.\"}],\"original\":{\"dialect\":\"d\",\"json\":{\"a\":[1.50,\"b c\"]}},\
                    \"stop_reason\":\"length\",\"id\":\"r1\",\"model\":\"m1\",\"truncated\":true}}\n";
    assert_eq!(recorded("members", Reply::from(response)).await, expected);
    let words = "\"response\":{\"parts\":[{\"text\":\"a b\"}],\"stream\":[\"a \",\"b\"]}}\n";
    assert_eq!(recorded("words", Reply::text("a b").with_words()).await, words);
    let whole = "\"response\":{\"parts\":[{\"text\":\"a b\"}]}}\n";
    assert_eq!(recorded("whole", Reply::text("a b").with_stream(["a b"])).await, whole);
}

#[tokio::test]
async fn remarks_of_a_model_are_pieces_of_its_line() {
    let line = r#"{"response":{"parts":[{"text":"a"}],"stream":[{"unsupported":"x"},{"notice":"y"},{"reasoning":"z"},"a"]}}"#;
    let script = ScriptedModel::from_text(line).unwrap();
    let expected = ["unsupported x", "notice y", "reasoning z", "text a", "=a"];
    assert_eq!(shown(script.respond(Request::new([]))).await, expected);
    let path = format!("{}/lines-{}-remarks.jsonl", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    drop(fs::remove_file(&path));
    let model = RecordingModel::create(ScriptedModel::from_text(line).unwrap(), &path).unwrap();
    assert_eq!(shown(model.respond(Request::new([]))).await, expected);
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{REQUEST}{}\n", &line[1..]));
    fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn a_line_may_have_a_response_without_parts_if_it_says_why() {
    for (line, expected) in [
        (r#"{"response":{"stop_reason":"stop"}}"#, "="),
        (r#"{"response":{"truncated":true}}"#, "="),
        (r#"{"response":{"original":{"dialect":"d","json":1}}}"#, "="),
        (r#"{"error":{"kind":"other"}}"#, "Other: the model failed as scripted"),
        (r#"{"error":{"kind":"other","message":"no","stream":"words"}}"#, "Other: no"),
    ] {
        let script = ScriptedModel::from_text(line).unwrap();
        assert_eq!(shown(script.respond(Request::new([]))).await, [expected], "{line}");
    }
    let expected = "expected `parts` or `stream` in `response`, or a `stop_reason`";
    for line in [
        r#"{"response":{"stream":[""]}}"#,
        r#"{"response":{"stream":[{"reasoning":""}]}}"#,
        r#"{"response":{"stream":[{"notice":"y"}]}}"#,
        r#"{"response":{"truncated":false,"id":"r1"}}"#,
    ] {
        let error = ScriptedModel::from_text(line).unwrap_err().to_string();
        assert!(error.contains(expected), "{line}: {error}");
    }
    let both = r#"{"response":{"stop_reason":"stop"},"error":{"kind":"other"}}"#;
    let error = ScriptedModel::from_text(both).unwrap_err().to_string();
    assert!(error.contains("expected `{\"response\": {..}}` or `{\"error\": {..}}`"), "{error}");
    let script =
        ScriptedModel::from_text(r#"{"response":{"stream":[{"reasoning":"Hm."},"a","b"]}}"#).unwrap();
    let response = script.respond(Request::new([])).response().await.unwrap();
    assert!(
        matches!(response.message.parts(), [Part::Reasoning(one), Part::Text(two)] if one == "Hm." && two == "ab")
    );
}

// Runs at once ask in any order; a line that leaves something out fits the next request only.
#[tokio::test]
async fn a_complete_line_answers_its_request_in_any_order() {
    let members = |text: &str| {
        json!({
            "instruction": "", "messages": [{ "role": "user", "parts": [{ "text": text }] }],
            "tools": [], "tool_choice": "auto", "output": null,
        })
    };
    let line = |request: Value, reply: &str| {
        json!({ "request": request, "response": { "parts": [{ "text": reply }] } }).to_string()
    };
    let asked = async |script: &str| {
        let script = ScriptedModel::from_text(script).unwrap();
        let request = |text: &str| Request::new([Message::user(text)]);
        let second = script.respond(request("b")).response().await.map(|it| it.message.text());
        let first = script.respond(request("a")).response().await.map(|it| it.message.text());
        (first.unwrap(), second.map_err(|error| error.kind()))
    };
    let first = line(members("a"), "A");
    let script = format!("{first}\n{}", line(members("b"), "B"));
    assert_eq!(asked(&script).await, ("A".to_owned(), Ok("B".to_owned())));
    for name in ["instruction", "messages", "tools", "tool_choice", "output"] {
        let mut incomplete = members("b");
        incomplete.as_object_mut().unwrap().remove(name);
        let script = format!("{first}\n{}", line(incomplete, "B"));
        assert_eq!(asked(&script).await, ("A".to_owned(), Err(ModelErrorKind::Script)), "{name}");
    }
}
