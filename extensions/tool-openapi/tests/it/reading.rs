//! Responses at the limits of what is read, and requests that cannot be sent.

use std::time::Duration;

use serde_json::json;
use test_support::http::{Answer, Recorder};
use tokio::{io::AsyncReadExt as _, net::TcpListener};
use tool_openapi::{OpenApiToolSet, OpenApiToolSetBuilder};
use tool_runtime::{ErrorKind, ToolOutput};

use crate::{built, call, document, registry, responses::api};

async fn call_output(set: OpenApiToolSetBuilder, answer: Answer) -> ToolOutput {
    let server = Recorder::new(answer).await;
    call(&built(set.base_url(&server.url)), "op", "{}").await.unwrap()
}

#[tokio::test]
async fn a_response_of_exactly_the_read_limit_is_whole() {
    for (text, is_cut) in [("abc", false), ("abcd", true)] {
        let output = call_output(api("get", None).read_limit(3), Answer::of(200, "text/plain", text)).await;
        assert_eq!(output.text().contains("the rest was not read"), is_cut, "{}", output.text()); // P11
        assert_eq!(output.details().unwrap()["bytes"], 3);
    }
}

#[tokio::test]
async fn a_character_that_the_read_limit_cuts_is_left_out() {
    let output = call_output(api("get", None).read_limit(3), Answer::of(200, "text/plain", "éé")).await;
    let text = output.text();
    assert!(text.contains("\n\né\n[") && !text.contains('\u{fffd}') && !text.contains("not valid"), "{text}"); // P11
}

#[tokio::test]
async fn a_response_that_was_not_read_to_its_end_is_no_violation_of_its_schema() {
    let schema = json!({ "type": "object", "required": ["id"] });
    let set = api("get", Some(schema)).strict_responses(true).read_limit(5);
    let output = call_output(set, Answer::json(r#"{"id":1}"#)).await;
    assert_eq!(output.details().unwrap().get("mismatch"), None);
    assert!(output.text().contains("the rest was not read"), "{}", output.text()); // P11
}

#[tokio::test]
async fn a_failure_is_shown_without_the_view_of_a_success() {
    let set = || api("get", None).view("op", ["/id"]);
    let text = |output: ToolOutput| output.text().into_owned();
    let answer = |status| Answer::of(status, "application/json", r#"{"id":1,"why":"closed"}"#);
    let failed = text(call_output(set(), answer(404)).await);
    assert!(failed.ends_with(r#"{"id":1,"why":"closed"}"#), "{failed}"); // P10
    let succeeded = text(call_output(set(), answer(200)).await);
    assert!(succeeded.ends_with(r#"{"id":1}"#), "{succeeded}");
}

#[tokio::test]
async fn a_request_that_no_client_can_send_is_not_retried() {
    let server = Recorder::new(Answer::json("{}")).await;
    let parameters = json!([{ "name": "q", "in": "query", "schema": { "type": "string" } }]);
    let paths = json!({ "/x": { "get": { "operationId": "op", "parameters": parameters } } });
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url(&server.url));
    // A URI of the HTTP library has less than 64 KiB.
    let arguments = json!({ "q": "x".repeat(70_000) }).to_string();
    let error = call(&set, "op", &arguments).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Failed, false), "{error}");
    assert!(error.feedback().contains("URL is too long"), "{}", error.feedback());
    assert!(server.take().is_empty());
}

#[tokio::test]
async fn a_dropped_call_drops_its_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let tools = registry(&built(api("get", None).base_url(&url)));
    let mut running = Box::pin(tools.call("op", "{}"));
    let asked = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await.unwrap());
        }
        stream
    };
    let mut stream = tokio::select! {
        stream = asked => stream,
        answer = &mut running => panic!("{answer:?}"),
    };
    drop(running);
    let end = tokio::time::timeout(Duration::from_secs(5), stream.read(&mut [0; 1])).await.unwrap(); // P14
    assert!(end.is_err() || end.is_ok_and(|it| it == 0)); // P14
}
