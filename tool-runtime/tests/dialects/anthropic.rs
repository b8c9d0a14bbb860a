//! Shapes: <https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/overview> and
//! <https://docs.anthropic.com/en/docs/build-with-claude/streaming>.

use serde_json::{Value, json};
use tool_runtime::{ToolOutput, ToolResult, dialect::Dialect};

use super::{assembled, bound, call, calls, cut_off, document, of_all_kinds, refused, told, whole};

fn dialect() -> Dialect {
    Dialect::anthropic()
}

fn response(content: &Value) -> Value {
    json!({ "id": "msg_01Aq9w938a90dw8q", "type": "message", "role": "assistant", "content": content, "stop_reason": "tool_use" })
}

fn tool_use(id: &str, name: &str, input: Value) -> Value {
    json!({ "type": "tool_use", "id": id, "name": name, "input": input })
}

fn begins(index: u64, id: &str, name: &str) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": tool_use(id, name, json!({})) })
}

fn part(index: u64, text: &str) -> Value {
    let delta = json!({ "type": "input_json_delta", "partial_json": text });
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn stops(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn ends(reason: &str) -> [Value; 2] {
    [
        json!({ "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null } }),
        json!({ "type": "message_stop" }),
    ]
}

#[test]
fn definitions_have_an_input_schema() {
    let definitions = bound(&dialect()).definitions().clone();
    assert_eq!(definitions[0]["name"], "add");
    assert_eq!(definitions[0]["description"], "Adds two numbers.");
    assert_eq!(definitions[0]["input_schema"]["properties"]["a"]["description"], "The one.");
    // The provider refuses a union at the root.
    assert_eq!(definitions[1]["input_schema"]["required"], json!(["arguments"]));
}

#[test]
fn calls_are_blocks_beside_text_and_server_tool_calls_are_skipped() {
    let two = response(&json!([
        { "type": "text", "text": "Let me see." },
        { "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": { "query": "x" } },
        { "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [] },
        tool_use("toolu_1", "add", json!({ "a": 1 })),
        tool_use("toolu_2", "draw", json!({ "arguments": { "shape": "circle" } })),
    ]));
    assert_eq!(
        calls(&dialect(), &two),
        [call("toolu_1", "add", r#"{"a":1}"#), call("toolu_2", "draw", r#"{"shape":"circle"}"#)]
    );
}

#[test]
fn a_response_without_calls_has_none() {
    assert!(calls(&dialect(), &response(&json!([{ "type": "text", "text": "Hi." }]))).is_empty());
}

#[test]
fn a_malformed_response_is_refused_with_its_place() {
    let cases = [
        (json!({ "content": 5 }), "/content: expected a list, got a number"),
        (
            json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } }),
            "/error: expected calls, got an error of the provider: Overloaded",
        ),
    ];
    for (response, message) in cases {
        assert_eq!(refused(&dialect(), &response), message);
    }
}

#[test]
fn interleaved_deltas_are_assembled_by_block() {
    let mut events = vec![
        json!({ "type": "message_start", "message": { "id": "msg_1", "content": [] } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "ping" }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Okay" } }),
        stops(0),
        begins(1, "toolu_1", "add"),
        begins(2, "toolu_2", "add"),
        part(1, ""),
        part(2, "{\"a\""),
        part(1, "{\"a\": 1,"),
        part(2, ": 3}"),
        part(1, " \"b\": 2}"),
        stops(1),
        stops(2),
        begins(3, "toolu_3", "add"),
        stops(3),
    ];
    events.extend(ends("tool_use"));
    let done = assembled(&dialect(), &events);
    assert_eq!(
        told(&done.calls),
        [
            call("toolu_1", "add", "{\"a\": 1, \"b\": 2}"),
            call("toolu_2", "add", "{\"a\": 3}"),
            call("toolu_3", "add", "{}")
        ]
    );
    assert!(done.ended && cut_off(&done.calls).is_empty());
}

#[test]
fn a_block_without_a_stop_event_is_incomplete() {
    let done = assembled(&dialect(), &[begins(0, "toolu_1", "add"), part(0, "{\"a\":1}")]);
    assert!(whole(&done.calls).is_empty() && !done.ended);
    assert_eq!(cut_off(&done.calls), [call("toolu_1", "add", "{\"a\":1}")]);
}

// The block is stopped in the middle of its arguments.
#[test]
fn a_response_at_the_token_limit_keeps_its_complete_calls() {
    let mut events = vec![begins(0, "toolu_1", "add"), part(0, "{}"), stops(0), begins(1, "toolu_2", "add")];
    events.extend([part(1, "{\"a\":"), stops(1)]);
    events.extend(ends("max_tokens"));
    let done = assembled(&dialect(), &events);
    assert_eq!(whole(&done.calls), [call("toolu_1", "add", "{}")]);
    assert_eq!(cut_off(&done.calls), [call("toolu_2", "add", "{\"a\":")]);
}

#[test]
fn broken_arguments_of_a_whole_block_are_a_call() {
    let mut events = vec![begins(0, "toolu_1", "add"), part(0, "{\"a\" 1}"), stops(0)];
    events.extend(ends("tool_use"));
    assert_eq!(told(&assembled(&dialect(), &events).calls), [call("toolu_1", "add", "{\"a\" 1}")]);
}

#[test]
fn an_error_event_of_a_stream_is_an_error() {
    let event = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let why = bound(&dialect()).assembler().push(&event).unwrap_err();
    assert_eq!((why.pointer.as_str(), why.got.as_str()), ("/error", "an error of the provider: Overloaded"));
}

// D12
#[test]
fn all_results_are_in_one_message_and_failures_contain_only_text() {
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    let told =
        |id: &str, content: Value| json!({ "type": "tool_result", "tool_use_id": id, "content": content });
    let picture =
        json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "cG5n" } });
    let expected = json!([
        told("text", text("a<b & \"é\"")),
        told("number", text("5")),
        told("object", text(r#"{"temp":72}"#)),
        { "type": "tool_result", "tool_use_id": "nothing" },
        told("value", text("[1,2]")),
        told("picture", json!([{ "type": "text", "text": "Here:" }, picture])),
        told("document", text("file:///notes:\nHi")),
        told("archive", text("[application/zip, 4 bytes: not shown, the provider does not accept this type of file]")),
        {
            "type": "tool_result",
            "tool_use_id": "failed",
            "content": [
                { "type": "text", "text": "the disk is full" },
                { "type": "text", "text": "[image/png: after the results]" },
            ],
            "is_error": true,
        },
        { "type": "tool_result", "tool_use_id": "failure", "content": text("HTTP 503"), "is_error": true },
        { "type": "text", "text": "From add (failed):" },
        picture,
    ]);
    let results = bound(&dialect()).results(&of_all_kinds());
    assert_eq!(results["role"], "user");
    assert_eq!(results["content"], expected);
}

// The provider refuses an empty text.
#[test]
fn an_empty_text_is_omitted_from_a_result() {
    let picture = || tool_runtime::Content::image(*b"png", "image/png");
    let result = |id: &str, output: ToolOutput| ToolResult::new(id.to_owned().into(), "add", Ok(output));
    let written = bound(&dialect()).results(&[
        result("1", ToolOutput::from(" \n")),
        result("2", ToolOutput::from("").with_content(picture())),
        result("3", ToolOutput::from("a").with_content(picture())),
    ]);
    let parts = |at: usize| written["content"][at]["content"].as_array().map(Vec::len);
    assert_eq!([parts(0), parts(1), parts(2)], [None, Some(1), Some(2)]);
    assert_eq!(written["content"][1]["content"][0]["type"], "image");
}

#[test]
fn a_document_is_sent_as_a_document_block() {
    let written = bound(&dialect()).results(&[document("file:///a.pdf")]);
    let source = json!({ "type": "base64", "media_type": "application/pdf", "data": "cGRm" });
    let expected = json!([{ "type": "document", "source": source }]);
    assert_eq!(written["content"][0]["content"], expected);
}
