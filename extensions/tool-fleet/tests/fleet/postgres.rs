//! The behaviour of a database between the processes.

use std::time::Duration;

use futures_util::StreamExt as _;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use test_support::postgres::{Server, new_schema, pooler_url, reported, shared_url};
use tokio::time::timeout;
use tool_fleet::{FleetError, Payload, PostgresOptions, PostgresTransport, Transport};
use tool_runtime::prelude::*;

use super::{Pool, connect};

/// A transport with a schema of its own; `None` if the machine has no server.
pub(crate) async fn new_transport() -> Option<PostgresTransport> {
    Some(options(&shared_url()?, &new_schema()).connect().await.unwrap())
}

fn options(url: &str, schema: &str) -> PostgresOptions {
    PostgresOptions::new(url).unwrap().schema(schema).unwrap()
}

async fn run_sql(url: &str, sql: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.unwrap();
}

fn body(payload: Payload) -> Vec<u8> {
    match payload {
        Payload::Body(body) => body.into(),
        Payload::NoReceiver => panic!("a message had no receiver"),
    }
}

#[tokio::test]
async fn members_of_a_group_in_two_processes_take_each_message_once() {
    let Some(url) = shared_url() else { return };
    let schema = new_schema();
    let [sender, first, second] = [0, 1, 2].map(|_| options(&url, &schema));
    let sender = sender.connect().await.unwrap();
    let (first, second) = (first.connect().await.unwrap(), second.connect().await.unwrap());
    let one = first.listen("calls", Some("workers")).await.unwrap().map(|it| (1, it));
    let two = second.listen("calls", Some("workers")).await.unwrap().map(|it| (2, it));
    let mut members = [0_usize; 3];
    let mut received = Vec::new();
    let mut both = futures_util::stream::select(one, two);
    // Many at once, and then one at a time, which the process takes that is notified.
    for number in 0..100_u8 {
        sender.send("calls", None, vec![number].into()).await.unwrap();
        while number >= 49 && received.len() <= usize::from(number) {
            let (member, delivery) = both.next().await.unwrap();
            members[member] += 1;
            received.push(body(delivery.payload)[0]);
        }
    }
    received.sort_unstable();
    assert_eq!(received, (0..100).collect::<Vec<u8>>());
    assert!(members[1] > 5 && members[2] > 5, "{members:?}");
}

/// Another program holds a lock on a table, so that statements about it wait.
async fn lock_table(url: &str, schema: &str, table: &str) -> PgConnection {
    let mut connection = PgConnection::connect(url).await.unwrap();
    // Reading goes on.
    let sql = format!("BEGIN; LOCK TABLE {schema}.{table} IN EXCLUSIVE MODE");
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
    connection
}

#[tokio::test]
async fn subscriptions_that_wait_for_the_database_hold_up_neither_each_other_nor_a_message() {
    let Some(url) = shared_url() else { return };
    let schema = new_schema();
    let options = options(&url, &schema).operation_timeout(Duration::from_secs(1));
    let transport = options.connect().await.unwrap();
    let mut receiver = transport.listen("calls", None).await.unwrap();
    let lock = lock_table(&url, &schema, "listeners").await;
    let subscriptions: Vec<_> = (0..20)
        .map(|number| {
            let transport = transport.clone();
            tokio::spawn(async move { transport.listen(&format!("other.{number}"), None).await.err() })
        })
        .collect();
    tokio::task::yield_now().await;
    transport.send("calls", None, vec![1].into()).await.unwrap();
    assert_eq!(body(receiver.next().await.unwrap().payload), [1]);
    let ended = timeout(Duration::from_secs(10), futures_util::future::join_all(subscriptions)).await;
    for error in ended.unwrap() {
        let error = error.unwrap().unwrap().to_string();
        assert!(error.contains("the database did not answer within 1s"), "{error}");
    }
    drop(lock);
    drop(transport.listen("last", None).await.unwrap());
}

#[tokio::test]
async fn receivers_show_that_they_live_while_their_messages_cannot_be_taken() {
    let Some(url) = shared_url() else { return };
    let schema = new_schema();
    let options = options(&url, &schema).operation_timeout(Duration::from_secs(60)).max_connections(4);
    let transport = options.connect().await.unwrap();
    let _receiver = transport.listen("calls", None).await.unwrap();
    let mut lock = lock_table(&url, &schema, "messages").await;
    // They use all other connections.
    let sending = (0..8).map(|number| {
        let transport = transport.clone();
        tokio::spawn(async move { transport.send("calls", None, vec![number].into()).await })
    });
    let sending: Vec<_> = sending.collect();
    let sql = format!("SELECT expires_at::text FROM {schema}.listeners");
    let mut seen = std::collections::BTreeSet::new();
    let refreshing = async {
        // More than the one that may be on its way.
        while seen.len() < 4 {
            let expiry = sqlx::query_scalar::<_, String>(AssertSqlSafe(sql.clone()));
            seen.insert(expiry.fetch_one(&mut lock).await.unwrap());
        }
    };
    timeout(Duration::from_secs(30), refreshing).await.unwrap();
    drop(lock);
    for sent in sending {
        sent.await.unwrap().unwrap();
    }
}

