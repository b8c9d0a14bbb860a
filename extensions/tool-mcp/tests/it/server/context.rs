//! The context of a tool: its client, its session, and the reports that the client receives.

use std::{
    sync::{Mutex, mpsc},
    time::Duration,
};

use rmcp::{
    ClientHandler,
    model::{
        CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest, GetMeta,
        ProtocolVersion,
    },
    service::PeerRequestOptions,
};
use serde_json::{Value, json};
use tool_mcp::server::McpServer;
use tool_runtime::{
    CancellationToken, ToolContext,
    context::{LogLevel, LogLine, Progress},
    prelude::*,
};

use super::{
    BOTH, config, connect, initialize, serve,
    streams::{Raw, call as call_of, open, raw},
    text,
};

/// Tells what it sees.
#[tool(register = false)]
fn see(cx: &ToolContext) -> Value {
    let client = cx.client_info().map(|client| (client.name.clone(), client.version.clone()));
    let meta = cx.run().map(|run| run.meta().get("k").cloned());
    json!({
        "session": cx.session_id(),
        "client": client,
        "elicits": cx.client_capabilities().map(|it| it.contains_key("elicitation")),
        "meta": meta,
    })
}

/// Reports while it runs.
#[tool(register = false)]
fn report(cx: &ToolContext) -> Result<&'static str, ToolError> {
    cx.log(LogLine::new(LogLevel::Debug, "started"))?;
    cx.progress(Progress::new(1.0).of(2.0).message("half"))?;
    cx.log(LogLine::new(LogLevel::Warning, "slow").with_data(json!({ "ms": 5 })))?;
    cx.progress(Progress::new(2.0).of(2.0))?;
    Ok("done")
}

fn tools() -> Registry {
    Registry::builder().tool::<see>().tool::<report>().build().unwrap()
}

/// Describes itself.
struct Described;

impl ClientHandler for Described {
    fn get_info(&self) -> ClientConfig {
        config(ClientCapabilities::builder().enable_elicitation().build())
    }
}

