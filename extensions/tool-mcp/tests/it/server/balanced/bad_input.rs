//! Rows, ids and settings that are not what they should be.

use serde_json::json;
use tool_mcp::server::{ClusterError, ClusterOptions, HttpConfig, Identity, ResourceServer, TokenError};
use tool_runtime::open_calls::ProgramKey;

use super::{
    super::{BOTH, initialize, modern},
    Client, Database, Events, Member, request, start_two, text_of,
};

#[tokio::test]
async fn a_session_of_another_app_or_caller_is_not_found() {
    let Some(database) = Database::new() else { return };
    let shop = Member::start_with(database.options().app("shop").unwrap(), HttpConfig::new()).await;
    let bank = Member::start_with(database.options().app("bank").unwrap(), HttpConfig::new()).await;
    let client = Client::open(shop.url()).await;
    let ping = request(1, "ping", json!({}));
    assert_eq!(client.post(bank.url(), &ping).await.status(), 404);
    assert_eq!(client.post(shop.url(), &ping).await.status(), 200);
    // Its rows do not open there, either.
    assert_eq!(database.execute("UPDATE {schema}.sessions SET app = 'bank'").await, 1);
    assert_eq!(client.post(bank.url(), &ping).await.status(), 404);

    let protected = || {
        let validator = |token: &str| Ok::<_, TokenError>(Identity::new(token));
        HttpConfig::new().protect(ResourceServer::new("https://mcp.example.com/mcp", validator))
    };
    let members = [
        Member::start_with(database.options(), protected()).await,
        Member::start_with(database.options(), protected()).await,
    ];
    let opened = members[0].served.post(&initialize(), &BOTH[0]).bearer_auth("ada").send().await.unwrap();
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    opened.text().await.unwrap();
    for (token, status) in [("eve", 404), ("ada", 200)] {
        let sent = members[1].served.post(&ping, &BOTH[0]).header("mcp-session-id", &session);
        assert_eq!(sent.bearer_auth(token).send().await.unwrap().status(), status, "{token}");
    }
    // A stream without a session is one of its caller, too.
    let mut call = modern("tools/call", json!({ "name": "note", "arguments": {} }));
    call["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("info");
    let sent = members[0].served.post(&call, &BOTH[1]).bearer_auth("ada").send().await.unwrap();
    let mut events = Events::new(sent);
    assert_eq!(events.next_message().await.unwrap()["method"], "notifications/message");
    for (token, is_caller) in [("eve", false), ("ada", true)] {
        let request = reqwest::Client::new()
            .get(members[1].url())
            .header("accept", "text/event-stream")
            .header("mcp-protocol-version", BOTH[1].as_str())
            .header("last-event-id", &events.last);
        let mut resumed = Events::new(request.bearer_auth(token).send().await.unwrap());
        let answer = resumed.next_message().await;
        assert_eq!(answer.is_some_and(|answer| text_of(&answer) == "noted"), is_caller, "{token}");
    }
}

#[tokio::test]
async fn a_row_that_was_altered_is_refused() {
    let Some(database) = Database::new() else { return };
    let members = start_two(&database).await;
    let clients = [Client::open(members[0].url()).await, Client::open(members[0].url()).await];
    // The state of one session in the row of the other one.
    let swap =
        "UPDATE {schema}.sessions AS s SET body = o.body FROM {schema}.sessions AS o WHERE s.id <> o.id";
    assert_eq!(database.execute(swap).await, 2);
    let ping = request(1, "ping", json!({}));
    for client in &clients {
        assert_eq!(client.post(members[1].url(), &ping).await.status(), 404);
    }
    // An event that was altered is left out.
    let client = Client::open(members[0].url()).await;
    let subscribed = client.request(members[0].url(), "resources/subscribe", json!({ "uri": "a:a" })).await;
    assert!(subscribed["result"].is_object(), "{subscribed}");
    let mut stream = client.listen(members[0].url(), None).await;
    let first = stream.next_id().await;
    members[0].resources.updated("a:a");
    assert_eq!(stream.next_message().await.unwrap()["method"], "notifications/resources/updated");
    let alter = "UPDATE {schema}.events SET number = number + 1000000 WHERE id = (SELECT max(id) FROM {schema}.events)";
    assert_eq!(database.execute(alter).await, 1);
    members[0].change_list();
    let mut resumed = client.listen(members[1].url(), Some(&first)).await;
    assert_eq!(resumed.next_message().await.unwrap()["method"], "notifications/resources/list_changed");
    // A setting, too: the session is no longer subscribed at a server that restores it.
    let alter = "UPDATE {schema}.session_settings SET name = 'other'";
    assert_eq!(database.execute(alter).await, 1);
    let third = Member::start(&database).await;
    let mut stream = client.listen(third.url(), Some(&resumed.last)).await;
    third.resources.updated("a:a");
    third.change_list();
    assert_eq!(stream.next_message().await.unwrap()["method"], "notifications/resources/list_changed");
}

#[tokio::test]
async fn a_message_that_was_moved_to_another_session_or_process_is_left_out() {
    let Some(database) = Database::new() else { return };
    let members = start_two(&database).await;
    let (ada, eve) = (Client::open(members[0].url()).await, Client::open(members[0].url()).await);
    let mut of_eve = eve.call(members[0].url(), 7, "greet").await;
    let first = of_eve.next_id().await;
    let question = of_eve.next_message().await.unwrap();
    drop(of_eve);
    assert_eq!(database.execute("CREATE TABLE {schema}.eve AS SELECT stream FROM {schema}.events").await, 1);
    let add = json!({ "name": "add", "arguments": { "a": 1, "b": 2 } });
    assert_eq!(text_of(&ada.request(members[0].url(), "tools/call", add).await), "3");
    // The answer to the one, in the stream of the other.
    let answered = "UPDATE {schema}.events SET stream = (SELECT stream FROM {schema}.eve) \
                    WHERE id = (SELECT max(id) FROM {schema}.events)";
    assert_eq!(database.execute(answered).await, 1);
    let mut resumed = eve.listen(members[1].url(), Some(&first)).await;
    assert_eq!(resumed.next_message().await.unwrap()["id"], question["id"]);
    let accepted = json!({ "action": "accept", "content": { "first": "Eve", "last": "Eve" } });
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": accepted });
    assert_eq!(eve.post(members[1].url(), &answer).await.status(), 202);
    assert_eq!(resumed.next_message().await.unwrap()["method"], "elicitation/create");
}

#[tokio::test]
async fn a_request_for_a_session_that_another_server_closes_is_answered_or_has_status_404() {
    let Some(database) = Database::new() else { return };
    let members = start_two(&database).await;
    let ping = request(1, "ping", json!({}));
    for at in 0..30 {
        let client = Client::open(members[0].url()).await;
        let [first, second] = [&members[at % 2], &members[(at + 1) % 2]];
        let (answers, deleted) = tokio::join!(
            async {
                let mut answers = Vec::new();
                while !answers.contains(&404) {
                    answers.push(client.post(first.url(), &ping).await.status().as_u16());
                }
                answers
            },
            client.delete(second.url()),
        );
        assert_eq!(deleted, 204);
        assert!(answers.iter().all(|status| [200, 404].contains(status)), "{answers:?}");
    }
}

#[tokio::test]
async fn of_two_answers_at_once_to_one_question_one_counts() {
    let Some(database) = Database::new() else { return };
    let members = start_two(&database).await;
    let client = Client::open(members[0].url()).await;
    for _ in 0..10 {
        let mut call = client.call(members[0].url(), 7, "greet").await;
        let question = call.next_message().await.unwrap();
        let answer = |id: &serde_json::Value, name: &str| {
            let result = json!({ "action": "accept", "content": { "first": name, "last": name } });
            json!({ "jsonrpc": "2.0", "id": id, "result": result })
        };
        let (ada, eve) = (answer(&question["id"], "Ada"), answer(&question["id"], "Eve"));
        let sent = tokio::join!(client.post(members[0].url(), &ada), client.post(members[1].url(), &eve));
        assert_eq!([sent.0.status(), sent.1.status()].map(|status| status.as_u16()), [202; 2]);
        let second = call.next_message().await.unwrap();
        assert_ne!(second["id"], question["id"]);
        client.post(members[1].url(), &answer(&second["id"], "Byron")).await;
        let answer = call.next_message().await.unwrap();
        assert!(["Hello, Ada Byron", "Hello, Eve Byron"].contains(&text_of(&answer)), "{answer}");
        assert_eq!(call.next_message().await, None);
    }
}

#[tokio::test]
async fn an_answer_for_the_question_of_another_session_changes_nothing() {
    let Some(database) = Database::new() else { return };
    let members = start_two(&database).await;
    let (ada, eve) = (Client::open(members[0].url()).await, Client::open(members[0].url()).await);
    let mut call = ada.call(members[0].url(), 7, "greet").await;
    let question = call.next_message().await.unwrap();
    let answer = |name: &str| {
        let result = json!({ "action": "accept", "content": { "first": name, "last": name } });
        json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })
    };
    // By the other server, as a message of processes, and at its own.
    for member in [&members[1], &members[0]] {
        assert_eq!(eve.post(member.url(), &answer("Eve")).await.status(), 202);
    }
    assert_eq!(ada.post(members[1].url(), &answer("Ada")).await.status(), 202);
    let second = call.next_message().await.unwrap();
    let mut last = answer("Byron");
    last["id"] = second["id"].clone();
    ada.post(members[1].url(), &last).await;
    assert_eq!(text_of(&call.next_message().await.unwrap()), "Hello, Ada Byron");
    // A process that there is not.
    let mut lost = answer("Ada");
    lost["id"] = json!("none/0");
    assert_eq!(ada.post(members[1].url(), &lost).await.status(), 202);
}

