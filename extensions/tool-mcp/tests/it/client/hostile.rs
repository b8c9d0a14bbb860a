//! Servers that send what no serializer of the protocol writes, or far more than a program needs.

use axum::{http::StatusCode, response::IntoResponse};
use serde_json::{Map, json};
use tool_mcp::client::McpToolSet;

use super::{
    call, config,
    fake::Fakes,
    lives::{calling, started, text, tool},
    names_of,
    web::{answered, config as web_config, json_of, mock},
};

#[tokio::test]
async fn json_of_careless_serializers_is_read() {
    for (block, expected) in [
        (&b"half \\ud83d of a pair"[..], "half \u{fffd} of a pair"),
        (b"\\ude00 and \\ud83d\\ude00", "\u{fffd} and \u{1f600}"),
        (b"caf\xe9", "caf\u{fffd}"),
        (b"a\ttab and \x01", "a\ttab and \u{1}"),
        (b"\\\\ud83d is a text \\\" and NaN", "\\ud83d is a text \" and NaN"),
    ] {
        let (set, mut fake, _fakes) = started(config(), "one").await;
        let calling = calling(&set, "one");
        let request = fake.expect("tools/call").await;
        let before = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"_meta":{{"a":NaN,"b":-Infinity,"c":1e999,"d":1.5}},"content":[{{"type":"text","text":""#,
            request["id"]
        );
        fake.bytes(&[before.as_bytes(), block, b"\"}]}}\n"].concat()).await;
        assert_eq!(calling.await.unwrap().unwrap(), expected);
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_ends_its_call_and_says_that_it_was_processed() {
    for rest in ["{\"content\":[}", &"[".repeat(200), "nonsense"] {
        let (set, mut fake, _fakes) = started(config(), "one").await;
        let call = calling(&set, "one");
        let request = fake.expect("tools/call").await;
        fake.line(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{rest}"#, request["id"])).await;
        let error = call.await.unwrap().unwrap_err().to_string();
        assert!(error.contains("the request was processed, but its answer cannot be read"), "{error}");
    }
}

#[tokio::test]
async fn no_text_of_a_server_ends_the_connection() {
    let (set, mut fake, _fakes) = started(config(), "one").await;
    let answer = br#"{"jsonrpc":"2.0","id":"x","result":{"content":[{"type":"text","text":"\ud83d\ude00"}]},"error":null}"#;
    let replacements = b"\"\\{}[]:,u0-\xff\x00n";
    for position in 0..answer.len() {
        for &byte in replacements {
            let mut line = answer.to_vec();
            line[position] = byte;
            fake.bytes(&[&line[..], b"\n"].concat()).await;
            fake.bytes(&[&line[..position], b"\n"].concat()).await;
        }
    }
    let call = calling(&set, "one");
    loop {
        let message = fake.message().await.unwrap();
        if message["method"] == "tools/call" {
            break fake.answer(&message, text("done")).await;
        }
    }
    assert_eq!(call.await.unwrap().unwrap(), "done");
}

#[tokio::test]
async fn a_flood_of_unreadable_parts_is_counted_and_not_kept() {
    let (set, mut fake, _fakes) = started(config(), "one").await;
    let asking = set.clone();
    let calling = tokio::spawn(async move { asking.call_raw("one", Map::new()).await });
    let request = fake.expect("tools/call").await;
    fake.answer(&request, json!({ "content": vec![1; 10_000] })).await;
    let result = calling.await.unwrap().unwrap();
    assert_eq!(result.content.len(), 101);
    assert_eq!(result.content[100].as_text().unwrap().text, "[9900 more blocks that cannot be read]");

    let refreshing = set.clone();
    let refreshed = tokio::spawn(async move { refreshing.refresh().await });
    let request = fake.expect("tools/list").await;
    let mut tools = vec![tool("good")];
    tools.extend((0..12_000).map(|_| json!({ "name": "x".repeat(50) })).map(|mut it| {
        it["inputSchema"] = 7.into();
        it
    }));
    fake.answer(&request, json!({ "tools": tools })).await;
    refreshed.await.unwrap().unwrap();
    assert_eq!(names_of(&set).await, ["good"]);
    let diagnostics = set.diagnostics();
    assert!(diagnostics.len() < 10_100, "{}", diagnostics.len());
    assert!(diagnostics.iter().any(|it| it.code == "listing_cut"));
}

#[tokio::test]
async fn texts_of_a_server_in_diagnostics_are_bounded() {
    let long = "x".repeat(100_000);
    let (builder, fakes) = Fakes::builder(config());
    let tools = json!([
        { "name": long, "inputSchema": long },
        { "name": "odd", "inputSchema": {}, "annotations": { long.as_str(): 1, "readOnlyHint": long } },
    ]);
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.initialize().await;
        let request = fake.expect("tools/list").await;
        fake.answer(&request, json!({ "tools": tools, "nextCursor": [long] })).await;
        fake
    });
    let set = builder.connect().await.unwrap();
    drop(fake.await.unwrap());
    assert!(set.diagnostics().len() >= 2);
    for diagnostic in set.diagnostics() {
        assert!(diagnostic.to_string().len() < 2_000, "{}", diagnostic.to_string().len());
    }
}

#[tokio::test]
async fn one_kind_of_diagnostic_hides_no_other() {
    let (set, mut fake, _fakes) = started(config(), "one").await;
    for number in 0..50 {
        let call = calling(&set, "one");
        let request = fake.expect("tools/call").await;
        let error = json!({ "message": format!("m{number}") });
        fake.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "error": error })).await;
        call.await.unwrap().unwrap_err();
    }
    let calling = tokio::spawn(call(set.clone(), "one", json!({})));
    let request = fake.expect("tools/call").await;
    fake.answer(&request, json!({ "content": [7] })).await;
    calling.await.unwrap();
    let count = |code: &str| set.diagnostics().iter().filter(|it| it.code == code).count();
    assert_eq!((count("unreadable_answer"), count("unreadable_content")), (20, 1));
}

