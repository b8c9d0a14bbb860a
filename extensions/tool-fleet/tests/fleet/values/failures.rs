//! Stores that fail, hang and lie; sides without a store; and processes with the key that name values of others.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use tokio::time::Instant;
use tool_fleet::{Deliveries, FleetError, MemoryTransport, Transport};
use tool_runtime::{
    BoxFuture, Executor, ToolCall, ToolResult,
    policy::{Approval, ApprovalRequest},
    prelude::*,
};

use super::{Deed, Operation, TestValues, start, start_with};
use crate::{
    Pool,
    broker::{Forger, Sent, TestBroker},
};

fn broker() -> TestBroker {
    TestBroker::new().with_max_bytes(20_000)
}

async fn keep(pool: &Pool) -> ToolResult {
    pool.call("keep", json!({ "text": "a".repeat(30_000) })).await.unwrap()
}

/// Calls a tool with effects through a store whose operation `kind` of this number does `deed`, and then once more.
async fn outcome_with(kind: Operation, number: usize, deed: Deed) -> (String, Pool, TestBroker, TestValues) {
    let (broker, store) = (broker(), TestValues::with_deed(kind, number, deed));
    let pool = start_with(&broker, "trip", 1, &store).await;
    pool.probes[0].released.cancel();
    let text = keep(&pool).await.text().into_owned();
    let next = keep(&pool).await;
    assert_eq!(next.text().len(), 30_000, "an error is one of its call alone: {:.300}", next.text());
    (text, pool, broker, store)
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_stored_is_not_sent() {
    for (deed, problem) in [
        (Deed::Fail, "the store of large values failed: the disk is full"),
        (Deed::Panic, "the disk is broken"),
        (Deed::Hang, "it did not store a value within 60s"),
    ] {
        let (text, pool, broker, store) = outcome_with(Operation::Put, 0, deed).await;
        assert!(text.contains(problem), "{text}");
        assert_eq!((broker.seen(Sent::is_call).len(), pool.bodies()[0]), (1, 1), "{problem}");
        store.wait_until_empty(2).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_read_does_not_run() {
    for (deed, problem) in [
        (Deed::Fail, "the disk is full; the tool did not run"),
        (Deed::Panic, "the disk is broken"),
        (Deed::Hang, "it did not read a value within 60s"),
        (Deed::Return(None), "it is missing; both sides need the same store"),
    ] {
        let (text, pool, _, store) = outcome_with(Operation::Get, 0, deed).await;
        assert!(text.contains(problem), "{text}");
        assert_eq!(pool.bodies(), [1], "{problem}");
        store.wait_until_empty(3).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_cannot_be_stored_or_read_is_an_error_that_says_so() {
    for (kind, deed, problem) in [
        (Operation::Put, Deed::Fail, "the disk is full"),
        (Operation::Put, Deed::Panic, "the disk is broken"),
        (Operation::Put, Deed::Hang, "it did not store a value within 60s"),
        (Operation::Get, Deed::Fail, "the disk is full"),
        (Operation::Get, Deed::Hang, "it did not read a value within 60s"),
        (Operation::Get, Deed::Return(None), "it is missing; both sides need the same store"),
    ] {
        let (text, pool, _, store) = outcome_with(kind, 1, deed).await;
        assert!(text.contains("the call ended, and its result is lost"), "{text}");
        assert!(text.contains(problem), "{text}");
        assert_eq!(pool.bodies(), [2], "{problem}");
        store.wait_until_empty(3).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_value_that_cannot_be_deleted_changes_no_outcome() {
    for deed in [Deed::Fail, Deed::Panic, Deed::Hang] {
        let (text, ..) = outcome_with(Operation::Delete, 0, deed).await;
        assert_eq!(text.len(), 30_000, "{text:.300}");
    }
}

/// A worker that can neither store a result nor delete what it stored says so at once, and does not look lost meanwhile.
#[tokio::test(start_paused = true)]
async fn a_store_that_fails_to_delete_what_it_did_not_store_delays_no_outcome() {
    let store = TestValues::choosing(|kind, number, _| match (kind, number) {
        (Operation::Put, 1) => Deed::Fail,
        (Operation::Delete, _) => Deed::Hang,
        _ => Deed::Work,
    });
    let pool = start_with(&broker(), "trip", 1, &store).await;
    pool.probes[0].released.cancel();
    let begin = tokio::time::Instant::now();
    let result = pool.call("reverse", json!({ "text": "a".repeat(30_000) })).await.unwrap();
    assert!(result.text().contains("its result is lost"), "{:.300}", result.text());
    assert_eq!(pool.bodies(), [1]);
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}

/// Bytes that are cut, longer, altered, and those of the call before.
#[tokio::test(start_paused = true)]
async fn a_store_that_returns_other_bytes_costs_the_call_alone() {
    type Change = fn(Bytes, &[Bytes]) -> Bytes;
    let changes: [(&str, Change); 4] = [
        ("in place of", |value, _| value.slice(..value.len() - 1)),
        ("in place of", |value, _| [&value[..], b"x"].concat().into()),
        ("it was changed", |value, _| {
            let mut value = value.to_vec();
            value[100] ^= 1;
            value.into()
        }),
        ("it was changed", |_, earlier| earlier[0].clone()),
    ];
    for (problem, change) in changes {
        let earlier = Mutex::new(Vec::new());
        let store = TestValues::choosing(move |kind, number, value| match (kind, value) {
            (Operation::Get, Some(value)) if number < 2 => {
                earlier.lock().unwrap().push(value);
                Deed::Work
            }
            // The request of the second call, and the result of the third one.
            (Operation::Get, Some(value)) if [2, 4].contains(&number) => {
                let earlier = earlier.lock().unwrap();
                Deed::Return(Some(change(value, &earlier[number / 2 - 1..])))
            }
            _ => Deed::Work,
        });
        let pool = start_with(&broker(), "trip", 1, &store).await;
        pool.probes[0].released.cancel();
        assert_eq!(keep(&pool).await.text().len(), 30_000);
        let text = keep(&pool).await.text().into_owned();
        assert!(text.contains(problem) && text.contains("the tool did not run"), "{text:.300}");
        let text = keep(&pool).await.text().into_owned();
        assert!(text.contains(problem) && text.contains("its result is lost"), "{text:.300}");
        assert_eq!(keep(&pool).await.text().len(), 30_000);
        assert_eq!(pool.bodies(), [3]);
        store.wait_until_empty(7).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_side_without_a_store_is_an_error_that_names_the_way_out() {
    let store = TestValues::new();
    let broker = broker();
    let pool = start(&broker, "trip", 1, (None, Some(store.clone()))).await;
    let text = keep(&pool).await.text().into_owned();
    assert!(text.contains("this worker has none; set `Worker::value_store`"), "{text}");
    assert_eq!(pool.bodies(), [0]);
    store.wait_until_empty(1).await;

    let pool = start(&broker, "other", 1, (Some(store.clone()), None)).await;
    let text = keep(&pool).await.text().into_owned();
    assert!(text.contains("takes at most 20000; nothing was sent: send less, or give"), "{text}");
    let echoed = pool.call("echo", json!({ "text": "x", "times": 30_000 })).await.unwrap();
    let text = echoed.text();
    assert!(text.contains("its result is lost: the message has 30"), "{text}");
    assert!(text.contains("takes at most 20000"), "{text}");
    assert_eq!(store.stored().len(), 1);
}

/// Without a store, a report that is too large is replaced by a line of the log, and the others arrive.
#[tokio::test(start_paused = true)]
async fn an_update_that_is_too_large_is_named_in_the_log_of_the_call() {
    let pool = start::<_, TestValues>(&broker(), "trip", 1, (None, None)).await;
    let approve = |_: &tool_runtime::policy::ApprovalRequest| tool_runtime::policy::Approval::Approved;
    let executor =
        tool_runtime::Executor::builder(pool.executor.tools().clone()).approver(approve).build().unwrap();
    let mut shown = crate::reports::Shown::default();
    let call = ToolCall::new("trip__show", json!({ "bytes": 30_000 }));
    let result = shown.read_to_end(&mut executor.stream(vec![call])).await;
    assert_eq!(result.text(), "confirmed: true");
    assert_eq!(shown.updates[shown.updates.len() - 2..], ["first", "last"]);
    let is_named = |line: &String| {
        line.starts_with("a report of the worker is left out: the message has 30")
            && line.contains("takes at most 20000")
    };
    assert!(shown.log.len() >= 2 && shown.log.iter().all(is_named), "{:.1000?}", shown.log);
}

/// A process with the key names what no worker stores: the caller reads and deletes nothing by such a name.
#[tokio::test(start_paused = true)]
async fn a_reference_to_what_no_worker_stores_reads_and_deletes_nothing() {
    let hash = "00".repeat(32);
    for (name, bytes, problem) in [
        ("../bodies/a".to_owned(), 10, "names none of this pool"),
        (format!("mail.{}", "a".repeat(26)), 10, "names none of this pool"),
        (format!("trip.{}", "a".repeat(26)), (64 << 20) + 1, "takes at most 67108864"),
    ] {
        let (broker, store) = (broker(), TestValues::new());
        let pool = start_with(&broker, "trip", 1, &store).await;
        let call = pool.call("reverse", json!({ "text": "ab" }));
        pool.entered().await;
        // The worker has shown that it has the call.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let report = broker.seen(Sent::is_report).remove(0);
        let mut forger = Forger::new(&broker.inner, "trip");
        let read = forger.read(&report);
        forger.sender = read["sender"].as_str().unwrap().to_owned();
        let value = json!({ "report": { "name": name, "bytes": bytes, "hash": hash }, "ends": true });
        let body = json!({
            "call": read["message"]["report"]["call"], "sequence": 1000, "contents": 1, "tokens": 0,
            "report": { "stored": value },
        });
        forger.send(&report.subject, None, "report", body).await;
        let text = call.await.unwrap().text().into_owned();
        assert!(text.contains("its result is lost") && text.contains(problem), "{text}");
        assert_eq!((store.count(Operation::Get), store.count(Operation::Delete)), (0, 0), "{name}");
    }
}

/// The four values of a call whose arguments are prepared: request and answer of the preparation, request and result of the call.
#[tokio::test(start_paused = true)]
async fn a_preparation_that_cannot_be_stored_or_read_is_an_error_that_says_so() {
    for (kind, number, problem) in [
        (Operation::Put, 0, "the worker was not asked"),
        (Operation::Get, 0, "the worker did not read the request"),
        (Operation::Put, 1, "an answer of the worker was not sent"),
        (Operation::Get, 1, "did not run: the store of large values failed"),
    ] {
        let (broker, store) = (broker(), TestValues::with_deed(kind, number, Deed::Fail));
        let pool = start_with(&broker, "trip", 1, &store).await;
        let call = || pool.call("prepared", json!({ "text": "a".repeat(30_000) }));
        let text = call().await.unwrap().text().into_owned();
        assert!(text.contains(problem) && text.contains("the disk is full"), "{text}");
        assert_eq!(broker.seen(Sent::is_call).len(), 0, "{problem}");
        assert_eq!(call().await.unwrap().text().len(), 30_001, "{problem}");
        store.wait_until_empty(4).await;
    }
}

/// The broker's notice that there is no receiver is not sealed: any client has it sent to the worker.
#[tokio::test(start_paused = true)]
async fn a_forged_notice_that_the_caller_is_gone_costs_no_large_result() {
    let (broker, store) = (broker(), TestValues::new());
    let pool = start_with(&broker, "trip", 1, &store).await;
    let call = pool.call("keep", json!({ "text": "a".repeat(30_000) }));
    pool.entered().await;
    let control = broker.seen(Sent::is_report).remove(0).reply.unwrap();
    broker.inner.send("without.receivers", Some(&control), "".into()).await.unwrap();
    // The worker has read the notice.
    tokio::time::sleep(Duration::from_millis(50)).await;
    pool.probes[0].released.cancel();
    assert_eq!(call.await.unwrap().text().len(), 30_000);
    store.wait_until_empty(2).await;
}

/// A client of the broker without the key repeats a report that names a value.
#[tokio::test(start_paused = true)]
async fn a_repeated_report_about_a_value_changes_no_other_call() {
    let (broker, store) = (broker(), TestValues::new());
    let pool = start_with(&broker, "trip", 1, &store).await;
    pool.probes[0].released.cancel();
    assert_eq!(keep(&pool).await.text().len(), 30_000);
    for report in broker.seen(Sent::is_report) {
        report.deliver(&broker.inner).await;
    }
    assert_eq!(keep(&pool).await.text().len(), 30_000);
    store.wait_until_empty(4).await;
}

/// Returns what a report of a worker says.
fn report_of(broker: &MemoryTransport, sent: &Sent) -> Value {
    match sent.is_report() {
        true => Forger::new(broker, "trip").read(sent)["message"]["report"]["report"].take(),
        false => Value::Null,
    }
}

/// A transport that does not send the first end of a call that names a value.
#[derive(Clone)]
struct FailingTransport {
    broker: TestBroker,
    has_failed: Arc<AtomicBool>,
}

impl Transport for FailingTransport {
    fn send<'a>(
        &'a self,
        subject: &'a str,
        reply: Option<&'a str>,
        body: Bytes,
    ) -> BoxFuture<'a, Result<(), FleetError>> {
        let sent = Sent { subject: subject.to_owned(), reply: reply.map(str::to_owned), body: body.clone() };
        let is_end = report_of(&self.broker.inner, &sent)["stored"]["ends"] == json!(true);
        if is_end && !self.has_failed.swap(true, Ordering::SeqCst) {
            return Box::pin(async { Err(FleetError::Transport("the broker is away".to_owned())) });
        }
        self.broker.send(subject, reply, body)
    }

    fn listen<'a>(
        &'a self,
        pattern: &'a str,
        group: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Deliveries, FleetError>> {
        self.broker.listen(pattern, group)
    }

    fn max_bytes(&self) -> usize {
        self.broker.max_bytes()
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_end_that_was_not_sent_is_sent_again_and_its_value_is_there() {
    let (transport, store) =
        (FailingTransport { broker: broker(), has_failed: Arc::default() }, TestValues::new());
    let pool = start_with(&transport, "trip", 1, &store).await;
    pool.probes[0].released.cancel();
    let result = keep(&pool).await;
    assert_eq!(result.text().len(), 30_000, "{:.300}", result.text());
    assert_eq!((pool.bodies(), transport.has_failed.load(Ordering::SeqCst)), (vec![1], true));
    store.wait_until_empty(2).await;
}

/// It is no longer waited for when it arrives, while its call goes on.
#[tokio::test(start_paused = true)]
async fn a_stored_report_that_arrives_too_late_leaves_nothing() {
    let (begin, has_delayed) = (Instant::now(), Arc::new(AtomicBool::new(false)));
    let broker = TestBroker::tampering(move |inner, sent: Sent| {
        let report = report_of(&inner, &sent);
        let is_late = report["stored"]["ends"] == json!(false) && !has_delayed.swap(true, Ordering::SeqCst);
        // The call goes on until then.
        let is_lost = !report["question"].is_null() && begin.elapsed() < Duration::from_secs(1);
        async move {
            if is_late {
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(700)).await;
                    sent.deliver(&inner).await;
                });
            } else if !is_lost {
                sent.deliver(&inner).await;
            }
        }
    });
    let store = TestValues::new();
    let pool = start_with(&broker.with_max_bytes(20_000), "trip", 1, &store).await;
    let approve = |_: &ApprovalRequest| Approval::Approved;
    let executor = Executor::builder(pool.executor.tools().clone()).approver(approve).build().unwrap();
    let call = ToolCall::new("trip__show", json!({ "bytes": 30_000 }));
    let outcomes = executor.run(vec![call]).await;
    assert_eq!(outcomes[0].result().unwrap().text(), "confirmed: true");
    store.wait_until_empty(4).await;
}
