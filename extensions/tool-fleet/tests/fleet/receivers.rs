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
use tool_runtime::{BoxFuture, Executor, prelude::*};

use super::{
    Pool, Probe,
    broker::{Sent, TestBroker},
    registry, serve,
};

/// A broker that finds no receiver of the first `count` messages of which `is_chosen`.
fn broker_without_receivers(count: usize, is_chosen: fn(&Sent) -> bool) -> TestBroker {
    let left = Arc::new(AtomicUsize::new(count));
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
