//! Shapes: <https://platform.openai.com/docs/guides/function-calling?api-mode=responses> and
//! <https://platform.openai.com/docs/api-reference/responses-streaming>.

use serde_json::{Value, json};
use tool_runtime::{ToolOutput, ToolResult, dialect::Dialect};

use super::{assembled, bound, call, calls, cut_off, document, of_all_kinds, refused, told, whole as uncut};

fn dialect() -> Dialect {
    Dialect::openai_responses()
}

fn response(output: &Value) -> Value {
    json!({ "id": "resp_1", "object": "response", "status": "completed", "error": null, "output": output })
}

fn function(call_id: &str, name: &str, arguments: &str) -> Value {
    json!({
        "type": "function_call",
        "id": format!("fc_{call_id}"),
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": "completed",
    })
}

fn begins(index: u64, call_id: &str, name: &str) -> Value {
    let mut item = function(call_id, name, "");
    item["status"] = "in_progress".into();
    json!({ "type": "response.output_item.added", "output_index": index, "item": item })
}

fn part(index: u64, delta: &str) -> Value {
    json!({
        "type": "response.function_call_arguments.delta",
        "item_id": "fc_1",
        "output_index": index,
        "delta": delta,
    })
}

fn whole(index: u64, arguments: &str) -> Value {
    json!({
        "type": "response.function_call_arguments.done",
        "item_id": "fc_1",
        "output_index": index,
        "arguments": arguments,
    })
}

#[test]
fn definitions_always_contain_strict() {
    let loose = bound(&dialect()).definitions().clone();
    assert_eq!(
        (&loose[0]["name"], &loose[0]["strict"], &loose[0]["type"]),
        (&json!("add"), &json!(false), &json!("function"))
    );
    let strict = bound(&Dialect::openai_responses_strict()).definitions().clone();
    assert_eq!(strict[0]["strict"], true);
}

