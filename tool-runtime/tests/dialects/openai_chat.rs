//! Shapes: <https://platform.openai.com/docs/guides/function-calling?api-mode=chat> and
//! <https://platform.openai.com/docs/api-reference/chat-streaming>.

use serde_json::{Value, json};
use tool_runtime::{ErrorKind, ToolOutput, ToolResult, call::CallId, dialect::Dialect};

use super::{
    add, assembled, bound, call, calls, cut_off, document, of_all_kinds, refused, told, tools, whole,
};

fn dialect() -> Dialect {
    Dialect::openai_chat()
}

/// Returns the response of the function-calling guide with these calls.
fn response(tool_calls: &Value) -> Value {
    json!({
        "id": "chatcmpl-abc123",
        "object": "chat.completion",
        "model": "gpt-4.1",
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": null, "tool_calls": tool_calls },
            "finish_reason": "tool_calls",
        }],
        "usage": { "prompt_tokens": 82, "completion_tokens": 17, "total_tokens": 99 },
    })
}

fn function(id: &str, name: &str, arguments: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
}

/// Returns a chunk as in the streaming reference.
fn chunk(delta: &Value, finish_reason: Option<&str>) -> Value {
    json!({
        "id": "chatcmpl-123",
        "object": "chat.completion.chunk",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish_reason }],
    })
}

fn begins(index: u64, id: &str, name: &str) -> Value {
    let function = json!({ "name": name, "arguments": "" });
    chunk(
        &json!({ "tool_calls": [{ "index": index, "id": id, "type": "function", "function": function }] }),
        None,
    )
}

fn part(index: u64, text: &str) -> Value {
    chunk(&json!({ "tool_calls": [{ "index": index, "function": { "arguments": text } }] }), None)
}

// A19
#[test]
fn definitions_are_functions_sorted_by_name() {
    let definitions = bound(&dialect()).definitions().clone();
    assert_eq!(definitions[0]["type"], "function");
    assert_eq!(definitions[0]["function"]["name"], "add");
    assert_eq!(definitions[0]["function"]["strict"], false);
    assert_eq!(definitions[1]["function"]["name"], "draw");
    assert_eq!(definitions[0]["function"]["parameters"], schema_of_add());
}

fn schema_of_add() -> Value {
    let tools = tool_runtime::Registry::builder().tool::<add>().build().unwrap();
    tools.definitions()[0].input_schema().as_value().clone()
}

#[test]
fn a_call_has_its_id_and_its_original_arguments() {
    let one = response(&json!([function("call_12345xyz", "add", "{\"a\": 1,\"b\":2.0}")]));
    assert_eq!(calls(&dialect(), &one), [call("call_12345xyz", "add", "{\"a\": 1,\"b\":2.0}")]);
}

#[test]
fn parallel_calls_are_in_the_order_of_the_response() {
    let two = response(&json!([function("call_1", "draw", "{}"), function("call_2", "add", "{}")]));
    assert_eq!(calls(&dialect(), &two), [call("call_1", "draw", "{}"), call("call_2", "add", "{}")]);
}

#[test]
fn a_response_without_calls_has_none() {
    let text = json!({ "choices": [{ "message": { "role": "assistant", "content": "Hi." } }] });
    assert!(calls(&dialect(), &text).is_empty());
}

#[test]
fn arguments_that_are_not_json_fail_validation_of_the_call() {
    let broken = response(&json!([function("call_1", "add", "{\"a\": 1,"), function("call_2", "add", "{}")]));
    let calls = bound(&dialect()).calls(&broken).unwrap();
    assert_eq!(calls.len(), 2);
    let error = tools().check("add", calls[0].arguments.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArguments);
}

