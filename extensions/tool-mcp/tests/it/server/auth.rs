//! Bearer tokens.

use std::time::{Duration, SystemTime};

use rmcp::{
    model::{ClientCapabilities, GetPromptRequestParams, Prompt, PromptMessage, ProtocolVersion, Role},
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};
use serde_json::{Value, json};
use tool_mcp::server::{
    HttpConfig, Identity, McpServer, PromptSet, RequestHeaders, ResourceServer, ServedTools, TokenError,
};
use tool_runtime::{Toolbox, prelude::*, toolbox::Visibility};

use super::{BOTH, Connected, Served, initialize, modern, questions, serve, sse, text};

fn validate(token: &str) -> Result<Identity, TokenError> {
    match token {
        "alice" => Ok(Identity::new("alice").scopes(["use", "admin"])),
        "bob" => Ok(Identity::new("bob").scopes(["use"])),
        "guest" => Ok(Identity::new("guest")),
        "old" => Ok(Identity::new("bob").scopes(["use"]).expires(SystemTime::now() - Duration::from_secs(1))),
        "short" => {
            let end = SystemTime::now() + Duration::from_millis(500);
            Ok(Identity::new("bob").scopes(["use"]).expires(end))
        }
        "later" => Err(TokenError::Unavailable("the database is away".to_owned())),
        "panic" => panic!("a validator that breaks"),
        _ => Err(TokenError::Invalid("it is unknown".to_owned())),
    }
}

fn protection() -> ResourceServer {
    ResourceServer::new("https://mcp.example.com/mcp", validate)
        .issuer("https://login.example.com")
        .require(["use"])
        .scopes(["admin"])
}

async fn protected(tools: impl Into<ServedTools>) -> Served {
    serve(McpServer::new(tools).http_with(HttpConfig::new().protect(protection())).unwrap()).await
}

impl Served {
    async fn connect_as(&self, token: &str, version: ProtocolVersion) -> Connected<questions::User> {
        let config = StreamableHttpClientTransportConfig::with_uri(self.url.as_str()).auth_header(token);
        let transport = StreamableHttpClientTransport::from_config(config);
        self.connect_over(transport, questions::User, version).await
    }
}

/// Tells who calls.
#[tool(register = false)]
fn who(identity: Option<&Identity>, headers: Option<&RequestHeaders>, cx: &ToolContext) -> String {
    let subject = identity.map_or("anonymous", |identity| &identity.subject);
    let host = headers.and_then(|headers| headers.get("host")).map(|_| "a host");
    // E10
    assert!(!format!("{headers:?}").contains(subject), "{headers:?}");
    let user = cx.run().and_then(|run| run.user().map(str::to_owned));
    format!("{subject} {user:?} {host:?}")
}

/// For administrators.
#[tool(register = false)]
fn secret() -> &'static str {
    "42"
}

#[tokio::test]
async fn requests_without_a_valid_token_are_refused_with_a_challenge() {
    let served = protected(Registry::default()).await;
    let metadata = "resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\"";
    for version in BOTH {
        let list = match version.has_initialize() {
            true => initialize(),
            false => modern("tools/list", json!({})),
        };
        for (token, status, expected) in [
            ("", 401, "scope=\"use\""),
            ("Basic alice", 401, "scope=\"use\""),
            ("Bearer mallory", 401, "error=\"invalid_token\", error_description=\"it is unknown\""),
            ("Bearer old", 401, "error=\"invalid_token\", error_description=\"it is expired\""),
            ("Bearer guest", 403, "scope=\"use\", error=\"insufficient_scope\""),
        ] {
            let mut request = served.post(&list, &version);
            if !token.is_empty() {
                request = request.header("authorization", token);
            }
            let answer = request.send().await.unwrap();
            assert_eq!(answer.status(), status, "{token}");
            let challenge = answer.headers()["www-authenticate"].to_str().unwrap();
            assert!(challenge.starts_with("Bearer "), "{challenge}");
            assert!(challenge.contains(metadata) && challenge.contains(expected), "{challenge}");
        }
        // No proxy and no server read different ones of two.
        let twice = served.post(&list, &version).bearer_auth("bob").bearer_auth("alice").send().await;
        assert_eq!(twice.unwrap().status(), 401);
        for token in ["later", "panic"] {
            let answer = served.post(&list, &version).bearer_auth(token).send().await.unwrap();
            assert_eq!(answer.status(), 503, "{token}");
            assert!(!answer.text().await.unwrap().contains("database"));
        }
        let answer = served.post(&list, &version).bearer_auth("bob").send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }
}

