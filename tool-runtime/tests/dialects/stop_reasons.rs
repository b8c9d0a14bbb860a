//! Stop reasons and incomplete calls: F16, F20, F21, CF14.

use serde_json::{Value, json};
use tool_runtime::{
    CallOutcome, Executor, ToolCall, ToolDefinition, ToolName, builder::ExternalTool, dialect::Dialect,
    prelude::*, schema::InputSchema,
};

/// Deletes one file, or all.
#[tool(register = false)]
fn delete(file: Option<String>) -> String {
    file.unwrap_or_else(|| "all".to_owned())
}

/// A call in a response: its name, its arguments, and further members.
#[derive(Clone, Copy)]
struct Request {
    arguments: &'static str,
    /// The status of an item.
    status: &'static str,
}

const NONE: Request = completed_request("");
const EMPTY: Request = completed_request("{}");
const FULL: Request = completed_request(r#"{"file":"a"}"#);
const HALF: Request = completed_request(r#"{"file":"a"#);

const fn completed_request(arguments: &'static str) -> Request {
    Request { arguments, status: "completed" }
}

/// Returns the outcomes of the calls of a response: the deleted files, or `cut` with the reason.
fn became(
    dialect: &Dialect,
    calls: impl FnOnce(&tool_runtime::dialect::BoundTools) -> Vec<ToolCall>,
) -> Vec<String> {
    let tools = Registry::builder().tool::<delete>().build().unwrap();
    let calls = calls(&dialect.bind_tools(&tools));
    let outcomes = crate::run(Executor::new(tools).run(calls));
    let text = |it: &CallOutcome| it.result().unwrap().text().into_owned();
    let shortened = |text: String| {
        let cut = text
            .strip_prefix("Incomplete: the response ended")
            .and_then(|rest| rest.strip_suffix(" before this call did. Nothing was executed."));
        match cut {
            Some(reason) => format!("cut{reason}"),
            None => text.lines().next().unwrap_or_default().to_owned(),
        }
    };
    outcomes.iter().map(text).map(shortened).collect()
}

fn whole(dialect: &Dialect, response: &Value) -> Vec<String> {
    became(dialect, |bound| bound.calls(response).unwrap())
}

fn streamed(dialect: &Dialect, events: &[Value]) -> Vec<String> {
    became(dialect, |bound| {
        let mut assembler = bound.assembler();
        for event in events {
            assembler.push(event).unwrap();
        }
        assembler.finish().calls
    })
}

fn chat(calls: &[Request], reason: Value) -> Value {
    let call = |(at, it): (usize, &Request)| json!({ "id": format!("c{at}"), "type": "function", "function": { "name": "delete", "arguments": it.arguments } });
    let calls: Vec<_> = calls.iter().enumerate().map(call).collect();
    json!({ "choices": [{ "index": 0, "finish_reason": reason, "message": { "role": "assistant", "tool_calls": calls } }] })
}

fn chat_events(calls: &[Request], reason: Value) -> Vec<Value> {
    let chunk = |delta: Value, reason: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
    let mut events = Vec::new();
    for (at, it) in calls.iter().enumerate() {
        let function = json!({ "name": "delete", "arguments": "" });
        let begins = json!({ "index": at, "id": format!("c{at}"), "type": "function", "function": function });
        events.push(chunk(json!({ "tool_calls": [begins] }), Value::Null));
        let part = json!({ "index": at, "function": { "arguments": it.arguments } });
        events.push(chunk(json!({ "tool_calls": [part] }), Value::Null));
    }
    events.push(chunk(json!({}), reason));
    events
}

fn function_call(it: Request, reason: Value) -> Value {
    let call = json!({ "name": "delete", "arguments": it.arguments });
    json!({ "choices": [{ "finish_reason": reason, "message": { "role": "assistant", "function_call": call } }] })
}

fn function_call_events(it: Request, reason: Value) -> Vec<Value> {
    let call = json!({ "name": "delete", "arguments": it.arguments });
    vec![
        json!({ "choices": [{ "index": 0, "delta": { "function_call": call }, "finish_reason": null }] }),
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }),
    ]
}

fn item(at: usize, it: &Request) -> Value {
    json!({
        "type": "function_call", "id": format!("fc{at}"), "call_id": format!("c{at}"), "name": "delete",
        "arguments": it.arguments, "status": it.status,
    })
}

/// Returns a response with this status and reason.
fn responses(calls: &[Request], status: Value, reason: Value) -> Value {
    let output: Vec<_> = calls.iter().enumerate().map(|(at, it)| item(at, it)).collect();
    json!({ "status": status, "incomplete_details": { "reason": reason }, "error": null, "output": output })
}

