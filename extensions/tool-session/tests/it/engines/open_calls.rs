//! Open calls in the database of the sessions.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use proptest::{
    prelude::{ProptestConfig, Strategy},
    strategy::ValueTree,
    test_runner::TestRunner,
};
use tool_runtime::{
    Executor, RunContext, ToolCall,
    call::CallAddress,
    context::ConfirmationAnswer,
    definition::ContentHash,
    open_calls::{OpenCallError, OpenCallStore, OpenFilter, OpenRecord, OpenStoreError, ProgramKey},
    prelude::*,
    serde_json,
};
use tool_session::{Clock, LeaseRequest, Retention, SharedSessionStore};

use super::{Engine, for_each_engine};
use crate::contract::world::key;

for_each_engine![
    a_record_is_listed_by_run_and_id_and_consumed_once,
    hostile_ids_and_bodies_are_kept_exactly,
    records_are_listed_by_app_user_and_session_and_deleted_with_them,
    any_id_and_body_is_kept_exactly,
    of_many_consumers_in_two_stores_one_succeeds,
    a_second_question_takes_the_place_of_a_consumed_one,
    an_open_record_is_replaced_once_and_a_consumed_one_is_not,
    records_that_ended_long_ago_are_removed,
    an_answer_runs_the_call_once_in_any_store,
    a_record_that_was_altered_copied_or_made_up_is_refused,
    an_expired_record_is_refused,
];

pub(super) const YES: ConfirmationAnswer = ConfirmationAnswer { confirmed: true, payload: Value::Null };

fn record_with(address: &CallAddress, body: &str, expires_at: Option<u64>) -> OpenRecord {
    let tag = ContentHash::of(&(address, body));
    let mut record =
        json!({ "address": address, "kind": "external", "openedAtMs": 0, "body": body, "tag": tag });
    if let Some(expires_at) = expires_at {
        record["expiresAtMs"] = json!(expires_at);
    }
    serde_json::from_value(record).unwrap()
}

pub(super) fn record(run: Option<&str>, call_id: &str, serial: u64) -> OpenRecord {
    record_with(&CallAddress { run: run.map(Into::into), call_id: call_id.into(), serial }, "{}", None)
}

async fn serials(store: &impl OpenCallStore, run: Option<&str>, call_id: Option<&str>) -> Vec<u64> {
    let mut filter = OpenFilter::default();
    (filter.run, filter.call_id) = (run.map(Into::into), call_id.map(Into::into));
    let records = store.list(&filter).await.unwrap();
    let mut serials: Vec<_> = records.iter().map(|it| it.address.serial).collect();
    serials.sort_unstable();
    serials
}

// X05
async fn a_record_is_listed_by_run_and_id_and_consumed_once<E: Engine>() {
    let Some(engine) = E::new().await else { return };
    let store = engine.open(Clock::default()).await;
    assert!(OpenCallStore::outlives_process(&store));
    let records = [
        record(Some("r"), "a", 0),
        record(Some("r"), "b", 1),
        record(Some("s"), "a", 2),
        record(None, "a", 3),
        record(None, "a", 4),
    ];
    for record in &records {
        store.put(record.clone()).await.unwrap();
        assert_eq!(store.put(record.clone()).await, Err(OpenStoreError::Exists));
    }
    assert_eq!(serials(&store, None, None).await, [0, 1, 2, 3, 4]);
    assert_eq!(serials(&store, Some("r"), None).await, [0, 1]);
    assert_eq!(serials(&store, None, Some("a")).await, [0, 2, 3, 4]);
    assert_eq!(serials(&store, Some("r"), Some("a")).await, [0]);
    assert_eq!(serials(&store, Some("s"), Some("b")).await, [0; 0]);

    let mut other = records[3].clone();
    other.tag = ContentHash::of("another record of the address");
    assert!(!store.consume(&other).await.unwrap());
    assert_eq!(store.get(&other.address).await.unwrap().as_ref(), Some(&records[3]));
    assert!(store.consume(&records[3]).await.unwrap() && !store.consume(&records[3]).await.unwrap());
    // Another store of the same database sees it, too.
    let second = engine.open(Clock::default()).await;
    assert_eq!(second.get(&other.address).await.unwrap(), None);
    assert_eq!(serials(&second, None, Some("a")).await, [0, 2, 4]);
    assert!(!second.consume(&records[3]).await.unwrap());
    assert!(!second.consume(&record(None, "z", 9)).await.unwrap());
}