#[tokio::test]
async fn the_metadata_names_the_issuer() {
    let served = protected(Registry::default()).await;
    let origin = served.url.trim_end_matches("/mcp");
    for path in ["", "/mcp"] {
        let url = format!("{origin}/.well-known/oauth-protected-resource{path}");
        let metadata: Value = reqwest::get(url).await.unwrap().json().await.unwrap();
        assert_eq!(metadata["resource"], "https://mcp.example.com/mcp");
        assert_eq!(metadata["authorization_servers"], json!(["https://login.example.com"]));
        assert_eq!(metadata["scopes_supported"], json!(["admin", "use"]));
    }
}

#[tokio::test]
async fn the_caller_and_its_headers_are_values_of_the_run() {
    for version in BOTH {
        let served = protected(Registry::builder().tool::<who>().build().unwrap()).await;
        let it = served.connect_as("alice", version.clone()).await;
        assert_eq!(text(&it.call("who", json!({})).await), "alice Some(\"alice\") Some(\"a host\")");
        let it = served.connect_as("bob", version).await;
        assert_eq!(text(&it.call("who", json!({})).await), "bob Some(\"bob\") Some(\"a host\")");
    }
}

#[tokio::test]
async fn a_prompt_sees_the_headers_of_its_request() {
    let prompts = PromptSet::new().dynamic(Prompt::new("host", Some("Tells."), None), |run, _| async move {
        let host = run.provided().get::<RequestHeaders>().map(|headers| headers.contains_key("host"));
        Ok(vec![PromptMessage::new_text(Role::User, format!("{host:?}"))])
    });
    let served = serve(McpServer::new(Registry::default()).prompts(prompts).http().unwrap()).await;
    for version in BOTH {
        let it = served.connect(questions::User, version).await;
        let given = it.client.get_prompt(GetPromptRequestParams::new("host")).await.unwrap();
        assert_eq!(given.messages[0].content.as_text().unwrap().text, "Some(true)");
    }
}

#[tokio::test]
async fn tools_are_shown_by_caller() {
    for version in BOTH {
        let tools = Registry::builder().tool::<who>().tool::<secret>().build().unwrap();
        let toolbox = Toolbox::from_registry(&tools);
        toolbox.show(Visibility::all().when(|cx, tool| {
            let is_admin = cx.get::<Identity>().is_some_and(|identity| identity.has_scope("admin"));
            is_admin || tool.name().as_str() != "secret"
        }));
        let served = protected(toolbox).await;
        let alice = served.connect_as("alice", version.clone()).await;
        assert_eq!(alice.client.list_all_tools().await.unwrap().len(), 2);
        assert_eq!(text(&alice.call("secret", json!({})).await), "42");
        let bob = served.connect_as("bob", version).await;
        assert_eq!(bob.client.list_all_tools().await.unwrap().len(), 1);
        assert!(bob.try_call("secret", json!({})).await.is_err());
    }
}

#[tokio::test]
async fn a_session_belongs_to_the_caller_that_opened_it() {
    let served = protected(Registry::default()).await;
    let [version, _] = BOTH;
    let opened = served.post(&initialize(), &version).bearer_auth("alice").send().await.unwrap();
    let id = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for (token, session, expected) in
        [("bob", id.clone(), 404), ("alice", id.clone(), 200), ("alice", format!("{id}x"), 404)]
    {
        let request = served.post(&ping, &version).bearer_auth(token).header("mcp-session-id", session);
        assert_eq!(request.send().await.unwrap().status(), expected, "{token}");
    }
    let close = |token| {
        reqwest::Client::new().delete(&served.url).bearer_auth(token).header("mcp-session-id", &id).send()
    };
    assert_eq!(close("bob").await.unwrap().status(), 404);
    assert_eq!(close("alice").await.unwrap().status(), 204);
}

