//! The same behaviour over each transport (O04).

use std::{sync::atomic::Ordering, time::Duration};

use futures_util::StreamExt as _;
use tool_fleet::{Payload, Transport};
use tool_runtime::{CancellationToken, RunContext, ToolCall, prelude::*};

use super::Pool;

/// Makes a test of each function for each transport, with a pool that is named as it.
macro_rules! over_transports {
    ($($name:ident,)+) => {
        mod memory {
            $(#[tokio::test(start_paused = true)]
            async fn $name() {
                super::$name(tool_fleet::MemoryTransport::new(), stringify!($name)).await;
            })+
        }

        #[cfg(feature = "nats")]
        mod nats {
            $(#[tokio::test]
            async fn $name() {
                let Some(url) = test_support::nats::shared_url() else { return };
                let transport = tool_fleet::NatsTransport::connect(url).await.unwrap();
                super::$name(transport, stringify!($name)).await;
            })+
        }

        #[cfg(all(feature = "postgres", unix))]
        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                let Some(transport) = crate::postgres::new_transport().await else { return };
                super::$name(transport, stringify!($name)).await;
            })+
        }
    };
}

pub(crate) use over_transports;

over_transports! {
    a_call_is_answered_by_a_worker,
    reads_go_on_elsewhere,
    effects_run_once,
    a_message_is_one_attempt,
    a_cancelled_call_ends_its_body,
    a_dropped_call_ends_its_body,
    a_dropped_set_cancels_its_open_calls,
    updates_arrive_in_order,
    reads_end_after_three_workers,
    a_full_pool_is_busy,
    a_pool_without_workers_is_unavailable,
    each_receiver_and_one_of_each_group_receive_a_message,
    a_message_without_receivers_is_reported_to_its_reply_subject,
}

async fn a_call_is_answered_by_a_worker<T: Transport + Clone>(transport: T, pool: &'static str) {
    let pool = Pool::start(&transport, pool, 2).await;
    let mut calls = Vec::new();
    for number in 0..20 {
        calls.push(pool.call("add", json!({ "a": number, "b": 1 })));
    }
    for (number, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap().text(), (number + 1).to_string());
    }
    let wrong = pool.call("add", json!({ "a": "x", "b": 1 })).await.unwrap();
    assert!(wrong.is_error() && wrong.text().contains("/a"), "{}", wrong.text());
}

/// A call without effects whose worker dies is answered by another one, with the same idempotency key.
async fn reads_go_on_elsewhere<T: Transport + Clone>(transport: T, pool: &'static str) {
    let mut pool = Pool::start(&transport, pool, 2).await;
    let call = pool.call("forecast", json!({ "query": { "town": "Paris", "days": 2 } }));
    let first = pool.entered().await;
    pool.end_worker(first).await;
    pool.probes[1 - first].released.cancel();
    assert_eq!(call.await.unwrap().text(), "Paris 2 by body 1");
    let keys: Vec<_> = pool.probes.iter().map(|probe| probe.keys.lock().unwrap().clone()).collect();
    assert_eq!(keys[0].len(), 1);
    assert_eq!(keys[0], keys[1]);
}

/// A call with effects whose worker dies is interrupted, and runs nowhere else.
async fn effects_run_once<T: Transport + Clone>(transport: T, pool: &'static str) {
    let mut pool = Pool::start(&transport, pool, 2).await;
    let call = pool.call("book", json!({}));
    let first = pool.entered().await;
    pool.end_worker(first).await;
    let result = call.await.unwrap();
    assert!(result.text().contains("may have taken effect"), "{}", result.text());
    assert_eq!(pool.bodies().iter().sum::<usize>(), 1);
}

/// Retries are decided by the caller alone: three bodies, and not three for each of its attempts.
async fn a_message_is_one_attempt<T: Transport + Clone>(transport: T, pool: &'static str) {
    let pool = Pool::start(&transport, pool, 1).await;
    let result = pool.call("flaky", json!({})).await.unwrap();
    assert_eq!((result.text().as_ref(), result.attempts), ("3", 3)); // J12
}

