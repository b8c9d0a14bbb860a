//! Queues that fail in the middle of an operation.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_util::StreamExt;
use tool_fleet::{
    CallState, Delivery, DurableCalls, MemoryCallQueue, MemoryTransport, Payload, QueueLimits, Transport,
};
use tool_runtime::{CancellationToken, RunContext, prelude::*};

use super::{
    Broker, DurablePool, arguments_of, open_calls, other_process, program_key,
    queue::{EndAnswer, ReadPause, TestQueue},
};
use crate::values::TestValues;

/// A pool with such a queue, and its durable calls.
async fn failing_pool(name: &'static str) -> (DurablePool, TestQueue, DurableCalls) {
    let queue = TestQueue::new(Arc::new(MemoryCallQueue::new(name)));
    let mut pool = DurablePool::new(Broker::Memory(MemoryTransport::new()), name).await;
    pool.queue = Arc::new(queue.clone());
    let durable = DurableCalls::new(queue.clone(), program_key().pool_key(name)).unwrap();
    (pool, queue, durable.wait(Duration::from_millis(300)))
}

#[tokio::test(start_paused = true)]
async fn answers_before_a_failure_are_returned() {
    let (mut pool, queue, durable) = failing_pool("failing").await;
    let caller = pool.caller(durable.clone(), &open_calls()).await;
    for _ in 0..2 {
        assert!(!caller.call("book", json!({})).await.is_finished());
    }
    pool.start_worker().released.cancel();
    while pool.states().await != [CallState::Finished, CallState::Finished] {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    queue.reads_left.store(1, Ordering::SeqCst);
    queue.fails_to_remove.store(true, Ordering::SeqCst);
    assert_eq!(durable.answer_open_calls(&caller.executor).await.unwrap().len(), 1);
    queue.reads_left.store(usize::MAX, Ordering::SeqCst);
    queue.fails_to_remove.store(false, Ordering::SeqCst);
    assert_eq!(durable.answer_open_calls(&caller.executor).await.unwrap().len(), 1);
    assert!(caller.executor.open_calls().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_be_read_holds_up_no_other() {
    let (mut pool, queue, durable) = failing_pool("unreadable").await;
    let caller = pool.caller(durable.clone(), &open_calls()).await;
    for _ in 0..4 {
        assert!(!caller.call("book", json!({})).await.is_finished());
    }
    pool.start_worker().released.cancel();
    while pool.states().await != [CallState::Finished; 4] {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let id = pool.queue.list_calls(&CallState::ALL).await.unwrap().remove(0).id;
    *queue.unreadable.lock().unwrap() = Some(id);
    assert_eq!(durable.answer_open_calls(&caller.executor).await.unwrap().len(), 3);
    assert!(durable.answer_open_calls(&caller.executor).await.is_err());
    *queue.unreadable.lock().unwrap() = None;
    assert_eq!(durable.answer_open_calls(&caller.executor).await.unwrap().len(), 1);
}

/// The one that is late finds that the durable call is no more there, and the open call under the operation of its body.
#[tokio::test(start_paused = true)]
async fn of_two_processes_that_answer_an_interim_result_none_gives_a_false_end() {
    let (mut pool, queue, durable) = failing_pool("interim").await;
    let store = open_calls();
    let caller = pool.caller(durable.clone(), &store).await;
    let outcome = caller.call("order", json!({})).await;
    let address = outcome.address().unwrap();
    pool.start_worker();
    pool.reach(CallState::Finished).await;

    let pause = Arc::new(ReadPause::default());
    *queue.read_pause.lock().unwrap() = Some(Arc::clone(&pause));
    let other = async {
        pause.reached.notified().await;
        let answered = durable.answer_open_calls(&other_process(&store)).await.unwrap();
        pause.go_on.notify_one();
        answered
    };
    let (late, answered) = tokio::join!(durable.answer_open_calls(&caller.executor), other);
    assert_eq!((answered[0].result.text().as_ref(), answered[0].is_final), ("ordered", false));
    assert!(late.unwrap().is_empty());
    assert_eq!(caller.executor.open_operation(address).await.unwrap().as_deref(), Some("order-7"));
    assert_eq!(
        caller.executor.submit_result(address, Ok("delivered".into())).await.unwrap().text(),
        "delivered"
    );
}

/// The call is read as queued, and ends before it is cancelled.
#[tokio::test(start_paused = true)]
async fn the_result_of_an_effect_that_ends_while_its_call_is_withdrawn_is_kept() {
    let (mut pool, queue, durable) = failing_pool("withdrawn").await;
    let caller = pool.caller(durable.wait(Duration::from_secs(60)), &open_calls()).await;
    let pause = Arc::new(ReadPause { is_after: true, ..ReadPause::default() });
    let token = CancellationToken::new();
    {
        let run = RunContext::new().with_cancellation(token.clone());
        let mut calling = std::pin::pin!(caller.call_in(run, "book"));
        tokio::select! { biased; it = &mut calling => panic!("{it:?}"), () = pool.reach(CallState::Queued) => {} }
        *queue.read_pause.lock().unwrap() = Some(Arc::clone(&pause));
        token.cancel();
    }
    pause.reached.notified().await;
    pool.start_worker().released.cancel();
    pool.reach(CallState::Finished).await;
    pause.go_on.notify_one();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(pool.states().await, [CallState::Finished]);
}

/// Such as while its database is slow.
#[tokio::test(start_paused = true)]
async fn a_caller_is_cancelled_while_it_settles_a_queue_that_hangs() {
    let (mut pool, queue, durable) = failing_pool("hanging").await;
    let caller = pool.caller(durable.wait(Duration::from_secs(60)), &open_calls()).await;
    let token = CancellationToken::new();
    let run = RunContext::new().with_cancellation(token.clone());
    let cancelling = async {
        pool.reach(CallState::Queued).await;
        queue.hangs.cancel();
        tokio::time::sleep(Duration::from_secs(2)).await;
        token.cancel();
        tokio::time::Instant::now()
    };
    let (outcome, cancelled) = tokio::join!(caller.call_in(run, "book"), cancelling);
    assert!(outcome.result().unwrap().text().starts_with("Cancelled"), "{outcome:?}");
    assert!(cancelled.elapsed() < Duration::from_secs(1), "{:?}", cancelled.elapsed());
    assert!(pool.queue.list_calls(&CallState::ALL).await.unwrap().is_empty());
}

/// The answer of the database is lost: the caller does not say that nothing runs, and withdraws the call.
#[tokio::test(start_paused = true)]
async fn a_call_that_may_be_stored_is_withdrawn() {
    let (mut pool, queue, durable) = failing_pool("lost").await;
    let caller = pool.caller(durable, &open_calls()).await;
    queue.loses_answers.store(true, Ordering::SeqCst);
    let outcome = caller.call("book", json!({})).await;
    let text = outcome.result().unwrap().text().to_string();
    assert!(text.contains("it is not known whether the call was queued"), "{text}");
    while !pool.states().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let probe = pool.start_worker();
    probe.released.cancel();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(probe.bodies(), 0);
}

/// The run is cancelled, its batch dropped, and the set closed at once.
#[tokio::test(start_paused = true)]
async fn a_set_that_is_closed_withdraws_its_cancelled_calls() {
    let (mut pool, _, durable) = failing_pool("closed").await;
    let caller = pool.caller(durable.wait(Duration::from_secs(60)), &open_calls()).await;
    let token = CancellationToken::new();
    let calling = caller.call_in(RunContext::new().with_cancellation(token.clone()), "book");
    {
        let mut calling = std::pin::pin!(calling);
        tokio::select! { biased; it = &mut calling => panic!("{it:?}"), () = pool.reach(CallState::Queued) => {} }
        token.cancel();
    }
    drop(caller);
    while !pool.states().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_without_room_in_its_queue_is_replaced_by_an_error_that_names_the_limit() {
    let limits = QueueLimits { bytes: 20_000, ..QueueLimits::default() };
    let mut pool = DurablePool::with_limits(Broker::Memory(MemoryTransport::new()), "full", limits).await;
    pool.start_worker();
    let caller = pool.caller(pool.durable().wait(Duration::from_secs(120)), &open_calls()).await;
    let fitting = caller.call("echo", json!({ "text": "x", "times": 5000 })).await;
    assert_eq!(fitting.result().unwrap().text().len(), 5000);
    let outcome = caller.call("echo", json!({ "text": "x", "times": 50_000 })).await;
    let text = outcome.result().unwrap().text().to_string();
    assert!(text.contains("the call ended, and its result is lost"), "{text}");
    assert!(text.contains("the queue of the pool `full` is full: it has"), "{text}");
    assert_eq!(pool.states().await, []);
    // With a store of large values, it goes there.
    let mut pool = DurablePool::with_limits(Broker::Memory(MemoryTransport::new()), "full", limits).await;
    pool.values = Some(TestValues::new());
    pool.start_worker();
    let caller = pool.caller(pool.durable().wait(Duration::from_secs(120)), &open_calls()).await;
    let outcome = caller.call("echo", json!({ "text": "x", "times": 50_000 })).await;
    assert_eq!(outcome.result().unwrap().text().len(), 50_000);
}

#[tokio::test(start_paused = true)]
async fn the_message_of_an_end_is_faster_than_what_the_queue_knows() {
    let (mut pool, queue, durable) = failing_pool("late").await;
    queue.is_late.store(true, Ordering::SeqCst);
    pool.start_worker().released.cancel();
    let caller = pool.caller(durable.wait(Duration::from_secs(10)), &open_calls()).await;
    let outcome = caller.call("book", json!({})).await;
    assert!(outcome.is_finished(), "{outcome:?}");
}

/// Any client of the broker can repeat it, and can cause notices that there was no receiver.
#[tokio::test(start_paused = true)]
async fn messages_that_a_call_has_ended_do_not_make_its_caller_read_it_without_pause() {
    let (mut pool, queue, durable) = failing_pool("flood").await;
    let caller = pool.caller(durable.wait(Duration::from_secs(10)), &open_calls()).await;
    let transport = pool.broker.transport();
    let mut messages = transport.listen("tools.flood.process.>", None).await.unwrap();
    queue.reads_left.store(0, Ordering::SeqCst);
    pool.start_worker().released.cancel();
    let flooding = async {
        let ended = loop {
            let Delivery { subject, payload, .. } = messages.next().await.unwrap();
            let Payload::Body(body) = payload else { continue };
            if pool.states().await == [CallState::Finished] {
                break (subject, body);
            }
        };
        // More than there is room for.
        for _ in 0..1500 {
            transport.send(&ended.0, None, ended.1.clone()).await.unwrap();
            transport.send("tools.nowhere", Some(&ended.0), ended.1.clone()).await.unwrap();
        }
    };
    let (outcome, ()) = tokio::join!(caller.call("book", json!({})), flooding);
    // Its end cannot be read.
    assert!(!outcome.is_finished());
    // Twice a second, and for the messages.
    let reads = queue.reads.load(Ordering::SeqCst);
    assert!((20..=25).contains(&reads), "{reads}");
}

#[tokio::test(start_paused = true)]
async fn callers_that_wait_settle_their_queue_together() {
    let (mut pool, queue, durable) = failing_pool("together").await;
    let caller = pool.caller(durable.wait(Duration::from_secs(10)), &open_calls()).await;
    let settled = queue.settled.load(Ordering::SeqCst);
    let calls = futures_util::future::join_all((0..20).map(|_| caller.call("book", json!({})))).await;
    assert!(calls.iter().all(|call| !call.is_finished()));
    let settled = queue.settled.load(Ordering::SeqCst) - settled;
    // Twice a second, however many wait.
    assert!((10..=21).contains(&settled), "{settled}");
}

#[tokio::test(start_paused = true)]
async fn a_worker_whose_queue_hangs_is_stopped_in_time() {
    let (mut pool, queue, _) = failing_pool("hanging").await;
    let (_, stop) = pool.start_stoppable_worker(Duration::from_secs(30));
    while queue.settled.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    queue.hangs.cancel();
    let settled = queue.settled.load(Ordering::SeqCst);
    while queue.settled.load(Ordering::SeqCst) == settled {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stop.cancel();
    let stopped = tokio::time::timeout(Duration::from_secs(5), &mut pool.workers[0]).await;
    stopped.unwrap().unwrap().unwrap();
}

/// Its lease was over, for example.
#[tokio::test(start_paused = true)]
async fn a_large_result_that_the_queue_refuses_is_deleted() {
    let (mut pool, queue, durable) = failing_pool("refused").await;
    let store = TestValues::new();
    pool.values = Some(store.clone());
    pool.queue = Arc::new(queue.clone().with_max_bytes(20_000));
    let caller = pool.caller(durable.value_store(store.clone()), &open_calls()).await;
    *queue.end_answer.lock().unwrap() = Some(EndAnswer::Refused);
    pool.start_worker().released.cancel();
    assert!(!caller.call("echo", json!({ "text": "x", "times": 30_000 })).await.is_finished());
    store.wait_until_empty(1).await;
}

/// A call that is only read runs again, at this or another worker.
#[tokio::test(start_paused = true)]
async fn a_result_is_kept_for_a_minute_while_its_queue_is_away() {
    for (tool, seconds, result, bodies) in [
        ("book", 50, "1", 1),
        ("book", 70, "the call was interrupted: 1 worker ended during it; it may have taken effect", 1),
        ("forecast", 50, "Paris 2 by body 1", 1),
        ("forecast", 70, "Paris 2 by body 2", 2),
    ] {
        let (mut pool, queue, durable) = failing_pool("kept").await;
        let probe = pool.start_worker();
        let caller = pool.caller(durable.clone(), &open_calls()).await;
        assert!(!caller.call(tool, arguments_of(tool)).await.is_finished());
        probe.entered.notified().await;
        *queue.end_answer.lock().unwrap() = Some(EndAnswer::Away);
        probe.released.cancel();
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        *queue.end_answer.lock().unwrap() = None;
        let answered = durable.wait_for_answers(&caller.executor).await.unwrap();
        let text = answered[0].result.text();
        assert!(text.starts_with(result), "{tool} after {seconds} s: {text}");
        assert_eq!(probe.bodies(), bodies, "{tool} after {seconds} s");
    }
}

/// A call that was not executed has no end because the queue was away: its worker asks again.
#[tokio::test(start_paused = true)]
async fn a_start_whose_answer_is_lost_is_asked_for_again() {
    let (mut pool, queue, durable) = failing_pool("start").await;
    queue.lost_starts.store(3, Ordering::SeqCst);
    let probe = pool.start_worker();
    probe.released.cancel();
    let caller = pool.caller(durable.wait(Duration::from_secs(60)), &open_calls()).await;
    let outcome = caller.call("book", json!({})).await;
    assert_eq!((outcome.result().unwrap().text().as_ref(), probe.bodies()), ("1", 1));
}

/// Any client of the broker can repeat it.
#[tokio::test(start_paused = true)]
async fn messages_that_a_call_is_queued_do_not_make_a_worker_look_without_pause() {
    let (mut pool, queue, durable) = failing_pool("notices").await;
    let probe = pool.start_worker();
    probe.released.cancel();
    let caller = pool.caller(durable.wait(Duration::from_secs(10)), &open_calls()).await;
    let transport = pool.broker.transport();
    let mut notices = transport.listen("tools.notices.queue", None).await.unwrap();
    assert_eq!(caller.call("book", json!({})).await.result().unwrap().text(), "1");
    let Delivery { subject, payload: Payload::Body(body), .. } = notices.next().await.unwrap() else {
        unreachable!()
    };
    let takes = queue.takes.load(Ordering::SeqCst);
    for _ in 0..1000 {
        transport.send(&subject, None, body.clone()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let takes = queue.takes.load(Ordering::SeqCst) - takes;
    assert!((40..=70).contains(&takes), "{takes} in a second");
    // A call that is queued in the pause does not wait for the next look without a message.
    transport.send(&subject, None, body).await.unwrap();
    let begin = tokio::time::Instant::now();
    assert_eq!(caller.call("book", json!({})).await.result().unwrap().text(), "2");
    assert!(begin.elapsed() <= Duration::from_millis(50), "{:?}", begin.elapsed());
}

/// A call that is repeated after a crash of its caller, whose answer is lost: the one that was stored before is another one, and goes on.
#[tokio::test(start_paused = true)]
async fn an_earlier_call_under_the_id_of_one_that_may_be_stored_is_not_withdrawn() {
    let (mut pool, queue, durable) = failing_pool("earlier").await;
    let caller = pool.caller(durable.clone(), &open_calls()).await;
    let open = caller.call("train", json!({})).await;
    let address = open.address().unwrap().clone();
    queue.loses_answers.store(true, Ordering::SeqCst);
    let repeated = caller.executor.continue_calls([address]).await.unwrap().run().await;
    let text = repeated[0].result().unwrap().text().to_string();
    assert!(text.contains("it is not known whether the call was queued"), "{text}");
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(pool.states().await, [CallState::Queued]);
}
