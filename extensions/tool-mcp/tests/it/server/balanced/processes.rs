//! Three processes behind a proxy that gives each request to another one; any of them may end.

use std::{collections::BTreeSet, fs, io::Write as _, path::PathBuf, time::Duration};

use serde_json::{Map, Value, json};
use tokio::{io::AsyncReadExt as _, net::TcpListener, task::JoinSet};
use tool_mcp::{
    client::{Endpoint, McpToolSet, ServerConfig},
    server::{ClusterOptions, HttpConfig, McpServer, ResourceSet},
};
use tool_runtime::{CancellationToken, context::Progress, open_calls::ProgramKey, prelude::*};

use super::{
    super::{
        BOTH, modern,
        processes::{Process, Proxy, process, wait},
        questions, sse, text,
    },
    Client, Database, request, text_of,
};

/// The limit of each caller.
const MAX_CALLS: usize = 60;

/// Writes a line to the file, then returns the id of the process.
#[tool(register = false)]
fn record(file: String, line: i64) -> std::io::Result<u32> {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(file)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    Ok(std::process::id())
}

/// Tells the clients that subscribed to `a:a` that it has changed.
#[tool(register = false)]
fn touch(resources: &ResourceSet) {
    resources.updated("a:a");
}

/// Reports progress, connects to a port, and waits until the other side closes the connection.
#[tool(register = false)]
async fn report_and_wait(port: u16, cx: &ToolContext) -> Result<u32, ToolError> {
    cx.progress(Progress::new(1.0).of(2.0))?;
    wait(port).await.map_err(|error| ToolError::failed(error.to_string()))
}

/// One of the processes. It ends with its standard input.
#[tokio::test]
#[ignore = "a server for other tests"]
async fn serves() {
    let variable = |name| std::env::var(name).unwrap();
    let resources = ResourceSet::new().text("a:a", "a", "text");
    let tools = questions::builder().tool::<process>().tool::<wait>().tool::<report_and_wait>();
    let tools = tools.tool::<record>().tool::<touch>().provide(resources.clone()).build().unwrap();
    let key = ProgramKey::load_or_create(variable("KEY_FILE")).unwrap();
    let options = ClusterOptions::new(&variable("DATABASE"), key).unwrap();
    let options = options.schema(variable("SCHEMA")).unwrap().process_timeout(Duration::from_secs(2));
    let config = HttpConfig::new().cluster(options.open().await.unwrap());
    let server = McpServer::new(tools).resources(resources).max_calls_per_caller(MAX_CALLS);
    let server = server.http_with(config).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("\nserves http://{}/mcp", listener.local_addr().unwrap());
    let serving = server.serve(listener, CancellationToken::new());
    let (mut input, mut stdin) = (Vec::new(), tokio::io::stdin());
    tokio::select! {
        served = serving => served.unwrap(),
        _ = stdin.read_to_end(&mut input) => std::process::exit(0),
    }
}

/// Three processes and the proxy before them.
struct Processes {
    all: Vec<Process>,
    proxy: Proxy,
    folder: PathBuf,
}

impl Drop for Processes {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).unwrap();
    }
}

impl Processes {
    async fn start() -> Option<Self> {
        let database = Database::new()?;
        let folder = std::env::temp_dir().join(format!("tool-mcp-{}", database.schema));
        fs::create_dir_all(&folder).unwrap();
        let key = folder.join("key").to_string_lossy().into_owned();
        let variables = [("DATABASE", &*database.url), ("SCHEMA", &*database.schema), ("KEY_FILE", &*key)];
        let mut all = Vec::new();
        for _ in 0..3 {
            all.push(Process::start("server::balanced::processes::serves", &variables).await);
        }
        let proxy = Proxy::start(all.iter().map(|it| it.url.clone()).collect()).await;
        Some(Self { all, proxy, folder })
    }
}

