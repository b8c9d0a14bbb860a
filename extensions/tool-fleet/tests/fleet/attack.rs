//! Clients of the broker without the key of the pool, which repeat messages or send garbage; forged notices of the broker; and processes with the
//! key that send what no worker or caller sends.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt as _;
use test_support::collectors::EventLog;
use tool_fleet::{FleetToolSet, MemoryTransport, Transport, Worker};
use tool_runtime::{CancellationToken, Executor, RunContext, ToolCall, ToolSet, prelude::*};

use super::{
    Pool, Probe,
    broker::{Forger, Sent, TestBroker},
    connect, program_key, registry,
};

/// A repeated call arrives at its own worker, which has no free slot while it runs.
#[tokio::test(start_paused = true)]
async fn a_call_with_effects_that_is_repeated_at_its_full_worker_runs_once() {
    let broker = TestBroker::new();
    let probe = Arc::new(Probe::default());
    let worker = Worker::new(Executor::new(registry(&probe)), program_key().pool_key("trip"))
        .slots(1)
        .heartbeat(Duration::from_millis(100));
    let worker = tokio::spawn(worker.serve(broker.clone(), CancellationToken::new()));
    let (executor, _toolbox) = connect(&broker, "trip").await;
    let calling =
        tokio::spawn(async move { executor.run(vec![ToolCall::new("trip__book", json!({}))]).await });
    probe.entered.notified().await;
    for call in broker.seen(Sent::is_call) {
        call.deliver(&broker.inner).await;
    }
    // Shorter than the wait for a free slot; the clock is paused, so that all messages are read first.
    tokio::time::sleep(Duration::from_millis(50)).await;
    probe.released.cancel();
    let outcomes = calling.await.unwrap();
    assert_eq!(outcomes[0].result().unwrap().text(), "1");
    assert_eq!(probe.bodies(), 1);
    worker.abort();
}

/// The broker's notice that there is no receiver is not sealed: any client has it sent to any subject.
#[tokio::test(start_paused = true)]
async fn a_forged_notice_that_there_is_no_receiver_ends_one_call_and_removes_no_tools() {
    let is_forging = Arc::new(AtomicBool::new(false));
    let forging = Arc::clone(&is_forging);
    let broker = TestBroker::tampering(move |inner, sent: Sent| {
        let forging = Arc::clone(&forging);
        async move {
            if (sent.is_call() || sent.subject.contains(".definitions.")) && forging.load(Ordering::Relaxed) {
                inner.send("without.receivers", sent.reply.as_deref(), "".into()).await.unwrap();
            }
            sent.deliver(&inner).await;
        }
    });
    let pool = Pool::start(&broker, "trip", 1).await;
    let mut events = pool.toolbox.subscribe();
    let other = FleetToolSet::connect(broker.clone(), program_key().pool_key("trip")).await.unwrap();
    is_forging.store(true, Ordering::Relaxed);
    let result = pool.call("add", json!({ "a": 1, "b": 2 })).await.unwrap();
    assert!(result.text().contains("start one, or list the tools again"), "{}", result.text());
    let run = RunContext::new();
    assert!(other.tools(run.read_only()).await.is_err());
    is_forging.store(false, Ordering::Relaxed);
    // Before the next announcement.
    let result = pool.call("add", json!({ "a": 1, "b": 2 })).await.unwrap();
    assert_eq!(result.text(), "3");
    assert_eq!(other.tools(run.read_only()).await.unwrap().len(), 6);
    assert!(events.try_next().is_none());
}

/// Any client sends any number of messages.
#[test]
fn a_thousand_messages_of_others_are_two_warnings_with_their_number() {
    let warnings = EventLog::events_of(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let transport = MemoryTransport::new();
            let key = program_key().pool_key("trip");
            let _set = FleetToolSet::connect(transport.clone(), key).await.unwrap();
            for _ in 0..1000 {
                transport.send("tools.trip.announcements", None, "garbage".into()).await.unwrap();
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        });
    });
    let [first, last] = &warnings[..] else { panic!("{warnings:#?}") };
    assert!(first.contains("messages: 1, ") && first.contains("announcements"), "{first}");
    assert!(last.contains("messages: 999}"), "{last}");
}

/// Each message arrives cut, with an altered byte, and whole.
#[tokio::test(start_paused = true)]
async fn messages_that_are_cut_or_altered_are_ignored() {
    let broker = TestBroker::tampering(|inner, sent: Sent| async move {
        let mut altered = sent.body.to_vec();
        let middle = altered.len() / 2;
        altered[middle] ^= 1;
        let cut = sent.body.slice(..middle);
        for body in [cut, altered.into(), "".into(), sent.body.clone()] {
            Sent { body, ..sent.clone() }.deliver(&inner).await;
        }
    });
    let pool = Pool::start(&broker, "trip", 2).await;
    for number in 0..20 {
        let result = pool.call("add", json!({ "a": number, "b": 1 })).await.unwrap();
        assert_eq!(result.text(), (number + 1).to_string());
    }
    let call = pool.call("book", json!({}));
    let worker = pool.entered().await;
    pool.probes[worker].released.cancel();
    assert_eq!(call.await.unwrap().text(), "1");
    assert_eq!(pool.bodies().iter().sum::<usize>(), 1);
}