async fn a_cancelled_call_ends_its_body<T: Transport + Clone>(transport: T, pool: &'static str) {
    let pool = Pool::start(&transport, pool, 1).await;
    for tool in ["forecast", "book"] {
        let token = CancellationToken::new();
        let run = RunContext::new().with_cancellation(token.clone());
        let arguments = if tool == "book" { json!({}) } else { json!({ "query": { "city": "Paris" } }) };
        let call = ToolCall::new(format!("{}__{tool}", pool.name), arguments);
        let calling = pool.executor.batch(vec![call]).with_run(run).run();
        let cancelling = async {
            pool.probes[0].entered.notified().await;
            token.cancel();
            pool.probes[0].cancelled.notified().await;
        };
        let (outcomes, ()) = tokio::join!(calling, cancelling);
        // A body that ends in the grace period has its result.
        assert!(outcomes[0].result().unwrap().text().ends_with('1'), "{tool}");
        pool.probes[0].bodies.store(0, Ordering::SeqCst);
    }
}

async fn a_dropped_call_ends_its_body<T: Transport + Clone>(transport: T, pool: &'static str) {
    let pool = Pool::start(&transport, pool, 1).await;
    let call = pool.call("forecast", json!({ "query": { "city": "Paris" } }));
    pool.probes[0].entered.notified().await;
    call.abort();
    pool.probes[0].cancelled.notified().await;
}

/// Also those that are not polled any more.
async fn a_dropped_set_cancels_its_open_calls<T: Transport + Clone>(transport: T, pool: &'static str) {
    for tool in ["forecast", "book"] {
        let pool = Pool::start(&transport, pool, 1).await;
        let arguments = if tool == "book" { json!({}) } else { json!({ "query": { "city": "Paris" } }) };
        let call = ToolCall::new(format!("{}__{tool}", pool.name), arguments);
        let mut stream = pool.executor.stream(vec![call]);
        {
            let mut entered = std::pin::pin!(pool.entered());
            let mut reading = std::pin::pin!(async { while stream.next().await.is_some() {} });
            tokio::select! { _ = &mut entered => {}, () = &mut reading => panic!("the call has ended") }
        }
        assert!(pool.toolbox.remove_toolset(pool.name));
        let cancelled = pool.probes[0].cancelled.notified();
        tokio::time::timeout(Duration::from_secs(10), cancelled).await.unwrap();
        let result = super::reports::Shown::default().read_to_end(&mut stream).await;
        assert!(result.text().contains("the connection to the workers is closed"), "{}", result.text());
    }
}

/// More than a worker sends before its caller has read some.
async fn updates_arrive_in_order<T: Transport + Clone>(transport: T, pool: &'static str) {
    let pool = Pool::start(&transport, pool, 1).await;
    let mut shown = super::reports::Shown::default();
    let mut stream = super::reports::count(&pool.executor, pool.name, 400);
    let result = shown.read_to_end(&mut stream).await;
    assert_eq!(result.text(), "400 in all");
    assert_eq!(shown.updates, (1..=400).map(|number| number.to_string()).collect::<Vec<_>>());
}

/// A call starts on at most three workers.
async fn reads_end_after_three_workers<T: Transport + Clone>(transport: T, pool: &'static str) {
    let mut pool = Pool::start(&transport, pool, 5).await;
    let call = pool.call("forecast", json!({ "query": { "city": "Paris" } }));
    for _ in 0..3 {
        let worker = pool.entered().await;
        pool.end_worker(worker).await;
    }
    let result = call.await.unwrap();
    assert_eq!(result.text(), "the call was interrupted: 3 workers ended during it");
    assert_eq!(pool.bodies().iter().sum::<usize>(), 3);
}