#[tokio::test]
async fn no_client_notices_that_each_request_comes_to_another_process() {
    let Some(processes) = Processes::start().await else { return };
    let ids: BTreeSet<_> = processes.all.iter().map(Process::id).collect();
    for version in BOTH {
        let config = ServerConfig::new("balanced", Endpoint::new(&*processes.proxy.url));
        let set = McpToolSet::builder(config).protocol(version.clone()).connect().await.unwrap();
        let mut answered = BTreeSet::new();
        for _ in 0..9 {
            let result = set.call_raw("process", Map::new()).await.unwrap();
            answered.insert(text(&result).parse::<u64>().unwrap());
        }
        // O01
        assert_eq!(answered, ids, "{version}");
        set.close().await;
    }
    // The parts of a session, each at another process.
    let url = |at: usize| &*processes.all[at % 3].url;
    let client = Client::open(url(0)).await;
    let mut call = client.call(url(1), 7, "greet").await;
    for (at, name) in [(2, "first"), (0, "last")] {
        let question = call.next_message().await.unwrap();
        let result = json!({ "action": "accept", "content": { name: "Ada" } });
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": result });
        assert_eq!(client.post(url(at), &answer).await.status(), 202);
    }
    assert_eq!(text_of(&call.next_message().await.unwrap()), "Hello, Ada Ada");
    // A call that is cancelled, and one whose stream goes on, at another process.
    let (mut cancelled, mut connection) = begin_wait(&client, url(1)).await;
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    assert_eq!(client.post(url(2), &cancel).await.status(), 202);
    assert_eq!(connection.read(&mut [0]).await.unwrap_or(0), 0);
    assert_eq!(cancelled.next_message().await, None);
    let (mut lost, connection) = begin_wait(&client, url(2)).await;
    let last = lost.next_id().await;
    drop(lost);
    let mut resumed = client.listen(url(0), Some(&last)).await;
    drop(connection);
    let answer = resumed.next_message().await.unwrap();
    assert_eq!(text_of(&answer), processes.all[2].id().to_string());
    let subscribed = client.request(url(0), "resources/subscribe", json!({ "uri": "a:a" })).await;
    assert!(subscribed["result"].is_object(), "{subscribed}");
    let mut stream = client.listen(url(1), None).await;
    client.request(url(2), "tools/call", json!({ "name": "touch", "arguments": {} })).await;
    // O03
    assert_eq!(stream.next_message().await.unwrap()["params"]["uri"], "a:a");
}

/// Calls `wait` at a process, and returns the connection that the tool opens.
async fn begin_wait(client: &Client, url: &str) -> (super::Events, tokio::net::TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let call = request(7, "tools/call", json!({ "name": "wait", "arguments": { "port": port } }));
    let events = super::Events::new(client.post(url, &call).await);
    let (connection, _) = listener.accept().await.unwrap();
    (events, connection)
}

#[tokio::test]
async fn the_calls_of_a_process_that_was_killed_do_not_count_for_long() {
    let Some(mut processes) = Processes::start().await else { return };
    let urls: Vec<_> = processes.all.iter().map(|it| it.url.clone()).collect();
    let client = Client::open(&urls[0]).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let arguments = json!({ "port": listener.local_addr().unwrap().port() });
    let mut running = Vec::new();
    for id in 0..i64::try_from(MAX_CALLS).unwrap() {
        let call = request(id, "tools/call", json!({ "name": "wait", "arguments": arguments }));
        running.push((client.post(&urls[0], &call).await, listener.accept().await.unwrap()));
    }
    let call = || client.request(&urls[1], "tools/call", json!({ "name": "process", "arguments": {} }));
    let refused = call().await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("60 calls of this caller run"), "{refused}");
    processes.all[0].child.kill().await.unwrap();
    let counting = async { while call().await["result"].is_null() {} };
    tokio::time::timeout(Duration::from_secs(60), counting).await.expect("they do not count");
}

