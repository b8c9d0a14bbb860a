//! Messages of a server, and the requests that they answer.

use std::sync::Arc;

use rmcp::{
    RoleClient,
    model::{JsonRpcMessage, RequestId},
    service::RxJsonRpcMessage,
};
use serde_json::{Value, json};

use crate::client::{
    notices::Notices,
    transport::{
        awaited::PostedRequest,
        reception::{MAX_HEAD_BYTES, ReceivedMessages, Reception},
    },
};

const NONE: [i64; 0] = [];

/// A reception with its diagnostics.
struct Received {
    reception: Reception,
    notices: Arc<Notices>,
}

impl Received {
    /// A reception that waits for the answers to these requests: ids, methods and parameters.
    fn waiting_for(requests: &[(i64, &str, Value)]) -> Self {
        let notices = Arc::new(Notices::new("s".into()));
        let received = Self { reception: Reception::new(Arc::clone(&notices)), notices };
        for (id, method, params) in requests {
            received.send(&json!({ "id": id, "method": method, "params": params }));
        }
        received
    }

    fn send(&self, message: &Value) {
        let mut message = message.clone();
        message["jsonrpc"] = json!("2.0");
        self.reception.note_sent_message(&serde_json::from_value(message).unwrap());
    }

    fn read(&self, text: &Value) -> ReceivedMessages {
        self.reception.read_messages(text.to_string().as_bytes(), PostedRequest::None)
    }

    /// The ids of the requests that the text answers.
    fn answered_by(&self, text: &Value, post: PostedRequest<'_>) -> Vec<i64> {
        answered_ids(&self.reception.read_messages(text.to_string().as_bytes(), post).messages)
    }

    /// The codes of the diagnostics with their tools.
    fn codes(&self) -> Vec<(&'static str, Option<String>)> {
        let diagnostics = self.notices.diagnostics();
        diagnostics.into_iter().map(|it| (it.code, it.location.tool.map(|tool| tool.to_string()))).collect()
    }
}

fn answered_ids(messages: &[RxJsonRpcMessage<RoleClient>]) -> Vec<i64> {
    let id = |message: &RxJsonRpcMessage<RoleClient>| match message {
        JsonRpcMessage::Response(response) => Some(response.id.clone()),
        JsonRpcMessage::Error(error) => error.id.clone(),
        _ => None,
    };
    let number = |id| match id {
        RequestId::Number(id) => id,
        RequestId::String(id) => panic!("{id}"),
    };
    messages.iter().filter_map(id).map(number).collect()
}

fn call(id: i64) -> (i64, &'static str, Value) {
    (id, "tools/call", json!({ "name": "one" }))
}

fn result(id: impl Into<Value>) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "result": { "content": [] } })
}