#[tokio::test]
async fn a_database_of_a_newer_version_or_of_another_key_is_refused() {
    let Some(database) = Database::new() else { return };
    database.options().open().await.unwrap();
    let other = ClusterOptions::new(&database.url, ProgramKey::new([8; 32])).unwrap();
    let refused = other.schema(&*database.schema).unwrap().open().await.unwrap_err();
    assert!(matches!(&refused, ClusterError::OtherKey(app) if app == "mcp"), "{refused}");
    assert!(refused.to_string().contains("use the key of the other processes"), "{refused}");
    // After a rotation, the previous key opens it.
    let rotated = ProgramKey::new([8; 32]).with_previous([7; 32]);
    let rotated = ClusterOptions::new(&database.url, rotated).unwrap();
    rotated.schema(&*database.schema).unwrap().open().await.unwrap();
    assert_eq!(database.execute("UPDATE {schema}.store_version SET version = 1000").await, 1);
    let refused = database.options().open().await.unwrap_err();
    assert!(matches!(refused, ClusterError::NewerVersion { found: 1000, supported: 2 }), "{refused}");
    assert!(refused.to_string().ends_with("update the program"), "{refused}");
}

#[tokio::test]
async fn settings_that_are_not_valid_are_refused_by_their_names() {
    let key = || ProgramKey::new([7; 32]);
    let secret = ClusterOptions::new("mysql://user:secret@host/x", key()).unwrap_err();
    assert!(matches!(secret, ClusterError::Invalid(_)));
    assert!(!secret.to_string().contains("secret"), "{secret}");
    let options = || ClusterOptions::new("postgres://user:secret@host/x", key()).unwrap();
    assert!(!format!("{:?}", options()).contains("secret"));
    for schema in ["", "Big", "1a", "pg_a", "a b"] {
        let refused = options().schema(schema).unwrap_err().to_string();
        assert!(refused.contains(&format!("{schema:?}")), "{refused}");
    }
    for app in [String::new(), "a\n".to_owned(), "a".repeat(201)] {
        assert!(options().app(app).unwrap_err().to_string().contains("name of a server"));
    }
    let gone = options().operation_timeout(std::time::Duration::from_millis(1)).open().await.unwrap_err();
    assert!(!gone.to_string().contains("secret"), "{gone}");
}