/// Calls `tool` with `meta`, and returns the text of the result.
async fn call<H: ClientHandler>(it: &super::Connected<H>, tool: &str, meta: Value) -> String {
    let request = CallToolRequest::new(CallToolRequestParams::new(tool.to_owned()));
    let mut request = ClientRequest::CallToolRequest(request);
    request.get_meta_mut().0.0.extend(meta.as_object().unwrap().clone());
    let options = PeerRequestOptions::no_options();
    let handle = it.client.peer().send_cancellable_request(request, options).await.unwrap();
    match handle.await_response().await.unwrap() {
        rmcp::model::ServerResult::CallToolResult(result) => text(&result),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_tool_sees_session_client_and_meta() {
    for version in BOTH {
        // C12, C15
        let it = connect(tools(), Described, version.clone()).await;
        let seen: Value = serde_json::from_str(&call(&it, "see", json!({ "k": 1 })).await).unwrap();
        assert_eq!(seen["client"], json!(["tester", "0.1.0"]));
        assert_eq!((&seen["meta"], &seen["elicits"]), (&json!(1), &json!(true)));
        let again: Value = serde_json::from_str(&call(&it, "see", json!({})).await).unwrap();
        assert!(seen["session"].is_string());
        assert_eq!(again["session"], seen["session"], "one connection is one session");
        assert_eq!(again["meta"], Value::Null);

        let served = serve(McpServer::new(tools()).http().unwrap()).await;
        let it = served.connect(Described, version.clone()).await;
        let seen: Value = serde_json::from_str(&call(&it, "see", json!({ "k": 1 })).await).unwrap();
        assert_eq!(seen["session"].is_string(), version.has_initialize(), "{seen}");
        assert_eq!(seen["client"], json!(["tester", "0.1.0"]));
    }
}

#[test]
fn outside_a_session_there_is_none() {
    // C12
    let cx = ToolContext::for_test();
    assert!(cx.client_info().is_none() && cx.session_id().is_none());
    assert!(cx.progress(Progress::new(1.0)).is_ok());
    assert!(cx.log(LogLine::new(LogLevel::Info, "no listener")).is_ok());
}

/// Calls `report` with `meta`, and returns all that comes until the result, which is the last.
async fn reported(client: &mut Raw, version: &ProtocolVersion, meta: Value) -> Vec<Value> {
    let mut call = call_of(version, "report");
    for (key, value) in meta.as_object().unwrap() {
        call["params"]["_meta"][key] = value.clone();
    }
    client.send(&call).await;
    let mut received = Vec::new();
    loop {
        let message = client.receive().await;
        if message["id"] == call["id"] {
            assert_eq!(message["result"]["content"][0]["text"], "done", "{message}");
            return received;
        }
        received.push(message["params"].clone());
    }
}

#[tokio::test]
async fn progress_reaches_a_client_that_sent_a_token_before_the_result() {
    for version in BOTH {
        // C13, O05
        let (mut client, _served) = raw(McpServer::new(tools()), CancellationToken::new());
        open(&mut client, &version).await;
        if version.has_initialize() {
            let params = json!({ "level": "emergency" });
            client
                .send(&json!({ "jsonrpc": "2.0", "id": 9, "method": "logging/setLevel", "params": params }))
                .await;
            assert_eq!(client.receive().await["result"], json!({}));
        }
        assert!(reported(&mut client, &version, json!({})).await.is_empty());
        for token in [json!("t-1"), json!(5)] {
            let received = reported(&mut client, &version, json!({ "progressToken": token })).await;
            let half = json!({ "progressToken": token, "progress": 1.0, "total": 2.0, "message": "half" });
            assert_eq!(received, [half, json!({ "progressToken": token, "progress": 2.0, "total": 2.0 })]);
        }
    }
}

#[tokio::test]
async fn log_lines_reach_a_client_that_wants_them_before_the_result() {
    for version in BOTH {
        // C14, O05, W07
        let (mut client, _served) = raw(McpServer::new(tools()), CancellationToken::new());
        open(&mut client, &version).await;
        let started = json!({ "level": "debug", "logger": "report", "data": "started" });
        let slow = json!({ "message": "slow", "data": { "ms": 5 } });
        let slow = json!({ "level": "warning", "logger": "report", "data": slow });
        if version.has_initialize() {
            // All lines, unless the client says otherwise.
            let received = reported(&mut client, &version, json!({})).await;
            assert_eq!(received, [started, slow.clone()]);
            let params = json!({ "level": "warning" });
            client
                .send(&json!({ "jsonrpc": "2.0", "id": 9, "method": "logging/setLevel", "params": params }))
                .await;
            client.receive().await;
            assert_eq!(reported(&mut client, &version, json!({})).await, [slow]);
        } else {
            // None, unless the request says otherwise.
            assert!(reported(&mut client, &version, json!({})).await.is_empty());
            let wanted = json!({ "io.modelcontextprotocol/logLevel": "debug" });
            assert_eq!(reported(&mut client, &version, wanted).await, [started, slow.clone()]);
            let wanted = json!({ "io.modelcontextprotocol/logLevel": "warning" });
            assert_eq!(reported(&mut client, &version, wanted).await, [slow]);
        }
    }
}

/// Says that the client received a report.
struct Heard(Mutex<mpsc::Receiver<()>>);

/// Reports from another thread, which waits until the report was received.
#[tool(register = false, name = "report", blocking)]
fn wait(cx: &ToolContext, heard: &Heard) -> Result<&'static str, ToolError> {
    cx.progress(Progress::new(1.0))?;
    match heard.0.lock().unwrap().recv_timeout(Duration::from_secs(10)) {
        Ok(()) => Ok("done"),
        Err(_) => Err(ToolError::failed("the client received no report while the tool ran")),
    }
}

#[tokio::test]
async fn progress_of_another_thread_arrives_while_the_tool_runs() {
    for version in BOTH {
        // C13
        let (say, heard) = mpsc::channel();
        let tools = Registry::builder().tool::<wait>().provide(Heard(Mutex::new(heard))).build().unwrap();
        let (mut client, _served) = raw(McpServer::new(tools), CancellationToken::new());
        open(&mut client, &version).await;
        let mut call = call_of(&version, "report");
        call["params"]["_meta"]["progressToken"] = json!(1);
        client.send(&call).await;
        assert_eq!(client.receive().await["params"]["progress"], 1.0);
        say.send(()).unwrap();
        assert_eq!(client.receive().await["result"]["content"][0]["text"], "done");
    }
}

/// Reports more than waits for a client.
#[tool(register = false, name = "report")]
fn flood(cx: &ToolContext) -> Result<&'static str, ToolError> {
    for done in 0..2_000 {
        cx.log(LogLine::new(LogLevel::Error, "again"))?;
        cx.progress(Progress::new(f64::from(done)))?;
    }
    Ok("done")
}

#[tokio::test]
async fn the_number_of_log_lines_that_are_left_out_is_sent() {
    let [version, _] = BOTH;
    let tools = Registry::builder().tool::<flood>().build().unwrap();
    let (mut client, _served) = raw(McpServer::new(tools), CancellationToken::new());
    open(&mut client, &version).await;
    for meta in [json!({}), json!({ "progressToken": 1 })] {
        let received = reported(&mut client, &version, meta).await;
        let (last, others) = received.split_last().unwrap();
        let (lines, progress): (Vec<_>, Vec<_>) = others.iter().partition(|it| it.get("data").is_some());
        assert!(lines.iter().all(|line| line["data"] == "again"), "{lines:?}");
        assert!(lines.len() < 2_000 && progress.len() < 2_000);
        // Progress that is left out is not counted: a later report replaces it.
        let expected = format!("{} log lines were left out", 2_000 - lines.len());
        assert_eq!(last["data"], expected);
    }
}

