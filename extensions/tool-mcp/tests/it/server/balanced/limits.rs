//! Limits of all servers together, and rows whose time is over.

use std::time::Duration;

use serde_json::{Value, json};
use tool_mcp::server::{ClusterOptions, HttpConfig, Identity, McpServer, ResourceServer, TokenError};

use super::{
    super::{BOTH, modern, sse},
    Client, Database, Member, request, text_of,
};

/// Starts two servers whose callers are the tokens of their requests.
async fn start_two(
    options: impl Fn() -> ClusterOptions,
    set: impl Fn(McpServer) -> McpServer,
) -> [Member; 2] {
    let protected = || {
        let validator = |token: &str| Ok::<_, TokenError>(Identity::new(token));
        HttpConfig::new().protect(ResourceServer::new("https://mcp.example.com/mcp", validator))
    };
    [
        Member::start_server(options(), protected(), &set).await,
        Member::start_server(options(), protected(), &set).await,
    ]
}

/// Sends a request of a caller that knows tasks.
async fn send(member: &Member, caller: &str, method: &str, params: Value) -> Value {
    let mut request = modern(method, params);
    request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let sent = member.served.post(&request, &BOTH[1]).bearer_auth(caller).send().await.unwrap();
    sse(&sent.text().await.unwrap())
}

async fn call(member: &Member, caller: &str, tool: &str) -> Value {
    let arguments = if tool == "add" { json!({ "a": 1, "b": 2 }) } else { json!({}) };
    send(member, caller, "tools/call", json!({ "name": tool, "arguments": arguments })).await
}

fn problem_of(answer: &Value) -> &str {
    assert_eq!(answer["error"]["code"], -32_000, "{answer}");
    answer["error"]["message"].as_str().unwrap()
}

/// The processes do not show that they live for longer than a test.
fn without_beats(options: ClusterOptions) -> ClusterOptions {
    options.process_timeout(Duration::from_secs(3600))
}

const ALL_ENDED: &str = "UPDATE {schema}.processes SET seen_at = now() - interval '1 day'";

#[tokio::test]
async fn the_calls_of_a_caller_have_one_limit_at_all_servers() {
    let Some(database) = Database::new() else { return };
    let members = start_two(|| database.options(), |server| server.max_calls_per_caller(2)).await;
    let running = async {
        let calls = tokio::join!(call(&members[0], "ada", "wait"), call(&members[1], "ada", "wait"));
        assert_eq!([text_of(&calls.0), text_of(&calls.1)], ["done"; 2]);
    };
    let refused = async {
        for member in &members {
            member.gate.started.notified().await;
        }
        for member in &members {
            let answer = call(member, "ada", "add").await;
            let expected = "2 calls of this caller run, the limit of each caller; try again later";
            assert_eq!(problem_of(&answer), expected);
            assert_eq!(text_of(&call(member, "eve", "add").await), "3");
        }
        for member in &members {
            member.gate.go.notify_one();
        }
    };
    tokio::join!(running, refused);
    // Calls in turn are not refused.
    for at in 0..10 {
        assert_eq!(text_of(&call(&members[at % 2], "ada", "add").await), "3");
    }
}

#[tokio::test]
async fn a_caller_has_its_whole_limit_at_any_server() {
    let Some(database) = Database::new() else { return };
    let members = start_two(|| database.options(), |server| server.max_calls_per_caller(200)).await;
    let member = &members[1];
    // The first server reserves some.
    assert_eq!(text_of(&call(&members[0], "ada", "add").await), "3");
    let running = futures_util::future::join_all((0..200).map(|_| call(member, "ada", "wait")));
    let refused = async {
        for _ in 0..200 {
            member.gate.starts.acquire().await.unwrap().forget();
        }
        for member in &members {
            assert!(
                problem_of(&call(member, "ada", "add").await).starts_with("200 calls of this caller run")
            );
        }
        member.gate.all_go.cancel();
    };
    let (answers, ()) = tokio::join!(running, refused);
    assert!(answers.iter().all(|answer| text_of(answer) == "done"));
}