#[tokio::test]
async fn a_call_whose_process_ends_is_an_error_and_is_not_run_again() {
    let Some(mut processes) = Processes::start().await else { return };
    let urls: Vec<_> = processes.all.iter().map(|it| it.url.clone()).collect();
    let client = Client::open(&urls[1]).await;
    let (mut call, mut connection) = begin_wait(&client, &urls[0]).await;
    let last = call.next_id().await;
    processes.all[0].child.kill().await.unwrap();
    assert_eq!(call.next_message().await, None);
    // The tool has ended with its process.
    assert_eq!(connection.read(&mut [0]).await.unwrap_or(0), 0);
    let mut resumed = client.listen(&urls[2], Some(&last)).await;
    let answer = resumed.next_message().await.unwrap();
    assert_eq!(answer["id"], 7);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("ended before its answer") && message.contains("not run again"), "{answer}");
    assert_eq!(resumed.next_message().await, None);
    // One without a session, after it has reported.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let params = json!({ "name": "report_and_wait", "arguments": { "port": port } });
    let mut call = modern("tools/call", params);
    call["params"]["_meta"]["progressToken"] = json!("progress");
    let sent = super::super::post(&client.http, &urls[1], &call, &BOTH[1]).send().await.unwrap();
    let mut events = super::Events::new(sent);
    let progress = events.next_message().await.unwrap();
    // O05
    assert_eq!(progress["params"]["progressToken"], "progress", "{progress}");
    let (mut connection, _) = listener.accept().await.unwrap();
    processes.all[1].child.kill().await.unwrap();
    assert_eq!(events.next_message().await, None);
    assert_eq!(connection.read(&mut [0]).await.unwrap_or(0), 0);
    let mut resumed = super::resume_modern(&urls[2], &events.last).await;
    let answer = resumed.next_message().await.unwrap();
    assert_eq!(answer["id"], call["id"]);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("ended before its answer") && message.contains("not run again"), "{answer}");
    assert_eq!(resumed.next_message().await, None);
    // After its answer, nothing more is waited for.
    let last = resumed.last.clone();
    assert_eq!(super::resume_modern(&urls[2], &last).await.next_message().await, None);
    // The session goes on.
    let answer = client.request(&urls[2], "tools/call", json!({ "name": "process", "arguments": {} })).await;
    assert_eq!(text_of(&answer), processes.all[2].id().to_string());
}

#[tokio::test]
async fn of_a_hundred_calls_each_takes_effect_at_most_once_while_a_process_ends() {
    let Some(mut processes) = Processes::start().await else { return };
    let file = processes.folder.join("lines");
    let client = std::sync::Arc::new(Client::open(&processes.proxy.url).await);
    let mut calls = JoinSet::new();
    for line in 0..100_i64 {
        let (client, url, file) = (client.clone(), processes.proxy.url.clone(), file.clone());
        calls.spawn(async move {
            let arguments = json!({ "file": file, "line": line });
            let params = json!({ "name": "record", "arguments": arguments });
            let is_modern = line % 2 == 0;
            let sent = match is_modern {
                true => {
                    let call = modern("tools/call", params);
                    super::super::post(&client.http, &url, &call, &BOTH[1]).send().await
                }
                false => {
                    let call = request(line, "tools/call", params);
                    let call = super::super::post(&client.http, &url, &call, &BOTH[0]);
                    call.header("mcp-session-id", &client.session).send().await
                }
            };
            let Ok(answer) = sent else { return (line, false) };
            let Ok(body) = answer.text().await else { return (line, false) };
            let is_answered = body.contains("\"content\"") && sse(&body)["result"].is_object();
            (line, is_answered)
        });
        if line == 50 {
            processes.all[0].child.kill().await.unwrap();
        }
    }
    let results = calls.join_all().await;
    let written = fs::read_to_string(&file).unwrap();
    let mut lines: Vec<i64> = written.lines().map(|line| line.parse().unwrap()).collect();
    lines.sort_unstable();
    let once: BTreeSet<_> = lines.iter().copied().collect();
    assert_eq!(once.len(), lines.len(), "no call took effect twice: {lines:?}");
    let answered: Vec<_> = results.iter().filter(|(_, is_answered)| *is_answered).collect();
    assert!(answered.len() >= 50, "{}", answered.len());
    assert!(answered.iter().all(|(line, _)| once.contains(line)));
    // Every session goes on.
    for process in &processes.all[1..] {
        let answer: Value =
            client.request(&process.url, "tools/call", json!({ "name": "process", "arguments": {} })).await;
        assert_eq!(text_of(&answer), process.id().to_string());
    }
}
