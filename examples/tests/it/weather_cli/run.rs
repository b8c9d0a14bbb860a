//! The command `run`: calls of a response, and their results.

use serde_json::{Value, json};
use tool_runtime::serde_json;

use super::{fixture, weather, weather_with};

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

// D12
#[test]
fn the_calls_of_a_response_are_answered_in_its_dialect() {
    let ran = weather(["run", "--dialect", "anthropic", &fixture("anthropic.json")]);
    // The exit code of the second call, a missing approval, outranks the unknown tool of the third.
    assert_eq!(ran.code, 3);
    let message = json_of(&ran.out);
    let results = message["content"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    let first = json!({
        "type": "tool_result", "tool_use_id": "toolu_1", "content": [{ "type": "text", "text": "21.0" }]
    });
    assert_eq!(results[0], first);
    assert_eq!(results[1]["is_error"], true);
    // The note with the option is for the person, not for the model.
    assert!(
        !ran.out.contains("--approve always") && ran.err.contains("`--approve always` approves"),
        "{}",
        ran.err
    );
    assert!(results[2]["content"][0]["text"].as_str().unwrap().contains("Did you mean `forecast`?"));
}

#[test]
fn a_response_is_read_from_the_standard_input_and_approved_beforehand() {
    let response = std::fs::read_to_string(fixture("anthropic.json")).unwrap();
    let arguments = ["run", "--dialect", "anthropic", "--approve", "always", "--strategy", "sequential", "-"];
    let ran = weather_with(&response, arguments);
    assert_eq!((ran.code, ran.err.as_str()), (2, "error: forcast: Tool not found: forcast\n"));
    assert!(ran.out.contains("the station in Oslo is gone"), "{}", ran.out);
}

#[test]
fn a_stream_is_put_together() {
    let ran = weather(["run", "--dialect", "openai-chat", &fixture("openai_chat.sse")]);
    let expected = json!([{ "role": "tool", "tool_call_id": "call_1", "content": "9.5" }]);
    assert_eq!(json_of(&ran.fine()), expected);
    // As a list of its events.
    let whole = std::fs::read_to_string(fixture("openai_chat.sse")).unwrap();
    let events: Vec<_> =
        whole.lines().filter_map(|line| line.strip_prefix("data: {")).map(|it| format!("{{{it}")).collect();
    let ran = weather_with(&format!("[{}]", events.join(",")), ["run", "--dialect", "openai-chat"]);
    assert_eq!(json_of(&ran.fine()), expected);
    // As lines of JSON, and cut off in the middle of the arguments.
    let lines: Vec<_> = whole.lines().filter_map(|line| line.strip_prefix("data: ")).take(2).collect();
    let ran = weather_with(&lines.join("\n"), ["run", "--dialect", "openai-chat"]);
    let text = "Incomplete: the response ended before this call did. Nothing was executed.";
    let told = json!([{ "role": "tool", "tool_call_id": "call_1", "content": text }]);
    assert_eq!((ran.code, json_of(&ran.out)), (1, told));
    assert_eq!(ran.err, format!("error: temperature: {text}\n"));
}

#[test]
fn an_unknown_name_of_a_model_is_escaped_in_one_line() {
    let call = json!({ "type": "tool_use", "id": "1", "name": "a\nerror: b", "input": {} });
    let response = json!({ "content": [call] }).to_string();
    let err = weather_with(&response, ["run", "--dialect", "anthropic"]).err;
    assert_eq!(err, "error: a\\nerror: b: Tool not found: a error: b\n");
}

// A read-only tool runs without a question.
#[test]
fn read_only_approval_runs_read_only_tools_alone() {
    let call =
        |name: &str| json!({ "type": "tool_use", "id": name, "name": name, "input": { "city": "Oslo" } });
    let response = json!({ "content": [call("temperature"), call("remove_station")] }).to_string();
    let ran = weather_with(&response, ["run", "--dialect", "anthropic", "--approve", "read-only"]);
    assert_eq!(ran.code, 3);
    let results = json_of(&ran.out);
    assert_eq!(results["content"][0]["content"][0]["text"], "9.5");
    let said = results["content"][1]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("only read-only tools may run"), "{said}");
}

