//! Hooks of a broker: what they see, and what they prevent.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tool_mcp::{
    broker::{BrokerPhase, BrokerTarget, Interception, McpBroker},
    client::{ClientErrorKind, Endpoint, Process, ServerConfig, Transport},
};
use tool_runtime::prelude::*;

use super::{
    error,
    urls::{web, web_with},
    value,
};

/// A target of an operation, as a hook saw it.
#[derive(Debug, PartialEq)]
struct Seen {
    selector: String,
    server: Option<String>,
    tool: Option<String>,
    phase: BrokerPhase,
    url: Option<String>,
    transport: String,
    is_chosen_by_model: bool,
    /// The values of the header `x-token`, in any case.
    tokens: Vec<String>,
}

impl From<&BrokerTarget<'_>> for Seen {
    fn from(target: &BrokerTarget<'_>) -> Self {
        let headers = match &target.config.transport {
            Transport::Http(endpoint) | Transport::Sse(endpoint) => endpoint.headers.clone(),
            _ => Default::default(),
        };
        let tokens = headers.into_iter().filter(|(name, _)| name.eq_ignore_ascii_case("x-token"));
        Self {
            selector: target.selector.to_owned(),
            server: target.server.map(str::to_owned),
            tool: target.tool.map(str::to_owned),
            phase: target.phase,
            url: target.url().map(str::to_owned),
            transport: target.config.transport.name().to_owned(),
            is_chosen_by_model: target.is_chosen_by_model(),
            tokens: tokens.map(|(_, value)| value).collect(),
        }
    }
}

type AllSeen = Arc<Mutex<Vec<Seen>>>;

fn note(all: &AllSeen) -> impl Fn(&BrokerTarget<'_>) + Send + Sync + 'static {
    let all = Arc::clone(all);
    move |target| all.lock().unwrap().push(target.into())
}

#[tokio::test]
async fn hooks_see_the_target_of_each_operation() {
    let web = web().await;
    let (of_headers, of_options) = (AllSeen::default(), AllSeen::default());
    let (note_headers, note_options) = (note(&of_headers), note(&of_options));
    let broker = McpBroker::builder()
        .allow_urls()
        .server(ServerConfig::new("web", Endpoint::new(&web.url).header("X-TOKEN", "old")))
        .headers(move |target| {
            note_headers(target);
            Box::pin(async {
                let headers = [("x-token".parse().unwrap(), HeaderValue::from_static("t"))];
                Ok(Some(HeaderMap::from_iter(headers)))
            })
        })
        .client_options(move |target, options| {
            note_options(target);
            // A copy: the operation keeps its own.
            let mut target = target.clone();
            target.config.transport = Transport::Http(Endpoint::new("http://127.0.0.1:1/mcp"));
            Ok(options)
        })
        .build()
        .unwrap();
    let with_headers = json!({ "selector": web.url, "headers": { "X-Token": "of the model" } });
    let by_url = format!("{}.text", web.url);
    value(&broker, "mcp_list_tools", json!({ "selector": "web" })).await;
    value(&broker, "mcp_inspect_tools", json!({ "selector": "web", "tools": ["text"] })).await;
    value(&broker, "mcp_call", json!({ "selector": "web.text", "arguments": {} })).await;
    value(&broker, "mcp_list_tools", with_headers).await;
    value(&broker, "mcp_call", json!({ "selector": by_url, "arguments": {} })).await;

    let seen = |selector: &str, tool: Option<&str>, phase: BrokerPhase, token: &str| {
        let server = selector.starts_with("web").then(|| "web".to_owned());
        Seen {
            selector: selector.to_owned(),
            is_chosen_by_model: server.is_none(),
            server,
            tool: tool.map(str::to_owned),
            phase,
            url: Some(web.url.clone()),
            transport: "http".to_owned(),
            tokens: if token.is_empty() { vec![] } else { vec![token.to_owned()] },
        }
    };
    let expected = |named: &str, with_headers: &str, by_url_alone: &str| {
        [
            seen("web", None, BrokerPhase::ListTools, named),
            seen("web", None, BrokerPhase::InspectTools, named),
            seen("web.text", Some("text"), BrokerPhase::CallTool, named),
            seen(&web.url, None, BrokerPhase::ListTools, with_headers),
            seen(&by_url, Some("text"), BrokerPhase::CallTool, by_url_alone),
        ]
    };
    // N11
    assert_eq!(*of_headers.lock().unwrap(), expected("old", "of the model", ""));
    // N13: after the headers were added.
    assert_eq!(*of_options.lock().unwrap(), expected("t", "t", "t"));
}

#[tokio::test]
async fn headers_are_not_asked_for_a_child_process() {
    let (of_headers, of_options) = (AllSeen::default(), AllSeen::default());
    let (note_headers, note_options) = (note(&of_headers), note(&of_options));
    let broker = McpBroker::builder()
        .server(ServerConfig::new("child", Process::new("/nonexistent")))
        .headers(move |target| {
            note_headers(target);
            Box::pin(async { Err(ToolError::failed("headers of a child process")) })
        })
        .client_options(move |target, options| {
            note_options(target);
            Ok(options)
        })
        .on_error(|_, _| Interception::Replaced(ToolError::failed("an error of a child process")))
        .build()
        .unwrap();
    let refused = error(&broker, "mcp_list_tools", json!({ "selector": "child" })).await;
    // N11, N12
    assert!(refused.contains("`/nonexistent` cannot be started"), "{refused}");
    assert_eq!(*of_headers.lock().unwrap(), []);
    let of_options = of_options.lock().unwrap();
    let [seen] = &of_options[..] else { panic!("{of_options:?}") };
    // N13
    assert_eq!((seen.url.as_deref(), seen.transport.as_str()), (None, "stdio"));
}

#[tokio::test]
async fn a_refused_host_is_not_connected_to() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    let refuses = Arc::new(Mutex::new(true));
    let is_refused = Arc::clone(&refuses);
    let broker = McpBroker::builder()
        .allow_urls()
        .server(ServerConfig::new("web", Endpoint::new(&url)))
        .client_options(move |target, options| match *is_refused.lock().unwrap() {
            true => Err(ToolError::failed(format!("{} is refused", target.url().unwrap()))),
            false => Ok(options),
        })
        .build()
        .unwrap();
    let operations: [(&str, Value); 4] = [
        ("mcp_list_tools", json!({ "selector": "web" })),
        ("mcp_list_tools", json!({ "selector": url })),
        ("mcp_inspect_tools", json!({ "selector": url, "tools": ["t"] })),
        ("mcp_call", json!({ "selector": format!("{url}.t"), "arguments": {} })),
    ];
    for (tool, arguments) in &operations {
        let refused = error(&broker, tool, arguments.clone()).await;
        // N13
        assert!(refused.contains(&format!("{url} is refused")), "{refused}");
    }
    assert_eq!(connections.load(Ordering::Relaxed), 0);
    // The listener counts.
    *refuses.lock().unwrap() = false;
    error(&broker, "mcp_list_tools", json!({ "selector": "web" })).await;
    assert!(connections.load(Ordering::Relaxed) > 0);
}