#[tokio::test]
async fn the_explanation_in_a_body_of_another_form_is_kept() {
    let (web, _) = mock(|_, _| {
        let mut response = json_of(r#"{"detail":"the quota is spent"}"#);
        *response.status_mut() = StatusCode::PAYMENT_REQUIRED;
        response
    })
    .await;
    let set = McpToolSet::connect(web_config(&web.url)).await.unwrap();
    let error = set.call_raw("one", Map::new()).await.unwrap_err().to_string();
    assert!(error.contains("HTTP 402 Payment Required") && error.contains("the quota is spent"), "{error}");

    let (web, _) = mock(|_, _| json_of(r#"{"detail":"gone"}"#)).await;
    let set = McpToolSet::connect(web_config(&web.url)).await.unwrap();
    let error = set.call_raw("one", Map::new()).await.unwrap_err().to_string();
    assert!(error.contains(r#"neither a result nor an error: {"detail":"gone"}"#), "{error}");
}

#[tokio::test]
async fn json_under_another_type_is_read_and_other_texts_are_not() {
    for kind in ["text/plain", "application/octet-stream"] {
        let (web, _) = mock(move |_, message| {
            let mut response = answered(message, &text("done"));
            response.headers_mut().insert("content-type", kind.parse().unwrap());
            response
        })
        .await;
        let set = McpToolSet::connect(web_config(&web.url)).await.unwrap();
        assert_eq!(call(set, "one", json!({})).await.text(), "done");
    }
    let (web, _) = mock(|_, _| ([("content-type", "text/html")], "<p>Welcome</p>").into_response()).await;
    let set = McpToolSet::connect(web_config(&web.url)).await.unwrap();
    let error = set.call_raw("one", Map::new()).await.unwrap_err().to_string();
    assert!(error.contains("`text/html` in place of JSON"), "{error}");
}
