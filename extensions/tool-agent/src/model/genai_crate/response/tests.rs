#![allow(clippy::unwrap_used, reason = "a test may")]

use genai::chat::{CompletionTokensDetails, PromptTokensDetails, ToolCall as Call, Usage as Counts};
use serde_json::json;

use super::*;

fn text(text: &str) -> ContentPart {
    ContentPart::Text(text.to_owned())
}

fn reasoning(text: &str) -> ContentPart {
    ContentPart::ReasoningContent(text.to_owned())
}

fn call(id: &str, name: &str, arguments: Value) -> ContentPart {
    ContentPart::ToolCall(Call {
        call_id: id.to_owned(),
        fn_name: name.to_owned(),
        fn_arguments: arguments,
        thought_signatures: None,
    })
}

fn whole(parts: Vec<ContentPart>, stop_reason: Option<&str>) -> WholeResponse {
    let stop_reason = stop_reason.map(|reason| StopReason::from(reason.to_owned()));
    WholeResponse {
        content: MessageContent::from_parts(parts),
        stop_reason,
        usage: None,
        id: None,
        model: None,
    }
}

/// The parts of a message, in short.
fn short(message: &Message) -> Vec<String> {
    let part = |part: &Part| match part {
        Part::Text(text) => format!("text {text}"),
        Part::Reasoning(text) => format!("reasoning {text}"),
        Part::Call(call) => format!("{} {}", call.name, call.arguments.as_str()),
        _ => "other".to_owned(),
    };
    message.parts().iter().map(part).collect()
}

#[test]
fn a_message_has_the_parts_of_the_content_but_no_empty_text() {
    let names = HashMap::from([("wire_add".to_owned(), "add".to_owned())]);
    for (part, expected) in [
        (text("a"), Some("text a")),
        (text(""), None),
        (reasoning("Hm."), Some("reasoning Hm.")),
        (call("c1", "wire_add", json!({ "a": 1 })), Some(r#"add {"a":1}"#)),
        // A tool that the request does not have keeps its name.
        (call("c1", "other", json!([1])), Some("other [1]")),
        (call("c1", "other", json!("not json")), Some("other not json")),
        (call("c1", "other", json!(null)), Some("other {}")),
    ] {
        let response = whole(vec![part], None).into_response("genai-x", &names).unwrap();
        assert_eq!(short(&response.message), expected.into_iter().collect::<Vec<_>>());
        assert_eq!(&*response.message.original().unwrap().dialect, "genai-x");
    }
    let ids = |id: &str| {
        let response = whole(vec![call(id, "add", json!({}))], None).into_response("d", &names).unwrap();
        response.message.calls().next().unwrap().id.to_string()
    };
    assert_eq!(ids("c1"), "c1");
    assert!(!ids("").is_empty(), "a call without an id has one of ours");
}

#[test]
fn a_response_is_truncated_by_its_stop_reason() {
    for (reason, truncated) in [
        (None, false),
        (Some("stop"), false),
        (Some("tool_calls"), false),
        (Some("length"), true),
        (Some("max_tokens"), true),
        (Some("content_filter"), true),
        (Some("a reason"), false),
    ] {
        let response = whole(vec![text("a")], reason).into_response("d", &HashMap::new()).unwrap();
        assert_eq!((response.truncated, response.stop_reason.as_deref()), (truncated, reason));
    }
    let named = WholeResponse { id: Some("r1".into()), model: Some("m1".into()), ..whole(Vec::new(), None) };
    let response = named.into_response("d", &HashMap::new()).unwrap();
    assert_eq!((response.id.as_deref(), response.model.as_deref()), (Some("r1"), Some("m1")));
    assert!(response.usage.is_none() && response.message.parts().is_empty());
}

#[test]
fn reasoning_is_the_first_part_once() {
    let content = |parts: Vec<ContentPart>, more: Option<&str>| {
        let whole = WholeResponse {
            content: with_reasoning(MessageContent::from_parts(parts), more.map(str::to_owned)),
            ..whole(Vec::new(), None)
        };
        short(&whole.into_response("d", &HashMap::new()).unwrap().message)
    };
    assert_eq!(content(vec![text("a")], Some("Hm.")), ["reasoning Hm.", "text a"]);
    assert_eq!(content(vec![reasoning("Oh."), text("a")], Some("Hm.")), ["reasoning Oh.", "text a"]);
    assert_eq!(content(vec![text("a")], Some("")), ["text a"]);
    assert_eq!(content(vec![text("a")], None), ["text a"]);
    let events = whole(vec![reasoning("Hm."), text("a"), call("c", "add", json!({}))], None).text_events();
    let [ModelEvent::Reasoning(first), ModelEvent::Text(second)] = &events[..] else {
        unreachable!("{events:?}")
    };
    assert_eq!((first.as_str(), second.as_str()), ("Hm.", "a"));
}

#[test]
fn counts_that_are_no_counts_are_none() {
    assert_eq!(token_usage(Counts::default()), None);
    let negative = Counts { prompt_tokens: Some(-1), completion_tokens: Some(-2), ..Counts::default() };
    assert_eq!(token_usage(negative), None);
    let counts = Counts {
        prompt_tokens: Some(1),
        completion_tokens: Some(2),
        prompt_tokens_details: Some(PromptTokensDetails {
            cached_tokens: Some(3),
            cache_creation_tokens: Some(4),
            ..PromptTokensDetails::default()
        }),
        completion_tokens_details: Some(CompletionTokensDetails {
            reasoning_tokens: Some(5),
            ..CompletionTokensDetails::default()
        }),
        total_tokens: Some(99),
    };
    let read = token_usage(counts).unwrap();
    let all = [read.input, read.output, read.cached, read.cache_written, read.reasoning];
    assert_eq!(all, [1, 2, 3, 4, 5].map(Some));
    assert!(token_usage(Counts { prompt_tokens: Some(0), ..Counts::default() }).is_some());
}
