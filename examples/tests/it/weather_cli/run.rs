//! A provider's response in, what it is answered out.

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
    // Nobody can be asked about the second call, which weighs more than the unknown tool of the third.
    assert_eq!(ran.code, 3);
    let message = json_of(&ran.out);
    let results = message["content"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    let first = json!({
        "type": "tool_result", "tool_use_id": "toolu_1", "content": [{ "type": "text", "text": "21.0" }]
    });
    assert_eq!(results[0], first);
    assert_eq!(results[1]["is_error"], true);
    // What to type is for the person, not for the model.
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
fn a_name_that_a_model_made_up_is_told_in_one_line() {
    let call = json!({ "type": "tool_use", "id": "1", "name": "a\nerror: b", "input": {} });
    let response = json!({ "content": [call] }).to_string();
    let err = weather_with(&response, ["run", "--dialect", "anthropic"]).err;
    assert_eq!(err, "error: a\\nerror: b: Tool not found: a error: b\n");
}

// What says that it reads runs without a question, and nothing else does.
#[test]
fn only_what_reads_runs_where_only_that_may() {
    let call =
        |name: &str| json!({ "type": "tool_use", "id": name, "name": name, "input": { "city": "Oslo" } });
    let response = json!({ "content": [call("temperature"), call("remove_station")] }).to_string();
    let ran = weather_with(&response, ["run", "--dialect", "anthropic", "--approve", "read-only"]);
    assert_eq!(ran.code, 3);
    let results = json_of(&ran.out);
    assert_eq!(results["content"][0]["content"][0]["text"], "9.5");
    let said = results["content"][1]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("only tools that say they read may run"), "{said}");
}

#[test]
fn what_is_no_response_is_said() {
    let err = weather_with("hello", ["run", "--dialect", "anthropic"]).failed(2);
    assert!(
        err.starts_with("error: the response is neither JSON nor a stream of events: expected value"),
        "{err}"
    );
    let err = weather_with("{}", ["run", "--dialect", "anthropic"]).failed(2);
    assert!(err.contains("this is no response of that dialect: /content: expected"), "{err}");
    let err = weather_with("{}", ["run", "--dialect", "anthropic", "--strategy", "batched=0"]).failed(2);
    assert!(err.contains("expected `parallel`, `sequential`, or `batched=4`"), "{err}");
    let ran = weather_with(r#"{"content": []}"#, ["run", "--dialect", "anthropic"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (0, "note: there are no calls in the response, read as one of anthropic\n")
    );
}

#[test]
fn events_are_told_in_json_where_that_is_asked_for() {
    let arguments = ["run", "--dialect", "openai-chat", "--events", "json", &fixture("openai_chat.sse")];
    let ran = weather(arguments);
    let kinds: Vec<_> =
        ran.err.lines().map(|line| json_of(line)["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["started", "finished"]);
}