async fn hostile_ids_and_bodies_are_kept_exactly<E: Engine>() {
    let Some(engine) = E::new().await else { return };
    let store = engine.open(Clock::default()).await;
    let ids = ["", "\0", "'; DROP TABLE open_calls; --", "../..", "ﷺ\u{202e}", &"x".repeat(100_000)];
    for (serial, id) in (0..).zip(ids) {
        let address = CallAddress { run: Some(id.into()), call_id: id.into(), serial };
        let record =
            record_with(&address, &json!({ "text": id }).to_string(), Some(u64::from(u32::MAX) * 1000));
        store.put(record.clone()).await.unwrap();
        assert_eq!(store.get(&address).await.unwrap().as_ref(), Some(&record));
        assert_eq!(serials(&store, Some(id), Some(id)).await, [serial]);
    }
    for (serial, id) in (0..).zip(ids) {
        let address = CallAddress { run: Some(id.into()), call_id: id.into(), serial };
        let record = store.get(&address).await.unwrap().unwrap();
        assert!(store.consume(&record).await.unwrap());
    }
    assert_eq!(serials(&store, None, None).await, [0; 0]);
}

// X05
async fn records_are_listed_by_app_user_and_session_and_deleted_with_them<E: Engine>() {
    let Some(engine) = E::new().await else { return };
    let (store, runs) = (engine.open(Clock::default()).await, Runs::default());
    let sessions = SharedSessionStore::new(store.clone());
    let executor = executor(store.clone(), &runs);
    let runs_of = [
        RunContext::new().with_app("shop").with_user("u-7").with_session("s"),
        RunContext::new().with_app("shop").with_user("u-7").with_session("t"),
        RunContext::new().with_app("shop").with_user("u-7"),
        RunContext::new().with_app("shop").with_user("u-8").with_session("s"),
        RunContext::new().with_app("other").with_user("u-7").with_session("s"),
        RunContext::new(),
    ];
    for (number, run) in runs_of.into_iter().enumerate() {
        let call = ToolCall::new("pay", r#"{"amount":5}"#).with_id(number.to_string());
        executor.batch(vec![call]).with_run(run).run().await;
    }
    let ids = async |app: Option<&str>, user: Option<&str>, session: Option<&str>| {
        let mut filter = OpenFilter::default();
        (filter.app, filter.user, filter.session) =
            (app.map(Into::into), user.map(Into::into), session.map(Into::into));
        let records = OpenCallStore::list(&store, &filter).await.unwrap();
        let mut ids: Vec<_> = records.iter().map(|it| it.address.call_id.to_string()).collect();
        ids.sort_unstable();
        ids.concat()
    };
    assert_eq!(ids(None, None, None).await, "012345");
    assert_eq!(ids(Some("shop"), Some("u-7"), None).await, "012");
    assert_eq!(ids(Some("shop"), Some("u-7"), Some("s")).await, "0");
    assert_eq!(ids(None, Some("u-7"), None).await, "0124");
    assert_eq!(ids(None, None, Some("s")).await, "034");
    assert_eq!(ids(Some(""), None, None).await, "");

    sessions.acquire(&key("s"), &LeaseRequest::new("run", "holder")).await.unwrap();
    assert!(sessions.delete(&key("s")).await.unwrap());
    assert_eq!(ids(None, None, None).await, "12345");
    // A pruned session, too.
    let lease = sessions.acquire(&key("t"), &LeaseRequest::new("run", "holder")).await.unwrap().lease;
    sessions.release(&lease).await.unwrap();
    assert_eq!(sessions.prune(&Retention::new("shop").max_sessions(0)).await.unwrap(), 1);
    assert_eq!(ids(None, None, None).await, "2345");
    sessions.delete_user("shop", "u-7").await.unwrap();
    assert_eq!(ids(None, None, None).await, "345");
    sessions.delete_user("", "").await.unwrap();
    assert_eq!(ids(None, None, None).await, "34");
    assert_eq!(runs.0.load(Ordering::SeqCst), 0);
}

async fn any_id_and_body_is_kept_exactly<E: Engine>() {
    let Some(engine) = E::new().await else { return };
    let store = engine.open(Clock::default()).await;
    let mut runner =
        TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() });
    for serial in 0..40 {
        let mut text = || "(?s).{0,60}".new_tree(&mut runner).unwrap().current();
        let (run, call_id) = (text(), text());
        let address =
            CallAddress { run: Some(run.as_str().into()), call_id: call_id.as_str().into(), serial };
        let record = record_with(&address, &text(), None);
        store.put(record.clone()).await.unwrap();
        assert_eq!(store.get(&address).await.unwrap().as_ref(), Some(&record));
        assert!(serials(&store, Some(&run), Some(&call_id)).await.contains(&serial));
        assert!(store.consume(&record).await.unwrap());
    }
}

