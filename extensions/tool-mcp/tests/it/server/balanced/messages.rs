//! Messages that belong to a call or a session of another server.

use serde_json::{Value, json};

use super::{
    super::{BOTH, modern, sse},
    Client, Database, Events, Member, start_two, text_of,
};

/// The answer to a question.
fn answer(question: &Value, content: Value) -> Value {
    let result = json!({ "action": "accept", "content": content });
    json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })
}

#[tokio::test]
async fn an_answer_reaches_the_server_that_asked_once() {
    let Some(database) = Database::new() else { return };
    let members = start_two(&database).await;
    let client = Client::open(members[0].url()).await;
    let mut call = client.call(members[0].url(), 7, "greet").await;
    let first = call.next_message().await.unwrap();
    assert_eq!(first["method"], "elicitation/create");
    // Both servers receive an answer; the first one counts.
    for (member, name) in [(&members[1], "Ada"), (&members[0], "Eve"), (&members[1], "Eve")] {
        let sent = client.post(member.url(), &answer(&first, json!({ "first": name }))).await;
        assert_eq!(sent.status(), 202);
        if name == "Ada" {
            let second = call.next_message().await.unwrap();
            assert_ne!(second["id"], first["id"]);
            call.buffer.insert_str(0, &format!("data: {second}\n\n"));
        }
    }
    let second = call.next_message().await.unwrap();
    client.post(members[1].url(), &answer(&second, json!({ "last": "Byron" }))).await;
    assert_eq!(text_of(&call.next_message().await.unwrap()), "Hello, Ada Byron");
    // Questions of two servers have different ids.
    let mut other = client.call(members[1].url(), 8, "greet").await;
    let mut own = client.call(members[0].url(), 9, "greet").await;
    let ids = [other.next_message().await.unwrap(), own.next_message().await.unwrap()];
    assert_ne!(ids[0]["id"], ids[1]["id"]);
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_up_no_message_for_others() {
    let Some(database) = Database::new() else { return };
    let members = start_two(&database).await;
    let (ada, eve) = (Client::open(members[0].url()).await, Client::open(members[0].url()).await);
    let params = json!({ "name": "flood", "arguments": {}, "_meta": { "progressToken": 1 } });
    let _unread = eve.post(members[0].url(), &super::request(7, "tools/call", params)).await;
    // Until her session sends nothing more.
    let stored = format!("SELECT id FROM {{schema}}.events WHERE length(body) > {}", super::REPORT_BYTES);
    let mut reports = 0;
    loop {
        let add = json!({ "name": "add", "arguments": { "a": 1, "b": 2 } });
        ada.request(members[1].url(), "tools/call", add).await;
        match database.execute(&stored).await {
            now if now == reports && now > 0 => break,
            now => reports = now,
        }
    }
    assert!(reports < 500, "the session waits for its client");
    let mut call = ada.call(members[0].url(), 7, "greet").await;
    let question = call.next_message().await.unwrap();
    // More answers than wait for a session.
    let process = question["id"].as_str().unwrap().split_once('/').unwrap().0;
    let other = json!({ "id": format!("{process}/999") });
    for _ in 0..100 {
        assert_eq!(eve.post(members[1].url(), &answer(&other, json!({}))).await.status(), 202);
    }
    ada.post(members[1].url(), &answer(&question, json!({ "first": "Ada" }))).await;
    assert_eq!(call.next_message().await.unwrap()["method"], "elicitation/create");
    members[0].gate.all_go.cancel();
}

#[tokio::test]
async fn a_cancellation_reaches_the_server_of_the_call() {
    let Some(database) = Database::new() else { return };
    let members = start_two(&database).await;
    let client = Client::open(members[0].url()).await;
    let mut call = client.call(members[0].url(), 7, "wait").await;
    members[0].gate.started.notified().await;
    let cancelled = |id: i64| json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    // One of another session, and one of another request, change nothing.
    let stranger = Client::open(members[1].url()).await;
    assert_eq!(stranger.post(members[1].url(), &cancelled(7)).await.status(), 202);
    assert_eq!(client.post(members[1].url(), &cancelled(6)).await.status(), 202);
    assert_eq!(client.post(members[1].url(), &cancelled(7)).await.status(), 202);
    members[0].gate.cancelled.notified().await;
    assert_eq!(call.next_message().await, None);
    // Its id is free again.
    let question = client.call(members[0].url(), 7, "greet").await.next_message().await.unwrap();
    assert_eq!(question["method"], "elicitation/create", "{question}");
}

#[tokio::test]
async fn changes_reach_the_stream_of_a_session_wherever_it_is() {
    let Some(database) = Database::new() else { return };
    let members = start_two(&database).await;
    let client = Client::open(members[0].url()).await;
    // A change before the first stream.
    members[0].change_list();
    let subscribed = client.request(members[0].url(), "resources/subscribe", json!({ "uri": "a:a" })).await;
    assert!(subscribed["result"].is_object(), "{subscribed}");
    let mut stream = client.listen(members[1].url(), None).await;
    assert_eq!(stream.next_message().await.unwrap()["method"], "notifications/resources/list_changed");
    for member in [&members[0], &members[1]] {
        member.resources.updated("b:b");
        member.resources.updated("a:a");
        let updated = stream.next_message().await.unwrap();
        // O03
        assert_eq!(updated["method"], "notifications/resources/updated");
        assert_eq!(updated["params"]["uri"], "a:a");
    }
    // What happens without a stream is in the next one, once.
    let last = stream.last.clone();
    drop(stream);
    members[1].resources.updated("a:a");
    let mut stream = client.listen(members[0].url(), Some(&last)).await;
    assert_eq!(stream.next_message().await.unwrap()["params"]["uri"], "a:a");
    let unsubscribed =
        client.request(members[1].url(), "resources/unsubscribe", json!({ "uri": "a:a" })).await;
    assert!(unsubscribed["result"].is_object(), "{unsubscribed}");
    members[1].resources.updated("a:a");
    members[1].change_list();
    assert_eq!(stream.next_message().await.unwrap()["method"], "notifications/resources/list_changed");
}

#[tokio::test]
async fn a_subscription_without_a_session_has_the_changes_of_other_servers() {
    let Some(database) = Database::new() else { return };
    let members = start_two(&database).await;
    let [_, version] = BOTH;
    let filter =
        json!({ "notifications": { "resourcesListChanged": true, "resourceSubscriptions": ["a:a"] } });
    let listening = members[1].served.post(&modern("subscriptions/listen", filter), &version);
    let mut stream = Events::new(listening.send().await.unwrap());
    let accepted = stream.next_message().await.unwrap();
    assert_eq!(accepted["method"], "notifications/subscriptions/acknowledged", "{accepted}");
    for member in [&members[0], &members[1]] {
        member.resources.updated("a:a");
        let updated = stream.next_message().await.unwrap();
        // O03
        assert_eq!(updated["params"]["uri"], "a:a", "{updated}");
    }
}

#[tokio::test]
async fn a_subscription_ends_with_its_client_who_reads_its_end_at_any_server() {
    let Some(database) = Database::new() else { return };
    let members = start_two(&database).await;
    let filter = json!({ "notifications": { "resourcesListChanged": true } });
    let listen = modern("subscriptions/listen", filter);
    let sent = members[0].served.post(&listen, &BOTH[1]).send().await.unwrap();
    let mut stream = Events::new(sent);
    let last = stream.next_id().await;
    drop(stream);
    let mut resumed = super::resume_modern(members[1].url(), &last).await;
    let end = loop {
        let message = resumed.next_message().await.unwrap();
        if message["method"].is_null() {
            break message;
        }
    };
    assert_eq!(end["id"], listen["id"], "{end}");
    assert_eq!(resumed.next_message().await, None);
}

#[tokio::test]
async fn a_call_without_a_session_is_cancelled_when_its_client_leaves() {
    let Some(database) = Database::new() else { return };
    let members = start_two(&database).await;
    let call = modern("tools/call", json!({ "name": "wait", "arguments": {} }));
    let sending = tokio::spawn(members[0].served.post(&call, &BOTH[1]).send());
    members[0].gate.started.notified().await;
    sending.abort();
    members[0].gate.cancelled.notified().await;
}

#[tokio::test]
async fn a_lost_stream_goes_on_at_another_server_while_the_call_runs() {
    let Some(database) = Database::new() else { return };
    let members = start_two(&database).await;
    let client = Client::open(members[0].url()).await;
    let mut call = client.call(members[0].url(), 7, "wait").await;
    let last = call.next_id().await;
    members[0].gate.started.notified().await;
    drop(call);
    let mut resumed = client.listen(members[1].url(), Some(&last)).await;
    members[0].gate.go.notify_one();
    let answer = resumed.next_message().await.unwrap();
    assert_eq!((text_of(&answer), &answer["id"]), ("done", &json!(7)));
    // The stream ends with its answer, which can be read again.
    assert_eq!(resumed.next_message().await, None);
    let mut again = client.listen(members[1].url(), Some(&last)).await;
    assert_eq!(text_of(&again.next_message().await.unwrap()), "done");
    // Another session does not read it.
    let stranger = Client::open(members[1].url()).await;
    assert_eq!(stranger.listen(members[1].url(), Some(&last)).await.next_message().await, None);
}

#[tokio::test]
async fn a_log_level_holds_at_all_servers() {
    let Some(database) = Database::new() else { return };
    let [first, second] = start_two(&database).await;
    let client = Client::open(first.url()).await;
    let logs = async |member: &Member| {
        let mut call = client.call(member.url(), 7, "note").await;
        let message = call.next_message().await.unwrap();
        // O05
        let is_line = message["method"] == "notifications/message";
        let answer = if is_line { call.next_message().await.unwrap() } else { message };
        assert_eq!(text_of(&answer), "noted");
        is_line
    };
    assert!(logs(&first).await && logs(&second).await);
    let answer = client.request(first.url(), "logging/setLevel", json!({ "level": "error" })).await;
    assert!(answer["result"].is_object(), "{answer}");
    assert!(!logs(&first).await);
    // At one that restores the session, and at one that had it.
    assert!(!logs(&Member::start(&database).await).await);
    while logs(&second).await {}
}

#[tokio::test]
async fn a_task_is_asked_for_and_cancelled_at_any_server() {
    let Some(database) = Database::new() else { return };
    let members = start_two(&database).await;
    let [_, version] = BOTH;
    let send = async |member: &Member, method: &str, params: Value| {
        let mut request = modern(method, params);
        request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
        sse(&member.served.post(&request, &version).send().await.unwrap().text().await.unwrap())
    };
    let start = async || {
        let started = send(&members[0], "tools/call", json!({ "name": "work", "arguments": {} })).await;
        members[0].gate.started.notified().await;
        started["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned()
    };
    let task = start().await;
    let asked = send(&members[1], "tasks/get", json!({ "taskId": task })).await;
    // X10
    assert_eq!(asked["result"]["status"], "working", "{asked}");
    members[0].gate.go.notify_one();
    let done = loop {
        let asked = send(&members[1], "tasks/get", json!({ "taskId": task })).await;
        if asked["result"]["status"] != "working" {
            break asked;
        }
    };
    // X11
    assert_eq!(done["result"]["result"]["content"][0]["text"], "worked", "{done}");
    let task = start().await;
    let cancelled = send(&members[1], "tasks/cancel", json!({ "taskId": task })).await;
    assert!(cancelled["result"].is_object(), "{cancelled}");
    while send(&members[1], "tasks/get", json!({ "taskId": task })).await["result"]["status"] != "cancelled" {
    }
    // One that there is not, and one whose process has ended.
    let unknown = send(&members[1], "tasks/get", json!({ "taskId": "none" })).await;
    assert!(unknown["error"]["message"].as_str().unwrap().contains("there is no task `none`"), "{unknown}");
    let task = start().await;
    database.execute("UPDATE {schema}.tasks SET process = 'gone'").await;
    let lost = send(&members[1], "tasks/get", json!({ "taskId": task })).await;
    assert!(lost["error"]["message"].as_str().unwrap().contains("not run again"), "{lost}");
}