/// A caller hears that all slots are in use, after a wait.
async fn a_full_pool_is_busy<T: Transport + Clone>(transport: T, pool: &'static str) {
    let pool = Pool::start(&transport, pool, 1).await;
    let mut running = Vec::new();
    for _ in 0..16 {
        running.push(pool.call("forecast", json!({ "query": { "city": "Paris" } })));
        pool.probes[0].entered.notified().await;
    }
    let result = pool.call("add", json!({ "a": 1, "b": 2 })).await.unwrap();
    assert!(result.text().contains("are busy"), "{}", result.text());
    pool.probes[0].released.cancel();
    for call in running {
        assert!(!call.await.unwrap().is_error());
    }
    assert_eq!(pool.call("add", json!({ "a": 1, "b": 2 })).await.unwrap().text(), "3");
}

async fn a_pool_without_workers_is_unavailable<T: Transport + Clone>(transport: T, pool: &'static str) {
    let mut pool = Pool::start(&transport, pool, 1).await;
    pool.end_worker(0).await;
    let result = pool.call("add", json!({ "a": 1, "b": 2 })).await.unwrap();
    assert!(result.text().contains("start one, or list the tools again"), "{}", result.text());
}

async fn each_receiver_and_one_of_each_group_receive_a_message<T: Transport>(
    transport: T,
    name: &'static str,
) {
    let (subject, pattern) = (format!("tests.{name}.calls.1"), format!("tests.{name}.calls.>"));
    let mut alone = transport.listen(&subject, None).await.unwrap();
    let mut wide = transport.listen(&pattern, None).await.unwrap();
    let mut first = transport.listen(&subject, Some("group")).await.unwrap();
    let mut second = transport.listen(&subject, Some("group")).await.unwrap();
    let mut other = transport.listen(&pattern, Some("others")).await.unwrap();
    let body = |delivery: tool_fleet::Delivery| match delivery.payload {
        Payload::Body(body) => body,
        Payload::NoReceiver => panic!("a message had no receiver"),
    };
    for number in 0..10_u8 {
        transport.send(&subject, None, vec![0, number, 255].into()).await.unwrap();
        for receiver in [&mut alone, &mut wide, &mut other] {
            assert_eq!(*body(receiver.next().await.unwrap()), [0, number, 255]);
        }
        let one = tokio::select! { it = first.next() => it, it = second.next() => it };
        assert_eq!(*body(one.unwrap()), [0, number, 255]);
    }
    // Neither another subject nor the pattern's own beginning.
    let reply = format!("tests.{name}.reply");
    let mut replies = transport.listen(&reply, None).await.unwrap();
    for other in [format!("tests.{name}.calls"), format!("tests.{name}.callsx.1")] {
        transport.send(&other, Some(&reply), vec![1].into()).await.unwrap();
        assert!(matches!(replies.next().await.unwrap().payload, Payload::NoReceiver), "{other}");
    }
}

async fn a_message_without_receivers_is_reported_to_its_reply_subject<T: Transport>(
    transport: T,
    name: &'static str,
) {
    let (subject, reply) = (format!("tests.{name}.empty"), format!("tests.{name}.reply"));
    let mut replies = transport.listen(&reply, None).await.unwrap();
    transport.send(&subject, None, vec![1].into()).await.unwrap();
    transport.send(&subject, Some(&reply), vec![2].into()).await.unwrap();
    let delivery = replies.next().await.unwrap();
    assert_eq!(delivery.subject, reply);
    assert!(matches!(delivery.payload, Payload::NoReceiver), "{delivery:?}");
    // A receiver that left is none.
    drop(transport.listen(&subject, Some("group")).await.unwrap());
    transport.send(&subject, Some(&reply), vec![3].into()).await.unwrap();
    assert!(matches!(replies.next().await.unwrap().payload, Payload::NoReceiver));
    let mut receiver = transport.listen(&subject, Some("group")).await.unwrap();
    transport.send(&subject, Some(&reply), vec![4].into()).await.unwrap();
    let delivery = receiver.next().await.unwrap();
    assert_eq!((delivery.subject, delivery.reply), (subject, Some(reply)));
}
