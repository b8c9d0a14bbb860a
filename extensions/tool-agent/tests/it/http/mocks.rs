//! Independent mock servers of npm (`aimock`) and PyPI (`llmock`), which `.ci/agent/install` installs. Without its
//! variables, these tests are skipped; the file in `TOOL_TESTS_SKIPPED` has a line for each of them.

use std::{env, fs::OpenOptions, io::Write as _, net::TcpListener, process::Stdio, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::{Child, Command},
    time::timeout,
};
use tool_agent::{
    Agent, HttpModel, Message, Runner,
    model::{Model, ModelErrorKind, ModelEvent, Request},
};
use tool_runtime::prelude::*;

use super::{WIRES, events, model};

/// Multiplies two numbers.
#[tool(read_only)]
fn multiply(a: i64, b: i64) -> i64 {
    a * b
}

/// A running server, which ends with this value.
struct Mock {
    url: String,
    _process: Child,
}

/// Returns the value of a variable, or reports that the test is skipped.
fn variable(name: &str) -> Option<String> {
    let value = env::var(name).ok();
    if value.is_none() {
        skipped(&format!("`{name}` is not set; run `.ci/agent/install` and source its file `environment`"));
    }
    value
}

/// Reports that the current test is skipped.
fn skipped(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    eprintln!("SKIPPED: {reason}");
    if let Ok(path) = env::var("TOOL_TESTS_SKIPPED") {
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(format!("tool-agent: {test}: {reason}\n").as_bytes()).unwrap();
    }
}

/// Starts a program, and waits until it prints its URL.
async fn started(mut command: Command) -> Mock {
    command.stdout(Stdio::piped()).stderr(Stdio::inherit()).stdin(Stdio::null()).kill_on_drop(true);
    let mut process = command.spawn().unwrap();
    let output = process.stdout.take().unwrap();
    let url = timeout(Duration::from_secs(60), printed_url(output)).await.expect("the mock server starts");
    Mock { url, _process: process }
}

async fn printed_url(mut output: impl AsyncRead + Unpin + Send + 'static) -> String {
    let mut printed = Vec::new();
    let url = loop {
        assert_ne!(output.read_buf(&mut printed).await.unwrap(), 0, "{}", String::from_utf8_lossy(&printed));
        let text = String::from_utf8_lossy(&printed);
        let url = text.split("http://").nth(1).and_then(|rest| rest.split_once(char::is_whitespace));
        if let Some((address, _)) = url {
            break format!("http://{address}");
        }
    };
    // The server must not wait for a reader.
    tokio::spawn(async move { while output.read_buf(&mut Vec::new()).await.is_ok_and(|read| read > 0) {} });
    url
}

async fn aimock() -> Option<Mock> {
    let mut command = Command::new(variable("AGENT_NODE")?);
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.ci/agent/aimock.json");
    command.args([&variable("AGENT_AIMOCK")?, "--port", "0", "--fixtures", fixtures]);
    Some(started(command).await)
}

async fn llmock() -> Option<Mock> {
    let mut command = Command::new(variable("AGENT_LLMOCK")?);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    command.args(["serve", "--port", &port, "--log-level", "warning"]).env("COLUMNS", "200");
    let mock = started(command).await;
    let url = format!("{}/_llmock/requests", mock.url);
    // The address is printed before the server listens.
    while reqwest::get(&url).await.is_err() {
        tokio::task::yield_now().await;
    }
    Some(mock)
}

/// The model of an API of `llmock`, whose paths begin with the provider.
fn chaotic(wire: &str, mock: &Mock) -> HttpModel {
    let folder = if wire.starts_with("openai") { String::new() } else { format!("/{wire}") };
    model(wire, &format!("{}{folder}", mock.url))
}

/// Queues the behaviour of the next requests.
async fn queue(mock: &Mock, behaviors: Value) {
    let request = reqwest::Client::new().post(format!("{}/_llmock/scenario", mock.url));
    let response = request.body(json!({ "behaviors": behaviors }).to_string()).send().await.unwrap();
    assert!(response.status().is_success(), "{}", response.text().await.unwrap());
}

