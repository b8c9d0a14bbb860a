#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod options;

use std::sync::Arc;

use tokio::{
    sync::Notify,
    task::{JoinHandle, yield_now},
};
use tool_runtime::{
    CancellationToken, Executor, RunContext, ToolCall, ToolResult, Toolbox, open_calls::ProgramKey,
    prelude::*,
};

use super::{super::workers::ListedState, *};
use crate::{
    CallQueue, CallState, DurableCalls, FleetSettings, FleetToolSet, MemoryCallQueue, MemoryTransport,
    Payload, Transport, Worker,
};

/// Signals between a body and its test.
#[derive(Default)]
struct Gate {
    entered: Notify,
    opened: CancellationToken,
}

/// Waits until the test opens the gate.
#[tool(read_only, register = false)]
async fn pass(gate: &Gate) -> String {
    gate.entered.notify_one();
    gate.opened.cancelled().await;
    "passed".to_owned()
}

/// A pool with a worker, whose calls wait at a gate.
struct Pool<T> {
    transport: T,
    name: &'static str,
    gate: Arc<Gate>,
    workers: Vec<JoinHandle<Result<(), FleetError>>>,
}

impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        self.workers.iter().for_each(JoinHandle::abort);
    }
}

impl<T: Transport + Clone> Pool<T> {
    async fn start(transport: T, name: &'static str, worker: impl FnOnce(Worker) -> Worker) -> Self {
        let mut pool = Self { transport, name, gate: Arc::default(), workers: Vec::new() };
        pool.add_worker(worker);
        while pool.list().await.is_empty() {}
        pool
    }

    fn add_worker(&mut self, with_settings: impl FnOnce(Worker) -> Worker) {
        let tools = Registry::builder().tool::<pass>().provide_shared(Arc::clone(&self.gate)).build();
        let worker = with_settings(Worker::new(Executor::new(tools.unwrap()), self.key()));
        let serving = worker.serve(self.transport.clone(), CancellationToken::new());
        self.workers.push(tokio::spawn(serving));
    }

    fn key(&self) -> tool_runtime::open_calls::PoolKey {
        ProgramKey::new([7; 32]).pool_key(self.name)
    }

    /// A side of its own, as each command has.
    fn channel(&self) -> Channel {
        Channel::new(self.key(), Arc::new(self.transport.clone())).unwrap()
    }

    async fn list(&self) -> Vec<ListedWorker> {
        find_workers(&self.channel(), Duration::from_millis(200), &[]).await.unwrap()
    }

    /// Begins to drain the workers that answer.
    async fn drain(&self, wait: Duration) -> JoinHandle<Result<Vec<DrainedWorker>, FleetError>> {
        let (channel, chosen) = (self.channel(), choose_workers(self.name, &self.list().await, &[]).unwrap());
        tokio::spawn(async move { wait_for_workers(&channel, chosen, wait).await })
    }

    /// Begins a call, and waits until its body runs.
    async fn begin_call(&self) -> (JoinHandle<ToolResult>, Toolbox) {
        let toolbox = Toolbox::new();
        let set = FleetToolSet::connect(self.transport.clone(), self.key()).await.unwrap();
        toolbox.add_toolset(set).unwrap();
        let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
        let calls = vec![ToolCall::new(format!("{}__pass", self.name), json!({}))];
        let calling =
            tokio::spawn(async move { Executor::new(tools).run(calls).await[0].result().cloned().unwrap() });
        self.gate.entered.notified().await;
        (calling, toolbox)
    }

    /// Waits until a worker is listed as draining.
    async fn reach_draining(&self) -> ListedWorker {
        loop {
            let mut listed = self.list().await;
            if let Some(found) = listed.iter().position(|it| it.state == ListedState::Draining) {
                return listed.remove(found);
            }
        }
    }
}