#[tokio::test]
async fn the_sessions_of_a_caller_have_a_limit_of_their_own() {
    let config = HttpConfig::new().protect(protection()).max_sessions_per_caller(2).max_sessions(4);
    let served = serve(McpServer::new(Registry::default()).http_with(config).unwrap()).await;
    let [version, _] = BOTH;
    let open = |token| served.post(&initialize(), &version).bearer_auth(token).send();
    let opened = futures_util::future::join_all((0..8).map(|_| open("alice"))).await;
    let opened: Vec<_> = opened.into_iter().map(Result::unwrap).collect();
    assert_eq!(opened.iter().filter(|it| it.status() == 200).count(), 2);
    assert_eq!(opened.iter().filter(|it| it.status() == 429).count(), 6);
    for answer in opened {
        if answer.status() == 429 {
            assert!(answer.text().await.unwrap().contains("2 sessions of this caller are open"));
            continue;
        }
        // A closed session makes room for another one of the same caller.
        let id = answer.headers()["mcp-session-id"].clone();
        let closing = reqwest::Client::new().delete(&served.url).bearer_auth("alice");
        assert_eq!(closing.header("mcp-session-id", id).send().await.unwrap().status(), 204);
        assert_eq!(open("alice").await.unwrap().status(), 200);
    }
    assert_eq!(open("bob").await.unwrap().status(), 200);
    assert_eq!(open("bob").await.unwrap().status(), 200);
    // The limit of the server comes first.
    assert_eq!(open("bob").await.unwrap().status(), 503);
}

/// Waits, once it has started.
#[tool(register = false, concurrency_safe)]
async fn wait(gate: &tokio::sync::Barrier) -> &'static str {
    gate.wait().await;
    gate.wait().await;
    "done"
}

#[tokio::test]
async fn the_calls_of_a_caller_have_a_limit_of_their_own() {
    for version in BOTH {
        let gate = std::sync::Arc::new(tokio::sync::Barrier::new(2));
        let tools = Registry::builder().tool::<wait>().tool::<who>().provide_shared(gate.clone());
        let server = McpServer::new(tools.build().unwrap()).max_calls_per_caller(1);
        let served = serve(server.http_with(HttpConfig::new().protect(protection())).unwrap()).await;
        let alice = served.connect_as("alice", version.clone()).await;
        let again = served.connect_as("alice", version.clone()).await;
        let bob = served.connect_as("bob", version).await;
        let others = async {
            gate.wait().await;
            // Also of another session.
            let error = again.try_call("who", json!({})).await.unwrap_err();
            assert!(error.to_string().contains("1 calls of this caller run"), "{error}");
            assert!(text(&bob.call("who", json!({})).await).starts_with("bob"));
            gate.wait().await;
        };
        let (first, ()) = tokio::join!(alice.call("wait", json!({})), others);
        assert_eq!(text(&first), "done");
        assert!(text(&again.call("who", json!({})).await).starts_with("alice"));
    }
}

#[tokio::test]
async fn a_question_belongs_to_the_caller_that_was_asked() {
    let [_, version] = BOTH;
    let served = protected(questions::tools()).await;
    let mut call = modern("tools/call", json!({ "name": "greet", "arguments": {} }));
    let elicitation = ClientCapabilities::builder().enable_elicitation().build();
    call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!(elicitation);
    let post = async |call: &Value, token: &str| -> Value {
        let answer = served.post(call, &version).bearer_auth(token).send().await.unwrap();
        sse(&answer.text().await.unwrap())
    };
    let asked = post(&call, "alice").await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    call["params"]["requestState"] = asked["result"]["requestState"].clone();
    call["params"]["inputResponses"] =
        json!({ "first": { "action": "accept", "content": { "first": "Ada" } } });
    // An answer to a question that was not asked is none.
    call["params"]["inputResponses"]["last"] = json!({ "action": "accept", "content": { "last": "Byron" } });
    let refused = post(&call, "bob").await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let asked = post(&call, "alice").await;
    assert!(asked["result"]["inputRequests"]["last"].is_object(), "{asked}");
}

