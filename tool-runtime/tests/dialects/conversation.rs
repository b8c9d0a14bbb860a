//! Messages of users, messages of other models, and metadata of responses.

use std::sync::Arc;

use serde_json::{Value, json, value::RawValue};
use tool_runtime::{Content, ToolCall, dialect::Dialect};

use super::{assembled, bound};

/// Returns all dialects with their names, each without and with strict schemas.
fn dialects() -> Vec<(&'static str, Dialect)> {
    Dialect::all().into_iter().map(|dialect| (dialect.name(), dialect)).collect()
}

/// Returns the provider whose messages a dialect has.
fn family(name: &str) -> &str {
    name.trim_end_matches("-strict").trim_end_matches("-schema")
}

#[test]
fn a_message_of_another_model_has_its_text_and_its_calls() {
    let call = ToolCall::new("add", r#"{"a":1.50}"#).with_id("call_1");
    for (name, dialect) in dialects() {
        let bound = bound(&dialect);
        let written = |text: &str, calls: &[ToolCall]| bound.assistant_message(text, calls).get().to_owned();
        let call = std::slice::from_ref(&call);
        let chat_call =
            r#"{"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"a\":1.50}"}}"#;
        let item = r#"{"type":"function_call","call_id":"call_1","name":"add","arguments":"{\"a\":1.50}"}"#;
        let block = r#"{"type":"tool_use","id":"call_1","name":"add","input":{"a":1.50}}"#;
        let part = r#"{"functionCall":{"id":"call_1","name":"add","args":{"a":1.50}}}"#;
        let [both, text, calls, nothing] = match family(name) {
            "openai-chat" => [
                format!(r#"{{"role":"assistant","content":"I add.","tool_calls":[{chat_call}]}}"#),
                r#"{"role":"assistant","content":"I add."}"#.to_owned(),
                format!(r#"{{"role":"assistant","content":null,"tool_calls":[{chat_call}]}}"#),
                r#"{"role":"assistant","content":null}"#.to_owned(),
            ],
            "openai-responses" => [
                format!(r#"[{{"role":"assistant","content":"I add."}},{item}]"#),
                r#"[{"role":"assistant","content":"I add."}]"#.to_owned(),
                format!("[{item}]"),
                "[]".to_owned(),
            ],
            "gemini" => [
                format!(r#"{{"role":"model","parts":[{{"text":"I add."}},{part}]}}"#),
                r#"{"role":"model","parts":[{"text":"I add."}]}"#.to_owned(),
                format!(r#"{{"role":"model","parts":[{part}]}}"#),
                r#"{"role":"model","parts":[]}"#.to_owned(),
            ],
            _ => [
                format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"I add."}},{block}]}}"#),
                r#"{"role":"assistant","content":[{"type":"text","text":"I add."}]}"#.to_owned(),
                format!(r#"{{"role":"assistant","content":[{block}]}}"#),
                r#"{"role":"assistant","content":[]}"#.to_owned(),
            ],
        };
        assert_eq!(written("I add.", call), both, "{name}");
        assert_eq!(written("I add.", &[]), text, "{name}");
        assert_eq!(written("", call), calls, "{name}");
        assert_eq!(written("", &[]), nothing, "{name}");
        if name != "openai-chat" && name != "openai-chat-strict" {
            assert_eq!(written(" \n", call), calls, "{name}");
        }
    }
}

#[test]
fn gemini_does_not_receive_a_generated_id() {
    let message = bound(&Dialect::gemini()).assistant_message("", &[ToolCall::new("add", "{}")]);
    assert_eq!(message.get(), r#"{"role":"model","parts":[{"functionCall":{"name":"add","args":{}}}]}"#);
}

#[test]
fn each_provider_accepts_files_of_its_own_types() {
    let image = |mime_type: &str| Content::image(*b"png", mime_type);
    let sound = |mime_type: &str| Content::audio(*b"wav", mime_type);
    for (name, dialect) in dialects() {
        let bound = bound(&dialect);
        let accepts = [
            image("image/png"),
            image("image/gif"),
            image("image/heic"),
            image("image/tiff"),
            sound("audio/wav"),
            sound("audio/flac"),
        ]
        .map(|content| bound.accepts(&content));
        let expected = match family(name) {
            "openai-chat" => [true, true, false, false, true, false],
            "openai-responses" | "anthropic" => [true, true, false, false, false, false],
            "gemini" => [true, false, true, false, true, true],
            _ => [true; 6],
        };
        assert_eq!(accepts, expected, "{name}");
    }
}

#[test]
fn a_message_of_a_user_has_a_part_for_each_content() {
    let content = [Content::text("Look:"), Content::image(*b"png", "image/png")];
    for (name, dialect) in dialects() {
        let url = "data:image/png;base64,cG5n";
        let expected = match family(name) {
            "openai-chat" => json!({ "role": "user", "content": [
                { "type": "text", "text": "Look:" },
                { "type": "image_url", "image_url": { "url": url } },
            ] }),
            "openai-responses" => json!({ "role": "user", "content": [
                { "type": "input_text", "text": "Look:" },
                { "type": "input_image", "image_url": url },
            ] }),
            "gemini" => json!({ "role": "user", "parts": [
                { "text": "Look:" },
                { "inlineData": { "mimeType": "image/png", "data": "cG5n" } },
            ] }),
            _ => json!({ "role": "user", "content": [
                { "type": "text", "text": "Look:" },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "cG5n" } },
            ] }),
        };
        assert_eq!(bound(&dialect).user_message(&content), expected, "{name}");
    }
}

#[test]
fn metadata_of_later_parts_is_added_to_earlier_metadata() {
    let metadata = |parts: &[Value]| {
        let events: Vec<_> = parts
            .iter()
            .map(|part| {
                let mut event = json!({ "choices": [{ "index": 0, "delta": { "content": "a" } }] });
                event["extra"] = part.clone();
                event
            })
            .collect();
        assembled(&Dialect::openai_chat(), &events).metadata.get("extra").cloned()
    };
    for (parts, expected) in [
        (vec![json!(["a"]), json!(["a", "b"])], json!(["a", "b"])),
        (vec![json!(["a", "b"]), json!(["a", "b"])], json!(["a", "b"])),
        (vec![json!(["a", "b"]), json!(["a"])], json!(["a", "b", "a"])),
        (vec![json!(["a"]), json!(["b", "c"])], json!(["a", "b", "c"])),
        (vec![json!(["a", "b"]), json!(["a", "c"])], json!(["a", "b", "a", "c"])),
        (vec![json!({ "n": ["a"] }), json!({ "n": ["b"], "m": 1 })], json!({ "n": ["a", "b"], "m": 1 })),
        (vec![json!(1), json!(2)], json!(2)),
        (vec![json!("a"), json!(["b"])], json!(["b"])),
        (vec![json!("a"), json!([]), json!({}), json!(""), Value::Null], json!("a")),
    ] {
        assert_eq!(metadata(&parts), Some(expected), "{parts:?}");
    }
    assert_eq!(metadata(&[json!([]), json!({}), json!("")]), None);
    assert_eq!(metadata(&[json!(false)]), Some(json!(false)));
}

#[test]
fn a_response_is_read_from_each_form_of_json() {
    let text = r#"{"role":"assistant","content":[{"type":"text","text":"Hi."}],"stop_reason":"end_turn"}"#;
    let bound = bound(&Dialect::anthropic());
    let raw = RawValue::from_string(text.to_owned()).unwrap();
    let value: Value = serde_json::from_str(text).unwrap();
    let read = [
        bound.read(text),
        bound.read(&text),
        bound.read(&text.to_owned()),
        bound.read(&Box::new(text)),
        bound.read(&*raw),
        bound.read(&raw),
        bound.read(&value),
        bound.read(&Box::new(value.clone())),
    ];
    for read in read {
        assert_eq!(read.unwrap().text, "Hi.");
    }
}

#[test]
fn a_message_that_is_json_already_is_appended_unchanged() {
    let mut body = bound(&Dialect::anthropic()).body(json!({ "messages": [] })).unwrap();
    let message = r#"{"role":"user",  "content":1.50}"#;
    body.push_json(Arc::from(RawValue::from_string(message.to_owned()).unwrap()));
    assert_eq!(serde_json::to_string(&body).unwrap(), format!(r#"{{"messages":[{message}]}}"#));
}