#[tokio::test]
async fn limits_hold_for_all_servers_together() {
    let Some(database) = Database::new() else { return };
    let config = || HttpConfig::new().max_sessions(3);
    let members = [
        Member::start_with(database.options(), config()).await,
        Member::start_with(database.options(), config()).await,
    ];
    let mut clients = Vec::new();
    for at in 0..3 {
        clients.push(Client::open(members[at % 2].url()).await);
    }
    for member in &members {
        let refused = member.served.post(&initialize(), &BOTH[0]).send().await.unwrap();
        assert_eq!(refused.status(), 503);
        let body = refused.text().await.unwrap();
        assert!(body.contains("3 sessions are open, the limit of the server"), "{body}");
    }
    // A session that goes on at another server is no other session.
    assert_eq!(clients[0].post(members[1].url(), &request(1, "ping", json!({}))).await.status(), 200);
    assert_eq!(clients[1].delete(members[0].url()).await, 204);
    Client::open(members[0].url()).await;
}

#[tokio::test]
async fn a_client_that_reconnects_a_thousand_times_receives_each_change_once() {
    let Some(database) = Database::new() else { return };
    let members = start_two(&database).await;
    let client = Client::open(members[0].url()).await;
    let mut last = client.listen(members[0].url(), None).await.next_id().await;
    for at in 0..1_000_usize {
        members[at % 2].change_list();
        let mut stream = client.listen(members[(at + 1) % 2].url(), Some(&last)).await;
        let changed = stream.next_message().await.unwrap();
        assert_eq!(changed["method"], "notifications/resources/list_changed");
        last = stream.last.clone();
    }
    // No change is left.
    let mut stream = client.listen(members[0].url(), Some(&last)).await;
    let subscribed = client.request(members[1].url(), "resources/subscribe", json!({ "uri": "a:a" })).await;
    assert!(subscribed["result"].is_object(), "{subscribed}");
    members[1].resources.updated("a:a");
    assert_eq!(stream.next_message().await.unwrap()["method"], "notifications/resources/updated");
}