#[tokio::test]
async fn a_refusal_of_a_server_is_intercepted_and_a_panic_of_the_interceptor_is_an_error() {
    let web = web_with(StatusCode::UNAUTHORIZED).await;
    for panics in [false, true] {
        let broker = McpBroker::builder()
            .server(ServerConfig::new("web", Endpoint::new(&web.url)))
            .on_error(move |_, error| {
                assert!(!panics, "an interceptor of the program");
                match error.kind() {
                    ClientErrorKind::Unauthorized => {
                        Interception::Replaced(ToolError::failed("sign in first"))
                    }
                    _ => Interception::Unhandled,
                }
            })
            .build()
            .unwrap();
        let refused = error(&broker, "mcp_list_tools", json!({ "selector": "web" })).await;
        // N12
        let expected = if panics { "a hook of the broker panicked" } else { "sign in first" };
        assert!(refused.contains(expected), "{refused}");
    }
}

#[tokio::test]
async fn a_header_that_cannot_be_sent_ends_the_operation() {
    let web = web_with(StatusCode::UNAUTHORIZED).await;
    let broker = McpBroker::builder()
        .server(ServerConfig::new("web", Endpoint::new(&web.url)))
        .headers(|_| {
            let value = HeaderValue::from_bytes(b"hid\xffden").unwrap();
            Box::pin(async move { Ok(Some(HeaderMap::from_iter([("x-token".parse().unwrap(), value)]))) })
        })
        .build()
        .unwrap();
    let refused = error(&broker, "mcp_list_tools", json!({ "selector": "web" })).await;
    // N11
    assert!(refused.contains("internal") || refused.contains("not visible ASCII"), "{refused}");
    assert!(!refused.contains("hid"), "{refused}");
}