#[cfg(feature = "opentelemetry")]
#[test]
fn the_trace_of_a_call_continues_at_the_server() {
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
    use tracing_subscriber::layer::SubscriberExt as _;

    test_support::collectors::each_thread_for_itself();
    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const PARENT: &str = "b7ad6b7169203331";
    for version in BOTH {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        let layer = tracing_subscriber::Layer::with_filter(
            layer,
            tracing_subscriber::filter::filter_fn(|it| it.target().starts_with("tool")),
        );
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            runtime.block_on(async {
                let (mut client, _served) = raw(McpServer::new(tools()), CancellationToken::new());
                open(&mut client, &version).await;
                let trace = json!({ "traceparent": format!("00-{TRACE}-{PARENT}-01"), "progressToken": 1 });
                reported(&mut client, &version, trace).await;
            });
        });
        let spans = exporter.get_finished_spans().unwrap();
        // W05
        let of_caller = |span: &&opentelemetry_sdk::trace::SpanData| {
            span.name == "execute_tool report"
                && span.span_context.trace_id().to_string() == TRACE
                && span.parent_span_id.to_string() == PARENT
        };
        assert_eq!(spans.iter().filter(of_caller).count(), 1, "{spans:?}");
    }
}

#[tokio::test]
async fn log_lines_are_in_the_stream_of_their_call() {
    // C14: a client need not open another stream.
    let served = serve(McpServer::new(tools()).http().unwrap()).await;
    for version in BOTH {
        let mut call = call_of(&version, "report");
        let mut request = served.post(&call, &version);
        if version.has_initialize() {
            let opened = served.post(&initialize(), &version).send().await.unwrap();
            let id = opened.headers()["mcp-session-id"].clone();
            let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            served.post(&initialized, &version).header("mcp-session-id", &id).send().await.unwrap();
            request = request.header("mcp-session-id", id);
        } else {
            call["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
            request = served.post(&call, &version);
        }
        let body = request.send().await.unwrap().text().await.unwrap();
        let messages = body.lines().filter_map(|line| line.strip_prefix("data:"));
        let messages: Vec<Value> = messages.filter_map(|data| serde_json::from_str(data).ok()).collect();
        let methods: Vec<_> = messages.iter().map(|it| it["method"].as_str().unwrap_or("result")).collect();
        assert_eq!(methods, ["notifications/message", "notifications/message", "result"], "{body}");
    }
}

#[tokio::test]
async fn each_request_has_its_own_client() {
    let served = serve(McpServer::new(tools()).http().unwrap()).await;
    let [_, version] = BOTH;
    for (name, capabilities) in [
        ("a", json!({})),
        ("b", json!({})),
        ("b", json!({ "elicitation": {} })),
        ("a", json!({})),
        ("a", json!({})),
        ("a", json!({ "elicitation": {} })),
    ] {
        let mut request = super::modern("tools/call", json!({ "name": "see", "arguments": {} }));
        let meta = &mut request["params"]["_meta"];
        meta["io.modelcontextprotocol/clientInfo"]["name"] = json!(name);
        meta["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
        let answer = served.post(&request, &version).send().await.unwrap().text().await.unwrap();
        let answer = super::sse(&answer);
        let seen = answer["result"]["content"][0]["text"].as_str().unwrap();
        let seen: Value = serde_json::from_str(seen).unwrap();
        let elicits = capabilities.get("elicitation").is_some();
        assert_eq!((&seen["client"], &seen["elicits"]), (&json!([name, "1"]), &json!(elicits)));
    }
}

#[tokio::test]
async fn reports_that_cannot_be_asked_for_are_a_log_line() {
    use tracing_subscriber::layer::SubscriberExt as _;
    test_support::collectors::each_thread_for_itself();
    let log = super::lost::Log::default();
    let _collecting = tracing::subscriber::set_default(tracing_subscriber::registry().with(log.clone()));
    for version in BOTH {
        let (mut client, _served) = raw(McpServer::new(tools()), CancellationToken::new());
        open(&mut client, &version).await;
        let level = "io.modelcontextprotocol/logLevel";
        let is_modern = !version.has_initialize();
        for (meta, unreadable) in [
            (json!({}), vec![]),
            (json!({ "progressToken": null, level: null }), vec![]),
            (json!({ "progressToken": {} }), vec!["progressToken"]),
            (json!({ level: 1 }), if is_modern { vec![level] } else { vec![] }),
        ] {
            log.0.lock().unwrap().clear();
            let mut message = call_of(&version, "see");
            if !message["params"]["_meta"].is_object() {
                message["params"]["_meta"] = json!({});
            }
            message["params"]["_meta"].as_object_mut().unwrap().extend(meta.as_object().unwrap().clone());
            client.send(&message).await;
            assert!(client.receive().await["result"].is_object());
            let lines = log.0.lock().unwrap().clone();
            let lines: Vec<_> = lines.iter().filter(|line| line.contains("cannot be read")).collect();
            let expected: Vec<_> = unreadable
                .iter()
                .map(|name| format!("`params._meta.{name}` cannot be read; the call has no such reports"))
                .collect();
            assert_eq!(lines, expected.iter().collect::<Vec<_>>(), "{version:?} {meta}");
        }
    }
}
