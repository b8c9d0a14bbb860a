//! Results of tools (kind J).

use serde_json::{Value, json};
use tool_mcp::client::ClientErrorKind;
use tool_runtime::Content;

use super::codes;
use crate::client::{
    call, config,
    fake::Fakes,
    lives::{started, tool},
};

/// The result of a call that the server answers so, as content and failure, and the codes of the diagnostics.
async fn result_of(answer: &Value) -> (Vec<Content>, bool, Vec<&'static str>) {
    let (set, mut fake, _fakes) = started(config(), "one").await;
    let calling = tokio::spawn(call(set.clone(), "one", json!({})));
    let request = fake.expect("tools/call").await;
    fake.answer(&request, answer.clone()).await;
    let result = calling.await.unwrap();
    (result.content().to_vec(), result.is_error(), codes(&set))
}

#[tokio::test]
async fn base64_of_any_spelling_is_decoded() {
    for (data, decoded) in [
        ("aGk", &b"hi"[..]),
        ("aG\nk=\r\n", b"hi"),
        (" aGk= ", b"hi"),
        ("data:image/png;base64,aGk=", b"hi"),
        ("data:image/png;charset=utf-8;base64,aGk=", b"hi"),
        ("_-8=", b"\xff\xef"),
        ("", b""),
    ] {
        let block = json!({ "type": "image", "data": data, "mimeType": "image/png" });
        let document = json!({ "type": "resource", "resource": { "uri": "a://b", "blob": data } });
        let (content, is_error, codes) = result_of(&json!({ "content": [block, document] })).await;
        assert_eq!(content[0], Content::image(decoded.to_vec(), "image/png"), "{data:?}");
        let Content::Resource { resource } = &content[1] else { panic!("{data:?}: {content:?}") };
        assert!(
            matches!(&resource.body, tool_runtime::output::ResourceBody::Blob(blob) if blob.0 == decoded)
        );
        assert_eq!((is_error, codes), (false, vec![]), "{data:?}");
    }
}

#[tokio::test]
async fn data_that_cannot_be_decoded_has_a_diagnostic() {
    for block in [
        json!({ "type": "image", "data": "!!", "mimeType": "image/png" }),
        json!({ "type": "audio", "data": "https://a/b.wav", "mimeType": "audio/wav" }),
        json!({ "type": "resource", "resource": { "uri": "a://b", "blob": "ä" } }),
    ] {
        let (content, is_error, codes) =
            result_of(&json!({ "content": [block, { "type": "text", "text": "after" }] })).await;
        assert!(content[0].as_text().unwrap().contains("not base64"), "{content:?}");
        assert_eq!(
            (content[1].as_text(), is_error, codes),
            (Some("after"), false, vec!["unreadable_content"])
        );
    }
}

#[tokio::test]
async fn a_malformed_member_of_a_block_costs_itself() {
    for (block, expected) in [
        (
            json!({ "type": "resource_link", "uri": "a://b", "name": 7, "title": [], "size": "12" }),
            Content::ResourceLink { uri: "a://b".to_owned(), name: "a://b".to_owned(), mime_type: None },
        ),
        (
            json!({ "type": "resource_link", "uri": "a://b", "name": null, "mimeType": 7 }),
            Content::ResourceLink { uri: "a://b".to_owned(), name: "a://b".to_owned(), mime_type: None },
        ),
        (
            json!({ "type": "text", "text": "a", "annotations": { "priority": "high" }, "_meta": [] }),
            Content::text("a"),
        ),
    ] {
        let (content, is_error, codes) = result_of(&json!({ "content": [block] })).await;
        assert_eq!(
            (content, is_error, codes),
            (vec![expected], false, vec!["unreadable_content"]),
            "{block}"
        );
    }
    let block = json!({ "type": "resource", "resource": { "uri": "a://b", "text": "t", "mimeType": 7 } });
    let (content, ..) = result_of(&json!({ "content": [block] })).await;
    assert!(matches!(&content[0], Content::Resource { resource } if resource.uri == "a://b"), "{content:?}");
}

#[tokio::test]
async fn a_block_of_no_known_form_is_its_json() {
    for block in [
        json!({ "type": "Text", "text": "a" }),
        json!({ "text": "a" }),
        json!({ "type": "text", "text": ["a", "b"] }),
        json!({ "type": "text", "text": 7 }),
        json!({ "type": "resource", "resource": { "text": "t" } }),
        json!({ "type": "resource", "resource": { "uri": "a://b" } }),
        json!([{ "type": "text", "text": "a" }]),
        json!({ "type": 7 }),
    ] {
        for is_error in [false, true] {
            let answer = json!({ "content": [block], "isError": is_error });
            let (content, failed, codes) = result_of(&answer).await;
            assert_eq!(content, [Content::text(block.to_string())]);
            assert_eq!((failed, codes), (is_error, vec!["unreadable_content"]), "{block}");
        }
    }
}

#[tokio::test]
async fn a_structured_value_that_is_null_is_none_beside_any_content() {
    for content in
        [json!([{ "type": "text", "text": "a" }]), json!([{ "type": "text", "text": "a", "_meta": 7 }])]
    {
        let (read, ..) = result_of(&json!({ "content": content, "structuredContent": null })).await;
        assert_eq!(read, [Content::text("a")]);
    }
}

#[tokio::test]
async fn a_question_that_cannot_be_read_is_no_result() {
    for members in [
        json!({ "inputRequests": { "a": { "method": "future/ask", "params": {} } } }),
        json!({ "inputRequests": [] }),
        json!({ "requestState": 7 }),
        json!({}),
    ] {
        let mut answer = json!({ "resultType": "input_required" });
        answer.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let (set, mut fake, _fakes) = started(config(), "one").await;
        let calling = tokio::spawn(async move { set.call_raw("one", serde_json::Map::new()).await });
        let request = fake.expect("tools/call").await;
        fake.answer(&request, answer.clone()).await;
        let error = calling.await.unwrap().unwrap_err();
        assert!(
            matches!(error.kind(), ClientErrorKind::Refused | ClientErrorKind::Unusable)
                && error.to_string().contains("asks for input"),
            "{answer}: {error}"
        );
    }
}

#[tokio::test]
async fn a_result_that_breaks_the_schema_of_the_server_is_not_lost() {
    let (builder, fakes) = Fakes::builder(config());
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.initialize().await;
        let mut tool = tool("one");
        tool["outputSchema"] =
            json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
        fake.list(json!([tool])).await;
        let request = fake.expect("tools/call").await;
        fake.answer(&request, json!({ "content": [{ "type": "text", "text": "three" }], "structuredContent": { "n": "three" } })).await;
        fake
    });
    let set = builder.connect().await.unwrap();
    let result = call(set, "one", json!({})).await;
    drop(fake.await.unwrap());
    assert!(result.text().contains("three"), "{}", result.text());
}
