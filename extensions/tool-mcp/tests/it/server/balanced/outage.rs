//! A database that is gone, and processes that end.

use std::time::Duration;

use serde_json::json;
use test_support::postgres::{Server, new_schema, reported};
use tool_mcp::server::HttpConfig;

use super::{
    super::{BOTH, initialize, modern, sse},
    Client, Database, Member, request, text_of,
};

#[tokio::test]
async fn requests_without_the_database_are_refused_and_sessions_go_on_after_it_returns() {
    let Some(mut server) = reported(Server::start()) else { return };
    let database = Database { url: server.url(), schema: new_schema() };
    let options = || database.options().operation_timeout(Duration::from_millis(300));
    let start = async || Member::start_with(options(), HttpConfig::new()).await;
    let members = [start().await, start().await];
    let client = Client::open(members[0].url()).await;
    server.switch("stop");
    let [_, version] = BOTH;
    let call = json!({ "name": "add", "arguments": { "a": 1, "b": 2 } });
    for refused in [
        client.post(members[1].url(), &request(1, "tools/call", call.clone())).await,
        members[0].served.post(&initialize(), &BOTH[0]).send().await.unwrap(),
        members[0].served.post(&modern("tools/call", call.clone()), &version).send().await.unwrap(),
    ] {
        assert_eq!(refused.status(), 503);
        assert_eq!(refused.headers()["retry-after"], "5");
        let body = refused.text().await.unwrap();
        assert!(body.contains("the database of the server does not answer"), "{body}");
    }
    server.switch("start");
    for member in &members {
        let answer = client.request(member.url(), "tools/call", call.clone()).await;
        assert_eq!(text_of(&answer), "3");
    }
    // Messages of the other server arrive again.
    let mut stream = client.listen(members[1].url(), None).await;
    members[0].change_list();
    assert!(stream.next_message().await.is_some());
}

#[tokio::test]
async fn a_request_waits_for_a_database_that_returns_in_time() {
    let Some(mut server) = reported(Server::start()) else { return };
    let database = Database { url: server.url(), schema: new_schema() };
    let options = database.options().operation_timeout(Duration::from_secs(60));
    let member = Member::start_with(options, HttpConfig::new()).await;
    let client = Client::open(member.url()).await;
    server.switch("stop");
    let call = json!({ "name": "add", "arguments": { "a": 1, "b": 2 } });
    let (answer, ()) = tokio::join!(client.request(member.url(), "tools/call", call), async {
        server.switch("start");
    });
    assert_eq!(text_of(&answer), "3");
}

#[tokio::test]
async fn an_answer_is_not_lost_if_the_database_is_gone_when_its_call_ends() {
    let Some(mut server) = reported(Server::start()) else { return };
    let database = Database { url: server.url(), schema: new_schema() };
    let options = || database.options().operation_timeout(Duration::from_millis(300));
    let start = async || Member::start_with(options(), HttpConfig::new()).await;
    let members = [start().await, start().await];
    let client = Client::open(members[0].url()).await;
    // One whose client waits, one whose client is gone, and one without a session.
    let mut waited = client.call(members[0].url(), 7, "wait").await;
    let mut left = client.call(members[0].url(), 8, "wait").await;
    let left = {
        let last = left.next_id().await;
        drop(left);
        last
    };
    let call = modern("tools/call", json!({ "name": "wait", "arguments": {} }));
    let modern_call = async {
        let answer = members[0].served.post(&call, &BOTH[1]).send().await.unwrap();
        sse(&answer.text().await.unwrap())
    };
    let switched = async {
        for _ in 0..3 {
            members[0].gate.starts.acquire().await.unwrap().forget();
        }
        server.switch("stop");
        members[0].gate.all_go.cancel();
        let answer = waited.next_message().await.unwrap();
        assert_eq!((text_of(&answer), &answer["id"]), ("done", &json!(7)));
        assert_eq!(waited.next_message().await, None);
    };
    let (answer, ()) = tokio::join!(modern_call, switched);
    assert_eq!(text_of(&answer), "done");
    server.switch("start");
    // The client that comes back has its answer at the other server, once the first one has stored it.
    let mut resumed = client.listen(members[1].url(), Some(&left)).await;
    assert_eq!(text_of(&resumed.next_message().await.unwrap()), "done");
    assert_eq!(resumed.next_message().await, None);
    // The one that waited has received it.
    assert_eq!(client.listen(members[1].url(), Some(&waited.last)).await.next_message().await, None);
}