#[test]
fn an_answer_as_the_sdk_reads_it_is_verbatim_and_ends_its_request() {
    let received = Received::waiting_for(&[call(7)]);
    let read = received.read(&result(7));
    assert_eq!((answered_ids(&read.messages), read.is_verbatim), (vec![7], true));
    // The request is no longer open.
    let read = received.read(&result(7));
    assert_eq!((answered_ids(&read.messages), read.is_verbatim), (vec![], false));
    let received = Received::waiting_for(&[call(7)]);
    let error = json!({ "jsonrpc": "2.0", "id": 7, "error": { "code": 1, "message": "m" } });
    assert!(received.read(&error).is_verbatim);
    assert!(received.read(&error).messages.is_empty());
    assert_eq!(received.codes(), []);
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_text() {
    let received = Received::waiting_for(&[call(7)]);
    let text = format!("\u{feff}{}", result(7));
    assert!(received.reception.read_messages(text.as_bytes(), PostedRequest::None).is_verbatim);
}

#[test]
fn the_messages_of_a_batch_are_read_in_their_order() {
    let received = Received::waiting_for(&[call(7), call(8)]);
    let ping = json!({ "jsonrpc": "2.0", "id": "q", "method": "ping" });
    let malformed = json!({ "id": "bad", "method": "sampling/createMessage", "params": 7 });
    let nameless = json!({ "id": [], "method": "sampling/createMessage", "params": 7 });
    let read = received.read(&json!([result(8), ping, malformed, nameless, 5, result(7)]));
    assert_eq!(answered_ids(&read.messages), [8, 7]);
    assert!(matches!(read.messages[1], JsonRpcMessage::Request(_)));
    assert!(!read.is_verbatim);
    assert_eq!(read.malformed_requests, [RequestId::String("bad".into())]);
}

#[test]
fn a_request_of_the_server_may_have_the_id_of_an_open_one() {
    let received = Received::waiting_for(&[call(7)]);
    let read = received.read(&json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" }));
    assert!(matches!(read.messages[..], [JsonRpcMessage::Request(_)]) && !read.is_verbatim);
    // One with another id is verbatim, and so is a notification.
    assert!(received.read(&json!({ "jsonrpc": "2.0", "id": 8, "method": "ping" })).is_verbatim);
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    assert!(received.read(&notification).is_verbatim);
    // An answer may repeat the method; without an open request it is a request.
    let mut answer = result(7);
    answer["method"] = json!("tools/call");
    assert_eq!(received.answered_by(&answer, PostedRequest::None), [7]);
    let mut stranger = json!({ "id": 9, "method": "ping", "result": {}, "error": {} });
    let read = received.read(&stranger);
    assert!(matches!(read.messages[..], [JsonRpcMessage::Request(_)]));
    stranger["method"] = json!(7);
    assert!(received.read(&stranger).messages.is_empty());
}

#[test]
fn a_request_that_is_cancelled_or_given_up_has_no_answer() {
    let received = Received::waiting_for(&[call(7), call(8), call(9)]);
    received.send(&json!({ "method": "notifications/cancelled", "params": { "requestId": 7 } }));
    received.reception.forget_request(&RequestId::Number(8));
    received.send(&json!({ "method": "notifications/initialized" }));
    for (id, expected) in [(7, vec![]), (8, vec![]), (9, vec![9])] {
        assert_eq!(received.answered_by(&result(id), PostedRequest::None), expected, "{id}");
    }
}

#[test]
fn an_answer_in_the_response_to_a_request_belongs_to_it() {
    let (own, other) = (RequestId::Number(7), RequestId::Number(8));
    let fresh = || Received::waiting_for(&[call(7), call(8)]);
    // Of an event, if it names no other request; of a whole response, always.
    assert_eq!(fresh().answered_by(&result(8), PostedRequest::Event(&own)), NONE);
    assert_eq!(fresh().answered_by(&result(8), PostedRequest::Whole(&own)), [7]);
    for post in [PostedRequest::Event(&own), PostedRequest::Whole(&own)] {
        assert_eq!(fresh().answered_by(&result(7), post), [7]);
        assert_eq!(fresh().answered_by(&result(Value::Null), post), [7]);
        assert_eq!(fresh().answered_by(&json!({ "error": "quota" }), post), [7]);
        assert!(fresh().reception.read_messages(result(7).to_string().as_bytes(), post).is_verbatim);
    }
    // A text that is no answer is one as a whole response only.
    assert_eq!(fresh().answered_by(&json!({ "detail": "gone" }), PostedRequest::Event(&own)), NONE);
    assert_eq!(fresh().answered_by(&json!({ "detail": "gone" }), PostedRequest::Whole(&own)), [7]);
    // What another request has answered already stays so.
    let received = fresh();
    assert_eq!(received.answered_by(&result(7), PostedRequest::Whole(&own)), [7]);
    assert_eq!(received.answered_by(&result(Value::Null), PostedRequest::Whole(&own)), NONE);
    // An error that names another request is not verbatim.
    let error = json!({ "jsonrpc": "2.0", "id": 8, "error": { "code": 1, "message": "m" } });
    assert_eq!(fresh().answered_by(&error, PostedRequest::Whole(&own)), [7]);
    assert_eq!(fresh().answered_by(&error, PostedRequest::Event(&other)), [8]);
}

#[test]
fn a_named_text_without_an_answer_ends_its_request() {
    let received = Received::waiting_for(&[call(7)]);
    assert_eq!(received.answered_by(&json!({ "id": 7 }), PostedRequest::None), [7]);
    assert_eq!(received.codes(), [("unreadable_answer", Some("one".to_owned()))]);
}

#[test]
fn an_answer_without_an_id_is_of_the_handshake_alone() {
    let discover = json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "c", "version": "1" },
    } });
    let refused = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": 1, "message": "m" } });
    let received = Received::waiting_for(&[(1, "server/discover", discover.clone()), call(7)]);
    assert_eq!(received.answered_by(&json!({ "jsonrpc": "2.0", "result": {} }), PostedRequest::None), NONE);
    assert_eq!(received.answered_by(&refused, PostedRequest::None), [1]);
    // Then, it is about any message.
    assert_eq!(received.answered_by(&refused, PostedRequest::None), NONE);
    // An error of `server/discover` may become one after which the handshake goes on.
    let received = Received::waiting_for(&[(1, "server/discover", discover)]);
    let unsupported = json!({
        "jsonrpc": "2.0", "id": 1,
        "error": { "code": -32022, "message": "m", "data": { "supported": ["2025-11-25"] } },
    });
    let read = received.read(&unsupported);
    assert!(!read.is_verbatim);
    let JsonRpcMessage::Error(error) = &read.messages[0] else { panic!() };
    assert_eq!(error.error.code, rmcp::model::ErrorCode::METHOD_NOT_FOUND);
}

#[test]
fn the_status_that_refused_the_handshake_is_the_last_one() {
    let info = json!({ "name": "c", "version": "1" });
    let initialize = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    let received = Received::waiting_for(&[(1, "initialize", initialize), call(7)]);
    let status_after = |id: i64, status: u16| {
        received.reception.note_handshake_status(&RequestId::Number(id), status);
        received.reception.handshake_refusal_status()
    };
    assert_eq!(status_after(7, 404), None);
    assert_eq!(status_after(1, 404), Some(404));
    assert_eq!(status_after(7, 200), Some(404));
    assert_eq!(status_after(1, 400), Some(400));
    assert_eq!(status_after(1, 399), None);
    assert_eq!(status_after(9, 500), None);
}

