//! Notices that a message had no receiver: they hold for a while, since connections are back at different times after a broker was away.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use tokio::time::{Instant, sleep};
use tool_fleet::{Deliveries, FleetError, MemoryTransport, Transport};
use tool_runtime::{BoxFuture, Executor, ToolCall, prelude::*, serde_json::Map};

use super::{
    Pool, Probe,
    broker::{Sent, TestBroker},
    connect, registry, serve,
};

/// A broker that finds no receiver of the first `count` messages of which `is_chosen`.
fn broker_without_receivers(count: usize, is_chosen: fn(&Sent) -> bool) -> TestBroker {
    broker_without_receivers_of(Arc::new(AtomicUsize::new(count)), is_chosen)
}

/// A broker that finds no receiver of the next messages of which `is_chosen`, as many as `left` says.
fn broker_without_receivers_of(left: Arc<AtomicUsize>, is_chosen: fn(&Sent) -> bool) -> TestBroker {
    TestBroker::tampering(move |inner, sent| {
        let left = Arc::clone(&left);
        async move {
            let decrement = |left: usize| left.checked_sub(1);
            let is_received = !is_chosen(&sent)
                || left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, decrement).is_err();
            match is_received {
                true => sent.deliver(&inner).await,
                false => inner.send("nowhere", sent.reply.as_deref(), sent.body).await.unwrap(),
            }
        }
    })
}

/// A transport whose connection to its broker is lost.
#[derive(Clone)]
struct LostConnection(MemoryTransport);

impl Transport for LostConnection {
    fn send<'a>(
        &'a self,
        subject: &'a str,
        reply: Option<&'a str>,
        body: Bytes,
    ) -> BoxFuture<'a, Result<(), FleetError>> {
        self.0.send(subject, reply, body)
    }

    fn listen<'a>(
        &'a self,
        pattern: &'a str,
        group: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Deliveries, FleetError>> {
        self.0.listen(pattern, group)
    }

    fn max_bytes(&self) -> usize {
        self.0.max_bytes()
    }

    fn is_connected(&self) -> bool {
        false
    }
}

fn paris() -> Value {
    json!({ "query": { "city": "Paris" } })
}

#[tokio::test(start_paused = true)]
async fn a_read_goes_on_whose_caller_is_back_before_three_heartbeats() {
    let pool = Pool::start(&broker_without_receivers(3, Sent::is_report), "back", 1).await;
    let call = pool.call("forecast", paris());
    pool.entered().await;
    sleep(Duration::from_millis(350)).await;
    assert!(!call.is_finished());
    pool.probes[0].released.cancel();
    assert_eq!(call.await.unwrap().text(), "Paris 0 by body 1");
}

#[tokio::test(start_paused = true)]
async fn a_read_whose_caller_has_left_is_cancelled_after_three_heartbeats() {
    let pool = Pool::start(&broker_without_receivers(usize::MAX, Sent::is_report), "left", 1).await;
    let call = pool.call("forecast", paris());
    pool.entered().await;
    let entered = Instant::now();
    pool.probes[0].cancelled.notified().await;
    assert_eq!(entered.elapsed().as_millis() / 100, 3);
    call.abort();
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_worker_that_is_known_and_does_not_receive_yet() {
    for tool in ["add", "book"] {
        let pool = Pool::start(&broker_without_receivers(3, Sent::is_call), "late", 1).await;
        pool.probes[0].released.cancel();
        let arguments = if tool == "book" { json!({}) } else { json!({ "a": 1, "b": 0 }) };
        assert_eq!(pool.call(tool, arguments).await.unwrap().text(), "1", "{tool}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_was_lost_with_all_workers_waits_for_one_that_comes() {
    let transport = MemoryTransport::new();
    let mut pool = Pool::start(&transport, "new", 1).await;
    let call = pool.call("forecast", paris());
    pool.entered().await;
    pool.end_worker(0).await;
    // No worker is known any more.
    sleep(Duration::from_millis(700)).await;
    let probe = Arc::new(Probe::default());
    probe.released.cancel();
    let serving = serve(&transport, "new", Executor::new(registry(&probe)));
    assert_eq!(call.await.unwrap().text(), "Paris 0 by body 1");
    serving.abort();
}

#[tokio::test(start_paused = true)]
async fn a_read_that_was_lost_with_all_workers_ends_if_none_comes() {
    let mut pool = Pool::start(&MemoryTransport::new(), "gone", 1).await;
    let call = pool.call("forecast", paris());
    pool.entered().await;
    pool.end_worker(0).await;
    assert_eq!(call.await.unwrap().text(), "the call was interrupted: 1 worker ended during it");
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_connection_says_that_the_connection_is_lost() {
    let mut pool = Pool::start(&LostConnection(MemoryTransport::new()), "cut", 1).await;
    pool.end_worker(0).await;
    sleep(Duration::from_secs(2)).await;
    let result = pool.call("add", json!({ "a": 1, "b": 2 })).await.unwrap();
    let expected = "the connection to the broker of the pool `cut` is lost; try again later";
    assert!(result.text().contains(expected), "{}", result.text());
}

fn doubled(arguments: &mut Map<String, Value>) -> Result<(), ToolError> {
    let is_doubled = arguments.insert("is_doubled".to_owned(), true.into()) == Some(true.into());
    if !is_doubled && let Some(number) = arguments.get("number").and_then(Value::as_u64) {
        arguments.insert("number".to_owned(), (2 * number).into());
    }
    Ok(())
}

/// Returns a number that was prepared.
#[tool(register = false, prepare = doubled)]
fn double(number: u64, is_doubled: Option<bool>) -> String {
    format!("{number} {is_doubled:?}")
}

#[tokio::test(start_paused = true)]
async fn a_question_about_a_call_waits_for_a_worker_that_is_known_and_does_not_receive_yet() {
    let left = Arc::new(AtomicUsize::new(0));
    let is_question = |sent: &Sent| sent.subject.contains(".definitions.");
    let broker = broker_without_receivers_of(Arc::clone(&left), is_question);
    let tools = Registry::builder().tool::<double>().build().unwrap();
    let serving = serve(&broker, "asked", Executor::new(tools));
    let (executor, _toolbox) = connect(&broker, "asked").await;
    left.store(3, Ordering::SeqCst);
    let outcomes = executor.run(vec![ToolCall::new("asked__double", json!({ "number": 4 }))]).await;
    assert_eq!(outcomes[0].result().unwrap().text(), "8 Some(true)");
    assert_eq!(left.load(Ordering::SeqCst), 0);
    serving.abort();
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_lost_with_its_worker_is_asked_again() {
    let left = Arc::new(AtomicUsize::new(0));
    let lost = Arc::clone(&left);
    let broker = TestBroker::tampering(move |inner, sent| {
        let is_lost = sent.subject.contains(".definitions.") && lost.swap(0, Ordering::SeqCst) == 1;
        async move {
            if !is_lost {
                sent.deliver(&inner).await;
            }
        }
    });
    let tools = Registry::builder().tool::<double>().build().unwrap();
    let serving = serve(&broker, "again", Executor::new(tools));
    let (executor, _toolbox) = connect(&broker, "again").await;
    left.store(1, Ordering::SeqCst);
    let outcomes = executor.run(vec![ToolCall::new("again__double", json!({ "number": 4 }))]).await;
    assert_eq!(outcomes[0].result().unwrap().text(), "8 Some(true)");
    assert_eq!(left.load(Ordering::SeqCst), 0);
    serving.abort();
}