#[tokio::test(start_paused = true)]
async fn messages_that_are_old_or_valid_for_long_or_of_no_process_are_ignored() {
    let transport = MemoryTransport::new();
    let pool = Pool::start(&transport, "trip", 1).await;
    let set = FleetToolSet::connect(transport.clone(), program_key().pool_key("trip")).await.unwrap();
    let forger = Forger::new(&transport, "trip");
    Forger { expires_in: -1, ..forger }.announce(&"0".repeat(64)).await;
    let forger = Forger::new(&transport, "trip");
    Forger { expires_in: 600_000, ..forger }.announce(&"0".repeat(64)).await;
    for sender in ["", ">", "a.b", "*", &"x".repeat(65)] {
        let forger = Forger::new(&transport, "trip");
        Forger { sender: sender.to_owned(), ..forger }.announce(&"0".repeat(64)).await;
    }
    let run = RunContext::new();
    assert_eq!(set.tools(run.read_only()).await.unwrap().len(), 6);
    assert_eq!(set.diagnostics(), []);
    drop(pool);
}

/// A call belongs to its caller: another process of the pool neither starts nor cancels it.
#[tokio::test(start_paused = true)]
async fn a_control_by_another_process_than_the_caller_has_no_effect() {
    let broker = TestBroker::new();
    let pool = Pool::start(&broker, "trip", 1).await;
    let call = pool.call("forecast", json!({ "query": { "city": "Paris" } }));
    pool.entered().await;
    // The first sign of life of the call.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let forger = Forger::new(&broker.inner, "trip");
    let report = broker.seen(Sent::is_report).remove(0);
    let call_name = forger.read(&report)["message"]["report"]["call"].clone();
    let subject = report.reply.unwrap();
    forger.send(&subject, None, "control", json!({ "call": call_name, "control": "cancel" })).await;
    // The worker has read the message.
    tokio::time::sleep(Duration::from_millis(50)).await;
    pool.probes[0].released.cancel();
    assert_eq!(call.await.unwrap().text(), "Paris 0 by body 1");
    let cancelled = pool.probes[0].cancelled.notified();
    assert!(futures_util::FutureExt::now_or_never(cancelled).is_none());
}

