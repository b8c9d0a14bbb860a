//! Scripts: their format, and requests that differ from them.

use std::{fs, io::Cursor};

use tool_agent::{
    Agent, AgentEventKind, EndReason, Message, Model, Part, Runner, ScriptedModel,
    model::{ModelErrorKind, ModelEvent, Request, Response},
};
use tool_runtime::{Content, ToolResult, prelude::*};

/// Adds two numbers.
#[tool(read_only)]
fn add(a: i64, b: i64) -> anyhow::Result<i64> {
    a.checked_add(b).ok_or_else(|| anyhow::anyhow!("the sum is too large"))
}

/// Sends a picture.
#[tool(read_only)]
fn picture() -> Vec<Content> {
    vec![Content::text("a dot"), Content::image(b"\x89PNG".to_vec(), "image/png")]
}

fn runner(model: &ScriptedModel) -> Runner {
    let tools = Registry::builder().tool::<add>().tool::<picture>().build().unwrap();
    let agent = Agent::builder("adder", model.clone()).instruction("Use the tools.").tools(tools);
    Runner::new(agent.build().unwrap())
}

fn script(lines: &[&str]) -> ScriptedModel {
    ScriptedModel::from_text(lines.join("\n")).unwrap()
}

/// The end of a run of `lines` for the message `2 + 3?`.
async fn end(lines: &[&str]) -> EndReason {
    let end = runner(&script(lines)).run("2 + 3?").end().await;
    end.reason
}

/// The message of the error by which a run ends that differs from `lines`.
async fn difference(lines: &[&str]) -> String {
    match end(lines).await {
        EndReason::ModelFailed { kind: ModelErrorKind::Script, message } => message,
        other => panic!("{other}"),
    }
}

async fn response(line: &str) -> Response {
    script(&[line]).respond(Request::new([])).response().await.unwrap()
}

const CALL: &str =
    r#"{"response":{"parts":[{"call":{"id":"call_1","name":"add","arguments":{"a":2,"b":3}}}]}}"#;