#[tokio::test]
async fn a_session_without_an_identity_has_the_limit_of_a_caller_at_all_servers() {
    let Some(database) = Database::new() else { return };
    let start = async || {
        let set = |server: McpServer| server.max_calls_per_caller(1);
        Member::start_server(database.options(), HttpConfig::new(), set).await
    };
    let members = [start().await, start().await];
    let client = Client::open(members[0].url()).await;
    let mut running = client.call(members[0].url(), 7, "wait").await;
    members[0].gate.started.notified().await;
    let add = json!({ "name": "add", "arguments": { "a": 1, "b": 2 } });
    let refused = client.request(members[1].url(), "tools/call", add.clone()).await;
    assert!(problem_of(&refused).starts_with("1 calls of this caller run"), "{refused}");
    // Another session is another caller.
    let other = Client::open(members[0].url()).await;
    assert_eq!(text_of(&other.request(members[1].url(), "tools/call", add.clone()).await), "3");
    members[0].gate.go.notify_one();
    assert_eq!(text_of(&running.next_message().await.unwrap()), "done");
    assert_eq!(text_of(&client.request(members[1].url(), "tools/call", add).await), "3");
}

#[tokio::test]
async fn the_calls_of_a_server_that_ended_do_not_count() {
    let Some(database) = Database::new() else { return };
    let options = || without_beats(database.options());
    let members = start_two(options, |server| server.max_calls_per_caller(1)).await;
    let running = call(&members[0], "ada", "wait");
    let ended = async {
        members[0].gate.started.notified().await;
        problem_of(&call(&members[1], "ada", "add").await);
        assert_eq!(database.execute(ALL_ENDED).await, 2);
        assert_eq!(text_of(&call(&members[1], "ada", "add").await), "3");
        members[0].gate.go.notify_one();
    };
    tokio::join!(running, ended);
}

#[tokio::test]
async fn tasks_have_one_limit_at_all_servers_and_those_that_ended_give_up_their_place() {
    let Some(database) = Database::new() else { return };
    let options = || without_beats(database.options());
    let set = |server: McpServer| server.max_tasks_per_caller(2).max_tasks(3);
    let members = start_two(options, set).await;
    let mut tasks = Vec::new();
    for member in &members {
        let started = call(member, "ada", "work").await;
        tasks.push(started["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned());
        member.gate.started.notified().await;
    }
    for member in &members {
        let refused = call(member, "ada", "work").await;
        let expected = "too many tasks: this caller has 2, the limit of each caller, and none of them has ended; try again later";
        assert_eq!(problem_of(&refused), expected);
    }
    assert!(call(&members[0], "eve", "work").await["result"]["taskId"].is_string());
    members[0].gate.started.notified().await;
    let refused = call(&members[1], "bob", "work").await;
    assert!(problem_of(&refused).contains("there are 3, the limit of the server"), "{refused}");
    // The body of a task that was refused has not begun.
    for member in &members {
        assert!(futures_util::FutureExt::now_or_never(member.gate.started.notified()).is_none());
    }
    // The end of a task gives its place to another one, at any server, as soon as the database knows.
    members[1].gate.go.notify_one();
    while call(&members[0], "ada", "work").await["result"]["taskId"].is_null() {}
    let gone = send(&members[0], "ada", "tasks/get", json!({ "taskId": tasks[1] })).await;
    assert!(gone["error"]["message"].as_str().unwrap().contains("there is no task"), "{gone}");
    // The tasks of servers that ended do not count, and their clients know that they are lost.
    assert_eq!(database.execute(ALL_ENDED).await, 2);
    assert!(call(&members[1], "ada", "work").await["result"]["taskId"].is_string());
    let lost = send(&members[1], "ada", "tasks/get", json!({ "taskId": tasks[0] })).await;
    assert!(lost["error"]["message"].as_str().unwrap().contains("not run again"), "{lost}");
}

/// Waits until a table has no rows.
async fn wait_until_empty(database: &Database, table: &str) {
    let rows = format!("UPDATE {{schema}}.{table} SET app = app");
    let emptying = async { while database.execute(&rows).await > 0 {} };
    tokio::time::timeout(Duration::from_secs(60), emptying).await.expect("the rows go");
}

#[tokio::test]
async fn the_rows_of_idle_sessions_and_of_old_events_are_removed() {
    let Some(database) = Database::new() else { return };
    let second = Duration::from_secs(1);
    let options = || database.options().process_timeout(second).event_retention(second);
    let config = || HttpConfig::new().idle_time(Duration::from_secs(2));
    let members =
        [Member::start_with(options(), config()).await, Member::start_with(options(), config()).await];
    let client = Client::open(members[0].url()).await;
    let subscribed = client.request(members[1].url(), "resources/subscribe", json!({ "uri": "a:a" })).await;
    assert!(subscribed["result"].is_object(), "{subscribed}");
    for table in ["events", "sessions", "session_settings"] {
        wait_until_empty(&database, table).await;
    }
    for member in &members {
        assert_eq!(client.post(member.url(), &request(1, "ping", json!({}))).await.status(), 404);
    }
}