#[tokio::test]
async fn a_session_that_ends_while_the_database_is_gone_has_ended_at_all_servers() {
    let Some(mut server) = reported(Server::start()) else { return };
    let database = Database { url: server.url(), schema: new_schema() };
    let options = || database.options().operation_timeout(Duration::from_millis(300));
    let start = async || Member::start_with(options(), HttpConfig::new()).await;
    let members = [start().await, start().await];
    let client = Client::open(members[0].url()).await;
    let mut stream = client.listen(members[1].url(), None).await;
    stream.next_id().await;
    server.switch("stop");
    // It is refused, since it cannot be known at the other server.
    assert_eq!(client.delete(members[0].url()).await, 503);
    server.switch("start");
    assert_eq!(client.delete(members[0].url()).await, 204);
    assert_eq!(stream.next_message().await, None);
    for member in &members {
        assert_eq!(client.post(member.url(), &request(1, "ping", json!({}))).await.status(), 404);
    }
}

#[tokio::test]
async fn a_change_while_the_database_is_gone_reaches_the_clients_of_all_servers() {
    let Some(mut server) = reported(Server::start()) else { return };
    let database = Database { url: server.url(), schema: new_schema() };
    let options = || database.options().operation_timeout(Duration::from_millis(300));
    let start = async || Member::start_with(options(), HttpConfig::new()).await;
    let members = [start().await, start().await];
    let client = Client::open(members[0].url()).await;
    let mut stream = client.listen(members[1].url(), None).await;
    stream.next_id().await;
    server.switch("stop");
    members[0].change_list();
    // Until the first server has seen that the database is gone.
    let call = json!({ "name": "add", "arguments": { "a": 1, "b": 2 } });
    // One id for each: the call before may still run.
    let status =
        async |id| client.post(members[0].url(), &request(id, "tools/call", call.clone())).await.status();
    let mut id = 1;
    while status(id).await == 200 {
        id += 1;
    }
    assert_eq!(status(id + 1).await, 503);
    server.switch("start");
    let changed = stream.next_message().await.unwrap();
    assert_eq!(changed["method"], "notifications/resources/list_changed");
}

#[tokio::test]
async fn a_server_that_left_its_cluster_refuses_requests_and_its_calls_have_ended() {
    let Some(database) = Database::new() else { return };
    let options = || database.options().process_timeout(Duration::from_secs(1));
    let members = [
        Member::start_with(options(), HttpConfig::new()).await,
        Member::start_with(options(), HttpConfig::new()).await,
    ];
    let client = Client::open(members[0].url()).await;
    let mut call = client.call(members[0].url(), 7, "wait").await;
    let last = call.next_id().await;
    members[0].cluster.close().await;
    assert_eq!(client.post(members[0].url(), &request(1, "ping", json!({}))).await.status(), 503);
    let answer = client.listen(members[1].url(), Some(&last)).await.next_message().await.unwrap();
    assert!(answer["error"]["message"].as_str().unwrap().contains("not run again"), "{answer}");
}

#[tokio::test]
async fn a_session_is_idle_when_it_is_used_at_no_server() {
    let Some(database) = Database::new() else { return };
    let config = || HttpConfig::new().idle_time(Duration::from_secs(20));
    let members = [
        Member::start_with(database.options(), config()).await,
        Member::start_with(database.options(), config()).await,
    ];
    let ping = || request(1, "ping", json!({}));
    let age = "UPDATE {schema}.sessions SET used_at = now() - interval '1 hour'";
    let idle = Client::open(members[0].url()).await;
    assert_eq!(idle.post(members[1].url(), &ping()).await.status(), 200);
    assert_eq!(database.execute(age).await, 1);
    for member in &members {
        // A session that was found has a lease of a moment.
        let status = async || idle.post(member.url(), &ping()).await.status();
        while status().await == 200 {}
        assert_eq!(status().await, 404);
    }
    // One that has a stream is used, also without a request.
    let listening = Client::open(members[0].url()).await;
    let mut stream = listening.listen(members[0].url(), None).await;
    stream.next_id().await;
    database.execute(age).await;
    let used = "UPDATE {schema}.sessions SET body = body WHERE used_at > now() - interval '1 minute'";
    while database.execute(used).await == 0 {}
    assert_eq!(listening.post(members[1].url(), &ping()).await.status(), 200);
}