/// The notification of a message of a group goes to one process: another member takes it if that one was killed.
#[tokio::test]
async fn a_group_goes_on_whose_notified_member_was_killed() {
    let Some(url) = shared_url() else { return };
    let schema = new_schema();
    let transport = options(&url, &schema).connect().await.unwrap();
    let mut receiver = transport.listen("calls", Some("workers")).await.unwrap();
    let dead = format!(
        "INSERT INTO {schema}.listeners SELECT 'dead', queue, pattern, group_name, now() + interval '1 hour' \
         FROM {schema}.listeners"
    );
    run_sql(&url, &dead).await;
    for number in 0..20_u8 {
        transport.send("calls", None, vec![number].into()).await.unwrap();
        assert_eq!(body(receiver.next().await.unwrap().payload), [number]);
    }
}

#[tokio::test]
async fn the_receivers_of_a_killed_process_are_gone_after_their_time() {
    let Some(url) = shared_url() else { return };
    let schema = new_schema();
    let transport = options(&url, &schema).connect().await.unwrap();
    let mut replies = transport.listen("reply", None).await.unwrap();
    let dead = |expiry: &str| {
        format!(
            "INSERT INTO {schema}.listeners VALUES ('dead', 'dead.1', 'calls', NULL, now() + interval '{expiry}') \
             ON CONFLICT (process, queue) DO UPDATE SET expires_at = excluded.expires_at"
        )
    };
    run_sql(&url, &dead("1 hour")).await;
    transport.send("calls", Some("reply"), vec![1].into()).await.unwrap();
    run_sql(&url, &dead("-1 second")).await;
    transport.send("calls", Some("reply"), vec![2].into()).await.unwrap();
    assert!(matches!(replies.next().await.unwrap().payload, Payload::NoReceiver));
    // The first one had a receiver, as far as its sender knew.
    transport.send("reply", None, vec![3].into()).await.unwrap();
    assert_eq!(body(replies.next().await.unwrap().payload), [3]);
}

#[tokio::test]
async fn a_sender_hears_that_the_database_is_gone_and_receivers_go_on_once_it_is_back() {
    let Some(mut server) = reported(Server::start()) else { return };
    // Enough for a new connection on a machine that is busy.
    let options = options(&server.url(), "fleet").operation_timeout(Duration::from_secs(1));
    let transport = options.connect().await.unwrap();
    let mut alone = transport.listen("calls", None).await.unwrap();
    let mut member = transport.listen("calls", Some("workers")).await.unwrap();
    transport.send("calls", None, vec![1].into()).await.unwrap();
    assert_eq!(body(alone.next().await.unwrap().payload), [1]);
    assert_eq!(body(member.next().await.unwrap().payload), [1]);
    server.switch("stop");
    let error = transport.send("calls", None, vec![2].into()).await.unwrap_err();
    assert!(error.to_string().contains("the database did not answer within 1s"), "{error}");
    let error = transport.listen("other", None).await.err().unwrap();
    assert!(error.to_string().contains("the database did not answer within 1s"), "{error}");
    while transport.is_connected() {
        tokio::task::yield_now().await;
    }
    server.switch("start");
    // Each is sent until it is taken: the first ones may be sent before the process has shown again that it lives.
    let receiving =
        async { (body(alone.next().await.unwrap().payload), body(member.next().await.unwrap().payload)) };
    let sending = async {
        loop {
            if transport.send("calls", None, vec![3].into()).await.is_ok() {
                tokio::task::yield_now().await;
            }
        }
    };
    let received = tokio::select! { it = receiving => it, () = sending => unreachable!() };
    assert_eq!(received, (vec![3], vec![3]));
    while !transport.is_connected() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn calls_are_answered_over_a_pooler_in_transaction_mode() {
    let Some(url) = pooler_url() else { return };
    let options = options(&url, &new_schema()).poll_interval(Duration::from_millis(50));
    let transport = options.connect().await.unwrap();
    let pool = Pool::start(&transport, "pooled", 2).await;
    let calls: Vec<_> = (0..10).map(|number| pool.call("add", json!({ "a": number, "b": 1 }))).collect();
    for (number, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap().text(), (number + 1).to_string());
    }
}

