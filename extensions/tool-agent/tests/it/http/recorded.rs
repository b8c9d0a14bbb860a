//! The recorded responses of `tool-runtime`, through a local server.

use serde_json::{Value, value::RawValue};
use test_support::http::Recorder;
use tool_agent::{Message, model::Request};

use super::{ask, model, saying, server::Answer};

fn recordings(wire: &str) -> Vec<Value> {
    let file = if wire == "openai" { "openai-chat" } else { wire };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tool-runtime/tests/dialects/recorded");
    serde_json::from_str(&std::fs::read_to_string(format!("{folder}/{file}.json")).unwrap()).unwrap()
}

/// Replays the recordings of an API; returns their number.
async fn replay(wire: &str) -> usize {
    let mut counted = 0;
    for recording in recordings(wire) {
        let name = format!("{wire}: {}", recording["name"]);
        let answer = match (&recording["response"], &recording["events"]) {
            (Value::Null, Value::Array(events)) => Answer::events(events),
            (response, _) => Answer::json(response),
        };
        let server = Recorder::scripted([answer, Answer::json(&saying(wire, "ok"))]).await;
        let model = model(wire, &server.url);
        let response = ask(&model, Request::new([Message::user("?")])).await;
        let is_cut = recording["name"].as_str().unwrap().ends_with("cut off");
        let calls: Vec<_> = response.message.calls().collect();
        let expected = recording["calls"].as_array().unwrap();
        assert_eq!(calls.len(), expected.len(), "{name}");
        for (call, expected) in calls.iter().zip(expected) {
            assert_eq!(
                (&*call.name, call.arguments.as_str()),
                (expected[1].as_str().unwrap(), expected[2].as_str().unwrap()),
                "{name}"
            );
            assert!(call.incomplete.is_some() == is_cut || recording.get("response").is_some(), "{name}");
        }
        let text = recording.to_string();
        let has_usage = ["\"usage\":{", "\"usageMetadata\":{"].iter().any(|it| text.contains(it));
        assert_eq!(response.usage.is_some(), has_usage, "{name}");
        let Some(original) = response.message.original().cloned() else { continue };
        ask(&model, Request::new([Message::user("?"), response.message])).await;
        let sent = server.received().remove(1).text().to_owned();
        let own: Vec<Box<RawValue>> =
            serde_json::from_str(original.json.get()).unwrap_or_else(|_| vec![original.json.clone()]);
        for message in own {
            assert!(sent.contains(message.get()), "{name}: {sent}");
        }
        counted += 1;
    }
    counted
}

#[tokio::test]
async fn recorded_responses_have_their_calls_and_go_back_unchanged() {
    for (wire, least) in [("openai", 12), ("openai-responses", 14), ("anthropic", 13), ("gemini", 7)] {
        let counted = replay(wire).await;
        assert!(counted >= least, "{wire}: {counted}");
    }
}