/// Runs an agent with the tool, and returns its answer.
async fn answer(model: HttpModel) -> String {
    let tools = Registry::builder().tool::<multiply>().build().unwrap();
    let agent = Agent::builder("calculator", model).tools(tools).build().unwrap();
    Runner::new(agent).run("25 times 4?").answer().await.unwrap()
}

fn question(text: &str) -> Request {
    Request::new([Message::user(text)])
}

#[tokio::test]
async fn an_agent_calls_its_tool_on_every_wire_of_aimock() {
    let Some(mock) = aimock().await else { return };
    for wire in WIRES {
        for streams in [true, false] {
            let model = model(wire, &mock.url).with_streaming(streams);
            assert_eq!(answer(model).await, "25 times 4 is 100.", "{wire}, streams: {streams}");
        }
    }
}

#[tokio::test]
async fn faults_of_aimock_are_errors_of_their_kind() {
    let Some(mock) = aimock().await else { return };
    for wire in WIRES {
        for (text, kind) in [
            ("limited", ModelErrorKind::RateLimited),
            ("broken", ModelErrorKind::Unavailable),
            ("malformed", ModelErrorKind::Malformed),
            ("cut", ModelErrorKind::Connection),
        ] {
            let model = model(wire, &mock.url).with_retries(0);
            let error = model.respond(question(text)).response().await.unwrap_err();
            assert_eq!(error.kind(), kind, "{wire}, {text}: {error:?}");
        }
    }
}

#[tokio::test]
async fn an_agent_calls_its_tool_on_every_wire_of_llmock() {
    let Some(mock) = llmock().await else { return };
    for wire in WIRES {
        for streams in [true, false] {
            let call = json!({ "type": "reply", "tool_calls": [{ "name": "multiply", "arguments": { "a": 25, "b": 4 } }] });
            queue(&mock, json!([call, { "type": "reply", "text": "100, says llmock." }])).await;
            let model = chaotic(wire, &mock).with_streaming(streams);
            assert_eq!(answer(model).await, "100, says llmock.", "{wire}, streams: {streams}");
        }
    }
}

#[tokio::test]
async fn a_request_to_llmock_is_repeated_after_each_fault() {
    let Some(mock) = llmock().await else { return };
    let faults = [
        json!({ "type": "fail", "status": 429, "retry_after": 0 }),
        json!({ "type": "fail", "status": 500 }),
        json!({ "type": "stream_fault", "kind": "truncate", "after_chunks": 2 }),
        json!({ "type": "stream_fault", "kind": "disconnect", "after_chunks": 2 }),
        // After the `ping` of Anthropic, which is skipped whatever its data is.
        json!({ "type": "stream_fault", "kind": "malformed", "after_chunks": 3 }),
    ];
    for wire in WIRES {
        for fault in &faults {
            let long = "an answer of many words that arrives in more than a few chunks";
            queue(&mock, json!([fault, { "type": "reply", "text": long, "times": 2 }])).await;
            let all = events(
                chaotic(wire, &mock).with_longest_pause(Duration::from_millis(1)).respond(question("?")),
            )
            .await;
            let retries = all.iter().filter(|event| matches!(event, Ok(ModelEvent::Retried { .. }))).count();
            let Some(Ok(ModelEvent::Finished(response))) = all.last() else {
                panic!("{wire}, {fault}: {all:?}")
            };
            assert_eq!((retries, response.message.text().as_str()), (1, long), "{wire}, {fault}");
            reqwest::Client::new().post(format!("{}/_llmock/reset", mock.url)).send().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_slow_first_event_of_llmock_times_out() {
    let Some(mock) = llmock().await else { return };
    for wire in WIRES {
        queue(&mock, json!([{ "type": "slow_first_token", "seconds": 600 }])).await;
        let model = chaotic(wire, &mock).with_retries(0).with_timeout(Duration::from_millis(200));
        let error = model.respond(question("?")).response().await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::TimedOut, "{wire}: {error:?}");
    }
}
