//! Tests of the requests and the output of `agent`, with a local server as the provider.

use std::{
    convert::Infallible,
    io::Read,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

use axum::{Router, body::Body, extract::State, http::HeaderMap, routing::post};
use futures_util::{StreamExt as _, stream};
use tokio::{net::TcpListener, sync::Notify};
use tool_runtime::serde_json::{self, Value, json};

/// A server that sends a response with calls, and then a final answer.
struct Provider {
    /// Stops the first response after this text until `go_on` is notified.
    held_after: &'static str,
    go_on: Notify,
    responses: [String; 2],
    requests: Mutex<Vec<(HeaderMap, String)>>,
}

async fn respond(State(provider): State<Arc<Provider>>, headers: HeaderMap, request: String) -> Body {
    let mut requests = provider.requests.lock().unwrap();
    let text = provider.responses[requests.len()].clone();
    let is_first = requests.is_empty();
    requests.push((headers, request));
    drop(requests);
    let end = text.find(provider.held_after).map(|at| at + provider.held_after.len());
    let (begin, rest) = text.split_at(end.filter(|_| is_first).unwrap_or_default());
    // Chunks of seven bytes end within events and within characters.
    let pieces = |text: &str| text.as_bytes().chunks(7).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (begin, rest) = (pieces(begin), pieces(rest));
    let wait = stream::once(async move {
        if is_first {
            provider.go_on.notified().await;
        }
        Vec::new()
    });
    Body::from_stream(stream::iter(begin).chain(wait).chain(stream::iter(rest)).map(Ok::<_, Infallible>))
}

/// The output of the program, and its requests in order.
struct Exchange {
    printed: String,
    requests: Vec<(HeaderMap, String)>,
}

impl Exchange {
    /// The messages of a request.
    fn messages(&self, request: usize) -> Vec<Value> {
        let request: Value = serde_json::from_str(&self.requests[request].1).unwrap();
        request["messages"].as_array().unwrap().clone()
    }
}

/// Runs the program against a server with these responses.
async fn run(flags: &'static [&'static str], held_after: &'static str, responses: [String; 2]) -> Exchange {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (go_on, requests) = (Notify::new(), Mutex::default());
    let provider = Arc::new(Provider { held_after, go_on, responses, requests });
    let routes = Router::new().route("/chat/completions", post(respond)).route("/v1/messages", post(respond));
    let server = axum::serve(listener, routes.with_state(Arc::clone(&provider)));
    let server = tokio::spawn(server.into_future());
    let served = Arc::clone(&provider);
    let program = tokio::task::spawn_blocking(move || {
        let mut child = Command::new(env!("CARGO_BIN_EXE_agent"))
            .args(flags)
            .arg("How many days is it to Christmas?")
            .env_remove("MODEL")
            .envs([("ANTHROPIC_BASE_URL", &address), ("OPENAI_BASE_URL", &address)])
            .envs([("ANTHROPIC_API_KEY", "key-of-a"), ("OPENAI_API_KEY", "key-of-o"), ("NO_PROXY", "*")])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = child.stdout.take().unwrap();
        let mut printed = Vec::new();
        // The first words must be printed before the server sends the rest.
        while !printed.ends_with(b"I count ") && !flags.contains(&"--whole") {
            let mut byte = [0];
            assert_eq!(output.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&printed));
            printed.extend(byte);
        }
        served.go_on.notify_one();
        output.read_to_end(&mut printed).unwrap();
        assert!(child.wait().unwrap().success());
        String::from_utf8(printed).unwrap()
    });
    let printed = program.await.unwrap();
    server.abort();
    let requests = provider.requests.lock().unwrap().clone();
    Exchange { printed, requests }
}

fn events(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn check_printed(printed: &str) {
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines.len(), 4, "{printed}");
    assert_eq!(lines[..2], ["I count the days – both ways.", "[days_between: 297]"]);
    assert!(lines[2].starts_with("[days_between: ") && lines[2].contains("invalid digit"), "{printed}");
    assert_eq!(lines[3], "It is 297 days.");
}

fn anthropic(exchange: &Exchange, assistant: &str) {
    check_printed(&exchange.printed);
    let header = |name: &str| exchange.requests[0].0[name].to_str().unwrap().to_owned();
    assert_eq!((header("x-api-key"), header("anthropic-version")), ("key-of-a".into(), "2023-06-01".into()));
    let asked = json!({ "role": "user", "content": "How many days is it to Christmas?" });
    assert_eq!(exchange.messages(0), std::slice::from_ref(&asked));
    let messages = exchange.messages(1);
    assert_eq!((messages.len(), &messages[0]), (3, &asked));
    assert!(exchange.requests[1].1.contains(assistant), "{}", exchange.requests[1].1);
    let results = messages[2]["content"].as_array().unwrap();
    let told_of = |result: &Value| {
        (result["tool_use_id"].clone(), result["content"][0]["text"].clone(), result["is_error"].clone())
    };
    let (good, bad) = (told_of(&results[0]), told_of(&results[1]));
    assert_eq!(good, (json!("toolu_01T1x1fJ34qAmk2tNTrN7Up6"), json!("297"), Value::Null));
    assert_eq!((bad.0, bad.2), (json!("toolu_01NRLabsLyVHZPKxbKvkfSMn"), json!(true)));
    assert_eq!((messages[2]["role"].as_str(), results.len()), (Some("user"), 2));
}