#[test]
fn an_invalid_response_is_reported() {
    let err = weather_with("hello", ["run", "--dialect", "anthropic"]).failed(2);
    assert!(
        err.starts_with("error: the response is neither JSON nor a stream of events: expected value"),
        "{err}"
    );
    let err = weather_with("{}", ["run", "--dialect", "anthropic"]).failed(2);
    assert!(err.contains("the response is not valid in this dialect: /content: expected"), "{err}");
    let err = weather_with("{}", ["run", "--dialect", "anthropic", "--strategy", "batched=0"]).failed(2);
    assert!(err.contains("expected `parallel`, `sequential`, or `batched=4`"), "{err}");
    let ran = weather_with(r#"{"content": []}"#, ["run", "--dialect", "anthropic"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (0, "note: the response contains no calls (dialect: anthropic)\n")
    );
}

// A provider's dialect and its strict form read and answer this response alike.
#[test]
fn the_dialect_of_a_response_is_detected_if_it_is_unambiguous() {
    let named = weather(["run", "--dialect", "openai-chat", &fixture("openai_chat.sse")]).fine();
    assert_eq!(weather(["run", &fixture("openai_chat.sse")]).fine(), named);
    let named = weather(["run", "--dialect", "anthropic", &fixture("anthropic.json")]);
    let detected = weather(["run", &fixture("anthropic.json")]);
    assert_eq!((detected.code, detected.out, detected.err), (named.code, named.out, named.err));
    let call = json!({ "functionCall": { "name": "temperature", "args": { "city": "Oslo" } } });
    let gemini = json!({ "candidates": [{ "content": { "parts": [call] }, "finishReason": "STOP" }] });
    assert!(weather_with(&gemini.to_string(), ["run"]).fine().contains("functionResponse"));
    let item = json!({ "type": "function_call", "call_id": "1", "name": "temperature",
        "arguments": "{\"city\": \"Oslo\"}", "status": "completed" });
    let responses = json!({ "object": "response", "status": "completed", "output": [item] });
    assert!(weather_with(&responses.to_string(), ["run"]).fine().contains("function_call_output"));
    let params = json!({ "name": "temperature", "arguments": { "city": "Oslo" } });
    let mcp = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    assert!(weather_with(&mcp.to_string(), ["run"]).fine().contains("\"result\""));
}

#[test]
fn a_response_of_no_or_several_dialects_is_refused_with_the_candidates() {
    let call = json!({ "type": "tool_use", "id": "1", "name": "cities", "input": {} });
    let function = json!({ "name": "forecast", "arguments": "{\"city\": \"Oslo\"}" });
    let message = json!({ "role": "assistant", "tool_calls": [{ "id": "1", "type": "function", "function": function }] });
    let choice = json!({ "message": message, "finish_reason": "tool_calls" });
    let response = json!({ "choices": [choice], "content": [call], "stop_reason": "tool_use" }).to_string();
    let err = weather_with(&response, ["run"]).failed(2);
    let several = "several dialects read this response: openai-chat, anthropic";
    assert_eq!(err, format!("error: {several}; name its dialect with `--dialect`\n"));
    let err = weather_with(r#"{"content": []}"#, ["run"]).failed(2);
    assert!(err.starts_with("error: the response contains no calls, as read by: anthropic, "), "{err}");
    let err = weather_with("{\"candidates\": 7}", ["run"]).failed(2);
    assert_eq!(err, "error: no dialect reads this response; name its dialect with `--dialect`\n");
    assert!(weather_with("hello", ["run"]).failed(2).contains("neither JSON nor a stream of events"));
}

#[test]
fn events_are_json_with_events_json() {
    let arguments = ["run", "--dialect", "openai-chat", "--events", "json", &fixture("openai_chat.sse")];
    let ran = weather(arguments);
    let kinds: Vec<_> =
        ran.err.lines().map(|line| json_of(line)["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["started", "finished"]);
}
