//! Prompts, resources, completions and acknowledgements (kinds J and L).

use rmcp::model::{ContentBlock, LoggingLevel, ResourceContents, Role};
use serde_json::{Map, Value, json};

use super::{answered, codes};

/// The messages of a prompt that the server answers so, as roles and texts.
async fn prompt(result: &Value) -> (Vec<(Role, String)>, Vec<&'static str>) {
    let (set, prompt) = answered(|set| async move { set.get_prompt("p", Map::new()).await }, result).await;
    let read = |content: &ContentBlock| {
        content.as_text().map_or_else(|| "no text".to_owned(), |text| text.text.clone())
    };
    let messages = prompt.unwrap_or_else(|error| panic!("{result}: {error}")).messages;
    (messages.iter().map(|it| (it.role.clone(), read(&it.content))).collect(), codes(&set))
}

#[tokio::test]
async fn a_prompt_is_read_message_by_message() {
    let block = |text: &str| json!({ "type": "text", "text": text });
    let future = r#"{"type":"future","z":1}"#;
    for (messages, expected) in [
        (
            json!([{ "role": "user", "content": block("a") }, { "role": "assistant", "content": { "type": "future", "z": 1 } }]),
            vec![(Role::User, "a"), (Role::Assistant, future)],
        ),
        (json!([{ "role": "system", "content": block("a") }]), vec![(Role::User, "a")]),
        (json!([{ "role": "assistant", "content": "a" }]), vec![(Role::Assistant, "a")]),
        (
            json!([{ "role": "user", "content": [block("a"), block("b")] }]),
            vec![(Role::User, "a"), (Role::User, "b")],
        ),
        (json!({ "role": "user", "content": block("a") }), vec![(Role::User, "a")]),
        (json!([{ "content": block("a") }]), vec![(Role::User, "a")]),
        (json!(["a", 7, null]), vec![(Role::User, "a"), (Role::User, "7"), (Role::User, "null")]),
        (json!("a"), vec![(Role::User, "a")]),
        (Value::Null, vec![]),
    ] {
        let (read, codes) = prompt(&json!({ "messages": messages })).await;
        let read: Vec<_> = read.iter().map(|(role, text)| (role.clone(), text.as_str())).collect();
        assert_eq!((read, codes), (expected, vec!["unreadable_content"]), "{messages}");
    }
    let result =
        json!({ "messages": [{ "role": "user", "content": block("a") }], "description": 7, "_meta": [] });
    assert_eq!(prompt(&result).await, (vec![(Role::User, "a".to_owned())], vec!["unreadable_content"]));
    // What the SDK reads stays as it is.
    assert_eq!(prompt(&json!({ "messages": [], "tools": [], "contents": [] })).await, (vec![], vec![]));
}

/// The documents of a resource that the server answers so, as URIs and bodies.
async fn resource(result: &Value) -> (Vec<(String, String)>, Vec<&'static str>) {
    let (set, read) = answered(|set| async move { set.read_resource("a://b").await }, result).await;
    let contents = read.unwrap_or_else(|error| panic!("{result}: {error}")).contents;
    let body = |document: ResourceContents| match document {
        ResourceContents::TextResourceContents { uri, text, .. } => (uri, text),
        ResourceContents::BlobResourceContents { uri, blob, .. } => (uri, blob),
        other => panic!("{other:?}"),
    };
    (contents.into_iter().map(body).collect(), codes(&set))
}

#[tokio::test]
async fn a_resource_is_read_document_by_document() {
    for (contents, expected) in [
        (
            json!([{ "uri": "a://b", "text": "t" }, { "uri": "a://c" }]),
            vec![("a://b", "t"), ("a://c", r#"{"uri":"a://c"}"#)],
        ),
        (json!([{ "text": "t" }]), vec![("a://b", "t")]),
        (json!({ "uri": "a://b", "text": "t" }), vec![("a://b", "t")]),
        (json!([{ "uri": "a://b", "text": 7 }]), vec![("a://b", "7")]),
        (
            json!([{ "uri": "a://b", "text": { "n": 1 }, "mimeType": "application/json" }]),
            vec![("a://b", r#"{"n":1}"#)],
        ),
        (json!([{ "uri": 7, "blob": "aGk=", "mimeType": 5 }]), vec![("a://b", "aGk=")]),
        (json!([7]), vec![("a://b", "7")]),
    ] {
        let (read, codes) = resource(&json!({ "contents": contents })).await;
        let read: Vec<_> = read.iter().map(|(uri, body)| (uri.as_str(), body.as_str())).collect();
        assert_eq!((read, codes), (expected, vec!["unreadable_content"]), "{contents}");
    }
    assert_eq!(resource(&json!({ "contents": [], "messages": [] })).await, (vec![], vec![]));
}

#[tokio::test]
async fn completions_are_read_value_by_value() {
    for (result, values, is_odd) in [
        (json!({ "completion": { "values": ["a", 7, null] } }), vec!["a"], true),
        (json!({ "completion": { "values": "a" } }), vec!["a"], true),
        (json!({ "completion": ["a", "b"] }), vec!["a", "b"], true),
        (json!({ "completion": { "values": ["a"], "total": "1", "hasMore": "no" } }), vec!["a"], true),
        (json!({ "completion": { "values": ["a"], "total": -1 } }), vec!["a"], true),
        (json!({ "completion": { "values": ["a"], "total": 1, "hasMore": false } }), vec!["a"], false),
    ] {
        let params = json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "v" } });
        let params = serde_json::from_value(params).unwrap();
        let (set, read) = answered(|set| async move { set.complete(params).await }, &result).await;
        assert_eq!(read.unwrap().completion.values, values, "{result}");
        assert_eq!(codes(&set), if is_odd { vec!["unreadable_content"] } else { vec![] }, "{result}");
    }
}

#[tokio::test]
async fn an_acknowledgement_may_have_any_form() {
    for result in
        [json!(null), json!([]), json!("ok"), json!(true), json!({ "a": 1 }), json!({ "tools": [] })]
    {
        let (_, set) =
            answered(|set| async move { set.set_log_level(LoggingLevel::Info).await }, &result).await;
        set.unwrap_or_else(|error| panic!("{result}: {error}"));
        let (_, subscribed) = answered(|set| async move { set.subscribe("a://b").await }, &result).await;
        subscribed.unwrap_or_else(|error| panic!("{result}: {error}"));
    }
}

#[tokio::test]
async fn a_result_of_another_request_is_an_error_that_says_so() {
    for result in [json!({}), json!(null), json!([]), json!("a"), json!({ "tools": [] })] {
        let (_, prompt) = answered(|set| async move { set.get_prompt("p", Map::new()).await }, &result).await;
        let error = prompt.unwrap_err().to_string();
        assert!(error.contains("it is of another kind"), "{result}: {error}");
    }
}