fn openai(exchange: &Exchange, assistant: &str) {
    check_printed(&exchange.printed);
    assert_eq!(exchange.requests[0].0["authorization"], "Bearer key-of-o");
    let messages = exchange.messages(1);
    assert_eq!(messages.len(), 4);
    assert!(exchange.requests[1].1.contains(assistant), "{}", exchange.requests[1].1);
    let good = json!({ "role": "tool", "tool_call_id": "call_3J9foSw3CUb48lrqIXoTky6U", "content": "297" });
    assert_eq!(messages[2], good);
    assert_eq!(messages[3]["tool_call_id"], "call_9MmhpM34dYIcHt0SHUXsgZgN");
    assert!(messages[3]["content"].as_str().unwrap().starts_with("Error: "), "{}", messages[3]);
}

/// Returns compact JSON.
fn compact(value: &Value) -> String {
    value.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_streamed_anthropic_response_is_printed_as_it_arrives_and_sent_back_with_its_results() {
    let start =
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } });
    let delta = json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "It is 297 days." } });
    let last = [start, delta, json!({ "type": "message_stop" })];
    let responses = [include_str!("anthropic.sse").to_owned(), events(&last)];
    let exchange = run(&["--anthropic"], "I count \"}}\n\n", responses).await;
    let assistant = compact(&json!({ "role": "assistant", "content": [
        { "type": "thinking", "thinking": "Christmas is 25 December.", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h/w==" },
        { "type": "text", "text": "I count the days – both ways." },
        { "type": "tool_use", "id": "toolu_01T1x1fJ34qAmk2tNTrN7Up6", "name": "days_between", "input": { "from": "2026-03-03", "to": "2026-12-25" } },
        { "type": "tool_use", "id": "toolu_01NRLabsLyVHZPKxbKvkfSMn", "name": "days_between", "input": { "from": "Christmas", "to": "2026-03-03" } },
    ]}));
    anthropic(&exchange, &assistant);
    assert!(exchange.requests.iter().all(|request| request.1.contains(r#""stream":true"#)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_anthropic_response_is_sent_back_unchanged() {
    let last = json!({ "role": "assistant", "content": [{ "type": "text", "text": "It is 297 days." }], "stop_reason": "end_turn" });
    let text = include_str!("anthropic.json");
    let exchange = run(&["--anthropic", "--whole"], "\"content\"", [text.to_owned(), last.to_string()]).await;
    let response: Value = serde_json::from_str(text).unwrap();
    let assistant = compact(&json!({ "role": "assistant", "content": response["content"] }));
    // The number keeps its digits; a `Value` would drop the trailing zero.
    anthropic(&exchange, &assistant.replace("\"least\":1.1}", "\"least\":1.10}"));
    assert!(exchange.requests[0].1.contains(r#""stream":false"#));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_streamed_openai_response_is_printed_as_it_arrives_and_sent_back_with_its_results() {
    let chunk = |delta: Value, reason: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
    let last = [
        chunk(json!({ "role": "assistant", "content": "It is " }), Value::Null),
        chunk(json!({ "content": "297 days." }), Value::Null),
        chunk(json!({}), json!("stop")),
    ];
    let responses = [include_str!("openai.sse").to_owned(), events(&last) + "data: [DONE]\n\n"];
    let exchange = run(&[], "I count \"},\"finish_reason\":null}],\"usage\":null}\n\n", responses).await;
    let call = |id: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": "days_between", "arguments": arguments } });
    let assistant = compact(&json!({
        "role": "assistant",
        "content": "I count the days – both ways.",
        "refusal": null,
        "tool_calls": [
            call("call_3J9foSw3CUb48lrqIXoTky6U", r#"{"from":"2026-03-03","to":"2026-12-25"}"#),
            call("call_9MmhpM34dYIcHt0SHUXsgZgN", r#"{"from":"Christmas","to":"2026-03-03"}"#),
        ],
    }));
    openai(&exchange, &assistant);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_openai_response_is_sent_back_unchanged() {
    let message = json!({ "role": "assistant", "content": "It is 297 days." });
    let last = json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] });
    let text = include_str!("openai.json");
    let exchange = run(&["--whole"], "\"choices\"", [text.to_owned(), last.to_string()]).await;
    let response: Value = serde_json::from_str(text).unwrap();
    openai(&exchange, &compact(&response["choices"][0]["message"]));
}

#[test]
fn the_agent_loop_has_fewer_than_120_lines() {
    assert!(include_str!("../../../agent/main.rs").lines().count() < 120);
}
