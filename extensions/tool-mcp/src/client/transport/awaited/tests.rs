#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Value, json};

use super::*;

/// The request `method` as it is awaited.
fn awaited(method: &str, params: Value) -> AwaitedAnswer {
    AwaitedAnswer::of_request(&serde_json::from_value(json!({ "method": method, "params": params })).unwrap())
}

/// An answer of each request, with a result of it.
fn all() -> Vec<(AwaitedAnswer, ServerResult)> {
    let read = |result: Value| serde_json::from_value::<ServerResult>(result).unwrap();
    let listed = |member: &str| {
        read(json!({ member: [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private" }))
    };
    let reference = json!({ "type": "ref/prompt", "name": "p" });
    let argument = json!({ "name": "a", "value": "" });
    vec![
        (awaited("tools/call", json!({ "name": "t" })), read(json!({ "content": [] }))),
        (awaited("tools/list", json!({})), listed("tools")),
        (awaited("prompts/list", json!({})), listed("prompts")),
        (awaited("resources/list", json!({})), listed("resources")),
        (awaited("resources/templates/list", json!({})), listed("resourceTemplates")),
        (awaited("prompts/get", json!({ "name": "p" })), read(json!({ "messages": [] }))),
        (awaited("resources/read", json!({ "uri": "a://b" })), read(json!({ "contents": [] }))),
        (
            awaited("completion/complete", json!({ "ref": reference, "argument": argument })),
            read(json!({ "completion": { "values": [] } })),
        ),
    ]
}

#[test]
fn a_request_is_answered_by_results_of_its_own_kind() {
    let all = all();
    for (at, (awaited, _)) in all.iter().enumerate() {
        for (other, (_, result)) in all.iter().enumerate() {
            assert_eq!(awaited.is_answered_by(result), at == other, "{awaited:?}: {result:?}");
            assert!(AwaitedAnswer::Other.is_answered_by(result));
            assert!(!AwaitedAnswer::Initialize.is_answered_by(result));
            assert!(!AwaitedAnswer::Discover.is_answered_by(result));
        }
    }
    let question: ServerResult =
        serde_json::from_value(json!({ "resultType": "input_required", "requestState": "s" })).unwrap();
    let asks: Vec<_> = all.iter().map(|(awaited, _)| awaited.is_answered_by(&question)).collect();
    assert_eq!(asks, [true, false, false, false, false, true, true, false]);
}

#[test]
fn a_call_has_the_name_of_its_tool_and_a_handshake_is_one() {
    for (at, (awaited, _)) in all().iter().enumerate() {
        assert_eq!(awaited.tool_name(), (at == 0).then_some("t"));
        assert!(!awaited.is_handshake());
    }
    assert!(AwaitedAnswer::Initialize.is_handshake() && AwaitedAnswer::Discover.is_handshake());
    assert!(matches!(awaited("ping", json!({})), AwaitedAnswer::Other));
    assert!(
        matches!(awaited("resources/read", json!({ "uri": "a://b" })), AwaitedAnswer::Resource(uri) if uri == "a://b")
    );
}

#[test]
fn an_answer_belongs_to_the_request_of_its_response() {
    let [own, other] = [7, 8].map(RequestId::Number);
    for (posted, is_named, known, expected) in [
        (PostedRequest::None, true, Some(&own), Some(&own)),
        (PostedRequest::None, false, None, None),
        (PostedRequest::Event(&own), true, Some(&own), Some(&own)),
        (PostedRequest::Event(&own), true, Some(&other), None),
        (PostedRequest::Event(&own), true, None, None),
        (PostedRequest::Event(&own), false, None, Some(&own)),
        (PostedRequest::Whole(&own), true, Some(&other), Some(&own)),
        (PostedRequest::Whole(&own), false, None, Some(&own)),
    ] {
        assert_eq!(posted.answered_request_id(is_named, known.cloned()).as_ref(), expected);
    }
    assert_eq!(PostedRequest::None.id(), None);
    for posted in [PostedRequest::Event(&own), PostedRequest::Whole(&own)] {
        assert_eq!(posted.id(), Some(&own));
    }
}