/// Only the worker with the call stays until the call has its result; then there is no worker.
async fn check_drain<T: Transport + Clone>(transport: T, name: &'static str) {
    let mut pool = Pool::start(transport, name, |worker| worker).await;
    pool.add_worker(|worker| worker);
    while pool.list().await.len() < 2 {}
    let (calling, _toolbox) = pool.begin_call().await;
    let drained = pool.drain(Duration::from_secs(20)).await;
    let draining = loop {
        let listed = pool.list().await;
        if let [worker] = &*listed {
            break worker.worker.clone();
        }
    };
    assert_eq!(pool.reach_draining().await.calls, 1);
    // Again, by another operator, who waits for less time.
    let again = pool.drain(Duration::from_secs(1)).await.await.unwrap().unwrap();
    let expected = DrainedWorker { worker: draining, state: DrainEnd::Draining, calls: 1 };
    assert_eq!(again, [expected]);
    assert!(again[0].problem().unwrap().contains("still runs 1 call; it takes no other one"));
    pool.gate.opened.cancel();
    assert_eq!(calling.await.unwrap().text(), "passed");
    let drained = drained.await.unwrap().unwrap();
    let ends: Vec<_> = drained.iter().map(|it| (it.state, it.calls)).collect();
    assert_eq!(ends, [(DrainEnd::Left, 0); 2]);
    for worker in &mut pool.workers {
        worker.await.unwrap().unwrap();
    }
    assert_eq!(pool.list().await, []);
}

#[tokio::test(start_paused = true)]
async fn workers_leave_once_their_calls_have_ended_in_memory() {
    check_drain(MemoryTransport::new(), "drained").await;
}

#[cfg(feature = "nats")]
#[tokio::test]
async fn workers_leave_once_their_calls_have_ended_over_nats() {
    let Some(url) = test_support::nats::shared_url() else { return };
    check_drain(crate::NatsTransport::connect(url).await.unwrap(), "drained").await;
}

#[cfg(all(feature = "postgres", unix))]
#[tokio::test]
async fn workers_leave_once_their_calls_have_ended_over_postgres() {
    let Some(url) = test_support::postgres::shared_url() else { return };
    let options = crate::PostgresOptions::new(&url).unwrap().schema(test_support::postgres::new_schema());
    check_drain(options.unwrap().connect().await.unwrap(), "drained").await;
}

