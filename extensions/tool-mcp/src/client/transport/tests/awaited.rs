//! The requests that wait for an answer.

use rmcp::model::{ClientRequest, JsonRpcMessage, RequestId, ServerResult};
use serde_json::{Value, json};

use crate::client::transport::awaited::{AwaitedAnswer, PostedRequest};

/// The request with this method, as it is sent.
fn request(method: &str, params: Value) -> ClientRequest {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    match serde_json::from_value(message).unwrap() {
        JsonRpcMessage::<ClientRequest, ServerResult, Value>::Request(request) => request.request,
        other => panic!("{other:?}"),
    }
}

/// The result as the SDK reads it.
fn result(result: Value) -> ServerResult {
    serde_json::from_value(result).unwrap()
}

#[test]
fn each_request_has_an_answer_of_its_own_kind() {
    let info = json!({ "name": "n", "version": "1" });
    let initialize = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    let prompt = json!({ "type": "ref/prompt", "name": "p" });
    let complete = json!({ "ref": prompt, "argument": { "name": "a", "value": "v" } });
    let mut results = vec![
        (
            "initialize",
            initialize,
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info }),
        ),
        ("tools/list", json!({}), json!({ "tools": [] })),
        ("prompts/list", json!({}), json!({ "prompts": [] })),
        ("resources/list", json!({}), json!({ "resources": [] })),
        ("resources/templates/list", json!({}), json!({ "resourceTemplates": [] })),
        ("prompts/get", json!({ "name": "p" }), json!({ "messages": [] })),
        ("resources/read", json!({ "uri": "a://b" }), json!({ "contents": [] })),
        ("completion/complete", complete, json!({ "completion": { "values": [] } })),
        ("tools/call", json!({ "name": "one" }), json!({ "content": [] })),
    ];
    let awaited: Vec<_> =
        results.iter_mut().map(|it| AwaitedAnswer::of_request(&request(it.0, it.1.take()))).collect();
    for (index, awaited) in awaited.iter().enumerate() {
        for (other, (method, _, answer)) in results.iter().enumerate() {
            let expected = index == other;
            assert_eq!(awaited.is_answered_by(&result(answer.clone())), expected, "{awaited:?} by {method}");
        }
    }
    let question =
        result(json!({ "resultType": "input_required", "inputRequests": {}, "requestState": "s" }));
    let asking: Vec<_> =
        awaited.iter().zip(&results).filter(|it| it.0.is_answered_by(&question)).map(|it| it.1.0).collect();
    assert_eq!(asking, ["prompts/get", "resources/read", "tools/call"]);
    let ping = AwaitedAnswer::of_request(&request("ping", json!({})));
    assert!(results.into_iter().all(|(.., answer)| ping.is_answered_by(&result(answer))));
}

#[test]
fn the_newest_revision_is_the_only_one_that_an_answer_to_discover_may_have_as_it_came() {
    let answer = |revision: &str| {
        result(json!({
            "resultType": "complete", "supportedVersions": [revision], "capabilities": {}, "ttlMs": 0, "cacheScope": "private",
        }))
    };
    assert!(AwaitedAnswer::Discover.is_answered_by(&answer(rmcp::model::ProtocolVersion::LATEST.as_str())));
    assert!(!AwaitedAnswer::Discover.is_answered_by(&answer("2024-11-05")));
}

#[test]
fn a_call_has_the_name_of_its_tool_and_the_handshake_is_two_requests() {
    let call = AwaitedAnswer::of_request(&request("tools/call", json!({ "name": "one" })));
    assert_eq!((call.tool_name(), call.is_handshake()), (Some("one"), false));
    for awaited in [AwaitedAnswer::Initialize, AwaitedAnswer::Discover] {
        assert_eq!((awaited.tool_name(), awaited.is_handshake()), (None, true));
    }
    assert!(!AwaitedAnswer::Other.is_handshake());
}

#[test]
fn an_answer_without_a_readable_id_belongs_to_the_request_that_was_posted() {
    let (posted, other) = (RequestId::Number(1), RequestId::Number(2));
    let (none, event, whole) =
        (PostedRequest::None, PostedRequest::Event(&posted), PostedRequest::Whole(&posted));
    assert_eq!((none.id(), event.id(), whole.id()), (None, Some(&posted), Some(&posted)));
    let own = || Some(posted.clone());
    let foreign = || Some(other.clone());
    for (post, is_named, known, expected) in [
        (none, true, foreign(), foreign()),
        (none, false, None, None),
        (event, true, own(), own()),
        (event, true, foreign(), None),
        (event, true, None, None),
        (event, false, None, own()),
        (whole, true, foreign(), own()),
        (whole, false, None, own()),
    ] {
        assert_eq!(post.answered_request_id(is_named, known), expected);
    }
}
