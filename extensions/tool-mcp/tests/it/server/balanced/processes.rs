//! Three processes behind a proxy that gives each request to another one; any of them may end.

use std::{collections::BTreeSet, fs, io::Write as _, path::PathBuf, time::Duration};

use serde_json::{Map, Value, json};
use tokio::{io::AsyncReadExt as _, net::TcpListener, task::JoinSet};
use tool_mcp::{
    client::{Endpoint, McpToolSet, ServerConfig},
    server::{ClusterOptions, HttpConfig, McpServer, ResourceSet},
};
use tool_runtime::{CancellationToken, open_calls::ProgramKey, prelude::*};

use super::{
    super::{
        BOTH, modern,
        processes::{Process, Proxy, process, wait},
        questions, sse, text,
    },
    Client, Database, request, text_of,
};

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

/// One of the processes. It ends with its standard input.
#[tokio::test]
#[ignore = "a server for other tests"]
async fn serves() {
    let variable = |name| std::env::var(name).unwrap();
    let resources = ResourceSet::new().text("a:a", "a", "text");
    let tools = questions::builder().tool::<process>().tool::<wait>().tool::<record>().tool::<touch>();
    let tools = tools.provide(resources.clone()).build().unwrap();
    let key = ProgramKey::load_or_create(variable("KEY_FILE")).unwrap();
    let options = ClusterOptions::new(&variable("DATABASE"), key).unwrap();
    let options = options.schema(variable("SCHEMA")).unwrap().process_timeout(Duration::from_secs(2));
    let config = HttpConfig::new().cluster(options.open().await.unwrap());
    let server = McpServer::new(tools).resources(resources).http_with(config).unwrap();
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
    let subscribed = client.request(url(0), "resources/subscribe", json!({ "uri": "a:a" })).await;
    assert!(subscribed["result"].is_object(), "{subscribed}");
    let mut stream = client.listen(url(1), None).await;
    client.request(url(2), "tools/call", json!({ "name": "touch", "arguments": {} })).await;
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
