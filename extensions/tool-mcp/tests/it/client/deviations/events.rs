//! Events (kind M).

use serde_json::{Map, json};
use test_support::http::LocalServer;
use tool_mcp::client::{ClientErrorKind, McpToolSet};

use crate::client::{call, web};

/// The toolset of a server that answers calls by this body, in which `A` is the answer.
async fn connected(body: &'static str) -> (McpToolSet, LocalServer) {
    let (web, _) = web::mock(move |_, message| {
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": web::text("done") });
        web::events(body.replace('A', &answer.to_string()))
    })
    .await;
    (McpToolSet::connect(web::config(&web.url)).await.unwrap(), web)
}

#[tokio::test]
async fn an_answer_among_any_fields_and_ends_of_lines_is_read() {
    for body in [
        "data: A",
        "data: A\n",
        "data: A\r\r",
        "data:A\r\n\r\n",
        "event: Message\ndata: A\n\n",
        "event: message \ndata: A\n\n",
        "id\ndata: A\n\n",
        "id: \u{0}\ndata: A\n\n",
        "retry: soon\ndata: A\n\n",
        "retry:\nretry: 99999999999999999999\ndata: A\n\n",
        "unknown: x\ndata: A\n\n",
        "DATA: no field\n\ndata: A\n\n",
        "data: [A]\n\n",
        "data: [{}, 7, A]\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":5}\n\ndata: A\n\n",
        "data: \"ping\"\n\ndata: A\n\n",
        "data: A\n\ndata: A\n\n",
        "data: A\n\nevent: done\ndata: [DONE]\n\n",
        ": ping\r\n\r\n: ping\r\n\r\ndata: A\r\n\r\n",
    ] {
        let (set, _web) = connected(body).await;
        let result = call(set, "one", json!({})).await;
        assert_eq!((result.text().as_ref(), result.is_error()), ("done", false), "{body:?}");
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_off_was_processed() {
    let (web, _) = web::mock(|_, message| {
        web::events(format!(
            "data: {{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"content\":[",
            message["id"]
        ))
    })
    .await;
    let set = McpToolSet::connect(web::config(&web.url)).await.unwrap();
    let error = set.call_raw("one", Map::new()).await.unwrap_err().to_string();
    assert!(error.contains("the request was processed, but its answer cannot be read"), "{error}");
}

#[tokio::test]
async fn an_answer_under_another_event_is_none_and_is_not_waited_for() {
    for body in ["event: error\ndata: A\n\n", "event: result\ndata: A\n\n", "event: A\n\n", "A\n\n"] {
        let (set, _web) = connected(body).await;
        let error = set.call_raw("one", Map::new()).await.unwrap_err();
        assert_eq!(error.kind(), ClientErrorKind::Lost, "{body:?}: {error}");
    }
}