#[test]
fn an_answer_that_is_too_long_or_cut_off_ends_its_request() {
    let reason = |message: &RxJsonRpcMessage<RoleClient>| match message {
        JsonRpcMessage::Error(error) => error.error.message.to_string(),
        other => panic!("{other:?}"),
    };
    let received = Received::waiting_for(&[call(7)]);
    let answer = received.reception.fail_oversized_answer(br#"{"id":7,"result":{"content":[{"#, 5).unwrap();
    assert_eq!(reason(&answer), "the request was processed, but its answer is larger than 5 bytes");
    assert_eq!(received.codes(), [("unreadable_answer", Some("one".to_owned()))]);
    // The request is known no longer.
    assert!(received.reception.fail_oversized_answer(br#"{"id":7,"result":{"#, 5).is_none());
    let texts: Vec<_> = received.notices.diagnostics().iter().map(|it| it.message.to_string()).collect();
    assert!(texts.iter().any(|it| it == "an answer is larger than 5 bytes"), "{texts:?}");
    assert!(texts.iter().any(|it| it == "a message of more than 5 bytes was discarded"), "{texts:?}");

    let received = Received::waiting_for(&[call(7)]);
    let read = received.reception.read_messages(br#"{"id":7,"result":{"con"#, PostedRequest::None);
    assert!(
        reason(&read.messages[0]).starts_with("the request was processed, but its answer cannot be read: ")
    );
    // The id is looked for in the beginning alone.
    for (padding, expected) in [(MAX_HEAD_BYTES - 30, 1), (MAX_HEAD_BYTES, 0)] {
        let received = Received::waiting_for(&[call(7)]);
        let text = format!(r#"{}{{"id":7,"result":{{"con"#, " ".repeat(padding));
        let read = received.reception.read_messages(text.as_bytes(), PostedRequest::None);
        assert_eq!(read.messages.len(), expected, "{padding}");
    }
}

#[test]
fn diagnostics_say_what_kind_of_answer_was_malformed() {
    let prompt = json!({ "type": "ref/prompt", "name": "p" });
    let complete = json!({ "ref": prompt, "argument": { "name": "a", "value": "v" } });
    let info = json!({ "name": "c", "version": "1" });
    let initialize = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    let malformed_info = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": 7 });
    for (method, params, result, code) in [
        ("tools/call", json!({ "name": "one" }), json!({ "content": [7] }), "unreadable_content"),
        ("prompts/get", json!({ "name": "p" }), json!({ "messages": [7] }), "unreadable_content"),
        ("resources/read", json!({ "uri": "a://b" }), json!({ "contents": [7] }), "unreadable_content"),
        ("completion/complete", complete, json!({ "completion": 7 }), "unreadable_content"),
        ("initialize", initialize, malformed_info, "unreadable_handshake"),
        ("tools/list", json!({}), json!([]), "unreadable_answer"),
        ("logging/setLevel", json!({ "level": "info" }), json!([]), "unreadable_answer"),
    ] {
        let received = Received::waiting_for(&[(7, method, params)]);
        // The SDK reads no message without a version.
        let answer = json!({ "id": 7, "result": result });
        assert_eq!(received.answered_by(&answer, PostedRequest::None), [7], "{method}");
        let codes = received.codes();
        assert!(!codes.is_empty() && codes.iter().all(|it| it.0 == code), "{method}: {codes:?}");
        assert_eq!(codes[0].1.as_deref(), (method == "tools/call").then_some("one"));
    }
}

#[test]
fn an_empty_error_beside_a_result_is_ignored_and_reported() {
    for (error, codes) in [
        (json!(false), vec![("unreadable_answer", Some("one".to_owned()))]),
        (json!({}), vec![("unreadable_answer", Some("one".to_owned()))]),
        (json!(null), vec![]),
    ] {
        let received = Received::waiting_for(&[call(7)]);
        let mut answer = result(7);
        answer["error"] = error.clone();
        let read = received.read(&answer);
        assert!(matches!(read.messages[..], [JsonRpcMessage::Response(_)]), "{error}");
        assert_eq!(received.codes(), codes, "{error}");
    }
    // A result that is `null` is none beside an error.
    let received = Received::waiting_for(&[call(7)]);
    let read = received.read(&json!({ "id": 7, "result": null, "error": {} }));
    assert!(matches!(read.messages[..], [JsonRpcMessage::Error(_)]));
}

#[test]
fn a_handshake_that_is_of_no_use_leaves_its_reason() {
    let info = json!({ "name": "c", "version": "1" });
    let initialize = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    let received = Received::waiting_for(&[(1, "initialize", initialize)]);
    assert_eq!(received.reception.handshake_failure(), None);
    received.read(&json!({ "jsonrpc": "2.0", "id": 1, "result": [] }));
    let reason = "the answer to `initialize` is no object";
    assert_eq!(received.reception.handshake_failure().as_deref(), Some(reason));
}