#[tokio::test]
async fn a_script_answers_in_the_order_of_its_lines() {
    let model = script(&[CALL, "", r#"{"response":{"parts":[{"text":"It is 5."}]}}"#]);
    assert_eq!(runner(&model).run("2 + 3?").answer().await.unwrap(), "It is 5.");
    model.finished().unwrap();
    assert_eq!(model.requests()[1].messages[2].tool_results().next().unwrap().text(), "5");
}

#[test]
fn a_script_is_read_from_a_text_a_file_and_a_reader() {
    let text = format!("\u{feff}{CALL}\r\n\r\n{CALL}");
    let path = format!("{}/read.jsonl", env!("CARGO_TARGET_TMPDIR"));
    fs::write(&path, &text).unwrap();
    for model in [
        ScriptedModel::from_text(&text),
        ScriptedModel::from_file(&path),
        ScriptedModel::from_reader(Cursor::new(&text)),
    ] {
        let left = model.unwrap().finished().unwrap_err();
        assert!(left.to_string().ends_with("line 1: expected requests for the last 2 responses, got none"));
    }
    let missing = ScriptedModel::from_file("/no/such.jsonl").unwrap_err();
    assert!(missing.to_string().starts_with("/no/such.jsonl: the script cannot be read: "), "{missing}");
    assert_eq!(missing.line(), None);
}

#[tokio::test]
async fn a_response_has_the_members_of_its_line() {
    let line = r#"{"response":{"parts":[{"reasoning":"Hm."},{"text":"Hi."},{"call":{"id":"c","name":"add","arguments":"{\"a\": 1.0}"}}],
        "original":{"dialect":"openai_chat","json":{"content":1.50}},"stop_reason":"stop","usage":{"input":7,"output":2},
        "id":"r-1","model":"m-1","truncated":true}}"#;
    let response = response(&line.replace('\n', " ")).await;
    let call = response.message.calls().next().unwrap();
    assert_eq!((call.id.to_string().as_str(), call.arguments.as_str()), ("c", r#"{"a": 1.0}"#));
    assert_eq!(response.message.original().unwrap().json.get(), r#"{"content":1.50}"#);
    assert_eq!((response.stop_reason.as_deref(), response.id.as_deref()), (Some("stop"), Some("r-1")));
    assert_eq!((response.model.as_deref(), response.truncated), (Some("m-1"), true));
    assert_eq!(response.usage.unwrap().total(), 9);
}

/// The texts that arrive, joined by `|`, and the error if there is one.
async fn streamed(line: &str) -> String {
    let mut events = script(&[line]).respond(Request::new([]));
    let mut texts = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(ModelEvent::Text(text)) => texts.push(text),
            Ok(ModelEvent::Reasoning(text)) => texts.push(format!("<{text}>")),
            Ok(ModelEvent::Finished(response)) => texts.push(format!("={}", response.message.text())),
            Ok(other) => texts.push(format!("{other:?}")),
            Err(error) => texts.push(format!("!{error}")),
        }
    }
    texts.join("|")
}

#[tokio::test]
async fn a_text_arrives_as_its_script_says() {
    let parts = r#"{"response":{"parts":[{"text":"It is 5."}]}}"#;
    assert_eq!(streamed(parts).await, "It is 5.|=It is 5.");
    let words = r#"{"response":{"parts":[{"text":"It is 5."}],"stream":"words"}}"#;
    assert_eq!(streamed(words).await, "It |is |5.|=It is 5.");
    let pieces = r#"{"response":{"stream":[{"reasoning":"Hm."},"It ","is 5."]}}"#;
    assert_eq!(streamed(pieces).await, "<Hm.>|It |is 5.|=It is 5.");
    let broken = r#"{"error":{"kind":"connection","message":"gone","stream":["It "]}}"#;
    assert_eq!(streamed(broken).await, "It |!gone");
}

#[tokio::test]
async fn an_error_of_a_script_has_kind_status_and_time() {
    let line =
        r#"{"error":{"kind":"rate_limited","message":"slow down","status":429,"retry_after_ms":1500}}"#;
    let error = script(&[line]).respond(Request::new([])).response().await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ModelErrorKind::RateLimited, Some(429)));
    assert_eq!(error.retry_after().unwrap().as_millis(), 1500);
    assert_eq!(error.to_string(), "slow down");
}

#[test]
fn a_broken_line_states_its_number_what_is_expected_and_what_was_received() {
    let expected =
        "expected `{\"response\": {..}}` or `{\"error\": {..}}`, with `request` beside it or not; ";
    for (line, message) in [
        ("{", format!("{expected}EOF while parsing an object at column 1; got `{{`")),
        ("{}", format!("{expected}got `{{}}`")),
        (
            r#"{"respones":{}}"#,
            "unknown field `respones`, expected one of `request`, `response`, `error` at column 11; \
             got `{\"respones\":{}}`"
                .to_owned(),
        ),
        (
            r#"{"response":{"parts":[{"txt":"a"}]}}"#,
            "unknown variant `txt`, expected one of `text`, `content`, `reasoning`, `call` at column 28; \
             got `{\"response\":{\"parts\":[{\"txt\":\"a\"}]}}`"
                .to_owned(),
        ),
        (
            r#"{"response":{"parts":[{"call":{"name":"a","args":{}}}]}}"#,
            "unknown member `args` of `call`; expected `id`, `name`, `arguments`, `meta`, `resources` or \
             `incomplete` at column 52; got `{\"response\":{\"parts\":[{\"call\":{\"name\":\"a\",\"args\":{}}}]}}`"
                .to_owned(),
        ),
        (
            r#"{"response":{}}"#,
            "expected `parts` or `stream` in `response`, or a `stop_reason`; got `{\"response\":{}}`"
                .to_owned(),
        ),
        (
            r#"{"response":{"stream":"letters"}}"#,
            "expected `\"words\"` or a list of texts as `stream`, got \"letters\" at column 32; \
             got `{\"response\":{\"stream\":\"letters\"}}`"
                .to_owned(),
        ),
        (
            r#"{"error":{"kind":"sad"}}"#,
            "unknown variant `sad`, expected one of".to_owned(),
        ),
    ] {
        let error = ScriptedModel::from_text(format!("{CALL}\n\n{line}\n")).unwrap_err();
        assert_eq!(error.line(), Some(3), "{error}");
        assert!(error.to_string().starts_with(&format!("script, line 3: {message}")), "{error}");
    }
    // A long line is bounded.
    let long = format!("{{\"respones\":\"{}\"}}", "a".repeat(10_000));
    assert!(ScriptedModel::from_text(long).unwrap_err().to_string().len() < 400);
}