#[test]
fn calls_have_their_call_id_and_other_items_are_skipped() {
    let two = response(&json!([
        { "type": "reasoning", "id": "rs_1", "summary": [] },
        { "type": "web_search_call", "id": "ws_1", "status": "completed" },
        function("call_1", "add", "{\"a\":1}"),
        { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Hm." }] },
        function("call_2", "draw", "{\"arguments\": {}}"),
    ]));
    assert_eq!(calls(&dialect(), &two), [call("call_1", "add", "{\"a\":1}"), call("call_2", "draw", "{}")]);
}

#[test]
fn broken_arguments_are_a_call() {
    let broken = response(&json!([function("call_1", "add", "{\"a\":")]));
    assert_eq!(calls(&dialect(), &broken), [call("call_1", "add", "{\"a\":")]);
}

#[test]
fn a_malformed_response_is_refused_with_its_place() {
    assert_eq!(refused(&dialect(), &json!({ "choices": [] })), "/output: expected a list, got nothing");
}

#[test]
fn interleaved_deltas_are_assembled_by_output_index() {
    let events = [
        json!({ "type": "response.created", "response": { "id": "resp_1" } }),
        begins(1, "call_1", "add"),
        begins(2, "call_2", "add"),
        part(2, "{\"a\""),
        part(1, "{\"a\":1"),
        part(2, ":2}"),
        part(1, "}"),
        whole(1, "{\"a\":1}"),
        whole(2, "{\"a\":2}"),
        json!({ "type": "response.output_item.done", "output_index": 2, "item": function("call_2", "add", "{\"a\":2}") }),
        json!({ "type": "response.completed", "response": { "status": "completed" } }),
    ];
    let done = assembled(&dialect(), &events);
    assert_eq!(told(&done.calls), [call("call_1", "add", "{\"a\":1}"), call("call_2", "add", "{\"a\":2}")]);
    assert!(done.ended && cut_off(&done.calls).is_empty());
}

// As in the SDK's `tests/lib/responses/test_lifecycle_replacements.py`.
#[test]
fn an_item_without_deltas_contains_its_arguments() {
    let item = function("call_1", "add", "{\"a\":1}");
    let events = [
        json!({ "type": "response.output_item.added", "output_index": 7, "item": item }),
        json!({ "type": "response.output_item.done", "output_index": 7, "item": item }),
        json!({ "type": "response.completed", "response": { "status": "completed" } }),
    ];
    let done = assembled(&dialect(), &events);
    assert_eq!(told(&done.calls), [call("call_1", "add", "{\"a\":1}")]);
}

#[test]
fn a_call_without_its_done_event_is_incomplete() {
    let mut item = function("call_2", "add", "{\"a\"");
    item["status"] = "incomplete".into();
    let events = [
        begins(0, "call_1", "add"),
        whole(0, "{}"),
        begins(1, "call_2", "add"),
        part(1, "{\"a\""),
        json!({ "type": "response.output_item.done", "output_index": 1, "item": item }),
        json!({ "type": "response.incomplete", "response": { "status": "incomplete" } }),
    ];
    let done = assembled(&dialect(), &events);
    assert_eq!(uncut(&done.calls), [call("call_1", "add", "{}")]);
    assert_eq!(cut_off(&done.calls), [call("call_2", "add", "{\"a\"")]);
}

#[test]
fn an_error_event_of_a_stream_is_an_error() {
    let cases = [
        (
            json!({ "type": "error", "code": "x", "message": "Too much" }),
            ": expected calls, got an error of the provider: Too much",
        ),
        (
            json!({ "type": "response.failed", "response": { "error": { "message": "No" } } }),
            "/response/error: expected calls, got an error of the provider: No",
        ),
    ];
    for (event, message) in cases {
        let why = bound(&dialect()).assembler().push(&event).unwrap_err().to_string();
        assert!(why.ends_with(message), "{why}");
    }
}

#[test]
fn each_result_is_an_item_with_its_images() {
    let told =
        |id: &str, output: Value| json!({ "type": "function_call_output", "call_id": id, "output": output });
    let text = |text: &str| json!({ "type": "input_text", "text": text });
    let picture = json!({ "type": "input_image", "image_url": "data:image/png;base64,cG5n" });
    let expected = json!([
        told("text", json!("a<b & \"é\"")),
        told("number", json!("5")),
        told("object", json!(r#"{"temp":72}"#)),
        told("nothing", json!("")),
        told("value", json!("[1,2]")),
        told("picture", json!([text("Here:"), picture])),
        told("document", json!("file:///notes:\nHi")),
        told(
            "archive",
            json!([text(
                "[application/zip, 4 bytes: not shown, the provider does not accept this type of file]"
            )])
        ),
        told("failed", json!([text("Error: the disk is full"), picture])),
        told("failure", json!("Error: HTTP 503")),
    ]);
    assert_eq!(bound(&dialect()).results(&of_all_kinds()), expected);
}

#[test]
fn a_custom_tool_call_is_answered_by_a_custom_tool_output() {
    let custom = json!({ "type": "custom", "name": "run_code", "description": "Runs code." });
    let bound = bound(&dialect().with_native(custom).with_native(json!({ "type": "web_search" })));
    let item = json!({ "type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "run_code", "input": "1 + 1" });
    let calls = bound.calls(&response(&json!([item, function("call_2", "add", "{}")]))).unwrap();
    assert_eq!(told(&calls), [call("call_1", "run_code", "1 + 1"), call("call_2", "add", "{}")]);
    let answers = calls.into_iter().map(|it| ToolResult::new(it.id, it.name, Ok(ToolOutput::from("2"))));
    let expected = json!([
        { "type": "custom_tool_call_output", "call_id": "call_1", "output": "2" },
        { "type": "function_call_output", "call_id": "call_2", "output": "2" },
    ]);
    assert_eq!(bound.results(&answers.collect::<Vec<_>>()), expected);
}

#[test]
fn the_input_of_a_custom_tool_may_arrive_whole() {
    let item = |status: &str| json!({ "type": "custom_tool_call", "id": "ctc_1", "call_id": "1", "name": "draw", "input": "", "status": status });
    let events = [
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item("in_progress") }),
        json!({ "type": "response.custom_tool_call_input.done", "item_id": "ctc_1", "output_index": 0, "input": "a circle" }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item("completed") }),
        json!({ "type": "response.completed", "response": response(&json!([])) }),
    ];
    let done = assembled(&dialect(), &events);
    assert!(done.calls[0].arguments.as_str().contains("a circle"), "{:?}", done.calls[0]);
}

#[test]
fn streamed_arguments_are_kept_if_the_done_item_has_none() {
    let mut item = function("1", "add", "");
    item["id"] = "fc_1".into();
    let events = [
        begins(0, "1", "add"),
        part(0, r#"{"a":1}"#),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": response(&json!([])) }),
    ];
    let done = assembled(&dialect(), &events);
    assert_eq!(told(&done.calls), [call("1", "add", r#"{"a":1}"#)]);
    assert!(cut_off(&done.calls).is_empty());
}

#[test]
fn a_call_that_is_never_marked_as_done_is_incomplete() {
    let end = json!({ "type": "response.completed", "response": response(&json!([])) });
    let done = assembled(&dialect(), &[begins(0, "1", "add"), part(0, r#"{"a":1}"#), end]);
    assert_eq!(cut_off(&done.calls), [call("1", "add", r#"{"a":1}"#)]);
}

// Some servers omit the events of an item, or the last one.
#[test]
fn a_call_without_an_end_event_is_read_from_the_completed_response() {
    let whole = response(&json!([function("1", "add", r#"{"a":2}"#)]));
    let end = json!({ "type": "response.completed", "response": whole });
    let done = assembled(&dialect(), &[begins(0, "1", "add"), part(0, r#"{"a""#), end]);
    assert_eq!(told(&done.calls), [call("1", "add", r#"{"a":2}"#)]);
    assert!(cut_off(&done.calls).is_empty());
}

#[test]
fn a_failure_is_marked_in_its_first_text() {
    let output = ToolOutput::from("torn").with_content(tool_runtime::Content::image(*b"png", "image/png"));
    let output = output.with_content(tool_runtime::Content::text("later")).as_failure();
    let result = ToolResult::new("1".to_owned().into(), "add", Ok(output));
    let written = bound(&dialect()).results(&[result]);
    let parts = written[0]["output"].as_array().unwrap().clone();
    assert_eq!(parts.len(), 3, "{parts:?}");
    assert_ne!(parts[0]["text"], "torn");
    assert_eq!(parts[2]["text"], "later");
}

// Some servers send the id of a call with its end.
#[test]
fn a_call_without_an_id_takes_the_id_of_its_done_item() {
    let mut begun = begins(0, "", "add");
    begun["item"]["call_id"] = Value::Null;
    let item = function("call_1", "add", r#"{"a":1}"#);
    let events = [
        begun,
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": response(&json!([])) }),
    ];
    let done = assembled(&dialect(), &events);
    assert_eq!(uncut(&done.calls), [call("call_1", "add", r#"{"a":1}"#)]);
    assert_eq!(done.calls.len(), 1);
}

// Some servers send no output index.
#[test]
fn calls_without_an_output_index_are_separated_by_their_ids() {
    let begun = |id: &str| json!({ "type": "response.output_item.added", "item": function(id, "add", "") });
    let delta = |id: &str, delta: &str| {
        let item = format!("fc_{id}");
        json!({ "type": "response.function_call_arguments.delta", "item_id": item, "delta": delta })
    };
    let done = |id: &str, arguments: &str| json!({ "type": "response.output_item.done", "item": function(id, "add", arguments) });
    let events = [
        begun("1"),
        begun("2"),
        delta("1", r#"{"a":"#),
        delta("2", r#"{"a":2}"#),
        delta("1", "1}"),
        done("2", ""),
        done("1", ""),
        done("3", r#"{"a":3}"#),
        json!({ "type": "response.completed", "response": response(&json!([])) }),
    ];
    let all = assembled(&dialect(), &events);
    let expected =
        [call("1", "add", r#"{"a":1}"#), call("2", "add", r#"{"a":2}"#), call("3", "add", r#"{"a":3}"#)];
    assert_eq!(uncut(&all.calls), expected);
    assert_eq!(all.calls.len(), 3);
}

#[test]
fn the_input_of_a_custom_tool_is_a_text() {
    let item = |input: Value| {
        response(&json!([{ "type": "custom_tool_call", "call_id": "1", "name": "draw", "input": input }]))
    };
    assert_eq!(calls(&dialect(), &item("a circle".into())), [call("1", "draw", "a circle")]);
    // Another value costs the call alone, whose text is that value.
    assert_eq!(calls(&dialect(), &item(json!({}))), [call("1", "draw", "{}")]);
    assert_eq!(calls(&dialect(), &item(Value::Null)), [call("1", "draw", "{}")]);
}

// An incomplete call must not run, whether the event or the status marks it.
#[test]
fn a_response_is_incomplete_by_its_event_or_its_status() {
    let item = json!({
        "type": "response.output_item.done",
        "output_index": 0,
        "item": function("1", "add", r#"{"a":1}"#),
    });
    let mut length = response(&json!([]));
    length["status"] = "incomplete".into();
    length["incomplete_details"] = json!({ "reason": "max_output_tokens" });
    let mut cancelled = response(&json!([]));
    cancelled["status"] = "cancelled".into();
    let cases = [
        ("response.completed", response(&json!([])), None),
        ("response.completed", length.clone(), Some("max_output_tokens")),
        ("response.incomplete", length, Some("max_output_tokens")),
        ("response.completed", cancelled, Some("cancelled")),
        ("response.incomplete", response(&json!([])), Some("incomplete")),
    ];
    for (kind, response, expected) in cases {
        let end = json!({ "type": kind, "response": response });
        let done = assembled(&dialect(), &[item.clone(), end]);
        let reason = done.calls[0].incomplete.as_ref().and_then(|mark| mark.reason.as_deref());
        assert_eq!(reason, expected, "{kind}");
        assert_eq!(done.calls[0].completed().is_ok(), expected.is_none(), "{kind}");
    }
}

#[test]
fn a_document_has_its_name_or_a_default_name() {
    for (uri, name) in [("", "document.pdf"), ("file:///a.pdf", "file:///a.pdf")] {
        let written = bound(&dialect()).results(&[document(uri)]);
        let data = "data:application/pdf;base64,cGRm";
        let expected = json!([{ "type": "input_file", "filename": name, "file_data": data }]);
        assert_eq!(written[0]["output"], expected);
    }
}

// A call that arrived before the failure is kept as incomplete, with the reason.
#[test]
fn a_call_of_a_failed_response_is_incomplete() {
    let done = json!({
        "type": "response.output_item.done",
        "output_index": 0,
        "item": function("1", "add", "{}"),
    });
    let mut assembler = bound(&dialect()).assembler();
    assembler.push(&done).unwrap();
    let failed = json!({ "type": "response.failed", "response": { "error": { "message": "No" } } });
    assert!(assembler.push(&failed).is_err());
    let calls = assembler.finish().calls;
    let mark = calls[0].incomplete.as_ref().unwrap();
    assert_eq!(mark.reason.as_deref(), Some("failed"));
}

// Items without an id are separated by their indices and by their done events.
#[test]
fn calls_without_an_id_are_separated_by_their_indices_and_done_events() {
    let item = |kind: &str, at: u64, arguments: &str| {
        let mut item = function("", "add", arguments);
        item["call_id"] = Value::Null;
        json!({ "type": format!("response.output_item.{kind}"), "output_index": at, "item": item })
    };
    let end = |output: Value| json!({ "type": "response.completed", "response": response(&output) });
    let seen = |events: &[Value]| -> Vec<_> {
        let done = assembled(&dialect(), events);
        done.calls.iter().map(|it| it.arguments.as_str().to_owned()).collect()
    };
    let one = r#"{"a":1}"#;
    let two = r#"{"a":2}"#;
    assert_eq!(seen(&[item("added", 0, ""), item("done", 0, one), end(json!([]))]), [one]);
    assert_eq!(seen(&[item("done", 0, one), item("done", 0, two), end(json!([]))]), [one, two]);
    // The completed response has the id of a started call, at its index.
    let whole = json!([{ "type": "reasoning" }, function("1", "add", one)]);
    assert_eq!(seen(&[item("added", 1, ""), end(whole)]), [one]);
    // It does not remove calls that were done.
    let done =
        json!({ "type": "response.output_item.done", "output_index": 0, "item": function("1", "add", one) });
    assert_eq!(seen(&[done, end(json!([function("1", "add", two)]))]), [one]);
}

#[test]
fn arguments_may_be_an_object() {
    let mut item = function("1", "add", "");
    item["arguments"] = json!({ "a": 1 });
    assert_eq!(calls(&dialect(), &response(&json!([item]))), [call("1", "add", r#"{"a":1}"#)]);
}