#[tokio::test(start_paused = true)]
async fn what_is_larger_than_the_broker_takes_is_an_error_with_the_limit() {
    let broker = TestBroker::new().with_max_bytes(20_000);
    let pool = Pool::start(&broker, "trip", 1).await;
    let result = pool.call("echo", json!({ "text": "x".repeat(20_000), "times": 1 })).await.unwrap();
    assert!(result.text().contains("takes at most 20000; nothing was sent"), "{}", result.text());
    assert_eq!(broker.seen(Sent::is_call).len(), 0);
    let result = pool.call("echo", json!({ "text": "x", "times": 20_000 })).await.unwrap();
    let text = result.text();
    assert!(text.contains("the call ended, and its result is lost"), "{text}");
    assert!(text.contains("takes at most 20000"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_answer_would_leave_the_pool_is_not_answered() {
    let transport = MemoryTransport::new();
    let _pool = Pool::start(&transport, "trip", 1).await;
    let forger = Forger::new(&transport, "trip");
    let mut answers = transport.listen("elsewhere.answers", None).await.unwrap();
    let mut own = transport.listen("tools.trip.process.forger.answers", None).await.unwrap();
    for reply in ["elsewhere.answers", "tools.trip.process.forger.answers"] {
        forger.send("tools.trip.discover", Some(reply), "discover", json!(null)).await;
    }
    assert!(own.next().await.is_some());
    assert!(tokio::time::timeout(Duration::from_secs(1), answers.next()).await.is_err());
}

/// Returns a control that the caller sent, such as `start`.
fn control_of(forger: &Forger, sent: &Sent) -> Value {
    match sent.subject.contains(".process.") && sent.reply.is_none() {
        true => forger.read(sent)["message"]["control"]["control"].clone(),
        false => Value::Null,
    }
}

/// A broker gives one message to all workers, as after a repetition.
#[tokio::test(start_paused = true)]
async fn a_call_with_effects_that_several_workers_receive_starts_at_one() {
    let broker = TestBroker::tampering(|inner, sent: Sent| async move {
        for _ in 0..if sent.is_call() { 30 } else { 1 } {
            sent.deliver(&inner).await;
        }
    });
    let pool = Pool::start(&broker, "trip", 2).await;
    let call = pool.call("book", json!({}));
    let worker = pool.entered().await;
    // Both have asked for the start.
    tokio::time::sleep(Duration::from_millis(400)).await;
    let forger = Forger::new(&broker.inner, "trip");
    let senders: BTreeSet<_> =
        broker.seen(Sent::is_report).iter().map(|sent| forger.read(sent)["sender"].to_string()).collect();
    assert_eq!(senders.len(), 2);
    let started: BTreeSet<_> = broker
        .seen(|sent| control_of(&forger, sent) == "start")
        .into_iter()
        .map(|sent| sent.subject)
        .collect();
    assert_eq!(started.len(), 1);
    pool.probes[worker].released.cancel();
    assert_eq!(call.await.unwrap().text(), "1");
    assert_eq!(pool.bodies().iter().sum::<usize>(), 1);
}

/// The reports of the first worker, which is regarded as lost, arrive before any word of the second one.
#[tokio::test(start_paused = true)]
async fn a_result_of_an_earlier_epoch_is_not_read() {
    let late = Arc::new(Mutex::new(Vec::new()));
    let broker = TestBroker::tampering(move |inner, sent: Sent| {
        let late = Arc::clone(&late);
        async move {
            let message = &Forger::new(&inner, "trip").read(&sent)["message"];
            if sent.is_report() && message["report"]["call"][1] == 1 {
                late.lock().unwrap().push(sent);
                return;
            }
            if sent.is_call() && message["call"]["call"][1] == 2 {
                let reports = std::mem::take(&mut *late.lock().unwrap());
                for report in reports {
                    report.deliver(&inner).await;
                }
            }
            sent.deliver(&inner).await;
        }
    });
    let pool = Pool::start(&broker, "trip", 1).await;
    let call = pool.call("forecast", json!({ "query": { "city": "Paris" } }));
    pool.entered().await;
    pool.probes[0].released.cancel();
    assert_eq!(call.await.unwrap().text(), "Paris 0 by body 2");
}

/// The start is asked for once the caller has been cancelled.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_before_its_start_is_not_started() {
    let token = CancellationToken::new();
    let cancelled = token.clone();
    let broker = TestBroker::tampering(move |inner, sent: Sent| {
        if sent.is_report() {
            cancelled.cancel();
        }
        async move { sent.deliver(&inner).await }
    });
    let pool = Pool::start(&broker, "trip", 1).await;
    let run = RunContext::new().with_cancellation(token);
    let call = ToolCall::new("trip__book", json!({}));
    let outcomes = pool.executor.batch(vec![call]).with_run(run).run().await;
    assert!(outcomes[0].result().unwrap().is_error());
    // The worker asks as often as it does.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let forger = Forger::new(&broker.inner, "trip");
    assert_eq!(broker.seen(|sent| control_of(&forger, sent) == "start").len(), 0);
    assert_eq!(pool.bodies(), [0]);
}

/// An operator learns the state of a worker on a subject of the pool alone, and drains it by such a one.
#[tokio::test(start_paused = true)]
async fn an_operator_whose_answer_would_leave_the_pool_is_not_heard() {
    let broker = TestBroker::new();
    let pool = Pool::start(&broker, "trip", 1).await;
    assert_eq!(pool.call("add", json!({ "a": 1, "b": 2 })).await.unwrap().text(), "3");
    let forger = Forger::new(&broker.inner, "trip");
    let report = broker.seen(Sent::is_report).remove(0);
    let worker = forger.read(&report)["sender"].as_str().unwrap().to_owned();
    let subject = format!("tools.trip.process.{worker}.operator");
    let mut elsewhere = broker.inner.listen("elsewhere.answers", None).await.unwrap();
    let mut own = broker.inner.listen("tools.trip.process.forger.answers", None).await.unwrap();
    for kind in ["readStatus", "drain"] {
        forger.send(&subject, Some("elsewhere.answers"), kind, json!(null)).await;
        forger.send(&subject, None, kind, json!(null)).await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(futures_util::FutureExt::now_or_never(elsewhere.next()).is_none());
    forger.send(&subject, Some("tools.trip.process.forger.answers"), "readStatus", json!(null)).await;
    let answer = own.next().await.unwrap();
    let tool_fleet::Payload::Body(body) = answer.payload else { panic!("the worker has left") };
    let status = forger.read(&Sent { subject: answer.subject, reply: answer.reply, body });
    let status = &status["message"]["status"];
    // It takes calls.
    assert_eq!(
        (&status["tools"], &status["slots"], &status["drain_left"]),
        (&json!(6), &json!(16), &json!(null))
    );
    assert!(!pool.workers[0].is_finished());
}