// As Ollama and others send them.
#[test]
fn arguments_may_be_an_object_and_an_id_may_be_absent() {
    let tool_calls = json!([{ "function": { "name": "add", "arguments": { "a": 1, "b": 2 } } }]);
    let calls = bound(&dialect()).calls(&response(&tool_calls)).unwrap();
    assert_eq!(calls[0].arguments.as_str(), r#"{"a":1,"b":2}"#);
    assert!(calls[0].id.is_generated());
}

#[test]
fn an_unknown_tool_keeps_its_name() {
    let unknown = response(&json!([function("call_1", "subtract", "{}")]));
    assert_eq!(calls(&dialect(), &unknown), [call("call_1", "subtract", "{}")]);
}

#[test]
fn a_malformed_response_is_refused_with_its_place() {
    let cases = [
        (json!({}), "/choices: expected a list, got nothing"),
        (
            json!({ "choices": [{ "message": {
                "function_call": { "name": "add", "arguments": "{}" },
                "tool_calls": [function("call_1", "add", "{}")],
            }}]}),
            "/choices/0/message/function_call: expected calls in `tool_calls` or here, and not in both, got an object",
        ),
        (
            json!({ "error": { "message": "Rate limit reached", "type": "requests" } }),
            "/error: expected calls, got an error of the provider: Rate limit reached",
        ),
    ];
    for (response, message) in cases {
        assert_eq!(refused(&dialect(), &response), message);
    }
}

#[test]
fn calls_in_two_choices_are_refused() {
    let mut both = response(&json!([function("call_1", "add", "{}")]));
    let choice = both["choices"][0].clone();
    both["choices"].as_array_mut().unwrap().push(choice);
    let why = "/choices/1/message/tool_calls: expected calls in one choice only, got a list";
    assert_eq!(refused(&dialect(), &both), why);
}

#[test]
fn a_wrapped_union_of_arguments_is_unwrapped() {
    let definitions = bound(&dialect()).definitions().clone();
    let parameters = &definitions[1]["function"]["parameters"];
    assert_eq!(parameters["required"], json!(["arguments"]));
    assert!(parameters.get("oneOf").is_none());
    let held = r#"{ "arguments": {"shape": "circle", "radius": 1.50} }"#;
    let inside = [call("call_1", "draw", r#"{"shape": "circle", "radius": 1.50}"#)];
    assert_eq!(calls(&dialect(), &response(&json!([function("call_1", "draw", held)]))), inside);
    // Arguments without the wrapper are accepted.
    let plain = r#"{"shape":"circle","radius":1.5}"#;
    let as_it_is = [call("call_1", "draw", plain)];
    assert_eq!(calls(&dialect(), &response(&json!([function("call_1", "draw", plain)]))), as_it_is);
}

#[test]
fn interleaved_deltas_are_assembled_by_index() {
    let events = [
        chunk(&json!({ "role": "assistant", "content": null }), None),
        begins(0, "call_1", "add"),
        begins(1, "call_2", "draw"),
        part(1, "{\"arguments\":{\"shape\""),
        part(0, "{\"a\":1,"),
        part(1, ":\"circle\"}}"),
        part(0, "\"b\":2}"),
        chunk(&json!({}), Some("tool_calls")),
        // The last chunk with `stream_options: { include_usage: true }`.
        json!({ "choices": [], "usage": { "total_tokens": 99 } }),
    ];
    let done = assembled(&dialect(), &events);
    assert_eq!(
        told(&done.calls),
        [call("call_1", "add", r#"{"a":1,"b":2}"#), call("call_2", "draw", r#"{"shape":"circle"}"#)]
    );
    assert!(done.ended && cut_off(&done.calls).is_empty());
}

// As some compatible servers send it.
#[test]
fn calls_with_the_same_index_are_separated_by_their_ids() {
    let events = [
        begins(0, "call_1", "add"),
        part(0, "{\"a\":1}"),
        begins(0, "call_2", "add"),
        part(0, "{\"a\":2}"),
        chunk(&json!({}), Some("stop")),
    ];
    let done = assembled(&dialect(), &events);
    assert_eq!(told(&done.calls), [call("call_1", "add", "{\"a\":1}"), call("call_2", "add", "{\"a\":2}")]);
}

#[test]
fn an_interrupted_stream_has_no_complete_call() {
    let done = assembled(&dialect(), &[begins(0, "call_1", "add"), part(0, "{\"a\":1}")]);
    assert!(whole(&done.calls).is_empty() && !done.ended);
    assert_eq!(cut_off(&done.calls), [call("call_1", "add", "{\"a\":1}")]);
}

#[test]
fn a_response_at_the_token_limit_keeps_its_complete_calls() {
    let events = [
        begins(0, "call_1", "add"),
        part(0, "{\"a\":1}"),
        begins(1, "call_2", "add"),
        part(1, "{\"a\":"),
        chunk(&json!({}), Some("length")),
    ];
    let done = assembled(&dialect(), &events);
    assert_eq!(whole(&done.calls), [call("call_1", "add", "{\"a\":1}")]);
    assert_eq!(cut_off(&done.calls), [call("call_2", "add", "{\"a\":")]);
}

#[test]
fn broken_arguments_of_a_whole_stream_are_a_call() {
    let events = [begins(0, "call_1", "add"), part(0, "{\"a\" 1}"), chunk(&json!({}), Some("tool_calls"))];
    let done = assembled(&dialect(), &events);
    assert_eq!(told(&done.calls), [call("call_1", "add", "{\"a\" 1}")]);
}

#[test]
fn a_malformed_event_is_refused_with_its_place() {
    let event = json!({ "error": { "message": "The server had an error" } });
    let mut assembler = bound(&dialect()).assembler();
    assert_eq!(
        assembler.push(&event).unwrap_err().to_string(),
        "/error: expected calls, got an error of the provider: The server had an error"
    );
}

// The legacy form, with one call per message.
#[test]
fn a_legacy_function_call_is_answered_by_a_function_message() {
    let dialect = dialect().with_prefix("my_");
    let whole = json!({ "choices": [{
        "finish_reason": "function_call",
        "message": { "role": "assistant", "content": null, "function_call": { "name": "my_add", "arguments": "{\"a\":1}" } },
    }]});
    let bound = bound(&dialect);
    let of_whole = bound.calls(&whole).unwrap();
    let events = [
        chunk(&json!({ "function_call": { "name": "my_add", "arguments": "" } }), None),
        chunk(&json!({ "function_call": { "arguments": "{\"a\":" } }), None),
        chunk(&json!({ "function_call": { "arguments": "1}" } }), None),
        chunk(&json!({}), Some("function_call")),
    ];
    let done = assembled(&dialect, &events);
    assert!(done.ended && cut_off(&done.calls).is_empty());
    let calls = [&of_whole[0], &done.calls[0]];
    for call in calls {
        assert_eq!((&*call.name, call.arguments.as_str()), ("add", "{\"a\":1}"));
        let result = ToolResult::new(call.id.clone(), call.name.clone(), Ok(ToolOutput::from("5")));
        let message = json!([{ "role": "function", "name": "my_add", "content": "5" }]);
        assert_eq!(bound.results(&[result]), message);
    }
    assert_ne!(calls[0].id, calls[1].id);
}

#[test]
fn a_stream_must_not_mix_tool_calls_and_function_calls() {
    let mut assembler = bound(&dialect()).assembler();
    assembler.push(&begins(0, "call_1", "add")).unwrap();
    let why = assembler.push(&chunk(&json!({ "function_call": { "name": "add", "arguments": "{}" } }), None));
    let text = "/choices/0/delta/function_call: expected calls in `tool_calls` or here, and not in both, got an object";
    assert_eq!(why.unwrap_err().to_string(), text);
    let mut assembler = bound(&dialect()).assembler();
    assembler.push(&chunk(&json!({ "function_call": { "name": "add", "arguments": "" } }), None)).unwrap();
    let why = assembler.push(&part(0, "{}")).unwrap_err();
    let text =
        "/choices/0/delta/tool_calls: expected calls here or in `function_call`, and not in both, got a list";
    assert_eq!(why.to_string(), text);
}

#[test]
fn a_result_keeps_any_id_of_the_provider() {
    let id = "function_call_1";
    let given = ToolResult::new(CallId::from(id), "add", Ok(ToolOutput::from("5")));
    let told = json!([{ "role": "tool", "tool_call_id": id, "content": "5" }]);
    assert_eq!(bound(&dialect()).results(&[given]), told);
}

// D05, D12
#[test]
fn each_result_is_a_message_and_images_follow_in_one_message() {
    let told = |id: &str, content: &str| json!({ "role": "tool", "tool_call_id": id, "content": content });
    let shown = |id: &str| json!({ "type": "text", "text": format!("From add ({id}):") });
    let picture = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,cG5n" } });
    let expected = json!([
        told("text", "a<b & \"é\""),
        told("number", "5"),
        told("object", r#"{"temp":72}"#),
        told("nothing", ""),
        told("value", "[1,2]"),
        told("picture", "Here:\n[image/png: in the message below]"),
        told("document", "file:///notes:\nHi"),
        told("archive", "[application/zip, 4 bytes: not shown, the provider does not accept this type of file]"),
        told("failed", "Error: the disk is full\n[image/png: in the message below]"),
        told("failure", "Error: HTTP 503"),
        { "role": "user", "content": [shown("picture"), picture.clone(), shown("failed"), picture] },
    ]);
    assert_eq!(bound(&dialect()).results(&of_all_kinds()), expected);
}

#[test]
fn calls_of_another_choice_are_refused_but_its_text_is_accepted() {
    let of = |delta: Value| json!({ "choices": [{ "index": 1, "delta": delta }] });
    let mut assembler = bound(&dialect()).assembler();
    assembler.push(&of(json!({ "content": "Hm." }))).unwrap();
    let function = json!({ "name": "add", "arguments": "{}" });
    let called = json!([{ "index": 0, "id": "1", "function": function }]);
    for delta in [json!({ "tool_calls": called }), json!({ "function_call": function })] {
        let error = assembler.push(&of(delta)).unwrap_err().to_string();
        assert!(error.contains("expected calls in the first choice only"), "{error}");
    }
}

#[test]
fn a_document_has_its_name_or_a_default_name() {
    for (uri, name) in [("", "document.pdf"), ("file:///a.pdf", "file:///a.pdf")] {
        let written = bound(&dialect()).results(&[document(uri)]);
        let file = json!({ "file_data": "data:application/pdf;base64,cGRm", "filename": name });
        assert_eq!(written[1]["content"][1], json!({ "type": "file", "file": file }));
    }
}

// Only a repeated name without an id may belong to the previous call.
#[test]
fn a_call_without_arguments_is_complete_unless_it_may_belong_to_the_previous_call() {
    let part = |index: u64, id: Option<&str>, name: &str, arguments: &str| {
        let call = json!({ "index": index, "id": id, "function": { "name": name, "arguments": arguments } });
        chunk(&json!({ "tool_calls": [call] }), None)
    };
    let first = part(0, Some("call_1"), "add", "{}");
    let cases = [
        (part(1, None, "draw", ""), true),
        (part(1, None, "add", ""), true),
        (part(0, Some("call_2"), "add", ""), true),
        (part(0, Some("call_2"), "draw", ""), true),
        (part(0, None, "draw", ""), true),
        (part(0, None, "add", ""), false),
    ];
    for (second, is_whole) in cases {
        let events = [first.clone(), second.clone(), chunk(&json!({}), Some("tool_calls"))];
        let mut assembler = bound(&dialect()).assembler();
        let read = events.iter().try_for_each(|event| assembler.push(event).map(drop));
        let wholes = read.map(|()| whole(&assembler.finish().calls).len());
        assert_eq!(wholes.ok(), Some(if is_whole { 2 } else { 1 }), "{second}");
    }
}

#[test]
fn the_input_of_a_custom_tool_is_a_text_with_or_without_its_type() {
    let custom = |input: Value| json!({ "id": "1", "custom": { "name": "run", "input": input } });
    let mut kind = custom("1 + 1".into());
    kind["type"] = "custom".into();
    for item in [kind, custom("1 + 1".into())] {
        assert_eq!(calls(&dialect(), &response(&json!([item]))), [call("1", "run", "1 + 1")]);
    }
    // Another value costs the call alone, whose text is that value.
    assert_eq!(calls(&dialect(), &response(&json!([custom(json!({}))]))), [call("1", "run", "{}")]);
}

/// Returns the calls of a stream of parts, with their arguments.
fn pieced(parts: &[Value]) -> Vec<(String, String)> {
    let mut events: Vec<_> = parts.iter().map(|part| chunk(&json!({ "tool_calls": [part] }), None)).collect();
    for event in &mut events {
        event["choices"][0].as_object_mut().unwrap().remove("index");
    }
    events.push(chunk(&json!({}), Some("tool_calls")));
    let done = assembled(&dialect(), &events);
    done.calls.iter().map(|it| (it.name.to_string(), it.arguments.as_str().to_owned())).collect()
}

// As some compatible servers send it.
#[test]
fn parts_are_assigned_to_calls_without_indices_or_ids() {
    let function = |name: Option<&str>, text: &str| match name {
        Some(name) => json!({ "name": name, "arguments": text }),
        None => json!({ "arguments": text }),
    };
    let part = |id: Option<&str>, name: Option<&str>, text: &str| json!({ "index": 0, "id": id, "function": function(name, text) });
    let told = |all: &[(&str, &str)]| -> Vec<_> {
        all.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    };
    // Without indices, a name starts a call.
    let bare = |name: &str, text: &str| json!({ "function": function(Some(name), text) });
    let seen = pieced(&[bare("add", ""), bare("add", r#"{"a":1}"#)]);
    assert_eq!(seen.len(), 2, "{seen:?}");
    // The first id for an index starts a new call if the name differs, and else belongs to the call without an id.
    let seen = pieced(&[part(None, Some("add"), "{"), part(Some("x"), Some("subtract"), "{}")]);
    assert_eq!(seen, told(&[("add", "{"), ("subtract", "{}")]));
    let seen = pieced(&[
        part(None, Some("add"), ""),
        part(Some("a"), None, r#"{"a""#),
        part(Some("b"), Some("subtract"), "{}"),
        part(Some("a"), None, ":1}"),
    ]);
    assert_eq!(seen, told(&[("add", r#"{"a":1}"#), ("subtract", "{}")]));
}

#[test]
fn audio_is_sent_by_its_format() {
    for (mime_type, format) in [("audio/wav", "wav"), ("audio/x-wav", "wav"), ("audio/mpeg", "mp3")] {
        let sound = tool_runtime::Content::audio(*b"pdf", mime_type);
        let result = ToolResult::new("1".to_owned().into(), "add", Ok(ToolOutput::from(sound)));
        let written = bound(&dialect()).results(&[result]);
        let audio = json!({ "data": "cGRm", "format": format });
        let expected = json!({ "type": "input_audio", "input_audio": audio });
        assert_eq!(written[1]["content"][1], expected);
    }
}
