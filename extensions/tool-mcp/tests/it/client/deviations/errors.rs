//! Errors (kind L).

use axum::{http::StatusCode, response::IntoResponse};
use serde_json::{Map, json};
use tool_mcp::client::{ClientErrorKind, McpToolSet};

use super::codes;
use crate::client::{
    config,
    lives::{calling, started},
    web,
};

#[tokio::test]
async fn an_error_of_any_form_answers_each_request_at_once() {
    for (answer, expected) in [
        (r#""error":{}"#, "-32603: the server gave no message"),
        (r#""error":[]"#, "-32603: the server gave no message"),
        (r#""error":"""#, "-32603: the server gave no message"),
        (r#""error":false"#, "-32603: the server gave no message"),
        (r#""error":{"code":1.5,"message":"m"}"#, "-32603: m (code 1.5)"),
        (r#""error":{"code":true,"message":"m"}"#, "-32603: m (code true)"),
        (r#""error":{"code":[-32602],"message":["m"]}"#, "-32603: [\"m\"] (code [-32602])"),
        (r#""error":{"Code":-32602,"Message":"m"}"#, r#"-32603: {"Code":-32602,"Message":"m"}"#),
        (r#""error":{"error":{"code":-32602,"message":"inner"}}"#, "inner"),
        (r#""err":{"code":1}"#, r#"neither a result nor an error: {"err":{"code":1}}"#),
        (r#""error":{"code":1,"message":"once"},"error":{"code":2,"message":"twice"}"#, "error 2: twice"),
        (r#""error":{"code":-32602,"message":"m"},"method":"prompts/list""#, "-32602: m"),
    ] {
        let (set, mut fake, _fakes) = started(config(), "one").await;
        let (listing, reading) = (set.clone(), set.clone());
        let listed = tokio::spawn(async move { listing.list_prompts().await.map(drop) });
        let read = tokio::spawn(async move { reading.read_resource("a://b").await.map(drop) });
        let called = tokio::spawn(async move { set.call_raw("one", Map::new()).await.map(drop) });
        for _ in 0..3 {
            let request = fake.message().await.unwrap();
            fake.line(&format!(r#"{{"jsonrpc":"2.0","id":{},{answer}}}"#, request["id"])).await;
        }
        for asked in [listed, read, called] {
            let error = asked.await.unwrap().unwrap_err();
            assert_eq!(error.kind(), ClientErrorKind::Refused, "{answer}");
            assert!(error.to_string().contains(expected), "{answer}: {error}");
        }
    }
}

#[tokio::test]
async fn an_empty_error_beside_a_result_hides_no_result() {
    for error in ["false", "\"\"", "0", "{}", "[]"] {
        let (set, mut fake, _fakes) = started(config(), "one").await;
        let call = calling(&set, "one");
        let request = fake.expect("tools/call").await;
        let result = r#"{"content":[{"type":"text","text":"done"}]}"#;
        fake.line(&format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{result},"error":{error}}}"#,
            request["id"]
        ))
        .await;
        assert_eq!(call.await.unwrap().unwrap(), "done", "{error}");
        assert_eq!(codes(&set), ["unreadable_answer"], "{error}");
    }
}

#[tokio::test]
async fn an_answer_that_repeats_the_method_is_an_answer_and_a_request_with_its_id_is_none() {
    let (set, mut fake, _fakes) = started(config(), "one").await;
    let call = calling(&set, "one");
    let request = fake.expect("tools/call").await;
    let id = &request["id"];
    // The ids of the server are its own.
    fake.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })).await;
    let pong = fake.message().await.unwrap();
    assert_eq!((&pong["id"], pong["result"].is_object()), (id, true), "{pong}");
    let result = json!({ "content": [{ "type": "text", "text": "done" }] });
    fake.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "result": result })).await;
    assert_eq!(call.await.unwrap().unwrap(), "done");
}

#[tokio::test]
async fn an_error_with_a_status_ends_its_request_at_once() {
    for (status, body, expected) in [
        (400, r#"{"jsonrpc":"2.0","id":null,"error":{"code":"-32602","message":"bad x"}}"#, "-32602: bad x"),
        (500, r#"{"error":{"message":"broken"}}"#, "broken"),
        (422, r#"{"error":"quota"}"#, "quota"),
        (503, r#"[{"error":"quota"}]"#, "quota"),
        (500, "", "HTTP 500"),
        (302, "", "HTTP 302"),
    ] {
        let (web, _) = web::mock(move |_, _| {
            (StatusCode::from_u16(status).unwrap(), [("content-type", "application/json")], body)
                .into_response()
        })
        .await;
        let set = McpToolSet::connect(web::config(&web.url)).await.unwrap();
        let error = set.call_raw("one", Map::new()).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{status} {body}: {error}");
        assert_ne!(error.kind(), ClientErrorKind::TimedOut);
    }
}