#[tokio::test]
async fn a_stream_of_changes_ends_when_the_token_expires() {
    let served = protected(Toolbox::new()).await;
    for version in BOTH {
        let stream = if version.has_initialize() {
            let opened = served.post(&initialize(), &version).bearer_auth("bob").send().await.unwrap();
            let id = opened.headers()["mcp-session-id"].clone();
            let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            let initialized = served.post(&initialized, &version).bearer_auth("bob");
            initialized.header("mcp-session-id", &id).send().await.unwrap();
            let get = reqwest::Client::new().get(&served.url).header("accept", "text/event-stream");
            get.header("mcp-session-id", id)
        } else {
            let filter = json!({ "notifications": { "toolsListChanged": true } });
            served.post(&modern("subscriptions/listen", filter), &version)
        };
        let answer = stream.bearer_auth("short").send().await.unwrap();
        assert_eq!(answer.status(), 200);
        // The body ends, where it would go on.
        answer.text().await.unwrap();
    }
}

#[tokio::test]
async fn requests_without_sessions_ignore_the_header() {
    let served = protected(Registry::default()).await;
    let [_, version] = BOTH;
    let request = served.post(&modern("tools/list", json!({})), &version).bearer_auth("bob");
    assert_eq!(request.header("mcp-session-id", "other").send().await.unwrap().status(), 200);
}

/// Works for long.
#[tool(register = false, long_running)]
async fn work() -> &'static str {
    std::future::pending().await
}

#[tokio::test]
async fn a_task_belongs_to_the_caller_that_started_it() {
    let [_, version] = BOTH;
    let served = protected(Registry::builder().tool::<work>().build().unwrap()).await;
    let send = async |method: &str, params: Value, token: &str| -> Value {
        let mut request = modern(method, params);
        request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
        let answer = served.post(&request, &version).bearer_auth(token).send().await.unwrap();
        sse(&answer.text().await.unwrap())
    };
    let started = send("tools/call", json!({ "name": "work", "arguments": {} }), "alice").await;
    let task = json!({ "taskId": started["result"]["taskId"].as_str().unwrap() });
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let mut params = task.clone();
        if method == "tasks/update" {
            params["inputResponses"] = json!({});
        }
        let refused = send(method, params, "bob").await;
        assert_eq!(refused["error"]["code"], -32602, "{method}: {refused}");
    }
    assert_eq!(send("tasks/get", task, "alice").await["result"]["status"], "working");
}

/// Works for a client that knows tasks.
#[tool(register = false, long_running)]
fn job() -> &'static str {
    "worked"
}

#[tokio::test]
async fn the_tasks_of_an_identity_have_a_limit_of_their_own() {
    let tools = Registry::builder().tool::<job>().build().unwrap();
    let server =
        McpServer::new(tools).max_tasks_per_caller(1).http_with(HttpConfig::new().protect(protection()));
    let served = serve(server.unwrap()).await;
    let version = BOTH[1].clone();
    let send = async |token: &str, method: &str, params: Value| {
        let mut request = modern(method, params);
        request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
        let answer = served.post(&request, &version).bearer_auth(token).send().await.unwrap();
        sse(&answer.text().await.unwrap())
    };
    let start = async |token| {
        let answer = send(token, "tools/call", json!({ "name": "job", "arguments": {} })).await;
        let id = answer["result"]["taskId"].as_str().unwrap().to_owned();
        while send(token, "tasks/get", json!({ "taskId": id })).await["result"]["status"] != "completed" {}
        id
    };
    let [first, of_bob, second] = [start("alice").await, start("bob").await, start("alice").await];
    for (token, id, is_there) in [
        ("alice", &first, false),
        ("alice", &second, true),
        ("bob", &of_bob, true),
        // Others do not know it.
        ("bob", &second, false),
    ] {
        let answer = send(token, "tasks/get", json!({ "taskId": id })).await;
        assert_eq!(answer["error"].is_null(), is_there, "{answer}");
    }
}