#[tokio::test]
async fn a_caller_and_workers_with_connections_of_their_own_agree() {
    let Some(url) = shared_url() else { return };
    let schema = new_schema();
    let workers = options(&url, &schema).connect().await.unwrap();
    let pool = Pool::start(&workers, "remote", 2).await;
    let callers = options(&url, &schema).connect().await.unwrap();
    let (executor, _toolbox) = connect(&callers, "remote").await;
    let calls = (0..10).map(|number| ToolCall::new("remote__add", json!({ "a": number, "b": 1 }))).collect();
    let outcomes = executor.run(calls).await;
    for (number, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.result().unwrap().text(), (number + 1).to_string());
    }
    drop(pool);
}

#[tokio::test]
async fn a_message_beyond_the_limit_is_refused_and_one_at_the_limit_arrives() {
    let Some(url) = shared_url() else { return };
    let schema = new_schema();
    let transport = options(&url, &schema).max_bytes(5000).unwrap().connect().await.unwrap();
    let mut receiver = transport.listen("calls", None).await.unwrap();
    let error = transport.send("calls", None, vec![1; 5001].into()).await.unwrap_err();
    assert!(matches!(error, FleetError::TooLarge { bytes: 5001, limit: 5000 }), "{error}");
    transport.send("calls", None, vec![2; 5000].into()).await.unwrap();
    assert_eq!(body(receiver.next().await.unwrap().payload), vec![2; 5000]);
}

#[tokio::test]
async fn a_message_that_expired_is_not_received() {
    let Some(url) = shared_url() else { return };
    let schema = new_schema();
    let transport = options(&url, &schema).connect().await.unwrap();
    let mut receiver = transport.listen("calls", Some("workers")).await.unwrap();
    let insert = |subject: &str, expiry: &str| {
        format!(
            "INSERT INTO {schema}.messages (queue, subject, body, expires_at) \
             SELECT queue, '{subject}', 'x', now() + interval '{expiry}' FROM {schema}.listeners"
        )
    };
    run_sql(&url, &format!("{}; {}", insert("old", "-1 second"), insert("new", "1 minute"))).await;
    assert_eq!(receiver.next().await.unwrap().subject, "new");
}

#[tokio::test]
async fn streams_end_with_the_last_clone_of_their_transport() {
    let Some(transport) = new_transport().await else { return };
    let clone = transport.clone();
    let mut receiver = transport.listen("calls", None).await.unwrap();
    drop(transport);
    clone.send("calls", None, vec![1].into()).await.unwrap();
    assert_eq!(body(receiver.next().await.unwrap().payload), [1]);
    drop(clone);
    assert!(receiver.next().await.is_none());
}

#[tokio::test]
async fn tables_of_a_newer_version_are_refused() {
    let Some(url) = shared_url() else { return };
    let schema = new_schema();
    drop(options(&url, &schema).connect().await.unwrap());
    run_sql(&url, &format!("UPDATE {schema}.store_version SET version = 99")).await;
    let error = options(&url, &schema).connect().await.unwrap_err();
    assert!(error.to_string().contains("have the version 99"), "{error}");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_an_error_without_the_password() {
    let url = "postgres://user:secret@127.0.0.1:1/database";
    let options = PostgresOptions::new(url).unwrap().operation_timeout(Duration::from_millis(100));
    assert!(!format!("{options:?}").contains("secret"));
    let error = timeout(Duration::from_secs(30), options.connect()).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("the database did not answer within 100ms"), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[test]
fn settings_that_are_not_valid_are_refused_with_what_is() {
    let error = PostgresOptions::new("mysql://user:secret@host/database").unwrap_err();
    assert!(
        matches!(&error, FleetError::Invalid(problem) if problem.contains("postgres://user@host/database"))
    );
    assert!(!error.to_string().contains("secret"));
    let options = || PostgresOptions::new("postgres://host/database").unwrap();
    for schema in ["", "Upper", "1st", "pg_x", "a-b", "a\"b", &"x".repeat(64)] {
        assert!(options().schema(schema).unwrap_err().to_string().contains("use at most 63 of"), "{schema}");
    }
    for bytes in [0, 4095, PostgresOptions::MAX_MAX_BYTES + 1] {
        assert!(options().max_bytes(bytes).unwrap_err().to_string().contains("use 4096 to"), "{bytes}");
    }
}