fn responses_events(calls: &[Request], last: &str, reason: Value) -> Vec<Value> {
    let mut events = Vec::new();
    for (at, it) in calls.iter().enumerate() {
        let begins = item(at, &Request { arguments: "", status: "in_progress" });
        events.push(json!({ "type": "response.output_item.added", "output_index": at, "item": begins }));
        events.push(json!({
            "type": "response.function_call_arguments.delta", "output_index": at, "item_id": format!("fc{at}"),
            "delta": it.arguments,
        }));
        events.push(json!({ "type": "response.output_item.done", "output_index": at, "item": item(at, it) }));
    }
    let response = json!({ "incomplete_details": { "reason": reason } });
    events.push(json!({ "type": format!("response.{last}"), "response": response }));
    events
}

fn anthropic(inputs: &[Value], reason: Value) -> Value {
    let block = |(at, input): (usize, &Value)| json!({ "type": "tool_use", "id": format!("c{at}"), "name": "delete", "input": input });
    let content: Vec<_> = inputs.iter().enumerate().map(block).collect();
    json!({ "type": "message", "content": content, "stop_reason": reason })
}

fn anthropic_events(calls: &[Request], reason: Value) -> Vec<Value> {
    let mut events = Vec::new();
    for (at, it) in calls.iter().enumerate() {
        let block = json!({ "type": "tool_use", "id": format!("c{at}"), "name": "delete", "input": {} });
        events.push(json!({ "type": "content_block_start", "index": at, "content_block": block }));
        let delta = json!({ "type": "input_json_delta", "partial_json": it.arguments });
        events.push(json!({ "type": "content_block_delta", "index": at, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": at }));
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": reason } }));
    events.push(json!({ "type": "message_stop" }));
    events
}

fn gemini(args: &[Value], reason: Value) -> Value {
    let part = |(at, args): (usize, &Value)| json!({ "functionCall": { "id": format!("c{at}"), "name": "delete", "args": args } });
    let parts: Vec<_> = args.iter().enumerate().map(part).collect();
    json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": reason }] })
}

// The documented reasons, an unknown one, and spellings of compatible servers.
const UNFINISHED: [&str; 4] = ["length", "content_filter", "insufficient_system_resource", "something_new"];
const FINISHED: [&str; 4] = ["stop", "tool_calls", "function_call", "EOS"];

// F16: empty arguments with a normal stop reason.
#[test]
fn the_last_call_and_malformed_calls_of_a_truncated_chat_are_incomplete() {
    let dialect = Dialect::openai_chat();
    for reason in UNFINISHED {
        let cut = format!("cut (`{reason}`)");
        let cases: [(&[Request], Vec<&str>); 5] = [
            (&[EMPTY], vec![&cut]),
            (&[NONE], vec![&cut]),
            (&[FULL, EMPTY], vec!["a", &cut]),
            (&[EMPTY, FULL], vec!["all", &cut]),
            (&[HALF, NONE, FULL, EMPTY], vec![&cut, &cut, "a", &cut]),
        ];
        for (calls, expected) in cases {
            assert_eq!(whole(&dialect, &chat(calls, reason.into())), expected, "{reason}");
            assert_eq!(streamed(&dialect, &chat_events(calls, reason.into())), expected, "{reason}");
        }
        for it in [NONE, EMPTY, FULL] {
            assert_eq!(whole(&dialect, &function_call(it, reason.into())), [&*cut]);
            assert_eq!(streamed(&dialect, &function_call_events(it, reason.into())), [&*cut]);
        }
    }
    for reason in FINISHED {
        let calls = [NONE, EMPTY, FULL, NONE];
        let expected = ["all", "all", "a", "all"];
        assert_eq!(whole(&dialect, &chat(&calls, reason.into())), expected, "{reason}");
        assert_eq!(streamed(&dialect, &chat_events(&calls, reason.into())), expected, "{reason}");
        assert_eq!(whole(&dialect, &function_call(NONE, reason.into())), ["all"]);
        assert_eq!(streamed(&dialect, &function_call_events(NONE, reason.into())), ["all"]);
    }
    // Invalid arguments of a complete response are a mistake of the model, and reported as such.
    let broken = whole(&dialect, &chat(&[HALF], "stop".into()));
    assert!(broken[0].starts_with("Invalid arguments"), "{broken:?}");
}

#[test]
fn without_a_stop_reason_a_call_is_complete_if_its_arguments_are() {
    let dialect = Dialect::openai_chat();
    for reason in [Value::Null, json!(""), json!(" ")] {
        let response = chat(&[NONE, FULL, HALF, EMPTY], reason);
        assert_eq!(whole(&dialect, &response), ["cut", "a", "cut", "all"]);
    }
    assert_eq!(whole(&dialect, &chat(&[NONE], Value::Null)), ["cut"]);
    let anthropic = anthropic(&[json!({ "file": "a" }), Value::Null], Value::Null);
    assert_eq!(whole(&Dialect::anthropic(), &anthropic), ["a", "cut"]);
}

#[test]
fn the_last_call_of_an_interrupted_stream_is_incomplete() {
    let dialect = Dialect::openai_chat();
    let mut events = chat_events(&[FULL, EMPTY], "stop".into());
    events.pop();
    assert_eq!(streamed(&dialect, &events), ["a", "cut"]);
    // An empty stop reason does not count.
    events.extend(chat_events(&[], "".into()));
    assert_eq!(streamed(&dialect, &events), ["a", "cut"]);

    let mut events = anthropic_events(&[FULL, EMPTY], "tool_use".into());
    events.pop();
    assert_eq!(streamed(&Dialect::anthropic(), &events), ["a", "cut"]);
    let mut events = responses_events(&[FULL, EMPTY], "completed", Value::Null);
    events.pop();
    assert_eq!(streamed(&Dialect::openai_responses(), &events), ["a", "cut"]);
    let event = gemini(&[json!({ "file": "a" }), json!({})], Value::Null);
    assert_eq!(streamed(&Dialect::gemini(), &[event]), ["a", "cut"]);
}

#[test]
fn another_choice_does_not_end_the_one_with_the_calls() {
    let dialect = Dialect::openai_chat();
    let mut events = chat_events(&[FULL, EMPTY], Value::Null);
    events.push(json!({ "choices": [{ "index": 1, "delta": {}, "finish_reason": "stop" }] }));
    assert_eq!(streamed(&dialect, &events), ["a", "cut"]);
    events.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }));
    events.push(json!({ "choices": [{ "index": 2, "delta": {}, "finish_reason": "length" }] }));
    assert_eq!(streamed(&dialect, &events), ["a", "all"]);
    let mut response = chat(&[EMPTY], "tool_calls".into());
    let other =
        json!({ "index": 1, "finish_reason": "length", "message": { "role": "assistant", "content": "Hm" } });
    response["choices"].as_array_mut().unwrap().push(other);
    assert_eq!(whole(&dialect, &response), ["all"]);
}

#[test]
fn a_truncated_response_stays_truncated() {
    let mut events = chat_events(&[EMPTY], "length".into());
    events.extend(chat_events(&[], "stop".into()));
    assert_eq!(streamed(&Dialect::openai_chat(), &events), ["cut (`length`)"]);
}

#[test]
fn items_are_incomplete_by_the_status_of_the_response_or_their_own() {
    let dialect = Dialect::openai_responses();
    let incomplete = |it: Request| Request { status: "incomplete", ..it };
    let calls = [FULL, incomplete(FULL), EMPTY];
    let cases = [
        ("incomplete", json!("max_output_tokens"), "max_output_tokens"),
        ("incomplete", json!("content_filter"), "content_filter"),
        ("incomplete", Value::Null, "incomplete"),
        // As an incorrect server might send it.
        ("incomplete", json!("completed"), "completed"),
    ];
    for (status, reason, told) in cases {
        let cut = format!("cut (`{told}`)");
        let expected = ["a", &cut, &cut];
        assert_eq!(whole(&dialect, &responses(&calls, status.into(), reason.clone())), expected, "{told}");
        assert_eq!(streamed(&dialect, &responses_events(&calls, status, reason)), expected, "{told}");
    }
    for status in ["in_progress", "queued", "cancelled", "failed"] {
        let cut = format!("cut (`{status}`)");
        assert_eq!(whole(&dialect, &responses(&[FULL, EMPTY], status.into(), Value::Null)), ["a", &*cut]);
    }
    let expected = ["a", "cut (`incomplete`)", "all"];
    assert_eq!(whole(&dialect, &responses(&calls, "completed".into(), Value::Null)), expected);
    assert_eq!(streamed(&dialect, &responses_events(&calls, "completed", Value::Null)), expected);
    assert_eq!(whole(&dialect, &responses(&[NONE], "completed".into(), Value::Null)), ["all"]);
    assert_eq!(streamed(&dialect, &responses_events(&[NONE], "completed", Value::Null)), ["all"]);
    assert_eq!(whole(&dialect, &responses(&[NONE, EMPTY], Value::Null, Value::Null)), ["cut", "all"]);
}

#[test]
fn calls_of_a_message_are_incomplete_by_its_stop_reason() {
    let dialect = Dialect::anthropic();
    let (full, empty) = (json!({ "file": "a" }), json!({}));
    let unfinished =
        ["max_tokens", "refusal", "model_context_window_exceeded", "stop_sequence", "something_new"];
    for reason in unfinished {
        let cut = format!("cut (`{reason}`)");
        assert_eq!(whole(&dialect, &anthropic(&[full.clone(), empty.clone()], reason.into())), ["a", &*cut]);
        assert_eq!(
            streamed(&dialect, &anthropic_events(&[NONE, FULL, EMPTY], reason.into())),
            ["all", "a", &*cut]
        );
        assert_eq!(streamed(&dialect, &anthropic_events(&[HALF, NONE], reason.into())), [&*cut, &cut]);
    }
    for reason in ["tool_use", "end_turn", "pause_turn"] {
        assert_eq!(whole(&dialect, &anthropic(&[full.clone(), empty.clone()], reason.into())), ["a", "all"]);
        assert_eq!(streamed(&dialect, &anthropic_events(&[FULL, NONE], reason.into())), ["a", "all"]);
    }
    // A block without a stop event.
    let mut events = anthropic_events(&[FULL, EMPTY], "tool_use".into());
    events.remove(2);
    assert_eq!(streamed(&dialect, &events), ["cut", "all"]);
}

#[test]
fn a_candidate_is_complete_only_with_the_reason_stop() {
    for dialect in [Dialect::gemini(), Dialect::gemini_schema()] {
        let args = [json!({ "file": "a" }), json!({})];
        let unfinished = [
            "MAX_TOKENS",
            "SAFETY",
            "RECITATION",
            "OTHER",
            "PROHIBITED_CONTENT",
            "MALFORMED_FUNCTION_CALL",
            "UNEXPECTED_TOOL_CALL",
            "FINISH_REASON_UNSPECIFIED",
            "SOMETHING_NEW",
        ];
        for reason in unfinished {
            let cut = format!("cut (`{reason}`)");
            assert_eq!(whole(&dialect, &gemini(&args, reason.into())), ["a", &*cut]);
            let events = [gemini(&args, Value::Null), gemini(&[], reason.into())];
            assert_eq!(streamed(&dialect, &events), ["a", &*cut]);
        }
        assert_eq!(whole(&dialect, &gemini(&args, "STOP".into())), ["a", "all"]);
        assert_eq!(streamed(&dialect, &[gemini(&args, "STOP".into())]), ["a", "all"]);
        // Only the reason refers to a call that the response does not contain.
        let why = dialect
            .bind_tools(&super::tools())
            .assembler()
            .push(&gemini(&[], "MALFORMED_FUNCTION_CALL".into()));
        assert_eq!(why.unwrap_err().pointer, "/candidates/0/finishReason");
    }
}

#[test]
fn a_request_of_a_client_is_complete() {
    let params = json!({ "name": "delete", "_meta": { "a": 1 } });
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    assert_eq!(whole(&Dialect::mcp(), &request), ["all"]);
    assert_eq!(whole(&Dialect::mcp(), &json!([request.clone(), request])), ["all", "all"]);
    assert_eq!(streamed(&Dialect::mcp(), &[request.clone(), request.clone()]), ["all", "all"]);
    let mut assembler = Dialect::mcp().bind_tools(&super::tools()).assembler();
    assembler.push(&request).unwrap();
    assert_eq!(assembler.finish().calls[0].meta.as_ref().unwrap()["a"], 1);
}

// X01
#[test]
fn an_incomplete_external_call_has_an_error() {
    let schema = InputSchema::new(json!({ "type": "object", "properties": {} })).unwrap();
    let definition = ToolDefinition::new(ToolName::new("show").unwrap(), "Shows.", schema);
    let tools = Registry::builder().add(ExternalTool::new(definition).external()).build().unwrap();
    let call = json!({ "id": "c0", "type": "function", "function": { "name": "show", "arguments": "{}" } });
    for (reason, external) in [("length", false), ("tool_calls", true)] {
        let response =
            json!({ "choices": [{ "finish_reason": reason, "message": { "tool_calls": [call] } }] });
        let calls = Dialect::openai_chat().bind_tools(&tools).calls(&response).unwrap();
        let executor = Executor::new(tools.clone());
        let outcomes = crate::run(executor.run(calls));
        assert_eq!(matches!(outcomes[0], CallOutcome::External(..)), external);
        assert_eq!(crate::now(executor.open_calls()).unwrap().len(), usize::from(external));
    }
}