// I20
async fn of_many_consumers_in_two_stores_one_succeeds<E: Engine>() {
    let Some(engine) = E::new().await else { return };
    let stores = [engine.open(Clock::default()).await, engine.open(Clock::default()).await];
    for serial in 0..5 {
        let record = record(Some("r"), "a", serial);
        stores[0].put(record.clone()).await.unwrap();
        let tasks = (0..16).map(|number| {
            let (store, record) = (stores[number % 2].clone(), record.clone());
            tokio::spawn(async move { store.consume(&record).await.unwrap() })
        });
        let mut consumed = 0;
        for task in tasks.collect::<Vec<_>>() {
            consumed += usize::from(task.await.unwrap());
        }
        assert_eq!(consumed, 1);
    }
}

async fn a_second_question_takes_the_place_of_a_consumed_one<E: Engine>() {
    let Some(engine) = E::new().await else { return };
    let store = engine.open(Clock::default()).await;
    let first = record(Some("r"), "a", 1);
    let second = record_with(&first.address, r#"{"question":2}"#, None);
    store.put(first.clone()).await.unwrap();
    assert_eq!(store.put(second.clone()).await, Err(OpenStoreError::Exists));
    assert!(store.consume(&first).await.unwrap());
    store.put(second.clone()).await.unwrap();
    assert_eq!(store.get(&first.address).await.unwrap().as_ref(), Some(&second));
    assert!(!store.consume(&first).await.unwrap());
    assert!(store.consume(&second).await.unwrap());
}

async fn an_open_record_is_replaced_once_and_a_consumed_one_is_not<E: Engine>() {
    let Some(engine) = E::new().await else { return };
    let (store, other) = (engine.open(Clock::default()).await, engine.open(Clock::default()).await);
    let first = record(Some("r"), "a", 1);
    let second = record_with(&first.address, r#"{"question":2}"#, Some(86_400_000));
    assert!(!store.replace(&first, second.clone()).await.unwrap());
    store.put(first.clone()).await.unwrap();
    assert!(!store.replace(&second, second.clone()).await.unwrap());
    let replacing = [&store, &other].map(|store| store.replace(&first, second.clone()));
    let [here, there] = replacing;
    let (here, there) = tokio::join!(here, there);
    assert_eq!([here.unwrap(), there.unwrap()].iter().filter(|replaced| **replaced).count(), 1);
    assert_eq!(other.get(&first.address).await.unwrap().as_ref(), Some(&second));
    assert_eq!(serials(&other, Some("r"), Some("a")).await, [1]);
    assert!(!store.consume(&first).await.unwrap() && store.consume(&second).await.unwrap());
    assert!(!store.replace(&second, first.clone()).await.unwrap());
    assert_eq!(store.get(&first.address).await.unwrap(), None);
}

async fn records_that_ended_long_ago_are_removed<E: Engine>() {
    let Some(engine) = E::new().await else { return };
    let days = |days: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(days * 86_400);
    let at = |now: SystemTime| Clock::new(move || now);
    let store = engine.open(at(days(100))).await;
    let expired = record_with(&record(None, "expired", 1).address, "{}", Some(101 * 86_400_000));
    let (open, consumed) = (record(None, "open", 2), record(None, "consumed", 3));
    for record in [&expired, &open, &consumed] {
        store.put(record.clone()).await.unwrap();
    }
    assert!(store.consume(&consumed).await.unwrap());
    // Until then, the executor refuses it as expired, with the time.
    engine.open(at(days(120))).await.put(record(None, "later", 4)).await.unwrap();
    assert_eq!(serials(&store, None, None).await, [1, 2, 4]);
    engine.open(at(days(132))).await.put(record(None, "latest", 5)).await.unwrap();
    assert_eq!(serials(&store, None, None).await, [2, 4, 5]);
    // The mark of the consumed one was removed, too: its address can be used again.
    store.put(consumed).await.unwrap();
}

/// Counts its runs.
#[tool(register = false, confirm)]
fn pay(runs: &Runs, amount: i64) -> i64 {
    runs.0.fetch_add(1, Ordering::SeqCst);
    amount
}

#[derive(Clone, Default)]
pub(super) struct Runs(pub(super) Arc<AtomicUsize>);

pub(super) fn executor(store: impl OpenCallStore + 'static, runs: &Runs) -> Executor {
    let tools = Registry::builder().tool::<pay>().provide(runs.clone()).build().unwrap();
    let builder = Executor::builder(tools).open_calls(store).program_key(ProgramKey::new([7; 32]));
    builder.open_calls_expire(Duration::from_secs(3600)).build().unwrap()
}

pub(super) async fn pending_call(executor: &Executor, id: &str) -> CallAddress {
    let call = ToolCall::new("pay", r#"{"amount":5}"#).with_id(id);
    let run = RunContext::new().with_app("shop").with_user("u-7").with_session("s");
    let outcomes = executor.batch(vec![call]).with_run(run).run().await;
    outcomes[0].address().unwrap().clone()
}

// I20, X05
async fn an_answer_runs_the_call_once_in_any_store<E: Engine>() {
    let Some(engine) = E::new().await else { return };
    let runs = Runs::default();
    let address = pending_call(&executor(engine.open(Clock::default()).await, &runs), "0").await;
    // Two processes answer it; the one that opened it is gone.
    let [one, other] = [
        executor(engine.open(Clock::default()).await, &runs),
        executor(engine.open(Clock::default()).await, &runs),
    ];
    assert_eq!(one.open_calls().await.unwrap().len(), 1);
    let first = one.resume([(&address, YES)]).await.unwrap();
    let second = other.resume([(&address, YES)]).await.unwrap();
    let (first, second) = tokio::join!(first.run(), second.run());
    let texts: Vec<_> =
        [&first, &second].iter().map(|it| it[0].result().unwrap().text().into_owned()).collect();
    assert_eq!(texts.iter().filter(|text| *text == "5").count(), 1, "{texts:?}");
    assert_eq!(runs.0.load(Ordering::SeqCst), 1);
    assert!(other.open_calls().await.unwrap().is_empty());
    let late = other.resume([(&address, YES)]).await.unwrap_err();
    assert_eq!(late, OpenCallError::NotOpen((&address).into()));
}

// I17, I20: by a person with access to the database, and without the key.
async fn a_record_that_was_altered_copied_or_made_up_is_refused<E: Engine>() {
    let Some(engine) = E::new().await else { return };
    let (store, runs) = (engine.open(Clock::default()).await, Runs::default());
    let executor = executor(store.clone(), &runs);
    let (target, source) = (pending_call(&executor, "target").await, pending_call(&executor, "source").await);
    let hash = |address: &CallAddress| ContentHash::of(address).to_string();
    let original = serde_json::to_string(&store.get(&target).await.unwrap().unwrap()).unwrap();
    let set_record = async |text: &str| {
        let text = text.replace('\'', "''");
        engine
            .execute(&format!(
                "UPDATE open_calls SET record = '{text}' WHERE address_hash = '{}'",
                hash(&target)
            ))
            .await;
    };
    let refused = async |expected: OpenCallError| {
        let error = executor.resume([(&target, YES)]).await.unwrap_err();
        assert_eq!(error, expected);
    };
    // Altered: other arguments, and no expiry.
    for altered in [original.replace(":5}", ":6}"), original.replace("expiresAtMs", "x")] {
        assert_ne!(altered, original);
        set_record(&altered).await;
        refused(OpenCallError::Altered((&target).into())).await;
    }
    // Copied from another call.
    let copy = format!(
        "UPDATE open_calls SET (record, tag) = (SELECT record, tag FROM open_calls WHERE address_hash = '{}') \
         WHERE address_hash = '{}'",
        hash(&source),
        hash(&target)
    );
    engine.execute(&copy).await;
    refused(OpenCallError::NotOpen((&target).into())).await;
    // Given to another user.
    let other = original.replace(r#""user":"u-7""#, r#""user":"u-8""#);
    assert_ne!(other, original);
    set_record(&other).await;
    refused(OpenCallError::Altered((&target).into())).await;
    // No record at all: it costs itself, and the other one is listed.
    set_record("'; not a record").await;
    assert!(matches!(executor.resume([(&target, YES)]).await.unwrap_err(), OpenCallError::Store(_)));
    let listed = executor.open_calls().await.unwrap();
    assert_eq!(listed.iter().map(|it| it.address()).collect::<Vec<_>>(), [&source]);
    assert_eq!(runs.0.load(Ordering::SeqCst), 0);
}

async fn an_expired_record_is_refused<E: Engine>() {
    let Some(engine) = E::new().await else { return };
    let (store, runs) = (engine.open(Clock::default()).await, Runs::default());
    let tools = Registry::builder().tool::<pay>().provide(runs.clone()).build().unwrap();
    let builder = Executor::builder(tools).open_calls(store).program_key(ProgramKey::new([7; 32]));
    let executor = builder.open_calls_expire(Duration::ZERO).build().unwrap();
    let address = pending_call(&executor, "0").await;
    let error = executor.resume([(&address, YES)]).await.unwrap_err();
    assert!(matches!(error, OpenCallError::Expired { .. }), "{error}");
    assert!(executor.open_calls().await.unwrap().is_empty());
    assert_eq!(runs.0.load(Ordering::SeqCst), 0);
}
