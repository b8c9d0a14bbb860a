//! A session and requests without one, at any server.

use serde_json::json;

use super::{
    super::{BOTH, modern, sse},
    Client, Database, Member, start_two, text_of,
};

#[tokio::test]
async fn a_client_initializes_at_one_server_and_calls_at_the_other() {
    let Some(database) = Database::new() else { return };
    let members = start_two(&database).await;
    let client = Client::open(members[0].url()).await;
    for at in 0..6 {
        let params = json!({ "name": "add", "arguments": { "a": at, "b": 1 } });
        let answer = client.request(members[at % 2].url(), "tools/call", params).await;
        assert_eq!(text_of(&answer), (at + 1).to_string());
    }
    // A session that ends at one of them has ended at all, and its streams with it.
    let mut stream = client.listen(members[0].url(), None).await;
    assert_eq!(client.delete(members[1].url()).await, 204);
    for member in &members {
        let ping = super::request(8, "ping", json!({}));
        assert_eq!(client.post(member.url(), &ping).await.status(), 404);
    }
    assert_eq!(stream.next_message().await, None);
}

#[tokio::test]
async fn requests_without_a_session_are_answered_by_each_server() {
    let Some(database) = Database::new() else { return };
    let members = start_two(&database).await;
    let [_, version] = BOTH;
    for at in 0..4 {
        let call = modern("tools/call", json!({ "name": "add", "arguments": { "a": at, "b": 1 } }));
        let answer = members[at % 2].served.post(&call, &version).send().await.unwrap();
        let answer = sse(&answer.text().await.unwrap());
        assert_eq!(text_of(&answer), (at + 1).to_string());
    }
}

#[tokio::test]
async fn a_state_is_accepted_once_by_all_servers() {
    let Some(database) = Database::new() else { return };
    let members = start_two(&database).await;
    let [_, version] = BOTH;
    let mut call = modern("tools/call", json!({ "name": "greet", "arguments": {} }));
    call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": {} });
    let post = async |member: &Member, call: &serde_json::Value| {
        sse(&member.served.post(call, &version).send().await.unwrap().text().await.unwrap())
    };
    let asked = post(&members[0], &call).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    call["params"]["requestState"] = asked["result"]["requestState"].clone();
    let form = json!({ "action": "accept", "content": { "first": "Ada" } });
    call["params"]["inputResponses"] = json!({ "first": form });
    let asked = post(&members[1], &call).await;
    assert!(asked["result"]["inputRequests"]["last"].is_object(), "{asked}");
    for member in &members {
        let refused = post(member, &call).await;
        assert!(refused["error"]["message"].as_str().unwrap().contains("used before"), "{refused}");
    }
}

#[tokio::test]
async fn servers_behind_a_pooler_read_messages_in_an_interval() {
    let (Some(database), Some(pooler)) = (Database::new(), test_support::postgres::pooler_url()) else {
        return;
    };
    let database = Database { url: pooler, ..database };
    let interval = std::time::Duration::from_millis(50);
    let start =
        async || Member::start_with(database.options().poll_interval(interval), Default::default()).await;
    let members = [start().await, start().await];
    let client = Client::open(members[0].url()).await;
    let mut call = client.call(members[0].url(), 7, "wait").await;
    members[0].gate.started.notified().await;
    let cancelled = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 }
    });
    assert_eq!(client.post(members[1].url(), &cancelled).await.status(), 202);
    members[0].gate.cancelled.notified().await;
    assert_eq!(call.next_message().await, None);
    let mut stream = client.listen(members[1].url(), None).await;
    members[0].change_list();
    let changed = stream.next_message().await.unwrap();
    assert_eq!(changed["method"], "notifications/resources/list_changed");
}