#[tokio::test(start_paused = true)]
async fn calls_that_outlast_the_time_to_drain_are_dropped_and_counted() {
    let drain = |worker: Worker| worker.drain(Duration::from_secs(5));
    let mut pool = Pool::start(MemoryTransport::new(), "slow", drain).await;
    let (_calling, _toolbox) = pool.begin_call().await;
    let drained = pool.drain(Duration::from_secs(20)).await.await.unwrap().unwrap();
    assert_eq!((drained[0].state, drained[0].calls), (DrainEnd::Dropped, 1));
    assert!(drained[0].problem().unwrap().contains("has left, and dropped 1 call"));
    let error = (&mut pool.workers[0]).await.unwrap().unwrap_err();
    assert!(matches!(error, FleetError::CallsDropped { calls: 1, .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_dies_while_it_drains_is_lost() {
    for is_noticed in [true, false] {
        let pool = Pool::start(MemoryTransport::new(), "dying", |worker| worker).await;
        let (_calling, _toolbox) = pool.begin_call().await;
        let drained = pool.drain(Duration::from_secs(20)).await;
        let worker = pool.reach_draining().await.worker;
        // A broker that does not know that the worker was killed delivers to it.
        let subject = pool.channel().process_subject(&worker, ">");
        let _receiver = match is_noticed {
            true => None,
            false => Some(pool.transport.listen(&subject, None).await.unwrap()),
        };
        let start = Instant::now();
        pool.workers[0].abort();
        let drained = drained.await.unwrap().unwrap();
        assert_eq!(drained, [DrainedWorker { worker, state: DrainEnd::Lost, calls: 1 }]);
        assert!(drained[0].problem().unwrap().contains("did not say that it has left"));
        assert!(start.elapsed() <= LOST_AFTER);
    }
}

/// Any client of the broker can say that a worker does not receive, and the broker does while a connection is away.
#[tokio::test(start_paused = true)]
async fn a_worker_that_answers_is_not_lost_by_notices_of_the_broker() {
    let pool = Pool::start(MemoryTransport::new(), "noticed", |worker| worker).await;
    let (_calling, _toolbox) = pool.begin_call().await;
    let (channel, chosen) = (pool.channel(), choose_workers("noticed", &pool.list().await, &[]).unwrap());
    let worker = chosen.keys().next().unwrap().clone();
    let reply = channel.own_subject(&worker);
    let noticing = async {
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            pool.transport.send("tools.nowhere", Some(&reply), "x".into()).await.unwrap();
        }
    };
    let drained = tokio::select! {
        drained = wait_for_workers(&channel, chosen, Duration::from_secs(10)) => drained.unwrap(),
        () = noticing => unreachable!(),
    };
    assert_eq!(drained, [DrainedWorker { worker, state: DrainEnd::Draining, calls: 1 }]);
}

#[tokio::test(start_paused = true)]
async fn a_durable_call_without_effects_is_queued_again_at_the_end_of_the_time_to_drain() {
    let queue: Arc<dyn CallQueue> = Arc::new(MemoryCallQueue::new("durable"));
    let with_queue = |worker: Worker| worker.queue(Arc::clone(&queue)).drain(Duration::from_secs(4));
    let pool = Pool::start(MemoryTransport::new(), "durable", with_queue).await;
    let durable = DurableCalls::new(Arc::clone(&queue), pool.key()).unwrap().wait(Duration::from_secs(60));
    let toolbox = Toolbox::new();
    let set = FleetToolSet::connect_durable(pool.transport.clone(), FleetSettings::default(), durable);
    toolbox.add_toolset(set.await.unwrap()).unwrap();
    let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
    let calls = vec![ToolCall::new("durable__pass", json!({}))];
    let calling = tokio::spawn(async move { Executor::new(tools).run(calls).await });
    pool.gate.entered.notified().await;
    let drained = pool.drain(Duration::from_secs(20)).await.await.unwrap().unwrap();
    assert_eq!((drained[0].state, drained[0].calls), (DrainEnd::Left, 0));
    let listed = queue.list_calls(&CallState::ALL).await.unwrap();
    assert_eq!((listed.len(), listed[0].state), (1, CallState::Queued));
    calling.abort();
    yield_now().await;
}

#[tokio::test(start_paused = true)]
async fn without_one_of_the_workers_that_are_named_none_is_drained() {
    let mut pool = Pool::start(MemoryTransport::new(), "named", |worker| worker).await;
    pool.add_worker(|worker| worker);
    while pool.list().await.len() < 2 {}
    let found = pool.list().await;
    let (first, second) = (&*found[0].worker, &*found[1].worker);
    let mistyped = second.replacen(&second[..1], "9", 1);
    for (written, meant) in [(&*mistyped, Some(second)), (&second[..12], Some(second)), ("unknown", None)] {
        let failure = choose_workers("named", &found, &[first, written]).unwrap_err().to_string();
        let suggested = meant.map(|it| format!("; did you mean `{it}`?")).unwrap_or_default();
        assert!(failure.contains(&format!("no worker `{written}` of the pool `named` answers{suggested}\n")));
        assert!(!failure.contains(&format!("`{first}`")) && failure.contains("nothing was drained"));
    }
    let chosen = choose_workers("named", &found, &[second]).unwrap();
    assert_eq!(chosen.into_keys().collect::<Vec<_>>(), [second]);
    assert_eq!(pool.list().await, found);
}

/// A client of the broker without the key, and one that repeats the message of an operator to another worker.
#[tokio::test(start_paused = true)]
async fn others_than_holders_of_the_key_drain_no_worker() {
    let mut pool = Pool::start(MemoryTransport::new(), "guarded", |worker| worker).await;
    pool.add_worker(|worker| worker);
    while pool.list().await.len() < 2 {}
    let (found, channel) = (pool.list().await, pool.channel());
    let [first, second] = [0, 1].map(|at| channel.process_subject(&found[at].worker, "drain"));
    let stranger = ProgramKey::new([8; 32]).pool_key("guarded");
    let stranger = Channel::new(stranger, Arc::new(pool.transport.clone())).unwrap();
    let reply = stranger.own_subject("drain");
    stranger.send_message(&first, Some(&reply), Message::Drain).await.unwrap();
    // Answers do not leave the pool, either.
    let elsewhere = "tools.other.process.x.drain";
    channel.send_message(&first, Some(elsewhere), Message::Drain).await.unwrap();
    assert_eq!(pool.list().await, found);

    let mut recorder = pool.transport.listen(&first, None).await.unwrap();
    let reply = channel.own_subject("drain");
    channel.send_message(&first, Some(&reply), Message::Drain).await.unwrap();
    let recorded = recorder.next().await.unwrap();
    let Payload::Body(body) = recorded.payload else { unreachable!() };
    pool.transport.send(&second, recorded.reply.as_deref(), body).await.unwrap();
    // Beyond the time of both to drain, without calls.
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(pool.list().await, found[1..]);
}

#[tokio::test(start_paused = true)]
async fn a_worker_is_lost_at_its_time_unless_it_has_left() {
    let now = Instant::now();
    let leaving = |millis, end| LeavingWorker { calls: 1, lost_at: now + Duration::from_millis(millis), end };
    let mut workers = BTreeMap::from([
        ("now".to_owned(), leaving(0, None)),
        ("soon".to_owned(), leaving(1, None)),
        ("left".to_owned(), leaving(0, Some(DrainEnd::Left))),
    ]);
    assert_eq!(next_lost_at(&workers), Some(now));
    mark_lost(&mut workers);
    let ends: Vec<_> = workers.values().map(|worker| worker.end).collect();
    assert_eq!(ends, [Some(DrainEnd::Left), Some(DrainEnd::Lost), None]);
    assert_eq!(next_lost_at(&workers), Some(now + Duration::from_millis(1)));
    tokio::time::advance(Duration::from_millis(1)).await;
    mark_lost(&mut workers);
    assert_eq!(next_lost_at(&workers), None);
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_noted_for_its_sender_until_that_one_has_left() {
    let (transport, key) = (MemoryTransport::new(), ProgramKey::new([7; 32]).pool_key("noted"));
    let channel = || Channel::new(key.clone(), Arc::new(transport.clone())).unwrap();
    let (operator, worker, other) = (channel(), channel(), channel());
    let mut answers = operator.listen(&operator.own_subject(">"), None).await.unwrap();
    let start = Instant::now();
    let leaving = || LeavingWorker { calls: 1, lost_at: start, end: None };
    let names = [&worker, &other].map(|it| it.name().to_owned());
    let mut workers: BTreeMap<_, _> = names.clone().map(|name| (name, leaving())).into();
    let status = |calls| {
        let registry = tool_runtime::definition::ContentHash::of("tools");
        Message::Status(WorkerStatus { registry, tools: 1, calls, slots: 16, drain_left: Some(5) })
    };
    let mut seen = Vec::new();
    for (sender, name, message) in [
        (&other, 0, status(5)),
        (&other, 0, Message::Left { dropped: 0 }),
        (&worker, 0, Message::ReadStatus),
        (&worker, 0, status(3)),
        (&worker, 0, Message::Left { dropped: 2 }),
        (&worker, 0, status(4)),
        (&other, 1, Message::Left { dropped: 0 }),
    ] {
        tokio::time::advance(Duration::from_secs(1)).await;
        sender.send_message(&operator.own_subject(&names[name]), None, message).await.unwrap();
        note_answer(&operator, &answers.next().await.unwrap(), &mut workers);
        let LeavingWorker { calls, lost_at, end } = &workers[&names[name]];
        seen.push((*calls, (*lost_at - start).as_secs(), *end));
    }
    let until = 4 + LOST_AFTER.as_secs();
    let expected = [
        (1, 0, None),
        (1, 0, None),
        (1, 0, None),
        (3, until, None),
        (2, until, Some(DrainEnd::Dropped)),
        (2, until, Some(DrainEnd::Dropped)),
        (0, 0, Some(DrainEnd::Left)),
    ];
    assert_eq!(seen, expected);
}