#[tokio::test]
async fn what_a_line_leaves_out_is_not_compared() {
    let after =
        |request: &str| format!(r#"{{"request":{request},"response":{{"parts":[{{"text":"It is 5."}}]}}}}"#);
    for request in [
        "{}",
        r#"{"tools":["picture","add"],"tool_choice":"auto","output":null}"#,
        r#"{"instruction":"Use the tools."}"#,
        r#"{"messages":[{"role":"user"},{"role":"assistant"},{"role":"tool"}]}"#,
        r#"{"messages":[{"role":"user"},{"role":"assistant","parts":[{"call":{"name":"add"}}]},{"role":"tool","parts":[{"result":{"text":"5"}}]}]}"#,
        r#"{"messages":[{"role":"user"},{"role":"assistant","parts":[{"call":{"arguments":{ "a": 2, "b": 3 }}}]},{"role":"tool","parts":[{"result":{"id":"call_1"}}]}]}"#,
    ] {
        assert_eq!(end(&[CALL, &after(request)]).await, EndReason::Answered, "{request}");
    }
}

#[tokio::test]
async fn a_different_request_fails_and_shows_each_difference() {
    let after = |request: &str| format!(r#"{{"request":{request},"response":{{"stream":["5"]}}}}"#);
    let shown = [
        (
            r#"{"instruction":"Use no tools.","tools":["add","divide"],"tool_choice":"required","output":"sum"}"#,
            "/instruction: expected \"Use no tools.\", got \"Use the tools.\"\n  \
             /tools: expected the tool `divide`, which the request does not have\n  \
             /tools: expected no tool `picture`, which the request has\n  \
             /tool_choice: expected \"required\", got \"auto\"\n  \
             /output: expected \"sum\", got null",
        ),
        (
            r#"{"messages":[{"role":"user","parts":[{"text":"2 + 4?"}]},{"role":"assistant","parts":[{"call":{"id":"x","name":"add","arguments":"{\"a\": 2,\"b\":3}"}}]},{"role":"tool","parts":[{"result":{"name":"sum","text":"5.0","error":true}}]}]}"#,
            "/messages/0/parts/0/text: expected \"2 + 4?\", got \"2 + 3?\"\n  \
             /messages/1/parts/0/call/id: expected \"x\", got \"call_1\"\n  \
             /messages/1/parts/0/call/arguments: expected \"{\\\"a\\\": 2,\\\"b\\\":3}\", got \"{\\\"a\\\":2,\\\"b\\\":3}\"\n  \
             /messages/2/parts/0/result/name: expected \"sum\", got \"add\"\n  \
             /messages/2/parts/0/result/text: expected \"5.0\", got \"5\"\n  \
             /messages/2/parts/0/result/error: expected true, got false",
        ),
        // Only the part that differs.
        (
            r#"{"messages":[{"role":"user"},{"role":"assistant","parts":[{"reasoning":"Hm."},{"call":{"name":"add"}}]},{"role":"tool"}]}"#,
            "/messages/1/parts/0: expected {\"reasoning\":\"Hm.\"}, which the request does not have",
        ),
        // A message that is missing does not make all others different.
        (
            r#"{"messages":[{"role":"user"},{"role":"user","parts":[{"text":"Please."}]},{"role":"assistant"},{"role":"tool"}]}"#,
            "/messages/1: expected {\"role\":\"user\",\"parts\":[{\"text\":\"Please.\"}]}, which the request does not have",
        ),
        (
            r#"{"messages":[{"role":"user"},{"role":"assistant"}]}"#,
            "/messages/2: expected no further message, got {\"role\":\"tool\",\"parts\":[{\"result\":{\"id\":\"call_1\",\"name\":\"add\",\"text\":\"5\"}}]}",
        ),
    ];
    for (request, differences) in shown {
        let message = difference(&[CALL, &after(request)]).await;
        assert_eq!(message, format!("request 2 differs from script, line 2:\n  {differences}"));
    }
}

#[tokio::test]
async fn a_difference_is_bounded_and_shows_the_first_different_character() {
    let text = format!("{}b{}", "a".repeat(5_000), "c".repeat(5_000));
    let messages = vec![json!({ "role": "user", "parts": [] }); 40];
    let request = json!({ "instruction": text, "messages": messages });
    let message =
        difference(&[&json!({ "request": request, "response": { "stream": ["5"] } }).to_string()]).await;
    assert!(message.len() < 5_000, "{}", message.len());
    assert!(message.ends_with("\n  and 33 more differences"), "{message}");
    let text = format!("{}b{}", "a".repeat(5_000), "c".repeat(5_000));
    let other = format!("{}d{}", "a".repeat(5_000), "c".repeat(5_000));
    let line = json!({ "request": { "messages": [{ "role": "user", "parts": [{ "text": text }] }] }, "response": { "stream": ["5"] } });
    let error = script(&[&line.to_string()]).respond(Request::new([Message::user(other)])).response().await;
    let message = error.unwrap_err().to_string();
    let (a, c) = ("a".repeat(24), "c".repeat(135));
    let more = "… (4866 more characters)";
    assert_eq!(
        message,
        format!(
            "request 1 differs from script, line 1:\n  /messages/0/parts/0/text: expected …{a}b{c}{more}, got …{a}d{c}{more}"
        )
    );
}

#[tokio::test]
async fn images_and_failures_of_results_are_part_of_a_request() {
    let calls = r#"{"response":{"parts":[{"call":{"name":"picture"}},{"call":{"name":"add","arguments":{"a":9223372036854775807,"b":1}}}]}}"#;
    let next = r#"{"request":{"messages":[{"role":"user"},{"role":"assistant"},{"role":"tool","parts":[{"result":{"text":"a dot"}},{"result":{"name":"add"}}]}]},"response":{"stream":["Done."]}}"#;
    let message = difference(&[calls, next]).await;
    assert_eq!(
        message,
        "request 2 differs from script, line 2:\n  \
         /messages/2/parts/0/result/content: expected [], got [{\"type\":\"image\",\"data\":\"iVBORw==\",\"mimeType\":\"image/png\"}]\n  \
         /messages/2/parts/1/result/error: expected false, got true"
    );
}

#[tokio::test]
async fn a_request_beyond_the_last_line_and_unused_lines_are_reported() {
    let model = script(&[CALL]);
    let end = runner(&model).run("2 + 3?").end().await;
    let expected = "the model failed: script has no response for request 2";
    assert_eq!(end.reason.to_string(), expected);
    let model = script(&[CALL, r#"{"response":{"stream":["5"]}}"#, CALL]);
    runner(&model).run("2 + 3?").answer().await.unwrap();
    let left = model.finished().unwrap_err().to_string();
    assert_eq!(left, "script, line 3: expected a request for the last response, got none");
    // A line that a request differs from is not used.
    let model = script(&[r#"{"request":{"tools":[]},"response":{"stream":["5"]}}"#]);
    runner(&model).run("2 + 3?").end().await;
    assert!(model.finished().is_err());
}

// Z20
#[tokio::test]
async fn a_request_of_a_script_has_no_tools_times_or_durations() {
    let model = script(&[CALL, r#"{"request":{"instruction":"x"},"response":{"stream":["5"]}}"#]);
    let mut events = runner(&model).run("2 + 3?");
    let mut results = Vec::new();
    while let Some(event) = events.next().await {
        if let AgentEventKind::Message { message } = event.kind {
            results.extend(message.tool_results().cloned());
        }
    }
    let ToolResult { attempts, .. } = &results[0];
    assert_eq!(*attempts, 1);
    // The whole request, as it is compared: see `recording.rs` for the whole line.
    let all = r#"{"request":{"messages":[]},"response":{"stream":["5"]}}"#;
    let error = script(&[all]).respond(model.requests()[1].clone()).response().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "request 1 differs from script, line 1:\n  \
         /messages/0: expected no further message, got {\"role\":\"user\",\"parts\":[{\"text\":\"2 + 3?\"}]}\n  \
         /messages/1: expected no further message, got {\"role\":\"assistant\",\"parts\":[{\"call\":{\"id\":\"call_1\",\"name\":\"add\",\"arguments\":\"{\\\"a\\\":2,\\\"b\\\":3}\"}}]}\n  \
         /messages/2: expected no further message, got {\"role\":\"tool\",\"parts\":[{\"result\":{\"id\":\"call_1\",\"name\":\"add\",\"text\":\"5\"}}]}"
    );
}

#[tokio::test]
async fn reasoning_and_images_of_a_message_are_compared_by_their_values() {
    let line = r#"{"request":{"messages":[{"role":"assistant","parts":[{"reasoning":"Hm."}]},{"role":"user","parts":[{"content":{"type":"image","data":"AQ==","mimeType":"image/png"}}]}]},"response":{"stream":["5"]}}"#;
    let answered = async |reasoning: &str, data: u8| {
        let image = Content::image(vec![data], "image/png");
        let messages =
            [Message::assistant([Part::Reasoning(reasoning.to_owned())]), Message::user_content([image])];
        script(&[line]).respond(Request::new(messages)).response().await
    };
    answered("Hm.", 1).await.unwrap();
    let error = answered("Oh.", 2).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "request 1 differs from script, line 1:\n  \
         /messages/0/parts/0/reasoning: expected \"Hm.\", got \"Oh.\"\n  \
         /messages/1/parts/0/content: expected {\"type\":\"image\",\"data\":\"AQ==\",\"mimeType\":\"image/png\"}, got {\"type\":\"image\",\"data\":\"Ag==\",\"mimeType\":\"image/png\"}"
    );
}

#[test]
fn a_line_is_quoted_as_far_as_120_characters() {
    let quoted = |line: &str| {
        let reason = ScriptedModel::from_text(line).unwrap_err().to_string();
        reason.split_once("got `").unwrap().1.to_owned()
    };
    let line = |characters: usize| format!(r#"{{"reply":"{}"}}"#, "x".repeat(characters - 12));
    assert_eq!(quoted(r#"{"reply": 1}"#), r#"{"reply": 1}`"#);
    let longest = line(120);
    // Blanks around the line do not count.
    assert_eq!(quoted(&format!("  {longest} \r\n")), format!("{longest}`"));
    assert_eq!(quoted(&line(121)), format!("{}`… (1 more characters)", &line(121)[..120]));
}

#[tokio::test]
async fn roles_ids_and_messages_after_a_result_are_compared() {
    let result = ToolResult::new("c1".to_owned().into(), "look", Ok(ToolOutput::new([Content::text("a")])));
    let request = || Request::new([Message::results([result.clone()])]);
    let written = json!({ "id": "c1", "name": "look", "text": "a" });
    let line = |messages: Value| {
        json!({ "request": { "messages": messages }, "response": { "stream": ["5"] } }).to_string()
    };
    let asked = async |result: Value, role: &str| {
        let line = line(json!([{ "role": role, "parts": [{ "result": result }] }]));
        script(&[&line])
            .respond(request())
            .response()
            .await
            .map(|it| it.message.text())
            .map_err(|it| it.to_string())
    };
    assert_eq!(asked(written.clone(), "tool").await.as_deref(), Ok("5"));
    let differs = |text: &str| Err(format!("request 1 differs from script, line 1:\n  {text}"));
    let other = json!({ "id": "c2", "name": "look", "text": "a", "follow_ups": [["b"]] });
    let expected = "/messages/0/parts/0/result/id: expected \"c2\", got \"c1\"\n  \
                    /messages/0/parts/0/result/follow_ups: expected [[\"b\"]], got []";
    assert_eq!(asked(other, "tool").await, differs(expected));
    let parts = r#""parts":[{"result":{"id":"c1","name":"look","text":"a"}}]}"#;
    let expected = format!(r#"/messages/0: expected {{"role":"user",{parts}, got {{"role":"tool",{parts}"#);
    assert_eq!(asked(written, "user").await, differs(&expected));
}
